"""Runs the command line in this process and in one of its own, and compares whole outputs with goldens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from servelint.cli.main import main

GOLDENS = Path(__file__).parent / "goldens"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write what the tests see into their golden files")


class Ran(NamedTuple):
    """How a command line ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def scrubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory that is a repository's root: no configuration from above gets in."""
    place = tmp_path / "work"
    (place / ".git").mkdir(parents=True)
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""

    def run_(*words: str) -> Ran:
        capfd.readouterr()
        status = main(words)
        out, err = capfd.readouterr()
        return Ran(status, out, err)

    return run_


def spawn(*words: str, stdin: bytes = b"", **settings: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line in a process of its own."""
    environment = {**os.environ, **settings}
    return subprocess.run(
        [sys.executable, "-m", "servelint", *words], input=stdin, capture_output=True, env=environment, check=False
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of that name; `pytest tests/cli --update-goldens` writes it instead."""

    def compare(name: str, text: str) -> None:
        file = GOLDENS / f"{name}.txt"
        if request.config.getoption("--update-goldens", default=False):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        assert file.exists(), f"no golden file {file.name}; make it with pytest tests/cli --update-goldens"
        assert text == file.read_text(encoding="utf-8")

    return compare
