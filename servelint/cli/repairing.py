"""What `servelint fix` does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from servelint.cli.output import Progress, emit, emit_bytes, style_for, told
from servelint.cli.session import Session, Target
from servelint.fixing.repair import fix_file
from servelint.manifests.catalogue import HEAD_ONLY
from servelint.report import Style
from servelint.report.collect import entries_of
from servelint.report.repairs import Outcome, diff_for_people, diff_of, render

if TYPE_CHECKING:
    from servelint.checks.finding import BytePatch


def fix(
    paths: Sequence[str],
    *,
    diff: bool = False,
    check: bool = False,
    unsafe_fixes: bool = False,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    profile: str | None = None,
    fail_on: str | None = None,
    config: str | None = None,
    stdin_filename: str | None = None,
    baseline: str | None = None,
    no_ignores: bool = False,
    color: str = "auto",
    quiet: bool = False,
) -> int:
    """Repair files and folders, tell what was done, and give the exit status; the arguments are the command's options.

    Raises `UsageError`, `ConfigurationError` or `BaselineError` where the run cannot be what was asked for.
    """
    session = Session(
        select=select,
        ignore=ignore,
        profile=profile,
        fail_on=fail_on,
        config=config,
        respect_ignores=not no_ignores,
        baseline=baseline,
    )
    targets = session.targets(paths, stdin_filename)
    style = style_for(color, quiet)
    keep_files = diff or check
    progress = Progress(len(targets), not quiet)
    outcomes: list[Outcome] = []
    for number, target in enumerate(targets, 1):
        progress.step(number, target.path)
        outcome = _repair(session, target, unsafe_fixes)
        if outcome.changed and not keep_files and target.data is None:
            outcome = _written(session, outcome)
        if target.data is not None and not keep_files:
            emit_bytes(outcome.after)
        outcomes.append(outcome)
    progress.done()
    outcomes.sort(key=lambda outcome: outcome.path)
    if diff:
        for outcome in outcomes:
            _print_diff(outcome, style)
    # Where standard output carries a patch or a repaired text, what is said of it goes to standard error.
    carries = diff or any(target.data is not None for target in targets)
    emit(render(outcomes, style, not keep_files), sys.stderr if carries else sys.stdout)
    internal = [line for outcome in outcomes for line in outcome.internal]
    if internal:
        from servelint.cli.output import say_internal

        say_internal(internal)
        return 3
    failing = any(session.fails(entry.finding) for outcome in outcomes for entry, _ in outcome.left)
    return 1 if failing or any(outcome.changed or outcome.not_written for outcome in outcomes) else 0


def _print_diff(outcome: Outcome, style: Style) -> None:
    if not outcome.changed:
        return
    if style.color or sys.stdout.isatty():
        emit(diff_for_people(outcome, style))
    else:
        emit_bytes(b"".join(diff_of(outcome)))


def _repair(session: Session, target: Target, unsafe: bool) -> Outcome:
    context = session.context(target)
    data = session.read(target)
    if not isinstance(data, bytes):
        unread = tuple((entry, "it cannot be read") for entry in entries_of(data, context))
        return Outcome(target.path, b"", b"", left=unread)
    policy = session.configurations.policy(target.path)
    patch: BytePatch | None = None
    try:
        if target.path.lower().endswith(HEAD_ONLY):
            from servelint.fixing.patch import patch_of

            repair, patch = patch_of(target.path, data, context, policy, unsafe=unsafe)
            data = repair.before
        else:
            repair = fix_file(target.path, data, context, policy, unsafe=unsafe)
    except Exception as error:  # the other files are repaired all the same
        return Outcome(target.path, data, data, internal=(f"{target.path}: {told(error)}",))
    entries = entries_of(repair.result, context)
    reasons = {id(entry): reason for entry, (_, reason) in zip(entries, repair.left, strict=True)}
    left = tuple((entry, reasons[id(entry)]) for entry in session.keep(repair.result, entries))
    return Outcome(target.path, data, repair.after, repair.fixed, left, repair.result.internal, patch=patch)


def _written(session: Session, outcome: Outcome) -> Outcome:
    from servelint.fixing.write import WriteError, replace_file

    try:
        if outcome.patch is not None:
            from servelint.fixing.patch import write_patch

            write_patch(outcome.path, outcome.patch)
        else:
            replace_file(Path(outcome.path), outcome.before, outcome.after)
    except WriteError as error:
        return outcome._replace(after=outcome.before, fixed=(), not_written=str(error))
    session.forget_context()
    return outcome
