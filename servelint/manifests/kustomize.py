"""Kustomize: patches written out in a kustomization, and the objects that they are laid over.

Sources: kubernetes-sigs/kustomize api/types (v5): strategic merge patches replace lists of words as a whole, JSON 6902
patches change places in them.
"""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import os.path
from collections.abc import Iterator

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, embedded, entries, get, read_yaml
from servelint.manifests.cluster import Found, objects_of
from servelint.manifests.serving import Manifest, Piece
from servelint.records import record
from servelint.text import Source

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
# An overlay over an overlay over a base: deeper than this, and wider, nobody stacks them.
_DEEPEST = 5
_MOST_FILES = 200


@record
class Image:
    """What an overlay makes of an image: another name, another tag."""

    name: str
    new_name: str | None
    new_tag: str | None


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a kustomization; None where it carries no manifest of its own."""
    file = read_yaml(source.text)
    root = file.documents[0] if file.documents else None
    pieces = tuple(_pieces(file, root))
    if not pieces:
        return None
    return Manifest(
        path, "kustomization", source.text, "yaml", (), file.problems, file.comments, {"document": file}, pieces
    )


def _pieces(file: YamlFile, root: Node | None) -> Iterator[Piece]:
    for key in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        node = get(root, key)
        for item in node.items if node is not None and node.kind == "sequence" else ():
            patch = item if item.kind == "scalar" else get(item, "patch")
            if patch is not None and patch.kind == "scalar" and "\n" in patch.text and patch.alias_span is None:
                yield Piece("-", embedded(file, patch), "kubernetes")


def base_of(manifest: str, kind: str, name: str, context: Context) -> Found | None:
    """The object of that kind and name below the kustomization that stands beside a manifest."""
    folder = os.path.dirname(manifest)
    visited: set[str] = {os.path.normpath(manifest)}
    for path, file in _resources(folder, context, visited, 0):
        for node in objects_of(file):
            own_kind, own_name = get(node, "kind"), get(get(node, "metadata"), "name")
            if own_kind is None or own_name is None or own_kind.kind != "scalar" or own_name.kind != "scalar":
                continue
            if own_kind.text == kind and own_name.text == name:
                return Found(node, file, path)
    return None


def _kustomization(folder: str, context: Context) -> Node | None:
    for name in NAMES:
        source = context.read(os.path.join(folder, name))
        if source is not None:
            file = read_yaml(source.text)
            return file.documents[0] if file.documents else None
    return None


def _resources(folder: str, context: Context, visited: set[str], depth: int) -> Iterator[tuple[str, YamlFile]]:
    """The files that a kustomization builds on, those of its bases too."""
    root = _kustomization(folder, context)
    if root is None or depth > _DEEPEST:
        return
    for key in ("resources", "bases", "components"):
        node = get(root, key)
        for item in node.items if node is not None and node.kind == "sequence" else ():
            if item.kind != "scalar" or "://" in item.text or not item.text:
                continue
            path = os.path.normpath(os.path.join(folder, item.text))
            if path in visited or len(visited) > _MOST_FILES:
                continue
            visited.add(path)
            source = context.read(path) if item.text.endswith((".yaml", ".yml")) else None
            if source is not None:
                yield path, read_yaml(source.text)
            else:
                yield from _resources(path, context, visited, depth + 1)


def images_of(manifest: str, context: Context) -> list[Image]:
    """What the kustomization beside a manifest makes of images."""
    found = []
    node = get(_kustomization(os.path.dirname(manifest), context), "images")
    for item in node.items if node is not None and node.kind == "sequence" else ():
        fields = {key.text: value.text for key, value in entries(item) if value.kind == "scalar"}
        if "name" in fields:
            found.append(Image(fields["name"], fields.get("newName"), fields.get("newTag")))
    return found


def renamed(image: str, images: list[Image]) -> str:
    """An image as the overlay makes it."""
    repository = image.partition("@")[0]
    head, slash, last = repository.rpartition("/")
    name = head + slash + last.partition(":")[0]
    tag = last.partition(":")[2]
    for change in images:
        if change.name == name:
            tag = change.new_tag or tag
            name = change.new_name or name
            return f"{name}:{tag}" if tag else name
    return image
