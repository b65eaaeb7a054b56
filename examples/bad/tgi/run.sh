#!/usr/bin/env bash
set -euo pipefail
# docker keeps quotes and comments in an env file as they stand.
docker run --rm --gpus all --shm-size 1g --env-file tgi.env -p 8080:80 \
  ghcr.io/huggingface/text-generation-inference:3.3.4
