"""What a Modelfile's value holds that its author took for syntax: comments, quotes, lists, carriage returns."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, listing, repair
from servelint.formats.modelfile import listed_stops, stray_quotes, trailing_comment
from servelint.text import Edit

_TAKES_PROSE = frozenset({"system", "template", "license", "message"})


def check_swallowed_comment(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL502: a remark after a value, which Ollama reads as part of it."""
    serving = deployment.serving
    for setting, instruction in _instructions(deployment):
        start = trailing_comment(instruction)
        if start is None:
            continue
        fix, refusal = repair("move the comment to a line of its own", serving.writer.move_comment(setting, start))  # type: ignore[attr-defined]
        yield Finding(
            "SL502", "error", serving.path, setting.span,
            f"the comment is part of the value: Ollama gets {excerpt(setting.value or '')!r}",
            why="A Modelfile has no comments after a value; `#` opens one only as the first character of a line.",
            help="put the comment on a line of its own above", fix=fix, no_fix=refusal,
        )  # fmt: skip


def check_literal_quotes(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL107: quotes that Ollama keeps."""
    serving = deployment.serving
    for setting, instruction in _instructions(deployment):
        if setting.name != "stop":
            continue
        cleaned = stray_quotes(instruction)
        if cleaned is None:
            continue
        fix, refusal = repair("write it in double quotes", serving.writer.replace(setting, [cleaned]))
        yield Finding(
            "SL107", "error", serving.path, setting.span,
            f"the quotes are part of the stop: Ollama waits for {excerpt(setting.value or '')}",
            why="Only straight double quotes are quotes in a Modelfile, and nothing is escaped in them.",
            help=f'write "{excerpt(cleaned)}"', fix=fix, no_fix=refusal,
        )  # fmt: skip


def check_literal_escapes(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL107: `\\n` in a stop, which is a backslash and a letter to Ollama."""
    serving = deployment.serving
    for setting, instruction in _instructions(deployment):
        if setting.name != "stop" or "\\" not in (setting.value or "") or listed_stops(instruction):
            continue
        escape = _escape(setting.value or "")
        if escape is None:
            continue
        yield Finding(
            "SL107", "warning", serving.path, setting.span,
            f"{escape} is a backslash and a letter in this stop: Ollama waits for {excerpt(setting.value or '')}",
            why="Nothing is escaped in a Modelfile, and a model seldom writes a backslash where a line ends.",
            help='a stop over two lines can stand between """ and """', no_fix="a line break cannot stand in one line",
        )  # fmt: skip


def _escape(value: str) -> str | None:
    """The first `\\n`, `\\r` or `\\t` in a value that begins no longer word (`\\nabla`, `\\text`)."""
    position = value.find("\\")
    while position >= 0:
        letter, following = value[position + 1 : position + 2], value[position + 2 : position + 3]
        if letter and letter in "nrt" and not following.islower():
            return "\\" + letter
        position = value.find("\\", position + 1)
    return None


def check_listed_stops(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL108: several stops in one value."""
    serving = deployment.serving
    for setting, instruction in _instructions(deployment):
        if setting.name != "stop":
            continue
        values = listed_stops(instruction)
        if not values:
            continue
        fix, refusal = repair("write one line for each stop", serving.writer.replace(setting, values))
        yield Finding(
            "SL108", "error", serving.path, setting.span,
            f"this is one stop, {excerpt(setting.value or '')}, and no model writes it",
            why="A Modelfile takes one stop a line; the whole rest of the line is its text.",
            help=f"give {listing([excerpt(value, 30) for value in values])} a line each", fix=fix, no_fix=refusal,
        )  # fmt: skip


def check_carriage_returns(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL309: carriage returns inside a TEMPLATE go into the prompt."""
    serving = deployment.serving
    for setting, instruction in _instructions(deployment):
        if setting.name != "template" or "\r" not in (setting.value or ""):
            continue
        edits = []
        if instruction.inner is not None and instruction.inner.encode is not None:
            text, position = instruction.inner.text, 0
            while (position := text.find("\r", position)) >= 0:
                span = instruction.inner.offsets[position]
                paired = text[position + 1 : position + 2] == "\n"
                edits.append(Edit(span, span + 1, "" if paired else "\n"))
                position += 1
        fix, refusal = repair("end the template's lines with LF", tuple(edits))
        count = (setting.value or "").count("\r")
        yield Finding(
            "SL309", "warning", serving.path, setting.span,
            f"the template holds {count} carriage return{'s' if count > 1 else ''}, and they go into every prompt",
            why="The model was trained on prompts with LF alone; `assistant\\r\\n` is a header it never saw.",
            help="save the template's lines with LF endings", fix=fix, no_fix=refusal,
        )  # fmt: skip


def _instructions(deployment: Deployment) -> Iterator[tuple]:  # type: ignore[type-arg]
    document = deployment.serving.facts["document"]
    for setting, instruction in zip(deployment.serving.settings, document.instructions, strict=True):
        if setting.name in _TAKES_PROSE and setting.name != "template":
            continue
        yield setting, instruction


CHECKS: tuple[Check, ...] = (
    check_swallowed_comment,
    check_literal_quotes,
    check_literal_escapes,
    check_listed_stops,
    check_carriage_returns,
)
