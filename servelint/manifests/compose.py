"""Docker Compose files: the services that serve a model.

Follows compose-spec/compose-go: interpolation with the `.env` beside the file, strings of `command` and `entrypoint`
cut as github.com/mattn/go-shellwords cuts them, `environment` over `env_file`, `extends`, and, for a file that only
adds to another, the service of the same name in the file it lies beside (override/merge.go). What a service builds
itself starts what its Dockerfile says, with the service's own words and variables over it.
"""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH119, PTH120
from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from servelint.files.context import Context
from servelint.formats.env_file import read_env
from servelint.formats.filling import UNKNOWN, Filled
from servelint.formats.interpolation import interpolate
from servelint.formats.problem import Problem
from servelint.formats.shell_words import Word, split_words
from servelint.formats.yaml import Node, YamlFile, embedded, embedded_late, entries, get, is_templated, read_yaml
from servelint.manifests.containers import image_name, servings_of_container, version_setting
from servelint.manifests.env_file import settings_elsewhere
from servelint.manifests.images import engine_of_image, known_image
from servelint.manifests.launchers import without_launchers
from servelint.manifests.serving import BY_NAME, Argument, Manifest, Refusal, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import record, replace
from servelint.text import Edit, Embedded, Source, Span

if TYPE_CHECKING:
    from servelint.manifests.dockerfile import Built

# A service that extends another that extends another: deeper than this nobody builds them.
_DEEPEST = 8
_REFUSED = "Compose refuses the string that it stands in"
# The names that Compose looks for by itself, and those that it lays over them.
_OVERRIDES = frozenset({"compose.override", "docker-compose.override"})
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
    writer = _Writer(file)
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


class _Writer(YamlWriter):
    """Writes text that Compose fills variables in: a dollar sign of its own is doubled."""

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        return super().replace(setting, [str(value).replace("$", "$$") for value in values])

    def split(self, node: Node, texts: Sequence[str]) -> tuple[Edit, ...] | Refusal:
        return super().split(node, [text.replace("$", "$$") for text in texts])


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
        if filled.invalid is not None:
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
        if filled.invalid is not None:
            return [_refused(filled, node)]
        split = split_words(filled.inner.text, 0, "compose")
        if split.problem is not None:
            self.problems.append(replace(split.problem, span=filled.inner.host_span(split.problem.span)))
            return [_refused(filled, node)]
        return [_word(word, filled) for word in split.words]

    def _item(self, node: Node) -> Argument:
        if node.kind != "scalar":
            return Argument(None, node.span, "not a string", form="yaml")
        filled = self.fill(node)
        text = filled.inner.text
        if filled.names:
            return Argument(
                None, node.span, _from_outside(filled), text.partition(UNKNOWN)[0], _uneditable(filled.inner),
                form="yaml", literal=False,
                suffix=text.rpartition(UNKNOWN)[2], guess=filled.guess(0, text),
            )  # fmt: skip
        return Argument(text, node.span, inner=filled.inner, literal=not filled.supplied, form="yaml", node=node)


def _word(word: Word, filled: Filled) -> Argument:
    """A word of a string that Compose splits, seen from the file."""
    text = word.text or ""
    span = filled.inner.host_span(word.span)
    literal = filled.is_literal(word.span)
    inner = word.inner.within(filled.inner) if word.inner is not None else None
    if UNKNOWN in text:
        # A variable alone may be any number of words: it is filled in before the string is split.
        count = None if text == UNKNOWN and not word.quote else 1
        return Argument(
            None, span, _from_outside(filled), text.partition(UNKNOWN)[0], _uneditable(inner), count, False, "string",
            None, text.rpartition(UNKNOWN)[2], filled.guess(word.span.start, text),
        )  # fmt: skip
    return Argument(text, span, inner=inner, literal=literal, form="string")


def _uneditable(inner: Embedded | None) -> Embedded | None:
    """The places of a text with values from outside in it, for a shell that reads it as a script."""
    return None if inner is None else replace(inner, encode=None, refusal="a variable is filled in here")


def _refused(filled: Filled, node: Node) -> Argument:
    """What is left of a string that Compose refuses: its beginning, to tell what it was to run."""
    return Argument(
        None, node.span, _REFUSED, filled.inner.text.partition(UNKNOWN)[0], count=None,
        literal=False, form="string",
    )  # fmt: skip


def _is_null(node: Node) -> bool:
    return node.kind == "scalar" and node.style == "plain" and node.text in ("", "~", "null", "Null", "NULL")


def _servings(service: Service, key: Node, context: Context, writer: YamlWriter) -> tuple[list[Serving], list[Problem]]:
    layers = list(_layers(service, key.text, context, 0))
    here = key.span
    image = _image(layers, here)
    environment, hidden = _environment(layers, context, here)
    entry = _words(layers, "entrypoint", here)
    words = _words(layers, "command", here)
    facts: dict[str, Any] = {"document": service.file, "service": key.text, "container": service.node}
    build = _build(layers, image, context, here)
    if build is not None:
        image = build.image
        environment = [*build.beneath(environment), *environment]
        facts["placed"] = (build.place,)
        if not entry:
            # An entry point of one's own takes the image's command away, as it does without a build.
            words = build.words if words is None else words
            entry = build.entry_point if entry is None else entry
    base = Serving(
        service.path, here, "compose", "", writer, version_setting(image), image,
        environment=tuple(environment), hidden=tuple(hidden), facts=facts,
    )  # fmt: skip
    found = list(_launched(base, entry, words or []))
    if build is not None:
        found = [_without_script(serving, build.place) for serving in found]
    engine = _NAMED_ENGINES.get(key.text.lower().replace("_", "-"))
    if not found and not entry and engine is not None and _is_hidden(service.node, image):
        found = [replace(base, engine=engine, hidden=(*hidden, BY_NAME), facts={**facts, "by_name": True})]
    return found, list(dict.fromkeys(layers[0].problems))


# Services that bear an engine's name, where their image is a variable or is built elsewhere.
_NAMED_ENGINES = {
    "vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "llamacpp": "llama.cpp", "llama-cpp": "llama.cpp",
    "llama.cpp": "llama.cpp", "llama-server": "llama.cpp", "ollama": "ollama",
}  # fmt: skip


def _is_hidden(node: Node, image: Setting | None) -> bool:
    """Whether nothing is known of the image that runs: a variable alone, or one that is built from what is not here."""
    if image is None:
        return get(node, "build") is not None
    return image.value is None and not image.data


def _launched(base: Serving, entry: Sequence[Argument] | None, words: Sequence[Argument]) -> Iterator[Serving]:
    """What the container launches; of a string that Compose refuses, what its beginning launches, with no words."""
    refused = next((word for word in (*(entry or ()), *words) if word.reason == _REFUSED), None)
    beginning: list[Argument] = []
    if refused is not None:
        parts = split_words(refused.prefix, 0, "compose").words
        beginning = [Argument(part.text, refused.span, literal=False, form="string") for part in parts]

    def legible(given: Sequence[Argument]) -> Sequence[Argument]:
        return [part for word in given for part in (beginning if word is refused else [word])]

    words = legible(words)
    if entry is not None:
        entry, words = without_launchers(legible(entry), words)
    for serving in servings_of_container(base, entry, words):
        yield serving if refused is None else replace(serving, arguments=(refused,))


def _without_script(serving: Serving, place: Span) -> Serving:
    """A script that stands in the Dockerfile is judged there."""
    if serving.span != place:
        return serving
    facts = {name: fact for name, fact in serving.facts.items() if name not in ("script", "command", "inner", "text")}
    return replace(serving, span=place, facts=facts)


def _depth(layers: list[_Reader], key: str) -> int:
    """How far from the service the value that holds stands; the number of layers where none has one."""
    for index, layer in enumerate(layers):
        node = get(layer.service.node, key)
        if node is not None and node.tag == "!reset":
            # It takes away what the layers below say, whatever value it stands before.
            return len(layers)
        if node is not None and not _is_null(node):
            return index
    return len(layers)


def _words(layers: list[_Reader], key: str, here: Span) -> list[Argument] | None:
    """The words that hold; those of another file are placed at this service."""
    depth = _depth(layers, key)
    if depth == len(layers):
        return None
    words = layers[depth].words(get(layers[depth].service.node, key))
    if words is not None and layers[depth].service.path != layers[0].service.path:
        words = _placed(words, here)
    return words


def _placed(words: Sequence[Argument], place: Span) -> list[Argument]:
    """Words of another file, placed where that one is named."""
    return [replace(word, span=place, inner=None, literal=False, node=None) for word in words]


@record
class Build:
    """What the image that a service builds starts, all of it placed at the service's `build`, which is `place`.

    The image alone is placed where the Dockerfile names it.
    """

    place: Span
    image: Setting
    entry_point: list[Argument] | None
    words: list[Argument]
    environment: tuple[Setting, ...]

    def beneath(self, given: Sequence[Setting]) -> list[Setting]:
        """The image's variables that the container keeps under those that it is given."""
        names = {setting.name for setting in given}
        return [setting for setting in self.environment if setting.name not in names]


def _build(layers: list[_Reader], image: Setting | None, context: Context, here: Span) -> Build | None:
    """What a service builds; None where it builds nothing, or from what is not within reach.

    Beside a `build`, `image` is but the name that the result gets; one that names an engine's image is believed.
    """
    name = image_name(image)
    if name and engine_of_image(name) is not None:
        return None
    depth = _depth(layers, "build")
    if depth == len(layers):
        return None
    layer = layers[depth]
    node = get(layer.service.node, "build")
    found = None if node is None else _dockerfile(layer, node, context)
    if found is None:
        return None
    path, built = found
    place = here
    if layer.service.path == layers[0].service.path:
        place = next((key.span for key, _ in entries(layer.service.node) if key.text == "build"), here)
    entry_point = None if built.entry_point is None else _placed(built.entry_point, place)
    environment = tuple(
        replace(_known(setting), span=place, whole=place, data=None, elsewhere=True) for setting in built.environment
    )
    base = replace(_known(built.image), path=path) if path else replace(_known(built.image), span=place, whole=place)
    return Build(place, base, entry_point, _placed(built.words, place), environment)


def _known(setting: Setting) -> Setting:
    """The setting without a value where a build argument that is not known from here is in it."""
    if setting.value is None or UNKNOWN not in setting.value:
        return setting
    reason = "a build argument in it comes from the environment around"
    return replace(setting, value=None, data=setting.value.partition(UNKNOWN)[0], reason=reason)


def _dockerfile(layer: _Reader, node: Node, context: Context) -> tuple[str | None, Built] | None:
    """The Dockerfile's path (None where it stands in the Compose file) and what its image starts."""
    from servelint.formats.dockerfile import read_dockerfile
    from servelint.manifests.dockerfile import built_image

    inline = get(node, "dockerfile_inline") if node.kind == "mapping" else None
    path = None
    if inline is not None and inline.kind == "scalar":
        text = layer.text(inline)
    else:
        path = _dockerfile_path(layer, node)
        source = None if path is None else context.read(path)
        text = None if source is None else source.text
    if text is None:
        return None
    document = read_dockerfile(text, _build_arguments(layer, get(node, "args")))
    target = get(node, "target") if node.kind == "mapping" else None
    index: int | None = -1
    if target is not None:
        wanted = (layer.text(target) or "").lower()
        names = [(stage.name or "").lower() for stage in document.stages]
        index = names.index(wanted) if wanted and wanted in names else None
        if index is None and wanted.isascii() and wanted.isdigit() and int(wanted) < len(names):
            index = int(wanted)
    built = None if index is None else built_image(document, index)
    return None if built is None else (path, built)


def _dockerfile_path(layer: _Reader, node: Node) -> str | None:
    """Where the Dockerfile lies; None where that is not near, or not known."""
    if node.kind == "scalar":
        folder, name = layer.text(node), "Dockerfile"
    else:
        where, named = get(node, "context"), get(node, "dockerfile")
        folder = "." if where is None else layer.text(where)
        name = "Dockerfile" if named is None else layer.text(named) or ""
    if not folder or not name or "://" in folder or folder.startswith(("git@", "/", "~")) or name.startswith("/"):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(layer.service.path), folder, name))


def _build_arguments(layer: _Reader, node: Node | None) -> dict[str, str]:
    """The build arguments; those that are not known from here hold `UNKNOWN`."""
    given: dict[str, str] = {}
    for key, worth in entries(node):
        if worth.kind == "scalar":
            given[key.text] = UNKNOWN if _is_null(worth) else layer.fill(worth).inner.text
    for item in node.items if node is not None and node.kind == "sequence" else ():
        if item.kind == "scalar":
            name, equals, text = layer.fill(item).inner.text.partition("=")
            given[name] = text if equals else UNKNOWN
    return given


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
    if depth == 0 and _adds_to_another(service):
        below = _below(service, name, context)
        if below is not None:
            yield from _layers(below, name, context, depth + 1)


def _adds_to_another(service: Service) -> bool:
    """Whether a service is but a part of the one of its name in the folder's main file."""
    if os.path.basename(service.path).rpartition(".")[0] in _OVERRIDES:
        return True
    return get(service.node, "image") is None and get(service.node, "build") is None


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
        # Who puts another image in the default's place seldom means another engine; the version is not known.
        guess = filled.guess(0, filled.inner.text)
        known = filled.inner.text.partition(UNKNOWN)[0] if guess is None else _with_tag(guess)
        return Setting("image", None, span, span, "image", data=known, reason=_from_outside(filled))
    return Setting("image", filled.inner.text, span, span, "image")


def _with_tag(image: str) -> str:
    """An image whose repository is known as a whole."""
    return image if known_image(image, False) is not None else f"{image}:"


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
