"""The YAML editor: tables of edits, and properties on real manifests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.yaml import (
    Node,
    YamlFile,
    YamlRefusal,
    embedded,
    find,
    plain,
    read_yaml,
    scalar_type,
    value,
    walk,
)
from servelint.formats.yaml_edit import append_items, insert_items, insert_key, replace_scalar, split_item
from servelint.text import Edit, apply_edits

TEXTS = [
    "<|im_end|>", "--flag", "16384", "true", "a: b", "# x", 'say "hi"', "it's", '{"a": 1}', "", " lead", "é", "null",
    "2024-01-01", "a,b", "-1", "1e3", "0o17", "x:y", "- a", "%x", "@x", "~", "<<", "=", "12:30", "\x07", "yes", ".inf",
    "\n",
]  # fmt: skip


def opened(text: str, path: list[str | int]) -> tuple[YamlFile, Node]:
    file = read_yaml(text)
    node = find(file.documents[-1], path)
    assert node is not None
    return file, node


def edited(text: str, answer: tuple[Edit, ...] | YamlRefusal) -> str:
    assert not isinstance(answer, YamlRefusal), answer.reason
    return apply_edits(text, answer)


# New items


@pytest.mark.parametrize(
    ("text", "path", "new", "expected"),
    [
        # The list's own column, indented or not.
        ("args:\n- a\n- b\nenv: 1\n", ["args"], ["c"], "args:\n- a\n- b\n- c\nenv: 1\n"),
        ("args:\n    - a\nenv: 1\n", ["args"], ["c", "d"], "args:\n    - a\n    - c\n    - d\nenv: 1\n"),
        ("args:\n  -   a\n", ["args"], ["c"], "args:\n  -   a\n  -   c\n"),
        # Comments before, between, behind.
        ("args:\n  # one\n  - a\n  # two\n  - b  # three\n\n  # four\nenv: 1\n", ["args"], ["c"],
         "args:\n  # one\n  - a\n  # two\n  - b  # three\n  - c\n\n  # four\nenv: 1\n"),
        ("args:\n  - a\n  # - b\n", ["args"], ["c"], "args:\n  - a\n  - c\n  # - b\n"),
        # Line breaks, and a missing last one.
        ("args:\r\n  - a\r\nenv: 1\r\n", ["args"], ["c"], "args:\r\n  - a\r\n  - c\r\nenv: 1\r\n"),
        ("args:\n  - a", ["args"], ["c"], "args:\n  - a\n  - c"),
        ("args:\r\n  - a", ["args"], ["c"], "args:\r\n  - a\r\n  - c"),
        ("args:\n  - a  \n", ["args"], ["c"], "args:\n  - a  \n  - c\n"),
        # Quotes as the siblings have them.
        ('args:\n  - "a"\n', ["args"], ["c"], 'args:\n  - "a"\n  - "c"\n'),
        ("args:\n  - 'a'\n", ["args"], ["it's"], "args:\n  - 'a'\n  - 'it''s'\n"),
        ("args:\n  - 'a'\n", ["args"], ["\n"], "args:\n  - 'a'\n  - \"\\n\"\n"),
        ("args:\n  - --a\n  - \"16\"\n", ["args"], ["--c", "32"], 'args:\n  - --a\n  - "16"\n  - --c\n  - "32"\n'),
        ("args:\n  - --a\n  - '16'\n", ["args"], ["32"], "args:\n  - --a\n  - '16'\n  - '32'\n"),
        ("args:\n  - a\n", ["args"], ["<|im_end|>", "true", "# x"],
         'args:\n  - a\n  - "<|im_end|>"\n  - "true"\n  - "# x"\n'),
        ('args:\n  - "--x"\n', ["args"], ['{"a": 1}'], 'args:\n  - "--x"\n  - \'{"a": 1}\'\n'),
        # Items that are no scalars, and blocks of lines.
        ("a:\n  - k: 1\n    l:\n      - x\n  # c\nb: 1\n", ["a"], ["c"],
         "a:\n  - k: 1\n    l:\n      - x\n  - c\n  # c\nb: 1\n"),
        ("a:\n  - |\n    x\n\n# c\nb: 1\n", ["a"], ["c"], "a:\n  - |\n    x\n  - c\n\n# c\nb: 1\n"),
        ("a:\n  - |+\n    x\n\nb: 1\n", ["a"], ["c"], "a:\n  - |+\n    x\n\n  - c\nb: 1\n"),
        ("a:\n  - |-\n    x", ["a"], ["c"], "a:\n  - |-\n    x\n  - c"),
        ("a:\n  - x\n  -  # c\nb: 1\n", ["a"], ["c"], "a:\n  - x\n  -  # c\n  - c\nb: 1\n"),
        ("a:\n  - x\n    y # c\nb: 1\n", ["a"], ["c"], "a:\n  - x\n    y # c\n  - c\nb: 1\n"),
        ("- - x\n- y\n", [0], ["c"], "- - x\n  - c\n- y\n"),
        ("b: &b x\na:\n  - *b  # c\n", ["a"], ["c"], "b: &b x\na:\n  - *b  # c\n  - c\n"),
        ("a: &a\n  - x\n", ["a"], ["c"], "a: &a\n  - x\n  - c\n"),
        ("---\n- a\n...\n", [], ["c"], "---\n- a\n- c\n...\n"),
        ("a:\n  - x\n---\nb:\n  - y\n", ["b"], ["c"], "a:\n  - x\n---\nb:\n  - y\n  - c\n"),
        # Within brackets.
        ('a: ["x"]  # c\n', ["a"], ["y"], 'a: ["x", "y"]  # c\n'),
        ("a: [x]\n", ["a"], ["a,b", "w"], 'a: [x, "a,b", w]\n'),
        ("a: [ 'x','y' ]\n", ["a"], ["z"], "a: [ 'x','y','z' ]\n"),
        ("a: []  # c\n", ["a"], ["w"], "a: [w]  # c\n"),
        ("a: [ ]\n", ["a"], ["w", "1"], 'a: [ w, "1" ]\n'),
        ("a: [x, ]\n", ["a"], ["w"], "a: [x, w, ]\n"),
        ("a: [\n  x,\n  y  # c\n]\n", ["a"], ["z"], "a: [\n  x,\n  y,  # c\n  z\n]\n"),
        ("a: [\n  x,\n  y,  # c\n]\n", ["a"], ["z"], "a: [\n  x,\n  y,  # c\n  z,\n]\n"),
        ("a: [\r\n  x,\r\n  y\r\n]\r\n", ["a"], ["z"], "a: [\r\n  x,\r\n  y,\r\n  z\r\n]\r\n"),
        ("a: [\n  x,\n  y]\n", ["a"], ["z"], "a: [\n  x,\n  y,\n  z]\n"),
        ("a: [x,\n    y]\n", ["a"], ["z"], "a: [x,\n    y,\n    z]\n"),
        ("a: [\n  # c\n]\n", ["a"], ["z"], "a: [z\n  # c\n]\n"),
        ('a: {b: ["x"]}\n', ["a", "b"], ["y"], 'a: {b: ["x", "y"]}\n'),
    ],
)  # fmt: skip
def test_append_items(text: str, path: list[str | int], new: list[str], expected: str) -> None:
    file, node = opened(text, path)
    before = value(node)
    result = edited(text, append_items(file, node, new))
    assert result == expected
    assert value(opened(result, path)[1]) == [*before, *new]


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a:\nb: 1\n", ["a"], 'a:\n  - "x"\nb: 1\n'),
        ("a:  # c\n# d\nb: 1\n", ["a"], 'a:  # c\n  - "x"\n# d\nb: 1\n'),
        ("a:", ["a"], 'a:\n  - "x"'),
        ("a:\r\nb: 1\r\n", ["a"], 'a:\r\n  - "x"\r\nb: 1\r\n'),
        ("k:\n  a:\n  b:\n  - y\n", ["k", "a"], 'k:\n  a:\n  - "x"\n  b:\n  - y\n'),
        ("- a:\n- b\n", [0, "a"], '- a:\n    - "x"\n- b\n'),
    ],
)
def test_a_list_begins_where_a_key_has_no_value(text: str, path: list[str | int], expected: str) -> None:
    file, node = opened(text, path)
    assert edited(text, append_items(file, node, ["x"])) == expected
    mapping = find(file.documents[-1], path[:-1])
    assert mapping is not None
    assert edited(text, insert_items(file, mapping, str(path[-1]), ["x"])) == expected
    assert value(opened(expected, path)[1]) == ["x"]


@pytest.mark.parametrize(
    "text", ["{a: , b: 1}\n", "{a, b: 1}\n", "a: ~\n", "a: &x\nb: *x\n", "? a\n? b\n", "a: !!str\n"]
)
def test_no_list_begins_elsewhere(text: str) -> None:
    file, node = opened(text, ["a"])
    assert isinstance(append_items(file, node, ["x"]), YamlRefusal)


def test_folded_lines_gain_no_backslash() -> None:
    file, node = opened("a: >\n  b\n  c\n", ["a"])
    assert embedded(file, node).host_edit(Edit(1, 1, " \\")) is None
    assert embedded(file, node).host_edit(Edit(1, 1, " d")) == Edit(8, 8, " d")


# A scalar in the place of another


@pytest.mark.parametrize(
    ("text", "path", "new", "style", "expected"),
    [
        ("a: true  # c\n", ["a"], "true", None, 'a: "true"  # c\n'),
        ("- 'x'\n- 16\n", [1], "16", None, "- 'x'\n- '16'\n"),
        ("- x\n- 16\n", [1], "16", None, '- x\n- "16"\n'),
        ("- name: A\n  value: 'x'\n- name: B\n  value: 1\n", [1, "value"], "1", None,
         "- name: A\n  value: 'x'\n- name: B\n  value: '1'\n"),
        ("a: x\n", ["a"], "w", None, "a: w\n"),
        ("a: 'x'\n", ["a"], "y", None, "a: 'y'\n"),
        ('a: "x"\n', ["a"], "y", "single", "a: 'y'\n"),
        ("a: x\n", ["a"], "y", "double", 'a: "y"\n'),
        ("a: 16\n", ["a"], "32", "plain", "a: 32\n"),
        ("a: [16, 'b']\n", ["a", 0], "16", None, "a: ['16', 'b']\n"),
        ("a:\nb: 1\n", ["a"], "x", None, "a: x\nb: 1\n"),
        ("-  # c\n- y\n", [0], "x", None, "- x  # c\n- y\n"),
        ("{a: , b: 1}\n", ["a"], "x", None, "{a: x , b: 1}\n"),
        ("a: one\n  two  # c\n", ["a"], "x", None, "a: x  # c\n"),
        ("a: &b true\n", ["a"], "true", None, 'a: &b "true"\n'),
        ("a: !!str  # c\n  x\n", ["a"], "w", None, "a: !!str  # c\n  w\n"),
        ("a: ''#c\n", ["a"], "y", "plain", "a: y #c\n"),
        ('- "x"\n- {"a": 1}\n- yes\n', [2], "yes", None, '- "x"\n- {"a": 1}\n- "yes"\n'),
    ],
)  # fmt: skip
def test_replace_scalar(text: str, path: list[str | int], new: str, style: str | None, expected: str) -> None:
    file, node = opened(text, path)
    result = edited(text, replace_scalar(file, node, new, style))
    assert result == expected
    assert opened(result, path)[1].text == new


def test_replacing_by_the_same_is_no_edit() -> None:
    file, node = opened("a: x\n", ["a"])
    assert replace_scalar(file, node, "x") == ()


# One item becomes several


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("args:\n  - --x 16  # c\n  - y\n", ["args", 0], 'args:\n  - --x\n  - "16"  # c\n  - y\n'),
        ("args:\n- '--x 16'\n", ["args", 0], "args:\n- '--x'\n- '16'\n"),
        ('args:\r\n-   "--x 16"\r\n', ["args", 0], 'args:\r\n-   "--x"\r\n-   "16"\r\n'),
        ("args:\n  - --x 16\n  - 'y z: a'\n", ["args", 0], "args:\n  - --x\n  - '16'\n  - 'y z: a'\n"),
        ("args: [a, --x 16, b]\n", ["args", 1], 'args: [a, --x, "16", b]\n'),
        ('args: [\n  "--x 16", # c\n  "b"\n]\n', ["args", 0], 'args: [\n  "--x",\n  "16", # c\n  "b"\n]\n'),
        ("- - --x 16\n", [0, 0], '- - --x\n  - "16"\n'),
    ],
)
def test_split_item(text: str, path: list[str | int], expected: str) -> None:
    file, node = opened(text, path)
    result = edited(text, split_item(file, node, ["--x", "16"]))
    assert result == expected


# New pairs


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a:\n  b: 1  # c\n\n# d\ne: 1\n", ["a"], "a:\n  b: 1  # c\n  new: 5\n\n# d\ne: 1\n"),
        ("a:\n  b:\n    - x\n", ["a"], "a:\n  b:\n    - x\n  new: 5\n"),
        ("- b: 1\n  c: 2\n- d\n", [0], "- b: 1\n  c: 2\n  new: 5\n- d\n"),
        ("a: 1", [], "a: 1\nnew: 5"),
        ("a:  # c\n", [], "a:  # c\nnew: 5\n"),
        ("a: {b: 1}\n", ["a"], "a: {b: 1, new: 5}\n"),
        ('a: {"b": 1}\n', ["a"], 'a: {"b": 1, "new": 5}\n'),
        ("a: {}\n", ["a"], "a: {new: 5}\n"),
        ("a: {\n  b: 1\n}\n", ["a"], "a: {\n  b: 1,\n  new: 5\n}\n"),
        ("a: {#\n}\n", ["a"], "a: {new: 5 #\n}\n"),
    ],
)
def test_insert_key(text: str, path: list[str | int], expected: str) -> None:
    file, node = opened(text, path)
    assert edited(text, insert_key(file, node, "new", "5")) == expected


# Refusals


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("a: &x [1]\nb: *x\n", ["a"], "anchor"),
        ("a: &x [1]\nb: *x\n", ["b"], "alias"),
        ("a: &x {l: [1]}\nb: *x\n", ["a", "l"], "anchor"),
        ("a: &x {l: [1]}\nb: {<<: *x}\n", ["b", "l"], "merge"),
        ("b: {<<: {l: [1]}}\n", ["b", "l"], "merge"),
        ("a: !own [1]\n", ["a"], "tag"),
        ("a: [1]\na: [2]\n", ["a"], "twice"),
        ("a: [1]\nb: {{ c }}\n", ["a"], "template"),
        ("a:\n  - |\n    x", ["a"], "block"),
        ("a: {b: 1}\n", ["a"], "not a list"),
    ],
)
def test_list_is_left_alone(text: str, path: list[str | int], word: str) -> None:
    file, node = opened(text, path)
    answer = append_items(file, node, ["x"])
    assert isinstance(answer, YamlRefusal)
    assert word in answer.reason


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("a: b-{{ x }}\n", ["a"], "template"),
        ("a: |\n  x\n", ["a"], "block"),
        ("a: {b: 1}\n", ["a"], "not a scalar"),
        ("{a, b: 1}\n", ["a"], "no place"),
        ("? a\n? b\n", ["a"], "no place"),
        ("a: &x 1\nb: *x\n", ["b"], "alias"),
    ],
)
def test_scalar_is_left_alone(text: str, path: list[str | int], word: str) -> None:
    file, node = opened(text, path)
    answer = replace_scalar(file, node, "y")
    assert isinstance(answer, YamlRefusal)
    assert word in answer.reason


def test_broken_file_is_left_alone() -> None:
    file = read_yaml("a: [1]\n---\nb: [\n")
    node = find(file.documents[0], ["a"])
    assert node is not None
    assert append_items(file, node, ["x"]) == YamlRefusal("the file has a syntax error")


def test_text_that_no_file_can_hold_is_refused() -> None:
    file, node = opened("a: [1]\n", ["a"])
    assert isinstance(append_items(file, node, ["\ud800"]), YamlRefusal)
    assert isinstance(replace_scalar(file, node.items[0], "a: b", "plain"), YamlRefusal)


def test_key_that_is_there_is_refused() -> None:
    file, node = opened("a: &a {x: 1}\nb:\n  <<: *a\n  y2: 1\n", ["b"])
    assert isinstance(insert_key(file, node, "x", "2"), YamlRefusal)
    assert isinstance(insert_key(file, node, "z", "a\nb"), YamlRefusal)


# Properties


def with_change(data: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(data)
    data = data.copy()
    data[path[0]] = with_change(data[path[0]], path[1:], change)
    return data


def places(node: Node, path: tuple[Any, ...] = ()) -> list[tuple[tuple[Any, ...], Node]]:
    found = [(path, node)]
    if node.alias_span is not None:
        return found
    if node.kind == "mapping":
        for key, child in node.items:
            found.extend(places(child, (*path, value(key))))
    else:
        for index, child in enumerate(node.items):
            found.extend(places(child, (*path, index)))
    return found


def answers(
    file: YamlFile, node: Node, path: tuple[Any, ...], new: list[str]
) -> list[tuple[tuple[Edit, ...] | YamlRefusal, tuple[Any, ...], Callable[[Any], Any]]]:
    found: list[tuple[tuple[Edit, ...] | YamlRefusal, tuple[Any, ...], Callable[[Any], Any]]] = []
    if node.kind == "sequence":
        found.append((append_items(file, node, new), path, lambda old: [*old, *new]))
    elif node.kind == "mapping":
        found.append((insert_key(file, node, "a new: key", '"v"'), path, lambda old: {**old, "a new: key": "v"}))
    else:
        found.append((replace_scalar(file, node, new[0]), path, lambda _: new[0]))
        if path and isinstance(path[-1], int):
            place = path[-1]
            split = split_item(file, node, new)
            found.append((split, path[:-1], lambda old: [*old[:place], *new, *old[place + 1 :]]))
    return found


def test_edits_of_corpus_change_what_they_say_and_lose_no_comment(shared: Path) -> None:
    made = 0
    for number, path_of_file in enumerate(sorted((shared / "corpus").rglob("*.y*ml"))):
        text = path_of_file.read_bytes().decode("utf-8-sig")
        if number % 3 == 1:
            text = text.rstrip("\r\n")
        elif number % 3 == 2:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        file = read_yaml(text)
        data = [value(root) for root in file.documents]
        comments = [comment.text for comment in file.comments]
        for index, root in enumerate(file.documents):
            for turn, (path, node) in enumerate(places(root) if root is not None else []):
                if (turn + number) % 9:
                    continue
                new = [TEXTS[(turn + number) % len(TEXTS)], TEXTS[(turn * 7 + number) % len(TEXTS)]]
                for answer, changed, change in answers(file, node, path, new):
                    if isinstance(answer, YamlRefusal):
                        continue
                    result = apply_edits(text, answer)
                    other = read_yaml(result)
                    expected = [*data]
                    expected[index] = with_change(data[index], changed, change)
                    assert [value(found) for found in other.documents] == expected, (path_of_file.name, path, answer)
                    assert [comment.text for comment in other.comments] == comments
                    assert (result.count("\n") == result.count("\r\n")) is (text.count("\n") == text.count("\r\n"))
                    made += 1
    assert made > 500


@settings(max_examples=150)
@given(st.sampled_from(["- x\n- 'y'\n", '- "x"\n', "- 1\n- x\n", "[x, 'y']\n", '["x"]\n', "[]\n"]), st.data())
def test_any_text_is_written_so_that_all_readers_read_it_back(text: str, data: st.DataObject) -> None:
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff\u2028\u2029\x85")
    new = data.draw(
        st.sampled_from(TEXTS) | st.text(characters, max_size=8) | st.text("-?:,[]{}#&*!|>'\"%@` ax0.", max_size=6)
    )
    file, node = opened(text, [])
    result = edited(text, append_items(file, node, [new]))
    added = opened(result, [])[1].items[-1]
    assert added.text == new
    assert scalar_type(added) == "string"
    assert plain(result)[0][-1] == new


SOUP = ["a", "b: ", "- ", "\n", "\n  ", "\n    ", " ", "'x'", '"y"', "|\n", "|+\n", ">-\n", " # c", "#", "[", "]", "{",
        "}", ", ", "? ", "key: ", "\r\n", "1", "\n\n"]  # fmt: skip


@settings(max_examples=400)
@given(st.lists(st.sampled_from(SOUP), max_size=20).map("".join))
def test_edits_of_any_text_keep_comments_and_everything_else(text: str) -> None:
    file = read_yaml(text)
    if file.broken:
        return
    for root in file.documents:
        for node in walk(root):
            if node.kind == "sequence":
                answer = append_items(file, node, ["zz", "1"])
            elif node.kind == "mapping":
                answer = insert_key(file, node, "zz", "1")
            else:
                answer = replace_scalar(file, node, "zz")
            if isinstance(answer, YamlRefusal):
                continue
            other = read_yaml(apply_edits(text, answer))
            assert not other.broken
            assert len(other.comments) == len(file.comments)
            before = [one.text for found in file.documents for one in walk(found) if one.kind == "scalar"]
            after = [one.text for found in other.documents for one in walk(found) if one.kind == "scalar"]
            if node.kind == "scalar":
                assert len(after) == len(before)
            else:
                for added in ("zz", "1"):
                    after.remove(added)
                assert sorted(after) == sorted(before)
