"""JSON files of programs that people run on their own machines: LM Studio, KoboldCpp, llama-cpp-python's server.

Sources: LM Studio's `*.preset.json` (lmstudio.ai documentation), KoboldCpp's `.kcpps` (its argument names),
llama-cpp-python 0.3.36 `llama_cpp/server/settings.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from servelint.files.context import Context
from servelint.formats.json import JsonFile, Node, embedded, find, get, plain, read_json
from servelint.manifests.serving import Manifest, Refusal, Serving, Setting
from servelint.records import record, replace
from servelint.text import Edit, Source, Span

# LM Studio's keys, and the names under which other forms have the same.
_LM_STUDIO = {
    "llm.prediction.stopStrings": "stop",
    "llm.prediction.maxPredictedTokens": "max_tokens",
    "llm.prediction.temperature": "temperature",
    "llm.prediction.repeatPenalty": "repetition_penalty",
}
_OF_KOBOLDCPP = frozenset({"contextsize", "gpulayers", "usecublas", "gendefaults", "genlimit", "threads"})


@record
class PresetWriter:
    """Changes strings of a JSON file in their places."""

    document: JsonFile

    def add(self, name: str, values: Any) -> Refusal:
        """Refuse: these programs take the model's ends from the GGUF."""
        return Refusal("what ends generation is inside the GGUF")

    def replace(self, setting: Setting, values: Any) -> tuple[Edit, ...] | Refusal:
        """Another string in the place of one."""
        if len(values) != 1 or not isinstance(setting.value, str):
            return Refusal("only a string can be replaced here")
        text = json.dumps(str(values[0]), ensure_ascii=False)
        if self.document.text.startswith("\\", setting.span.start):
            # It stands in JSON that is itself a string.
            text = json.dumps(text, ensure_ascii=False)[1:-1]
        return (Edit(setting.span.start, setting.span.end, text),)


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a preset; None where the file is none of these programs'."""
    document = read_json(source.text)
    root = document.root
    if root is None or root.kind != "object":
        return None
    servings = list(_lm_studio(path, document, root)) or list(_koboldcpp(path, document, root))
    servings = servings or list(_llama_cpp_python(path, document, root))
    if not servings:
        return None
    return Manifest(
        path, "local-preset", source.text, "json", tuple(servings), document.problems, document.comments,
        {"document": document},
    )  # fmt: skip


def _base(path: str, document: JsonFile, span: Span, engine: str, settings: list[Setting], **facts: Any) -> Serving:
    return Serving(
        path, span, "local-preset", engine, PresetWriter(document), settings=tuple(settings),
        facts={"document": document, **facts},
    )  # fmt: skip


def _setting(name: str, node: Node, origin: str) -> Setting:
    text = node.value if node.kind == "string" else node.raw or None
    return Setting(name, text, node.span, node.span, origin, data=plain(node))


def _lm_studio(path: str, document: JsonFile, root: Node) -> Iterator[Serving]:
    fields = find(root, ("operation", "fields"))
    if fields is None or fields.kind != "array":
        return
    settings: list[Setting] = []
    for entry in fields.items:
        key, value = get(entry, "key"), get(entry, "value")
        name = _LM_STUDIO.get(str(key.value)) if key is not None else None
        if name is None or value is None or key is None:
            continue
        checked = get(value, "checked")
        if checked is not None:
            # A value behind an empty box is kept and not used.
            inner = get(value, "value")
            if checked.kind != "true" or inner is None:
                continue
            value = inner
        items = value.items if value.kind == "array" else (value,)
        settings += [_setting(name, item, str(key.value)) for item in items]
    if not settings:
        return
    place = get(root, "name") or get(root, "identifier") or root
    yield _base(
        path, document, Span(place.span.start, min(place.span.end, place.span.start + 80)), "lm-studio", settings
    )


def _koboldcpp(path: str, document: JsonFile, root: Node) -> Iterator[Serving]:
    model = get(root, "model_param") or get(root, "model")
    names = {member.name for member in root.members}
    if model is None or len(names & _OF_KOBOLDCPP) < 2:
        return
    if model.kind == "array" and model.items:
        model = model.items[0]
    settings: list[Setting] = []
    limit, default = get(root, "genlimit"), get(root, "defaultgenamt")
    if limit is not None:
        settings.append(_setting("genlimit", limit, "genlimit"))
    if default is not None:
        settings.append(_setting("defaultgenamt", default, "defaultgenamt"))
    settings += _of_defaults(get(root, "gendefaults"))
    place = model.span
    overwrites = plain(get(root, "gendefaultsoverwrite")) is True
    serving = _base(path, document, place, "koboldcpp", settings, overwrites=overwrites)
    if model.kind == "string" and model.value:
        serving = replace(serving, model=Setting("model_param", model.value, place, place, "model_param", data=model))
    yield serving


def _of_defaults(node: Node | None) -> list[Setting]:
    """`gendefaults` is JSON inside a string."""
    if node is None or node.kind != "string":
        return []
    outer = embedded(node)
    inner = read_json(outer.text)
    found: list[Setting] = []
    for member in inner.root.members if inner.root is not None else ():
        name = {"stop_sequence": "stop", "max_length": "max_tokens"}.get(member.name, member.name)
        items = member.value.items if member.value.kind == "array" else (member.value,)
        for item in items:
            place = outer.host_span(item.span)
            text = item.value if item.kind == "string" else item.raw or None
            found.append(Setting(name, text, place, place, f"gendefaults {member.name}", data=plain(item)))
    return found


def _llama_cpp_python(path: str, document: JsonFile, root: Node) -> Iterator[Serving]:
    models = get(root, "models")
    for entry in models.items if models is not None and models.kind == "array" else ():
        model = get(entry, "model") if entry.kind == "object" else None
        if model is None or model.kind != "string" or not str(model.value).lower().endswith(".gguf"):
            continue
        if not {member.name for member in entry.members} & {"n_ctx", "n_gpu_layers", "chat_format", "model_alias"}:
            continue
        overrides = get(entry, "kv_overrides")
        items = overrides.items if overrides is not None and overrides.kind == "array" else ()
        settings = [_setting("kv_overrides", item, "kv_overrides") for item in items if item.kind == "string"]
        serving = _base(path, document, model.span, "llama-cpp-python", settings)
        yield replace(serving, model=Setting("model", model.value, model.span, model.span, "model", data=model))
