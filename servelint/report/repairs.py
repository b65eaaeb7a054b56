"""What became of the files that were repaired: a list for people, and a diff for people and programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from servelint.checks.catalogue import name_of
from servelint.report import Style
from servelint.report.collect import Entry
from servelint.report.printing import escaped, paint, printable
from servelint.report.summary import counted

if TYPE_CHECKING:
    from servelint.checks.finding import BytePatch, Finding

_DIFF_COLORS = {b"+": "added", b"-": "removed", b"@": "dim"}


class Outcome(NamedTuple):
    """What became of one file: what was repaired in it, what is left and why; why it could not be written."""

    path: str
    before: bytes
    after: bytes
    fixed: tuple[Finding, ...] = ()
    left: tuple[tuple[Entry, str], ...] = ()
    internal: tuple[str, ...] = ()
    not_written: str | None = None
    patch: BytePatch | None = None

    @property
    def changed(self) -> bool:
        """Whether there are other bytes than before."""
        return self.before != self.after


def render(outcomes: Sequence[Outcome], style: Style, written: bool) -> Iterator[str]:
    """For every file what was fixed in it (or would be, where nothing was `written`), and what is left and why."""
    done = "fixed" if written else "to fix"
    for outcome in outcomes:
        path = paint(printable(outcome.path), "bold", style)
        if outcome.not_written is not None:
            yield f"{path}: not rewritten: {printable(outcome.not_written)}\n"
        if outcome.fixed:
            yield f"{path}: {counted(len(outcome.fixed), 'finding')} {done}\n"
        for finding in outcome.fixed:
            title = finding.fix.title if finding.fix is not None else finding.message
            yield f"  {finding.rule} {name_of(finding.rule)}: {printable(title)}\n"
        if outcome.left:
            yield f"{path}: {counted(len(outcome.left), 'finding')} left\n"
        for entry, reason in outcome.left:
            yield from _left(entry, reason, style)
    rewritten = sum(outcome.changed for outcome in outcomes)
    fixed = sum(len(outcome.fixed) for outcome in outcomes)
    left = sum(len(outcome.left) for outcome in outcomes)
    if style.quiet and not rewritten and not left:
        return
    line = f"{counted(rewritten, 'file')} {'' if written else 'would be '}rewritten, {counted(fixed, 'finding')} {done}"
    yield f"{line}, {left:,} left\n" if left else f"{line}\n"


def _left(entry: Entry, reason: str, style: Style) -> Iterator[str]:
    finding = entry.finding
    severity = paint(finding.severity, finding.severity, style)
    where = f"{entry.place.line}:{entry.place.column}"
    yield f"  {where} {severity} {finding.rule} {name_of(finding.rule)}: {printable(finding.message)}\n"
    yield f"    {paint('not fixed:', 'dim', style)} {printable(reason)}\n"


def diff_of(outcome: Outcome) -> list[bytes]:
    """The lines of a unified diff that `git apply` and `patch` take: the bytes of the file as they are."""
    import difflib

    name = outcome.path.encode("utf-8", "surrogateescape")
    lines = difflib.diff_bytes(
        difflib.unified_diff, _lines(outcome.before), _lines(outcome.after), b"a/" + name, b"b/" + name
    )
    return [line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines]


def diff_for_people(outcome: Outcome, style: Style) -> Iterator[str]:
    """The same diff with hostile characters escaped, and in colour."""
    for line in diff_of(outcome):
        text = line.decode("utf-8", "surrogateescape").rstrip("\n")
        shown = "".join(character if character == "\t" else escaped(character) for character in text)
        color = _DIFF_COLORS.get(line[:1])
        yield (paint(shown, color, style) if color else shown) + "\n"


def _lines(data: bytes) -> list[bytes]:
    """Lines that end in LF only, as `patch` counts them: `splitlines` would end one at a lone CR, too."""
    lines = data.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
