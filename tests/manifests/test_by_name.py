"""Deployments that only names tell of: listed, and never judged."""

from __future__ import annotations

import pytest

from tests.manifests.test_custom_resources import check, told

CONNECTOR = """\
apiVersion: gmc.opea.io/v1alpha3
kind: GMConnector
metadata: {name: codegen, namespace: codegen}
spec:
  nodes:
    root:
      steps:
        - name: Llm
          internalService: {config: {TGI_LLM_ENDPOINT: tgi-service}}
        - name: Tgi
          internalService: {config: {MODEL_ID: Qwen/Qwen2.5-Coder-7B}}
"""
RAY = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: chat}
spec:
  serveConfigV2: |
    applications:
      - import_path: vllm_serve:deployment
        runtime_env:
          env_vars: {MODEL_ID: Qwen/Qwen2.5-7B, MAX_MODEL_LEN: "x"}
"""
HIDDEN_IMAGE = "services:\n  llamacpp:\n    image: ${IMAGE}\n    command: ${MODEL} --port 8080 --no-such-option\n"
BUILT = "services:\n  vllm:\n    build: {context: ./no/such/place}\n    command: ${MODEL} ${EXTRA}\n"


@pytest.mark.parametrize(
    ("text", "name", "engine", "model"),
    [
        (CONNECTOR, "manifest.yaml", "tgi", "Qwen/Qwen2.5-Coder-7B"),
        (RAY, "manifest.yaml", "vllm", "Qwen/Qwen2.5-7B"),
        (HIDDEN_IMAGE, "compose.yaml", "llama.cpp", None),
        (BUILT, "compose.yaml", "vllm", None),
    ],
)
def test_is_listed_and_not_judged(text: str, name: str, engine: str, model: str | None) -> None:
    result = check(text, name=name)
    assert result.findings == ()
    (serving,) = told(result)
    assert (serving["engine"], serving["model"]) == (engine, model)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CONNECTOR.replace("name: Tgi", "name: Retriever"), "manifest.yaml"),
        (RAY.replace("vllm_serve", "forecast"), "manifest.yaml"),
        (HIDDEN_IMAGE.replace("llamacpp:", "gateway:"), "compose.yaml"),
        (HIDDEN_IMAGE.replace("${IMAGE}", "acme/llamacpp-proxy:1"), "compose.yaml"),
        (BUILT.replace("vllm:", "vllm-exporter:"), "compose.yaml"),
    ],
)
def test_other_names_tell_nothing(text: str, name: str) -> None:
    assert told(check(text, name=name)) == []


def test_a_template_without_its_chart_is_read_with_every_value_unknown() -> None:
    text = """\
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.2
          args:
            - --model={{ .Values.model }}
            - --max-modle-len=1
{{- end }}
"""
    result = check(text, name="deployment.yaml")
    assert [finding.rule for finding in result.findings] == ["SL504"]
    assert [serving["model"] for serving in told(result)] == [None]
