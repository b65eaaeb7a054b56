"""How the tables are written: one line a flag, versions as ranges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def ranges(seen: Iterable[str], versions: Sequence[str]) -> str:
    """The versions as ranges of neighbours: `0.4.3..0.16.0,0.33.0..`."""
    marks = set(seen)
    parts: list[str] = []
    start: str | None = None
    for index, version in enumerate(versions):
        if version in marks and start is None:
            start = version
        if start is not None and (index + 1 == len(versions) or versions[index + 1] not in marks):
            parts.append(f"{start}.." if index + 1 == len(versions) else f"{start}..{version}")
            start = None
    return ",".join(parts)


def render(document: Mapping[str, Any]) -> str:
    """JSON with one line a flag, so that a change of one flag is a change of one line."""
    head = {key: value for key, value in document.items() if key != "flags"}
    lines = [json.dumps(head, ensure_ascii=False)[:-1] + ', "flags": [']
    rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in document["flags"]]
    lines += [row + "," for row in rows[:-1]] + rows[-1:]
    return "\n".join(lines) + "\n]}\n"
