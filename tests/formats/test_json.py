"""What a strict reader takes, what a tolerant one still reads, and where it says the faults are."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.json import Node, embedded, find, get, plain, read_json
from servelint.text import Edit, Span, apply_edits
from tests.conftest import SHARED


def reference(text: str) -> tuple[bool, Any]:
    """Whether Python's own reader takes a text, and what it makes of it."""
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return False, None


PIECES = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"b"',
    '"a": 1',
    "1",
    "-1",
    "0",
    "01",
    "1.5",
    "1e5",
    "-",
    "true",
    "false",
    "null",
    "NaN",
    "Infinity",
    "-Infinity",
    " ",
    "\n",
    "\t",
    "\r",
    '"',
    "\\",
    "\\u00e9",
    "\\ud83d",
    "\\ude00",
    "\\n",
    "\\x",
    "\\/",
    "// c\n",
    "/* c */",
    "# x\n",
    "'a'",
    "x",
    "\ufeff",
    "\xa0",
    "\x00",
    "\x0b",
    "é",
    "😀",
    "\ud800",
    "“a”",
    "<<<<<<< a\n",
    "=======\n",
    "{{ x }}",
    "${Y}",
    ".5",
    "5.",
    "+1",
    "\u2028",
    "1_0",
    "0x1",
    "\x1f",
    "\x7f",
    "１",
]
FRAMES = ["%s", "%s", '{"a": %s}', "[%s]", '{"a": 1, %s}', '"%s"', '[1, "%s"]']


@st.composite
def near_json(draw: st.DrawFn) -> str:
    """Texts that are JSON, or nearly."""
    inner = "".join(draw(st.lists(st.sampled_from(PIECES), max_size=8)))
    return draw(st.sampled_from(FRAMES)) % inner


def nodes_of(root: Node | None) -> list[Node]:
    found, pending = [], [root] if root else []
    while pending:
        node = pending.pop()
        found.append(node)
        pending.extend(node.items)
        pending.extend(part for member in node.members for part in (member.key, member.value))
    return found


@settings(max_examples=1500, deadline=None)
@given(near_json())
def test_strict_is_what_the_standard_library_takes(text: str) -> None:
    accepted, value = reference(text)
    file = read_json(text)
    assert file.strict == accepted
    assert file.strict == (not [problem for problem in file.problems if problem.sort != "duplicate-key"])
    if accepted:
        # repr, since NaN does not equal itself.
        assert repr(plain(file.root)) == repr(value)


@settings(max_examples=300, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12), st.booleans(), st.sampled_from([None, 2, "\t"]))  # fmt: skip  # noqa: E501
def test_what_the_standard_library_writes_is_read_back(value: Any, only_ascii: bool, indent: Any) -> None:
    text = json.dumps(value, ensure_ascii=only_ascii, indent=indent)
    file = read_json(text)
    assert file.strict and not file.problems
    assert repr(plain(file.root)) == repr(value)


@settings(max_examples=500, deadline=None)
@given(near_json() | st.text())
def test_spans_are_where_the_values_stand(text: str) -> None:
    for node in nodes_of(read_json(text).root):
        written = text[node.span.start : node.span.end]
        if node.raw:
            assert written == node.raw
        elif node.kind in ("object", "array"):
            assert written[:1] == ("{" if node.kind == "object" else "[")


@settings(max_examples=300, deadline=None)
@given(st.text(), st.booleans(), st.data())
def test_a_text_in_a_string_can_be_edited(text: str, only_ascii: bool, data: st.DataObject) -> None:
    host = '{"a": ' + json.dumps(text, ensure_ascii=only_ascii) + "}"
    inner = embedded(get(read_json(host).root, "a"))
    assert inner.text == text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    new = data.draw(st.text(max_size=5))
    edit = inner.host_edit(Edit(start, end, new))
    assert edit is not None
    assert json.loads(apply_edits(host, [edit]))["a"] == text[:start] + new + text[end:]


def test_escapes_of_every_length_have_their_places() -> None:
    host = r'["\u003c|\/\ud83d\ude00\n\ud800x"]'
    node = find(read_json(host).root, [0])
    inner = embedded(node)
    written = [
        host[span.start : span.end] for span in (inner.host_span(Span(i, i + 1)) for i in range(len(inner.text)))
    ]
    assert written == [r"\u003c", "|", r"\/", r"\ud83d\ude00", r"\n", r"\ud800", "x"]


REFUSED = {
    "trailing comma": ('{"a": 1,}', {"a": 1}, ",", "after the last entry"),
    "trailing comma in a list": ("[1, 2,]", [1, 2], ",", "after the last entry"),
    "line comment": ('{"a": 1 // why\n}', {"a": 1}, "// why", "comment"),
    "block comment": ('{/* why */ "a": 1}', {"a": 1}, "/* why */", "comment"),
    "hash comment": ('# why\n{"a": 1}', {"a": 1}, "# why", "comment"),
    "single quotes": ("{'a': 1}", {"a": 1}, "'a'", "single quotes"),
    "curly quotes": ("{“a”: 1}", {"a": 1}, "“a”", "typographic quotes"),
    "bare key": ("{a: 1}", {"a": 1}, "a", "without double quotes"),
    "bare word": ('{"a": greedy}', {"a": "greedy"}, "greedy", "without double quotes"),
    "Python's words": ('{"a": True}', {"a": True}, "True", "`true`"),
    "plus sign": ("[+1]", [1], "+1", "number"),
    "leading zero": ("[007]", [7], "007", "number"),
    "bare fraction": ("[.5]", [0.5], ".5", "number"),
    "underscores": ("[1_000]", [1000], "1_000", "number"),
    "missing bracket": ('{"a": [1', {"a": [1]}, "", "ends before"),
    "wrong bracket": ('{"a": [1}', {"a": [1]}, "}", "cannot close"),
    "missing comma": ('{"a": 1 "b": 2}', {"a": 1, "b": 2}, "", "comma is missing"),
    "missing comma in a list": ("[1 2]", [1, 2], "", "comma is missing"),
    "missing colon": ('{"a" 1}', {"a": 1}, "", "colon is missing"),
    "equals sign": ('{"a" = 1}', {"a": 1}, "=", "equals sign"),
    "missing value": ('{"a": , "b": 2}', {"a": None, "b": 2}, '"a"', "no value"),
    "key alone": ('{"a"}', {"a": None}, '"a"', "no value"),
    "doubled comma": ("[1,,2]", [1, 2], ",", "no value before"),
    "colon in a list": ('["a": 1]', ["a", 1], ":", "colon in a list"),
    "two values": ('{"a": 1}\n{"b": 2}', {"a": 1}, '{"b": 2}', "after the end"),
    "unclosed quote": ('{"a": "b,\n "c": 1}', {"a": "b", "c": 1}, '"b', "never closed"),
    "line break in a string": ('{"a": "b\nc", "d": 1}', {"a": "b\nc", "d": 1}, "\n", "line break"),
    "tab in a string": ('{"a": "b\tc"}', {"a": "b\tc"}, "\t", "tab"),
    "control character": ('{"a": "b\x01c"}', {"a": "b\x01c"}, "\x01", "control character"),
    "unknown escape": (r'["C:\data"]', ["C:\\data"], r"\d", "no escape"),
    "mark inside": ('{\ufeff"a": 1}', {"a": 1}, "\ufeff", "byte order mark"),
    "no-break space": ('{\xa0"a": 1}', {"a": 1}, "\xa0", "U+00A0"),
    "template": ('{"a": {{ ids }}}', {"a": None}, "{{ ids }}", "template"),
    "variable": ('{"a": ${IDS}}', {"a": None}, "${IDS}", "template"),
    "pointer": (
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        None,
        "version https://git-lfs.github.com/spec/v1",
        "LFS",
    ),
    "web page": ("<!DOCTYPE html>\n<p>", None, "<!DOCTYPE html>", "web page"),
    "nothing": ("", None, "", "empty"),
    "blanks": (" \n", None, "", "empty"),
    "merge": (
        '{\n<<<<<<< ours\n "a": 1\n=======\n "a": 2\n>>>>>>> theirs\n}',
        {"a": 2},
        "<<<<<<< ours",
        "merge",
    ),
    "too many digits": ("[" + "9" * 4301 + "]", [math.inf], "9" * 4301, "digits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_text_is_read_and_the_fault_is_placed(name: str) -> None:
    text, value, place, words = REFUSED[name]
    file = read_json(text)
    assert not reference(text)[0]
    assert not file.strict
    assert plain(file.root) == value
    problem = file.problems[0]
    assert words in problem.message
    assert text[problem.span.start : problem.span.end] == place


TAKEN = [
    '{"a": NaN}',
    "[Infinity, -Infinity]",
    '"\x7f"',
    '"\\ud800"',
    "1e999",
    "[" + "9" * 4300 + "]",
    "-0",
    ' \r\n{"a":[]}\t',
]


@pytest.mark.parametrize("text", TAKEN)
def test_what_python_takes_has_no_problem(text: str) -> None:
    file = read_json(text)
    assert reference(text)[0] and file.strict and not file.problems


def test_digit_limit_is_the_one_of_the_standard_library() -> None:
    assert sys.int_info.default_max_str_digits == 4300


def test_repeated_key_is_taken_and_said_with_the_first() -> None:
    text = '{"a": 1, "b": {"a": 2}, "a": 3}'
    file = read_json(text)
    assert file.strict
    assert plain(file.root) == {"a": 3, "b": {"a": 2}}
    (problem,) = file.problems
    assert (problem.sort, problem.span.start) == ("duplicate-key", text.rindex('"a"'))
    assert problem.related[0][0] == Span(1, 4)
    assert [member.value.raw for member in file.root.members if member.name == "a"] == ["1", "3"]


def test_deep_nesting_is_bounded() -> None:
    assert read_json("[" * 400 + "]" * 400).strict
    deep = read_json("[" * 100_000 + "]" * 100_000)
    assert not deep.strict
    assert "nested deeper" in deep.problems[0].message
    plain(deep.root)


@pytest.mark.parametrize(
    "piece",
    ["{", "}", "[", '"', '"\n', '"\n\\"', "'\n", "[1,/**/", "#\n", "\0", "<<<<<<<\n", "{{", "x ", ":", ",", "[{"],
)
def test_hostile_repetition_is_read_with_few_problems(piece: str) -> None:
    file = read_json(piece * 20_000)
    assert not file.strict
    assert 1 <= len(file.problems) <= 51
    plain(file.root)


COMMENTS = [
    ('// top\n{"a": 1}', '"a": 1'),
    ('{\n  // above\n  "a": 1\n}', '"a": 1'),
    ('{\n  "a": 1, // beside\n  "b": 2\n}', '"a": 1'),
    ('{\n  "a": [1, 2] # beside\n}', '"a": [1, 2]'),
    ('{\n  "a": [\n    1, // one\n    2\n  ]\n}', "1"),
]


@pytest.mark.parametrize(("text", "target"), COMMENTS)
def test_comment_belongs_to_what_it_stands_on_or_above(text: str, target: str) -> None:
    (comment,) = [comment for comment in read_json(text).comments if comment.text.strip("/# ") != "top"] or read_json(
        text
    ).comments
    assert text[comment.span.start : comment.span.end] == comment.text
    if comment.text != "// top":
        assert text[comment.target.start : comment.target.end] == target


def test_paths_lead_to_values() -> None:
    root = read_json('{"a": [{"b": 1}, {"b": 2}], "a": [{"b": 3}]}').root
    assert find(root, ["a", 0, "b"]).value == 3
    assert find(root, ["a", -1, "b"]).value == 3
    assert find(root, ["a", 1]) is None
    assert find(root, ["a", "b"]) is None
    assert find(None, ["a"]) is None


def test_real_generation_configs_agree_with_the_standard_library() -> None:
    folder = SHARED / "corpus" / "generation_configs"
    if not folder.is_dir():
        pytest.skip("needs the folder of real files beside the checkout")
    for path in sorted(folder.glob("*.json")):
        text = path.read_text(encoding="utf-8-sig")
        accepted, value = reference(text)
        file = read_json(text)
        assert file.strict == accepted, path.name
        if accepted:
            assert plain(file.root) == value, path.name
