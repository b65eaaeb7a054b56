"""The child process that renders chat templates: a stranger's code, so it runs where it can do and cost nothing.

It reads one JSON request a line from standard input and answers with one line each, the first time with an empty one
once it is ready. `servelint.models.rendering` runs this file by its path, so it imports nothing of servelint. The
environment of the templates is the one that transformers makes (5.24.0, `utils/chat_template_utils.py`,
`_compile_jinja_template`): an immutable sandbox with trimmed blocks, loop controls, the `{% generation %}` block,
`tojson` that leaves `<` alone, `raise_exception` and `strftime_now`.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

OUTPUT_LIMIT = 1024 * 1024
MEMORY_LIMIT = 160 * 1024 * 1024
# Of processor time, for all conversations of one template together.
SECONDS = 1.0
_TOO_MUCH_MEMORY = "it wants more memory than a template gets"


class _Generation(Extension):
    """`{% generation %} … {% endgeneration %}`: marks what the assistant says; it changes nothing in the text."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it so)

    def parse(self, parser: Any) -> list[nodes.Node]:
        next(parser.stream)
        body: list[nodes.Node] = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return body


class _RefusedError(TemplateError):
    """What a template says when it will not render a conversation."""


def _refuse(message: str = "") -> None:
    raise _RefusedError(message)


def _tojson(
    value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, "jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    # A day that never changes: what is found in a template must not depend on when it was looked at.
    environment.globals["strftime_now"] = lambda _: "2025-01-01"
    return environment


def _answer(environment: ImmutableSandboxedEnvironment, request: dict[str, Any]) -> dict[str, Any]:
    try:
        template = environment.from_string(request["template"])
    except TemplateSyntaxError as error:
        return {"syntax": str(error.message), "line": error.lineno}
    except MemoryError:
        # Constant expressions are computed as they are compiled.
        return {"results": [{"unknown": _TOO_MUCH_MEMORY}] * len(request["calls"])}
    except (RecursionError, ValueError, SyntaxError, OverflowError) as error:
        return {"syntax": f"{type(error).__name__}: {error}"[:500], "line": 1}
    return {"results": [_rendered(template, variables) for variables in request["calls"]]}


def _rendered(template: Any, variables: dict[str, Any]) -> dict[str, Any]:
    pieces: list[str] = []
    length = 0
    try:
        for piece in template.generate(**variables):
            pieces.append(piece)
            length += len(piece)
            if length > OUTPUT_LIMIT:
                return {"unknown": f"it writes more than {OUTPUT_LIMIT:,} characters"}
    except _RefusedError as error:
        return {"refused": str(error)[:500]}
    except MemoryError:
        pieces.clear()
        return {"unknown": _TOO_MUCH_MEMORY}
    except Exception as error:  # whatever a template brings about is its own fault
        return {"error": f"{type(error).__name__}: {error}"[:500]}
    return {"text": "".join(pieces)}


def _limit() -> None:
    """Bound what this process may use; where the system has no such limits, the parent's clock is the only one."""
    try:
        import resource
    except ImportError:
        return
    for limit, value in (
        (resource.RLIMIT_AS, MEMORY_LIMIT), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 16),
    ):  # fmt: skip
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):
            continue


def _set_clock(seconds: float) -> None:
    """From now on the process may compute for so long, else the system ends it; nothing in it can catch that."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _say(answer: str) -> None:
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer requests until standard input ends."""
    environment = _environment()
    _limit()
    _say("")
    for line in sys.stdin:
        _set_clock(SECONDS)
        answer = json.dumps(_answer(environment, json.loads(line)))
        _set_clock(0)
        _say(answer)


if __name__ == "__main__":
    main()
