"""Compose's interpolation: `$NAME`, `${NAME:-default}` and their like, with the place of every character.

Follows compose-spec/compose-go `template/template.go`: `$$` is a dollar sign, names are matched without regard to case
of letters, defaults may hold variables themselves, and a dollar sign that begins nothing of this is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from servelint.records import record, replace
from servelint.text import Embedded, Span

# Stands for a value that is not known; no text of a manifest has it (the last character of the last plane).
UNKNOWN = "\U0010fffd"
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _FIRST | frozenset("0123456789")
_DEEPEST = 16


@record
class Interpolated:
    """A text with its variables filled in.

    `inner` maps the new text to the host; each value that is not known is one `UNKNOWN` character in it. `supplied` are
    the parts of the new text that variables supplied, `names` the variables that are not known. `invalid` is the place,
    in the text that was given, of a dollar sign that Compose refuses.
    """

    inner: Embedded
    supplied: tuple[Span, ...] = ()
    names: tuple[str, ...] = ()
    invalid: Span | None = None

    def is_literal(self, span: Span) -> bool:
        """Whether a part of the new text stands in the host as it is."""
        return not any(part.start < span.end and span.start < part.end for part in self.supplied)


class _Writer:
    __slots__ = ("invalid", "length", "names", "offsets", "pieces", "source", "supplied", "values")

    def __init__(self, source: Embedded, values: Mapping[str, str | None]) -> None:
        self.source = source
        self.values = values
        self.pieces: list[str] = []
        self.offsets: list[int] = []
        self.length = 0
        self.supplied: list[Span] = []
        self.names: list[str] = []
        self.invalid: Span | None = None

    def keep(self, start: int, end: int) -> None:
        """Text that stands there as it is."""
        self.pieces.append(self.source.text[start:end])
        self.offsets.extend(self.source.offsets[start:end])
        self.length += end - start

    def put(self, text: str, place: int) -> None:
        """Text that a variable supplies; it stands where the variable stands."""
        self.pieces.append(text)
        self.offsets.extend([self.source.offsets[place]] * len(text))
        self.supplied.append(Span(self.length, self.length + len(text)))
        self.length += len(text)

    def unknown(self, name: str, place: int) -> None:
        self.names.append(name)
        self.put(UNKNOWN, place)

    def refuse(self, start: int, end: int) -> None:
        if self.invalid is None:
            self.invalid = Span(start, end)


def interpolate(source: Embedded, values: Mapping[str, str | None]) -> Interpolated:
    """Fill the variables of a text in. `values` holds those that are known; a name without a value is not known.

    A variable that is not there is taken for unknown, not for empty: it may come from the caller's environment, and so
    may one with a default.
    """
    if "$" not in source.text:
        return Interpolated(_escaping(source))
    writer = _Writer(source, values)
    _fill(writer, 0, len(source.text), 0)
    if not writer.supplied:
        return Interpolated(_escaping(source), invalid=writer.invalid)
    offsets = [*writer.offsets, source.offsets[-1]]
    inner = _escaping(Embedded("".join(writer.pieces), offsets, source.encode, source.refusal))
    return Interpolated(inner, tuple(writer.supplied), tuple(writer.names), writer.invalid)


def _escaping(source: Embedded) -> Embedded:
    """The same text; new text is written with its dollar signs doubled."""
    encode = source.encode
    if encode is None:
        return source
    return replace(source, encode=lambda text: encode(text.replace("$", "$$")))


def _fill(writer: _Writer, start: int, end: int, depth: int) -> None:
    text = writer.source.text
    position = start
    while position < end:
        dollar = text.find("$", position, end)
        if dollar < 0:
            writer.keep(position, end)
            return
        writer.keep(position, dollar)
        following = text[dollar + 1 : dollar + 2]
        if following == "$" and dollar + 1 < end:
            writer.put("$", dollar)
            position = dollar + 2
        elif following in _FIRST and dollar + 1 < end:
            position = _name_end(text, dollar + 1, end)
            _put_value(writer, text[dollar + 1 : position], dollar)
        elif following == "{":
            close = _closing_brace(text, dollar + 1, end)
            if close is None or not _braced(writer, dollar, close, depth):
                writer.refuse(dollar, end if close is None else close + 1)
                writer.unknown(text[dollar:close], dollar)
            position = end if close is None else close + 1
        else:
            writer.refuse(dollar, min(dollar + 2, end))
            writer.keep(dollar, dollar + 1)
            position = dollar + 1


def _name_end(text: str, start: int, end: int) -> int:
    position = start
    while position < end and text[position] in _NAME:
        position += 1
    return position


def _closing_brace(text: str, opening: int, end: int) -> int | None:
    depth = 0
    for position in range(opening, end):
        if text[position] == "{" and text[position - 1] == "$":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return None


def _put_value(writer: _Writer, name: str, place: int) -> None:
    value = writer.values.get(name)
    if value is None:
        writer.unknown(name, place)
    else:
        writer.put(value, place)


def _braced(writer: _Writer, dollar: int, close: int, depth: int) -> bool:
    """`${NAME}` with its operator; False where Compose refuses it."""
    text = writer.source.text
    start = dollar + 2
    if text[start : start + 1] not in _FIRST:
        return False
    stop = _name_end(text, start, close)
    name, rest = text[start:stop], text[stop:close]
    if not rest:
        _put_value(writer, name, dollar)
        return True
    operator = rest[:2] if rest[:2] in (":-", ":?", ":+") else rest[:1]
    if operator not in (":-", ":?", ":+", "-", "?", "+"):
        return False
    value = writer.values.get(name)
    if value is None or depth >= _DEEPEST:
        writer.unknown(name, dollar)
        return True
    present = value != "" or not operator.startswith(":")
    if operator.endswith("+"):
        if present:
            _fill(writer, stop + len(operator), close, depth + 1)
        return True
    if present:
        writer.put(value, dollar)
    elif operator.endswith("-"):
        _fill(writer, stop + len(operator), close, depth + 1)
    else:
        writer.unknown(name, dollar)
    return True
