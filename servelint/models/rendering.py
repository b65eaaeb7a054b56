"""Renders chat templates in a process of their own, within bounds of time, memory and output."""

from __future__ import annotations

import atexit
import json
import os.path
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from threading import Timer
from typing import Any

from servelint.records import record

_PROGRAM = os.path.join(os.path.dirname(__file__), "template_sandbox.py")  # noqa: PTH118, PTH120 (no pathlib at start)
# The longest that a person wrote have some 20,000 characters.
TEMPLATE_LIMIT = 512 * 1024
# The child bounds its own processor time to a second; the clock on the wall is for a machine that is very busy.
_SECONDS_TO_START = 30.0
_SECONDS_TO_ANSWER = 15.0


@record
class Rendering:
    """What came of one conversation: exactly one of the four is given.

    The `text`; why the template `refused` it (`raise_exception`); the `error` that it failed with; or why the outcome
    is `unknown` (a bound was passed).
    """

    text: str | None = None
    refused: str | None = None
    error: str | None = None
    unknown: str | None = None


@record
class TemplateFault:
    """Why jinja2 cannot compile a template, and on which of its lines (1-based)."""

    message: str
    line: int


class _Child:
    """The running process. One serves all templates of a run: its start costs more than fifty renderings."""

    def __init__(self) -> None:
        # Isolated: neither the environment nor the working folder decides what it imports.
        self._process = subprocess.Popen(
            [sys.executable, "-I", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, encoding="ascii",
        )  # fmt: skip
        self.ready = self._line(_SECONDS_TO_START) is not None

    def ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, None where the process ended over it."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError:
            return None
        line = self._line(_SECONDS_TO_ANSWER)
        if line is None:
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _line(self, seconds: float) -> str | None:
        assert self._process.stdout is not None
        watch = Timer(seconds, self._process.kill)
        watch.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watch.cancel()
        return line if line.endswith("\n") else None

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue


_running: list[_Child] = []


def _child() -> _Child | None:
    if not _running:
        try:
            child = _Child()
        except OSError:
            return None
        _running.append(child)
        if len(_running) == 1:
            atexit.register(_end)
        if not child.ready:
            _end()
            return None
    return _running[0]


def _end() -> None:
    while _running:
        _running.pop().end()


def render(template: str, calls: Sequence[Mapping[str, Any]]) -> tuple[Rendering, ...] | TemplateFault:
    """Render a template once for each call, a mapping of its variables (`messages`, `tools`, …), as transformers does.

    Never raises; what a bound cut short is unknown. The same question is answered from memory.
    """
    return _render(template, json.dumps(list(calls)))


@lru_cache(maxsize=256)
def _render(template: str, calls: str) -> tuple[Rendering, ...] | TemplateFault:
    count = len(json.loads(calls))
    if len(template) > TEMPLATE_LIMIT:
        return _all_unknown(count, f"it is longer than {TEMPLATE_LIMIT:,} characters")
    child = _child()
    if child is None:
        return _all_unknown(count, "no process to render it in could be started")
    answer = child.ask({"template": template, "calls": json.loads(calls)})
    if answer is None:
        _end()
        return _all_unknown(count, "it takes more time or memory than a template gets")
    if "syntax" in answer:
        return TemplateFault(answer["syntax"], answer["line"])
    return tuple(Rendering(**result) for result in answer["results"])


def _all_unknown(count: int, reason: str) -> tuple[Rendering, ...]:
    return (Rendering(unknown=reason),) * count
