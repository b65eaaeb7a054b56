"""Kustomize: what overlays make of the objects that they are laid over, told where the overlay stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from servelint.formats.yaml import read_yaml
from servelint.manifests.json_patch import operations_of, patched
from servelint.report.collect import Locator
from servelint.report.servings import describe

BASE = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: qwen
  namespace: models
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.9.0
          args:
            - --model
            - Qwen/Qwen2.5-7B-Instruct
            - --max-model-len=8192
          env:
            - name: LOG
              value: info
"""
INDEX = "resources: [deployment.yaml]\n"
OVERLAY = "resources:\n  - ../base\n"


def check(kustomization: str, beside: dict[str, str] | None = None, name: str = "over/kustomization.yaml") -> Result:
    """Lint one file of an overlay whose base exists only here."""
    files = {
        "base/deployment.yaml": BASE,
        "base/kustomization.yaml": INDEX,
        "over/kustomization.yaml": kustomization,
        **(beside or {}),
    }
    context = Context(Path("/nonexistent"), {path: text.encode() for path, text in files.items()})
    result = lint(name, files[name].encode(), context, Policy(), True)
    assert result.internal == ()
    return result


def told(result: Result) -> list[dict[str, Any]]:
    """The deployments as a report tells them."""
    locator = Locator(result.path, result.text, Context(Path("/nonexistent")))
    return [describe(deployment, locator) for deployment in result.deployments]


def loud(result: Result) -> list[tuple[str, int]]:
    """Rules and lines of what is a warning or worse."""
    return [
        (finding.rule, result.text.count("\n", 0, finding.span.start) + 1)
        for finding in result.findings
        if finding.severity in ("warning", "error")
    ]


def json_patch(steps: str, target: str = "kind: Deployment, name: qwen") -> str:
    """An overlay with these steps written out in it."""
    lines = "".join(f"      {line}\n" for line in steps.splitlines())
    return f"{OVERLAY}patches:\n  - target: {{{target}}}\n    patch: |-\n{lines}"


ARGS = "/spec/template/spec/containers/0/args"
WRONG = f'- op: add\n  path: {ARGS}/-\n  value: --overide-generation-config={{"max_new_tokens":512}}\n'


def test_a_step_that_adds_a_word_is_judged_where_it_stands() -> None:
    result = check(json_patch(WRONG))
    assert loud(result) == [("SL504", 8)]
    (serving,) = told(result)
    assert serving["model"] == "Qwen/Qwen2.5-7B-Instruct"
    assert serving["engine_version"] == "0.9.0"


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("a right word", f"- op: add\n  path: {ARGS}/-\n  value: --enable-prefix-caching\n"),
        ("in the middle", f"- op: add\n  path: {ARGS}/0\n  value: --enable-prefix-caching\n"),
        ("replaced", f"- {{op: replace, path: {ARGS}/2, value: --max-model-len=4096}}\n"),
        ("removed", f"- {{op: remove, path: {ARGS}/2}}\n"),
        ("from the end", f"- {{op: replace, path: {ARGS}/-1, value: --max-model-len=4096}}\n"),
        ("a step that does not hold", f"- {{op: replace, path: {ARGS}/9, value: --no-such-thing=1}}\n"),
        ("nothing of the containers", "- {op: add, path: /spec/replicas, value: 2}\n"),
        ("not a patch", "replicas: 2\n"),
        ("a key with a slash", "- {op: add, path: /metadata/annotations/a~1b, value: c}\n"),
    ],
)
def test_steps_that_leave_it_well(name: str, steps: str) -> None:
    assert loud(check(json_patch(steps))) == [], name


def test_other_objects_are_left_alone() -> None:
    assert loud(check(json_patch(WRONG, "kind: Deployment, name: other"))) == []
    assert loud(check(json_patch(WRONG, 'kind: Deployment, name: "("'))) == []
    assert loud(check(json_patch(WRONG, "kind: Deployment"))) == [("SL504", 8)]
    assert loud(check(json_patch(WRONG, "name: q.*"))) == [("SL504", 8)]


def test_a_patch_in_a_file_of_its_own_is_told_where_it_is_named() -> None:
    text = f"{OVERLAY}patchesJson6902:\n  - target: {{kind: Deployment, name: qwen}}\n    path: steps.yaml\n"
    assert loud(check(text, {"over/steps.yaml": WRONG})) == [("SL504", 5)]
    as_json = f'[{{"op": "add", "path": "{ARGS}/-", "value": "--overide-generation-config=x"}}]'
    assert loud(check(text.replace("steps.yaml", "steps.json"), {"over/steps.json": as_json})) == [("SL504", 5)]


def test_images_of_the_overlay_change_the_version() -> None:
    right = f"- {{op: add, path: {ARGS}/-, value: --enable-prefix-caching}}\n"
    images = "images:\n  - name: vllm/vllm-openai\n    newTag: v0.11.2\n"
    (serving,) = told(check(json_patch(right) + images))
    assert serving["engine_version"] == "0.11.2"


PATCH = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: qwen
spec:
  template:
    spec:
      containers:
        - name: vllm
          args:
            - --model=Qwen/Qwen2.5-7B-Instruct
            - --overide-generation-config={}
"""


def test_a_patch_laid_over_its_base_is_read_with_the_base_around_it() -> None:
    index = OVERLAY + "patches:\n  - path: patch.yaml\n"
    result = check(index, {"over/patch.yaml": PATCH}, "over/patch.yaml")
    assert loud(result) == [("SL504", 12)]
    (serving,) = told(result)
    assert serving["engine"] == "vllm"
    assert serving["engine_version"] == "0.9.0"


def test_a_patch_written_out_is_a_manifest_in_the_kustomization() -> None:
    lines = "".join(f"      {line}\n" for line in PATCH.splitlines())
    result = check(f"{OVERLAY}patches:\n  - patch: |-\n{lines}")
    assert loud(result) == [("SL504", 16)]


def test_only_variables_in_a_patch_say_nothing_of_the_model() -> None:
    text = PATCH[: PATCH.index("          args:")] + "          env:\n            - {name: LOG, value: debug}\n"
    result = check(OVERLAY + "patches:\n  - path: patch.yaml\n", {"over/patch.yaml": text}, "over/patch.yaml")
    assert loud(result) == []
    assert [serving["model"] for serving in told(result)] == ["Qwen/Qwen2.5-7B-Instruct"]


def test_a_generated_map_gives_its_literals_and_files_of_variables() -> None:
    workload = (
        BASE.replace(
            "          env:\n",
            "          envFrom:\n            - configMapRef: {name: settings}\n          env:\n",
        )
        .replace("--max-model-len=8192", "--max-model-len=$(LENGTH)")
        .replace("Qwen/Qwen2.5-7B-Instruct", "$(MODEL)")
    )
    index = (
        "resources: [deployment.yaml]\n"
        "configMapGenerator:\n"
        "  - name: settings\n"
        '    literals:\n      - LENGTH="4096"\n'
        "    envs: [model.env]\n"
        "    files: [notes.txt]\n"
    )
    files = {
        "base/deployment.yaml": workload,
        "base/kustomization.yaml": index,
        "base/model.env": "# m\nMODEL=Qwen/Qwen3-8B\n",
    }
    result = check(OVERLAY, files, "base/deployment.yaml")
    assert [serving["model"] for serving in told(result)] == ["Qwen/Qwen3-8B"]
    assert loud(result) == []


def test_a_circle_of_kustomizations_ends() -> None:
    circle = {"base/kustomization.yaml": "resources: [deployment.yaml, ../over]\n"}
    assert loud(check(json_patch(WRONG), circle)) == [("SL504", 8)]


STEPS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "replace", "remove", "move", "copy", "test", "other"]),
            "path": st.sampled_from(["", "/", "/a", "/a/0", "/a/-", "/a/-1", "/b/c", "/b~1", "/a/x", "/a/0/b"]),
            "from": st.sampled_from(["", "/a", "/a/1", "/b"]),
            "value": st.sampled_from(["x", "1", "[q]", "{k: v}"]),
        }
    ),
    min_size=1,
    max_size=5,
)


@given(STEPS)
def test_any_steps_leave_the_tree_as_it_was(steps: list[dict[str, str]]) -> None:
    tree = read_yaml("a: [1, 2, {b: c}]\nb: {c: d}\n").documents[0]
    assert tree is not None
    text = "".join(
        f'- {{op: {step["op"]}, path: "{step["path"]}", from: "{step["from"]}", value: {step["value"]}}}\n'
        for step in steps
    )
    operations = operations_of(read_yaml(text).documents[0])
    assert operations is not None
    before = _plain(tree)
    patched(tree, operations)
    assert _plain(tree) == before


@pytest.mark.parametrize(
    ("steps", "after"),
    [
        ("- {op: add, path: /a/1, value: x}", {"a": ["1", "x", "2"], "b": {"c": "d"}}),
        ("- {op: add, path: /a/-, value: x}", {"a": ["1", "2", "x"], "b": {"c": "d"}}),
        ("- {op: add, path: /a/2, value: x}", {"a": ["1", "2", "x"], "b": {"c": "d"}}),
        ("- {op: add, path: /a/3, value: x}", None),
        ("- {op: replace, path: /a/2, value: x}", None),
        ("- {op: add, path: /b/e, value: x}", {"a": ["1", "2"], "b": {"c": "d", "e": "x"}}),
        ("- {op: replace, path: /b/c, value: [x]}", {"a": ["1", "2"], "b": {"c": ["x"]}}),
        ("- {op: remove, path: /b/z}", None),
        ("- {op: remove, path: /b}", {"a": ["1", "2"]}),
        ("- {op: move, from: /a/0, path: /b/e}", {"a": ["2"], "b": {"c": "d", "e": "1"}}),
        ("- {op: copy, from: /b/c, path: /a/0}", {"a": ["d", "1", "2"], "b": {"c": "d"}}),
        ("- {op: add, path: /no/such, value: x}", None),
    ],
)
def test_steps(steps: str, after: object) -> None:
    tree = read_yaml("a: [1, 2]\nb: {c: d}\n").documents[0]
    operations = operations_of(read_yaml(steps).documents[0])
    assert tree is not None
    assert operations is not None
    made = patched(tree, operations)
    assert (None if made is None else _plain(made)) == after


def _plain(node: Any) -> Any:
    if node.kind == "mapping":
        return {key.text: _plain(value) for key, value in node.items}
    return [_plain(item) for item in node.items] if node.kind == "sequence" else node.text


def test_a_version_that_the_overlay_chooses_is_told_in_the_overlay() -> None:
    base = BASE.replace("Qwen/Qwen2.5-7B-Instruct", "meta-llama/Meta-Llama-3-8B-Instruct")
    old = "images:\n  - name: vllm/vllm-openai\n    newTag: v0.4.0\n"
    right = f"- {{op: add, path: {ARGS}/-, value: --enable-prefix-caching}}\n"
    assert loud(check(json_patch(right) + old, {"base/deployment.yaml": base})) == [("SL118", 5)]
    assert loud(check(json_patch(right), {"base/deployment.yaml": base})) == []


def test_what_is_wrong_in_the_base_alone_is_told_in_the_base_alone() -> None:
    base = BASE.replace("--max-model-len=8192", "--max-modle-len=8192")
    right = f"- {{op: add, path: {ARGS}/-, value: --enable-prefix-caching}}\n"
    assert loud(check(json_patch(right), {"base/deployment.yaml": base})) == []
    assert loud(check(json_patch(right), {"base/deployment.yaml": base}, "base/deployment.yaml")) == [("SL504", 15)]
