"""Excerpts: the caret stands under the place, whatever the characters before it are."""

from __future__ import annotations

from unicodedata import category, east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.report.printing import printable, shown


def columns(text: str) -> int:
    """The columns of a text of printable characters, counted independently."""
    return sum(0 if category(c) in ("Mn", "Me") else 2 if east_asian_width(c) in "WF" else 1 for c in text)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain äöü 漢字", "plain äöü 漢字"),
        ("a\tb\r\n", "a\\tb\\r\\n"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\udc80\ud800", "\\x80\\ud800"),
        ("\u202e\u2028\ufeff\xa0", "\\u202e\\u2028\\ufeff\\xa0"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_printable(text: str, safe: str) -> None:
    assert printable(text) == safe


def test_a_long_message_is_cut() -> None:
    assert len(printable("x" * 100_000)) == 2000


@pytest.mark.parametrize(
    ("line", "part", "visible", "before"),
    [
        ("key: value", "value", "key: value", 5),
        ("\tkey:\tvalue", "value", "    key:    value", 12),
        ("a\tvalue", "value", "a   value", 4),
        ("漢字: value", "value", "漢字: value", 6),
        ("e\u0301: value", "value", "e\u0301: value", 3),
        ("\x1b: value", "value", "\\x1b: value", 6),
        ("ｆｕｌｌ value", "value", "ｆｕｌｌ value", 9),
    ],
)
def test_the_caret_stands_under_the_place(line: str, part: str, visible: str, before: int) -> None:
    start = line.index(part)
    assert shown(line, start, start + len(part), 80) == (visible, before, columns(part))


def test_width_of_wide_and_missing_places() -> None:
    assert shown("漢字", 0, 2, 80)[1:] == (0, 4)
    assert shown("abc", 3, 3, 80)[1:] == (3, 1)
    assert shown("", 0, 0, 80) == ("", 0, 1)


@pytest.mark.parametrize("start", [0, 500, 99_990])
def test_a_long_line_is_cut_around_the_place(start: int) -> None:
    line = "x" * start + "HERE" + "y" * (100_000 - start)
    visible, column, wide = shown(line, start, start + 4, 60)
    assert visible[column : column + wide] == "HERE"
    assert columns(visible) <= 60
    assert visible.endswith("…") is (start < 99_990)
    assert visible.startswith("…") is (start > 0)


def test_a_place_that_is_longer_than_the_line_may_be() -> None:
    visible, column, wide = shown("k: " + "v" * 1000, 3, 1003, 40)
    assert columns(visible) <= 40
    assert column + wide <= 40
    assert visible[column] == "v"


@given(st.text(st.characters(exclude_characters="\r\n"), max_size=80), st.data(), st.integers(12, 60))
def test_what_is_marked_is_what_is_there(line: str, data: st.DataObject, room: int) -> None:
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, len(line)))
    visible, column, wide = shown(line, start, end, room)
    assert visible.isprintable()
    assert wide >= 1
    # One column more: a mark behind the last character.
    assert column + wide <= room + 1 or start == len(line)
    assert columns(visible) <= room
