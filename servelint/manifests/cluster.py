"""The objects that a Kubernetes manifest names and that lie near it: ConfigMaps, serving runtimes."""

# Plain strings, as findings name files.
# ruff: noqa: PTH118
from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, get, read_yaml
from servelint.records import record


@record
class Found:
    """An object, the file it stands in, and that file's path (None: the manifest's own)."""

    node: Node
    file: YamlFile
    path: str | None


class Cluster:
    """Looks for objects by kind and name: in the manifest itself, then in the YAML files beside it."""

    def __init__(self, path: str, file: YamlFile, context: Context) -> None:
        self._path = path
        self._file = file
        self._context = context
        self._others: dict[str, YamlFile] = {}
        self._own: dict[tuple[str, str], Node] | None = None

    def find(self, kinds: Sequence[str], name: str) -> Found | None:
        """The object of one of these kinds with that name; None where it does not lie near."""
        for kind in kinds:
            node = self._objects().get((kind, name))
            if node is not None:
                return Found(node, self._file, None)
        for path in self._beside(name):
            file = self._read(path)
            for node in objects_of(file):
                if _is(node, kinds, name):
                    return Found(node, file, path)
        if "ConfigMap" in kinds:
            from servelint.manifests.kustomize import generated_map

            return generated_map(self._path, name, self._context)
        return None

    def _objects(self) -> dict[tuple[str, str], Node]:
        """The manifest's own objects by kind and name: of several, the first."""
        if self._own is None:
            self._own = {}
            for node in objects_of(self._file):
                kind, name = get(node, "kind"), get(get(node, "metadata"), "name")
                if kind is not None and name is not None and kind.kind == name.kind == "scalar":
                    self._own.setdefault((kind.text, name.text), node)
        return self._own

    def base(self, kind: str, name: str) -> Found | None:
        """The object that a patch is laid over, by the kustomization beside it."""
        from servelint.manifests.kustomize import base_of

        return base_of(self._path, kind, name, self._context)

    def as_built(self, image: str) -> str:
        """An image as the kustomization beside the manifest makes it."""
        from servelint.manifests.kustomize import images_of, renamed

        return renamed(image, images_of(self._path, self._context))

    def _beside(self, name: str) -> Iterator[str]:
        folder, own = os.path.split(self._path)
        for other, text in self._context.texts(folder, (".yaml", ".yml")):
            if other != own and name in text and "kind:" in text:
                yield os.path.join(folder, other)

    def _read(self, path: str) -> YamlFile:
        found = self._others.get(path)
        if found is None:
            source = self._context.read(path)
            found = self._others[path] = read_yaml(source.text if source is not None else "")
        return found


def objects_of(file: YamlFile) -> Iterator[Node]:
    """The objects of a file, those in Lists and in bare sequences too."""
    for document in file.documents:
        if document is not None and document.kind == "mapping":
            yield from _flat(document, 0)
        elif document is not None and document.kind == "sequence":
            for item in document.items:
                if item.kind == "mapping" and item.alias_span is None:
                    yield from _flat(item, 0)


def _flat(node: Node, depth: int) -> Iterator[Node]:
    kind, items = get(node, "kind"), get(node, "items")
    is_list = kind is not None and kind.kind == "scalar" and kind.text.endswith("List")
    if not is_list or items is None or items.kind != "sequence" or depth:
        yield node
        return
    for item in items.items:
        if item.kind == "mapping":
            yield from _flat(item, depth + 1)


def _is(node: Node, kinds: Sequence[str], name: str) -> bool:
    kind, own = get(node, "kind"), get(get(node, "metadata"), "name")
    return (
        kind is not None
        and kind.kind == "scalar"
        and kind.text in kinds
        and own is not None
        and own.kind == "scalar"
        and own.text == name
    )
