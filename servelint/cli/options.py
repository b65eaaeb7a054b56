"""The options that several commands share."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]...",
        show_default=False,
        help="Files and folders, `-` for standard input; without any, this folder.",
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", metavar="RULES", help="Only these rules: codes, their beginnings (SL2), names, or ALL."),
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="RULES", help="Leave these rules out.")]
Profile = Annotated[
    Literal["default", "strict"] | None,
    typer.Option("--profile", help="strict also reports terminators that no manifest pins."),
]
FailOn = Annotated[
    Literal["note", "warning", "error"] | None,
    typer.Option("--fail-on", help="The least severity that makes the exit status 1 (default: warning)."),
]
Config = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE", help="This configuration for all files, not the nearest one of each."),
]
StdinFilename = Annotated[
    str | None, typer.Option("--stdin-filename", metavar="PATH", help="The name that standard input is read under.")
]
NoIgnores = Annotated[bool, typer.Option("--no-ignores", help="Report what ignore comments silence, too.")]
Color = Annotated[Literal["auto", "always", "never"], typer.Option("--color", help="Colours in text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing where all is well.")]
BaselineFile = Annotated[
    str | None, typer.Option("--baseline", metavar="FILE", help="Hide the findings that are recorded in this file.")
]
Online = Annotated[
    bool,
    typer.Option("--online", help="Ask the hub for the few small files of models that are neither here nor cached."),
]
