"""`servelint rules`: the list of rules."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from servelint.checks.catalogue import rules
from servelint.cli.options import Color
from servelint.cli.output import emit, style_for
from servelint.report.rules import render_json, render_table


def command(
    output_format: Annotated[Literal["text", "json"], typer.Option("--format", help="What to print.")] = "text",
    color: Color = "auto",
) -> int:
    """List the rules.

    Code, name, severities, how safe its repairs are, and what it says.
    """
    known = rules().values()
    emit(render_json(known) if output_format == "json" else render_table(known, style_for(color)))
    return 0
