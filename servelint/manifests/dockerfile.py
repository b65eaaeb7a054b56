"""Dockerfiles whose containers launch an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.dockerfile import (
    CommandLine,
    Dockerfile,
    Instruction,
    Stage,
    known_beginning,
    read_dockerfile,
)
from servelint.formats.problem import Problem
from servelint.manifests.containers import mapped, servings_of_container, version_setting, word_argument
from servelint.manifests.launchers import without_launchers
from servelint.manifests.serving import Argument, Manifest, NoWriter, Piece, Serving, Setting
from servelint.records import record, replace
from servelint.text import Embedded, Source, Span

_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")


@record
class Built:
    """What an image that is built from a Dockerfile starts: base image, entry point (None: its own), words, variables.

    `place` is the instruction that says it.
    """

    image: Setting
    entry_point: tuple[Argument, ...] | None
    words: tuple[Argument, ...]
    environment: tuple[Setting, ...]
    place: Instruction


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a Dockerfile; None where no stage of it launches an engine that servelint knows."""
    document = read_dockerfile(source.text)
    problems = [_told(problem, source.text) for problem in document.problems]
    servings: list[Serving] = []
    for index, stage in enumerate(document.stages):
        is_last = index + 1 == len(document.stages)
        if is_last or (set(stage.inherited) != {"CMD", "ENTRYPOINT"} and not _is_handed_on(document, stage)):
            servings.extend(_servings(path, document, index, is_last, problems))
    pieces = tuple(_pieces(document))
    if not servings and not pieces:
        return None
    return Manifest(
        path, "dockerfile", source.text, "dockerfile", tuple(servings), tuple(problems), document.comments,
        {"document": document}, pieces,
    )  # fmt: skip


def _is_handed_on(document: Dockerfile, stage: Stage) -> bool:
    """Whether the last stage starts what this one starts, and is built on it: one deployment, told with its end."""
    last = document.stages[-1]
    if (last.entry_point, last.command) != (stage.entry_point, stage.command):
        return False
    while last.base is not None:
        last = document.stages[last.base]
        if last is stage:
            return True
    return False


def _told(problem: Problem, text: str) -> Problem:
    """A flag where an instruction should stand is a line whose predecessor lacks its backslash."""
    word = text[problem.span.start : problem.span.end]
    if not word.startswith("-") or not problem.message.startswith("there is no instruction"):
        return problem
    message = f"the line above does not go on, so the build takes {word} for an instruction and ends"
    return replace(problem, message=message)


def _pieces(document: Dockerfile) -> Iterator[Piece]:
    seen: set[int] = set()
    for stage in document.stages:
        for name, heredoc in stage.files:
            if heredoc.body.offsets[-1] in seen:
                continue
            seen.add(heredoc.body.offsets[-1])
            body = heredoc.body
            if not heredoc.quoted and "$" in body.text:
                body = replace(body, encode=None, refusal="variables are filled in here")
            yield Piece(name, body)
        for line in stage.runs:
            if line.script is not None and line.instruction.heredocs:
                yield from _written_pieces(line.script, line.instruction)


def _written_pieces(script: Embedded, instruction: Instruction) -> Iterator[Piece]:
    """What a RUN writes into files, or hands to programs: `cat > /start.sh <<'EOF'`."""
    from servelint.formats.shell import read_script
    from servelint.manifests.launch_script import pieces_of

    bodies = {heredoc.body.offsets[0]: heredoc.body for heredoc in instruction.heredocs if heredoc.quoted}
    for piece in pieces_of(read_script(script.text).heredocs):
        inner = piece.inner.within(script)
        body = bodies.get(inner.offsets[0])
        # The lines of a quoted one stand in the file as they are, and lines can be added there.
        yield replace(piece, inner=body if body is not None and body.text == inner.text else inner)


def _servings(path: str, document: Dockerfile, index: int, is_last: bool, problems: list[Problem]) -> Iterator[Serving]:
    built = built_image(document, index)
    if built is None:
        return
    stage = document.stages[index]
    if not is_last and stage.entry_point is None and stage.command is None:
        return
    meant = _meant(stage)
    if meant is not None:
        built = replace(built, entry_point=meant[0], words=meant[1])
    base = Serving(
        path, built.place.span, "dockerfile", "", _WRITER, version_setting(built.image), built.image,
        environment=built.environment, facts={"document": document},
    )  # fmt: skip
    entry_point = built.entry_point
    words: Sequence[Argument] = built.words
    if entry_point is not None:
        entry_point, words = without_launchers(entry_point, words)
    found = list(servings_of_container(base, entry_point, words))
    if found and meant is not None and meant[2] not in problems:
        problems.append(meant[2])
    for serving in found:
        is_refused = any(built.place.span.covers(problem.span) for problem in document.problems)
        yield replace(serving, arguments=None) if is_refused else serving


def _meant(stage: Stage) -> tuple[tuple[Argument, ...] | None, tuple[Argument, ...], Problem] | None:
    """The words that are meant where a list is no JSON, which makes the builder hand all of it to a shell.

    Source: moby/buildkit `parseMaybeJSON`: what is no list of strings is the shell form, without a word of it.
    """
    entry_point, command = stage.entry_point, stage.command
    own = _broken_list(entry_point) if entry_point is not None else None
    if own is not None:
        return own[0], _words(command) or (), own[1]
    own = _broken_list(command) if command is not None else None
    if own is None or (entry_point is not None and entry_point.script is not None):
        return None
    return _words(entry_point), own[0], own[1]


def _broken_list(line: CommandLine) -> tuple[tuple[Argument, ...], Problem] | None:
    """The words of `["vllm", 'serve',]`, and what is wrong with it; None where a shell's command may be meant."""
    from servelint.formats.json import read_json

    value = line.script
    # `[ "$A" = "b" ] && …` is a command.
    if value is None or not value.text.startswith(('["', "['", '[ "', "[ '")) or not value.text.endswith("]"):
        return None
    document = read_json(value.text)
    root = document.root
    if root is None or root.kind != "array" or not document.problems or root.span.end != len(value.text):
        return None
    if any(item.kind != "string" or item.raw[:1] not in ("'", '"') or item.raw[-1:] != item.raw[:1]
           for item in root.items):  # fmt: skip
        return None
    words = tuple(
        Argument(str(item.value), value.host_span(item.span), literal=False, form="string") for item in root.items
    )
    fault = document.problems[0]
    # The reader's remark goes on to say which program refuses it; here it is the builder.
    what = fault.message.partition(", wh")[0]
    message = f"this list is no JSON, so the build hands its text to a shell as one command: {what}"
    return words, Problem(message, value.host_span(fault.span))


def built_image(document: Dockerfile, index: int = -1) -> Built | None:
    """What a stage of a Dockerfile starts (the last one if none is named); None where it has no stage."""
    if not document.stages:
        return None
    stage = document.stages[index]
    root = _root(document, stage)
    image = root.image
    value = None if image.names else image.inner.text
    span = image.inner.host_span(Span(0, len(image.inner.text))) if image.inner.text else root.instruction.span
    setting = Setting("image", value, span, span, "FROM", data=known_beginning(image))
    environment = tuple(
        Setting(
            entry.name, entry.value, entry.span, entry.whole, f"ENV {entry.name}",
            reason=None if entry.value is not None else "a build argument supplies it",
        )
        for entry in stage.environment.values()
    )  # fmt: skip
    entry_point = _words(stage.entry_point)
    # Behind an entry point in shell form no command is given to anything.
    command = None if stage.entry_point is not None and stage.entry_point.script is not None else stage.command
    words = _words(command)
    place = (command or stage.entry_point or _first(stage)).instruction
    return Built(setting, entry_point, words or (), environment, place)


def _first(stage: Stage) -> CommandLine:
    return CommandLine(stage.instruction)


def _root(document: Dockerfile, stage: Stage) -> Stage:
    """The stage whose image is none of the file's own."""
    while stage.base is not None:
        stage = document.stages[stage.base]
    return stage


def _words(line: CommandLine | None) -> tuple[Argument, ...] | None:
    if line is None:
        return None
    if line.words is not None:
        return tuple(replace(word_argument(word), form="list") for word in line.words)
    value = line.script or Embedded("", [line.instruction.span.end])
    place = line.instruction.name_span
    whole = Argument(value.text, Span(0, len(value.text)), inner=_itself(value.text), form="string")
    shell = [word.text for word in line.shell] if line.shell else ["/bin/sh", "-c"]
    return (*(Argument(text, place, literal=False) for text in shell), mapped(whole, value))


def _itself(text: str) -> Embedded:
    return Embedded(text, range(len(text) + 1), lambda new: new)
