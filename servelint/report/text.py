"""Text for people: each finding with the line it is about, why it matters, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.report import Style
from servelint.report.collect import Entry, Place, Report
from servelint.report.concise import headline
from servelint.report.printing import paint, printable, shown
from servelint.report.summary import summary_line

NEEDS_SERVINGS = False
_LEAST_ROOM = 20


def render(report: Report, style: Style) -> Iterator[str]:
    """Every finding as a block of lines, and a line that sums up."""
    for entry in report.entries:
        yield "".join(f"{line}\n" for line in _block(entry, style)) + "\n"
    line = summary_line(report, style)
    if line:
        yield f"{line}\n"


def _block(entry: Entry, style: Style) -> Iterator[str]:
    finding = entry.finding
    yield headline(entry, style)
    gutter = len(str(entry.place.line))
    yield from _excerpt(entry, gutter, style)
    pad = " " * (gutter + 1)
    for place, message in entry.related:
        yield _labelled(pad, "see", f"{_where(place)}: {printable(message)}", style)
    if finding.why:
        yield _labelled(pad, "why", printable(finding.why), style)
    if finding.help:
        yield _labelled(pad, "help", printable(finding.help), style)
    if finding.fix is not None:
        yield _labelled(pad, "fix", f"{printable(finding.fix.title)} ({_SAFETY[finding.fix.safety]})", style)
    elif finding.no_fix:
        yield _labelled(pad, "no fix", printable(finding.no_fix), style)


_SAFETY = {"safe": "safe", "unsafe": "unsafe: changes what is served", "display": "to be made by hand"}


def _labelled(pad: str, label: str, text: str, style: Style) -> str:
    """A line with a label, broken at blanks so that it fits, its further lines set in below the first."""
    room = max(_LEAST_ROOM, style.width - len(pad) - len(label) - 4)
    rows, row = [], ""
    for word in text.split(" "):
        if row and len(row) + 1 + len(word) > room:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}" if row else word
    rows.append(row)
    indent = f"\n{pad}{' ' * (len(label) + 4)}"
    return f"{pad}{paint(f'= {label}:', 'dim', style)} {indent.join(rows)}"


def _where(place: Place) -> str:
    return f"{printable(place.path)}:{place.line}:{place.column}"


def _excerpt(entry: Entry, gutter: int, style: Style) -> Iterator[str]:
    place, lines = entry.place, entry.lines
    if not entry.text or place.path != entry.finding.path or place.line > lines.lines:
        return
    start = lines.line_start(place.line)
    end = lines.line_start(place.line + 1) if place.line < lines.lines else len(entry.text)
    line = entry.text[start:end].rstrip("\r\n")
    spans_more = place.end_line > place.line and place.end_column > 1
    last = place.end_column - 1 if place.end_line == place.line else len(line)
    room = max(_LEAST_ROOM, style.width - gutter - 3)
    visible, column, wide = shown(line, place.column - 1, last, room)
    bar = paint("|", "dim", style)
    yield f"{' ' * gutter} {bar}"
    yield f"{paint(str(place.line), 'dim', style)} {bar} {visible}".rstrip()
    marks = paint("^" * wide, entry.finding.severity, style)
    more = paint(f" … to line {place.end_line}", "dim", style) if spans_more else ""
    yield f"{' ' * gutter} {bar} {' ' * column}{marks}{more}"
