"""`test`, `[` and `[[`: three-valued, since most conditions ask for files or for variables from outside."""

from __future__ import annotations

from servelint.formats.shell_analysis import plain_name
from servelint.formats.shell_expand import Expander, Status, Value, unknown
from servelint.formats.shell_syntax import WordNode


def evaluate_test(arguments: list[Value]) -> Status:
    """What `test` says of its words (POSIX: by how many there are), None where that cannot be told."""
    if len(arguments) > 200:
        return None
    negated = False
    while len(arguments) > 1 and arguments[0].text == "!" and not (len(arguments) == 3 and _is_binary(arguments[1])):
        negated = not negated
        arguments = arguments[1:]
    status = _positive_test(arguments)
    return status if status is None else status != negated


def _positive_test(arguments: list[Value]) -> Status:
    if not arguments:
        return False
    if len(arguments) == 1:
        return arguments[0].filled
    if len(arguments) == 2:
        return unary(arguments[0].text, arguments[1])
    if len(arguments) == 3 and _is_binary(arguments[1]):
        return binary(arguments[0], arguments[1].text, arguments[2])
    for operator, decided in (("-o", True), ("-a", False)):
        places = [index for index, value in enumerate(arguments) if value.text == operator and index]
        if places:
            outcomes = [
                evaluate_test(arguments[first + 1 : last])
                for first, last in zip([-1, *places], [*places, len(arguments)], strict=True)
            ]
            if decided in outcomes:
                return decided
            return None if None in outcomes else not decided
    if arguments[0].text == "(" and arguments[-1].text == ")":
        return evaluate_test(arguments[1:-1])
    return None


def _is_binary(value: Value) -> bool:
    return value.text in ("=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef")


def unary(operator: str | None, value: Value) -> Status:
    """`-z`, `-n`; everything about files is unknown."""
    if operator == "-n":
        return value.filled
    if operator == "-z":
        return None if value.filled is None else not value.filled
    return None


def binary(left: Value, operator: str | None, right: Value) -> Status:
    """A comparison of two texts or numbers."""
    first, second = left.text, right.text
    if first is None or second is None:
        return None
    if operator in ("=", "=="):
        return first == second
    if operator == "!=":
        return first != second
    numbers = [_integer(first), _integer(second)]
    low, high = numbers
    if low is None or high is None:
        return None
    comparisons: dict[str, bool] = {
        "-eq": low == high,
        "-ne": low != high,
        "-lt": low < high,
        "-le": low <= high,
        "-gt": low > high,
        "-ge": low >= high,
    }
    return comparisons.get(operator or "")


def _integer(text: str) -> int | None:
    text = text.strip()
    digits = text.lstrip("+-")
    if not digits.isdigit() or not digits.isascii() or len(digits) > 18 or len(text) - len(digits) > 1:
        return None
    return int(text)


class Conditional:
    """`[[ … ]]`."""

    def __init__(self, runner: Expander, words: list[WordNode]) -> None:
        self.runner = runner
        self.words = words
        self.index = 0
        self.depth = 0

    def value(self) -> Status:
        """The status."""
        status = self.disjunction()
        return status if self.index >= len(self.words) else None

    def operator(self) -> str:
        """The operator token at hand, or nothing."""
        if self.index >= len(self.words):
            return ""
        parts = self.words[self.index].parts
        return parts[0].text if len(parts) == 1 and parts[0].kind == "operator" else ""

    def plain(self, offset: int = 0) -> str:
        """The word at hand if it is written plainly."""
        if self.index + offset >= len(self.words):
            return ""
        return plain_name(self.words[self.index + offset])

    def disjunction(self) -> Status:
        """`… || …`."""
        status = self.conjunction()
        while self.operator() == "||":
            self.index += 1
            other = self.conjunction()
            status = True if status or other else (None if status is None or other is None else False)
        return status

    def conjunction(self) -> Status:
        """`… && …`."""
        status = self.primary()
        while self.operator() == "&&":
            self.index += 1
            other = self.primary()
            status = False if status is False or other is False else (True if status and other else None)
        return status

    def primary(self) -> Status:
        """One test, negated or in parentheses or not."""
        negated = False
        while self.plain() == "!":
            negated = not negated
            self.index += 1
        if self.operator() == "(":
            self.index += 1
            self.depth += 1
            status = None if self.depth > 30 else self.disjunction()
            self.depth -= 1
            if self.operator() == ")":
                self.index += 1
            else:
                self.index = len(self.words) + 1
        else:
            status = self.comparison()
        return status if status is None else status != negated

    def comparison(self) -> Status:
        """A test of one or two words."""
        runner = self.runner
        if self.index >= len(self.words) or self.operator():
            self.index = len(self.words) + 1
            return None
        first = self.words[self.index]
        following = self.words[self.index + 1] if self.index + 1 < len(self.words) else None
        operator = self.plain(1)
        if following is not None and following.parts and following.parts[0].kind == "operator":
            operator = following.parts[0].text if following.parts[0].text in ("<", ">") else ""
        name = plain_name(first)
        ends = self.index + 2 >= len(self.words) or _operator_word(self.words[self.index + 2])
        if name.startswith("-") and len(name) == 2 and following is not None and not _operator_word(following) and ends:
            self.index += 2
            value = runner.expand_value(following, tilde=False).value
            if name == "-v" and value.text is not None:
                found = runner.lookup(value.text) if value.text.isidentifier() else unknown("")
                return None if found is not None and found.outside else found is not None
            return unary(name, value)
        if operator and following is not None and self.index + 2 < len(self.words):
            second = self.words[self.index + 2]
            self.index += 3
            left = runner.expand_value(first, tilde=False).value
            if operator in ("=", "==", "!="):
                status = runner.match(left, second)
                return status if status is None or operator != "!=" else not status
            if operator in ("=~", "<", ">", "-nt", "-ot", "-ef"):
                return None
            right = runner.expand_value(second, tilde=False).value
            return binary(left, operator, right)
        self.index += 1
        return runner.expand_value(first, tilde=False).value.filled


def _operator_word(node: WordNode) -> bool:
    return len(node.parts) == 1 and node.parts[0].kind == "operator"
