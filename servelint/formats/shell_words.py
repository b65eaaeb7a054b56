"""Shell words: what a program gets, where it is written, and how to write new text there.

Also the splitters of strings that are cut into words as a shell would, without a shell: Compose's, and POSIX's as
Python's `shlex` has it. Scripts are read by `servelint.formats.shell`.
"""

from __future__ import annotations

from collections.abc import Callable

from servelint.formats.problem import Problem
from servelint.records import record
from servelint.text import Embedded, Span

Encoder = Callable[[str], "str | None"]

# Characters that stand for themselves in every shell, in any place of a word but for a `~` or `#` at its beginning.
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=+@%-")
_ANSI_NAMES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


@record
class Word:
    """One word that a program gets.

    `text` is None where it cannot be known: `reason` says why, `prefix` is what is known of its beginning (all of it
    where the text is known), and `guess` is the text if every value from outside is missing (the default of
    `${PORT:-8000}`, a glob that matches nothing), None where even that is unknown. `span` is where the word's text is
    written: for an element that `"${ARGS[@]}"` supplied, the element in its list; `site` is where it stands in the
    command. `quote` is how the text is quoted there: `'`, `"`, `$'`, `$"`, `\\` or nothing, the last one where it is
    mixed. `inner` maps a literal text to the host and writes new text for that quoting; in a mixed word such as
    `--j='{"a": 1}'` for its last quoted stretch, so an edit must stay within one stretch. To replace a whole word, put
    `quote_word` in the place of its `span`. `literal` is False where a variable or an expansion supplied part of the
    text; `source` is the assignment it came from where that is one.
    `count` is 1, or None for something that may become any number of words. `suffix` is what is known of the end of a
    text that cannot be known as a whole.
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
    suffix: str = ""


@record
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
    """Collects a literal word character by character, and makes the map of its text to the host."""

    __slots__ = ("characters", "encoders", "ends", "offsets", "quote", "start")

    def __init__(self, start: int, encoders: dict[str, Encoder] = ENCODERS) -> None:
        self.start = start
        self.encoders = encoders
        self.characters: list[str] = []
        self.offsets: list[int] = []
        self.ends: list[int] = []
        self.quote = ""
        """The last quoting used, empty where nothing is quoted."""

    def section(self, quote: str) -> None:
        """What follows is in this quoting."""
        self.quote = quote or self.quote

    def add(self, character: str, start: int, end: int) -> None:
        """One character of the text, written at these host offsets."""
        self.characters.append(character)
        self.offsets.append(start)
        self.ends.append(end)

    def inner(self, end: int, inside: int | None = None) -> Embedded:
        """The finished text; `end` is the host offset after the word, `inside` that within an empty one's quotes."""
        text = "".join(self.characters)
        final = self.ends[-1] if self.ends else (end if inside is None else inside)
        return Embedded(text, [*self.offsets, final], self.encoders[self.quote], None, self.ends)


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
    opened_substitution = 0
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
            # Any word that begins with a digit is taken for the number of a stream (shellwords.go).
            if character == ">" and builder is not None and "0" <= "".join(builder.characters[:1]) <= "9":
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
            if compose:
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
        if character in "'\"" and not quote and substitution != "(":
            quote, opened, inside = character, position, here + 1
            builder.section(quote)
            position += 1
            continue
        if compose and not quote and character in "()`":
            if character == "(" and not substitution and builder.characters[-1:] == ["$"]:
                substitution = "("
            elif character == ")" and substitution != "`":
                # One that closes nothing opens: it takes all up to the next one into its word.
                substitution = "" if substitution else "("
            elif character == "`" and substitution != "(":
                substitution = "" if substitution else "`"
            elif character == "(" and substitution != "`":
                return problem(f"Compose refuses a bare `{character}` in a command string", position)
            if substitution:
                opened_substitution = position
        if not quote:
            builder.section("")
        builder.add(character, here, here + 1)
        position += 1
    if quote:
        return problem(f"the quote {quote} is never closed", opened, "unclosed-quote")
    if substitution:
        if text[opened_substitution] == ")":
            return problem("Compose refuses a bare `)` in a command string", opened_substitution)
        return problem("the substitution is never closed", opened_substitution)
    finish(length)
    return Split(tuple(words))
