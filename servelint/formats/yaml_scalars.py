"""How a YAML scalar is written: its text with the place of each character, and what may be written into it.

Works on slices of a text; knows no nodes. Decoding follows libyaml, which Kubernetes' reader is a port of.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

# What libyaml takes as the end of a line. The last three are rare, and folding treats them in ways of its own: scalars
# that hold them are never edited.
BREAKS = "\r\n\x85\u2028\u2029"
_RARE_BREAKS = ("\x85", "\u2028", "\u2029")

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_SHORT_ESCAPES = {
    "\0": "\\0", "\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r",
    "\x1b": "\\e", '"': '\\"', "\\": "\\\\", "\x85": "\\N", "\u2028": "\\L", "\u2029": "\\P",
}  # fmt: skip
_HEX_WIDTHS = {"x": 2, "u": 4, "U": 8}

# Characters that begin something else than a plain scalar (YAML 1.1, 5.3), or are refused at its beginning.
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
# The last is none of YAML's, but readers disagree on it in front of a bracket.
_FLOW_INDICATORS = frozenset(",[]{}?")


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def unprintable(text: str, start: int = 0) -> int | None:
    """The offset of the first character that YAML 1.1 does not allow in a file (section 5.1), or None."""
    # Python takes seven milliseconds to compile the whole class; most files need only its beginning.
    refused = "[^\t\n\r\x20-\x7e]"
    if not text.isascii():
        refused = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    match = _pattern(refused).search(text, start)
    return match.start() if match else None


def line_breaks() -> re.Pattern[str]:
    """Matches one line break as libyaml knows them."""
    return _pattern("\r\n|[\r\n\x85\u2028\u2029]")


class Decoded:
    """A scalar's text, and for each of its characters where it begins and ends in the host; `end` is the text's end."""

    __slots__ = ("end", "ends", "offsets", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.offsets: list[int] = []
        self.ends: list[int] = []
        self.end = 0

    @property
    def text(self) -> str:
        """The decoded text."""
        return "".join(self.pieces)

    def put(self, character: str, start: int, end: int) -> None:
        """Add one character that stands at `[start, end)` of the host."""
        self.pieces.append(character)
        self.offsets.append(start)
        self.ends.append(end)

    def copy(self, host: str, start: int, end: int) -> None:
        """Add what is written as it is at `[start, end)` of the host."""
        self.pieces.append(host[start:end])
        self.offsets.extend(range(start, end))
        self.ends.extend(range(start + 1, end + 1))


def decode_flow_scalar(host: str, start: int, end: int, style: str) -> Decoded | None:
    """Decode a plain, single- or double-quoted scalar that stands at `[start, end)`, quotes included.

    None where it holds line breaks or escapes that are not traced; the text must still be compared with libyaml's.
    """
    if style != "plain":
        start, end = start + 1, end - 1
    if end < start or any(mark in host[start:end] for mark in _RARE_BREAKS):
        return None
    stops = {"plain": "[ \t\r\n]", "single": "[ \t\r\n']", "double": '[ \t\r\n\\\\"]'}[style]
    special = _pattern(stops)
    out = Decoded()
    position = start
    while position < end:
        match = special.search(host, position, end)
        stop = match.start() if match else end
        if stop > position:
            out.copy(host, position, stop)
        if match is None:
            break
        position = stop
        character = host[position]
        if character in " \t\r\n":
            position = _fold(host, position, end, out, escaped=False)
        elif character == "'":
            out.put("'", position, position + 2)
            position += 2
        elif character == "\\" and position + 1 < end:
            after = _escape(host, position, end, out)
            if after is None:
                return None
            position = after
        else:
            return None
    out.end = end
    return out


def _escape(host: str, position: int, end: int, out: Decoded) -> int | None:
    following = host[position + 1]
    if following in "\r\n":
        return _fold(host, position + 1, end, out, escaped=True)
    if following in _ESCAPES:
        out.put(_ESCAPES[following], position, position + 2)
        return position + 2
    width = _HEX_WIDTHS.get(following)
    if width is None or position + 2 + width > end:
        return None
    try:
        character = chr(int(host[position + 2 : position + 2 + width], 16))
    except (ValueError, OverflowError):
        return None
    out.put(character, position, position + 2 + width)
    return position + 2 + width


def _fold(host: str, position: int, end: int, out: Decoded, escaped: bool) -> int:
    """Blanks and line breaks from `position` on: kept within a line, folded over several; the offset behind them."""
    breaks: list[tuple[int, int]] = []
    cursor = position
    while cursor < end and host[cursor] in " \t\r\n":
        if host[cursor] in "\r\n":
            after = cursor + (2 if host.startswith("\r\n", cursor) else 1)
            breaks.append((cursor, after))
            cursor = after
        else:
            cursor += 1
    if not breaks:
        out.copy(host, position, cursor)
        return cursor
    if escaped:
        for begin, after in breaks[1:]:
            out.put("\n", begin, after)
    elif len(breaks) == 1:
        out.put(" ", position, cursor)
    else:
        # The first break only ends the line; what is written at the place of the second belongs to that line.
        out.put("\n", position, breaks[1][1])
        for begin, after in breaks[2:]:
            out.put("\n", begin, after)
        out.ends[-1] = cursor
    return cursor


def block_header(host: str, start: int, end: int) -> tuple[str, int]:
    """The indicators of a block scalar (`|`, `>-`, `|2+`) at `start`, and the offset of its header's line break."""
    cursor = start
    while cursor < end and host[cursor] in "|>+-0123456789":
        cursor += 1
    match = line_breaks().search(host, cursor, end)
    return host[start:cursor], match.start() if match else end


def block_end(host: str, start: int, end: int, text: str) -> int:
    """Where the content of a block scalar ends: behind its last line, before that line's break.

    `[start, end)` is what libyaml calls the scalar, up to the line behind it; `text` its value. Blank lines at the end
    belong to it only where the indicator keeps them (`|+`).
    """
    indicators, header_end = block_header(host, start, end)
    tail = end
    while tail > header_end and host[tail - 1] in " \t\r\n\x85\u2028\u2029":
        tail -= 1
    if tail <= header_end and not text:
        tail = header_end
    match = line_breaks().search(host, tail, end)
    closing = match.start() if match else end
    behind = host[closing:end]
    if not text or ("+" not in indicators and " " not in behind and "\t" not in behind):
        return closing
    # Blank lines may be content: where they are kept, or longer than the indentation.
    decoded = decode_block_scalar(host, start, end, text)
    if decoded is not None and decoded.text == text:
        return decoded.offsets[-1] if text[-1] == "\n" else decoded.end
    if host[end - 1] not in BREAKS:
        return end
    return end - (2 if host[end - 2 : end] == "\r\n" else 1)


def indent_of_block(host: str, start: int, end: int, text: str) -> int | None:
    """How many blanks stand before the content of a block scalar's lines; None where no line tells.

    The first line with something on it has as many more in the file than in the value. That holds for a detected
    indentation and for a declared one (`|2`), whose base would be the surrounding block's.
    """
    first = _pattern("[^ \r\n]").search(text)
    written = _pattern("[^ \r\n]").search(host, block_header(host, start, end)[1], end)
    if first is None or written is None:
        return None
    column = written.start() - _line_start(host, written.start())
    return column - (first.start() - _line_start(text, first.start()))


def _line_start(text: str, position: int) -> int:
    while position > 0 and text[position - 1] not in "\r\n":
        position -= 1
    return position


def decode_block_scalar(host: str, start: int, end: int, text: str) -> Decoded | None:
    """Decode a literal or folded scalar at `[start, end)`; `text` is its value, which tells the indentation.

    None where the form is not traced; the text must still be compared with libyaml's.
    """
    if any(mark in host[start:end] for mark in _RARE_BREAKS):
        return None
    indicators, header_end = block_header(host, start, end)
    out = Decoded()
    out.end = header_end
    indent = indent_of_block(host, start, end, text)
    if indent is None:
        if text.strip("\n"):
            return None
        # Blank lines only, none of them longer than the indentation.
        indent = end
    if indent < 0 or not indicators:
        return None
    folded = indicators[0] == ">"
    pending: tuple[int, int] | None = None
    blank_lines: list[tuple[int, int]] = []
    was_blank = False
    for line, line_end, after in _lines(host, header_end, end):
        content = line
        while content < line_end and content - line < indent and host[content] == " ":
            content += 1
        if content == line_end:
            if after > line_end:
                blank_lines.append((line_end, after))
            continue
        is_blank = host[content] in " \t"
        if pending is not None:
            if folded and not was_blank and not is_blank:
                if not blank_lines:
                    out.put(" ", pending[0], content)
            else:
                out.put("\n", *pending)
        for begin, behind in blank_lines:
            out.put("\n", begin, behind)
        blank_lines = []
        was_blank = is_blank
        out.copy(host, content, line_end)
        out.end = line_end
        pending = (line_end, after) if after > line_end else None
    if "-" not in indicators and pending is not None:
        out.put("\n", *pending)
        out.end = pending[1]
    if "+" in indicators:
        for begin, behind in blank_lines:
            out.put("\n", begin, behind)
            out.end = behind
    return out


def _lines(host: str, header_end: int, end: int) -> list[tuple[int, int, int]]:
    """The lines behind a header: where each begins, ends, and where the next begins."""
    lines = []
    position: int | None = None
    for match in line_breaks().finditer(host, header_end, end):
        if position is not None:
            lines.append((position, match.start(), match.end()))
        position = match.end()
    if position is not None and position < end:
        lines.append((position, end, end))
    return lines


def plain_encoder(flow: bool) -> Callable[[str], str | None]:
    """Writes into a plain scalar what needs no quotes there, wherever it may come to stand."""

    def encode(text: str) -> str | None:
        if not text:
            return text
        if unprintable(text) is not None or any(mark in text for mark in BREAKS):
            return None
        if "\t" in text:
            # Legal within a plain scalar, but readers differ in what they take `0<tab>0` for.
            return None
        if "#" in text and (" #" in text or text[0] == "#"):
            return None
        if ":" in text and (": " in text or text[-1] == ":"):
            return None
        if text[-1] == " ":
            return None
        if text[0] in _INDICATORS and not (text[0] == "-" and text[1:2] not in ("", " ")):
            return None
        if flow and not _FLOW_INDICATORS.isdisjoint(text):
            return None
        return text

    return encode


def encode_single(text: str) -> str | None:
    """The inside of a single-quoted scalar; None for what only double quotes can hold."""
    if unprintable(text) is not None or any(mark in text for mark in BREAKS):
        return None
    return text.replace("'", "''")


def encode_double(text: str) -> str | None:
    """The inside of a double-quoted scalar; None for lone surrogates, which no form can hold."""
    pieces = []
    for character in text:
        if character in _SHORT_ESCAPES:
            pieces.append(_SHORT_ESCAPES[character])
        elif "\ud800" <= character <= "\udfff":
            return None
        elif " " <= character <= "~" or (character != "\ufeff" and unprintable(character) is None):
            pieces.append(character)
        else:
            code = ord(character)
            pieces.append(f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
    return "".join(pieces)


def literal_encoder(indent: int, newline: str) -> Callable[[str], str | None]:
    """Writes into a literal block: a line break is followed by the block's indentation, save before a blank line."""
    margin = " " * indent

    def encode(text: str) -> str | None:
        if "\r" in text or any(mark in text for mark in _RARE_BREAKS) or unprintable(text) is not None:
            return None
        lines = text.split("\n")
        pieces = [lines[0]]
        for index, line in enumerate(lines[1:], 1):
            pieces.append(newline)
            if line or index == len(lines) - 1:
                pieces.append(margin)
            pieces.append(line)
        return "".join(pieces)

    return encode


def encode_folded(text: str) -> str | None:
    """Writes into a folded block: only what stays on its line.

    A backslash at its end would not continue a line there, as its author means, but escape the blank that lines are
    joined by.
    """
    if unprintable(text) is not None or any(mark in text for mark in BREAKS) or text.endswith("\\"):
        return None
    return text


def can_be_plain(text: str, flow: bool) -> bool:
    """Whether a whole plain scalar can hold the text, whatever type it then has."""
    if not text or text != text.strip(" \t") or plain_encoder(flow)(text) is None:
        return False
    if text[:3] in ("---", "...") and (len(text) == 3 or text[3] in " \t"):
        return False
    # Flow lists with a colon in a plain scalar are read in different ways by different readers.
    return not (flow and ":" in text)


def looks_typed(text: str) -> bool:
    """Whether some reader (YAML 1.1 or 1.2) may take the plain scalar for something else than a string."""
    if text in ("", "~", "=", "<<"):
        return True
    if text[0] in "yYnNtTfFoO" and text.lower() in ("y", "n", "yes", "no", "on", "off", "true", "false", "null"):
        return True
    if text[0] not in "+-.0123456789":
        return False
    # Numbers of any base, with underscores, in sexagesimal, infinities, dates: whatever consists of their characters.
    if _pattern(r"[-+]?(?:\.inf|\.nan|[0-9_.][0-9a-f_.:xob+-]*)").fullmatch(text.lower()):
        return True
    return _pattern(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t].*)?").fullmatch(text) is not None


def render(text: str, style: str, flow: bool) -> str | None:
    """A whole scalar that holds the string `text` in a style (`plain`, `single`, `double`); None where it cannot."""
    if style == "plain":
        return text if can_be_plain(text, flow) and not looks_typed(text) else None
    if style == "single":
        inside = encode_single(text)
        return None if inside is None else f"'{inside}'"
    inside = encode_double(text)
    return None if inside is None else f'"{inside}"'
