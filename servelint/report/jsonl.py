"""The report as JSON lines, each an object with its `type`: for streams, and for files that grow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from servelint.report import Style
from servelint.report.collect import Report
from servelint.report.json import VERSION, finding_document

NEEDS_SERVINGS = True


def render(report: Report, style: Style) -> Iterator[str]:  # noqa: ARG001 (the formats' common signature)
    """A line for each finding, serving and error, and the summary as the last one."""
    for entry in report.entries:
        yield _line("finding", finding_document(entry))
    for serving in report.servings:
        yield _line("serving", serving)
    for failure in report.failures:
        yield _line("error", failure.document())
    yield _line("summary", {"version": VERSION, **report.summary()})


def _line(sort: str, document: dict[str, Any]) -> str:
    return json.dumps({"type": sort, **document}) + "\n"
