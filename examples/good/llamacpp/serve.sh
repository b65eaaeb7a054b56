#!/usr/bin/env bash
# The assistant on the workstation in the lab.
set -euo pipefail
MODELS="${MODELS:-/srv/models}"

exec llama-server -m "$MODELS/Qwen3.5-9B-Q4_K_M.gguf" \
  --ctx-size 32768 --jinja \
  --port 8080
