"""Ollama's Modelfile, read as Ollama reads it: rune by rune, with the place of everything.

Source: ollama/ollama `parser/parser.go` (ParseFile, parseRuneForState, unquote), version 0.33.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servelint.formats.problem import Comment, Problem
from servelint.records import record
from servelint.text import Embedded, Source, Span

_WORDS = frozenset(
    ("from", "license", "template", "system", "adapter", "draft", "renderer", "parser", "parameter", "message")
) | {"requires"}
_ROLES = frozenset(("system", "user", "assistant"))
_BAD_WORD = (
    'command must be one of "from", "license", "template", "system", "adapter", "draft", "renderer", "parser", '
    '"parameter", "message", or "requires"'
)
_BAD_ROLE = 'message role must be one of "system", "user", or "assistant"'
_BLANKS = " \t"
_NEWLINES = "\r\n"
_GAPS = _BLANKS + _NEWLINES
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_NAME_CHARACTERS = _LETTERS | frozenset("0123456789_")
_TRIPLE = '"""'

NO_FROM = "no FROM line"
"""What Ollama says of a file that it can read but that names no model."""

PROSE = frozenset(("system", "template", "license", "message"))
"""Instructions whose value is text for the model or for people, in which nearly anything may be meant."""


@record
class Instruction:
    """One instruction of a Modelfile.

    `name` is Ollama's name of the command: `model` for FROM, else the instruction in lower case, for PARAMETER the
    parameter's name as written. `keyword` is the instruction word as written. `value` is what Ollama gets: runes that
    do not print dropped, blanks around it trimmed, quotes removed (for MESSAGE without the role that Ollama puts in
    front). `value_span` is the value as written with its quotes, `span` runs from the keyword to the value's end.
    `quote` is the quote that opens the value: three double quotes, one, or none. `inner` maps the value to the text
    and back. `closed` is False for the one value whose quote is never closed: Ollama refuses the file.
    """

    name: str
    keyword: str
    keyword_span: Span
    parameter: str | None
    parameter_span: Span | None
    role: str | None
    value: str
    value_span: Span
    span: Span
    quote: str
    inner: Embedded
    closed: bool = True

    @property
    def is_parameter(self) -> bool:
        """Whether it is written as a PARAMETER line."""
        return self.parameter is not None


@record
class Modelfile:
    """A Modelfile: its instructions in order, its comments, and why Ollama refuses it.

    Reading ends at the first fault of syntax, as Ollama's does; what stands before it is here.
    """

    text: str
    instructions: tuple[Instruction, ...] = ()
    comments: tuple[Comment, ...] = ()
    problems: tuple[Problem, ...] = ()

    def named(self, name: str) -> tuple[Instruction, ...]:
        """All instructions of that name, in the order of the file."""
        return tuple(instruction for instruction in self.instructions if instruction.name == name)


def read_modelfile(text: str) -> Modelfile:
    """Read a Modelfile's text (without a byte order mark). Never raises; linear in the text's length."""
    reader = _Reader(text)
    reader.read()
    if not reader.problems and not any(instruction.name == "model" for instruction in reader.instructions):
        start = reader.instructions[0].keyword_span if reader.instructions else Span(0, 0)
        reader.problems.append(Problem(NO_FROM, start))
    last = reader.problems[0].span if reader.problems else None
    for span in reader.waiting:
        # A comment before the place of a fault belongs to it, so that the fault can be ignored there.
        reader.comments.append(Comment(span, text[span.start : span.end], last or span))
    return Modelfile(text, tuple(reader.instructions), tuple(reader.comments), tuple(reader.problems))


def read_modelfile_source(source: Source) -> Modelfile:
    """Read a file. Ollama knows no UTF-32: it takes the text for another encoding and refuses its first word."""
    if not source.encoding.startswith("utf-32"):
        return read_modelfile(source.text)
    data = source.encode(source.text)
    seen = data[2:].decode("utf-16-le", "replace") if data.startswith(b"\xff\xfe") else data.decode("utf-8", "replace")
    problems = read_modelfile(seen).problems
    message = problems[0].message if problems else "unexpected EOF"
    return Modelfile(source.text, problems=(Problem(message, Span(0, min(1, len(source.text)))),))


class _Reader:
    """The state machine: between instructions, then word, parameter name or role, value; or a comment."""

    __slots__ = ("_length", "_next", "comments", "instructions", "position", "problems", "text", "waiting")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.instructions: list[Instruction] = []
        self.comments: list[Comment] = []
        self.problems: list[Problem] = []
        self.waiting: list[Span] = []
        self._length = len(text)
        self._next = {"\n": -1, "\r": -1}

    def read(self) -> None:
        text, length = self.text, self._length
        while self.position < length and not self.problems:
            character = text[self.position]
            if character in _GAPS:
                self.position += 1
            elif character == "#":
                end = self._line_end(self.position)
                self.waiting.append(Span(self.position, end))
                self.position = end
            else:
                self._instruction()

    def _line_end(self, position: int) -> int:
        """Where the line ends: at the next LF or CR, each of which ends it alone, or at the end of the text."""
        for newline, known in self._next.items():
            # Looked for anew only when passed, or a text without CR would be searched to its end for every line.
            if known < position:
                found = self.text.find(newline, position)
                self._next[newline] = self._length if found < 0 else found
        return min(self._next.values())

    def _instruction(self) -> None:
        text, length = self.text, self._length
        start = self.position
        # The first rune is taken whatever it is, and dropped if it does not print: a no-break space before PARAMETER
        # does no harm, a letter of another alphabet does.
        word = start if _is_kept(text[start]) else start + 1
        end = start + 1
        while end < length and text[end] in _LETTERS:
            end += 1
        if end == length:
            self._fail("unexpected EOF", Span(word, length))
            return
        keyword = text[word:end]
        lowered = keyword.lower()
        if text[end] not in _BLANKS or lowered not in _WORDS:
            related: tuple[tuple[Span, str], ...] = ()
            if lowered in _WORDS and text[end] in _NEWLINES:
                related = ((Span(word, end), f"{keyword} needs its value on this very line"),)
            self._fail(f"(line {self._count(end)}): {_BAD_WORD}", self._word_at(word), related)
            return
        keyword_span = Span(word, end)
        name, parameter, parameter_span, role = lowered, None, None, None
        if lowered == "from":
            name = "model"
        elif lowered == "parameter":
            parameter_span = self._name(keyword_span, end + 1, _NAME_CHARACTERS)
            if parameter_span is None:
                return
            name = parameter = text[parameter_span.start : parameter_span.end]
            end = parameter_span.end
        elif lowered == "message":
            role_span = self._name(keyword_span, end + 1, _LETTERS)
            if role_span is None:
                return
            role = text[role_span.start : role_span.end]
            end = role_span.end
            if role not in _ROLES:
                self._fail(f"(line {self._count(end)}): {_BAD_ROLE}", self._word_at(role_span.start))
                return
        value, value_span, quote, inner, closed = self._value(end + 1)
        instruction = Instruction(
            name, keyword, keyword_span, parameter, parameter_span, role,
            value, value_span, Span(word, value_span.end), quote, inner, closed,
        )  # fmt: skip
        self.instructions.append(instruction)
        for span in self.waiting:
            self.comments.append(Comment(span, text[span.start : span.end], instruction.span))
        self.waiting.clear()
        if not closed:
            opening = Span(value_span.start, value_span.start + len(quote))
            self.problems.append(Problem("unexpected EOF", opening, "unclosed-quote"))

    def _name(self, keyword: Span, start: int, allowed: frozenset[str]) -> Span | None:
        """A parameter's name or a role: up to a blank. Exactly one blank stands before it, a second one ends it."""
        text, length = self.text, self._length
        end = start
        while end < length and text[end] in allowed:
            end += 1
        if end == length:
            self._fail("unexpected EOF", Span(keyword.start, length))
            return None
        if text[end] not in _BLANKS:
            # Ollama prints the name so far, and neither the line nor what is wrong with it.
            place = self._word_at(start) if end > start or text[start] not in _NEWLINES else keyword
            kind = "a parameter's name" if allowed is _NAME_CHARACTERS else "a role"
            hint = f"{kind} ends with a blank and holds only {'letters, digits and _' if '_' in allowed else 'letters'}"
            self._fail(f"unexpected EOF: {text[start:end]}", place, ((place, hint),))
            return None
        return Span(start, end)

    def _value(self, start: int) -> tuple[str, Span, str, Embedded, bool]:
        """The value that begins somewhere behind `start`, and leave the position behind it."""
        text = self.text
        end = self._line_end(start)
        first = _keep(text, start, end)[0].strip(_BLANKS)
        quote = _TRIPLE if first.startswith(_TRIPLE) else '"' if first.startswith('"') else ""
        closed = not quote or (len(first) >= 2 * len(quote) and first.endswith(quote))
        while not closed and end < self._length:
            # A quoted value goes on to the first line whose last printing characters are the quote.
            begin, end = end + 1, self._line_end(end + 1)
            closed = _ends_in(text, begin, end, quote)
        self.position = end
        kept, starts, ends = _keep(text, start, end)
        low, high = 0, len(kept)
        while low < high and kept[low] in _GAPS:
            low += 1
        while high > low and kept[high - 1] in _GAPS:
            high -= 1
        if low == high:
            # An empty value stands directly behind the blank that ends the name.
            return "", Span(start, start), "", Embedded("", (start,), _encode_bare), True
        place = Span(starts[low], ends[high - 1])
        low += len(quote)
        if closed:
            high -= len(quote)
        if low < high:
            inner_starts = starts[low:high]
            offsets: Sequence[int]
            if isinstance(inner_starts, range):
                offsets = range(inner_starts.start, inner_starts.stop + 1)
            else:
                offsets = [*inner_starts, ends[high - 1]]
        else:
            high = low
            offsets = (ends[low - 1],)
        value = kept[low:high]
        inner = Embedded(value, offsets, _encode_quoted if quote else _encode_bare)
        return value, place, quote, inner, closed

    def _fail(self, message: str, span: Span, related: tuple[tuple[Span, str], ...] = ()) -> None:
        self.problems.append(Problem(message, span, related=related))

    def _count(self, index: int) -> int:
        """The line number that Ollama prints when the rune at `index` is the culprit: CR and LF count apart."""
        return 1 + self.text.count("\n", 0, index + 1) + self.text.count("\r", 0, index + 1)

    def _word_at(self, start: int) -> Span:
        """From `start` to the next blank or newline, one character at least where there is one."""
        end = start
        while end < self._length and self.text[end] not in _GAPS:
            end += 1
        return Span(start, end if end > start else min(start + 1, self._length))


def _is_kept(character: str) -> bool:
    """Whether a rune survives in names and values: Go's `strconv.IsPrint`, which Python's notion equals.

    A lone surrogate stands for an invalid byte, which Ollama sees as U+FFFD. The emoji block is there because Python
    3.11 knows Unicode 14 and Go a later one.
    """
    return character.isprintable() or "\ud800" <= character <= "\udfff" or "\U0001fa70" <= character <= "\U0001faff"


def _all_kept(text: str) -> bool:
    return text.isprintable() or text.replace("\t", "").replace("\r", "").replace("\n", "").isprintable()


def _keep(text: str, start: int, end: int) -> tuple[str, Sequence[int], Sequence[int]]:
    """What survives of a stretch inside a value, and where each of its characters begins and ends in the text."""
    stretch = text[start:end]
    if _all_kept(stretch):
        return stretch, range(start, end), range(start + 1, end + 1)
    kept: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    position = start
    while position < end:
        character = text[position]
        following = position + 1
        if "\udc80" <= character <= "\udcff":
            while following < end and "\udc80" <= text[following] <= "\udcff":
                following += 1
            # One U+FFFD for every maximal piece of a broken sequence; both decoders follow the Unicode standard here.
            replaced = text[position:following].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
            count = len(replaced)
            for index in range(count):
                kept.append("\ufffd")
                starts.append(position + index)
                ends.append(following if index == count - 1 else position + index + 1)
        elif character in _GAPS or _is_kept(character):
            kept.append("\ufffd" if "\ud800" <= character <= "\udfff" else character)
            starts.append(position)
            ends.append(following)
        position = following
    return "".join(kept), starts, ends


def _ends_in(text: str, start: int, end: int, quote: str) -> bool:
    """Whether the last printing, non-blank characters of a line are the quote."""
    line = text[start:end]
    if line.rstrip(_BLANKS).endswith(quote):
        return True
    if '"' not in line or _all_kept(line):
        return False
    return _keep(text, start, end)[0].rstrip(_BLANKS).endswith(quote)


def _encode_bare(text: str) -> str | None:
    return text if text.isprintable() else None


def _encode_quoted(text: str) -> str | None:
    return text if _all_kept(text) else None


# What an author meant as syntax and Ollama takes as text. These are guesses about people, so each keeps silent unless
# hardly anything else can be meant.

_QUOTE_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
_QUOTE_CHARACTERS = frozenset("\"'`“”‘’„«»\\")
_LONGEST_LIST = 4000


def is_special(text: str) -> bool:
    """Whether a text looks like a special token: `<|im_end|>`, `</s>`, `[INST]`, `<<SYS>>`, `<｜User｜>`."""
    if len(text) < 3 or any(character in _GAPS for character in text):
        return False
    if text.startswith("<<") and text.endswith(">>"):
        body = text[2:-2]
    elif text[0] == "<" and text[-1] == ">":
        body = text[1:-1]
    elif text[0] == "[" and text[-1] == "]":
        body = text[1:-1].lstrip("/")
        return body.replace("_", "").isalpha()
    else:
        return False
    return bool(body.strip("|/｜")) and not any(character in "<>\"'`,;" for character in body)


def trailing_comment(instruction: Instruction) -> int | None:
    """Where the `#` of a remark behind the value stands in the text, or None where there is none.

    Ollama takes it as part of the value; after a quoted value it also takes the lines up to the next one that ends in
    a quote. Prose without quotes may well hold a `#`, so nothing is said of it.
    """
    index = _comment_index(instruction)
    return None if index is None else instruction.inner.offsets[index]


def _comment_index(instruction: Instruction) -> int | None:
    value, quote = instruction.value, instruction.quote
    if "#" not in value:
        return None
    if quote:
        return _comment_behind_quote(instruction)
    if instruction.name in PROSE:
        return None
    index = _hash_behind_blank(value)
    if index is None:
        return None
    head, tail = value[:index].rstrip(_BLANKS), value[index:]
    if instruction.name in ("model", "adapter", "draft") and tail.endswith(".gguf") and tail[1:2] not in _BLANKS:
        # A file's name may hold a hash: `./My #1 tune.gguf`.
        return None
    if instruction.name != "stop":
        return index
    if _is_token_like(head):
        return index
    # After ordinary words only what reads like a remark: `User: # the next turn`, not `Step #2` or `Turn ### End`.
    return index if tail.startswith("# ") and tail[2:].strip() else None


def _hash_behind_blank(value: str) -> int | None:
    """The first `#` with a blank before it; the value itself begins with something else."""
    index = value.find("#", 1)
    while index >= 0:
        if value[index - 1] in _BLANKS:
            return index
        index = value.find("#", index + 1)
    return None


def _is_token_like(text: str) -> bool:
    return is_special(text.strip("".join(_QUOTE_CHARACTERS))) or _split(text) is not None or _unwrap(text) is not None


def _comment_behind_quote(instruction: Instruction) -> int | None:
    """The `#` behind what was meant to be the closing quote."""
    value = instruction.value
    for start, end in _lines(value):
        index = _hash_behind_quote(value, start, end, instruction.quote)
        if index is None:
            continue
        if start == 0 and instruction.name not in PROSE:
            return index
        # Text may hold a quote and a hash: only what was swallowed behind them shows that they were syntax.
        swallows = any(_looks_like_instruction(value[begin:stop]) for begin, stop in _lines(value, end))
        ends_file = not instruction.closed and not value[end:].strip(_GAPS)
        return index if swallows or ends_file else None
    return None


def _hash_behind_quote(value: str, start: int, end: int, quote: str) -> int | None:
    index = value.find("#", start + 1, end)
    while index >= 0:
        back = index
        while back > start and value[back - 1] in _BLANKS:
            back -= 1
        if back < index and value.endswith(quote, start, back):
            return index
        index = value.find("#", index + 1, end)
    return None


def _lines(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Where each line of a text begins and ends; CR and LF end one alike."""
    flat = text.replace("\r", "\n")
    while start <= len(flat):
        end = flat.find("\n", start)
        if end < 0:
            end = len(flat)
        yield start, end
        start = end + 1


def _looks_like_instruction(line: str) -> bool:
    """Whether a line inside a value was surely meant as an instruction, and is no sentence that begins like one."""
    words = line.split(None, 2)
    if len(words) < 2:
        return False
    keyword = words[0]
    lowered = keyword.lower()
    if lowered == "parameter":
        name = words[1]
        return len(words) > 2 and name.isascii() and name.replace("_", "").isalnum() and name == name.lower()
    if lowered == "message":
        return words[1] in _ROLES and len(words) > 2
    return keyword.isupper() and lowered in _WORDS


def swallowed_instruction(instruction: Instruction) -> int | None:
    """Where an instruction begins that a value between single double quotes has swallowed, or None.

    The value ran on over its line because its quote was not closed there, and ended at a later line that happens to
    end in a quote. Blocks between three quotes hold such lines on purpose.
    """
    if instruction.quote != '"' or not instruction.closed:
        return None
    value = instruction.value
    for start, end in _lines(value):
        line = value[start:end]
        if start and _looks_like_instruction(line):
            return instruction.inner.offsets[start + len(line) - len(line.lstrip(_BLANKS))]
    return None


def stray_quotes(instruction: Instruction) -> str | None:
    """The value without quotes that Ollama keeps (`'…'`, `“…”`, `` `…` ``, `\\"…\\"`), or None where there are none."""
    if len(instruction.value) > _LONGEST_LIST or trailing_comment(instruction) is not None:
        return None
    return _unwrap(instruction.value, quoted=bool(instruction.quote))


def _unwrap(value: str, quoted: bool = False) -> str | None:
    if not 2 < len(value) <= _LONGEST_LIST or any(character in _NEWLINES for character in value):
        return None
    # Around a special token any quote is a slip, also a lone one or an unmatched pair.
    bare = value.strip("".join(_QUOTE_CHARACTERS))
    if bare != value and is_special(bare):
        return bare
    if quoted:
        # Quotes inside proper ones, around ordinary words, may be wanted.
        return None
    if value[0] == "\\":
        if value.startswith('\\"') and value.endswith('\\"') and len(value) > 4 and '"' not in value[2:-2]:
            return value[2:-2]
        return None
    if _QUOTE_PAIRS.get(value[0]) != value[-1]:
        return None
    inside = value[1:-1]
    if inside.startswith("''") and inside.endswith("''") and value[0] == "'":
        inside = inside[2:-2]
    elif value[0] in '`"' and len(set(value)) == 1:
        return None
    for index, character in enumerate(inside):
        if character not in (value[0], value[-1]):
            continue
        # An apostrophe within a word is no quote; any other quote inside makes it unclear what is quoted.
        within = 0 < index < len(inside) - 1 and inside[index - 1].isalnum() and inside[index + 1].isalnum()
        if character not in "'’" or not within:
            return None
    return inside if inside.strip() else None


def listed_stops(instruction: Instruction) -> list[str] | None:
    """The stops that were meant where one value lists several, in order; None where the value is one stop.

    `"a" "b"`, `"a", "b"`, `["a", "b"]`, `[a b]`, and bare words where each looks like a special token.
    """
    value = instruction.value
    if len(value) > _LONGEST_LIST or any(character in _NEWLINES for character in value):
        return None
    if not instruction.closed or trailing_comment(instruction) is not None:
        return None
    if instruction.quote == '"':
        return _split(f'"{value}"') or _split(value)
    return _split(value)


def _split(text: str) -> list[str] | None:
    text = text.strip(_BLANKS)
    if len(text) > _LONGEST_LIST + 2:
        return None
    if len(text) > 2 and text[0] == "[" and text[-1] == "]":
        pieces = _pieces(text[1:-1])
        if pieces and all(quoted or is_special(piece) for piece, quoted in pieces):
            return [_unescape(piece) if quoted else piece for piece, quoted in pieces]
    pieces = _pieces(text)
    if pieces is None or len(pieces) < 2 or not all(quoted or is_special(piece) for piece, quoted in pieces):
        return None
    return [piece for piece, _ in pieces]


def _pieces(text: str) -> list[tuple[str, bool]] | None:
    """The words of a list, each with whether it was quoted; None where the text is no list."""
    pieces: list[tuple[str, bool]] = []
    position, length = 0, len(text)
    while position < length:
        character = text[position]
        if character in " \t,;":
            position += 1
            continue
        if character == "|" and text[position + 1 : position + 2] in ("", " "):
            position += 1
            continue
        if pieces and character in "pP" and text[position : position + 9].lower() == "parameter":
            # Several whole instructions on one line.
            words = text[position:].split(None, 2)
            if len(words) < 3 or words[0].lower() != "parameter" or words[1] != "stop":
                return None
            position = length - len(words[2])
            continue
        opening = '\\"' if text.startswith('\\"', position) else character
        closing = opening if opening == '\\"' else _QUOTE_PAIRS.get(opening)
        if closing is not None:
            start = position + len(opening)
            end = text.find(closing, start)
            while end > 0 and closing == '"' and text[end - 1] == "\\":
                end = text.find(closing, end + 1)
            if end < 0:
                return None
            position = end + len(closing)
            if position < length and text[position] not in " \t,;|":
                return None
            if end > start:
                pieces.append((text[start:end], True))
            continue
        end = position
        while end < length and text[end] not in " \t,;":
            end += 1
        pieces.append((text[position:end], False))
        position = end
    return pieces


def _unescape(piece: str) -> str:
    """What a JSON string stands for; the text itself where it is none."""
    if "\\" not in piece:
        return piece
    import json

    try:
        return str(json.loads(f'"{piece}"'))
    except ValueError:
        return piece


def meant_stops(instruction: Instruction) -> list[str]:
    """The stops that the author of a stop line meant: without remark, stray quotes and list syntax."""
    index = _comment_index(instruction)
    if index is None:
        listed = listed_stops(instruction)
        if listed is not None:
            return listed
        cleaned = stray_quotes(instruction)
        return [instruction.value if cleaned is None else cleaned]
    head = instruction.value[:index].rstrip(_BLANKS)
    if instruction.quote:
        head = instruction.quote + head
        if instruction.quote == _TRIPLE:
            return [head[3:-3]]
    listed = _split(head)
    if listed is not None:
        return listed
    if instruction.quote:
        return [head[1:-1]]
    cleaned = _unwrap(head)
    return [head if cleaned is None else cleaned]
