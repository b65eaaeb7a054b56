"""Bash's builtins, as far as they change what later commands get. Source: the bash manual, chapter 4."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from servelint.formats.shell_analysis import assigned_in_arithmetic
from servelint.formats.shell_conditions import evaluate_test
from servelint.formats.shell_expand import (
    Element,
    EndOfScript,
    Leave,
    Status,
    Unknown,
    Value,
    Variable,
    joined,
    known,
    loose,
    unknown,
)
from servelint.formats.shell_launchers import HARMLESS_EVALUATIONS, HARMLESS_SOURCES
from servelint.formats.shell_values import echo_escapes, format_printf
from servelint.records import replace

if TYPE_CHECKING:
    from servelint.formats.shell_run import Runner


def _texts(elements: Sequence[Element]) -> list[str] | None:
    """The texts of words, None where one is unknown or may be several."""
    result = [element.value.text for element in elements]
    if any(element.many for element in elements):
        return None
    known_texts = [text for text in result if text is not None]
    return known_texts if len(known_texts) == len(result) else None


def _succeed(_runner: Runner, _elements: list[Element]) -> Status:
    return True


def _fail(_runner: Runner, _elements: list[Element]) -> Status:
    return False


def _cannot_tell(_runner: Runner, _elements: list[Element]) -> Status:
    return None


def _echo(runner: Runner, elements: list[Element]) -> Status:
    arguments = elements[1:]
    newline, escapes = True, False
    while arguments:
        text = arguments[0].value.text
        if text is None or len(text) < 2 or text[0] != "-" or set(text[1:]) - set("neE"):
            break
        newline = newline and "n" not in text
        escapes = text.rindex("e") > text.rfind("E") if "e" in text else (escapes and "E" not in text)
        arguments = arguments[1:]
    values: list[Value] = []
    for element in arguments:
        if values:
            values.append(known(" "))
        values.append(element.value)
    value = joined(values)
    if escapes or "posix" in runner.state.options:
        text = value.text
        if text is None:
            value = unknown(value.reason or "", None)
        elif "\\" in text and not escapes:
            value = unknown("`echo` treats backslashes differently from shell to shell")
        else:
            text, ended = echo_escapes(text)
            newline = newline and not ended
            value = known(text)
    runner.write(joined([value, known("\n")]) if newline else value)
    return True


def _printf(runner: Runner, elements: list[Element]) -> Status:
    arguments = elements[1:]
    name = None
    if len(arguments) > 1 and arguments[0].value.text == "-v":
        name = arguments[1].value.text or ""
        arguments = arguments[2:]
    if arguments and arguments[0].value.text == "--":
        arguments = arguments[1:]
    template = arguments[0].value.text if arguments else None
    value: Value | None = None
    if template in ("%s", "%s\n", "%s\\n") and not any(element.many for element in arguments):
        end = "" if template == "%s" else "\n"
        value = joined(piece for element in arguments[1:] for piece in (element.value, known(end)))
        if len(arguments) == 1:
            value = known(end)
    elif template is not None:
        texts = _texts(arguments[1:])
        text = None if texts is None else format_printf(template, texts)
        value = None if text is None else known(text)
    if value is None:
        value = unknown("the output of printf")
    if name is not None:
        if name.isidentifier():
            runner.assign(name, value)
        return True
    runner.write(value)
    return True


def _set(runner: Runner, elements: list[Element]) -> Status:
    state = runner.state
    index = 1
    while index < len(elements):
        text = elements[index].value.text
        if text is None:
            break
        if text == "--":
            state.positional = tuple(elements[index + 1 :])
            return True
        if text in ("-", "+") or text[:1] not in "-+" or not text:
            break
        index += 1
        letters = set(text[1:])
        if "o" in letters and index < len(elements):
            option = elements[index].value.text
            index += 1
            letter = {"errexit": "e", "nounset": "u", "allexport": "a", "noglob": "f"}.get(option or "", option or "")
            letters = (letters - {"o"}) | {letter}
        effective = letters & {"e", "u", "a", "f", "pipefail", "posix"}
        state.options = state.options | effective if text[0] == "-" else state.options - effective
    if index < len(elements):
        state.positional = tuple(elements[index:])
    return True


def _shift(runner: Runner, elements: list[Element]) -> Status:
    state = runner.state
    count: str | None = elements[1].value.text if len(elements) > 1 else "1"
    if state.positional is None:
        return None
    if count is None or not count.isdigit():
        state.positional = None
        return None
    wanted = int(count)
    if any(element.many for element in state.positional[:wanted]):
        state.positional = None
        return None
    if wanted > len(state.positional):
        return False
    state.positional = state.positional[wanted:]
    return True


def _unset(runner: Runner, elements: list[Element]) -> Status:
    functions = any(element.value.text == "-f" for element in elements)
    for element in elements[1:]:
        text = element.value.text
        if text is None:
            runner.state.sourced = "an `unset` of names that cannot be known"
        elif functions:
            runner.state.functions.pop(text, None)
        elif text.isidentifier():
            runner.state.variables[text] = Variable(None)
        elif "[" in text:
            name = text.partition("[")[0]
            if name in runner.state.variables:
                runner.state.variables[name] = Variable(None, True, None)
    return True


def _read(runner: Runner, elements: list[Element]) -> Status:
    raw = False
    plain = True
    names: list[str] = []
    index = 1
    while index < len(elements):
        text = elements[index].value.text
        index += 1
        if text is None:
            plain = False
            continue
        if text.startswith("-") and len(text) > 1 and not names:
            raw = raw or "r" in text
            letter = text[1:].lstrip("rse")[:1]
            if letter and letter in "adinNptu":
                attached = text[1:].lstrip("rse")[1:]
                if letter == "a":
                    name = attached or (elements[index].value.text if index < len(elements) else "")
                    runner.state.variables[name or ""] = Variable(None, True, None)
                if letter not in "p":
                    plain = False
                index += not attached
            continue
        names.append(text)
    given = runner.input.value
    line = given.text if given is not None else None
    if not plain or line is None:
        for name in names or ["REPLY"]:
            runner.state.variables[name] = Variable(unknown("read when it runs"))
        if given is not None and not given.pieces:
            return False
        return None
    if not line:
        for name in names or ["REPLY"]:
            runner.assign(name, Value())
        return False
    runner.spend(len(line))
    first, newline, rest = line.partition("\n")
    runner.input.value = known(rest)
    runner.input.frame = None
    if "\\" in first and not raw:
        for name in names or ["REPLY"]:
            runner.forget(name)
        return None
    if not names:
        runner.assign("REPLY", known(first))
        return bool(newline)
    value = runner.lookup("IFS")
    separators = " \t\n" if value is None else value.text
    if separators is None:
        for name in names:
            runner.forget(name)
        return bool(newline)
    for name, text in zip(names, _read_fields(first, separators, len(names)), strict=True):
        runner.assign(name, known(text))
    return bool(newline)


def _read_fields(line: str, separators: str, count: int) -> list[str]:
    """A line cut for so many variables: the last one gets the rest, without the blanks around it."""
    blanks = "".join(character for character in separators if character in " \t\n")
    others = "".join(character for character in separators if character not in " \t\n")
    rest = line.lstrip(blanks) if blanks else line
    result: list[str] = []
    for _ in range(count - 1):
        end = next((index for index, character in enumerate(rest) if character in separators), len(rest))
        result.append(rest[:end])
        rest = rest[end:].lstrip(blanks) if blanks else rest[end:]
        if rest and rest[0] in others:
            rest = rest[1:].lstrip(blanks) if blanks else rest[1:]
    rest = rest.rstrip(blanks) if blanks else rest
    if rest and rest[-1] in others and not any(character in separators for character in rest[:-1]):
        rest = rest[:-1]  # one field with its delimiter
    return [*result, rest]


def _mapfile(runner: Runner, elements: list[Element]) -> Status:
    name = elements[-1].value.text if len(elements) > 1 else "MAPFILE"
    lines: tuple[Element, ...] | None = None
    if len(elements) == 3 and elements[1].value.text == "-t" and runner.input.value is not None:
        text = runner.input.value.text
        if text is not None:
            lines = tuple(loose(known(line)) for line in text.removesuffix("\n").split("\n")) if text else ()
    runner.state.variables[name or "MAPFILE"] = Variable(None, True, lines)
    return True


def _getopts(runner: Runner, elements: list[Element]) -> Status:
    for name in (elements[2].value.text if len(elements) > 2 else "", "OPTARG", "OPTIND"):
        if name:
            runner.state.variables[name] = Variable(unknown("an option of the script", None))
    return None


def _let(runner: Runner, elements: list[Element]) -> Status:
    number: int | None = 0
    for element in elements[1:]:
        text = element.value.text
        number = None if text is None else runner.number(text)
        if number is None:
            for name in assigned_in_arithmetic(text or ""):
                runner.forget(name)
    return None if number is None else number != 0


def _eval(runner: Runner, elements: list[Element]) -> Status:
    arguments = elements[1:]
    if not arguments:
        return True
    reasons = [element.value.reason or "" for element in arguments]
    if any(element.value.text is None and len(element.value.pieces) == 1 for element in arguments[:1]):
        program = reasons[0].removeprefix("the output of ")
        if program not in HARMLESS_EVALUATIONS:
            runner.state.sourced = "an `eval` of a text that cannot be known"
            runner.state.variables = {
                name: replace(variable, value=Value((Unknown("may be changed by `eval`", None),)), elements=None)
                for name, variable in runner.state.variables.items()
            }
        return None
    return runner.nested(runner.joined_frame(arguments), None, None, False, False)


def _source(runner: Runner, elements: list[Element]) -> Status:
    if len(elements) < 2:
        return False
    text = elements[1].value.text
    name = (text if text is not None else "").rsplit("/", 1)[-1]
    if text is None:
        pieces = elements[1].value.pieces
        last = pieces[-1] if pieces else ""
        name = last.rsplit("/", 1)[-1] if isinstance(last, str) else ""
    if name in HARMLESS_SOURCES:
        return None
    reason = f"the file {name} that is sourced" if name else "a file that is sourced"
    state = runner.state
    state.sourced = reason
    runner.spend(len(state.variables) * 10)
    for key, variable in list(state.variables.items()):
        guess = variable.value.guess if variable.value is not None else None
        value = None if variable.listed else Value((Unknown(f"may be set by {reason}", guess),))
        state.variables[key] = Variable(value, variable.listed, exported=variable.exported)
    return None


def _exit(_runner: Runner, elements: list[Element]) -> Status:
    text = elements[1].value.text if len(elements) > 1 else None
    raise EndOfScript(None if text is None or not text.isdigit() else text == "0")


def _return(_runner: Runner, elements: list[Element]) -> Status:
    text = elements[1].value.text if len(elements) > 1 else None
    raise Leave("return", 1, None if text is None or not text.isdigit() else text == "0")


def _leave_loop(kind: str) -> Callable[[Runner, list[Element]], Status]:
    def leave(_runner: Runner, elements: list[Element]) -> Status:
        text = elements[1].value.text if len(elements) > 1 else "1"
        raise Leave(kind, int(text) if text is not None and text.isdigit() and len(text) < 4 else 1)

    return leave


def _test(_runner: Runner, elements: list[Element]) -> Status:
    arguments = elements[1:]
    if elements[0].value.text == "[":
        if not arguments or arguments[-1].value.text != "]":
            return None
        arguments = arguments[:-1]
    if any(element.many for element in arguments):
        return None
    return evaluate_test([element.value for element in arguments])


def _shopt(runner: Runner, elements: list[Element]) -> Status:
    texts = [element.value.text for element in elements[1:]]
    named = {text for text in texts if text in ("nullglob", "failglob")}
    if named:
        if "-u" in texts:
            runner.state.options -= {"nullglob"}
        else:
            runner.state.options |= {"nullglob"}
    return True


BUILTINS: dict[str, Callable[[Runner, list[Element]], Status]] = {
    ":": _succeed,
    "true": _succeed,
    "false": _fail,
    "echo": _echo,
    "printf": _printf,
    "set": _set,
    "shift": _shift,
    "unset": _unset,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "getopts": _getopts,
    "let": _let,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "exit": _exit,
    "logout": _exit,
    "return": _return,
    "break": _leave_loop("break"),
    "continue": _leave_loop("continue"),
    "test": _test,
    "[": _test,
    "shopt": _shopt,
    "trap": _succeed,
    "umask": _succeed,
    "wait": _cannot_tell,
    "cd": _cannot_tell,
    "pushd": _cannot_tell,
    "popd": _cannot_tell,
    "pwd": _cannot_tell,
    "kill": _cannot_tell,
    "ulimit": _cannot_tell,
    "hash": _cannot_tell,
    "type": _cannot_tell,
    "alias": _succeed,
    "unalias": _succeed,
    "jobs": _cannot_tell,
    "disown": _cannot_tell,
    "bg": _cannot_tell,
    "fg": _cannot_tell,
    "dirs": _cannot_tell,
    "times": _cannot_tell,
    "enable": _cannot_tell,
    "history": _cannot_tell,
    "complete": _cannot_tell,
    "bind": _cannot_tell,
    "caller": _cannot_tell,
}
_SILENT = frozenset(
    {":", "true", "false", "set", "shift", "unset", "read", "mapfile", "readarray", "getopts", "let", "trap", "umask"}
    | {"cd", "wait", "test", "[", "shopt", "exit", "return", "break", "continue", "alias", "disown", "echo", "printf"}
    | {"eval"}
)


def _printing(
    name: str, builtin: Callable[[Runner, list[Element]], Status]
) -> Callable[[Runner, list[Element]], Status]:
    """A builtin whose output is not followed."""

    def act(runner: Runner, elements: list[Element]) -> Status:
        runner.write(unknown(f"the output of {name}"))
        return builtin(runner, elements)

    return act


BUILTINS = {name: builtin if name in _SILENT else _printing(name, builtin) for name, builtin in BUILTINS.items()}
