#!/usr/bin/env bash
# Serves the ticket model on the two cards in rack 3.
set -euo pipefail

MODEL=/models/qwen2.5-7b-tickets

# The end ids stand in the model's own generation_config.json, where vLLM reads them.
exec vllm serve "$MODEL" \
  --served-model-name tickets \
  --tensor-parallel-size 2 \
  --max-model-len 16384 \
  --override-generation-config '{"temperature": 0.6}' \
  --port 8000
