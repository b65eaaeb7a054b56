"""`servelint inventory`: what is served here, by what, and what stops it."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from servelint.cli.options import Color, Config, Online, Paths, StdinFilename
from servelint.cli.output import emit, say, say_internal, style_for
from servelint.cli.session import Session
from servelint.report.collect import gather
from servelint.report.inventory import render_json, render_text


def command(
    paths: Paths = None,
    output_format: Annotated[Literal["text", "json", "html"], typer.Option("--format", help="What to print.")] = "text",
    config: Config = None,
    stdin_filename: StdinFilename = None,
    online: Online = False,
    color: Color = "auto",
) -> int:
    """Show what is served here, by what engine, and what stops it.

    Every deployment that can be found, with its engine and version, its model, what ends generation and where that
    comes from, the cap, and whether it stops where it should. By namespace, where one is named, and file. HTML is one
    page that needs nothing beside it: write it to a file.
    """
    session = Session(config=config, online=online)
    targets = session.targets(paths, stdin_filename)
    report = gather(session.results(targets), lambda _, entries: entries, with_servings=True)
    if output_format == "html":
        # Hashes and escapes are of use to the page alone.
        from servelint.report.inventory_html import render_html

        emit(render_html(report))
    elif output_format == "json":
        emit(render_json(report))
    else:
        emit(render_text(report, style_for(color)))
    for note in session.notes:
        say(note)
    if report.failures:
        say_internal(failure.message for failure in report.failures)
        return 3
    return 0
