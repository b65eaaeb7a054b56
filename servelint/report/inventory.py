"""What is served, by what, and what stops it: for people. As data it is the `servings` of the JSON report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from servelint.report import Style
from servelint.report.collect import Report
from servelint.report.printing import paint, printable
from servelint.report.summary import counted

_VERDICTS = {
    "stops": ("stops where it should", "good"),
    "runs-away": ("runs away: nothing ends a turn of this model here", "error"),
    "unknown": ("cannot be judged from what was read", "warning"),
}
# Engines with a list of their own (llama.cpp) stop by some dozens of tokens: enough of them is shown to know the list.
_MOST_TOKENS = 6


def render_json(report: Report) -> Iterator[str]:
    """The deployments as one JSON document."""
    lines = ",\n".join(json.dumps(serving) for serving in report.servings)
    errors = json.dumps([failure.document() for failure in report.failures])
    servings = f"[\n{lines}\n]" if lines else "[]"
    summary = json.dumps({"files": report.files, "deployments": report.deployments, "verdicts": report.verdicts})
    yield f'{{"version": 1,\n"servings": {servings},\n"errors": {errors},\n"summary": {summary}}}\n'


def render_text(report: Report, style: Style) -> Iterator[str]:
    """A block of lines for every deployment, and a line that counts them."""
    for serving in report.servings:
        yield "".join(f"{line}\n" for line in _block(serving, style)) + "\n"
    if not report.servings:
        yield "no deployment found\n"
        return
    counts = [f"{number:,} {verdict}" for verdict, number in report.verdicts.items() if number]
    yield f"{counted(report.deployments, 'deployment')} in {counted(report.files, 'file')}: {', '.join(counts)}\n"


def _block(serving: dict[str, Any], style: Style) -> Iterator[str]:
    engine = " ".join(filter(None, (serving["engine"], serving["engine_version"])))
    yield paint(printable(f"{serving['path']}:{serving['line']}: ") + printable(engine), "bold", style)
    likely = serving.get("likely_model")
    model = serving["model"] or (f"likely {likely}" if likely else "not known from here")
    known = [word for word in (serving["family"], serving["role"]) if word and word != "unknown"]
    yield _row("model", printable(model) + (f" ({', '.join(known)})" if known else ""), style)
    text, color = _VERDICTS.get(serving["verdict"], (serving["verdict"], "dim"))
    yield _row("verdict", paint(text, color, style), style)
    stops = list(_stops(serving["stop_set"]))
    for number, stop in enumerate(stops or ["nothing that was read"]):
        yield _row("stops at" if number == 0 else "", stop, style)
    for number, reason in enumerate(serving["stop_set"]["unknown"]):
        yield _row("not known" if number == 0 else "", printable(reason), style)
    cap, default = serving["cap"], serving["default_cap"]
    if cap is not None:
        yield _row("cap", f"{cap['value']:,} tokens, {printable(cap['from'])}", style)
    elif default is not None:
        yield _row("cap", f"{default['value']:,} tokens by default, {printable(default['from'])}", style)


def _stops(stop_set: dict[str, Any]) -> Iterator[str]:
    for stop in stop_set["texts"]:
        yield f"{printable(json.dumps(stop['value'], ensure_ascii=False))}, {_source(stop)}"
    for stop in stop_set["ids"]:
        token = f" {printable(stop['token'])}" if stop["token"] is not None else ""
        yield f"{stop['value']}{token}, {_source(stop)}"
    tokens = stop_set["tokens"]
    if tokens:
        shown = " ".join(printable(token) for token in tokens[:_MOST_TOKENS])
        more = f" and {len(tokens) - _MOST_TOKENS} more" if len(tokens) > _MOST_TOKENS else ""
        yield f"{shown}{more}, by the engine's own list"


def _source(stop: dict[str, Any]) -> str:
    line = f", line {stop['line']}" if stop["line"] is not None else ""
    return f"from {printable(stop['from'])}{line}"


def _row(label: str, text: str, style: Style) -> str:
    return f"  {paint(f'{label:<10}', 'dim', style)} {text}"
