"""What Ollama renders from a Modelfile's TEMPLATE: Go's text/template, and what Ollama does around it.

Sources: Ollama `template/template.go` (fb3076099), Go `text/template` (exec.go, funcs.go; 1.24). What cannot be told
for sure is *unknown*, never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from servelint.manifests.template import Chain, GoTemplate, Node, Operand, Pipeline, Word
from servelint.models.chat_template import ANSWER, FIRST, SECOND, SYSTEM, ChatTemplate, within
from servelint.records import record
from servelint.text import Span

_STEPS = 200_000
_OUTPUT = 1024 * 1024
_CALLS = 50
_FIELDS = ("Role", "Content", "Thinking", "Images", "ToolCalls", "ToolName", "ToolCallID")


@record
class Message:
    """A message of a conversation, as a template sees it."""

    role: str
    content: str


@record
class Rendering:
    """A prompt: its `text`, the `error` that Go's template ends with, or why it is `unknown`."""

    text: str | None = None
    error: str | None = None
    unknown: str | None = None


class _UnknownError(Exception):
    pass


class _ExecutionError(Exception):
    pass


class _BreakLoop(Exception):  # noqa: N818 (no error)
    pass


class _NextRound(Exception):  # noqa: N818 (no error)
    pass


class _Missing:
    """A key that a map has not: false, and `<no value>` in print."""


_NO_VALUE = _Missing()


def identifiers(template: GoTemplate) -> tuple[str, ...]:
    """The names that Ollama finds in a template, in lower case, sorted: what it chooses the style by.

    Fields of what stands in parentheses are overlooked, as Ollama's own walk overlooks them.
    """
    found = _names(template)
    return tuple(sorted(found if found & {"messages", "response"} else found | {"response"}))


def _names(template: GoTemplate) -> set[str]:
    found: set[str] = set()
    for nodes in (template.nodes, *(template.defined or {}).values()):
        _gather(nodes, found)
    return found


def _gather(nodes: Sequence[Node], found: set[str]) -> None:
    for node in nodes:
        if node.pipeline is not None:
            _gather_pipeline(node.pipeline, found)
        _gather(node.body, found)
        _gather(node.otherwise or (), found)


def _gather_pipeline(pipeline: Pipeline, found: set[str]) -> None:
    for command in pipeline.commands:
        for operand in command:
            if isinstance(operand, Pipeline):
                _gather_pipeline(operand, found)
            elif isinstance(operand, Word):
                found.update(name.lower() for name in operand.names)


def render(template: GoTemplate, messages: Sequence[Message]) -> Rendering:
    """The prompt that Ollama makes of a conversation. Bounded, and never raises."""
    if template.problem is not None:
        return Rendering(error=template.problem.message)
    names = _names(template)
    try:
        if names & {"messages", "document"}:
            system, collated = _collated(messages)
            return Rendering(_Machine(template).run(template.nodes, _data(System=system, Messages=collated, Tools=[])))
        return Rendering(_legacy(template, messages, appended="response" not in names))
    except _UnknownError as error:
        return Rendering(unknown=str(error))
    except RecursionError:
        return Rendering(unknown="it is nested too deeply")
    except _ExecutionError as error:
        return Rendering(error=str(error))


def _data(**values: Any) -> dict[str, Any]:
    return {"Response": "", "Think": False, "ThinkLevel": "", "IsThinkSet": False, **values}


def _collated(messages: Sequence[Message]) -> tuple[str, list[Message]]:
    """All system messages in one text, and the messages with neighbours of one role joined."""
    collated: list[Message] = []
    for message in messages:
        if collated and collated[-1].role == message.role and message.role != "tool":
            collated[-1] = Message(message.role, f"{collated[-1].content}\n\n{message.content}")
        else:
            collated.append(message)
    return "\n\n".join(message.content for message in messages if message.role == "system"), collated


def _legacy(template: GoTemplate, messages: Sequence[Message], appended: bool) -> str:
    """Once for every earlier turn; for the open one, what stands behind the first `.Response` is cut."""
    machine = _Machine(template)
    nodes = template.nodes
    if appended:
        end = Span(len(template.text), len(template.text))
        nodes = (*nodes, Node("action", end, pipeline=Pipeline(((Word("field", end, ("Response",)),),), end)))
    pieces: list[str] = []
    turn = {"System": "", "Prompt": "", "Response": ""}

    def execute(part: Sequence[Node]) -> None:
        pieces.append(machine.run(part, _data(**turn)))
        turn.update(System="", Prompt="", Response="")

    for message in _collated(messages)[1]:
        if message.role == "system":
            if turn["Prompt"] or turn["Response"]:
                execute(nodes)
            turn["System"] = message.content
        elif message.role == "user":
            if turn["Response"]:
                execute(nodes)
            turn["Prompt"] = message.content
        elif message.role == "assistant":
            turn["Response"] = message.content
    execute(_Cut().nodes(nodes))
    return "".join(pieces)


def understand(template: GoTemplate) -> ChatTemplate:
    """What a template writes around the turns of a conversation, by Ollama's rendering of one."""
    conversation = [Message("user", FIRST), Message("assistant", ANSWER), Message("user", SECOND)]
    outcome = render(template, conversation)
    with_system = render(template, [Message("system", SYSTEM), *conversation])
    if outcome.unknown is not None or outcome.error is not None:
        return ChatTemplate(unknown=outcome.unknown, failure=outcome.error)
    text = outcome.text or ""
    _, found, tail = text.rpartition(SECOND)
    return ChatTemplate(
        opening=text.partition(FIRST)[0] if FIRST in text else None,
        header=within(text, FIRST, ANSWER),
        between=within(text, ANSWER, SECOND),
        tail=tail if found else None,
        refuses_system=SYSTEM not in (with_system.text or ""),
    )


class _Cut:
    """Takes away what stands behind the first `.Response` (`deleteNode` in template.go)."""

    def __init__(self) -> None:
        self.found = False

    def nodes(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        kept: list[Node] = []
        for node in nodes:
            if self.found:
                break
            kept.append(self.node(node))
        return tuple(kept)

    def node(self, node: Node) -> Node:
        if node.sort in ("if", "with", "range"):
            # What a branch tests is not looked at, only what is in it.
            body = self.nodes(node.body)
            if self.found and node.otherwise is not None:
                raise _UnknownError("`.Response` stands in a branch that has an `else`: Ollama cannot cut it there")
            otherwise = None if node.otherwise is None else self.nodes(node.otherwise)
            return Node(node.sort, node.span, node.text, node.pipeline, body, otherwise)
        if node.sort == "action" and node.pipeline is not None and _holds_response(node.pipeline):
            self.found = True
        return node


def _holds_response(pipeline: Pipeline) -> bool:
    for command in pipeline.commands:
        for operand in command:
            if isinstance(operand, Pipeline) and _holds_response(operand):
                return True
            if isinstance(operand, Word) and operand.sort == "field" and "Response" in operand.names:
                if command[-1] is not operand or pipeline.commands[-1] is not command:
                    raise _UnknownError("`.Response` stands in the middle of an expression")
                return True
    return False


class _Machine:
    """Executes nodes on data, as Go's `exec.go` does."""

    def __init__(self, template: GoTemplate) -> None:
        self.defined = template.defined or {}
        self.steps = 0
        self.length = 0
        self.calls = 0

    def run(self, nodes: Sequence[Node], data: dict[str, Any]) -> str:
        pieces: list[str] = []
        self.block(nodes, data, _Scope(None, data), pieces)
        return "".join(pieces)

    def write(self, text: str, pieces: list[str]) -> None:
        self.length += len(text)
        if self.length > _OUTPUT:
            raise _UnknownError(f"it writes more than {_OUTPUT:,} characters")
        pieces.append(text)

    def block(self, nodes: Sequence[Node], dot: Any, variables: _Scope, pieces: list[str]) -> None:
        for node in nodes:
            self.steps += 1
            if self.steps > _STEPS:
                raise _UnknownError("it takes more steps than are followed")
            self.node(node, dot, variables, pieces)

    def node(self, node: Node, dot: Any, variables: _Scope, pieces: list[str]) -> None:
        match node.sort:
            case "text":
                self.write(node.text, pieces)
            case "break":
                raise _BreakLoop
            case "continue":
                raise _NextRound
            case "template":
                self.call(node, dot, variables, pieces)
            case "range":
                self.loop(node, dot, variables, pieces)
            case _:
                assert node.pipeline is not None
                scope = variables if node.sort == "action" else _Scope(variables)
                value = self.pipeline(node.pipeline, dot, scope)
                if node.sort == "action":
                    if not node.pipeline.declared:
                        self.write(_printed(value), pieces)
                elif _is_true(value):
                    self.block(node.body, value if node.sort == "with" else dot, _Scope(scope), pieces)
                else:
                    self.block(node.otherwise or (), dot, _Scope(scope), pieces)

    def call(self, node: Node, dot: Any, variables: _Scope, pieces: list[str]) -> None:
        body = self.defined.get(node.text)
        if body is None:
            raise _ExecutionError(f"template: : template {json.dumps(node.text)} not defined")
        value = _NO_VALUE if node.pipeline is None else self.pipeline(node.pipeline, dot, variables)
        self.calls += 1
        if self.calls > _CALLS:
            raise _UnknownError("its templates call each other without end")
        self.block(body, value, _Scope(None, value), pieces)
        self.calls -= 1

    def loop(self, node: Node, dot: Any, variables: _Scope, pieces: list[str]) -> None:
        assert node.pipeline is not None
        scope = _Scope(variables)
        bare = Pipeline(node.pipeline.commands, node.pipeline.span)
        value = self.pipeline(bare, dot, scope)
        if node.pipeline.assigns:
            for name in node.pipeline.declared:
                scope.assign(name, value)
        if isinstance(value, dict):
            entries = [(key, value[key]) for key in sorted(value)]
        elif isinstance(value, list):
            entries = list(enumerate(value))
        elif value is _NO_VALUE or value is None:
            entries = []
        elif isinstance(value, int) and not isinstance(value, bool):
            entries = [(number, number) for number in range(min(value, _STEPS))]
        else:
            raise _ExecutionError(f"template: : range can't iterate over {_printed(value)}")
        if not entries:
            self.block(node.otherwise or (), dot, _Scope(scope), pieces)
            return
        names = node.pipeline.declared
        for key, item in entries:
            inner = _Scope(scope)
            given = {names[0]: item} if len(names) == 1 else dict(zip(names, (key, item), strict=False))
            for name, each in given.items():
                inner.assign(name, each) if node.pipeline.assigns else inner.__setitem__(name, each)
            try:
                self.block(node.body, item, inner, pieces)
            except _NextRound:
                continue
            except _BreakLoop:
                break

    # Values

    def pipeline(self, pipeline: Pipeline, dot: Any, variables: _Scope) -> Any:
        value: Any = None
        for number, command in enumerate(pipeline.commands):
            self.steps += 1
            if self.steps > _STEPS:
                raise _UnknownError("it takes more steps than are followed")
            value = self.command(command, dot, variables, (value,) if number else ())
        for name in pipeline.declared:
            if pipeline.assigns:
                variables.assign(name, value)
            else:
                variables[name] = value
        return value

    def command(self, command: Sequence[Operand], dot: Any, variables: _Scope, last: tuple[Any, ...]) -> Any:
        first, rest = command[0], command[1:]
        if isinstance(first, Word) and first.sort == "function":
            return self.function(str(first.value), rest, dot, variables, last)
        if rest or last:
            raise _ExecutionError("template: : can't give argument to what is no function")
        return self.operand(first, dot, variables)

    def operand(self, operand: Operand, dot: Any, variables: _Scope) -> Any:
        if isinstance(operand, Pipeline):
            return self.pipeline(operand, dot, variables)
        if not isinstance(operand, Word):
            return _fields(self.pipeline(operand.inner, dot, variables), operand.names)
        match operand.sort:
            case "field":
                return _fields(dot, operand.names)
            case "variable":
                return _fields(variables[operand.names[0]], operand.names[1:])
            case "nil":
                raise _ExecutionError("template: : nil is not a command")
            case "function":
                return self.function(str(operand.value), (), dot, variables, ())
        return operand.value

    def function(
        self, name: str, operands: Sequence[Operand], dot: Any, variables: _Scope, last: tuple[Any, ...]
    ) -> Any:
        if name in ("and", "or"):
            # They stop at the first that decides; what an earlier stage gave comes last.
            value: Any = None
            if not operands and not last:
                raise _ExecutionError(f"template: : wrong number of args for {name}: want at least 1 got 0")
            for operand in (*operands, *last):
                value = self.operand(operand, dot, variables) if isinstance(operand, _OPERANDS) else operand
                if _is_true(value) == (name == "or"):
                    return value
            return value
        arguments = [self.argument(operand, dot, variables) for operand in operands]
        arguments += last
        found = _FUNCTIONS.get(name)
        if found is None:
            raise _UnknownError(f"what the function {name} gives is not known here")
        try:
            return found(*arguments)
        except TypeError as error:
            raise _UnknownError(f"what {name} makes of its arguments is not known here") from error

    def argument(self, operand: Operand, dot: Any, variables: _Scope) -> Any:
        if isinstance(operand, Word) and operand.sort == "nil":
            return None
        return self.operand(operand, dot, variables)


_OPERANDS = (Word, Chain, Pipeline)


class _Scope(dict[str, Any]):
    """Variables of a block: what is declared here ends with it, what is assigned goes where it was declared."""

    def __init__(self, outer: _Scope | None, root: Any = None) -> None:
        super().__init__()
        self._outer = outer
        if outer is None:
            self["$"] = root

    def __missing__(self, name: str) -> Any:
        if self._outer is None:
            raise _ExecutionError(f"template: : undefined variable: {name}")
        return self._outer[name]

    def assign(self, name: str, value: Any) -> None:
        """Give a variable another value where it was declared."""
        scope: _Scope | None = self
        while scope is not None and name not in scope:
            scope = scope._outer
        if scope is None:
            raise _ExecutionError(f"template: : undefined variable: {name}")
        scope[name] = value


def _fields(value: Any, names: Sequence[str]) -> Any:
    for name in names:
        if isinstance(value, Message):
            if name not in _FIELDS:
                raise _ExecutionError(f"template: : can't evaluate field {name} in type *template.templateMessage")
            value = {"Role": value.role, "Content": value.content, "Images": [], "ToolCalls": []}.get(name, "")
        elif isinstance(value, dict):
            value = value.get(name, _NO_VALUE)
        elif value is _NO_VALUE or value is None:
            raise _ExecutionError(f"template: : nil data; no entry for key {json.dumps(name)}")
        else:
            raise _ExecutionError(f"template: : can't evaluate field {name} in type {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    return {str: "string", bool: "bool", int: "int", float: "float64", list: "[]*template.templateMessage"}.get(
        type(value), "interface {}"
    )


def _is_true(value: Any) -> bool:
    """Go's truth: not the zero value of its type, not empty. A struct is always true."""
    if value is _NO_VALUE or value is None:
        return False
    return True if isinstance(value, Message) else bool(value)


def _printed(value: Any) -> str:
    """As `fmt.Fprint` writes it."""
    if value is _NO_VALUE or value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list) and not value:
        return "[]"
    raise _UnknownError("how Go prints this value is not known here")


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if value is _NO_VALUE or value is None:
            raise _ExecutionError("template: : error calling index: index of untyped nil")
        if isinstance(value, dict):
            value = value.get(key, _NO_VALUE)
        elif isinstance(value, list | str) and isinstance(key, int) and not isinstance(key, bool):
            if not 0 <= key < len(value):
                raise _ExecutionError(f"template: : error calling index: index out of range: {key}")
            value = ord(value[key]) if isinstance(value, str) else value[key]
        else:
            raise _ExecutionError("template: : error calling index")
    return value


def _slice(value: Any, *bounds: Any) -> Any:
    if not isinstance(value, list | str) or len(bounds) > 2 or not all(type(bound) is int for bound in bounds):
        raise _ExecutionError("template: : error calling slice")
    start = bounds[0] if bounds else 0
    end = bounds[1] if len(bounds) > 1 else len(value)
    if not 0 <= start <= end <= len(value):
        raise _ExecutionError("template: : error calling slice: index out of range")
    return value[start:end]


def _length(value: Any) -> int:
    if value is _NO_VALUE or value is None or not isinstance(value, list | str | dict):
        raise _ExecutionError("template: : error calling len")
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else len(value)


def _equal(first: Any, *others: Any) -> bool:
    if not others:
        raise _ExecutionError("template: : error calling eq: missing argument for comparison")
    for other in others:
        nil_one, nil_two = first is _NO_VALUE or first is None, other is _NO_VALUE or other is None
        if nil_one or nil_two:
            if nil_one and nil_two:
                return True
            continue
        if type(first) is not type(other):
            raise _ExecutionError("template: : error calling eq: incompatible types for comparison")
        if not isinstance(first, str | int | float):
            raise _UnknownError("how Go compares these values is not known here")
        if first == other:
            return True
    return False


def _compared(first: Any, second: Any) -> int:
    if type(first) is not type(second) or not isinstance(first, str | int | float) or isinstance(first, bool):
        raise _ExecutionError("template: : error in a comparison: incompatible types for comparison")
    return int(first > second) - int(first < second)


def _formatted(form: Any, *values: Any) -> str:
    if not isinstance(form, str):
        raise _UnknownError("what printf makes of this is not known here")
    pieces: list[str] = []
    rest = list(values)
    position = 0
    while position < len(form):
        character = form[position]
        if character != "%":
            pieces.append(character)
            position += 1
            continue
        verb = form[position + 1 : position + 2]
        position += 2
        if verb == "%":
            pieces.append("%")
            continue
        value = rest.pop(0) if rest else None
        fits = {"s": str, "q": str, "d": int, "t": bool}.get(verb)
        if (verb == "v" and isinstance(value, str | int)) or (fits is not None and type(value) is fits):
            pieces.append(json.dumps(value, ensure_ascii=False) if verb == "q" else _printed(value))
        else:
            raise _UnknownError("what printf makes of this is not known here")
    if rest:
        raise _UnknownError("what printf makes of this is not known here")
    return "".join(pieces)


def _joined(*values: Any) -> str:
    """As `fmt.Sprint` joins them: a blank between two that are both no text."""
    pieces: list[str] = []
    for number, value in enumerate(values):
        if number and not isinstance(value, str) and not isinstance(values[number - 1], str):
            pieces.append(" ")
        pieces.append(_argument(value))
    return "".join(pieces)


def _argument(value: Any) -> str:
    """As fmt prints what a function was given: nothing is `<nil>` there."""
    return "<nil>" if value is _NO_VALUE or value is None else _printed(value)


def _as_json(value: Any) -> str:
    if isinstance(value, str | int | float | bool) or value == []:
        return json.dumps(value, ensure_ascii=False)
    raise _UnknownError("how Go writes this value as JSON is not known here")


_FUNCTIONS: dict[str, Any] = {
    "index": _index, "slice": _slice, "len": _length, "eq": _equal, "json": _as_json, "printf": _formatted,
    "not": lambda value: not _is_true(value),
    "ne": lambda one, other: not _equal(one, other),
    "lt": lambda one, other: _compared(one, other) < 0, "le": lambda one, other: _compared(one, other) <= 0,
    "gt": lambda one, other: _compared(one, other) > 0, "ge": lambda one, other: _compared(one, other) >= 0,
    "print": _joined,
    "println": lambda *values: " ".join(_argument(value) for value in values) + "\n",
    # Days that never change: what is found in a template must not depend on when it was looked at.
    "currentDate": lambda: "2025-01-01", "yesterdayDate": lambda: "2024-12-31",
}  # fmt: skip
