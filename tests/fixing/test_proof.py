"""The proof: which places edits touch, which fixes may go together, what of a YAML file may differ."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from servelint.checks.finding import Finding, Fix
from servelint.fixing.proof import _Edited, _prove_yaml
from servelint.fixing.repair import _overlap, _without_overlaps
from servelint.formats.yaml import plain, read_yaml
from servelint.manifests.serving import Manifest
from servelint.text import Edit, Span, apply_edits
from tests.formats.test_yaml_edit_corpus import Change, changes_of, is_read_by_both, manifests

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


def _manifest(text: str) -> Manifest:
    return Manifest("values.yaml", "kubernetes", text, "yaml", comments=read_yaml(text).comments)


def _apart_from(one: Change, other: Change) -> bool:
    """Whether two scalars stand in collections of which neither holds the other."""
    left, right = (one.document, *one.way[:-1]), (other.document, *other.way[:-1])
    return left != right[: len(left)] and right != left[: len(right)]


@settings(max_examples=30)
@given(manifests())
def test_right_edits_of_yaml_are_proven_and_others_are_not(text: str) -> None:
    assume(is_read_by_both(text))
    old = _manifest(text)
    changes = changes_of(text)
    for change in changes[:12]:
        assert _prove_yaml(old, _manifest(apply_edits(text, change.edits)), change.edits) is None
    replaced = [change for change in changes if change.sort == "replace" and change.texts == ("<|im_end|>",)]
    for said, made in zip(replaced[:8], reversed(replaced), strict=False):
        after = apply_edits(text, made.edits)
        if _apart_from(said, made) and plain(after) != plain(text):
            assert _prove_yaml(old, _manifest(after), said.edits) is not None


@pytest.mark.parametrize(
    ("text", "place", "new", "proven"),
    [
        # Behind the comment of the last item, at the end of all that the document says.
        ("a:\n- x  # c\n", 11, "\n- y", True),
        ("a:\n- x  # c", 11, "\n- y", True),
        ("a:\n-  # c\n", 9, "\n- y", True),
        # Lists that end at one place: each of them may be the one that grows.
        ("- - x\n", 5, "\n- y", True),
        ("- - x\n", 5, "\n  - y", True),
        ("- a: [1]\n  b:\n  - x\n", 19, "\n- y", True),
        # What begins with `---` is read under YAML 1.1 too.
        ("---\non: 1\nyes: [x]\n", 17, ", y", True),
        # Another list, an item less, an item before.
        ("a:\n- x\nb:\n- y\n", 13, "\nc: 1\n", True),
        ("a: [x, y]\nb: [z]\n", 8, "]\nc: [1", False),
        ("a:\n- x\nb: 1\n", 6, "\n- y\nb: 2", False),
    ],
)
def test_what_may_grow(text: str, place: int, new: str, proven: bool) -> None:
    edit = Edit(place, place, new)
    reason = _prove_yaml(_manifest(text), _manifest(apply_edits(text, (edit,))), (edit,))
    assert (reason is None) is proven, reason
