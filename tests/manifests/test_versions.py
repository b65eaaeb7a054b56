"""Versions of image tags and pins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.manifests.versions import (
    at_least,
    before,
    compare,
    parse_version,
    tag_of_image,
    version_of_image,
    version_of_pin,
)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.11.2", "0.11.2"),
        ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1"),
        ("vllm/vllm-openai:v0.10.1.1", "0.10.1.1"),
        ("registry.example:5000/team/vllm:0.9.2-cu128", "0.9.2"),
        ("vllm/vllm-openai:v0.9.2@sha256:0123", "0.9.2"),
        ("ghcr.io/huggingface/text-generation-inference:3.3.4-rocm", "3.3.4"),
        ("ghcr.io/huggingface/text-generation-inference:2.0.2", "2.0.2"),
        ("lmsysorg/sglang:v0.5.6.post2-cu126", "0.5.6.post2"),
        ("ghcr.io/ggml-org/llama.cpp:server-cuda-b4719", "b4719"),
        ("ollama/ollama:0.30.0-rc1", "0.30.0-rc1"),
        ("acme/vllm:cuda-12.4-v0.9.2", "0.9.2"),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:nightly-1a2b3c4", None),
        ("vllm/vllm-openai", None),
        ("localhost:5000/vllm", None),
        ("vllm/vllm-openai@sha256:0123", None),
        ("vllm/vllm-openai:sha-1a2b3c4", None),
        ("vllm/vllm-openai:1234567", None),
        ("vllm/vllm-openai:deadbeef", None),
        ("vllm/vllm-openai:${VERSION:-v0.9.2}", None),
        ("vllm/vllm-openai:{{ .Values.tag }}", None),
        ("", None),
    ],
)
def test_version_of_image(image: str, version: str | None) -> None:
    assert version_of_image(image) == version


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.8.5", "0.8.5.post1"),
        ("0.11.0rc2", "0.11.0"),
        ("0.11.0.dev3", "0.11.0rc1"),
        ("0.30.0-rc1", "0.30.0"),
        ("0.9.2", "0.10.0"),
        ("b4719", "b5000"),
        ("v0.10.1", "0.10.1.1"),
    ],
)
def test_order(older: str, newer: str) -> None:
    assert compare(older, newer) == -1
    assert compare(newer, older) == 1
    assert at_least(newer, older) is True
    assert before(newer, older) is False
    assert before(older, newer) is True


def test_what_is_not_known_is_not_compared() -> None:
    assert compare("latest", "0.9") is None
    assert at_least(None, "0.9") is None
    assert before("nightly", "0.9") is None
    assert compare("0.9", "v0.9.0") == 0


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        ("vllm==0.8.5.post1", "0.8.5.post1"),
        ("vllm[audio] == 0.9.2 ; python_version > '3.9'", "0.9.2"),
        ("vllm>=0.8", None),
        ("vllm", None),
        ("vllm==0.9.*", None),
        ("vllm-extras==0.9.2", None),
    ],
)
def test_version_of_pin(requirement: str, version: str | None) -> None:
    assert version_of_pin(requirement, "vllm") == version


def test_parts_of_an_image() -> None:
    assert tag_of_image("localhost:5000/x") is None
    assert tag_of_image("x:latest") == "latest"


@given(st.text(alphabet="v0123456789.-_abcrpost+:/@ \u0660", max_size=30))
def test_any_text_is_taken(text: str) -> None:
    version = parse_version(text)
    assert version is None or version.release
    found = version_of_image("x:" + text)
    # What is read out of a tag reads as the same version again.
    assert found is None or parse_version(found) is not None
