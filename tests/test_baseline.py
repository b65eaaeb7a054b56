"""By what a finding of a baseline is known again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servelint.baseline import BaselineError, read_baseline, render_baseline
from servelint.checks.finding import Finding
from servelint.report.collect import Entry
from servelint.text import Span
from tests.report.samples import report

TEXT = "FROM a\nPARAMETER stop x\nPARAMETER stop x\n"


def entries(text: str, *spans: tuple[int, int], rule: str = "SL110", path: str = "Modelfile") -> list[Entry]:
    return report(*(Finding(rule, "note", path, Span(*span), "m") for span in spans), text=text).entries


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A baseline with one finding, about the second line."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "known.json"
    file.write_text(render_baseline(str(file), entries(TEXT, (17, 23))))
    return file


def hidden(file: Path, found: list[Entry]) -> list[bool]:
    kept = read_baseline(str(file)).unknown(found)
    return [entry not in kept for entry in found]


def test_what_stays_the_same(baseline: Path) -> None:
    assert hidden(baseline, entries(TEXT, (17, 23))) == [True]
    # Another place in the same line, lines before it, other blanks, another end of the line.
    assert hidden(baseline, entries(TEXT, (7, 16))) == [True]
    assert hidden(baseline, entries("# new\n\n" + TEXT, (24, 30))) == [True]
    assert hidden(baseline, entries("\tPARAMETER   stop x \r\n", (1, 5))) == [True]


def test_what_is_another_finding(baseline: Path) -> None:
    assert hidden(baseline, entries(TEXT.replace(" x", " y"), (17, 23))) == [False]
    assert hidden(baseline, entries(TEXT, (17, 23), rule="SL106")) == [False]
    assert hidden(baseline, entries(TEXT, (17, 23), path="sub/Modelfile")) == [False]
    assert hidden(baseline, entries(TEXT, (0, 20))) == [False]


def test_each_hides_one(baseline: Path) -> None:
    assert hidden(baseline, entries(TEXT, (17, 23), (34, 40))) == [True, False]
    baseline.write_text(render_baseline(str(baseline), entries(TEXT, (17, 23), (34, 40))))
    assert hidden(baseline, entries(TEXT, (17, 23), (34, 40))) == [True, True]


def test_it_is_the_same_from_every_folder(baseline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (baseline.parent / "sub").mkdir()
    monkeypatch.chdir(baseline.parent / "sub")
    assert hidden(baseline, entries(TEXT, (17, 23), path="../Modelfile")) == [True]
    assert json.loads(baseline.read_text())["findings"][0]["path"] == "Modelfile"


def test_a_last_line_without_its_newline_and_an_empty_file(baseline: Path) -> None:
    for text, span in (("FROM x", (0, 6)), ("", (0, 0)), ("a\n", (2, 2)), ("a\n", (0, 2))):
        baseline.write_text(render_baseline(str(baseline), entries(text, span)))
        assert hidden(baseline, entries(text, span)) == [True]


def test_what_is_no_baseline(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    with pytest.raises(BaselineError, match="no such file"):
        read_baseline(str(file))
    for data in (b"", b"\xff", b"[" * 100_000, b'{"version": 1}', b'{"version": 1, "findings": [{"path": 1}]}'):
        file.write_bytes(data)
        with pytest.raises(BaselineError, match="not a baseline"):
            read_baseline(str(file))
