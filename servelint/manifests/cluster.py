"""The objects that a Kubernetes manifest names and that lie near it: ConfigMaps, serving runtimes."""

# Plain strings, as findings name files.
# ruff: noqa: PTH118
from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, get, read_yaml
from servelint.records import record

# Files beside the manifest that are looked into, and how large one may be.
_FILE_LIMIT = 60
_SIZE_LIMIT = 512 * 1024


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

    def find(self, kinds: Sequence[str], name: str) -> Found | None:
        """The object of one of these kinds with that name; None where it does not lie near."""
        for node in objects_of(self._file):
            if _is(node, kinds, name):
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
        count = 0
        for other in self._context.names(folder):
            if other == own or not other.lower().endswith((".yaml", ".yml")):
                continue
            count += 1
            if count > _FILE_LIMIT:
                return
            path = os.path.join(folder, other)
            size = self._context.size(path)
            if size is None or size > _SIZE_LIMIT:
                continue
            source = self._context.read(path)
            if source is not None and name in source.text and "kind:" in source.text:
                yield path

    def _read(self, path: str) -> YamlFile:
        found = self._others.get(path)
        if found is None:
            source = self._context.read(path)
            found = self._others[path] = read_yaml(source.text if source is not None else "")
        return found


def objects_of(file: YamlFile) -> Iterator[Node]:
    """The objects of a file, those in Lists too."""
    for document in file.documents:
        if document is not None and document.kind == "mapping":
            yield from _flat(document, 0)


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
