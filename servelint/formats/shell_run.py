"""Walks a script as bash would run it, and notes the programs that it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from servelint.formats.problem import Comment, Problem
from servelint.formats.shell import COMMAND_LIMIT, Assignment, Command, Heredoc, Script
from servelint.formats.shell_analysis import (
    assigned_in_arithmetic,
    assigned_names,
    is_constant,
    plain_name,
    program_names,
    substitutes,
)
from servelint.formats.shell_builtins import BUILTINS
from servelint.formats.shell_conditions import Conditional
from servelint.formats.shell_expand import (
    Element,
    EndOfScript,
    Expander,
    Frame,
    Item,
    Leave,
    OutOfBounds,
    State,
    Status,
    Unknown,
    Value,
    Variable,
    frame_of,
    joined,
    known,
    loose,
    merged,
    unknown,
)
from servelint.formats.shell_launchers import LAUNCHERS, SHELLS, Launcher
from servelint.formats.shell_syntax import (
    DECLARERS,
    AndOr,
    Assign,
    Node,
    Parser,
    Part,
    Pipeline,
    Redirect,
    ShellSyntaxError,
    WordNode,
)
from servelint.formats.shell_words import Word
from servelint.records import replace
from servelint.text import Embedded, Span

# How deep functions, substitutions and scripts within scripts may call each other.
_CALL_LIMIT = 24
_LOOP_LIMIT = 100
_REASON_PATHS = "set on only some paths"


# Programs that hand their input on, to a file where their output goes to one.
_WRITERS = frozenset({"cat", "tee", "dd", "envsubst"})
_STARTERS = frozenset({"sudo", "doas", "env", "command", "nohup"})


def _behind_starters(elements: list[Element]) -> list[Element]:
    """The words of a command without the programs that only start another (`sudo tee file`)."""
    index = 0
    while index < len(elements) and elements[index].value.text in _STARTERS:
        index += 1
        while index < len(elements) and elements[index].word.prefix.startswith("-"):
            index += 1
    return elements[index:]


class Input:
    """What a command may read: `value` None where nothing is known of it; `frame` where it can be read as a script."""

    __slots__ = ("frame", "value")

    def __init__(
        self,
        value: Value | None = None,
        frame: Frame | None = None,
    ) -> None:
        self.value = value
        self.frame = frame


def run(
    text: str,
    environment: Mapping[str, str] | None,
    arguments: Sequence[str] | None,
    name: str | None,
    outside: Mapping[str, str] | None,
) -> Script:
    """See `servelint.formats.shell.read_script`."""
    given = {**(outside or {}), **(environment or {})}
    variables = {key: Variable(known(value), exported=True) for key, value in given.items()}
    positional = None if arguments is None else tuple(loose(known(argument)) for argument in arguments)
    zero = unknown("$0 is only known when it runs") if name is None else known(name)
    state = State(variables, positional, zero, environment is None)
    first_line = text[: text.find("\n")] if "\n" in text else text
    if first_line.startswith("#!"):
        interpreter = first_line[2:].split()
        if any(word.rsplit("/", 1)[-1] in ("sh", "dash", "ash") for word in interpreter[:2]):
            state.options = frozenset({"posix"})
        for word in interpreter[1:]:
            if word.startswith("-"):
                state.options |= frozenset(word[1:]) & frozenset("euaf")
    runner = Runner(state, Frame(text))
    runner.everything()
    return runner.script()


def _many(reason: str, span: Span) -> Element:
    value = unknown(reason)
    return Element(value, Word(None, span, span, reason, literal=False, count=None))


class Runner(Expander):
    """Evaluates commands in order; see `Script` for what it gathers."""

    def __init__(self, state: State, frame: Frame) -> None:
        super().__init__(state, frame)
        self.commands: list[Command] = []
        self.heredocs: list[Heredoc] = []
        self.comments: list[Comment] = []
        self.incomplete: list[str] = []
        self.condition: str | None = None
        self.sink: list[Value] | None = None
        self.input = Input()
        self.calls = 0
        self.called: set[int] = set()
        self.tested = 0
        """How many conditions we are in, where a failure does not end a script under `set -e`."""
        self.background = False
        self.seen_heredocs: set[tuple[int, int]] = set()
        self.piped_heredoc: int | None = None
        self.seen_frames: set[tuple[int, int]] = set()
        self.seen_problems: set[tuple[str, Span]] = set()
        self.elsewhere = False
        self.passed: Frame | None = None
        """The here-document that `cat` has just handed on."""
        self.substituted: Status = True
        """How the last command substitution ended."""

    # The whole

    def everything(self) -> None:
        """Run the script, then the functions that nobody called."""
        try:
            with suppress(EndOfScript, Leave):
                self.run_frame(self.frame)
            self.uncalled()
        except OutOfBounds:
            self.incomplete.append("the script does more than can be followed")
        except RecursionError:
            self.incomplete.append("the script is nested too deeply to be followed")

    def uncalled(self) -> None:
        """Yield what functions would run that are defined and never called."""
        saved = self.state
        for node, frame in list(saved.functions.values()):
            if id(node) in self.called:
                continue
            self.called.add(id(node))
            self.state = saved.copy()
            self.state.positional = None
            self.frame, before = frame, self.frame
            with suppress(EndOfScript, Leave):
                self.under("function", partial(self.statements, node.body))
            self.frame = before
        self.state = saved

    def script(self) -> Script:
        """What was gathered."""
        return Script(
            tuple(self.commands),
            tuple(sorted(self.problems, key=lambda problem: problem.span)),
            tuple(sorted(self.comments, key=lambda comment: comment.span)),
            tuple(self.heredocs),
            tuple(dict.fromkeys(self.incomplete)),
        )

    def run_frame(self, frame: Frame) -> Status:
        """Run a text, one complete command after the other, up to what bash refuses."""
        self.spend(len(frame.text) + 300)
        before, self.frame = self.frame, frame
        parser = Parser(frame.text, self.calls > 0)
        parser.depth = min(self.calls, 8)
        status: Status = True
        try:
            for line in parser.program():
                status = self.statements(line)
        except ShellSyntaxError as failure:
            self.refuse(failure.problem, frame)
            status = False
        finally:
            self.frame = before
            self.remark(parser, frame)
        return status

    def refuse(self, problem: Problem, frame: Frame) -> None:
        """Note a syntax error, once for each place."""
        span = frame.span(problem.span.start, problem.span.end)
        if (problem.message, span) not in self.seen_problems:
            self.seen_problems.add((problem.message, span))
            self.problems.append(replace(problem, span=span))

    def remark(self, parser: Parser, frame: Frame) -> None:
        """Note the comments of a text, each with the command or list element on its line or after it."""
        if frame.opaque is not None or not parser.comments:
            return
        key = (frame.offset(0), len(frame.text))
        if key in self.seen_frames:
            return
        self.seen_frames.add(key)
        # A substitution that is parsed twice, as arithmetic first, notes its comments twice.
        comments = sorted(set(parser.comments))
        if comments[0][0] == 0 and frame.text.startswith("#!"):
            del comments[0]
        targets = sorted(set(parser.targets))
        by_end = sorted(targets, key=lambda target: (target[1], -target[0]))
        from bisect import bisect_left, bisect_right

        starts = [start for start, _ in targets]
        ends = [end for _, end in by_end]
        for start, end in comments:
            target = (start, end)
            before = bisect_right(ends, start) - 1
            after = bisect_left(starts, end)
            if before >= 0 and "\n" not in frame.text[by_end[before][1] : start]:
                target = by_end[before]
            elif after < len(targets):
                target = targets[after]
            self.comments.append(
                Comment(frame.span(start, end), frame.text[start:end], frame.span(target[0], target[1]))
            )

    # Lists

    def statements(self, items: Iterable[AndOr]) -> Status:
        """Run a list; the status of its last command."""
        status: Status = True
        for item in items:
            if item.background:
                status = True
                saved, self.background = self.background, True
                self.in_subshell(partial(self.and_or, item))
                self.background = saved
            else:
                status = self.and_or(item)
        return status

    def and_or(self, item: AndOr) -> Status:
        """Run pipelines joined by `&&` and `||`."""
        last = len(item.pipelines) - 1
        self.tested += last > 0
        try:
            status = self.pipeline(item.pipelines[0])
        finally:
            self.tested -= last > 0
        for index, (operator, pipeline) in enumerate(zip(item.operators, item.pipelines[1:], strict=True)):
            wanted = operator == "&&"
            if status is not None and status is not wanted:
                continue
            self.tested += index + 1 < last
            try:
                if status is None:
                    outcome = self.maybe("and" if wanted else "or", partial(self.pipeline, pipeline))
                    # `unknown && false` fails for sure, `unknown || true` succeeds.
                    status = outcome if outcome is not None and outcome is not wanted else None
                else:
                    status = self.pipeline(pipeline)
            finally:
                self.tested -= index + 1 < last
            if index + 1 == last and status is False:
                self.fails(item.pipelines[-1])
                return status
        if last == 0 and status is False:
            self.fails(item.pipelines[0])
        return status

    def fails(self, pipeline: Pipeline) -> None:
        """Under `set -e`, a failure ends the script."""
        if "e" in self.state.options and not self.tested and not pipeline.negated:
            raise EndOfScript(False)

    def pipeline(self, pipeline: Pipeline) -> Status:
        """Run commands joined by `|`."""
        self.tested += pipeline.negated
        try:
            status = self.piped(pipeline)
        finally:
            self.tested -= pipeline.negated
        if pipeline.negated and status is not None:
            return not status
        return status

    def piped(self, pipeline: Pipeline) -> Status:
        commands = pipeline.commands
        if len(commands) == 1:
            return self.command(commands[0])
        status: Status = None
        saved_sink, saved_input = self.sink, self.input
        for index, node in enumerate(commands):
            last = index + 1 == len(commands)
            self.sink = saved_sink if last else []
            self.passed = None
            before = len(self.heredocs)
            status = self.in_subshell(partial(self.command, node))
            if not last:
                self.piped_heredoc = self.heredoc_to_pipe(before)
                value = joined(self.sink or ())
                unchanged = self.passed is not None and len(self.sink or ()) == 1
                self.input = Input(value, self.passed if unchanged else None)
        self.sink, self.input = saved_sink, saved_input
        return None if "pipefail" in self.state.options and status else status

    def heredoc_to_pipe(self, before: int) -> int | None:
        """The here-document that a command of a pipeline only passes on, among those noted since `before`."""
        if len(self.heredocs) != before + 1:
            return None
        noted = self.heredocs[before]
        return before if noted.file is None and noted.program in _WRITERS else None

    # Paths

    def in_subshell(self, action: Callable[[], Status]) -> Status:
        """Run something that cannot change this shell."""
        saved = self.state
        self.spend(len(saved.variables))
        self.state = saved.copy()
        try:
            return action()
        except EndOfScript as end:
            return end.status
        except Leave as leave:
            return leave.status
        finally:
            self.state = saved

    def under(self, condition: str, action: Callable[[], Status]) -> Status:
        """Run something of which it is unknown whether it runs."""
        saved = self.condition
        if saved is None or saved == "and":
            self.condition = condition
        try:
            return action()
        finally:
            self.condition = saved

    def maybe(self, condition: str, action: Callable[[], Status]) -> Status:
        """Run something that may or may not run, and keep what is true either way."""
        before = self.state
        self.spend(len(before.variables))
        self.state = before.copy()
        saved_sink, self.sink = self.sink, None if self.sink is None else []
        try:
            status = self.under(condition, action)
        except (EndOfScript, Leave):
            # This path ends here: whatever comes next was reached on the other one.
            self.state = before
            self.sink = saved_sink
            return None
        if saved_sink is not None:
            if self.sink:
                saved_sink.append(unknown("output on only some paths"))
            self.sink = saved_sink
        self.state = self.merge(before, self.state)
        return status

    def merge(self, first: State, second: State) -> State:
        """What is known when either state may be the one."""
        self.spend(len(first.variables) + len(second.variables))
        result = first.copy()
        for name in {**first.variables, **second.variables}:
            left, right = first.variables.get(name), second.variables.get(name)
            if left is not right:
                result.variables[name] = self.merge_variables(
                    left if left is not None else self.absent(name, first),
                    right if right is not None else self.absent(name, second),
                )
        for name, function in second.functions.items():
            result.functions.setdefault(name, function)
        if first.positional is not second.positional:
            result.positional = _merge_elements(first.positional, second.positional)
        result.sourced = first.sourced or second.sourced
        # `set -e` and its like in a branch: taken as not set, but for what makes words uncertain.
        result.options = (first.options & second.options) | ((first.options | second.options) & {"nullglob", "posix"})
        return result

    def merge_variables(self, left: Variable, right: Variable) -> Variable:
        """One variable of two states."""
        exported = left.exported or right.exported
        if left.listed or right.listed:
            first = left.elements if left.listed else (() if left.value is None else None)
            second = right.elements if right.listed else (() if right.value is None else None)
            return Variable(None, True, _merge_elements(first, second), exported=exported, span=left.span)
        if left.value is None or right.value is None:
            if left.value is right.value:
                return replace(left, exported=exported)
            given = left.value or right.value or Value()
            value = Value((Unknown(_REASON_PATHS, given.guess, outside=True),))
            return Variable(value, exported=exported, span=left.span or right.span)
        value = merged(left.value, right.value, _REASON_PATHS)
        return Variable(value, exported=exported, span=left.span or right.span, word=None)

    def absent(self, name: str, state: State) -> Variable:
        """A variable that one path does not set."""
        saved, self.state = self.state, state
        try:
            return Variable(self.lookup(name))
        finally:
            self.state = saved

    # Commands

    def command(self, node: Node) -> Status:
        """Run one command."""
        self.spend(800)
        if len(self.commands) > COMMAND_LIMIT:
            raise OutOfBounds
        if node.kind == "simple" and node.words is not None:
            return self.simple(node)
        if node.kind == "function":
            return self.define(node)
        saved_input, saved_sink = self.input, self.sink
        self.redirections(node, None)
        try:
            return self.compound(node)
        finally:
            self.input, self.sink = saved_input, saved_sink

    def define(self, node: Node) -> Status:
        """Note a function."""
        self.state.functions[node.name] = (node, self.frame)
        return True

    def compound(self, node: Node) -> Status:
        """Run a compound command."""
        kind = node.kind
        if kind == "{":
            return self.statements(node.body)
        if kind == "subshell":
            return self.in_subshell(lambda: self.statements(node.body))
        if kind == "coproc":
            saved, self.background = self.background, True
            self.in_subshell(lambda: self.statements(node.body))
            self.background = saved
            return True
        if kind == "if":
            return self.branches(node)
        if kind == "case":
            return self.cases(node)
        if kind in ("while", "until"):
            return self.while_loop(node)
        if kind in ("for", "select"):
            return self.for_loop(node)
        if kind == "for ((":
            return self.counting_loop(node)
        if kind == "arithmetic":
            number = self.arithmetic(node.parts[0])
            if number is None:
                self.forget_numbers(node.parts[0])
            return None if number is None else number != 0
        if kind == "[[":
            return Conditional(self, node.words or []).value()
        if node.kind == "simple":  # `name () { … }`
            return self.define(node)
        return None

    def forget_numbers(self, parts: Iterable[Part]) -> None:
        """After an expression that cannot be computed, what it assigns is unknown."""
        text = "".join(part.text for part in parts if part.kind == "text")
        for name in assigned_in_arithmetic(text):
            self.forget(name)

    def test(self, items: Iterable[AndOr]) -> Status:
        """The status of a condition."""
        self.tested += 1
        try:
            return self.statements(items)
        finally:
            self.tested -= 1

    def branches(self, node: Node) -> Status:
        """`if`, `elif`, `else`."""
        ends: list[State] = []
        stop: Exception | None = None
        saved = self.condition
        saved_sink = self.sink
        statuses: list[Status] = []
        undecided = False
        alive = True
        try:
            for condition, body in node.clauses:
                status = True if not condition else self.test(condition)
                if status is False:
                    continue
                if status is None:
                    undecided = True
                    if self.condition in (None, "and"):
                        self.condition = "if"
                    if saved_sink is not None:
                        self.sink = []
                before = self.state.copy() if status is None else self.state
                self.spend(len(before.variables))
                try:
                    statuses.append(self.statements(body))
                    ends.append(self.state)
                except (EndOfScript, Leave) as reached:
                    if not undecided:
                        raise
                    stop = reached
                self.state = before
                if status is True:
                    alive = False
                    break
            if alive:
                ends.append(self.state)
                statuses.append(True)
        finally:
            self.condition = saved
            if undecided and saved_sink is not None:
                saved_sink.append(unknown("output on only some paths"))
            self.sink = saved_sink
        if not ends:
            raise stop or EndOfScript
        self.settle(ends)
        return statuses[0] if len(set(statuses)) == 1 else None

    def settle(self, ends: list[State]) -> None:
        """Go on from what is true in all of these; the last one is the likeliest."""
        state = ends[-1]
        for other in reversed(ends[:-1]):
            state = self.merge(state, other)
        self.state = state

    def cases(self, node: Node) -> Status:
        """`case … in … esac`."""
        subject = self.expand_value((node.words or [])[0]).value
        ends: list[State] = []
        stop: Exception | None = None
        saved, saved_sink = self.condition, self.sink
        undecided = False
        falls = False
        alive = True
        status: Status = True
        try:
            for (_, body), (patterns, ending) in zip(node.clauses, node.patterns, strict=True):
                found: Status = falls
                for pattern in patterns:
                    if found is not True:
                        outcome = self.match(subject, pattern)
                        found = True if outcome else (None if outcome is None else found)
                if found is False:
                    continue
                if found is None:
                    undecided = True
                    if self.condition in (None, "and"):
                        self.condition = "case"
                    if saved_sink is not None:
                        self.sink = []
                before = self.state.copy()
                self.spend(len(before.variables))
                falls = ending == ";&"
                try:
                    status = self.statements(body)
                except (EndOfScript, Leave) as reached:
                    if not undecided:
                        raise
                    stop = reached
                    falls = False
                    self.state = before
                    if found:
                        alive = False
                        break
                    continue
                if ending in (";&", ";;&") and found:
                    continue
                if found:
                    ends.append(self.state)
                    alive = False
                    break
                if falls:
                    self.state = self.merge(before, self.state)
                    falls = False
                    continue
                ends.append(self.state)
                self.state = before
            if alive:
                ends.append(self.state)
        finally:
            self.condition = saved
            if undecided and saved_sink is not None:
                saved_sink.append(unknown("output on only some paths"))
            self.sink = saved_sink
        if not ends:
            raise stop or EndOfScript
        self.settle(ends)
        return None if undecided else status

    # Loops

    def once(self, body: list[AndOr]) -> tuple[bool, Status]:
        """One round of a loop; whether it goes on, and the status."""
        try:
            return True, self.statements(body)
        except Leave as leave:
            if leave.kind == "return":
                raise
            if leave.levels > 1:
                leave.levels -= 1
                raise
            return leave.kind == "continue", True

    def perhaps(self, body: list[AndOr]) -> None:
        """Rounds of which it is unknown how many there are: one, with what any round may have set unknown."""
        for name in assigned_names(body, self.state.functions):
            if name in self.state.variables or self.state.outside:
                self.forget(name, "set in a loop")
        if self.shifts(body):
            self.state.positional = None
        self.maybe("loop", lambda: self.once(body)[1])

    def shifts(self, body: list[AndOr]) -> bool:
        """Whether the arguments are shifted or set in there."""
        return any(name in ("shift", "set") for name in program_names(body))

    def for_loop(self, node: Node) -> Status:
        """`for name in …`."""
        if node.words is None:
            elements = self.state.positional
        else:
            elements = tuple(element for word in node.words for element in self.expand(word))
        status: Status = True
        if elements is None or node.kind == "select":
            self.state.variables[node.name] = Variable(unknown("an element of a list that cannot be known"))
            self.perhaps(node.body)
            return None
        for element in elements:
            if element.many:
                self.state.variables[node.name] = Variable(unknown("an element of a list that cannot be known"))
                self.perhaps(node.body)
                continue
            value = replace(element.value, source=element.word.span)
            self.assign(node.name, value)
            goes_on, status = self.once(node.body)
            if not goes_on:
                break
        return status

    def counting_loop(self, node: Node) -> Status:
        """`for ((…; …; …))`."""
        start, condition, step = node.parts
        self.arithmetic(start)
        for _ in range(_LOOP_LIMIT):
            number = 1 if not any(part.text.strip() or part.parts for part in condition) else self.arithmetic(condition)
            if number is None:
                break
            if number == 0:
                return True
            goes_on, _ = self.once(node.body)
            if not goes_on:
                return True
            if self.arithmetic(step) is None:
                break
        self.forget_numbers(start)
        self.forget_numbers(step)
        self.perhaps(node.body)
        return None

    def while_loop(self, node: Node) -> Status:
        """`while`, `until`."""
        condition, body = node.clauses[0]
        wanted = node.kind == "while"
        if is_constant(condition):
            status = self.test(condition)
            if status is wanted:
                # Endless, as restart loops are: it surely runs, and any round may be the one.
                for name in assigned_names(body, self.state.functions):
                    if name in self.state.variables:
                        self.forget(name, "set in a loop")
                if self.shifts(body):
                    self.state.positional = None
                self.once(body)
            return None
        for _ in range(_LOOP_LIMIT):
            status = self.test(condition)
            if status is None:
                break
            if status is not wanted:
                return True
            goes_on, _ = self.once(body)
            if not goes_on:
                return True
        for name in assigned_names([*condition, *body], self.state.functions):
            if name in self.state.variables and not self.read_just_now(name, condition):
                self.forget(name, "set in a loop")
        self.perhaps(body)
        return None

    def read_just_now(self, name: str, condition: list[AndOr]) -> bool:
        """Whether the condition itself has just made that variable unknown, with a better reason."""
        return name in assigned_names(condition, {}) and self.state.variables[name].value is not None

    # Simple commands

    def simple(self, node: Node) -> Status:
        """Run a simple command: expand its words, then see what it is."""
        words = node.words or []
        saved_input, saved_sink = self.input, self.sink
        name = plain_name(words[0]) if words else ""
        try:
            if name in DECLARERS and name not in self.state.functions:
                self.redirections(node, None)
                return self.declare(name, words)
            elements = [element for word in words for element in self.expand(word)]
            file = self.redirections(node, elements)
            if not elements:
                return self.assignments(node, bool(words))
            return self.prefixed(node, elements, file)
        finally:
            self.input, self.sink = saved_input, saved_sink

    def assignments(self, node: Node, emptied: bool) -> Status:
        """Assignments without a command."""
        ran = emptied
        if not emptied:
            self.substituted = True
        for assign in node.assignments:
            self.set_variable(assign)
            if assign.value is not None and substitutes(assign.value.parts):
                ran = True
        return self.substituted if ran else True

    def set_variable(self, assign: Assign, exported: bool = False, scope: bool = False) -> Variable:
        """Do one assignment."""
        name = assign.name
        if scope:
            self.make_local(name)
        before = self.state.variables.get(name)
        exported = exported or "a" in self.state.options or (before is not None and before.exported)
        span = self.frame.span(assign.start, assign.end)
        if assign.elements is not None:
            variable = self.list_variable(assign, before)
            variable = replace(variable, exported=exported, span=span)
            self.state.variables[name] = variable
            return variable
        element = self.expand_value(assign.value) if assign.value is not None else loose(Value(), span)
        value = element.value
        self.spend(len(value.prefix))
        if assign.subscript is not None:
            return self.set_element(assign, before, element)
        if assign.append:
            old = self.lookup(name)
            if before is not None and before.listed:
                elements = before.elements
                first = elements[0] if elements and not elements[0].many else None
                if elements is None or first is None or before.keys is not None:
                    variable = replace(before, elements=None, keys=None)
                else:
                    changed = replace(first, value=joined([first.value, value]))
                    changed = loose(changed.value, span)
                    variable = replace(before, elements=(changed, *elements[1:]))
                self.state.variables[name] = variable
                return variable
            value = joined([old or Value(), value])
            variable = Variable(value, exported=exported, span=span)
        else:
            if before is not None and before.listed:
                self.assign(name, value, exported, span)
                return self.state.variables[name]
            value = Value(value.pieces, element.word.span)
            variable = Variable(value, exported=exported, span=span, word=element.word)
        self.state.variables[name] = variable
        return variable

    def list_variable(self, assign: Assign, before: Variable | None) -> Variable:
        """`name=(…)` and `name+=(…)`."""
        elements: list[Element] = []
        keyed = before is not None and before.keys is not None
        keys: dict[str, Element] = dict(before.keys or {}) if before is not None and assign.append else {}
        certain = True
        for node in assign.elements or ():
            if node.assignment is not None:
                element = self.expand_value(node)
                key = self.key(before, node.assignment.subscript or [])
                if keyed and key is not None:
                    keys[key] = element
                elif key == str(len(elements)) and not assign.append:
                    elements.append(element)
                else:
                    certain = False
                continue
            elements.extend(self.expand(node))
        if keyed:
            return Variable(None, True, (), keys if certain and not elements else None)
        if assign.append and before is not None:
            if not before.listed:
                head = () if before.value is None else (loose(before.value, before.span),)
                elements = [*head, *elements]
            elif before.elements is None:
                certain = False
            else:
                elements = [*before.elements, *elements]
        elif assign.append and self.state.outside and before is None:
            span = self.frame.span(assign.start, assign.end)
            elements = [_many(f"${assign.name} may come from outside", span), *elements]
        self.spend(len(elements))
        if len(elements) > 5_000 or not certain:
            return Variable(None, True, None)
        return Variable(None, True, tuple(elements))

    def set_element(self, assign: Assign, before: Variable | None, element: Element) -> Variable:
        """`name[subscript]=value`."""
        variable = before if before is not None and before.listed else Variable(None, True, ())
        if before is not None and not before.listed and before.value is not None:
            variable = Variable(None, True, (loose(before.value, before.span),))
        key = self.key(variable, assign.subscript or [])
        keys = variable.keys
        if keys is not None:
            if key is None:
                variable = replace(variable, keys=None, elements=None)
            else:
                old = keys.get(key)
                if assign.append and old is not None:
                    element = loose(joined([old.value, element.value]))
                variable = replace(variable, keys={**keys, key: element})
        elif variable.elements is not None:
            elements = list(variable.elements)
            index = int(key) if key is not None and key.isdigit() else -1
            known_places = not any(old.many for old in elements)
            if index == len(elements) and known_places:
                elements.append(element)
            elif 0 <= index < len(elements) and known_places:
                if assign.append:
                    element = loose(joined([elements[index].value, element.value]))
                elements[index] = element
            else:
                elements = []
                variable = replace(variable, elements=None)
            if variable.elements is not None:
                variable = replace(variable, elements=tuple(elements))
        self.spend(len(variable.elements or ()) + len(variable.keys or ()))
        self.state.variables[assign.name] = variable
        return variable

    def make_local(self, name: str) -> None:
        """`local`: the outer variable comes back when the function returns."""
        if self.state.scopes and name not in self.state.scopes[-1]:
            self.state.scopes[-1][name] = self.state.variables.get(name)
            self.state.variables[name] = Variable(None)

    def declare(self, command: str, words: list[WordNode]) -> Status:
        """`export`, `declare`, `local`, `readonly`, `typeset`."""
        flags = ""
        arguments: list[WordNode | Element] = []
        for node in words[1:]:
            if node.assignment is not None:
                arguments.append(node)
                continue
            for element in self.expand(node):
                text = element.value.text
                if text and text[0] in "-+" and not arguments:
                    flags += text[1:] if text[0] == "-" else ""
                else:
                    arguments.append(element)
        if "p" in flags or "f" in flags or "F" in flags:
            if command == "export" and "f" in flags:
                names = [item.value.text or "" for item in arguments if isinstance(item, Element)]
                for name in names:
                    if name in self.state.functions:
                        self.state.options |= {f"function {name}"}
            return True
        local = command == "local" or (command in ("declare", "typeset") and "g" not in flags)
        local = local and bool(self.state.scopes)
        exported = command == "export" and "n" not in flags
        exported = exported or (command in ("declare", "typeset") and "x" in flags)
        for argument in arguments:
            if isinstance(argument, Element):
                self.declare_name(argument, flags, local, exported, command == "export" and "n" in flags)
                continue
            assign = argument.assignment
            if assign is None:
                continue
            if "A" in flags and (local or assign.name not in self.state.variables):
                if local:
                    self.make_local(assign.name)
                self.state.variables[assign.name] = Variable(None, True, (), {})
            self.set_variable(assign, exported, local)
            self.attributes(assign.name, flags)
        return True

    def declare_name(self, element: Element, flags: str, local: bool, exported: bool, hidden: bool) -> None:
        """A declaration of a name alone, or of a word that turns out to hold an assignment."""
        text = element.value.text
        name, equals, value = (text or element.value.prefix).partition("=")
        if not name.isidentifier() or (text is None and not equals):
            if text is None:
                self.state.sourced = "a declaration of names that cannot be known"
            return
        if local:
            self.make_local(name)
        if equals:
            rest = known(value) if text is not None else unknown(element.word.reason or "")
            self.assign(name, rest, exported, element.word.span)
        elif "A" in flags or "a" in flags:
            if local or name not in self.state.variables:
                self.state.variables[name] = Variable(None, True, (), {} if "A" in flags else None)
        elif exported or hidden:
            before = self.state.variables.get(name)
            if before is None:
                before = Variable(self.lookup(name))
            self.state.variables[name] = replace(before, exported=exported and not hidden)
        self.attributes(name, flags)

    def attributes(self, name: str, flags: str) -> None:
        """Attributes that change what a value becomes."""
        variable = self.state.variables.get(name)
        if variable is None or variable.value is None:
            return
        text = variable.value.text
        if "i" in flags and text is not None:
            number = self.number(text)
            value = unknown("a computed number", filled=True) if number is None else known(str(number))
            self.state.variables[name] = replace(variable, value=value)
        elif "n" in flags or "l" in flags or "u" in flags:
            self.forget(name)

    def redirections(self, node: Node, elements: list[Element] | None) -> Word | None:
        """Follow a command's redirections; the file that its output goes to."""
        file: Word | None = None
        appends = False
        for redirect in node.redirects:
            operator = redirect.operator
            if operator in ("<<", "<<-"):
                continue
            target = self.expand_value(redirect.target)
            if operator == "<<<":
                value = joined([target.value, known("\n")])
                items = target.items
                place = self.frame.span(redirect.target.start, redirect.target.end)
                self.input = Input(value, frame_of(items, place))
            elif operator in ("<", "<>", "<&"):
                if redirect.descriptor in ("", "0"):
                    self.input = Input()
            elif redirect.descriptor in ("", "1") or operator in ("&>", "&>>"):
                if operator == ">&" and target.value.text in ("1", "-"):
                    continue
                if self.sink is not None:
                    self.sink = []
                if operator != ">&" or not (target.value.text or "").isdigit():
                    file, appends = target.word, operator in (">>", "&>>")
        words = _behind_starters(elements or [])
        program = words[0].value.text if words else None
        if program == "tee":
            names = [element for element in words[1:] if not element.word.prefix.startswith("-")]
            appends = any(element.value.text in ("-a", "--append") for element in words[1:])
            file = names[0].word if names else file
        self.take_piped_heredoc(program, file, appends)
        for redirect in node.redirects:
            if redirect.operator in ("<<", "<<-"):
                self.heredoc(redirect, program, file, appends)
        return file

    def take_piped_heredoc(self, program: str | None, file: Word | None, appends: bool) -> None:
        """What `cat <<EOF | program` hands on goes where the program writes it, or to the program."""
        index, self.piped_heredoc = self.piped_heredoc, None
        if index is None:
            return
        writes = program in _WRITERS
        self.heredocs[index] = replace(
            self.heredocs[index], file=file if writes else None, append=appends, program=program
        )

    def heredoc(self, redirect: Redirect, program: str | None, file: Word | None, appends: bool) -> None:
        """Note a here-document, and let the command read it."""
        offsets = [*redirect.offsets] or [redirect.body_start]
        if redirect.quoted:
            delimiter = redirect.delimiter

            def encode(text: str) -> str | None:
                return None if delimiter in text.split("\n") or "\0" in text else text

            body = Embedded(redirect.body_text, offsets, encode)
            value = known(redirect.body_text)
            frame: Frame | None = None
        else:
            body = Embedded(redirect.body_text, offsets, None, "the here-document's delimiter is not quoted")
            items = self.items(redirect.parts, quoted=True)
            value = joined(item.value for item in items)
            frame = frame_of(items, self.frame.span(redirect.body_start, redirect.body_end))
        if self.frame.opaque is not None:
            body = Embedded(body.text, [self.frame.opaque.start] * (len(body.text) + 1), None, "not written out")
        elif self.frame.embedded is not None:
            body = body.within(self.frame.embedded)
        if redirect.quoted:
            frame = Frame(redirect.body_text, body, None if self.frame.opaque is None else self.frame.opaque)
            if self.frame.unknowns:
                frame = replace(frame, unknowns=self.frame.unknowns)
                if any(character in self.frame.unknowns for character in redirect.body_text):
                    value = joined(
                        Value((self.frame.unknowns[character],))
                        if character in self.frame.unknowns
                        else known(character)
                        for character in redirect.body_text
                    )
        if redirect.descriptor in ("", "0"):
            self.input = Input(value, frame)
        span = self.frame.span(redirect.body_start, redirect.body_end)
        key = (span.start, span.end)
        if key in self.seen_heredocs and span.start != span.end:
            return
        self.seen_heredocs.add(key)
        writes = program in _WRITERS
        self.heredocs.append(
            Heredoc(body, value.text, redirect.quoted, span, file if writes else None, appends, program)
        )

    def prefixed(self, node: Node, elements: list[Element], file: Word | None) -> Status:
        """A command with the assignments before it."""
        prefix: list[Assignment] = []
        name = elements[0].value.text
        if not node.assignments:
            return self.dispatch(node, elements, (), ())
        saved: dict[str, Variable | None] = {}
        for assign in node.assignments:
            saved.setdefault(assign.name, self.state.variables.get(assign.name))
            variable = self.set_variable(assign, exported=True)
            span = self.frame.span(assign.start, assign.end)
            word = variable.word
            if word is None:
                value = variable.value or Value()
                word = Word(value.text, span, span, value.reason, value.prefix, value.guess, literal=False)
            prefix.append(Assignment(assign.name, word, span, "prefix"))
        del file
        try:
            return self.dispatch(node, elements, (), tuple(prefix))
        finally:
            if name not in (":", "eval", "exec", "export") or "posix" not in self.state.options:
                for key, old in saved.items():
                    if old is None:
                        self.state.variables.pop(key, None)
                    else:
                        self.state.variables[key] = old

    def dispatch(
        self,
        node: Node,
        elements: list[Element],
        launchers: tuple[str, ...],
        assigned: tuple[Assignment, ...],
    ) -> Status:
        """Run a function or builtin, look through a launcher, or note a program."""
        text = elements[0].value.text
        if text is None:
            return self.launch(node, elements, launchers, assigned)
        inside = not launchers or set(launchers) <= {"command", "builtin"}
        if inside and text in self.state.functions and not launchers:
            return self.call(text, elements[1:])
        base = text.rsplit("/", 1)[-1]
        if inside:
            builtin = BUILTINS.get(text)
            if builtin is not None:
                return builtin(self, elements)
        if base in SHELLS:
            return self.shell(node, elements, launchers, assigned)
        if base in ("tmux", "su", "runuser", "script", "flock"):
            outcome = self.by_string(base, elements)
            if outcome is not None:
                return outcome[0]
        launcher = LAUNCHERS.get(base)
        if launcher is None or len(elements) == 1:
            if text == "exec" and not launchers:
                return True
            return self.launch(node, elements, launchers, assigned)
        return self.through(node, base, launcher, elements, launchers, assigned)

    def through(
        self,
        node: Node,
        base: str,
        launcher: Launcher,
        elements: list[Element],
        launchers: tuple[str, ...],
        assigned: tuple[Assignment, ...],
    ) -> Status:
        """Look through a launcher at what it starts."""
        options, index, settings = _skip(base, launcher, elements)
        if index is None or (base == "command" and {"-v", "-V"} & set(options)):
            if base in ("command", "exec", "builtin") and not launchers:
                return None
            return self.launch(node, elements, launchers, assigned)
        rest = elements[index:]
        if base == "xargs":
            place = elements[0].word.site
            marker = next((option for option in options if option.startswith("-I")), None)
            rest = _xargs(rest, marker, elements, place)
        more = tuple(
            Assignment(name, element.word, element.word.span, "launcher")
            for element in settings
            for name in [(element.value.text or element.value.prefix).partition("=")[0]]
        )
        more = tuple(_after_equals(assignment) for assignment in more)
        saved_elsewhere = self.elsewhere
        resets = base in ("sudo", "doas") and not {"-E", "--preserve-env"} & set(options)
        self.elsewhere = saved_elsewhere or launcher.elsewhere or resets
        saved: dict[str, Variable | None] = {}
        for assignment in more:
            saved.setdefault(assignment.name, self.state.variables.get(assignment.name))
            value = known(assignment.value.text) if assignment.value.text is not None else unknown("", None)
            self.state.variables[assignment.name] = Variable(value, exported=True)
        try:
            if launcher.joins:
                return self.joined_words(rest)
            status = self.dispatch(node, rest, (*launchers, base), (*assigned, *more))
        finally:
            self.elsewhere = saved_elsewhere
            for key, old in saved.items():
                if old is None:
                    self.state.variables.pop(key, None)
                else:
                    self.state.variables[key] = old
        if base == "exec" and not launchers:
            raise EndOfScript
        return None if base in ("timeout", "xargs") else status

    def launch(
        self,
        node: Node,
        elements: list[Element],
        launchers: tuple[str, ...],
        assigned: tuple[Assignment, ...],
    ) -> Status:
        """Note a program that runs."""
        if len(self.commands) >= COMMAND_LIMIT:
            raise OutOfBounds
        frame = self.frame
        end = _last_word_end(node)
        variables: dict[str, str | None] = {}
        exports: list[Assignment] = []
        prefixed = {assignment.name for assignment in assigned}
        self.spend(len(self.state.variables) * 4)
        for name, variable in self.state.variables.items():
            if not variable.exported or variable.listed or (self.elsewhere and name not in prefixed):
                continue
            if variable.value is None:
                continue
            variables[name] = variable.value.text
            if name not in prefixed and variable.span is not None:
                value = variable.value
                place = value.source or variable.span
                word = variable.word or Word(
                    value.text, place, variable.span, value.reason, value.prefix, value.guess, literal=False
                )
                exports.append(Assignment(name, word, variable.span, "export"))
        exports.sort(key=lambda assignment: assignment.span)
        host = frame.embedded
        editable = frame.opaque is None and (host is None or host.encode is not None)
        # A word of a file with CR LF newlines takes the CR with it; what is put behind it would only add to the harm.
        editable = editable and not frame.text.startswith("\r", end - 1)
        self.commands.append(
            Command(
                tuple(element.word for element in elements),
                frame.span(node.start, node.end),
                frame.span(node.start, end).end,
                launchers,
                (*exports, *assigned),
                variables,
                _separator(frame.text, node, end),
                tuple(frame.span(redirect.start, redirect.end) for redirect in node.redirects),
                self.condition,
                self.background,
                self.elsewhere,
                host if editable else None,
                end if editable else None,
            )
        )
        return self.output(elements)

    def output(self, elements: list[Element]) -> Status:
        """What a program prints, where that is plain, and what becomes of its input."""
        texts = [element.value.text for element in elements]
        name = (texts[0] or "").rsplit("/", 1)[-1]
        value: Value | None = None
        if name == "cat" and (len(texts) == 1 or texts[1:] == ["-"]):
            value = self.input.value
            self.passed = self.input.frame
        elif name in ("basename", "dirname") and None not in texts:
            value = _path_part(name, [text for text in texts if text is not None])
        if name != "true":
            self.input = Input() if self.input.value is None else self.drained()
        if self.sink is not None:
            self.sink.append(unknown(f"the output of {name or 'a program'}") if value is None else value)
        return True if value is not None else None

    def drained(self) -> Input:
        """A program may read what is left of its input."""
        self.input.value = None
        self.input.frame = None
        return self.input

    # Scripts within the script

    def nested(
        self, frame: Frame | None, arguments: tuple[Element, ...] | None, zero: Value | None, child: bool, posix: bool
    ) -> Status:
        """Run a text as a script: in this shell, or in a child of it that sees what is exported."""
        if frame is None:
            if not child:
                self.state.sourced = "a text that cannot be known"
            return None
        self.calls += 1
        if self.calls > _CALL_LIMIT:
            self.calls -= 1
            self.incomplete.append("scripts within scripts are nested too deeply")
            return None
        saved = self.state
        try:
            if not child:
                return self.run_frame(frame)
            self.spend(len(saved.variables))
            state = saved.copy()
            state.variables = {
                name: variable
                for name, variable in saved.variables.items()
                if variable.exported and not variable.listed
            }
            if self.elsewhere:
                state.outside = True
            if saved.outside:
                for name, variable in saved.variables.items():
                    if not variable.exported and not variable.listed and variable.value is not None:
                        # If it came from outside, it is exported, with the new value; if not, the child lacks it.
                        hidden = Unknown("not exported by the script", variable.value.guess, outside=True)
                        state.variables[name] = Variable(Value((hidden,)))
            kept = {option[9:] for option in saved.options if option.startswith("function ")}
            state.functions = {name: function for name, function in saved.functions.items() if name in kept}
            state.options = frozenset({"posix"} if posix else ()) | {f"function {name}" for name in kept}
            state.positional = arguments
            state.zero = zero if zero is not None else known("bash")
            state.scopes = ()
            self.state = state
            saved_tested, self.tested = self.tested, 0
            try:
                return self.run_frame(frame)
            except EndOfScript as end:
                return end.status
            except Leave as leave:
                return leave.status
            finally:
                self.tested = saved_tested
        finally:
            self.calls -= 1
            self.state = saved if child else self.state

    def shell(
        self,
        node: Node,
        elements: list[Element],
        launchers: tuple[str, ...],
        assigned: tuple[Assignment, ...],
    ) -> Status:
        """`bash -c …`, `bash <<EOF`, `bash script`."""
        base = (elements[0].value.text or "").rsplit("/", 1)[-1]
        posix = base in ("sh", "dash", "ash")
        has_command = has_input = False
        flags = ""
        index = 1
        while index < len(elements):
            text = elements[index].value.text
            if text is None:
                if has_command or elements[index].value.prefix.strip("-+"):
                    break
                return self.launch(node, elements, launchers, assigned)
            if text in ("--", "-"):
                index += 1
                break
            if not text.startswith(("-", "+")) or text == "+":
                break
            index += 1
            if text.startswith("--"):
                index += text in ("--rcfile", "--init-file")
                continue
            flags += text[1:] if text[0] == "-" else ""
            has_command = has_command or ("c" in text[1:] and text[0] == "-")
            has_input = has_input or "s" in text[1:]
            index += text.count("o", 1) + text.count("O", 1)
        rest = elements[index:]
        if has_command:
            if not rest:
                return None
            text_element = rest[0]
            frame = None if text_element.many else self.script_frame(text_element)
            if frame is None or (text_element.value.text is None and len(text_element.value.pieces) == 1):
                return self.launch(node, elements, launchers, assigned)
            zero = rest[1].value if len(rest) > 1 else known(base)
            if any(element.many for element in rest[1:2]):
                arguments: tuple[Element, ...] | None = None
                zero = unknown("$0 is only known when it runs")
            else:
                arguments = tuple(rest[2:])
        elif (not rest or has_input) and self.input.frame is not None:
            frame, arguments, zero = self.input.frame, tuple(rest), known(base)
        elif (not rest or has_input) and self.input.value is not None and self.input.value.prefix:
            piped = Item(self.input.value, self.frame, node.start, node.end)
            frame = frame_of([piped], self.frame.span(node.start, node.end))
            arguments, zero = tuple(rest), known(base)
        else:
            return self.launch(node, elements, launchers, assigned)
        saved_input = self.input
        self.input = saved_input if has_command else Input()
        before = self.state
        try:
            status = self.nested(frame, arguments, zero, True, posix)
        finally:
            self.input = saved_input
            self.state = before
        return status

    def script_frame(self, element: Element) -> Frame | None:
        """The frame of a word that is run as a script."""
        word = element.word
        if word.inner is not None and word.text is not None:
            return Frame(word.text, word.inner)
        if not element.items:
            return Frame(word.text, None, word.site) if word.text is not None else None
        return frame_of([_sited(item) for item in element.items], word.site)

    def joined_words(self, elements: Sequence[Element]) -> Status:
        """Words that are joined by blanks and run by a shell, as `watch` and `ssh` do."""
        if not elements:
            return None
        frame = self.joined_frame(elements)
        before = self.state
        status = self.nested(frame, (), None, True, False)
        self.state = before
        return status

    def joined_frame(self, elements: Sequence[Element]) -> Frame | None:
        """The frame of words that are joined by blanks."""
        if len(elements) == 1:
            return self.script_frame(elements[0])
        items: list[Item] = []
        for element in elements:
            frame = Frame("", None, element.word.site)
            if items:
                items.append(Item(known(" "), frame, 0, 0))
            if element.word.inner is not None and element.word.text is not None and element.word.literal:
                items.extend(element.items)
            elif element.items:
                items.extend(_sited(item) for item in element.items)
            else:
                items.append(Item(element.value, frame, 0, 0))
        return frame_of(items, elements[0].word.site)

    def by_string(self, base: str, elements: list[Element]) -> tuple[Status] | None:
        """Programs that take a command line as one word; None where this is not such a call."""
        texts = [element.value.text for element in elements]
        if base == "tmux":
            return self.tmux(elements, texts)
        for index, text in enumerate(texts[1:-1], 1):
            if text in ("-c", "--command"):
                if base == "flock" and index < 2:
                    return None
                return (self.joined_words([elements[index + 1]]),)
        return None

    def tmux(self, elements: list[Element], texts: list[str | None]) -> tuple[Status] | None:
        """`tmux new-session … COMMAND` and `tmux send-keys … COMMAND Enter`."""
        subcommands = ("new-session", "new", "new-window", "neww", "split-window", "splitw", "send-keys", "send")
        found = next((index for index, text in enumerate(texts) if text in subcommands), None)
        if found is None:
            return None
        valued = {"-c", "-e", "-F", "-n", "-s", "-t", "-x", "-y", "-l", "-p", "-N"}
        if texts[found] in ("send-keys", "send"):
            valued = {"-c", "-N", "-t"}
        index = found + 1
        while index < len(texts):
            text = texts[index] or ""
            if not text.startswith("-") or len(text) < 2:
                break
            index += 2 if text in valued or (text[1:2] != "-" and f"-{text[-1]}" in valued) else 1
        rest = elements[index:]
        if texts[found] in ("send-keys", "send"):
            keys = {"Enter", "C-m", "KPEnter", "C-j"}
            rest = [element for element in rest if element.value.text not in keys]
            return (self.joined_words(rest[:1]),) if rest else None
        return (self.joined_words(rest),) if rest else None

    def substitute(self, script: list[AndOr]) -> Value:
        """The output of `$(…)`."""
        return self.captured(lambda: self.statements(script))

    def substitute_text(self, part: Part) -> Value:
        """The output of backquotes."""
        inner = Embedded(part.text, part.offsets, None, "within backquotes")
        unknowns = self.frame.unknowns
        if self.frame.opaque is not None:
            frame = Frame(part.text, None, self.frame.opaque, unknowns)
        elif self.frame.embedded is not None:
            frame = Frame(part.text, inner.within(self.frame.embedded), None, unknowns)
        else:
            frame = Frame(part.text, inner, None, unknowns)
        return self.captured(lambda: self.run_frame(frame))

    def captured(self, action: Callable[[], Status]) -> Value:
        """What an action prints, in a subshell."""
        self.calls += 1
        if self.calls > _CALL_LIMIT:
            self.calls -= 1
            return unknown("substitutions nested too deeply")
        saved_sink, saved_input = self.sink, self.input
        self.sink = []
        sink = self.sink
        try:
            self.substituted = self.in_subshell(action)
        finally:
            self.sink, self.input = saved_sink, saved_input
            self.calls -= 1
        value = joined(sink)
        if value.text is not None:
            return known(value.text.rstrip("\n"))
        if isinstance(value.pieces[-1], str):
            stripped = value.pieces[-1].rstrip("\n")
            return Value((*value.pieces[:-1], stripped) if stripped else value.pieces[:-1])
        return value

    def call(self, name: str, arguments: list[Element]) -> Status:
        """Call a function."""
        node, frame = self.state.functions[name]
        self.called.add(id(node))
        self.calls += 1
        if self.calls > _CALL_LIMIT:
            self.calls -= 1
            self.incomplete.append("functions call each other too deeply")
            return None
        state = self.state
        positional = state.positional
        state.positional = tuple(arguments)
        state.scopes = (*state.scopes, {})
        saved_frame, self.frame = self.frame, frame
        depth = len(state.scopes)
        try:
            return self.statements(node.body)
        except Leave as leave:
            if leave.kind != "return":
                return None
            return leave.status
        finally:
            self.frame = saved_frame
            self.calls -= 1
            # A path within may have put another state in the place of this one.
            state = self.state
            state.positional = positional
            while len(state.scopes) >= depth:
                for key, old in state.scopes[-1].items():
                    if old is None:
                        state.variables.pop(key, None)
                    else:
                        state.variables[key] = old
                state.scopes = state.scopes[:-1]

    def write(self, value: Value) -> None:
        """Output of a builtin."""
        if self.sink is not None:
            self.sink.append(value)


# Helpers


def _merge_elements(
    first: tuple[Element, ...] | None, second: tuple[Element, ...] | None
) -> tuple[Element, ...] | None:
    """What two lists have in common at their beginnings, then what may be any number of words."""
    if first is None or second is None:
        return None
    common = 0
    while common < min(len(first), len(second)) and (
        first[common] is second[common] or first[common].value.pieces == second[common].value.pieces
    ):
        common += 1
    if common == len(first) == len(second):
        return first
    longer = first if len(first) > common else second
    return (*first[:common], _many(_REASON_PATHS, longer[common].word.span))


def _sited(item: Item) -> Item:
    """An item of a list element, where it is to be read as a script: it keeps its own place."""
    if item.element is not None and item.element.items and len(item.element.items) == 1 and item.element.word.inner:
        return item.element.items[0]
    return item


def _last_word_end(node: Node) -> int:
    ends = [word.end for word in node.words or ()] or [node.start]
    return max(ends)


def _separator(text: str, node: Node, end: int) -> str:
    """What stands between two lines of a command: as in its last continuation, one blank without any."""
    words = node.words or []
    for before, after in zip(reversed(words[:-1]), reversed(words[1:]), strict=True):
        gap = text[before.end : after.start]
        at = gap.rfind("\\\n")
        if at >= 0:
            indentation = gap[at + 2 :]
            return " \\\n" + (indentation if not indentation.strip(" \t") else "")
    del end
    return " "


def _skip(base: str, launcher: Launcher, elements: list[Element]) -> tuple[list[str], int | None, list[Element]]:
    """The options of a launcher, where its command begins (None: it is none of the kind), and its assignments."""
    options: list[str] = []
    settings: list[Element] = []
    operands = launcher.operands
    subcommand = bool(launcher.subcommand)
    accepts_options = True
    dashed = launcher.dashed
    index = 1
    while index < len(elements):
        text = elements[index].value.text
        if text is None:
            prefix = elements[index].value.prefix
            if launcher.assigns and "=" in prefix and not prefix.startswith("-"):
                settings.append(elements[index])
                index += 1
                continue
            if operands or dashed or (accepts_options and prefix.startswith("-")):
                if elements[index].many:
                    return options, None, settings
                operands -= operands > 0 and not prefix.startswith("-")
                index += 1
                continue
            return options, None if subcommand else index, settings
        if accepts_options and text == "--":
            accepts_options = dashed = False
        elif accepts_options and text.startswith("-") and len(text) > 1:
            options.append(text)
            if text in launcher.valued:
                index += 1
                if index < len(elements):
                    options.append(elements[index].value.text or "")
            elif not text.startswith("--"):
                for position, letter in enumerate(text[1:], 2):
                    if f"-{letter}" in launcher.valued:
                        index += position == len(text)
                        break
        elif accepts_options and base == "env" and text == "-":
            options.append(text)
        elif subcommand:
            if text != launcher.subcommand:
                return options, None, settings
            subcommand = False
        elif dashed:
            pass
        elif operands:
            operands -= 1
        elif launcher.assigns and "=" in text[1:]:
            settings.append(elements[index])
        else:
            return options, index, settings
        index += 1
    return options, None, settings


def _after_equals(assignment: Assignment) -> Assignment:
    """The assignment of `env NAME=value`: its value is what stands after the equals sign."""
    word = assignment.value
    at = len(assignment.name) + 1
    text = None if word.text is None else word.text[at:]
    guess = None if word.guess is None else word.guess[at:]
    span = word.span
    if word.inner is not None and word.text is not None and at <= len(word.text):
        span = Span(word.inner.offsets[at] if at < len(word.text) else span.end, span.end)
    return replace(
        assignment, value=replace(word, text=text, guess=guess, prefix=word.prefix[at:], span=span, inner=None)
    )


def _xargs(rest: list[Element], marker: str | None, elements: list[Element], place: Span) -> list[Element]:
    """The words of a command that `xargs` starts: its own, and those that are read."""
    reason = "the words that xargs reads"
    if marker is None:
        return [*rest, _many(reason, place)]
    hole = marker[2:] or next(
        (
            elements[index + 1].value.text or "{}"
            for index, element in enumerate(elements[:-1])
            if element.value.text == "-I"
        ),
        "{}",
    )
    result: list[Element] = []
    for element in rest:
        text = element.value.text
        if text is None or hole not in text:
            result.append(element)
            continue
        before = text.partition(hole)[0]
        pieces = (before, Unknown(reason)) if before else (Unknown(reason),)
        word = replace(element.word, text=None, reason=reason, prefix=before, guess=None, inner=None, literal=False)
        result.append(Element(Value(pieces), word))
    return result


def _path_part(name: str, texts: list[str]) -> Value | None:
    """The output of `basename PATH [SUFFIX]` and `dirname PATH`."""
    arguments = texts[1:]
    if not arguments or any(argument.startswith("-") for argument in arguments):
        return None
    path = arguments[0]
    stripped = path.rstrip("/")
    if name == "basename" and len(arguments) <= 2:
        result = stripped.rsplit("/", 1)[-1] if stripped else path[:1]
        suffix = arguments[1] if len(arguments) == 2 else ""
        if suffix and result != suffix:
            result = result.removesuffix(suffix)
        return known(result + "\n")
    if name == "dirname" and len(arguments) == 1:
        if not stripped:
            return known("/\n" if path else ".\n")
        folder, slash, _ = stripped.rpartition("/")
        return known((folder.rstrip("/") or "/") + "\n" if slash else ".\n")
    return None
