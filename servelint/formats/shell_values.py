"""What bash computes with known texts: patterns, arithmetic, `printf`, `echo -e`, field splitting.

Every function bounds its own work and gives None where it would take too long or where bash's answer is not certain.
Sources: the bash manual, sections 3.5.3, 3.5.7, 3.5.8.1, 6.5 and 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

from servelint.formats.shell_syntax import decode_escape

# A pattern's token: a character, or one of these, or a set of characters with its negation.
ANY, STAR = 0, 1
Token = str | int | tuple[bool, frozenset[str]]

_WORK_LIMIT = 2_000_000
_DEPTH_LIMIT = 40
_CLASSES: dict[str, str] = {
    "digit": "0123456789",
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "alpha": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "alnum": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "space": " \t\n\r\f\v",
    "blank": " \t",
    "xdigit": "0123456789abcdefABCDEF",
    "punct": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
}


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


# Patterns


def compile_pattern(pieces: Sequence[tuple[str, bool]]) -> list[Token] | None:
    """The tokens of a pattern that consists of (text, quoted) pieces; None for what needs `extglob`."""
    characters = [(character, quoted) for text, quoted in pieces for character in text]
    tokens: list[Token] = []
    position = 0
    while position < len(characters):
        character, quoted = characters[position]
        position += 1
        if quoted:
            tokens.append(character)
        elif character == "*":
            if characters[position : position + 1] == [("(", False)]:
                return None
            if tokens[-1:] != [STAR]:
                tokens.append(STAR)
        elif character == "?":
            if characters[position : position + 1] == [("(", False)]:
                return None
            tokens.append(ANY)
        elif character in "+@!" and characters[position : position + 1] == [("(", False)]:
            return None
        elif character == "[":
            found = _bracket(characters, position)
            if found is None:
                tokens.append(character)
            else:
                token, position = found
                tokens.append(token)
        elif character == "\\" and position < len(characters):
            tokens.append(characters[position][0])
            position += 1
        else:
            tokens.append(character)
    return tokens


def _bracket(characters: list[tuple[str, bool]], position: int) -> tuple[Token, int] | None:
    members: set[str] = set()
    negated = characters[position : position + 1] in ([("!", False)], [("^", False)])
    position += negated
    first = True
    while position < len(characters):
        character, quoted = characters[position]
        if character == "]" and not quoted and not first:
            return (negated, frozenset(members)), position + 1
        first = False
        following = "".join(text for text, _ in characters[position + 1 : position + 12])
        if character == "[" and following[:1] == ":":
            name, closed, _ = following[1:].partition(":]")
            if closed and name in _CLASSES:
                members.update(_CLASSES[name])
                position += len(name) + 4
                continue
        if following[:1] == "-" and following[1:2] not in ("", "]"):
            last = following[1]
            if ord(last) - ord(character) > 5000:
                return None
            members.update(chr(code) for code in range(ord(character), ord(last) + 1))
            position += 3
            continue
        members.add(character)
        position += 1
    return None


def _ends(tokens: list[Token], text: str, start: int = 0) -> list[int]:
    """All offsets at which a match that begins at `start` may end, ascending."""
    final = len(tokens)

    def close(states: set[int]) -> set[int]:
        for state in list(states):
            while state < final and tokens[state] == STAR and isinstance(tokens[state], int):
                state += 1
                states.add(state)
        return states

    states = close({0})
    result = [start] if final in states else []
    for position in range(start, len(text)):
        character = text[position]
        following: set[int] = set()
        for state in states:
            if state == final:
                continue
            token = tokens[state]
            if token == STAR and isinstance(token, int):
                following.add(state)
            elif (
                token == ANY
                if isinstance(token, int)
                else (character in token[1]) != token[0]
                if isinstance(token, tuple)
                else token == character
            ):
                following.add(state + 1)
        states = close(following)
        if not states:
            break
        if final in states:
            result.append(position + 1)
    return result


def matches(tokens: list[Token], text: str) -> bool | None:
    """Whether the whole text matches."""
    if len(tokens) * len(text) > _WORK_LIMIT:
        return None
    return len(text) in _ends(tokens, text)[-1:]


def remove_match(text: str, tokens: list[Token], operator: str) -> str | None:
    """`${text#pattern}` and its kin; the operator is `#`, `##`, `%` or `%%`."""
    if len(tokens) * len(text) > _WORK_LIMIT:
        return None
    from_end = operator[0] == "%"
    ends = _ends(tokens[::-1], text[::-1]) if from_end else _ends(tokens, text)
    if not ends:
        return text
    length = ends[-1] if len(operator) == 2 else ends[0]
    return text[: len(text) - length] if from_end else text[length:]


def replace_matches(text: str, tokens: list[Token], replacement: str, operator: str) -> str | None:
    """`${text/pattern/replacement}` and its kin; the operator is `/`, `//`, `/#` or `/%`."""
    if len(tokens) * len(text) * len(text) > _WORK_LIMIT:
        literal = [token for token in tokens if isinstance(token, str)]
        if len(literal) < len(tokens) or not literal or operator not in ("/", "//"):
            return None
        return text.replace("".join(literal), replacement, -1 if operator == "//" else 1)
    if operator == "/#":
        ends = _ends(tokens, text)
        return replacement + text[ends[-1] :] if ends else text
    if operator == "/%":
        lengths = _ends(tokens[::-1], text[::-1])
        return text[: len(text) - lengths[-1]] + replacement if lengths else text
    if not tokens:
        return text
    pieces: list[str] = []
    position = 0
    while position < len(text):
        ends = _ends(tokens, text, position)
        if not ends or ends[-1] == position:
            pieces.append(text[position])
            position += 1
            continue
        pieces.append(replacement)
        position = ends[-1]
        if operator == "/":
            break
    return "".join(pieces) + text[position:]


# Field splitting


def split_fields(text: str, separators: str) -> tuple[list[str], bool, bool]:
    """The fields of an unquoted expansion; whether a blank stands before the first, and a separator after the last."""
    if not separators or not text:
        return ([text] if text else []), False, False
    blanks = "".join(character for character in separators if character in " \t\n")
    others = "".join(character for character in separators if character not in " \t\n")
    return _fields(text, blanks, others), text[0] in blanks, text[-1] in separators


def _fields(text: str, blanks: str, others: str) -> list[str]:
    result: list[str] = []
    position = 0
    length = len(text)
    while position < length and text[position] in blanks:
        position += 1
    while position < length:
        start = position
        while position < length and text[position] not in blanks and text[position] not in others:
            position += 1
        result.append(text[start:position])
        while position < length and text[position] in blanks:
            position += 1
        if position < length and text[position] in others and others:
            position += 1
            while position < length and text[position] in blanks:
                position += 1
    return result


# echo and printf


def echo_escapes(text: str) -> tuple[str, bool]:
    """The text of `echo -e` (and of `%b`), and whether `\\c` ended the output."""
    pieces: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character != "\\" or position + 1 >= len(text):
            pieces.append(character)
            position += 1
            continue
        following = text[position + 1]
        if following == "c":
            return "".join(pieces), True
        if following == "0":
            end = position + 2
            while end < len(text) and end < position + 5 and text[end] in "01234567":
                end += 1
            pieces.append(chr(int(text[position + 1 : end], 8) & 255))
            position = end
        elif following in "\"'?" or following in "1234567":
            pieces.append(text[position : position + 2])
            position += 2
        else:
            decoded, position = decode_escape(text, position, len(text))
            pieces.append(decoded)
    return "".join(pieces), False


def format_printf(template: str, arguments: Sequence[str]) -> str | None:
    """The output of bash's `printf`, for `%s %d %i %c %b %%` with plain widths; None for anything else."""
    pieces: list[str] = []
    waiting = list(arguments)
    total = 0
    for _ in range(len(waiting) + 1):
        used = 0
        position = 0
        while position < len(template):
            character = template[position]
            if character == "\\" and position + 1 < len(template):
                if template[position + 1] == "c":
                    return "".join(pieces)
                decoded, position = decode_escape(template, position, len(template))
                pieces.append(decoded)
                continue
            if character != "%":
                pieces.append(character)
                position += 1
                continue
            match = _expression(r"%(-?)(\d{0,3})([sdicb%])").match(template, position)
            if match is None:
                return None
            position = match.end()
            if match.group(3) == "%":
                pieces.append("%")
                continue
            value = waiting[used] if used < len(waiting) else None
            used += 1
            text = _conversion(match.group(3), value)
            if text is None:
                return None
            width = int(match.group(2) or 0)
            if match.group(2).startswith("0"):
                return None
            pieces.append(text.ljust(width) if match.group(1) else text.rjust(width))
            total += len(pieces[-1])
            if total > _WORK_LIMIT:
                return None
        waiting = waiting[used:]
        if not waiting or not used:
            break
    return "".join(pieces)


def _conversion(kind: str, value: str | None) -> str | None:
    if kind in "di":
        if value is None:
            return "0"
        return str(int(value)) if _expression(r"[-+]?(0|[1-9]\d{0,17})").fullmatch(value) else None
    if value is None:
        return ""
    if kind == "c":
        return value[:1]
    if kind == "b":
        text, ended = echo_escapes(value)
        return None if ended else text
    return value


# Arithmetic


class UnknownNumber(Exception):  # noqa: N818 (no error: bash would know)
    """The expression's value cannot be told."""


_OPERATORS: tuple[tuple[str, ...], ...] = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<=", ">=", "<", ">"),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_TOKENS = (
    r"\s*(?:(\d+#[0-9a-zA-Z@_]+|0[xX][0-9a-fA-F]+|\d+)|([A-Za-z_]\w*(?:\[[^\]]*\])?)"
    r"|(<<=|>>=|\*\*|\+\+|--|<=|>=|==|!=|&&|\|\||<<|>>|[-+*/%&|^]=|[-+*/%&|^!~<>=?:(),]))"
)


class Arithmetic:
    """One expression of bash's arithmetic; `lookup` gives a variable's text, `assign` takes a new value.

    `value()` raises `UnknownNumber` where a variable is unknown or the expression is at fault.
    """

    def __init__(self, text: str, lookup: Callable[[str], str], assign: Callable[[str, int], None]) -> None:
        self.lookup = lookup
        self.assign = assign
        self.depth = 0
        self.tokens: list[str] = []
        self.index = 0
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _expression(_TOKENS).match(text, position)
            if match is None or len(self.tokens) > 10_000:
                raise UnknownNumber
            self.tokens.append(match.group(match.lastindex or 0))
            position = match.end()

    def value(self) -> int:
        """The value of the whole expression; an empty one is 0."""
        if not self.tokens:
            return 0
        result = self._comma(True)
        if self.index < len(self.tokens):
            raise UnknownNumber
        return result

    def _peek(self) -> str:
        return self.tokens[self.index] if self.index < len(self.tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._peek()
        if token and token in wanted:
            self.index += 1
            return token
        return ""

    def _comma(self, active: bool) -> int:
        self.depth += 1
        if self.depth > _DEPTH_LIMIT // 4:
            raise UnknownNumber
        result = self._assignment(active)
        while self._take(","):
            result = self._assignment(active)
        self.depth -= 1
        return result

    def _assignment(self, active: bool) -> int:
        name = self._peek()
        if _is_name(name) and self.index + 1 < len(self.tokens):
            operator = self.tokens[self.index + 1]
            if operator.endswith("=") and operator not in ("==", "!=", "<=", ">="):
                self.index += 2
                self.depth += 1
                if self.depth > _DEPTH_LIMIT // 4:
                    raise UnknownNumber
                value = self._assignment(active)
                self.depth -= 1
                if not active:
                    return 0
                if operator != "=":
                    value = _apply(operator[:-1], self._variable(name), value)
                self.assign(name, value)
                return value
        return self._ternary(active)

    def _ternary(self, active: bool) -> int:
        condition = self._binary(0, active)
        if not self._take("?"):
            return condition
        self.depth += 1
        if self.depth > _DEPTH_LIMIT // 4:
            raise UnknownNumber
        first = self._assignment(active and condition != 0)
        if not self._take(":"):
            raise UnknownNumber
        second = self._assignment(active and condition == 0)
        self.depth -= 1
        return first if condition else second

    def _binary(self, level: int, active: bool) -> int:
        if level == len(_OPERATORS):
            return self._power(active)
        left = self._binary(level + 1, active)
        while operator := self._take(*_OPERATORS[level]):
            lazy = (operator == "&&" and not left) or (operator == "||" and left != 0)
            right = self._binary(level + 1, active and not lazy)
            if operator == "&&":
                left = int(bool(left) and bool(right))
            elif operator == "||":
                left = int(bool(left) or bool(right))
            elif active:
                left = _apply(operator, left, right)
        return left

    def _power(self, active: bool) -> int:
        base = self._unary(active)
        if not self._take("**"):
            return base
        self.depth += 1
        if self.depth > _DEPTH_LIMIT // 4:
            raise UnknownNumber
        exponent = self._power(active)
        self.depth -= 1
        if not active:
            return 0
        if exponent < 0 or exponent > 64:
            raise UnknownNumber
        return _wrap(base**exponent)

    def _unary(self, active: bool) -> int:
        signs: list[str] = []
        while sign := self._take("-", "+", "!", "~", "++", "--"):
            signs.append(sign)
        if signs and signs[-1] in ("++", "--") and _is_name(self._peek()):
            name = self._peek()
            self.index += 1
            value = 0
            if active:
                value = _wrap(self._variable(name) + (1 if signs[-1] == "++" else -1))
                self.assign(name, value)
            signs.pop()
        else:
            value = self._primary(active)
        for sign in reversed(signs):
            for character in sign:
                value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[character]
        return _wrap(value)

    def _primary(self, active: bool) -> int:
        if self._take("("):
            value = self._comma(active)
            if not self._take(")"):
                raise UnknownNumber
            return value
        token = self._peek()
        self.index += 1
        if _is_name(token):
            step = self._take("++", "--")
            if not active:
                return 0
            value = self._variable(token)
            if step:
                self.assign(token, _wrap(value + (1 if step == "++" else -1)))
            return value
        return _number(token)

    def _variable(self, name: str) -> int:
        text = self.lookup(name).strip()
        if not text:
            return 0
        if _expression(r"[-+]?[0-9][0-9a-zA-Z#@_]*").fullmatch(text):
            value = _number(text.lstrip("+-"))
            return -value if text.startswith("-") else value
        # Bash evaluates the text again as an expression; hardly anyone means that.
        raise UnknownNumber


def _is_name(token: str) -> bool:
    return bool(token) and (token[0].isalpha() or token[0] == "_")


def _number(token: str) -> int:
    if not token or not token[0].isdigit() or len(token) > 30:
        raise UnknownNumber
    try:
        if "#" in token:
            base, _, digits = token.partition("#")
            if not 2 <= int(base) <= 36:
                raise UnknownNumber
            return _wrap(int(digits, int(base)))
        if token[:2] in ("0x", "0X"):
            return _wrap(int(token, 16))
        return _wrap(int(token, 8) if token.startswith("0") else int(token))
    except ValueError as error:
        raise UnknownNumber from error


def _wrap(value: int) -> int:
    """To 64 bits, as bash does."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _apply(operator: str, left: int, right: int) -> int:
    if operator in ("/", "%"):
        if right == 0:
            raise UnknownNumber
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrap(quotient if operator == "/" else left - quotient * right)
    if operator in ("<<", ">>"):
        if not 0 <= right < 64:
            raise UnknownNumber
        return _wrap(left << right if operator == "<<" else left >> right)
    results: dict[str, Callable[[], int]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        "&": lambda: left & right,
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "<": lambda: int(left < right),
        ">": lambda: int(left > right),
        "<=": lambda: int(left <= right),
        ">=": lambda: int(left >= right),
    }
    return _wrap(results[operator]())
