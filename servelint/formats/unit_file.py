"""systemd's unit files, and Podman's Quadlets, with the place of every character.

Follows systemd `src/shared/conf-parser.c` (lines, comments, continuations), `src/basic/extract-word.c` and
`src/basic/escape.c` (words), `src/core/load-fragment.c` (`ExecStart=`) and `src/basic/env-util.c` (variables).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from servelint.formats.filling import UNKNOWN, Filling
from servelint.formats.problem import Comment, Problem
from servelint.formats.shell_words import Word
from servelint.records import record, replace
from servelint.text import Embedded, Span

_BLANKS = " \t\r"
_WORD_BLANKS = " \t\r\n"
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_SAFE = _NAME | frozenset("./:,=+@-{}[]<>|&*?~^#")
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
class UnitFile:
    """A text as a unit file."""

    text: str
    settings: tuple[UnitSetting, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: tuple[Comment, ...] = ()

    def all(self, section: str, name: str) -> list[UnitSetting]:
        """The settings of that name in effect: an empty one takes those before it away."""
        found: list[UnitSetting] = []
        for setting in self.settings:
            if setting.section == section and setting.name == name:
                found = [*found, setting] if setting.value.text else []
        return found

    def last(self, section: str, name: str) -> UnitSetting | None:
        """The one in effect where only one can be."""
        found = self.all(section, name)
        return found[-1] if found else None


@record
class ExecCommand:
    """One command of an `ExecStart=`: its words, the program first, and the signs that stood before it."""

    words: tuple[Word, ...]
    signs: str = ""

    @property
    def expands(self) -> bool:
        """Whether variables are filled in."""
        return ":" not in self.signs


class _Lines:
    """A logical line put together from several of the file's."""

    __slots__ = ("characters", "offsets")

    def __init__(self) -> None:
        self.characters: list[str] = []
        self.offsets: list[int] = []

    def add(self, text: str, start: int) -> None:
        self.characters.append(text)
        self.offsets.extend(range(start, start + len(text)))

    @property
    def text(self) -> str:
        return "".join(self.characters)


def read_unit(text: str) -> UnitFile:
    """Read any text as a unit file. Never raises; linear."""
    settings: list[UnitSetting] = []
    problems: list[Problem] = []
    comments: list[Span] = []
    section = ""
    pending: _Lines | None = None
    position = 0
    while position < len(text):
        end = text.find("\n", position)
        stop = len(text) if end < 0 else end
        start = position
        while start < stop and text[start] in _BLANKS:
            start += 1
        position = stop + 1
        if start < stop and text[start] in "#;":
            # A remark between the lines of a value is passed over, and the value goes on behind it.
            comment_end = stop
            while text[comment_end - 1] in _BLANKS:
                comment_end -= 1
            comments.append(Span(start, comment_end))
            continue
        line = pending or _Lines()
        pending = None
        body_end = stop - 1 if text[stop - 1 : stop] == "\r" and stop > start else stop
        if _ends_in_backslash(text, start, body_end):
            line.add(text[start : body_end - 1], start)
            line.characters.append(" ")
            line.offsets.append(body_end - 1)
            pending = line
            continue
        line.add(text[start:body_end], start)
        section = _take(line, body_end, section, settings, problems)
    if pending is not None:
        _take(pending, len(text), section, settings, problems)
    return UnitFile(text, tuple(settings), tuple(problems), _bound(text, comments, settings))


def _ends_in_backslash(text: str, start: int, end: int) -> bool:
    count = 0
    while end - count > start and text[end - count - 1] == "\\":
        count += 1
    return count % 2 == 1


def _take(line: _Lines, end: int, section: str, settings: list[UnitSetting], problems: list[Problem]) -> str:
    """Take a logical line; gives the section that holds behind it."""
    text = line.text
    stripped = text.strip(_BLANKS)
    if not stripped:
        return section
    lead = len(text) - len(text.lstrip(_BLANKS))
    places = [*line.offsets, end]
    last = places[lead + len(stripped) - 1] + 1
    whole = Span(places[lead], last)
    if stripped.startswith("["):
        if not stripped.endswith("]"):
            _refuse(problems, "a section's header without its `]`", whole)
        return stripped[1:-1] if stripped.endswith("]") else section
    name, equals, _ = stripped.partition("=")
    if not equals:
        _refuse(problems, "a line without `=`: systemd passes over it", whole)
        return section
    if not section:
        _refuse(problems, "a setting outside of any section: systemd passes over it", whole)
    bare = name.rstrip(_BLANKS)
    start = lead + len(name) + 1
    stop = lead + len(stripped)
    while start < stop and text[start] in _BLANKS:
        start += 1
    value = Embedded(text[start:stop], [*places[start:stop], last], _encode_line)
    settings.append(UnitSetting(section, bare, Span(places[lead], places[lead] + len(bare)), whole, value))
    return section


def _encode_line(text: str) -> str | None:
    return None if "\n" in text or "\0" in text else text


def _refuse(problems: list[Problem], message: str, span: Span) -> None:
    if len(problems) < _PROBLEM_LIMIT:
        problems.append(Problem(message, span))


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
    __slots__ = ("characters", "ends", "offsets", "quote", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.characters: list[str] = []
        self.offsets: list[int] = []
        self.ends: list[int] = []
        self.quote = ""

    def add(self, character: str, start: int, end: int) -> None:
        self.characters.append(character)
        self.offsets.append(start)
        self.ends.append(end)

    def word(self, end: int) -> Word:
        text = "".join(self.characters)
        final = self.ends[-1] if self.ends else end
        encode = _QUOTED[self.quote]
        inner = Embedded(text, [*self.offsets, final], encode, None, self.ends)
        span = Span(self.start, end)
        return Word(text, span, span, prefix=text, quote=self.quote, inner=inner)


def _escaped(text: str, quote: str) -> str | None:
    if "\0" in text or "\n" in text:
        return None
    for character in f"\\{quote}":
        text = text.replace(character, "\\" + character)
    return text.replace("%", "%%").replace("$", "$$")


def _encode_single(text: str) -> str | None:
    return _escaped(text, "'")


def _encode_double(text: str) -> str | None:
    return _escaped(text, '"')


def _encode_bare(text: str) -> str | None:
    if not text or all(character in _SAFE or character > "\x7f" for character in text):
        return text
    written = _escaped(text, "'")
    return None if written is None else f"'{written}'"


_QUOTED = {"": _encode_bare, "'": _encode_single, '"': _encode_double}


def split_unit_words(text: str) -> tuple[list[Word], Problem | None]:
    """The words of a value as systemd splits it: quotes anywhere in a word, C escapes within quotes and without.

    Places count in `text`. An escape that systemd does not know stays as it is written.
    """
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
            for each in written:
                building.add(each, position, position + width)
            position += width
            continue
        if quote and character == quote:
            quote = ""
        elif not quote and character in "'\"":
            quote = building.quote = character
            opened = position
        else:
            if not quote:
                building.quote = "" if not building.characters else building.quote
            building.add(character, position, position + 1)
        position += 1
    problem = None
    if quote:
        problem = Problem(f"the quote {quote} is never closed", Span(opened, opened + 1), "unclosed-quote")
    elif building is not None:
        words.append(building.word(len(text)))
    return words, problem


def _escape(text: str, position: int) -> tuple[str, int]:
    """What an escape stands for, and how many characters it takes."""
    following = text[position + 1 : position + 2]
    if not following:
        return "\\", 1
    if following in _ESCAPES:
        return _ESCAPES[following], 2
    if following in "\\\"'":
        return following, 2
    for letter, digits, base in (("x", 2, 16), ("u", 4, 16), ("U", 8, 16)):
        if following == letter:
            number = _number(text[position + 2 : position + 2 + digits], digits, base)
            return (chr(number), 2 + digits) if number is not None else ("\\" + following, 2)
    number = _number(text[position + 1 : position + 4], 3, 8)
    if number is not None:
        return chr(number), 4
    return "\\" + following, 2


def _number(digits: str, width: int, base: int) -> int | None:
    allowed = "01234567" if base == 8 else "0123456789abcdefABCDEF"
    if len(digits) != width or any(digit not in allowed for digit in digits):
        return None
    number = int(digits, base)
    return number if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else None


def exec_commands(value: Embedded) -> tuple[list[ExecCommand], Problem | None]:
    """The commands of an `ExecStart=`; places count in the value's text. A lone `;` separates commands."""
    words, problem = split_unit_words(value.text)
    commands: list[list[Word]] = [[]]
    for word in words:
        written = value.text[word.span.start : word.span.end]
        if written == ";":
            commands.append([])
        elif written == "\\;":
            commands[-1].append(replace(word, text=";", prefix=";"))
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
    rest = words[1:]
    if "@" in signs:
        # The second word is the name that the program finds as its own.
        rest = rest[1:]
    return ExecCommand((replace(first, text=program, prefix=program, span=span, inner=inner), *rest), signs)


def filled_words(
    words: Sequence[Word], environment: Mapping[str, str | None], specifiers: Mapping[str, str], expands: bool = True
) -> Iterator[Word]:
    """The words with specifiers (`%h`) and variables filled in, as they stand when the program starts.

    A variable without a value, and one that is not there, is not known. `$NAME` alone becomes any number of words.
    """
    for word in words:
        text = word.text or ""
        if word.inner is None or ("%" not in text and "$" not in text):
            yield word
            continue
        name = text[1:] if expands and text[:1] == "$" and text[1:] and all(c in _NAME for c in text[1:]) else None
        if name is not None:
            yield from _split_variable(word, name, environment.get(name))
            continue
        filling = Filling(word.inner)
        _fill(filling, environment, specifiers, expands)
        made = filling.result()
        shown = made.inner.text
        if made.names:
            reason = f"{made.names[0]} is not known from here"
            yield replace(
                word, text=None, prefix=shown.partition(UNKNOWN)[0], suffix=shown.rpartition(UNKNOWN)[2], reason=reason,
                inner=None, literal=False,
            )  # fmt: skip
        else:
            yield replace(word, text=shown, prefix=shown, inner=made.inner, literal=not made.supplied)


def _split_variable(word: Word, name: str, value: str | None) -> Iterator[Word]:
    if value is None:
        reason = f"${name} is not known from here"
        yield replace(word, text=None, prefix="", reason=reason, inner=None, literal=False, count=None)
        return
    for piece in value.split():
        yield replace(word, text=piece, prefix=piece, inner=None, literal=False)


def _fill(
    filling: Filling, environment: Mapping[str, str | None], specifiers: Mapping[str, str], expands: bool
) -> None:
    text = filling.source.text
    position = kept = 0
    while position < len(text):
        character, following = text[position], text[position + 1 : position + 2]
        if character == "%" and following:
            filling.keep(kept, position)
            if following == "%":
                filling.put("%", position)
            elif following in specifiers:
                filling.put(specifiers[following], position)
            else:
                filling.unknown(f"%{following}", position)
            position += 2
            kept = position
        elif character == "$" and expands and following == "$":
            filling.keep(kept, position)
            filling.put("$", position)
            position += 2
            kept = position
        elif character == "$" and expands and following == "{" and text.find("}", position) > 0:
            filling.keep(kept, position)
            end = text.find("}", position)
            name = text[position + 2 : end]
            value = environment.get(name)
            if value is None:
                filling.unknown(f"${name}", position)
            else:
                filling.put(value, position)
            position = kept = end + 1
        else:
            position += 1
    filling.keep(kept, len(text))


def assignments_of(value: Embedded) -> list[tuple[str, str, Span]]:
    """The variables of an `Environment=`: name, value, and where the assignment stands in the value's text."""
    found = []
    for word in split_unit_words(value.text)[0]:
        name, equals, text = (word.text or "").partition("=")
        if equals and name:
            found.append((name, text, word.span))
    return found
