"""Helm templates as far as YAML can be seen in them: actions are masked by text of the same length.

A line that holds nothing but actions becomes a comment; an action within a line becomes letters. So every place in the
masked text is the same place in the template. What lies between an `if` (or a `range`, a `with`) and its `end` is there
only under conditions, and what a line of an action alone brings in is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from servelint.records import record
from servelint.text import Span

_OPENERS = frozenset({"if", "range", "with", "define", "block"})
_LONGEST = 2_000_000
_LETTERS = "a"


@record
class Action:
    """One `{{ … }}`: where it stands, what is inside, and its first word."""

    span: Span
    body: str

    @property
    def word(self) -> str:
        """`if`, `end`, `include`, `.Values.x`, …"""
        parts = self.body.split(None, 1)
        return parts[0] if parts else ""


@record
class MaskedTemplate:
    """A template with its actions masked.

    `blocks` are the stretches that stand under a condition or in a loop, one for each opener, `inserted` the places of
    lines that bring in text which is not known.
    """

    text: str
    masked: str
    actions: tuple[Action, ...] = ()
    blocks: tuple[Span, ...] = ()
    inserted: tuple[int, ...] = ()

    def is_conditional(self, span: Span, within: Span) -> bool:
        """Whether a stretch stands under a condition that does not hold for the whole of what it is part of."""
        return any(
            part.start <= span.start and span.end <= part.end and not part.start <= within.start for part in self.blocks
        )


def mask(text: str) -> MaskedTemplate:
    """Mask the actions of a template. Never raises; linear."""
    if len(text) > _LONGEST:
        return MaskedTemplate(text, text)
    actions = _actions(text)
    pieces: list[str] = []
    position = 0
    inserted: list[int] = []
    for first, last in _by_lines(text, actions):
        line_start = text.rfind("\n", 0, actions[first].span.start) + 1
        line_end = text.find("\n", actions[last].span.end)
        line_end = len(text) if line_end < 0 else line_end
        alone = _is_alone(text, line_start, line_end, actions[first : last + 1])
        if alone:
            pieces.append(text[position:line_start])
            pieces.append(_as_comment(text[line_start:line_end]))
            position = line_end
            if any(not _is_control(action) for action in actions[first : last + 1]):
                inserted.append(line_start)
            continue
        for action in actions[first : last + 1]:
            pieces.append(text[position : action.span.start])
            pieces.append(_as_letters(text[action.span.start : action.span.end]))
            position = action.span.end
    pieces.append(text[position:])
    return MaskedTemplate(text, "".join(pieces), tuple(actions), tuple(_blocks(text, actions)), tuple(inserted))


def _actions(text: str) -> list[Action]:
    found = []
    position = text.find("{{")
    while position >= 0:
        end = _end_of_action(text, position + 2)
        if end is None:
            break
        inner = text[position + 2 : end - 2]
        body = inner.removeprefix("-").removesuffix("-").strip()
        found.append(Action(Span(position, end), body))
        position = text.find("{{", end)
    return found


def _end_of_action(text: str, position: int) -> int | None:
    """Behind the `}}` of an action; quotes and comments may hold braces."""
    if text.startswith(("/*", "- /*"), position):
        close = text.find("*/", position)
        end = text.find("}}", close) if close >= 0 else -1
        return end + 2 if end >= 0 else None
    while position < len(text):
        character = text[position]
        if text.startswith("}}", position):
            return position + 2
        if character in "\"`'":
            close = position + 1
            while close < len(text) and text[close] != character:
                close += 2 if text[close] == "\\" and character == '"' else 1
            position = close
        position += 1
    return None


def _by_lines(text: str, actions: list[Action]) -> list[tuple[int, int]]:
    """Runs of actions that share their lines."""
    runs: list[tuple[int, int]] = []
    for index, action in enumerate(actions):
        before = actions[index - 1].span.end if index else -1
        if runs and before >= 0 and "\n" not in text[before : action.span.start]:
            runs[-1] = (runs[-1][0], index)
        else:
            runs.append((index, index))
    return runs


def _is_alone(text: str, start: int, end: int, actions: list[Action]) -> bool:
    position = start
    for action in actions:
        if text[position : action.span.start].strip():
            return False
        position = action.span.end
    return not text[position:end].strip()


def _is_control(action: Action) -> bool:
    """Whether an action writes nothing itself: conditions, loops, remarks, assignments."""
    if action.word in _OPENERS or action.word in ("end", "else", "break", "continue"):
        return True
    return action.body.startswith("/*") or (action.body.startswith("$") and "=" in action.body)


def _as_comment(line: str) -> str:
    """The line as a remark of the same length; the line breaks inside of it stay."""
    indent = len(line) - len(line.lstrip(" "))
    out = []
    for number, part in enumerate(line.split("\n")):
        lead = indent if number == 0 else len(part) - len(part.lstrip(" "))
        carriage = "\r" if part.endswith("\r") else ""
        body = part[lead : len(part) - len(carriage)]
        out.append(part[:lead] + ("#" + " " * (len(body) - 1) if body else "") + carriage)
    return "\n".join(out)


def _as_letters(action: str) -> str:
    return "".join(character if character in "\r\n" else _LETTERS for character in action)


def _blocks(text: str, actions: list[Action]) -> list[Span]:
    """From each opener to its end."""
    found: list[Span] = []
    stack: list[int] = []
    for action in actions:
        if action.word in _OPENERS:
            stack.append(action.span.start)
        elif action.word == "end" and stack:
            found.append(Span(stack.pop(), action.span.end))
    return found + [Span(start, len(text)) for start in stack]


def resolved(text: str, values: Mapping[str, Any], built_in: Callable[[str], str | None]) -> str:
    """A scalar's text with the values that are known filled in; an action that is not known stays as it is.

    Understood are `.Values.a.b` and `.Chart.x`, alone or through `quote`, `toString`, `int`, `trim` and `default`.
    """
    pieces: list[str] = []
    position = 0
    for action in _actions(text):
        value = _value(action.body, values, built_in)
        pieces.append(text[position : action.span.start])
        pieces.append(text[action.span.start : action.span.end] if value is None else value)
        position = action.span.end
    pieces.append(text[position:])
    return "".join(pieces)


_PASSING = frozenset({"quote", "squote", "toString", "int", "int64", "trim", "float64"})


def _value(body: str, values: Mapping[str, Any], built_in: Callable[[str], str | None]) -> str | None:
    parts = [part.strip() for part in body.split("|")]
    head = parts[0].split()
    if len(head) == 2 and head[0] in _PASSING:
        head = head[1:]
    if len(head) != 1:
        return None
    value = _looked_up(head[0].lstrip("$"), values, built_in)
    for part in parts[1:]:
        name, _, rest = part.partition(" ")
        if name == "default" and value in (None, ""):
            value = _default(rest.strip(), values, built_in)
        elif name == "default" or name in _PASSING:
            continue
        else:
            return None
    return value


def _default(text: str, values: Mapping[str, Any], built_in: Callable[[str], str | None]) -> str | None:
    if text[:1] in ("$", "."):
        return _looked_up(text.lstrip("$"), values, built_in)
    return text.strip('"') if text[:1] == '"' or text.isdigit() else None


def _looked_up(path: str, values: Mapping[str, Any], built_in: Callable[[str], str | None]) -> str | None:
    if not path.startswith(".Values."):
        return built_in(path)
    node: Any = values
    for key in path.removeprefix(".Values.").split("."):
        if not isinstance(node, Mapping) or key not in node:
            return None
        node = node[key]
    if isinstance(node, bool):
        return "true" if node else "false"
    return str(node) if isinstance(node, str | int | float) else None
