"""Kustomize: patches written out in a kustomization, and the objects that they are laid over.

Sources: kubernetes-sigs/kustomize api/types (v5): strategic merge patches replace lists of words as a whole, JSON 6902
patches change places in them. A strategic merge patch is a manifest, read where it stands; what JSON 6902 patches make
of an object stands nowhere as a whole, so that it is put together here and told where the patches stand.
"""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH119, PTH120
from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, embedded, entries, get, read_yaml, walk
from servelint.manifests.cluster import Found, objects_of
from servelint.manifests.json_patch import Operation, operations_of, patched
from servelint.manifests.serving import Argument, Manifest, NoWriter, Piece, Serving, Setting
from servelint.records import record, replace
from servelint.text import Source, Span

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
    patches = list(_patches(path, file, root, context))
    pieces = tuple(
        Piece("-", embedded(file, patch), "kubernetes")
        for patch in _written_out(root)
        if not any(patch is known.node for known in patches)
    )
    servings = tuple(_servings_of_patches(path, patches, context))
    if not pieces and not servings:
        return None
    return Manifest(
        path, "kustomization", source.text, "yaml", servings, file.problems, file.comments, {"document": file}, pieces
    )


def _items(node: Node | None) -> Sequence[Node]:
    return node.items if node is not None and node.kind == "sequence" else ()


def _text(node: Node | None) -> str | None:
    return node.text if node is not None and node.kind == "scalar" else None


def _written_out(root: Node | None) -> Iterator[Node]:
    """The patches that stand in the kustomization itself."""
    for key in ("patches", "patchesJson6902", "patchesStrategicMerge"):
        for item in _items(get(root, key)):
            patch = item if item.kind == "scalar" else get(item, "patch")
            if patch is not None and patch.kind == "scalar" and "\n" in patch.text and patch.alias_span is None:
                yield patch


@record
class Patch:
    """A JSON 6902 patch: what it is for, its steps, its text, and where a span of that stands in the kustomization."""

    kind: str | None
    name: str | None
    operations: list[Operation]
    root: Node
    text: str
    node: Node
    place: Callable[[Span], Span]


def _patches(path: str, file: YamlFile, root: Node | None, context: Context) -> Iterator[Patch]:
    for key in ("patches", "patchesJson6902"):
        for item in _items(get(root, key)):
            target, written, named = get(item, "target"), get(item, "patch"), get(item, "path")
            if target is None:
                continue
            place: Callable[[Span], Span]
            if written is not None and written.kind == "scalar" and written.alias_span is None:
                inner = embedded(file, written)
                text, node, place = inner.text, written, inner.host_span
            elif named is not None and named.kind == "scalar":
                source = context.read(os.path.normpath(os.path.join(os.path.dirname(path), named.text)))
                text, node, place = "" if source is None else source.text, named, _always(named.span)
            else:
                continue
            documents = read_yaml(text).documents
            operations = operations_of(documents[0] if documents else None)
            if operations and documents[0] is not None:
                kind, name = _text(get(target, "kind")), _text(get(target, "name"))
                yield Patch(kind, name, operations, documents[0], text, node, place)


def _always(span: Span) -> Callable[[Span], Span]:
    return lambda _: span


def _servings_of_patches(path: str, patches: Sequence[Patch], context: Context) -> Iterator[Serving]:
    """What the patches make of the containers that they change, object by object."""
    changing = [patch for patch in patches if any("containers" in step.path for step in patch.operations)]
    if not changing:
        return
    images = images_of(path, context)
    visited = {os.path.normpath(path)}
    for _, base in _resources(os.path.dirname(path), context, visited, 0):
        for node in objects_of(base):
            aimed = [patch for patch in patches if _is_for(patch, node)]
            if any(patch in changing for patch in aimed):
                yield from _servings_of_object(path, base, node, aimed, images, context)


def _is_for(patch: Patch, node: Node) -> bool:
    """Whether a patch's target is that object: names and kinds are anchored regular expressions."""
    for wanted, found in ((patch.kind, get(node, "kind")), (patch.name, get(get(node, "metadata"), "name"))):
        if wanted is None:
            continue
        try:
            if re.fullmatch(wanted, _text(found) or "") is None:
                return False
        except re.error:
            return False
    return patch.kind is not None or patch.name is not None


def _servings_of_object(
    path: str, base: YamlFile, node: Node, patches: Sequence[Patch], images: list[Image], context: Context
) -> Iterator[Serving]:
    """The object with all its patches: read as one text, and every place in it then told as one of the kustomization.

    What comes from the base stands where the first patch begins: it is judged in its own file.
    """
    from servelint.manifests.containers import version_setting
    from servelint.manifests.kubernetes import servings_of_object

    text, made = base.text, node
    parts: list[tuple[int, Patch]] = []
    for patch in patches:
        parts.append((len(text) + 1, patch))
        _shift(patch.root, len(text) + 1)
        text = f"{text}\n{patch.text}"
        changed = patched(made, patch.operations)
        if changed is None:
            return
        made = changed
    first = patches[0].node
    here = Span(first.start, first.start)
    # A patch that is written out is many lines: its beginning stands for the deployment.
    named = Span(first.start, first.end if first.style not in ("literal", "folded") else first.start + 1)

    def place(span: Span) -> Span:
        for start, patch in reversed(parts):
            if span.start >= start:
                end = start + len(patch.text)
                return patch.place(Span(min(span.start, end) - start, min(span.end, end) - start))
        return here

    for serving in servings_of_object(path, replace(base, text=text), made, context):
        told = _told_here(serving, place, here, images)
        image = told.image
        if image is not None and image.span == here and image.value != (serving.image and serving.image.value):
            image = replace(image, span=named, whole=named)
        yield replace(told, span=named, image=image, version=version_setting(image))
    for start, patch in parts:
        _shift(patch.root, -start)


def _shift(root: Node, by: int) -> None:
    for node in {id(node): node for node in walk(root)}.values():
        node.begin, node.start, node.end = node.begin + by, node.start + by, node.end + by


def _told_here(serving: Serving, place: Callable[[Span], Span], here: Span, images: list[Image]) -> Serving:
    def setting(item: Setting | None) -> Setting | None:
        if item is None:
            return None
        return replace(item, span=place(item.span), whole=place(item.whole), elsewhere=place(item.span) == here)

    def word(item: Argument) -> Argument:
        return replace(item, span=place(item.span), inner=None, literal=False, node=None)

    image = setting(serving.image)
    if image is not None and image.value is not None:
        image = replace(image, value=renamed(image.value, images))
    arguments = serving.arguments
    kept = {name: fact for name, fact in serving.facts.items() if name in ("place", "launcher", "namespace")}
    return replace(
        serving, span=place(serving.span), writer=NoWriter("several files make it together"), image=image,
        model=setting(serving.model),
        arguments=None if arguments is None else tuple(word(item) for item in arguments),
        environment=tuple(made for item in serving.environment if (made := setting(item)) is not None),
        facts={**kept, "placed": (here,)},
    )  # fmt: skip


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


def _kustomization_file(folder: str, context: Context) -> tuple[str, YamlFile] | None:
    for name in NAMES:
        path = os.path.join(folder, name)
        source = context.read(path)
        if source is not None:
            return path, read_yaml(source.text)
    return None


def _kustomization(folder: str, context: Context) -> Node | None:
    found = _kustomization_file(folder, context)
    return found[1].documents[0] if found is not None and found[1].documents else None


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


def generated_map(manifest: str, name: str, context: Context) -> Found | None:
    """The ConfigMap of that name which the kustomization beside a manifest makes of literals and of files of variables.

    Its name gets a hash behind it when it is applied; the manifests name it without. Files that become one value each
    are told by their names only: they are manifests of their own.
    """
    folder = os.path.dirname(manifest)
    found = _kustomization_file(folder, context)
    if found is None:
        return None
    path, file = found
    root = file.documents[0] if file.documents else None
    generator = next(
        (item for item in _items(get(root, "configMapGenerator")) if _text(get(item, "name")) == name), None
    )
    if generator is None:
        return None
    pairs: list[tuple[Node, Node]] = []
    sources = [_text(get(generator, "env")), *(_text(item) for item in _items(get(generator, "envs")))]
    for each in sources:
        source = context.read(os.path.normpath(os.path.join(folder, each))) if each else None
        for line in (source.text if source is not None else "").splitlines():
            # pkg/kv of Kustomize: lines as they are, no quotes taken off, comments only at the start.
            key, equals, value = line.lstrip().partition("=")
            if equals and not key.startswith("#"):
                pairs.append((_made(generator, key), _made(generator, value)))
    for item in _items(get(generator, "literals")):
        key, equals, value = (_text(item) or "").partition("=")
        if equals:
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            pairs.append((_made(item, key), _made(item, value[1:-1] if quoted else value)))
    for item in _items(get(generator, "files")):
        text = _text(item) or ""
        pairs.append((_made(item, text.partition("=")[0] if "=" in text else os.path.basename(text)), _empty(item)))
    data = _empty(generator)
    data.items = pairs
    made = _empty(generator)
    made.items = [(_made(generator, "data"), data)]
    return Found(made, file, path)


def _made(node: Node, text: str) -> Node:
    return Node("scalar", node.start, node.start, node.end, text, "plain", False)


def _empty(node: Node) -> Node:
    return Node("mapping", node.start, node.start, node.end, "", "plain", False)


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
