"""LM Studio, KoboldCpp and llama-cpp-python's server: llama.cpp inside, with stops, caps and overrides of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from servelint.engines.llamacpp_faults import faults_of_overrides
from servelint.engines.llamacpp_overrides import TYPES, Override
from servelint.engines.llamacpp_server import ends_of
from servelint.engines.reading import Cap, Fault, Option, Reading, StopSet, StopText
from servelint.manifests.serving import Serving, Setting
from servelint.models.identity import Identity

# What a request to llama-cpp-python's completions route gets without a `max_tokens` of its own.
COMPLETION_TOKENS = 16
_SAMPLING = ("temperature", "repetition_penalty")


def read_local_preset(serving: Serving, identity: Identity) -> Reading:
    """The serving as its program reads it."""
    overrides, dropped = _overrides(serving)
    ids, tokens, unknown = ends_of(identity, serving.facts.get("vocabulary"), overrides, None)
    texts = tuple(StopText(stop.value, stop.origin, stop.span) for stop in serving.named("stop") if stop.value)
    faults = [*faults_of_overrides(overrides, identity), *dropped, *_empty(serving)]
    cap, default = _caps(serving)
    sampling = tuple(
        (setting.name, setting.data, setting.span, None) for name in _SAMPLING for setting in serving.named(name)[-1:]
    )
    facts: dict[str, Any] = {"sampling": sampling, "texts_stripped": True}
    if serving.engine == "llama-cpp-python":
        facts["completions_default"] = COMPLETION_TOKENS
    stops = StopSet(texts, ids, tokens, tuple(unknown))
    return Reading(stops, (), cap, default, tuple(faults), True, False, None, facts=facts)


def _caps(serving: Serving) -> tuple[Cap | None, Cap | None]:
    """The cap for every request, and the one that a request without its own gets."""
    hard = _cap(serving.last("genlimit"), True)
    overwrites = bool(serving.facts.get("overwrites"))
    given = _cap(serving.last("max_tokens"), overwrites)
    if overwrites and given is not None:
        return (given if hard is None or given.value < hard.value else hard), None
    default = _cap(serving.last("defaultgenamt"), False)
    if serving.engine == "koboldcpp":
        # The request gets its defaults first, and is looked at for a length of its own then.
        return hard, given or default
    return hard or given, default


def _cap(setting: Setting | None, hard: bool) -> Cap | None:
    if setting is None or not isinstance(setting.data, int) or isinstance(setting.data, bool) or setting.data <= 0:
        return None
    return Cap(setting.data, setting.origin, setting.span, hard=hard)


def _empty(serving: Serving) -> Iterator[Fault]:
    for setting in serving.named("stop"):
        if setting.value == "":
            yield Fault(
                "emptied", f"{setting.origin} holds an empty text", setting.span, subject="stop",
                why="An empty stop is found at once: every answer is empty.", help="remove it",
            )  # fmt: skip


def _overrides(serving: Serving) -> tuple[list[Override], list[Fault]]:
    """The overrides of the vocabulary; an entry without a type is dropped in silence."""
    overrides: list[Override] = []
    faults: list[Fault] = []
    for setting in serving.named("kv_overrides"):
        text = setting.value or ""
        if text.count("=") == 1 and ":" not in text:
            faults.append(
                Fault(
                    "inert", f"llama-cpp-python drops {text!r}: no type stands before its value", setting.span,
                    subject="kv_overrides", why="An entry without a type is passed over in silence.",
                    help="write KEY=int:VALUE",
                )
            )  # fmt: skip
            continue
        overrides.append(_override(setting, text))
    return overrides, faults


def _override(setting: Setting, text: str) -> Override:
    """One entry as the server's own code takes it apart (llama_cpp/server/model.py): at every `=` and every `:`."""
    key, _, rest = text.partition("=")
    kind, _, value = rest.partition(":")
    number, refused = None, None
    if text.count("=") != 1:
        refused = "it wants KEY=TYPE:VALUE, with one `=` only"
    elif ":" in value:
        refused = "its value may hold no `:`"
    elif kind not in TYPES:
        refused = f"a type is wanted before the value: {', '.join(TYPES)}"
    elif kind == "int":
        number = _integer(value)
        refused = None if number is not None else f"{value!r} is no whole number"
    option = Option("--override-kv", "kv_overrides", text, setting.span, setting.span, text)
    return Override(key, kind, value, setting.span, setting.span, option, number, refused)


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
