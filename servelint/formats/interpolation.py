"""Compose's interpolation: `$NAME`, `${NAME:-default}` and their like, with the place of every character.

Follows compose-spec/compose-go `template/template.go`: `$$` is a dollar sign, names are matched without regard to case
of letters, defaults may hold variables themselves, and a dollar sign that begins nothing of this is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from servelint.formats.filling import Filled, Filling
from servelint.records import replace
from servelint.text import Embedded

_Values = Mapping[str, "str | None"]

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _FIRST | frozenset("0123456789")
_DEEPEST = 16


def interpolate(source: Embedded, values: Mapping[str, str | None]) -> Filled:
    """Fill the variables of a text in. `values` holds those that are known; a name without a value is not known.

    A variable that is not there is taken for unknown, not for empty: it may come from the caller's environment, and so
    may one with a default.
    """
    if "$" not in source.text:
        return Filled(_escaping(source))
    filling = Filling(source)
    _fill(filling, values, 0, len(source.text), 0)
    made = filling.result()
    return replace(made, inner=_escaping(made.inner))


def _escaping(source: Embedded) -> Embedded:
    """The same text; new text is written with its dollar signs doubled."""
    encode = source.encode
    if encode is None:
        return source
    return replace(source, encode=lambda text: encode(text.replace("$", "$$")))


def _fill(filling: Filling, values: _Values, start: int, end: int, depth: int) -> None:
    text = filling.source.text
    position = start
    while position < end:
        dollar = text.find("$", position, end)
        if dollar < 0:
            filling.keep(position, end)
            return
        filling.keep(position, dollar)
        following = text[dollar + 1 : dollar + 2]
        if following == "$" and dollar + 1 < end:
            filling.escape("$", dollar)
            position = dollar + 2
        elif following in _FIRST and dollar + 1 < end:
            position = _name_end(text, dollar + 1, end)
            _put_value(filling, values, text[dollar + 1 : position], dollar)
        elif following == "{":
            close = _closing_brace(text, dollar + 1, end)
            if close is None or not _braced(filling, values, dollar, close, depth):
                filling.refuse(dollar, end if close is None else close + 1)
                filling.unknown(text[dollar:close], dollar)
            position = end if close is None else close + 1
        else:
            filling.refuse(dollar, min(dollar + 2, end))
            filling.unknown("$", dollar)
            position = dollar + 1


def _default(filling: Filling, values: _Values, start: int, end: int, depth: int) -> str | None:
    """What a default comes to where nobody sets a variable in it that is not known; None where it has no default."""
    if depth >= _DEEPEST:
        return None
    inner = Filling(filling.source)
    _fill(inner, values, start, end, depth + 1)
    made = inner.result()
    return None if made.invalid is not None else made.guess(0, made.inner.text)


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


def _put_value(filling: Filling, values: _Values, name: str, place: int) -> None:
    value = values.get(name)
    if value is None:
        filling.unknown(name, place)
    else:
        filling.put(value, place)


def _braced(filling: Filling, values: _Values, dollar: int, close: int, depth: int) -> bool:
    """`${NAME}` with its operator; False where Compose refuses it."""
    text = filling.source.text
    start = dollar + 2
    if text[start : start + 1] not in _FIRST:
        return False
    stop = _name_end(text, start, close)
    name, rest = text[start:stop], text[stop:close]
    if not rest:
        _put_value(filling, values, name, dollar)
        return True
    operator = rest[:2] if rest[:2] in (":-", ":?", ":+") else rest[:1]
    if operator not in (":-", ":?", ":+", "-", "?", "+"):
        return False
    value = values.get(name)
    if value is None or depth >= _DEEPEST:
        guess = _default(filling, values, stop + len(operator), close, depth) if operator.endswith("-") else None
        filling.unknown(name, dollar, guess)
        return True
    present = value != "" or not operator.startswith(":")
    if operator.endswith("+"):
        if present:
            _fill(filling, values, stop + len(operator), close, depth + 1)
        return True
    if present:
        filling.put(value, dollar)
    elif operator.endswith("-"):
        _fill(filling, values, stop + len(operator), close, depth + 1)
    else:
        filling.unknown(name, dollar)
    return True
