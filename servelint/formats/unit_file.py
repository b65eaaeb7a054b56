"""systemd's unit files, and Podman's Quadlets, with the place of every character.

Follows systemd `src/shared/conf-parser.c` (lines, comments, continuations), `src/basic/extract-word.c` and
`src/basic/escape.c` (words), `src/core/load-fragment.c` (`ExecStart=`) and `src/basic/env-util.c` (variables).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from servelint.formats.filling import UNKNOWN
from servelint.formats.problem import Comment, Problem
from servelint.formats.shell_words import Word
from servelint.records import record, replace
from servelint.text import Embedded, Span

_BLANKS = " \t"
_WORD_BLANKS = " \t\r\n"
# CR, LF and NUL end a line, and different ones of them in a row count once.
_LINE_BREAK = re.compile(r"(?:\n\r?|\r\n?)\0?|\0")
_LINE_LIMIT = 1 << 20
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=+@-{}[]<>|&*?~^")
_SPECIFIER = re.compile(r"%([A-Za-z0-9%])")
_VARIABLE = re.compile(r"\$(?:(\$)|\{([^}:]*)([}:]?))")
_CONTROLS = re.compile(r"[\x01-\x08\x0b-\x1f\x7f]")
_BAD_IN_HEADER = re.compile(r"[\x01-\x1f\x7f\"'\\]")
_PROBLEM_LIMIT = 50


@record
class UnitSetting:
    """One assignment: its section, name and value.

    `span` runs from the name to the value's last character. `value` is what systemd takes, continuations joined,
    mapped to the file.
    """

    section: str
    name: str
    name_span: Span
    span: Span
    value: Embedded


@record
class UnitSection:
    """A section from one header to the next; `span` is the header. The same name may come again."""

    name: str
    span: Span
    settings: tuple[UnitSetting, ...] = ()


@record
class UnitFile:
    """A text as a unit file. `settings` holds also those outside of any section, under an empty section's name."""

    text: str
    settings: tuple[UnitSetting, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: tuple[Comment, ...] = ()
    sections: tuple[UnitSection, ...] = ()

    def all(self, section: str, name: str) -> list[UnitSetting]:
        """The settings of that name in effect: an empty one takes those before it away."""
        return effective([setting for setting in self.settings if (setting.section, setting.name) == (section, name)])

    def last(self, section: str, name: str) -> UnitSetting | None:
        """The one in effect where only one can be."""
        found = self.all(section, name)
        return found[-1] if found else None


def effective(settings: Sequence[UnitSetting]) -> list[UnitSetting]:
    """Those behind the last empty one: an empty assignment resets a list (a unit's, then its drop-ins')."""
    start = len(settings)
    while start and settings[start - 1].value.text:
        start -= 1
    return list(settings[start:])


@record
class ExecCommand:
    """One command of an `ExecStart=`: its words, the program first, and the signs that stood before it.

    With `@` among the signs the word behind the program, the name that it finds as its own, is left out.
    """

    words: tuple[Word, ...]
    signs: str = ""

    @property
    def expands(self) -> bool:
        """Whether variables are filled in."""
        return ":" not in self.signs


class _Lines:
    """A logical line put together from several of the file's."""

    __slots__ = ("pieces", "places", "size")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.places: list[int] = []
        self.size = 0

    def add(self, piece: str, start: int, size: int) -> None:
        self.pieces.append(piece)
        self.places.extend(range(start, start + len(piece)))
        self.size += size


class _Reading:
    """What has been read of a file so far."""

    __slots__ = ("headers", "problems", "settings")

    def __init__(self) -> None:
        self.settings: list[UnitSetting] = []
        self.problems: list[Problem] = []
        # Each with the number of settings that stand before it.
        self.headers: list[tuple[str, Span, int]] = []

    def refuse(self, message: str, span: Span) -> None:
        if len(self.problems) < _PROBLEM_LIMIT:
            self.problems.append(Problem(message, span))

    def take(self, text: str, places: Sequence[int]) -> None:
        """Take a logical line; `places` has one more than it has characters."""
        stripped = text.strip(_BLANKS)
        if not stripped:
            return
        lead = len(text) - len(text.lstrip(_BLANKS))
        stop = lead + len(stripped)
        last = places[stop - 1] + 1
        whole = Span(places[lead], last)
        if stripped.startswith("["):
            self._take_header(stripped, whole)
            return
        section = self.headers[-1][0] if self.headers else ""
        name, equals, _ = stripped.partition("=")
        bare = name.rstrip(_BLANKS)
        if not equals:
            self.refuse("Missing '=': systemd passes over the line", whole)
            return
        if not bare:
            self.refuse("Missing key name before '=': systemd passes over the line", whole)
            return
        if not self.headers:
            self.refuse("Assignment outside of section: systemd passes over it", whole)
        start = lead + len(name) + 1
        while start < stop and text[start] in _BLANKS:
            start += 1
        # Without a continuation the places are a range, and so is any slice of them.
        offsets = places[start : stop + 1] if isinstance(places, range) else [*places[start:stop], last]
        value = Embedded(text[start:stop], offsets, _encode_line)
        name_span = Span(places[lead], places[lead + len(bare) - 1] + 1)
        self.settings.append(UnitSetting(section, bare, name_span, whole, value))

    def _take_header(self, stripped: str, whole: Span) -> None:
        if not stripped.endswith("]"):
            self.refuse("Invalid section header without its `]`: systemd refuses the file", whole)
            return
        name = stripped[1:-1]
        if _BAD_IN_HEADER.search(name):
            self.refuse("Bad characters in section header: systemd refuses the file", whole)
        self.headers.append((name, whole, len(self.settings)))

    def sections(self) -> Iterator[UnitSection]:
        ends = [*(before for _, _, before in self.headers[1:]), len(self.settings)]
        for (name, span, start), end in zip(self.headers, ends, strict=False):
            yield UnitSection(name, span, tuple(self.settings[start:end]))


def read_unit(text: str) -> UnitFile:
    """Read any text as a unit file. Never raises; linear."""
    reading = _Reading()
    comments: list[Span] = []
    pending: _Lines | None = None
    position = 0
    while position < len(text):
        start, found = position, _LINE_BREAK.search(text, position)
        stop, position = found.span() if found else (len(text), len(text))
        line = text[start:stop]
        size = _size(line)
        # systemd counts a line's break in, and not that of a line that goes on.
        if size >= _LINE_LIMIT or (pending is not None and pending.size + size > _LINE_LIMIT):
            reading.refuse("Line too long: systemd refuses the file", Span(start, stop))
            pending = None
            break
        remark = line.strip(_BLANKS)
        if remark.startswith(("#", ";")):
            # A remark between the lines of a value is passed over, and the value goes on behind it.
            begin = start + len(line) - len(line.lstrip(_BLANKS))
            comments.append(Span(begin, begin + len(remark)))
            continue
        if _ends_in_backslash(line):
            pending = pending or _Lines()
            pending.add(f"{line[:-1]} ", start, size)
        elif pending is None:
            reading.take(line, range(start, stop + 1))
        else:
            pending.add(line, start, size)
            reading.take("".join(pending.pieces), [*pending.places, stop])
            pending = None
    if pending is not None:
        reading.take("".join(pending.pieces), [*pending.places, len(text)])
    settings = tuple(reading.settings)
    bound = _bound(text, comments, settings)
    return UnitFile(text, settings, tuple(reading.problems), bound, tuple(reading.sections()))


def _size(line: str) -> int:
    return len(line) if line.isascii() else len(line.encode("utf-8", "surrogatepass"))


def _ends_in_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _encode_line(text: str) -> str | None:
    # A backslash at the end might join the next line to this one.
    return None if _LINE_BREAK.search(text) or _ends_in_backslash(text) else text


def _bound(text: str, comments: Sequence[Span], settings: Sequence[UnitSetting]) -> tuple[Comment, ...]:
    """Each remark with the setting that it stands in or above."""
    bound = []
    index = 0
    for span in comments:
        while index < len(settings) and settings[index].span.end <= span.start:
            index += 1
        target = settings[index].span if index < len(settings) else span
        bound.append(Comment(span, text[span.start : span.end], target))
    return tuple(bound)


# Words


class _Building:
    """A text made character by character, each with where it is written."""

    __slots__ = ("characters", "ends", "offsets", "quote", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.characters: list[str] = []
        self.offsets: list[int] = []
        self.ends: list[int] = []
        self.quote = ""

    def add(self, text: str, start: int, end: int) -> None:
        """Characters that are all written by the same stretch."""
        self.characters.extend(text)
        self.offsets.extend([start] * len(text))
        self.ends.extend([end] * len(text))

    def keep(self, source: Embedded, start: int, end: int) -> None:
        """A part of another text, as it is."""
        self.characters.extend(source.text[start:end])
        self.offsets.extend(source.offsets[start:end])
        ends = source.ends if source.ends is not None else source.offsets[1:]
        self.ends.extend(ends[start:end])

    def inner(self, final: int, encode: Callable[[str], str | None] | None) -> Embedded:
        return Embedded("".join(self.characters), [*self.offsets, final], encode, None, self.ends)

    def word(self, end: int) -> Word:
        final = self.ends[-1] if self.ends else end - len(self.quote)
        inner = self.inner(final, _ENCODERS[self.quote, True])
        span = Span(self.start, end)
        return Word(inner.text, span, span, prefix=inner.text, quote=self.quote, inner=inner)


def _encoder(quote: str, expands: bool) -> Callable[[str], str | None]:
    """Writes text for the inside of that quote, or for a bare place; `$` stands for itself where nothing expands."""

    def escape(text: str, around: str) -> str | None:
        if "\0" in text:
            return None
        for character in f"\\{around}":
            text = text.replace(character, "\\" + character)
        text = text.replace("\n", "\\n").replace("\r", "\\r").replace("%", "%%")
        return text.replace("$", "$$") if expands else text

    def encode(text: str) -> str | None:
        if quote:
            return escape(text, quote)
        if all(character in _SAFE or character > "\x7f" for character in text):
            return text
        written = escape(text, "'")
        return None if written is None else f"'{written}'"

    return encode


_ENCODERS = {(quote, expands): _encoder(quote, expands) for quote in ("", "'", '"') for expands in (True, False)}


def split_unit_words(text: str) -> tuple[list[Word], Problem | None]:
    """The words of a value as systemd splits it: quotes anywhere in a word, C escapes within quotes and without.

    Places count in `text`. An escape that systemd does not know stays as it is written.
    """
    return _split(text, strict=False)


def _split(text: str, strict: bool) -> tuple[list[Word], Problem | None]:
    """The words; with `strict` an escape that is not known ends the reading before the word that it stands in."""
    words: list[Word] = []
    building: _Building | None = None
    quote, opened, position = "", 0, 0
    while position < len(text):
        character = text[position]
        if not quote and character in _WORD_BLANKS:
            if building is not None:
                words.append(building.word(position))
                building = None
            position += 1
            continue
        if building is None:
            building = _Building(position)
        if character == "\\":
            written, width = _escape(text, position)
            if written is None and strict:
                message = "an escape that systemd does not know: it passes over the rest"
                return words, Problem(message, Span(position, min(position + 2, len(text))))
            if written is None:
                for place in range(position, min(position + width, len(text))):
                    building.add(text[place], place, place + 1)
            else:
                building.add(written, position, position + width)
            position += width
            continue
        if quote and character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = building.quote = character
            opened = position
        else:
            if not quote and not building.characters:
                building.quote = ""
            building.add(character, position, position + 1)
        position += 1
    problem = None
    if quote:
        problem = Problem(f"the quote {quote} is never closed", Span(opened, opened + 1), "unclosed-quote")
    elif building is not None:
        words.append(building.word(len(text)))
    return words, problem


def _escape(text: str, position: int) -> tuple[str | None, int]:
    """What an escape stands for, None where systemd does not know it, and how many characters it takes."""
    following = text[position + 1 : position + 2]
    if following and following in "\\\"'":
        return following, 2
    if following in _ESCAPES:
        return _ESCAPES[following], 2
    if following in ("u", "U"):
        digits = 4 if following == "u" else 8
        number = _number(text[position + 2 : position + 2 + digits], digits, 16)
        if number is None or (following == "U" and not _is_character(number)):
            return None, 2
        return _REPLACED if 0xD800 <= number < 0xE000 else chr(number), 2 + digits
    byte = _byte(text, position)
    if byte is None:
        return None, 2
    return (chr(byte), 4) if byte < 0x80 else _bytes(text, position)


_REPLACED = "\N{REPLACEMENT CHARACTER}"


def _byte(text: str, position: int) -> int | None:
    """The byte that `\\x41` or `\\101` stands for."""
    if not text.startswith("\\", position):
        return None
    if text.startswith("x", position + 1):
        return _number(text[position + 2 : position + 4], 2, 16)
    number = _number(text[position + 1 : position + 4], 3, 8)
    return number if number is not None and number < 0x100 else None


def _bytes(text: str, position: int) -> tuple[str, int]:
    """The character that some escaped bytes make together."""
    taken = bytearray()
    while len(taken) < 4 and (byte := _byte(text, position + 4 * len(taken))) is not None:
        taken.append(byte)
        try:
            return taken.decode(), 4 * len(taken)
        except UnicodeDecodeError:
            continue
    return _REPLACED, 4


def _number(digits: str, width: int, base: int) -> int | None:
    allowed = "01234567" if base == 8 else "0123456789abcdefABCDEF"
    if len(digits) != width or any(digit not in allowed for digit in digits):
        return None
    return int(digits, base) or None


def _is_character(number: int) -> bool:
    if number >= 0x110000 or 0xD800 <= number < 0xE000:
        return False
    return not 0xFDD0 <= number <= 0xFDEF and number & 0xFFFE != 0xFFFE


def exec_commands(value: Embedded) -> tuple[list[ExecCommand], Problem | None]:
    """The commands of an `ExecStart=`; places count in the value's text. A lone `;` separates commands."""
    words, problem = split_unit_words(value.text)
    commands: list[list[Word]] = [[]]
    for word in words:
        written = value.text[word.span.start : word.span.end]
        # In the place of a program even a quoted one separates, and `\;` is no escape.
        if written == ";" or (word.text == ";" and not commands[-1]):
            commands.append([])
        elif written == "\\;" and commands[-1]:
            inner = Embedded(";", [word.span.start, word.span.end], _ENCODERS["", True], None, [word.span.end])
            commands[-1].append(replace(word, text=";", prefix=";", inner=inner))
        else:
            commands[-1].append(word)
    return [_command(command) for command in commands if command], problem


def _command(words: list[Word]) -> ExecCommand:
    first = words[0]
    text = first.text or ""
    count = 0
    while count < len(text) and text[count] in "@-:+!|":
        count += 1
    signs, program = text[:count], text[count:]
    inner = first.inner
    span = first.span
    if inner is not None and count:
        ends = inner.ends[count:] if inner.ends is not None else None
        inner = Embedded(program, inner.offsets[count:], inner.encode, None, ends)
        span = Span(inner.offsets[0], span.end)
    made = [replace(first, text=program, prefix=program, span=span, inner=inner), *words[2 if "@" in signs else 1 :]]
    return ExecCommand(tuple(made if ":" not in signs else map(_without_variables, made)), signs)


def _without_variables(word: Word) -> Word:
    if word.inner is None:
        return word
    return replace(word, inner=replace(word.inner, encode=_ENCODERS[word.quote, False]))


def filled_words(
    words: Sequence[Word], environment: Mapping[str, str | None], specifiers: Mapping[str, str], expands: bool = True
) -> Iterator[Word]:
    """The words with specifiers (`%h`) and variables filled in, as they stand when the program starts.

    A variable without a value, and one that is not there, is not known. A word that begins with `$NAME` is taken for a
    name to its end, and becomes any number of words: none where it is no name of a variable (`$HOME/models`).
    """
    for word in words:
        text = word.text or ""
        if word.inner is None or ("%" not in text and "$" not in text):
            yield word
            continue
        filling = _Filling(word.inner)
        filling.substitute(_SPECIFIER, lambda match: _specified(match, specifiers))
        if expands and filling.inner.text.startswith("$") and filling.inner.text[1:2] not in ("{", "$"):
            yield from _split_variable(word, filling, environment)
            continue
        if expands:
            filling.substitute(_VARIABLE, lambda match: _expanded(match, environment))
        yield filling.word(word)


# What stands in a place: its text, or None where it is not known, then by a name; True where it is an escape.
_Supply = tuple["str | None", str, bool]


class _Filling:
    """A word whose specifiers are filled in first, and its variables then."""

    __slots__ = ("inner", "names", "supplied")

    def __init__(self, inner: Embedded) -> None:
        self.inner = inner
        self.names: list[str] = []
        self.supplied = False

    def substitute(self, pattern: re.Pattern[str], supply: Callable[[re.Match[str]], _Supply | None]) -> None:
        source = self.inner
        building = _Building(0)
        kept = 0
        for match in pattern.finditer(source.text):
            found = supply(match)
            if found is None:
                continue
            text, name, is_escape = found
            building.keep(source, kept, match.start())
            kept = match.end()
            if text is None:
                self.names.append(name)
            self.supplied = self.supplied or not is_escape
            place = source.host_span(Span(match.start(), match.end()))
            building.add(UNKNOWN if text is None else text, place.start, place.end)
        building.keep(source, kept, len(source.text))
        self.inner = building.inner(source.offsets[-1], source.encode)

    def word(self, word: Word) -> Word:
        text = self.inner.text
        if not self.names:
            return replace(word, text=text, prefix=text, inner=self.inner, literal=word.literal and not self.supplied)
        prefix, suffix = text.partition(UNKNOWN)[0], text.rpartition(UNKNOWN)[2]
        reason = f"{self.names[0]} is not known from here"
        return replace(word, text=None, prefix=prefix, suffix=suffix, reason=reason, inner=None, literal=False)


def _specified(match: re.Match[str], specifiers: Mapping[str, str]) -> _Supply:
    letter = match[1]
    return ("%", "", True) if letter == "%" else (specifiers.get(letter), match[0], False)


def _expanded(match: re.Match[str], environment: Mapping[str, str | None]) -> _Supply | None:
    if match[1]:
        return "$", "", True
    # `${NAME:-default}` is for shells; systemd leaves it as it stands, and all up to the colon.
    if match[3] != "}":
        return None
    name = match[2]
    if not _NAME.fullmatch(name) and UNKNOWN not in name:
        return "", name, False
    return environment.get(name), f"${name}", False


def _split_variable(word: Word, filling: _Filling, environment: Mapping[str, str | None]) -> Iterator[Word]:
    name = filling.inner.text[1:]
    if not filling.names and not _NAME.fullmatch(name):
        return
    value = None if filling.names else environment.get(name)
    if value is None:
        reason = f"{filling.names[0] if filling.names else f'${name}'} is not known from here"
        yield replace(word, text=None, prefix="", reason=reason, inner=None, literal=False, count=None)
        return
    for piece in _pieces(value):
        yield replace(word, text=piece, prefix=piece, inner=None, literal=False)


def _pieces(value: str) -> Iterator[str]:
    """The words of a variable's value: quotes hold them together, and a backslash only protects what follows."""
    characters: list[str] | None = None
    quote, position = "", 0
    while position < len(value):
        character = value[position]
        position += 1
        if not quote and character in _WORD_BLANKS:
            if characters is not None:
                yield "".join(characters)
            characters = None
            continue
        characters = [] if characters is None else characters
        if character == "\\":
            characters.append(value[position : position + 1])
            position += 1
        elif character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = character
        else:
            characters.append(character)
    if characters is not None:
        yield "".join(characters)


def assignments_of(value: Embedded) -> list[tuple[str, str, Span]]:
    """The variables of an `Environment=`: name, value, and where the assignment stands in the value's text.

    Specifiers are left as they are, and `$` means nothing here. What systemd does not take is left out: a name that is
    none, control characters, and all from the first word on that has an escape which it does not know.
    """
    found = []
    for word in _split(value.text, strict=True)[0]:
        name, equals, text = (word.text or "").partition("=")
        if equals and _NAME.fullmatch(name) and not _CONTROLS.search(text):
            found.append((name, text, word.span))
    return found
