"""Changes to a JSON text: the smallest edit, in the text's own spacing, and never a comment added.

Every editor gives edits of the whole text, or the reason why it will not make them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from servelint.formats.json import JsonFile, Member, Node, escape, member
from servelint.text import Edit, Span

Edits = tuple[Edit, ...]

_BLANKS = " \t\r\n"
_SCALARS = frozenset({"string", "number", "true", "false", "null"})


def refusal(file: JsonFile, *nodes: Node) -> str | None:
    """Why values of this text must not be edited: it is broken somewhere, or a repeated key leads to one of them."""
    if not file.strict:
        return "the file is no sound JSON; that has to be repaired first"
    doubled = [problem for problem in file.problems if problem.sort == "duplicate-key"]
    if not doubled:
        return None
    for node in nodes:
        if _under_repeated_key(file.root, node):
            return "the key stands there more than once; one of them has to go first"
    return None


def written(value: Any, file: JsonFile | None = None) -> str:
    """A value of Python as JSON on one line, lists and objects spaced as the file spaces them."""
    if isinstance(value, str):
        return f'"{escape(value, file is not None and _writes_ascii(file))}"'
    if isinstance(value, list | tuple):
        return "[" + _item_separator(file).join(written(item, file) for item in value) + "]"
    if isinstance(value, dict):
        colon = _colon_of_file(file)
        pairs = (f"{written(str(key), file)}{colon}{written(item, file)}" for key, item in value.items())
        return "{" + _item_separator(file).join(pairs) + "}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        words = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
        return words.get(repr(value), repr(value))
    return str(value)


def replace_value(file: JsonFile, node: Node, value: Any) -> Edits | str:
    """Put a value in the place of another; a list that stood on several lines keeps one item a line."""
    reason = refusal(file, node)
    if reason is not None:
        return reason
    if node.kind == "array" and node.items and isinstance(value, list | tuple) and value:
        first, last = node.items[0], node.items[-1]
        separator = f",{_gap_before(file, first)}" if _is_spread(file, node) else _separator_within(file, node)
        text = separator.join(written(item, file) for item in value)
        return (Edit(first.span.start, last.span.end, text),)
    return (Edit(node.span.start, node.span.end, written(value, file)),)


def scalar_to_list(file: JsonFile, node: Node, first: Sequence[Any] = (), last: Sequence[Any] = ()) -> Edits | str:
    """Make a scalar a list in its place, with values before and after it: `151643` becomes `[151645, 151643]`."""
    reason = refusal(file, node)
    if reason is not None:
        return reason
    if node.kind not in _SCALARS:
        return "there is a list or an object already"
    separator = _item_separator(file)
    before = "".join(written(value, file) + separator for value in first)
    after = "".join(separator + written(value, file) for value in last)
    return (Edit(node.span.start, node.span.start, f"[{before}"), Edit(node.span.end, node.span.end, f"{after}]"))


def insert_first(file: JsonFile, node: Node, value: Any) -> Edits | str:
    """Put a value in front of a list's items: on the same line where the list is on one, on its own line otherwise."""
    reason = refusal(file, node)
    if reason is not None:
        return reason
    if node.kind != "array":
        return "there is no list"
    if not node.items:
        return _fill(node, written(value, file))
    start = node.items[0].span.start
    separator = f",{_gap_before(file, node.items[0])}" if _is_spread(file, node) else _separator_within(file, node)
    return (Edit(start, start, written(value, file) + separator),)


def insert_last(file: JsonFile, node: Node, value: Any) -> Edits | str:
    """Put a value behind a list's items: on the same line where the last one has company there, else on its own."""
    reason = refusal(file, node)
    if reason is not None:
        return reason
    if node.kind != "array":
        return "there is no list"
    if not node.items:
        return _fill(node, written(value, file))
    last = node.items[-1]
    separator = f",{_gap_before(file, last)}" if _begins_line(file, last.span) else _separator_within(file, node)
    return (Edit(last.span.end, last.span.end, separator + written(value, file)),)


def add_member(file: JsonFile, node: Node, key: str, value: Any, after: str | None = None) -> Edits | str:
    """Add a key to an object: behind the key named `after`, or behind the last one where there is no such key.

    An object on one line stays on it; otherwise the new key gets a line with the indentation of the one before it.
    """
    reason = refusal(file, node)
    if reason is not None:
        return reason
    if node.kind != "object":
        return "there is no object"
    if member(node, key) is not None:
        return f"the key {key} is there already"
    if not node.members:
        return _fill_object(file, node, f"{written(key, file)}{_colon_of_file(file)}{written(value, file)}")
    anchor = (member(node, after) if after is not None else None) or node.members[-1]
    colon = _colon(file, (anchor, *node.members)) or ": "
    entry = f"{written(key, file)}{colon}{written(value, file)}"
    end = anchor.span.end
    if _begins_line(file, anchor.span):
        return (Edit(end, end, f",{_gap_before(file, anchor.key)}{entry}"),)
    return (Edit(end, end, _member_separator(file, node) + entry),)


# The spacing of the text.


def _gap_before(file: JsonFile, node: Node) -> str:
    """The line break and indentation before a value that begins its line."""
    text, start = file.text, node.span.start
    line = start
    while line > 0 and text[line - 1] in " \t":
        line -= 1
    newline = "\r\n" if text[max(0, line - 2) : line] == "\r\n" else text[line - 1 : line]
    return newline + text[line:start]


def _begins_line(file: JsonFile, span: Span) -> bool:
    """Whether only blanks stand before it on its line, and it is not the text's first line."""
    position = span.start
    while position > 0 and file.text[position - 1] in " \t":
        position -= 1
    return position > 0 and file.text[position - 1] in "\r\n"


def _is_spread(file: JsonFile, node: Node) -> bool:
    """Whether a list's first item stands on a line of its own."""
    return bool(node.items) and _begins_line(file, node.items[0].span)


def _separator(text: str, left: Span, right: Span) -> str | None:
    """What parts two entries on one line: `, `; None where there is more than a comma and blanks."""
    between = text[left.end : right.start]
    return between if not between.strip(" \t,") and between.count(",") == 1 else None


def _separator_within(file: JsonFile, node: Node) -> str:
    """The separator of a list on one line: that of its first items, else of the file."""
    for left, right in zip(node.items, node.items[1:], strict=False):
        found = _separator(file.text, left.span, right.span)
        if found is not None:
            return found
    return _item_separator(file)


def _member_separator(file: JsonFile, node: Node) -> str:
    for left, right in zip(node.members, node.members[1:], strict=False):
        found = _separator(file.text, left.span, right.span)
        if found is not None:
            return found
    return _item_separator(file)


def _item_separator(file: JsonFile | None) -> str:
    """How the file parts what stands on one line: as its lists do, else as its objects do, else `, `."""
    if file is None:
        return ", "
    fallback: str | None = None
    for node in _containers(file.root):
        for left, right in zip(node.items, node.items[1:], strict=False):
            found = _separator(file.text, left.span, right.span)
            if found is not None:
                return found
        for one, other in zip(node.members, node.members[1:], strict=False):
            fallback = fallback or _separator(file.text, one.span, other.span)
    if fallback is not None:
        return fallback
    return ", " if _colon_of_file(file) != ":" else ","


def _colon(file: JsonFile, members: Iterable[Member]) -> str | None:
    """The colon with its blanks, as the first of these members that has both on one line writes it."""
    for entry in members:
        between = file.text[entry.key.span.end : entry.value.span.start]
        if between.strip(" \t") == ":":
            return between
    return None


def _colon_of_file(file: JsonFile | None) -> str:
    if file is not None:
        for node in _containers(file.root):
            found = _colon(file, node.members)
            if found is not None:
                return found
    return ": "


def _writes_ascii(file: JsonFile) -> bool:
    """Whether the file writes characters beyond ASCII as escapes: it has such, and no others."""
    return "\\u" in file.text and file.text.isascii()


def _fill(node: Node, text: str) -> Edits:
    """Put the first item into an empty list."""
    return (Edit(node.span.start + 1, node.span.end - 1, text),)


def _fill_object(file: JsonFile, node: Node, text: str) -> Edits:
    """Put the first member into an empty object: on its line, or on a new one where the brackets stand apart."""
    inside = file.text[node.span.start + 1 : node.span.end - 1]
    if "\n" not in inside and "\r" not in inside:
        return _fill(node, text)
    newline = "\r\n" if "\r\n" in inside else ("\n" if "\n" in inside else "\r")
    tail = inside[inside.rfind(newline) :]
    indent = tail[len(newline) :]
    return (Edit(node.span.start + 1, node.span.end - 1, f"{newline}{indent}{_indent_unit(file)}{text}{tail}"),)


def _indent_unit(file: JsonFile) -> str:
    """One level of the file's indentation, two blanks where it shows none."""
    root = file.root
    if root is not None:
        for span in (*(entry.span for entry in root.members[:1]), *(item.span for item in root.items[:1])):
            if _begins_line(file, span):
                line = span.start
                while line > 0 and file.text[line - 1] in " \t":
                    line -= 1
                if span.start > line:
                    return file.text[line : span.start]
    return "  "


def _containers(root: Node | None, limit: int = 2000) -> Iterable[Node]:
    """The objects and arrays of the text, the outer ones first; of a very large text only the first ones."""
    pending = [root] if root is not None else []
    index = 0
    while index < len(pending) and index < limit:
        node = pending[index]
        index += 1
        yield node
        pending.extend(item for item in node.items if item.kind in ("array", "object"))
        pending.extend(entry.value for entry in node.members if entry.value.kind in ("array", "object"))


def _under_repeated_key(root: Node | None, wanted: Node) -> bool:
    """Whether a key that is repeated leads to this value."""
    node = root
    repeated = False
    while node is not None and node is not wanted:
        inner: Node | None = next((item for item in node.items if item.span.covers(wanted.span)), None)
        if inner is None:
            for entry in node.members:
                if entry.value.span.covers(wanted.span):
                    inner = entry.value
                    repeated = repeated or sum(other.name == entry.name for other in node.members) > 1
                    break
        node = inner
    return repeated
