"""The grammar of bash: text to a syntax tree with offsets. What the tree means is `servelint.formats.shell`'s business.

Written by hand because only bash's own reading is of use here: `\\` and a blank end a command, a backquoted comment is
a word of nothing, a redirection may stand between two arguments. Messages follow bash's (5.2). Sources: the bash
manual, chapters 3.1 to 3.6, and bash itself, which the tests ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from servelint.formats.problem import Problem
from servelint.text import Span

# How deep quotes, substitutions and compound commands may lie in each other. People write six; Python's stack takes
# some ten frames for each.
DEPTH_LIMIT = 40

DECLARERS = frozenset({"declare", "typeset", "local", "export", "readonly"})
_OPENERS = frozenset({"if", "for", "while", "until", "case", "select", "function", "{", "[[", "coproc"})
_NOT_FIRST = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}", "]]"})
_RESERVED = _OPENERS | _NOT_FIRST | {"time", "!", "in"}
_NAME_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SPECIAL_PARAMETERS = frozenset("@*#?$!-0123456789")
_METACHARACTERS = frozenset(" \t\n;&|()<>")
_ANSI_ESCAPES = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


class Part:
    """A stretch of a word.

    `kind`: `text` (as it stands), `escaped` (one character after a backslash), `single`, `ansi`, `double` (with
    `parts`), `parameter` (`text` is its name), `command`, `backquote` (`text` is the inner script, unescaped),
    `arithmetic` (`parts`) or `process`. `offsets` are host offsets of the characters of `text` and of its end, where
    they do not simply follow `start`.
    """

    __slots__ = ("end", "kind", "more", "offsets", "operator", "parts", "script", "start", "subscript", "text")

    def __init__(
        self,
        kind: str,
        start: int,
        end: int,
        text: str = "",
        offsets: Sequence[int] = (),
        parts: list[Part] | None = None,
        more: list[Part] | None = None,
        subscript: list[Part] | None = None,
        operator: str = "",
        script: list[AndOr] | None = None,
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.text = text
        self.offsets = offsets
        self.parts: list[Part] = [] if parts is None else parts
        self.more = more
        self.subscript = subscript
        self.operator = operator
        self.script: list[AndOr] = [] if script is None else script


class WordNode:
    """A word as written; `assignment` is set where it is an argument of `export` and its like that assigns."""

    __slots__ = ("assignment", "end", "parts", "start")

    def __init__(
        self,
        start: int,
        end: int,
        parts: list[Part],
        assignment: Assign | None = None,
    ) -> None:
        self.start = start
        self.end = end
        self.parts = parts
        self.assignment = assignment


class Assign:
    """`name=value`, `name+=value`, `name[subscript]=value` or `name=(elements)`."""

    __slots__ = ("append", "elements", "end", "name", "start", "subscript", "value")

    def __init__(
        self,
        name: str,
        start: int,
        end: int,
        append: bool,
        value: WordNode | None,
        elements: list[WordNode] | None = None,
        subscript: list[Part] | None = None,
    ) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.append = append
        self.value = value
        self.elements = elements
        self.subscript = subscript


class Redirect:
    """A redirection; a here-document's body is filled in when its lines have been read."""

    __slots__ = (
        "body_end",
        "body_start",
        "body_text",
        "delimiter",
        "descriptor",
        "end",
        "offsets",
        "operator",
        "parts",
        "quoted",
        "start",
        "target",
    )

    def __init__(
        self,
        operator: str,
        start: int,
        end: int,
        descriptor: str,
        target: WordNode,
        delimiter: str = "",
        quoted: bool = False,
        body_start: int = 0,
        body_end: int = 0,
        body_text: str = "",
        offsets: Sequence[int] = (),
        parts: list[Part] | None = None,
    ) -> None:
        self.operator = operator
        self.start = start
        self.end = end
        self.descriptor = descriptor
        self.target = target
        self.delimiter = delimiter
        self.quoted = quoted
        self.body_start = body_start
        self.body_end = body_end
        self.body_text = body_text
        self.offsets = offsets
        self.parts: list[Part] = [] if parts is None else parts


class Node:
    """A command: `kind` is `simple` or the word that begins the compound one (`subshell` and `arithmetic` for parens).

    `clauses`: for `if`, pairs of condition and body (an empty condition is `else`); for `case`, bodies with `patterns`
    and the operator that ends the clause.
    """

    __slots__ = (
        "assignments",
        "body",
        "clauses",
        "end",
        "kind",
        "name",
        "parts",
        "patterns",
        "redirects",
        "start",
        "words",
    )

    def __init__(
        self,
        kind: str,
        start: int,
        end: int = 0,
        name: str = "",
        words: list[WordNode] | None = None,
        assignments: list[Assign] | None = None,
        redirects: list[Redirect] | None = None,
        body: list[AndOr] | None = None,
        clauses: list[tuple[list[AndOr], list[AndOr]]] | None = None,
        patterns: list[tuple[list[WordNode], str]] | None = None,
        parts: list[list[Part]] | None = None,
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.name = name
        self.words = words
        self.assignments: list[Assign] = [] if assignments is None else assignments
        self.redirects: list[Redirect] = [] if redirects is None else redirects
        self.body: list[AndOr] = [] if body is None else body
        self.clauses: list[tuple[list[AndOr], list[AndOr]]] = [] if clauses is None else clauses
        self.patterns: list[tuple[list[WordNode], str]] = [] if patterns is None else patterns
        self.parts: list[list[Part]] = [] if parts is None else parts


class Pipeline:
    """Commands joined by `|`."""

    __slots__ = ("commands", "negated", "words_before")

    def __init__(
        self,
        commands: list[Node],
        negated: bool = False,
        words_before: tuple[tuple[str, int, int], ...] = (),
    ) -> None:
        self.commands = commands
        self.negated = negated
        self.words_before = words_before


class AndOr:
    """Pipelines joined by `&&` and `||`."""

    __slots__ = ("background", "operators", "pipelines")

    def __init__(
        self,
        pipelines: list[Pipeline],
        operators: list[str],
        background: bool = False,
    ) -> None:
        self.pipelines = pipelines
        self.operators = operators
        self.background = background


class ShellSyntaxError(Exception):
    """The text is refused here."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.ASCII)


def _bare_run() -> re.Pattern[str]:
    return _pattern(r"[^ \t\n;&|()<>\\'\"$`]+")


class Parser:
    """Reads one text; `comments` and `arrays` are filled on the way."""

    def __init__(self, text: str, string: bool = False) -> None:
        self.text = text
        self.string = string
        """Whether it is a string (`bash -c`, `eval`), where a backslash at the very end stands for itself."""
        self.length = len(text)
        self.position = 0
        self.depth = 0
        self.pending: list[Redirect] = []
        self.comments: list[tuple[int, int]] = []
        self.targets: list[tuple[int, int]] = []
        """Spans of simple commands and of list elements: what a comment may belong to."""

    # Failures

    def fail(self, message: str, start: int, end: int | None = None, sort: str = "syntax") -> ShellSyntaxError:
        """The failure to raise; positions are cut to the text."""
        start = min(start, self.length)
        end = min(start + 1 if end is None else end, self.length)
        return ShellSyntaxError(Problem(message, Span(start, max(start, end)), sort))

    def unexpected(self) -> ShellSyntaxError:
        """Bash's complaint about the token at the current position."""
        position = self.position
        if position >= self.length:
            return self.fail("syntax error: unexpected end of file", position)
        operator = self.operator()
        if operator:
            return self.fail(f"syntax error near unexpected token `{operator}'", position, position + len(operator))
        if self.text[position] == "\n":
            return self.fail("syntax error near unexpected token `newline'", position)
        match = _pattern(r"[^ \t\n;&|()<>]+").match(self.text, position)
        token = match.group() if match else self.text[position]
        return self.fail(f"syntax error near unexpected token `{token[:60]}'", position, position + len(token))

    def unclosed(self, closer: str, start: int) -> ShellSyntaxError:
        """Bash's complaint about something that is never closed."""
        sort = "unclosed-quote" if closer in "'\"`" else "syntax"
        return self.fail(f"unexpected EOF while looking for matching `{closer}'", start, None, sort)

    def deeper(self) -> None:
        """One level in; the caller takes it back."""
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            raise self.fail("nested too deeply to be read", self.position)

    # Blanks, comments, operators

    def skip_blanks(self) -> None:
        """Over blanks, line continuations and a comment, to the next token or newline."""
        text = self.text
        while self.position < self.length:
            character = text[self.position]
            if character in " \t":
                self.position += 1
            elif character == "\\" and text.startswith("\n", self.position + 1):
                self.position += 2
            elif character == "\\" and self.position + 1 == self.length and not self.string:
                self.position += 1  # bash drops a backslash at the very end of a script
            elif character == "#":
                end = text.find("\n", self.position, self.length)
                end = self.length if end < 0 else end
                self.comments.append((self.position, end))
                self.position = end
            else:
                return

    def skip_newlines(self) -> None:
        """Over blanks, comments and newlines; here-documents that are due are read."""
        self.skip_blanks()
        while self.position < self.length and self.text[self.position] == "\n":
            self.position += 1
            self.read_heredocs()
            self.skip_blanks()

    def operator(self) -> str:
        """The control operator at the current position, or nothing."""
        character = self.text[self.position : self.position + 1]
        if self.position >= self.length or character not in ";&|()":
            return ""
        for operator in (";;&", ";;", ";&", "&&", "||", "|&"):
            if self.text.startswith(operator, self.position):
                return operator
        return character

    def reserved(self) -> str:
        """The reserved word at the current position, or nothing."""
        match = _bare_run().match(self.text, self.position, self.length)
        if match is None or match.group() not in _RESERVED:
            return ""
        end = match.end()
        while self.text.startswith("\\\n", end):
            end += 2
        # A quote or a dollar that follows makes it a longer word.
        return match.group() if end >= self.length or self.text[end] in _METACHARACTERS else ""

    def expect(self, word: str) -> None:
        """Take that reserved word or fail."""
        self.skip_newlines()
        if self.reserved() != word:
            raise self.unexpected()
        self.position += len(word)

    # Lists and pipelines

    def program(self) -> Iterator[list[AndOr]]:
        """One complete command after the other, as bash reads and runs them. Raises `ShellSyntaxError`."""
        while True:
            self.skip_newlines()
            if self.position >= self.length:
                return
            line: list[AndOr] = []
            while True:
                line.append(self.and_or())
                self.separator(line[-1])
                self.skip_blanks()
                if self.position >= self.length or self.text[self.position] == "\n":
                    break
            if self.position < self.length:
                self.position += 1
                self.read_heredocs()
            elif self.pending:
                self.read_heredocs()
            yield line

    def separator(self, item: AndOr) -> None:
        """Take `;` or `&` after a list item; fail where neither it nor the end of a line or list follows."""
        self.skip_blanks()
        operator = self.operator()
        if operator in (";", "&"):
            item.background = operator == "&"
            self.position += 1
        elif self.position < self.length and self.text[self.position] != "\n":
            raise self.unexpected()

    def statements(self, closers: tuple[str, ...]) -> list[AndOr]:
        """A list up to one of the closers (reserved words or operators), which is not taken. At least one command."""
        result: list[AndOr] = []
        while True:
            self.skip_newlines()
            if self.position >= self.length:
                if ")" in closers and result:
                    return result
                raise self.unexpected()
            token = self.operator() or self.reserved()
            if token in closers:
                if not result and token not in (")", ";;", ";&", ";;&", "esac"):
                    raise self.unexpected()
                return result
            item = self.and_or()
            result.append(item)
            self.skip_blanks()
            operator = self.operator()
            if operator in closers:
                return result
            self.separator(item)

    def and_or(self) -> AndOr:
        """Pipelines joined by `&&` and `||`."""
        item = AndOr([self.pipeline()], [])
        while True:
            self.skip_blanks()
            operator = self.operator()
            if operator not in ("&&", "||"):
                return item
            self.position += 2
            self.skip_newlines()
            item.operators.append(operator)
            item.pipelines.append(self.pipeline())

    def pipeline(self) -> Pipeline:
        """Commands joined by `|`, with `!` and `time` before them."""
        result = Pipeline([])
        before: list[tuple[str, int, int]] = []
        while True:
            self.skip_blanks()
            word = self.reserved()
            if word == "!":
                result.negated = not result.negated
            elif word != "time":
                break
            before.append((word, self.position, self.position + len(word)))
            self.position += len(word)
            if word == "time":
                self.skip_blanks()
                match = _pattern(r"-p(?=[ \t\n;&|()<>]|$)").match(self.text, self.position, self.length)
                if match:
                    self.position = match.end()
        result.words_before = tuple(before)
        if before and (self.position >= self.length or self.text[self.position] == "\n" or self.operator() == ";"):
            result.commands.append(Node("simple", self.position, self.position, words=[]))
            return result
        while True:
            result.commands.append(self.command())
            self.skip_blanks()
            operator = self.operator()
            if operator not in ("|", "|&"):
                return result
            self.position += len(operator)
            self.skip_newlines()

    # Commands

    def command(self) -> Node:
        """One command, simple or compound, with its redirections."""
        self.skip_blanks()
        start = self.position
        if self.text.startswith("(", start):
            node = self.parenthesis()
        else:
            word = self.reserved()
            if word in _NOT_FIRST:
                raise self.unexpected()
            if word not in _OPENERS:
                return self.simple()
            self.deeper()
            self.position += len(word)
            node = self.compound(word, start)
            self.depth -= 1
        node.end = self.position
        if node.kind == "function":
            return node
        while self.redirect(node.redirects):
            pass
        return node

    def parenthesis(self) -> Node:
        """`( … )` or `(( … ))`."""
        start = self.position
        self.deeper()
        if self.text.startswith("((", start):
            end = self.matching_arithmetic(start + 2)
            if end is not None:
                node = Node("arithmetic", start, end + 2, parts=[self.inner_parts(start + 2, end)])
                self.position = end + 2
                self.depth -= 1
                return node
        self.position += 1
        node = Node("subshell", start, body=self.statements((")",)))
        if not node.body:
            raise self.unexpected()
        self.close_parenthesis(start)
        self.depth -= 1
        return node

    def close_parenthesis(self, start: int) -> None:
        """Take `)`."""
        if not self.text.startswith(")", self.position) or self.position >= self.length:
            raise self.unclosed(")", start)
        self.position += 1

    def compound(self, word: str, start: int) -> Node:
        """What follows the reserved word that begins a compound command."""
        node = Node(word, start)
        if word == "{":
            node.body = self.statements(("}",))
            self.position += 1
        elif word == "if":
            self.if_clauses(node)
        elif word in ("while", "until"):
            condition = self.statements(("do",))
            self.position += 2
            node.clauses.append((condition, self.statements(("done",))))
            self.position += 4
        elif word in ("for", "select"):
            self.for_loop(node)
        elif word == "case":
            self.case_clauses(node)
        elif word == "[[":
            self.conditional(node)
        elif word == "coproc":
            self.skip_blanks()
            match = _pattern(r"[A-Za-z_]\w*(?=[ \t]+[{(])").match(self.text, self.position, self.length)
            if match:
                self.position = match.end()
            node.body = [AndOr([Pipeline([self.command()])], [])]
        else:
            self.skip_blanks()
            node.name = self.raw_word()
            self.skip_blanks()
            match = _pattern(r"\([ \t]*\)").match(self.text, self.position, self.length)
            if match:
                self.position = match.end()
            self.function_body(node)
        return node

    def if_clauses(self, node: Node) -> None:
        """Conditions and bodies up to `fi`."""
        condition = self.statements(("then",))
        self.position += 4
        while True:
            body = self.statements(("elif", "else", "fi"))
            node.clauses.append((condition, body))
            word = self.reserved()
            self.position += len(word)
            if word == "fi":
                return
            if word == "else":
                node.clauses.append(([], self.statements(("fi",))))
                self.position += 2
                return
            condition = self.statements(("then",))
            self.position += 4

    def for_loop(self, node: Node) -> None:
        """`for NAME in …; do …; done`, `for ((…; …; …)); do …; done`."""
        self.skip_blanks()
        if self.text.startswith("((", self.position) and node.kind == "for":
            end = self.matching_arithmetic(self.position + 2)
            if end is None:
                raise self.unexpected()
            node.kind = "for (("
            pieces = self.split_arithmetic(self.position + 2, end)
            if len(pieces) != 3:
                raise self.fail("syntax error: arithmetic expression required", self.position, end + 2)
            node.parts = [self.inner_parts(first, last) for first, last in pieces]
            self.position = end + 2
            self.skip_blanks()
            if self.operator() == ";":
                self.position += 1
        else:
            match = _pattern(r"[A-Za-z_]\w*").match(self.text, self.position, self.length)
            if match is None:
                raise self.unexpected()
            node.name = match.group()
            self.position = match.end()
            self.skip_newlines()
            if self.reserved() == "in":
                self.position += 2
                node.words = []
                self.skip_blanks()
                while self.position < self.length and self.text[self.position] not in "\n;&|()<>":
                    node.words.append(self.word())
                    self.skip_blanks()
                if self.operator() == ";":
                    self.position += 1
                elif self.position < self.length and self.text[self.position] != "\n":
                    raise self.unexpected()
            elif self.operator() == ";":
                self.position += 1
        self.skip_newlines()
        opener = self.reserved()
        if opener not in ("do", "{"):
            raise self.unexpected()
        self.position += len(opener)
        closer = "done" if opener == "do" else "}"
        node.body = self.statements((closer,))
        self.position += len(closer)

    def case_clauses(self, node: Node) -> None:
        """`case WORD in PATTERN) …;; esac`."""
        self.skip_blanks()
        node.words = [self.word()]
        self.expect("in")
        while True:
            self.skip_newlines()
            if self.reserved() == "esac":
                self.position += 4
                return
            if self.position < self.length and self.text[self.position] == "(":
                self.position += 1
                self.skip_blanks()
            patterns = [self.word(raw=True, stops="|)")]
            self.skip_blanks()
            while self.operator() == "|":
                self.position += 1
                self.skip_blanks()
                patterns.append(self.word(raw=True, stops="|)"))
                self.skip_blanks()
            if self.operator() != ")":
                raise self.unexpected()
            self.position += 1
            body = self.statements((";;", ";&", ";;&", "esac"))
            ending = self.operator()
            self.position += len(ending)
            node.clauses.append(([], body))
            node.patterns.append((patterns, ending))

    def conditional(self, node: Node) -> None:
        """The words of `[[ … ]]`, operators among them as plain words."""
        node.words = []
        previous = ""
        parentheses = 0
        while True:
            self.skip_newlines()
            start = self.position
            if start >= self.length:
                raise self.fail("unexpected EOF while looking for `]]'", node.start, node.start + 2)
            match = _pattern(r"&&|\|\||[()<>]|\]\](?=[ \t\n;&|()<>]|$)").match(self.text, start, self.length)
            pattern_follows = previous in ("==", "=", "!=", "=~")
            if match and not (pattern_follows and match.group() == "("):
                token = match.group()
                self.position = match.end()
                if token == "]]":
                    if parentheses:
                        raise self.fail("syntax error near unexpected token `]]'", start, start + 2)
                    return
                parentheses += (token == "(") - (token == ")")
                node.words.append(WordNode(start, self.position, [Part("operator", start, self.position, token)]))
                previous = token
                continue
            word = self.word(raw=pattern_follows)
            previous = self.text[word.start : word.end]
            node.words.append(word)

    def raw_word(self) -> str:
        """A function's name."""
        match = _pattern(r"[^ \t\n;&|()<>]+").match(self.text, self.position, self.length)
        if match is None:
            raise self.unexpected()
        self.position = match.end()
        return match.group()

    def function_body(self, node: Node) -> None:
        """The compound command of a function."""
        node.kind = "function"
        self.skip_newlines()
        if self.reserved() not in _OPENERS and not self.text.startswith("(", self.position):
            raise self.unexpected()
        body = self.command()
        node.body = [AndOr([Pipeline([body])], [])]

    def simple(self) -> Node:
        """A simple command, or the head of `name () { … }`."""
        start = self.position
        node = Node("simple", start, start, words=[])
        words: list[WordNode] = []
        node.words = words
        declares = False
        end = start
        while True:
            self.skip_blanks()
            if self.redirect(node.redirects):
                end = max(end, node.redirects[-1].end)
                continue
            if self.position >= self.length or self.text[self.position] == "\n" or self.operator() not in ("", "("):
                break
            if self.text[self.position] == "(":
                if len(words) == 1 and not node.assignments and not node.redirects:
                    match = _pattern(r"\([ \t]*\)").match(self.text, self.position, self.length)
                    if match:
                        node.name = self.text[words[0].start : words[0].end]
                        self.position = match.end()
                        self.deeper()
                        self.function_body(node)
                        self.depth -= 1
                        node.words = None
                        node.end = self.position
                        return node
                raise self.unexpected()
            assignment = self.assignment() if not words or declares else None
            if assignment is not None and not words:
                node.assignments.append(assignment)
                end = assignment.end
                continue
            if assignment is not None:
                words.append(WordNode(assignment.start, assignment.end, [], assignment))
                end = assignment.end
                continue
            word = self.word()
            words.append(word)
            end = word.end
            if len(words) == 1:
                declares = self.text[word.start : word.end].lstrip("\\") in DECLARERS
        if end == start and not node.redirects:
            raise self.unexpected()
        node.end = end
        self.targets.append((start, end))
        return node

    def assignment(self) -> Assign | None:
        """An assignment at the current position, or None."""
        match = _pattern(r"([A-Za-z_]\w*)(\[[^\]\n]*\])?(\+?)=").match(self.text, self.position, self.length)
        if match is None:
            return None
        start = self.position
        name, subscript, plus = match.group(1), match.group(2), match.group(3)
        inner = self.inner_parts(match.start(2) + 1, match.end(2) - 1) if subscript else None
        self.position = match.end()
        if self.position < self.length and self.text[self.position] == "(" and not subscript:
            elements = self.elements()
            return Assign(name, start, self.position, bool(plus), None, elements)
        value = self.word(optional=True)
        return Assign(name, start, value.end, bool(plus), value, None, inner)

    def elements(self) -> list[WordNode]:
        """The elements of `(…)`."""
        start = self.position
        self.deeper()
        self.position += 1
        elements: list[WordNode] = []
        while True:
            self.skip_newlines()
            if self.position >= self.length:
                raise self.unclosed(")", start)
            if self.text[self.position] == ")":
                self.position += 1
                self.depth -= 1
                return elements
            match = _pattern(r"\[[^\]\n]*\]\+?=").match(self.text, self.position, self.length)
            if match:
                first = self.position
                subscript = self.inner_parts(first + 1, match.end() - 2)
                self.position = match.end()
                value = self.word(optional=True)
                value.assignment = Assign("", first, value.end, False, None, None, subscript)
                elements.append(value)
                continue
            if self.text[self.position] in ";&|(" or (
                self.text[self.position] in "<>" and not self.text.startswith("(", self.position + 1)
            ):
                raise self.unexpected()
            elements.append(self.word())
            self.targets.append((elements[-1].start, elements[-1].end))

    # Redirections

    def redirect(self, redirects: list[Redirect]) -> bool:
        """Take a redirection if one stands here."""
        self.skip_blanks()
        match = _pattern(r"(\d+|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|>>|>&|>\||<|>)|(&>>|&>)").match(
            self.text, self.position, self.length
        )
        if match is None:
            return False
        operator = match.group(2) or match.group(3)
        if operator in ("<", ">") and not match.group(1) and self.text.startswith("(", match.end()):
            return False
        start = self.position
        self.position = match.end()
        self.skip_blanks()
        if self.position >= self.length or (
            self.text[self.position] in _METACHARACTERS
            and not (self.text[self.position] in "<>" and self.text.startswith("(", self.position + 1))
        ):
            raise self.unexpected()
        number = _pattern(r"\d+(?=[<>])").match(self.text, self.position, self.length)
        if number is not None:  # the number belongs to the next redirection
            raise self.unexpected()
        target = self.word()
        result = Redirect(operator, start, target.end, match.group(1) or "", target)
        if operator in ("<<", "<<-"):
            result.quoted = any(part.kind in ("escaped", "single", "double", "ansi") for part in target.parts)
            result.delimiter = "".join(_plain(part, self.text) for part in target.parts)
            self.pending.append(result)
        redirects.append(result)
        return True

    def read_heredocs(self) -> None:
        """The bodies of the here-documents that were announced on the line that has just ended."""
        pending, self.pending = self.pending, []
        for redirect in pending:
            strip = redirect.operator == "<<-"
            redirect.body_start = self.position
            lines: list[tuple[int, int]] = []
            while self.position < self.length:
                start = self.position
                end = self.text.find("\n", start, self.length)
                end = self.length if end < 0 else end
                self.position = min(end + 1, self.length)
                if strip:
                    while start < end and self.text[start] == "\t":
                        start += 1
                if self.text[start:end] == redirect.delimiter:
                    redirect.body_end = min(redirect.body_end or start, start)
                    break
                lines.append((start, self.position))
            redirect.body_end = lines[-1][1] if lines else redirect.body_start
            pieces = [self.text[start:end] for start, end in lines]
            redirect.body_text = "".join(pieces)
            if strip:
                offsets = [offset for start, end in lines for offset in range(start, end)]
                redirect.offsets = [*offsets, redirect.body_end]
            else:
                redirect.offsets = range(redirect.body_start, redirect.body_end + 1)
            if not redirect.quoted:
                redirect.parts = self.heredoc_parts(redirect)

    def heredoc_parts(self, redirect: Redirect) -> list[Part]:
        """The body of an unquoted here-document as parts."""
        if not any(character in redirect.body_text for character in "$`\\"):
            return [Part("text", redirect.body_start, redirect.body_end, redirect.body_text, redirect.offsets)]
        inner = Parser(redirect.body_text)
        inner.depth = self.depth
        try:
            parts = inner.parts("", "heredoc", 0)
        except ShellSyntaxError as failure:
            span = failure.problem.span
            at = redirect.offsets[min(span.start, len(redirect.offsets) - 1)]
            raise self.fail(failure.problem.message, at, None, failure.problem.sort) from None
        _move(parts, redirect.offsets)
        return parts

    # Words

    def word(self, raw: bool = False, stops: str = "", optional: bool = False) -> WordNode:
        """A word up to a metacharacter; `raw` lets balanced parentheses in (patterns), `optional` an empty one."""
        text = self.text
        start = self.position
        parts: list[Part] = []
        nested = 0
        end = start
        while self.position < self.length:
            character = text[self.position]
            if character in _METACHARACTERS:
                if character in "<>" and text.startswith("(", self.position + 1) and not raw:
                    parts.append(self.process())
                    end = self.position
                    continue
                if not raw or character in " \t\n" or (not nested and character in (stops or ")&;|<>")):
                    break
                nested += (character == "(") - (character == ")")
                parts.append(Part("text", self.position, self.position + 1, character))
                self.position += 1
                end = self.position
                continue
            ends = self.position + 1 == self.length and not self.string
            if character == "\\" and (ends or text.startswith("\n", self.position + 1)):
                self.position += 2
                if not parts and self.position < self.length and text[self.position] in _METACHARACTERS:
                    break
                continue
            self.part(parts, False)
            end = min(self.position, self.length)
        self.position = min(self.position, self.length)
        if not parts and not optional:
            raise self.unexpected()
        return WordNode(start, max(end, start), parts)

    def part(self, parts: list[Part], in_braces: bool) -> None:
        """The next stretch of an unquoted word."""
        text, start = self.text, self.position
        character = text[start]
        if character == "\\":
            if start + 1 < self.length:
                parts.append(Part("escaped", start, start + 2, text[start + 1]))
            elif self.string:
                parts.append(Part("text", start, start + 1, character))
            self.position += 2
        elif character == "'":
            parts.append(self.single(start))
        elif character == '"':
            parts.append(self.double(start))
        elif character == "`":
            parts.append(self.backquote(False))
        elif character == "$":
            following = text[start + 1 : start + 2] if start + 1 < self.length else ""
            if following == "'":
                parts.append(self.ansi(start))
            elif following == '"':
                self.position += 1
                parts.append(self.double(start))
            else:
                self.dollar(parts, False)
        else:
            expression = r"[^\\'\"$`}/:\[\]]+" if in_braces else _bare_run().pattern
            match = _pattern(expression).match(text, start, self.length)
            end = match.end() if match else start + 1
            parts.append(Part("text", start, end, text[start:end]))
            self.position = end

    def single(self, start: int) -> Part:
        """`'…'`."""
        end = self.text.find("'", start + 1, self.length)
        if end < 0:
            raise self.unclosed("'", start)
        self.position = end + 1
        return Part("single", start, end + 1, self.text[start + 1 : end])

    def double(self, start: int) -> Part:
        """`"…"`; `start` is where it begins, a dollar before it included."""
        self.deeper()
        self.position += 1
        parts = self.parts('"', "double", self.position - 1)
        self.position += 1
        self.depth -= 1
        return Part("double", start, self.position, parts=parts)

    def ansi(self, start: int) -> Part:
        """`$'…'`, decoded."""
        text = self.text
        position = start + 2
        characters: list[str] = []
        offsets: list[int] = []
        while True:
            if position >= self.length:
                raise self.unclosed("'", start)
            character = text[position]
            if character == "'":
                break
            offsets.append(position)
            if character != "\\" or position + 1 >= self.length:
                characters.append(character)
                position += 1
                continue
            decoded, position = decode_escape(text, position, self.length)
            characters.append(decoded)
            offsets.extend([offsets[-1]] * (len(decoded) - 1))
            if not decoded:
                offsets.pop()
        offsets.append(position)
        self.position = position + 1
        value = "".join(characters)
        cut = value.find("\0")
        if cut >= 0:  # a NUL ends the string
            value, offsets = value[:cut], [*offsets[:cut], position]
        return Part("ansi", start, position + 1, value, offsets)

    def backquote(self, in_double: bool) -> Part:
        """`` `…` ``, with its own backslashes taken out."""
        text, start = self.text, self.position
        position = start + 1
        characters: list[str] = []
        offsets: list[int] = []
        escapable = '$`\\"' if in_double else "$`\\"
        while True:
            if position >= self.length:
                raise self.unclosed("`", start)
            character = text[position]
            if character == "`":
                break
            if character == "\\" and position + 1 < self.length and text[position + 1] in escapable:
                position += 1
            characters.append(text[position])
            offsets.append(position)
            position += 1
        offsets.append(position)
        self.position = position + 1
        return Part("backquote", start, self.position, "".join(characters), offsets)

    def process(self) -> Part:
        """`<(…)` or `>(…)`."""
        start = self.position
        self.deeper()
        self.position += 2
        script = self.statements((")",))
        self.close_parenthesis(start)
        self.depth -= 1
        return Part("process", start, self.position, script=script)

    def parts(self, stops: str, context: str, opened: int, raw: bool = False) -> list[Part]:
        """Parts up to one of `stops`, which is not taken.

        `context`: `double` (within double quotes), `heredoc` (as in double quotes, a double quote is plain, the end of
        the text is an end), `bare` (within braces that are not quoted), `range` (the end is an end). `raw` makes single
        quotes quote within double quotes, as they do in patterns.
        """
        result: list[Part] = []
        text = self.text
        ends_open = context in ("heredoc", "range")
        in_double = context in ("double", "heredoc", "range")
        run = _pattern(r"[^\\'\"$`}/:\[\]]+")
        braces = "}" in stops or "/" in stops
        while True:
            position = self.position
            if position >= self.length:
                if ends_open:
                    return result
                raise self.unclosed(stops[-1] if stops else '"', opened)
            character = text[position]
            if character in stops:
                return result
            if character == "\\" and text.startswith("\n", position + 1):
                self.position += 2
            elif not in_double:
                self.part(result, True)
            elif character == "\\":
                following = text[position + 1 : position + 2]
                escapes = "$`\\" if context == "heredoc" else '$`"\\'
                if following and (raw or following in escapes or (braces and following == "}")):
                    result.append(Part("escaped", position, position + 2, following))
                    self.position += 2
                else:
                    result.append(Part("text", position, position + 1, "\\"))
                    self.position += 1
            elif character == "`":
                result.append(self.backquote(context == "double"))
            elif character == "$" and raw and text.startswith("$'", position):
                result.append(self.ansi(position))
            elif character == "$":
                self.dollar(result, True)
            elif character == '"' and context == "double" and braces:
                result.append(self.double(position))
            elif character == "'" and raw:
                result.append(self.single(position))
            elif character == "'" and braces and context == "double":
                # Plain, but bash wants them in pairs, and a brace between them closes nothing.
                end = text.find("'", position + 1, self.length)
                if end < 0:
                    raise self.unclosed("'", position)
                result.append(Part("text", position, position + 1, "'"))
                try:
                    result.extend(self.inner_parts(position + 1, end))
                except ShellSyntaxError:  # bash complains when the command runs
                    result.append(Part("hidden", position + 1, end, "a bad substitution"))
                result.append(Part("text", end, end + 1, "'"))
                self.position = end + 1
            else:
                match = run.match(text, position, self.length)
                end = match.end() if match else position + 1
                result.append(Part("text", position, end, text[position:end]))
                self.position = end

    def inner_parts(self, start: int, end: int) -> list[Part]:
        """The parts of a stretch that is expanded as in double quotes: arithmetic, a subscript."""
        position, length = self.position, self.length
        self.position, self.length = start, end
        self.deeper()
        try:
            return self.parts("", "range", start)
        finally:
            self.depth -= 1
            self.position, self.length = position, length

    # Expansions

    def dollar(self, parts: list[Part], in_double: bool) -> None:
        """What follows a dollar."""
        text, start = self.text, self.position
        following = text[start + 1 : start + 2] if start + 1 < self.length else ""
        if following == "{":
            parts.append(self.braced(in_double))
        elif following == "(":
            parts.append(self.substitution())
        elif following == "[":
            end = text.find("]", start, self.length)
            if end < 0:
                raise self.unclosed("]", start)
            parts.append(Part("arithmetic", start, end + 1, parts=self.inner_parts(start + 2, end)))
            self.position = end + 1
        elif following and following in _SPECIAL_PARAMETERS:
            parts.append(Part("parameter", start, start + 2, following))
            self.position += 2
        elif following and following in _NAME_FIRST:
            match = _pattern(r"(?:\w|\\\n(?=\w))+").match(text, start + 1, self.length)
            end = match.end() if match else start + 2
            parts.append(Part("parameter", start, end, text[start + 1 : end].replace("\\\n", "")))
            self.position = end
        else:
            parts.append(Part("text", start, start + 1, "$"))
            self.position += 1

    def substitution(self) -> Part:
        """`$(…)` or `$((…))`."""
        start = self.position
        self.deeper()
        if self.text.startswith("$((", start):
            end = self.matching_arithmetic(start + 3)
            if end is not None:
                part = Part("arithmetic", start, end + 2, parts=self.inner_parts(start + 3, end))
                self.position = end + 2
                self.depth -= 1
                return part
        self.position += 2
        script = self.statements_or_nothing(start)
        self.close_parenthesis(start)
        self.depth -= 1
        return Part("command", start, self.position, script=script)

    def statements_or_nothing(self, start: int) -> list[AndOr]:
        """The list within `$(…)`."""
        try:
            return self.statements((")",))
        except ShellSyntaxError as failure:
            if self.position >= self.length and failure.problem.message.endswith("end of file"):
                raise self.unclosed(")", start) from None
            raise

    def matching_arithmetic(self, position: int) -> int | None:
        """The offset of the `))` that closes what was opened before `position`, or None where it is no arithmetic."""
        nested = 0
        text = self.text
        while position < self.length:
            character = text[position]
            if character == "\\":
                position += 1
            elif character in "'\"":
                closing = text.find(character, position + 1, self.length)
                if closing < 0:
                    return None
                position = closing
            elif character == "(":
                nested += 1
            elif character == ")":
                if nested == 0:
                    return position if text.startswith("))", position) and position + 1 < self.length else None
                nested -= 1
            position += 1
        return None

    def split_arithmetic(self, start: int, end: int) -> list[tuple[int, int]]:
        """The three expressions of `for ((…))`."""
        result: list[tuple[int, int]] = []
        first = start
        for position in range(start, end):
            if self.text[position] == ";":
                result.append((first, position))
                first = position + 1
        return [*result, (first, end)]

    def braced(self, in_double: bool) -> Part:
        """`${…}`. An operator that bash would refuse makes the operator `bad`."""
        text, start = self.text, self.position
        self.deeper()
        self.position += 2
        part = Part("parameter", start, start)
        match = _pattern(r"([#!]?)([A-Za-z_]\w*|\d+|[@*#?$!-])").match(text, self.position, self.length)
        if match and match.group(1) and match.group(2) in "#!?-$" and not text.startswith("}", match.end()):
            # `${#-x}` and `${!}`: the first character is the parameter itself.
            match = _pattern(r"()([#!])").match(text, self.position, self.length)
        if match is None:
            part.operator = "bad"
            part.parts = self.parts("}", "double" if in_double else "bare", start)
        else:
            prefix, part.text = match.group(1), match.group(2)
            self.position = match.end()
            if self.position < self.length and text[self.position] == "[":
                closing = text.find("]", self.position, self.length)
                if closing < 0:
                    raise self.unclosed("}", start)
                part.subscript = self.inner_parts(self.position + 1, closing)
                self.position = closing + 1
            part.operator = prefix
            self.parameter_operator(part, in_double)
        if self.position >= self.length:
            raise self.unclosed("}", start)
        self.position += 1
        part.end = self.position
        self.depth -= 1
        return part

    def parameter_operator(self, part: Part, in_double: bool) -> None:
        """The operator of `${…}` and what follows it, up to the closing brace."""
        context = "double" if in_double else "bare"
        match = _pattern(r":[-=?+]|[-=?+]|##|#|%%|%|//|/#|/%|/|\^\^|\^|,,|,|@[A-Za-z]|:").match(
            self.text, self.position, self.length
        )
        operator = match.group() if match else ""
        self.position += len(operator)
        if part.operator == "#":
            part.operator = "length" if not operator else "bad"
        elif part.operator == "!":
            starred = operator == "" and self.text[self.position : self.position + 1] in ("*", "@")
            part.operator = "names" if starred or part.subscript is not None else "indirect" + operator
        else:
            part.operator = operator
        if operator == ":" or part.operator == "indirect:":
            part.parts = self.parts(":}", context, part.start, raw=True)
            if self.text.startswith(":", self.position):
                self.position += 1
                part.more = self.parts("}", context, part.start, raw=True)
            return
        if operator.startswith("/"):
            # A slash that is the first of the pattern belongs to it.
            leading: list[Part] = []
            if self.text.startswith("/", self.position) and operator == "//":
                leading.append(Part("text", self.position, self.position + 1, "/"))
                self.position += 1
            part.parts = leading + self.parts("/}", context, part.start, raw=True)
            if self.text.startswith("/", self.position):
                self.position += 1
                part.more = self.parts("}", context, part.start, raw=True)
            return
        raw = operator[:1] in ("#", "%", "^", ",")
        part.parts = self.parts("}", context, part.start, raw=raw)
        if not operator and part.parts and part.operator != "names":
            part.operator = "bad"


def decode_escape(text: str, position: int, length: int) -> tuple[str, int]:
    """The character of a backslash escape of `$'…'` at `position`, and where it ends."""
    following = text[position + 1]
    if following in _ANSI_ESCAPES:
        return _ANSI_ESCAPES[following], position + 2
    digits = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}.get(following)
    if digits is not None:
        width, base = digits
        end = position + 2
        while end < length and end < position + 2 + width and text[end] in "0123456789abcdefABCDEF":
            end += 1
        if end == position + 2:
            return text[position:end], end
        return _character(int(text[position + 2 : end], base), following == "x"), end
    if following in "01234567":
        end = position + 1
        while end < length and end < position + 4 and text[end] in "01234567":
            end += 1
        return _character(int(text[position + 1 : end], 8) & 255, True), end
    if following == "c" and position + 2 < length:
        return chr(ord(text[position + 2].upper()) ^ 64 if text[position + 2].isascii() else 0), position + 3
    return text[position : position + 2], position + 2


def _character(code: int, is_byte: bool) -> str:
    if is_byte and code > 127:  # one byte of the output, not a character
        return bytes([code]).decode("utf-8", "surrogateescape")
    return chr(code) if code < 0x110000 else "�"


def _plain(part: Part, text: str) -> str:
    """A here-document's delimiter: quotes are removed, nothing is expanded."""
    if part.kind == "double":
        return "".join(_plain(inner, text) for inner in part.parts)
    if part.kind in ("text", "escaped", "single", "ansi"):
        return part.text
    return text[part.start : part.end]


def _move(parts: list[Part], table: Sequence[int]) -> None:
    """Put the offsets of a here-document's parts, which were read from its body alone, in terms of the host."""
    last = len(table) - 1
    waiting: list[Part | AndOr | WordNode | Assign | Redirect | Node] = list(parts)
    while waiting:
        item = waiting.pop()
        if isinstance(item, AndOr):
            for pipeline in item.pipelines:
                pipeline.words_before = tuple(
                    (word, table[start], table[end]) for word, start, end in pipeline.words_before
                )
                waiting.extend(pipeline.commands)
            continue
        if isinstance(item, Part):
            if item.kind in ("text", "single") and not item.offsets:
                first = item.start + (item.kind == "single")
                item.offsets = range(first, first + len(item.text) + 1)
            item.offsets = [table[min(offset, last)] for offset in item.offsets]
            waiting.extend([*item.parts, *(item.more or ()), *(item.subscript or ()), *item.script])
        elif isinstance(item, WordNode):
            waiting.extend(item.parts)
            if item.assignment is not None:
                waiting.append(item.assignment)
        elif isinstance(item, Assign):
            waiting.extend([*(item.elements or ()), *(item.subscript or ())])
            if item.value is not None:
                waiting.append(item.value)
        elif isinstance(item, Redirect):
            item.body_start, item.body_end = table[min(item.body_start, last)], table[min(item.body_end, last)]
            item.offsets = [table[min(offset, last)] for offset in item.offsets]
            waiting.extend([item.target, *item.parts])
        else:
            waiting.extend([*(item.words or ()), *item.assignments, *item.redirects, *item.body])
            for condition, body in item.clauses:
                waiting.extend([*condition, *body])
            for patterns, _ in item.patterns:
                waiting.extend(patterns)
            for expression in item.parts:
                waiting.extend(expression)
        item.start, item.end = table[min(item.start, last)], table[min(item.end, last)]
