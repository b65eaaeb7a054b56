"""What bash itself makes of a script: the words that a program named `vllm` gets, recorded by a stand-in for it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from servelint.formats.shell import Script, read_script

HAVE_BASH = shutil.which("bash") is not None


@cache
def _stage() -> tuple[Path, tempfile.TemporaryDirectory[str]]:
    """A folder with the stand-in and an empty working folder, removed when the tests end."""
    holder = tempfile.TemporaryDirectory()
    root = Path(holder.name)
    (root / "bin").mkdir()
    (root / "work").mkdir()
    stand_in = root / "bin" / "vllm"
    stand_in.write_text(f'#!/bin/bash\nprintf "%s\\0" "$#" "$@" >> {root}/log\n', encoding="utf-8")
    stand_in.chmod(0o755)
    return root, holder


def launches_of_bash(
    script: str, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> list[list[str]]:
    """The words of every run of `vllm`, in order."""
    root, _ = _stage()
    log, file, work = root / "log", root / "script.sh", root / "work"
    log.write_bytes(b"")
    file.write_text(script, encoding="utf-8", newline="")
    for leftover in work.iterdir():  # a redirection's file would be found by the next script's patterns
        leftover.unlink()
    variables = {"PATH": f"{root}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", **(environment or {})}
    subprocess.run(
        ["bash", str(file), *arguments],
        cwd=work,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    fields = log.read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    result: list[list[str]] = []
    position = 0
    while position < len(fields):
        count = int(fields[position])
        result.append(fields[position + 1 : position + 1 + count])
        position += 1 + count
    return result


def launches_of_script(script: Script) -> list[tuple[str | None, list[str | None]]]:
    """The condition and the words of every run of `vllm` that was read; None for words that are unknown."""
    return [
        (command.condition, [word.text if word.count == 1 else None for word in command.words[1:]])
        for command in script.commands
        if command.program == "vllm"
    ]


def judge(script: str, arguments: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> str:
    """`agree`, `unknown` or `wrong`: what is read of the script beside what bash does."""
    read = read_script(script, environment or {}, arguments)
    found = launches_of_script(read)
    truth = launches_of_bash(script, arguments, environment)
    if sum(command.background for command in read.commands) > 1:  # they start in any order
        found, truth = sorted(found, key=str), sorted(truth)
    if found == [(None, words) for words in truth]:
        return "agree"
    doubtful = any(condition or None in words for condition, words in found)
    sure = [words for condition, words in found if condition is None and None not in words]
    if not doubtful or any(words not in truth for words in sure):
        return "wrong"
    if len(found) < len(truth) and not any(condition == "loop" for condition, _ in found):
        return "wrong"
    return "unknown"
