"""Compose's interpolation: what a text becomes, what it refuses, and where everything stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.filling import UNKNOWN, Filled
from servelint.formats.interpolation import interpolate
from servelint.text import Edit, Span, apply_edits, verbatim

VALUES = {"SET": "value", "EMPTY": "", "OTHER": "b c", "Mixed_1": "m"}


def fill(text: str, start: int = 0) -> Filled:
    return interpolate(verbatim(text, start), VALUES)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("no dollar", "no dollar"),
        ("", ""),
        ("$SET", "value"),
        ("${SET}", "value"),
        ("$SET-x", "value-x"),
        ("a$SET.b", "avalue.b"),
        ("$Mixed_1!", "m!"),
        ("${SET}${SET}", "valuevalue"),
        ("$$SET", "$SET"),
        ("$${SET}", "${SET}"),
        ("$$$SET", "$value"),
        ("$$$$", "$$"),
        ("a$$", "a$"),
        ("$EMPTY", ""),
        ("${SET:-x}", "value"),
        ("${SET-x}", "value"),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY-x}", ""),
        ("${SET:?gone}", "value"),
        ("${SET?gone}", "value"),
        ("${EMPTY?gone}", ""),
        ("${SET:+x}", "x"),
        ("${SET+x}", "x"),
        ("${EMPTY:+x}", ""),
        ("${EMPTY+x}", "x"),
        ("${EMPTY:-}", ""),
        ("${EMPTY:-a-b:-c?d}", "a-b:-c?d"),
        ("${EMPTY:-$SET}", "value"),
        ("${EMPTY:-${SET}}", "value"),
        ("${EMPTY:-${EMPTY:-${OTHER}}}!", "b c!"),
        ("${EMPTY:-a$$b}", "a$b"),
        ("${SET:+<${OTHER}>}", "<b c>"),
        # Braces of their own do not count: the first closing one ends the slot (getFirstBraceClosingIndex).
        ('${EMPTY:-{"a": 1}}', '{"a": 1}'),
        ("${EMPTY:-{x}", "{x"),
        ("a\nb $SET\n", "a\nb value\n"),
    ],
)
def test_what_is_known(text: str, made: str) -> None:
    filled = fill(text)
    assert (filled.inner.text, filled.names, filled.invalid) == (made, (), None)


@pytest.mark.parametrize(
    ("text", "made", "names", "guess"),
    [
        ("$GONE", "?", ("GONE",), None),
        ("${GONE}", "?", ("GONE",), None),
        # Names are told apart by the case of their letters, though the pattern does not look at it.
        ("$set", "?", ("set",), None),
        ("a-$GONE-b", "a-?-b", ("GONE",), None),
        ("${GONE:-x}", "?", ("GONE",), "x"),
        ("${GONE-x y}", "?", ("GONE",), "x y"),
        ("${GONE:-}", "?", ("GONE",), ""),
        ("${GONE:?must be set}", "?", ("GONE",), None),
        ("${EMPTY:?must be set}", "?", ("EMPTY",), None),
        ("${GONE:+x}", "?", ("GONE",), None),
        ("${GONE:-$SET}", "?", ("GONE",), "value"),
        ("${GONE:-${LOST:-x}}", "?", ("GONE",), "x"),
        ("${GONE:-${LOST}}", "?", ("GONE",), None),
        ("${GONE:-a$$b}", "?", ("GONE",), "a$b"),
        ("${EMPTY:-${LOST:-x}}", "?", ("LOST",), "x"),
        ("${GONE:-a}/${LOST:-b}", "?/?", ("GONE", "LOST"), "a/b"),
        ("${GONE:-a}/${LOST}", "?/?", ("GONE", "LOST"), None),
        ("$SET/$GONE", "value/?", ("GONE",), None),
    ],
)
def test_what_comes_from_outside(text: str, made: str, names: tuple[str, ...], guess: str | None) -> None:
    filled = fill(text)
    assert filled.invalid is None
    assert filled.inner.text.replace(UNKNOWN, "?") == made
    assert filled.names == names
    assert filled.guess(0, filled.inner.text) == guess


def test_a_default_is_that_of_its_own_slot() -> None:
    filled = fill("${A:-1} ${B:-2} ${C:-3}")
    assert filled.guess(2, filled.inner.text[2:3]) == "2"
    assert filled.guess(4, f"x{UNKNOWN}y") == "x3y"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("a $", "$"),
        ("$ a", "$ "),
        ("$(cat f)", "$("),
        ("$1", "$1"),
        ("$-", "$-"),
        ("x ${A[@]} y", "${A[@]}"),
        ("${}", "${}"),
        ("${1}", "${1}"),
        ("${ SET }", "${ SET }"),
        ("${SET", "${SET"),
        ("${SET:x}", "${SET:x}"),
        ("${SET%%x}", "${SET%%x}"),
        ("${#SET}", "${#SET}"),
        ("$$$(x)", "$("),
        ("${EMPTY:-$(x)}", "$("),
        ("$(a) ${B[0]}", "$("),
    ],
)
def test_what_compose_refuses(text: str, refused: str) -> None:
    filled = fill(text)
    assert filled.invalid is not None
    assert text[filled.invalid.start : filled.invalid.end] == refused
    assert UNKNOWN in filled.inner.text


@pytest.mark.parametrize(
    ("text", "part", "literal"),
    [
        ("a$SET", "a", True),
        ("a$SET", "value", False),
        ("a$GONE", UNKNOWN, False),
        # An escaped dollar sign is written out here, if otherwise.
        ("a$$b", "a$b", True),
        ("${EMPTY:-xyz}", "xyz", True),
    ],
)
def test_what_is_written_out(text: str, part: str, literal: bool) -> None:
    filled = fill(text)
    start = filled.inner.text.index(part)
    assert filled.is_literal(Span(start, start + len(part))) is literal


def test_every_character_has_its_place() -> None:
    text = "a $$b ${SET:-x} ${GONE}z"
    filled = fill(text, 10)
    inner = filled.inner
    for part, written in (("a", "a"), ("$", "$$"), ("b", "b"), ("z", "z")):
        start = inner.text.index(part)
        place = inner.host_span(Span(start, start + 1))
        assert text[place.start - 10 : place.end - 10] == written
    start = inner.text.index(UNKNOWN)
    assert inner.host_span(Span(start, start + 1)).start == 10 + text.index("${GONE}")


def test_depth_is_bounded() -> None:
    nested = "x"
    for _ in range(40):
        nested = f"${{GONE:-{nested}}}"
    filled = fill(nested)
    assert filled.names == ("GONE",)
    assert filled.guess(0, filled.inner.text) is None


ANY = st.text(st.sampled_from("aSET_EMPTY{}$:-?+[(\n 1é"), max_size=40)


@given(ANY)
def test_any_text_is_read_and_mapped(text: str) -> None:
    filled = fill(text, 3)
    inner = filled.inner
    assert len(inner.offsets) == len(inner.text) + 1
    assert list(inner.offsets) == sorted(inner.offsets)
    assert all(3 <= offset <= 3 + len(text) for offset in inner.offsets)
    assert inner.text.count(UNKNOWN) == len(filled.names) == len(filled.guesses)
    for place in range(len(inner.text)):
        if filled.is_literal(Span(place, place + 1)) and inner.text[place] != "$":
            assert text[inner.offsets[place] - 3] == inner.text[place]


@given(st.text(st.sampled_from("aé{}$:- \n"), max_size=30))
def test_a_doubled_dollar_sign_is_read_back(text: str) -> None:
    filled = fill(text.replace("$", "$$"))
    assert (filled.inner.text, filled.invalid, filled.supplied) == (text, None, ())


@given(st.sampled_from(["x y", "x$$y", "$SET y"]), st.text(st.sampled_from("ab$ {}"), max_size=10))
def test_new_text_is_read_back(text: str, new: str) -> None:
    inner = fill(text).inner
    end = len(inner.text)
    edit = inner.host_edit(Edit(end, end, new))
    assert edit is not None
    assert fill(apply_edits(text, [edit])).inner.text == inner.text + new


@given(st.lists(st.sampled_from(["$SET", "${SET}", "a", " ", "$$", "${EMPTY:-x}", "${OTHER-y}", "${SET:+z}"])))
def test_simple_slots_are_what_a_pattern_makes_of_them(parts: list[str]) -> None:
    def slot(found: re.Match[str]) -> str:
        if found[0] == "$$":
            return "$"
        name, operator, rest = found[1] or found[2], found[3] or "", found[4] or ""
        value = VALUES[name]
        if operator == ":+":
            return rest if value else ""
        return rest if operator == ":-" and not value else value

    # A plain name would go on into a letter behind it.
    text = "".join(f"{part}." for part in parts)
    expected = re.sub(r"\$\$|\$(\w+)|\$\{(\w+)(?:(:?[-+])([^}]*))?\}", slot, text)
    assert fill(text).inner.text == expected
