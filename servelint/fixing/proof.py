"""Proves a repair by reading the new text: only what the edits touch may differ, and no comment may be lost."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

from servelint.checks.run import Result
from servelint.formats.problem import Comment
from servelint.manifests.serving import Manifest
from servelint.text import Edit, Span

# What a document says, as pairs of a place and a value, in order; `touched` tells whether an edit lies there.
Statement = tuple[Hashable, Any]


def unexpected_change(before: Result, after: Result, edits: Sequence[Edit]) -> str | None:
    """Why the new text must not be written, or None when its difference is exactly the edits' own."""
    old, new = before.manifest, after.manifest
    if old is None or new is None or old.kind != new.kind:
        return "the new text is no longer read as what it was"
    if len(new.problems) > len(old.problems):
        return f"the new text cannot be read: {new.problems[0].message}"
    lost = Counter(_comment(c.text) for c in old.comments) - Counter(_comment(c.text) for c in new.comments)
    if lost:
        return f"the comment {next(iter(lost))!r} would be lost"
    prove = _PROOFS.get(old.format)
    reason = prove(old, new, edits) if prove else None
    return reason or _changed_pieces(before, after)


def _changed_pieces(before: Result, after: Result) -> str | None:
    """Why a manifest inside would not be what it was: it cannot be read any more, or has lost a comment."""
    if len(before.pieces) != len(after.pieces):
        return "the new text holds other manifests than the old one"
    for one, other in zip(before.pieces, after.pieces, strict=True):
        old, new = one.manifest, other.manifest
        if old is None or new is None:
            continue
        if len(new.problems) > len(old.problems):
            return f"what lies inside could not be read: {new.problems[0].message}"
        lost = Counter(_comment(c.text) for c in old.comments) - Counter(_comment(c.text) for c in new.comments)
        if lost:
            return f"the comment {next(iter(lost))!r} would be lost"
    return None


def _comment(text: str) -> str:
    return text.strip()


class _Edited:
    """The places of a text that edits lie in. Edits of one repair do not overlap, so their ends are sorted as well."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = sorted(edits, key=lambda edit: (edit.start, edit.end))
        self._ends = [edit.end for edit in self._edits]

    def touches(self, span: Span) -> bool:
        """Whether an edit lies in the span, or at its edge."""
        index = bisect_left(self._ends, span.start)
        return index < len(self._edits) and self._edits[index].start <= span.end

    def changes(self, span: Span) -> bool:
        """Whether an edit changes characters within the span; an insertion at its edge does not."""
        index = bisect_right(self._ends, span.start)
        return index < len(self._edits) and self._edits[index].start < span.end


def _prove_modelfile(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    """Every instruction that no edit touches must still stand there, in its order."""
    edited = _Edited(edits)
    kept = [i for i in old.facts["document"].instructions if not edited.changes(i.span)]
    following = iter(new.facts["document"].instructions)
    for instruction in kept:
        wanted = (instruction.name, instruction.value)
        if not any((other.name, other.value) == wanted for other in following):
            return f"the instruction {instruction.keyword} {instruction.value[:40]!r} would change"
    return None


def _prove_env(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    edited = _Edited(edits)
    kept = [entry for entry in old.facts["document"].entries if not edited.touches(entry.whole)]
    following = iter(new.facts["document"].entries)
    for entry in kept:
        if not any((other.name, other.raw) == (entry.name, entry.raw) for other in following):
            return f"the variable {entry.name} would change"
    return None


def _prove_shell(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    edited = _Edited(edits)
    kept = [c for c in old.facts["document"].commands if not edited.touches(c.span)]
    following = iter(new.facts["document"].commands)
    for command in kept:
        words = [word.text for word in command.words]
        if not any([word.text for word in other.words] == words for other in following):
            return f"the command {' '.join(word or '…' for word in words)[:60]!r} would change"
    return None


def _prove_unit(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    edited = _Edited(edits)
    kept = [setting for setting in old.facts["document"].settings if not edited.touches(setting.span)]
    following = iter(new.facts["document"].settings)
    for setting in kept:
        wanted = (setting.section, setting.name, setting.value.text)
        if not any((other.section, other.name, other.value.text) == wanted for other in following):
            return f"the setting {setting.name} would change"
    return None


def _prove_ini(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    edited = _Edited(edits)
    kept = [setting for setting in old.facts["document"].settings if not edited.touches(setting.whole)]
    following = iter(new.facts["document"].settings)
    for setting in kept:
        wanted = (setting.section, setting.name, setting.value)
        if not any((other.section, other.name, other.value) == wanted for other in following):
            return f"the setting {setting.name} would change"
    return None


def _prove_lines(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    """Every line that no edit touches must still stand there, in its order."""
    edited = _Edited(edits)
    following = iter(new.text.split("\n"))
    position = 0
    for line in old.text.split("\n"):
        kept = not edited.touches(Span(position, position + len(line)))
        if kept and not any(other == line for other in following):
            return f"the line {line.strip()[:60]!r} would change"
        position += len(line) + 1
    return None


def _prove_helm(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    """A template is only changed on lines without actions."""
    for edit in edits:
        start = old.text.rfind("\n", 0, edit.start) + 1
        end = old.text.find("\n", edit.end)
        if "{{" in old.text[start : end if end >= 0 else len(old.text)]:
            return "an expression of the template stands on the line"
    return _prove_lines(old, new, edits)


def _prove_dockerfile(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    edited = _Edited(edits)
    kept = [each for each in old.facts["document"].instructions if not edited.touches(each.span)]
    following = iter(new.facts["document"].instructions)
    for instruction in kept:
        wanted = (instruction.name, instruction.value.text)
        if not any((other.name, other.value.text) == wanted for other in following):
            return f"the instruction {instruction.name} {instruction.value.text[:40]!r} would change"
    return None


def _prove_json(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    import json

    from servelint.formats.json import plain as plain_json
    from servelint.formats.json import read_json

    document = read_json(old.text)
    try:
        after = json.loads(new.text)
    except ValueError as error:
        return f"the new text is not JSON: {error}"
    if document.root is None or not document.strict:
        return None
    allowed = [_path(trail) for trail in _touched(document.root, edits, _json_children)]
    return _differences(plain_json(document.root), after, allowed)


_Child = tuple[Any, Any, Span]
# The steps from a document down to a value, each with where the value that it leads to ends.
_Trail = list[tuple[Any, int]]


def _path(trail: _Trail) -> tuple[Any, ...]:
    return tuple(step for step, _ in trail)


def _touched(root: Any, edits: Sequence[Edit], children_of: Callable[[Any], list[_Child]]) -> list[_Trail]:
    """The way to the smallest value that holds each edit."""
    known: dict[int, list[_Child]] = {}
    trails = []
    for edit in edits:
        node: Any = root
        trail: _Trail = []
        while True:
            children = known.get(id(node))
            if children is None:
                children = known[id(node)] = children_of(node)
            last = bisect_right(children, edit.start, key=lambda child: child[2].start)
            holding = next((c for c in children[max(0, last - 2) : last] if edit.end <= c[2].end), None)
            if holding is None:
                break
            node = holding[1]
            trail.append((holding[0], holding[2].end))
        trails.append(trail)
    return trails


def _json_children(node: Any) -> list[_Child]:
    if node.kind == "object":
        return [(entry.name, entry.value, entry.span) for entry in node.members]
    if node.kind == "array":
        return [(index, item, item.span) for index, item in enumerate(node.items)]
    return []


def _prove_yaml(old: Manifest, new: Manifest, edits: Sequence[Edit]) -> str | None:
    from servelint.formats.yaml import plain, read_yaml

    try:
        before, after = plain(old.text), plain(new.text)
    except ValueError as error:
        return f"the independent reader does not take it: {error}"
    if len(before) != len(after):
        return "the new text has another number of documents"
    file = read_yaml(old.text)
    documents = file.documents
    edits = [_behind_content(old.text, edit, file.comments) for edit in edits]
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        root = documents[index] if index < len(documents) else None
        allowed, growing = ([], set[tuple[Any, ...]]()) if root is None else _touched_yaml(root, edits)
        reason = _differences(one, other, allowed, growing)
        if reason:
            return reason
    return None


def _behind_content(text: str, edit: Edit, comments: Sequence[Comment]) -> Edit:
    """An insertion at the end of a line, seen from the end of what stands on it: the comment between belongs to no
    value, and the place behind it would seem to lie outside the list that grows there."""
    if edit.start != edit.end:
        return edit
    place = bisect_right(comments, edit.start, key=lambda comment: comment.span.start) - 1
    start = edit.start
    if place >= 0 and comments[place].span.end >= start:
        start = comments[place].span.start
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    return Edit(start, start, edit.text)


def _touched_yaml(root: Any, edits: Sequence[Edit]) -> tuple[list[tuple[Any, ...]], set[tuple[Any, ...]]]:
    """The paths below which anything may differ, and those of mappings and lists that may gain something."""
    own = [edit for edit in edits if edit.end >= root.span.start and edit.start <= root.span.end + 1]
    trails = _touched(root, own, _yaml_children)
    paths = [_path(trail) for trail in trails]
    # A key or item that is put in behind a value is one of a mapping or list whose last value ends there.
    growing = {
        path[:length]
        for edit, path, trail in zip(own, paths, trails, strict=True)
        if edit.start == edit.end
        for length in range(len(path) + 1)
        if length == len(path) or trail[length][1] == edit.start
    }
    # An item that is added or split changes the list that holds it.
    return [path[:-1] if path and isinstance(path[-1], int) else path for path in paths], growing


def _yaml_children(node: Any) -> list[_Child]:
    from servelint.formats.yaml import scalar_type
    from servelint.formats.yaml_types import typed

    found: list[tuple[Any, Any]] = []
    if node.kind == "mapping":
        found = [(typed(key.text, scalar_type(key)), value) for key, value in node.items if key.kind == "scalar"]
    elif node.kind == "sequence":
        found = list(enumerate(node.items))
    # What an alias stands for is written elsewhere.
    return [(key, child, child.span) for key, child in found if child.alias_span is None]


def _differences(
    one: Any, other: Any, allowed: Iterable[tuple[Any, ...]], growing: Collection[tuple[Any, ...]] = ()
) -> str | None:
    """Why two documents differ where they must not, or None.

    `allowed` are paths below which they may, `growing` those of mappings that may gain keys and lists that may gain
    items behind those that they have.
    """
    allowed = frozenset(allowed)
    stack: list[tuple[Any, Any, tuple[Any, ...]]] = [(one, other, ())]
    while stack:
        left, right, path = stack.pop()
        if path in allowed:
            continue
        if isinstance(left, dict) and isinstance(right, dict):
            lost = [key for key in left if key not in right]
            gained = [] if path in growing else [key for key in right if key not in left]
            if lost or gained:
                return f"{_dotted((*path, (lost + gained)[0]))} would come or go"
            stack.extend((left[key], right[key], (*path, key)) for key in left)
        elif (
            isinstance(left, list)
            and isinstance(right, list)
            and (len(left) == len(right) or (len(left) < len(right) and path in growing))
        ):
            stack.extend((a, b, (*path, index)) for index, (a, b) in enumerate(zip(left, right, strict=False)))
        elif (left != right and left == left) or type(left) is not type(right):
            return f"{_dotted(path)} would change from {left!r} to {right!r}"
    return None


def _dotted(path: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in path) or "the whole document"


_PROOFS: dict[str, Callable[[Manifest, Manifest, Sequence[Edit]], str | None]] = {
    "modelfile": _prove_modelfile,
    "env": _prove_env,
    "shell": _prove_shell,
    "unit": _prove_unit,
    "ini": _prove_ini,
    "lines": _prove_lines,
    "helm": _prove_helm,
    "dockerfile": _prove_dockerfile,
    "json": _prove_json,
    "yaml": _prove_yaml,
}
