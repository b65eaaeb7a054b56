"""LiteLLM's proxy configuration: each entry of `model_list` is a route with a provider, a server and defaults.

Sources: BerriAI/litellm litellm/router.py (an entry's `litellm_params` are put into every call, a request's own fields
win, `default_litellm_params` fill what is missing), docs.litellm.ai/docs/providers/ollama and docs/text_completion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from servelint.files.context import Context
from servelint.formats.yaml import (
    Node,
    YamlFile,
    YamlRefusal,
    entries,
    find,
    get,
    is_templated,
    read_yaml,
    refusal,
    scalar_type,
    value,
)
from servelint.formats.yaml_edit import append_items, insert_items
from servelint.formats.yaml_scalars import render
from servelint.manifests.serving import Manifest, Refusal, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import replace
from servelint.text import Edit, Source, Span

# Providers that hand a request to a server of one's own; what stands before the `/` of another name is a vendor's.
OWN_PROVIDERS = frozenset(
    {
        "ollama", "ollama_chat", "openai", "openai_like", "custom_openai", "hosted_vllm", "vllm", "huggingface",
        "text-completion-openai", "text-completion-huggingface", "llamafile", "lm_studio", "litellm_proxy",
        "xinference", "triton", "oobabooga", "petals", "docker_model_runner", "lemonade",
    }
)  # fmt: skip
_VARIABLE = "os.environ/"
# Fewer letters (`</s>`, `<|end|>`) stand in other texts by chance.
_SHORTEST = 5
# The fields of an entry that are its own place, and that no server gets.
_PLACES = frozenset({"model", "api_base", "base_url", "api_key", "custom_llm_provider", "template", "extra_body"})
_MODEL_LIST = re.compile(r"^model_list[ \t]*:", re.MULTILINE)
_PARAMETERS = re.compile(r"^[ \t-]+litellm_params[ \t]*:", re.MULTILINE)


class LitellmWriter(YamlWriter):
    """Adds stops to the mapping whose `stop` holds for a route."""

    def __init__(self, file: YamlFile, holder: Node, refused: str | None) -> None:
        super().__init__(file)
        self._document = file
        self._holder = holder
        self._refused = refused

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Append to the list, make a list of a single stop, or write a list."""
        if name != "stop":
            return Refusal(f"no field of LiteLLM holds {name}")
        if self._refused is not None:
            return Refusal(self._refused)
        node = get(self._holder, "stop")
        there = _texts_of(node)
        if "" in there:
            return Refusal("the empty stop that stands there has to go first")
        texts = [text for text in map(str, values) if not any(_means(each, text) for each in there)]
        if not texts:
            return Refusal("a stop that stands there means it, and has to be spelt right")
        if node is None or (node.kind == "sequence" and not node.items):
            answer = insert_items(self._document, self._holder, "stop", texts)
        elif node.kind == "sequence":
            answer = append_items(self._document, node, texts)
        else:
            answer = self._made_list(node, texts)
        return Refusal(answer.reason) if isinstance(answer, YamlRefusal) else answer

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put another text in the place of a stop, or a list of several in that of a single one."""
        node = setting.data
        if len(values) < 2 or not isinstance(node, Node) or node is not get(self._holder, "stop"):
            return super().replace(setting, values)
        reason = refusal(self._document, node)
        style = "single" if node.style == "single" else "double"
        written = [render(str(text), style, True) for text in values]
        if reason is not None or node.style not in ("plain", "single", "double") or not all(written):
            return Refusal(reason or "the stop is not written on one line")
        return (Edit(node.start, node.end, f"[{', '.join(text for text in written if text is not None)}]"),)

    def _made_list(self, node: Node, texts: list[str]) -> tuple[Edit, ...] | YamlRefusal:
        """A list of the one stop and these, on its line; the stop keeps its quotes, and the others get the same."""
        reason = refusal(self._document, node)
        if reason is not None:
            return YamlRefusal(reason)
        if node.kind != "scalar" or node.style not in ("plain", "single", "double") or node.start == node.end:
            return YamlRefusal("the stop is not written on one line")
        style = "single" if node.style == "single" else "double"
        written = [render(text, style, True) for text in texts]
        first = (
            render(node.text, "double", True) if node.style == "plain" else self._document.text[node.start : node.end]
        )
        if first is None or "\n" in first or not all(written):
            return YamlRefusal("the stop is not written on one line")
        shown = ", ".join([first, *(text for text in written if text is not None)])
        return (Edit(node.start, node.end, f"[{shown}]"),)


def _texts_of(node: Node | None) -> list[str]:
    items = node.items if node is not None and node.kind == "sequence" else [node] if node is not None else []
    return [item.text for item in items if item.kind == "scalar"]


def _means(written: str, token: str) -> bool:
    """Whether a stop is the token but for what misspellings, stray quotes and lists in one text get wrong."""
    if "<" not in written and "|" not in written:
        return False
    letters = _letters(token)
    return len(letters) >= _SHORTEST and letters in _letters(written)


def _letters(text: str) -> str:
    return "".join(letter for letter in text.lower() if letter.isalnum())


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a configuration; None where no list of models in it has LiteLLM's parameters.

    A text that YAML refuses is LiteLLM's where both keys stand at the begin of lines.
    """
    file = read_yaml(source.text)
    # LiteLLM's own chart has the configuration among its values.
    roots = [root for node in file.documents for root in (node, get(node, "proxy_config"))]
    root = next((node for node in roots if get(node, "model_list") is not None), None)
    models = get(root, "model_list")
    items = models.items if models is not None and models.kind == "sequence" else ()
    found = [item for item in items if get(item, "litellm_params") is not None]
    if not found:
        broken = file.broken and not is_templated(source.text)
        if not broken or not _MODEL_LIST.search(source.text) or not _PARAMETERS.search(source.text):
            return None
    defaults = find(root, ("router_settings", "default_litellm_params"))
    dropped = value(find(root, ("litellm_settings", "drop_params"))) is True
    servings = [serving for item in found for serving in _servings(path, file, item, defaults, dropped)]
    return Manifest(
        path, "litellm", source.text, "yaml", tuple(servings), file.problems, file.comments, {"document": file}
    )


def _servings(path: str, file: YamlFile, item: Node, defaults: Node | None, dropped: bool) -> Iterator[Serving]:
    parameters = get(item, "litellm_params")
    model = get(parameters, "model")
    if parameters is None or parameters.kind != "mapping" or model is None or model.kind != "scalar" or not model.text:
        return
    given = get(parameters, "custom_llm_provider")
    provider, name = _provider(model.text, given.text if given is not None and given.kind == "scalar" else None)
    reason = _unknown(model)
    base = get(parameters, "api_base") or get(parameters, "base_url")
    address = base.text if base is not None and base.kind == "scalar" and not _unknown(base) else None
    server = "unknown" if reason else server_of(provider, name, address, base is not None)
    if server in ("ollama", "ollama-v1") and not any(mark in name for mark in "/:*"):
        # So Ollama itself completes it; a name with a tag is one of its library.
        name += ":latest"
    setting = Setting(
        "model", None if reason else name, model.span, model.span, "litellm_params.model", data=model, reason=reason
    )
    alias = get(item, "model_name")
    mode = find(item, ("model_info", "mode"))
    # Only the OpenAI client has an extra body to send.
    body = get(parameters, "extra_body") if server != "ollama" else None
    stops = next((node for node in (parameters, body, defaults) if node and get(node, "stop") is not None), parameters)
    facts = {
        "document": file,
        "provider": None if reason else provider,
        "server": server,
        "route": alias.text if alias is not None and alias.kind == "scalar" else "",
        "mode": mode.text if mode is not None and mode.kind == "scalar" else None,
        "drop_params": dropped or value(get(parameters, "drop_params")) is True,
        "stop_field": _stop_field(stops),
    }
    # Elsewhere a stop is a text beside the ends that the server reads itself: nothing is pinned by one.
    refused = None if server in ("ollama", "ollama-v1") else "the server takes its ends from the model's own files"
    place = alias if alias is not None and alias.kind == "scalar" and alias.alias_span is None else model
    yield Serving(
        path, place.span, "litellm", "litellm", LitellmWriter(file, stops, refused), model=setting,
        settings=tuple(_settings(parameters, body, defaults, server in ("ollama", "ollama-v1"))), facts=facts,
    )  # fmt: skip


def _provider(model: str, given: str | None) -> tuple[str | None, str]:
    """The provider that a model's name begins with, or that the entry names, and the name that the provider gets."""
    before, slash, rest = model.partition("/")
    if given:
        return given, rest if slash and before == given else model
    if slash and before in OWN_PROVIDERS and rest:
        return before, rest
    return (before if slash else None), model


_OF_HOSTS = (
    ("ollama-v1", ("ollama",)),
    ("vllm", ("vllm",)),
    ("sglang", ("sglang",)),
    ("tgi", ("tgi", "text-generation-inference", "text-generation")),
    ("llama.cpp", ("llamacpp", "llama-cpp", "llama.cpp", "llama-server")),
)
_RELAYS = ("litellm", "proxy", "gateway", "router", "relay", "webui")
_OF_PROVIDERS = {
    "ollama": "ollama", "ollama_chat": "ollama", "hosted_vllm": "vllm", "vllm": "vllm", "llamafile": "llama.cpp",
}  # fmt: skip
_OPENAI_ROUTES = frozenset({"openai", "openai_like", "custom_openai", "text-completion-openai"})
_OLLAMA_PORT = 11434


def server_of(provider: str | None, model: str, api_base: str | None, addressed: bool) -> str:
    """What answers on a route, as far as the provider and the address tell.

    `ollama` (its own API), `ollama-v1` (its OpenAI routes), `vllm`, `sglang`, `tgi`, `llama.cpp`, `openai` (the hosted
    API and Azure's), `hosted` (another vendor) or `unknown`. `addressed` says that an address is given, known or not.
    """
    if provider in _OF_PROVIDERS:
        return _OF_PROVIDERS[provider]
    if provider == "azure" or (provider is None and "/" not in model and not addressed):
        return "openai" if provider == "azure" or model.startswith(("gpt-", "o1", "o3", "o4")) else "unknown"
    if provider in _OPENAI_ROUTES or provider in ("huggingface", "text-completion-huggingface"):
        if addressed:
            return _of_address(api_base, provider)
        return "openai" if provider in _OPENAI_ROUTES and model.startswith(("gpt-", "o1", "o3", "o4")) else "unknown"
    return "unknown" if provider is None or provider in OWN_PROVIDERS else "hosted"


def _of_address(address: str | None, provider: str) -> str:
    """By the host's name, where that is no relay's; by Ollama's port."""
    _, _, rest = (address or "").lower().partition("://")
    host, _, port = rest.partition("/")[0].rpartition("@")[2].partition(":")
    if host == "api.openai.com" or host.endswith(".openai.azure.com"):
        return "openai"
    if any(word in host for word in _RELAYS):
        return "unknown"
    # In a cluster the first label names the service; a later one may be the namespace of anything.
    first = host.partition(".")[0] if not host.replace(".", "").isdigit() else ""
    labels = (first,) if "." in host else (first, host)
    for server, words in _OF_HOSTS:
        if any(word in label for label in labels for word in words):
            return server
    if port == str(_OLLAMA_PORT):
        return "ollama-v1"
    return "unknown" if provider in _OPENAI_ROUTES or "huggingface" in host else "tgi"


def _stop_field(holder: Node) -> tuple[bool, Span, Span] | None:
    """Whether `stop` holds a list, and the places of its value and of the whole pair."""
    for key, node in entries(holder):
        if key.text == "stop" and not (node.kind == "scalar" and scalar_type(node) == "null"):
            return node.kind == "sequence", node.span, Span(key.begin, max(node.end, key.end))
    return None


def _unknown(node: Node) -> str | None:
    """Why a scalar's value cannot be known, or None."""
    if node.text.startswith(_VARIABLE):
        return f"the variable {node.text.removeprefix(_VARIABLE)} says it when the proxy starts"
    if is_templated(node.text) or "${" in node.text:
        return "a template fills it in"
    return None


def _settings(parameters: Node, body: Node | None, defaults: Node | None, replaces: bool) -> Iterator[Setting]:
    """Every field that a call on this route gets, unless the call has its own: the router's defaults come last.

    Stops are `stop` where the server takes them in place of the model's own. They are `added_stop` where they stand
    beside the ends that it reads from the model's files, where one of them is not known, and where all are empty:
    nothing need be among them.
    """
    seen = set()
    for mapping, prefix in (
        (parameters, "litellm_params"),
        (body, "extra_body"),
        (defaults, "router_settings.default_litellm_params"),
    ):
        for key, node in entries(mapping):
            if key.kind != "scalar" or key.text in _PLACES or key.text in seen:
                continue
            seen.add(key.text)
            found = list(_setting(key, node, f"{prefix}.{key.text}"))
            texts = [setting.value for setting in found]
            if key.text == "stop" and not (replaces and None not in texts and any(texts)):
                found = [replace(setting, name="added_stop") for setting in found]
            yield from found


def _setting(key: Node, node: Node, origin: str) -> Iterator[Setting]:
    whole = Span(key.begin, max(node.end, key.end))
    if node.kind == "scalar" and scalar_type(node) == "null":
        return
    items = node.items if key.text == "stop" and node.kind == "sequence" else [node]
    for item in items:
        if item.kind != "scalar":
            yield Setting(key.text, None, item.span, whole, origin, data=value(item))
            continue
        reason = _unknown(item)
        if reason is not None:
            yield Setting(key.text, None, item.span, whole, origin, reason=reason)
        elif key.text == "stop":
            yield Setting("stop", item.text, item.span, item.span, origin, data=item)
        else:
            yield Setting(key.text, item.text, item.span, whole, origin, data=value(item))
