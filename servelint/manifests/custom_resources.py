"""Custom resources that serve a model without a pod of their own in sight: their controllers make the words.

Sources: substratusai/kubeai internal/modelcontroller (2f32ef49), kaito-project/kaito examples, NVIDIA/k8s-nim-operator
config/samples, vllm-project/production-stack operator/api/v1alpha1 (a6c01db0), kserve/kserve
config/llmisvcconfig (aaac4e29).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from servelint.formats.yaml import Node, YamlFile, embedded, embedded_late, entries, find, get, scalar_type, value
from servelint.manifests.cluster import Cluster
from servelint.manifests.containers import version_setting
from servelint.manifests.engine_config import option_words
from servelint.manifests.serving import BY_NAME, Argument, Serving, Setting
from servelint.records import record, replace
from servelint.text import Embedded, Span


@record
class Resource:
    """A custom resource, where it stands, and what lies around it."""

    path: str
    file: YamlFile
    node: Node
    base: Serving
    cluster: Cluster


def servings_of_resource(resource: Resource) -> Iterator[Serving]:
    """The servings of a resource that is known by its kind; nothing for any other."""
    kind = _text(get(resource.node, "kind")) or ""
    reader = _READERS.get(kind)
    if reader is not None:
        yield from reader(resource)


def _text(node: Node | None) -> str | None:
    return node.text if node is not None and node.kind == "scalar" else None


def _named(resource: Resource) -> Span:
    name = find(resource.node, ("metadata", "name"))
    return (name or resource.node.items[0][0]).span


def _word(resource: Resource, node: Node) -> Argument:
    """A scalar as one word."""
    if node.kind != "scalar" or scalar_type(node) == "null":
        return Argument(None, node.span, "not a string", form="yaml")
    inner = embedded_late(resource.file, node)
    return Argument(node.text, node.span, inner=inner, form="yaml", node=node)


def _flag(name: str, node: Node) -> Argument:
    return Argument(name, node.span, literal=False, form="string")


def _words(resource: Resource, node: Node | None) -> list[Argument]:
    items = node.items if node is not None and node.kind == "sequence" else ()
    return [_word(resource, item) for item in items]


def _environment_list(node: Node | None) -> list[Setting]:
    found = []
    for item in node.items if node is not None and node.kind == "sequence" else ():
        name, held = get(item, "name"), get(item, "value")
        if name is None or name.kind != "scalar":
            continue
        text = held.text if held is not None and held.kind == "scalar" else None
        span = held.span if held is not None else name.span
        reason = "comes from elsewhere" if text is None else None
        found.append(Setting(name.text, text, span, item.span, f"env {name.text}", data=held, reason=reason))
    return found


def _environment_map(node: Node | None) -> list[Setting]:
    return [
        Setting(key.text, held.text, held.span, Span(key.begin, held.end), f"env {key.text}", data=held)
        for key, held in entries(node)
        if held.kind == "scalar"
    ]


def _model(node: Node | None, origin: str) -> Setting | None:
    if node is None or node.kind != "scalar" or not node.text:
        return None
    scheme, separator, name = node.text.partition("://")
    text = name.split("?", 1)[0] if separator and scheme in ("hf", "ollama") else node.text
    return Setting("model", text, node.span, node.span, origin, data=node)


def _kubeai(resource: Resource) -> Iterator[Serving]:
    """`url` and `args`: the controller puts `--model=` and `--served-model-name=` before them."""
    spec = get(resource.node, "spec")
    engine = (_text(get(spec, "engine")) or "").lower()
    if engine not in ("vllm", "ollama"):
        return
    model = _model(get(spec, "url"), "url")
    environment = tuple(_environment_map(get(spec, "env")))
    base = replace(resource.base, span=_named(resource), environment=environment, model=model)
    if engine == "ollama":
        yield replace(base, engine="ollama", facts={**base.facts, "launcher": "image", "source": "library"})
        return
    words = _words(resource, get(spec, "args"))
    yield replace(base, engine="vllm", arguments=tuple(words), facts={**base.facts, "launcher": "config"})


def _kaito(resource: Resource) -> Iterator[Serving]:
    """A preset by its name, with the flags of a ConfigMap's `inference_config.yaml` where it lies near."""
    inference = get(resource.node, "inference") or find(resource.node, ("spec", "template", "inference"))
    preset = find(inference, ("preset", "name"))
    if preset is None:
        return
    base = replace(resource.base, span=_named(resource), model=_model(preset, "preset"))
    words, hidden = _kaito_words(resource, get(inference, "config"))
    yield replace(
        base, engine="vllm", arguments=tuple(words), hidden=(*base.hidden, *hidden),
        facts={**base.facts, "launcher": "config", "placed": tuple({word.span for word in words})},
    )  # fmt: skip


def _kaito_words(resource: Resource, config: Node | None) -> tuple[list[Argument], list[str]]:
    name = _text(config)
    if config is None or not name:
        return [], []
    found = resource.cluster.find(("ConfigMap",), name)
    data = find(found.node, ("data", "inference_config.yaml")) if found is not None else None
    if data is None or data.kind != "scalar":
        return [], [f"the flags in the ConfigMap {name} were not read"]
    from servelint.formats.yaml import read_yaml

    inner = read_yaml(data.text)
    flags = get(inner.documents[0] if inner.documents else None, "vllm")
    if flags is None or flags.kind != "mapping":
        return [], []
    # The ConfigMap is judged where it stands; here its flags are only known.
    return [replace(word, span=config.span, inner=None, node=None) for word in option_words(inner, flags, "vllm")], []


def _nim(resource: Resource) -> Iterator[Serving]:
    """NVIDIA NIM: the model by its variable or by its image; vLLM inside, behind a profile of its own."""
    spec = get(resource.node, "spec")
    image = get(spec, "image")
    repository = get(image, "repository")
    environment = _environment_list(get(spec, "env"))
    named = next((setting for setting in environment if setting.name in ("NIM_MODEL_NAME", "NIM_MODEL_PATH")), None)
    model = None
    if named is not None and named.value:
        scheme, separator, rest = named.value.partition("://")
        model = replace(named, value=rest if separator and scheme == "hf" else named.value)
    elif repository is not None and repository.kind == "scalar":
        model = Setting("model", repository.text.rpartition("/")[2], repository.span, repository.span, "image")
    if model is None:
        return
    unknown = "what NIM's own profile of this model makes of it"
    yield replace(
        resource.base, span=_named(resource), engine="nim", model=model, environment=tuple(environment),
        hidden=(*resource.base.hidden, unknown),
    )  # fmt: skip


# What production-stack's operator makes of a VLLMRuntime's keys.
_RUNTIME_FLAGS = (
    ("model", "maxModelLen", "--max-model-len"), ("model", "dtype", "--dtype"),
    ("model", "maxNumSeqs", "--max-num-seqs"),
    ("model", "toolCallParser", "--tool-call-parser"),
    ("vllmConfig", "tensorParallelSize", "--tensor-parallel-size"),
    ("vllmConfig", "gpuMemoryUtilization", "--gpu-memory-utilization"),
)  # fmt: skip


def _vllm_runtime(resource: Resource) -> Iterator[Serving]:
    spec = get(resource.node, "spec")
    model = find(spec, ("model", "modelURL"))
    if model is None or model.kind != "scalar":
        return
    words = [Argument("serve", model.span, literal=False, form="string"), _word(resource, model)]
    if value(find(spec, ("model", "enableTool"))) is True:
        words.append(_flag("--enable-auto-tool-choice", model))
    for section, key, flag in _RUNTIME_FLAGS:
        node = find(spec, (section, key))
        if node is not None and node.kind == "scalar" and node.text and scalar_type(node) != "null":
            words += [_flag(flag, node), Argument(node.text, node.span, literal=False, form="string")]
    words += _words(resource, find(spec, ("vllmConfig", "extraArgs")))
    name = find(spec, ("deploymentConfig", "image", "name"))
    image = None
    if name is not None and name.kind == "scalar":
        image = Setting("image", name.text, name.span, name.span, "image")
    environment = tuple(_environment_list(find(spec, ("vllmConfig", "env"))))
    yield replace(
        resource.base, span=_named(resource), engine="vllm", image=image, version=version_setting(image),
        arguments=tuple(words), environment=environment, facts={**resource.base.facts, "launcher": "serve"},
    )  # fmt: skip


def _llm_inference_service(resource: Resource) -> Iterator[Serving]:
    """KServe's LLMInferenceService: without a command of its own, KServe's template serves the model.

    Its words and those of VLLM_ADDITIONAL_ARGS go through a shell's `eval` there, which takes quotes away.
    """
    spec = get(resource.node, "spec")
    model = _model(find(spec, ("model", "uri")), "model.uri")
    if model is None:
        return
    container = _main(find(spec, ("template", "containers")))
    if get(container, "command") is not None:
        # A command of its own is judged as any container's.
        return
    environment = _environment_list(get(container, "env"))
    args = get(container, "args")
    nodes = list(args.items) if args is not None and args.kind == "sequence" else []
    extra = next((setting for setting in environment if setting.name == "VLLM_ADDITIONAL_ARGS"), None)
    if extra is not None and extra.value and isinstance(extra.data, Node):
        nodes.append(extra.data)
    words = _evaluated(resource, nodes) if all(node.kind == "scalar" for node in nodes) else _words(resource, args)
    image_node = get(container, "image")
    image = None
    if image_node is not None and image_node.kind == "scalar":
        image = Setting("image", image_node.text, image_node.span, image_node.span, "image")
    yield replace(
        resource.base, span=model.span, engine="vllm", model=model, image=image, version=version_setting(image),
        arguments=tuple(words), environment=tuple(environment),
        facts={**resource.base.facts, "launcher": "config", "storage_uri": model},
    )  # fmt: skip


# GenAIComps' names of the steps that serve a model (config/gmcrouter in opea-project/GenAIInfra).
_STEP_ENGINES = {"tgi": "tgi", "tgigaudi": "tgi", "vllm": "vllm", "vllmgaudi": "vllm", "ollama": "ollama"}


def _connector(resource: Resource) -> Iterator[Serving]:
    """OPEA's GMConnector: steps that the operator makes of its own templates, the model in their configuration."""
    for _, node in entries(find(resource.node, ("spec", "nodes"))):
        steps = get(node, "steps")
        for step in steps.items if steps is not None and steps.kind == "sequence" else ():
            engine = _STEP_ENGINES.get((_text(get(step, "name")) or "").lower())
            config = find(step, ("internalService", "config"))
            named = next((key for key in ("MODEL_ID", "LLM_MODEL_ID") if get(config, key) is not None), None)
            model = _model(get(config, named), named) if named else None
            if engine is not None and model is not None:
                yield replace(
                    resource.base, span=model.span, engine=engine, model=model, hidden=(BY_NAME,),
                    facts={**resource.base.facts, "by_name": True},
                )  # fmt: skip


def _main(containers: Node | None) -> Node | None:
    items = containers.items if containers is not None and containers.kind == "sequence" else ()
    return next((item for item in items if _text(get(item, "name")) == "main"), None)


# What a shell reads in its own way; words without any of it are the same behind `eval`.
_FOR_THE_SHELL = frozenset(" \t\n\"'\\$`{}*?[]~;|&<>()#!")


def _evaluated(resource: Resource, nodes: Sequence[Node]) -> list[Argument]:
    """The words that a shell makes of these once more, joined by blanks (config-llm-template.yaml in kserve/kserve)."""
    if not any(_FOR_THE_SHELL & set(node.text) for node in nodes):
        return [_word(resource, node) for node in nodes]
    from servelint.formats.shell import read_script
    from servelint.manifests.containers import mapped, word_argument

    text, offsets = "vllm", [nodes[0].start] * len("vllm")
    for node in nodes:
        inner = embedded(resource.file, node)
        text += " " + inner.text
        offsets += [inner.offsets[0], *inner.offsets[:-1]]
    whole = Embedded(text, [*offsets, nodes[-1].end], None, "KServe's own template hands it to a shell once more")
    command = next(iter(read_script(text).commands), None)
    if command is None:
        return [Argument(None, nodes[0].span, "a shell cannot read it", count=None, form="yaml")]
    return [mapped(word_argument(word), whole) for word in command.words[1:]]


_READERS: dict[str, Callable[[Resource], Iterator[Serving]]] = {
    "Model": _kubeai,
    "Workspace": _kaito,
    "InferenceSet": _kaito,
    "NIMService": _nim,
    "VLLMRuntime": _vllm_runtime,
    "LLMInferenceService": _llm_inference_service,
    "LLMInferenceServiceConfig": _llm_inference_service,
    "GMConnector": _connector,
}
