"""A text that lies inside another: a block scalar, a shell word, a JSON string."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from servelint.records import record
from servelint.text.spans import Edit, Span


@record
class Embedded:
    """The decoded inner text, where each of its characters stands in the host, and how to write new ones there.

    `offsets` has one host offset for every character of `text` and one more for its end; it never decreases.
    `encode` turns new inner text into host text (escapes, indentation), or gives None where it cannot be written in
    this form; it is None altogether where the host must not be edited (`refusal` says why).

    Insert new lines by an edit that begins with the newline and stands at the end of the line before: so the text
    lands right in indented blocks too, and a missing final newline stays missing.

    `ends` gives the host offset behind each character, for hosts that may write one character in several ways (`<` as
    `\\u003c` in JSON): there neither `encode` nor the next character's place tells how long it is.
    """

    text: str
    offsets: Sequence[int]
    encode: Callable[[str], str | None] | None = None
    refusal: str | None = None
    ends: Sequence[int] | None = None

    def host_span(self, span: Span) -> Span:
        """Where an inner span stands in the host text."""
        start = self.offsets[span.start]
        if span.start == span.end:
            return Span(start, start)
        if self.ends is not None:
            return Span(start, self.ends[span.end - 1])
        # The end of a character is where the next one starts, save that what lies between two characters of the inner
        # text (an indent, a closing quote, a continuation) does not belong to the first.
        last = self.offsets[span.end - 1]
        following = self.offsets[span.end]
        width = following - last
        return Span(start, following if width <= 1 else self._end_of_character(span.end - 1))

    def _end_of_character(self, index: int) -> int:
        start, following = self.offsets[index], self.offsets[index + 1]
        if self.encode is None:
            return following
        written = self.encode(self.text[index])
        if written is None or len(written) > following - start:
            return following
        # A newline is written together with the indent of the line after it; that indent is not the newline's own.
        return start + (1 if self.text[index] == "\n" else len(written))

    def host_edit(self, edit: Edit) -> Edit | None:
        """The same change as an edit of the host text, or None where it cannot be written there."""
        if self.encode is None:
            return None
        text = self.encode(edit.text)
        if text is None:
            return None
        span = self.host_span(Span(edit.start, edit.end))
        return Edit(span.start, span.end, text)

    def within(self, outer: Embedded) -> Embedded:
        """This text, whose host is the text of `outer`, seen from the host of `outer`."""
        inner_encode, outer_encode = self.encode, outer.encode

        def encode(text: str) -> str | None:
            if inner_encode is None or outer_encode is None:
                return None
            middle = inner_encode(text)
            return None if middle is None else outer_encode(middle)

        able = inner_encode is not None and outer_encode is not None
        offsets = [outer.offsets[offset] for offset in self.offsets]
        ends = None
        if self.ends is not None or outer.ends is not None:
            own = (self.host_span(Span(index, index + 1)) for index in range(len(self.text)))
            ends = [outer.host_span(span).end for span in own]
        return Embedded(self.text, offsets, encode if able else None, self.refusal or outer.refusal, ends)


def verbatim(text: str, start: int) -> Embedded:
    """A slice of the host that is written there as it is, from host offset `start` on."""
    return Embedded(text, range(start, start + len(text) + 1), lambda new: new)
