"""Spans, edits and the line index."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.text import Edit, LineIndex, OverlapError, Span, apply_edits


def test_edits_are_made_in_any_order() -> None:
    edits = [Edit(5, 5, "!"), Edit(0, 1, "J"), Edit(0, 1, "J")]
    assert apply_edits("hello", edits) == "Jello!"


def test_overlap_is_refused() -> None:
    with pytest.raises(OverlapError):
        apply_edits("hello", [Edit(0, 3, "a"), Edit(2, 4, "b")])


@given(
    st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), st.text(max_size=4)), max_size=4)
)
def test_text_outside_the_edits_stays(text: str, raw: list[tuple[int, int, str]]) -> None:
    edits, position = [], 0
    for gap, width, new in raw:
        start = min(position + gap, len(text))
        end = min(start + width, len(text))
        edits.append(Edit(start, end, new))
        position = end + 1
    edits = [edit for edit in edits if edit.start <= len(text)]
    kept = []
    last = 0
    for edit in sorted(set(edits)):
        kept.append(text[last : edit.start])
        last = edit.end
    kept.append(text[last:])
    try:
        result = apply_edits(text, edits)
    except OverlapError:
        return
    position = 0
    for piece in kept:
        position = result.index(piece, position) + len(piece)


@given(st.text(alphabet="ab\r\n\u2028\x0c", max_size=40))
def test_positions_count_lf_crlf_and_cr_only(text: str) -> None:
    index = LineIndex(text)
    lines = re.split("\r\n|\r|\n", text)
    assert index.lines == len(lines)
    for offset in range(len(text) + 1):
        line, column = index.position(offset)
        assert index.line_start(line) + column - 1 == offset


def test_spans() -> None:
    assert Span(1, 5).covers(Span(2, 5))
    assert not Span(1, 5).covers(Span(0, 2))
    assert Span(1, 3).touches(Span(3, 4))
