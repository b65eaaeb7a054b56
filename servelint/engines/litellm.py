"""LiteLLM: what a route's defaults do at the server behind it, to what ends generation, caps it and makes its prompt.

Sources: BerriAI/litellm litellm/llms/ollama/{chat,completion}/transformation.py (`stop` goes as it is into Ollama's
options, `max_tokens` and `max_completion_tokens` become `num_predict`), litellm/llms/openai/completion (messages are
joined to a bare prompt), litellm/router.py; ollama/ollama openai/openai.go (what the OpenAI routes read).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from servelint.engines.reading import Cap, Fault, Reading, StopId, StopSet, StopText
from servelint.manifests.serving import Serving, Setting
from servelint.models.identity import Identity
from servelint.models.tokens import known_token, lookalike

_OLLAMA = ("ollama", "ollama-v1")
_UNREAD = {
    "ollama": "the end ids inside the model, and the list of its own that Ollama has from 0.30 on",
    "ollama-v1": "the end ids inside the model, and the list of its own that Ollama has from 0.30 on",
    "llama.cpp": "the end ids inside the GGUF",
    "hosted": "what the vendor ends this model's turns with",
    "openai": "what the vendor ends this model's turns with",
}
# Fields that one program reads and the others pass over in silence.
_OF_OLLAMA = frozenset(
    {
        "num_ctx", "num_keep", "num_gpu", "num_thread", "num_batch", "main_gpu", "repeat_penalty", "repeat_last_n",
        "mirostat", "mirostat_eta", "mirostat_tau", "tfs_z", "typical_p", "keep_alive", "think",
    }
)  # fmt: skip
_OF_VLLM = frozenset(
    {
        "stop_token_ids", "ignore_eos", "min_tokens", "repetition_penalty", "skip_special_tokens",
        "include_stop_str_in_output", "chat_template_kwargs", "add_generation_prompt", "guided_json", "guided_regex",
        "guided_choice", "guided_grammar", "bad_words",
    }
)  # fmt: skip
# What llama-server shares with Ollama: both hand these to the same library.
_OF_LLAMA_SAMPLERS = frozenset({
    "repeat_penalty", "repeat_last_n", "mirostat", "mirostat_eta", "mirostat_tau", "typical_p",
})  # fmt: skip
_IGNORED: Mapping[str, frozenset[str]] = {
    "ollama": _OF_VLLM,
    "ollama-v1": _OF_OLLAMA | _OF_VLLM | {"top_k", "min_p"},
    "vllm": _OF_OLLAMA,
    "sglang": _OF_OLLAMA,
    "tgi": _OF_OLLAMA,
    "llama.cpp": (_OF_OLLAMA - _OF_LLAMA_SAMPLERS) | {"stop_token_ids"},
}
_SHOWN = {
    "ollama": "Ollama",
    "ollama-v1": "Ollama's OpenAI route",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "tgi": "TGI's OpenAI route",
    "llama.cpp": "llama-server",
    "openai": "the hosted OpenAI API",
}
# The names of a cap that are read, the one that wins first; where nobody knows, those of OpenAI.
_CAPS: Mapping[str, tuple[str, ...]] = {
    "ollama": ("max_completion_tokens", "max_tokens", "num_predict"),
    "ollama-v1": ("max_tokens",),
    "llama.cpp": ("n_predict", "max_completion_tokens", "max_tokens"),
}
_OF_COMPLETIONS = ("max_tokens",)
_OF_CHAT = ("max_completion_tokens", "max_tokens")
_OF_TGI_ITSELF = ("max_tokens", "max_completion_tokens", "max_new_tokens")
_ALL_CAPS = frozenset({"max_tokens", "max_completion_tokens", "max_new_tokens", "num_predict", "n_predict"})
# How many stops a request may have: TGI unless its MAX_STOP_SEQUENCES says otherwise, and OpenAI.
_MOST_STOPS = {"tgi": 4, "openai": 4}
_STRIPS_TEXTS = ("vllm", "sglang")
_NO_TEXT_MODES = frozenset(
    {
        "embedding", "rerank", "image_generation", "audio_transcription", "audio_speech", "moderation", "moderations",
        "ocr", "video_generation", "search", "vector_store",
    }
)  # fmt: skip
_FILLS_IN = ("autocomplete", "fim", "infill", "fill-in", "codestral-fim", "tab-complet")
_SHORT_ANSWERS = ("classif", "guard", "moderat", "rerank", "judge", "title", "intent", "embed")
_CONSTRAINTS = ("guided_choice", "guided_json", "guided_regex", "guided_grammar", "response_format")
_BANNED_FROM = -50


def read_litellm(serving: Serving, identity: Identity) -> Reading:
    """The route as its server gets it, where the request itself says nothing else.

    Only Ollama takes a list of stops in place of the model's own; what the GGUF ends by itself all the same is told
    among what is unknown. Elsewhere they are added to the ends that the server reads from the model's files.
    """
    server = serving.facts["server"]
    replaces = server in _OLLAMA
    strips = server in _STRIPS_TEXTS and not _is_false(serving.last("skip_special_tokens"))
    stops = _stops(serving)
    texts = tuple(StopText(stop.value, stop.origin, stop.span) for stop in stops if stop.value)
    control = _control(identity)
    unknown = _UNREAD.get(server, "the ends that the server reads from the model's own files")
    if any(stop.value is None for stop in stops):
        unknown = "stops that are not written out here"
    cap = _cap(serving)
    return Reading(
        StopSet(
            tuple(text for text in texts if not (strips and text.value in control)), tuple(_ids(serving, identity)),
            unknown=(unknown,),
        ),
        (), cap, None, tuple(_faults(serving, identity, cap, strips)), not (replaces and serving.named("stop")),
        replaces, _serves_chat(serving), serving.facts["mode"] not in _NO_TEXT_MODES, {"server": server},
    )  # fmt: skip


def _stops(serving: Serving) -> tuple[Setting, ...]:
    return (*serving.named("stop"), *serving.named("added_stop"))


def _control(identity: Identity) -> set[str]:
    return {token.text for token in (*identity.terminators, *identity.vocabulary)}


def _is_false(setting: Setting | None) -> bool:
    return setting is not None and setting.data is False


def _is_completions(serving: Serving) -> bool:
    """Whether the messages are joined to one bare prompt."""
    return serving.facts["provider"] in ("text-completion-openai", "text-completion-huggingface")


def _serves_chat(serving: Serving) -> bool | None:
    """True on a chat route that is not said to be there for completions."""
    if serving.facts["mode"] == "completion" or _names(serving, _FILLS_IN) or _is_completions(serving):
        return None
    provider, name = serving.facts["provider"], serving.model.value if serving.model is not None else None
    if serving.facts["server"] not in _OLLAMA and "/" not in (name or ""):
        # What a server calls its model: `llama-3-8b` is as often the chat model of that size.
        return None
    # Through `ollama/` the proxy also completes bare text.
    return True if provider in ("ollama_chat", "openai", "openai_like", "custom_openai", "hosted_vllm") else None


def _names(serving: Serving, words: tuple[str, ...]) -> bool:
    route = serving.facts["route"].lower()
    return any(word in route for word in words)


def _ids(serving: Serving, identity: Identity) -> Iterator[StopId]:
    if serving.facts["server"] in _OLLAMA:
        return
    setting = serving.last("stop_token_ids")
    texts = {token.id: token.text for token in (*identity.vocabulary, *identity.terminators)}
    for number in setting.data if setting is not None and isinstance(setting.data, list) else ():
        if isinstance(number, int) and not isinstance(number, bool) and setting is not None:
            yield StopId(number, setting.origin, texts.get(number), setting.span)


def _cap_names(serving: Serving) -> tuple[str, ...]:
    server = serving.facts["server"]
    if server in _CAPS:
        return _CAPS[server]
    if (serving.facts["provider"] or "").endswith("huggingface"):
        return _OF_TGI_ITSELF
    return _OF_COMPLETIONS if _is_completions(serving) else _OF_CHAT


def _cap(serving: Serving) -> Cap | None:
    """The cap that a request without one gets; none where answers are short by purpose."""
    if _names(serving, _SHORT_ANSWERS) or any(serving.named(name) for name in _CONSTRAINTS):
        return None
    for name in _cap_names(serving):
        setting = serving.last(name)
        number = _integer(setting)
        if setting is not None and number is not None:
            return Cap(number, setting.origin, setting.whole) if number > 0 else None
    return None


def _integer(setting: Setting | None) -> int | None:
    """A number, written as one or as a text."""
    if setting is None or isinstance(setting.data, bool):
        return None
    if isinstance(setting.data, int):
        return setting.data
    text = setting.data if isinstance(setting.data, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else None


def _faults(serving: Serving, identity: Identity, cap: Cap | None, strips: bool) -> Iterator[Fault]:
    if serving.facts["mode"] in _NO_TEXT_MODES:
        return
    yield from _of_stops(serving, identity, strips)
    yield from _of_names(serving)
    yield from _of_ends(serving, identity)
    yield from _of_route(serving, identity)
    context = _integer(serving.last("num_ctx"))
    if serving.facts["server"] == "ollama" and cap is not None and context is not None and 0 < context <= cap.value:
        place = cap.span or serving.span
        yield Fault(
            "no-room", f"{cap.value} tokens of answer do not fit into num_ctx {context}", place, severity="warning",
            why="Prompt and answer share the context: the answer is cut, or the prompt's beginning is thrown away.",
            help="raise num_ctx, or lower the cap below it",
        )  # fmt: skip


def _of_stops(serving: Serving, identity: Identity, strips: bool) -> Iterator[Fault]:
    field = serving.facts["stop_field"]
    if field is None:
        return
    listed, place, whole = field
    server = serving.facts["server"]
    stops = _stops(serving)
    if listed and not stops and server in _OLLAMA:
        yield Fault(
            "emptied", "this empty list takes the place of every stop that the model brings along", whole,
            certain=server == "ollama", subject="stop",
            why="LiteLLM hands the list to Ollama, which uses a request's stops instead of the model's own.",
            help="remove the line to keep the model's stops, or list its terminators",
        )  # fmt: skip
    for stop in stops:
        if stop.value == "":
            yield Fault(
                "emptied", "this stop is an empty text", stop.span, subject="stop",
                why="An empty stop is found at once, or the server refuses the request: no answer comes of it.",
                help="remove it",
            )  # fmt: skip
    yield from _of_writing(serving, identity)
    if not listed and server == "ollama" and any(stop.value for stop in serving.named("stop")):
        yield Fault(
            "invalid-value", "Ollama wants a list of stops, and LiteLLM hands it this text as it is", place,
            certain=False, subject="stop",
            why='Ollama answers such a request with `option "stop" must be of type array`.',
            help="write a list with this one stop",
        )  # fmt: skip
    most = _MOST_STOPS.get(server)
    if most is not None and len(stops) > most:
        limit = "unless MAX_STOP_SEQUENCES is raised " if server == "tgi" else ""
        yield Fault(
            "stop-count", f"{len(stops)} stops go to {_SHOWN[server]}, which takes {most}", whole, subject="stop",
            why=f"The server {limit}refuses every request of this route that has more.",
            help=f"keep the {most} that matter; the model's own ends need not be listed",
        )  # fmt: skip
    if strips:
        yield from _of_stripped(serving, identity)


def _of_stripped(serving: Serving, identity: Identity) -> Iterator[Fault]:
    control, listed = _control(identity), {stop.token for stop in _ids(serving, identity)}
    ends = {token.text for token in identity.terminators} if identity.generates_chat else set()
    for stop in _stops(serving):
        if not stop.value or stop.value in listed:
            continue
        if stop.value not in control and (identity.family is not None or not known_token(stop.value)):
            continue
        held = stop.value in ends
        number = next((t.id for t in (*identity.terminators, *identity.vocabulary) if t.text == stop.value), None)
        yield Fault(
            "text-stripped",
            f"{stop.value} is a special token: {_SHOWN[serving.facts['server']]} leaves its text out before it looks "
            "for stops, so it cannot match",
            stop.span, subject="stop", severity="note" if held else "warning",
            why="The token's id ends the answer" + (", and the model's own files should list it." if held else "."),
            help=f"list stop_token_ids: [{number}] under extra_body" if number is not None else "list its id instead",
        )  # fmt: skip


_TOKEN = re.compile(r"<\|[^|<>\s]{2,40}\|>|</?[a-z_]{1,20}>")
_JUNK = re.compile(r"[\s,;\"'\[\]]*")


def _of_writing(serving: Serving, identity: Identity) -> Iterator[Fault]:
    """Several stops in one text, quotes inside the quotes, and misspelt tokens where nothing need be listed."""
    for stop in serving.named("added_stop"):
        candidates = lookalike(stop.value, identity) if stop.value else ()
        if candidates:
            names = " or ".join(token.text for token in candidates)
            yield Fault(
                "stop-lookalike", f"{stop.value} is no token of any model; {names} was meant", stop.span,
                subject="stop", why="A stop that differs from the token in one character never matches.",
                help="the server ends at the model's own ends without it: remove it, or spell it right",
            )  # fmt: skip
    for stop in _stops(serving):
        text = stop.value or ""
        tokens = _TOKEN.findall(text) if len(text) < 400 else []
        if not tokens or _JUNK.fullmatch(_TOKEN.sub("", text)) is None or text == tokens[0]:
            continue
        if len(tokens) > 1 and re.sub(r"\s", "", text) != "".join(tokens):
            yield Fault(
                "list-in-one", f"{len(tokens)} stops stand in one text, which is a single stop", stop.span,
                json.dumps(tokens, ensure_ascii=False), subject="stop",
                why="The whole text, commas and all, would have to appear in an answer.",
                help="write a list with an item for each",
            )  # fmt: skip
        elif len(tokens) == 1 and text.strip() != tokens[0] and text[0] in "\"'":
            yield Fault(
                "stop-quotes", f"the quotes inside this stop belong to it: {text}", stop.span, f'"{tokens[0]}"',
                subject="stop",
                why="An answer never has them around the token, so the stop never matches.",
                help=f'write "{tokens[0]}"',
            )  # fmt: skip


def _of_names(serving: Serving) -> Iterator[Fault]:
    """Fields that the server behind the route does not read."""
    server = serving.facts["server"]
    if server not in _SHOWN or server == "openai":
        if _is_completions(serving):
            yield from _of_cap_names(serving, frozenset({"max_completion_tokens"}), "the completions route")
        return
    shown = _SHOWN[server]
    for setting in serving.settings:
        if setting.name not in _IGNORED[server]:
            continue
        help_text = "leave it out"
        if server == "ollama-v1" and setting.name in _OF_OLLAMA:
            help_text = "use the provider ollama_chat (api_base without /v1), or set it in the model's Modelfile"
        yield Fault(
            "unread-field", f"{shown} does not read {setting.name}", setting.whole, subject=setting.name,
            why="Nothing fails: the field is passed on and thrown away, and the default holds.", help=help_text,
        )  # fmt: skip
    route = f"the completions route of {shown}" if _is_completions(serving) else shown
    yield from _of_cap_names(serving, _ALL_CAPS - set(_cap_names(serving)), route)


def _of_cap_names(serving: Serving, wrong: frozenset[str], shown: str) -> Iterator[Fault]:
    known = _cap_names(serving)
    if any(serving.named(name) for name in known):
        return
    right = "max_tokens"
    why = "Answers end where the model ends them, or at the server's own default."
    if _is_completions(serving) and serving.facts["drop_params"]:
        why = f"With drop_params LiteLLM leaves out what a provider does not take. {why}"
    for name in sorted(wrong):
        setting = serving.last(name)
        if setting is not None:
            yield Fault(
                "cap-name", f"{shown} does not read {name}: this caps nothing", setting.whole, right, subject=name,
                why=why, help=f"write it as {right}",
            )  # fmt: skip


def _of_ends(serving: Serving, identity: Identity) -> Iterator[Fault]:
    """What keeps the model from ending its turn."""
    if serving.facts["server"] in (*_OLLAMA, "hosted", "openai"):
        return
    ignored = serving.last("ignore_eos")
    if ignored is not None and ignored.data is True:
        yield Fault(
            "bans-end", f"{ignored.origin} forbids every token that ends an answer", ignored.whole,
            subject="ignore_eos", why="No answer ends by itself: each runs to its cap.", help="leave it out",
        )  # fmt: skip
    least, cap = serving.last("min_tokens"), _cap(serving)
    number = _integer(least)
    if least is not None and number is not None and cap is not None and number >= cap.value:
        yield Fault(
            "bans-end", f"min_tokens {number} forbids the end up to the cap of {cap.value}", least.whole,
            subject="min_tokens", why="Every answer runs to its cap.", help="leave it out, or lower it",
        )  # fmt: skip
    biases = serving.last("logit_bias")
    for key, bias in _pairs(biases):
        token = next((t for t in identity.terminators if t.id is not None and str(t.id) == str(key)), None)
        if token is not None and biases is not None and isinstance(bias, int | float) and bias <= _BANNED_FROM:
            yield Fault(
                "bans-end", f"logit_bias {bias} on {key} forbids {token.text}, which ends this model's answers",
                biases.whole, subject="logit_bias", why="The model cannot end its turn.", help="leave this token out",
            )  # fmt: skip


def _pairs(setting: Setting | None) -> Iterator[tuple[Any, Any]]:
    if setting is not None and isinstance(setting.data, dict):
        yield from setting.data.items()


def _of_route(serving: Serving, identity: Identity) -> Iterator[Fault]:
    """A chat model behind a completions route; Ollama applies the model's template there too."""
    model = serving.model
    if not _is_completions(serving) or not identity.generates_chat or model is None:
        return
    if serving.facts["server"] in (*_OLLAMA, "openai", "hosted") or _names(serving, _FILLS_IN):
        return
    if serving.named("suffix") or serving.named("stop_token_ids"):
        return
    yield Fault(
        "raw-prompt", f"{serving.facts['provider']} sends bare text to {model.value}, which was trained on turns",
        model.span, severity="warning" if identity.certain else "note",
        why=(
            "LiteLLM joins the messages without the model's template: without the header of an assistant's turn it "
            "continues the question, and comes to no end of a turn."
        ),
        help="use the provider openai (or hosted_vllm), whose route applies the model's chat template",
    )  # fmt: skip
