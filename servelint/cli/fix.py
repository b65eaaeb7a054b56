"""`servelint fix`: repair manifests."""

from __future__ import annotations

from typing import Annotated

import typer

from servelint.cli.options import (
    BaselineFile,
    Color,
    Config,
    FailOn,
    Ignore,
    NoIgnores,
    Profile,
    Quiet,
    Select,
    StdinFilename,
)
from servelint.cli.repairing import fix


def command(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files and folders, `-` for standard input.")],
    diff: Annotated[bool, typer.Option("--diff", help="Print what would change, and write nothing.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only tell what would change.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="Make the repairs that change what is served, too.")
    ] = False,
    select: Select = None,
    ignore: Ignore = None,
    profile: Profile = None,
    fail_on: FailOn = None,
    config: Config = None,
    stdin_filename: StdinFilename = None,
    baseline: BaselineFile = None,
    no_ignores: NoIgnores = False,
    color: Color = "auto",
    quiet: Quiet = False,
) -> int:
    """Repair manifests.

    Each repair is the smallest edit that does it, and is proven before it is written. The exit status is 1 where files
    were rewritten (or would be), or findings are left that fail a check. Standard input is repaired onto standard
    output.
    """
    return fix(
        paths,
        diff=diff,
        check=check,
        unsafe_fixes=unsafe_fixes,
        select=select,
        ignore=ignore,
        profile=profile,
        fail_on=fail_on,
        config=config,
        stdin_filename=stdin_filename,
        baseline=baseline,
        no_ignores=no_ignores,
        color=color,
        quiet=quiet,
    )
