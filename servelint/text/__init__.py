"""Bytes to text and back: sources, spans, edits, and texts inside texts. Knows no format."""

from servelint.text.embedded import Embedded, verbatim
from servelint.text.source import Source, decode
from servelint.text.spans import Edit, LineIndex, OverlapError, Span, apply_edits

__all__ = ["Edit", "Embedded", "LineIndex", "OverlapError", "Source", "Span", "apply_edits", "decode", "verbatim"]
