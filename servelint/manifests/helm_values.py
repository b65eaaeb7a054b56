"""Values of Helm charts that serve models: files of values, and values within Argo CD's and Flux' resources.

A chart that is known by its keys is read as its own templates write it out. Of any other chart, a mapping that holds an
engine's image and words is read as the container that it most likely becomes, and nothing is made of what such a
chart's templates may add.

Sources: vllm-project/production-stack helm/templates/deployment-vllm-multi.yaml (010004ee), vllm-project/vllm
examples/online_serving/chart-helm, opea-project/GenAIInfra helm-charts/common/{vllm,tgi}, otwld/ollama-helm
(eadf03e6), substratusai/kubeai charts/models (36ad24ec), llm-d-incubation/llm-d-modelservice
(024c0f2d).
"""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH119
from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.shell_words import split_words
from servelint.formats.yaml import (
    Node,
    YamlFile,
    embedded,
    embedded_late,
    entries,
    find,
    get,
    is_templated,
    read_yaml,
    scalar_type,
    value,
)
from servelint.manifests.catalogue import is_values_name, kinds_of
from servelint.manifests.chart_releases import Release, is_release, releases_of
from servelint.manifests.containers import SHELLS, servings_of_container, servings_of_words, version_setting
from servelint.manifests.images import engine_of_image
from servelint.manifests.launchers import recognise
from servelint.manifests.serving import Argument, Manifest, Piece, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import record, replace
from servelint.text import Embedded, Source, Span

# What production-stack's template makes of a model's keys, in the order in which it does.
_PRODUCTION_STACK: tuple[tuple[tuple[str, ...], str], ...] = (
    (("enableLoRA",), "--enable-lora"),
    (("enableTool",), "--enable-auto-tool-choice"),
    (("toolCallParser",), "--tool-call-parser"),
    (("vllmConfig", "enableChunkedPrefill"), "--enable-chunked-prefill"),
    (("vllmConfig", "enablePrefixCaching"), "--enable-prefix-caching"),
    (("vllmConfig", "maxModelLen"), "--max-model-len"),
    (("vllmConfig", "dtype"), "--dtype"),
    (("vllmConfig", "tensorParallelSize"), "--tensor-parallel-size"),
    (("vllmConfig", "maxNumSeqs"), "--max-num-seqs"),
    (("vllmConfig", "gpuMemoryUtilization"), "--gpu-memory-utilization"),
    (("vllmConfig", "maxLoras"), "--max-loras"),
)
# Where the charts of the world keep a container's words, variables and model.
_COMMANDS = ("command",)
_ARGUMENTS = ("args", "arguments", "commandArgs")
_EXTRA_ARGUMENTS = (
    "extraArgs", "extraCmdArgs", "extraCommandArgs", "extraArguments", "additionalArgs", "cmdArgs", "serverArgs",
    "vllmArgs", "vllmExtraArgs", "engineArgs", "tgiArgs", "sglangArgs", "serveArgs",
)  # fmt: skip
_ENVIRONMENTS = ("env", "environment", "envVars", "extraEnv", "extraEnvs", "extraEnvVars", "additionalEnv")
_MODELS = (
    ("modelURL",), ("modelUrl",), ("modelUri",), ("modelId",), ("modelID",), ("model_id",), ("MODEL_ID",),
    ("huggingfaceModel",), ("hfModel",), ("model", "id"), ("model", "modelId"), ("model", "uri"),
    ("model", "storageUri"), ("model", "repository"), ("model", "repo"), ("model", "path"), ("model", "name"),
    ("model",), ("modelName",), ("MODEL_NAME",),
)  # fmt: skip
# Engines' words that name a model themselves.
_MODEL_FLAGS = ("--model", "--model-id", "--model-path", "--model_path", "-m", "-hf", "--hf-repo", "--model-url")
_OPEA_ENGINES = {"vllm": "vllm", "tgi": "tgi"}
_OPEA_OLD_NAMES = frozenset({"MAX_INPUT_LENGTH"})
_OLLAMA_LISTS = ("pull", "run")
_KUBEAI_ENGINES = {"vllm": "vllm", "ollama": "ollama"}
# What never holds a server: jobs before it, and what looks at it.
_NEVER = frozenset(
    {
        "initContainer", "initContainers", "extraInit", "extraInitContainers", "livenessProbe", "readinessProbe",
        "startupProbe", "lifecycle", "hooks", "tests", "resources", "affinity", "tolerations", "labels", "annotations",
        "podAnnotations", "securityContext", "podSecurityContext", "routerSpec", "cacheserverSpec",
    }
)  # fmt: skip
# Keys that tell a deployment at the top of a file, where no other names it.
_TELLING = frozenset({"image", "repository", "LLM_MODEL_ID", "modelURL"})
_DEEPEST = 8
_CHART = "Chart.yaml"
_MOST_TEMPLATES = 40
_OUTSIDE = "what the chart's templates add"


@record
class Place:
    """A mapping of values: its file, the key it stands under, and what every serving of the file has in common.

    `depth` counts the keys above it; `exact` says that it is a container as Kubernetes knows it.
    """

    file: YamlFile
    node: Node
    key: Node | None
    base: Serving
    depth: int = 0
    exact: bool = False

    @property
    def name(self) -> str:
        """The key, empty for the whole of the values."""
        return self.key.text if self.key is not None else ""

    @property
    def span(self) -> Span:
        """What names a deployment here: its `name`, else its key, else the key that says what it serves."""
        named = get(self.node, "name")
        if named is not None and named.kind == "scalar" and named.text and named.alias_span is None:
            return named.span
        if self.key is not None:
            return self.key.span
        keys = [key for key, _ in self.node.items]
        telling = next((key for key in keys if key.text in _TELLING), keys[0] if keys else self.node)
        return telling.span


@record
class Found:
    """What a mapping of values holds: servings, manifests within, and the keys that were read for them."""

    servings: tuple[Serving, ...] = ()
    pieces: tuple[Piece, ...] = ()
    keys: tuple[str, ...] = ()


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read values, or a file with resources that carry some; None where nothing in them serves a model.

    A file that is not named as values is only read where its keys are those of a known chart.
    """
    file = read_yaml(source.text)
    named = is_values_name(os.path.basename(path))
    if file.broken:
        return _unreadable(path, source, file) if named else None
    roots = [document for document in file.documents if document is not None and document.kind == "mapping"]
    releases = [root for root in roots if is_release(root)]
    base = Serving(path, Span(0, 0), "helm-values", "", YamlWriter(file), facts={"document": file})
    if releases:
        return _read_releases(path, source, context, file, base, releases)
    found = [_read_values(file, root, base, generic=named) for root in roots if not _is_object(root)]
    servings = [serving for each in found for serving in each.servings]
    pieces = [piece for each in found for piece in each.pieces]
    if not servings and not pieces:
        return None
    return Manifest(
        path, "helm-values", source.text, "yaml", tuple(_beside_templates(path, servings, context)), file.problems,
        file.comments, {"document": file}, tuple(pieces),
    )  # fmt: skip


def _unreadable(path: str, source: Source, file: YamlFile) -> Manifest | None:
    """Values that Helm refuses, too; a file with expressions in it is a template of values."""
    if is_templated(source.text) or not any(problem.sort == "syntax" for problem in file.problems):
        return None
    return Manifest(
        path, "helm-values", source.text, "yaml", (), file.problems, file.comments,
        {"document": file, "why": "Helm refuses values that it cannot read."},
    )  # fmt: skip


def _is_object(root: Node) -> bool:
    return get(root, "apiVersion") is not None and get(root, "kind") is not None


def _read_values(file: YamlFile, root: Node, base: Serving, generic: bool) -> Found:
    found = list(_below(Place(file, root, None, base), generic))
    return Found(
        tuple(serving for each in found for serving in each.servings),
        tuple(piece for each in found for piece in each.pieces),
    )


def _read_releases(
    path: str, source: Source, context: Context, file: YamlFile, base: Serving, documents: Sequence[Node]
) -> Manifest | None:
    """The values in releases of charts, and whatever else lies in the file with them."""
    from servelint.manifests.kubernetes import read as read_kubernetes

    servings: list[Serving] = []
    pieces: list[Piece] = []
    comments = file.comments
    around = read_kubernetes(path, source, context)
    if around is not None:
        comments = around.comments
        # What looks like a container in a release's values becomes one only through its chart.
        servings += [
            serving for serving in around.servings
            if not any(document.start <= serving.span.start < document.end for document in documents)
        ]  # fmt: skip
        pieces += around.pieces
    for document in documents:
        for release in releases_of(file, document):
            read_values = _read_release(file, release, base)
            servings += read_values.servings
            pieces += read_values.pieces
    if not servings and not pieces:
        return None
    facts = around.facts if around is not None else {"document": file}
    return Manifest(
        path, "helm-values", source.text, "yaml", tuple(servings), file.problems, comments, facts, tuple(pieces)
    )


def _read_release(file: YamlFile, release: Release, base: Serving) -> Found:
    if release.text is not None:
        # A text of its own: read as the file that it would be.
        return Found(pieces=(Piece("release.values.yaml", embedded(file, release.text), "helm-values"),))
    if release.values is None or release.values.kind != "mapping":
        return Found()
    return _read_values(file, release.values, replace(base, hidden=release.hidden), generic=True)


# Looking through the values.


def _below(place: Place, generic: bool) -> Iterator[Found]:
    """What a mapping of values and all below it hold; what is switched off holds nothing."""
    node = place.node
    if place.depth > _DEEPEST or _is_off(node):
        return
    if generic:
        yield Found(pieces=tuple(_config_maps(place)))
    keys: set[str] = set()
    if generic or place.depth <= 1:
        for shape in _SHAPES if generic else _KNOWN_SHAPES:
            found = shape(place)
            if found is not None:
                yield found
                keys.update(found.keys)
                break
    if not generic and place.depth >= 1:
        return
    for key, child in entries(node):
        if key.kind != "scalar" or key.text in keys or key.text in _NEVER or child.alias_span is not None:
            continue
        yield from _of_child(place, key, child, generic)


def _of_child(place: Place, key: Node, child: Node, generic: bool) -> Iterator[Found]:
    if child.kind == "mapping":
        exact = place.name == "containers"
        yield from _below(Place(place.file, child, key, place.base, place.depth + 1, exact), generic)
    elif child.kind == "sequence":
        exact = key.text.lower().endswith(("containers", "sidecars"))
        for item in child.items:
            if item.kind == "mapping" and item.alias_span is None:
                yield from _below(Place(place.file, item, None, place.base, place.depth + 1, exact), generic)


def _is_off(node: Node) -> bool:
    """Whether a chart leaves this part out: `enabled: false`, `create: false`."""
    return any(value(get(node, key)) is False for key in ("enabled", "enableEngine", "create"))


def _config_maps(place: Place) -> Iterator[Piece]:
    """Files that a chart of the app-template's kind puts into ConfigMaps; what it fills in is not known."""
    for _, held in entries(get(place.node, "configMaps")):
        for key, node in entries(get(held, "data")):
            if node.kind == "scalar" and node.alias_span is None and "\n" in node.text and "{{" not in node.text:
                yield Piece(key.text, embedded(place.file, node))


# Scalars, words, variables.


def _text(node: Node | None) -> str | None:
    return node.text if node is not None and node.kind == "scalar" and scalar_type(node) != "null" else None


def _slot(text: str) -> int | None:
    """Where something begins that is filled in later: `{{ … }}`, `${NAME}`, `$(NAME)`, `<name>` (not `<|token|>`)."""
    starts = [start for mark in ("{{", "{%", "${", "$(") if (start := text.find(mark)) >= 0]
    start = text.find("<")
    while start >= 0:
        end = text.find(">", start)
        name = text[start + 1 : end] if end >= 0 else ""
        if name[:1].isalpha() and all(letter.isalnum() or letter in "-_ ./:" for letter in name):
            starts.append(start)
            break
        start = text.find("<", start + 1)
    return min(starts, default=None)


def _word(place: Place, node: Node) -> Argument:
    """An item of a list of words."""
    text = _text(node)
    if text is None:
        return Argument(None, node.span, "not a string", form="yaml")
    start = _slot(text)
    if start is not None:
        return Argument(
            None, node.span, "it is filled in later", text[:start], count=1 if start else None, literal=False,
            form="yaml",
        )  # fmt: skip
    return Argument(text, node.span, inner=embedded_late(place.file, node), form="yaml", node=node)


def _known(name: str, node: Node) -> Argument:
    """A word that a chart's template writes for a key's value."""
    return Argument(name, node.span, literal=False, form="string")


def _value_word(node: Node) -> Argument:
    """The text of a key's value as a word of its own."""
    if _text(node) is None or _slot(node.text) is not None:
        return Argument(None, node.span, "it is filled in later", literal=False, form="string")
    return Argument(node.text, node.span, literal=False, form="string")


def _words(place: Place, node: Node | None) -> list[Argument]:
    """The words of a list, or of a text that is split at its blanks."""
    if node is None:
        return []
    if node.kind == "sequence":
        return [_word(place, item) for item in node.items]
    if node.kind == "mapping":
        # Options by their names: how the chart writes them is its own affair.
        return [Argument(None, node.span, "not a list", count=None, form="yaml")] if node.items else []
    text = _text(node)
    if not text:
        return []
    if _slot(text) is not None or "$" in text or "`" in text:
        return [Argument(None, node.span, "it is filled in later", count=None, literal=False, form="string")]
    inner = embedded(place.file, node)
    return [
        Argument(
            word.text, inner.host_span(word.span), form="string",
            inner=word.inner.within(inner) if word.inner is not None else None,
        )
        for word in split_words(inner.text, 0, "posix").words
    ]  # fmt: skip


def _first(node: Node, keys: Sequence[str]) -> Iterator[tuple[str, Node]]:
    for key in keys:
        found = get(node, key)
        if found is not None and not (found.kind == "scalar" and _text(found) in (None, "")):
            yield key, found


def _variable(name: str, node: Node | None, whole: Span, span: Span) -> Setting:
    text = _text(node)
    if text is not None and _slot(text) is not None:
        return Setting(name, None, span, whole, f"env {name}", data=node, reason="it is filled in later")
    reason = None if text is not None else "comes from elsewhere"
    return Setting(name, text, span, whole, f"env {name}", data=node, reason=reason)


def _environment(node: Node | None) -> list[Setting]:
    """Variables as a list of names and values, or as a mapping."""
    found: list[Setting] = []
    if node is not None and node.kind == "sequence":
        for item in node.items:
            name, held = get(item, "name"), get(item, "value")
            if name is not None and name.kind == "scalar":
                found.append(_variable(name.text, held, item.span, held.span if held is not None else name.span))
    for key, held in entries(node):
        if key.kind == "scalar":
            inside = get(held, "value") if held.kind == "mapping" else held
            found.append(_variable(key.text, inside, Span(key.begin, held.end), held.span))
    return found


def _environments(node: Node, keys: Sequence[str] = _ENVIRONMENTS) -> tuple[Setting, ...]:
    return tuple(setting for _, found in _first(node, keys) for setting in _environment(found))


def _image(node: Node | None, tag: Node | None = None) -> Setting | None:
    """An image as one text, or as a mapping of its parts; a version is told at the tag."""
    if node is None:
        return None
    if node.kind == "mapping":
        repository = get(node, "repository") or get(node, "name")
        made = _image(repository, get(node, "tag"))
        registry = _text(get(node, "registry"))
        if made is None or not registry or made.value is None or _slot(registry) is not None:
            return made
        return replace(made, value=f"{registry.rstrip('/')}/{made.value}")
    text = _text(node)
    if not text:
        return None
    start = _slot(text)
    if start is not None:
        return Setting("image", None, node.span, node.span, "image", data=text[:start], reason="templated")
    written = _text(tag)
    if tag is None or not written or _slot(written) is not None or ":" in text.rpartition("/")[2] or "@" in text:
        return Setting("image", text, node.span, node.span, "image")
    return Setting("image", f"{text}:{written}", tag.span, tag.span, "image")


def _model(node: Node | None, origin: str) -> Setting | None:
    """What a key's value names as the model, without the scheme that says where it comes from."""
    text = _text(node)
    if node is None or not text:
        return None
    if _slot(text) is not None:
        return Setting("model", None, node.span, node.span, origin, data=node, reason="it is filled in later")
    scheme, separator, name = text.partition("://")
    if separator and scheme in ("hf", "ollama", "huggingface"):
        text = name.split("?", 1)[0]
    return Setting("model", text, node.span, node.span, origin, data=node)


Texts = tuple[tuple[Node, str, bool], ...]


def _texts_wanted(*lists: tuple[Node | None, str], strict: bool) -> Texts:
    """The items of lists of words, which become strings; `strict` where the chart writes numbers as numbers."""
    return tuple(
        (item, f"an item of {name}", strict)
        for node, name in lists
        if node is not None and node.kind == "sequence"
        for item in node.items
    )


def _variables_wanted(node: Node | None) -> Texts:
    """The values of a list of variables that the chart writes out as it is."""
    found: list[tuple[Node, str, bool]] = []
    for item in node.items if node is not None and node.kind == "sequence" else ():
        held = get(item, "value")
        if held is not None:
            found.append((held, f"the value of {_text(get(item, 'name')) or 'a variable'}", True))
    return tuple(found)


# The charts.


def _production_stack(place: Place) -> Found | None:
    """vLLM's production-stack: `vllm serve` with a word for every key, then the extra ones."""
    spec = get(place.node, "servingEngineSpec")
    models = get(spec, "modelSpec")
    if spec is None or models is None:
        return None
    items = models.items if models.kind == "sequence" else [models]
    servings: list[Serving] = []
    if not _is_off(spec):
        shared = _environments(spec, ("env",))
        servings = [
            serving for item in items if item.kind == "mapping" and get(item, "modelURL") is not None
            for serving in _production_model(replace(place, node=item, key=None), shared)
        ]  # fmt: skip
    return Found(tuple(servings), keys=("servingEngineSpec", "routerSpec", "cacheserverSpec", "loraController"))


def _production_model(place: Place, shared: tuple[Setting, ...]) -> Iterator[Serving]:
    node = place.node
    url = get(node, "modelURL")
    if url is None or not _text(url):
        return
    words = [_known("serve", url), _value_word(url)]
    for path, flag in _PRODUCTION_STACK:
        held = find(node, path)
        text = _text(held)
        if held is None or not text or value(held) is False:
            continue
        words.append(_known(flag, held))
        if value(held) is not True:
            words.append(_value_word(held))
    extra = find(node, ("vllmConfig", "extraArgs"))
    own = _words(place, extra)
    if get(node, "raySpec") is not None:
        # There they stand within double quotes of a script.
        own = [_in_double_quotes(word) for word in own]
    words += own
    template = get(node, "chatTemplate")
    if template is not None and _text(template):
        words += [_known("--chat-template", template), _in_folder(template)]
    image = _image(get(node, "repository"), get(node, "tag"))
    environment = (*shared, *_environments(node, ("env",)))
    texts = _texts_wanted((extra, "extraArgs"), strict=False) + _variables_wanted(get(node, "env"))
    yield _serving(place, "vllm", "serve", words, image, environment, None, texts)


def _in_folder(node: Node) -> Argument:
    """A file's name, below the folder of the container that the chart mounts for it."""
    word = _value_word(node)
    if word.text is None or word.text.startswith("/"):
        return word
    return replace(word, text=f"/templates/{word.text}")


def _in_double_quotes(word: Argument) -> Argument:
    if word.text is None or not any(mark in word.text for mark in '$`"\\'):
        return word
    return replace(word, text=None, reason="a shell reads it in double quotes", literal=False, inner=None, node=None)


def _serving(
    place: Place,
    engine: str,
    launcher: str,
    words: Sequence[Argument],
    image: Setting | None,
    environment: Sequence[Setting],
    model: Setting | None = None,
    texts: Texts = (),
) -> Serving:
    return replace(
        place.base, span=place.span, engine=engine, image=image, version=version_setting(image), model=model,
        arguments=tuple(words), environment=tuple(environment),
        facts={**place.base.facts, "launcher": launcher, "texts": texts},
    )  # fmt: skip


def _opea(place: Place) -> Found | None:
    """OPEA's charts of vLLM and TGI: the key of the subchart, or the image, says which of them it is."""
    node = place.node
    named = get(node, "LLM_MODEL_ID")
    if named is None:
        return None
    image = _image(get(node, "image"))
    launch = engine_of_image(image.value) if image is not None and image.value else None
    engine = launch[0] if launch is not None else _OPEA_ENGINES.get(place.name.partition("-")[0].lower())
    if engine not in _OPEA_ENGINES:
        return None
    model = _model(named, "LLM_MODEL_ID")
    extra = get(node, "extraCmdArgs")
    words = _words(place, extra)
    # The chart hands variables on by their own names.
    environment = [
        _variable(key.text, held, Span(key.begin, held.end), held.span)
        for key, held in entries(node)
        if key.kind == "scalar" and key.text.isupper() and key.text != "LLM_MODEL_ID" and _text(held)
    ]
    # An old name is the template's: under another, the value would not reach the engine.
    placed = tuple(setting.whole for setting in environment if setting.name in _OPEA_OLD_NAMES)
    if engine == "vllm" and model is not None:
        words += [_known("--model", named), _value_word(named)]
    texts = _texts_wanted((extra, "extraCmdArgs"), strict=False)
    serving = _serving(
        place, engine, "config" if engine == "vllm" else "image", words, image, environment,
        None if engine == "vllm" else model, texts,
    )  # fmt: skip
    serving = replace(serving, facts={**serving.facts, "placed": placed})
    return Found((serving,), keys=tuple(key.text for key, _ in entries(node)))


def _ollama(place: Place) -> Found | None:
    """ollama-helm: models that are pulled, run, or made of Modelfiles once the server is there."""
    settings = get(place.node, "ollama")
    models, single = get(settings, "models"), get(settings, "defaultModel")
    if settings is None or (models is None and single is None):
        return None
    names: dict[str, Node] = {}
    is_list = models is not None and models.kind == "sequence"
    lists = [models] if is_list else [get(models, key) for key in _OLLAMA_LISTS]
    for item in (*(item for listed in lists for item in _items(listed)), single):
        if item is not None and _text(item):
            names.setdefault(item.text.removesuffix(":latest"), item)
    created = get(models, "create")
    makes = created.items if created is not None and created.kind == "sequence" else []
    if not names and not makes:
        return None
    image = _image(get(settings, "image")) or _image(get(place.node, "image"))
    launch = engine_of_image(image.value or str(image.data or "")) if image is not None else ("ollama", "image")
    environment = _environments(settings)
    texts: Texts = ()
    if launch is not None and launch[0] == "ollama":
        # Else what stands beside it is another program's, which may be a client of this server.
        environment += _environments(place.node, ("extraEnv",))
        texts = _variables_wanted(get(place.node, "extraEnv"))
    base = replace(place, base=replace(place.base, facts={**place.base.facts, "source": "library"}))
    servings = [
        replace(
            _serving(base, "ollama", "image", (), image, environment, _model(item, "models"), texts), span=item.span
        )
        for item in names.values()
    ]
    pieces = [piece for item in makes for piece in _created(place, item)]
    if not servings and (environment or not pieces):
        servings.append(_serving(replace(place, key=_key(place.node, "ollama")), "ollama", "image", (), image,
                                 environment, None, texts))  # fmt: skip
    return Found(tuple(servings), tuple(pieces), ("ollama",))


def _key(node: Node, name: str) -> Node | None:
    return next((key for key, _ in entries(node) if key.text == name), None)


def _created(place: Place, item: Node) -> Iterator[Piece]:
    """The Modelfile of a model that is made there.

    The chart's hook writes it by a here-document without quotes: the shell fills in what `$` and backticks ask for.
    """
    template = get(item, "template")
    if template is None or not _text(template) or template.alias_span is not None:
        return
    inner = embedded(place.file, template)
    if any(mark in inner.text for mark in ("$", "`", "\\\\", "\\\n")):
        from servelint.formats.shell import read_script

        written = read_script(f"cat <<EOF >Modelfile\n{inner.text.rstrip(chr(10))}\nEOF\n", None, [], "sh")
        text = written.heredocs[0].text if written.heredocs else None
        if text is None:
            return
        places = [inner.offsets[0]] * len(text)
        inner = Embedded(text, [*places, inner.offsets[-1]], None, "a shell fills variables in here")
    yield Piece("Modelfile", inner, "modelfile")


def _kubeai(place: Place) -> Found | None:
    """KubeAI's chart of models: each entry of the catalogue that is enabled becomes a Model."""
    catalog = get(place.node, "catalog")
    every = value(find(place.node, ("all", "enabled"))) is True
    if catalog is None or catalog.kind != "mapping":
        return None
    held = [(key, node) for key, node in entries(catalog) if node.kind == "mapping"]
    if not any(get(node, "url") is not None and get(node, "engine") is not None for _, node in held):
        return None
    servings: list[Serving] = []
    pieces: list[Piece] = []
    for key, node in held:
        engine = _KUBEAI_ENGINES.get((_text(get(node, "engine")) or "").lower())
        model = _model(get(node, "url"), "url")
        if engine is None or model is None or (not every and value(get(node, "enabled")) is not True):
            continue
        args = get(node, "args")
        own = replace(place, node=node, key=key)
        environment = _environment(get(node, "env"))
        if engine == "ollama":
            own = replace(own, base=replace(own.base, facts={**own.base.facts, "source": "library"}))
        words = _words(own, args) if engine == "vllm" else []
        launcher = "config" if engine == "vllm" else "image"
        texts = _texts_wanted((args, "args"), strict=True) if engine == "vllm" else ()
        servings.append(_serving(own, engine, launcher, words, None, environment, model, texts))
        for item in _items(get(node, "files")):
            content, name = get(item, "content"), _text(get(item, "path"))
            if content is not None and content.kind == "scalar" and name:
                pieces.append(Piece(name, embedded(place.file, content)))
    return Found(tuple(servings), tuple(pieces), ("catalog",))


def _items(node: Node | None) -> Sequence[Node]:
    return node.items if node is not None and node.kind == "sequence" else ()


def _modelservice(place: Place) -> Found | None:
    """llm-d's modelservice: containers that decode and prefill, and the one model of them all."""
    artifacts = get(place.node, "modelArtifacts")
    roles = [(key, node) for key, node in entries(place.node) if key.text in ("decode", "prefill")]
    if artifacts is None or artifacts.kind != "mapping" or not roles:
        return None
    servings: list[Serving] = []
    for key, role in roles:
        if _is_off(role):
            continue
        for container in _items(get(role, "containers")):
            if container.kind == "mapping":
                servings += _model_container(replace(place, node=container, key=key, exact=True), artifacts)
    return Found(tuple(servings), keys=("modelArtifacts", "decode", "prefill"))


def _model_container(place: Place, artifacts: Node) -> Iterator[Serving]:
    node = place.node
    made = (_text(get(node, "modelCommand")) or "custom").lower()
    if made == "custom":
        found = _container(place)
        yield from found.servings if found is not None else ()
        return
    image = _image(get(node, "image"))
    launch = engine_of_image(image.value) if image is not None and image.value else None
    if made != "vllmserve" and (launch is None or launch[0] != "vllm"):
        return
    model = _model(get(artifacts, "uri"), "modelArtifacts.uri")
    if model is None or model.value is None or "://" in model.value:
        model = _model(get(artifacts, "name"), "modelArtifacts.name") or model
    args = get(node, "args")
    environment = _environments(node, ("env",))
    texts = _texts_wanted((args, "args"), strict=True) + _variables_wanted(get(node, "env"))
    yield _serving(place, "vllm", "config", _words(place, args), image, environment, model, texts)


def _container(place: Place) -> Found | None:
    """A mapping with an engine's image and words: the container of a chart that is not known."""
    node = place.node
    held = get(node, "image")
    image = _image(held) if held is not None else _image(get(node, "repository"), get(node, "tag"))
    if image is None:
        return None
    parts = [node, *([held] if held is not None and held.kind == "mapping" else [])]
    command = next((found for part in parts for _, found in _first(part, _COMMANDS)), None)
    args = [pair for part in parts for pair in _first(part, _ARGUMENTS)]
    extra = [pair for part in parts for pair in _first(part, _EXTRA_ARGUMENTS)]
    environment = tuple(setting for part in parts for setting in _environments(part))
    words = [word for _, found in (*args, *extra) for word in _words(place, found)]
    listed = [(command, "command"), *((found, name) for name, found in (*args, *extra))]
    base = replace(
        place.base, span=place.span, image=image, version=version_setting(image), environment=environment,
        facts={**place.base.facts, "texts": _texts_wanted(*listed, strict=False)},
    )  # fmt: skip
    servings = tuple(_run(place, base, command, words))
    if not servings:
        return None
    keys = ("image", *_COMMANDS, *_ENVIRONMENTS, *(name for name, _ in (*args, *extra)))
    return Found(servings, keys=keys)


def _run(place: Place, base: Serving, command: Node | None, words: list[Argument]) -> Iterator[Serving]:
    """What becomes of a container's words."""
    if command is not None:
        entry = _words(place, command)
        if command.kind == "scalar" and not words:
            # A line of a shell's, or a whole script.
            entry = _for_shell(place, command)
        yield from servings_of_container(base, entry, words)
        return
    if place.exact:
        yield from servings_of_container(base, None, words)
        return
    name = base.image.value if base.image is not None else None
    launch = engine_of_image(name or str(base.image.data or "")) if base.image is not None else None
    first = (words[0].text or "") if words else ""
    if first == "-c" and len(words) > 1 and any(blank in (words[1].text or "") for blank in " \n"):
        shell = Argument("sh", words[0].span, literal=False, form="string")
        yield from servings_of_words(base, [shell, *words])
    elif first.rpartition("/")[2] in SHELLS or (first and recognise(words) is not None):
        yield from servings_of_words(base, words)
    elif launch is not None and launch[1] in ("image", "kserve", "module"):
        engine, launcher = launch
        model = None if engine == "ollama" or _names_model(words) else _model_beside(place.node)
        if words or model is not None or engine == "ollama" or _has_variables(engine, base.environment):
            # The chart's own words may stand around these.
            launcher = "config" if engine == "vllm" and launcher == "image" else launcher
            facts = {**base.facts, "launcher": launcher}
            yield replace(
                base, engine=engine, model=model, arguments=tuple(words), hidden=(*base.hidden, _OUTSIDE), facts=facts
            )


def _for_shell(place: Place, node: Node) -> list[Argument]:
    text = _text(node) or ""
    flags = [Argument(word, node.span, literal=False, form="string") for word in ("sh", "-c")]
    if is_templated(text):
        return [*flags, Argument(None, node.span, "it is filled in later", form="yaml")]
    return [*flags, Argument(text, node.span, inner=embedded(place.file, node), form="yaml", node=node)]


def _names_model(words: Sequence[Argument]) -> bool:
    texts = [word.text if word.text is not None else word.prefix for word in words]
    return any(text.partition("=")[0] in _MODEL_FLAGS for text in texts) or bool(
        texts and texts[0] and not texts[0].startswith("-")
    )


def _has_variables(engine: str, environment: Sequence[Setting]) -> bool:
    """Whether the engine is told by variables which model it serves."""
    names = {"tgi": ("MODEL_ID", "HF_MODEL_ID"), "llama.cpp": ("LLAMA_ARG_MODEL", "LLAMA_ARG_HF_REPO")}.get(engine, ())
    return any(setting.name in names for setting in environment)


def _model_beside(node: Node) -> Setting | None:
    """The model that a key beside the image names; what is only a name may be another thing's."""
    likely: Setting | None = None
    for path in _MODELS:
        found = _model(find(node, path), ".".join(path))
        if found is None:
            continue
        if found.value is None or "/" in found.value:
            return found
        if likely is None:
            reason = "the chart may mean something else by it"
            likely = replace(found, value=None, likely=found.value, reason=reason)
    return likely


Shape = Callable[[Place], "Found | None"]
_KNOWN_SHAPES: tuple[Shape, ...] = (_production_stack, _ollama, _kubeai, _modelservice, _opea)
_SHAPES: tuple[Shape, ...] = (*_KNOWN_SHAPES, _container)


# A chart's own values, beside its templates.


def _beside_templates(path: str, servings: Sequence[Serving], context: Context) -> Iterator[Serving]:
    """The servings of a chart's own values, without what its templates say already.

    servelint reads templates with single values filled in, never lists: a deployment is told at its template, and here
    only the lists are judged that the templates hand on.
    """
    folder, name = os.path.split(path)
    is_chart = name in ("values.yaml", "values.yml") and context.exists(os.path.join(folder, _CHART))
    engines, text = _of_templates(os.path.join(folder, "templates"), context) if is_chart and servings else ((), "")
    for serving in servings:
        if serving.engine not in engines:
            yield serving
            continue
        lists = {what.rpartition(" ")[2] for _, what, _ in serving.facts.get("texts", ())}
        if any(f".{key}" in text for key in lists):
            yield replace(serving, image=None, version=None, facts={**serving.facts, "aside": True})


def _of_templates(folder: str, context: Context) -> tuple[frozenset[str], str]:
    """The engines that servelint sees in a chart's templates, and the text of the templates."""
    from servelint.manifests.helm_template import read as read_template

    engines: set[str] = set()
    texts: list[str] = []
    for name in context.names(folder)[:_MOST_TEMPLATES]:
        path = os.path.join(folder, name)
        source = context.read(path) if name.endswith((".yaml", ".yml", ".tpl")) else None
        if source is None:
            continue
        texts.append(source.text)
        data = source.text.encode("utf-8", "surrogateescape")
        if any(kind.name == "helm-template" for kind in kinds_of(path, data)):
            manifest = read_template(path, source, context)
            engines.update(serving.engine for serving in (manifest.servings if manifest is not None else ()))
    return frozenset(engines), "\n".join(texts)
