"""Templates of Helm charts: what of them is said for sure, with the chart's own values filled in."""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from typing import Any

from servelint.files.context import Context
from servelint.formats.helm import MaskedTemplate, mask, resolved
from servelint.formats.yaml import Node, YamlFile, embedded, read_yaml, value, walk
from servelint.manifests.kubernetes import read_objects
from servelint.manifests.serving import Argument, Manifest, Serving
from servelint.records import replace
from servelint.text import Source, Span

# How far up from a template its chart may be.
_FARTHEST = 4


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a template; None where it belongs to no chart, or serves nothing that can be seen in it.

    One that lies without its chart is known by the values that it names; none of them is.
    """
    chart = _chart_of(path, context)
    if "{{" not in source.text or (chart is None and ".Values." not in source.text):
        return None
    template = mask(source.text)
    masked = read_yaml(template.masked)
    if masked.broken:
        return None
    values: Mapping[str, Any] = {}
    about: Mapping[str, Any] = {}
    if chart is not None:
        values = _data(os.path.join(chart, "values.yaml"), context)
        for other in context.chart_values(chart):
            values = _laid_over(values, _data(other, context))
        about = _data(os.path.join(chart, "Chart.yaml"), context)
    file = _filled(masked, template, values, about)
    servings, pieces = read_objects(path, file, context)
    found = [_certain(serving, template) for serving in servings]
    if not found:
        return None
    return Manifest(
        path, "helm-template", source.text, "helm", tuple(found), (), masked.comments, {"document": file},
        tuple(piece for piece in pieces if "{{" not in piece.inner.text),
    )  # fmt: skip


def _chart_of(path: str, context: Context) -> str | None:
    """The chart's folder: the one that holds a Chart.yaml and, somewhere above the file, `templates`."""
    folder = os.path.dirname(path)
    for _ in range(_FARTHEST):
        parent, name = os.path.split(folder)
        if name == "templates" and context.exists(os.path.join(parent, "Chart.yaml")):
            return parent
        if not name:
            return None
        folder = parent
    return None


def _data(path: str, context: Context) -> Mapping[str, Any]:
    source = context.read(path)
    if source is None:
        return {}
    file = read_yaml(source.text)
    data = value(file.documents[0]) if file.documents and file.documents[0] is not None else None
    return data if isinstance(data, Mapping) else {}


def _laid_over(values: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Values with others over them, as Helm merges them: mappings key by key, all else as a whole, null takes away."""
    merged = dict(values)
    for key, item in over.items():
        known = merged.get(key)
        if item is None:
            merged.pop(key, None)
        elif isinstance(known, Mapping) and isinstance(item, Mapping):
            merged[key] = _laid_over(known, item)
        else:
            merged[key] = item
    return merged


def _filled(
    masked: YamlFile, template: MaskedTemplate, values: Mapping[str, Any], about: Mapping[str, Any]
) -> YamlFile:
    """The file with the template's own text in its scalars, what is known of it filled in."""

    def built_in(path: str) -> str | None:
        name = path.removeprefix(".Chart.")
        found = about.get(name[:1].lower() + name[1:]) if path.startswith(".Chart.") else None
        return str(found) if isinstance(found, str | int | float) and not isinstance(found, bool) else None

    for document in masked.documents:
        for node in walk(document):
            if node.kind == "scalar" and "{{" in template.text[node.start : node.end]:
                _fill(masked, node, template, values, built_in)
    return replace(masked, text=template.text)


def _fill(masked: YamlFile, node: Node, template: MaskedTemplate, values: Mapping[str, Any], built_in: Any) -> None:
    inner = embedded(masked, node)
    if inner.refusal == "how the text is written cannot be traced":
        node.text = "{{ }}"
        return
    text = "".join(template.text[offset] for offset in inner.offsets[:-1])
    node.text = resolved(text, values, built_in)


_INDENTED = re.compile(r"indent\s+(\d+)")


def _reach(template: MaskedTemplate, container: Span) -> int:
    """Where a container ends with the lines of the template behind it that may bring more into it.

    `nindent` says how deep the text will stand that a line brings in: less deep than the container it is none of its.
    """
    column = container.start - (template.text.rfind("\n", 0, container.start) + 1)
    end = container.end
    while end < len(template.masked):
        following = template.masked.find("\n", end + 1)
        following = len(template.masked) if following < 0 else following
        line = template.masked[end + 1 : following].strip()
        depth = _INDENTED.search(template.text, end + 1, following)
        if (line and not line.startswith("#")) or (depth is not None and int(depth[1]) < column):
            break
        end = following
    return end


def _certain(serving: Serving, template: MaskedTemplate) -> Serving:
    """The serving with all that stands under a condition, or is brought in from elsewhere, as unknown."""
    container = serving.facts.get("container")
    if not isinstance(container, Node):
        return serving
    within = Span(container.begin, container.end)
    unknown = Argument(None, within, "it stands under a condition of the template", count=None, form="yaml")
    words = tuple(
        replace(unknown, span=word.span) if template.is_conditional(word.span, within) else word
        for word in serving.arguments or ()
    )
    brings = any(within.start <= place < _reach(template, within) for place in template.inserted)
    if serving.arguments is not None and (brings or template.is_conditional(Span(within.end, within.end), within)):
        words = (*words, unknown)
    environment = tuple(
        replace(setting, value=None, reason="it stands under a condition of the template")
        if template.is_conditional(setting.whole, within)
        else setting
        for setting in serving.environment
    )
    return replace(
        serving, arguments=None if serving.arguments is None else words, environment=environment,
        hidden=(*serving.hidden, "what the template's conditions and includes bring in"),
    )  # fmt: skip
