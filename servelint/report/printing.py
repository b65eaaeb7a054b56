"""What may be printed on a terminal: hostile characters made visible, widths, colours."""

from __future__ import annotations

from servelint.report import Style

_COLORS = {"error": "31;1", "warning": "33;1", "note": "36;1", "bold": "1", "dim": "2", "good": "32;1", "added": "32",
           "removed": "31"}  # fmt: skip
_TAB_STOP = 4
_LONGEST_MESSAGE = 2000


def printable(text: str) -> str:
    """The text with every character escaped that a terminal would act on, or that shows nothing.

    Control characters, lone surrogates (bytes that were no text), marks that turn the direction of writing, line
    separators, blanks other than the space.
    """
    if len(text) > _LONGEST_MESSAGE:
        text = text[: _LONGEST_MESSAGE - 1] + "…"
    return text if text.isprintable() else "".join(map(escaped, text))


def escaped(character: str) -> str:
    """One character, or the escape that stands for it."""
    if character.isprintable():
        return character
    code = ord(character)
    if character == "\n":
        return "\\n"
    if character == "\r":
        return "\\r"
    if character == "\t":
        return "\\t"
    if 0xDC80 <= code <= 0xDCFF:
        # A byte that is not valid UTF-8, as `surrogateescape` keeps it.
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width_of(character: str) -> int:
    """How many columns a printable character takes."""
    if character.isascii():
        return 1
    from unicodedata import category, east_asian_width

    if category(character) in ("Mn", "Me"):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def paint(text: str, color: str, style: Style) -> str:
    """The text in a colour of the table above, where colours are wanted."""
    return f"\x1b[{_COLORS[color]}m{text}\x1b[0m" if style.color else text


def shown(line: str, start: int, end: int, room: int) -> tuple[str, int, int]:
    """A line for a terminal of `room` columns, and the first column and the number of columns of `[start, end)` in it.

    Tabs are expanded, hostile characters escaped, and what is too long is cut around the place, with `…` for what is
    missing. `end` may lie behind the line's end; a place without characters is one column wide.
    """
    end = max(start, min(end, len(line)))
    # Whatever the characters' width, no more of them than this can be seen.
    first = max(0, start - room)
    pieces: list[str] = []
    columns = [0]
    for character in line[first : start + room]:
        piece = " " * (_TAB_STOP - columns[-1] % _TAB_STOP) if character == "\t" else escaped(character)
        pieces.append(piece)
        columns.append(columns[-1] + (len(piece) if len(piece) != 1 else width_of(piece)))
    begin = start - first
    finish = min(max(end - first, begin + 1), len(pieces))
    left, right = 0, len(pieces)
    if columns[right] > room or right + first < len(line) or first:
        left, right = _window(columns, begin, max(begin, finish), room)
    before = "…" if left or first else ""
    after = "…" if right + first < len(line) else ""
    column = len(before) + columns[begin] - columns[left]
    wide = max(1, columns[max(begin, min(finish, right))] - columns[begin])
    return before + "".join(pieces[left:right]) + after, column, wide


def _window(columns: list[int], begin: int, finish: int, room: int) -> tuple[int, int]:
    """Which characters to show so that the place is seen with something of what is before and behind it."""
    room = max(8, room - 2)
    last = len(columns) - 1
    spare = max(0, room - (columns[finish] - columns[begin]))
    left = begin
    while left > 0 and columns[begin] - columns[left - 1] <= spare // 3:
        left -= 1
    right = begin
    while right < last and columns[right + 1] - columns[left] <= room:
        right += 1
    while left > 0 and columns[right] - columns[left - 1] <= room:
        left -= 1
    return left, right
