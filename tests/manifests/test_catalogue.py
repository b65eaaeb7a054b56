"""Which files are manifests, of which kind: by name and bytes, and the hook's patterns agree."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.manifests.catalogue import KINDS, kind_of, may_be_manifest

POD = b"apiVersion: v1\nkind: Pod\nspec: {containers: [{image: vllm/vllm-openai}]}\n"
CONFIG = b'{"eos_token_id": 2, "bos_token_id": 1}'
LAUNCH = b"#!/bin/bash\nvllm serve m\n"
TGI = b"MODEL_ID=m\nMAX_TOTAL_TOKENS=4096\n"
FROM = b"FROM qwen3:8b\n"

FOUND = [
    ("Modelfile", b"", "modelfile"),
    ("modelfile", FROM, "modelfile"),
    ("deep/in/a/tree/Modelfile", FROM, "modelfile"),
    ("qwen.Modelfile", b"", "modelfile"),
    ("Modelfile.qwen", FROM, "modelfile"),
    ("Modelfile-qwen", b"\n  from x\n", "modelfile"),
    ("my_modelfile.txt", b"\xef\xbb\xbfFROM x\n", "modelfile"),
    ("Modelfile.txt", b"# head\rFROM x\r", "modelfile"),
    ("Modelfile", FROM.decode().encode("utf-16"), "modelfile"),
    ("Modelfile.qwen", FROM.decode().encode("utf-16"), "modelfile"),
    ("generation_config.json", b"{}", "generation-config"),
    ("generation_config.json", b"", "generation-config"),
    ("m/generation_config.json", CONFIG, "generation-config"),
    ("old_generation_config.json", CONFIG, "generation-config"),
    ("anything.json", CONFIG, "generation-config"),
    (".env", TGI, "env-file"),
    ("tgi.env", TGI, "env-file"),
    (".env.production", TGI, "env-file"),
    ("env", TGI, "env-file"),
    ("serve.sh", LAUNCH, "launch-script"),
    ("serve.bash", LAUNCH, "launch-script"),
    ("tgi.env.sh", LAUNCH + TGI, "launch-script"),
    ("entrypoint", LAUNCH, "launch-script"),
    ("pod.yaml", POD, "kubernetes"),
    ("pod.yml", POD, "kubernetes"),
    ("prod.env.yaml", POD + b"# MODEL_ID\n", "kubernetes"),
]


@pytest.mark.parametrize(("path", "data", "kind"), FOUND)
def test_kinds(path: str, data: bytes, kind: str) -> None:
    found = kind_of(path, data)
    assert found is not None
    assert found.name == kind


@pytest.mark.parametrize(("path", "data", "kind"), FOUND)
def test_the_walk_and_the_hook_let_them_in(path: str, data: bytes, kind: str) -> None:
    assert may_be_manifest(path.rsplit("/", 1)[-1])
    assert any(re.search(entry.files, path) for entry in KINDS if entry.name == kind)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("README.md", b"FROM x vllm serve"),
        ("Modelfile.md", FROM),
        ("modelfile.py", FROM),
        ("Modelfile-notes.txt", b"Modelfiles come from Ollama.\nWrite FROM first.\n"),
        ("modelfiles", FROM),
        ("remodelfile", FROM),
        ("model.json", b'{"eos_token_id": 2, "bos_token_id": 1, "architectures": ["X"]}'),
        ("config.json", b'{"name": "x"}'),
        ("package.json", b'{"name": "x"}'),
        ("generation_config.json", b'{"eos_token_id": 1, "architectures": []}'),
        ("serve.sh", b"echo hello\n"),
        ("entrypoint", b"vllm serve m\n"),
        ("entrypoint", b"#!/usr/bin/env python\nimport vllm\n"),
        ("pod.yaml", b"kind: Pod\nimage: vllm\n"),
        ("pod.yaml", b"apiVersion: v1\nkind: Pod\nimage: nginx\n"),
        ("values.yaml", b"image: vllm\n"),
        (".env", b"DEBUG=1\n"),
        ("tgi.env.md", TGI),
        (".envrc", TGI),
        ("x.environment.ts", TGI),
    ],
)
def test_no_kind(path: str, data: bytes) -> None:
    assert kind_of(path, data) is None


@pytest.mark.parametrize(
    ("data", "kind"),
    [(POD, "kubernetes"), (CONFIG, "generation-config"), (LAUNCH, "launch-script"), (FROM, "modelfile"), (b"x", None)],
)
def test_a_text_without_a_name(data: bytes, kind: str | None) -> None:
    found = kind_of("-", data)
    assert (found.name if found is not None else None) == kind


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.name} {kind.title}")
def test_every_reader_is_there(kind: object) -> None:
    from importlib import import_module

    module, _, function = str(kind.reader).partition(":")  # type: ignore[attr-defined]
    assert callable(getattr(import_module(module), function))


@given(st.text(max_size=30), st.binary(max_size=60))
def test_any_name_and_bytes(path: str, data: bytes) -> None:
    found = kind_of(path, data)
    assert found is None or found in KINDS
