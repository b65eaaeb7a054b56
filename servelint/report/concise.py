"""One line a finding, for editors and for reading many."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.catalogue import name_of
from servelint.report import Style
from servelint.report.collect import Entry, Report
from servelint.report.printing import paint, printable
from servelint.report.summary import summary_line

NEEDS_SERVINGS = False


def headline(entry: Entry, style: Style) -> str:
    """`path:line:column: severity CODE name: message`."""
    finding, place = entry.finding, entry.place
    where = paint(f"{printable(place.path)}:{place.line}:{place.column}:", "bold", style)
    rule = f"{finding.rule} {name_of(finding.rule)}:"
    return f"{where} {paint(finding.severity, finding.severity, style)} {rule} {printable(finding.message)}"


def render(report: Report, style: Style) -> Iterator[str]:
    """A line for each finding, marked where `servelint fix` repairs it, and a line that sums up."""
    for entry in report.entries:
        fix = entry.finding.fix
        yield f"{headline(entry, style)}{' [fix]' if fix is not None and fix.safety == 'safe' else ''}\n"
    line = summary_line(report, style)
    if line:
        yield f"{line}\n"
