"""The session in the README is what the commands really print."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"


def session() -> list[tuple[str, str]]:
    """The commands of the session with what follows them, up to the next command."""
    text = README.read_text(encoding="utf-8")
    block = text.split("## A session\n", 1)[1].split("```console\n", 1)[1].split("```\n", 1)[0]
    steps = []
    for part in block.split("$ servelint ")[1:]:
        command, _, output = part.partition("\n")
        steps.append((command, output.strip("\n")))
    return steps


@pytest.mark.parametrize(("command", "output"), session(), ids=[command for command, _ in session()])
def test_session(command: str, output: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "FORCE_COLOR")}
    ran = subprocess.run(
        [sys.executable, "-m", "servelint", *command.split()],
        cwd=ROOT, capture_output=True, text=True, env={**environment, "NO_COLOR": "1"}, check=False,
    )  # fmt: skip
    assert ran.stdout.strip("\n") == output
    assert ran.returncode in (0, 1)


def test_the_diagnosis_begins_like_the_real_one() -> None:
    text = README.read_text(encoding="utf-8").split("## One model, four questions\n", 1)[1]
    command, _, output = text.split("```console\n$ servelint ", 1)[1].split("```\n", 1)[0].partition("\n")
    ran = subprocess.run(
        [sys.executable, "-m", "servelint", *command.split(), "--color", "never"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout.startswith(output)


def test_there_is_a_session() -> None:
    assert len(session()) >= 2
