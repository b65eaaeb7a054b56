"""What was found in a manifest that lies inside another, seen from the file that holds it."""

from __future__ import annotations

from servelint.checks.deployment import Deployment
from servelint.checks.finding import Finding, Fix, Related
from servelint.engines.reading import StopId, StopSet, StopText
from servelint.manifests.serving import Setting
from servelint.records import replace
from servelint.text import Edit, Embedded, Span


def relocated(finding: Finding, path: str, host: str, inner: Embedded) -> Finding:
    """A finding of the embedded text as one of the file; its repair goes where the host cannot be written so."""
    if finding.path != path:
        return finding
    related = tuple(
        Related(host, inner.host_span(_within(item.span, inner)), item.message) if item.path == path else item
        for item in finding.related
    )
    fix, refusal = _relocated_fix(finding, inner)
    return replace(
        finding, path=host, span=inner.host_span(_within(finding.span, inner)), related=related, fix=fix, no_fix=refusal
    )


def _within(span: Span, inner: Embedded) -> Span:
    size = len(inner.text)
    return Span(min(span.start, size), min(span.end, size))


def _relocated_fix(finding: Finding, inner: Embedded) -> tuple[Fix | None, str | None]:
    if finding.fix is None:
        return None, finding.no_fix
    if finding.fix.patch is not None:
        return None, "it lies inside another file"
    edits: list[Edit] = []
    for edit in finding.fix.edits:
        made = inner.host_edit(edit)
        if made is None:
            return None, inner.refusal or "it cannot be written in this place"
        edits.append(made)
    return replace(finding.fix, edits=tuple(edits)), None


def moved(deployment: Deployment, path: str, host: str, inner: Embedded) -> Deployment:
    """A deployment of the embedded text with the places that reports show in those of the file."""

    def place(span: Span) -> Span:
        return inner.host_span(_within(span, inner))

    def setting(item: Setting | None) -> Setting | None:
        if item is None or item.path not in (None, path):
            return item
        return replace(item, span=place(item.span), whole=place(item.whole), path=None)

    def stop(item: StopText | StopId) -> StopText | StopId:
        if item.path not in (None, path) or item.span is None:
            return item
        return replace(item, span=place(item.span), path=None)

    serving, reading = deployment.serving, deployment.reading
    own = reading.stop_set
    stops: StopSet = replace(
        own, texts=tuple(stop(item) for item in own.texts), ids=tuple(stop(item) for item in own.ids)
    )
    return replace(
        deployment,
        serving=replace(
            serving, path=host, span=place(serving.span), version=setting(serving.version),
            image=setting(serving.image), model=setting(serving.model),
        ),
        reading=replace(reading, stop_set=stops),
    )  # fmt: skip
