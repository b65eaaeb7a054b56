"""SL301 and SL303: who is served for chat, and whether there is a template."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import explained, of_rule, pod, run, written

TOOLS = "vllm serve Qwen/Qwen2.5-7B --enable-auto-tool-choice --tool-call-parser hermes\n"
KSERVE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: x}
spec:
  predictor:
    model:
      modelFormat: {name: huggingface}
      storageUri: hf://Qwen/Qwen2.5-7B
      args: [--enable-auto-tool-choice, --tool-call-parser=hermes]
"""


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("serve.sh", "vllm serve Qwen/Qwen2.5-7B --chat-template chat.jinja\n", "Qwen/Qwen2.5-7B"),
        ("serve.sh", TOOLS, "Qwen/Qwen2.5-7B"),
        ("isvc.yaml", KSERVE, "hf://Qwen/Qwen2.5-7B"),
    ],
)  # fmt: skip
def test_a_base_model_for_chat(tmp_path: Path, name: str, text: str, place: str) -> None:
    result = run(tmp_path, name, text)
    (finding,) = of_rule(result, "SL301")
    assert (finding.severity, written(result, finding), finding.fix) == ("warning", place, None)
    assert explained(finding)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("serve.sh", "vllm serve Qwen/Qwen2.5-7B\n"),
        ("serve.sh", "vllm serve Qwen/Qwen2.5-7B-Instruct --chat-template chat.jinja\n"),
        ("serve.sh", "vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice --tool-call-parser hermes\n"),
        ("serve.sh", "vllm serve $MODEL --chat-template chat.jinja\n"),
        ("serve.sh", "vllm serve house/model --chat-template chat.jinja\n"),
        ("pod.yaml", pod("      args: [--model=/models/x, --chat-template=chat.jinja]\n")),
        ("isvc.yaml", KSERVE.replace("2.5-7B", "2.5-7B-Instruct")),
        ("isvc.yaml", KSERVE.replace("hf://Qwen/Qwen2.5-7B", "'{{ .Values.uri }}'")),
    ],
)
def test_no_base_model_for_chat(tmp_path: Path, name: str, text: str) -> None:
    assert not of_rule(run(tmp_path, name, text), "SL301")


@pytest.mark.parametrize("source", ["./w.gguf", "./qwen2.5-7b-instruct.gguf"])
def test_an_import_without_a_template(tmp_path: Path, source: str) -> None:
    (finding,) = of_rule(run(tmp_path, "Modelfile", f"FROM {source}\n"), "SL303")
    assert finding.severity == "note"
    assert explained(finding)


@pytest.mark.parametrize(
    "text",
    [
        "FROM qwen2.5:7b\n",
        "FROM hf.co/a/b\n",
        "FROM ./w.gguf\nTEMPLATE {{ .Prompt }}\n",
        "FROM ./w.gguf\nRENDERER qwen3-coder\n",
        "FROM ./qwen2.5-7b.gguf\n",
        "FROM ./nomic-embed-text-v1.5.gguf\n",
    ],
)
def test_no_template_is_wanted(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL303")
