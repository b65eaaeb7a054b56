"""SL4: can it loop?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt
from servelint.text import Span

_PENALTIES = ("repeat_penalty", "repetition_penalty")


def check_greedy_thinking(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL401: greedy decoding of a reasoning model whose authors forbid it."""
    identity, serving = deployment.identity, deployment.serving
    if not identity.thinking:
        return
    for name, value, span, path in sampling_values(deployment):
        greedy = (name == "temperature" and _number(value) == 0.0) or (name == "do_sample" and value is False)
        if not greedy:
            continue
        from servelint.models.families import greedy_advice

        advice = greedy_advice(identity)
        if advice not in ("forbidden", "discouraged"):
            return
        shown = f"{name} {value}" if not isinstance(value, bool) else "do_sample false"
        yield Finding(
            "SL401", "warning" if advice == "forbidden" else "note", path or serving.path, span,
            f"{shown} decodes greedily, and this is a reasoning model ({identity.family})",
            why="Its authors warn of endless repetition under greedy decoding; no stop setting ends such a loop.",
            help="use the sampling values of the model card (most reasoning models: temperature 0.6, top_p 0.95)",
        )  # fmt: skip


def check_extreme_penalty(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL403: a repetition penalty that rewards repetition, or damages the text."""
    serving = deployment.serving
    for name, value, span, path in sampling_values(deployment):
        number = _number(value)
        if name not in _PENALTIES or number is None or math.isnan(number) or 1.0 <= number <= 1.3:
            continue
        if number < 1.0:
            why = "Below 1 it rewards what was said already, so that the model repeats itself."
        else:
            why = "It also punishes the turn's terminator and every common word; answers drift and lose their end."
        yield Finding(
            "SL403", "warning", path or serving.path, span, f"{name} {excerpt(str(value), 20)} is outside 1.0 to 1.3",
            why=why, help="use a value from 1.0 (off) to 1.1",
        )  # fmt: skip


def sampling_values(deployment: Deployment) -> Iterator[tuple[str, object, Span, str | None]]:
    """The sampling values that hold here: name, value, where it stands, and in which file if another."""
    for name in ("temperature", "do_sample", *_PENALTIES):
        setting = deployment.serving.last(name)
        if setting is None or setting.value is None:
            continue
        value = setting.data if setting.data is not None else setting.value
        yield name, value, setting.whole if deployment.serving.engine == "ollama" else setting.span, setting.path
    yield from deployment.reading.facts.get("sampling", ())


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        # An integer of JSON may be too large for a float.
        return float(value) if isinstance(value, float) or abs(value) < 10**300 else math.inf
    try:
        return float(str(value))
    except ValueError:
        return None


CHECKS: tuple[Check, ...] = (check_greedy_thinking, check_extreme_penalty)
