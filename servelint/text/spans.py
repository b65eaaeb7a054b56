"""Places in a decoded text, and changes to it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from servelint.records import record


@record(order=True)
class Span:
    """A half-open range `[start, end)` in characters of the decoded text, the BOM not counted."""

    start: int
    end: int

    def covers(self, other: Span) -> bool:
        """Whether `other` lies wholly within this span."""
        return self.start <= other.start and other.end <= self.end

    def touches(self, other: Span) -> bool:
        """Whether the two share a character or an edge."""
        return self.start <= other.end and other.start <= self.end


@record(order=True)
class Edit:
    """Replace the characters `[start, end)` of the original text by `text`; `start == end` inserts."""

    start: int
    end: int
    text: str


class OverlapError(ValueError):
    """Two edits of one set claim the same characters."""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made; exact duplicates count once.

    Raises `OverlapError` when two different edits overlap: the caller chooses which to drop.
    """
    pieces: list[str] = []
    position = 0
    for edit in sorted(set(edits)):
        if edit.start < position:
            raise OverlapError(f"edits overlap at character {edit.start}")
        pieces.append(text[position : edit.start])
        pieces.append(edit.text)
        position = edit.end
    pieces.append(text[position:])
    return "".join(pieces)


class LineIndex:
    """Turns character offsets into 1-based lines and columns (columns in characters).

    LF, CRLF and a lone CR end a line, and nothing else does: Python's `splitlines` would also break at form feeds and
    at U+2028, which no reader of manifests does.
    """

    __slots__ = ("_length", "_starts")

    def __init__(self, text: str) -> None:
        starts = [0]
        if "\r" in text:
            position = 0
            while position < len(text):
                character = text[position]
                position += 1
                if character == "\n":
                    starts.append(position)
                elif character == "\r":
                    if text[position : position + 1] == "\n":
                        position += 1
                    starts.append(position)
        else:
            position = text.find("\n")
            while position >= 0:
                starts.append(position + 1)
                position = text.find("\n", position + 1)
        self._starts = starts
        self._length = len(text)

    def position(self, offset: int) -> tuple[int, int]:
        """The 1-based line and column of a character offset; an offset past the end is the end."""
        offset = max(0, min(offset, self._length))
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_start(self, line: int) -> int:
        """The offset of the first character of a 1-based line."""
        return self._starts[line - 1]

    @property
    def lines(self) -> int:
        """How many lines there are; a text that ends in a newline has an empty last one."""
        return len(self._starts)
