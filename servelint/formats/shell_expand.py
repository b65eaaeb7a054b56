"""What bash makes of a word: the expansions, over values of which parts may be unknown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from servelint.formats.problem import Problem
from servelint.formats.shell_syntax import AndOr, Node, Part, WordNode
from servelint.formats.shell_values import (
    Arithmetic,
    Token,
    UnknownNumber,
    compile_pattern,
    matches,
    remove_match,
    replace_matches,
    split_fields,
)
from servelint.formats.shell_words import Word, WordBuilder, encode_double
from servelint.records import field, record, replace
from servelint.text import Embedded, Span

# What a hostile script may cost: characters handled, and the sizes of one value and one list.
WORK_LIMIT = 6_000_000
VALUE_LIMIT = 200_000
LIST_LIMIT = 5_000
_BRACE_LIMIT = 24
# Stand-ins for unknown stretches of a text that is parsed as a script of its own.
_MARKER_BASE = 0xF0000
_MARKER_COUNT = 0xFFFE

# Variables that bash sets or computes by itself.
_DYNAMIC = frozenset(
    {"RANDOM", "SRANDOM", "SECONDS", "LINENO", "PWD", "OLDPWD", "UID", "EUID", "PPID", "HOSTNAME", "HOSTTYPE"}
    | {"MACHTYPE", "OSTYPE", "SHLVL", "FUNCNAME", "PIPESTATUS", "EPOCHSECONDS", "EPOCHREALTIME", "GROUPS", "DIRSTACK"}
    | {"COLUMNS", "LINES", "TERM", "SHELL", "PATH", "OPTIND", "OPTARG", "OPTERR", "_", "BASH", "BASHPID", "BASH_SOURCE"}
    | {"BASH_VERSION", "BASH_VERSINFO", "BASH_LINENO", "BASH_COMMAND", "BASH_SUBSHELL", "BASHOPTS", "SHELLOPTS", "PS4"}
    | {"REPLY", "HISTCMD", "COMP_WORDBREAKS", "BASH_ARGV", "BASH_ARGV0", "BASH_REMATCH", "BASH_EXECUTION_STRING"}
)


Status = bool | None
"""Whether a command succeeds; None where that is unknown."""


class EndOfScript(Exception):  # noqa: N818 (not an error)
    """The shell (or subshell) ends here; `status` is whether it succeeds, None where that is unknown."""

    def __init__(self, status: bool | None = None) -> None:
        super().__init__()
        self.status = status


class Leave(Exception):  # noqa: N818 (not an error)
    """`return`, `break` or `continue`; `levels` counts loops."""

    def __init__(self, kind: str, levels: int = 1, status: Status = None) -> None:
        super().__init__(kind)
        self.kind = kind
        self.levels = levels
        self.status = status


class OutOfBounds(Exception):  # noqa: N818 (not an error)
    """The script asks for more work than it is worth."""


@record
class Unknown:
    """A stretch of text that cannot be known. `filled`: it is not empty; `outside`: it may even be unset."""

    reason: str
    guess: str | None = None
    filled: bool = False
    outside: bool = False


@record
class Value:
    """A text of known and unknown stretches; `source` is where it is written."""

    pieces: tuple[str | Unknown, ...] = ()
    source: Span | None = None

    @property
    def text(self) -> str | None:
        """The text, or None where a part is unknown."""
        if not self.pieces:
            return ""
        only = self.pieces[0]
        return only if len(self.pieces) == 1 and isinstance(only, str) else None

    @property
    def reason(self) -> str | None:
        """Why it is unknown."""
        return next((piece.reason for piece in self.pieces if isinstance(piece, Unknown)), None)

    @property
    def prefix(self) -> str:
        """What is known of its beginning."""
        return self.pieces[0] if self.pieces and isinstance(self.pieces[0], str) else ""

    @property
    def suffix(self) -> str:
        """What is known of its end, where its beginning is not all there is."""
        return self.pieces[-1] if len(self.pieces) > 1 and isinstance(self.pieces[-1], str) else ""

    @property
    def guess(self) -> str | None:
        """The text with all guesses taken, or None."""
        texts = [piece if isinstance(piece, str) else piece.guess for piece in self.pieces]
        return None if None in texts else "".join(text for text in texts if text is not None)

    @property
    def filled(self) -> bool | None:
        """Whether it is not empty, None where that is unknown."""
        if not self.pieces:
            return False
        return True if any(isinstance(piece, str) or piece.filled for piece in self.pieces) else None

    @property
    def outside(self) -> bool:
        """Whether it may be unset."""
        return len(self.pieces) == 1 and isinstance(self.pieces[0], Unknown) and self.pieces[0].outside


def known(text: str, source: Span | None = None) -> Value:
    """A value that is that text."""
    return Value((text,) if text else (), source)


def unknown(reason: str, guess: str | None = None, filled: bool = False) -> Value:
    """A value of which nothing is known."""
    return Value((Unknown(reason, guess, filled),))


def joined(values: Iterable[Value]) -> Value:
    """Values one after the other."""
    pieces: list[str | Unknown] = []
    waiting: list[str] = []
    size = 0
    for value in values:
        for piece in value.pieces:
            if isinstance(piece, str):
                waiting.append(piece)
                size += len(piece)
                continue
            if waiting:
                pieces.append("".join(waiting))
                waiting = []
            pieces.append(piece)
    if waiting:
        pieces.append("".join(waiting))
    if size > VALUE_LIMIT or len(pieces) > LIST_LIMIT:
        return unknown("too long to be followed")
    return Value(tuple(pieces))


def merged(first: Value, second: Value, reason: str) -> Value:
    """What is known when either may be the case; the first one is the guess."""
    if first.pieces == second.pieces:
        return first
    common = 0
    left, right = first.prefix, second.prefix
    while common < min(len(left), len(right)) and left[common] == right[common]:
        common += 1
    guess = first.guess if first.guess is not None else second.guess
    rest = Unknown(reason, None if guess is None or len(guess) < common else guess[common:])
    return Value((left[:common], rest) if common else (rest,), first.source)


@record
class Frame:
    """A text that is read as a script: the file's own, or one inside it, with the way back to the file.

    `embedded` is None for the file's own text. `opaque` is the place that stands for all of a text that was put
    together. `unknowns` are what marker characters of the text stand for. `foreign` says of each character whether an
    expansion supplied it (None: all are written out).
    """

    text: str
    embedded: Embedded | None = None
    opaque: Span | None = None
    unknowns: Mapping[str, Unknown] = field(default_factory=dict)
    foreign: bytes | None = None

    def offset(self, offset: int) -> int:
        """Where a character stands in the file."""
        if self.opaque is not None:
            return self.opaque.start
        if self.embedded is None:
            return offset
        return self.embedded.offsets[min(offset, len(self.embedded.offsets) - 1)]

    def span(self, start: int, end: int) -> Span:
        """Where a stretch stands in the file."""
        if self.opaque is not None:
            return self.opaque
        if self.embedded is None:
            return Span(start, end)
        last = len(self.embedded.offsets) - 1
        return self.embedded.host_span(Span(min(start, last), min(max(start, end), last)))


class Item:
    """A stretch of an expanded word before it is cut into fields.

    `split` means that it is cut at blanks; `own` that it is written in the word itself, `style` how it is quoted there.
    `offsets` are the places of its characters in the frame's text, with one for the end. `many` marks what may be any
    number of words even in quotes.
    """

    __slots__ = ("element", "end", "frame", "many", "offsets", "own", "quoted", "split", "start", "style", "value")

    def __init__(
        self,
        value: Value,
        frame: Frame,
        start: int,
        end: int,
        quoted: bool = False,
        split: bool = False,
        own: bool = False,
        many: bool = False,
        style: str = "",
        offsets: Sequence[int] = (),
        element: Element | None = None,
    ) -> None:
        self.value = value
        self.frame = frame
        self.start = start
        self.end = end
        self.quoted = quoted
        self.split = split
        self.own = own
        self.many = many
        self.style = style
        self.offsets = offsets
        self.element = element

    def copy(self, value: Value, quoted: bool) -> Item:
        """The same place with another value, and nothing of its own text left."""
        return Item(
            value,
            self.frame,
            self.start,
            self.end,
            quoted,
            self.split,
            self.own,
            self.many,
            self.style,
            self.offsets,
            self.element,
        )


@record
class Element:
    """A word with all that is known of its value, as lists and commands hold it."""

    value: Value
    word: Word
    items: tuple[Item, ...] = ()

    @property
    def many(self) -> bool:
        """Whether it may be any number of words."""
        return self.word.count is None


@record
class Variable:
    """A shell variable: a value, or the elements of a list (by position, or by key).

    `elements` or `keys` of None with `listed` is a list of which nothing is known. A value of None is unset.
    """

    value: Value | None = None
    listed: bool = False
    elements: tuple[Element, ...] | None = None
    keys: Mapping[str, Element] | None = None
    exported: bool = False
    span: Span | None = None
    word: Word | None = None


def loose(value: Value, span: Span | None = None) -> Element:
    """An element that is not written anywhere in the script."""
    place = span or Span(0, 0)
    return Element(value, Word(value.text, place, place, value.reason, value.prefix, value.guess, literal=False))


class State:
    """All that a command may change and a later one may see."""

    __slots__ = ("functions", "options", "outside", "positional", "scopes", "sourced", "variables", "zero")

    def __init__(
        self,
        variables: dict[str, Variable],
        positional: tuple[Element, ...] | None,
        zero: Value,
        outside: bool,
        functions: dict[str, tuple[Node, Frame]] | None = None,
        options: frozenset[str] = frozenset(),
        scopes: tuple[dict[str, Variable | None], ...] = (),
        sourced: str = "",
    ) -> None:
        self.variables = variables
        self.positional = positional
        self.zero = zero
        self.outside = outside
        """Whether a variable that was never set may come from outside."""
        self.functions: dict[str, tuple[Node, Frame]] = {} if functions is None else functions
        self.options = options
        self.scopes = scopes
        self.sourced = sourced
        """Why any variable may have been set by something that cannot be read."""

    def copy(self) -> State:
        """An independent copy."""
        return State(
            dict(self.variables),
            self.positional,
            self.zero,
            self.outside,
            dict(self.functions),
            self.options,
            tuple(dict(scope) for scope in self.scopes),
            self.sourced,
        )


class Expander:
    """Expands words in a state. `substitute` is left to the one who can run commands."""

    def __init__(self, state: State, frame: Frame) -> None:
        self.state = state
        self.frame = frame
        self.work = 0
        self.problems: list[Problem] = []

    def spend(self, amount: int) -> None:
        """Account for work; raises `OutOfBounds` when it is too much."""
        self.work += amount + 1
        if self.work > WORK_LIMIT:
            raise OutOfBounds

    def substitute(self, script: list[AndOr]) -> Value:
        """The output of a command substitution, without newlines at its end."""
        raise NotImplementedError

    def substitute_text(self, part: Part) -> Value:
        """The output of a backquoted one."""
        raise NotImplementedError

    # Variables

    def lookup(self, name: str) -> Value | None:
        """The value of a parameter, None where it is unset."""
        state = self.state
        if name == "#":
            if state.positional is None or any(element.many for element in state.positional):
                return unknown("how many arguments there are is only known when it runs", filled=True)
            return known(str(len(state.positional)))
        if name in "?$!-" and len(name) == 1:
            return unknown(f"${name} is only known when it runs")
        if name == "0":
            return state.zero
        if name.isdigit():
            return self.positional_value(int(name) - 1)
        variable = state.variables.get(name)
        if variable is not None:
            if not variable.listed:
                return variable.value
            return self.list_value(variable, "0")
        if name in _DYNAMIC:
            return unknown(f"${name} is only known when it runs")
        if state.sourced:
            return Value((Unknown(f"${name} may be set by {state.sourced}", outside=True),))
        if name == "IFS":
            return known(" \t\n")
        if state.outside:
            return Value((Unknown(f"${name} is not set in the script", outside=True),))
        return None

    def positional_value(self, index: int) -> Value | None:
        """The value of `$1` and so on; `index` counts from 0."""
        if self.state.positional is None:
            return Value((Unknown("an argument of the script", outside=True),))
        for position, element in enumerate(self.state.positional):
            if element.many:
                return Value((Unknown("an argument of the script", outside=True),))
            if position == index:
                return replace(element.value, source=element.word.span)
        return None

    def list_value(self, variable: Variable, key: str) -> Value | None:
        """One element of a list."""
        if variable.keys is not None:
            element = variable.keys.get(key)
            return None if element is None else replace(element.value, source=element.word.span)
        if variable.elements is None:
            return unknown("an element of a list that cannot be known")
        if not _is_integer(key):
            return unknown("an element of a list that cannot be known")
        index = int(key)
        if any(element.many for element in variable.elements[: index + 1 if index >= 0 else None]):
            return unknown("an element of a list that cannot be known")
        if not -len(variable.elements) <= index < len(variable.elements):
            return None
        return replace(variable.elements[index].value, source=variable.elements[index].word.span)

    def assign(self, name: str, value: Value, exported: bool = False, span: Span | None = None) -> None:
        """Give a variable a value."""
        before = self.state.variables.get(name)
        exported = exported or "a" in self.state.options or (before is not None and before.exported)
        self.spend(len(value.text or ""))
        if before is not None and before.listed and before.elements is not None and before.keys is None:
            element = Element(value, Word(value.text, span or Span(0, 0), span or Span(0, 0), value.reason))
            self.state.variables[name] = replace(before, elements=(element, *before.elements[1:]))
            return
        self.state.variables[name] = Variable(value, exported=exported, span=span)

    # Words

    def expand(self, node: WordNode, braces: bool = True) -> list[Element]:
        """The words that one word becomes."""
        result: list[Element] = []
        alternatives = self.brace_alternatives(node.parts) if braces else [node.parts]
        for parts in alternatives:
            items = self.items(self.tilde(parts), split=True)
            if len(alternatives) > 1:
                for item in items:
                    item.own = False
            result.extend(self.fields(items, node))
            # Each word costs whoever reads the command line after us as much again.
            self.spend(len(result) * 100)
            if len(result) > LIST_LIMIT:
                raise OutOfBounds
        return result

    def expand_value(self, node: WordNode, tilde: bool = True) -> Element:
        """The one word of a place where nothing is split: an assignment, a redirection, `case`."""
        items = self.items(self.tilde(node.parts, assigned=True) if tilde else node.parts, split=False)
        return self.element(_flat(items), node, glob=False)

    def text_of(self, parts: list[Part]) -> Value:
        """The value of parts that are expanded as in double quotes."""
        return joined(item.value for item in _flat(self.items(parts, quoted=True)))

    def tilde(self, parts: list[Part], assigned: bool = False) -> list[Part]:
        """Parts with a tilde at the beginning (or after the `=` of a word that looks like an assignment) marked."""
        if not parts or parts[0].kind != "text":
            return parts
        first = parts[0]
        at = 0
        if not assigned and not first.text.startswith("~"):
            name, equals, rest = first.text.partition("=")
            if not equals or not rest.startswith("~") or not name.isidentifier() or not name.isascii():
                return parts
            at = len(name) + 1
        if assigned and ":~" in first.text and not first.text.startswith("~"):
            at = first.text.index(":~") + 1
        if not first.text.startswith("~", at):
            return parts
        slash = first.text.find("/", at)
        if slash < 0 and len(parts) > 1:
            return parts  # a quote or an expansion in the name: no tilde prefix
        stop = slash if slash >= 0 else len(first.text)
        base = first.start
        marked = Part("tilde", base + at, base + stop, first.text[at:stop])
        head = [Part("text", base, base + at, first.text[:at])] if at else []
        tail = [Part("text", base + stop, first.end, first.text[stop:])] if stop < len(first.text) else []
        return [*head, marked, *tail, *parts[1:]]

    def items(
        self, parts: list[Part], quoted: bool = False, split: bool = False, own: bool = True, style: str = ""
    ) -> list[Item]:
        """The stretches of a word; `split` says whether unquoted expansions are cut, `own` False that text is, too."""
        frame = self.frame
        result: list[Item] = []
        for part in parts:
            self.spend(len(part.text) + 5)
            kind = part.kind
            if kind == "text":
                self.text_items(result, part, quoted, split and not own and not quoted, own, style)
            elif kind == "escaped":
                mark = style or "\\"
                offsets = part.offsets or (part.start, part.end)
                result.append(
                    Item(known(part.text), frame, part.start, part.end, True, own=own, style=mark, offsets=offsets)
                )
            elif kind in ("single", "ansi"):
                self.text_items(result, part, True, False, own, "'" if kind == "single" else "$'")
            elif kind == "double":
                mark = '$"' if frame.text.startswith("$", part.start) else '"'
                if not part.parts:
                    inside = (part.end - 1,)
                    result.append(Item(Value(), frame, part.start, part.end, True, own=own, style=mark, offsets=inside))
                result.extend(self.items(part.parts, True, False, own, mark))
            elif kind == "parameter":
                result.extend(self.parameter(part, quoted, split))
            elif kind == "tilde":
                result.append(Item(self.home(part.text), frame, part.start, part.end, True))
            else:
                value = self.other(part)
                result.append(
                    Item(value, frame, part.start, part.end, quoted, split and not quoted and kind != "process")
                )
        return result

    def text_items(self, result: list[Item], part: Part, quoted: bool, split: bool, own: bool, style: str) -> None:
        """Literal text, cut at the markers of what is unknown in this frame."""
        frame = self.frame
        first = part.start + {"single": 1, "ansi": 2}.get(part.kind, 0)
        offsets = part.offsets or range(first, first + len(part.text) + 1)
        text = part.text
        if not frame.unknowns or not any(character in frame.unknowns for character in text):
            result.append(
                Item(known(text), frame, part.start, part.end, quoted, split, own, style=style, offsets=offsets)
            )
            return
        start = 0
        for index, character in enumerate(text):
            hidden = frame.unknowns.get(character)
            if hidden is None:
                continue
            if index > start:
                stretch = offsets[start : index + 1]
                value = known(text[start:index])
                result.append(
                    Item(value, frame, stretch[0], stretch[-1], quoted, split, own, style=style, offsets=stretch)
                )
            at = offsets[index]
            result.append(Item(Value((hidden,)), frame, at, at + 1, quoted, not quoted))
            start = index + 1
        if start < len(text):
            stretch = offsets[start:]
            value = known(text[start:])
            result.append(Item(value, frame, stretch[0], stretch[-1], quoted, split, own, style=style, offsets=stretch))

    def other(self, part: Part) -> Value:
        """Substitutions and arithmetic."""
        if part.kind == "command":
            return self.substitute(part.script)
        if part.kind == "backquote":
            return self.substitute_text(part)
        if part.kind == "arithmetic":
            value = self.arithmetic(part.parts)
            return unknown("a computed number", filled=True) if value is None else known(str(value))
        if part.kind == "process":
            self.substitute(part.script)
            return Value((Unknown("the name of a pipe", filled=True),))
        return unknown(part.text) if part.kind == "hidden" else known(part.text)

    def home(self, text: str) -> Value:
        """`~` and `~user`."""
        variable = self.state.variables.get("HOME")
        if text == "~" and variable is not None and variable.value is not None:
            return variable.value
        return unknown("a home folder", filled=True)

    def arithmetic(self, parts: list[Part]) -> int | None:
        """The value of an arithmetic expression, None where it cannot be told."""
        text = self.text_of(parts).text
        return None if text is None else self.number(text)

    def number(self, text: str) -> int | None:
        """The value of the text of an arithmetic expression."""
        self.spend(len(text) * 4)

        def lookup(name: str) -> str:
            base, bracket, key = name.partition("[")
            if bracket:
                variable = self.state.variables.get(base)
                value = None if variable is None else self.list_value(variable, key.rstrip("]"))
            else:
                value = self.lookup(base)
            found = "" if value is None else value.text
            if found is None:
                raise UnknownNumber
            return found

        def assign(name: str, value: int) -> None:
            self.assign(name, known(str(value))) if "[" not in name else self.forget(name.partition("[")[0])

        try:
            return Arithmetic(text, lookup, assign).value()
        except UnknownNumber:
            return None

    def forget(self, name: str, reason: str = "set by something that cannot be followed") -> None:
        """The variable may now hold anything."""
        before = self.state.variables.get(name)
        exported = before is not None and before.exported
        guess = before.value.guess if before is not None and before.value is not None else None
        listed = before is not None and before.listed
        value = None if listed else Value((Unknown(reason, guess),))
        self.state.variables[name] = Variable(value, listed, exported=exported)

    # Parameters

    def parameter(self, part: Part, quoted: bool, split: bool) -> list[Item]:
        """What `$name` or `${…}` becomes."""
        if part.operator == "bad":
            self.problems.append(Problem("bad substitution", self.frame.span(part.start, part.end)))
            raise EndOfScript(False)
        split = split and not quoted
        star = part.text if part.text in ("@", "*") and part.subscript is None else self.subscript_star(part)
        if star:
            return self.list_items(part, star, quoted, split)
        value = self.scalar(part)
        operator = part.operator
        if operator.startswith("indirect"):
            name = None if value is None else value.text
            if name is None or not name.isidentifier():
                value = unknown("the variable whose name another one holds")
            else:
                value = self.lookup(name)
            operator = operator[len("indirect") :]
            if operator not in ("", ":-", "-", ":+", "+"):
                return [self.item(part, unknown("an expansion that is not followed"), quoted, split)]
        if operator == "names":
            return [self.item(part, unknown("names of variables"), quoted, split, many=True)]
        if operator in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
            return self.default_items(part, operator, value, quoted, split)
        if value is None:
            if "u" in self.state.options:
                raise EndOfScript(False)
            value = Value()
        if operator == "length":
            text = value.text
            return [self.item(part, known(str(len(text))) if text is not None else unknown("a length"), quoted, split)]
        return [self.item(part, self.changed(part, operator, value), quoted, split)]

    def item(self, part: Part, value: Value, quoted: bool, split: bool, many: bool = False) -> Item:
        """An item for an expansion."""
        return Item(value, self.frame, part.start, part.end, quoted, split and not quoted, many=many)

    def subscript_star(self, part: Part) -> str:
        """`@` or `*` where the subscript is one of these."""
        if part.subscript is None or len(part.subscript) != 1:
            return ""
        return part.subscript[0].text if part.subscript[0].text in ("@", "*") else ""

    def scalar(self, part: Part) -> Value | None:
        """The value before any operator."""
        if part.subscript is None:
            return self.lookup(part.text)
        variable = self.state.variables.get(part.text)
        if variable is None:
            return self.lookup(part.text)
        key = self.key(variable, part.subscript)
        if key is None:
            return unknown("an element of a list that cannot be known")
        if not variable.listed:
            return variable.value if key == "0" else None
        return self.list_value(variable, key)

    def key(self, variable: Variable | None, subscript: list[Part]) -> str | None:
        """A subscript as a key."""
        text = self.text_of(subscript).text
        if text is None or (variable is not None and variable.keys is not None):
            return text.strip("\"'") if text is not None else None
        number = self.number(text)
        return None if number is None else str(number)

    def default_items(self, part: Part, operator: str, value: Value | None, quoted: bool, split: bool) -> list[Item]:
        """`${name:-…}` and its kin."""
        present: bool | None = value is not None
        if value is not None and operator[0] == ":":
            present = value.filled
        if value is not None and value.outside and operator[0] != ":":
            present = None
        kind = operator[-1]
        if kind == "+":
            if present:
                return self.items(part.parts, quoted, split, own=False)
            if present is False:
                return [self.item(part, Value(), quoted, split)]
            reason = "" if value is None else value.reason or ""
            return [self.item(part, Value((Unknown(reason, ""),)), quoted, split)]
        if present and value is not None:
            return [self.item(part, value, quoted, split)]
        if present is None and value is not None:
            if kind == "?":
                return [self.item(part, _surely_filled(value), quoted, split)]
            saved = self.state.copy() if kind == "=" else None
            alternative = joined(item.value for item in _flat(self.items(part.parts, quoted, False, own=False)))
            guess = value.guess or alternative.guess
            result = Value((Unknown(value.reason or "", guess, alternative.filled is True),), value.source)
            if saved is not None:
                self.assign(part.text, result)
            return [self.item(part, result, quoted, split)]
        if kind == "?":
            raise EndOfScript(False)
        if kind == "=" and part.subscript is None and not part.text.isdigit():
            items = self.items(part.parts, quoted, False, own=False)
            value = joined(item.value for item in _flat(items))
            self.assign(part.text, value)
            return [self.item(part, value, quoted, split)]
        items = self.items(part.parts, quoted, split, own=False)
        return items or [self.item(part, Value(), quoted, split)]

    def changed(self, part: Part, operator: str, value: Value) -> Value:
        """The value after an operator that changes its text."""
        if not operator:
            return value
        text = value.text
        if text is None:
            return Value((Unknown(value.reason or ""),))
        self.spend(len(text))
        failed = unknown("an expansion that is not followed")
        if operator == ":":
            result = self.substring(part, text)
        elif operator[0] in "#%":
            tokens = self.pattern(part.parts)
            result = None if tokens is None else remove_match(text, tokens, operator)
        elif operator[0] == "/":
            tokens = self.pattern(part.parts)
            items = _flat(self.items(part.more or [], own=False))
            replacement = joined(item.value for item in items).text
            # From bash 5.2 on, an unquoted `&` stands for what matched; before, for itself.
            ambiguous = any("&" in (item.value.text or "") for item in items if not item.quoted)
            if tokens is None or replacement is None or ambiguous:
                return failed
            result = replace_matches(text, tokens, replacement, operator)
        elif operator in ("^", "^^", ",", ",,") and not part.parts and text.isascii():
            change = str.upper if operator[0] == "^" else str.lower
            result = change(text) if len(operator) == 2 else change(text[:1]) + text[1:]
        else:
            return failed
        return failed if result is None else known(result, value.source)

    def substring(self, part: Part, text: str) -> str | None:
        """`${name:offset:length}`."""
        start = self.arithmetic(part.parts)
        if start is None:
            return None
        if start < 0:
            start += len(text)
            if start < 0:
                return ""
        if part.more is None:
            return text[start:]
        length = self.arithmetic(part.more)
        if length is None or (length < 0 and len(text) + length < start):
            return None
        return text[start : start + length] if length >= 0 else text[start : len(text) + length]

    def pattern(self, parts: list[Part]) -> list[Token] | None:
        """The tokens of a pattern, None where it is unknown."""
        pieces: list[tuple[str, bool]] = []
        for item in _flat(self.items(parts, own=False)):
            text = item.value.text
            if text is None:
                return None
            pieces.append((text, item.quoted))
        return compile_pattern(pieces)

    def match(self, value: Value, node: WordNode) -> bool | None:
        """Whether a value matches a word as a pattern."""
        tokens = self.pattern(self.tilde(node.parts))
        if tokens is None:
            return None
        if value.text is None:
            return True if tokens and all(token == 1 and isinstance(token, int) for token in tokens) else None
        self.spend(len(value.text))
        return matches(tokens, value.text)

    def elements_of(self, part: Part) -> tuple[Element, ...] | None:
        """The elements of `$@` or of a list; None where they are unknown."""
        if part.subscript is None:
            return self.state.positional
        variable = self.state.variables.get(part.text)
        if variable is None:
            value = self.lookup(part.text)
            return () if value is None else None
        if not variable.listed:
            if variable.value is None:
                return ()
            span = self.frame.span(part.start, part.end)
            return (Element(variable.value, Word(variable.value.text, span, span)),)
        if variable.keys is not None:
            # The order of an associative list is bash's own affair.
            return tuple(variable.keys.values()) if len(variable.keys) < 2 else None
        return variable.elements

    def list_items(self, part: Part, star: str, quoted: bool, split: bool) -> list[Item]:
        """`$@`, `$*`, `${list[@]}`, `${list[*]}` and what operators make of them."""
        elements = self.elements_of(part)
        operator = part.operator
        reason = "the arguments of the script" if part.subscript is None else f"the elements of ${part.text}"
        if operator == "names":
            return [self.item(part, unknown("keys of a list"), quoted, split, many=True)]
        if operator == "length":
            if elements is None or any(element.many for element in elements):
                return [self.item(part, unknown("how many there are", filled=True), quoted, split)]
            return [self.item(part, known(str(len(elements))), quoted, split)]
        if operator in (":-", "-", ":+", "+"):
            filled: bool | None = None
            if elements is not None:
                certain = [element for element in elements if not element.many]
                filled = True if len(certain) > 1 else None
                if len(certain) == len(elements) and len(elements) < 2:
                    filled = bool(elements) and (operator[0] != ":" or elements[0].value.filled)
            if filled is None:
                return [self.item(part, unknown(reason), quoted, split, many=True)]
            if filled == (operator[-1] == "+"):
                return self.items(part.parts, quoted, split, own=False)
            if not filled:
                return []
            operator = ""
        if elements is None:
            return [self.item(part, unknown(reason), quoted, split, many=star == "@" or not quoted)]
        if operator == ":":
            sliced = self.slice(part, elements)
            if sliced is None:
                return [self.item(part, unknown(reason), quoted, split, many=True)]
            elements = sliced
        elif operator:
            elements = tuple(
                Element(value, Word(value.text, element.word.span, element.word.site, value.reason))
                for element in elements
                for value in [self.changed(part, operator, element.value)]
            )
        result: list[Item] = []
        if star == "*" and quoted and not elements:
            result.append(self.item(part, Value(), True, False))
        separator = self.lookup("IFS") if star == "*" and not split else None
        for index, element in enumerate(elements):
            self.spend(20)
            if index:
                if star == "*" and not split:
                    text = separator.text if separator is not None else " "
                    between = unknown("$IFS is unknown") if text is None else known(text[:1])
                    result.append(self.item(part, between, True, False))
                else:
                    result.append(_BREAK)
            item = self.item(part, element.value, quoted, split, many=element.many)
            item.element = element if star == "@" or not quoted else None
            result.append(item)
        return result

    def slice(self, part: Part, elements: tuple[Element, ...]) -> tuple[Element, ...] | None:
        """`${list[@]:offset:length}`."""
        start = self.arithmetic(part.parts)
        length = self.arithmetic(part.more) if part.more is not None else LIST_LIMIT
        if start is None or length is None or length < 0:
            return None
        if part.subscript is None:
            if start == 0:
                return None  # `$0` would be the first
            start = start - 1 if start > 0 else start
        many = [index for index, element in enumerate(elements) if element.many]
        if start < 0:
            start += len(elements)
            if start < 0 or many:
                return None if many else ()
        if many and (many[0] < start or part.more is not None):
            return None
        return elements[start : start + length]

    # Fields

    def fields(self, items: list[Item], node: WordNode) -> list[Element]:
        """Cut items into words, as bash does after all expansions."""
        result: list[Element] = []
        current: list[Item] = []
        separators: str | None = None

        def flush() -> None:
            nonlocal current
            if current:
                result.append(self.element(current, node))
                current = []

        for item in items:
            if item is _BREAK:
                flush()
                continue
            if not item.split:
                if item.quoted or item.value.pieces:
                    current.append(item)
                continue
            if separators is None:
                value = self.lookup("IFS")
                separators = " \t\n" if value is None else value.text
            for piece in item.value.pieces:
                if isinstance(piece, Unknown) or separators is None:
                    hidden = piece if isinstance(piece, Unknown) else Unknown("$IFS is unknown", piece)
                    current.append(item.copy(Value((hidden,), item.value.source), item.quoted))
                    continue
                texts, leads, trails = split_fields(piece, separators)
                self.spend(len(piece))
                if leads:
                    flush()
                for index, text in enumerate(texts):
                    if index:
                        flush()
                    whole = len(texts) == 1 and text == piece and len(item.value.pieces) == 1
                    part = item.copy(known(text, item.value.source), item.quoted or not text)
                    if not whole:
                        part.element = None
                    current.append(part)
                if trails:
                    flush()
                if len(result) > LIST_LIMIT:
                    raise OutOfBounds
        flush()
        return result

    def element(self, items: list[Item], node: WordNode, glob: bool = True) -> Element:
        """The word that a run of items makes."""
        value = items[0].value if len(items) == 1 else joined(item.value for item in items)
        site = self.frame.span(node.start, node.end)
        if len(items) == 1 and items[0].element is not None and not items[0].many:
            inner = items[0].element
            if not glob or items[0].quoted or not _has_pattern(value.text or ""):
                word = replace(inner.word, site=site, literal=False, source=inner.word.span)
                return Element(value, word, tuple(items))
        many = any(item.many or (item.split and item.value.text is None) for item in items)
        if glob and "f" not in self.state.options:
            value, globbed = self.globbed(items, value)
            many = many or globbed
        literal = all(item.own for item in items) and value.text is not None
        if self.frame.foreign is not None and any(self.frame.foreign[node.start : node.end]):
            literal = False
        word_text = None
        quote = ""
        if literal:
            builder = WordBuilder(site.start)
            for item in items:
                builder.section(item.style)
                text = item.value.text or ""
                offsets = item.offsets
                for index, character in enumerate(text):
                    builder.add(character, offsets[index], offsets[index + 1])
            empty = items[0].offsets[0] if items and not value.pieces and items[0].offsets else node.end
            word_text = builder.inner(node.end, empty)
            quote = builder.quote
            if self.frame.opaque is not None:
                word_text = None
            elif self.frame.embedded is not None:
                word_text = word_text.within(self.frame.embedded)
        else:
            quote = next((item.style for item in reversed(items) if item.style), "")
            if not quote:
                written = self.frame.text[node.start : node.start + 1]
                quote = written if written in ("'", '"') and written else ""
        known_text = value.text
        source = next((item.value.source for item in items if item.value.source is not None), None)
        word = Word(
            known_text,
            site,
            site,
            value.reason,
            value.prefix if known_text is None else known_text,
            value.guess if known_text is None else known_text,
            quote,
            word_text,
            literal,
            None if many else 1,
            source,
            value.suffix,
        )
        return Element(value, word, tuple(items))

    def globbed(self, items: list[Item], value: Value) -> tuple[Value, bool]:
        """The value of a word with an unquoted pattern in it, which files may match."""
        position = 0
        for item in items:
            for piece in item.value.pieces:
                if isinstance(piece, Unknown):
                    return value, False
                if not item.quoted and _has_pattern(piece):
                    at = position + min(index for index in map(piece.find, "*?[") if index >= 0)
                    before = (value.prefix if value.text is None else value.text)[:at]
                    if before.startswith(("-", "{")) or "://" in before:
                        return value, False  # no file is named like this
                    guess = value.guess
                    rest = None if guess is None or "nullglob" in self.state.options else guess[at:]
                    hidden = Unknown("a pattern that files may match", rest)
                    return Value((before, hidden) if before else (hidden,)), True
                position += len(piece)
        return value, False

    # Braces

    def brace_alternatives(self, parts: list[Part]) -> list[list[Part]]:
        """The words that `{a,b}` and `{1..3}` make of one."""
        texts = [part.text for part in parts if part.kind == "text"]
        if not any("{" in text for text in texts) or not any("," in text or ".." in text for text in texts):
            return [parts]
        atoms: list[Part] = []
        for part in parts:
            if part.kind != "text":
                atoms.append(part)
                continue
            for index, character in enumerate(part.text):
                offsets = part.offsets[index : index + 2] if part.offsets else ()
                at = part.start + index
                atoms.append(Part("text", at, at + 1, character, offsets))
        self.spend(len(atoms) * 4)
        groups = sum(atom.text == "{" and atom.kind == "text" for atom in atoms)
        if groups > _BRACE_LIMIT:
            return [[Part("hidden", parts[0].start, parts[-1].end, "a word with too many braces")]]
        found = _expand_braces(atoms, [LIST_LIMIT])
        if found is None:
            raise OutOfBounds
        if len(found) == 1:
            return [parts] if len(found[0]) == len(atoms) else found
        if "posix" in self.state.options:
            # Bash as sh makes words of it, dash and busybox do not.
            return [[Part("hidden", parts[0].start, parts[-1].end, "braces mean different things to different shells")]]
        return [_rejoined(atoms, self.frame.text) for atoms in found]


_BREAK = Item(Value(), Frame(""), 0, 0)
"""Between two words of `"$@"`."""


def _flat(items: list[Item]) -> list[Item]:
    """Items where nothing is cut: a blank between the words of `$@`."""
    if not any(item is _BREAK for item in items):
        return items
    return [item.copy(known(" "), True) if item is _BREAK else item for item in items]


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdigit() and text.isascii() and len(text) < 12


def _surely_filled(value: Value) -> Value:
    pieces = tuple(
        replace(piece, filled=True, outside=False) if isinstance(piece, Unknown) else piece for piece in value.pieces
    )
    return Value(pieces, value.source)


def _has_pattern(text: str) -> bool:
    if "*" in text or "?" in text:
        return True
    opening = text.find("[")
    return opening >= 0 and text.find("]", opening + 2) >= 0


def _expand_braces(atoms: list[Part], budget: list[int]) -> list[list[Part]] | None:
    """Bash's brace expansion over atoms; None where it makes too many words."""
    stack: list[int] = []
    closing: dict[int, int] = {}
    for index, atom in enumerate(atoms):
        if atom.kind != "text":
            continue
        if atom.text == "{":
            stack.append(index)
        elif atom.text == "}" and stack:
            closing[stack.pop()] = index
    for start in sorted(closing):
        end = closing[start]
        alternatives = _alternatives(atoms, start, end)
        if alternatives is None:
            continue
        heads: list[list[Part]] = []
        for alternative in alternatives:
            inner = _expand_braces(alternative, budget)
            if inner is None:
                return None
            heads.extend(inner)
        tails = _expand_braces(atoms[end + 1 :], budget)
        if tails is None or len(heads) * len(tails) > budget[0]:
            return None
        budget[0] -= len(heads) * len(tails) // 2
        return [[*atoms[:start], *head, *tail] for head in heads for tail in tails]
    return [atoms]


def _rejoined(atoms: list[Part], text: str) -> list[Part]:
    """Braces are expanded before variables: `$X{a,b}` is `$Xa $Xb`."""
    result: list[Part] = []
    for atom in atoms:
        last = result[-1] if result else None
        if (
            last is not None
            and last.kind == "parameter"
            and last.text.isidentifier()
            and not text.startswith("${", last.start)
            and atom.kind == "text"
            and atom.text
            and (atom.text[0].isalnum() or atom.text[0] == "_")
            and atom.text[0].isascii()
        ):
            size = 1
            while size < len(atom.text) and (atom.text[size].isalnum() or atom.text[size] == "_"):
                size += 1
            result[-1] = Part(last.kind, last.start, last.end, last.text + atom.text[:size])
            if size < len(atom.text):
                result.append(Part("text", atom.start + size, atom.end, atom.text[size:], atom.offsets[size:]))
            continue
        result.append(atom)
    return result


def _alternatives(atoms: list[Part], start: int, end: int) -> list[list[Part]] | None:
    """What stands between the commas of a group, or the members of a sequence; None where it is neither."""
    result: list[list[Part]] = [[]]
    nested = 0
    for atom in atoms[start + 1 : end]:
        text = atom.text if atom.kind == "text" else ""
        if text == "," and not nested:
            result.append([])
            continue
        nested += (text == "{") - (text == "}")
        result[-1].append(atom)
    if len(result) > 1:
        return result
    if any(atom.kind != "text" for atom in result[0]):
        return None
    members = _sequence("".join(atom.text for atom in result[0]))
    if members is None:
        return None
    return [
        [Part("text", atoms[start].start, atoms[end].end, member, [atoms[start].start] * (len(member) + 1))]
        for member in members
    ]


def _sequence(text: str) -> list[str] | None:
    """The members of `1..5`, `01..10..3` or `a..e`."""
    ends = text.split("..")
    if len(ends) not in (2, 3) or not all(ends) or (len(ends) == 3 and not _is_integer(ends[2])):
        return None
    step = abs(int(ends[2])) if len(ends) == 3 else 1
    step = step or 1
    first, last = ends[0], ends[1]
    if _is_integer(first) and _is_integer(last):
        low, high = int(first), int(last)
        if abs(high - low) // step > LIST_LIMIT:
            return None
        numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        padded = any(len(end.lstrip("-")) > 1 and end.lstrip("-").startswith("0") for end in (first, last))
        width = max(len(first), len(last)) if padded else 0
        return [str(number).zfill(width) for number in numbers]
    if len(first) == 1 and len(last) == 1 and first.isalpha() and last.isalpha() and (first + last).isascii():
        low, high = ord(first), ord(last)
        codes = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        members = [chr(code) for code in codes]
        return members if all(member.isalpha() for member in members) else None
    return None


def frame_of(items: Sequence[Item], place: Span) -> Frame | None:
    """The text of a word as a script of its own, markers standing for what is unknown; None where that cannot be.

    Characters that are written in the script keep their places, those of a variable have the place of its expansion.
    """
    unknowns: dict[str, Unknown] = {}
    characters: list[str] = []
    offsets: list[int] = []
    ends: list[int] = []
    foreign = bytearray()
    styles: set[str] = set()
    for item in items:
        if item is _BREAK:
            continue
        base, behind = item.frame.offset(item.start), item.frame.span(item.start, item.end).end
        for piece in item.value.pieces:
            if isinstance(piece, Unknown):
                if len(unknowns) >= _MARKER_COUNT:
                    return None
                marker = chr(_MARKER_BASE + len(unknowns))
                unknowns[marker] = piece
                piece = marker
            elif any(_MARKER_BASE <= ord(character) < _MARKER_BASE + 0xFFFF for character in piece):
                return None
            size = len(piece)
            characters.append(piece)
            if item.own and len(item.value.pieces) == 1:
                places = [item.frame.offset(offset) for offset in item.offsets[: size + 1]]
                offsets.extend(places[:size])
                ends.extend(places[1:])
                styles.add(item.style if item.frame.opaque is None and item.frame.embedded is None else "other")
                foreign.extend(bytes(size))
            else:
                offsets.extend([base] * size)
                ends.extend([behind] * size)
                foreign.extend(b"\1" * size)
    text = "".join(characters)
    if any(first > second for first, second in pairwise(offsets)):
        return Frame(text, None, place, unknowns)
    offsets.append(ends[-1] if ends else place.end)
    # Where all that is written out stands in one pair of double quotes, it can be edited there.
    encode = encode_double if styles == {'"'} else None
    refusal = None if encode else "a variable supplies part of the text"
    return Frame(text, Embedded(text, offsets, encode, refusal, ends), None, unknowns, bytes(foreign))
