"""`servelint check`: lint manifests."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from servelint.cli.checking import check
from servelint.cli.options import (
    BaselineFile,
    Color,
    Config,
    FailOn,
    Ignore,
    NoIgnores,
    Online,
    Paths,
    Profile,
    Quiet,
    Select,
    StdinFilename,
)


def command(
    paths: Paths = None,
    output_format: Annotated[
        Literal["text", "concise", "json", "jsonl"], typer.Option("--format", help="What to print.")
    ] = "text",
    output: Annotated[
        list[str] | None,
        typer.Option("--output", metavar="FORMAT=FILE", help="Write a further report into a file; may be repeated."),
    ] = None,
    select: Select = None,
    ignore: Ignore = None,
    profile: Profile = None,
    fail_on: FailOn = None,
    config: Config = None,
    stdin_filename: StdinFilename = None,
    baseline: BaselineFile = None,
    write_baseline: Annotated[
        str | None,
        typer.Option("--write-baseline", metavar="FILE", help="Record all findings in this file, and exit with 0."),
    ] = None,
    no_ignores: NoIgnores = False,
    online: Online = False,
    color: Color = "auto",
    quiet: Quiet = False,
) -> int:
    """Lint manifests (the default command).

    Folders are searched for manifests; what git ignores is left out. Files that are named are always checked.
    """
    return check(
        paths,
        output_format=output_format,
        output=output,
        select=select,
        ignore=ignore,
        profile=profile,
        fail_on=fail_on,
        config=config,
        stdin_filename=stdin_filename,
        baseline=baseline,
        write_baseline=write_baseline,
        no_ignores=no_ignores,
        online=online,
        color=color,
        quiet=quiet,
    )
