"""Dockerfiles whose containers launch an engine."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.files.context import Context
from servelint.formats.dockerfile import (
    CommandLine,
    Dockerfile,
    Instruction,
    Stage,
    known_beginning,
    read_dockerfile,
)
from servelint.manifests.containers import mapped, servings_of_container, version_setting, word_argument
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
    servings: list[Serving] = []
    for index, stage in enumerate(document.stages):
        is_last = index + 1 == len(document.stages)
        if is_last or set(stage.inherited) != {"CMD", "ENTRYPOINT"}:
            servings.extend(_servings(path, document, index, is_last))
    pieces = tuple(_pieces(document))
    if not servings and not pieces:
        return None
    return Manifest(
        path, "dockerfile", source.text, "dockerfile", tuple(servings), document.problems, document.comments,
        {"document": document}, pieces,
    )  # fmt: skip


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


def _servings(path: str, document: Dockerfile, index: int, is_last: bool) -> Iterator[Serving]:
    built = built_image(document, index)
    if built is None:
        return
    stage = document.stages[index]
    if not is_last and stage.entry_point is None and stage.command is None:
        return
    base = Serving(
        path, built.place.span, "dockerfile", "", _WRITER, version_setting(built.image), built.image,
        environment=built.environment, facts={"document": document},
    )  # fmt: skip
    yield from servings_of_container(base, built.entry_point, built.words)


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
    words = () if stage.entry_point is not None and stage.entry_point.script is not None else _words(stage.command)
    place = (stage.command or stage.entry_point or _first(stage)).instruction
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
