"""Go's text/template: a lexer and parser that say what Go's own say, with spans.

Follows Go's `text/template/parse` (lex.go, parse.go; 1.24), errors included. Values are not looked at here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from servelint.formats.problem import Problem
from servelint.records import record
from servelint.text import Span

BUILTINS = frozenset(
    {
        "and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf", "println", "urlquery",
        "eq", "ge", "gt", "le", "lt", "ne",
    }
)  # fmt: skip
_SPACES = " \t\r\n"
_KEYWORDS = frozenset({"block", "break", "continue", "define", "else", "end", "if", "range", "template", "with"})
# Deeper nests than these are nobody's template.
_DEEPEST = 100


@record
class Word:
    """A field chain, a variable, a function's name, or a constant.

    `sort` is `field` (`names` are its parts, of `.` none), `variable` (`names` begin with `$x`), `function`, `string`,
    `number`, `char`, `bool` or `nil`; `value` is a constant's value.
    """

    sort: str
    span: Span
    names: tuple[str, ...] = ()
    value: str | int | float | bool | None = None


@record
class Chain:
    """Fields of what a pipeline in parentheses gives: `(index .Messages 0).Content`."""

    inner: Pipeline
    names: tuple[str, ...]
    span: Span


Operand: TypeAlias = "Word | Chain | Pipeline"


@record
class Pipeline:
    """Commands, each given what the one before it gives; `declared` are variables it sets (`assigns`: sets anew)."""

    commands: tuple[tuple[Operand, ...], ...]
    span: Span
    declared: tuple[str, ...] = ()
    assigns: bool = False


@record
class Node:
    """A part of a template.

    `sort` is `text`, `action`, `if`, `range`, `with`, `template`, `break` or `continue`. `text` holds a text, or the
    name of a template that is called; `body` and `otherwise` the lists of a branch.
    """

    sort: str
    span: Span
    text: str = ""
    pipeline: Pipeline | None = None
    body: tuple[Node, ...] = ()
    otherwise: tuple[Node, ...] | None = None


@record
class GoTemplate:
    """A template as Go parses it; where it refuses it, `problem` says why in Go's words, and `nodes` is empty."""

    text: str
    nodes: tuple[Node, ...] = ()
    defined: dict[str, tuple[Node, ...]] | None = None
    problem: Problem | None = None


class _RefusedError(Exception):
    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message, self.start, self.end = message, start, end


class _Token:
    __slots__ = ("end", "sort", "start", "value")

    def __init__(self, sort: str, value: str, start: int, end: int) -> None:
        self.sort, self.value, self.start, self.end = sort, value, start, end


def read_go_template(text: str, functions: Collection[str] = ()) -> GoTemplate:
    """Parse a template; `functions` are known beside Go's own. Never raises."""
    parser = _Parser(text, BUILTINS | set(functions))
    try:
        nodes = parser.everything()
    except _RefusedError as error:
        line = text.count("\n", 0, error.start) + 1
        message = f"template: :{line}: {error.message}"
        return GoTemplate(text, problem=Problem(message, Span(error.start, max(error.end, error.start))))
    return GoTemplate(text, nodes, parser.defined)


# From text to tokens


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.inside = False
        self.parens = 0
        self.trim = False

    def next(self) -> _Token:
        return self._action() if self.inside else self._outside()

    def _token(self, sort: str, end: int) -> _Token:
        token = _Token(sort, self.text[self.position : end], self.position, end)
        self.position = end
        return token

    def _error(self, message: str, end: int | None = None) -> _Token:
        return _Token("error", message, self.position, len(self.text) if end is None else end)

    def _outside(self) -> _Token:
        text = self.text
        if self.trim:
            self.trim = False
            while self.position < len(text) and text[self.position] in _SPACES:
                self.position += 1
        while True:
            start = text.find("{{", self.position)
            if start < 0:
                return self._token("text", len(text)) if self.position < len(text) else self._token("eof", len(text))
            trims = text[start + 2 : start + 3] == "-" and text[start + 3 : start + 4] in tuple(_SPACES)
            end = start
            if trims:
                while end > self.position and text[end - 1] in _SPACES:
                    end -= 1
            if end > self.position:
                token = self._token("text", end)
                self.position = start
                return token
            self.position = start
            behind = start + 2 + (2 if trims else 0)
            if not text.startswith("/*", behind):
                token = self._token("left", behind)
                self.inside, self.parens = True, 0
                return token
            fault = self._comment(behind)
            if fault is not None:
                return fault
            if self.trim:
                return self._outside()

    def _comment(self, start: int) -> _Token | None:
        text = self.text
        end = text.find("*/", start + 2)
        if end < 0:
            return self._error("unclosed comment")
        end += 2
        if text[end : end + 1] in tuple(_SPACES) and text.startswith("-}}", end + 1):
            self.position, self.trim = end + 4, True
            return None
        if not text.startswith("}}", end):
            return self._error("comment ends before closing delimiter")
        self.position = end + 2
        return None

    def _action(self) -> _Token:
        text, position = self.text, self.position
        trims = text[position : position + 1] in tuple(_SPACES) and text.startswith("-}}", position + 1)
        if trims or text.startswith("}}", position):
            if self.parens:
                return self._error("unclosed left paren")
            token = self._token("right", position + (4 if trims else 2))
            self.inside, self.trim = False, trims
            return token
        if position >= len(text):
            return self._error("unclosed action")
        character = text[position]
        if character in _SPACES:
            return self._blanks()
        if character == "=":
            return self._token("assign", position + 1)
        if character == ":":
            if not text.startswith(":=", position):
                return self._error("expected :=", position + 1)
            return self._token("declare", position + 2)
        if character == "|":
            return self._token("pipe", position + 1)
        if character == '"':
            return self._quoted('"', "string", "unterminated quoted string")
        if character == "'":
            return self._quoted("'", "char", "unterminated character constant")
        if character == "`":
            end = text.find("`", position + 1)
            return self._error("unterminated raw quoted string") if end < 0 else self._token("raw", end + 1)
        if character == "$":
            return self._name("variable", position + 1)
        if character == "." and not ("0" <= text[position + 1 : position + 2] <= "9"):
            return self._name("field", position + 1)
        if character in "+-." or "0" <= character <= "9":
            return self._number()
        if character == "_" or character.isalnum():
            return self._name("identifier", position)
        if character == "(":
            self.parens += 1
            return self._token("(", position + 1)
        if character == ")":
            if not self.parens:
                return self._error("unexpected right paren", position + 1)
            self.parens -= 1
            return self._token(")", position + 1)
        if character.isascii() and character.isprintable():
            return self._token("char-item", position + 1)
        return self._error(f"unrecognized character in action: {_code(character)}", position + 1)

    def _blanks(self) -> _Token:
        end = self.position
        while end < len(self.text) and self.text[end] in _SPACES:
            # The last blank in front of `-}}` belongs to the trim marker.
            if self.text.startswith("-}}", end + 1):
                break
            end += 1
        return self._token("space", end)

    def _quoted(self, quote: str, sort: str, message: str) -> _Token:
        position = self.position + 1
        while position < len(self.text):
            character = self.text[position]
            if character == "\\" and self.text[position + 1 : position + 2] not in ("", "\n"):
                position += 2
                continue
            if character == "\n":
                break
            if character == quote:
                return self._token(sort, position + 1)
            position += 1
        return self._error(message, position)

    def _name(self, sort: str, end: int) -> _Token:
        text = self.text
        while end < len(text) and (text[end] == "_" or text[end].isalnum()):
            end += 1
        if not self._ends(end):
            return self._error(f"bad character {_code(text[end])}", end + 1)
        if sort == "field" and end == self.position + 1:
            return self._token("dot", end)
        token = self._token(sort, end)
        if sort == "identifier":
            if token.value in _KEYWORDS:
                token.sort = token.value
            elif token.value in ("true", "false"):
                token.sort = "bool"
            elif token.value == "nil":
                token.sort = "nil"
        return token

    def _ends(self, position: int) -> bool:
        following = self.text[position : position + 1]
        return following in ("", *_SPACES, ".", ",", "|", ":", ")", "(") or self.text.startswith("}}", position)

    def _number(self) -> _Token:
        end, right = self._digits(self.position)
        if right and self.text[end : end + 1] in ("+", "-"):
            # A complex number: `1+2i`.
            end, right = self._digits(end)
            right = right and self.text[end - 1] == "i"
        if not right:
            return self._error(f"bad number syntax: {_quote(self.text[self.position : end])}", end)
        return self._token("number", end)

    def _digits(self, end: int) -> tuple[int, bool]:
        """Where a number that begins here ends, and whether it ends as one must."""
        text = self.text
        if text[end : end + 1] in ("+", "-"):
            end += 1
        digits = "0123456789_"
        if text[end : end + 1] == "0" and text[end + 1 : end + 2] in tuple("xXoObB"):
            digits = {"x": "0123456789abcdefABCDEF_", "o": "01234567_", "b": "01_"}[text[end + 1].lower()]
            end += 2
        end = self._run(end, digits)
        if text[end : end + 1] == ".":
            end = self._run(end + 1, digits)
        if len(digits) == 11 and text[end : end + 1] in ("e", "E"):
            end += 1
            if text[end : end + 1] in ("+", "-"):
                end += 1
            end = self._run(end, digits)
        if text[end : end + 1] == "i":  # an imaginary number
            end += 1
        following = text[end : end + 1]
        is_word = following == "_" or following.isalnum()
        return (end + 1, False) if is_word else (end, True)

    def _run(self, end: int, digits: str) -> int:
        while end < len(self.text) and self.text[end] in digits:
            end += 1
        return end


def _code(character: str) -> str:
    return f"U+{ord(character):04X} '{character}'" if character.isprintable() else f"U+{ord(character):04X}"


def _quote(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


# From tokens to nodes


class _Parser:
    def __init__(self, text: str, functions: Collection[str]) -> None:
        self.lexer = _Lexer(text)
        self.functions = functions
        self.defined: dict[str, tuple[Node, ...]] = {}
        self.variables = ["$"]
        self.ranges = 0
        self.depth = 0
        self.pending: list[_Token] = []
        self.left: int | None = None

    # Tokens

    def take(self) -> _Token:
        return self.pending.pop() if self.pending else self.lexer.next()

    def give_back(self, *tokens: _Token) -> None:
        self.pending.extend(reversed(tokens))

    def peek(self) -> _Token:
        token = self.take()
        self.give_back(token)
        return token

    def take_word(self) -> _Token:
        token = self.take()
        while token.sort == "space":
            token = self.take()
        return token

    def peek_word(self) -> _Token:
        token = self.take_word()
        self.give_back(token)
        return token

    def expect(self, sort: str, context: str) -> _Token:
        token = self.take_word()
        if token.sort != sort:
            self.unexpected(token, context)
        return token

    def refuse(self, message: str, token: _Token) -> _RefusedError:
        return _RefusedError(message, token.start, token.end)

    def unexpected(self, token: _Token, context: str) -> None:
        if token.sort == "error":
            raise self.refuse(token.value + self.begun(token), token)
        raise self.refuse(f"unexpected {_shown(token)} in {context}", token)

    def begun(self, token: _Token) -> str:
        """Where the action of a faulty token began, if that was on another line."""
        text = self.lexer.text
        if self.left is None or "\n" not in text[self.left : token.start]:
            return ""
        line = text.count("\n", 0, self.left) + 1
        return f"{'' if token.value.endswith(' action') else ' in action'} started at :{line}"

    # Lists

    def everything(self) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while self.peek().sort != "eof":
            token = self.take()
            if token.sort == "left":
                word = self.take_word()
                if word.sort == "define":
                    self.definition()
                    continue
                self.give_back(token, word)
            else:
                self.give_back(token)
            node = self.node()
            if isinstance(node, str):
                raise self.refuse(f"unexpected {{{{{node}}}}}", token)
            nodes.append(node)
        return tuple(nodes)

    def definition(self) -> None:
        name = self.template_name(self.take_word(), "define clause")
        self.expect("right", "define clause")
        outer, self.variables = self.variables, ["$"]
        ranges, self.ranges = self.ranges, 0
        body, ended = self.block()
        self.variables, self.ranges = outer, ranges
        if ended != "end":
            raise self.refuse(f"unexpected {{{{{ended}}}}} in define clause", self.peek())
        self.define(name, body)

    def define(self, name: str, body: tuple[Node, ...]) -> None:
        """Note a template of that name; one that holds nothing but blanks gives way to another."""
        known = self.defined.get(name)
        if known is None or _is_empty(known):
            self.defined[name] = body
        elif not _is_empty(body):
            raise self.refuse(f"template: multiple definition of template {_quote(name)}", self.peek())

    def block(self) -> tuple[tuple[Node, ...], str]:
        """The nodes up to `end` or `else`, and which of them it was."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.refuse("nested too deeply", self.peek())
        nodes: list[Node] = []
        while self.peek_word().sort != "eof":
            node = self.node()
            if isinstance(node, str):
                self.depth -= 1
                return tuple(nodes), node
            nodes.append(node)
        raise self.refuse("unexpected EOF", self.peek())

    def node(self) -> Node | str:
        token = self.take_word()
        if token.sort == "text":
            return Node("text", Span(token.start, token.end), token.value)
        if token.sort == "left":
            self.left = token.start
            made = self.action(token)
            self.left = None
            return made
        self.unexpected(token, "input")
        raise AssertionError

    def action(self, left: _Token) -> Node | str:
        word = self.take_word()
        match word.sort:
            case "end":
                self.expect("right", "end")
                return "end"
            case "else":
                if self.peek_word().sort not in ("if", "with"):
                    self.expect("right", "else")
                return "else"
            case "if" | "range" | "with":
                return self.branch(word.sort, left)
            case "break" | "continue":
                token = self.take_word()
                if token.sort != "right":
                    self.unexpected(token, f"{{{{{word.sort}}}}}")
                if not self.ranges:
                    raise self.refuse(f"{{{{{word.sort}}}}} outside {{{{range}}}}", word)
                return Node(word.sort, Span(left.start, token.end))
            case "template" | "block":
                return self.call(word.sort, left)
        self.give_back(word)
        pipeline = self.pipeline("command", "right")
        return Node("action", Span(left.start, self.lexer.position), pipeline=pipeline)

    def branch(self, sort: str, left: _Token) -> Node:
        depth = len(self.variables)
        pipeline = self.pipeline(sort, "right")
        if sort == "range":
            self.ranges += 1
        body, ended = self.block()
        if sort == "range":
            self.ranges -= 1
        otherwise: tuple[Node, ...] | None = None
        if ended == "else":
            following = self.peek_word()
            if following.sort == sort and sort != "range":
                self.take_word()
                otherwise = (self.branch(sort, following),)
            else:
                otherwise, ended = self.block()
                if ended != "end":
                    raise self.refuse(f"expected end; found {{{{{ended}}}}}", self.peek())
        del self.variables[depth:]
        return Node(sort, Span(left.start, self.lexer.position), pipeline=pipeline, body=body, otherwise=otherwise)

    def call(self, sort: str, left: _Token) -> Node:
        context = "template clause" if sort == "template" else "block clause"
        name = self.template_name(self.take_word(), context)
        pipeline: Pipeline | None = None
        if sort == "block" or self.peek_word().sort != "right":
            pipeline = self.pipeline(context, "right")
        else:
            self.take_word()
        if sort == "block":
            outer, self.variables = self.variables, ["$"]
            ranges, self.ranges = self.ranges, 0
            body, ended = self.block()
            self.variables, self.ranges = outer, ranges
            if ended != "end":
                raise self.refuse(f"unexpected {{{{{ended}}}}} in block clause", self.peek())
            self.define(name, body)
        return Node("template", Span(left.start, self.lexer.position), name, pipeline)

    def template_name(self, token: _Token, context: str) -> str:
        if token.sort not in ("string", "raw"):
            self.unexpected(token, context)
        return self.unquoted(token)

    # Pipelines

    def pipeline(self, context: str, end: str) -> Pipeline:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.refuse("nested too deeply", self.peek())
        start = self.peek_word()
        declared, assigns = self.declarations(context)
        commands: list[tuple[Operand, ...]] = []
        while True:
            token = self.take_word()
            if token.sort == end:
                break
            if token.sort not in _OPERANDS:
                self.unexpected(token, context)
            self.give_back(token)
            commands.append(self.command())
        if not commands:
            raise self.refuse(f"missing value for {context}", token)
        for number, command in enumerate(commands[1:], start=2):
            first = command[0]
            if isinstance(first, Word) and (
                first.sort in ("bool", "nil", "number", "char", "string") or (first.sort == "field" and not first.names)
            ):
                raise self.refuse(f"non executable command in pipeline stage {number}", token)
        self.depth -= 1
        return Pipeline(tuple(commands), Span(start.start, token.start), tuple(declared), assigns)

    def declarations(self, context: str) -> tuple[list[str], bool]:
        declared: list[str] = []
        while (variable := self.peek_word()).sort == "variable":
            variable = self.take_word()
            after = self.take()
            following = after if after.sort != "space" else self.take_word()
            if following.sort in ("assign", "declare"):
                declared.append(variable.value)
                # Whether an assigned one was declared is only seen when it is executed.
                self.variables += declared
                return declared, following.sort == "assign"
            if following.sort == "char-item" and following.value == ",":
                declared.append(variable.value)
                if context == "range" and len(declared) < 2:
                    if self.peek_word().sort in ("variable", "right", ")"):
                        continue
                    raise self.refuse("range can only initialize variables", following)
                raise self.refuse(f"too many declarations in {context}", following)
            if after.sort == "space":
                self.give_back(variable, after, following)
            else:
                self.give_back(variable, following)
            break
        return declared, False

    def command(self) -> tuple[Operand, ...]:
        operands: list[Operand] = []
        while True:
            self.peek_word()
            operand = self.operand()
            if operand is not None:
                operands.append(operand)
            token = self.take()
            if token.sort == "space":
                continue
            if token.sort in ("right", ")"):
                self.give_back(token)
            elif token.sort != "pipe":
                self.unexpected(token, "operand")
            break
        if not operands:
            raise self.refuse("empty command", token)
        return tuple(operands)

    def operand(self) -> Operand | None:
        term = self.term()
        if term is None or self.peek().sort != "field":
            return term
        names: list[str] = []
        end = term.span.end
        while self.peek().sort == "field":
            token = self.take()
            names.append(token.value[1:])
            end = token.end
        span = Span(term.span.start, end)
        if isinstance(term, Word):
            if term.sort == "variable" or (term.sort == "field" and term.names):
                return Word(term.sort, span, (*term.names, *names))
            if term.sort != "function":
                shown = self.lexer.text[term.span.start : term.span.end]
                raise _RefusedError(f"unexpected . after term {_quote(shown)}", term.span.start, end)
            return Chain(Pipeline(((term,),), term.span), tuple(names), span)
        return Chain(term if isinstance(term, Pipeline) else term.inner, tuple(names), span)

    def term(self) -> Word | Pipeline | None:
        token = self.take_word()
        span = Span(token.start, token.end)
        match token.sort:
            case "identifier":
                if token.value not in self.functions:
                    raise self.refuse(f"function {_quote(token.value)} not defined", token)
                return Word("function", span, value=token.value)
            case "dot":
                return Word("field", span)
            case "nil":
                return Word("nil", span)
            case "variable":
                if token.value not in self.variables:
                    raise self.refuse(f"undefined variable {_quote(token.value)}", token)
                return Word("variable", span, (token.value,))
            case "field":
                return Word("field", span, (token.value[1:],))
            case "bool":
                return Word("bool", span, value=token.value == "true")
            case "number":
                return Word("number", span, value=self.number(token))
            case "char":
                return Word("char", span, value=self.character(token))
            case "string" | "raw":
                return Word("string", span, value=self.unquoted(token))
            case "(":
                return self.pipeline("parenthesized pipeline", ")")
        self.give_back(token)
        return None

    def number(self, token: _Token) -> int | float:
        written = token.value.replace("_", "")
        sign = -1 if written.startswith("-") else 1
        digits = written.lstrip("+-")
        try:
            if digits[:2].lower() in ("0x", "0o", "0b"):
                return sign * int(digits, 0)
            if digits.isdigit():
                return sign * (int(digits, 8) if digits.startswith("0") and len(digits) > 1 else int(digits))
            return sign * float(digits)
        except ValueError:
            raise self.refuse(f"illegal number syntax: {_quote(token.value)}", token) from None

    def character(self, token: _Token) -> int:
        text = _unescaped(token.value[1:-1], "'")
        if text is None or len(text) != 1:
            raise self.refuse(f"malformed character constant: {token.value}", token)
        return ord(text)

    def unquoted(self, token: _Token) -> str:
        if token.sort == "raw":
            return token.value[1:-1].replace("\r", "")
        text = _unescaped(token.value[1:-1], '"')
        if text is None:
            raise self.refuse("invalid syntax", token)
        return text


_OPERANDS = frozenset(
    {"bool", "char", "dot", "field", "identifier", "number", "nil", "raw", "string", "variable", "("}
)  # fmt: skip


def _is_empty(nodes: Sequence[Node]) -> bool:
    return all(node.sort == "text" and not node.text.strip() for node in nodes)


def _shown(token: _Token) -> str:
    if token.sort == "eof":
        return "EOF"
    if token.sort in _KEYWORDS or token.sort in ("dot", "nil"):
        return f"<{token.value}>"
    return f"{_quote(token.value[:10])}..." if len(token.value) > 10 else _quote(token.value)


_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\"}


def _unescaped(text: str, quote: str) -> str | None:
    """A Go string's content; None where Go's `strconv.Unquote` refuses it."""
    if "\\" not in text:
        return text
    pieces: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character != "\\":
            pieces.append(character)
            position += 1
            continue
        kind = text[position + 1 : position + 2]
        width = {"x": 2, "u": 4, "U": 8}.get(kind)
        if kind == quote or kind in _ESCAPES:
            pieces.append(_ESCAPES.get(kind, kind))
            position += 2
        elif width is not None:
            digits = text[position + 2 : position + 2 + width]
            if len(digits) != width or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                return None
            number = int(digits, 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                return None
            pieces.append(chr(number))
            position += 2 + width
        elif kind and kind in "01234567":
            digits = text[position + 1 : position + 4]
            if len(digits) != 3 or any(digit not in "01234567" for digit in digits) or int(digits, 8) > 255:
                return None
            pieces.append(chr(int(digits, 8)))
            position += 4
        else:
            return None
    return "".join(pieces)
