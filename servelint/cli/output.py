"""Writing to streams that may be closed, narrow, or not for text; and what is said when something goes wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from servelint.report import Style

ISSUES = "https://github.com/servelint/servelint/issues"
_DEFAULT_WIDTH = 100


class UsageError(Exception):
    """What was asked for cannot be done; one line says why. Exit status 2."""


def emit(pieces: Iterable[str], stream: TextIO | None = None) -> None:
    """Write to standard output. A reader that has gone away is no error; a full disk is a `UsageError`."""
    stream = stream or sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    try:
        for piece in pieces:
            stream.write(piece)
        stream.flush()
    except BrokenPipeError:
        _silence(stream)
    except OSError as error:
        _silence(stream)
        raise UsageError(f"cannot write the output: {(error.strerror or str(error)).lower()}") from error


def emit_bytes(data: bytes) -> None:
    """Write bytes to standard output as they are."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
    except OSError as error:
        _silence(sys.stdout)
        raise UsageError(f"cannot write the output: {(error.strerror or str(error)).lower()}") from error


def say(text: str) -> None:
    """A line on standard error."""
    emit([text + "\n"], sys.stderr)


def close() -> None:
    """Flush what is left, so that the interpreter has nothing to complain of when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _silence(stream)


def _silence(stream: TextIO) -> None:
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
    except (OSError, ValueError):
        return


def style_for(color: str, quiet: bool = False) -> Style:
    """How to write to standard output: `color` is `auto`, `always` or `never`; `NO_COLOR` and `FORCE_COLOR` count."""
    from servelint.report import Style

    terminal = _is_terminal(sys.stdout)
    wanted = color == "always"
    if color == "auto" and not os.environ.get("NO_COLOR"):
        wanted = bool(os.environ.get("FORCE_COLOR")) or (terminal and os.environ.get("TERM") != "dumb")
    width = _DEFAULT_WIDTH
    if terminal:
        from shutil import get_terminal_size

        width = get_terminal_size((_DEFAULT_WIDTH, 24)).columns
    return Style(wanted, width, quiet)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


class Progress:
    """One line on standard error that rewrites itself, once a run takes longer than a second, on a terminal only."""

    def __init__(self, total: int, wanted: bool = True) -> None:
        self._total = total
        self._active = wanted and total > 1 and _is_terminal(sys.stderr)
        self._shown = False
        if self._active:
            from time import monotonic

            self._clock = monotonic
            self._next = monotonic() + 1.0

    def step(self, number: int, path: str) -> None:
        """Tell that file `number` of all is being looked at."""
        if not self._active or self._clock() < self._next:
            return
        from shutil import get_terminal_size

        from servelint.report.printing import printable

        self._next = self._clock() + 0.1
        self._shown = True
        line = f"{number:,} of {self._total:,} files: {printable(path)}"
        sys.stderr.write(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}")
        sys.stderr.flush()

    def done(self) -> None:
        """Wipe the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def complain(error: Exception) -> int:
    """Say what went wrong on standard error, and give the exit status: 2 for wrong usage, 3 for our own fault."""
    show = getattr(error, "show", None)
    if show is not None and isinstance(getattr(error, "exit_code", None), int):
        # The parser's own: an unknown option, a missing argument.
        show()
        return 2
    if isinstance(error, UsageError) or type(error).__name__ in ("ConfigurationError", "BaselineError"):
        from servelint.report.printing import printable

        say(f"servelint: {printable(str(error))}")
        return 2
    say_internal([told(error)])
    return 3


def say_internal(lines: Iterable[str]) -> None:
    """One block, ready to be pasted into an issue, on what broke in servelint itself."""
    import platform

    from servelint import __version__
    from servelint.report.printing import printable

    told = "\n".join(f"  {printable(line)}" for line in lines)
    version = f"servelint {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    say(f"servelint: something broke in servelint itself; please report this block at {ISSUES}\n  {version}\n{told}")


def told(error: BaseException) -> str:
    """An exception and where it came from, in one line."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno} {code.co_name}")  # noqa: PTH119 (a name)
        trace = trace.tb_next
    return f"{type(error).__name__}: {error} ({' > '.join(frames[-6:])})"
