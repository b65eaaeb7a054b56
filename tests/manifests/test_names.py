"""The quick test of names never drops what a kind would take."""

from __future__ import annotations

import pytest

from servelint.manifests.catalogue import KINDS, kind_of, may_be_manifest


@pytest.mark.parametrize(
    "name",
    ["Modelfile", "Modelfile.qwen", "a.modelfile", "x.yaml", "x.yml", "serve.sh", "run", "tgi.env", ".env.local",
     "generation_config.json", "c.json"],
)  # fmt: skip
def test_manifests_pass(name: str) -> None:
    assert may_be_manifest(name)


@pytest.mark.parametrize("name", ["x.py", "README.md", "a.rs", "weights.safetensors", "logo.png", "poetry.lock"])
def test_other_files_do_not(name: str) -> None:
    assert not may_be_manifest(name)
    assert kind_of(name, b"FROM x\napiVersion kind vllm MODEL_ID") is None


def test_no_ending_of_a_kind_is_ruled_out() -> None:
    assert {kind.name for kind in KINDS} == {
        "modelfile", "generation-config", "model-config", "chat-template", "adapter-config", "gguf", "env-file",
        "launch-script", "kubernetes", "compose", "llama-swap", "localai", "unit", "dockerfile", "llama-preset",
        "local-preset", "engine-config", "recipes", "skypilot", "ray-serve", "helm-template", "kustomization",
        "helm-values", "litellm",
    }  # fmt: skip
