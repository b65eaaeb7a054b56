"""What is served, by what, and what stops it: for people. As data it is the `servings` of the JSON report.

`servelint.report.inventory_html` makes a page of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from servelint.report import Style
from servelint.report.collect import Report
from servelint.report.printing import paint, printable
from servelint.report.summary import counted

MEANINGS = {
    "stops": "stops where it should",
    "runs-away": "runs away: nothing ends a turn of this model here",
    "unknown": "cannot be judged from what was read",
}
_COLORS = {"stops": "good", "runs-away": "error", "unknown": "warning"}
# Engines with a list of their own (llama.cpp) stop by some dozens of tokens: enough of them is shown to know the list.
MOST_TOKENS = 6
NO_NAMESPACE = "no namespace given"


def by_namespace(servings: Iterable[dict[str, Any]]) -> list[tuple[str | None, list[dict[str, Any]]]]:
    """The deployments by the namespace that their object names, those of none last; of each, a file's are together."""
    groups: dict[str | None, list[dict[str, Any]]] = {}
    for serving in servings:
        groups.setdefault(serving.get("namespace"), []).append(serving)
    for group in groups.values():
        group.sort(key=lambda serving: (serving["path"], serving["line"]))
    return sorted(groups.items(), key=lambda group: (group[0] is None, group[0] or ""))


def render_json(report: Report) -> Iterator[str]:
    """The deployments as one JSON document."""
    lines = ",\n".join(json.dumps(serving) for serving in report.servings)
    errors = json.dumps([failure.document() for failure in report.failures])
    servings = f"[\n{lines}\n]" if lines else "[]"
    summary = json.dumps({"files": report.files, "deployments": report.deployments, "verdicts": report.verdicts})
    yield f'{{"version": 1,\n"servings": {servings},\n"errors": {errors},\n"summary": {summary}}}\n'


def render_text(report: Report, style: Style) -> Iterator[str]:
    """A block of lines for every deployment, by namespace where one is named and file; and a line that counts them."""
    groups = by_namespace(report.servings)
    named = any(namespace is not None for namespace, _ in groups)
    for namespace, servings in groups:
        if named:
            title = NO_NAMESPACE if namespace is None else f"namespace {printable(namespace)}"
            yield paint(f"{title} ({counted(len(servings), 'deployment')})", "bold", style) + "\n\n"
        for serving in servings:
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
    verdict = serving["verdict"]
    yield _row("verdict", paint(MEANINGS.get(verdict, verdict), _COLORS.get(verdict, "dim"), style), style)
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
        shown = " ".join(printable(token) for token in tokens[:MOST_TOKENS])
        more = f" and {len(tokens) - MOST_TOKENS} more" if len(tokens) > MOST_TOKENS else ""
        yield f"{shown}{more}, by the engine's own list"


def _source(stop: dict[str, Any]) -> str:
    line = f", line {stop['line']}" if stop["line"] is not None else ""
    return f"from {printable(stop['from'])}{line}"


def _row(label: str, text: str, style: Style) -> str:
    return f"  {paint(f'{label:<10}', 'dim', style)} {text}"
