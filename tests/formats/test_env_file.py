"""The same line, read by four programs; and repairs that change nothing else."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.env_file import (
    DIALECTS,
    append_line,
    move_comment,
    read_env,
    remove_quotes,
    replace_value,
)
from servelint.text import apply_edits

MISSING = object()
# A line, and what docker, Compose, systemd and a shell make of it; MISSING where the program does not take it.
LINES: list[tuple[str, Any, Any, Any, Any]] = [
    ("A=b", "b", "b", "b", "b"),
    ("A=", "", "", "", ""),
    ('A="b c"', '"b c"', "b c", "b c", "b c"),
    ("A='b'", "'b'", "b", "b", "b"),
    ("A=b # c", "b # c", "b", "b # c", "b"),
    ("A=b#c", "b#c", "b#c", "b#c", "b#c"),
    ('A="b" # c', '"b" # c', "b", "b# c", "b"),
    ('A="b # c"', '"b # c"', "b # c", "b # c", "b # c"),
    ("A=b ", "b ", "b", "b", "b"),
    ("A=b c", "b c", "b c", "b c", MISSING),
    ("A= b", " b", "b", "b", MISSING),
    ("A =b", MISSING, "b", "b", MISSING),
    ("  A=b", "b", "b", "b", "b"),
    ("export A=b", MISSING, "b", MISSING, "b"),
    ("A=$B", "$B", None, "$B", None),
    ("A='$B'", "'$B'", "$B", "$B", "$B"),
    ('A="$B"', '"$B"', None, "$B", None),
    ("A=$$B", "$$B", "$B", "$$B", None),
    (r'A="b\"c"', r'"b\"c"', 'b"c', 'b"c', 'b"c'),
    (r'A="b\nc"', r'"b\nc"', "b\nc", r"b\nc", r"b\nc"),
    (r"A=b\c", r"b\c", r"b\c", "bc", "bc"),
    (r"A='b\c'", r"'b\c'", r"b\c", r"b\c", r"b\c"),
    ('A="b"c', '"b"c', "b", "bc", "bc"),
    ('A="b" c', '"b" c', "b", "bc", MISSING),
    ("A: b", MISSING, "b", MISSING, MISSING),
    ("A.B=c", "c", "c", MISSING, MISSING),
    ('A="b\nc"', '"b', "b\nc", "b\nc", "b\nc"),
    ("A=b\\\nc", "b\\", "b\\", "bc", "bc"),
    ("A=b\r", "b", "b", "b", MISSING),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: repr(line[0]))
def test_each_program_reads_the_line_its_own_way(line: tuple[str, Any, Any, Any, Any]) -> None:
    text, *expected = line
    entry = read_env(f"{text}\nZ=z\n").entries[0]
    for dialect, value in zip(DIALECTS, expected, strict=True):
        if dialect == "shell" and text.endswith("\r"):
            continue
        assert entry.interpretations.get(dialect, MISSING) == value, dialect
        alone = read_env(f"{text}\nZ=z\n", dialect)
        first = next((found for found in alone.entries if found.name.startswith("A")), None)
        assert (first.interpretations.get(dialect, MISSING) if first else MISSING) == value, dialect


@pytest.mark.parametrize(
    "line", [line for line in LINES if line[4] not in (MISSING, None)], ids=lambda line: repr(line[0])
)
def test_the_shell_itself_agrees(line: tuple[str, Any, Any, Any, Any]) -> None:
    script = f'{line[0]}\nprintf %s "$A"'
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout == line[4]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab \"'\\#\t=;", max_size=8))
def test_what_is_known_of_a_shell_line_is_what_the_shell_does(rest: str) -> None:
    entry = next((entry for entry in read_env(f"A={rest}\n", "shell").entries if entry.name == "A"), None)
    if entry is None or entry.value is None:
        return
    script = f'A={rest}\nprintf "<%s>" "$A"'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    # A second command on the line may fail, and a second assignment to A win; the first is what is asked here.
    if "A=" not in rest and not done.stderr:
        assert done.stdout == f"<{entry.value}>"


def test_unknown_dialect_knows_a_value_where_all_agree() -> None:
    file = read_env('A=b\nB="c"\nexport C=d\nD=$E\nF=1 # x\n')
    assert [entry.value for entry in file.entries] == ["b", None, "d", None, None]
    assert all(entry.reason for entry in file.entries if entry.value is None)
    assert not file.problems


PARTS = [
    ("A=b # c", "b", "", "# c"),
    ("A=b\t#c", "b", "", "#c"),
    ('A="b"  # c', '"b"', '"', "# c"),
    ("A='b # c'", "'b # c'", "'", None),
    ("A= # c", "", "", "# c"),
    ("A=b#c", "b#c", "", None),
    ("A=  b  ", "b", "", None),
    ('A="b" c', '"b" c', "", None),
    ("A=“b”", "“b”", "“", None),
    ('A="b', '"b', "", None),
    ("A=b c # d # e", "b c", "", "# d # e"),
]


@pytest.mark.parametrize(("line", "value", "quote", "comment"), PARTS)
@pytest.mark.parametrize("dialect", ["docker", "unknown", "compose"])
def test_parts_of_a_line(line: str, value: str, quote: str, comment: str | None, dialect: str) -> None:
    text = f"X=1\n{line}\r\nY=2\n"
    entry = next(entry for entry in read_env(text, dialect).entries if entry.name == "A")
    assert text[entry.span.start : entry.span.end] == value
    assert entry.quote == quote
    assert (text[entry.comment.start : entry.comment.end] if entry.comment else None) == comment
    assert text[entry.whole.start : entry.whole.end] == line
    assert text[entry.name_span.start : entry.name_span.end] == "A"


PROBLEMS = [
    ("docker", "export A=b\n", "export A", "blank"),
    ("docker", "A B=c\n", "A B", "blank"),
    ("docker", "=c\n", "=", "without a name"),
    ("compose", "A B=c\n", "A B", "blank"),
    ("compose", "A!=c\n", "!", "name of a variable"),
    ("compose", 'A="b\n', '"b', "never closed"),
    ("systemd", "export A=b\n", "export A", "ignores"),
    ("systemd", 'A="b\nC=d\n', '"b', "never closed"),
    ("shell", "A=b c\n", "c", "runs"),
    ("shell", "A = b\n", "A", "no blanks"),
    ("shell", "A='b\n", "'b", "never closed"),
]


@pytest.mark.parametrize(("dialect", "text", "place", "words"), PROBLEMS)
def test_problems_of_the_program(dialect: str, text: str, place: str, words: str) -> None:
    (problem,) = read_env(text, dialect).problems
    assert text[problem.span.start : problem.span.end] == place
    assert words in problem.message


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("docker", "# c\n\n  A=b\nB\n"),
        ("compose", "export A=b\nB: c\nD\n# e\nF='a\nb'\n"),
        ("systemd", "; c\nA=b\nnothing\n"),
        ("shell", "set -a\nexport A=b B='c d'\n. ./other.env\n"),
    ],
)
def test_sound_files_have_no_problems(dialect: str, text: str) -> None:
    assert not read_env(text, dialect).problems


def test_bare_names_are_not_set_here() -> None:
    (entry,) = read_env("A\n", "docker").entries
    assert (entry.name, entry.value, entry.is_set) == ("A", None, False)
    assert "environment" in entry.reason


def test_comments_belong_to_the_next_line_or_their_own() -> None:
    text = "# top\nA=b # on\n\n# next\nC=d\n# last\n"
    found = [(comment.text, text[comment.target.start : comment.target.end]) for comment in read_env(text).comments]
    assert found == [("# top", "A=b # on"), ("# on", "A=b # on"), ("# next", "C=d"), ("# last", text)]


MOVED = [
    ("A=b  # c\nC=d\n", "# c\nA=b\nC=d\n"),
    ("  A=b # c\n", "  # c\n  A=b\n"),
    ("X=y\r\nA=b # c \r\n", "X=y\r\n# c \r\nA=b\r\n"),
    ("A=b #c", "#c\nA=b"),
    ('A="b" # c\n', '# c\nA="b"\n'),
]


@pytest.mark.parametrize(("text", "expected"), MOVED)
def test_comment_moves_above(text: str, expected: str) -> None:
    file = read_env(text, "docker")
    assert apply_edits(text, move_comment(file, file.last("A"))) == expected
    again = read_env(expected, "docker")
    assert isinstance(move_comment(again, again.last("A")), str)


UNQUOTED = [
    ("docker", 'A="Qwen/Qwen2.5-7B"\n', "A=Qwen/Qwen2.5-7B\n"),
    ("docker", "A='b c'\r\n", "A=b c\r\n"),
    ("unknown", 'A="8192"\n', "A=8192\n"),
    ("unknown", 'A="b c"\n', None),
    ("docker", 'A="b\\"c"\n', None),
    ("compose", 'A="b\nc"\n', None),
    ("docker", "A=b\n", None),
]


@pytest.mark.parametrize(("dialect", "text", "expected"), UNQUOTED)
def test_quotes_go_where_that_is_safe(dialect: str, text: str, expected: str | None) -> None:
    file = read_env(text, dialect)
    edits = remove_quotes(file, file.entries[0])
    assert isinstance(edits, str) if expected is None else apply_edits(text, edits) == expected


def test_small_edits() -> None:
    text = "# c\r\nexport A=b\r\n"
    file = read_env(text)
    assert apply_edits(text, append_line(file, "N", "1")) == "# c\r\nexport A=b\r\nexport N=1\r\n"
    assert apply_edits("A=b", append_line(read_env("A=b"), "N", "1")) == "A=b\nN=1"
    assert apply_edits("", append_line(read_env(""), "N", "1")) == "N=1\n"
    assert apply_edits("# c\n", append_line(read_env("# c\n"), "N", "1")) == "# c\nN=1\n"
    assert isinstance(append_line(read_env("A=b\n"), "N", "x y"), str)


REPLACED = [
    ("docker", "A=b \n", "c d", "A=c d\n"),
    ("compose", 'A="b" # why\n', "c", 'A="c" # why\n'),
    ("compose", "A=b\n", "c d", "A='c d'\n"),
    ("unknown", "A=b\n", "c", "A=c\n"),
    ("unknown", "A=b\n", "c d", None),
    ("docker", "A=b # why\n", "c", None),
    ("docker", "A\n", "c", None),
    ("docker", "A=b\n", "c\nd", None),
]


@pytest.mark.parametrize(("dialect", "text", "value", "expected"), REPLACED)
def test_value_is_replaced(dialect: str, text: str, value: str, expected: str | None) -> None:
    file = read_env(text, dialect)
    edits = replace_value(file, file.entries[0], value)
    if expected is None:
        assert isinstance(edits, str)
        return
    assert apply_edits(text, edits) == expected
    if dialect in DIALECTS:
        assert read_env(expected, dialect).entries[0].value == value


PIECES = ["A=", "B", "=", "export ", '"', "'", " ", "\t", "#", " # c", "\n", "\r\n", "\r", "\\", "$", "${X}", "b", ";", ":", "`", "(", "é", "\0", "“", "”"]  # fmt: skip  # noqa: E501


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.sampled_from([*DIALECTS, "unknown"]))
def test_any_text_is_read_and_its_edits_are_stable(text: str, dialect: str) -> None:
    file = read_env(text, dialect)
    last = 0
    for entry in file.entries:
        assert last <= entry.whole.start <= entry.name_span.start <= entry.whole.end <= len(text)
        assert entry.whole.covers(entry.span) and entry.whole.covers(entry.name_span)
        last = entry.whole.end
        edits = move_comment(file, entry)
        if not isinstance(edits, str):
            moved = apply_edits(text, edits)
            assert sorted(moved.split()) == sorted(text.split()) or "#" in moved
        for found in (remove_quotes(file, entry), replace_value(file, entry, "x"), append_line(file, "N", "x")):
            if not isinstance(found, str):
                apply_edits(text, found)
    for comment in file.comments:
        assert text[comment.span.start : comment.span.end] == comment.text
