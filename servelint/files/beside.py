"""Files that a manifest names by a relative path."""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import os.path

from servelint.files.context import Context


def places_of(manifest: str, path: str) -> list[str]:
    """Where a relative path that a manifest names may lie: beside the manifest, or where the program is started."""
    beside = os.path.normpath(os.path.join(os.path.dirname(manifest), path))
    plain = os.path.normpath(path)
    return [beside] if beside == plain else [beside, plain]


def read_beside(manifest: str, path: str, context: Context) -> tuple[str, str] | None:
    """The place and the text of a file that a manifest names by a relative path; None where it is not within reach."""
    if not path or path.startswith(("/", "~")) or "\0" in path:
        return None
    for place in places_of(manifest, path):
        source = context.read(place)
        if source is not None:
            return place, source.text
    return None
