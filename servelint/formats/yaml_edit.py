"""Small edits of YAML that look as if the file's author had made them: no re-dump, everything else untouched.

Every function gives edits of the file's text, or a `YamlRefusal` with the reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from servelint.formats.yaml import Node, YamlFile, YamlRefusal, ancestors, get, is_templated, newline_at, refusal
from servelint.formats.yaml_scalars import BREAKS, block_header, can_be_plain, line_breaks, looks_typed, render
from servelint.text import Edit, Span

# How many neighbours are asked for their quotes.
_NEIGHBOURS = 40
_BLANKS = " \t"
_OPEN_BLOCK = "the file ends within a block of lines, without a line break, and the block's value would gain one"


def append_items(file: YamlFile, sequence: Node, texts: Sequence[str]) -> tuple[Edit, ...] | YamlRefusal:
    """New strings at the end of a list, in its own form.

    In a block list they stand directly behind the last item, its comment at the end of its line included, in the same
    column; within brackets, behind the last item, on lines of their own where the last item is. Where nothing stands
    behind the list's key, they become a block list below it, as `insert_items` writes one.
    """
    if _is_nothing(sequence):
        return _begin_list(file, sequence, texts)
    reason = _refusal(file, sequence)
    if reason is None and sequence.kind != "sequence":
        reason = "it is not a list"
    if reason is not None:
        return YamlRefusal(reason)
    if not texts:
        return ()
    flow = _in_flow(file, sequence)
    written = _render_all(texts, list(reversed(sequence.items)), flow)
    if isinstance(written, YamlRefusal):
        return written
    if sequence.flow:
        if any(item.kind == "mapping" and not file.text.startswith("{", item.start) for item in sequence.items):
            return YamlRefusal("it holds a pair without braces")
        return _extend_flow(file.text, sequence, sequence.items, written)
    last = sequence.items[-1]
    place = _line_end(file.text, sequence.end)
    if place is None:
        return YamlRefusal("something else follows on the line of the last item")
    if _ends_in_open_block(file.text, sequence):
        return YamlRefusal(_OPEN_BLOCK)
    opening = _item_opening(file.text, sequence, last)
    newline = newline_at(file.text, sequence.start)
    return (Edit(place, place, "".join(f"{newline}{opening}{item}" for item in written)),)


def replace_scalar(file: YamlFile, node: Node, text: str, style: str | None = None) -> tuple[Edit, ...] | YamlRefusal:
    """Another string in the place of a scalar.

    Without a style a quoted scalar keeps its quotes; a plain one stays plain where the text is a string without them,
    and is quoted as its siblings are otherwise (in double quotes by default). `style` demands one: `single`, `double`,
    or `plain`, which writes the text as it is and so also numbers and booleans.
    """
    reason = _refusal(file, node) or _scalar_refusal(node)
    if reason is not None:
        return YamlRefusal(reason)
    flow = _in_flow(file, node)
    if style == "plain":
        written = text if can_be_plain(text, flow) else None
    elif style is not None:
        written = render(text, style, flow)
    else:
        written = _render(text, [node, *_siblings(file, node)], flow)
    if written is None:
        return YamlRefusal("the text cannot be written in this form")
    start, end = node.start, node.end
    if start == end:
        # An empty value; without its `:` or `-` there is nothing to write it behind.
        parent = (ancestors(file, node) or [node])[-1]
        mark = "-" if parent.kind == "sequence" else ":"
        if start == node.begin and (file.text[start - 1 : start] != mark or _ends_a_key(parent, start)):
            return YamlRefusal("there is no place for a value")
        written = " " + written
    if file.text[start:end] == written:
        return ()
    return (Edit(start, end, _apart(file.text, end, written)),)


def split_item(file: YamlFile, node: Node, texts: Sequence[str]) -> tuple[Edit, ...] | YamlRefusal:
    """Several strings in the place of one list item, in the list's own form; a comment behind it stays behind the last.

    Each keeps the item's quotes; those that would be no strings without quotes get them.
    """
    reason = _refusal(file, node) or _scalar_refusal(node)
    if reason is not None:
        return YamlRefusal(reason)
    if not texts:
        return YamlRefusal("an item cannot become none")
    sequence = (ancestors(file, node) or [node])[-1]
    if sequence.kind != "sequence":
        return YamlRefusal("it is not an item of a list")
    if node.begin != node.start or node.start == node.end:
        return YamlRefusal("the item has an anchor or tag, or is empty")
    flow = _in_flow(file, node)
    written = _render_all(texts, [node, *_siblings(file, node)], flow)
    if isinstance(written, YamlRefusal):
        return written
    if sequence.flow:
        separator = _flow_separator(file.text, sequence, _index(sequence.items, node))
    else:
        separator = newline_at(file.text, sequence.start) + _item_opening(file.text, sequence, node)
    return (Edit(node.start, node.end, separator.join(written)),)


def insert_key(file: YamlFile, mapping: Node, key: str, rendered: str) -> tuple[Edit, ...] | YamlRefusal:
    """A new pair at the end of a mapping. `rendered` is the value as it is to be written, on one line.

    Refuses a key that the mapping has, itself or by a merge key.
    """
    reason = _refusal(file, mapping)
    if reason is None and mapping.kind != "mapping":
        reason = "it is not a mapping"
    if reason is None and get(mapping, key) is not None:
        reason = "the key is there already"
    if reason is None and any(mark in rendered for mark in BREAKS):
        reason = "the value takes more than one line"
    if reason is not None:
        return YamlRefusal(reason)
    flow = _in_flow(file, mapping)
    keys = [pair[0] for pair in reversed(mapping.items)]
    name = _render(key, keys, flow)
    if name is None:
        return YamlRefusal("the key cannot be written in this form")
    pair = f"{name}: {rendered}" if rendered else f"{name}:"
    if mapping.flow:
        places = [Span(one.site.start, max(one.site.end, other.site.end)) for one, other in mapping.items]
        return _extend_flow(file.text, mapping, places, [pair])
    column = _column(file.text, mapping.items[0][0].begin)
    if file.text[mapping.start : mapping.start + 1] == "?":
        return YamlRefusal("its keys are written with `?`")
    place = _line_end(file.text, mapping.end)
    if place is None:
        return YamlRefusal("something else follows on the line of the last pair")
    if _ends_in_open_block(file.text, mapping):
        return YamlRefusal(_OPEN_BLOCK)
    return (Edit(place, place, f"{newline_at(file.text, mapping.start)}{' ' * column}{pair}"),)


def insert_items(file: YamlFile, mapping: Node, key: str, texts: Sequence[str]) -> tuple[Edit, ...] | YamlRefusal:
    """A new list of strings at the end of a mapping, or in the place of an empty one, or of nothing, behind the key.

    Written as a block below its key, in double quotes, indented as the mapping's other lists are (by two by default);
    within brackets, on one line.
    """
    reason = _refusal(file, mapping)
    if reason is not None:
        return YamlRefusal(reason)
    node = get(mapping, key)
    if node is not None and not node.merged and _is_nothing(node):
        return _begin_list(file, node, texts)
    written = [render(text, "double", False) for text in texts]
    items = [text for text in written if text is not None]
    if len(items) < len(texts):
        return YamlRefusal("the text cannot be written in this form")
    if node is not None or mapping.flow:
        shown = f"[{', '.join(items)}]"
        if node is None:
            return insert_key(file, mapping, key, shown)
        if node.kind != "sequence" or node.items or node.merged or _refusal(file, node) is not None:
            return YamlRefusal("what is there is no empty list")
        return (Edit(node.start, node.end, shown),)
    opening = insert_key(file, mapping, key, "")
    if isinstance(opening, YamlRefusal):
        return opening
    newline = newline_at(file.text, mapping.start)
    column = _column(file.text, mapping.items[0][0].begin)
    indent = " " * (column + _list_indent(file, mapping))
    lines = "".join(f"{newline}{indent}- {item}" for item in items)
    return tuple(Edit(edit.start, edit.end, edit.text + lines) for edit in opening)


def _is_nothing(node: Node) -> bool:
    """Whether nothing at all is written where a value could be."""
    return node.kind == "scalar" and node.style == "plain" and node.begin == node.end and node.alias_span is None


def _begin_list(file: YamlFile, node: Node, texts: Sequence[str]) -> tuple[Edit, ...] | YamlRefusal:
    """A block list where a key has no value: below the key's line, its comment at the end of the line kept."""
    mapping = (ancestors(file, node) or [node])[-1]
    reason = _refusal(file, node)
    if reason is None and (mapping.kind != "mapping" or mapping.flow or _ends_a_key(mapping, node.begin)):
        reason = "it is not a list"
    place = _line_end(file.text, node.end)
    if reason is None and place is None:
        reason = "something else follows on the line of the key"
    if reason is not None or place is None:
        return YamlRefusal(reason or "there is no place for a list")
    written = [render(text, "double", False) for text in texts]
    if None in written:
        return YamlRefusal("the text cannot be written in this form")
    newline = newline_at(file.text, mapping.start)
    indent = " " * (_column(file.text, mapping.items[0][0].begin) + _list_indent(file, mapping))
    return (Edit(place, place, "".join(f"{newline}{indent}- {item}" for item in written)),) if written else ()


def _list_indent(file: YamlFile, mapping: Node) -> int:
    """How far the block lists of a mapping stand behind its keys: what its first one has, 2 where it has none."""
    for key, node in mapping.items:
        if node.kind == "sequence" and not node.flow and node.items and node.alias_span is None:
            return max(0, _column(file.text, node.start) - _column(file.text, key.begin))
    return 2


# Whether


def _refusal(file: YamlFile, node: Node) -> str | None:
    reason = refusal(file, node)
    if reason is None and node.kind == "scalar" and is_templated(node.text):
        return "it is an expression of a template"
    return reason


def _scalar_refusal(node: Node) -> str | None:
    if node.kind != "scalar":
        return "it is not a scalar"
    if node.style in ("literal", "folded"):
        return "it is a block of lines"
    return None


def _in_flow(file: YamlFile, node: Node) -> bool:
    return node.flow or any(parent.flow for parent in ancestors(file, node) or ())


# Quotes


def _siblings(file: YamlFile, node: Node) -> Iterator[Node]:
    """The nodes whose quotes a scalar should have, nearest first: items of its list, values of its key in the mappings
    beside its own, other values of its mapping."""
    chain = ancestors(file, node) or []
    if not chain:
        return
    parent = chain[-1]
    if parent.kind == "sequence":
        yield from _nearest(parent.items, node)
        return
    place = bisect_right(parent.items, node.begin, key=lambda pair: pair[0].site.start) - 1
    key, value = parent.items[place]
    if value is node and len(chain) > 1 and chain[-2].kind == "sequence":
        for other in _nearest(chain[-2].items, parent):
            found = get(other, key.text)
            if found is not None:
                yield found
    around = parent.items[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS]
    yield from _nearest([pair[1 if value is node else 0] for pair in around], node)


def _index(nodes: Sequence[Node], node: Node) -> int:
    """The place of a node among nodes in the order of the text, or of the one that it stands in."""
    return bisect_right(nodes, node.begin, key=lambda one: one.site.start) - 1


def _nearest(nodes: Sequence[Node], node: Node) -> Iterator[Node]:
    """The others, from the nearest on, those before a node first."""
    place = _index(nodes, node)
    before, after = place - 1, place + 1
    for _ in range(_NEIGHBOURS):
        if before >= 0:
            yield nodes[before]
            before -= 1
        if after < len(nodes):
            yield nodes[after]
            after += 1


def _is_bare_token(node: Node) -> bool:
    return node.kind == "scalar" and node.style == "plain" and node.text.startswith("<")


def _render(text: str, siblings: Sequence[Node], flow: bool) -> str | None:
    """The text as a scalar with the quotes of the nearest sibling that shows a choice.

    A sibling shows nothing of a text that needs no quotes where it could not do without its own.
    """
    # `<|im_end|>` is a string without quotes too, but a slip away from being none: `|im_end|` begins a block of lines.
    # It goes without them only where one of its kind does.
    token = text.startswith("<") and not any(_is_bare_token(sibling) for sibling in siblings[:_NEIGHBOURS])
    free = can_be_plain(text, flow) and not looks_typed(text) and not token
    quoted: str | None = None
    chosen: str | None = None
    for sibling in siblings[:_NEIGHBOURS]:
        if sibling.kind != "scalar" or sibling.alias_span is not None or sibling.start == sibling.end:
            continue
        if sibling.style in ("single", "double"):
            quoted = quoted or sibling.style
            needed = not can_be_plain(sibling.text, flow) or looks_typed(sibling.text)
            if chosen is None and not (free and needed):
                chosen = sibling.style
        elif sibling.style == "plain" and free and chosen is None and not looks_typed(sibling.text):
            chosen = "plain"
        if chosen is not None and quoted is not None:
            break
    style = chosen or ("plain" if free and quoted is None else quoted or "double")
    if style != "plain" and '"' in text:
        # JSON and its like: without a backslash before every quote.
        single = render(text, "single", flow)
        if single is not None:
            return single
    written = render(text, style, flow)
    return written if written is not None else render(text, "double", flow)


def _render_all(texts: Sequence[str], siblings: Sequence[Node], flow: bool) -> list[str] | YamlRefusal:
    written = []
    for text in texts:
        one = _render(text, siblings, flow)
        if one is None:
            return YamlRefusal("the text holds what no YAML file can")
        written.append(one)
    return written


# Places


def _line_begin(text: str, position: int) -> int:
    while position > 0 and text[position - 1] not in BREAKS:
        position -= 1
    return position


def _column(text: str, position: int) -> int:
    begin = _line_begin(text, position)
    return position - begin - (1 if text.startswith("\ufeff", begin) else 0)


def _line_end(text: str, position: int) -> int | None:
    """The end of the line that something ends on, its comment included.

    None where more than a comment follows, or where the line ends as only YAML 1.1 has lines end (U+2028).
    """
    while position < len(text) and text[position] in _BLANKS:
        position += 1
    if text[position : position + 1] == "#":
        match = line_breaks().search(text, position)
        position = match.start() if match else len(text)
    return position if position == len(text) or text[position] in "\r\n" else None


def _ends_a_key(parent: Node, position: int) -> bool:
    if parent.kind != "mapping":
        return False
    place = bisect_right(parent.items, position, key=lambda pair: pair[0].site.start) - 1
    return place < 0 or bool(parent.items[place][0].site.end == position)


def _apart(text: str, position: int, written: str) -> str:
    """The text with a blank behind it where a comment follows at once (`""# …`), which it would swallow."""
    return written + " " if text[position : position + 1] == "#" else written


def _ends_in_open_block(text: str, node: Node) -> bool:
    """Whether a collection ends with a block scalar that the end of the file cuts off before its last line break."""
    while node.items and node.alias_span is None:
        if node.kind == "mapping":
            key, value = node.items[-1]
            node = value if value.site.end > key.site.end else key
        else:
            node = node.items[-1]
    if node.style not in ("literal", "folded") or node.end < len(text):
        return False
    return "-" not in block_header(text, node.start, node.end)[0]


def _item_opening(text: str, sequence: Node, item: Node) -> str:
    """What stands before an item of a block list on a new line: the list's column, the dash, the blanks behind it."""
    margin = " " * _column(text, sequence.start)
    begin = item.site.start
    cursor = begin
    while cursor > 0 and text[cursor - 1] == " ":
        cursor -= 1
    blanks = text[cursor:begin] if text[cursor - 1 : cursor] == "-" else ""
    return f"{margin}-{blanks or ' '}"


def _flow_separator(text: str, sequence: Node, index: int) -> str:
    """What stands between an item within brackets and the next one."""
    margin = _own_line(text, sequence, [item.site for item in sequence.items], index)
    if margin is not None:
        return f",{newline_at(text, sequence.start)}{margin}"
    return _comma(text, [item.site for item in sequence.items])


def _comma(text: str, places: Sequence[Span]) -> str:
    for one, other in zip(places[-2:], places[-1:], strict=False):
        between = text[one.end : other.start]
        if between.strip(_BLANKS) == "," and between[0] == ",":
            return between
    return ", "


def _own_line(text: str, collection: Node, places: Sequence[Span], index: int) -> str | None:
    """The blanks before an item within brackets that begins its line; None where something stands before it."""
    begin = places[index].start
    line = _line_begin(text, begin)
    if line <= collection.start or text[line:begin].strip(_BLANKS):
        return None
    return text[line:begin]


def _extend_flow(
    text: str, collection: Node, items: Sequence[Node] | Sequence[Span], written: Sequence[str]
) -> tuple[Edit, ...] | YamlRefusal:
    if text[collection.start : collection.start + 1] not in ("[", "{"):
        return YamlRefusal("it has no brackets")
    inside = collection.start + 1
    if not items:
        inner = text[inside : collection.end - 1]
        if inner and not inner.strip(_BLANKS):
            # `[ ]` is `[ "x" ]`, and `[]` is `["x"]`.
            return (Edit(inside, collection.end - 1, f" {', '.join(written)} "),)
        return (Edit(inside, inside, _apart(text, inside, ", ".join(written))),)
    places = [item if isinstance(item, Span) else item.site for item in items]
    end = places[-1].end
    if text[end - 1] == ":" and text[end : end + 1] != ",":
        # `{a: }`: libyaml takes `a:,` for a fault.
        return YamlRefusal("the last value is empty")
    margin = _own_line(text, collection, places, len(places) - 1)
    comma = _comma_behind(text, end, collection.end - 1)
    if margin is None:
        joined = _comma(text, places)
        if comma is None:
            return (Edit(end, end, _apart(text, end, "".join(joined + item for item in written))),)
        return (Edit(comma + 1, comma + 1, "".join(f"{joined[1:] or ' '}{item}," for item in written)),)
    newline = newline_at(text, collection.start)
    # Behind the comment on the last item's line, unless the bracket closes on that very line.
    tail = _line_end(text, end if comma is None else comma + 1)
    if comma is None:
        lines = "".join(f",{newline}{margin}{item}" for item in written)
        if tail is None or tail == end:
            return (Edit(end, end, _apart(text, end, lines)),)
        return (Edit(end, end, ","), Edit(tail, tail, lines[1:]))
    lines = "".join(f"{newline}{margin}{item}," for item in written)
    place = comma + 1 if tail is None else tail
    return (Edit(place, place, lines),)


def _comma_behind(text: str, position: int, end: int) -> int | None:
    """The offset of a comma behind the last item, over blanks, line breaks and comments; None where there is none."""
    while position < end:
        if text[position] == ",":
            return position
        if text[position] == "#":
            match = line_breaks().search(text, position, end)
            position = match.end() if match else end
        elif text[position] in _BLANKS or text[position] in BREAKS:
            position += 1
        else:
            return None
    return None
