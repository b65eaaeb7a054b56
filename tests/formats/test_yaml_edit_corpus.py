"""The YAML editor at every place of whole manifests: two other readers find exactly the difference, and every comment.

The manifests are made by hypothesis, in the styles that people write them in; public ones are gone through where their
folder lies beside the checkout, or another folder that the environment variable SERVELINT_CORPUS names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError as RuamelError

from servelint.formats.yaml import Node, YamlRefusal, embedded, plain, read_yaml, scalar_type
from servelint.formats.yaml_edit import append_items, insert_items, insert_key, replace_scalar, split_item
from servelint.records import record
from servelint.text import Edit, Span, apply_edits, decode
from tests.conftest import SHARED

STR, SEQ, MAP = "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"
# A document as another reader has it: a tag with a text, a list of trees, or a list of pairs of trees.
Tree = Any
# The way to a node: places among a list's items, and pairs of a place and 0 (key) or 1 (value) in a mapping.
Way = tuple[Any, ...]
STOPS = ("<|im_end|>", "### End", "16")
NEW_KEY = "stop words"


@record
class Change:
    """An edit, and what it makes of the node that it means, seen from the node's list or mapping."""

    sort: str
    document: int
    way: Way
    edits: tuple[Edit, ...]
    texts: tuple[str, ...] = ()


# Reading by others


def tree_of(node: Any, known: dict[int, Tree]) -> Tree:
    """A reader's node as lists of its tags and texts; an alias gives the tree of its anchor."""
    if node is None:
        return None
    if id(node) in known:
        return known[id(node)]
    made: list[Any] = [str(node.tag)]
    known[id(node)] = made
    if isinstance(node.value, str):
        made.append(node.value)
    elif node.value and isinstance(node.value[0], tuple):
        made.extend((tree_of(key, known), tree_of(value, known)) for key, value in node.value)
    else:
        made.extend(tree_of(item, known) for item in node.value)
    return made


def with_pyyaml(text: str) -> list[Tree]:
    """The documents as libyaml composes them under YAML 1.1."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [tree_of(node, {}) for node in yaml.compose_all(text, Loader=loader)]


def with_ruamel(text: str) -> list[Tree]:
    """The documents as ruamel.yaml composes them under YAML 1.2."""
    return [tree_of(node, {}) for node in YAML(typ="safe", pure=True).compose_all(text)]


READERS = {"PyYAML": (with_pyyaml, yaml.YAMLError), "ruamel.yaml": (with_ruamel, RuamelError)}


def comments_of(text: str) -> list[str]:
    """The comments between the tokens of PyYAML's own scanner, and those on the first lines of blocks."""
    text = text.removeprefix("\ufeff")
    tokens = list(yaml.scan(text, Loader=yaml.SafeLoader))
    places = [(0, 0), *((token.start_mark.index, token.end_mark.index) for token in tokens), (len(text), len(text))]
    found = []
    for (_, end), (start, _) in pairwise(places):
        found.extend(match.group(1).rstrip() for match in re.finditer(r"(?:^|[ \t\r\n])(#[^\r\n]*)", text[end:start]))
        if end and text[end:start].startswith("#"):
            # Right behind a token, where it is no comment to all readers.
            continue
    for token in tokens:
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            header = re.match(r"[|>][-+0-9]*[ \t]+(#[^\r\n]*)", text[token.start_mark.index :])
            if header:
                found.append(header.group(1).rstrip())
    return sorted(found)


# What should come out


def changed(tree: Tree, change: Change) -> None:
    """Make the change in a document's tree, which is altered."""
    *above, last = change.way if change.way else (None,)
    parent = tree
    for step in above:
        parent = _child(parent, step)
    node = tree if not change.way else _child(parent, last)
    if change.sort == "append":
        if node[0] not in (SEQ,):
            node[:] = [SEQ]
        node.extend([STR, text] for text in change.texts)
    elif change.sort == "replace":
        node[:] = [STR, change.texts[0]]
    elif change.sort == "split":
        parent[last + 1 : last + 2] = [[STR, text] for text in change.texts]
    elif change.sort == "key":
        node.append(([STR, NEW_KEY], [STR, change.texts[0]]))
    else:
        assert change.sort == "list"
        node.append(([STR, NEW_KEY], [SEQ, *([STR, text] for text in change.texts)]))


def _child(tree: Tree, step: Any) -> Tree:
    return tree[step[0] + 1][step[1]] if isinstance(step, tuple) else tree[step + 1]


def copied(tree: Tree, known: dict[int, Tree]) -> Tree:
    """A copy, in which what is shared stays shared."""
    if isinstance(tree, str) or tree is None:
        return tree
    if isinstance(tree, tuple):
        return tuple(copied(each, known) for each in tree)
    if id(tree) not in known:
        made: list[Any] = []
        known[id(tree)] = made
        made.extend(copied(each, known) for each in tree)
    return known[id(tree)]


# Every place


def ways(node: Node, way: Way = ()) -> Iterator[tuple[Way, Node, bool]]:
    """Every node that is written where it stands, the way to it, and whether it is the item of a list."""
    stack: list[tuple[Way, Node, bool]] = [(way, node, False)]
    while stack:
        way, node, is_item = stack.pop()
        yield way, node, is_item
        if node.alias_span is not None:
            continue
        if node.kind == "mapping":
            for place, (_, value) in enumerate(node.items):
                stack.append(((*way, (place, 1)), value, False))
        else:
            stack.extend(((*way, place), item, True) for place, item in enumerate(node.items))


def changes_of(text: str) -> list[Change]:
    """One change of each sort at each place where the editor makes it."""
    file = read_yaml(text)
    found = []
    for document, root in enumerate(file.documents):
        for way, node, is_item in ways(root) if root is not None else ():
            answers: list[tuple[str, tuple[Edit, ...] | YamlRefusal, tuple[str, ...]]] = []
            if node.kind == "sequence" or (node.kind == "scalar" and node.start == node.end):
                answers.append(("append", append_items(file, node, STOPS), STOPS))
            if node.kind == "scalar":
                if scalar_type(node) != "string":
                    answers.append(("replace", replace_scalar(file, node, node.text), (node.text,)))
                answers.append(("replace", replace_scalar(file, node, STOPS[0]), STOPS[:1]))
                if is_item:
                    answers.append(("split", split_item(file, node, STOPS), STOPS))
            elif node.kind == "mapping":
                answers.append(("key", insert_key(file, node, NEW_KEY, '"16"'), ("16",)))
                answers.append(("list", insert_items(file, node, NEW_KEY, STOPS[:2]), STOPS[:2]))
            for sort, answer, texts in answers:
                if isinstance(answer, tuple) and answer:
                    found.append(Change(sort, document, way, answer, texts))
    return found


def rounds(changes: list[Change]) -> Iterator[list[Change]]:
    """The changes in rounds of such as do not meet, so that a slow reader has to read only a few texts."""
    left = sorted(changes, key=lambda change: (change.edits[0].start, change.edits[-1].end))
    while left:
        taken: list[Change] = []
        later: list[Change] = []
        end, last = -1, None
        for change in left:
            node = (change.document, change.way)
            if change.edits[0].start > end and node != last:
                taken.append(change)
                end, last = change.edits[-1].end, node
            else:
                later.append(change)
        yield taken
        left = later


def check_round(text: str, group: list[Change], readers: dict[str, list[Tree]], comments: list[str] | None) -> None:
    """The edits of a round make the changes that they stand for, and no others."""
    edits = [edit for change in group for edit in change.edits]
    result = apply_edits(text, edits)
    shown = [(change.sort, change.way) for change in group] if len(group) < 4 else len(group)
    for name, before in readers.items():
        expected = copied(before, {})
        for change in reversed(group):
            changed(expected[change.document], change)
        after = READERS[name][0](result)
        assert after == expected, (name, shown, edits[:4])
    if comments is not None:
        assert comments_of(result) == comments, (shown, edits[:4])
    # Line breaks as they were, and none at the end where there was none.
    assert (result.count("\n") == result.count("\r\n")) == (text.count("\n") == text.count("\r\n")) or "\n" not in text
    assert result.endswith(("\n", "\r")) == text.endswith(("\n", "\r"))


def check_everywhere(text: str, *, alone: bool) -> int:
    """How many changes were made and found right; with `alone`, each by itself too, and not only in rounds."""
    readers: dict[str, list[Tree]] = {}
    for name, (read, fault) in READERS.items():
        try:
            readers[name] = read(text)
        except (fault, ValueError):
            continue
    if "PyYAML" not in readers:
        assert not changes_of(text)
        return 0
    comments = comments_of(text)
    found = changes_of(text)
    for group in rounds(found):
        check_round(text, group, readers, comments)
    fast = {name: before for name, before in readers.items() if name == "PyYAML"}
    for change in found if alone else ():
        check_round(text, [change], fast, None)
    check_blocks(text)
    return len(found)


def check_blocks(text: str) -> None:
    """A line that goes into a literal block stands behind its last line, and nothing else has changed."""
    file = read_yaml(text)
    for root in file.documents:
        for _, node, _ in ways(root) if root is not None else ():
            if node.kind != "scalar" or node.style != "literal" or not node.text.strip("\n"):
                continue
            inner = embedded(file, node)
            end = len(node.text.rstrip("\n"))
            edit = inner.host_edit(Edit(end, end, '\nPARAMETER stop "<|im_end|>"'))
            if edit is None:
                continue
            result = apply_edits(text, [edit])
            wanted = node.text[:end] + '\nPARAMETER stop "<|im_end|>"' + node.text[end:]
            texts = [one.text for each in read_yaml(result).documents if each for _, one, _ in ways(each)]
            assert wanted in texts, edit
            assert inner.host_span(Span(0, end)).end <= edit.start
            assert comments_of(result) == comments_of(text)
            if node.alias_span is None:
                assert len(plain(result)) == len(plain(text))


# Manifests as people write them

_KEYS = ("args", "env", "name", "value", "image", "stop", "command", "resources", '"quoted key"', "x.y/z", "on")
_PLAIN = (
    "--model", "Qwen/Qwen3-8B", "qwen2.5:7b", "8000", "0.95", "true", "yes", "null", "~", "1e3", "0o17", "1_000",
    "12:30", "x#y", "two words", "--flag=a,b", "<|im_end|>", "-1", "2024-01-01", "$(MODEL)", "${MODEL:-x}", "a'b",
    'a"b', "é", "=",
)  # fmt: skip
_QUOTED = (
    "'--model'", '"--port"', "'it''s'", '"a\\nb"', "'### End'", '"# no comment"', "'a: b'", '"{\\"a\\": 1}"',
    "'{\"a\": [1]}'", '""', "''", '"\\u2028"', '"tab\\t"',
)  # fmt: skip
_IN_FLOW = tuple(text for text in _PLAIN if ":" not in text and "," not in text and "{" not in text)
_LINES = (
    "vllm serve m \\",
    "--port 8000",
    "# no comment",
    "  deeper",
    "",
    "{{ .Prompt }}",
    "key: value",
    "- item",
    "'",
)
_COMMENTS = ("# note", "#", "# - --old-flag", '# it\'s: a "note"', "#x", "# [START region]")


@st.composite
def manifests(draw: st.DrawFn) -> str:
    """A text of one to three documents."""
    anchors: list[str] = []

    def chance(of: int) -> bool:
        return draw(st.integers(0, of - 1)) == 0

    def behind() -> str:
        """A comment, or blanks, or nothing, at the end of a line."""
        if chance(5):
            return draw(st.sampled_from((" ", "  ", "    "))) + draw(st.sampled_from(_COMMENTS))
        return draw(st.sampled_from(("", "", "", " ")))

    def between(column: int) -> list[str]:
        """Comments and blank lines of their own."""
        if not chance(4):
            return []
        lines = []
        for _ in range(draw(st.integers(1, 2))):
            place = draw(st.sampled_from((0, column, column, column + 2)))
            lines.append("" if chance(3) else " " * place + draw(st.sampled_from(_COMMENTS)))
        return lines

    def anchor() -> str:
        if not chance(8):
            return ""
        anchors.append(f"a{len(anchors)}")
        return f" &{anchors[-1]}"

    def scalar(in_flow: bool) -> str:
        if anchors and chance(10):
            return f"*{draw(st.sampled_from(anchors))}"
        return draw(st.sampled_from(_IN_FLOW if in_flow else _PLAIN) | st.sampled_from(_QUOTED))

    def flow(depth: int, column: int) -> list[str]:
        """A collection within brackets, on one line or several."""
        is_list = draw(st.booleans())
        opening, closing = "[]" if is_list else "{}"
        items = []
        for number in range(draw(st.integers(0, 3))):
            inner = flow(depth + 1, column) if depth < 2 and chance(5) else [scalar(True)]
            if len(inner) > 1:
                inner = [scalar(True)]
            items.append(inner[0] if is_list else f"k{number}: {inner[0]}")
        if items and depth == 0 and chance(3):
            margin = " " * (column + draw(st.sampled_from((2, 4))))
            last = "," if chance(2) else ""
            lines = [margin + item + ("," if number + 1 < len(items) else last) + behind()
                     for number, item in enumerate(items)]  # fmt: skip
            return [opening + behind(), *lines, " " * (column + 1) + closing]
        pad = " " if chance(4) else ""
        return [opening + pad + draw(st.sampled_from((", ", ", ", ","))).join(items) + pad + closing]

    def block(column: int) -> list[str]:
        """A literal or folded block: header and lines."""
        width = draw(st.sampled_from((2, 2, 4)))
        explicit = chance(3)
        header = draw(st.sampled_from("|>")) + draw(st.sampled_from(("", "-", "+")))
        if explicit:
            header += str(width)
        if chance(6):
            header += " " + draw(st.sampled_from(_COMMENTS))
        lines = [draw(st.sampled_from(_LINES)) for _ in range(draw(st.integers(1, 4)))]
        if not explicit:
            lines.insert(0, "first")
        elif draw(st.booleans()):
            lines.insert(0, "   further in")
        blanks = [""] * draw(st.sampled_from((0, 0, 0, 1, 2)))
        return [header, *(" " * (column + width) + line if line else "" for line in lines), *blanks]

    def after(depth: int, column: int, in_list: bool) -> list[str]:
        """What follows a `key:` or a `-` whose own column is given: the rest of its line, and further lines."""
        sort = draw(st.sampled_from("sssssefflbmmq" if depth < 4 else "sssefb"))
        mark = anchor() if sort != "e" else ""
        if sort == "s":
            text = scalar(False)
            return [("" if text[0] == "*" else mark) + " " + text + behind()]
        if sort == "e":
            return [behind()]
        if sort == "f":
            first, *rest = flow(0, column)
            lines = [f"{mark} {first}", *rest]
            lines[-1] += behind()
            return lines
        if sort in ("l", "b"):
            first, *rest = block(column)
            return [f"{mark} {first}", *rest]
        if in_list and not mark and draw(st.booleans()):
            # On the line of the dash itself.
            blanks = draw(st.sampled_from((1, 1, 3)))
            lines = collection(depth + 1, column + 1 + blanks, is_list=sort == "q")
            return [lines[0][column + 1 :], *lines[1:]]
        further = draw(st.sampled_from((2, 2, 4))) if in_list or sort == "m" else draw(st.sampled_from((0, 2, 4)))
        below = [*between(column + further), *collection(depth + 1, column + further, is_list=sort == "q")]
        return [mark + behind(), *below]

    def collection(depth: int, column: int, *, is_list: bool) -> list[str]:
        """The lines of a block list or mapping in a column."""
        lines: list[str] = []
        keys = draw(st.permutations(_KEYS)) if not is_list else ()
        for number in range(draw(st.integers(1, 4))):
            if lines:
                lines.extend(between(column))
            opening = "-" if is_list else f"{keys[number]}:"
            first, *rest = after(depth, column, is_list)
            lines.extend([" " * column + opening + first, *rest])
        return lines

    lines: list[str] = between(0)
    for number in range(draw(st.integers(1, 3))):
        anchors.clear()
        if number or chance(3):
            lines.append("---" + draw(st.sampled_from(("", "", " # comment"))))
        lines.extend(between(0))
        is_list = chance(4)
        lines.extend(collection(0, 0, is_list=is_list))
        if chance(4):
            # A block of lines that the end of the file may cut off.
            lines.extend([("- " if is_list else "last: ") + draw(st.sampled_from(("|", "|-", "|+", ">"))), "  end"])
            continue
        lines.extend(between(0))
        if chance(5):
            lines.append("...")
    newline = draw(st.sampled_from(("\n", "\n", "\r\n")))
    text = newline.join(lines) + (newline if draw(st.booleans()) else "")
    return ("\ufeff" if chance(6) else "") + text


def is_read_by_both(text: str) -> bool:
    """Whether both readers take the text, and see the same documents in it."""
    try:
        return len(with_pyyaml(text)) == len(with_ruamel(text))
    except (yaml.YAMLError, RuamelError, ValueError):
        return False


@settings(max_examples=60)
@given(manifests())
def test_edits_of_manifests_are_exactly_what_they_say(text: str) -> None:
    assume(is_read_by_both(text))
    check_everywhere(text, alone=True)


def test_a_manifest_with_everything() -> None:
    text = (
        "\ufeff# owner: team\r\n---  # first\r\napiVersion: v1\r\nspec:\r\n  # before\r\n  args:  # at\r\n"
        "  - --model  # first\r\n  # between\r\n  - 'it''s'\r\n  - 8000\r\n\r\n  # behind\r\n  env: &env\r\n"
        "    - {name: A, value: yes}\r\n    - name: B\r\n      value: |-  # kept\r\n        a\r\n         b\r\n"
        "  other: *env\r\n  empty:  # nothing\r\n  flow: [\r\n    a,  # one\r\n    b  # two\r\n  ]\r\n...\r\n---\r\n- x"
    )
    assert is_read_by_both(text)
    assert check_everywhere(text, alone=True) == 24


def corpus() -> list[Path]:
    """The YAML files of the folder."""
    folder = Path(os.environ.get("SERVELINT_CORPUS") or SHARED / "corpus")
    return sorted(path for path in folder.rglob("*") if path.suffix in (".yaml", ".yml") and path.is_file())


@pytest.mark.skipif(not corpus(), reason="needs the folder of public manifests beside the checkout")
@pytest.mark.parametrize("path", corpus(), ids=lambda path: path.name)
@pytest.mark.parametrize("form", ["as it is", "with CRLF", "without its end", "with a mark"])
def test_edits_of_a_corpus_are_exactly_what_they_say(path: Path, form: str) -> None:
    text = decode(path.read_bytes()).text
    if form == "with CRLF":
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    elif form == "without its end":
        text = text.rstrip("\r\n")
    elif form == "with a mark":
        text = "\ufeff" + text.removeprefix("\ufeff")
    made = check_everywhere(text, alone=form == "as it is")
    if made == 0:
        file = read_yaml(text)
        assert file.broken or file.templated or not file.documents
