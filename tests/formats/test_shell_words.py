"""The splitters of strings that are cut like shell words without a shell."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.shell import quote_word, split_words
from servelint.text import Edit, apply_edits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("serve m --port 9", ["serve", "m", "--port", "9"]),
        ("  a\tb\nc\r\n", ["a", "b", "c"]),
        ("--x '{\"a\": 1}'", ["--x", '{"a": 1}']),
        ('--x "{\\"a\\": 1}"', ["--x", '{"a": 1}']),
        ("a\\ b 'c'\"d\"", ["a b", "cd"]),
        ("a '' \"\"", ["a", "", ""]),
        ("# no comment", ["#", "no", "comment"]),
        ("a \\\n b", ["a", "\n", "b"]),
        ('"a\\nb\\tc"', ["a\nb\tc"]),
        ("'a\\nb'", ["a\\nb"]),
        ("$X ${Y} $(a b) `c d`", ["$X", "${Y}", "$(a b)", "`c d`"]),
        ("a'(b)'", ["a(b)"]),
    ],
)
def test_compose(text: str, words: list[str]) -> None:
    split = split_words(text)
    assert split.problem is None
    assert [word.text for word in split.words] == words


@pytest.mark.parametrize(
    ("text", "words", "stop"), [("a b; c", ["a", "b"], 3), ("a 2>x", ["a"], 3), ("a&&b", ["a"], 1)]
)
def test_compose_stops_at_an_operator(text: str, words: list[str], stop: int) -> None:
    split = split_words(text)
    assert [word.text for word in split.words] == words
    assert split.stop == stop


@pytest.mark.parametrize(
    ("text", "dialect", "at", "sort"),
    [
        ("a 'b", "compose", 2, "unclosed-quote"),
        ('a "b', "posix", 2, "unclosed-quote"),
        ("a (b)", "compose", 2, "syntax"),
        ("a $(b", "compose", 3, "syntax"),
        ("a \\", "posix", 2, "syntax"),
    ],
)
def test_problems(text: str, dialect: str, at: int, sort: str) -> None:
    problem = split_words(text, 10, dialect).problem
    assert problem is not None
    assert (problem.span.start, problem.sort) == (10 + at, sort)


def test_places_count_from_the_start_given() -> None:
    word = split_words("a 'b c'", 100).words[1]
    assert (word.span.start, word.span.end, word.quote) == (102, 107, "'")
    assert word.inner is not None
    assert list(word.inner.offsets) == [103, 104, 105, 106]


@given(st.text(st.sampled_from("ab \\'\"$n\n\t#;"), max_size=20))
def test_posix_is_shlex(text: str) -> None:
    split = split_words(text, 0, "posix")
    try:
        expected = shlex.split(text)
    except ValueError:
        assert split.problem is not None
        return
    assert split.problem is None
    assert [word.text for word in split.words] == expected


@given(
    st.sampled_from(["'a b'", '"a b"', "ab", "a\\ b", "--x='{}'"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=10),
    st.sampled_from(["compose", "posix"]),
)
def test_edits_are_read_back(written: str, new: str, dialect: str) -> None:
    text = f"x {written} y"
    word = split_words(text, 0, dialect).words[1]
    assert word.inner is not None
    assert word.text is not None
    at = len(word.text)
    edit = word.inner.host_edit(Edit(at, at, new))
    assert edit is not None
    again = split_words(apply_edits(text, [edit]), 0, dialect)
    assert [word.text for word in again.words] == ["x", word.text + new, "y"]


def test_no_word_holds_a_nul() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote_word("a\0b")
