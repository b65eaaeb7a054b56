"""A text whose slots are filled in, with the place of every character: variables, macros, dropped lines."""

from __future__ import annotations

from servelint.records import record
from servelint.text import Embedded, Span

# Stands for a value that is not known; no text of a manifest has it (the last character of the last plane).
UNKNOWN = "\U0010fffd"


@record
class Filled:
    """A text with its variables filled in.

    `inner` maps the new text to the host; each value that is not known is one `UNKNOWN` character in it. `supplied` are
    the parts of the new text that variables supplied, `names` the variables that are not known. `invalid` is the place,
    in the text that was given, of a slot that the format's reader refuses. `guesses` holds, for each unknown value, the
    default that stands there for it.
    """

    inner: Embedded
    supplied: tuple[Span, ...] = ()
    names: tuple[str, ...] = ()
    invalid: Span | None = None
    guesses: tuple[str | None, ...] = ()

    def guess(self, start: int, text: str) -> str | None:
        """A part of the new text that begins at `start`, with every unknown value as its default; None without one."""
        count = self.inner.text.count(UNKNOWN, 0, start)
        pieces = text.split(UNKNOWN)
        guesses = self.guesses[count : count + len(pieces) - 1]
        if any(guess is None for guess in guesses) or len(guesses) < len(pieces) - 1:
            return None
        return pieces[0] + "".join(f"{guess}{piece}" for guess, piece in zip(guesses, pieces[1:], strict=True))

    def is_literal(self, span: Span) -> bool:
        """Whether a part of the new text stands in the host as it is."""
        return not any(part.start < span.end and span.start < part.end for part in self.supplied)


class Filling:
    """Makes the new text piece by piece."""

    __slots__ = ("_guesses", "_length", "_offsets", "_pieces", "_supplied", "invalid", "names", "source")

    def __init__(self, source: Embedded) -> None:
        self.source = source
        self.names: list[str] = []
        self.invalid: Span | None = None
        self._pieces: list[str] = []
        self._offsets: list[int] = []
        self._length = 0
        self._supplied: list[Span] = []
        self._guesses: list[str | None] = []

    def keep(self, start: int, end: int) -> None:
        """Text that stands there as it is."""
        self._pieces.append(self.source.text[start:end])
        self._offsets.extend(self.source.offsets[start:end])
        self._length += end - start

    def put(self, text: str, place: int) -> None:
        """Text that a variable supplies; it stands where the variable stands."""
        self._supplied.append(Span(self._length, self._length + len(text)))
        self.escape(text, place)

    def escape(self, text: str, place: int) -> None:
        """Text that stands there itself, only written otherwise: no variable supplies it."""
        self._pieces.append(text)
        self._offsets.extend([self.source.offsets[place]] * len(text))
        self._length += len(text)

    def unknown(self, name: str, place: int, guess: str | None = None) -> None:
        """A value that is not known, with the default that stands for it."""
        self.names.append(name)
        self._guesses.append(guess)
        self.put(UNKNOWN, place)

    def refuse(self, start: int, end: int) -> None:
        """The first slot that the format's reader refuses."""
        if self.invalid is None:
            self.invalid = Span(start, end)

    def result(self) -> Filled:
        """What was made. New text is written as the source's is."""
        source = self.source
        inner = Embedded("".join(self._pieces), [*self._offsets, source.offsets[-1]], source.encode, source.refusal)
        return Filled(inner, tuple(self._supplied), tuple(self.names), self.invalid, tuple(self._guesses))
