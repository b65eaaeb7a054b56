"""An Ollama server that a manifest starts: it serves whatever models are pulled, by the variables that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from servelint.data import load
from servelint.engines.reading import Fault, Reading, StopSet
from servelint.manifests.serving import Serving
from servelint.text.distance import edit_distance

_IGNORED = "A variable that Ollama does not know is ignored in silence."


def read_ollama_server(serving: Serving) -> Reading:
    """The serving as Ollama's server reads it: no variable of its own names a stop or a cap."""
    unknown = ("each model that is pulled or created there brings stops of its own",)
    return Reading(StopSet(unknown=unknown), faults=tuple(_faults(serving)))


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = load("rules/engines/ollama.json")["environment"]
    return table


def _faults(serving: Serving) -> Iterator[Fault]:
    for setting in serving.environment:
        name = setting.name
        if not name.startswith("OLLAMA_") or name in _table()["names"]:
            continue
        if name in _table()["elsewhere"]:
            other = _table()["elsewhere"][name]
            help_text = "" if other else "it is a parameter of the model (in its Modelfile) or of the request"
            yield Fault(
                "unknown-option", f"Ollama reads no variable {name}", setting.whole, other, True, name, why=_IGNORED,
                help=help_text, severity="warning",
            )  # fmt: skip
            continue
        near = _near(name)
        if near is not None:
            yield Fault(
                "unknown-option", f"Ollama reads no variable {name}", setting.whole, near, False, name, why=_IGNORED
            )


@cache
def _near(name: str) -> str | None:
    if len(name) > 60 or name[-1].isdigit():
        return None
    found = [known for known in _table()["names"] if edit_distance(name, known, 2) <= (1 if len(known) < 18 else 2)]
    return found[0] if len(found) == 1 else None
