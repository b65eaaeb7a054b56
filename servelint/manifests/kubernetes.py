"""Kubernetes workloads and KServe resources: the containers in them that serve a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, YamlRefusal, embedded, get, is_templated, read_yaml, scalar_type
from servelint.formats.yaml_edit import replace_scalar, split_item
from servelint.manifests.launchers import Launch, engine_of_image, recognise
from servelint.manifests.serving import Argument, Manifest, Refusal, Serving, Setting
from servelint.manifests.versions import version_of_image
from servelint.records import record, replace
from servelint.text import Edit, Embedded, Source, Span

_TEMPLATE_PATHS: dict[str, tuple[str, ...]] = {
    "LeaderWorkerSet": ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"),
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "ReplicationController": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
_RUNTIME_KINDS = frozenset({"ServingRuntime", "ClusterServingRuntime"})
_SHELLS = frozenset({"sh", "bash", "ash", "dash"})


@record
class Place:
    """A container in a document: its node, and what stands around it."""

    container: Node
    kind: str
    document: Node
    storage_uri: Node | None = None
    model_format: str | None = None


class YamlWriter:
    """Edits scalars and list items of one YAML file in their own style."""

    def __init__(self, file: YamlFile) -> None:
        self._file = file

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Refuse: the servers read here take their end ids from the model's own files."""
        return Refusal("no flag of this server sets what ends generation; it reads the model's own files")

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put another text in the place of a scalar."""
        if len(values) != 1 or not isinstance(setting.data, Node):
            return Refusal("only one value can stand there")
        return _answer(replace_scalar(self._file, setting.data, str(values[0])))

    def quote(self, node: Node) -> tuple[Edit, ...] | Refusal:
        """Make a string of a scalar that YAML reads as something else."""
        return _answer(replace_scalar(self._file, node, node.text))

    def split(self, node: Node, texts: Sequence[str]) -> tuple[Edit, ...] | Refusal:
        """Make several list items of one."""
        return _answer(split_item(self._file, node, list(texts)))


def _answer(answer: tuple[Edit, ...] | YamlRefusal) -> tuple[Edit, ...] | Refusal:
    return Refusal(answer.reason) if isinstance(answer, YamlRefusal) else answer


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a file of Kubernetes documents; None where no container in it serves a model with a known engine.

    A file that is a template itself (`{{ … }}` where YAML wants a value) is not judged by its syntax.
    """
    file = read_yaml(source.text)
    if any(problem.sort == "syntax" for problem in file.problems) and is_templated(source.text):
        return None
    writer = YamlWriter(file)
    servings: list[Serving] = []
    for document in file.documents:
        if document is None or document.kind != "mapping":
            continue
        for place in _places(document):
            servings.extend(_servings(path, file, place, writer))
    if not servings and not any(problem.sort == "syntax" for problem in file.problems):
        return None
    return Manifest(
        path, "kubernetes", source.text, "yaml", tuple(servings), file.problems, file.comments, {"document": file}
    )


def _text(node: Node | None) -> str | None:
    return node.text if node is not None and node.kind == "scalar" else None


def _follow(node: Node | None, path: Sequence[str]) -> Node | None:
    for key in path:
        if node is None or node.kind != "mapping":
            return None
        node = get(node, key)
    return node


def _items(node: Node | None) -> Sequence[Node]:
    return node.items if node is not None and node.kind == "sequence" else ()


def _places(document: Node) -> Iterator[Place]:
    kind = _text(get(document, "kind")) or ""
    if kind == "List":
        for item in _items(get(document, "items")):
            if item.kind == "mapping" and _text(get(item, "kind")) != "List":
                yield from _places(item)
        return
    if kind == "InferenceService":
        yield from _inference_service(document, kind)
        return
    if kind in _RUNTIME_KINDS:
        for container in _items(_follow(document, ("spec", "containers"))):
            yield Place(container, kind, document)
        return
    path = _TEMPLATE_PATHS.get(kind)
    if path is None:
        return
    for container in _items(_follow(document, (*path, "containers"))):
        yield Place(container, kind, document)


def _inference_service(document: Node, kind: str) -> Iterator[Place]:
    predictor = _follow(document, ("spec", "predictor"))
    model = _follow(predictor, ("model",))
    if model is not None and model.kind == "mapping":
        form = _text(_follow(model, ("modelFormat", "name")))
        yield Place(model, kind, document, get(model, "storageUri"), form)
    for container in _items(_follow(predictor, ("containers",))):
        yield Place(container, kind, document)


def _servings(path: str, file: YamlFile, place: Place, writer: YamlWriter) -> Iterator[Serving]:
    container = place.container
    if container.kind != "mapping":
        return
    environment, open_environment = _environment(container)
    image_node = get(container, "image")
    image = _image(image_node)
    command = [_argument(file, item, environment, open_environment) for item in _items(get(container, "command"))]
    args = [_argument(file, item, environment, open_environment) for item in _items(get(container, "args"))]
    name = get(container, "name")
    span = (name or image_node or container).span
    if place.kind == "InferenceService" and place.container is not None and name is None:
        span = (place.storage_uri or _key_of(place.document, container) or container).span
    hidden = ["some variables come from a ConfigMap or Secret"] if open_environment else []
    base = Serving(
        path, span, "kubernetes", "", writer, _version(image), image, None, None, (), tuple(environment.values()),
        tuple(hidden),
        {"document": file, "container": container, "place": place.kind, "storage_uri": _storage(place.storage_uri)},
    )  # fmt: skip
    if command:
        yield from _from_command(base, [*command, *args])
        return
    launch = _launch_of_image(image, place)
    if launch is None:
        # An image of a house's own may carry the engine as its entry point, or an `args` that names it.
        yield from _from_command(base, args)
        return
    engine, launcher = launch
    yield replace(base, engine=engine, arguments=tuple(args), facts={**base.facts, "launcher": launcher})


def _launch_of_image(image: Setting | None, place: Place) -> tuple[str, str] | None:
    if image is not None:
        return engine_of_image(image.value) if image.value else None
    if place.model_format is not None and place.model_format.lower() in ("huggingface", "vllm"):
        return "vllm", "kserve" if place.model_format.lower() == "huggingface" else "module"
    return None


def _from_command(base: Serving, words: list[Argument]) -> Iterator[Serving]:
    if not words or words[0].text is None:
        return
    program = words[0].text.rsplit("/", 1)[-1]
    if program in _SHELLS:
        yield from _from_shell(base, words)
        return
    launch = recognise(words)
    if launch is not None:
        yield _with_launch(base, launch)


def _with_launch(base: Serving, launch: Launch) -> Serving:
    facts = {**base.facts, "launcher": launch.launcher}
    return replace(base, engine=launch.engine, arguments=launch.arguments, facts=facts)


def _from_shell(base: Serving, words: list[Argument]) -> Iterator[Serving]:
    """`sh -c "script" $0 $1 …`: the script is read as a shell reads it, and its places are mapped back."""
    from servelint.formats.shell import read_script
    from servelint.manifests.launch_script import argument_of

    index = next(
        (i for i, word in enumerate(words) if word.text and word.text.startswith("-") and "c" in word.text[1:]), None
    )
    if index is None or index + 1 >= len(words):
        return
    script_word = words[index + 1]
    if script_word.text is None:
        return
    rest = [word.text for word in words[index + 2 :]]
    arguments = [text for text in rest[1:] if text is not None] if all(text is not None for text in rest) else None
    outside = {setting.name: setting.value for setting in base.environment if setting.value is not None}
    inner = script_word.inner or _whole(script_word)
    script = read_script(script_word.text, None, arguments, outside=outside)
    for command in script.commands:
        launch = recognise([_mapped(argument_of(word), inner) for word in command.words])
        if launch is None:
            continue
        facts = {**base.facts, "launcher": launch.launcher, "script": script}
        span = inner.host_span(command.span)
        yield replace(base, span=span, engine=launch.engine, arguments=launch.arguments, facts=facts)


def _whole(word: Argument) -> Embedded:
    """A map for a word without one: everything stands where the word stands."""
    text = word.text or ""
    return Embedded(text, [word.span.start] * len(text) + [word.span.end], None, "the script cannot be edited here")


def _mapped(argument: Argument, inner: Embedded) -> Argument:
    own = argument.inner.within(inner) if argument.inner is not None else None
    return replace(argument, span=inner.host_span(argument.span), inner=own, form="string")


def _key_of(document: Node, value: Node) -> Node | None:
    key: Node
    stack = [document]
    while stack:
        node = stack.pop()
        if node.kind == "mapping":
            for key, child in node.items:
                if child is value:
                    return key
                if child is not None:
                    stack.append(child)
    return None


def _image(node: Node | None) -> Setting | None:
    text = _text(node)
    if node is None or text is None:
        return None
    unknown = is_templated(text)
    return Setting(
        "image", None if unknown else text, node.span, node.span, "image", reason="templated" if unknown else None
    )


def _version(image: Setting | None) -> Setting | None:
    if image is None or image.value is None:
        return None
    tag = version_of_image(image.value)
    return None if tag is None else Setting("version", tag, image.span, image.whole, "image tag")


def _storage(node: Node | None) -> Setting | None:
    text = _text(node)
    if node is None or text is None:
        return None
    unknown = is_templated(text)
    return Setting("storageUri", None if unknown else text, node.span, node.span, "storageUri", data=node)


def _environment(container: Node) -> tuple[dict[str, Setting], bool]:
    found: dict[str, Setting] = {}
    for item in _items(get(container, "env")):
        if item.kind != "mapping":
            continue
        name_node, value_node = get(item, "name"), get(item, "value")
        name = _text(name_node)
        if name_node is None or name is None:
            continue
        text = _text(value_node)
        unknown = text is None or is_templated(text)
        span = value_node.span if value_node is not None else name_node.span
        found[name] = Setting(
            name, None if unknown else text, span, item.span, f"env {name}", data=value_node,
            reason="comes from elsewhere" if unknown else None,
        )  # fmt: skip
    return found, get(container, "envFrom") is not None


def _argument(file: YamlFile, node: Node, environment: dict[str, Setting], open_environment: bool) -> Argument:
    text = _text(node)
    if text is None:
        return Argument(None, node.span, "not a string", form="yaml")
    if is_templated(text):
        return Argument(None, node.span, "a template expression", text[: text.find("{")], form="yaml")
    expanded, literal = _expand(text, environment, open_environment)
    if expanded is None:
        return Argument(
            None, node.span, "a variable of the cluster", text.split("$(", 1)[0], form="yaml", literal=False
        )
    inner = _inner(file, node, text) if literal else None
    return Argument(expanded, node.span, inner=inner, literal=literal, form="yaml", node=node)


def _inner(file: YamlFile, node: Node, text: str) -> Embedded:
    """The map of a scalar; what an edit would need is only worked out when there is one, since few words get any."""
    if node.style != "plain" or file.text[node.start : node.end] != text:
        return embedded(file, node)

    def encode(new: str) -> str | None:
        full = embedded(file, node)
        return full.encode(new) if full.encode is not None else None

    return Embedded(text, range(node.start, node.start + len(text) + 1), encode)


def _expand(text: str, environment: dict[str, Setting], open_environment: bool) -> tuple[str | None, bool]:
    """Kubernetes' own expansion of `$(NAME)`; unknown names stay as they are, `$$(NAME)` is an escaped `$(NAME)`.

    The text is None where a name's value cannot be known. See kubernetes.io, "Define dependent environment variables".
    """
    if "$(" not in text:
        return text, True
    pieces: list[str] = []
    position = 0
    while True:
        start = text.find("$(", position)
        if start < 0:
            pieces.append(text[position:])
            return "".join(pieces), False
        if start > 0 and text[start - 1] == "$":
            pieces.append(text[position:start])
            position = start + 1
            continue
        end = text.find(")", start)
        if end < 0:
            pieces.append(text[position:])
            return "".join(pieces), False
        name = text[start + 2 : end]
        pieces.append(text[position:start])
        if name in environment:
            value = environment[name].value
            if value is None:
                return None, False
            pieces.append(value)
        elif open_environment:
            return None, False
        else:
            pieces.append(text[start : end + 1])
        position = end + 1


def strings_wanted(serving: Serving) -> Iterator[tuple[Node, str, str]]:
    """The nodes of a serving's container that the API takes only as strings, what they are, and how YAML types them."""
    container: Node = serving.facts["container"]
    for key in ("command", "args"):
        for item in _items(get(container, key)):
            yield item, f"an item of {key}", scalar_type(item) if item.kind == "scalar" else item.kind
    for item in _items(get(container, "env")):
        if item.kind != "mapping":
            continue
        value = get(item, "value")
        if value is not None:
            yield (
                value,
                f"the value of {_text(get(item, 'name'))}",
                scalar_type(value) if value.kind == "scalar" else value.kind,
            )


def span_of_container(serving: Serving) -> Span:
    """Where a serving's container stands."""
    container: Node = serving.facts["container"]
    return container.span
