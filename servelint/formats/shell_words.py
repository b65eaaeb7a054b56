"""Shell words: what a program gets, where it is written, and how to write new text there.

Also the splitters of strings that are cut into words as a shell would, without a shell: Compose's, and POSIX's as
Python's `shlex` has it. Scripts are read by `servelint.formats.shell`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from servelint.formats.problem import Problem
from servelint.text import Edit, Embedded, Span

Encoder = Callable[[str], "str | None"]

# Characters that stand for themselves in every shell, in any place of a word but for a `~` or `#` at its beginning.
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=+@%-")
_ANSI_NAMES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


@dataclass(frozen=True, slots=True)
class WordText(Embedded):
    """The text of a literal word in its host.

    `ends` has the host offset after each character as it is written (`\\x41` is four characters wide). `sections` are
    the differently quoted stretches of the text, each with its first and last-plus-one character and its encoder:
    `--j='{"a": 1}'` has a bare one and a single-quoted one. `encode` is that of the last quoted one, so that what is
    embedded in the word (JSON, mostly) writes itself properly.
    """

    ends: Sequence[int] = ()
    sections: tuple[tuple[int, int, Encoder], ...] = ()

    def _end_of_character(self, index: int) -> int:
        return self.ends[index]

    def host_edit(self, edit: Edit) -> Edit | None:
        """The same change as an edit of the host, or None where it would cross from one quoting into another."""
        if self.encode is None:
            return None
        encoder = self._encoder(edit.start, edit.end)
        text = None if encoder is None else encoder(edit.text)
        if text is None:
            return None
        if edit.start == edit.end and edit.start and any(end == edit.start for _, end, _ in self.sections):
            # Between two quotings, or at the end: the text goes to the section that ends here, before its quote.
            place = self.ends[edit.start - 1]
            return Edit(place, place, text)
        span = self.host_span(Span(edit.start, edit.end))
        return Edit(span.start, span.end, text)

    def _encoder(self, start: int, end: int) -> Encoder | None:
        for first, last, encoder in self.sections:
            if first <= start and end <= last and (start > first or end > start or first == last or not first):
                return encoder
        return None

    def within(self, outer: Embedded) -> WordText:
        """This word, whose host is the text of `outer`, seen from the host of `outer`."""
        plain = Embedded(self.text, self.offsets, self.encode, self.refusal).within(outer)
        ends = [outer.host_span(Span(max(end - 1, 0), end)).end for end in self.ends]
        sections = tuple((first, last, _chain(encoder, outer.encode)) for first, last, encoder in self.sections)
        return WordText(self.text, plain.offsets, plain.encode, plain.refusal, ends, sections)


def _chain(inner: Encoder, outer: Encoder | None) -> Encoder:
    def encode(text: str) -> str | None:
        middle = inner(text)
        return None if middle is None or outer is None else outer(middle)

    return encode


@dataclass(frozen=True, slots=True)
class Word:
    """One word that a program gets.

    `text` is None where it cannot be known: `reason` says why, `prefix` is what is known of its beginning (all of it
    where the text is known), and `guess` is the text if every value from outside is missing (the default of
    `${PORT:-8000}`, a glob that matches nothing), None where even that is unknown. `span` is where the word's text is
    written: for an element that `"${ARGS[@]}"` supplied, the element in its list; `site` is where it stands in the
    command. `quote` is how the text is quoted there: `'`, `"`, `$'`, `$"`, `\\` or nothing, the last one where it is
    mixed. `inner` maps a literal text to the host and writes new text in the same quoting. `literal` is False where a
    variable or an expansion supplied part of the text; `source` is the assignment it came from where that is one.
    `count` is 1, or None for something that may become any number of words.
    """

    text: str | None
    span: Span
    site: Span
    reason: str | None = None
    prefix: str = ""
    guess: str | None = None
    quote: str = ""
    inner: Embedded | None = None
    literal: bool = True
    count: int | None = 1
    source: Span | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """A string cut into words; `stop` is the offset of an operator (`;`, `&`, `|`, `<`, `>`) that ended the reading."""

    words: tuple[Word, ...]
    problem: Problem | None = None
    stop: int | None = None


def encode_single(text: str) -> str | None:
    """New text for the inside of `'…'`."""
    return None if "\0" in text else text.replace("'", "'\\''")


def encode_double(text: str) -> str | None:
    """New text for the inside of `"…"` in a shell."""
    if "\0" in text:
        return None
    for character in '\\"$`':
        text = text.replace(character, "\\" + character)
    return text


def _encode_double_without_variables(text: str) -> str | None:
    return None if "\0" in text else text.replace("\\", "\\\\").replace('"', '\\"')


def encode_ansi(text: str) -> str | None:
    """New text for the inside of `$'…'`."""
    return None if "\0" in text else "".join(_ANSI_NAMES.get(character, character) for character in text)


def encode_bare(text: str) -> str | None:
    """New text for an unquoted place of a word: as it is where that is safe, in single quotes of its own otherwise."""
    if not text or all(character in _SAFE or character > "\x7f" for character in text):
        return text
    single = encode_single(text)
    return None if single is None else f"'{single}'"


ENCODERS: dict[str, Encoder] = {
    "'": encode_single,
    '"': encode_double,
    '$"': encode_double,
    "$'": encode_ansi,
    "": encode_bare,
    "\\": encode_bare,
}


def quote_word(text: str, quote: str = "") -> str:
    """A whole new word in that quoting (see `Word.quote`); bare ones get single quotes where they need any.

    Raises `ValueError` for text with a NUL, which no argument can hold.
    """
    if not text and not quote.strip("\\"):
        return "''"
    inner = ENCODERS[quote](text)
    if inner is None:
        raise ValueError("an argument cannot hold a NUL")
    return quote + inner + quote[-1:] if quote.strip("\\") else inner


class WordBuilder:
    """Collects a literal word character by character, and makes its `WordText`."""

    __slots__ = ("characters", "encoders", "ends", "offsets", "quotes", "start")

    def __init__(self, start: int, encoders: dict[str, Encoder] = ENCODERS) -> None:
        self.start = start
        self.encoders = encoders
        self.characters: list[str] = []
        self.offsets: list[int] = []
        self.ends: list[int] = []
        self.quotes: list[tuple[int, str]] = []
        """Where each section begins (in characters of the text), and its quoting."""

    def section(self, quote: str) -> None:
        """What follows is in this quoting."""
        if not self.quotes or self.quotes[-1][1] != quote or quote:
            self.quotes.append((len(self.characters), quote))

    def add(self, character: str, start: int, end: int) -> None:
        """One character of the text, written at these host offsets."""
        self.characters.append(character)
        self.offsets.append(start)
        self.ends.append(end)

    @property
    def quote(self) -> str:
        """The quoting of the word: the last one used, bare only where nothing is quoted."""
        return next((quote for _, quote in reversed(self.quotes) if quote), "")

    def inner(self, end: int, offset: int | None = None) -> WordText:
        """The finished text; `end` is the host offset after the word, `offset` that of an empty text's inside."""
        text = "".join(self.characters)
        length = len(text)
        bounds = [*self.quotes, (length, "")]
        sections = tuple(
            (first, bounds[index + 1][0], self.encoders[quote])
            for index, (first, quote) in enumerate(self.quotes)
            if first < bounds[index + 1][0] or not length
        )
        final = self.ends[-1] if self.ends else (end if offset is None else offset)
        encode = self.encoders[self.quote]
        return WordText(text, [*self.offsets, final], encode, None, self.ends, sections or ((0, 0, encode),))


_SPLIT_ENCODERS: dict[str, Encoder] = {**ENCODERS, '"': _encode_double_without_variables}
_BLANKS = " \t\r\n"


def split_words(text: str, start: int = 0, dialect: str = "compose") -> Split:
    """Cut a string into words without a shell: no variables, no comments, no line continuations.

    `start` is the host offset of the text's first character; all spans count from there. Dialects: `compose` (Compose's
    `command:` and `entrypoint:` strings, after interpolation; github.com/mattn/go-shellwords, where a backslash also
    counts within double quotes, `\\n` and `\\t` are control characters, an operator ends the words in silence, and a
    bare parenthesis is refused) and `posix` (Python's `shlex.split`). Never raises.
    """
    compose = dialect == "compose"
    words: list[Word] = []
    builder: WordBuilder | None = None
    quote = ""
    opened = 0
    inside: int | None = None
    substitution = ""
    position = 0
    length = len(text)

    def finish(end: int) -> None:
        nonlocal builder, inside
        if builder is None:
            return
        inner = builder.inner(start + end, inside)
        span = Span(builder.start, start + end)
        words.append(Word(inner.text, span, span, prefix=inner.text, quote=builder.quote, inner=inner))
        builder, inside = None, None

    def problem(message: str, at: int, sort: str = "syntax") -> Split:
        return Split(tuple(words), Problem(message, Span(start + at, start + min(at + 1, length)), sort))

    while position < length:
        character = text[position]
        here = start + position
        if character in _BLANKS and not quote and not substitution:
            finish(position)
            position += 1
            continue
        if compose and not quote and not substitution and character in ";&|<>":
            digits = "".join(builder.characters) if builder is not None else ""
            if character == ">" and digits and all("0" <= digit <= "9" for digit in digits):
                builder = None
            finish(position)
            return Split(tuple(words), None, here)
        if builder is None:
            builder = WordBuilder(here, _SPLIT_ENCODERS)
        if character == "\\" and quote != "'":
            if position + 1 >= length:
                return problem("a backslash at the end escapes nothing", position)
            following = text[position + 1]
            if quote == '"' and not compose and following not in '"\\':
                builder.add(character, here, here + 1)
                position += 1
                continue
            if not quote:
                builder.section("\\")
            if compose and not substitution:
                following = {"n": "\n", "t": "\t"}.get(following, following)
            builder.add(following, here, here + 2)
            position += 2
            continue
        if character == quote and quote:
            inside = here if inside is None else inside
            quote = ""
            builder.section("")
            position += 1
            continue
        if character in "'\"" and not quote and not substitution:
            quote, opened, inside = character, position, here + 1
            builder.section(quote)
            position += 1
            continue
        if compose and not quote and character in "()`":
            if character == "(" and not substitution and builder.characters[-1:] == ["$"]:
                substitution = "("
            elif character == ")" and substitution == "(":
                substitution = ""
            elif character == "`" and substitution != "(":
                substitution = "" if substitution else "`"
            elif substitution != "`":
                return problem(f"Compose refuses a bare `{character}` in a command string", position)
            opened = position
        if not quote:
            builder.section("")
        builder.add(character, here, here + 1)
        position += 1
    if quote:
        return problem(f"the quote {quote} is never closed", opened, "unclosed-quote")
    if substitution:
        return problem("the substitution is never closed", opened)
    finish(length)
    return Split(tuple(words))
