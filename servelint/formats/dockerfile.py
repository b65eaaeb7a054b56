"""Dockerfiles, as BuildKit's parser reads them, with the place of every character.

Follows moby/buildkit `frontend/dockerfile/parser` (lines, continuations, flags, here-documents), `shell/lex.go`
(variables), `instructions/parse.go` (stages) and `dockerfile2llb/convert.go` (what a stage hands on). Nothing is
built: what a build argument without a default or the base image supplies is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from servelint.formats.filling import UNKNOWN, Filled, Filling
from servelint.formats.json import embedded as json_text
from servelint.formats.json import read_json
from servelint.formats.problem import Comment, Problem
from servelint.formats.shell_words import Word
from servelint.records import field, record, replace
from servelint.text import Embedded, Span, verbatim
from servelint.text.distance import edit_distance

_INSTRUCTIONS = frozenset(
    {
        "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "MAINTAINER",
        "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
    }
)  # fmt: skip
_WITH_HEREDOCS = frozenset({"ADD", "COPY", "RUN"})
_WITH_FLAGS = frozenset({"ADD", "COPY", "FROM", "HEALTHCHECK", "RUN"})
# Go's unicode.IsSpace but for the line feed, which ends a line before anything else is looked at.
_SPACES = (
    " \t\v\f\r\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
# The parser's own reWhitespace, which cuts names and fields.
_BLANKS = " \t\v\f\r"
_SPECIAL_NAMES = frozenset("@*#?-$!0")
_STAGE_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_DEEPEST = 40
_PROBLEM_LIMIT = 50
_CLOSED_WORDS = frozenset("'\"$")


@record
class Heredoc:
    """A here-document: its delimiter, whether that is quoted, and its body with its place in the file.

    `terminator` is where the delimiter closes it, None where nothing does.
    """

    delimiter: str
    quoted: bool
    body: Embedded
    terminator: Span | None = None


@record
class Flag:
    """A flag before an instruction's arguments, `--name=value` or `--name`, quotes taken off."""

    name: str
    value: str | None
    span: Span


@record
class Instruction:
    """One instruction: `value` is what stands behind its name, continuations joined, mapped to the file.

    `arguments` is the value without the `flags` at its beginning; `span` includes the here-documents.
    """

    name: str
    name_span: Span
    span: Span
    value: Embedded
    arguments: Embedded
    flags: tuple[Flag, ...] = ()
    heredocs: tuple[Heredoc, ...] = ()

    def flag(self, name: str) -> Flag | None:
        """The first flag of that name."""
        return next((flag for flag in self.flags if flag.name == name), None)


@record
class Variable:
    """A variable of a stage: its value (None: not known, and `reason` says why), and where it is written.

    `prefix` is what is known of its beginning. `is_default` says that the default of a build argument is in the value,
    which a build may replace.
    """

    name: str
    value: str | None
    span: Span
    whole: Span
    reason: str | None = None
    prefix: str = ""
    is_default: bool = False


@record
class CommandLine:
    """An ENTRYPOINT, a CMD or a RUN: the words of its exec form, or the text for a shell in `script`.

    No words at all (`ENTRYPOINT []`) clear what the base has. The script of a RUN holds its here-documents, as the
    shell gets them; where there is but one and nothing else, its body is the script (with a `#!` it runs by itself).
    `shell` is what the last SHELL before it says, None where none does.
    """

    instruction: Instruction
    words: tuple[Word, ...] | None = None
    script: Embedded | None = None
    shell: tuple[Word, ...] | None = None


@record
class Stage:
    """A stage: its image as written and filled in, the stage that it builds on, and what holds at its end.

    `inherited` says that the entry point, or the command, is the base stage's own. `reason` says why the image is not
    known, `is_default` that it holds the default of a build argument. `files` are the here-documents that are copied,
    by the path they are copied to, the base stage's too; `runs` are the stage's own.
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
    runs: tuple[CommandLine, ...] = ()
    shell: tuple[Word, ...] | None = None
    name_span: Span | None = None
    reason: str | None = None
    is_default: bool = False


@record
class Dockerfile:
    """A text as a Dockerfile: `problems` stop the build, `warnings` do not. `directives` are those at its top."""

    text: str
    instructions: tuple[Instruction, ...] = ()
    stages: tuple[Stage, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: tuple[Comment, ...] = ()
    warnings: tuple[Problem, ...] = ()
    directives: Mapping[str, str] = field(default_factory=dict)


def read_dockerfile(text: str, arguments: Mapping[str, str] | None = None) -> Dockerfile:
    """Read any text as a Dockerfile, with the build arguments that are given. Never raises; linear in its size."""
    reader = _Reader(text)
    reader.read()
    stages = _Stages(reader, arguments or {})
    stages.read()
    comments = _bound(text, reader.comments, reader.instructions)
    return Dockerfile(
        text, tuple(reader.instructions), tuple(stages.stages),
        tuple(sorted(reader.problems, key=lambda problem: problem.span)), comments, tuple(reader.warnings),
        reader.directives,
    )  # fmt: skip


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

    __slots__ = ("comments", "directives", "escape", "instructions", "position", "problems", "text", "warnings")

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.escape = "\\"
        self.instructions: list[Instruction] = []
        self.comments: list[Span] = []
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.directives: dict[str, str] = {}

    def refuse(self, message: str, span: Span, sort: str = "syntax") -> None:
        if len(self.problems) < _PROBLEM_LIMIT:
            self.problems.append(Problem(message, span, sort))

    def read(self) -> None:
        self.read_directives()
        while self.position < len(self.text):
            self.instruction()
        if not self.instructions and not self.problems:
            self.refuse("the file has no instructions", Span(0, 0))

    def line(self) -> tuple[int, int, int]:
        """The next line: its start, its end without the line break, and where the following one begins."""
        start = self.position
        end = self.text.find("\n", start)
        following = end + 1 if end >= 0 else len(self.text)
        stop = end if end >= 0 else len(self.text)
        while stop > start and self.text[stop - 1] == "\r":
            stop -= 1
        return start, stop, following

    def first(self, start: int, end: int) -> int:
        """Where the first character of a line stands that is no space."""
        while start < end and self.text[start] in _SPACES:
            start += 1
        return start

    def is_comment(self, start: int, end: int) -> bool:
        start = self.first(start, end)
        return start < end and self.text[start] == "#"

    def comment(self, start: int, end: int) -> None:
        place = self.text.index("#", start, end)
        self.comments.append(Span(place, place + len(self.text[place:end].rstrip(_SPACES))))

    def read_directives(self) -> None:
        """`# escape=` and its like, which only count at the very top."""
        while self.position < len(self.text):
            start, end, following = self.line()
            if not self.is_comment(start, end):
                return
            start = self.first(start, end)
            name, equals, value = self.text[start + 1 : end].partition("=")
            name, value = name.strip(_SPACES).lower(), value.strip(_SPACES)
            if not equals or not value or name not in ("escape", "syntax", "check"):
                return
            span = Span(start, start + len(self.text[start:end].rstrip(_SPACES)))
            if name in self.directives:
                self.refuse(f"the directive {name} stands here twice", span)
            elif name == "escape" and value not in ("\\", "`"):
                self.refuse("the escape character can only be \\ or `", span)
            elif name == "escape":
                self.escape = value
            self.directives.setdefault(name, value)
            self.comment(start, end)
            self.position = following

    def instruction(self) -> None:
        start, end, following = self.line()
        self.position = following
        start = self.first(start, end)
        if start == end:
            return
        if self.text[start] == "#":
            self.comment(start, end)
            return
        text, offsets, gap = self.continued(start, end)
        lead = len(text) - len(text.lstrip(_SPACES))
        stop = len(text.rstrip(_SPACES))
        if lead >= stop:
            self.refuse("a line is continued, and nothing follows", Span(start, start + 1))
            return
        name_end = lead
        while name_end < stop and text[name_end] not in _BLANKS:
            name_end += 1
        name = text[lead:name_end].upper()
        name_span = Span(offsets[lead], offsets[name_end - 1] + 1)
        value_start = name_end
        while value_start < stop and text[value_start] in _SPACES:
            value_start += 1
        value = _slice(Embedded(text, offsets, _encode), value_start, stop)
        if gap is not None:
            self.warnings.append(Problem("an empty line inside an instruction", gap, "warning"))
        flags, rest = _flags(value)
        arguments = _slice(value, rest, len(value.text))
        self.check_name(name, name_span, arguments, flags)
        heredocs = self.heredocs(text[lead:stop]) if _takes_heredocs(name, arguments) else ()
        span_end = offsets[stop - 1] + 1
        if heredocs:
            last = heredocs[-1]
            body_end = len(self.text.rstrip("\r\n")) if last.terminator is None else last.terminator.end
            span_end = max(span_end, body_end)
        span = Span(offsets[lead], span_end)
        self.instructions.append(Instruction(name, name_span, span, value, arguments, flags, heredocs))

    def check_name(self, name: str, span: Span, arguments: Embedded, flags: Sequence[Flag]) -> None:
        """What BuildKit has against the name of an instruction, and of the one behind ONBUILD."""
        if name not in _INSTRUCTIONS:
            # The nearest name is dear to find, and nobody reads the hundredth.
            self.refuse(_unknown_instruction(name) if len(self.problems) < _PROBLEM_LIMIT else "", span)
            return
        if flags and name not in _WITH_FLAGS:
            self.refuse(f"{name} takes no flag --{flags[0].name[:40]}", flags[0].span)
        if name != "ONBUILD":
            return
        trigger = next(_fields(arguments.text), None)
        if trigger is None:
            self.refuse("ONBUILD names no instruction", span)
            return
        inner = arguments.text[trigger.start : trigger.end].upper()
        if inner in ("ONBUILD", "FROM", "MAINTAINER"):
            self.refuse(f"{inner} cannot stand behind ONBUILD", arguments.host_span(trigger))
        elif inner not in _INSTRUCTIONS:
            self.refuse(_unknown_instruction(inner), arguments.host_span(trigger))

    def continued(self, start: int, end: int) -> tuple[str, Sequence[int], Span | None]:
        """A logical line with the place of its characters: remarks and blank lines between its lines are passed over.

        The third is the first blank line in there.
        """
        pieces: list[tuple[int, int]] = []
        gap: Span | None = None
        last = end
        while True:
            stop = end
            while stop > start and self.text[stop - 1] in " \t":
                stop -= 1
            escapes = stop > start and self.text[stop - 1] == self.escape
            if not escapes or (stop - 1 > start and self.text[stop - 2] == self.escape):
                pieces.append((start, end))
                last = end
                break
            pieces.append((start, stop - 1))
            last = stop - 1
            found = False
            while not found and self.position < len(self.text):
                start, end, self.position = self.line()
                if self.is_comment(start, end):
                    self.comment(start, end)
                elif self.first(start, end) < end:
                    found = True
                elif gap is None:
                    gap = Span(start, start)
            if not found:
                break
        if len(pieces) == 1:
            one, other = pieces[0]
            return self.text[one:other], range(one, other + 1), gap
        offsets = [place for one, other in pieces for place in range(one, other)]
        return "".join(self.text[one:other] for one, other in pieces), [*offsets, last], gap

    def heredocs(self, line: str) -> tuple[Heredoc, ...]:
        """The here-documents that an instruction opens; their lines follow it."""
        found = []
        for delimiter, quoted, strips in _opened(line):
            pieces: list[tuple[int, int]] = []
            terminator: Span | None = None
            opened = self.position
            while self.position < len(self.text):
                line_start, end, following = self.line()
                start = line_start
                while strips and start < end and self.text[start] == "\t":
                    start += 1
                self.position = following
                if end - start == len(delimiter) and self.text.startswith(delimiter, start):
                    terminator = Span(start, end)
                    body_end = line_start
                    break
                pieces.append((start, following))
            if terminator is None:
                body_end = len(self.text)
                self.refuse(f"the here-document {delimiter[:40]} is never closed", Span(opened, opened))
            if strips:
                offsets: Sequence[int] = [place for one, other in pieces for place in range(one, other)] + [body_end]
                body = Embedded(
                    "".join(self.text[one:other] for one, other in pieces), offsets, None,
                    "its lines are indented by tabs that are dropped",
                )  # fmt: skip
            else:
                body = Embedded(
                    self.text[opened:body_end], range(opened, body_end + 1), _heredoc_encoder(delimiter)
                )  # fmt: skip
            found.append(Heredoc(delimiter, quoted, body, terminator))
        return tuple(found)


def _unknown_instruction(name: str) -> str:
    near = [(edit_distance(name, known, 2), known) for known in sorted(_INSTRUCTIONS)] if len(name) <= 20 else []
    distance, known = min(near, default=(3, ""))
    hint = f"; {known} is meant, perhaps" if distance <= 2 else ""
    return f"there is no instruction {name[:30]}{hint}"


def _takes_heredocs(name: str, arguments: Embedded) -> bool:
    """Whether here-documents may stand behind an instruction: not behind the exec form."""
    if "<<" not in arguments.text:
        return False
    if name == "ONBUILD":
        trigger = next(_fields(arguments.text))
        name = arguments.text[trigger.start : trigger.end].upper()
        rest = verbatim(arguments.text[trigger.end :].lstrip(_SPACES), 0)
        arguments = _slice(rest, _flags(rest)[1], len(rest.text))
    return name in _WITH_HEREDOCS and _exec_words(arguments) is None


def _encode(text: str) -> str | None:
    return None if "\n" in text or "\0" in text else text


def _heredoc_encoder(delimiter: str) -> Callable[[str], str | None]:
    def encode(text: str) -> str | None:
        lines = [line.rstrip("\r") for line in text.split("\n")]
        return None if delimiter in lines or "\0" in text else text

    return encode


def _flags(value: Embedded) -> tuple[tuple[Flag, ...], int]:
    """The words with two dashes at the beginning, and where what follows them begins."""
    text = value.text
    found: list[Flag] = []
    position = 0
    while text.startswith("--", position):
        start = position
        pieces: list[str] = []
        quote = ""
        while position < len(text) and (quote or text[position] not in _SPACES):
            character = text[position]
            if character == "\\":
                position += 1
                pieces.append(text[position : position + 1])
            elif character == quote:
                quote = ""
            elif not quote and character in "'\"":
                quote = character
            else:
                pieces.append(character)
            position += 1
        end = position = min(position, len(text))
        while position < len(text) and text[position] in _SPACES:
            position += 1
        word = "".join(pieces)
        if word == "--":
            break
        name, equals, rest = word[2:].partition("=")
        found.append(Flag(name, rest if equals else None, value.host_span(Span(start, end))))
    return tuple(found), position


def _opened(line: str) -> Iterator[tuple[str, bool, bool]]:
    """The delimiters of the here-documents in a line, whether each is quoted, and whether it strips tabs.

    A line that BuildKit cannot cut into words (a quote that is never closed) opens none.
    """
    for word in _raw_words(line):
        found = _heredoc_word(word)
        if found is not None:
            yield found


def _heredoc_word(word: str) -> tuple[str, bool, bool] | None:
    """`<<EOF`, `0<<-"EOF"`: the delimiter, whether it is quoted, whether tabs are stripped."""
    digits, mark, rest = word.partition("<<")
    if not mark or "<" in rest or (digits and not (digits.isascii() and digits.isdigit())):
        return None
    strips = rest.startswith("-")
    rest = rest.removeprefix("-")
    words = _raw_words(rest)
    if len(words) != 1 or words[0] != rest.strip(_SPACES):
        return None
    delimiter = fill(verbatim(words[0], 0), _KeptNames(), "\\", True).inner.text
    marks = sum(words[0].count(quote) - delimiter.count(quote) for quote in "'\"")
    return (delimiter, marks != 0, strips) if delimiter else None


class _KeptNames(Mapping[str, "str | None"]):
    """Every variable stands for its own text."""

    def __getitem__(self, name: str) -> str:
        return f"${name}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, name: object) -> bool:
        return True


def _raw_words(text: str) -> list[str]:
    """The words of a line as BuildKit's lexer cuts them, quotes and escapes left in; none where it refuses the line."""
    words = []
    expander = _Expander(verbatim(text, 0), {}, "\\", True, None)
    position = 0
    while position < len(text):
        if text[position] in _SPACES or text[position] == "\n":
            position += 1
            continue
        start = position
        while position < len(text) and text[position] not in _SPACES and text[position] != "\n":
            if text[position] == "\\":
                position += 2
            elif text[position] in _CLOSED_WORDS:
                expander.position = position
                try:
                    expander.special(None, 0)
                except _RefusedError:
                    return []
                position = expander.position
            else:
                position += 1
        words.append(text[start:position])
    return words


class _Scope:
    """What variables are set to, why some are not known, and which values are defaults."""

    __slots__ = ("defaults", "reasons", "values")

    def __init__(self, other: _Scope | None = None) -> None:
        self.values: dict[str, str | None] = dict(other.values) if other is not None else {}
        self.reasons: dict[str, str] = dict(other.reasons) if other is not None else {}
        self.defaults: set[str] = set(other.defaults) if other is not None else set()

    def put(self, name: str, value: _Value) -> None:
        self.values[name] = value.text
        self.reasons.pop(name, None)
        self.defaults.discard(name)
        if value.reason is not None:
            self.reasons[name] = value.reason
        if value.is_default:
            self.defaults.add(name)


@record
class _Value:
    """The value of a variable as the scope knows it."""

    text: str | None
    reason: str | None = None
    prefix: str = ""
    is_default: bool = False


class _Budget:
    """How many characters variables may still supply: each may double the one before it."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, count: int) -> bool:
        if count > self.left:
            return False
        self.left -= count
        return True


class _Building:
    """A stage while it is read."""

    __slots__ = (
        "base", "command", "entry", "environment", "files", "image", "inherited", "instruction", "is_default", "name",
        "name_span", "reason", "runs", "scope", "shell",
    )  # fmt: skip

    def __init__(self, instruction: Instruction, image: Filled) -> None:
        self.instruction = instruction
        self.image = image
        self.name: str | None = None
        self.name_span: Span | None = None
        self.reason: str | None = None
        self.is_default = False
        self.base: int | None = None
        self.entry: CommandLine | None = None
        self.command: CommandLine | None = None
        self.inherited: set[str] = set()
        self.environment: dict[str, Variable] = {}
        self.files: list[tuple[str, Heredoc]] = []
        self.runs: list[CommandLine] = []
        self.shell: tuple[Word, ...] | None = None
        self.scope = _Scope()

    def stage(self) -> Stage:
        return Stage(
            self.name, self.instruction, self.image, self.base, self.entry, self.command, self.environment,
            tuple(self.files), tuple(sorted(self.inherited)), tuple(self.runs), self.shell, self.name_span,
            self.reason, self.is_default,
        )  # fmt: skip


class _Stages:
    """Follows the instructions: what holds at the end of each stage."""

    __slots__ = ("arguments", "budget", "copies", "current", "given", "names", "reader", "scopes", "stages")

    def __init__(self, reader: _Reader, given: Mapping[str, str]) -> None:
        self.reader = reader
        self.given = given
        self.stages: list[Stage] = []
        self.scopes: list[_Scope] = []
        self.names: dict[str, int] = {}
        # What ARG gives before the first FROM.
        self.arguments = _Scope()
        self.current: _Building | None = None
        self.budget = _Budget(8 * len(reader.text) + 100_000)
        # A stage may hand all it has on to every other: what is copied is bounded as well.
        self.copies = _Budget(8 * len(reader.text) + 100_000)

    def read(self) -> None:
        for instruction in self.reader.instructions:
            if instruction.name == "FROM":
                self._close()
                self.current = self._from(instruction)
            elif instruction.name == "ARG":
                self._argument(instruction)
            elif self.current is None:
                if instruction.name in _INSTRUCTIONS:
                    self.reader.refuse(f"{instruction.name} stands before the first FROM", instruction.name_span)
            else:
                self._instruction(instruction, self.current)
        self._close()

    def _close(self) -> None:
        if self.current is None:
            return
        if self.current.name is not None:
            self.names[self.current.name] = len(self.stages)
        self.stages.append(self.current.stage())
        self.scopes.append(self.current.scope)

    def _instruction(self, instruction: Instruction, stage: _Building) -> None:
        name = instruction.name
        if name == "ENV":
            self._environment(instruction, stage)
        elif name == "ENTRYPOINT":
            stage.entry = self._command_line(instruction, stage)
            stage.inherited.discard("ENTRYPOINT")
            # The command of the base goes with its entry point.
            stage.command = None if "CMD" in stage.inherited else stage.command
            stage.inherited.discard("CMD")
        elif name == "CMD":
            stage.command = self._command_line(instruction, stage)
            stage.inherited.discard("CMD")
        elif name == "RUN":
            stage.runs.append(self._command_line(instruction, stage))
        elif name == "SHELL":
            words = _exec_words(instruction.arguments)
            if words:
                stage.shell = words
            else:
                self.reader.refuse("SHELL takes a list of strings, in brackets", instruction.span)
        elif name in ("COPY", "ADD") and instruction.heredocs:
            self._files(instruction, stage)

    def _command_line(self, instruction: Instruction, stage: _Building) -> CommandLine:
        """The exec form where the value is a JSON list of strings, the shell form otherwise."""
        # A flag before a CMD is refused, but is what somebody wants to run.
        value = instruction.arguments if instruction.name == "RUN" else instruction.value
        words = _exec_words(value)
        if words is not None:
            return CommandLine(instruction, words)
        if _is_list(value.text):
            message = f"the list behind {instruction.name} holds something that is no string"
            self.reader.refuse(message, value.host_span(Span(0, len(value.text))))
        script = _with_heredocs(instruction) if instruction.heredocs else value
        return CommandLine(instruction, None, script, stage.shell)

    def _from(self, instruction: Instruction) -> _Building:
        value = instruction.arguments
        places = list(_fields(value.text))
        words = [value.text[place.start : place.end] for place in places]
        if not words:
            self.reader.refuse("FROM names no image", instruction.span)
            return _Building(instruction, Filled(Embedded("", [instruction.span.end])))
        inner = replace(_slice(value, places[0].start, places[0].end), encode=_encode_image)
        image, known = self._filled(inner, self.arguments)
        stage = _Building(instruction, image)
        stage.reason, stage.is_default = known.reason, known.is_default
        if len(words) >= 3 and words[1].upper() == "AS":
            stage.name, stage.name_span = words[2].lower(), value.host_span(places[2])
            if not (stage.name[0].isascii() and stage.name[0].isalpha() and set(stage.name) <= _STAGE_NAME):
                self.reader.refuse(f"{stage.name[:40]} cannot be the name of a stage", stage.name_span)
        if len(words) not in (1, 3) or (len(words) == 3 and stage.name is None):
            self.reader.refuse(
                "FROM takes an image, and a name behind AS", value.host_span(Span(places[1].start, places[-1].end))
            )
        stage.base = self.names.get(known.text.lower()) if known.text is not None else None
        if stage.base is not None:
            self._inherit(stage, self.stages[stage.base], self.scopes[stage.base])
        return stage

    def _inherit(self, stage: _Building, base: Stage, scope: _Scope) -> None:
        stage.entry, stage.command, stage.shell = base.entry_point, base.command, base.shell
        stage.inherited = {"ENTRYPOINT", "CMD"}
        if self.copies.take(len(base.environment) + len(base.files) + len(scope.values)):
            stage.environment = dict(base.environment)
            stage.files = list(base.files)
            stage.scope = _Scope(scope)

    def _argument(self, instruction: Instruction) -> None:
        scope = self.arguments if self.current is None else self.current.scope
        if not instruction.arguments.text:
            self.reader.refuse("ARG names no build argument", instruction.span)
        for place in _split(instruction.arguments.text, self.reader.escape):
            name, value = _pair(instruction.arguments, place)
            if name in self.given:
                scope.put(name, _Value(self.given[name]))
            elif value is not None:
                made = self._filled(value, scope)[1]
                scope.put(name, replace(made, is_default=True))
            elif self.current is not None and name in self.arguments.values:
                known = self.arguments.values[name]
                is_default = name in self.arguments.defaults
                scope.put(name, _Value(known, self.arguments.reasons.get(name), is_default=is_default))
            elif name not in scope.values:
                scope.put(name, _Value(None, f"the build argument {name} has no default"))

    def _environment(self, instruction: Instruction, stage: _Building) -> None:
        value = instruction.arguments
        places = _split(value.text, self.reader.escape)
        if not places:
            self.reader.refuse("ENV names no variable", instruction.span)
            return
        made: list[Variable] = []
        if "=" not in value.text[places[0].start : places[0].end]:
            # The old form: one name, and all that follows is its value.
            place = next(_fields(value.text))
            start = place.end + len(value.text[place.end :]) - len(value.text[place.end :].lstrip(_BLANKS))
            if start >= len(value.text):
                self.reader.refuse("ENV gives this variable no value", value.host_span(place))
                return
            inner = _slice(value, start, len(value.text))
            variable = self._variable(value, Span(0, place.end), inner, Span(0, len(value.text)), stage)
            made += [variable] if variable is not None else []
            places = []
        for place in places:
            name, worth = _pair(value, place)
            if worth is None or not name:
                message = "a variable without a value" if name else "a value without a name"
                self.reader.refuse(f"ENV holds {message}", value.host_span(place))
                continue
            variable = self._variable(value, Span(place.start, place.start + len(name)), worth, place, stage)
            made += [variable] if variable is not None else []
        # All of one instruction see the variables as they were before it.
        for variable in made:
            stage.environment[variable.name] = variable
            known = _Value(variable.value, variable.reason, is_default=variable.is_default)
            stage.scope.put(variable.name, known)

    def _variable(
        self, value: Embedded, name_place: Span, inner: Embedded, place: Span, stage: _Building
    ) -> Variable | None:
        name = self._filled(_slice(value, name_place.start, name_place.end), stage.scope)[1].text
        if not name:
            return None
        known = self._filled(inner, stage.scope)[1]
        whole = value.host_span(place)
        span = inner.host_span(Span(0, len(inner.text))) if inner.text else whole
        return Variable(name, known.text, span, whole, known.reason, known.prefix, known.is_default)

    def _files(self, instruction: Instruction, stage: _Building) -> None:
        """`COPY <<NAME … destination`: a folder gets each by its own name."""
        value = instruction.arguments
        places = list(_fields(value.text))
        if len(places) < 2:
            self.reader.refuse(f"{instruction.name} names no destination", instruction.span)
            return
        last = _slice(value, places[-1].start, places[-1].end)
        made = self._filled(last, stage.scope)[1].text
        destination = last.text if made is None else made
        by_name = {heredoc.delimiter: heredoc for heredoc in instruction.heredocs}
        for place in places[:-1]:
            found = _heredoc_word(value.text[place.start : place.end])
            heredoc = by_name.get(found[0]) if found is not None else None
            if heredoc is not None:
                into = destination.endswith("/") or len(places) > 2
                path = f"{destination.rstrip('/')}/{heredoc.delimiter}" if into else destination
                stage.files.append((path, heredoc))

    def _filled(self, value: Embedded, scope: _Scope) -> tuple[Filled, _Value]:
        """A text with its variables filled in, and what it is worth."""
        if not _CLOSED_WORDS.intersection(value.text) and self.reader.escape not in value.text:
            return Filled(value), _Value(value.text, None, value.text)
        expander = _Expander(value, scope.values, self.reader.escape, False, self.budget)
        filled = expander.run()
        if expander.message is not None and filled.invalid is not None:
            self.reader.refuse(expander.message, value.host_span(filled.invalid), expander.sort)
        is_default = any(name in scope.defaults for name in expander.used)
        text = filled.inner.text
        if not filled.names:
            return filled, _Value(text, None, text, is_default)
        name = filled.names[0]
        reason = scope.reasons.get(name)
        if reason is None and scope.values.get(name) is not None:
            reason = f"what is made of {name} here is not worked out"
        elif reason is None:
            reason = f"{name} is not set in this file" if name else "the build refuses it"
        return filled, _Value(None, reason, text.partition(UNKNOWN)[0], is_default)


def _encode_image(text: str) -> str | None:
    plain = text and not any(character in _SPACES or character in "\n\0'\"$\\`" for character in text)
    return text if plain else None


def _with_heredocs(instruction: Instruction) -> Embedded:
    """What the shell of a RUN gets: the text with its here-documents, or the only one's body."""
    value, heredocs = instruction.arguments, instruction.heredocs
    if len(heredocs) == 1 and _heredoc_word(value.text) is not None:
        return heredocs[0].body
    pieces, offsets = [value.text], list(value.offsets)
    for heredoc in heredocs:
        body, terminator = heredoc.body, heredoc.terminator
        end = body.offsets[-1]
        pieces += ["\n", body.text]
        offsets += body.offsets[:-1]
        pieces.append(heredoc.delimiter)
        start = end if terminator is None else terminator.start
        offsets += [start if terminator is None else start + index for index in range(len(heredoc.delimiter))]
        offsets.append(end if terminator is None else terminator.end)
    return Embedded("".join(pieces), offsets, _encode)


def _slice(value: Embedded, start: int, end: int) -> Embedded:
    """A part of a logical text."""
    if end <= start:
        return Embedded("", [value.offsets[min(start, len(value.text))]], value.encode)
    if isinstance(value.offsets, range):
        return Embedded(value.text[start:end], value.offsets[start : end + 1], value.encode)
    return Embedded(value.text[start:end], [*value.offsets[start:end], value.offsets[end - 1] + 1], value.encode)


def _fields(text: str) -> Iterator[Span]:
    """What blanks part, quotes or not."""
    position = 0
    while position < len(text):
        if text[position] in _BLANKS:
            position += 1
            continue
        start = position
        while position < len(text) and text[position] not in _BLANKS:
            position += 1
        yield Span(start, position)


def _split(text: str, escape: str) -> list[Span]:
    """The words of a text, quotes and escaped spaces held together."""
    found = []
    position = 0
    while position < len(text):
        if text[position] in _SPACES:
            position += 1
            continue
        start, quote = position, ""
        while position < len(text) and (quote or text[position] not in _SPACES):
            character = text[position]
            if character == escape and quote != "'":
                position += 1
            elif quote and character == quote:
                quote = ""
            elif not quote and character in "'\"":
                quote = character
            position += 1
        position = min(position, len(text))
        found.append(Span(start, position))
    return found


def _pair(value: Embedded, place: Span) -> tuple[str, Embedded | None]:
    """`NAME=value` or `NAME`."""
    name, equals, _ = value.text[place.start : place.end].partition("=")
    return name, _slice(value, place.start + len(name) + 1, place.end) if equals else None


def _is_list(text: str) -> bool:
    """Whether the text is a JSON list, which the builder then wants to hold strings."""
    if not text.startswith("["):
        return False
    document = read_json(text)
    return document.strict and document.root is not None and document.root.kind == "array"


def _exec_words(value: Embedded) -> tuple[Word, ...] | None:
    """The words of the exec form; None where the value is no JSON list of strings."""
    if not value.text.startswith("["):
        return None
    document = read_json(value.text)
    root = document.root
    if not document.strict or root is None or root.kind != "array":
        return None
    if any(item.kind != "string" for item in root.items):
        return None
    words = []
    for item in root.items:
        inner = json_text(item).within(value)
        span = value.host_span(item.span)
        words.append(Word(inner.text, span, span, prefix=inner.text, quote='"', inner=inner))
    return tuple(words)


def fill(source: Embedded, values: Mapping[str, str | None], escape: str = "\\", unquotes: bool = False) -> Filled:
    """Docker's own expansion: `$NAME`, `${NAME}`, `${NAME:-word}`, `${NAME:+word}`, with quotes and escapes.

    Within single quotes nothing is filled in; with `unquotes` the quotes are taken off. A name that is not in `values`,
    or has no value there, is unknown.
    """
    return _Expander(source, values, escape, not unquotes, None).run()


class _RefusedError(Exception):
    """The builder refuses a substitution or a quote; without a message it is merely too deep for us."""

    def __init__(self, message: str | None, start: int, sort: str = "syntax") -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.sort = sort


class _Expander:
    """Reads a text once, as BuildKit's lexer does, and fills its variables in."""

    __slots__ = ("budget", "escape", "keeps_quotes", "message", "position", "sort", "source", "text", "used", "values")

    def __init__(
        self,
        source: Embedded,
        values: Mapping[str, str | None],
        escape: str,
        keeps_quotes: bool,
        budget: _Budget | None,
    ) -> None:
        self.source = source
        self.text = source.text
        self.values = values
        self.escape = escape
        self.keeps_quotes = keeps_quotes
        self.budget = budget
        self.position = 0
        self.used: set[str] = set()
        self.message: str | None = None
        self.sort = "syntax"

    def run(self) -> Filled:
        filling = Filling(self.source)
        try:
            self.word("", filling, 0)
        except _RefusedError as refused:
            self.message, self.sort = refused.message, refused.sort
            filling.refuse(refused.start, len(self.text))
            filling.unknown("", min(refused.start, len(self.text)))
            return _in_order(filling.result())
        return filling.result()

    def word(self, stop: str, filling: Filling | None, depth: int) -> None:
        """Up to the character `stop`, or to the end; without a filling the text is only passed over."""
        text, opened = self.text, self.position
        if depth > _DEEPEST:
            raise _RefusedError(None, opened)
        while self.position < len(text):
            character = text[self.position]
            if character == stop:
                self.position += 1
                return
            if character in _CLOSED_WORDS:
                self.special(filling, depth)
                continue
            if character == self.escape:
                self.position += 1
                if self.position >= len(text):
                    break
            self._keep(filling, self.position)
        if stop:
            raise _RefusedError(f"a substitution lacks its {stop}", max(opened - 1, 0))

    def special(self, filling: Filling | None, depth: int) -> None:
        """A quoted stretch or a variable."""
        character = self.text[self.position]
        if character == "$":
            self.dollar(filling, depth)
        elif character == "'":
            self._single(filling)
        else:
            self._double(filling, depth)

    def _keep(self, filling: Filling | None, start: int, end: int | None = None) -> None:
        end = start + 1 if end is None else end
        if filling is not None and end > start:
            filling.keep(start, end)
        self.position = end

    def _mark(self, filling: Filling | None) -> None:
        if self.keeps_quotes:
            self._keep(filling, self.position)
        else:
            self.position += 1

    def _single(self, filling: Filling | None) -> None:
        opened = self.position
        closed = self.text.find("'", opened + 1)
        if closed < 0:
            raise _RefusedError("the quote ' is never closed", opened, "unclosed-quote")
        self._mark(filling)
        self._keep(filling, opened + 1, closed)
        self._mark(filling)

    def _double(self, filling: Filling | None, depth: int) -> None:
        text, opened = self.text, self.position
        self._mark(filling)
        while self.position < len(text):
            character = text[self.position]
            if character == '"':
                self._mark(filling)
                return
            if character == "$":
                self.dollar(filling, depth)
                continue
            if character == self.escape:
                following = text[self.position + 1 : self.position + 2]
                if following and following in ('"', "$", self.escape):
                    self.position += 1
            self._keep(filling, self.position)
        raise _RefusedError('the quote " is never closed', opened, "unclosed-quote")

    def _name(self) -> str:
        text, start = self.text, self.position
        first = text[start : start + 1]
        if first.isdecimal():
            while self.position < len(text) and text[self.position].isdecimal():
                self.position += 1
        elif first in _SPECIAL_NAMES:
            self.position += 1
        else:
            while self.position < len(text):
                character = text[self.position]
                if not (character.isalpha() or character.isdecimal() or character == "_"):
                    break
                self.position += 1
        return text[start : self.position]

    def dollar(self, filling: Filling | None, depth: int) -> None:
        """A variable, from its dollar sign on."""
        start = self.position
        self.position += 1
        if self.text[self.position : self.position + 1] == "{":
            self._braced(filling, start, depth)
            return
        name = self._name()
        if name:
            self._put(filling, name, start)
        else:
            self._keep(filling, start)

    def _braced(self, filling: Filling | None, start: int, depth: int) -> None:
        text = self.text
        self.position += 1
        if self.position >= len(text):
            raise _RefusedError("a substitution lacks its }", start)
        if text[self.position] in "{}:":
            raise _RefusedError("a bad substitution", start)
        name = self._name()
        operator = text[self.position : self.position + 1]
        self.position += 1
        if operator == "}":
            self._put(filling, name, start)
            return
        empty_counts = operator == ":"
        if empty_counts:
            operator = text[self.position : self.position + 1]
            self.position += 1
        if operator in ("-", "+", "?"):
            self._choice(filling, name, operator, empty_counts, start, depth)
        elif operator in ("#", "%", "/") and not (empty_counts and operator == "/"):
            if operator == "/":
                self.position += text.startswith("/", self.position)
                self.word("/", None, depth + 1)
            self.word("}", None, depth + 1)
            if filling is not None:
                filling.unknown(name, start)
        elif not operator:
            raise _RefusedError("a substitution lacks its }", start)
        else:
            raise _RefusedError(f"a substitution has the unknown modifier {operator!r}", start)

    def _choice(
        self, filling: Filling | None, name: str, operator: str, empty_counts: bool, start: int, depth: int
    ) -> None:
        """`${NAME:-word}`, `${NAME:+word}` and `${NAME:?word}`, with the colon or without."""
        value = self.values.get(name)
        if filling is None:
            self.word("}", None, depth + 1)
        elif value is None:
            other = Filling(self.source)
            self.word("}", other, depth + 1)
            made = other.result()
            guess = made.guess(0, made.inner.text) if operator == "-" else None
            filling.unknown(name, start, "" if operator == "+" else guess)
        else:
            self.used.add(name)
            is_present = value != "" or not empty_counts
            takes_word = is_present if operator == "+" else not is_present and operator == "-"
            self.word("}", filling if takes_word else None, depth + 1)
            if operator == "?" and not is_present:
                raise _RefusedError(f"{name} must not be empty here", start)
            if operator != "+" and is_present:
                self._put(filling, name, start)

    def _put(self, filling: Filling | None, name: str, place: int) -> None:
        if filling is None:
            return
        value = self.values.get(name)
        if value is None and (name in _SPECIAL_NAMES or name.isdecimal()):
            # What a shell sets itself, nothing sets in a build.
            value = ""
        if value is None or not (self.budget is None or self.budget.take(len(value))):
            filling.unknown(name, place)
            return
        self.used.add(name)
        filling.put(value, place)


def _in_order(filled: Filled) -> Filled:
    """The same, with offsets that do not go back where the refused place lies before what was read of it."""
    offsets, highest = [], 0
    for offset in filled.inner.offsets:
        highest = max(highest, offset)
        offsets.append(highest)
    return replace(filled, inner=replace(filled.inner, offsets=offsets))


def known_beginning(image: Filled) -> str:
    """What is known of an image before the first variable without a value."""
    return image.inner.text.partition(UNKNOWN)[0]
