"""Custom resources and what lies around them: each gives the words that its controller makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from servelint.report.collect import Locator
from servelint.report.servings import describe

LOUD = ("warning", "error")


def check(text: str, beside: dict[str, str] | None = None, name: str = "manifest.yaml") -> Result:
    """Lint a manifest with files beside it that exist only here."""
    overlay = {path: content.encode() for path, content in (beside or {}).items()}
    result = lint(name, text.encode(), _Folder(overlay), Policy(), True)
    assert result.internal == ()
    return result


class _Folder(Context):
    """A context whose overlay can be listed as a folder."""

    def __init__(self, overlay: dict[str, bytes]) -> None:
        super().__init__(Path("/nonexistent"), overlay)
        self._listed = tuple(sorted(overlay))

    def names(self, folder: str) -> tuple[str, ...]:
        return self._listed if folder in ("", ".") else ()


def told(result: Result) -> list[dict[str, Any]]:
    """The deployments as a report tells them."""
    context = Context(Path("/nonexistent"))
    locator = Locator(result.path, result.text, context)
    return [describe(deployment, locator) for deployment in result.deployments]


def loud(result: Result) -> list[tuple[str, int]]:
    """Rules and lines of what is a warning or worse."""
    return [
        (finding.rule, result.text.count("\n", 0, finding.span.start) + 1)
        for finding in result.findings
        if finding.severity in LOUD
    ]


KUBEAI = """\
apiVersion: kubeai.org/v1
kind: Model
metadata: {name: qwen}
spec:
  features: [TextGeneration]
  url: hf://Qwen/Qwen2.5-7B-Instruct
  engine: VLLM
  args:
    - --max-model-len=8192
    - --gpu-memory-utilization 0.95
  env:
    VLLM_ATTENTION_BACKEND: FLASHINFER
"""
KAITO = """\
apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata: {name: coder}
inference:
  preset:
    name: qwen2.5-coder-7b-instruct
  config: params
---
apiVersion: v1
kind: ConfigMap
metadata: {name: params}
data:
  inference_config.yaml: |
    max_probe_steps: 6
    vllm:
      max-model-len: 32,768
      swap-space: 4
      gpu-memory-utilization: 0.95
"""
RUNTIME = """\
apiVersion: production-stack.vllm.ai/v1alpha1
kind: VLLMRuntime
metadata: {name: chat}
spec:
  model:
    modelURL: Qwen/Qwen3-8B
    maxModelLen: 16384
  vllmConfig:
    tensorParallelSize: 2
    extraArgs: ["--reasoning-parser", "qwen3"]
  deploymentConfig:
    image: {registry: docker.io, name: "vllm/vllm-openai:v0.11.2"}
"""
LLM_SERVICE = """\
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: chat, namespace: assistants}
spec:
  model:
    uri: hf://Qwen/Qwen3-8B
  template:
    containers:
      - name: main
        env:
          - name: VLLM_ADDITIONAL_ARGS
            value: >-
              --reasoning-parser=qwen3
              --max-model-len 8k,0
"""
NIM = """\
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: llama}
spec:
  image: {repository: nvcr.io/nim/nvidia/llm-nim, tag: "1.12"}
  env:
    - name: NIM_MODEL_NAME
      value: hf://meta-llama/Llama-3.2-1B-Instruct
"""


@pytest.mark.parametrize(
    ("text", "engine", "version", "model", "argv"),
    [
        (KUBEAI, "vllm", None, "Qwen/Qwen2.5-7B-Instruct", ["--max-model-len=8192", "--gpu-memory-utilization 0.95"]),
        (
            KAITO, "vllm", None, "qwen2.5-coder-7b-instruct",
            ["--max-model-len", "32,768", "--swap-space", "4", "--gpu-memory-utilization", "0.95"],
        ),
        (
            RUNTIME, "vllm", "0.11.2", "Qwen/Qwen3-8B",
            ["serve", "Qwen/Qwen3-8B", "--max-model-len", "16384", "--tensor-parallel-size", "2", "--reasoning-parser",
             "qwen3"],
        ),
        (LLM_SERVICE, "vllm", None, "Qwen/Qwen3-8B", ["--reasoning-parser=qwen3", "--max-model-len", "8k,0"]),
        (NIM, "nim", None, "meta-llama/Llama-3.2-1B-Instruct", None),
    ],
    ids=["kubeai", "kaito", "production-stack", "kserve-llm", "nim"],
)  # fmt: skip
def test_who_is_served_with_which_words(
    text: str, engine: str, version: str | None, model: str, argv: list[str] | None
) -> None:
    (serving,) = told(check(text))
    assert (serving["engine"], serving["engine_version"], serving["model"]) == (engine, version, model)
    assert serving["argv"] == argv


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (KUBEAI, [("SL507", 10)]),
        (KAITO, [("SL505", 16)]),
        (RUNTIME, []),
        (LLM_SERVICE, [("SL505", 14)]),
        (NIM, []),
    ],
    ids=["kubeai", "kaito", "production-stack", "kserve-llm", "nim"],
)
def test_what_is_wrong_stands_where_it_is_written(text: str, found: list[tuple[str, int]]) -> None:
    assert loud(check(text)) == found


SERVICE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: chat}
spec:
  predictor:
    model:
      modelFormat: {name: vLLM}
      runtime: house-vllm
      storageUri: hf://Qwen/Qwen3-8B
      args: ["--max-model-len=8192"]
"""
SERVING_RUNTIME = """\
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: house-vllm}
spec:
  supportedModelFormats: [{name: vLLM}]
  containers:
    - name: kserve-container
      image: vllm/vllm-openai:v0.11.2
      command: [python3, -m, vllm.entrypoints.openai.api_server]
      args: [--model=/mnt/models, --max-model-len=4096]
"""


@pytest.mark.parametrize("together", [True, False])
def test_a_runtime_gives_its_words_before_the_services_own(together: bool) -> None:
    if together:
        result = check(SERVICE + "---\n" + SERVING_RUNTIME)
    else:
        result = check(SERVICE, {"runtime.yaml": SERVING_RUNTIME})
    serving = told(result)[0]
    assert serving["engine_version"] == "0.11.2"
    assert serving["argv"] == ["--model=/mnt/models", "--max-model-len=4096", "--max-model-len=8192"]
    assert serving["model"] == "Qwen/Qwen3-8B"


def test_a_runtime_that_is_not_in_sight_is_no_fault() -> None:
    (serving,) = told(check(SERVICE))
    assert serving["argv"] == ["--max-model-len=8192"]
    assert serving["engine_version"] is None


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.2
          args: ["--model", "$(MODEL)", "--max-model-len", "$(LENGTH)"]
          envFrom:
            - configMapRef: {name: settings}
          env:
            - name: LENGTH
              valueFrom:
                configMapKeyRef: {name: settings, key: length}
"""
SETTINGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  MODEL: Qwen/Qwen3-8B
  length: "8192"
"""


@pytest.mark.parametrize("together", [True, False])
def test_variables_of_a_config_map_are_filled_in(together: bool) -> None:
    result = check(DEPLOYMENT + "---\n" + SETTINGS) if together else check(DEPLOYMENT, {"settings.yaml": SETTINGS})
    (serving,) = told(result)
    assert serving["argv"] == ["--model", "Qwen/Qwen3-8B", "--max-model-len", "8192"]


def test_variables_of_a_config_map_that_is_not_in_sight_are_unknown() -> None:
    (serving,) = told(check(DEPLOYMENT))
    assert serving["argv"] == ["--model", None, "--max-model-len", None]


def test_a_secret_is_never_read() -> None:
    secret = SETTINGS.replace("ConfigMap", "Secret").replace("data:", "stringData:")
    (serving,) = told(check(DEPLOYMENT + "---\n" + secret))
    assert serving["argv"] == ["--model", None, "--max-model-len", None]


@pytest.mark.parametrize(
    ("key", "text", "rule"),
    [
        ("Modelfile", 'FROM qwen2.5:7b\nPARAMETER stop "x" "y"\n', "SL108"),
        ("generation_config.json", '{\n  "eos_token_id": "151645"\n}\n', "SL116"),
        ("serve.sh", "vllm serve Qwen/Qwen3-8B --max-model-len 8k,0\n", "SL505"),
        ("chat.env", 'MODEL_ID="x/y"\nMAX_TOTAL_TOKENS=8192 # all\n', "SL502"),
        ("compose.yaml", "services:\n  a:\n    image: vllm/vllm-openai\n    command: [--dtype auto]\n", "SL507"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("kind", "field"), [("ConfigMap", "data"), ("Secret", "stringData")])
def test_files_in_a_config_map_are_judged_as_what_they_are(
    kind: str, field: str, key: str, text: str, rule: str
) -> None:
    block = "".join(f"    {line}\n" for line in text.splitlines())
    manifest = f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: vllm-files}}\n{field}:\n  {key}: |\n{block}"
    result = check(manifest)
    assert rule in {found for found, _ in loud(result)}
    assert all(line > 5 for _, line in loud(result))


RAY = """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: qwen, namespace: ray}
spec:
  serveConfigV2: |
    applications:
      - name: llm
        import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
            - model_loading_config:
                model_id: qwen
                model_source: Qwen/Qwen3-8B
              engine_kwargs:
                max_model_len: 16384
                override_generation_config:
                  eos_token_id: [151645]
"""


def test_rays_configuration_is_read_inside_its_service() -> None:
    result = check(RAY)
    (serving,) = told(result)
    assert serving["model"] == "Qwen/Qwen3-8B"
    assert serving["line"] == 13
    assert serving["argv"][:4] == ["--model", "Qwen/Qwen3-8B", "--max_model_len", "16384"]
    assert loud(result) == [("SL121", 17)]


def test_rays_configuration_is_read_in_a_file_of_its_own() -> None:
    lines = RAY.splitlines()[5:]
    text = "\n".join(line[4:] for line in lines) + "\n"
    (serving,) = told(check(text, name="serve.yaml"))
    assert serving["model"] == "Qwen/Qwen3-8B"


CUSTOM = """\
apiVersion: house.example/v1
kind: ModelFarm
metadata: {name: farm}
spec:
  roles:
    - name: decode
      template:
        spec:
          initContainers:
            - {name: fetch, image: vllm/vllm-openai:v0.11.2, command: [huggingface-cli, download, x]}
          containers:
            - name: main
              image: vllm/vllm-openai:v0.11.2
              args: [--model, Qwen/Qwen3-8B]
              readinessProbe:
                exec: {command: [vllm, serve, nothing]}
"""


def test_pods_of_an_unknown_resource_are_found() -> None:
    (serving,) = told(check(CUSTOM))
    assert serving["model"] == "Qwen/Qwen3-8B"


def test_a_definition_of_a_resource_serves_nothing() -> None:
    text = CUSTOM.replace("ModelFarm", "CustomResourceDefinition")
    assert told(check(text)) == []


def test_a_sidecar_that_goes_on_running_is_a_container() -> None:
    deployment = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  template:
    spec:
      initContainers:
        - {name: side, image: "vllm/vllm-openai:v0.11.2", args: [--model, Qwen/Qwen3-0.6B], restartPolicy: Always}
        - {name: fetch, image: "vllm/vllm-openai:v0.11.2", args: [--model, Qwen/Qwen3-4B]}
      containers:
        - {name: main, image: "vllm/vllm-openai:v0.11.2", args: [--model, Qwen/Qwen3-8B]}
"""
    assert [serving["model"] for serving in told(check(deployment))] == ["Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"]


@given(st.sampled_from([KUBEAI, KAITO, RUNTIME, LLM_SERVICE, NIM, SERVICE, RAY, CUSTOM]), st.data())
def test_no_damage_to_a_manifest_breaks_a_reader(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    check(text[:start] + data.draw(st.text(st.sampled_from("[]{}:- \n\"'null&*|>#\t"), max_size=6)) + text[end:])


LLM_SERVICE = """\
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceService
metadata: {name: chat}
spec:
  model: {uri: "hf://Qwen/Qwen2.5-7B-Instruct", name: chat}
  template:
    containers:
      - name: main
"""
JSON = '--override-generation-config={"max_new_tokens":512,"temperature":0.2}'


@pytest.mark.parametrize(
    ("name", "container", "expected"),
    [
        ("bare JSON", f"        args: [--max-model-len=8192, '{JSON}']\n", [("SL508", 9)]),
        (
            "JSON in quotes of its own",
            "        args:\n          - >-\n            " + JSON.replace("{", "'{") + "'\n",
            [],
        ),
        ("words without any of the shell's letters", "        args: [--max-model-len=8192, --port, '80']\n", []),
        ("two words in one", "        args: ['--max-model-len 8192']\n", []),
        (
            "a variable spliced in",
            f"        env:\n          - name: VLLM_ADDITIONAL_ARGS\n            value: >-\n              {JSON}\n",
            [("SL508", 12)],
        ),
        (
            "a variable with quotes for the shell",
            "        env:\n          - name: VLLM_ADDITIONAL_ARGS\n            value: >-\n"
            f"              {JSON.replace('={', chr(61) + chr(39) + '{')}'\n",
            [],
        ),
    ],
)
def test_words_that_go_through_a_shell_once_more(name: str, container: str, expected: list[tuple[str, int]]) -> None:
    assert loud(check(LLM_SERVICE + container)) == expected, name
