"""`servelint diagnose`: one model folder or GGUF, asked four questions."""

# Plain strings, as in the findings.
# ruff: noqa: PTH112, PTH113, PTH118
from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from servelint.checks.deployment import Deployment
from servelint.cli.options import Color, Config, Online
from servelint.cli.output import UsageError, emit, say, say_internal, style_for
from servelint.cli.session import Session
from servelint.manifests.model_folder import (
    CHAT_TEMPLATE,
    CHAT_TEMPLATE_JSON,
    CONFIG,
    GENERATION_CONFIG,
    TOKENIZER_CONFIG,
)
from servelint.report.collect import Entry, entries_of
from servelint.report.diagnosis import diagnosis, render_json, render_text

_FILES = (GENERATION_CONFIG, CONFIG, TOKENIZER_CONFIG, CHAT_TEMPLATE, CHAT_TEMPLATE_JSON)


def command(
    path: Annotated[str, typer.Argument(metavar="FOLDER|FILE.gguf", help="A model folder, or a GGUF.")],
    output_format: Annotated[Literal["text", "json"], typer.Option("--format", help="What to print.")] = "text",
    config: Config = None,
    online: Online = False,
    color: Color = "auto",
) -> int:
    """Ask one model folder or GGUF four questions.

    Who it is, where each engine stops, how its prompt ends, and what is wrong and mends it. Nothing is guessed
    from a number: the end of a turn is what the chat template, rendered, writes behind an answer. The exit status is 1
    where something is wrong.
    """
    session = Session(config=config, online=online)
    deployments: list[Deployment] = []
    entries: list[Entry] = []
    internal: list[str] = []
    for target in session.targets(_files(path)):
        context = session.context(target)
        result = session.lint(target, context)
        deployments += result.deployments
        entries += session.keep(result, entries_of(result, context))
        internal += result.internal
    document = diagnosis(path, deployments, entries)
    emit(render_json(document) if output_format == "json" else render_text(document, style_for(color)))
    for note in session.notes:
        say(note)
    if internal:
        say_internal(internal)
        return 3
    return 1 if any(session.fails(entry.finding) for entry in entries) else 0


def _files(path: str) -> list[str]:
    if os.path.isdir(path):
        found = [os.path.join(path, name) for name in _FILES if os.path.isfile(os.path.join(path, name))]
        if not found:
            raise UsageError(f"{path}: no model folder: it holds none of {', '.join(_FILES[:3])}")
        return found
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such folder or file")
    if not path.lower().endswith(".gguf"):
        raise UsageError(f"{path}: neither a folder nor a GGUF; `servelint check` takes manifests")
    return [path]
