"""Gathers the results of files for a report: places as lines and columns, counts, and what the deployments are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from servelint.checks.finding import Finding
from servelint.records import record
from servelint.text import LineIndex, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from servelint.checks.run import Result
    from servelint.files.context import Context

SEVERITIES = ("error", "warning", "note")
VERDICTS = ("stops", "runs-away", "unknown")


@record
class Place:
    """A place for a person: 1-based lines and columns in characters; the end is behind the last character."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int

    def document(self) -> dict[str, Any]:
        """The place as the data formats name its parts."""
        return {name: getattr(self, name) for name in ("path", "line", "column", "end_line", "end_column")}


@record
class Entry:
    """A finding with its places, and the text it was found in."""

    finding: Finding
    place: Place
    related: tuple[tuple[Place, str], ...]
    text: str
    lines: LineIndex


@record
class Failure:
    """Where servelint itself broke: a paste-ready line, and the file it was about."""

    path: str
    message: str

    def document(self) -> dict[str, Any]:
        """The failure as the data formats name its parts."""
        return {"path": self.path, "message": self.message}


class Report:
    """All results of a run. `files` counts those that are manifests, `seen` all that were read.

    `servings` is filled only where a format asks for it, as `servelint.report.servings.describe` says them. `hidden`
    counts the findings that a baseline hides.
    """

    __slots__ = ("entries", "failures", "files", "hidden", "seen", "servings", "told", "verdicts")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.servings: list[dict[str, Any]] = []
        self.failures: list[Failure] = []
        self.verdicts = dict.fromkeys(VERDICTS, 0)
        self.seen = 0
        self.files = 0
        self.hidden = 0
        self.told: set[tuple[str, str, int, str]] = set()

    def is_new(self, entry: Entry) -> bool:
        """Whether no other file's lint has told the same at the same place."""
        finding = entry.finding
        key = (finding.rule, finding.path, finding.span.start, finding.message)
        known = key in self.told
        self.told.add(key)
        return not known

    @property
    def deployments(self) -> int:
        """How many deployments were found."""
        return sum(self.verdicts.values())

    def count(self, severity: str) -> int:
        """How many findings there are of a severity."""
        return sum(entry.finding.severity == severity for entry in self.entries)

    def fixable(self, safety: str) -> int:
        """How many findings have a repair of that safety."""
        return sum(entry.finding.fix is not None and entry.finding.fix.safety == safety for entry in self.entries)

    def summary(self) -> dict[str, Any]:
        """The counts, as the data formats give them."""
        return {
            "files": self.files,
            "deployments": self.deployments,
            "findings": len(self.entries),
            **{f"{severity}s": self.count(severity) for severity in SEVERITIES},
            "fixable": self.fixable("safe"),
            "hidden": self.hidden,
            "verdicts": dict(self.verdicts),
        }

    def sort(self) -> None:
        """Put everything in the order of paths and places, whatever order the files came in."""
        self.entries.sort(key=_order)
        self.servings.sort(key=lambda serving: (serving["path"], serving["line"]))


def _order(entry: Entry) -> tuple[Any, ...]:
    place, finding = entry.place, entry.finding
    return (place.path, place.line, place.column, finding.rule, place.end_line, place.end_column, finding.message)


class Locator:
    """Turns spans into lines and columns, in the file itself and in the files beside it."""

    __slots__ = ("_context", "_lines", "_path", "_text")

    def __init__(self, path: str, text: str, context: Context) -> None:
        self._path = path
        self._text = text
        self._context = context
        self._lines: dict[str, LineIndex | None] = {}

    def lines(self, path: str) -> LineIndex | None:
        """The lines of a file, None where it cannot be read any more."""
        if path not in self._lines:
            if path == self._path:
                self._lines[path] = LineIndex(self._text)
            else:
                source = self._context.read(path)
                self._lines[path] = LineIndex(source.text) if source is not None else None
        return self._lines[path]

    def place(self, path: str, span: Span) -> Place:
        """Where a span is; the top of the file where its lines cannot be known."""
        lines = self.lines(path)
        if lines is None:
            return Place(path, 1, 1, 1, 1)
        return Place(path, *lines.position(span.start), *lines.position(span.end))

    def line(self, path: str | None, span: Span | None) -> int | None:
        """The line a span begins at, None where there is no span or no file to count in."""
        lines = self.lines(path or self._path) if span is not None else None
        return lines.position(span.start)[0] if lines is not None and span is not None else None


def entries_of(result: Result, context: Context) -> list[Entry]:
    """The findings of one file with their places."""
    if not result.findings:
        return []
    locator = Locator(result.path, result.text, context)
    return [_entry(finding, result, locator) for finding in result.findings]


def _entry(finding: Finding, result: Result, locator: Locator) -> Entry:
    text, lines = result.text, locator.lines(result.path)
    assert lines is not None
    related = tuple((locator.place(other.path, other.span), other.message) for other in finding.related)
    return Entry(finding, locator.place(finding.path, finding.span), related, text, lines)


def gather(
    results: Iterable[tuple[Result, Context]],
    keep: Callable[[Result, list[Entry]], list[Entry]],
    with_servings: bool,
) -> Report:
    """The report of a run; `keep` chooses the entries of each file that are reported (a baseline hides the others)."""
    report = Report()
    for result, context in results:
        report.seen += 1
        report.failures.extend(Failure(result.path, message) for message in result.internal)
        if result.kind is not None:
            report.files += 1
        for deployment in result.deployments:
            report.verdicts[deployment.verdict] = report.verdicts.get(deployment.verdict, 0) + 1
        if with_servings and result.deployments:
            from servelint.report.servings import describe

            locator = Locator(result.path, result.text, context)
            report.servings.extend(describe(deployment, locator) for deployment in result.deployments)
        # An env file and the script that hands it on may both tell what one line of the script brings about.
        entries = [entry for entry in entries_of(result, context) if report.is_new(entry)]
        kept = keep(result, entries) if entries else entries
        report.hidden += len(entries) - len(kept)
        report.entries.extend(kept)
    report.sort()
    return report
