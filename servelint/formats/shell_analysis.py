"""What can be told from a script's syntax tree alone, without running it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from servelint.formats.shell_expand import Frame
from servelint.formats.shell_syntax import DECLARERS, AndOr, Node, Part, WordNode


def plain_name(node: WordNode) -> str:
    """A word that is written without quotes or expansions (a backslash before the first character aside)."""
    if any(part.kind not in ("text", "escaped") for part in node.parts):
        return ""
    return "".join(part.text for part in node.parts)


def substitutes(parts: Iterable[Part]) -> bool:
    return any(part.kind in ("command", "backquote") or substitutes(part.parts) for part in parts)


def is_constant(condition: list[AndOr]) -> bool:
    """Whether a loop's condition is the same for ever: `true`, `:`, `[ 1 ]`, `((1))`."""
    if len(condition) != 1 or len(condition[0].pipelines) != 1 or len(condition[0].pipelines[0].commands) != 1:
        return False
    node = condition[0].pipelines[0].commands[0]
    if node.kind == "arithmetic":
        return all(part.kind == "text" and part.text.strip().isdigit() for part in node.parts[0])
    if node.kind not in ("simple", "[[") or node.assignments or not node.words:
        return False
    if any(part.kind not in ("text", "escaped", "single", "operator") for word in node.words for part in word.parts):
        return False
    return node.kind == "[[" or plain_name(node.words[0]) in ("true", ":", "[", "test", "false")


def _nodes(items: Iterable[AndOr], functions: Mapping[str, tuple[Node, Frame]]) -> list[Node]:
    """All commands within a list, those of the functions that it calls too; not those of substitutions."""
    result: list[Node] = []
    waiting: list[AndOr] = list(items)
    called: set[str] = set()
    while waiting:
        item = waiting.pop()
        for pipeline in item.pipelines:
            for node in pipeline.commands:
                result.append(node)
                waiting.extend(node.body)
                for condition, body in node.clauses:
                    waiting.extend([*condition, *body])
                name = plain_name(node.words[0]) if node.words else ""
                if name in functions and name not in called:
                    called.add(name)
                    waiting.extend(functions[name][0].body)
    return result


def program_names(items: Iterable[AndOr]) -> set[str]:
    """The plainly written names of all programs within a list."""
    return {plain_name(node.words[0]) for node in _nodes(items, {}) if node.words and node.kind == "simple"}


def assigned_in_arithmetic(text: str) -> set[str]:
    """Names that an arithmetic expression may give a value."""
    names: set[str] = set()
    name = ""
    for character in text + " ":
        if character.isalnum() or character == "_":
            name += character
            continue
        if name and name.isidentifier():
            names.add(name)
        name = ""
    return names if "=" in text or "++" in text or "--" in text else set()


def assigned_names(items: Iterable[AndOr], functions: Mapping[str, tuple[Node, Frame]]) -> set[str]:
    """The variables that a list of commands may give a value to."""
    names: set[str] = set()
    for node in _nodes(items, functions):
        names.update(assign.name for assign in node.assignments)
        if node.kind in ("for", "select"):
            names.add(node.name)
        for expression in node.parts:
            names |= assigned_in_arithmetic("".join(part.text for part in expression if part.kind == "text"))
        words = node.words or []
        for word in words:
            if word.assignment is not None:
                names.add(word.assignment.name)
            names |= _assigned_in_parts(word.parts)
        for assign in node.assignments:
            if assign.value is not None:
                names |= _assigned_in_parts(assign.value.parts)
        command = plain_name(words[0]) if words else ""
        if command in ("read", "unset", "mapfile", "readarray", "getopts", "printf", "let", *DECLARERS):
            for word in words[1:]:
                name = plain_name(word).partition("=")[0].rstrip("+-*/%")
                if name.isidentifier():
                    names.add(name)
            if command == "getopts":
                names |= {"OPTARG", "OPTIND"}
    return names


def _assigned_in_parts(parts: Iterable[Part]) -> set[str]:
    """What `${name:=…}` and `$((name = …))` in a word may set."""
    names: set[str] = set()
    for part in parts:
        if part.kind == "parameter" and part.operator in (":=", "="):
            names.add(part.text)
        if part.kind == "arithmetic":
            names |= assigned_in_arithmetic("".join(inner.text for inner in part.parts if inner.kind == "text"))
        names |= _assigned_in_parts(part.parts)
    return names
