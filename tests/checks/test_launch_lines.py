"""SL509: commands that end before their author meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import explained, of_rule, pod, repaired, run, written

HEAD, TAIL = "#!/bin/bash\nvllm serve m", "  --port 80\n"


@pytest.mark.parametrize(
    ("between", "mended"),
    [
        ("\n", " \\\n"),
        (" \n", " \\\n"),
        ("  \t\n", " \\\n"),
        (" \\ \n", " \\\n"),
        (" \\\t\n", " \\\n"),
        (" > log 2>&1\n", " > log 2>&1 \\\n"),
        ("\n\n", None),
        (" \\\n# a remark\n", None),
        (" # a remark\n", None),
        (" \\\r\n", None),
    ],
)
def test_a_command_that_ends_too_early(tmp_path: Path, between: str, mended: str | None) -> None:
    result = run(tmp_path, "serve.sh", HEAD + between + TAIL)
    (finding,) = of_rule(result, "SL509")
    assert (finding.severity, written(result, finding)) == ("error", "--port")
    assert explained(finding)
    assert finding.related
    if mended is None:
        assert finding.fix is None
        assert finding.no_fix
        return
    assert repaired(result, finding) == HEAD + mended + TAIL
    assert not of_rule(run(tmp_path, "serve.sh", HEAD + mended + TAIL), "SL509")


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m --port 80\n",
        "vllm serve m \\\n  --port 80\n",
        "vllm serve m \\\n\n",
        "vllm serve m &\n--port 80\n",
        "vllm serve m\necho --port 80\n",
        "vllm serve m; --port 80\n",
        "vllm serve m\n# --port 80\n",
        "vllm serve m\n$X --port 80\n",
        "vllm serve m <<E\n--port 80\nE\n",
        'A=(\n  --port 80\n)\nvllm serve m "${A[@]}"\n',
    ],
)
def test_a_command_that_ends_where_it_should(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "serve.sh", text), "SL509")


def script(between: str) -> str:
    """A pod whose script is a block."""
    return pod(
        "      command: [bash, -c]\n      args:\n        - |\n          set -e\n"
        f"          vllm serve m{between}            --port 80\n"
    )


@pytest.mark.parametrize(
    ("between", "mended"), [("\n", " \\\n"), (" \\ \n", " \\\n"), (" \\\n          # why\n", None)]
)
def test_a_script_in_a_pod(tmp_path: Path, between: str, mended: str | None) -> None:
    result = run(tmp_path, "pod.yaml", script(between))
    (finding,) = of_rule(result, "SL509")
    assert written(result, finding) == "--port"
    assert (finding.fix is None) == (mended is None)
    if mended is not None:
        assert repaired(result, finding) == script(mended)


def test_a_healthy_script_in_a_pod(tmp_path: Path) -> None:
    assert run(tmp_path, "pod.yaml", script(" \\\n")).findings == ()


def test_a_folded_script_joins_its_lines(tmp_path: Path) -> None:
    text = pod("      command: [bash, -c]\n      args:\n        - >\n          vllm serve m\n          --port 80\n")
    assert run(tmp_path, "pod.yaml", text).findings == ()


def test_a_blank_behind_the_backslash_is_said_once(tmp_path: Path) -> None:
    result = run(tmp_path, "serve.sh", HEAD + " \\ \n" + TAIL)
    assert [finding.rule for finding in result.findings] == ["SL509"]
