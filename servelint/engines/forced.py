"""Fields that something in front of a server puts into every request: they change what stops and caps it."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.engines.reading import Cap, Fault, Reading, StopText
from servelint.manifests.serving import Serving, Setting
from servelint.models.identity import Identity
from servelint.records import replace

_CAPS = ("n_predict", "max_completion_tokens", "max_tokens", "max_new_tokens")
_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "repeat_penalty")


def with_forced_fields(serving: Serving, identity: Identity, reading: Reading) -> Reading:
    """The reading with the fields in the serving's `forced` facts applied."""
    forced: tuple[Setting, ...] = serving.facts.get("forced", ())
    if not forced:
        return reading
    control = {token.text for token in (*identity.terminators, *identity.vocabulary)}
    texts = tuple(
        StopText(text, setting.origin, setting.span)
        for setting in forced
        if setting.name == "stop"
        for text in _texts(setting)
        if text and text not in control
    )
    sampling = tuple(
        (setting.name.replace("repeat_", "repetition_"), setting.data, setting.span, None)
        for setting in forced
        if setting.name in _SAMPLING and setting.data is not None
    )
    names = {name for name, _, _, _ in sampling}
    earlier = tuple(entry for entry in reading.facts.get("sampling", ()) if entry[0] not in names)
    return replace(
        reading,
        stop_set=replace(reading.stop_set, texts=(*reading.stop_set.texts, *texts)),
        cap=_cap(forced) or reading.cap,
        faults=(*reading.faults, *_faults(forced)),
        facts={**reading.facts, "sampling": (*earlier, *sampling)},
    )


def _texts(setting: Setting) -> list[str]:
    items = setting.data if isinstance(setting.data, list) else [setting.data]
    return [item for item in items if isinstance(item, str)]


def _cap(forced: tuple[Setting, ...]) -> Cap | None:
    for name in _CAPS:
        setting = next((entry for entry in forced if entry.name == name), None)
        if setting is not None and isinstance(setting.data, int) and not isinstance(setting.data, bool):
            return Cap(setting.data, setting.origin, setting.span, hard=True) if setting.data > 0 else None
    return None


def _faults(forced: tuple[Setting, ...]) -> Iterator[Fault]:
    for setting in forced:
        if setting.name == "ignore_eos" and setting.data is True:
            yield Fault(
                "bans-end", f"{setting.origin} forbids every token that ends an answer", setting.whole,
                subject=setting.name, why="No answer ends by itself: each runs to its cap.", help="leave it out",
            )  # fmt: skip
        if setting.name == "stop" and any(text == "" for text in _texts(setting)):
            yield Fault(
                "emptied", f"{setting.origin} holds an empty text", setting.span, subject=setting.name,
                why="An empty stop is found at once: every answer is empty.", help="remove it",
            )  # fmt: skip
