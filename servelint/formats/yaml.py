"""YAML with a place for every node: libyaml's events, made into light nodes.

Kubernetes' reader (sigs.k8s.io/yaml), Helm and Docker Compose use ports of libyaml, so what it refuses they refuse.
Scalars are typed as sigs.k8s.io/yaml types them. Nothing is constructed from tags, and no alias is ever expanded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from servelint.formats import yaml_scalars as scalars
from servelint.formats.problem import Comment, LateComments, Problem
from servelint.formats.yaml_types import plain_type, typed
from servelint.records import record
from servelint.text import Embedded, Span

# go-yaml gives up at 10,000 levels, libyaml at 1,000; deeper than this no person writes, and proofs recurse.
DEPTH_LIMIT = 400
# How many mappings a lookup follows through merge keys. Only a hostile file has more, and each lookup would pay.
MERGE_LIMIT = 64
# How many values `plain` lets a text grow to through its aliases.
EXPANSION_LIMIT = 200_000

_PROBLEM_LIMIT = 50
_NO_ITEMS: list[Any] = []
_STYLES = {None: "plain", "": "plain", "'": "single", '"': "double", "|": "literal", ">": "folded"}
_TAG_PREFIX = "tag:yaml.org,2002:"

_REASONS = {
    "mapping values are not allowed in this context":
        "a `key: value` cannot stand here: a text that holds `: ` wants quotes, or the indentation is wrong",
    "block sequence entries are not allowed in this context": "a `- ` list item cannot stand here",
    "mapping keys are not allowed in this context": "a `? ` key cannot stand here",
    "could not find expected ':'": "a key without its `:`",
    "found unexpected end of stream": "a quote that is never closed",
    "found unexpected document indicator": "a quoted text runs on into a document marker",
    "found unknown escape character": "an escape that YAML does not know inside double quotes",
    "did not find expected hexdecimal number": "an escape that lacks hexadecimal digits",
    "found invalid Unicode character escape code": "an escape of a number that is no character",
    "did not find expected comment or line break": "text behind the indicator of a block scalar",
    "found an indentation indicator equal to 0": "the indentation indicator of a block scalar is 0",
    "found a tab character where an indentation space is expected": "a tab where YAML wants blanks for indentation",
    "found a tab character where an intendation space is expected": "a tab where YAML wants blanks for indentation",
    "found a tab character that violates indentation": "a tab that breaks the indentation",
    "did not find expected alphabetic or numeric character": "an anchor or alias without a proper name",
    "found undefined tag handle": "a tag with an undeclared prefix",
    "found unknown directive name": "a directive (`%…`) that YAML does not know",
    "did not find expected <document start>": "a `---` is wanted before this document",
    "did not find expected key": "a key is wanted here; the indentation does not fit what is above",
    "did not find expected '-' indicator": "a `- ` list item is wanted here; the indentation does not fit the list",
    "did not find expected ',' or ']'": "a `,` or `]` is wanted in the list",
    "did not find expected ',' or '}'": "a `,` or `}` is wanted in the mapping",
    "did not find expected node content": "a value is wanted here",
    "exceeded maximum nesting depth": "lists and mappings are nested too deeply",
}  # fmt: skip


class Node:
    """A mapping, a sequence or a scalar, and how it is written.

    `kind` is `mapping`, `sequence` or `scalar`. `start` and `end` bound the node itself: quotes and brackets included,
    anchor and tag not, and for block collections up to the end of the last thing in them, never a comment or a blank
    line behind it. An empty value is zero characters wide, right behind its `:` or `-`. `begin` is where its anchor or
    tag begins, `start` where there is none. `text` is a scalar's value as YAML decodes it, `style` how it is written
    (`plain`, `single`, `double`, `literal`, `folded`). `items` holds a sequence's nodes, or a mapping's pairs of a key
    node and a value node, duplicates and merge keys included. `tag` is an explicit tag, `anchor` the name that aliases
    call it by.

    Where a node is reached through `*alias`, `alias_span` is that alias' place and all else is the anchor's. `merged`
    is set on what `get` found through a merge key. `shared` says that an alias refers to the node, `doubled` that its
    key stands twice in its mapping.
    """

    __slots__ = (
        "alias_span",
        "anchor",
        "begin",
        "doubled",
        "end",
        "flow",
        "items",
        "kind",
        "merged",
        "shared",
        "start",
        "style",
        "tag",
        "text",
    )

    def __init__(self, kind: str, begin: int, start: int, end: int, text: str, style: str, flow: bool) -> None:
        self.kind = kind
        self.begin = begin
        self.start = start
        self.end = end
        self.text = text
        self.style = style
        self.flow = flow
        self.items: list[Any] = _NO_ITEMS if kind == "scalar" else []
        self.tag: str | None = None
        self.anchor: str | None = None
        self.alias_span: Span | None = None
        self.merged = False
        self.shared = False
        self.doubled = False

    @property
    def span(self) -> Span:
        """Where the node stands; of one reached through an alias, where its anchor's node stands."""
        return Span(self.start, self.end)

    @property
    def site(self) -> Span:
        """Where the node is written in its parent, anchor and tag included: the alias, where it is one."""
        return self.alias_span or Span(self.begin, self.end)

    def __repr__(self) -> str:
        return f"Node({self.kind}, {self.start}, {self.end}, {self.text!r})"


@record
class YamlFile:
    """A text as YAML.

    `documents` holds one root a document, None for an empty one; a document that libyaml refuses, and what follows it,
    is not there. `spans` gives each document's part of the text, from its `---` (the first: from the beginning) to the
    next. `templated` says that `{{` stands where YAML wants a value: a template, which only looks like YAML. `broken`
    says that libyaml refuses the text.
    """

    text: str
    documents: tuple[Node | None, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: Sequence[Comment] = ()
    spans: tuple[Span, ...] = ()
    templated: bool = False
    broken: bool = False


@record
class YamlRefusal:
    """Why an edit is not made."""

    reason: str


def read_yaml(text: str) -> YamlFile:
    """Read any text, without its byte order mark, as YAML. Never raises; linear in the length of the text."""
    reader = _Reader(text)
    forbidden = scalars.unprintable(text)
    reader.read(len(text) if forbidden is None else forbidden)
    if forbidden is not None:
        # The document that holds the character is as broken as one with a fault of syntax.
        if reader.complete:
            reader.documents[-1:] = []
        reader.problems = [problem for problem in reader.problems if problem.sort != "syntax"]
        reader.problems.append(Problem(_forbidden(text[forbidden]), Span(forbidden, forbidden + 1)))
    spans = _document_spans(reader.starts, len(text))
    comments: Sequence[Comment] = ()
    if reader.scalars is not None:

        def find() -> tuple[Comment, ...]:
            from servelint.formats.yaml_comments import find_comments

            return find_comments(text, reader.scalars or (), reader.limit, reader.documents, reader.starts, spans)

        comments = LateComments(find)
    problems = tuple(sorted(reader.problems, key=lambda problem: problem.span))
    broken = any(problem.sort == "syntax" for problem in problems)
    return YamlFile(text, tuple(reader.documents), problems, comments, spans, reader.templated, broken)


def _forbidden(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"the byte 0x{code - 0xDC00:02x} is not valid UTF-8"
    if 0xD800 <= code <= 0xDFFF:
        return "half of a surrogate pair, which is no character"
    return f"the control character U+{code:04X}, which YAML does not allow"


class _FaultError(Exception):
    """A fault that libyaml's events do not show."""

    def __init__(self, message: str, span: Span, related: tuple[tuple[Span, str], ...] = ()) -> None:
        super().__init__(message)
        self.problem = Problem(message, span, related=related)


class _Reader:
    """Turns libyaml's events into nodes, without recursion."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.documents: list[Node | None] = []
        self.problems: list[Problem] = []
        self.starts: list[int] = []
        # Begin, end and style of every scalar, where comments have to be told from them.
        self.scalars: list[tuple[int, int, str]] | None = [] if "#" in text else None
        self.limit = 0
        self.complete = False
        self.templated = False

    def read(self, end: int) -> None:
        """Read the text up to an offset; `limit` is where reading stopped, `complete` whether all was read."""
        import yaml

        # libyaml drops a byte order mark at the beginning and does not count it.
        shift = 1 if self.text[:1] == "\ufeff" and end else 0
        source = self.text[shift:end] if shift or end < len(self.text) else self.text
        self.limit = end
        try:
            parser = (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)(source)
            self._events(parser, shift)
            self.complete = True
        except _FaultError as fault:
            self.problems.append(fault.problem)
            self.limit = fault.problem.span.start
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            self._refused(error, shift)

    def _refused(self, error: Exception, shift: int) -> None:
        reason = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).strip()
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        context = getattr(error, "context_mark", None)
        text = self.text
        index = min((mark.index if mark is not None else getattr(error, "position", 0)) + shift, len(text))
        if reason == "found character that cannot start any token":
            if text[index : index + 1] == "\t":
                message = "a tab where YAML wants blanks for indentation"
            else:
                message = f"a text that begins with {text[index : index + 1]!r} wants quotes"
        else:
            message = _REASONS.get(reason, reason)
        related: tuple[tuple[Span, str], ...] = ()
        if context is not None and context.index + shift < index:
            what = (
                str(getattr(error, "context", "") or "").removeprefix("while parsing ").removeprefix("while scanning ")
            )
            start = context.index + shift
            related = ((Span(start, start + 1), f"{what} begins here" if what else "it begins here"),)
        self.problems.append(Problem(message, Span(index, min(index + 1, len(text))), related=related))
        self.limit = index

    def _events(self, parser: Any, shift: int) -> None:
        from yaml import events

        scalar_event, alias_event = events.ScalarEvent, events.AliasEvent
        mapping_start, sequence_start = events.MappingStartEvent, events.SequenceStartEvent
        mapping_end, sequence_end = events.MappingEndEvent, events.SequenceEndEvent
        document_start, document_end = events.DocumentStartEvent, events.DocumentEndEvent
        text, places, next_event, styles = self.text, self.scalars, parser.get_event, _STYLES
        anchors: dict[str, Node] = {}
        stack: list[tuple[Node | None, Node | None]] = []
        parent: Node | None = None
        key: Node | None = None
        root: Node | None = None
        depth = 0
        while (event := next_event()) is not None:
            sort = type(event)
            if sort is scalar_event:
                begin = event.start_mark.index + shift
                end = event.end_mark.index + shift
                value, style = event.value, styles[event.style]
                if begin == end and style == "plain" and key is not None and text[begin - 1 : begin] != ":":
                    # Within brackets, and without its `:`, an empty value is said to stand at the next token.
                    begin = end = _empty_place(text, key.site.end, begin)
                node = Node("scalar", begin, begin, end, value, style, False)
                if event.anchor is not None or event.tag is not None:
                    self._properties(node, event, anchors)
                if style == "literal" or style == "folded":
                    node.end = scalars.block_end(text, node.start, end, value)
                if places is not None:
                    places.append((node.start, end, style))
            elif sort is mapping_start or sort is sequence_start:
                begin = event.start_mark.index + shift
                if depth >= DEPTH_LIMIT:
                    raise _FaultError(f"nested more than {DEPTH_LIMIT} levels deep", Span(begin, begin + 1))
                depth += 1
                flow = bool(event.flow_style)
                node = Node("mapping" if sort is mapping_start else "sequence", begin, begin, -1, "", "", flow)
                if event.anchor is not None or event.tag is not None:
                    self._properties(node, event, anchors)
                if flow and text.startswith("{{", node.start):
                    self.templated = True
                stack.append((parent, key))
                parent, key = node, None
                continue
            elif sort is mapping_end or sort is sequence_end:
                assert parent is not None
                node = parent
                depth -= 1
                self._close(node, event.end_mark.index + shift)
                parent, key = stack.pop()
            elif sort is alias_event:
                node = _alias(event, anchors, shift)
            elif sort is document_start:
                self.starts.append(event.start_mark.index + shift)
                anchors = {}
                root = None
                continue
            elif sort is document_end:
                empty = root is not None and root.kind == "scalar" and root.start == root.end and root.begin == root.end
                self.documents.append(None if empty else root)
                continue
            else:
                continue
            # The node is whole: give it to what it stands in.
            if parent is None:
                root = node
            elif parent.kind == "sequence":
                parent.items.append(node)
            elif key is None:
                key = node
            else:
                parent.items.append((key, node))
                key = None

    def _properties(self, node: Node, event: Any, anchors: dict[str, Node]) -> None:
        """Note anchor and tag, and move the node's start behind them."""
        text = self.text
        node.tag = event.tag
        node.anchor = event.anchor
        if node.anchor is not None:
            anchors[node.anchor] = node
        if node.kind == "scalar" and node.style == "plain" and not node.text:
            node.start = node.end
            return
        count = (node.tag is not None) + (node.anchor is not None)
        position = node.begin
        while position < len(text):
            character = text[position]
            if character in " \t\r\n\x85\u2028\u2029":
                position += 1
            elif character == "#":
                match = scalars.line_breaks().search(text, position)
                position = match.end() if match else len(text)
            elif count and character in "&!":
                count -= 1
                while position < len(text) and text[position] not in " \t\r\n\x85\u2028\u2029":
                    position += 1
            else:
                break
        node.start = position

    def _close(self, node: Node, end: int) -> None:
        """A collection's own end: its bracket, or the end of the last thing in it."""
        items = node.items
        if (
            node.flow
            and self.text[end - 1 : end] in ("]", "}")
            and self.text[node.start : node.start + 1] in ("[", "{")
        ):
            node.end = end
        elif items:
            last = items[-1][1] if node.kind == "mapping" else items[-1]
            node.end = last.alias_span.end if last.alias_span is not None else last.end
        else:
            node.end = node.start
        if node.kind == "mapping" and len({key.text for key, _ in items}) != len(items):
            self._duplicates(items)

    def _duplicates(self, items: list[Any]) -> None:
        seen: dict[tuple[str, str], tuple[Node, Node]] = {}
        for key, value in items:
            if key.kind != "scalar" or is_merge(key):
                continue
            # `1` and `"1"` are two keys, `a` and `"a"` are one.
            identity = (key.text, scalar_type(key))
            first = seen.setdefault(identity, (key, value))
            if first[0] is key:
                continue
            for node in (*first, key, value):
                node.doubled = True
            if len(self.problems) >= _PROBLEM_LIMIT:
                continue
            message = (
                f"the key {key.text!r} stands twice in this mapping; readers take the last one, or refuse the file"
            )
            where = key.alias_span or key.span
            self.problems.append(
                Problem(message, where, "duplicate-key", ((first[0].alias_span or first[0].span, "first given here"),))
            )


def _empty_place(text: str, position: int, limit: int) -> int:
    """Right behind the `:` that follows a key, or behind the key where none does."""
    cursor = position
    while cursor < limit and text[cursor] in " \t\r\n":
        cursor += 1
    return cursor + 1 if cursor < limit and text[cursor] == ":" else position


def _alias(event: Any, anchors: dict[str, Node], shift: int) -> Node:
    span = Span(event.start_mark.index + shift, event.end_mark.index + shift)
    target = anchors.get(event.anchor)
    if target is None:
        raise _FaultError(f"the alias *{event.anchor} has no anchor before it", span)
    if target.end < 0:
        where = ((Span(target.begin, target.begin + 1), "the anchor"),)
        raise _FaultError(f"the alias *{event.anchor} stands inside of what it refers to", span, where)
    target.shared = True
    node = _copy(target)
    node.alias_span = span
    return node


def _copy(node: Node) -> Node:
    made = Node(node.kind, node.begin, node.start, node.end, node.text, node.style, node.flow)
    made.items = node.items
    made.tag, made.anchor, made.shared = node.tag, node.anchor, node.shared
    made.alias_span, made.merged = node.alias_span, node.merged
    return made


def _document_spans(starts: Sequence[int], length: int) -> tuple[Span, ...]:
    if not starts:
        return ()
    bounds = [0, *starts[1:], length]
    return tuple(Span(start, end) for start, end in pairwise(bounds))


# Looking into nodes


def is_merge(key: Node) -> bool:
    """Whether a key is the merge key `<<` of YAML 1.1."""
    return (
        key.text == "<<" and key.kind == "scalar" and key.style == "plain" and key.tag in (None, f"{_TAG_PREFIX}merge")
    )


def get(node: Node | None, key: str) -> Node | None:
    """The value under a key: the last where it is repeated, else what a merge key brings in (then `merged`).

    None where there is none, or no mapping. What is merged carries the place of its `*alias` as `alias_span`, or that
    of the `<<` pair where the merged mapping is written there itself.
    """
    if node is None or node.kind != "mapping":
        return None
    own = _own(node, key)
    if own is not None:
        return own
    for mapping, site in _merged_mappings(node):
        found = _own(mapping, key)
        if found is not None:
            made = _copy(found)
            made.merged = True
            made.alias_span = site
            return made
    return None


def _own(node: Node, key: str) -> Node | None:
    for name, value in reversed(node.items):
        if name.text == key and name.kind == "scalar" and not is_merge(name):
            found: Node = value
            return found
    return None


def _merged_mappings(node: Node) -> Iterator[tuple[Node, Span]]:
    """The mappings that merge keys bring into one, nearest first, each once, with where they are brought in."""
    seen: set[int] = {id(node.items)}
    pending = _merges(node, None)
    while pending and len(seen) <= MERGE_LIMIT:
        mapping, site = pending.pop()
        if id(mapping.items) in seen:
            continue
        seen.add(id(mapping.items))
        yield mapping, site
        pending.extend(_merges(mapping, site))


def _merges(node: Node, site: Span | None) -> list[tuple[Node, Span]]:
    """What the merge keys of one mapping name, the first to be asked last."""
    found = []
    for key, value in node.items:
        if not is_merge(key):
            continue
        for mapping in value.items[:MERGE_LIMIT] if value.kind == "sequence" else (value,):
            if mapping.kind == "mapping":
                found.append((mapping, site or mapping.alias_span or Span(key.begin, value.site.end)))
    return found[::-1]


def entries(node: Node | None) -> list[tuple[Node, Node]]:
    """The pairs that a mapping has for its reader: without merge keys but with what they bring in, the last of
    repeated keys only. Merged values are marked as `get` marks them."""
    if node is None or node.kind != "mapping":
        return []
    found: dict[tuple[str, int], tuple[Node, Node]] = {}
    for key, value in node.items:
        if not is_merge(key):
            found[_identity(key)] = (key, value)
    if len(found) == len(node.items):
        return list(found.values())
    for mapping, site in _merged_mappings(node):
        brought = {_identity(key): (key, value) for key, value in mapping.items if not is_merge(key)}
        for identity, (key, value) in brought.items():
            if identity not in found:
                made = _copy(value)
                made.merged = True
                made.alias_span = site
                found[identity] = (key, made)
    return list(found.values())


def _identity(key: Node) -> tuple[str, int]:
    return (key.text, 0) if key.kind == "scalar" else ("", id(key.items))


def find(node: Node | None, path: Sequence[str | int]) -> Node | None:
    """The node at a path of keys and indices, merge keys followed; None where it does not lead anywhere."""
    for step in path:
        if node is None:
            return None
        if isinstance(step, str):
            node = get(node, step)
        elif node.kind == "sequence" and -len(node.items) <= step < len(node.items):
            node = node.items[step]
        else:
            return None
    return node


def walk(node: Node | None) -> Iterator[Node]:
    """The node and all below it in the order of the text, keys included; what aliases refer to is not entered."""
    stack = [node] if node is not None else []
    while stack:
        current = stack.pop()
        yield current
        if current.alias_span is not None or not current.items:
            continue
        if current.kind == "mapping":
            for key, value in reversed(current.items):
                stack.append(value)
                stack.append(key)
        else:
            stack.extend(reversed(current.items))


# Typing of scalars


def scalar_type(node: Node) -> str:
    """What a scalar is to Kubernetes: `string`, `int`, `float`, `bool`, `null` or `timestamp`.

    The rules are those of sigs.k8s.io/yaml 1.4 (`goyaml.v2/resolve.go`): YAML 1.1's `yes`, `no`, `on`, `off`, `y`, `n`
    are booleans, numbers may hold underscores and have the bases 2, 8 (`010`, `0o10`) and 16, there are no sexagesimal
    numbers. A date without a tag stays the string it is (`goyaml.v2/decode.go` says so for values without a Go type),
    so `timestamp` is only what `!!timestamp` makes one; PyYAML makes one of plain dates too. An explicit tag decides;
    a tag of no known type makes a string.
    """
    tag = node.tag
    if tag is None:
        return plain_type(node.text) if node.style == "plain" else "string"
    if tag.startswith(_TAG_PREFIX):
        name = tag.removeprefix(_TAG_PREFIX)
        return name if name in ("int", "float", "bool", "null", "timestamp") else "string"
    return "string"


def value(node: Node | None) -> Any:
    """The node as Python data, typed as `scalar_type` says: the last of repeated keys wins, merge keys are resolved.

    What aliases refer to is made once and shared, so a text that grows without bound through its aliases does not. A
    scalar that is not what its tag says, and a timestamp, are their text; a whole number of more than 4300 digits is an
    infinity. Keys are typed too; a collection as a key is the text of its place (`?17`).
    """
    if node is None:
        return None
    if node.kind == "scalar":
        return typed(node.text, scalar_type(node))
    made: dict[int, Any] = {}
    pending: list[tuple[Node, Any]] = []

    def holder(of: Node) -> Any:
        if of.kind == "scalar":
            return typed(of.text, scalar_type(of))
        known = made.get(id(of.items))
        if known is None:
            known = made[id(of.items)] = {} if of.kind == "mapping" else []
            pending.append((of, known))
        return known

    root = holder(node)
    while pending:
        current, container = pending.pop()
        if current.kind == "sequence":
            container.extend(holder(item) for item in current.items)
        else:
            for number, (key, child) in enumerate(entries(current)):
                name = typed(key.text, scalar_type(key)) if key.kind == "scalar" else f"?{number}"
                container[name] = holder(child)
    return root


def is_templated(text: str) -> bool:
    """Whether a text holds an expression of a template (`{{ … }}`, `{% … %}`): Go's, Jinja's, Ansible's."""
    opening = text.find("{{")
    if opening >= 0 and text.find("}}", opening + 2) >= 0:
        return True
    opening = text.find("{%")
    return opening >= 0 and text.find("%}", opening + 2) >= 0


# Where a node stands, and whether it may be edited there


def _site_start(node: Node) -> int:
    return node.alias_span.start if node.alias_span is not None else node.begin


def _key_start(pair: tuple[Node, Node]) -> int:
    return _site_start(pair[0])


def ancestors(file: YamlFile, node: Node) -> list[Node] | None:
    """The collections that a node stands in, outermost first; None where it is not written in the file's documents."""
    if node.alias_span is not None or not file.documents:
        return None
    index = bisect_right(file.spans, node.begin, key=lambda span: span.start) - 1
    current = file.documents[index] if 0 <= index < len(file.documents) else None
    chain: list[Node] = []
    while current is not None and current is not node:
        if current.alias_span is not None or not current.items:
            return None
        chain.append(current)
        if current.kind == "sequence":
            place = bisect_right(current.items, node.begin, key=_site_start) - 1
            current = current.items[place] if place >= 0 else None
        else:
            place = bisect_right(current.items, node.begin, key=_key_start) - 1
            if place < 0:
                return None
            key, value = current.items[place]
            current = value if value is node or (key is not node and value.site.start <= node.begin) else key
    return chain if current is node else None


def refusal(file: YamlFile, node: Node) -> str | None:
    """Why a node must not be edited in its place, or None."""
    if file.broken:
        return "the file has a syntax error"
    if file.templated:
        return "the file is a template: `{{` stands where YAML wants a value"
    if node.merged:
        return "it comes in through a merge key"
    if node.alias_span is not None:
        return "it is an alias of what stands elsewhere"
    if node.tag not in (None, "!", f"{_TAG_PREFIX}str", f"{_TAG_PREFIX}seq", f"{_TAG_PREFIX}map"):
        return "it has a tag"
    chain = ancestors(file, node)
    if chain is None:
        return "it is not written in this file"
    for place in (*chain, node):
        if place.shared:
            return f"the anchor &{place.anchor} is used elsewhere too, and an edit would change what stands there"
        if place.doubled:
            return "its key stands twice in its mapping"
    for parent, child in pairwise([*chain, node]):
        if parent.kind == "mapping" and any(value is child and is_merge(key) for key, value in _around(parent, child)):
            return "it stands in a merge key"
    return None


def _around(mapping: Node, child: Node) -> list[Any]:
    place = bisect_right(mapping.items, child.begin, key=_key_start)
    return mapping.items[max(0, place - 1) : place]


# Texts inside of scalars


def embedded(file: YamlFile, node: Node) -> Embedded:
    """A scalar's text with the place of each of its characters, and how to write new ones there.

    It can be edited where the node is written in this very place and the own decoding agrees with libyaml's; `refusal`
    says why not. New lines go into literal blocks and, as escapes, into double quotes; other forms refuse them.
    """
    host, text, style = file.text, node.text, node.style
    if node.kind != "scalar":
        return Embedded("", [node.start], None, "not a scalar")
    if style in ("literal", "folded"):
        decoded = scalars.decode_block_scalar(host, node.start, _region_end(host, node), text)
    else:
        decoded = scalars.decode_flow_scalar(host, node.start, node.end, style)
    if decoded is None or len(decoded.offsets) != len(text) or decoded.text != text:
        return Embedded(text, [node.start] * len(text) + [node.end], None, "how the text is written cannot be traced")
    decoded.offsets.append(decoded.end)
    refusal = _embedded_refusal(file, node)
    if refusal is not None:
        return Embedded(text, decoded.offsets, None, refusal, decoded.ends)
    encode: Callable[[str], str | None]
    if style == "single":
        encode = scalars.encode_single
    elif style == "double":
        encode = scalars.encode_double
    elif style == "folded":
        encode = scalars.encode_folded
    elif style == "literal":
        indent = scalars.indent_of_block(host, node.start, node.end, text) or 0
        encode = scalars.literal_encoder(indent, newline_at(host, node.start))
    else:
        encode = scalars.plain_encoder(in_flow(file, node))
    return Embedded(text, decoded.offsets, encode, None, decoded.ends)


def embedded_late(file: YamlFile, node: Node) -> Embedded:
    """As `embedded`, but whether a plain scalar may be edited is worked out when an edit is made: few ever are."""
    if node.style != "plain" or node.end - node.start != len(node.text):
        return embedded(file, node)

    def encode(text: str) -> str | None:
        full = embedded(file, node)
        return None if full.encode is None else full.encode(text)

    return Embedded(node.text, range(node.start, node.end + 1), encode)


def _region_end(host: str, node: Node) -> int:
    """The end of a block scalar with the line breaks behind it."""
    end = node.end
    while end < len(host) and host[end] in " \t\r\n":
        end += 1
    # Blanks before the next thing on its line are its indentation.
    while end > node.end and end < len(host) and host[end - 1] in " \t":
        end -= 1
    return end


def _embedded_refusal(file: YamlFile, node: Node) -> str | None:
    if not node.text.strip("\n") and node.style not in ("single", "double"):
        return "it is empty"
    return refusal(file, node)


def in_flow(file: YamlFile, node: Node) -> bool:
    """Whether a node stands within brackets, where commas and brackets end a plain scalar."""
    return any(parent.flow for parent in ancestors(file, node) or ())


def newline_at(text: str, position: int) -> str:
    """The line break that ends the line of an offset, or the one before where it is the last; LF if there is none."""
    end = text.find("\n", position)
    if end < 0:
        end = text.rfind("\n", 0, position)
    if end < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if text[end - 1 : end] == "\r" else "\n"


# The independent reader


def plain(text: str) -> list[Any]:
    """The documents of a text as Python data, read by ruamel.yaml under YAML 1.1: the second opinion on a repair.

    Unknown tags become a pair of the tag and the value. Raises `ValueError` where ruamel.yaml refuses the text, where
    it is nested too deeply, or where its aliases would make more than 200,000 values of it.
    """
    import warnings

    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import MantissaNoDotYAML1_1Warning, YAMLError
    from ruamel.yaml.nodes import MappingNode, SequenceNode
    from ruamel.yaml.resolver import VersionedResolver

    class Resolver(VersionedResolver):
        """Stays with YAML 1.1: a version given to the reader is forgotten at the first `---`."""

        @property
        def processing_version(self) -> Any:
            return 1, 1

    class Constructor(SafeConstructor):
        """Makes data of tags that it does not know."""

    def tagged(constructor: Any, node: Any) -> tuple[str, Any]:
        if isinstance(node, MappingNode):
            return str(node.tag), constructor.construct_mapping(node, deep=True)
        if isinstance(node, SequenceNode):
            return str(node.tag), constructor.construct_sequence(node, deep=True)
        return str(node.tag), constructor.construct_scalar(node)

    Constructor.add_constructor(None, tagged)
    file = read_yaml(text)
    if file.broken:
        raise ValueError(next(problem.message for problem in file.problems if problem.sort == "syntax"))
    if _expanded_size(file.documents) > EXPANSION_LIMIT:
        raise ValueError("aliases make too much of the text")
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = Constructor
    reader.Resolver = Resolver
    reader.allow_duplicate_keys = True
    reader.version = (1, 1)
    try:
        with warnings.catch_warnings():
            # It takes `1e3` for a number and says so on standard error, which is not the user's business here.
            warnings.simplefilter("ignore", MantissaNoDotYAML1_1Warning)
            return list(reader.load_all(text))
    except (YAMLError, RecursionError, TypeError, OverflowError, AttributeError, LookupError) as error:
        raise ValueError(f"ruamel.yaml cannot read it: {error}") from error


def _expanded_size(documents: Sequence[Node | None]) -> int:
    """How many values a text has when every alias is written out, at most one more than the limit."""
    sizes: dict[int, int] = {}
    total = 0
    for root in documents:
        if root is None:
            continue
        stack: list[tuple[Node, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if id(node.items) in sizes:
                continue
            children = [child for pair in node.items for child in (pair if node.kind == "mapping" else (pair,))]
            children = [child for child in children if child.items]
            if not ready and children:
                stack.append((node, True))
                stack.extend((child, False) for child in children if id(child.items) not in sizes)
                continue
            size = 1 + len(node.items) + sum(sizes[id(child.items)] for child in children)
            sizes[id(node.items)] = min(size, EXPANSION_LIMIT + 1)
        total += sizes[id(root.items)]
    return total
