"""The YAML reader against libyaml's own composer, ruamel.yaml, and tables of what each thing is."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.yaml import (
    DEPTH_LIMIT,
    Node,
    YamlFile,
    embedded,
    entries,
    find,
    get,
    is_templated,
    plain,
    read_yaml,
    scalar_type,
    value,
    walk,
)
from servelint.text import Edit, Span, apply_edits

PIECES = [
    "a", "b: ", "- ", "\n", "\n", "\n  ", "\n    ", " ", "  ", '"', "'", '"x"', "'y'", "|\n", "|-\n", "|+\n", ">\n",
    ">-\n", ">+\n", "|2\n", " # c", "#", "[", "]", "{", "}", ", ", ":", "? ", "*x", "!!str ", "<<: ", "---\n", "...\n",
    "\t", "\r\n", "\\n", "\\", "\\\n", "\u2028", "é", "😀", "1", "true", "\\x41", "''", "\n\n", "key: ", "\x00",
    "\udc80", "{{ x }}", "%",
]  # fmt: skip
soup = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
# With comments at several depths, and without what a comment that is taken out changes by itself: text that keeps its
# trailing blank lines, an explicit indentation, a `?` that turns into a plain scalar.
commented_soup = st.lists(
    st.sampled_from([*(piece for piece in PIECES if not set(piece) & set("+?2")), " # c\n", "# c\n", "  # c\n"]),
    max_size=24,
).map("".join)


def one(text: str) -> Node:
    file = read_yaml(text)
    assert not file.problems, file.problems
    assert len(file.documents) == 1 and file.documents[0] is not None
    return file.documents[0]


def at(text: str, node: Node | None) -> str:
    assert node is not None
    return text[node.start : node.end]


def corpus(shared: Path) -> list[str]:
    files = sorted((shared / "corpus").rglob("*.y*ml"))
    return [file.read_bytes().decode("utf-8-sig") for file in files]


def composed(text: str) -> list[Any] | None:
    """What libyaml's own composer makes of a text: each node's kind and text, nested; None where it refuses."""

    def shape(node: Any) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return node.value
        if isinstance(node, yaml.MappingNode):
            return [(shape(key), shape(child)) for key, child in node.value]
        return [shape(child) for child in node.value]

    try:
        return [shape(node) for node in yaml.compose_all(text, Loader=yaml.CSafeLoader) if node is not None]
    except (yaml.YAMLError, UnicodeError, RecursionError):
        return None


def shape_of(node: Node) -> Any:
    if node.kind == "scalar":
        return node.text
    if node.kind == "mapping":
        return [(shape_of(key), shape_of(child)) for key, child in node.items]
    return [shape_of(child) for child in node.items]


# Nodes and spans


def test_corpus_reads_as_libyaml_composes_it(shared: Path) -> None:
    for text in corpus(shared):
        expected = composed(text)
        file = read_yaml(text)
        assert file.broken is (expected is None)
        if expected is not None:
            found = [shape_of(root) for root in file.documents if root is not None]
            assert found == [item for item in expected if item != ""]


@settings(max_examples=400)
@given(soup)
def test_any_text_reads_as_libyaml_composes_it(text: str) -> None:
    expected = composed(text)
    file = read_yaml(text)
    assert file.broken is (expected is None)
    if expected is not None:
        found = ["" if root is None else shape_of(root) for root in file.documents]
        assert found == expected


@settings(max_examples=200)
@given(soup)
def test_spans_are_ordered_and_lie_within_their_parents(text: str) -> None:
    for root in read_yaml(text).documents:
        for node in walk(root):
            assert 0 <= node.begin <= node.start <= node.end <= len(text)
            pairs = node.kind == "mapping"
            children = [child for pair in node.items for child in pair] if pairs else node.items
            places = [child.site for child in children]
            assert all(node.start <= place.start and place.end <= node.end for place in places)
            assert [place.start for place in places] == sorted(place.start for place in places)


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("a: 1  # c\n\n# d\n", [], "a: 1"),
        ("a:\n  b: x\n  # tail\n\nc: 1\n", ["a"], "b: x"),
        ("a:\n- x\n-  'y'  # e\n\n# f\nb: 1\n", ["a"], "- x\n-  'y'"),
        ("a: |\n  x\n  y\n\n\n# c\nb: 1\n", ["a"], "|\n  x\n  y"),
        ("a: |+\n  x\n\n\nb: 1\n", ["a"], "|+\n  x\n\n"),
        ("a: |\n  x\n     \n# c\n", ["a"], "|\n  x\n     "),
        ("a: >-  # c\n  x\n  y  \nb: 1\n", ["a"], ">-  # c\n  x\n  y  "),
        ("a: |\nb: 1\n", ["a"], "|"),
        ("a: [x,  # c\n  y ]  # d\n", ["a"], "[x,  # c\n  y ]"),
        ("a: [b: c , d]\n", ["a", 0], "b: c"),
        ("a: &x !!str  # c\n  foo\n", ["a"], "foo"),
        ("a: &x\n  &k b: c\n", ["a"], "&k b: c"),
        ("a: &x [1, 2]\n", ["a"], "[1, 2]"),
        ("a: \"x\\\"y\"\n", ["a"], '"x\\"y"'),
        ("a: x y\n  z  # c\n", ["a"], "x y\n  z"),
        ("a: 'é😀'\nb: ü\n", ["b"], "ü"),
        ("a: 1\r\nb:\r\n  - x\r\n  - y\r\n\r\nc: 2\r\n", ["b"], "- x\r\n  - y"),
        ("\ufeffa: xy\n", ["a"], "xy"),
    ],
)  # fmt: skip
def test_span(text: str, path: list[str | int], expected: str) -> None:
    assert at(text, find(one(text), path)) == expected


@pytest.mark.parametrize(
    ("text", "path", "offset"),
    [
        ("a:  # c\nb: 1\n", ["a"], 2),
        ("- \n- x\n", [0], 1),
        ("? a\n# c\n? b\n", ["a"], 3),
        ("{a: , b}\n", ["a"], 3),
        ("{a: , b }\n", ["b"], 7),
        ("a: !!null\nb: 1\n", ["a"], 9),
    ],
)
def test_empty_value_stands_right_behind_its_mark(text: str, path: list[str | int], offset: int) -> None:
    node = find(one(text), path)
    assert node is not None
    assert node.span == Span(offset, offset)


def test_documents_and_their_spans() -> None:
    text = "# head\n---\na: 1\n---\n---\n# Source: x.yaml\nb: 2\n...\n"
    file = read_yaml(text)
    assert [root is None for root in file.documents] == [False, True, False]
    assert [text[span.start : span.end] for span in file.spans] == [
        "# head\n---\na: 1\n",
        "---\n",
        "---\n# Source: x.yaml\nb: 2\n...\n",
    ]
    assert [comment.text for comment in file.comments] == ["# head", "# Source: x.yaml"]
    assert read_yaml("").documents == ()
    assert value(one("~\n")) is None


def test_styles_and_flow() -> None:
    root = one("a: [x, 'y', \"z\"]\nb: |\n  l\nc: >\n  f\n")
    assert [node.style for node in walk(root) if node.kind == "scalar"] == [
        "plain", "plain", "single", "double", "plain", "literal", "plain", "folded",
    ]  # fmt: skip
    assert [node.flow for node in walk(root) if node.kind != "scalar"] == [False, True]


# Aliases and merge keys


def test_alias_has_its_own_place() -> None:
    text = "a: &x [1, 2]\nb: *x\nc: *x\n"
    root = one(text)
    first, second = get(root, "a"), get(root, "b")
    assert first is not None and second is not None
    assert second.alias_span == Span(16, 18)
    assert second.span == first.span
    assert first.alias_span is None and first.shared and first.anchor == "x"
    assert value(root) == {"a": [1, 2], "b": [1, 2], "c": [1, 2]}


def test_merge_keys() -> None:
    text = "b: &b {x: 1, w: 2}\nc: &c {w: 3, z: 4}\nd:\n  <<: [*b, *c]\n  x: 9\ne:\n  <<: *c\nf:\n  <<: {q: 1}\n"
    root = one(text)
    mapping = get(root, "d")
    assert value(mapping) == {"x": 9, "w": 2, "z": 4}
    own, merged = get(mapping, "x"), get(mapping, "z")
    assert own is not None and not own.merged
    assert merged is not None and merged.merged
    assert merged.alias_span == Span(text.index("*c]"), text.index("*c]") + 2)
    inline = find(root, ["f", "q"])
    assert inline is not None and inline.merged and inline.alias_span is not None
    assert [key.text for key, _ in entries(mapping)] == ["x", "w", "z"]


def test_quoted_merge_key_is_a_key() -> None:
    assert value(one('a: {x: 1}\n"<<": 2\n')) == {"a": {"x": 1}, "<<": 2}


def test_alias_bomb_does_not_grow() -> None:
    text = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 60))
    root = one(text)
    assert len(list(walk(root))) < 1000
    assert len(value(root)) == 60
    with pytest.raises(ValueError, match="aliases"):
        plain(text)


def test_merge_bomb_does_not_grow() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 3000))
    root = one(text)
    assert get(get(root, "a2999"), "nothing") is None
    found = get(get(root, "a40"), "x")
    assert found is not None and found.text == "1"


# Problems


@pytest.mark.parametrize(
    ("text", "word", "offset", "documents"),
    [
        ("a: 1\n---\nb: [x\n", "`]`", 15, 1),
        ("a:\n\t- x\n", "tab", 3, 0),
        ("a: @x\n", "quotes", 3, 0),
        ("a: b: c\n", "quotes", 4, 0),
        ("a: 'x\n", "never closed", 6, 0),
        ("a: *x\n", "no anchor", 3, 0),
        ("a: &x [*x]\n", "inside", 7, 0),
        ("a: 1\n---\nb: \x00\n", "U+0000", 12, 1),
        ("a: 1\n---\nb: \udc80\n", "0x80", 12, 1),
        ("a: 1\n---\nb: \ud800\n", "surrogate", 12, 1),
        ("a: !x!y z\n", "prefix", 3, 0),
        ("- " * (DEPTH_LIMIT + 1), "levels", 2 * DEPTH_LIMIT, 0),
    ],
)
def test_problem(text: str, word: str, offset: int, documents: int) -> None:
    file = read_yaml(text)
    assert file.broken
    (problem,) = file.problems
    assert problem.sort == "syntax"
    assert word in problem.message
    assert problem.span.start == offset
    assert len(file.documents) == documents


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 100_000, "- " * 100_000, "a: " * 100_000, "? " * 100_000])
def test_deep_nesting_is_a_problem(text: str) -> None:
    assert read_yaml(text).broken


def test_duplicate_keys() -> None:
    text = "a: 1\nb:\n  c: 1\n  'c': 2\n1: x\n'1': y\na: 3\n<<: {}\n<<: {}\n"
    file = read_yaml(text)
    assert not file.broken
    assert {problem.sort for problem in file.problems} == {"duplicate-key"}
    assert [problem.span.start for problem in file.problems] == [text.index("'c'"), text.index("a: 3")]
    assert [problem.related[0][0].start for problem in file.problems] == [text.index("c: 1"), 0]
    assert value(file.documents[0])["a"] == 3


@pytest.mark.parametrize("text", ["a: {{ .Values.x }}\n", "{{ x }}: 1\n"])
def test_template_is_seen(text: str) -> None:
    assert read_yaml(text).templated


@pytest.mark.parametrize("text", ['a: "{{ x }}"\n', "a: {b: {c: 1}}\n", "# {{ x }}\na: b-{{ x }}\n"])
def test_no_template(text: str) -> None:
    assert not read_yaml(text).templated


@settings(max_examples=200)
@given(st.text(max_size=40) | soup)
def test_nothing_raises(text: str) -> None:
    file = read_yaml(text)
    for root in file.documents:
        value(root)
        for node in walk(root):
            if node.kind == "scalar":
                scalar_type(node)
                embedded(file, node)


def test_pure_reader_gives_the_same(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        *corpus(shared)[:8],
        "a: &x |+\n  b\n\n# c\nd: ? e\n",
        "a: 1\r\nb: [x, {c: }]\r\n",
        "a: 'x\n",
        "\ufeffa: b\n",
    ]
    fast = [read_yaml(text) for text in texts]
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    for text, other in zip(texts, fast, strict=True):
        slow = read_yaml(text)
        assert slow.broken is other.broken
        assert slow.comments == other.comments
        for one_root, other_root in zip(slow.documents, other.documents, strict=True):
            assert [(n.span, n.text, n.style) for n in walk(one_root)] == [
                (n.span, n.text, n.style) for n in walk(other_root)
            ]


# Typing


@pytest.mark.parametrize(
    ("text", "sort", "expected"),
    [
        ("yes", "bool", True), ("No", "bool", False), ("on", "bool", True), ("y", "bool", True), ("N", "bool", False),
        ("yEs", "string", "yEs"), ("TRUE", "bool", True), ("~", "null", None), ("Null", "null", None),
        ("16", "int", 16), ("-1", "int", -1), ("+1_000", "int", 1000), ("0755", "int", 493), ("0o17", "int", 15),
        ("0x1F", "int", 31), ("-0b11", "int", -3), ("08", "float", 8.0), ("1.5", "float", 1.5), (".5", "float", 0.5),
        ("1e3", "float", 1000.0), ("-.inf", "float", float("-inf")), ("1e999", "string", "1e999"),
        ("12:30", "string", "12:30"), ("2024-01-01", "string", "2024-01-01"), ("0.6.3", "string", "0.6.3"),
        ("v1", "string", "v1"), ("-", "string", "-"), ("0x", "string", "0x"), ("_1", "string", "_1"),
        ("'16'", "string", "16"), ('"true"', "string", "true"), ("!!str 16", "string", "16"), ("! 16", "string", "16"),
        ("!!int '16'", "int", 16), ("!!float 1", "float", 1.0), ("!!bool x", "bool", "x"), ("!own 16", "string", "16"),
        ("!!timestamp 2024-01-01", "timestamp", "2024-01-01"), ("!!binary aGk=", "string", "aGk="),
        ("|\n  1", "string", "1"),
    ],
)  # fmt: skip
def test_type(text: str, sort: str, expected: Any) -> None:
    # A dash alone is a list item, so each stands as the value of a key, or in quotes of its own.
    node = Node("scalar", 0, 0, len(text), text, "plain", False) if text == "-" else get(one(f"k: {text}"), "k")
    assert node is not None
    assert scalar_type(node) == sort
    found = value(node)
    assert found == expected
    assert type(found) is type(expected)


def test_number_too_long_for_python() -> None:
    assert value(get(one("a: " + "9" * 5000), "a")) == float("inf")


@settings(max_examples=300)
@given(st.text("0123456789_+-.eExXobyYnNtruefalsOF~", max_size=8))
def test_types_differ_from_pyyaml_only_where_go_does(text: str) -> None:
    file = read_yaml(f"k: {text}\n")
    node = get(file.documents[0], "k") if file.documents else None
    if node is None or node.kind != "scalar" or node.style != "plain" or node.text != text:
        return
    theirs = yaml.SafeLoader("").resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
    if theirs in ("bool", "null"):
        assert scalar_type(node) == theirs
    if scalar_type(node) == "null":
        assert theirs == "null"
    if theirs == "int" and "_" not in text:
        assert scalar_type(node) == "int"
        assert value(node) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("{{ x }}", True), ("a-{{x}}", True), ("{% if x %}", True), ("${x} $(y) <z>", False), ('{"a":{"b":1}}', False),
     ("}} {{", False)],
)  # fmt: skip
def test_is_templated(text: str, expected: bool) -> None:
    assert is_templated(text) is expected


# Comments


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        ("a: 1 # c\n", ["a: 1"]),
        ("args: # c\n  - a\n  - b\n", ["args: # c\n  - a\n  - b"]),
        ("- name: x # c\n  y: 1\n", ["name: x"]),
        ("- a # c\n- b\n", ["a"]),
        ("a: ['x', 'y'] # c\n", ["a: ['x', 'y']"]),
        ("a: [\n  x, # c\n  y\n] # d\n", ["x", "a: [\n  x, # c\n  y\n]"]),
        ("# c\n\n# d\n- name: x\n  y: 1\n", ["name: x\n  y: 1"] * 2),
        ("a:\n  - x\n  # c\n  - y\n", ["y"]),
        ("a:\n  - x\n  # c\nb: 1\n", ["b: 1"]),
        ("a: | # c\n  # no\n  x\n", ["a: | # c\n  # no\n  x"]),
        ("a: 1\n# c\n", ["# c"]),
        ("--- # c\na: 1\n", ["--- # c\na: 1\n"]),
        ("# c\n---\na: 1\n---\nb: 1\n", ["# c\n---\na: 1\n"]),
        ("-\n  # c\n  a: 1\n", ["a: 1"]),
        ("- # c\n  a: 1\n  b: 2\n", ["a: 1\n  b: 2"]),
        ("a: 'x # no'\nb: x#no\nc: \"d\" # c\n", ['c: "d"']),
        ("a: x\n  y # c\nb: 1\n", ["a: x\n  y"]),
        ("- - # c\n    x\n", ["- # c\n    x"]),
    ],
)
def test_comment_belongs_to(text: str, targets: list[str]) -> None:
    found = read_yaml(text).comments
    assert [text[comment.target.start : comment.target.end] for comment in found] == targets
    assert all(comment.text == text[comment.span.start : comment.span.end] for comment in found)


@settings(max_examples=300)
@given(commented_soup)
def test_a_text_means_the_same_without_its_comments(text: str) -> None:
    file = read_yaml(text)
    if file.broken:
        return
    bare = apply_edits(text, [Edit(comment.span.start, comment.span.end, "") for comment in file.comments])
    other = read_yaml(bare)
    assert [value(root) for root in other.documents] == [value(root) for root in file.documents]
    assert not other.comments


def test_comments_of_corpus_are_those_of_ruamel(shared: Path) -> None:
    import ruamel.yaml
    from ruamel.yaml.tokens import CommentToken

    def lines(data: Any) -> set[str]:
        found: set[str] = set()
        pending, seen = [data], set()
        while pending:
            item = pending.pop()
            if id(item) in seen:
                continue
            seen.add(id(item))
            if isinstance(item, CommentToken):
                found.update(line.strip() for line in str(item.value).splitlines() if line.strip())
            elif isinstance(item, dict):
                pending.extend(item.values())
            elif isinstance(item, list | tuple):
                pending.extend(item)
            attributes = getattr(item, "ca", None)
            if attributes is not None:
                pending.extend([attributes.comment, list(attributes.items.values()), attributes.end])
        return found

    checked = 0
    for text in corpus(shared)[::6]:
        file = read_yaml(text)
        if file.problems or file.templated or len(file.documents) != 1:
            continue
        theirs = lines(ruamel.yaml.YAML().load(text))
        ours = {comment.text.strip() for comment in file.comments}
        assert theirs <= ours
        checked += 1
    assert checked >= 3


# Texts inside of scalars


def inner(text: str, path: list[str | int]) -> tuple[YamlFile, Any]:
    file = read_yaml(text)
    node = find(file.documents[0], path)
    assert node is not None
    return file, embedded(file, node)


def test_embedded_of_corpus_is_libyamls_text(shared: Path) -> None:
    count = 0
    for text in corpus(shared):
        for host in (text, text.replace("\r\n", "\n").replace("\n", "\r\n")):
            file = read_yaml(host)
            for root in file.documents:
                for node in walk(root):
                    if node.kind != "scalar" or node.alias_span is not None:
                        continue
                    found = embedded(file, node)
                    assert found.text == node.text
                    assert found.refusal != "how the text is written cannot be traced"
                    assert len(found.offsets) == len(found.text) + 1
                    count += 1
    assert count > 10_000


@settings(max_examples=300)
@given(soup)
def test_embedded_offsets_never_decrease(text: str) -> None:
    file = read_yaml(text)
    for root in file.documents:
        for node in walk(root):
            if node.kind == "scalar":
                found = embedded(file, node)
                assert found.text == node.text
                assert list(found.offsets) == sorted(found.offsets)
                assert found.encode is not None or found.refusal


SCALARS = [
    ("a: hello world\n", "hello world"),
    ("a: 'it''s here'\n", "it's here"),
    ('a: "x\\ty \\"q\\" \\u00e9z"\n', 'x\ty "q" éz'),
    ('a: "one \\\n  two\n  three"\n', "one two three"),
    ("a: one\n  two\n", "one two"),
    ("a: |\n  one\n    two\n\n  three\n", "one\n  two\n\nthree\n"),
    ("a: |-\r\n  one\r\n  two\r\n", "one\ntwo"),
    ("a: |2+\n    one\n  two\n\n", "  one\ntwo\n\n"),
    ("a: >-\n  one\n  two\n    three\n  four\n", "one two\n  three\nfour"),
    ("- a: |\n    one\n", "one\n"),
    ("a: |  # c\n   one\n   \ttwo\n", "one\n\ttwo\n"),
]


@pytest.mark.parametrize(("text", "expected"), SCALARS)
def test_each_character_of_a_scalar_can_be_replaced(text: str, expected: str) -> None:
    path: list[str | int] = [0, "a"] if text[0] == "-" else ["a"]
    _, found = inner(text, path)
    assert found.text == expected
    for index, character in enumerate(expected):
        if character in " \t\n":
            continue
        edit = found.host_edit(Edit(index, index + 1, "XY"))
        assert edit is not None
        assert find(one(apply_edits(text, [edit])), path).text == expected[:index] + "XY" + expected[index + 1 :]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "offset", "new", "expected"),
    [
        ("a: |\n  one\n  two\n\nb: 1\n", 7, "\nnew\n\nmore", "a: |\n  one\n  two\n  new\n\n  more\n\nb: 1\n"),
        ("a: |-\r\n  one\r\n", 3, "\nnew", "a: |-\r\n  one\r\n  new\r\n"),
        ("a: |-\n  one", 3, "\nnew", "a: |-\n  one\n  new"),
        ('a: "x"\n', 1, '\n"\\\x07', 'a: "x\\n\\"\\\\\\a"\n'),
        ('a: ""\n', 0, "x", 'a: "x"\n'),
        ("a: 'x'\n", 1, " it's: # ok", "a: 'x it''s: # ok'\n"),
        ("a: x\n", 1, " --y '{\"b\":1}'", "a: x --y '{\"b\":1}'\n"),
        ("a: >-\n  x\n  y\n", 3, " z", "a: >-\n  x\n  y z\n"),
    ],
)
def test_text_is_written_into_a_scalar(text: str, offset: int, new: str, expected: str) -> None:
    _, found = inner(text, ["a"])
    edit = found.host_edit(Edit(offset, offset, new))
    assert edit is not None
    result = apply_edits(text, [edit])
    assert result == expected
    assert find(one(result), ["a"]).text == found.text[:offset] + new + found.text[offset:]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("a: x\n", "b: c"), ("a: x\n", " # c"), ("a: x\n", "y:"), ("a: x\n", "\ny"), ("a: x\n", '"y'), ("a: x\n", "&y"),
        ("a: x\n", "y "), ("a: [x]\n", "y,z"), ("a: [x]\n", " ]"), ("a: 'x'\n", "\n"), ("a: 'x'\n", "\x07"),
        ("a: >\n  x\n", "\ny"), ("a: |\n  x\n", "\r"), ('a: "x"\n', "\ud800"),
    ],
)  # fmt: skip
def test_text_is_refused(text: str, new: str) -> None:
    path: list[str | int] = ["a", 0] if "[" in text else ["a"]
    _, found = inner(text, path)
    assert found.encode is not None
    assert found.encode(new) is None


@pytest.mark.parametrize(
    ("text", "path", "word"),
    [
        ("a: &x y\nb: *x\n", ["b"], "alias"),
        ("a: &x y\nb: *x\n", ["a"], "anchor"),
        ("a: &x {k: y}\nb:\n  <<: *x\n", ["b", "k"], "merge"),
        ("a: !!binary aGk=\n", ["a"], "tag"),
        ("a:\n", ["a"], "empty"),
        ("a: 1\na: 2\n", ["a"], "twice"),
        ("a: x\u2028  y\n", ["a"], "traced"),
        ("a: b\nc: {{ d }}\n", ["a"], "template"),
    ],
)
def test_scalar_must_not_be_edited(text: str, path: list[str | int], word: str) -> None:
    _, found = inner(text, path)
    assert found.encode is None
    assert found.refusal is not None and word in found.refusal


# The independent reader


def test_plain() -> None:
    assert plain("a: yes\n---\n- 0x10\n- !own {b: 1}\n") == [{"a": True}, [16, ("!own", {"b": 1})]]
    assert len(plain("a: 1\na: 2\n")) == 1


@pytest.mark.parametrize("text", ["a: [", "a: *x\n", "[" * 5000, "\x00"])
def test_plain_refuses_with_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plain(text)


def undated(data: Any) -> Any:
    """With dates as text, which they are to Kubernetes."""
    if isinstance(data, dict):
        return {key: undated(child) for key, child in data.items()}
    if isinstance(data, list):
        return [undated(child) for child in data]
    return data.isoformat() if isinstance(data, datetime.date) else data


def test_plain_agrees_with_the_own_reader(shared: Path) -> None:
    for text in corpus(shared)[::12]:
        file = read_yaml(text)
        if not file.problems and not file.templated:
            theirs = [undated(root) for root in plain(text) if root is not None]
            assert [value(root) for root in file.documents if root is not None] == theirs


def test_import_is_light() -> None:
    import subprocess

    code = "import sys, servelint.formats.yaml; assert 'yaml' not in sys.modules and 'ruamel' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
