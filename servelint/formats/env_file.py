"""Environment files, as the four programs read them that are given one; no two of them agree.

Sources: docker/cli `pkg/kvfile/kvfile.go` (3d41bba), compose-spec/compose-go `dotenv/parser.go` (v2, and its page on
docs.docker.com), systemd `src/basic/env-file.c` (0002453), and POSIX for a file that a shell sources.
"""

from __future__ import annotations

from collections.abc import Callable

from servelint.formats.problem import Comment, Problem
from servelint.records import field, record
from servelint.text import Edit, Span

DIALECTS = ("docker", "compose", "systemd", "shell")
_PROGRAMS = {"docker": "docker run", "compose": "Compose", "systemd": "systemd", "shell": "the shell"}
# Characters that mean themselves to all four, with quotes or without.
_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+,-=")
_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_PAIRS = {'"': '"', "'": "'", "`": "`", "“": "”", "”": "”", "„": "“", "‘": "’", "’": "’"}
# Blanks that are no line break, as compose-go has them.
_COMPOSE_BLANKS = "\t\v\f\r \x85\xa0"
_PROBLEM_LIMIT = 50


@record
class EnvEntry:
    """A variable as it is set (or named) by one line, or by several where a quote spans them.

    `span` is the value as a person wrote it, with its quotes and without the blanks and the comment behind it; `raw`
    is all that stands behind the `=`. `whole` is the line from its first character to its last, without the line break.
    `value` is what the dialect's program makes of it, None where it cannot be known (`reason` says why) or where the
    program does not take it. `interpretations` holds what each program makes of it, for those that take the line.
    `quote` is the opening quote where the whole value is quoted, `comment` the `# …` behind the value, whether or not
    the program sees one there.
    """

    name: str
    name_span: Span
    value: str | None
    span: Span
    whole: Span
    raw: str
    quote: str = ""
    comment: Span | None = None
    interpretations: dict[str, str | None] = field(default_factory=dict)
    reason: str | None = None
    exported: bool = False
    is_set: bool = True


@record
class EnvFile:
    """A text as an environment file of one dialect; `problems` are what that dialect's program has against it."""

    text: str
    dialect: str
    entries: tuple[EnvEntry, ...] = ()
    comments: tuple[Comment, ...] = ()
    problems: tuple[Problem, ...] = ()

    def last(self, name: str) -> EnvEntry | None:
        """The last entry of that name, which wins in every dialect."""
        return next((entry for entry in reversed(self.entries) if entry.name == name), None)


class _Reading:
    """What one program makes of a text: values by the place of their `=`, and where each ends."""

    __slots__ = ("ends", "problems", "reasons", "values")

    def __init__(self) -> None:
        self.values: dict[int, str | None] = {}
        self.ends: dict[int, int] = {}
        self.reasons: dict[int, str] = {}
        self.problems: list[Problem] = []

    def take(self, place: int, value: str | None, end: int, reason: str | None = None) -> None:
        self.values[place] = value
        self.ends[place] = end
        if reason is not None:
            self.reasons[place] = reason

    def refuse(self, message: str, start: int, end: int, sort: str = "syntax") -> None:
        if len(self.problems) < _PROBLEM_LIMIT:
            self.problems.append(Problem(message, Span(start, end), sort))


def read_env(text: str, dialect: str = "unknown") -> EnvFile:
    """Read any text as an environment file of `docker`, `compose`, `systemd`, `shell`, or an `unknown` dialect.

    Of an unknown one a value is known where all programs that take the line agree. Never raises; linear.
    """
    dialects = (dialect,) if dialect in DIALECTS else DIALECTS
    readings = {name: _READERS[name](text) for name in dialects}
    entries: list[EnvEntry] = []
    lone_comments: list[Span] = []
    position = 0
    while position < len(text):
        end = _line_end(text, position)
        start = _behind_blanks(text, position, end)
        first = text[start : start + 1]
        if start < end and (first == "#" or (first == ";" and dialect == "systemd")):
            lone_comments.append(Span(start, end))
        elif start < end:
            entry = _entry(text, position, start, end, dialect, readings)
            if entry is not None:
                entries.append(entry)
                end = max(end, entry.whole.end)
        position = _behind_line_break(text, end)
    problems = readings[dialect].problems if dialect in readings else []
    return EnvFile(text, dialect, tuple(entries), _comments(text, lone_comments, entries), tuple(problems))


def _entry(text: str, line: int, start: int, end: int, dialect: str, readings: dict[str, _Reading]) -> EnvEntry | None:
    """The variable that the line sets or names."""
    exported = text.startswith("export", start) and text[start + 6 : start + 7] in (" ", "\t")
    name_start = _behind_blanks(text, start + 6, end) if exported else start
    equals = text.find("=", name_start, end)
    if equals < 0 and "compose" in readings:
        # Compose also takes `NAME: value`.
        colon = text.find(":", name_start, end)
        equals = colon if colon >= 0 and colon in readings["compose"].values else -1
    if equals < 0:
        name = text[name_start:end].rstrip()
        span = Span(name_start, name_start + len(name))
        if not name or not all(character in _NAME for character in name):
            return None
        why = f"{name} has no value here: it comes from the environment around"
        nowhere = Span(span.end, span.end)
        return EnvEntry(name, span, None, nowhere, Span(line, end), "", "", None, {}, why, exported, False)
    name = text[name_start:equals].rstrip()
    known = {key: reading.values[equals] for key, reading in readings.items() if equals in reading.values}
    end = max(end, _extent(dialect, equals, end, readings))
    value_span, quote, comment = _written(text, equals + 1, end)
    agreed, reason = _agreed(known, readings, equals)
    return EnvEntry(
        name,
        Span(name_start, name_start + len(name)),
        agreed,
        value_span,
        Span(line, end),
        text[equals + 1 : end],
        quote,
        comment,
        known,
        reason,
        exported,
    )


def _extent(dialect: str, equals: int, end: int, readings: dict[str, _Reading]) -> int:
    """Where the entry's last line ends: of an unknown dialect, lines belong together where Compose reads a quote so."""
    reading = readings.get(dialect) or readings.get("compose")
    return reading.ends.get(equals, end) if reading else end


def _agreed(known: dict[str, str | None], readings: dict[str, _Reading], equals: int) -> tuple[str | None, str | None]:
    """The value that all programs make of it, or why it is not known."""
    for name in known:
        if equals in readings[name].reasons:
            return None, readings[name].reasons[equals]
    values = list(known.values())
    if values and all(value == values[0] for value in values):
        return values[0], None
    if not values:
        return None, "the program that reads this file does not take the line"
    return None, "it depends on the program that reads this file"


def _written(text: str, start: int, end: int) -> tuple[Span, str, Span | None]:
    """The value as a person means it, between `=` and the end: its span, its quote, and the comment behind it."""
    first = _behind_blanks(text, start, end)
    stop = end
    while stop > first and text[stop - 1] in " \t\r\n":
        stop -= 1
    opening = text[first : first + 1]
    closing = _PAIRS.get(opening)
    if closing is not None and first < stop:
        close = _closing_quote(text, first + 1, stop, closing)
        if close is not None:
            behind = _behind_blanks(text, close + 1, end)
            if behind >= stop:
                return Span(first, close + 1), opening, None
            if text[behind] == "#" and behind > close + 1:
                return Span(first, close + 1), opening, Span(behind, end)
            return Span(first, stop), "", None
    place = _comment_start(text, start, stop)
    if place is not None:
        before = len(text[first:place].rstrip(" \t"))
        return Span(min(first, place), first + before if place > first else min(first, place)), "", Span(place, end)
    return Span(first, stop), "", None


def _comment_start(text: str, start: int, end: int) -> int | None:
    """The place of the first `#` with a blank before it."""
    place = text.find("#", start, end)
    while place >= 0:
        if text[place - 1] in " \t":
            return place
        place = text.find("#", place + 1, end)
    return None


def _closing_quote(text: str, start: int, end: int, quote: str) -> int | None:
    position = start
    while position < end:
        if text[position] == "\\" and quote == '"':
            position += 2
            continue
        if text[position] == quote:
            return position
        position += 1
    return None


def _comments(text: str, lone: list[Span], entries: list[EnvEntry]) -> tuple[Comment, ...]:
    """All comments with what they belong to: the line they stand on, or the next variable."""
    from bisect import bisect_left

    starts = [entry.whole.start for entry in entries]
    found = []
    for span in lone:
        index = bisect_left(starts, span.start)
        target = entries[index].whole if index < len(entries) else Span(0, len(text))
        found.append(Comment(span, text[span.start : span.end], target))
    for entry in entries:
        if entry.comment is not None:
            found.append(Comment(entry.comment, text[entry.comment.start : entry.comment.end], entry.whole))
    found.sort(key=lambda comment: comment.span.start)
    return tuple(found)


# docker run --env-file: a line is a name, `=`, and everything behind it.


def _read_docker(text: str) -> _Reading:
    reading = _Reading()
    position = 0
    while position < len(text):
        line_feed = text.find("\n", position)
        stop = len(text) if line_feed < 0 else line_feed
        end = stop - 1 if text[position:stop].endswith("\r") else stop
        start = end - len(text[position:end].lstrip())
        position = stop + 1
        if start >= end or text[start] == "#":
            continue
        equals = text.find("=", start, end)
        key = text[start : equals if equals >= 0 else end]
        if not key:
            reading.refuse("docker refuses the whole file: a `=` without a name before it", start, start + 1)
        elif " " in key or "\t" in key:
            hint = ": `export` is the shell's" if key.startswith("export") else ""
            stop = start + len(key.rstrip())
            reading.refuse(f"docker refuses the whole file: a blank in the name of a variable{hint}", start, stop)
        elif equals >= 0:
            reading.take(equals, text[equals + 1 : end], end)
    return reading


# Compose: quotes, escapes, variables and comments, in the way of dotenv.


def _read_compose(text: str) -> _Reading:
    reading = _Reading()
    position = 0
    while True:
        position = _next_statement(text, position)
        if position >= len(text):
            return reading
        start = position
        if text.startswith("export", start) and text[start + 6 : start + 7].isspace():
            position = start + 6
            while position < len(text) and text[position].isspace():
                position += 1
        key_start = position
        while position < len(text):
            character = text[position]
            if character in "=:\n":
                break
            if character not in _COMPOSE_BLANKS and character not in "_.-[]" and not character.isalnum():
                break
            position += 1
        if position >= len(text):
            return reading
        separator, character = position, text[position]
        line_end = _line_end(text, separator)
        key = text[key_start:separator].rstrip()
        if character not in "=:\n":
            message = f"Compose refuses the whole file: {_shown(character)} in the name of a variable"
            reading.refuse(message, separator, separator + 1)
            position = line_end
        elif " " in key:
            reading.refuse(
                "Compose refuses the whole file: a blank in the name of a variable", key_start, key_start + len(key)
            )
            position = line_end
        elif character != "\n":
            position = _compose_value(text, separator, reading)


def _next_statement(text: str, position: int) -> int:
    while position < len(text):
        if text[position].isspace():
            position += 1
        elif text[position] == "#":
            line_feed = text.find("\n", position)
            position = len(text) if line_feed < 0 else line_feed
        else:
            break
    return position


def _compose_value(text: str, separator: int, reading: _Reading) -> int:
    """Take the value behind a separator; gives where the reading goes on."""
    start = separator + 1
    while start < len(text) and text[start] in _COMPOSE_BLANKS:
        start += 1
    quote = text[start : start + 1]
    line_feed = text.find("\n", start)
    stop = len(text) if line_feed < 0 else line_feed
    if quote not in ("'", '"') or not quote:
        value = text[start:stop].partition(" #")[0].rstrip()
        end = _line_end(text, separator)
        if value.startswith("#") and start > separator + 1:
            reading.take(separator, None, end, "Compose's releases differ in a comment that follows the `=`")
        else:
            _take_expanded(reading, separator, value, end)
        return stop
    characters: list[str] = []
    position = start + 1
    while position < len(text) and text[position] != quote:
        if text[position] == "\\" and position + 1 < len(text):
            following = text[position + 1]
            characters.append(following if following == quote else "\\" + following)
            position += 2
            continue
        characters.append(text[position])
        position += 1
    if position >= len(text):
        message = "Compose refuses the whole file: a quote that is never closed"
        reading.refuse(message, start, _line_end(text, start), "unclosed-quote")
        return stop
    value = "".join(characters)
    end = _line_end(text, position)
    if quote == "'":
        reading.take(separator, value, end)
    else:
        _take_expanded(reading, separator, value, end, escapes=True)
    return position + 1


def _take_expanded(reading: _Reading, separator: int, value: str, end: int, escapes: bool = False) -> None:
    """Take a value in which `$NAME` stands for another variable, and `$$` for a dollar sign."""
    if escapes and "\\" in value:
        value = _compose_escapes(value)
    plain = value.replace("$$", "")
    if "$" in plain:
        reading.take(separator, None, end, "Compose puts the value of another variable in")
    else:
        reading.take(separator, value.replace("$$", "$"), end)


def _compose_escapes(value: str) -> str:
    simple = {
        "n": "\n",
        "r": "\r",
        "t": "\t",
        "a": "\a",
        "b": "\b",
        "f": "\f",
        "v": "\v",
        "\\": "\\",
        '"': '"',
        "$": "$$",
    }
    pieces = []
    position = 0
    while position < len(value):
        following = value[position + 1 : position + 2]
        if value[position] == "\\" and following in simple:
            pieces.append(simple[following])
            position += 2
            continue
        pieces.append(value[position])
        position += 1
    return "".join(pieces)


# systemd's EnvironmentFile: the states of its own reader.


def _read_systemd(text: str) -> _Reading:
    reading = _Reading()
    position = 0
    while position < len(text):
        character = text[position]
        if character in " \t\r\n":
            position += 1
        elif character in "#;":
            position = _line_end(text, position)
        else:
            end = _line_end(text, position)
            equals = text.find("=", position, end)
            if equals < 0:
                position = end
                continue
            key = text[position:equals].rstrip(" \t")
            value, stop, quote = _systemd_value(text, equals + 1)
            if quote is not None:
                message = "a quote that is never closed: systemd reads on to the end of the file"
                reading.refuse(message, quote, _line_end(text, quote), "unclosed-quote")
            if key and all(letter in _NAME for letter in key) and not key[0].isdigit():
                reading.take(equals, value, stop)
            else:
                message = f"systemd ignores this line: {_shown(key)} is no name of a variable"
                reading.refuse(message, position, position + max(1, len(key)))
            position = stop
    return reading


def _systemd_value(text: str, position: int) -> tuple[str, int, int | None]:
    """The value that begins here, where its last line ends, and the place of a quote that is never closed."""
    value: list[str] = []
    # How much of the value stays when the blanks at its end go; a quote protects what it holds.
    kept = 0
    in_value = False
    while position < len(text):
        character = text[position]
        if character in "\r\n":
            break
        if character == "\\":
            following = text[position + 1 : position + 2]
            in_value = True
            if following and following not in "\r\n":
                value.append(following)
            kept = len(value)
            position += 3 if text.startswith("\r\n", position + 1) else 2
            continue
        if character in "'\"" and not in_value:
            quote = position
            position, closed = _systemd_quoted(text, position, value)
            kept = len(value)
            if not closed:
                return "".join(value), len(text), quote
            continue
        if in_value or character not in " \t":
            in_value = True
            value.append(character)
            if character not in " \t":
                kept = len(value)
        position += 1
    return "".join(value[:kept] if in_value else value), min(position, len(text)), None


def _systemd_quoted(text: str, position: int, value: list[str]) -> tuple[int, bool]:
    """Add what a quote holds to the value; gives the place behind it, and whether it was closed."""
    quote = text[position]
    position += 1
    while position < len(text):
        character = text[position]
        if character == quote:
            return position + 1, True
        if character == "\\" and quote == '"':
            following = text[position + 1 : position + 2]
            if following and following in '"\\`$':
                value.append(following)
            elif following and following != "\n":
                value.append("\\" + following)
            position += 2
            continue
        value.append(character)
        position += 1
    return position, False


# A shell that sources the file: assignments, as far as they can be read without running anything.


def _read_shell(text: str) -> _Reading:
    reading = _Reading()
    position = 0
    while position < len(text):
        character = text[position]
        if character in " \t\r\n;":
            position += 1
            continue
        if character == "#":
            position = _line_end(text, position)
            continue
        position = _shell_statement(text, position, reading)
    return reading


def _shell_statement(text: str, start: int, reading: _Reading) -> int:
    """One simple command: assignments, or something that the shell would run. Gives the place behind it."""
    position = start
    exported = text.startswith("export", start) and text[start + 6 : start + 7] in (" ", "\t")
    if exported:
        position = _behind_blanks(text, start + 6, len(text))
    taken: list[tuple[int, str | None, int]] = []
    while position < len(text) and text[position] not in "\r\n;&|#":
        word = position
        while position < len(text) and text[position] in _NAME:
            position += 1
        is_name = position > word and not text[word].isdigit()
        if not is_name or text[position : position + 1] != "=":
            if exported and is_name and text[position : position + 1] in ("", " ", "\t", "\r", "\n", ";", "#"):
                position = _behind_blanks(text, position, len(text))
                continue
            return _shell_command(text, word, reading, taken)
        equals = position
        value, position, quote = _shell_word(text, equals + 1)
        if quote is not None:
            reading.refuse("a quote that is never closed", quote, _line_end(text, quote), "unclosed-quote")
        taken.append((equals, value, position))
        position = _behind_blanks(text, position, len(text))
    for equals, value, end in taken:
        reason = "the shell works the value out when it runs" if value is None else None
        reading.take(equals, value, _line_end(text, end), reason)
    return max(position, start + 1) if text[position : position + 1] not in ("&", "|") else _line_end(text, position)


def _shell_command(text: str, word: int, reading: _Reading, taken: list[tuple[int, str | None, int]]) -> int:
    """Something that the shell runs. It may do so in a file that is sourced; beside an assignment it is a mistake."""
    end = _line_end(text, word)
    stop = word
    while stop < end and text[stop] not in " \t":
        stop += 1
    name = _shown(text[word:stop])
    if taken:
        reading.refuse(f"the shell runs {name} here, and sets the variable for that alone", word, max(stop, word + 1))
    elif text[_behind_blanks(text, stop, end) : end].startswith("="):
        reading.refuse(f"the shell runs {name} here: no blanks may stand around the `=`", word, max(stop, word + 1))
    return max(end, word + 1)


def _shell_word(text: str, position: int) -> tuple[str | None, int, int | None]:
    """The word that begins here (None where it must be run to be known), its end, and a quote that is never closed."""
    value: list[str] = []
    known = text[position : position + 1] != "~"
    while position < len(text):
        character = text[position]
        if character in " \t\r\n;&|<>()":
            break
        if character in "$`":
            known = False
        if character == "\\":
            following = text[position + 1 : position + 2]
            value.append("" if following == "\n" else following)
            position += 2
            continue
        if character == "'":
            close = text.find("'", position + 1)
            if close < 0:
                return None, len(text), position
            value.append(text[position + 1 : close])
            position = close + 1
            continue
        if character == '"':
            start = position
            position += 1
            while position < len(text) and text[position] != '"':
                following = text[position + 1 : position + 2]
                if text[position] in "$`":
                    known = False
                if text[position] == "\\" and following and following in '"\\$`\n':
                    value.append("" if following == "\n" else following)
                    position += 2
                    continue
                value.append(text[position])
                position += 1
            if position >= len(text):
                return None, len(text), start
            position += 1
            continue
        value.append(character)
        position += 1
    return "".join(value) if known else None, position, None


_READERS: dict[str, Callable[[str], _Reading]] = {
    "docker": _read_docker,
    "compose": _read_compose,
    "systemd": _read_systemd,
    "shell": _read_shell,
}


# Changes. Each gives edits, or the reason why it makes none.


def written_value(value: str, dialect: str, quote: str = "") -> str | None:
    """A value as it is written for a dialect, in these quotes where it can be; None where it cannot be written."""
    if "\n" in value or "\r" in value or "\0" in value:
        return None
    if dialect == "docker":
        return value
    if all(character in _SAFE for character in value):
        return f"{quote}{value}{quote}" if quote in ("'", '"') else value
    if dialect not in DIALECTS:
        return None
    if "'" not in value:
        return f"'{value}'"
    return None if any(character in '"\\$`' for character in value) else f'"{value}"'


def replace_value(file: EnvFile, entry: EnvEntry, value: str) -> tuple[Edit, ...] | str:
    """Put a value in the place of an entry's, in its quotes; the comment behind it stays."""
    if not entry.is_set:
        return "the line gives the variable no value"
    if entry.comment is not None and file.dialect not in ("compose", "shell"):
        return "the comment behind the value would be part of it, and has to be moved first"
    text = written_value(value, file.dialect, entry.quote)
    if text is None:
        return "the value cannot be written so that every program reads it alike"
    if file.dialect == "docker":
        return (Edit(entry.whole.end - len(entry.raw), entry.whole.end, text),)
    return (Edit(entry.span.start, entry.span.end, text),)


def move_comment(file: EnvFile, entry: EnvEntry, newline: str = "\n") -> tuple[Edit, ...] | str:
    """Move the comment behind a value to a line of its own directly above, with the line's indentation.

    Its text from `#` on stays as it is; the blanks before it go.
    """
    if entry.comment is None:
        return "no comment stands behind the value"
    text, start = file.text, entry.whole.start
    indent = text[start : _behind_blanks(text, start, entry.whole.end)]
    blanks = entry.comment.start
    while text[blanks - 1] in " \t":
        blanks -= 1
    words = text[entry.comment.start : entry.comment.end]
    newline = _line_break_behind(text, entry.whole.end) or newline
    return (Edit(start, start, f"{indent}{words}{newline}"), Edit(blanks, entry.comment.end, ""))


def remove_quotes(file: EnvFile, entry: EnvEntry) -> tuple[Edit, ...] | str:
    """Take away the quotes around a value, where it then means the same to every program that may read it."""
    if not entry.quote:
        return "the value stands in no quotes"
    inner = file.text[entry.span.start + 1 : entry.span.end - 1]
    if "\n" in inner or "\r" in inner or "\\" in inner:
        return "the value needs its quotes: it holds escapes or several lines"
    if file.dialect != "docker" and not all(character in _SAFE for character in inner):
        return "without its quotes the value would mean something else to some programs"
    start, end = entry.span.start, entry.span.end
    return (Edit(start, start + 1, ""), Edit(end - 1, end, ""))


def append_line(file: EnvFile, name: str, value: str, newline: str = "\n") -> tuple[Edit, ...] | str:
    """Set a further variable on a line of its own behind the last one; a missing final newline stays missing."""
    last = file.entries[-1] if file.entries else None
    text = written_value(value, file.dialect, last.quote if last and file.dialect in DIALECTS else "")
    if text is None:
        return "the value cannot be written so that every program reads it alike"
    line = f"{'export ' if last and last.exported else ''}{name}={text}"
    if last is not None:
        before = file.text[last.whole.start : _behind_blanks(file.text, last.whole.start, last.whole.end)]
        break_before = _line_break_behind(file.text, last.whole.end) or newline
        return (Edit(last.whole.end, last.whole.end, f"{break_before}{before}{line}"),)
    end = len(file.text.rstrip(" \t\r\n"))
    if end == 0:
        return (Edit(0, 0, line + newline),)
    end = _line_end(file.text, end)
    return (Edit(end, end, (_line_break_behind(file.text, end) or newline) + line),)


def _line_end(text: str, start: int) -> int:
    """Where the line ends, its line break (LF or CRLF) not counted."""
    line_feed = text.find("\n", start)
    if line_feed < 0:
        return len(text)
    return line_feed - 1 if line_feed > start and text[line_feed - 1] == "\r" else line_feed


def _behind_line_break(text: str, end: int) -> int:
    if text.startswith("\r\n", end):
        return end + 2
    return end + 1


def _line_break_behind(text: str, end: int) -> str:
    return "\r\n" if text.startswith("\r\n", end) else ("\n" if text.startswith("\n", end) else "")


def _behind_blanks(text: str, start: int, end: int) -> int:
    while start < end and text[start] in " \t":
        start += 1
    return start


def _shown(text: str) -> str:
    """A text in a message: short, on one line."""
    if len(text) > 40:
        text = text[:39] + "…"
    return (
        "`" + "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text) + "`"
    )
