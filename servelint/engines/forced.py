"""Fields that something in front of a server puts into every request: they change what stops and caps it."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.engines.llamacpp import ends_by_text
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
    is_llamacpp = serving.engine == "llama.cpp"
    if is_llamacpp:
        control |= set(ends_by_text(()))
        if not reading.facts.get("texts_stripped", True):
            # With `--special` the texts of control tokens are written, and match.
            control = set()
    named = [(text, setting) for setting in forced if setting.name == "stop" for text in _texts(setting)]
    texts = tuple(
        StopText(text, setting.origin, setting.span) for text, setting in named if text and text not in control
    )
    # Stops of a request take the place of the server's own reverse prompts; an empty list leaves them.
    own = () if is_llamacpp and named else reading.stop_set.texts
    stop_set = replace(reading.stop_set, texts=(*own, *texts))
    if is_llamacpp and any(setting.name == "ignore_eos" and setting.data is True for setting in forced):
        stop_set = replace(stop_set, ids=(), tokens=(), unknown=())
    sampling = tuple(
        (setting.name.replace("repeat_", "repetition_"), setting.data, setting.span, None)
        for setting in forced
        if setting.name in _SAMPLING and setting.data is not None
    )
    names = {name for name, _, _, _ in sampling}
    earlier = tuple(entry for entry in reading.facts.get("sampling", ()) if entry[0] not in names)
    return replace(
        reading,
        stop_set=stop_set,
        cap=_cap(forced) or reading.cap,
        faults=(*reading.faults, *_faults(forced), *(_refused(forced) if is_llamacpp else ())),
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


def _refused(forced: tuple[Setting, ...]) -> Iterator[Fault]:
    """What llama-server answers a length below -1 and of 0 with (tools/server/server-schema.cpp)."""
    for name in _CAPS[:3]:
        setting = next((entry for entry in forced if entry.name == name), None)
        if setting is None or not isinstance(setting.data, int) or isinstance(setting.data, bool):
            continue
        if setting.data < -1:
            yield Fault(
                "invalid-value", f"llama-server refuses every request with {setting.origin} {setting.data}",
                setting.span, subject=name, why="It answers with the status 400: -1 is the least that it takes.",
                help="write -1 for no cap of its own, or a cap",
            )  # fmt: skip
        elif setting.data == 0:
            yield Fault(
                "invalid-value", f"{setting.origin} 0 ends every answer of llama-server after one token", setting.span,
                subject=name, why="0 is neither no answer nor no cap.", help="write -1 for no cap of its own, or a cap",
            )  # fmt: skip
        return


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
