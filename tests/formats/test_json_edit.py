"""Edits of JSON keep the file's spacing, and change nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.json import find, get, plain, read_json
from servelint.formats.json_edit import (
    add_member,
    insert_first,
    insert_last,
    replace_value,
    scalar_to_list,
    written,
)
from servelint.text import apply_edits


def applied(text: str, edits: Any) -> str:
    assert not isinstance(edits, str), edits
    return apply_edits(text, edits)


TO_LIST = [
    ('{"e": 1}', [9], [], '{"e": [9, 1]}'),
    ('{"e":1,"b":2}', [9], [8], '{"e":[9,1,8],"b":2}'),
    ('{\r\n\t"e": 1\r\n}\r\n', [], [8], '{\r\n\t"e": [1, 8]\r\n}\r\n'),
    ('{"e": "1"}', ["9"], [], '{"e": ["9", "1"]}'),
    ('{"e": 1, "p": [1,2]}', [9], [], '{"e": [9,1], "p": [1,2]}'),
]


@pytest.mark.parametrize(("text", "first", "last", "expected"), TO_LIST)
def test_scalar_becomes_a_list(text: str, first: list[Any], last: list[Any], expected: str) -> None:
    file = read_json(text)
    assert applied(text, scalar_to_list(file, get(file.root, "e"), first, last)) == expected


FIRST = [
    ('{"e": [1, 2]}', '{"e": [9, 1, 2]}'),
    ('{"e": [ 1,2 ]}', '{"e": [ 9,1,2 ]}'),
    ('{"e": []}', '{"e": [9]}'),
    ('{\n  "e": [\n    1,\n    2\n  ]\n}', '{\n  "e": [\n    9,\n    1,\n    2\n  ]\n}'),
    ('{\r\n\t"e": [\r\n\t\t1\r\n\t]\r\n}', '{\r\n\t"e": [\r\n\t\t9,\r\n\t\t1\r\n\t]\r\n}'),
]
LAST = [
    ('{"e": [1, 2]}', '{"e": [1, 2, 9]}'),
    ('{"e":[1]}', '{"e":[1,9]}'),
    ('{"e": [1]}', '{"e": [1, 9]}'),
    ('{"e": [ ]}', '{"e": [9]}'),
    ('{\n  "e": [\n    1,\n    2\n  ]\n}', '{\n  "e": [\n    1,\n    2,\n    9\n  ]\n}'),
    ('{\n  "e": [\n    1, 2,\n    3, 4\n  ]\n}', '{\n  "e": [\n    1, 2,\n    3, 4, 9\n  ]\n}'),
]


@pytest.mark.parametrize(("text", "expected"), FIRST)
def test_item_goes_first(text: str, expected: str) -> None:
    file = read_json(text)
    assert applied(text, insert_first(file, get(file.root, "e"), 9)) == expected


@pytest.mark.parametrize(("text", "expected"), LAST)
def test_item_goes_last(text: str, expected: str) -> None:
    file = read_json(text)
    assert applied(text, insert_last(file, get(file.root, "e"), 9)) == expected


MEMBERS = [
    ('{"a": 1}', None, '{"a": 1, "k": [1, 2]}'),
    ('{"a":1,"b":2}', None, '{"a":1,"b":2,"k":[1,2]}'),
    ('{"a":1,"b":2}', "a", '{"a":1,"k":[1,2],"b":2}'),
    ('{ "a" : 1 }', None, '{ "a" : 1, "k" : [1, 2] }'),
    ("{}", None, '{"k": [1, 2]}'),
    ("{\n}\n", None, '{\n  "k": [1, 2]\n}\n'),
    ('{\n  "a": 1,\n  "b": 2\n}', "a", '{\n  "a": 1,\n  "k": [1, 2],\n  "b": 2\n}'),
    ('{\n  "a": 1,\n  "b": 2\n}', "z", '{\n  "a": 1,\n  "b": 2,\n  "k": [1, 2]\n}'),
    ('{\r\n\t"a": 1\r\n}', None, '{\r\n\t"a": 1,\r\n\t"k": [1, 2]\r\n}'),
    ('{\n    "a": [\n        1\n    ]\n}', None, '{\n    "a": [\n        1\n    ],\n    "k": [1, 2]\n}'),
    ('{"a": 1,\n "b": 2}', None, '{"a": 1,\n "b": 2,\n "k": [1, 2]}'),
]


@pytest.mark.parametrize(("text", "after", "expected"), MEMBERS)
def test_member_is_added(text: str, after: str | None, expected: str) -> None:
    file = read_json(text)
    assert applied(text, add_member(file, file.root, "k", [1, 2], after)) == expected


REPLACED = [
    ('{"e": "1"}', 1, '{"e": 1}'),
    ('{"e": ["1", "2"]}', [1, 2], '{"e": [1, 2]}'),
    ('{"e": [\n  "1",\n  "2"\n]}', [1, 2, 3], '{"e": [\n  1,\n  2,\n  3\n]}'),
    ('{"p": [1, 2], "e": [ "1","2" ]}', [1, 2], '{"p": [1, 2], "e": [ 1,2 ]}'),
    ('{"e": [1]}', [], '{"e": []}'),
    ('{"e": null}', {"x": True}, '{"e": {"x": true}}'),
    ('{"e": 1, "t": "\\u00e9"}', "ü", '{"e": "\\u00fc", "t": "\\u00e9"}'),
    ('{"e": 1, "t": "é"}', "ü", '{"e": "ü", "t": "é"}'),
]


@pytest.mark.parametrize(("text", "value", "expected"), REPLACED)
def test_value_is_replaced(text: str, value: Any, expected: str) -> None:
    file = read_json(text)
    assert applied(text, replace_value(file, get(file.root, "e"), value)) == expected


REPAIRED = [
    ('{\n  "a": [1, 2,],\n  "b": 1,\n}\n', '{\n  "a": [1, 2],\n  "b": 1\n}\n'),
    ('{"a": 1\ufeff}', '{"a": 1}'),
]


def test_broken_text_and_repeated_keys_are_not_edited() -> None:
    broken = read_json('{"e": [1, 2],}')
    assert isinstance(insert_last(broken, get(broken.root, "e"), 9), str)
    doubled = read_json('{"e": [1], "x": [2], "e": [3]}')
    assert isinstance(insert_last(doubled, get(doubled.root, "e"), 9), str)
    assert not isinstance(insert_last(doubled, get(doubled.root, "x"), 9), str)
    assert isinstance(add_member(doubled, doubled.root, "x", 1), str)
    sound = read_json('{"e": [1]}')
    assert isinstance(scalar_to_list(sound, get(sound.root, "e"), [9]), str)
    assert isinstance(insert_last(sound, find(sound.root, ["e", 0]), 9), str)
    assert isinstance(add_member(sound, get(sound.root, "e"), "k", 9), str)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
STYLES = st.sampled_from(
    [{}, {"indent": 2}, {"indent": "\t"}, {"separators": (",", ":")}, {"separators": (" , ", " : ")}]
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "e"]), VALUES), STYLES, VALUES, st.booleans(), st.booleans())
def test_every_edit_changes_exactly_what_it_says(
    data: dict[str, Any], style: dict[str, Any], new: Any, windows: bool, only_ascii: bool
) -> None:
    text = json.dumps(data, ensure_ascii=only_ascii, **style)
    if windows:
        text = text.replace("\n", "\r\n")
    file = read_json(text)
    assert plain(read_json(written(new, file)).root) == new
    added = applied(text, add_member(file, file.root, "k", new))
    assert json.loads(added) == {**data, "k": new}
    assert ("\n" in added.replace("\r\n", "")) == ("\n" in text.replace("\r\n", ""))
    for name, value in data.items():
        node = get(file.root, name)
        assert json.loads(applied(text, replace_value(file, node, new))) == {**data, name: new}
        if isinstance(value, list):
            assert json.loads(applied(text, insert_first(file, node, new)))[name] == [new, *value]
            assert json.loads(applied(text, insert_last(file, node, new)))[name] == [*value, new]
        elif not isinstance(value, dict):
            assert json.loads(applied(text, scalar_to_list(file, node, [new], [new])))[name] == [new, value, new]
