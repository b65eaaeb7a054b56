"""What a rule says: a finding with one primary place, its reasons, and a repair or the reason why there is none."""

from __future__ import annotations

from typing import Literal

from servelint.records import record
from servelint.text import Edit, Span

Severity = Literal["note", "warning", "error"]
Safety = Literal["safe", "unsafe", "display"]
RANK: dict[str, int] = {"note": 1, "warning": 2, "error": 3}


@record
class BytePatch:
    """Bytes to put in the place of others in a file that is no text; `key`, `was` and `becomes` tell it to a person."""

    offset: int
    old: bytes
    new: bytes
    key: str
    was: str
    becomes: str


@record
class Fix:
    """A repair: a title for a person, how safe it is, and edits of the finding's own file (or a patch, of no text)."""

    title: str
    safety: Safety
    edits: tuple[Edit, ...]
    patch: BytePatch | None = None


@record
class Related:
    """A further place that the finding is about, and why."""

    path: str
    span: Span
    message: str


@record
class Finding:
    """One statement of one rule about one place.

    `message` says what was seen and what was expected, `why` what it does to this deployment, `help` what to do.
    Without a `fix`, `no_fix` may say why none can be made here.
    """

    rule: str
    severity: Severity
    path: str
    span: Span
    message: str
    why: str = ""
    help: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    no_fix: str | None = None
