"""The line that sums a run up."""

from __future__ import annotations

from servelint.report import Style
from servelint.report.collect import SEVERITIES, VERDICTS, Report
from servelint.report.printing import paint


def counted(number: int, noun: str) -> str:
    """`1 file`, `2,000 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def summary_line(report: Report, style: Style) -> str:
    """What was found in how much, and what can be repaired; empty where all is well and the style is quiet."""
    if report.entries:
        return _problems(report, style)
    if style.quiet:
        return ""
    hidden = f" ({counted(report.hidden, 'finding')} in the baseline)" if report.hidden else ""
    if not report.files:
        seen = f" among {counted(report.seen, 'file')}" if report.seen else ""
        return f"no serving manifest found{seen}: nothing was checked"
    scope = f"{counted(report.files, 'file')}, {counted(report.deployments, 'deployment')}"
    return f"{paint(scope, 'good', style)}: {_all_well(report)}{hidden}"


def _all_well(report: Report) -> str:
    stops, away, unknown = (report.verdicts[verdict] for verdict in VERDICTS)
    total = report.deployments
    if not total:
        return "nothing to report"
    if stops == total:
        return "stops where it should" if total == 1 else "all stop where they should"
    parts = []
    if stops:
        parts.append(f"{stops:,} stops where it should" if stops == 1 else f"{stops:,} stop where they should")
    if away:
        parts.append(f"{away:,} {'runs' if away == 1 else 'run'} away")
    if unknown:
        parts.append(f"{unknown:,} cannot be judged from what was read")
    return f"nothing to report; {', '.join(parts)}"


def _problems(report: Report, style: Style) -> str:
    counts = [
        paint(counted(report.count(severity), severity), severity, style)
        for severity in SEVERITIES
        if report.count(severity)
    ]
    paths = len({entry.place.path for entry in report.entries})
    line = f"{', '.join(counts)} in {counted(paths, 'file')}"
    if report.hidden:
        line += f" ({report.hidden:,} more in the baseline)"
    safe, unsafe = report.fixable("safe"), report.fixable("unsafe")
    if safe:
        line += f"; {safe:,} fixable with `servelint fix`"
    if unsafe:
        line += f"; {unsafe:,} {'more ' if safe else ''}with `servelint fix --unsafe-fixes`"
    return line
