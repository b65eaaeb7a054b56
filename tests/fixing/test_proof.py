"""The proof's own tools: which places edits touch, and which fixes may go together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from servelint.checks.finding import Finding, Fix
from servelint.fixing.proof import _Edited
from servelint.fixing.repair import _overlap, _without_overlaps
from servelint.text import Edit, Span

_spans = st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda place: Span(place[0], place[0] + place[1]))
_edits = st.builds(lambda span, text: Edit(span.start, span.end, text), _spans, st.sampled_from(["", "a", "bc"]))


def _apart(edits: list[Edit]) -> list[Edit]:
    kept: list[Edit] = []
    for edit in edits:
        if not any(_overlap(edit, other) for other in kept):
            kept.append(edit)
    return kept


@given(st.lists(_edits, max_size=12).map(_apart), _spans)
def test_edited_places(edits: list[Edit], span: Span) -> None:
    edited = _Edited(edits)
    assert edited.touches(span) == any(edit.start <= span.end and span.start <= edit.end for edit in edits)
    assert edited.changes(span) == any(edit.start < span.end and span.start < edit.end for edit in edits)


@given(st.lists(st.lists(_edits, min_size=1, max_size=3).map(_apart), max_size=10))
def test_fixes_that_go_together_do_not_overlap(groups: list[list[Edit]]) -> None:
    findings = [
        Finding("SL101", "error", "f", Span(number, number), "m", fix=Fix("t", "safe", tuple(edits)))
        for number, edits in enumerate(groups)
    ]
    taken: set[Edit] = set()
    expected = []
    for finding in findings:
        assert finding.fix is not None
        fresh = [edit for edit in finding.fix.edits if edit not in taken]
        if not any(_overlap(edit, other) for edit in fresh for other in taken):
            taken.update(fresh)
            expected.append(finding)
    assert _without_overlaps(findings) == expected
