"""JSON with a place for every value, read even where a strict reader gives up.

What counts as strict is Python's own `json.loads`, which transformers, vLLM and TGI's Python side use: it takes `NaN`,
`Infinity`, lone surrogates and repeated keys (the last wins), and nothing else beyond RFC 8259.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from servelint.formats.problem import Comment, Problem
from servelint.records import record
from servelint.text import Embedded, LineIndex, Span

if TYPE_CHECKING:
    from re import Pattern

# `json.loads` recurses, and gives up at about 990 levels less what its caller's stack holds. Deeper than this no person
# writes, and comparing two such values would recurse as well.
DEPTH_LIMIT = 400
# Python converts no longer run of digits to a whole number (`sys.get_int_max_str_digits`): `json.loads` raises.
DIGIT_LIMIT = 4300
# After so many faults the text is no JSON, and one more message helps nobody.
_PROBLEM_LIMIT = 50

_BLANKS = " \t\n\r"
_WORD_ENDS = frozenset(' \t\n\r,:{}[]"')
# What may begin or part values in sound JSON: where one of these stands, there is nothing to skip.
_SOUND = frozenset('{}[],:"-0123456789tfnNI')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, tuple[str, Any]] = {
    "true": ("true", True),
    "false": ("false", False),
    "null": ("null", None),
    "NaN": ("number", float("nan")),
    "Infinity": ("number", float("inf")),
    "-Infinity": ("number", float("-inf")),
}
_FOREIGN_WORDS: dict[str, tuple[str, Any, str]] = {
    "True": ("true", True, "true"),
    "TRUE": ("true", True, "true"),
    "False": ("false", False, "false"),
    "FALSE": ("false", False, "false"),
    "None": ("null", None, "null"),
    "undefined": ("null", None, "null"),
    "nil": ("null", None, "null"),
    "nan": ("number", float("nan"), "NaN"),
    "inf": ("number", float("inf"), "Infinity"),
    "-inf": ("number", float("-inf"), "-Infinity"),
}
_CLOSERS = {
    "'": "'",
    "\u2018": "\u2019",
    "\u2019": "\u2019",
    "\u201c": "\u201d",
    "\u201d": "\u201d",
    "\u201e": "\u201c\u201d",
}
_CONFLICT_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


@record(eq=False)
class Node:
    """A value of the text.

    `kind` is `object`, `array`, `string`, `number`, `true`, `false`, `null`, or `unknown` for a value that is missing
    or a template's (`{{ … }}`, `${…}`). `value` is the decoded text of a string, an int or float of a number (a whole
    number of more than 4300 digits is an infinity of its sign), a truth value or None. `raw` is the scalar as written.
    """

    kind: str
    span: Span
    raw: str = ""
    value: Any = None
    items: tuple[Node, ...] = ()
    members: tuple[Member, ...] = ()


@record(eq=False)
class Member:
    """A key with its value; `key` is a string node, whatever it was written as."""

    key: Node
    value: Node

    @property
    def name(self) -> str:
        """The key's text."""
        return str(self.key.value)

    @property
    def span(self) -> Span:
        """From the key's first character to the value's last."""
        return Span(self.key.span.start, self.value.span.end)


@record(eq=False)
class JsonFile:
    """A text as JSON: the value, what a strict reader has against it, and whether it refuses it.

    `strict` is whether `json.loads` takes the text. `root` is None where there is no value at all. `trailing_commas`
    and `marks` (byte order marks inside the text) are what can be taken out without a loss.
    """

    text: str
    root: Node | None
    problems: tuple[Problem, ...] = ()
    strict: bool = True
    comments: tuple[Comment, ...] = ()
    trailing_commas: tuple[Span, ...] = ()
    marks: tuple[Span, ...] = ()


def read_json(text: str) -> JsonFile:
    """Read any text as JSON, as far as it goes. Never raises; linear in the length of the text."""
    reader = _Reader(text)
    reader.read()
    comments = _bind(text, reader.comments, reader.root) if reader.comments else ()
    return JsonFile(
        text,
        reader.root,
        tuple(sorted(reader.problems, key=lambda problem: problem.span)),
        not reader.refused,
        comments,
        tuple(reader.trailing_commas),
        tuple(reader.marks),
    )


def plain(node: Node | None) -> Any:
    """The value as Python data, as `json.loads` gives it: of a repeated key the last wins; unknown values are None."""
    if node is None:
        return None
    if node.kind not in ("object", "array"):
        return node.value
    root: list[Any] = []
    pending: list[tuple[Node, Any, Any]] = [(node, root, None)]
    while pending:
        current, holder, key = pending.pop()
        made: Any = current.value
        if current.kind == "array":
            made = [None] * len(current.items)
            pending.extend((item, made, index) for index, item in enumerate(current.items))
        elif current.kind == "object":
            last = {member.name: member.value for member in current.members}
            made = dict.fromkeys(last)
            pending.extend((value, made, name) for name, value in last.items())
        if key is None:
            holder.append(made)
        else:
            holder[key] = made
    return root[0]


def member(node: Node | None, key: str) -> Member | None:
    """The member of that name, the last where there are several; None where there is none or no object."""
    if node is None:
        return None
    return next((found for found in reversed(node.members) if found.name == key), None)


def get(node: Node | None, key: str) -> Node | None:
    """The value under a key, the last where the key is repeated; None where there is none or no object."""
    found = member(node, key)
    return found.value if found else None


def find(node: Node | None, path: Sequence[str | int]) -> Node | None:
    """The value at a path of keys and indices, None where it does not lead anywhere."""
    for step in path:
        if node is None:
            return None
        if isinstance(step, str):
            node = get(node, step)
        elif node.kind == "array" and -len(node.items) <= step < len(node.items):
            node = node.items[step]
        else:
            return None
    return node


def embedded(node: Node) -> Embedded:
    """A string's text with the place of each of its characters, and JSON escapes for what is written into it.

    Only where every character of the string is written as `json.loads` takes it can it be edited; `refusal` says so
    otherwise.
    """
    text = node.value if isinstance(node.value, str) else ""
    raw = node.raw
    if node.kind != "string" or raw[:1] != '"' or raw[-1:] != '"' or len(raw) < 2:
        start = node.span.start
        return Embedded(text, [start] * len(text) + [node.span.end], None, "not a string in double quotes")
    offsets: list[int] = []
    ends: list[int] = []
    start, position, stop = node.span.start, 1, len(raw) - 1
    for width in _widths(raw, position, stop):
        offsets.append(start + position)
        position += width
        ends.append(start + position)
    offsets.append(start + stop)
    if len(offsets) != len(text) + 1:
        return Embedded(text, [start] * len(text) + [node.span.end], None, "its escapes cannot be traced")
    only_ascii = raw.isascii() and not text.isascii()
    return Embedded(text, offsets, lambda new: escape(new, only_ascii), None, ends)


def escape(text: str, only_ascii: bool = False) -> str:
    """The inside of a JSON string that means `text`; characters beyond ASCII stay unless `only_ascii`."""
    pieces = []
    for character in text:
        code = ord(character)
        if character in '"\\':
            pieces.append("\\" + character)
        elif character in "\n\r\t\b\f":
            pieces.append({"\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}[character])
        elif code < 0x20:
            pieces.append(f"\\u{code:04x}")
        elif only_ascii and code > 0xFFFF:
            code -= 0x10000
            pieces.append(f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}")
        elif only_ascii and code > 0x7E:
            pieces.append(f"\\u{code:04x}")
        else:
            pieces.append(character)
    return "".join(pieces)


def _widths(raw: str, position: int, stop: int) -> list[int]:
    """How many characters of the text each character of a string takes up."""
    widths = []
    while position < stop:
        width = 1
        if raw[position] == "\\":
            width = 2
            first = _hexadecimal(raw, position, stop)
            if first is not None:
                width = 6
                second = _hexadecimal(raw, position + 6, stop)
                if 0xD800 <= first < 0xDC00 and second is not None and 0xDC00 <= second < 0xE000:
                    width = 12
            elif raw[position + 1] not in _ESCAPES:
                # An escape that nobody knows: the reader keeps both characters.
                width = 1
        widths.append(width)
        position += width
    return widths


def _hexadecimal(text: str, position: int, stop: int) -> int | None:
    """The number that `\\uXXXX` at this place writes, or None."""
    digits = text[position + 2 : position + 6]
    if text[position : position + 2] != "\\u" or len(digits) < 4 or position + 6 > stop:
        return None
    if not digits.isascii() or not digits.isalnum():
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None


@cache
def _patterns() -> tuple[Pattern[str], Pattern[str], Pattern[str], Pattern[str]]:
    """What goes on: blanks, the plain inside of a string, a number, a number as other languages write it."""
    import re

    return (
        re.compile(r"[ \t\n\r]*"),
        re.compile(r'[^"\\\x00-\x1f]*'),
        re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?"),
        re.compile(r"([-+]?)(?:(0[xX][0-9a-fA-F]+)|([0-9][0-9_]*)?(\.[0-9]*)?([eE][-+]?[0-9]+)?)"),
    )


class _Frame:
    """A container that is still open."""

    __slots__ = ("comma", "excused", "is_object", "items", "key", "members", "seen", "start")

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.is_object = is_object
        self.items: list[Node] = []
        self.members: list[Member] = []
        self.seen: dict[str, Node] = {}
        self.key: Node | None = None
        # The last comma, as long as nothing has followed it.
        self.comma: int | None = None
        # A fault was just said here; that a comma is missing too would say it twice.
        self.excused = False

    @property
    def is_empty(self) -> bool:
        return not self.members and not self.items


class _Reader:
    """One pass over a text. Each step moves on, or closes a container."""

    __slots__ = (
        "_conflicts", "_open", "_patience", "_stack", "comments", "marks", "position", "problems", "refused", "root",
        "text", "trailing_commas",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self.refused = False
        self.comments: list[Span] = []
        self.trailing_commas: list[Span] = []
        self.marks: list[Span] = []
        self._conflicts: list[Span] = []
        self._stack: list[_Frame] = []
        # How many objects and arrays are open, by whether they are objects.
        self._open = {True: 0, False: 0}
        # How far the search for the ends of broken strings may look in all, so that it stays linear.
        self._patience = 4 * len(text) + 1000

    def read(self) -> None:
        """Read the whole text."""
        mistaken = _mistaken(self.text)
        if mistaken is not None:
            self._refuse(*mistaken)
            return
        self._skip()
        if self.position >= len(self.text):
            what = "the file holds no value" if self.text.strip() else "the file is empty"
            self._refuse(f"{what}: Python's json expects one", Span(0, 0))
            return
        self.root = self._value()
        while self._stack and self.position < len(self.text):
            self._step()
        if self._stack:
            self._cut_off()
        self._skip()
        if self.position < len(self.text):
            rest = Span(self.position, _line_end(self.text, self.position))
            self._refuse("text after the end of the JSON value, which Python's json refuses", rest)
            self._look_for_conflicts()
        self._report_conflicts()

    def _refuse(
        self, message: str, span: Span, sort: str = "syntax", related: tuple[tuple[Span, str], ...] = ()
    ) -> None:
        self.refused = True
        if len(self.problems) < _PROBLEM_LIMIT:
            self.problems.append(Problem(message, span, sort, related))

    # What lies between the values.

    def _skip(self) -> None:
        """Go on to what is next: over blanks, and over comments and their like, which are said."""
        text, blanks = self.text, _patterns()[0]
        while self.position < len(text):
            character = text[self.position]
            if character in _SOUND:
                return
            if character in _BLANKS:
                found = blanks.match(text, self.position)
                self.position = found.end() if found else self.position + 1
                continue
            if character == "#" or (character == "/" and text[self.position + 1 : self.position + 2] in ("/", "*")):
                self._comment()
            elif character in "<|=>" and self._conflict():
                continue
            elif character.isspace() or not character.isprintable():
                self._odd_blank(character)
            else:
                return

    def _comment(self) -> None:
        text, start = self.text, self.position
        if text.startswith("/*", start):
            end = text.find("*/", start + 2)
            end = len(text) if end < 0 else end + 2
        else:
            end = _line_end(text, start)
        self.position = end
        self.comments.append(Span(start, end))
        self._refuse("a comment, which JSON does not have: Python's json refuses the whole text", Span(start, end))

    def _conflict(self) -> bool:
        text, start = self.text, self.position
        if text[start : start + 7] not in _CONFLICT_MARKS or text[start + 7 : start + 8] not in ("", " ", "\n", "\r"):
            return False
        if start and text[start - 1] not in "\n\r":
            return False
        self.position = _line_end(text, start)
        self._conflicts.append(Span(start, self.position))
        self.refused = True
        return True

    def _look_for_conflicts(self) -> None:
        """What stands behind the value is not read, but the other end of a merge may be there."""
        for mark in _CONFLICT_MARKS:
            place = self.text.find("\n" + mark, self.position - 1 if self.position else 0)
            if place >= 0:
                self.position = place + 1
                self._conflict()

    def _report_conflicts(self) -> None:
        if not self._conflicts:
            return
        first, *others = self._conflicts
        related = tuple((span, "and here") for span in others[:5])
        message = "a merge-conflict marker: a merge was not finished, and Python's json refuses the text"
        # Both sides of a merge stand in the text: that a key comes twice is the marker's doing.
        self.problems = [problem for problem in self.problems if problem.sort != "duplicate-key"]
        self.problems.insert(0, Problem(message, first, "syntax", related))

    def _odd_blank(self, character: str) -> None:
        span = Span(self.position, self.position + 1)
        self.position += 1
        if character == "\ufeff":
            self.marks.append(span)
            self._refuse("a byte order mark inside the text, which Python's json refuses", span)
        elif character.isspace():
            self._refuse(f"a blank of another kind (U+{ord(character):04X}), which Python's json refuses", span)
        else:
            self._refuse(f"an invisible character (U+{ord(character):04X}), which Python's json refuses", span)

    # One step inside a container.

    def _step(self) -> None:
        self._skip()
        if self.position >= len(self.text):
            return
        frame = self._stack[-1]
        character = self.text[self.position]
        if character in "}]":
            self._close(frame, character)
        elif character == ",":
            self._comma(frame)
        elif frame.is_object and frame.key is None:
            self._expect_comma(frame)
            self._member(frame)
        elif character == ":":
            what = "a second colon" if frame.is_object else "a colon in a list"
            self._refuse(f"{what}, where a value belongs", Span(self.position, self.position + 1))
            self.position += 1
            frame.excused = True
        else:
            self._expect_comma(frame)
            frame.comma = None
            value = self._value()
            if value is not None:
                self._add(value)

    def _comma(self, frame: _Frame) -> None:
        here = Span(self.position, self.position + 1)
        self.position += 1
        if frame.key is not None:
            self._missing_value(frame, here.start)
        elif frame.comma is not None or frame.is_empty:
            self._refuse("a comma with no value before it", here)
        frame.comma = here.start

    def _expect_comma(self, frame: _Frame) -> None:
        excused, frame.excused = frame.excused, False
        if excused or frame.is_empty or frame.comma is not None or frame.key is not None:
            return
        end = (frame.members[-1].span if frame.is_object else frame.items[-1].span).end
        self._refuse("a comma is missing between this entry and the next", Span(end, end))

    def _member(self, frame: _Frame) -> None:
        key = self._key()
        frame.comma = None
        if key is None:
            frame.excused = True
            return
        frame.key = key
        self._skip()
        following = self.text[self.position : self.position + 1]
        if following == ":":
            self.position += 1
        elif following == "=":
            arrow = self.text.startswith("=>", self.position)
            self._refuse("an equals sign where JSON has a colon", Span(self.position, self.position + 1))
            self.position += 2 if arrow else 1
        elif following not in ("", "}", "]", ","):
            self._refuse("a colon is missing after the key", Span(key.span.end, key.span.end))

    def _key(self) -> Node | None:
        start = self.position
        character = self.text[start]
        if character == '"' or character in _CLOSERS:
            return self._string()
        if self.text.startswith(("{{", "{%", "${"), start):
            node = self._template()
            return Node("string", node.span, node.raw, node.raw)
        if character in "{[:":
            self._refuse(f"`{character}` where a key in double quotes belongs", Span(start, start + 1))
            self.position += 1
            return None
        word = self._word("=")
        span = Span(start, self.position)
        self._refuse(f"the key {_shown(word)} stands without double quotes, which Python's json refuses", span)
        return Node("string", span, word, word)

    def _missing_value(self, frame: _Frame, end: int) -> None:
        if frame.key is None:
            return
        self._refuse(f"the key {_shown(str(frame.key.value))} has no value", frame.key.span)
        frame.members.append(Member(frame.key, Node("unknown", Span(end, end))))
        frame.key = None

    def _add(self, value: Node) -> None:
        """Put a finished value into the container that is open."""
        frame = self._stack[-1]
        if not frame.is_object:
            frame.items.append(value)
            return
        if frame.key is None:
            return
        added = Member(frame.key, value)
        first = frame.seen.setdefault(added.name, added.key)
        if first is not added.key and len(self.problems) < _PROBLEM_LIMIT:
            message = f"the key {_shown(added.name)} stands here a second time: Python's json takes the last one"
            self.problems.append(Problem(message, added.key.span, "duplicate-key", ((first.span, "the first one"),)))
        frame.members.append(added)
        frame.key = None

    # Values.

    def _value(self) -> Node | None:
        """The value at this place, or None where a container was opened instead (or nothing can be read)."""
        start = self.position
        character = self.text[start]
        if character == '"' or character in _CLOSERS:
            return self._string()
        if self.text.startswith(("{{", "{%", "${"), start):
            return self._template()
        if character in "{[":
            self._enter(character)
            return None
        if character in "}],:":
            # Only before the first value: inside a container these are taken elsewhere.
            self._refuse(f"`{character}` where a value belongs", Span(start, start + 1))
            self.position += 1
            return None
        return self._scalar()

    def _enter(self, character: str) -> None:
        start = self.position
        if len(self._stack) >= DEPTH_LIMIT:
            message = f"nested deeper than {DEPTH_LIMIT} levels, where Python's json soon gives up"
            self._refuse(message, Span(start, start + 1))
            self.position = len(self.text)
            return
        self.position += 1
        self._open[character == "{"] += 1
        self._stack.append(_Frame(start, character == "{"))

    def _close(self, frame: _Frame, character: str) -> None:
        here = Span(self.position, self.position + 1)
        if (character == "}") == frame.is_object:
            self.position += 1
            self._finish(frame, self.position)
            return
        opened, wanted = ("{", "}") if frame.is_object else ("[", "]")
        related = ((Span(frame.start, frame.start + 1), "opened here"),)
        self._refuse(
            f"`{character}` cannot close what `{opened}` opened; `{wanted}` belongs here", here, related=related
        )
        if self._open[character == "}"]:
            # The inner container was left open: the bracket closes the one that it fits.
            self._finish(frame, here.start)
        else:
            self.position += 1

    def _finish(self, frame: _Frame, end: int) -> None:
        """Close the innermost container, whose text ends at `end`."""
        if frame.key is not None:
            self._missing_value(frame, frame.key.span.end)
        elif frame.comma is not None and not frame.is_empty:
            comma = Span(frame.comma, frame.comma + 1)
            self.trailing_commas.append(comma)
            self._refuse("a comma after the last entry, which Python's json refuses", comma)
        self._stack.pop()
        self._open[frame.is_object] -= 1
        kind = "object" if frame.is_object else "array"
        node = Node(kind, Span(frame.start, end), items=tuple(frame.items), members=tuple(frame.members))
        if self._stack:
            self._add(node)
        else:
            self.root = node

    def _cut_off(self) -> None:
        """The text ended inside a container."""
        frame = self._stack[-1]
        opened, wanted = ("{", "}") if frame.is_object else ("[", "]")
        end = len(self.text.rstrip(_BLANKS))
        self._refuse(
            f"the text ends before `{wanted}`: the file is cut off, or a bracket is missing",
            Span(end, end),
            related=((Span(frame.start, frame.start + 1), f"`{opened}` is never closed"),),
        )
        while self._stack:
            self._finish(self._stack[-1], end)

    def _template(self) -> Node:
        """A template's expression where a value or key belongs: what it gives cannot be known."""
        text, start = self.text, self.position
        closer = {"{{": "}}", "{%": "%}", "${": "}"}[text[start : start + 2]]
        line_end = _line_end(text, start)
        end = text.find(closer, start, line_end)
        self.position = line_end if end < 0 else end + len(closer)
        span = Span(start, self.position)
        self._refuse("a template expression, which is no JSON until something fills it in", span)
        return Node("unknown", span, text[start : self.position])

    def _word(self, more_ends: str = "") -> str:
        text, start = self.text, self.position
        position = start
        while position < len(text):
            character = text[position]
            if character in _WORD_ENDS or character in more_ends:
                break
            if character == "/" and text[position + 1 : position + 2] in ("/", "*"):
                break
            position += 1
        # At least one character, or the reading would stand still.
        self.position = max(position, start + 1)
        return text[start : self.position]

    def _scalar(self) -> Node:
        start = self.position
        found = _patterns()[2].match(self.text, start)
        if found is not None and self._ends_word(found.end()):
            self.position = found.end()
            return self._number(found[0], start, whole=found[2] is None and found[3] is None)
        word = self._word()
        span = Span(start, self.position)
        if word in _WORDS:
            kind, value = _WORDS[word]
            return Node(kind, span, word, value)
        if word in _FOREIGN_WORDS:
            kind, value, right = _FOREIGN_WORDS[word]
            self._refuse(f"{_shown(word)} is not JSON's spelling: that is `{right}`", span)
            return Node(kind, span, word, value)
        value = _loose_number(word)
        if value is not None:
            self._refuse(f"{_shown(word)} is not written as JSON writes a number", span)
            return Node("number", span, word, value)
        self._refuse(f"{_shown(word)} stands without double quotes, which Python's json refuses", span)
        if word.startswith("<") and word.endswith(">"):
            return Node("unknown", span, word)
        return Node("string", span, word, word)

    def _ends_word(self, position: int) -> bool:
        if position >= len(self.text):
            return True
        character = self.text[position]
        return character in _WORD_ENDS or character in "/#" or character.isspace() or not character.isprintable()

    def _number(self, raw: str, start: int, whole: bool) -> Node:
        span = Span(start, start + len(raw))
        if not whole:
            return Node("number", span, raw, float(raw))
        if len(raw) - raw.startswith("-") > DIGIT_LIMIT:
            message = f"a whole number of more than {DIGIT_LIMIT} digits, which Python's json refuses"
            self._refuse(message, span)
            return Node("number", span, raw, float("-inf" if raw.startswith("-") else "inf"))
        return Node("number", span, raw, int(raw))

    # Strings.

    def _string(self) -> Node:
        text, start = self.text, self.position
        quote = text[start]
        if quote != '"':
            return self._loose_string('"' if quote == '"' else _CLOSERS[quote])
        found = _patterns()[1].match(text, start + 1)
        end = found.end() if found else start + 1
        if text[end : end + 1] == '"':
            self.position = end + 1
            return Node("string", Span(start, end + 1), text[start : end + 1], text[start + 1 : end])
        return self._loose_string('"')

    def _loose_string(self, closers: str) -> Node:
        """A string with escapes, with other quotes, or with faults."""
        text, start = self.text, self.position
        plain_run = _patterns()[1]
        pieces: list[str] = []
        position = start + 1
        goes_on = False
        faulty = False
        while True:
            if position >= len(text) or (text[position] in "\n\r" and not goes_on):
                if position < len(text) and self._goes_on(position, closers):
                    goes_on = True
                    continue
                return self._unclosed(start, position)
            character = text[position]
            if character in closers:
                break
            if character == "\\":
                piece, width = self._escape(position, closers)
                pieces.append(piece)
                position += width
                continue
            if character < " ":
                if not faulty:
                    faulty = True
                    self._control(position, character)
                pieces.append(character)
                position += 1
                continue
            found = plain_run.match(text, position) if closers == '"' else None
            end = found.end() if found else position + 1
            pieces.append(text[position:end])
            position = max(end, position + 1)
        self.position = position + 1
        span = Span(start, self.position)
        if text[start] == "'":
            self._refuse("single quotes, where Python's json takes double quotes only", span)
        elif text[start] != '"':
            self._refuse("typographic quotes, where Python's json takes straight double quotes only", span)
        return Node("string", span, text[start : self.position], "".join(pieces))

    def _escape(self, position: int, closers: str) -> tuple[str, int]:
        """What a backslash and its followers mean, and how many characters they are."""
        text = self.text
        following = text[position + 1 : position + 2]
        if following == "u":
            first = _hexadecimal(text, position, len(text))
            if first is not None:
                second = _hexadecimal(text, position + 6, len(text)) if 0xD800 <= first < 0xDC00 else None
                if second is not None and 0xDC00 <= second < 0xE000:
                    return chr(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)), 12
                return chr(first), 6
        elif following in _ESCAPES:
            return _ESCAPES[following], 2
        elif following and following in closers:
            return following, 2
        if following in ("", "\n", "\r"):
            self._refuse("a backslash at the end of the line, which is no escape in JSON", Span(position, position + 1))
            return "\\", 1
        self._refuse(f"{_shown(chr(92) + following)} is no escape in JSON", Span(position, position + 2))
        # A quote of the kind that does not close this string keeps its meaning; of all else, both characters stay.
        return "\\", 1

    def _control(self, position: int, character: str) -> None:
        span = Span(position, position + 1)
        if character in "\n\r":
            self._refuse("a line break inside a string, which JSON writes `\\n`: Python's json refuses it", span)
        elif character == "\t":
            self._refuse("a tab inside a string, which JSON writes `\\t`: Python's json refuses it", span)
        else:
            self._refuse(
                f"a control character (U+{ord(character):04X}) inside a string, which Python's json refuses", span
            )

    def _goes_on(self, position: int, closers: str) -> bool:
        """Whether a string that meets a line break here ends further down, rather than being left open.

        It does where the next quote is followed by what may follow a string; where it opens the next key, it does not.
        """
        text = self.text
        place = position
        while self._patience > 0:
            places = [text.find(closer, place) for closer in closers]
            end = min((found for found in places if found >= 0), default=-1)
            self._patience -= (end if end >= 0 else len(text)) - place + 1
            if end < 0:
                return False
            if text[end - 1] == "\\":
                place = end + 1
                continue
            blanks = _patterns()[0].match(text, end + 1)
            following = text[blanks.end() : blanks.end() + 1] if blanks else ""
            return following in ("", ",", "}", "]", ":")
        return False

    def _unclosed(self, start: int, end: int) -> Node:
        """A string whose quote is never closed ends with its line; a comma at its end is not its own."""
        text = self.text
        stop = start + 1 + len(text[start + 1 : end].rstrip().removesuffix(",").rstrip())
        self.position = stop
        span = Span(start, stop)
        self._refuse("a quote that is never closed on its line", span, "unclosed-quote")
        return Node("string", span, text[start:stop], text[start + 1 : stop])


def _mistaken(text: str) -> tuple[str, Span] | None:
    """What the text is instead of JSON, where that can be said at once."""
    end = _line_end(text, 0)
    if text.startswith("version https://git-lfs.github.com/spec/"):
        return "a Git LFS pointer and not the file: its content was never fetched (`git lfs pull`)", Span(0, end)
    if text.startswith(("/annex/objects/", "../.git/annex/", ".git/annex/")):
        return "a git-annex pointer and not the file: its content was never fetched (`git annex get`)", Span(0, end)
    if text[:200].lstrip()[:14].lower().startswith(("<!doctype", "<html")):
        return "a web page and not JSON: a download went wrong", Span(0, end)
    return None


def _line_end(text: str, start: int) -> int:
    """Where the line ends, its line break not counted."""
    line_feed = text.find("\n", start)
    if line_feed < 0:
        line_feed = len(text)
    carriage_return = text.find("\r", start, line_feed)
    return line_feed if carriage_return < 0 else carriage_return


def _loose_number(word: str) -> int | float | None:
    """The number that a word means in other languages (`+1`, `.5`, `1_000`, `0x10`, `007`), or None."""
    if not word.isascii() or not any(character.isdigit() for character in word) or len(word) > DIGIT_LIMIT:
        return None
    found = _patterns()[3].fullmatch(word)
    if found is None:
        return None
    sign = -1 if found[1] == "-" else 1
    if found[2]:
        return sign * int(found[2], 16)
    if found[4] is None and found[5] is None:
        return sign * int(found[3].replace("_", ""))
    digits = (found[3] or "0").replace("_", "")
    return sign * float(f"{digits}{found[4] or ''}{found[5] or ''}")


def _shown(text: str) -> str:
    """A text in a message: short, on one line."""
    if len(text) > 40:
        text = text[:39] + "…"
    return (
        "`" + "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text) + "`"
    )


def _bind(text: str, spans: list[Span], root: Node | None) -> tuple[Comment, ...]:
    """The comments with the entries they stand on or above."""
    from bisect import bisect_left, bisect_right

    entries = _entries(root)
    lines = LineIndex(text)
    starts = [entry.start for entry in entries]
    by_end = sorted(entries, key=lambda entry: (entry.end, -entry.start))
    ends = [entry.end for entry in by_end]
    comments = []
    for span in spans:
        target: Span | None = None
        index = bisect_right(ends, span.start)
        # Of the entries that end at one place, the outermost is the last of them.
        if index and lines.position(ends[index - 1])[0] == lines.position(span.start)[0]:
            target = by_end[index - 1]
        if target is None:
            following = bisect_left(starts, span.end)
            target = entries[following] if following < len(entries) else (root.span if root else Span(0, len(text)))
        comments.append(Comment(span, text[span.start : span.end], target))
    return tuple(comments)


def _entries(root: Node | None) -> list[Span]:
    """The members and items of all containers, by where they start, the outer before the inner."""
    found: list[Span] = []
    pending = [root] if root else []
    while pending:
        node = pending.pop()
        found.extend(item.span for item in node.items)
        found.extend(entry.span for entry in node.members)
        pending.extend(node.items)
        pending.extend(entry.value for entry in node.members)
    found.sort(key=lambda span: (span.start, -span.end))
    return found
