"""Names of models, official, packed and made up, and who they are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from servelint.data import data_folder
from servelint.data.compile import family_documents
from servelint.models.identity import UNKNOWN
from servelint.models.names import identify, key_of, parts_of

# name, family, role
NAMES: list[tuple[str, str | None, str]] = [
    ("Qwen/Qwen2.5-7B-Instruct-AWQ", "qwen2.5", "instruct"),
    ("Qwen/Qwen2.5-7B", "qwen2.5", "base"),
    ("Qwen/Qwen2.5-14B", "qwen2.5", "base"),
    ("unsloth/Qwen2.5-7B-Instruct-bnb-4bit", "qwen2.5", "instruct"),
    ("bartowski/Qwen2.5-0.5B-Instruct-GGUF", "qwen2.5", "instruct"),
    ("qwen2.5:7b-instruct-q4_K_M", "qwen2.5", "instruct"),
    ("qwen2.5:7b", "qwen2.5", "instruct"),
    ("qwen2.5:7b-base", "qwen2.5", "base"),
    ("qwen2.5-coder:7b", "qwen2.5-coder", "instruct"),
    ("qwen2.5-coder:14b-instruct-q4_K_M", "qwen2.5-coder", "instruct"),
    ("qwen2.5-coder:latest", "qwen2.5-coder", "instruct"),
    ("qwen2.5vl:7b", "qwen2.5-vl", "instruct"),
    ("qwen3:8b", "qwen3", "instruct"),
    ("qwen3:4b-thinking-2507-q8_0", "qwen3-2507", "reasoning"),
    ("qwen3-coder:30b", "qwen3-coder", "instruct"),
    ("qwen3-coder-next", "qwen3-coder", "instruct"),
    ("registry.ollama.ai/library/qwen3", "qwen3", "instruct"),
    ("richardyoung/qwen3-14b-abliterated", "qwen3", "instruct"),
    ("registry.example.net/team/llama3:latest", "llama3", "instruct"),
    ("mannix/llama3.1-8b-abliterated:q4", "llama3.1", "instruct"),
    ("qwen:7b", "qwen1.5", "instruct"),
    ("qwen:110b", "qwen1.5", "instruct"),
    ("codeqwen", "codeqwen1.5", "instruct"),
    ("mistral", "mistral", "instruct"),
    ("lfm2", "lfm2", "instruct"),
    ("mixtral:8x7b", "mistral", "instruct"),
    ("llama3:8b", "llama3", "instruct"),
    ("llama3.1:8b", "llama3.1", "instruct"),
    ("llama3.2:3b-instruct-q8_0", "llama3.1", "instruct"),
    ("llama3.2-vision", "llama3.1", "instruct"),
    ("llama2:7b-text", "llama2", "base"),
    ("gemma2:9b", "gemma2", "instruct"),
    ("gemma2:9b-instruct-q4_0", "gemma2", "instruct"),
    ("gemma3:4b", "gemma3", "instruct"),
    ("gemma:7b", "gemma1", "instruct"),
    ("phi3", "phi3", "instruct"),
    ("phi:2.7b", "phi2", "base"),
    ("phi4", "phi4", "instruct"),
    ("deepseek-r1:7b", "deepseek-r1-distill-qwen", "reasoning"),
    ("deepseek-r1:8b", "deepseek-r1-0528-qwen3", "reasoning"),
    ("deepseek-r1", "deepseek-r1-0528-qwen3", "reasoning"),
    ("deepseek-r1:70b", "deepseek-r1-distill-llama", "reasoning"),
    ("deepseek-r1:671b", "deepseek-v3", "reasoning"),
    ("deepseek-r1:8b-llama-distill-q4_K_M", "deepseek-r1-distill-llama", "reasoning"),
    ("deepseek-coder:6.7b", "deepseek-coder", "instruct"),
    ("deepseek-coder:6.7b-base", "deepseek-coder", "base"),
    ("qwq", "qwq", "reasoning"),
    ("qwq:32b-preview-q4_K_M", "qwq-preview", "reasoning"),
    ("nous-hermes2", "chatml-finetune", "instruct"),
    ("openhermes", "chatml-finetune", "instruct"),
    ("dolphin-mistral", "chatml-finetune", "instruct"),
    ("hermes3", "chatml-finetune", "instruct"),
    ("llama-guard3:8b", "llama3.1", "classifier"),
    ("qwen3-embedding:0.6b", "qwen3-embedding", "embedding"),
    ("nomic-embed-text", None, "embedding"),
    ("codebooga:latest", None, "unknown"),
    ("LocalLarry-Fast:latest", None, "unknown"),
    ("ollama/llama3.1:8b", "llama3.1", "instruct"),
    ("ollama_chat/qwen2.5:7b", "qwen2.5", "instruct"),
    ("openai/qwen2.5:7b", "qwen2.5", "instruct"),
    ("Meta-Llama-3-8B-Instruct-Q5_K_M.gguf", "llama3", "instruct"),
    ("./Meta-Llama-3-8B-tuned.Q6_K.gguf", "llama3", "unknown"),
    ("/models/qwen2-7b-sft-f16.gguf", "qwen2", "instruct"),
    ("qwen2-7b-sft-f16.gguf", "qwen2", "instruct"),
    ("./gemma-2-2b-sft.gguf", "gemma2", "instruct"),
    ("./gemma-2-2b-it.Q8_0.gguf", "gemma2", "instruct"),
    ("qwen2.5-7b-instruct-q4_k_m-00001-of-00003.gguf", "qwen2.5", "instruct"),
    ("./qwen2.5-7b-base-q4_k_m.gguf", "qwen2.5", "base"),
    ("./qwen2.5-1.5b.Q4_K_M.gguf", "qwen2.5", "base"),
    ("~/models/qwen2-1_5b.gguf", "qwen2", "base"),
    ("./Qwen3-8B-Q4_K_M.gguf", "qwen3", "instruct"),
    ("../weights/Qwen3-14B-Q5_K_M.gguf", "qwen3", "instruct"),
    ("./edu-qwen-1.7b-Q4_K_M.gguf", None, "unknown"),
    ("./mlx_qwen3_converted", "qwen3", "instruct"),
    ("./qwen-sft", None, "unknown"),
    ("./merged-qwen/", None, "unknown"),
    ("./pulp-writer-13b.Q4_K_M.gguf", None, "unknown"),
    ("./nous-hermes-2.Q5_K_M.gguf", "chatml-finetune", "instruct"),
    ("/models/storyteller-13b.gguf", None, "unknown"),
    ("DeepSeek-R1-Distill-Qwen-14B-Q4_K_M.gguf", "deepseek-r1-distill-qwen", "reasoning"),
    ("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "deepseek-r1-distill-qwen", "reasoning"),
    ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "deepseek-r1-distill-llama", "reasoning"),
    ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "deepseek-r1-0528-qwen3", "reasoning"),
    ("unsloth/DeepSeek-R1-0528-Qwen3-8B-GGUF", "deepseek-r1-0528-qwen3", "reasoning"),
    ("deepseek-ai/DeepSeek-R1", "deepseek-v3", "reasoning"),
    ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3", "reasoning"),
    ("deepseek-ai/DeepSeek-V3-Base", "deepseek-v3", "base"),
    ("deepseek-ai/DeepSeek-V3-0324", "deepseek-v3", "instruct"),
    ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3", "instruct"),
    ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3", "instruct"),
    ("deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-v2", "instruct"),
    ("deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-v2", "instruct"),
    ("deepseek-ai/deepseek-coder-6.7b-instruct", "deepseek-coder", "instruct"),
    ("deepseek-ai/deepseek-coder-7b-instruct-v1.5", "deepseek-coder-1.5", "instruct"),
    ("deepseek-llm-7b-chat.Q5_K_M.gguf", "deepseek-v2", "instruct"),
    ("hf.co/someone/llama-3.1-8b-diary-GGUF:Q4_K_M", "llama3.1", "unknown"),
    ("hf.co/brindle-ml/Qwen2.5-7B-Notes-GGUF:Q4_K_M", "qwen2.5", "unknown"),
    ("hf.co/oakfield/Llama-3.1-8B-Ledger-GGUF", "llama3.1", "unknown"),
    (
        "hf.co/QuantFactory/Qwen2.5-Coder-7B-3x-Instruct-TIES-v1.2-GGUF:Qwen2.5-Coder-7B-3x-Instruct-TIES-v1.2.Q4_K_M.gguf",
        "qwen2.5-coder",
        "instruct",
    ),
    ("hf.co/kestrel-lab/Mistral-Small-Clinic-GGUF", "mistral", "unknown"),
    ("hf.co/brindle-ml/Qwen3-4B-GGUF", "qwen3", "instruct"),
    ("hf.co/lintel/gemma-3-4b-recipes-GGUF", "gemma3", "unknown"),
    (
        "C:/Models/lmstudio-community/Qwen3-4B-Thinking-2507-GGUF/Qwen3-4B-Thinking-2507-Q8_0.gguf",
        "qwen3-2507",
        "reasoning",
    ),
    ("C:\\Models\\qwen2.5-7b-instruct.gguf", "qwen2.5", "instruct"),
    (
        "/srv/ollama/models/blobs/sha256-ff1d1fc78170d787ee1201778e2dd65ea211654ca5fb7d69b5a2e7b123a50373",
        None,
        "unknown",
    ),
    ("/srv/models/phind-codellama-34b-v2.Q5_K_M.gguf", "llama2", "unknown"),
    ("/srv/models/dolphin2.1-openorca-7b.Q5_K_M.gguf", "chatml-finetune", "instruct"),
    ("/srv/models/dolphin-mixtral-8x7b-v2.5.Q3_K_M.gguf", "chatml-finetune", "instruct"),
    ("/srv/models/dolphin-2.2.1-mistral-7b.Q5_K_M.gguf", "chatml-finetune", "instruct"),
    ("/srv/models/codellama-7b-instruct.Q5_K_M.gguf", "llama2", "instruct"),
    ("/srv/models/codellama-13b-oasst-sft-v10.Q5_K_M.gguf", "llama2", "instruct"),
    ("/srv/models/autolycus-mistral_7b.Q5_K_M.gguf", "mistral", "unknown"),
    ("/srv/models/<model>.gguf", None, "unknown"),
    (
        "~/.cache/huggingface/hub/models--unsloth--Qwen3.6-27B-GGUF/snapshots/82d411acf4a06cfb8d9b073a5211bf410bfc29bf/mmproj-BF16.gguf",
        None,
        "unknown",
    ),
    (
        "~/.cache/huggingface/hub/models--unsloth--Qwen3.6-27B-GGUF/snapshots/82d411acf4a06cfb8d9b073a5211bf410bfc29bf/Qwen3.6-27B-UD-Q4_K_XL.gguf",
        "qwen3.6",
        "instruct",
    ),
    (
        "~/.cache/huggingface/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/bb46c15ee4bb56c5b63245ef50fd7637234d6f75",
        "qwen2.5",
        "instruct",
    ),
    ("models--Qwen--Qwen2.5-7B-Instruct/snapshots/bb46c15", "qwen2.5", "instruct"),
    ("/x/Qwen3.5-Queen-27B.i1-Q4_K_M.gguf", "qwen3.5", "unknown"),
    ("mudler/Qwen3.5-35B-A3B-APEX-GGUF", "qwen3.5", "instruct"),
    ("hf://Qwen/Qwen2.5-7B-Instruct", "qwen2.5", "instruct"),
    ("hf://Qwen/Qwen2.5-7B-Instruct:main", "qwen2.5", "instruct"),
    ("ollama://qwen2.5:7b", "qwen2.5", "instruct"),
    ("s3://bucket/models/Qwen2.5-7B-Instruct/", "qwen2.5", "instruct"),
    ("s3://bucket/llms/llama-3.1-8b-instruct/v1", "llama3.1", "instruct"),
    ("pvc://claim/Qwen2.5-7B-Instruct", "qwen2.5", "instruct"),
    ("/models/Qwen2.5-7B-Instruct", "qwen2.5", "instruct"),
    ("/models/Qwen2.5-7B-Instruct/model.gguf", "qwen2.5", "instruct"),
    ("/mnt/models", None, "unknown"),
    ("/models/llama3/8b-instruct", "llama3", "instruct"),
    (
        "https://huggingface.co/Qwen/Qwen2.5-7B-Instruct-GGUF/resolve/main/qwen2.5-7b-instruct-q4_k_m.gguf?download=true",
        "qwen2.5",
        "instruct",
    ),
    ("https://huggingface.co/Qwen/Qwen2.5-7B/tree/main", "qwen2.5", "base"),
    ("Qwen/Qwen2.5-7B-Instruct-GGUF:Q4_K_M", "qwen2.5", "instruct"),
    ("unsloth/Qwen3.5-9B-GGUF:Q4_K_M", "qwen3.5", "instruct"),
    ("Qwen/Qwen3.5-0.8B", "qwen3.5", "instruct"),
    ("Qwen/Qwen3.5-9B-Base", "qwen3.5", "base"),
    ("Qwen/Qwen3.6-27B", "qwen3.6", "instruct"),
    ("RadixArk/Qwen3.8-27B-NVFP4", "qwen3.8", "instruct"),
    ("z-lab/Qwen3.8-27B-DFlash2", "qwen3.8", "unknown"),
    ("cyankiwi/Qwen3.6-35B-A3B-AWQ-4bit", "qwen3.6", "instruct"),
    ("Qwen/Qwen3-235B-A22B-FP8", "qwen3", "instruct"),
    ("Qwen/Qwen3-8B", "qwen3", "instruct"),
    ("Qwen/Qwen3-8B-Base", "qwen3", "base"),
    ("Qwen/Qwen3-4B-Instruct-2507-FP8", "qwen3-2507", "instruct"),
    ("nvidia/Qwen3-235B-A22B-Instruct-2507-NVFP4", "qwen3-2507", "instruct"),
    ("Qwen/Qwen3-4B-Thinking-2507", "qwen3-2507", "reasoning"),
    ("Qwen/Qwen3-Next-80B-A3B-Thinking", "qwen3-next", "reasoning"),
    ("mlx-community/Qwen3-Next-80B-A3B-Thinking-8bit", "qwen3-next", "reasoning"),
    ("mlx-community/Qwen3-Coder-Next-8bit", "qwen3-coder", "instruct"),
    ("Qwen/Qwen3-Coder-Next-Base", "qwen3-coder", "base"),
    ("Qwen/Qwen3-VL-8B-Instruct", "qwen3-vl", "instruct"),
    ("Qwen/Qwen3-VL-Embedding-2B", "qwen3-vl", "embedding"),
    ("Qwen/Qwen3-Omni-30B-A3B-Captioner", "qwen3-omni", "instruct"),
    ("Qwen/Qwen3-TTS-12Hz-1.7B-Base", "qwen3-omni", "speech"),
    ("Qwen/Qwen3-ASR-1.7B", "qwen3-omni", "speech"),
    ("Qwen/Qwen3-Embedding-4B", "qwen3-embedding", "embedding"),
    ("Qwen/Qwen3-Reranker-0.6B", "qwen3-embedding", "reranker"),
    ("Qwen/Qwen3Guard-Gen-8B", "qwen3-embedding", "instruct"),
    ("Qwen/Qwen3Guard-Stream-4B", "qwen3-embedding", "classifier"),
    ("Qwen/Qwen2.5-Math-PRM-7B", "qwen2.5-math", "reward"),
    ("Qwen/Qwen2-Math-RM-72B", "qwen2-math", "reward"),
    ("Qwen/Qwen2.5-14B-Instruct-1M", "qwen2.5-1m", "instruct"),
    ("Qwen/Qwen2.5-VL-7B-Instruct-AWQ", "qwen2.5-vl", "instruct"),
    ("Qwen/Qwen2.5-Omni-7B", "qwen2.5-omni", "instruct"),
    ("Qwen/Qwen2-Audio-7B", "qwen2-audio", "base"),
    ("Qwen/QwQ-32B", "qwq", "reasoning"),
    ("Qwen/QwQ-32B-Preview", "qwq-preview", "reasoning"),
    ("Qwen_QwQ-32B-Q4_K_M.gguf", "qwq", "reasoning"),
    ("Qwen/QVQ-72B-Preview", "qvq", "reasoning"),
    ("Qwen/Qwen-7B-Chat", "qwen1", "instruct"),
    ("Qwen/Qwen-1_8B", "qwen1", "base"),
    ("Qwen/Qwen-VL-Chat", "qwen1", "instruct"),
    ("Qwen/Qwen1.5-MoE-A2.7B-Chat", "qwen1.5", "instruct"),
    ("Seanxh/Qwen-Qwen1.5-0.5B", "qwen1.5", "base"),
    ("Qwen/CodeQwen1.5-7B-Chat", "codeqwen1.5", "instruct"),
    ("Qwen/Qwen2-57B-A14B-Instruct", "qwen2", "instruct"),
    ("Qwen/Qwen4-8B", "qwen4", "unknown"),
    ("meta-llama/Llama-3.1-8B", "llama3.1", "base"),
    ("meta-llama/Llama-3.3-70B-Instruct", "llama3.1", "instruct"),
    ("meta-llama/Llama-2-7b-hf", "llama2", "base"),
    ("meta-llama/Llama-2-7b-chat-hf", "llama2", "instruct"),
    ("meta-llama/Llama-3.2-11B-Vision-Instruct", "llama3.1", "instruct"),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4", "instruct"),
    ("meta-llama/Llama-4-Maverick-17B-128E", "llama4", "base"),
    ("meta-llama/Llama-Guard-3-8B", "llama3.1", "classifier"),
    ("meta-llama/Prompt-Guard-86M", None, "classifier"),
    ("meta-llama/Meta-Llama-3-70B-Instruct", "llama3", "instruct"),
    ("casperhansen/llama-3-70b-instruct-awq", "llama3", "instruct"),
    ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "llama3.1", "instruct"),
    ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "nemotron3", "instruct"),
    ("google/gemma-2b-it", "gemma1", "instruct"),
    ("google/gemma-7b", "gemma1", "base"),
    ("google/gemma-1.1-7b-it", "gemma1", "instruct"),
    ("google/gemma-2-9b-it", "gemma2", "instruct"),
    ("google/gemma-3-4b-pt", "gemma3", "base"),
    ("google/gemma-3-4b-it", "gemma3", "instruct"),
    ("google/gemma-3n-E2B-it", "gemma3", "instruct"),
    ("google/gemma-4-E4B-it", "gemma4", "instruct"),
    ("google/codegemma-7b-it", "gemma1", "instruct"),
    ("google/medgemma-4b-it", "gemma3", "instruct"),
    ("google/shieldgemma-2b", "gemma2", "classifier"),
    ("google/t5gemma-2b-2b-prefixlm-it", None, "unknown"),
    ("ggml-org/embeddinggemma-300m", "gemma3", "embedding"),
    ("mistralai/Mistral-7B-Instruct-v0.3", "mistral", "instruct"),
    ("mistralai/Mistral-7B-v0.1", "mistral", "base"),
    ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistral", "instruct"),
    ("Mistral-Nemo-Instruct-2407-Q4_K_M.gguf", "mistral", "instruct"),
    ("mistralai/Magistral-Small-2506", "mistral", "reasoning"),
    ("mistralai/Devstral-Small-2507", "mistral", "instruct"),
    ("intfloat/e5-mistral-7b-instruct", "mistral", "embedding"),
    ("Alibaba-NLP/gte-Qwen2-7B-instruct", "qwen2", "embedding"),
    ("BAAI/bge-reranker-v2-m3", None, "reranker"),
    ("BAAI/bge-m3", None, "embedding"),
    ("openai/whisper-large-v3", None, "speech"),
    ("microsoft/phi-2", "phi2", "base"),
    ("microsoft/Phi-3-mini-4k-instruct", "phi3", "instruct"),
    ("microsoft/Phi-3.5-mini-instruct", "phi3", "instruct"),
    ("microsoft/Phi-3-small-8k-instruct", "phi3-small", "instruct"),
    ("microsoft/phi-4", "phi4", "instruct"),
    ("microsoft/Phi-4-reasoning-plus", "phi4", "reasoning"),
    ("microsoft/Phi-4-mini-instruct", "phi4-mini", "instruct"),
    ("openai/gpt-oss-20b", "gpt-oss", "reasoning"),
    ("gpt-oss:20b", "gpt-oss", "reasoning"),
    ("zai-org/GLM-4.6", "glm4", "instruct"),
    ("zai-org/GLM-4.5-Air", "glm4", "instruct"),
    ("THUDM/glm-4-9b", "glm4", "base"),
    ("THUDM/glm-4-9b-chat", "glm4", "instruct"),
    ("THUDM/GLM-4-32B-0414", "glm4", "instruct"),
    ("zai-org/GLM-5", "glm5", "instruct"),
    ("moonshotai/Kimi-K2-Instruct", "kimi-k2", "instruct"),
    ("moonshotai/Kimi-K2-Base", "kimi-k2", "base"),
    ("moonshotai/Kimi-K2.5", "kimi-k2", "instruct"),
    ("MiniMaxAI/MiniMax-M2.1", "minimax-m2", "reasoning"),
    ("01-ai/Yi-34B-Chat", "yi", "instruct"),
    ("01-ai/Yi-1.5-9B", "yi", "base"),
    ("01-ai/Yi-Coder-9B-Chat", "yi", "instruct"),
    ("internlm/internlm2_5-7b-chat", "internlm2", "instruct"),
    ("internlm/internlm3-8b-instruct", "internlm3", "instruct"),
    ("OpenGVLab/InternVL2-8B", "internlm2", "instruct"),
    ("ibm-granite/granite-3.1-8b-instruct", "granite3", "instruct"),
    ("ibm-granite/granite-3.3-2b-base", "granite3", "base"),
    ("ibm-granite/granite-4.0-h-small", "granite4", "instruct"),
    ("CohereForAI/c4ai-command-r-v01", "command-r", "instruct"),
    ("CohereForAI/aya-expanse-8b", "command-r", "instruct"),
    ("HuggingFaceTB/SmolLM2-1.7B-Instruct", "smollm2", "instruct"),
    ("HuggingFaceTB/SmolLM3-3B", "smollm3", "instruct"),
    ("HuggingFaceTB/SmolLM3-3B-Base", "smollm3", "base"),
    ("allenai/OLMo-2-1124-7B-Instruct", "olmo2", "instruct"),
    ("allenai/OLMo-7B-0424-hf", "olmo1", "base"),
    ("allenai/Olmo-3-7B-Think", "olmo3", "reasoning"),
    ("tiiuae/falcon-7b-instruct", "falcon1", "instruct"),
    ("tiiuae/Falcon3-7B-Instruct", "falcon3", "instruct"),
    ("tiiuae/Falcon-H1-7B-Instruct", "falcon-h1", "instruct"),
    ("stabilityai/stablelm-2-12b-chat", "stablelm2", "instruct"),
    ("stabilityai/stablelm-2-zephyr-1_6b", None, "unknown"),
    ("ByteDance-Seed/Seed-OSS-36B-Instruct", "seed-oss", "instruct"),
    ("baidu/ERNIE-4.5-21B-A3B-PT", "ernie4.5", "instruct"),
    ("baidu/ERNIE-4.5-21B-A3B-Base-PT", "ernie4.5", "base"),
    ("tencent/Hunyuan-A13B-Instruct", "hunyuan", "instruct"),
    ("tencent/Hunyuan-7B-Instruct", "hunyuan-dense", "instruct"),
    ("LiquidAI/LFM2-1.2B", "lfm2", "instruct"),
    ("LiquidAI/LFM2.5-1.2B-Base", "lfm2", "base"),
    ("NousResearch/Hermes-3-Llama-3.1-8B", "chatml-finetune", "instruct"),
    ("NousResearch/Hermes-2-Pro-Mistral-7B", "chatml-finetune", "instruct"),
    ("NousResearch/Nous-Hermes-2-Mixtral-8x7B-DPO", "chatml-finetune", "instruct"),
    ("teknium/OpenHermes-2.5-Mistral-7B", "chatml-finetune", "instruct"),
    ("cognitivecomputations/dolphin-2.9.2-qwen2-72b", "qwen2", "instruct"),
    ("cognitivecomputations/dolphin-2.9.1-llama-3-70b", "chatml-finetune", "instruct"),
    ("vilm/Quyen-Mini-v0.1", "chatml-finetune", "instruct"),
    ("Llama-3.2-3B-Instruct-chatml", "chatml-finetune", "instruct"),
    ("Unbabel/TowerInstruct-7B-v0.1", "chatml-finetune", "instruct"),
    ("nbeerbower/Dumpling-Qwen2.5-VL-7B", "qwen2.5-vl", "unknown"),
    ("llava-next-qwen2.5-1.5B", "qwen2.5", "unknown"),
    ("Qwen-2.5-7B-Base-Math", "qwen2.5", "unknown"),
    ("Qwen1.5-7B-sft-0506-7-7", "qwen1.5", "instruct"),
    ("willcb/Qwen3-4B-Base", "qwen3", "base"),
    ("Qwen3-4B-Base-add-special-token", "qwen3", "unknown"),
    ("VinaLlama2-14B-arxiv", None, "unknown"),
    ("gpt2", None, "unknown"),
    ("$MODEL", None, "unknown"),
    ("{{ .Values.model }}", None, "unknown"),
    ("nginx:alpine", None, "unknown"),
    ("postgres:latest", None, "unknown"),
    ("meta/llama-3.2-1b-instruct", "llama3.1", "instruct"),
    ("gemma-4", "gemma4", "unknown"),
    ("openchat/openchat-3.5-0106", "openchat", "instruct"),
    ("ollama/ollama:0.30.2", None, "unknown"),
    ("mistralai/Mistral-Small-24B-Base-2501", "mistral", "base"),
    ("mistralai/Ministral-3-8B-Reasoning-2512", "mistral", "reasoning"),
    ("mistralai/Codestral-22B-v0.1", "mistral", "instruct"),
    ("zai-org/GLM-4.7-Flash", "glm4", "instruct"),
    ("zai-org/GLM-5.1-FP8", "glm5", "instruct"),
    ("moonshotai/Kimi-K2-Thinking", "kimi-k2", "reasoning"),
    ("MiniMaxAI/MiniMax-M3", "minimax-m2", "reasoning"),
    ("Qwen/Qwen2.5-Coder-7B", "qwen2.5-coder", "base"),
    ("Qwen2.5-Coder-1.5B-Instruct-Q8_0.gguf", "qwen2.5-coder", "instruct"),
    ("qwen2.5-coder:7b-base-q4_K_M", "qwen2.5-coder", "base"),
    ("Qwen/Qwen3-30B-A3B", "qwen3", "instruct"),
    ("Qwen/Qwen3-30B-A3B-GPTQ-Int4", "qwen3", "instruct"),
    ("Qwen/Qwen3-8B-awq-INT4", "qwen3", "instruct"),
    ("TheBloke/Mistral-7B-Instruct-v0.2-GPTQ", "mistral", "instruct"),
    ("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w8a8", "llama3.1", "instruct"),
    ("neuralmagic/Llama-3.2-1B-Instruct-FP8-dynamic", "llama3.1", "instruct"),
    ("lmstudio-community/DeepSeek-R1-Distill-Llama-8B-GGUF", "deepseek-r1-distill-llama", "reasoning"),
    ("llama3.1:8b-text-q4_0", "llama3.1", "base"),
    ("codellama:7b-code", "llama2", "base"),
    ("codellama:13b-instruct", "llama2", "instruct"),
    ("codellama/CodeLlama-70b-Instruct-hf", None, "unknown"),
    ("codegemma:2b-code", "gemma1", "base"),
    ("gemma3:4b-it-qat", "gemma3", "instruct"),
    ("gemma3:27b-it-fp16", "gemma3", "instruct"),
    ("google/gemma-3-27b-it-qat-q4_0-gguf", "gemma3", "instruct"),
    ("mixtral", "mistral", "instruct"),
    ("QWEN2.5:7B", "qwen2.5", "instruct"),
    ("qwen2.5-acme:latest", "qwen2.5", "unknown"),
    ("qwen2.5-7b-q4:latest", "qwen2.5", "unknown"),
    ("someone/qwen3:8b", "qwen3", "instruct"),
    ("dolphin3:8b", "chatml-finetune", "instruct"),
    ("tinydolphin", "chatml-finetune", "instruct"),
    ("starling-lm:7b", "openchat", "instruct"),
    ("aya:8b", "command-r", "instruct"),
    ("command-r7b", "command-r", "instruct"),
    ("granite3.3:8b", "granite3", "instruct"),
    ("smollm2:1.7b", "smollm2", "instruct"),
    ("snowflake-arctic-embed", None, "embedding"),
    ("mxbai-embed-large", None, "embedding"),
    ("all-minilm", None, "embedding"),
    ("whisper-large-v3-turbo.gguf", None, "speech"),
    ("gs://bucket/models/gemma-2-9b-it", "gemma2", "instruct"),
    ("oci://registry.example.net/models/qwen2.5-7b-instruct:v1", "qwen2.5", "instruct"),
    ("./checkpoint-500", None, "unknown"),
    ("/data/runs/qwen2.5-7b-sft/checkpoint-1200", "qwen2.5", "instruct"),
    ("/models/Qwen3-8B/ggml-model-q4_0.gguf", "qwen3", "instruct"),
    ("/models/${MODEL}/model.gguf", None, "unknown"),
    ("/models/${TEAM}/Qwen2.5-7B-Instruct", "qwen2.5", "instruct"),
]


@pytest.mark.parametrize(("name", "family", "role"), NAMES, ids=[name for name, _, _ in NAMES])
def test_name(name: str, family: str | None, role: str) -> None:
    identity = identify(name)
    assert (identity.family, identity.role) == (family, role)


@pytest.mark.parametrize(
    ("name", "certain"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", True),
        ("qwen2.5:7b", True),
        ("./qwen2.5-7b-instruct-q4_k_m.gguf", True),
        ("./qwen2-7b-sft-f16.gguf", True),
        ("qwen3-coder:30b", True),
        ("./nous-hermes-2.Q5_K_M.gguf", True),
        # An unknown word: somebody's own fine-tune may end its turns in another way.
        ("hf.co/someone/llama-3.1-8b-diary-GGUF", False),
        ("someone/Qwen2.5-7B-Instruct-Diary", False),
        # Somebody's copy of a library model.
        ("someone/qwen2.5:7b", False),
        # A file without a marker may have lost it.
        ("./qwen2.5-7b-q4_k_m.gguf", False),
        # The table itself is not sure.
        ("Qwen/CodeQwen1.5-7B-Chat", False),
    ],
)
def test_how_certain_a_name_is(name: str, certain: bool) -> None:
    assert identify(name).certain is certain


@pytest.mark.parametrize(
    ("name", "turn", "document"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", [("<|im_end|>", 151645)], [("<|endoftext|>", 151643)]),
        ("Qwen/Qwen3.5-9B", [("<|im_end|>", 248046)], [("<|endoftext|>", 248044)]),
        ("Qwen/CodeQwen1.5-7B-Chat", [("<|im_end|>", 4)], [("<|endoftext|>", 2)]),
        ("DeepSeek-R1-Distill-Qwen-7B-Q8_0.gguf", [("<｜end▁of▁sentence｜>", 151643)], []),
        ("llama3:8b", [("<|eot_id|>", 128009)], [("<|end_of_text|>", 128001)]),
        # <|eom_id|> is for tools alone.
        ("llama3.1:8b", [("<|eot_id|>", 128009)], [("<|end_of_text|>", 128001)]),
        ("gemma2:9b", [("<end_of_turn>", 107)], [("<eos>", 1)]),
        ("gemma3:4b", [("<end_of_turn>", 106)], [("<eos>", 1)]),
        ("openai/gpt-oss-20b", [("<|return|>", 200002), ("<|call|>", 200012)], [("<|endoftext|>", 199999)]),
        ("ibm-granite/granite-3.1-8b-instruct", [("<|end_of_text|>", 0)], []),
        # A base model has no turns.
        ("Qwen/Qwen2.5-7B", [], [("<|endoftext|>", 151643)]),
        ("Qwen/Qwen3-Embedding-4B", [], []),
        # The vocabulary of a ChatML fine-tune is its own; on Qwen it is Qwen's.
        ("teknium/OpenHermes-2.5-Mistral-7B", [("<|im_end|>", None)], []),
        (
            "cognitivecomputations/dolphin-2.9.2-qwen2-72b",
            [("<|im_end|>", 151645)],
            [("<|endoftext|>", 151643)],
        ),
        # The role is not known; what would end its turns is.
        ("hf.co/someone/llama-3.1-8b-diary-GGUF", [("<|eot_id|>", 128009)], [("<|end_of_text|>", 128001)]),
    ],
)
def test_terminators(name: str, turn: list[tuple[str, int | None]], document: list[tuple[str, int | None]]) -> None:
    identity = identify(name)
    assert [(token.text, token.id) for token in identity.turn] == turn
    assert [(token.text, token.id) for token in identity.document] == document


@pytest.mark.parametrize(
    ("name", "thinking"),
    [
        ("Qwen/Qwen3-8B", True),
        ("qwen3:4b-thinking-2507-q8_0", True),
        ("Qwen/Qwen3-4B-Instruct-2507", False),
        ("Qwen/Qwen3.5-9B", True),
        ("Qwen/Qwen3.5-0.8B", False),
        ("Qwen/Qwen3-8B-Base", False),
        ("Qwen/QwQ-32B", True),
        ("deepseek-r1:7b", True),
        ("deepseek-ai/DeepSeek-V3", False),
        ("gpt-oss:20b", True),
        ("THUDM/glm-4-9b-chat", False),
        ("qwen2.5:7b", False),
    ],
)
def test_thinking(name: str, thinking: bool) -> None:
    assert identify(name).thinking is thinking


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "the name Qwen2.5-7B-Instruct"),
        ("./models/qwen2.5-7b-instruct-q4_k_m.gguf", "the name qwen2.5-7b-instruct-q4_k_m.gguf"),
        ("qwen2.5:7b", "the name qwen2.5:7b"),
        ("models--Qwen--Qwen3-8B/snapshots/9216db5781bf21249d130ec9da846c4624c16137", "the name Qwen3-8B"),
    ],
)
def test_source(name: str, source: str) -> None:
    assert identify(name).source == source


@pytest.mark.parametrize(
    "suffix", ["AWQ", "awq-INT4", "GPTQ-Int8", "GGUF", "FP8", "bnb-4bit", "4bit-MLX", "w4a16", "Q4_K_M"]
)
@pytest.mark.parametrize("name", ["Qwen2.5-7B-Instruct", "Meta-Llama-3.1-8B-Instruct", "gemma-2-9b-it", "Qwen3-8B"])
def test_packing_changes_nothing(name: str, suffix: str) -> None:
    plain, packed = identify(f"owner/{name}"), identify(f"packer/{name}-{suffix}".lower())
    assert (packed.family, packed.role, packed.certain) == (plain.family, plain.role, plain.certain)


def test_what_ollama_says_of_a_name_that_tells_nothing_by_itself() -> None:
    assert identify("qwen2.5", ollama=True).role == "instruct"
    assert identify("someone/Phi", ollama=False).family is None
    assert identify("hf.co/Qwen/Qwen2.5-7B").role == "base"


def test_every_library_name_of_the_table_is_found() -> None:
    for document in family_documents(data_folder()).values():
        for name in document.get("ollama", {}).get("names", ()):
            identity = identify(f"{name}:latest", ollama=True)
            assert identity.family is not None
            assert identity.role != "unknown", name


def test_parts() -> None:
    assert parts_of("Qwen2.5-1_5B.Q4_K_M") == ["qwen", "2.5", "1.5b", "q", "4", "k", "m"]
    assert parts_of("qwen2_7b-8x7B-A3B") == ["qwen", "2", "7b", "8x7b", "a3b"]
    assert key_of("glm-5.*") == "glm 5.*"
    assert key_of("Llama-3_1") == key_of("llama3.1")


@given(st.text(max_size=300))
@example("models--")
@example("://")
@example("/" * 5000 + "1." * 3000)
@example("hf.co/")
@example("qwen2.5:")
def test_any_text_is_a_name_or_none(text: str) -> None:
    identity = identify(text)
    assert identity.family is not None or identity.turn == ()


WORDS = ["qwen", "llama", "gemma", "2.5", "3", "7b", "instruct", "base", "chat", "gguf", "deepseek", "r1", "distill"]


@given(st.lists(st.sampled_from([*WORDS, "/", ":", "-", ".", "_"])))
def test_any_mixture_of_words_is_read(words: list[str]) -> None:
    identity = identify("".join(words))
    assert identity.role in ("base", "instruct", "reasoning", "unknown")
    if identity.role == "base":
        assert identity.turn == ()


def test_nothing_is_said_without_a_name() -> None:
    assert identify("") == UNKNOWN
    assert identify("./qwen-sft") == UNKNOWN


# Where the table of facts puts a name elsewhere, and why this one does not.
ELSEWHERE = {
    "qwen2.5-1m": "its own entry there too; the pattern of Qwen2.5 takes it in as well",
    "gemma2": "ShieldGemma 1 grew from Gemma 2",
    "olmo2": "the pattern of OLMo 1 takes in every OLMo",
    "olmo3": "a note there says that it speaks ChatML",
    "falcon-h1": "a note there gives it an end of its own",
    "hunyuan-dense": "a note there gives it an end of its own",
    "chatml-finetune": "a Llama taught ChatML",
    "qwen2": "a ChatML fine-tune of Qwen keeps Qwen's ids",
}


def test_the_names_agree_with_the_table_of_facts(shared: Path) -> None:
    facts: list[dict[str, Any]] = json.loads((shared / "facts/model-families.json").read_text(encoding="utf-8"))[
        "families"
    ]
    ours = {
        (document["family"], document["generation"]): name for name, document in family_documents(data_folder()).items()
    }
    compared = 0
    for name, family, role in NAMES:
        if family is None or family in ELSEWHERE:
            continue
        for entry in facts:
            for kind, pattern in entry["name_patterns"].items():
                # Only the last part of a name counts for the patterns, too.
                if not pattern or not re.search(pattern, name.rpartition("/")[2]):
                    continue
                compared += 1
                assert ours[entry["family"], entry["generation"]] == family, name
                if kind == "base" and role == "instruct":
                    assert re.search(entry["name_patterns"]["instruct"], name), name
    assert compared > 90
