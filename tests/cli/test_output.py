"""The line that shows how far a long run is."""

from __future__ import annotations

import io
import sys

import pytest

from servelint.cli.output import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: float, wanted: bool = True) -> str:
    """What is written while ten files are looked at that take so many seconds each."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress(10, wanted)
    for number in range(1, 11):
        progress.step(number, f"file-{number}\x1b")
        now[0] += seconds
    progress.done()
    return stream.getvalue()


def test_a_long_run_shows_where_it_is_and_wipes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = written(monkeypatch, Terminal(), 0.5)
    shown = text.split("\r\x1b[K")
    assert shown[0] == shown[-1] == ""
    assert shown[1] == "3 of 10 files: file-3\\x1b"
    assert "\n" not in text


def test_a_short_run_a_pipe_and_a_quiet_run_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written(monkeypatch, Terminal(), 0.05) == ""
    assert written(monkeypatch, io.StringIO(), 5.0) == ""
    assert written(monkeypatch, Terminal(), 5.0, wanted=False) == ""
