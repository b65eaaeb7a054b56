"""What `servelint check` does."""

from __future__ import annotations

from collections.abc import Sequence

from servelint.cli.output import UsageError, emit, say, style_for
from servelint.cli.session import Session
from servelint.report import FORMATS, Format, Style, format_named
from servelint.report.collect import Report, gather


def check(
    paths: Sequence[str] | None = None,
    *,
    output_format: str = "text",
    output: Sequence[str] | None = None,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    profile: str | None = None,
    fail_on: str | None = None,
    config: str | None = None,
    stdin_filename: str | None = None,
    baseline: str | None = None,
    write_baseline: str | None = None,
    no_ignores: bool = False,
    online: bool = False,
    color: str = "auto",
    quiet: bool = False,
) -> int:
    """Lint files and folders, print a report, and give the exit status; the arguments are the command's options.

    Raises `UsageError`, `ConfigurationError` or `BaselineError` where the run cannot be what was asked for.
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
        online=online,
    )
    targets = session.targets(paths, stdin_filename)
    formats = [main_format, *(each for each, _ in outputs)]
    report = gather(
        session.results(targets, quiet), session.keep, with_servings=any(each.NEEDS_SERVINGS for each in formats)
    )
    for each, file in outputs:
        _write(file, "".join(each.render(report, Style())))
    if write_baseline is not None:
        _record(write_baseline, report, quiet)
    else:
        emit(main_format.render(report, style_for(color, quiet)))
    for note in session.notes:
        say(note)
    if report.failures:
        from servelint.cli.output import say_internal

        say_internal(failure.message for failure in report.failures)
        return 3
    failing = any(session.fails(entry.finding) for entry in report.entries)
    return 1 if failing and write_baseline is None else 0


def _output(word: str) -> tuple[Format, str]:
    name, equals, file = word.partition("=")
    if not equals or not file or name not in FORMATS:
        raise UsageError(f"--output {word}: must be FORMAT=FILE, and FORMAT one of {', '.join(FORMATS)}")
    return format_named(name), file


def _write(file: str, text: str) -> None:
    try:
        with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:  # noqa: PTH123 (a str)
            stream.write(text)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from error


def _record(file: str, report: Report, quiet: bool) -> None:
    from servelint.baseline import render_baseline
    from servelint.report.summary import counted

    _write(file, render_baseline(file, report.entries))
    if not quiet:
        say(f"{counted(len(report.entries), 'finding')} recorded in {file}")
