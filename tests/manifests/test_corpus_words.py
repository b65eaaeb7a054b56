"""Launchers of public manifests: the words that are read are those that bash and Compose make of them."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from servelint.checks.policy import Policy
from servelint.checks.run import lint
from servelint.files.context import Context
from servelint.formats.shell import Script
from servelint.manifests.serving import Serving
from tests.conftest import SHARED
from tests.formats.shell_oracle import HAVE_BASH

FILES = sorted(path for path in (SHARED / "corpus").rglob("*.y*ml")) if SHARED.is_dir() else []
needs_corpus = pytest.mark.skipif(not FILES, reason="needs the folder of public manifests beside the checkout")

# Everything that a script calls is a function that only writes its words down.
_PRELUDE = """\
PATH=/nonexistent
command_not_found_handle() { return 0; }
record() { printf '%s\\0' "$#" "$@" >&3; }
ulimit() { :; }
"""


def servings() -> Iterator[tuple[Path, Serving]]:
    """Every serving of the corpus with its file."""
    for path in FILES:
        result = lint(str(path), path.read_bytes(), Context(path.parent), Policy(), True)
        for deployment in result.deployments:
            yield path, deployment.serving


def launches_of_bash(text: str, programs: set[str], environment: dict[str, str]) -> list[list[str]]:
    """The words of every run of one of the programs, in order, by bash itself with nothing behind it."""
    stubs = "".join(f'{name}() {{ record {name} "$@"; }}\n' for name in sorted(programs))
    done = subprocess.run(
        ["bash", "-c", f"exec 3>&1 1>/dev/null\n{_PRELUDE}{stubs}{text}\nwait"],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    fields = done.stdout.decode().split("\0")[:-1]
    found = []
    while fields:
        count = int(fields.pop(0))
        found.append(fields[:count])
        del fields[:count]
    return found


@needs_corpus
@pytest.mark.skipif(not HAVE_BASH, reason="needs bash")
def test_scripts_in_manifests_launch_what_bash_launches() -> None:
    judged = 0
    for path, serving in servings():
        script: Script | None = serving.facts.get("script")
        if script is None:
            continue
        programs = {command.program for command in script.commands if command.program not in (None, "exit", "export")}
        environment = {item.name: item.value for item in serving.environment if item.value is not None}
        text = str(serving.facts["text"])
        truth = launches_of_bash(text, {name for name in programs if name}, environment)
        command = serving.facts["command"]
        words = [word.text for word in command.words if word.count == 1]
        known = [word for word in words if word is not None]
        same = [line for line in truth if line[: len(known[:1])] == known[:1]]
        assert any(all(word in line for word in known) for line in same), (path.name, known, truth)
        if len(known) == len(command.words):
            assert known in truth, path.name
            judged += 1
    assert judged >= 5


@needs_corpus
def test_strings_in_compose_files_are_split_as_a_shell_would() -> None:
    by_file: dict[Path, list[list[str]]] = {}
    for path, serving in servings():
        if serving.kind == "compose" and serving.arguments is not None:
            known = [word.text for word in serving.arguments if word.text is not None]
            by_file.setdefault(path, []).append(known if len(known) == len(serving.arguments) else [])
    judged = 0
    for path, found in by_file.items():
        document: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        for service in document["services"].values():
            command = service.get("command")
            words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command or []]
            if not words or any("$" in word for word in words) or service.get("entrypoint") is not None:
                continue
            matching = [each for each in found if each and words[-len(each) :] == each]
            if any(words[0] in each for each in found):
                assert matching, (path.name, words)
                judged += 1
    assert judged >= 2
