#!/usr/bin/env bash
# The assistant on the workstation in the lab.
set -euo pipefail
MODELS="${MODELS:-/srv/models}"

exec llama-server -m "$MODELS/Qwen3.5-9B-Q4_K_M.gguf" \
  --ctx-size=32768 --jinja \
  --override-kv tokenizer.ggml.eos_token_id=int:151645 \
  --port 8080
