"""SL509: a launch command that ends earlier than its author meant."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding, Fix, Related
from servelint.checks.policy import Policy
from servelint.formats.shell import Command, Script
from servelint.manifests.serving import Argument
from servelint.text import Edit, Embedded, Span


def check_continuation(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL509: a flag line that is no part of the command above it.

    A script in a pod (`sh -c`) has places of its own: `inner` among the facts maps them to the file's.
    """
    serving = deployment.serving
    command: Command | None = serving.facts.get("command")
    inner: Embedded | None = serving.facts.get("inner")
    script: Script | None = serving.facts.get("script" if inner is not None else "document")
    if command is None or script is None:
        return
    text: str = serving.facts["text"]
    following = _flag_command_behind(command, script, text)
    if following is None:
        return
    between = text[command.span.end : following.span.start]
    last = command.words[-1].text
    first = following.words[0].text or ""
    edit = None
    if last in (" ", "\t", "\r"):
        what = "a carriage return" if last == "\r" else "a blank"
        message = (
            f"the backslash above is followed by {what}, so the command ends there and {first} is run as a program"
        )
        start = command.words[-1].span.start
        title = "end the line with the backslash"
        if last != "\r":
            end = command.words[-1].span.end
            while end < len(text) and text[end] in " \t":
                end += 1
            edit = Edit(start + 1, end, "")
    elif "#" in between:
        message = f"the comment line above ends the command: {first} is run as a program of its own"
    else:
        message = f"the line above does not end in a backslash: {first} is run as a program of its own"
        title = "continue the line above with a backslash"
        newline = len(between) - len(between.lstrip(" \t"))
        if not between.strip() and between.replace("\r\n", "\n").count("\n") == 1:
            # Blanks at the line's end go: behind a backslash they would undo it.
            edit = Edit(command.span.end, command.span.end + newline, " \\")
    if edit is not None and inner is not None:
        edit = inner.host_edit(edit)
    fix = Fix(title, "safe", (edit,)) if edit is not None else None

    def place(span: Span) -> Span:
        return span if inner is None else inner.host_span(span)

    yield Finding(
        "SL509", "error", serving.path, place(Span(following.span.start, following.words[0].span.end)), message,
        why="The server starts without this flag and everything below it, and nothing says so.",
        help="end every line of the command but the last with a backslash, and put no comment between",
        related=(Related(serving.path, place(command.span), "the command that ends too early"),), fix=fix,
        no_fix=None if fix else "what stands between the lines must be moved by hand",
    )  # fmt: skip


def _flag_command_behind(command: Command, script: Script, text: str) -> Command | None:
    """The command directly behind on a later line whose program is a flag."""
    for other in script.commands:
        if other.span.start < command.span.end or not other.words:
            continue
        program = other.words[0].text
        if program is None or not (program.startswith("--") or (program[:1] == "-" and program[1:2].isalpha())):
            return None
        between = text[command.span.end : other.span.start]
        lines = [line.strip() for line in between.replace("\r\n", "\n").split("\n")]
        plain = all(not line or line.startswith("#") or line in ("\\", "\r") for line in lines)
        return other if plain and len(lines) > 1 else None
    return None


def check_one_item(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL507: a whole command as one item of a list, which is the name of one program."""
    serving = deployment.serving
    item: Argument | None = serving.facts.get("in_one_item")
    if item is None:
        return
    yield Finding(
        "SL507", "error", serving.path, item.span,
        "the whole command stands in one item, so no program of that name is found",
        why="Each item is one word: a program of that name, blanks and all, is looked for and not found.",
        help="write each word as an item of its own, or run it by [sh, -c, …]",
        no_fix="where its words part is not clear",
    )  # fmt: skip


CHECKS: tuple[Check, ...] = (check_continuation, check_one_item)
