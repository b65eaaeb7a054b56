"""The table of vLLM's flags, from an introspection of its own argument parser.

The introspection holds one entry a flag as the newest version that has it registers it, and the versions in which each
option string was found. What it cannot tell, since argparse only shows a wrapper function, is named here by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from servelint.data.flags.writing import ranges

# Fields of vLLM's config classes that are "a number or None" or "a dict or None": the introspection sees only the
# wrapper `optional_type`. Read in vllm/engine/arg_utils.py and vllm/config/*.py; what was not read stays a text.
OPTIONAL_KINDS: Mapping[str, str] = {
    "--cpu-distributed-timeout-seconds": "integer",
    "--distributed-timeout-seconds": "integer",
    "--default-mm-loras": "json-value",
    "--ec-transfer-config": "json-object",
    "--kv-cache-memory-bytes": "human-integer",
    "--kv-events-config": "json-object",
    "--kv-offloading-size": "number",
    "--kv-transfer-config": "json-object",
    "--max-cpu-loras": "integer",
    "--max-log-len": "integer",
    "--max-parallel-loading-workers": "integer",
    "--mm-processor-kwargs": "json-value",
    "--num-gpu-blocks-override": "integer",
    "--override-pooler-config": "json-object",
    "--pooler-config": "json-object",
    "--rope-theta": "number",
    "--speculative-config": "json-value",
    "--video-pruning-rate": "number",
}
# Option strings that the introspection found but could not give to a flag.
STRAY_STRINGS: Mapping[str, str] = {"-O": "--compilation-config"}
# Switches that once took a value as well (`StoreBoolean` with `nargs="?"`), and the last version that did.
VALUE_SWITCHES: Mapping[str, str] = {"--enable-chunked-prefill": "0.8.5.post1"}

_SWITCHES = frozenset({"EnableDisableAction", "BooleanOptionalAction", "_StoreTrueAction"})
_KINDS: Mapping[str, str] = {
    "int": "integer",
    "float": "number",
    "loads": "json",
    "_parse_type": "json-value",
    "union_dict_and_str": "json-or-text",
    "parse_dataclass": "json-object",
    "human_readable_int": "human-integer",
    "human_readable_int_or_auto": "human-integer-or-auto",
}


def table(found: Mapping[str, Any]) -> dict[str, Any]:
    """The compact table: provenance, the versions looked at, and one entry a flag."""
    versions: list[str] = found["versions"]
    presence: Mapping[str, Sequence[str]] = found["option_string_presence"]
    owned = {entry["flag"] for entry in found["flags"]}
    flags = [
        _entry(entry, versions, presence, owned)
        for entry in found["flags"]
        if not entry["flag"].startswith("<positional")
    ]
    return {
        "about": "The command line of `vllm serve` by version. Written by servelint/data/flags.",
        "source": "argparse introspection of make_arg_parser in vLLM's source distributions on PyPI, without a GPU",
        "reading": (
            "'A..B' means found in every version looked at from A to B, both included; nothing behind the dots means "
            "up to the newest. Kind, nargs and choices are those of the newest version that has the flag."
        ),
        "versions": versions,
        "flags": flags,
    }


def _entry(
    entry: Mapping[str, Any], versions: list[str], presence: Mapping[str, Sequence[str]], owned: set[str]
) -> dict[str, Any]:
    flag: str = entry["flag"]
    taken_over = _taken_over(flag, versions, presence)
    row: dict[str, Any] = {"flag": flag, "kind": _kind(entry)}
    optional = entry["raw_type"].startswith("optional_type")
    if optional and row["kind"] not in ("text", "switch"):
        row["optional"] = True
    if entry["nargs"] in ("+", "?") or row["kind"] == "boolean":
        row["nargs"] = entry["nargs"] or "?"
    if entry["choices"]:
        row["choices"] = [None if choice == "None" else choice for choice in entry["choices"]]
    if "lambda" in entry["raw_type"] and entry["choices"]:
        row["folded"] = True
    if entry.get("deprecated"):
        row["deprecated"] = True
    if flag in VALUE_SWITCHES:
        row["value_until"] = VALUE_SWITCHES[flag]
    row["present"] = ranges([version for version in entry["present_in"] if version not in taken_over], versions)
    names = [*entry["aliases"], *entry.get("hidden_aliases_accepted_0.33.0", ())]
    names += [name for name, owner in STRAY_STRINGS.items() if owner == flag]
    names += _negatives(flag, entry, names, presence)
    aliases = {}
    for name in dict.fromkeys(names):
        # An alias that is a flag of its own in older versions became an alias in the newest one only.
        seen = [versions[-1]] if name in owned else presence[name]
        aliases[name] = ranges(seen, versions)
    if aliases:
        row["aliases"] = aliases
    return row


def _taken_over(flag: str, versions: list[str], presence: Mapping[str, Sequence[str]]) -> set[str]:
    """Versions in which an option string that was a flag of its own is the other half of a newer flag's pair."""
    if not flag.startswith("--disable-"):
        return set()
    partner = "--enable-" + flag.removeprefix("--disable-")
    newest = versions[-1]
    if newest in presence.get(partner, ()) and versions[-2] not in presence.get(flag, ()):
        return {newest}
    return set()


def _negatives(
    flag: str, entry: Mapping[str, Any], names: Iterable[str], presence: Mapping[str, Sequence[str]]
) -> list[str]:
    """`--no-x` spellings that only older versions had."""
    negative = "--no-" + flag.removeprefix("--")
    known = entry["action"] in _SWITCHES or entry["raw_type"] == "bool"
    return [negative] if known and negative in presence and negative not in names else []


def _kind(entry: Mapping[str, Any]) -> str:
    action, raw = entry["action"], entry["raw_type"].rsplit(".", 1)[-1]
    if action in _SWITCHES:
        return "switch"
    if action == "_HelpAction":
        return "help"
    if action == "LoRAParserAction":
        return "lora"
    if action == "StoreBoolean" or raw == "bool":
        # `type=bool` was a switch with a `--no-` half in the versions before: let it take a value or none.
        return "boolean"
    if entry["flag"] == "--middleware":
        return "appended"
    if raw == "_optional_type":
        if entry["flag"] in OPTIONAL_KINDS:
            return OPTIONAL_KINDS[entry["flag"]]
        return "optional-text" if entry["type"] != "int" else "integer"
    return _KINDS.get(raw, "text")
