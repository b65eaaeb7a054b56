"""Which containers of a Kubernetes file serve a model, with which words and variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.files.context import Context
from servelint.manifests.kubernetes import read, strings_wanted
from servelint.manifests.serving import Manifest, Serving
from servelint.text import Source, decode
from tests.checks.linting import pod


def source_of(text: str) -> Source:
    """A text as a file holds it."""
    return decode(text.encode("utf-8", "surrogatepass"))


def manifest_of(text: str) -> Manifest | None:
    """A text as the reader takes it."""
    return read("deploy.yaml", source_of(text), Context(Path("/nonexistent")))


def servings_of(text: str) -> tuple[Serving, ...]:
    """The servings of a text."""
    manifest = manifest_of(text)
    return manifest.servings if manifest is not None else ()


def words_of(serving: Serving) -> list[str | None]:
    """A serving's words, None for each that cannot be known."""
    return [word.text for word in serving.arguments or ()]


def dumped(kind: str, spec: dict[str, Any]) -> str:
    """A document of that kind."""
    return str(yaml.safe_dump({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}))


TGI = "ghcr.io/huggingface/text-generation-inference:3.0.1"
CONTAINER = {"name": "server", "image": "vllm/vllm-openai:v0.11.2", "args": ["--model", "m"]}
POD = {"containers": [CONTAINER]}
TEMPLATE = {"template": {"spec": POD}}


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Pod", POD),
        ("Deployment", TEMPLATE),
        ("StatefulSet", TEMPLATE),
        ("DaemonSet", TEMPLATE),
        ("ReplicaSet", TEMPLATE),
        ("ReplicationController", TEMPLATE),
        ("Job", TEMPLATE),
        ("CronJob", {"jobTemplate": {"spec": TEMPLATE}}),
        ("LeaderWorkerSet", {"leaderWorkerTemplate": {"leaderTemplate": {"spec": POD}, "workerTemplate": {}}}),
        ("LeaderWorkerSet", {"leaderWorkerTemplate": {"workerTemplate": {"spec": POD}}}),
        ("ServingRuntime", POD),
        ("ClusterServingRuntime", POD),
        ("InferenceService", {"predictor": POD}),
    ],
)
def test_every_kind_of_workload(kind: str, spec: dict[str, Any]) -> None:
    (serving,) = servings_of(dumped(kind, spec))
    assert (serving.engine, words_of(serving)) == ("vllm", ["--model", "m"])


def test_a_pod_template() -> None:
    (serving,) = servings_of(yaml.safe_dump({"kind": "PodTemplate", "template": {"spec": POD}}))
    assert words_of(serving) == ["--model", "m"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\n---\n",
        "5",
        "[]",
        "kind: Pod",
        "kind: Pod\nspec:",
        "kind: Pod\nspec: 5",
        "kind: Pod\nspec: {containers: {name: x, image: vllm/vllm-openai}}",
        "kind: Pod\nspec: {containers: [null, 5, [vllm]]}",
        "kind: [Pod]\nspec: {containers: [{image: vllm/vllm-openai}]}",
        "kind: ConfigMap\nspec: {containers: [{image: vllm/vllm-openai}]}",
        "kind: Pod\nspec: {containers: [{name: web, image: nginx, args: [vllm]}]}",
        "kind: Pod\nspec: {containers: [{name: web, image: [vllm/vllm-openai]}]}",
        "kind: InferenceService\nspec: {predictor: [model]}",
        "kind: InferenceService\nspec: {predictor: {model: huggingface}}",
        "kind: InferenceService\nspec: {predictor: {model: {modelFormat: {name: sklearn}, storageUri: s3://x}}}",
        "kind: List\nitems: 5",
        "kind: List\nitems: [5, null, {kind: List, items: [{kind: List}]}]",
        "kind: Deployment\nspec: {template: {spec: {{ .Values.pod }}}}",
        pod("      args: [a\n").replace("metadata", "{{- if .Values.x }}\nmetadata"),
    ],
)
def test_nothing_is_served(text: str) -> None:
    assert manifest_of(text) is None


def test_only_the_containers_of_a_pod_are_servers() -> None:
    server = dict(CONTAINER, livenessProbe={"exec": {"command": ["vllm", "serve", "probe"]}})
    server["lifecycle"] = {"postStart": {"exec": {"command": ["sh", "-c", "vllm serve hook"]}}}
    init = {"name": "load", "image": "vllm/vllm-openai", "command": ["vllm", "serve", "init"]}
    spec = {"initContainers": [init], "ephemeralContainers": [init], "containers": [server, {"name": "web"}]}
    assert [words_of(serving) for serving in servings_of(dumped("Pod", spec))] == [["--model", "m"]]


def test_a_list_is_read_item_by_item() -> None:
    first, second = yaml.safe_load(dumped("Pod", POD)), yaml.safe_load(dumped("Deployment", TEMPLATE))
    text = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [first, None, 5, second]})
    assert len(servings_of(text)) == 2


def test_documents_are_read_one_by_one() -> None:
    text = (
        "# head\n---\n---\n" + dumped("Pod", POD) + "---\nkind: Service\n--- # tail\n" + dumped("Deployment", TEMPLATE)
    )
    assert [serving.facts["place"] for serving in servings_of(text)] == ["Pod", "Deployment"]


@pytest.mark.parametrize(
    ("body", "image", "launcher", "words"),
    [
        ("      args: [m, --port=1]\n", "vllm/vllm-openai:v0.11.2", "image", ["m", "--port=1"]),
        ("      command: [vllm, serve]\n      args: [m]\n", "x/y", "serve", ["serve", "m"]),
        ("      command: [vllm, serve, m]\n", "x/y", "serve", ["serve", "m"]),
        ("      args: [vllm, serve, m]\n", "x/y", "serve", ["serve", "m"]),
        ("      args: [vllm, serve, m]\n", "rocm/vllm", "serve", ["serve", "m"]),
        ("      args: [sh, -c, vllm serve m]\n", "rocm/vllm", "serve", ["serve", "m"]),
        ("      args: [vllm, serve, m]\n", "vllm/vllm-openai", "image", ["vllm", "serve", "m"]),
        (
            "      command: [python3, -u, -m, vllm.entrypoints.openai.api_server, --model, m]\n",
            "x/y",
            "module",
            ["--model", "m"],
        ),
        ("      args: [--model-id, m]\n", TGI, "image", ["--model-id", "m"]),
        ("      command: [text-generation-launcher]\n      args: [--model-id=m]\n", "x", "launcher", ["--model-id=m"]),
        ("      args:\n", "vllm/vllm-openai", "image", []),
        ("      args: ~\n      command: []\n", "vllm/vllm-openai", "image", []),
        ("", "vllm/vllm-openai:${TAG}", "image", []),
        ("", "'vllm/vllm-openai:{{ .Values.tag }}'", "image", []),
    ],
)  # fmt: skip
def test_how_a_container_starts(body: str, image: str, launcher: str, words: list[str]) -> None:
    (serving,) = servings_of(pod(body, image))
    assert (serving.facts["launcher"], words_of(serving)) == (launcher, words)


@pytest.mark.parametrize(
    ("body", "image"),
    [
        ("      command: [sleep, infinity]\n", "vllm/vllm-openai"),
        ("      args: [sleep, infinity]\n", "rocm/vllm"),
        ("      args: [--model, m]\n", "x/y"),
        ("      args: [--model, m]\n", "'{{ .Values.image }}'"),
        ("      args: [--model, m]\n", "${REGISTRY}/vllm-openai"),
        ("      command: [bash, /run.sh, -c, vllm serve m]\n", "vllm/vllm-openai"),
        ("      command: [bash, -c]\n", "vllm/vllm-openai"),
        ("      command: [bash]\n", "vllm/vllm-openai"),
        ("      command: [bash, -c, echo vllm serve m]\n", "vllm/vllm-openai"),
        ("      command: [vllm, serve, --help]\n", "vllm/vllm-openai"),
    ],
)
def test_what_starts_no_server(body: str, image: str) -> None:
    assert servings_of(pod(body, image)) == ()


@pytest.mark.parametrize("value", ["vllm serve m", "{{ .Values.command }}", "{a: 1}"])
def test_a_command_that_is_no_list_hides_the_words(value: str) -> None:
    (serving,) = servings_of(pod(f"      command: {value}\n      args: [--nonsense]\n"))
    assert serving.arguments is None


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("--model m", [(None, None)]),
        ("{{ .Values.args }}", [(None, None)]),
        ("[--model, '{{ .Values.model }}', --port]", [("--model", 1), (None, None), ("--port", 1)]),
        ("['--model={{ .Values.model }}']", [(None, 1)]),
        ("['--model=${MODEL}', '--port=<port>', '@MODEL@']", [(None, 1), (None, 1), (None, 1)]),
        ("[8000, true, null, [a], {b: c}]", [("8000", 1), ("true", 1), (None, 1), (None, 1), (None, 1)]),
        ("['<|im_end|>', '</s>', 'a < b > c', '${}']", [("<|im_end|>", 1), ("</s>", 1), ("a < b > c", 1), ("${}", 1)]),
    ],
)
def test_words_that_cannot_be_known(value: str, words: list[tuple[str | None, int | None]]) -> None:
    (serving,) = servings_of(pod(f"      args: {value}\n"))
    assert [(word.text, word.count) for word in serving.arguments or ()] == words
    assert all(word.text is not None or word.reason for word in serving.arguments or ())


def test_what_is_known_before_a_slot() -> None:
    (serving,) = servings_of(pod("      args: ['--model={{ .m }}', '--port=${P}', '--a=<b>', '--c=$(V)']\n" + VARIABLE))
    assert [word.prefix for word in serving.arguments or ()] == ["--model=", "--port=", "--a=", "--c="]


VARIABLE = "      env: [{name: V, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n"
ENV = "      env: [{name: A, value: x}, {name: B, value: $(A)-y}, {name: C, value: $(D)}, {name: D, value: '$$(A)'}]\n"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("$(A)", "x"),
        ("$(B)", "x-y"),
        ("$(C)", "$(D)"),
        ("$(D)", "$(A)"),
        ("-$(A)-$(A)-", "-x-x-"),
        ("$(NONE)", "$(NONE)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$x"),
        ("$(A", "$(A"),
        ("$", "$"),
        ("a$", "a$"),
        ("$A", "$A"),
        ("$$", "$"),
        ("$()", "$()"),
        ("$($(A))", "$($(A))"),
    ],
)
def test_variables_expand_as_kubernetes_does(word: str, text: str) -> None:
    (serving,) = servings_of(pod(f"      args: ['{word}']\n{ENV}"))
    assert words_of(serving) == [text]


def test_a_variable_from_elsewhere_is_unknown() -> None:
    (serving,) = servings_of(
        pod("      args: [--model=$(V), $(W), $(nvidia-smi -L)]\n      envFrom: [{secretRef: {}}]\n" + VARIABLE)
    )
    assert words_of(serving) == [None, None, "$(nvidia-smi -L)"]
    assert serving.hidden


def test_the_last_variable_of_a_name_wins() -> None:
    (serving,) = servings_of(pod("      env: [{name: A, value: x}, {name: A, value: y}, {value: z}, 5, {name: [A]}]\n"))
    assert [(setting.name, setting.value) for setting in serving.environment] == [("A", "y")]


@pytest.mark.parametrize(
    ("value", "known"),
    [
        ("x", "x"), ("'5'", "5"), ("", ""), ("~", ""), ("{a: b}", None), ("'{{ .Values.x }}'", None), ("${X}", None),
        ("'<your-token>'", None), ("'{\"a\": 1}'", '{"a": 1}'),
    ],
)  # fmt: skip
def test_values_of_variables(value: str, known: str | None) -> None:
    (serving,) = servings_of(pod(f"      env:\n        - name: A\n          value: {value}\n"))
    assert serving.environment[0].value == known
    assert known is not None or serving.environment[0].reason


SCRIPT = """\
      command: ["bash", "-c"]
      args:
        - |
          set -e
          export VLLM_LOGGING_LEVEL=DEBUG
          MAX=4096
          vllm serve "$MODEL" \\
            --max-model-len $MAX --port=$(PORT)
      env: [{name: MODEL, value: Qwen/Qwen3-8B}, {name: PORT, value: '80'}]
"""


def test_a_script_is_read_as_its_shell_reads_it() -> None:
    text = pod(SCRIPT)
    (serving,) = servings_of(text)
    assert words_of(serving) == ["serve", "Qwen/Qwen3-8B", "--max-model-len", "4096", "--port=80"]
    assert text[serving.span.start :].startswith('vllm serve "$MODEL"')
    found = {setting.name: setting.value for setting in serving.environment}
    assert found == {"MODEL": "Qwen/Qwen3-8B", "PORT": "80", "VLLM_LOGGING_LEVEL": "DEBUG"}


def test_the_places_in_a_script_are_the_files_own() -> None:
    text = pod(SCRIPT)
    (serving,) = servings_of(text)
    assert [text[word.span.start : word.span.end] for word in serving.arguments or ()] == [
        "serve", '"$MODEL"', "--max-model-len", "$MAX", "--port=$(PORT)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ('[sh, -c, "vllm serve m"]', ["serve", "m"]),
        ('[sh, -ec, "vllm serve m"]', ["serve", "m"]),
        ('[bash, -lc, "vllm serve m"]', ["serve", "m"]),
        ('[bash, --norc, -o, pipefail, -c, "vllm serve m"]', ["serve", "m"]),
        ('[bash, -euo, pipefail, -c, "vllm serve m"]', ["serve", "m"]),
        ('[bash, -c, -e, "vllm serve m"]', ["serve", "m"]),
        ('[/bin/sh, -c, "exec vllm serve m $0 $@", --a, --b, "c d"]', ["serve", "m", "--a", "--b", "c", "d"]),
        ('[sh, -c, "exec vllm serve m \\"$@\\"", --, --b, "c d"]', ["serve", "m", "--b", "c d"]),
        ('[sh, -c, "vllm serve m $(echo --x)"]', ["serve", "m", "--x"]),
        ('[sh, -c, "cd /x && . ./env; vllm serve m"]', ["serve", "m"]),
    ],
)
def test_shells_and_their_options(command: str, words: list[str | None]) -> None:
    (serving,) = servings_of(pod(f"      command: {command}\n"))
    assert words_of(serving)[: len(words)] == words


def test_a_folded_script() -> None:
    text = pod("      command: [sh, -c]\n      args:\n        - >\n          vllm serve m\n          --port 80\n")
    (serving,) = servings_of(text)
    assert words_of(serving) == ["serve", "m", "--port", "80"]
    assert [text[word.span.start : word.span.end] for word in serving.arguments or ()] == words_of(serving)


def test_a_script_that_may_not_run_says_so() -> None:
    (serving,) = servings_of(pod("      command: [sh, -c, 'if [ -d /x ]; then vllm serve m; fi']\n"))
    assert any("some paths" in reason for reason in serving.hidden)


def test_kserve_takes_the_model_from_storage() -> None:
    spec = {"predictor": {"model": {"modelFormat": {"name": "huggingface"}, "storageUri": "hf://Qwen/Qwen3-8B"}}}
    text = dumped("InferenceService", spec)
    (serving,) = servings_of(text)
    assert (serving.facts["launcher"], serving.facts["storage_uri"].value) == ("kserve", "hf://Qwen/Qwen3-8B")
    assert text[serving.span.start : serving.span.end] == "hf://Qwen/Qwen3-8B"


def test_a_storage_with_a_slot_is_unknown() -> None:
    spec = {"predictor": {"model": {"modelFormat": {"name": "vLLM"}, "storageUri": "hf://{{ .model }}"}}}
    (serving,) = servings_of(dumped("InferenceService", spec))
    assert serving.facts["storage_uri"].value is None


def test_anchors_and_merge_keys() -> None:
    text = (
        "kind: Pod\nspec:\n  containers:\n    - &base\n      name: a\n      image: vllm/vllm-openai\n"
        "      args: &args [--model, m]\n    - *base\n    - <<: *base\n      name: b\n      args: *args\n"
        "    - <<: *base\n      args: [--model, n]\n"
    )
    assert [words_of(serving)[-1] for serving in servings_of(text)] == ["m", "m", "m", "n"]


def test_a_key_that_stands_twice_counts_as_its_last_value() -> None:
    manifest = manifest_of(pod("      args: [--model, a]\n      args: [--model, b]\n"))
    assert manifest is not None
    assert words_of(manifest.servings[0]) == ["--model", "b"]
    assert [problem.sort for problem in manifest.problems] == ["duplicate-key"]


def test_broken_yaml_is_told() -> None:
    manifest = manifest_of(pod("      args: [a\n"))
    assert manifest is not None
    assert [problem.sort for problem in manifest.problems] == ["syntax"]


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("      args: [a, 5, true, ~, {a: b}]\n", ["string", "int", "bool", "null", "mapping"]),
        ("      args: a b\n", ["string instead of a list"]),
        ("      args: {{ .Values.args }}\n", []),
        ("      args:\n        - {{ .Values.a }}\n        - '{{ .Values.b }}'\n", []),
        ("      args:\n", []),
        ("      env: [{name: A, value: 5}, {name: B}, 5]\n", ["int"]),
        ("      env: 5\n", []),
    ],
)
def test_what_the_api_takes_only_as_strings(body: str, wanted: list[str]) -> None:
    (serving,) = servings_of(pod(body))
    assert [kind for _, _, kind in strings_wanted(serving)] == wanted


_KEYS = st.sampled_from(
    ["kind", "spec", "containers", "image", "args", "command", "env", "name", "value", "template", "items", "predictor",
     "model", "storageUri", "modelFormat", "valueFrom", "envFrom", "jobTemplate", "leaderWorkerTemplate", 5, None, True]
)  # fmt: skip
_SCALARS = st.sampled_from(
    ["Pod", "Deployment", "List", "InferenceService", "ServingRuntime", "vllm/vllm-openai:v0.11.2", "vllm", "serve",
     "sh", "-c", "vllm serve m --port $(A)", "$(A)", "A", "{{ .x }}", "${A}", "<b>", "", 5, None, True, 1.5,
     "huggingface", "$$("]
)  # fmt: skip
_TREES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=6), max_leaves=30
)


@settings(max_examples=150, deadline=None)
@given(kind=_SCALARS, container=st.dictionaries(_KEYS, _TREES, max_size=7), tree=_TREES, wrap=st.integers(0, 4))
def test_any_structure_is_read(kind: Any, container: Any, tree: Any, wrap: int) -> None:
    spec: Any = {"containers": [container, tree]}
    spec = [spec, {"template": {"spec": spec}}, {"predictor": spec}, {"predictor": {"model": container}}, tree][wrap]
    text = yaml.safe_dump({"kind": kind, "apiVersion": "v1", "spec": spec, "items": tree})
    manifest = manifest_of(text)
    for serving in manifest.servings if manifest is not None else ():
        list(strings_wanted(serving))
        for word in serving.arguments or ():
            assert 0 <= word.span.start <= word.span.end <= len(text)
