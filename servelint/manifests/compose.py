"""Docker Compose files: the services that serve a model.

Follows compose-spec/compose-go: interpolation with the `.env` beside the file, strings of `command` and `entrypoint`
cut as github.com/mattn/go-shellwords cuts them, `environment` over `env_file`, `extends`, and, for a file that only
adds to another, the service of the same name in the file it lies beside.
"""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH119, PTH120
from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping

from servelint.files.context import Context
from servelint.formats.env_file import read_env
from servelint.formats.filling import UNKNOWN, Filled
from servelint.formats.interpolation import interpolate
from servelint.formats.problem import Problem
from servelint.formats.shell_words import Word, split_words
from servelint.formats.yaml import Node, YamlFile, embedded, embedded_late, entries, get, is_templated, read_yaml
from servelint.manifests.containers import servings_of_container, version_setting
from servelint.manifests.env_file import settings_elsewhere
from servelint.manifests.serving import Argument, Manifest, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import record, replace
from servelint.text import Source, Span

# A service that extends another that extends another: deeper than this nobody builds them.
_DEEPEST = 8
# The names that Compose looks for by itself, and those that it lays over them.
_BASE_NAMES = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")


@record
class Service:
    """A service with the file that it stands in and the variables that fill that file in."""

    file: YamlFile
    path: str
    node: Node
    variables: Mapping[str, str | None]


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a Compose file; None where no service in it serves a model with a known engine."""
    file = read_yaml(source.text)
    broken = any(problem.sort == "syntax" for problem in file.problems)
    if broken and (is_templated(source.text) or "compose" not in os.path.basename(path).lower()):
        return None
    root = file.documents[0] if file.documents else None
    services = get(root, "services")
    writer = YamlWriter(file)
    servings: list[Serving] = []
    problems: list[Problem] = []
    variables = _variables(path, context)
    for key, node in entries(services):
        if node.kind != "mapping":
            continue
        service = Service(file, path, node, variables)
        found, faults = _servings(service, key, context, writer)
        servings.extend(found)
        if found:
            problems.extend(faults)
    if not servings and not broken:
        return None
    return Manifest(
        path, "compose", source.text, "yaml", tuple(servings), (*file.problems, *problems), file.comments,
        {"document": file},
    )  # fmt: skip


def _variables(path: str, context: Context) -> Mapping[str, str | None]:
    """The `.env` that Compose fills its file in from. What the caller's environment holds is not known."""
    source = context.read(os.path.join(os.path.dirname(path), ".env"))
    if source is None:
        return {}
    return {entry.name: entry.value for entry in read_env(source.text, "compose").entries if entry.is_set}


class _Reader:
    """Reads the values of one file's services; keeps what Compose refuses in them."""

    __slots__ = ("context", "problems", "service")

    def __init__(self, service: Service, context: Context) -> None:
        self.service = service
        self.context = context
        self.problems: list[Problem] = []

    def fill(self, node: Node) -> Filled:
        """A scalar with its variables filled in."""
        file = self.service.file
        inner = embedded_late(file, node) if "$" not in node.text else embedded(file, node)
        filled = interpolate(inner, self.service.variables)
        if filled.invalid is not None and node.alias_span is None:
            shown = inner.text[filled.invalid.start : filled.invalid.end]
            self.problems.append(
                Problem(
                    f"Compose refuses this: {shown[:40]!r} is no variable, and a dollar sign of its own is written $$",
                    inner.host_span(filled.invalid),
                )
            )
        return filled

    def text(self, node: Node | None) -> str | None:
        """A scalar's text, None where there is none or a variable in it is not known."""
        if node is None or node.kind != "scalar":
            return None
        filled = self.fill(node)
        return None if filled.names else filled.inner.text

    def words(self, node: Node | None) -> list[Argument] | None:
        """The words of a `command` or an `entrypoint`; None where there is none."""
        if node is None or _is_null(node):
            return None
        if node.kind == "sequence":
            return [self._item(item) for item in node.items]
        if node.kind != "scalar":
            return [Argument(None, node.span, "neither a text nor a list", count=None, form="yaml")]
        filled = self.fill(node)
        split = split_words(filled.inner.text, 0, "compose")
        if split.problem is not None:
            self.problems.append(replace(split.problem, span=filled.inner.host_span(split.problem.span)))
        return [_word(word, filled) for word in split.words]

    def _item(self, node: Node) -> Argument:
        if node.kind != "scalar":
            return Argument(None, node.span, "not a string", form="yaml")
        filled = self.fill(node)
        text = filled.inner.text
        if filled.names:
            return Argument(
                None, node.span, _from_outside(filled), text.partition(UNKNOWN)[0], form="yaml", literal=False,
                suffix=text.rpartition(UNKNOWN)[2], guess=filled.guess(0, text),
            )  # fmt: skip
        return Argument(text, node.span, inner=filled.inner, literal=not filled.supplied, form="yaml", node=node)


def _word(word: Word, filled: Filled) -> Argument:
    """A word of a string that Compose splits, seen from the file."""
    text = word.text or ""
    span = filled.inner.host_span(word.span)
    literal = filled.is_literal(word.span)
    if UNKNOWN in text:
        # A variable alone may be any number of words: it is filled in before the string is split.
        count = None if text == UNKNOWN and not word.quote else 1
        return Argument(
            None, span, _from_outside(filled), text.partition(UNKNOWN)[0], None, count, False, "string", None,
            text.rpartition(UNKNOWN)[2], filled.guess(word.span.start, text),
        )  # fmt: skip
    inner = word.inner.within(filled.inner) if word.inner is not None else None
    return Argument(text, span, inner=inner, literal=literal, form="string")


def _is_null(node: Node) -> bool:
    return node.kind == "scalar" and node.style == "plain" and node.text in ("", "~", "null", "Null", "NULL")


def _servings(service: Service, key: Node, context: Context, writer: YamlWriter) -> tuple[list[Serving], list[Problem]]:
    layers = list(_layers(service, key.text, context, 0))
    here = key.span
    image = _image(layers, here)
    environment, hidden = _environment(layers, context, here)
    entry, entry_layer = _words(layers, "entrypoint", here)
    words, _ = _words(layers, "command", here)
    if entry is not None and words is not None and _depth(layers, "command") > entry_layer:
        # An entry point of one's own takes the command of what is extended away, as it takes the image's.
        words = None
    base = Serving(
        service.path, here, "compose", "", writer, version_setting(image), image,
        environment=tuple(environment), hidden=tuple(hidden),
        facts={"document": service.file, "service": key.text, "container": service.node},
    )  # fmt: skip
    found = list(servings_of_container(base, entry, words or []))
    return found, list(dict.fromkeys(layers[0].problems))


def _depth(layers: list[_Reader], key: str) -> int:
    """How far from the service the value that holds stands; the number of layers where none has one."""
    for index, layer in enumerate(layers):
        node = get(layer.service.node, key)
        if node is not None and not _is_null(node):
            return index
    return len(layers)


def _words(layers: list[_Reader], key: str, here: Span) -> tuple[list[Argument] | None, int]:
    """The words that hold, and how far away they stand; those of another file are placed at this service."""
    depth = _depth(layers, key)
    if depth == len(layers):
        return None, depth
    words = layers[depth].words(get(layers[depth].service.node, key))
    if words is not None and layers[depth].service.path != layers[0].service.path:
        words = [replace(word, span=here, inner=None, literal=False, node=None) for word in words]
    return words, depth


def _layers(service: Service, name: str, context: Context, depth: int) -> Iterator[_Reader]:
    """The service, then what it extends, then the service of that name in the file that this one adds to."""
    yield _Reader(service, context)
    if depth >= _DEEPEST:
        return
    extends = get(service.node, "extends")
    if extends is not None:
        base = _extended(service, extends, context)
        if base is not None:
            yield from _layers(base[0], base[1], context, depth + 1)
            return
    if depth == 0 and get(service.node, "image") is None and get(service.node, "build") is None:
        below = _below(service, name, context)
        if below is not None:
            yield from _layers(below, name, context, depth + 1)


def _extended(service: Service, extends: Node, context: Context) -> tuple[Service, str] | None:
    if extends.kind == "scalar":
        name, path = extends.text, None
    else:
        named, file = get(extends, "service"), get(extends, "file")
        if named is None or named.kind != "scalar":
            return None
        name, path = named.text, file.text if file is not None and file.kind == "scalar" else None
    if path is None:
        services = get(service.file.documents[0] if service.file.documents else None, "services")
        node = get(services, name)
        if node is None or node.kind != "mapping" or node is service.node:
            return None
        return replace(service, node=node), name
    if path.startswith(("/", "~")) or "$" in path:
        return None
    found = _service_in(os.path.normpath(os.path.join(os.path.dirname(service.path), path)), name, context)
    return None if found is None else (found, name)


def _below(service: Service, name: str, context: Context) -> Service | None:
    """The service of that name in the folder's main Compose file, where this file is another one."""
    folder, own = os.path.split(service.path)
    for candidate in _BASE_NAMES:
        if candidate == own or candidate not in context.names(folder):
            continue
        found = _service_in(os.path.join(folder, candidate), name, context)
        if found is not None:
            return found
    return None


def _service_in(path: str, name: str, context: Context) -> Service | None:
    source = context.read(path)
    if source is None:
        return None
    file = read_yaml(source.text)
    node = get(get(file.documents[0] if file.documents else None, "services"), name)
    if node is None or node.kind != "mapping":
        return None
    return Service(file, path, node, _variables(path, context))


def _image(layers: list[_Reader], here: Span) -> Setting | None:
    depth = _depth(layers, "image")
    node = get(layers[depth].service.node, "image") if depth < len(layers) else None
    if node is None or node.kind != "scalar":
        return None
    filled = layers[depth].fill(node)
    span = node.span if layers[depth].service.path == layers[0].service.path else here
    if filled.names:
        known = filled.inner.text.partition(UNKNOWN)[0]
        return Setting("image", None, span, span, "image", data=known, reason=_from_outside(filled))
    return Setting("image", filled.inner.text, span, span, "image")


def _from_outside(filled: Filled) -> str:
    return f"${filled.names[0]} comes from the environment around"


def _environment(layers: list[_Reader], context: Context, here: Span) -> tuple[list[Setting], list[str]]:
    """The container's variables: `environment` over `env_file`, a service's own over those of what it extends."""
    found: dict[str, Setting] = {}
    hidden: list[str] = []
    for read_layer in (lambda layer: _of_files(layer, context, hidden), _of_attribute):
        for layer in reversed(layers):
            elsewhere = layer.service.path != layers[0].service.path
            for setting in read_layer(layer):
                found[setting.name] = replace(setting, span=here, whole=here, data=None) if elsewhere else setting
    return list(found.values()), hidden


def _of_attribute(layer: _Reader) -> list[Setting]:
    node = get(layer.service.node, "environment")
    found: list[Setting] = []
    if node is None:
        return found
    if node.kind == "mapping":
        return [
            _variable(layer, key.text, value, Span(key.begin, max(value.end, key.end))) for key, value in entries(node)
        ]
    for item in node.items if node.kind == "sequence" else ():
        if item.kind != "scalar":
            continue
        filled = layer.fill(item)
        name, equals, value = filled.inner.text.partition("=")
        known = bool(equals) and UNKNOWN not in value
        span = item.span
        if equals and not filled.supplied:
            start = len(name) + 1
            span = filled.inner.host_span(Span(start, len(filled.inner.text))) if value else item.span
        reason = None if known else "comes from the environment around"
        found.append(Setting(name, value if known else None, span, item.span, f"environment {name}", reason=reason))
    return found


def _variable(layer: _Reader, name: str, value: Node, whole: Span) -> Setting:
    origin = f"environment {name}"
    if value.kind != "scalar" or _is_null(value):
        return Setting(name, None, value.span, whole, origin, reason="comes from the environment around")
    filled = layer.fill(value)
    if filled.names:
        return Setting(name, None, value.span, whole, origin, reason="comes from the environment around")
    data = value if not filled.supplied and layer.service.path else None
    return Setting(name, filled.inner.text, value.span, whole, origin, data=data)


def _of_files(layer: _Reader, context: Context, hidden: list[str]) -> list[Setting]:
    """The variables of `env_file`; each is placed where its file is named."""
    node = get(layer.service.node, "env_file")
    found: list[Setting] = []
    if node is None:
        return found
    for item in node.items if node.kind == "sequence" else (node,):
        named = get(item, "path") if item.kind == "mapping" else item
        form = get(item, "format") if item.kind == "mapping" else None
        path = layer.text(named)
        if named is None or path is None or path.startswith(("/", "~")):
            hidden.append("the variables of an env_file were not read")
            continue
        source = context.read(os.path.normpath(os.path.join(os.path.dirname(layer.service.path), path)))
        if source is None:
            hidden.append(f"the variables in {path} were not read")
            continue
        dialect = "docker" if form is not None and form.text == "raw" else "compose"
        found += settings_elsewhere(source.text, dialect, path, named.span)
    return found
