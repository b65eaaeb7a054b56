"""The report as one JSON document (`schemas/report.schema.json`): a stable contract for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from servelint.checks.catalogue import name_of
from servelint.report import Style
from servelint.report.collect import Entry, Report

NEEDS_SERVINGS = True
VERSION = 1


def render(report: Report, style: Style) -> Iterator[str]:  # noqa: ARG001 (the formats' common signature)
    """The document, with a line for every finding, serving and error; all of it in ASCII."""
    yield f'{{"version": {VERSION},\n'
    yield from _list("findings", map(finding_document, report.entries))
    yield from _list("servings", report.servings)
    yield from _list("errors", (failure.document() for failure in report.failures))
    yield f'"summary": {json.dumps(report.summary())}}}\n'


def _list(name: str, documents: Any) -> Iterator[str]:
    lines = ",\n".join(json.dumps(document) for document in documents)
    yield f'"{name}": [\n{lines}\n],\n' if lines else f'"{name}": [],\n'


def finding_document(entry: Entry) -> dict[str, Any]:
    """A finding as the contract names its parts."""
    finding, fix = entry.finding, entry.finding.fix
    return {
        "rule": finding.rule,
        "name": name_of(finding.rule),
        "severity": finding.severity,
        **entry.place.document(),
        "message": finding.message,
        "why": finding.why,
        "help": finding.help,
        "related": [{**place.document(), "message": message} for place, message in entry.related],
        "fix": None
        if fix is None
        else {
            "safety": fix.safety,
            "title": fix.title,
            "edits": [{"start": edit.start, "end": edit.end, "text": edit.text} for edit in fix.edits],
        },
    }
