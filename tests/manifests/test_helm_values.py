"""Values of Helm charts: each known chart as its templates write it out, any other as the container it names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.finding import Finding
from servelint.checks.run import Result
from servelint.files.context import Context
from servelint.formats.yaml import plain
from servelint.manifests.chart_releases import steps_of
from servelint.manifests.helm_values import is_values_name, read
from servelint.report.collect import Locator
from servelint.report.servings import describe
from servelint.text import Source
from tests.checks.linting import loud, of_rule, repaired, run, written

STACK = """\
servingEngineSpec:
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.11.2
      modelURL: MODEL
      vllmConfig:
        maxModelLen: 16384
        extraArgs: ["--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
"""
FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llm}
spec:
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: llm}
spec:
"""
CONTAINER = "vllm:\n  image: {repository: vllm/vllm-openai, tag: v0.11.2}\n"


def told(result: Result) -> list[dict[str, Any]]:
    """The deployments as a report tells them."""
    locator = Locator(result.path, result.text, Context(Path("/nonexistent")))
    return [describe(deployment, locator) for deployment in result.deployments]


def served(result: Result) -> list[tuple[str, str | None]]:
    """Engine and model of each deployment."""
    return [(serving["engine"], serving["model"]) for serving in told(result)]


def words(result: Result, index: int = 0) -> list[str | None]:
    """The words of one deployment's engine."""
    return [word.text for word in result.deployments[index].serving.arguments or ()]


def lines(result: Result) -> list[tuple[str, int]]:
    """Rules and lines of what is a warning or worse."""
    return [
        (finding.rule, result.text.count("\n", 0, finding.span.start) + 1)
        for finding in result.findings
        if finding.severity != "note"
    ]


def only(result: Result, rule: str) -> Finding:
    """The one finding of a rule."""
    (finding,) = of_rule(result, rule)
    return finding


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("values.yaml", True), ("values.yml", True), ("Values.yaml", True), ("values-prod.yaml", True),
        ("prod-values.yaml", True), ("gpu.values.yaml", True), ("values.gpu.yaml", True), ("cpu_values.yml", True),
        ("values.yaml.gotmpl", False), ("values.json", False), ("myvalues.yaml", False), ("values", False),
    ],
)  # fmt: skip
def test_names_of_values(name: str, is_one: bool) -> None:
    assert is_values_name(name) is is_one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(STACK.replace("MODEL", "Qwen/Qwen3-14B"), [("vllm", "Qwen/Qwen3-14B")], id="production-stack"),
        pytest.param(
            "stack:\n" + STACK.replace("MODEL", "Qwen/Qwen3-14B").replace("\n", "\n  ").rstrip() + "\n",
            [("vllm", "Qwen/Qwen3-14B")], id="production-stack-below-a-subchart",
        ),
        pytest.param(
            "servingEngineSpec:\n  enableEngine: false\n  modelSpec:\n    - {name: a, modelURL: Qwen/Qwen3-8B}\n", [],
            id="production-stack-without-engine",
        ),
        pytest.param(
            'image:\n  repository: "vllm/vllm-openai"\n  tag: "latest"\n'
            '  command: ["vllm", "serve", "Qwen/Qwen3-8B", "--port", "8000"]\n',
            [("vllm", "Qwen/Qwen3-8B")], id="vllm-chart",
        ),
        pytest.param(
            "tgi:\n  enabled: false\n  LLM_MODEL_ID: a/b\nvllm:\n  enabled: true\n  LLM_MODEL_ID: Qwen/Qwen3-8B\n"
            'agent:\n  LLM_MODEL_ID: Qwen/Qwen3-8B\n  llm_engine: vllm\n',
            [("vllm", "Qwen/Qwen3-8B")], id="opea-subcharts",
        ),
        pytest.param(
            "image: {repository: ghcr.io/huggingface/text-generation-inference, tag: 3.3.4-intel-cpu}\n"
            "LLM_MODEL_ID: Qwen/Qwen2.5-7B-Instruct\nMAX_INPUT_LENGTH: '1024'\n",
            [("tgi", "Qwen/Qwen2.5-7B-Instruct")], id="opea-tgi-itself",
        ),
        pytest.param(
            "ollama:\n  models:\n    pull: [qwen3:8b, llama3.2]\n    run: [qwen3:8b]\n",
            [("ollama", "qwen3:8b"), ("ollama", "llama3.2")], id="ollama",
        ),
        pytest.param("ollama:\n  models:\n    - mistral\n", [("ollama", "mistral")], id="ollama-as-it-was"),
        pytest.param("ollama:\n  defaultModel: llama2\n  models: []\n", [("ollama", "llama2")], id="ollama-first"),
        pytest.param(
            "ollama:\n  enabled: true\n  ollama:\n    models: {pull: [qwen3:8b]}\nwebsocket: {enabled: true}\n",
            [("ollama", "qwen3:8b")], id="open-webui",
        ),
        pytest.param(
            "ollama:\n  enabled: false\n  ollama:\n    models: {pull: [qwen3:8b]}\n", [], id="open-webui-without-it"
        ),
        pytest.param(
            "catalog:\n"
            "  a: {enabled: true, url: 'hf://Qwen/Qwen3-8B', engine: VLLM, args: [--max-model-len=8192]}\n"
            "  b: {enabled: false, url: 'hf://Qwen/Qwen3-4B', engine: VLLM}\n"
            "  c: {enabled: true, url: 'ollama://qwen3:8b', engine: OLlama}\n"
            "  d: {enabled: true, url: 'hf://BAAI/bge-m3', engine: Infinity}\n",
            [("vllm", "Qwen/Qwen3-8B"), ("ollama", "qwen3:8b")], id="kubeai",
        ),
        pytest.param(
            "modelArtifacts: {uri: 'hf://Qwen/Qwen3-0.6B', name: Qwen/Qwen3-0.6B}\n"
            "decode:\n  create: true\n  containers:\n"
            "    - {name: vllm, image: 'ghcr.io/llm-d/llm-d-cuda:v0.5.0', modelCommand: vllmServe, args: []}\n"
            "prefill:\n  create: false\n  containers:\n"
            "    - {name: vllm, image: 'ghcr.io/llm-d/llm-d-cuda:v0.5.0', modelCommand: vllmServe}\n",
            [("vllm", "Qwen/Qwen3-0.6B")], id="llm-d",
        ),
        pytest.param(
            "modelArtifacts: {uri: 'pvc://models/qwen', name: Qwen/Qwen3-0.6B}\n"
            "decode:\n  containers:\n    - name: vllm\n      image: vllm/vllm-openai:v0.11.2\n"
            "      modelCommand: custom\n      command: [vllm, serve]\n      args: [/model-cache/Qwen3-8B]\n",
            [("vllm", "/model-cache/Qwen3-8B")], id="llm-d-with-its-own-command",
        ),
        pytest.param(
            "controllers:\n  main:\n    containers:\n      app:\n"
            "        image: {repository: vllm/vllm-openai, tag: v0.11.2}\n"
            "        args: [--model, Qwen/Qwen3-8B]\n        env: {HF_HOME: /data}\n",
            [("vllm", "Qwen/Qwen3-8B")], id="app-template",
        ),
        pytest.param(
            "image: {repository: rocm/vllm-dev, tag: nightly}\nmodel: {storageUri: 'hf://Qwen/Qwen3-0.6B'}\n",
            [("vllm", "Qwen/Qwen3-0.6B")], id="model-beside-the-image",
        ),
        pytest.param(
            CONTAINER + "  extraArgs: '--model Qwen/Qwen3-8B --max-model-len 8192'\n", [("vllm", "Qwen/Qwen3-8B")],
            id="words-in-one-text",
        ),
        pytest.param(
            "image: ollama/ollama:0.9.6\ncommand: |\n  ollama serve\n", [("ollama", None)], id="script",
        ),
        pytest.param(
            "image: example.org/house:1\ncommand: [sh, -c, 'exec vllm serve Qwen/Qwen3-8B']\n",
            [("vllm", "Qwen/Qwen3-8B")], id="image-of-a-house",
        ),
        pytest.param(
            "image: {repository: vllm/vllm-openai}\nargs: [-c, 'vllm serve Qwen/Qwen3-8B']\n",
            [("vllm", "Qwen/Qwen3-8B")], id="script-for-the-chart's-shell",
        ),
    ],
)  # fmt: skip
def test_what_values_serve(tmp_path: Path, text: str, expected: list[tuple[str, str | None]]) -> None:
    result = run(tmp_path, "values.yaml", text)
    assert served(result) == expected
    assert loud(result) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("image: {repository: nginx, tag: latest}\nargs: [--model, x]\nllama: 1\n", id="another-image"),
        pytest.param("image: {repository: vllm/vllm-openai, tag: v0.11.2}\n", id="image-alone"),
        pytest.param("cacheserverSpec: {repository: lmcache/vllm-openai, args: [--model, a/b]}\n", id="cache"),
        pytest.param(
            "initContainers:\n  - {name: a, image: 'vllm/vllm-openai:v0.4.0', args: [--model, a/b]}\n", id="init"
        ),
        pytest.param("llm:\n  LLM_MODEL_ID: Qwen/Qwen3-8B\n  vllm_endpoint: http://vllm\n", id="client-of-a-server"),
        pytest.param("catalog:\n  vllm: {enabled: true, engine: VLLM}\n", id="catalogue-entry-of-the-chart"),
        pytest.param("vllm: {{ .Values.x }}\nargs: [\n", id="template-of-values"),
        pytest.param("# vllm\n", id="nothing"),
        pytest.param("- vllm\n", id="list"),
    ],
)
def test_other_values_stay_silent(tmp_path: Path, text: str) -> None:
    result = run(tmp_path, "values.yaml", text)
    assert (served(result), loud(result)) == ([], [])


@pytest.mark.parametrize("tag", ["v0.3.7", "2025-05-27-v1", "latest-nightly"])
def test_lmcache_s_images_bear_its_own_version(tmp_path: Path, tag: str) -> None:
    text = STACK.replace("MODEL", "meta-llama/Meta-Llama-3-8B-Instruct").replace(
        "vllm/vllm-openai", "lmcache/vllm-openai"
    )
    result = run(tmp_path, "values.yaml", text.replace("v0.11.2", tag).replace("16384", "8192"))
    assert told(result)[0]["engine_version"] is None
    assert loud(result) == []


def test_only_known_charts_are_read_under_another_name(tmp_path: Path) -> None:
    assert served(run(tmp_path, "prod.yaml", STACK.replace("MODEL", "Qwen/Qwen3-14B"))) == [("vllm", "Qwen/Qwen3-14B")]
    text = CONTAINER + "  args: [--model, Qwen/Qwen3-8B]\n"
    assert served(run(tmp_path, "prod.yaml", text)) == []
    assert served(run(tmp_path, "values-prod.yaml", text)) == [("vllm", "Qwen/Qwen3-8B")]


def test_production_stack_in_words(tmp_path: Path) -> None:
    text = (
        STACK.replace("MODEL", "Qwen/Qwen3-14B").replace(
            "      vllmConfig:\n", "      enableTool: true\n      chatTemplate: tool.jinja\n      vllmConfig:\n"
        )
        + "        dtype: bfloat16\n        enablePrefixCaching: true\n        enableChunkedPrefill: false\n"
    )
    assert words(run(tmp_path, "values.yaml", text)) == [
        "serve", "Qwen/Qwen3-14B", "--enable-auto-tool-choice", "--enable-prefix-caching", "--max-model-len", "16384",
        "--dtype", "bfloat16", "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--chat-template",
        "/templates/tool.jinja",
    ]  # fmt: skip


def test_words_of_a_ray_cluster_stand_in_double_quotes(tmp_path: Path) -> None:
    text = STACK.replace("MODEL", "Qwen/Qwen3-14B").replace("hermes", "$PARSER") + "      raySpec: {headNode: {}}\n"
    assert words(run(tmp_path, "values.yaml", text))[-1] is None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("values.yaml", STACK.replace("MODEL", "Qwen/Qwen3-14B-Base"), [("SL301", 6)], id="base-model"),
        pytest.param(
            "values.yaml", CONTAINER.replace("v0.11.2", "v0.4.0")
            + "  args: [--model, meta-llama/Meta-Llama-3-8B-Instruct]\n", [("SL118", 2)], id="old-version",
        ),
        pytest.param(
            "values.yaml",
            CONTAINER + '  extraArgs:\n    - --model=Qwen/Qwen3-8B\n    - --override-generation-config={"a": 0.6}\n',
            [("SL511", 5)], id="mapping-among-words",
        ),
        pytest.param(
            "values.yaml", CONTAINER + "  extraArgs:\n    - --max-model-len 8192\n  model: Qwen/Qwen3-8B\n",
            [("SL507", 4)], id="two-words-in-one",
        ),
        pytest.param(
            "values.yaml", CONTAINER + "  extraArgs: [--max-model-length=1, --model, Qwen/Qwen3-8B]\n",
            [("SL504", 3)], id="unknown-option",
        ),
        pytest.param("values.yaml", "vllm:\n  args:\n\t- a\n", [("SL501", 3)], id="tab"),
        pytest.param(
            "values.yaml", STACK.replace("MODEL", "Qwen/Qwen3-8B")
            + "      env:\n        - {name: A, value: 1}\n        - {name: B, value: 'x'}\n        - {name: C}\n",
            [("SL511", 11)], id="number-in-the-environment",
        ),
        pytest.param(
            "values.yaml", "catalog:\n  a:\n    enabled: true\n    url: hf://Qwen/Qwen3-8B\n    engine: VLLM\n"
            "    args: [--max-model-len, 8192]\n", [("SL511", 6)], id="number-in-a-custom-resource",
        ),
        pytest.param(
            "values.yaml", "modelArtifacts: {uri: 'hf://Qwen/Qwen3-0.6B'}\ndecode:\n  containers:\n    - name: vllm\n"
            "      image: ghcr.io/llm-d/llm-d-cuda:v0.5.0\n      modelCommand: vllmServe\n"
            "      args: [--max-model-len, 8192]\n", [("SL511", 7)], id="number-in-llm-d",
        ),
        pytest.param(
            "release.yaml", FLUX + "  values:\n    vllm:\n      image: {repository: vllm/vllm-openai, tag: v0.4.0}\n"
            "      args: [--model, meta-llama/Meta-Llama-3-8B-Instruct]\n", [("SL118", 7)], id="flux",
        ),
        pytest.param(
            "app.yaml", ARGO + "  source:\n    helm:\n      values: |\n"
            "        image:\n          repository: vllm/vllm-openai\n          tag: v0.4.0\n"
            "        args: [--model, meta-llama/Meta-Llama-3-8B-Instruct]\n", [("SL118", 10)], id="argo-text",
        ),
        pytest.param(
            "app.yaml", ARGO + "  sources:\n    - {ref: values}\n    - helm:\n        valuesObject:\n"
            + "          " + STACK.replace("MODEL", "Qwen/Qwen3-14B-Base").replace("\n", "\n          ").rstrip(),
            [("SL301", 14)], id="argo-object",
        ),
    ],
)  # fmt: skip
def test_what_is_found(tmp_path: Path, name: str, text: str, expected: list[tuple[str, int]]) -> None:
    assert lines(run(tmp_path, name, text)) == expected


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        pytest.param(
            CONTAINER + "  model: Qwen/Qwen3-8B\n  extraArgs:\n    - --max-model-len 8192  # fits\n    - --port=1\n",
            CONTAINER + "  model: Qwen/Qwen3-8B\n  extraArgs:\n    - --max-model-len\n    - \"8192\"  # fits\n"
            "    - --port=1\n", id="block",
        ),
        pytest.param(
            STACK.replace("MODEL", "Qwen/Qwen3-8B").replace('"--enable-auto-tool-choice", ', '"--seed 1", '),
            STACK.replace("MODEL", "Qwen/Qwen3-8B").replace('"--enable-auto-tool-choice", ', '"--seed", "1", '),
            id="flow",
        ),
    ],
)  # fmt: skip
def test_words_are_split_as_their_neighbours_stand(tmp_path: Path, text: str, fixed: str) -> None:
    result = run(tmp_path, "values.yaml", text)
    assert repaired(result, only(result, "SL507")) == fixed


def test_repairs_reach_into_a_text_of_values(tmp_path: Path) -> None:
    text = ARGO + (
        "  source:\n    helm:\n      values: |\n        image: {repository: vllm/vllm-openai}\n"
        "        model: Qwen/Qwen3-8B\n        extraArgs:\n          - --seed 1  # steady\n"
    )
    result = run(tmp_path, "app.yaml", text)
    assert repaired(result, only(result, "SL507")) == text.replace(
        "          - --seed 1  # steady\n", '          - --seed\n          - "1"  # steady\n'
    )


@pytest.mark.parametrize(
    "value", ["'{{ .Values.global.model }}'", "'${MODEL}'", "<model>", '"$(MODEL)"', "'{{model}}/x'"]
)
def test_what_is_filled_in_later_is_unknown(tmp_path: Path, value: str) -> None:
    for text in (
        STACK.replace("MODEL", value),
        f"vllm:\n  LLM_MODEL_ID: {value}\n",
        CONTAINER + f"  args: [--model, {value}]\n",
        CONTAINER + f"  model: {value}\n",
    ):
        result = run(tmp_path, "values.yaml", text)
        assert (served(result), loud(result)) == ([("vllm", None)], [])


MODELFILE = """\
ollama:
  models:
    create:
      - name: pirate
        template: |
          FROM llama3.2
          PARAMETER stop "<|eot_id|>"
          PARAMETER num_predict 10
          SYSTEM {}
"""


def test_modelfiles_are_linted_where_they_lie(tmp_path: Path) -> None:
    text = MODELFILE.format('"""You never end')
    result = run(tmp_path, "values.yaml", text)
    assert {line for _, line in lines(result)} <= {6, 7, 8, 9}
    assert "SL503" in [rule for rule, _ in lines(result)]


def test_the_model_of_a_modelfile_is_told(tmp_path: Path) -> None:
    (serving,) = told(run(tmp_path, "values.yaml", MODELFILE.format("You are a pirate.")))
    assert (serving["engine"], serving["model"], serving["line"]) == ("ollama", "llama3.2", 6)


@pytest.mark.parametrize(
    ("system", "count"), [("costs $HOME", 0), ("costs `date`", 0), (r"costs \\$5", 1), ("costs nothing", 1)]
)
def test_the_hook_s_shell_fills_in_variables(tmp_path: Path, system: str, count: int) -> None:
    result = run(tmp_path, "values.yaml", MODELFILE.format(system))
    assert len(result.pieces) == count


def test_go_templates_in_a_modelfile_are_its_own(tmp_path: Path) -> None:
    text = MODELFILE.format("x") + '          TEMPLATE """{{ .Prompt }}"""\n'
    assert len(run(tmp_path, "values.yaml", text).pieces) == 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "  source:\n    helm:\n      parameters:\n"
            "        - {name: 'servingEngineSpec.modelSpec[0].modelURL', value: Qwen/Qwen3-14B}\n"
            "        - {name: 'servingEngineSpec.modelSpec[0].name', value: chat}\n",
            [("vllm", "Qwen/Qwen3-14B")], id="alone",
        ),
        pytest.param(
            "  source:\n    helm:\n      valuesObject: {vllm: {LLM_MODEL_ID: a/b}}\n"
            "      parameters: [{name: vllm.LLM_MODEL_ID, value: Qwen/Qwen3-8B}]\n",
            [("vllm", "Qwen/Qwen3-8B")], id="over-an-object",
        ),
        pytest.param(
            "  source:\n    helm:\n      valuesObject: {vllm: {LLM_MODEL_ID: a/b}}\n"
            "      parameters: [{name: vllm.enabled, value: false}]\n",
            [], id="switched-off",
        ),
        pytest.param(
            "  source:\n    helm:\n      values: |\n        vllm:\n          LLM_MODEL_ID: a/b\n"
            "      parameters: [{name: vllm.LLM_MODEL_ID, value: Qwen/Qwen3-8B}]\n",
            [], id="over-a-text",
        ),
        pytest.param(
            "  source:\n    helm:\n      values: |\n        vllm:\n          LLM_MODEL_ID: Qwen/Qwen3-8B\n"
            "      parameters: [{name: ui.replicas, value: '2'}]\n",
            [("vllm", "Qwen/Qwen3-8B")], id="beside-a-text",
        ),
    ],
)  # fmt: skip
def test_parameters_of_argo(tmp_path: Path, body: str, expected: list[tuple[str, str | None]]) -> None:
    result = run(tmp_path, "app.yaml", ARGO + body)
    assert served(result) == expected
    assert loud(result) == []


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a.b", ["a", "b"]), ("a[0].b", ["a", 0, "b"]), ("a[0][1]", ["a", 0, 1]), (r"a\.b.c", ["a.b", "c"]),
        ("a", ["a"]), ("", None), ("[0]", None), ("a[x]", None), ("a[9999]", None), ("a..b", None), (".a", None),
    ],
)  # fmt: skip
def test_paths_of_parameters(path: str, steps: list[str | int] | None) -> None:
    assert steps_of(path) == steps


def test_other_objects_of_a_release_s_file_are_read_as_ever(tmp_path: Path) -> None:
    pod = (
        "---\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n    - name: a\n"
        "      image: vllm/vllm-openai:v0.11.2\n      args: [--model, Qwen/Qwen3-4B, --port, 8000]\n"
    )
    text = FLUX + "  values:\n    vllm:\n      LLM_MODEL_ID: Qwen/Qwen3-8B\n" + pod
    result = run(tmp_path, "all.yaml", text)
    assert sorted(served(result)) == [("vllm", "Qwen/Qwen3-4B"), ("vllm", "Qwen/Qwen3-8B")]
    assert [rule for rule, _ in lines(result)] == ["SL511"]


@pytest.mark.parametrize(
    ("text", "model"),
    [
        pytest.param(
            "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: a}\nspec:\n  valuesContent: |-\n"
            "    vllm:\n      LLM_MODEL_ID: Qwen/Qwen3-8B\n", "Qwen/Qwen3-8B", id="k3s",
        ),
        pytest.param(
            "helmCharts:\n  - name: opea\n    valuesInline:\n      vllm:\n        LLM_MODEL_ID: Qwen/Qwen3-8B\n",
            "Qwen/Qwen3-8B", id="kustomize",
        ),
        pytest.param(
            ARGO.replace("Application", "ApplicationSet")
            + "  template:\n    spec:\n      source:\n        helm:\n          valuesObject:\n"
            "            vllm: {LLM_MODEL_ID: Qwen/Qwen3-8B}\n", "Qwen/Qwen3-8B", id="application-set",
        ),
    ],
)  # fmt: skip
def test_other_carriers_of_values(tmp_path: Path, text: str, model: str) -> None:
    assert served(run(tmp_path, "chart.yaml", text)) == [("vllm", model)]


CHART = {"Chart.yaml": "name: llm\nversion: 1.0.0\n"}
WHOLE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          args: ["--model", "{{ .Values.model }}"]
"""
LISTED = WHOLE.replace(
    '          args: ["--model", "{{ .Values.model }}"]\n',
    '          args:\n            - "--model"\n            - "{{ .Values.model }}"\n'
    "            {{- toYaml .Values.extraArgs | nindent 12 }}\n",
)
OWN = """\
image: {repository: vllm/vllm-openai, tag: v0.4.0}
model: meta-llama/Meta-Llama-3-8B-Instruct
extraArgs:
  - --max-model-len 8192
"""


@pytest.mark.parametrize(
    ("template", "in_values"), [pytest.param(WHOLE, [], id="whole"), pytest.param(LISTED, ["SL507"], id="with-a-list")]
)
def test_a_chart_s_own_values_do_not_say_it_again(tmp_path: Path, template: str, in_values: list[str]) -> None:
    beside = {**CHART, "templates/deployment.yaml": template, "values.yaml": OWN}
    values = run(tmp_path, "values.yaml", OWN, beside)
    assert [rule for rule, _ in lines(values)] == in_values
    assert served(values) == []
    rendered = run(tmp_path, "templates/deployment.yaml", template)
    assert [rule for rule, _ in lines(rendered)] == ["SL118"]
    assert len(rendered.deployments) == 1


def test_templates_that_name_no_engine_are_not_read(tmp_path: Path) -> None:
    """There the values are all that tells the deployment."""
    beside = {**CHART, "templates/deployment.yaml": WHOLE.replace("vllm", "server"), "values.yaml": OWN}
    values = run(tmp_path, "values.yaml", OWN, beside)
    assert [rule for rule, _ in lines(values)] == ["SL118", "SL507"]
    assert len(values.deployments) == 1
    assert run(tmp_path, "templates/deployment.yaml", beside["templates/deployment.yaml"]).kind is None


def test_values_laid_over_a_chart_s_own_are_told(tmp_path: Path) -> None:
    beside = {**CHART, "templates/deployment.yaml": WHOLE, "values.yaml": OWN}
    result = run(tmp_path, "values-prod.yaml", OWN, beside)
    assert [rule for rule, _ in lines(result)] == ["SL118", "SL507"]
    assert len(result.deployments) == 1


def test_a_remark_silences(tmp_path: Path) -> None:
    text = CONTAINER + "  model: Qwen/Qwen3-8B\n  extraArgs:\n    - --seed 1  # servelint: ignore[SL507] so be it\n"
    assert loud(run(tmp_path, "values.yaml", text)) == []


def test_a_finding_points_at_the_word(tmp_path: Path) -> None:
    text = CONTAINER + "  extraArgs: '--model Qwen/Qwen3-8B --max-model-length 8'\n"
    result = run(tmp_path, "values.yaml", text)
    assert written(result, only(result, "SL504")) == "--max-model-length"


_KEYS = st.sampled_from(
    ["image", "repository", "tag", "args", "command", "extraArgs", "env", "model", "servingEngineSpec", "modelSpec",
     "modelURL", "vllmConfig", "ollama", "models", "pull", "create", "template", "catalog", "url", "engine", "enabled",
     "LLM_MODEL_ID", "vllm", "modelArtifacts", "decode", "containers", "name", "value", "spec", "values", "kind"]
)  # fmt: skip
_SCALARS = st.sampled_from(
    ["vllm/vllm-openai", "v0.11.2", "Qwen/Qwen3-8B", "--model", "hf://a/b", "{{ x }}", "", "true", "FROM x",
     "HelmRelease", "$HOME", "ollama/ollama", 1, None, True, 0.5]
)  # fmt: skip
_TREES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5), max_leaves=25
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(_KEYS, _TREES, max_size=6))
def test_no_values_break_the_reader(tree: dict[str, Any]) -> None:
    import json

    text = json.dumps(tree)
    manifest = read("values.yaml", Source(text), Context(Path("/nonexistent")))
    for serving in manifest.servings if manifest is not None else ():
        assert 0 <= serving.span.start <= serving.span.end <= len(text)
        for word in serving.arguments or ():
            assert 0 <= word.span.start <= word.span.end <= len(text)
        assert serving.engine


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["--seed 1", "--port=1", "--dtype auto", "--enforce-eager"]), min_size=1, max_size=4))
def test_a_repair_changes_nothing_else(tmp_path_factory: pytest.TempPathFactory, given_words: list[str]) -> None:
    listed = "".join(f"    - {word}  # {number}\n" for number, word in enumerate(given_words))
    text = CONTAINER + f"  model: Qwen/Qwen3-8B\n  extraArgs:\n{listed}"
    result = run(tmp_path_factory.mktemp("values"), "values.yaml", text)
    for finding in of_rule(result, "SL507"):
        after = repaired(result, finding)
        (before_data,), (after_data,) = plain(text), plain(after)
        index = given_words.index(written(result, finding))
        places = [index] if given_words.count(given_words[index]) == 1 else range(len(given_words))
        options = [[*given_words[:place], *given_words[place].split(), *given_words[place + 1 :]] for place in places]
        assert after_data["vllm"]["extraArgs"] in options
        assert {**after_data["vllm"], "extraArgs": []} == {**before_data["vllm"], "extraArgs": []}
        assert all(f"# {number}" in after for number in range(len(given_words)))


def test_line_ends_and_a_byte_order_mark_are_the_file_s_own(tmp_path: Path) -> None:
    text = "\ufeff" + STACK.replace("MODEL", "Qwen/Qwen3-14B-Base").replace("\n", "\r\n")
    assert [rule for rule, _ in lines(run(tmp_path, "values.yaml", text))] == ["SL301"]


def test_variables_of_a_client_are_not_the_server_s(tmp_path: Path) -> None:
    text = "image: {repository: house/app}\nextraEnv: {OLLAMA_NUM_CTX: '1'}\nollama:\n  models: [qwen3:8b]\n"
    assert loud(run(tmp_path, "values.yaml", text)) == []
    own = text.replace("house/app", "ollama/ollama")
    assert lines(run(tmp_path, "values.yaml", own)) == [("SL504", 2)]


def test_files_of_config_maps(tmp_path: Path) -> None:
    text = (
        "controllers: {}\nconfigMaps:\n  models:\n    data:\n      Modelfile: |\n        FROM llama3.2\n"
        "        PARAMETER num_predict 10\n"
    )
    result = run(tmp_path, "values.yaml", text)
    assert served(result) == [("ollama", "llama3.2")]
    assert lines(result) == [("SL201", 7)]
