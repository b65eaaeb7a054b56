"""Dockerfiles, as BuildKit's parser reads them, with the place of every character.

Follows moby/buildkit `frontend/dockerfile/parser` (lines, continuations, here-documents), `shell/lex.go` (variables)
and `instructions/parse.go` (stages). Nothing is built: what a build argument or the base image supplies is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from servelint.formats.filling import UNKNOWN, Filled, Filling
from servelint.formats.json import embedded as json_text
from servelint.formats.json import read_json
from servelint.formats.problem import Comment, Problem
from servelint.formats.shell_words import Word
from servelint.records import field, record
from servelint.text import Embedded, Span

_INSTRUCTIONS = frozenset(
    {
        "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER",
        "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
    }
)  # fmt: skip
_WITH_HEREDOCS = frozenset({"ADD", "COPY", "RUN"})
_BLANKS = " \t\r"
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME = _FIRST | frozenset("0123456789")
_DEEPEST = 16
_PROBLEM_LIMIT = 50


@record
class Heredoc:
    """A here-document: its delimiter, whether that is quoted, and its body with its place in the file."""

    delimiter: str
    quoted: bool
    body: Embedded


@record
class Instruction:
    """One instruction: `value` is what stands behind its name, continuations joined, mapped to the file."""

    name: str
    name_span: Span
    span: Span
    value: Embedded
    heredocs: tuple[Heredoc, ...] = ()


@record
class Variable:
    """A variable of a stage: its value (None: not known), and where it is written."""

    name: str
    value: str | None
    span: Span
    whole: Span


@record
class CommandLine:
    """An ENTRYPOINT or a CMD: the words of its exec form, or the text for a shell in `script`."""

    instruction: Instruction
    words: tuple[Word, ...] | None = None
    script: Embedded | None = None


@record
class Stage:
    """A stage: its image as written and filled in, the stage that it builds on, and what holds at its end.

    `inherited` says that the entry point, or the command, is the base stage's own.
    """

    name: str | None
    instruction: Instruction
    image: Filled
    base: int | None = None
    entry_point: CommandLine | None = None
    command: CommandLine | None = None
    environment: Mapping[str, Variable] = field(default_factory=dict)
    files: tuple[tuple[str, Heredoc], ...] = ()
    inherited: tuple[str, ...] = ()


@record
class Dockerfile:
    """A text as a Dockerfile."""

    text: str
    instructions: tuple[Instruction, ...] = ()
    stages: tuple[Stage, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: tuple[Comment, ...] = ()


def read_dockerfile(text: str) -> Dockerfile:
    """Read any text as a Dockerfile. Never raises; linear in its size."""
    reader = _Reader(text)
    reader.read()
    stages = _Stages(reader)
    stages.read()
    comments = _bound(text, reader.comments, reader.instructions)
    return Dockerfile(text, tuple(reader.instructions), tuple(stages.stages), tuple(reader.problems), comments)


def _bound(text: str, comments: Sequence[Span], instructions: Sequence[Instruction]) -> tuple[Comment, ...]:
    """Each remark with the instruction that it stands in or above."""
    bound = []
    index = 0
    for span in comments:
        while index < len(instructions) and instructions[index].span.end <= span.start:
            index += 1
        target = instructions[index].span if index < len(instructions) else span
        bound.append(Comment(span, text[span.start : span.end], target))
    return tuple(bound)


class _Reader:
    """Cuts a text into instructions."""

    __slots__ = ("comments", "escape", "instructions", "position", "problems", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.escape = "\\"
        self.instructions: list[Instruction] = []
        self.comments: list[Span] = []
        self.problems: list[Problem] = []

    def refuse(self, message: str, span: Span, sort: str = "syntax") -> None:
        if len(self.problems) < _PROBLEM_LIMIT:
            self.problems.append(Problem(message, span, sort))

    def read(self) -> None:
        self.directives()
        while self.position < len(self.text):
            self.instruction()

    def line(self) -> tuple[int, int, int]:
        """The next line: its start, its end without the line break, and where the following one begins."""
        start = self.position
        end = self.text.find("\n", start)
        if end < 0:
            return start, len(self.text), len(self.text)
        stop = end - 1 if end > start and self.text[end - 1] == "\r" else end
        return start, stop, end + 1

    def is_comment(self, start: int, end: int) -> bool:
        while start < end and self.text[start] in _BLANKS:
            start += 1
        return start < end and self.text[start] == "#"

    def is_blank(self, start: int, end: int) -> bool:
        return not self.text[start:end].strip(_BLANKS)

    def comment(self, start: int, end: int) -> None:
        place = self.text.index("#", start, end)
        self.comments.append(Span(place, place + len(self.text[place:end].rstrip(_BLANKS))))

    def directives(self) -> None:
        """`# escape=` and its like, which only count at the very top."""
        while self.position < len(self.text):
            start, end, following = self.line()
            if not self.is_comment(start, end):
                return
            name, equals, value = self.text[start:end].strip(_BLANKS).lstrip("#").partition("=")
            if not equals or name.strip(_BLANKS).lower() not in ("escape", "syntax", "check"):
                return
            if name.strip(_BLANKS).lower() == "escape" and value.strip(_BLANKS) in ("\\", "`"):
                self.escape = value.strip(_BLANKS)
            self.comment(start, end)
            self.position = following

    def instruction(self) -> None:
        start, end, following = self.line()
        self.position = following
        if self.is_blank(start, end):
            return
        if self.is_comment(start, end):
            self.comment(start, end)
            return
        pieces, last = self.continued(start, end)
        text = "".join(self.text[one:other] for one, other in pieces)
        offsets = [place for one, other in pieces for place in range(one, other)]
        offsets.append(last)
        lead = len(text) - len(text.lstrip(_BLANKS))
        stop = len(text.rstrip(_BLANKS))
        name_end = lead
        while name_end < stop and text[name_end] not in _BLANKS:
            name_end += 1
        name = text[lead:name_end].upper()
        name_span = Span(offsets[lead], offsets[name_end - 1] + 1)
        value_start = name_end
        while value_start < stop and text[value_start] in _BLANKS:
            value_start += 1
        value_end = offsets[stop - 1] + 1
        value = Embedded(text[value_start:stop], [*offsets[value_start:stop], value_end], _encode)
        if name not in _INSTRUCTIONS:
            self.refuse(f"there is no instruction {name[:30]}", name_span)
        heredocs = self.heredocs(value.text) if name in _WITH_HEREDOCS else ()
        span_end = heredocs[-1].body.offsets[-1] if heredocs else value_end
        self.instructions.append(
            Instruction(name, name_span, Span(offsets[lead], max(span_end, value_end)), value, heredocs)
        )

    def continued(self, start: int, end: int) -> tuple[list[tuple[int, int]], int]:
        """The pieces of a logical line: remarks and blank lines between its lines are passed over."""
        pieces: list[tuple[int, int]] = []
        while True:
            stop = end
            while stop > start and self.text[stop - 1] in _BLANKS:
                stop -= 1
            if stop == start or self.text[stop - 1] != self.escape:
                pieces.append((start, end))
                return pieces, end
            pieces.append((start, stop - 1))
            while True:
                if self.position >= len(self.text):
                    return pieces, stop - 1
                start, end, self.position = self.line()
                if self.is_comment(start, end):
                    self.comment(start, end)
                elif not self.is_blank(start, end):
                    break

    def heredocs(self, text: str) -> tuple[Heredoc, ...]:
        """The here-documents that an instruction opens; their lines follow it."""
        found = []
        for delimiter, quoted, strips in _opened(text):
            pieces: list[tuple[int, int]] = []
            closed = False
            body_start = self.position
            while self.position < len(self.text):
                start, end, following = self.line()
                line_start = start
                while strips and start < end and self.text[start] == "\t":
                    start += 1
                self.position = following
                if self.text[start:end] == delimiter:
                    closed = True
                    body_end = line_start
                    break
                pieces.append((start, following))
                body_end = following
            if not closed:
                body_end = len(self.text)
                self.refuse(f"the here-document {delimiter} is never closed", Span(body_start, body_start))
            body = "".join(self.text[one:other] for one, other in pieces)
            offsets = [place for one, other in pieces for place in range(one, other)]
            encode = None if strips else _heredoc_encoder(delimiter)
            refusal = "its lines are indented by tabs that are dropped" if strips else None
            found.append(Heredoc(delimiter, quoted, Embedded(body, [*offsets, body_end], encode, refusal)))
        return tuple(found)


def _encode(text: str) -> str | None:
    return None if "\n" in text or "\0" in text else text


def _heredoc_encoder(delimiter: str) -> Callable[[str], str | None]:
    def encode(text: str) -> str | None:
        return None if delimiter in text.split("\n") or "\0" in text else text

    return encode


def _opened(text: str) -> list[tuple[str, bool, bool]]:
    """The delimiters of the here-documents in an instruction, whether each is quoted, and whether it strips tabs."""
    found = []
    position = text.find("<<")
    while position >= 0:
        start = position + 2
        if text[start : start + 1] == "<" or (position and text[position - 1] == "<"):
            position = text.find("<<", start + 1)
            continue
        strips = text[start : start + 1] == "-"
        start += strips
        quote = text[start : start + 1] if text[start : start + 1] in "'\"" else ""
        start += len(quote)
        end = start
        while end < len(text) and (text[end] in _NAME or text[end] in "-."):
            end += 1
        if end > start and (not quote or text[end : end + 1] == quote):
            found.append((text[start:end], bool(quote), strips))
        position = text.find("<<", max(end, start))
    return found


class _Stages:
    """Follows the instructions: what holds at the end of each stage."""

    __slots__ = ("arguments", "environment", "in_stage", "reader", "scope", "stages")

    def __init__(self, reader: _Reader) -> None:
        self.reader = reader
        self.stages: list[Stage] = []
        # What ARG gives before the first FROM, and what a stage knows.
        self.arguments: dict[str, str | None] = {}
        self.scope: dict[str, str | None] = {}
        self.in_stage = False
        self.environment: dict[str, Variable] = {}

    def read(self) -> None:
        files: list[tuple[str, Heredoc]] = []
        entry: CommandLine | None = None
        command: CommandLine | None = None
        inherited: set[str] = set()
        start: tuple[Instruction, str | None, Filled, int | None] | None = None

        def close() -> None:
            if start is not None:
                instruction, name, image, base = start
                self.stages.append(
                    Stage(name, instruction, image, base, entry, command, dict(self.environment), tuple(files),
                          tuple(sorted(inherited)))
                )  # fmt: skip

        for instruction in self.reader.instructions:
            name = instruction.name
            if name == "FROM":
                close()
                self.in_stage = True
                start = self._from(instruction)
                base = self.stages[start[3]] if start[3] is not None else None
                entry = base.entry_point if base is not None else None
                command = base.command if base is not None else None
                inherited = {"ENTRYPOINT", "CMD"} if base is not None else set()
                self.environment = dict(base.environment) if base is not None else {}
                self.scope = {key: variable.value for key, variable in self.environment.items()}
                files = list(base.files) if base is not None else []
            elif name == "ARG":
                self._argument(instruction, start is None)
            elif start is None:
                if name in _INSTRUCTIONS:
                    self.reader.refuse(f"{name} stands before the first FROM", instruction.name_span)
            elif name == "ENV":
                self._environment(instruction)
            elif name == "ENTRYPOINT":
                entry = _command_line(instruction)
                inherited.discard("ENTRYPOINT")
                # The command of the base goes with its entry point.
                command = None if "CMD" in inherited else command
                inherited.discard("CMD")
            elif name == "CMD":
                command = _command_line(instruction)
                inherited.discard("CMD")
            elif name in ("COPY", "ADD") and instruction.heredocs:
                words = instruction.value.text.split()
                files += [(words[-1], heredoc) for heredoc in instruction.heredocs]
        close()

    def _from(self, instruction: Instruction) -> tuple[Instruction, str | None, Filled, int | None]:
        value = instruction.value
        words = _split(value.text)
        while words and value.text.startswith("--", words[0].start):
            words = words[1:]
        if not words:
            self.reader.refuse("FROM names no image", instruction.span)
            return instruction, None, Filled(Embedded("", [instruction.span.end])), None
        place = words[0]
        image = fill(_slice(value, place.start, place.end), self.arguments, self.reader.escape)
        name = None
        if len(words) >= 3 and value.text[words[1].start : words[1].end].upper() == "AS":
            name = value.text[words[2].start : words[2].end].lower()
        named = image.inner.text.lower()
        base = next((index for index, stage in enumerate(self.stages) if stage.name == named and named), None)
        return instruction, name, image, base

    def _argument(self, instruction: Instruction, is_global: bool) -> None:
        for name, value in self._pairs(instruction):
            # A build may set it to something else, but what stands here is what it is otherwise.
            default = self.arguments.get(name) if value is None and not is_global else None
            filled = default if value is None else self._filled(value)
            (self.arguments if is_global else self.scope)[name] = filled

    def _filled(self, value: Embedded) -> str | None:
        made = fill(value, self.scope if self.in_stage else self.arguments, self.reader.escape, True)
        return None if made.names else made.inner.text

    def _pairs(self, instruction: Instruction) -> list[tuple[str, Embedded | None]]:
        """`NAME=value` or `NAME`, several."""
        value = instruction.value
        found: list[tuple[str, Embedded | None]] = []
        for place in _split(value.text):
            word = value.text[place.start : place.end]
            name, equals, _ = word.partition("=")
            start = place.start + len(name) + 1
            found.append((name, _slice(value, start, place.end) if equals else None))
        return found

    def _environment(self, instruction: Instruction) -> None:
        value = instruction.value
        places = _split(value.text)
        if places and "=" not in value.text[places[0].start : places[0].end]:
            # The old form: one name, and all that follows is its value.
            name = value.text[places[0].start : places[0].end]
            start = places[1].start if len(places) > 1 else len(value.text)
            self._set(instruction, name, _slice(value, start, len(value.text)), Span(0, len(value.text)))
            return
        for place in places:
            name, equals, _ = value.text[place.start : place.end].partition("=")
            if equals:
                inner = _slice(value, place.start + len(name) + 1, place.end)
                self._set(instruction, name, inner, place)

    def _set(self, instruction: Instruction, name: str, inner: Embedded, place: Span) -> None:
        text = self._filled(inner)
        whole = instruction.value.host_span(place)
        span = inner.host_span(Span(0, len(inner.text))) if inner.text else whole
        self.environment[name] = Variable(name, text, span, whole)
        self.scope[name] = text


def _slice(value: Embedded, start: int, end: int) -> Embedded:
    """A part of a logical text."""
    if end <= start:
        return Embedded("", [value.offsets[min(start, len(value.text))]], value.encode)
    return Embedded(value.text[start:end], [*value.offsets[start:end], value.offsets[end - 1] + 1], value.encode)


def _split(text: str) -> list[Span]:
    """The words of a text, quotes and escaped blanks held together."""
    found = []
    position = 0
    while position < len(text):
        if text[position] in _BLANKS:
            position += 1
            continue
        start, quote = position, ""
        while position < len(text) and (quote or text[position] not in _BLANKS):
            character = text[position]
            if character == "\\" and quote != "'":
                position += 1
            elif quote and character == quote:
                quote = ""
            elif not quote and character in "'\"":
                quote = character
            position += 1
        found.append(Span(start, min(position, len(text))))
        position = min(position, len(text))
    return found


def _command_line(instruction: Instruction) -> CommandLine:
    """The exec form where the value is a JSON list of strings, the shell form otherwise."""
    value = instruction.value
    if value.text.startswith("["):
        document = read_json(value.text)
        root = document.root
        plain = root is not None and root.kind == "array" and not document.problems
        if plain and root is not None and all(item.kind == "string" for item in root.items):
            words = []
            for item in root.items:
                inner = json_text(item).within(value)
                span = value.host_span(item.span)
                words.append(Word(inner.text, span, span, prefix=inner.text, quote='"', inner=inner))
            return CommandLine(instruction, tuple(words))
    return CommandLine(instruction, script=value)


def fill(source: Embedded, values: Mapping[str, str | None], escape: str = "\\", unquotes: bool = False) -> Filled:
    """Docker's own expansion: `$NAME`, `${NAME}`, `${NAME:-word}`, `${NAME:+word}`; an escape takes a `$` its meaning.

    With `unquotes` quotes and escapes are taken off as well, and nothing is filled in within single quotes. A name that
    is not in `values`, or has no value there, is unknown.
    """
    filling = Filling(source)
    _fill(filling, values, escape, unquotes, 0, len(source.text), 0)
    return filling.result()


def _fill(
    filling: Filling, values: Mapping[str, str | None], escape: str, unquotes: bool, start: int, end: int, depth: int
) -> None:
    text = filling.source.text
    position, quote = start, ""
    while position < end:
        character = text[position]
        following = text[position + 1 : position + 2]
        if character == escape and quote != "'" and position + 1 < end and (unquotes or following == "$"):
            keeps = quote == '"' and following not in ('"', "$", escape)
            filling.keep(position if keeps else position + 1, position + 2)
            position += 2
        elif unquotes and quote and character == quote:
            quote = ""
            position += 1
        elif unquotes and not quote and character in "'\"":
            quote = character
            position += 1
        elif character == "$" and quote != "'" and (following in _FIRST or following == "{") and following:
            position = _variable(filling, values, escape, position, end, depth)
        else:
            filling.keep(position, position + 1)
            position += 1


def _variable(
    filling: Filling, values: Mapping[str, str | None], escape: str, dollar: int, end: int, depth: int
) -> int:
    """Fill one variable in; gives where it ends."""
    text = filling.source.text
    if text[dollar + 1] != "{":
        stop = dollar + 1
        while stop < end and text[stop] in _NAME:
            stop += 1
        _put(filling, values, text[dollar + 1 : stop], dollar)
        return stop
    close = _closing(text, dollar + 1, end)
    if close is None:
        filling.unknown(text[dollar:end], dollar)
        return end
    stop = dollar + 2
    while stop < close and text[stop] in _NAME:
        stop += 1
    name, rest = text[dollar + 2 : stop], text[stop:close]
    value = values.get(name)
    operator = rest[:2] if rest[:1] == ":" else rest[:1]
    if not rest:
        _put(filling, values, name, dollar)
    elif operator in (":-", "-", ":+", "+") and name in values and value is not None and depth < _DEEPEST:
        present = value != "" or not operator.startswith(":")
        if operator.endswith("+"):
            if present:
                _fill(filling, values, escape, False, stop + len(operator), close, depth + 1)
        elif present:
            filling.put(value, dollar)
        else:
            _fill(filling, values, escape, False, stop + len(operator), close, depth + 1)
    else:
        default = rest[len(operator) :] if operator in (":-", "-") and "$" not in rest else None
        filling.unknown(name, dollar, default)
    return close + 1


def _put(filling: Filling, values: Mapping[str, str | None], name: str, place: int) -> None:
    value = values.get(name)
    if value is None:
        filling.unknown(name, place)
    else:
        filling.put(value, place)


def _closing(text: str, opening: int, end: int) -> int | None:
    depth = 0
    for position in range(opening, end):
        if text[position] == "{":
            depth += 1
        elif text[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return None


def known_beginning(image: Filled) -> str:
    """What is known of an image before the first variable without a value."""
    return image.inner.text.partition(UNKNOWN)[0]
