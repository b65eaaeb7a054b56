"""Resources that install a chart with values of their own: Argo CD's, Flux', K3s', Kustomize's.

Sources: argoproj/argo-cd docs/user-guide/helm.md (parameters win over valuesObject, that over values, those over
valueFiles), fluxcd/helm-controller api/v2 (`HelmRelease`: values win over valuesFrom), k3s-io/helm-controller
`HelmChart`, kubernetes-sigs/kustomize `helmCharts`; helm/helm pkg/strvals for the paths of parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servelint.formats.yaml import Node, YamlFile, find, get, read_yaml
from servelint.records import record

_GROUPS = {
    "Application": "argoproj.io/",
    "ApplicationSet": "argoproj.io/",
    "HelmRelease": "helm.toolkit.fluxcd.io/",
    "HelmChart": "helm.cattle.io/",
    "HelmChartConfig": "helm.cattle.io/",
}
_MOST_PARAMETERS = 500
_HIGHEST_INDEX = 100
Step = str | int


@record
class Release:
    """The values of one release: a mapping, or the scalar whose text is a file of values.

    `hidden` says what other values may lie under or over them.
    """

    values: Node | None = None
    text: Node | None = None
    hidden: tuple[str, ...] = ()


def is_release(document: Node) -> bool:
    """Whether a document is a resource that may carry values."""
    kind, version = _text(get(document, "kind")), _text(get(document, "apiVersion"))
    if kind is None or kind == "Kustomization":
        return get(document, "helmCharts") is not None
    return kind in _GROUPS and (version or "").startswith(_GROUPS[kind])


def releases_of(file: YamlFile, document: Node) -> Iterator[Release]:
    """The values that a resource carries."""
    kind = _text(get(document, "kind"))
    if kind == "Application":
        yield from _of_application(get(document, "spec"))
    elif kind == "ApplicationSet":
        yield from _of_application(find(document, ("spec", "template", "spec")))
    elif kind == "HelmRelease":
        hidden = ("values from a ConfigMap or Secret",) if find(document, ("spec", "valuesFrom")) is not None else ()
        yield Release(find(document, ("spec", "values")), hidden=hidden)
    elif kind in ("HelmChart", "HelmChartConfig"):
        text = find(document, ("spec", "valuesContent"))
        if _text(text):
            yield Release(text=text)
    else:
        for chart in _items(get(document, "helmCharts")):
            yield Release(get(chart, "valuesInline"))


def _of_application(spec: Node | None) -> Iterator[Release]:
    sources = [get(spec, "source"), *_items(get(spec, "sources"))]
    for source in sources:
        helm = get(source, "helm")
        if helm is None:
            continue
        yield from _of_source(helm)


def _of_source(helm: Node) -> Iterator[Release]:
    parameters = _parameters(get(helm, "parameters"))
    files = ("values in files of the chart's repository",) if get(helm, "valueFiles") is not None else ()
    values, text = get(helm, "valuesObject"), get(helm, "values")
    if values is not None and values.kind == "mapping":
        yield Release(_with_parameters(values, parameters), hidden=files)
    elif _text(text):
        assert text is not None
        if not _overrides(text.text, parameters):
            # Else what is written there is not what is installed.
            yield Release(text=text)
    elif parameters:
        yield Release(_with_parameters(None, parameters), hidden=files)


def _text(node: Node | None) -> str | None:
    return node.text if node is not None and node.kind == "scalar" else None


def _items(node: Node | None) -> Sequence[Node]:
    return node.items if node is not None and node.kind == "sequence" else ()


# Parameters: paths to single values.


def _parameters(node: Node | None) -> list[tuple[list[Step], Node]]:
    found = []
    for item in _items(node)[:_MOST_PARAMETERS]:
        name, held = _text(get(item, "name")), get(item, "value")
        steps = steps_of(name) if name else None
        if steps and held is not None and held.kind == "scalar":
            found.append((steps, held))
    return found


def steps_of(path: str) -> list[Step] | None:
    r"""The keys and indices of a path as Helm reads it: `a.b[0].c`, `a\.b`; None where it is none.

    Sources: helm/helm pkg/strvals/parser.go.
    """
    steps: list[Step] = []
    name = ""
    position = 0
    while position < len(path):
        letter = path[position]
        if letter == "\\" and position + 1 < len(path):
            name += path[position + 1]
            position += 2
            continue
        if letter == "[":
            end = path.find("]", position)
            number = path[position + 1 : end] if end >= 0 else ""
            if not number.isascii() or not number.isdigit() or len(number) > 4 or int(number) > _HIGHEST_INDEX:
                return None
            if name:
                steps.append(name)
            steps.append(int(number))
            name, position = "", end + 1
            continue
        if letter == ".":
            if name:
                steps.append(name)
            elif not steps or isinstance(steps[-1], str):
                return None
            name = ""
        else:
            name += letter
        position += 1
    if name:
        steps.append(name)
    return steps if steps and isinstance(steps[0], str) else None


def _overrides(text: str, parameters: Sequence[tuple[list[Step], Node]]) -> bool:
    """Whether a parameter takes the place of a value in the text, or of a list around it."""
    if not parameters:
        return False
    documents = read_yaml(text).documents
    root = documents[0] if documents else None
    return any(find(root, steps) is not None for steps, _ in parameters)


def _with_parameters(values: Node | None, parameters: Sequence[tuple[list[Step], Node]]) -> Node | None:
    made = values
    for steps, held in parameters:
        made = _put(made, steps, held)
    return made


def _put(node: Node | None, steps: Sequence[Step], held: Node) -> Node:
    """The node with a value put in at a path; what is made new stands where the value does."""
    if not steps:
        return held
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        made = _like(node, "mapping", held)
        pairs = list(made.items)
        index = next((number for number, (key, _) in enumerate(pairs) if key.text == step), None)
        if index is None:
            key = Node("scalar", held.start, held.start, held.end, step, "plain", False)
            pairs.append((key, _put(None, rest, held)))
        else:
            pairs[index] = (pairs[index][0], _put(pairs[index][1], rest, held))
        made.items = pairs
        return made
    made = _like(node, "sequence", held)
    items = list(made.items)
    while len(items) <= step:
        items.append(Node("scalar", held.start, held.start, held.start, "", "plain", False))
    items[step] = _put(items[step], rest, held)
    made.items = items
    return made


def _like(node: Node | None, kind: str, held: Node) -> Node:
    if node is None or node.kind != kind:
        return Node(kind, held.start, held.start, held.end, "", "", False)
    made = Node(kind, node.begin, node.start, node.end, "", node.style, node.flow)
    made.items = node.items
    return made
