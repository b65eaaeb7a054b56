"""`servelint check`: lint manifests."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from servelint.cli.options import (
    BaselineFile,
    Color,
    Config,
    FailOn,
    Ignore,
    NoIgnores,
    Paths,
    Profile,
    Quiet,
    Select,
    StdinFilename,
)
from servelint.cli.output import UsageProblem, emit, say, say_internal, style_for
from servelint.cli.session import Session
from servelint.report import FORMATS, Format, Style, format_named
from servelint.report.collect import Report, gather


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
    color: Color = "auto",
    quiet: Quiet = False,
) -> int:
    """Lint manifests (the default command).

    Folders are searched for manifests; what git ignores is left out. Files that are named are always checked.
    """
    outputs = [_output(word) for word in output or ()]
    main_format = format_named(output_format)
    session = Session(
        select=select,
        ignore=ignore,
        profile=profile,
        fail_on=fail_on,
        config=config,
        respect_ignores=not no_ignores,
        baseline=baseline,
        use_baselines=write_baseline is None,
    )
    targets = session.targets(paths, stdin_filename)
    formats = [main_format, *(each for each, _ in outputs)]
    report = gather(
        session.results(targets, quiet), session.keep, with_servings=any(each.NEEDS_SERVINGS for each in formats)
    )
    for each, file in outputs:
        _write(each, file, report)
    if write_baseline is not None:
        _record(write_baseline, report, quiet)
    else:
        emit(main_format.render(report, style_for(color, quiet)))
    if report.failures:
        say_internal(failure.message for failure in report.failures)
        return 3
    failing = any(session.fails(entry.finding) for entry in report.entries)
    return 1 if failing and write_baseline is None else 0


def _output(word: str) -> tuple[Format, str]:
    name, equals, file = word.partition("=")
    if not equals or not file or name not in FORMATS:
        raise UsageProblem(f"--output {word}: must be FORMAT=FILE, and FORMAT one of {', '.join(FORMATS)}")
    return format_named(name), file


def _write(output_format: Format, file: str, report: Report) -> None:
    text = "".join(output_format.render(report, Style()))
    try:
        Path(file).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except (OSError, ValueError) as error:
        raise UsageProblem(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from error


def _record(file: str, report: Report, quiet: bool) -> None:
    from servelint.baseline import write_baseline
    from servelint.report.summary import counted

    try:
        number = write_baseline(file, report.entries)
    except (OSError, ValueError) as error:
        raise UsageProblem(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from error
    if not quiet:
        say(f"{counted(number, 'finding')} recorded in {file}")
