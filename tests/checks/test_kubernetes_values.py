"""SL511: what the Kubernetes API takes only as strings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import explained, of_rule, pod, repaired, run, written


def args(*items: str) -> str:
    """A Pod with these items, as YAML writes them."""
    return pod("      args:\n" + "".join(f"        - {item}\n" for item in ("--model=m", *items)))


def env(value: str) -> str:
    """A Pod with one variable of that value, as YAML writes it."""
    return pod(f"      args: [m]\n      env:\n        - name: A\n          value: {value}\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (args("--port", "8000"), args("--port", '"8000"')),
        (args("'--port'", "8000"), args("'--port'", "'8000'")),
        (args("--port", "8_000"), args("--port", '"8_000"')),
        (args("--x", "0.9"), args("--x", '"0.9"')),
        (args("--x", "on"), args("--x", '"on"')),
        (args("--x", "null"), args("--x", '"null"')),
        (env("1"), env('"1"')),
        (env("true"), env('"true"')),
        (env("yes"), env('"yes"')),
    ],
)
def test_a_scalar_that_is_no_string(tmp_path: Path, before: str, after: str) -> None:
    result = run(tmp_path, "pod.yaml", before)
    (finding,) = of_rule(result, "SL511")
    assert finding.severity == "error"
    assert explained(finding)
    repaired_text = repaired(result, finding)
    assert repaired_text.replace("'", '"') == after.replace("'", '"')
    assert not of_rule(run(tmp_path, "pod.yaml", repaired_text), "SL511")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (args("--x", "{a: b}"), "{a: b}"),
        (args("[a, b]"), "[a, b]"),
        (args("--x: y"), "--x: y"),
        (args("### End"), ""),
        (env("{a: 1}"), "{a: 1}"),
        (pod("      args: --model m\n"), "--model m"),
        (pod("      command: {a: b}\n"), "{a: b}"),
    ],
)
def test_what_cannot_be_mended(tmp_path: Path, text: str, shown: str) -> None:
    result = run(tmp_path, "pod.yaml", text)
    (finding,) = of_rule(result, "SL511")
    assert (finding.severity, written(result, finding), finding.fix) == ("error", shown, None)
    assert finding.no_fix


@pytest.mark.parametrize(("value", "has_fix"), [("", True), ("~", False), ("null", False)])
def test_an_empty_variable_is_less_grave(tmp_path: Path, value: str, has_fix: bool) -> None:
    (finding,) = of_rule(run(tmp_path, "pod.yaml", env(value)), "SL511")
    assert (finding.severity, finding.fix is not None) == ("warning", has_fix)


@pytest.mark.parametrize(
    "text",
    [
        args('"8000"', "'true'", "1e3x", "0o18", "12:30x", "2024-01-01T00", "abc"),
        args("|\n          vllm", ">-\n          8000"),
        env('"1"'),
        env("$(B)"),
        pod("      args:\n"),
        pod("      args: []\n      env: []\n"),
        pod("      args: {{ .Values.args }}\n"),
        pod("      args:\n        - {{ .Values.x }}\n      env:\n        - {name: A, value: {{ .Values.y }}}\n"),
        pod("      ports: [{containerPort: 8000}]\n      resources: {limits: {nvidia.com/gpu: 1}}\n"),
        pod("      env: [{name: A, valueFrom: {fieldRef: {fieldPath: x}}}]\n"),
    ],
)
def test_strings_and_slots(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "pod.yaml", text), "SL511")


def test_a_shared_list_is_said_once_and_not_edited(tmp_path: Path) -> None:
    text = pod("      args: &a [--port, 8000]\n    - {name: b, image: vllm/vllm-openai, args: *a}\n")
    (finding,) = of_rule(run(tmp_path, "pod.yaml", text), "SL511")
    assert finding.fix is None
    assert finding.no_fix
