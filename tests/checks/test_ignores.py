"""Comments that silence a rule at one node, and what is said of those that silence nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.checks.finding import Finding
from servelint.checks.ignores import apply_ignores, read_ignores
from servelint.checks.policy import Policy
from servelint.formats.problem import Comment
from servelint.text import Span
from tests.checks.linting import pod, run

CAP = "PARAMETER num_predict 100\n"
TOUCHED = Policy(select=("ALL",))


@pytest.mark.parametrize(
    ("text", "rules", "reason"),
    [
        ("# servelint: ignore[SL201] a classifier", ("SL201",), "a classifier"),
        ("#servelint:ignore[SL201]", ("SL201",), ""),
        ("# servelint: ignore[SL201, low-cap ,SL101] - why", ("SL201", "low-cap", "SL101"), "why"),
        ("# note. servelint: ignore[SL201]: why", ("SL201",), "why"),
        ("# servelint: ignore", (), ""),
        ("# servelint: ignore[]", (), ""),
    ],
)
def test_forms(text: str, rules: tuple[str, ...], reason: str) -> None:
    (ignore,) = read_ignores([Comment(Span(0, len(text)), text, Span(0, 0))])
    assert (ignore.rules, ignore.reason) == (rules, reason)


@pytest.mark.parametrize(
    "text", ["# servelint", "# ignore[SL201]", "# servelint: off", "", "# servelint:\nignore[SL1]"]
)
def test_other_comments(text: str) -> None:
    assert read_ignores([Comment(Span(0, len(text)), text, Span(0, 0))]) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Modelfile", f"FROM m\n# servelint: ignore[SL201] one word is enough\n{CAP}"),
        ("Modelfile", f"FROM m\n# servelint: ignore[low-cap] one word is enough\n{CAP}"),
        ("Modelfile", f"FROM m\n# servelint: ignore[sl201] one word is enough\n{CAP}"),
        ("serve.sh", "# servelint: ignore[SL504] ours\nvllm serve m --max-modle-len 5\n"),
        ("pod.yaml", pod("      # servelint: ignore[SL511] templated later\n      args: [m, --seed, 5]\n")),
        (
            "pod.yaml",
            pod("      args:\n        - m\n        - --seed\n        - 5 # servelint: ignore[SL511] templated later\n"),
        ),
    ],
)
def test_a_finding_is_silenced(tmp_path: Path, name: str, text: str) -> None:
    assert run(tmp_path, name, text).findings == ()


def test_ignores_can_be_set_aside(tmp_path: Path) -> None:
    text = f"FROM m\n# servelint: ignore[SL201] one word is enough\n{CAP}"
    result = run(tmp_path, "Modelfile", text, policy=Policy(respect_ignores=False))
    assert [finding.rule for finding in result.findings] == ["SL201"]


@pytest.mark.parametrize(
    ("text", "rules", "hint"),
    [
        ("FROM m\n# servelint: ignore[SL201] why\nPARAMETER num_predict 1000\n", ["SL901"], "silences nothing"),
        (f"FROM m\n# servelint: ignore[SL999] why\n{CAP}", ["SL901", "SL201"], "no such rule"),
        (f"FROM m\n# servelint: ignore\n{CAP}", ["SL901", "SL201"], "names no rule"),
        (f"# servelint: ignore[SL201] far away\nFROM m\n{CAP}", ["SL901", "SL201"], "silences nothing"),
        (f"FROM m\n{CAP}# servelint: ignore[SL201] too late\n", ["SL201", "SL901"], "silences nothing"),
    ],
)
def test_an_ignore_that_silences_nothing(tmp_path: Path, text: str, rules: list[str], hint: str) -> None:
    findings = run(tmp_path, "Modelfile", text).findings
    assert [finding.rule for finding in findings] == rules
    (unused,) = [finding for finding in findings if finding.rule == "SL901"]
    assert (unused.severity, hint in unused.message) == ("note", True)


def test_a_rule_that_is_off_leaves_its_ignore_alone(tmp_path: Path) -> None:
    text = f"FROM m\n# servelint: ignore[SL201] one word is enough\n{CAP}"
    assert run(tmp_path, "Modelfile", text, policy=Policy(ignore=("SL201",))).findings == ()


def test_reasons_may_be_asked_for(tmp_path: Path) -> None:
    text = f"FROM m\n# servelint: ignore[SL201]\n{CAP}"
    assert run(tmp_path, "Modelfile", text).findings == ()
    assert [finding.rule for finding in run(tmp_path, "Modelfile", text, policy=TOUCHED).findings] == ["SL902"]


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 8), st.sampled_from(["SL101", "low-cap"])), max_size=8),
    st.lists(st.tuples(st.integers(0, 24), st.integers(0, 4), st.sampled_from(["SL101", "SL201"])), max_size=6),
)
def test_an_ignore_silences_what_lies_in_its_node(
    nodes: list[tuple[int, int, str]], places: list[tuple[int, int, str]]
) -> None:
    comments = [
        Comment(Span(100 + index, 101 + index), f"# servelint: ignore[{name}] why", Span(start, start + length))
        for index, (start, length, name) in enumerate(nodes)
    ]
    findings = [Finding(rule, "error", "f", Span(start, start + length), "m") for start, length, rule in places]

    def silenced(finding: Finding) -> bool:
        return any(
            finding.rule == {"low-cap": "SL201"}.get(name, name)
            and finding.span.start < max(start + length, start + 1)
            and start <= max(finding.span.start, finding.span.end - 1)
            for start, length, name in nodes
        )

    kept = [finding for finding in apply_ignores("f", findings, comments, Policy()) if finding.rule[:3] != "SL9"]
    assert kept == [finding for finding in findings if not silenced(finding)]
