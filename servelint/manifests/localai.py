"""LocalAI model files, and gallery entries that carry one as a text.

Sources: mudler/LocalAI core/config/model_config.go, core/schema/prediction.go, gallery/*.yaml (82c191af).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, YamlRefusal, embedded, entries, get, read_yaml, scalar_type, value
from servelint.formats.yaml_edit import append_items, insert_items
from servelint.manifests.serving import Manifest, Piece, Refusal, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.text import Edit, Source

# Keys that LocalAI's model files have and few others: one of them beside `parameters.model` says what the file is.
_OWN_KEYS = (
    "backend", "stopwords", "cutstrings", "context_size", "known_usecases", "gpu_layers", "mmap", "f16", "roles",
    "feature_flags", "system_prompt", "mmproj", "embeddings", "description", "usage",
)  # fmt: skip
_TEMPLATES = ("chat", "chat_message", "completion", "edit", "function", "use_tokenizer_template")


class LocalaiWriter(YamlWriter):
    """Adds and changes the stop words of a model file."""

    def __init__(self, file: YamlFile, root: Node) -> None:
        super().__init__(file)
        self._root = root
        self._document = file

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Append stop words to the list, or write one."""
        if name != "stop":
            return Refusal(f"LocalAI has no place for {name} here")
        texts = [str(each) for each in values]
        node = get(self._root, "stopwords")
        if node is None or (node.kind == "sequence" and not node.items):
            answer = insert_items(self._document, self._root, "stopwords", texts)
        else:
            answer = append_items(self._document, node, texts)
        return Refusal(answer.reason) if isinstance(answer, YamlRefusal) else answer


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a model file; None where it is none of LocalAI's."""
    file = read_yaml(source.text)
    servings: list[Serving] = []
    pieces: list[Piece] = []
    for root in _roots(file):
        inner = get(root, "config_file")
        if inner is not None and inner.kind == "scalar" and inner.style in ("literal", "folded"):
            pieces.append(Piece("-", embedded(file, inner), "localai"))
            continue
        if _is_model_file(root):
            servings.append(_serving(path, file, root))
    if not servings and not pieces:
        return None
    return Manifest(
        path, "localai", source.text, "yaml", tuple(servings), file.problems, file.comments, {"document": file},
        tuple(pieces),
    )  # fmt: skip


def _roots(file: YamlFile) -> Iterator[Node]:
    """The mappings that may be a model each: `--models-config-file` takes a list of them."""
    for document in file.documents:
        nodes = document.items if document is not None and document.kind == "sequence" else (document,)
        yield from (node for node in nodes if node is not None and node.kind == "mapping")


def _is_model_file(root: Node) -> bool:
    """Whether a mapping is a model's configuration: inside a gallery entry the model may be named elsewhere."""
    keys = {key.text for key, _ in entries(root)}
    parameters = get(root, "parameters")
    template = get(root, "template")
    templated = template is not None and any(key.text in _TEMPLATES for key, _ in entries(template))
    own = templated or any(key in keys for key in _OWN_KEYS)
    if parameters is not None and parameters.kind != "mapping":
        return False
    if get(parameters, "model") is not None:
        return own
    # The models of a gallery entry are named by whoever installs it.
    return "backend" in keys and (templated or "stopwords" in keys)


def _serving(path: str, file: YamlFile, root: Node) -> Serving:
    parameters = get(root, "parameters")
    model = get(parameters, "model")
    name = get(root, "name")
    place = name or model or root.items[0][0]
    settings = [*_stops(root), *_parameters(parameters), *_template(root)]
    backend = get(root, "backend")
    template = get(root, "template")
    own_template = value(get(template, "use_tokenizer_template")) is True
    facts = {
        "document": file,
        "backend": backend.text if backend is not None and backend.kind == "scalar" else None,
        "uses_tokenizer_template": own_template or _has_option(root, "use_jinja:true"),
        "misplaced": tuple(_misplaced(root, parameters)),
    }
    setting = None
    if model is not None and model.kind == "scalar" and model.text:
        setting = Setting("model", model.text, model.span, model.span, "parameters.model", data=model)
    return Serving(
        path, place.span, "localai", "localai", LocalaiWriter(file, root), None, None, setting, None, tuple(settings),
        facts=facts,
    )  # fmt: skip


def _has_option(root: Node, wanted: str) -> bool:
    options = get(root, "options")
    items = options.items if options is not None and options.kind == "sequence" else ()
    return any(item.kind == "scalar" and item.text.replace(" ", "") == wanted for item in items)


def _stops(root: Node) -> Iterator[Setting]:
    node = get(root, "stopwords")
    for item in node.items if node is not None and node.kind == "sequence" else ():
        if item.kind == "scalar":
            text = None if scalar_type(item) == "null" else item.text
            yield Setting("stop", text, item.span, item.span, "stopwords", data=item)


def _parameters(parameters: Node | None) -> Iterator[Setting]:
    for key, node in entries(parameters):
        if node.kind == "scalar" and key.text != "model":
            yield Setting(key.text, node.text, node.span, node.span, f"parameters.{key.text}", data=value(node))


def _template(root: Node) -> Iterator[Setting]:
    """What is written around and behind an answer, as one text."""
    template = get(root, "template")
    found = [get(template, name) for name in ("chat_message", "chat")]
    nodes = [node for node in found if node is not None and node.kind == "scalar" and node.text]
    if nodes:
        text = "\n".join(node.text for node in nodes)
        yield Setting("template", text, nodes[0].span, nodes[0].span, "template", data=nodes[0])


def _misplaced(root: Node, parameters: Node | None) -> Iterator[tuple[str, Node, str]]:
    """Settings of the length that stand where LocalAI does not look for them: name, place, and the right place."""
    for key, _ in entries(parameters):
        if key.text in ("context_size", "stopwords"):
            yield key.text, key, key.text
    for key, _ in entries(root):
        if key.text in ("max_tokens", "ignore_eos", "temperature"):
            yield key.text, key, f"parameters.{key.text}"
