"""The comments of a YAML text, which libyaml's events do not show, and the nodes that they stand on or above."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from servelint.formats.problem import Comment
from servelint.formats.yaml_scalars import line_breaks
from servelint.text import Span

if TYPE_CHECKING:
    from servelint.formats.yaml import Node


def find_comments(
    text: str,
    scalars: Sequence[tuple[int, int, str]],
    limit: int,
    documents: Sequence[Node | None],
    starts: Sequence[int],
    spans: Sequence[Span],
) -> tuple[Comment, ...]:
    """The comments before an offset `limit`, each with what it belongs to.

    `scalars` gives begin, end and style of every scalar in order, `starts` where each document begins with its marker
    or its first node, `spans` each document's part of the text.

    A comment at the end of a line belongs to the pair or item that begins and ends there, else to the one that begins
    there (`args: # …`), else to the one that ends there (`] # …`). One on a line of its own belongs to the pair or item
    that begins next below it, or to the document whose `---` does; where nothing follows, to nothing but itself.
    """
    places = _comment_places(text, scalars, limit)
    if not places:
        return ()
    units = [Span(start, end) for start, end in sorted(_units(documents), key=lambda unit: (unit[0], -unit[1]))]
    binder = _Binder(text, units, starts, spans, [0, *(match.end() for match in line_breaks().finditer(text))])
    return tuple(Comment(place, text[place.start : place.end], binder.target(place)) for place in places)


def _comment_places(text: str, scalars: Sequence[tuple[int, int, str]], limit: int) -> list[Span]:
    """Every `#` that is no part of a scalar begins a comment: names of anchors and tags cannot hold one."""
    starts = [start for start, _, _ in scalars]
    places = []
    position = text.find("#", 0, limit)
    while position >= 0:
        index = bisect_right(starts, position) - 1
        if index >= 0 and position < scalars[index][1]:
            start, end, style = scalars[index]
            header = line_breaks().search(text, start, end) if style in ("literal", "folded") else None
            if style not in ("literal", "folded") or (header is not None and position >= header.start()):
                position = text.find("#", end, limit)
                continue
        match = line_breaks().search(text, position)
        stop = match.start() if match else len(text)
        places.append(Span(position, stop))
        position = text.find("#", stop, limit)
    return places


def _units(documents: Sequence[Node | None]) -> Iterator[tuple[int, int]]:
    """What a comment may belong to: every key/value pair and every list item, aliases not followed."""
    stack = [root for root in documents if root is not None and root.alias_span is None]
    while stack:
        node = stack.pop()
        if node.kind == "mapping":
            for key, value in node.items:
                start, end = _site(key)
                yield start, max(_site(value)[1], end)
                stack.extend(child for child in (key, value) if child.items and child.alias_span is None)
        else:
            for item in node.items:
                yield _site(item)
                if item.items and item.alias_span is None:
                    stack.append(item)


def _site(node: Node) -> tuple[int, int]:
    alias = node.alias_span
    return (node.begin, node.end) if alias is None else (alias.start, alias.end)


class _Binder:
    """Finds the node that a comment stands on or above."""

    def __init__(
        self, text: str, units: list[Span], document_starts: Sequence[int], documents: Sequence[Span], lines: list[int]
    ) -> None:
        self.text = text
        self.units = units
        self.starts = [unit.start for unit in units]
        self.by_end = sorted(units, key=lambda unit: (unit.end, unit.start))
        self.ends = [unit.end for unit in self.by_end]
        self.documents = list(zip(document_starts, documents, strict=False))
        self.lines = lines

    def target(self, place: Span) -> Span:
        """The span of the pair, item or document that a comment belongs to; its own where there is none."""
        line = self.lines[bisect_right(self.lines, place.start) - 1]
        if self.text[line : place.start].strip(" \t\ufeff"):
            return self._beside(line, place)
        return self._below(place)

    def _beside(self, line: int, place: Span) -> Span:
        first, last = bisect_left(self.starts, line), bisect_left(self.starts, place.start)
        here = self.units[first:last]
        for unit in here:
            if unit.end <= place.start:
                return unit
        if here:
            # Only openers stand before it: `args: # …`.
            return here[-1]
        # A bracket or the last line of a text: the innermost of what ends here.
        ending = self.by_end[bisect_right(self.ends, line) : bisect_right(self.ends, place.start)]
        if ending:
            return max(ending, key=lambda unit: (unit.start, -unit.end))
        for start, span in self.documents[bisect_left(self.documents, line, key=lambda document: document[0]) :]:
            if start >= place.start:
                break
            if self.text.startswith("---", start):
                return span
        return self._below(place)

    def _below(self, place: Span) -> Span:
        index = bisect_left(self.starts, place.end)
        unit = self.units[index] if index < len(self.units) else None
        after = bisect_left(self.documents, place.end, key=lambda document: document[0])
        if after < len(self.documents):
            start, span = self.documents[after]
            marked = self.text.startswith("---", start)
            if unit is None or start < unit.start:
                return span if marked or unit is None else unit
        return unit if unit is not None else place
