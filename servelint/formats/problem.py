"""What a reader has to say of a text that its format's own program refuses."""

from __future__ import annotations

from servelint.records import record
from servelint.text import Span


@record
class Problem:
    """A fault of syntax: what the format's own reader says, and where.

    `sort` is `syntax` (the reader refuses the file), `unclosed-quote` or `duplicate-key`; `related` points to what the
    fault is about (the first of two keys, the quote that is never closed), with a word of its own.
    """

    message: str
    span: Span
    sort: str = "syntax"
    related: tuple[tuple[Span, str], ...] = ()


@record
class Comment:
    """A comment as it stands in the text, and the node it belongs to: the one it stands on or above."""

    span: Span
    text: str
    target: Span
