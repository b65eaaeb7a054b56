"""The table of SGLang's flags, from an introspection of `ServerArgs.add_cli_args`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from servelint.data.flags.writing import ranges

_SWITCHES = frozenset(
    {"_StoreTrueAction", "DeprecatedStoreTrueAction", "DeprecatedAction", "DeprecatedStoreConstAction"}
)
_KINDS: Mapping[str, str] = {
    "int": "integer", "float": "number", "human_readable_int": "human-integer", "loads": "json",
    "json_list_type": "json",
}  # fmt: skip


def table(found: Mapping[str, Any]) -> dict[str, Any]:
    """The compact table: provenance, the versions looked at, and one entry a flag."""
    # The introspection names a version by its key, with the wheel behind it where they differ.
    keys: list[str] = [str(version).partition(" ")[0] for version in found["versions"]]
    versions = [".".join(key.split(".")[:3]) if "post" in key else key for key in keys]
    return {
        "about": "The command line of SGLang's server by version. Written by servelint/data/flags.",
        "source": found["source"],
        "reading": (
            "'A..B' means found in every version looked at from A to B, both included; nothing behind the dots means "
            "up to the newest. Kind, nargs and choices are those of the newest version that has the flag."
        ),
        "versions": keys,
        "flags": _flags(found["flags"], versions, keys),
    }


def _flags(entries: Sequence[Mapping[str, Any]], versions: list[str], keys: list[str]) -> list[dict[str, Any]]:
    named = dict(zip(versions, keys, strict=True))
    rows: dict[str, dict[str, Any]] = {}
    for entry in entries:
        # The older and the newer versions' entries of one flag name it by different ones of its names.
        twin = next((rows[alias] for alias in entry["aliases"] if alias in rows), None)
        if twin is not None:
            names = {*twin.get("aliases", ()), entry["flag"], *entry["aliases"]} - {twin["flag"]}
            twin["aliases"] = sorted(names)
            continue
        row: dict[str, Any] = {"flag": entry["flag"], "kind": _kind(entry)}
        if entry["nargs"] in ("+", "*", "?"):
            row["nargs"] = entry["nargs"]
        if entry["choices"]:
            row["choices"] = entry["choices"]
        row["present"] = ranges([named[version] for version in entry["present_in"]], keys)
        if entry["aliases"]:
            row["aliases"] = list(entry["aliases"])
        rows[entry["flag"]] = row
    return list(rows.values())


def _kind(entry: Mapping[str, Any]) -> str:
    if entry["action"] == "_HelpAction":
        return "help"
    if entry["action"] in _SWITCHES:
        return "switch"
    if entry["action"] == "BooleanOptionalAction":
        return "pair"
    return _KINDS.get(entry["raw_type"], "text")
