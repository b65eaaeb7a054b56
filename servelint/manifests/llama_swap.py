"""llama-swap's configuration: the command of each model, and the fields that it forces into requests.

Sources: mostlygeek/llama-swap internal/config (0bdb3720; load.go, macros.go, commands.go): lines of a command that
begin with `#` are dropped, macros are filled in, such lines of theirs are dropped too, a backslash at the end of a line
becomes a blank, and the rest is split as POSIX shells split words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from servelint.files.context import Context
from servelint.formats.filling import UNKNOWN, Filled, Filling
from servelint.formats.problem import Problem
from servelint.formats.shell_words import Word, split_words
from servelint.formats.yaml import Node, YamlFile, embedded, entries, find, get, read_yaml, value
from servelint.formats.yaml_types import plain_type, typed
from servelint.manifests.containers import servings_of_words
from servelint.manifests.serving import Argument, Manifest, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import replace
from servelint.text import Embedded, Source, Span

# Macros that hold macros: deeper than this the configuration is refused.
_DEEPEST = 8
_SET_AT_START = ("PORT", "PID")
# Any other `${…}` is text (macros.go).
_SLOT = re.compile(r"\$\{(env\.[a-zA-Z_][a-zA-Z0-9_]*|[a-zA-Z0-9_-]+)\}")


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a configuration; None where no command in it launches a known engine."""
    file = read_yaml(source.text)
    root = file.documents[0] if file.documents else None
    if root is None or root.kind != "mapping":
        return None
    models = get(root, "models")
    if models is None and all(get(node, "cmd") is not None for _, node in entries(root)):
        # A fragment that is put together with others.
        models = root
    macros = _macros(get(root, "macros"))
    writer = YamlWriter(file)
    servings: list[Serving] = []
    problems: list[Problem] = []
    for key, node in entries(models):
        command = get(node, "cmd")
        if command is None or command.kind != "scalar":
            continue
        own = {**macros, **_macros(get(node, "macros")), "MODEL_ID": key.text}
        servings.extend(_servings(path, file, writer, key, node, command, own, problems))
    if not servings:
        return None
    return Manifest(
        path, "llama-swap", source.text, "yaml", tuple(servings), (*file.problems, *problems), file.comments,
        {"document": file},
    )  # fmt: skip


def _macros(node: Node | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, held in entries(node):
        if held.kind == "scalar":
            found[key.text] = held.text
    items = node.items if node is not None and node.kind == "sequence" else ()
    for item in items:
        # A list of one-pair mappings keeps an order.
        found.update(_macros(item))
    return found


def _servings(
    path: str, file: YamlFile, writer: YamlWriter, key: Node, node: Node, command: Node, macros: Mapping[str, str],
    problems: list[Problem],
) -> Iterator[Serving]:  # fmt: skip
    filled = _filled(_without_comments(embedded(file, command), joins=False), macros)
    lines = _without_comments(filled.inner)
    split = split_words(lines.text, 0, "posix")
    words = [_argument(word, lines, filled) for word in split.words]
    environment = tuple(_environment(get(node, "env"), macros))
    facts = {
        "document": file, "container": node, "service": key.text, "forced": tuple(_forced(node, macros)),
        "forced_by": "filters.setParams",
    }  # fmt: skip
    base = Serving(path, key.span, "llama-swap", "", writer, environment=environment, facts=facts)
    found = list(servings_of_words(base, words))
    if split.problem is not None and found:
        problems.append(replace(split.problem, span=lines.host_span(split.problem.span)))
    for serving in found:
        # The model's name says where it is; a shell or a container in it points at its own words.
        yield replace(serving, span=key.span)


def _filled(source: Embedded, macros: Mapping[str, str], depth: int = 0) -> Filled:
    """A text with its macros filled in: `${name}`, `${env.NAME}`, `${PORT}`."""
    filling = Filling(source)
    _fill(filling, macros, depth)
    return filling.result()


def _fill(filling: Filling, macros: Mapping[str, str], depth: int) -> None:
    text = filling.source.text
    position = 0
    for slot in _SLOT.finditer(text):
        filling.keep(position, slot.start())
        for piece, known in _expanded(slot[1], macros, depth):
            if known:
                filling.put(piece, slot.start())
            else:
                filling.unknown(piece, slot.start())
        position = slot.end()
    filling.keep(position, len(text))


def _expanded(name: str, macros: Mapping[str, str], depth: int) -> Iterator[tuple[str, bool]]:
    """What a macro stands for: texts that are known, and names of values that are not."""
    if name in _SET_AT_START or name not in macros or depth >= _DEEPEST:
        yield name, False
        return
    text = macros[name]
    position = 0
    for slot in _SLOT.finditer(text):
        yield text[position : slot.start()], True
        yield from _expanded(slot[1], macros, depth + 1)
        position = slot.end()
    yield text[position:], True


def _without_comments(source: Embedded, joins: bool = True) -> Embedded:
    """The command without its lines that begin with `#`; where it `joins`, backslashes at ends of lines are blanks."""
    filling = Filling(source)
    position = 0
    for line in source.text.split("\n"):
        end = position + len(line)
        stripped = line.strip()
        if not stripped.startswith("#"):
            if joins and stripped.endswith("\\"):
                place = position + len(line.rstrip()) - 1
                filling.keep(position, place)
                filling.put(" ", place)
            else:
                filling.keep(position, end)
            if end < len(source.text):
                filling.keep(end, end + 1)
        position = end + 1
    return filling.result().inner


def _argument(word: Word, lines: Embedded, filled: Filled) -> Argument:
    text = word.text or ""
    span = lines.host_span(word.span)
    inner = word.inner.within(lines) if word.inner is not None else None
    if UNKNOWN in text:
        name = filled.names[0] if len(filled.names) == 1 else "a macro"
        reason = "set when the program starts" if name in _SET_AT_START else f"{name} is not known from here"
        # A macro alone may hold several options.
        count = None if text == UNKNOWN and not word.quote and name not in _SET_AT_START else 1
        if inner is not None:
            inner = replace(inner, encode=None, refusal="a macro is filled in here")
        return Argument(
            None, span, reason, text.partition(UNKNOWN)[0], inner, count, False, "string", None,
            text.rpartition(UNKNOWN)[2],
        )  # fmt: skip
    written = span.end - span.start
    literal = word.inner is not None and written >= len(text)
    return Argument(text, span, inner=inner, literal=literal, form="string")


def _environment(node: Node | None, macros: Mapping[str, str]) -> Iterator[Setting]:
    for item in node.items if node is not None and node.kind == "sequence" else ():
        if item.kind != "scalar":
            continue
        whole = _whole(item.text, macros)
        name, equals, text = whole.partition("=")
        if equals:
            known_value = None if UNKNOWN in text else text
            reason = "a macro in it is not known from here" if known_value is None else None
            yield Setting(name, known_value, item.span, item.span, f"env {name}", reason=reason)


def _whole(text: str, macros: Mapping[str, str]) -> str:
    """A text with its macros filled in; each that is not known is `UNKNOWN`."""
    pieces = _expanded("", {**macros, "": text}, 0)
    return "".join(piece if known else UNKNOWN for piece, known in pieces)


def _in_data(data: Any, macros: Mapping[str, str]) -> Any:
    """A typed value with its macros filled in; None for a text that is not known. A macro alone keeps its type."""
    if isinstance(data, list):
        return [_in_data(item, macros) for item in data]
    if not isinstance(data, str) or not _SLOT.search(data):
        return data
    made = _whole(data, macros)
    if UNKNOWN in made:
        return None
    return typed(made, plain_type(made)) if _SLOT.fullmatch(data) else made


def _forced(node: Node, macros: Mapping[str, str]) -> Iterator[Setting]:
    """The fields that `filters.setParams` puts into every request."""
    for key, field in entries(find(node, ("filters", "setParams"))):
        text = _whole(field.text, macros) if field.kind == "scalar" else None
        known = None if text is None or UNKNOWN in text else text
        whole = Span(key.begin, max(field.end, key.end))
        data = _in_data(value(field), macros)
        yield Setting(key.text, known, field.span, whole, f"filters.setParams {key.text}", data=data)
