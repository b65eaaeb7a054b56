"""Kubernetes workloads and KServe resources: the containers in them that serve a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.filling import Filling
from servelint.formats.problem import Comment
from servelint.formats.yaml import (
    Node,
    YamlFile,
    embedded,
    embedded_late,
    entries,
    get,
    is_templated,
    read_yaml,
    scalar_type,
    walk,
)
from servelint.manifests.cluster import Cluster, objects_of
from servelint.manifests.containers import SHELLS, servings_of_container, version_setting
from servelint.manifests.custom_resources import Resource, servings_of_resource
from servelint.manifests.serving import Argument, Manifest, Piece, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import record, replace
from servelint.text import Embedded, Source, Span

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
# Where a custom resource's pods are looked for, and what never holds any.
_DEEPEST = 12
_NO_PODS = frozenset(
    {"initContainers", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "router", "scheduler", "hooks"}
)
_NEVER = frozenset(
    {"CustomResourceDefinition", "ConfigMap", "Secret", "List", "Workflow", "Kustomization", "HelmRelease"}
)
_SOURCE_MARK = "# Source: "
_RUNTIME_KINDS = frozenset({"ServingRuntime", "ClusterServingRuntime"})


@record
class Place:
    """A container in a document: its node, and what stands around it."""

    container: Node
    kind: str
    document: Node
    storage_uri: Node | None = None
    model_format: str | None = None
    runtime: Node | None = None


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a file of Kubernetes documents; None where no container in it serves a model with a known engine.

    A file that is a template itself (`{{ … }}` where YAML wants a value) is not judged by its syntax.
    """
    file = read_yaml(source.text)
    if any(problem.sort == "syntax" for problem in file.problems) and is_templated(source.text):
        return None
    servings, pieces = read_objects(path, file, context)
    if not servings and not pieces and not any(problem.sort == "syntax" for problem in file.problems):
        return None
    return Manifest(
        path, "kubernetes", source.text, "yaml", tuple(servings), file.problems, _with_annotations(file),
        {"document": file, "rendered_from": _rendered_from(source.text)}, tuple(pieces),
    )  # fmt: skip


_ANNOTATION = "servelint.dev/ignore"


def _with_annotations(file: YamlFile) -> Sequence[Comment]:
    """The file's remarks, and its annotations `servelint.dev/ignore` as such: `SL201, SL507 why`.

    One on a workload holds for the whole of it, one on a pod template for the pods.
    """
    if _ANNOTATION not in file.text:
        return file.comments
    found: list[Comment] = []
    for document in objects_of(file):
        holders = [document, *(node for node in walk(document) if node.kind == "mapping" and node is not document)]
        for holder in holders:
            value = get(_follow(holder, ("metadata", "annotations")), _ANNOTATION)
            if value is None or value.kind != "scalar" or value.alias_span is not None:
                continue
            names, reason = _ignored(value.text)
            found.append(Comment(value.span, f"servelint: ignore[{names}] {reason}", Span(holder.begin, holder.end)))
    return (*file.comments, *found)


def _ignored(text: str) -> tuple[str, str]:
    """The rules that an annotation names, and the reason behind them."""
    words = text.replace(",", " , ").split()
    names: list[str] = []
    while words:
        names.append(words.pop(0).rstrip(":"))
        if words[:1] != [","]:
            break
        words.pop(0)
    return ", ".join(names), " ".join(words).replace(" ,", ",")


def _rendered_from(text: str) -> tuple[tuple[int, str], ...]:
    """Where Helm says that what follows was rendered from: places and paths of its `# Source:` remarks."""
    found = []
    place = text.find(_SOURCE_MARK)
    while place >= 0:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        if place == 0 or text[place - 1] == "\n":
            found.append((place, text[place + len(_SOURCE_MARK) : end].strip()))
        place = text.find(_SOURCE_MARK, end)
    return tuple(found)


def read_objects(path: str, file: YamlFile, context: Context) -> tuple[list[Serving], list[Piece]]:
    """What the objects of a file serve, and the manifests that they carry."""
    writer = YamlWriter(file)
    cluster = Cluster(path, file, context)
    servings: list[Serving] = []
    pieces: list[Piece] = []
    for document in objects_of(file):
        namespace = _text(_follow(document, ("metadata", "namespace")))
        for place in _places(document):
            found = _servings(path, file, place, writer, cluster)
            servings.extend(_in_namespace(serving, namespace) for serving in found)
        base = Serving(path, Span(document.start, document.start), "kubernetes", "", writer, facts={"document": file})
        resource = Resource(path, file, document, base, cluster)
        servings.extend(_in_namespace(serving, namespace) for serving in servings_of_resource(resource))
        pieces.extend(_pieces(file, document))
    return servings, pieces


def servings_of_object(path: str, file: YamlFile, document: Node, context: Context) -> Iterator[Serving]:
    """What the containers of one object serve, its places counted in that file's text."""
    cluster = Cluster(path, file, context)
    namespace = _text(_follow(document, ("metadata", "namespace")))
    for place in _places(document):
        for serving in _servings(path, file, place, YamlWriter(file), cluster):
            yield _in_namespace(serving, namespace)


def _in_namespace(serving: Serving, namespace: str | None) -> Serving:
    return serving if namespace is None else replace(serving, facts={**serving.facts, "namespace": namespace})


def _pieces(file: YamlFile, document: Node) -> Iterator[Piece]:
    """Manifests that an object carries as texts: files of a ConfigMap or Secret, Ray's Serve configuration."""
    kind = _text(get(document, "kind")) or ""
    fields = {"ConfigMap": "data", "Secret": "stringData"}.get(kind)
    if fields is not None:
        for key, node in entries(get(document, fields)):
            # Plain variables, which most are, have neither lines nor a file's name.
            if node.kind == "scalar" and node.alias_span is None and ("\n" in node.text or "." in key.text):
                yield Piece(key.text, embedded(file, node))
    elif kind == "RayService":
        serve = _follow(document, ("spec", "serveConfigV2"))
        if serve is not None and serve.kind == "scalar":
            yield Piece("-", embedded(file, serve), "ray-serve")
    elif kind == "Model":
        for item in _items(_follow(document, ("spec", "files"))):
            content, name = get(item, "content"), _text(get(item, "path"))
            if content is not None and content.kind == "scalar" and name:
                yield Piece(name, embedded(file, content))


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
    if kind == "InferenceService":
        yield from _inference_service(document, kind)
        return
    if kind in _RUNTIME_KINDS:
        for container in _items(_follow(document, ("spec", "containers"))):
            yield Place(container, kind, document)
        return
    path = _TEMPLATE_PATHS.get(kind)
    if path is None:
        if kind not in _NEVER and get(document, "apiVersion") is not None:
            for container in _containers_below(get(document, "spec"), 0):
                yield Place(container, kind, document)
        return
    if kind == "LeaderWorkerSet" and _follow(document, path) is None:
        # Without a template of its own, the leader is made from the workers'.
        path = ("spec", "leaderWorkerTemplate", "workerTemplate", "spec")
    pod = _follow(document, path)
    for container in (*_items(get(pod, "containers")), *_sidecars(pod)):
        yield Place(container, kind, document)


def _sidecars(pod: Node | None) -> list[Node]:
    """Init containers that go on running beside the others."""
    return [item for item in _items(get(pod, "initContainers")) if _text(get(item, "restartPolicy")) == "Always"]


def _containers_below(node: Node | None, depth: int) -> Iterator[Node]:
    """The containers of a custom resource, wherever its kind keeps pods: `containers` lists, and `mainContainer`."""
    if node is None or depth > _DEEPEST or node.alias_span is not None:
        return
    if node.kind == "sequence":
        for item in node.items:
            yield from _containers_below(item, depth + 1)
        return
    for key, child in entries(node):
        if key.text == "containers" and child.kind == "sequence":
            yield from (item for item in child.items if item.kind == "mapping")
        elif key.text == "mainContainer" and child.kind == "mapping":
            yield child
        elif key.text not in _NO_PODS:
            yield from _containers_below(child, depth + 1)


def _inference_service(document: Node, kind: str) -> Iterator[Place]:
    predictor = _follow(document, ("spec", "predictor"))
    model = _follow(predictor, ("model",))
    if model is not None and model.kind == "mapping":
        form = _text(_follow(model, ("modelFormat", "name")))
        yield Place(model, kind, document, _storage_of(model), form, get(model, "runtime"))
    for container in _items(_follow(predictor, ("containers",))):
        yield Place(container, kind, document)


def _with_nodes(words: list[Argument], node: Node | None) -> list[tuple[Argument, Node | None]]:
    """Words with the items that they were made of: the last ones, where others come before them."""
    items: list[Node | None] = list(_items(node))
    return list(zip(words, [None] * (len(words) - len(items)) + items[-len(words) :], strict=True)) if words else []


def _for_shell(file: YamlFile, word: Argument, node: Node | None) -> Argument:
    """A script with the expressions of a template in it: each stands there like a variable that is not known."""
    if word.text is not None or node is None or node.kind != "scalar" or "{{" not in node.text:
        return word
    inner = embedded(file, node)
    filling = Filling(inner)
    position = 0
    while True:
        start = inner.text.find("{{", position)
        end = inner.text.find("}}", start) if start >= 0 else -1
        if start < 0 or end < 0:
            filling.keep(position, len(inner.text))
            break
        filling.keep(position, start)
        filling.put("${TEMPLATE}", start)
        position = end + 2
    made = filling.result().inner
    refused = Embedded(made.text, made.offsets, None, "a template expression stands in it")
    return Argument(made.text, node.span, inner=refused, literal=False, form="yaml")


def _storage_of(model: Node) -> Node | None:
    """Where the model comes from: one place, or the first of several."""
    single = get(model, "storageUri")
    if single is not None:
        return single
    return next((uri for item in _items(get(model, "storageUris")) if (uri := get(item, "uri")) is not None), None)


def _runtime_of(place: Place, cluster: Cluster) -> tuple[Node, bool] | None:
    """The container of the serving runtime that a service names, and whether it stands in another file."""
    name = _text(place.runtime)
    found = cluster.find(tuple(_RUNTIME_KINDS), name) if name else None
    if found is None:
        return None
    containers = [item for item in _items(_follow(found.node, ("spec", "containers"))) if item.kind == "mapping"]
    named = next((item for item in containers if _text(get(item, "name")) == "kserve-container"), None)
    container = named or next(iter(containers), None)
    return None if container is None else (container, found.path is not None)


def _servings(path: str, file: YamlFile, place: Place, writer: YamlWriter, cluster: Cluster) -> Iterator[Serving]:
    container = place.container
    if container.kind != "mapping":
        return
    environment, open_environment = _environment(file, container, cluster)
    image_node = get(container, "image")
    name = get(container, "name")
    image = _image(image_node)
    command = _words(file, get(container, "command"), environment, open_environment)
    args = _words(file, get(container, "args"), environment, open_environment)
    runtime = _runtime_of(place, cluster)
    if runtime is not None and place.runtime is not None:
        # KServe puts the runtime's words before the service's own; all else the service replaces.
        below, elsewhere = runtime
        given, is_open = _environment(file, below, cluster)
        environment = {**{name: replace(each, elsewhere=elsewhere) for name, each in given.items()}, **environment}
        named = place.runtime.span
        before = _placed(_words(file, get(below, "args"), environment, is_open), named, elsewhere)
        args = [*before, *args]
        if not command:
            command = _placed(_words(file, get(below, "command"), environment, is_open), named, elsewhere)
        if image is None:
            image = _image(get(below, "image"))
            image = replace(image, span=named, whole=named) if image is not None and elsewhere else image
    span = (name or image_node or container).span
    if place.kind == "InferenceService" and place.container is not None and name is None:
        span = (place.storage_uri or _key_of(place.document, container) or container).span
    base_container = _laid_over(place, cluster) if runtime is None else None
    base_place = Span(span.start, span.start)
    if base_container is not None:
        # A strategic merge patch replaces a list of words as a whole, and adds variables by their names.
        given, is_open = _environment(file, base_container, cluster)
        environment = {**{key: replace(each, span=base_place, whole=base_place, data=None, elsewhere=True)
                          for key, each in given.items()}, **environment}  # fmt: skip
        command = _placed(_words(file, get(base_container, "command"), environment, is_open), base_place, True)
        if get(container, "args") is None:
            args = _placed(_words(file, get(base_container, "args"), environment, is_open), base_place, True)
        image = _image(get(base_container, "image"))
        if image is not None and image.value is not None:
            built = cluster.as_built(image.value)
            image_place = base_place if built == image.value else span
            image = replace(image, value=built, span=image_place, whole=image_place)
    hidden = ["some variables come from a ConfigMap or Secret"] if open_environment else []
    placed = (place.runtime.span,) if runtime is not None and runtime[1] and place.runtime is not None else ()
    if base_container is not None:
        placed = (base_place,)
    base = Serving(
        path, span, "kubernetes", "", writer, version_setting(image), image, None, None, (),
        tuple(environment.values()), tuple(hidden),
        {
            "document": file, "container": container, "place": place.kind, "placed": placed,
            "storage_uri": _storage(place.storage_uri),
        },
    )  # fmt: skip
    first = next(iter((*command, *args)), None)
    is_shell = first is not None and (first.text or "").rsplit("/", 1)[-1] in SHELLS
    if is_shell:
        args = [_for_shell(file, word, node) for word, node in _with_nodes(args, get(container, "args"))]
        command = [_for_shell(file, word, node) for word, node in _with_nodes(command, get(container, "command"))]
    else:
        # A shell fills `${NAME}` in itself; anything else gets it as it is.
        command, args = [_literal(word) for word in command], [_literal(word) for word in args]
    yield from servings_of_container(base, command or None, args, _launch_of_format(image, place))


def _laid_over(place: Place, cluster: Cluster) -> Node | None:
    """The container of the base that a patch changes; None where the container says itself what it runs."""
    name = _text(get(place.container, "name"))
    if get(place.container, "image") is not None or get(place.container, "command") is not None or name is None:
        return None
    if place.kind == "InferenceService" or _follow(place.document, ("metadata", "name")) is None:
        return None
    found = cluster.base(place.kind, _text(_follow(place.document, ("metadata", "name"))) or "")
    if found is None:
        return None
    for other in _places(found.node):
        if _text(get(other.container, "name")) == name:
            return other.container
    return None


def _placed(words: list[Argument], place: Span, elsewhere: bool) -> list[Argument]:
    """Words of another file, placed where that file's object is named."""
    if not elsewhere:
        return words
    return [replace(word, span=place, inner=None, literal=False, node=None) for word in words]


def _launch_of_format(image: Setting | None, place: Place) -> tuple[str, str] | None:
    """What the runtime of a KServe model format starts, where no image says it."""
    if image is not None or place.model_format is None:
        return None
    form = place.model_format.lower()
    if form not in ("huggingface", "vllm"):
        return None
    return "vllm", "kserve" if form == "huggingface" else "module"


def _literal(word: Argument) -> Argument:
    """A word that no shell reads: `${NAME}` and `<name>` in it are filled in by whoever applies the file."""
    if word.text is None:
        return word
    start = _blank_start(word.text)
    if start is None:
        return word
    return replace(word, text=None, reason="to be filled in before it is applied", prefix=word.text[:start], inner=None)


def _blank_start(text: str) -> int | None:
    """Where a slot to fill in begins: `${NAME}`, `<name>` (but not `<|token|>`), `@NAME@` as a whole."""
    start = text.find("${")
    if start >= 0 and text.find("}", start) > start + 2:
        return start
    if len(text) > 2 and text[0] == text[-1] == "@" and "@" not in text[1:-1]:
        return 0
    start = text.find("<")
    while start >= 0:
        end = text.find(">", start)
        if end < 0:
            return None
        name = text[start + 1 : end]
        if name[:1].isalpha() and all(letter.isalnum() or letter in "-_ ./:" for letter in name):
            return start
        start = text.find("<", start + 1)
    return None


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
    starts = [
        start for start in (text.find("{{"), text.find("{%"), _blank_start(text)) if start is not None and start >= 0
    ]
    if not starts:
        return Setting("image", text, node.span, node.span, "image")
    return Setting("image", None, node.span, node.span, "image", data=text[: min(starts)], reason="templated")


def _storage(node: Node | None) -> Setting | None:
    text = _text(node)
    if node is None or text is None:
        return None
    unknown = is_templated(text) or _blank_start(text) is not None
    return Setting("storageUri", None if unknown else text, node.span, node.span, "storageUri", data=node)


def _environment(file: YamlFile, container: Node, cluster: Cluster | None = None) -> tuple[dict[str, Setting], bool]:
    """The container's variables, and whether more of them come from a ConfigMap or Secret that is not in sight."""
    found: dict[str, Setting] = {}
    is_open = False
    for source in _items(get(container, "envFrom")):
        given = _from_map(source, cluster)
        is_open = is_open or given is None
        found.update(given or {})
    for item in _items(get(container, "env")):
        if item.kind != "mapping":
            continue
        name_node, value_node = get(item, "name"), get(item, "value")
        name = _text(name_node)
        if name_node is None or name is None:
            continue
        text = _value_of_variable(file, item, value_node, found, is_open)
        if text is None and value_node is None:
            text = _key_of_map(item, cluster)
        span = value_node.span if value_node is not None else name_node.span
        found[name] = Setting(
            name, text, span, item.span, f"env {name}", data=value_node,
            reason="comes from elsewhere" if text is None else None,
        )  # fmt: skip
    return found, is_open


def _from_map(source: Node, cluster: Cluster | None) -> dict[str, Setting] | None:
    """The variables of an `envFrom`; None where they are not in sight. A Secret's values are never read."""
    name = _text(_follow(source, ("configMapRef", "name")))
    found = cluster.find(("ConfigMap",), name) if cluster is not None and name else None
    if found is None:
        return None
    prefix = _text(get(source, "prefix")) or ""
    settings = {}
    for key, node in entries(get(found.node, "data")):
        if node.kind == "scalar":
            # In another file it is placed where it is named.
            span = node.span if found.path is None else source.span
            settings[prefix + key.text] = Setting(
                prefix + key.text, node.text, span, span, f"ConfigMap {name} {key.text}",
                data=node if found.path is None else None, elsewhere=found.path is not None,
            )  # fmt: skip
    return settings


def _key_of_map(item: Node, cluster: Cluster | None) -> str | None:
    """The value of a `configMapKeyRef` that is in sight."""
    reference = _follow(item, ("valueFrom", "configMapKeyRef"))
    name, key = _text(get(reference, "name")), _text(get(reference, "key"))
    found = cluster.find(("ConfigMap",), name) if cluster is not None and name else None
    return _text(_follow(found.node, ("data", key))) if found is not None and key else None


def _value_of_variable(
    file: YamlFile, item: Node, value: Node | None, earlier: dict[str, Setting], is_open: bool
) -> str | None:
    if value is None or value.kind != "scalar" or get(item, "valueFrom") is not None or _is_expression(file, value):
        return None
    if scalar_type(value) == "null":
        # Go's decoder leaves a string empty where null is given.
        return ""
    text = value.text
    if _blank_start(text) is not None:
        return None
    if "$(" in text or "$$" in text:
        return _expand(text, range(len(text) + 1), earlier, is_open)[0]
    return text


def _words(
    file: YamlFile, node: Node | None, environment: dict[str, Setting], open_environment: bool
) -> list[Argument]:
    """The words of a `command` or `args`; of anything but a list, nobody knows which or how many."""
    if node is None or (node.kind == "scalar" and scalar_type(node) == "null"):
        return []
    if node.kind != "sequence" or _is_expression(file, node):
        return [Argument(None, node.span, "not a list", count=None, form="yaml")]
    return [_argument(file, item, environment, open_environment) for item in node.items]


def _is_expression(file: YamlFile, node: Node) -> bool:
    """Whether a node is the expression of a template that only happens to be YAML: `{{ .Values.args }}`."""
    if node.kind == "scalar":
        return is_templated(node.text)
    return node.flow and file.text.startswith(("{{", "{%"), node.start)


def _argument(file: YamlFile, node: Node, environment: dict[str, Setting], open_environment: bool) -> Argument:
    if _is_expression(file, node):
        # `{{- range … }}` as an item may become any number of them.
        text = _text(node) or ""
        starts = [start for start in (text.find("{{"), text.find("{%")) if start >= 0]
        start = min(starts, default=0)
        return Argument(
            None, node.span, "a template expression", text[:start], count=1 if start else None, form="yaml"
        )  # fmt: skip
    text_or_none = _text(node)
    if text_or_none is None or (node.kind == "scalar" and scalar_type(node) == "null"):
        return Argument(None, node.span, "not a string", form="yaml")
    text = text_or_none
    if "$(" not in text and "$$" not in text:
        return Argument(text, node.span, inner=embedded_late(file, node), form="yaml", node=node)
    inner = embedded(file, node)
    expanded, offsets, changed = _expand(text, inner.offsets, environment, open_environment)
    if expanded is None:
        return Argument(
            None, node.span, "a variable of the cluster", text.split("$(", 1)[0], form="yaml", literal=False
        )
    if changed:
        inner = Embedded(expanded, offsets, None, "a variable of the container stands in it")
    return Argument(expanded, node.span, inner=inner, literal=not changed, form="yaml", node=node)


_VARIABLE_LETTERS = frozenset("-._abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")


def _expand(
    text: str, places: Sequence[int], environment: dict[str, Setting], open_environment: bool
) -> tuple[str | None, list[int], bool]:
    """Kubernetes' own expansion of `$(NAME)`: unknown names stay as they are, and `$$` is a `$`.

    The text, the place in the host of each of its characters, and whether anything was replaced. The text is None where
    a name's value cannot be known. See k8s.io/kubernetes third_party/forked/golang/expansion.
    """
    pieces: list[str] = []
    offsets: list[int] = []
    changed = False
    position = 0

    def keep(end: int) -> None:
        pieces.append(text[position:end])
        offsets.extend(places[position:end])

    while True:
        start = text.find("$", position)
        if start < 0 or start + 1 >= len(text):
            keep(len(text))
            offsets.append(places[-1])
            return "".join(pieces), offsets, changed
        following = text[start + 1]
        if following == "$":
            keep(start + 1)
            position, changed = start + 2, True
            continue
        end = text.find(")", start) if following == "(" else -1
        name = text[start + 2 : end] if end >= 0 else ""
        if name in environment:
            value = environment[name].value
            if value is None:
                return None, [], False
            keep(start)
            pieces.append(value)
            offsets.extend([places[start]] * len(value))
            position, changed = end + 1, True
            continue
        if name and open_environment and not name[0].isdigit() and all(letter in _VARIABLE_LETTERS for letter in name):
            return None, [], False
        # An unknown name is passed over as a whole: what is nested in it is not looked at.
        stop = end + 1 if end >= 0 else start + 1
        keep(stop)
        position = stop


def strings_wanted(serving: Serving) -> Iterator[tuple[Node, str, str]]:
    """The nodes of a serving's container that the API takes only as strings, what they are, and how YAML types them.

    What a template will put there is left out. A `command` or `args` that is no list comes as `a list of strings`.
    """
    container: Node | None = serving.facts.get("container")
    if container is None:
        return
    file: YamlFile = serving.facts["document"]
    for key in ("command", "args"):
        node = get(container, key)
        if node is None or _is_expression(file, node) or _type(node) == "null":
            continue
        if node.kind != "sequence":
            yield node, key, f"{_type(node)} instead of a list"
            continue
        for item in node.items:
            if not _is_expression(file, item):
                yield item, f"an item of {key}", _type(item)
    for item in _items(get(container, "env")):
        if item.kind != "mapping":
            continue
        value = get(item, "value")
        if value is not None and not _is_expression(file, value):
            yield value, f"the value of {_text(get(item, 'name'))}", _type(value)


def _type(node: Node) -> str:
    return scalar_type(node) if node.kind == "scalar" else node.kind
