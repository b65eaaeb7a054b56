"""What was found, as text for people and as data for programs: one module a format. Knows no rule.

Each format's module has `render(report, style)`, which yields the output in pieces, and `NEEDS_SERVINGS`, which tells
whether it says more of the deployments than their number.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from servelint.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servelint.report.collect import Report

FORMATS = ("text", "concise", "json", "jsonl")


@record
class Style:
    """How text may look: in colour or not, how many columns there are, and whether to say nothing where all is well."""

    color: bool = False
    width: int = 100
    quiet: bool = False


class Format(Protocol):
    """What a format's module offers."""

    NEEDS_SERVINGS: bool

    def render(self, report: Report, style: Style) -> Iterator[str]:
        """The report in this format, in pieces that make up whole lines."""


def format_named(name: str) -> Format:
    """The format of that name, one of `FORMATS`. Raises KeyError for another."""
    if name not in FORMATS:
        raise KeyError(name)
    module: Format = import_module(f"servelint.report.{name}")
    return module
