"""JSON 6902 patches over YAML trees, as Kustomize applies them: `add`, `replace`, `remove`, `copy`, `move`, `test`."""

from __future__ import annotations

from collections.abc import Sequence

from servelint.formats.yaml import Node, entries, get
from servelint.records import record


@record
class Operation:
    """One step: what it does, where, and the value (or the place `from` which one is taken)."""

    name: str
    path: tuple[str, ...]
    value: Node | None
    origin: tuple[str, ...]


def operations_of(root: Node | None) -> list[Operation] | None:
    """The steps of a patch; None where it is none."""
    if root is None or root.kind != "sequence" or not root.items:
        return None
    found = []
    for item in root.items:
        name, path = get(item, "op"), get(item, "path")
        if name is None or path is None or name.kind != "scalar" or path.kind != "scalar":
            return None
        origin = get(item, "from")
        found.append(Operation(name.text, _steps(path.text), get(item, "value"), _steps(origin.text if origin else "")))
    return found


def _steps(pointer: str) -> tuple[str, ...]:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def patched(root: Node, operations: Sequence[Operation]) -> Node | None:
    """The tree after all steps; None where one of them does not hold, for then nothing is applied at all.

    Nodes are shared with the tree and the patch; none of them is changed.
    """
    made: Node | None = root
    for operation in operations:
        if made is None:
            return None
        if operation.name == "test":
            continue
        value = operation.value
        if operation.name in ("copy", "move"):
            value = _found(made, operation.origin)
            if operation.name == "move" and value is not None:
                made = _changed(made, operation.origin, None, "remove")
                if made is None:
                    return None
        if operation.name != "remove" and value is None:
            return None
        name = "add" if operation.name in ("copy", "move") else operation.name
        made = _changed(made, operation.path, value, name)
    return made


def _found(node: Node | None, path: Sequence[str]) -> Node | None:
    for step in path:
        if node is None:
            return None
        if node.kind == "sequence":
            place = _place(step, len(node.items) - 1)
            node = None if place is None else node.items[place]
        else:
            node = get(node, step)
    return node


def _place(step: str, last: int) -> int | None:
    """A step as a place in a list; Kustomize counts from the end as well where it is negative."""
    if not step.lstrip("-").isdecimal():
        return None
    place = int(step)
    place = place + last + 1 if place < 0 else place
    return place if 0 <= place <= last else None


def _changed(node: Node, path: Sequence[str], value: Node | None, name: str) -> Node | None:
    if not path:
        return value
    step, rest = path[0], path[1:]
    if node.kind == "sequence":
        return _in_sequence(node, step, rest, value, name)
    if node.kind != "mapping":
        return None
    pairs = entries(node)
    at = next((index for index, (key, _) in enumerate(pairs) if key.text == step), None)
    if at is None:
        if rest or name == "remove" or value is None:
            return None
        return _with_items(node, [*pairs, (_key(step, value), value)])
    key, child = pairs[at]
    if not rest and name == "remove":
        return _with_items(node, pairs[:at] + pairs[at + 1 :])
    made = value if not rest else _changed(child, rest, value, name)
    return None if made is None else _with_items(node, [*pairs[:at], (key, made), *pairs[at + 1 :]])


def _in_sequence(node: Node, step: str, rest: Sequence[str], value: Node | None, name: str) -> Node | None:
    items: list[Node] = list(node.items)
    is_addition = not rest and name == "add"
    place = len(items) if step == "-" and is_addition else _place(step, len(items) - (0 if is_addition else 1))
    if place is None:
        return None
    if not rest and name == "remove":
        return _with_items(node, items[:place] + items[place + 1 :])
    made = value if not rest else _changed(items[place], rest, value, name)
    if made is None:
        return None
    return _with_items(node, [*items[:place], made, *items[place + (0 if is_addition else 1) :]])


def _key(text: str, value: Node) -> Node:
    return Node("scalar", value.start, value.start, value.start, text, "plain", False)


def _with_items(node: Node, items: Sequence[object]) -> Node:
    made = Node(node.kind, node.begin, node.start, node.end, node.text, node.style, node.flow)
    made.items = list(items)
    return made
