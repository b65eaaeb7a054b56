"""`servelint explain`: a rule at length."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from servelint.checks.catalogue import UnknownRuleError, find
from servelint.cli.options import Color
from servelint.cli.output import UsageError, emit, style_for
from servelint.report.rules import render_page


def command(
    rule: Annotated[str, typer.Argument(metavar="RULE", help="A rule's code (SL101) or name (missing-terminator).")],
    output_format: Annotated[Literal["text", "json"], typer.Option("--format", help="What to print.")] = "text",
    color: Color = "auto",
) -> int:
    """Explain a rule, with its reasons and examples."""
    try:
        found = find(rule)
    except UnknownRuleError as error:
        raise UsageError(str(error)) from error
    if output_format == "json":
        import json

        emit([json.dumps(found.document, indent=2) + "\n"])
    else:
        emit(render_page(found, style_for(color)))
    return 0
