"""The table of text-generation-launcher's options, from a reading of its `Args` (launcher/src/main.rs)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from servelint.data import data_folder

_KINDS: Mapping[str, str] = {
    "string": "text", "uint": "whole", "uint16": "whole", "uint32": "whole", "uint64": "whole", "float": "number",
    "enum": "choice",
}  # fmt: skip
_MAXIMA: Mapping[str, int] = {"uint": 2**64 - 1, "uint64": 2**64 - 1, "uint32": 2**32 - 1, "uint16": 2**16 - 1}
_ROW = (
    "flag", "env", "short", "kind", "choices", "maximum", "default", "repeats", "list", "minimum", "secret", "generic",
    "absent", "present", "renamed", "note",
)  # fmt: skip
# What no reading of the newest source tells: in which versions an option is there, which variables other programs
# share, which values are secrets, and remarks.
_BY_HAND = ("minimum", "secret", "generic", "absent", "present", "renamed", "note")


def table(found: Mapping[str, Any]) -> dict[str, Any]:
    """The compact table: what the reading tells of each option, and what the present table holds by hand."""
    known = json.loads((data_folder() / "rules" / "engines" / "tgi.json").read_text(encoding="utf-8"))
    rows = {row["flag"]: row for row in known.pop("flags")}
    source = {**known["source"], "commit": found["source"]["commit"], "path": found["source"]["path"]}
    newest = found["source"]["release_near"].removeprefix("v")
    made = [_row(entry, rows.get(entry["flag"], {})) for entry in found["args"]]
    taken: set[str] = set()
    for row in made:
        # Two options ask for `-p`: clap gives a letter to the first.
        if row.get("short") in taken:
            del row["short"]
        taken.add(row.get("short", ""))
    return {**known, "source": {**source, "near": newest}, "newest": newest, "flags": made}


def _row(entry: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    truth = "truth" if entry["takes_value"] else "switch"
    kind = truth if entry["type"] == "bool" else _KINDS[entry["type"]]
    read = {
        "flag": entry["flag"],
        "env": entry["env"],
        "short": entry["short"],
        "kind": kind,
        "choices": entry.get("values"),
        "maximum": _MAXIMA.get(entry["type"]),
        "default": entry["default"] if kind != "switch" else None,
        "repeats": True if entry["multiple"] and not entry["delimiter"] else None,
        "list": entry["delimiter"],
    }
    kept = {name: known[name] for name in _BY_HAND if name in known}
    row = {**{name: value for name, value in read.items() if value is not None}, **kept}
    return {name: row[name] for name in _ROW if name in row}
