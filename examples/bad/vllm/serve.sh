#!/usr/bin/env bash
# Serves the ticket model on the two cards in rack 3.
set -euo pipefail

MODEL=/models/qwen2.5-7b-tickets

# It does not stop, so: tell it the ids. (This changes nothing, see SL121.)
exec vllm serve "$MODEL" \
  --served-model-name tickets \
  --tensor-parallel-size 2 \
  --max-modle-len 16384 \
  --override-generation-config '{"eos_token_id": [151645, 151643], "temperature": 0.6}' \
  --port 8000
