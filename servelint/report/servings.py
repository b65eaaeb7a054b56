"""What a deployment is, as data: the `servings` of the JSON report and of `servelint inventory`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from servelint.checks.deployment import Deployment
    from servelint.engines.reading import Cap, StopSet
    from servelint.report.collect import Locator


def describe(deployment: Deployment, locator: Locator) -> dict[str, Any]:
    """A deployment by the names that `schemas/report.schema.json` fixes."""
    serving, identity, reading = deployment.serving, deployment.identity, deployment.reading
    arguments = serving.arguments
    namespace = serving.facts.get("namespace")
    likely = serving.model.likely if serving.model is not None else None
    return {
        "path": serving.path,
        "line": locator.line(serving.path, serving.span) or 1,
        "engine": serving.engine,
        "engine_version": serving.version.value if serving.version is not None else None,
        "model": serving.model.value if serving.model is not None else None,
        "family": identity.family,
        "role": identity.role,
        "stop_set": _stop_set(reading.stop_set, locator),
        "cap": _cap(reading.cap),
        "default_cap": _cap(reading.default_cap),
        "verdict": deployment.verdict,
        "argv": None if arguments is None else [argument.text for argument in arguments],
        # Told only where there is something to tell.
        **({} if likely is None else {"likely_model": likely}),
        **({"namespace": namespace} if namespace else {}),
    }


def _stop_set(stops: StopSet, locator: Locator) -> dict[str, Any]:
    return {
        "texts": [
            {"value": stop.value, "from": stop.origin, "line": locator.line(stop.path, stop.span)}
            for stop in stops.texts
        ],
        "ids": [
            {
                "value": stop.value,
                "token": stop.token,
                "from": stop.origin,
                "line": locator.line(stop.path, stop.span),
            }
            for stop in (*stops.ids, *stops.published)
        ],
        "tokens": list(stops.tokens),
        "complete": stops.complete,
        "unknown": list(stops.unknown),
    }


def _cap(cap: Cap | None) -> dict[str, Any] | None:
    return None if cap is None else {"value": cap.value, "from": cap.origin}
