"""The table of llama-server's options, from llama.cpp's own generated list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Options that may be given several times: what is given is gathered (common/arg.cpp: `push_back`, or a list).
GATHERED = frozenset(
    {
        "--reverse-prompt", "--override-kv", "--lora", "--lora-scaled", "--control-vector", "--control-vector-scaled",
        "--logit-bias", "--override-tensor", "--dry-sequence-breaker", "--device", "--spec-draft-override-tensor",
        "--api-key", "--tags",
    }
)  # fmt: skip
_KINDS: Mapping[str, str] = {
    "flag": "switch", "bool-pair": "pair", "int": "integer", "float": "number", "enum": "choice", "string": "text",
    "path": "path", "csv": "list", "json": "json", "two-ints": "two-integers",
}  # fmt: skip


def table(found: Mapping[str, Any]) -> dict[str, Any]:
    """The compact table: provenance, and one entry an option under the last of its long names."""
    return {
        "about": "The options of llama-server. Written by servelint/data/flags.",
        "source": "the option list of tools/server/README.md and common/arg.cpp in ggml-org/llama.cpp",
        "commit": "0c1e57098",
        "reading": (
            "An option is known under every name in 'names' and, of a pair, under those in 'negative' with the "
            "opposite meaning; 'env' is the variable that gives its value. 'gathered' ones add up when repeated."
        ),
        "flags": [_entry(entry) for entry in found["args"]],
    }


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    negative = list(entry["negative"])
    names = [name for name in entry["flags"] if name not in negative]
    # Older and newer names of one option stand in the order in which they came to be.
    flag = [name for name in names if name.startswith("--")][-1] if any(n.startswith("--") for n in names) else names[0]
    if len(names) > 1 and flag.startswith(("--log-verb", "--webui", "--draft-p", "--cache-type-", "--n-gpu-layers-d")):
        flag = next(name for name in names if name.startswith("--"))
    row: dict[str, Any] = {"flag": flag, "kind": _KINDS[entry["type"]], "names": names}
    if negative:
        row["negative"] = negative
    if entry["choices"]:
        row["choices"] = entry["choices"]
    if entry["env"]:
        row["env"] = entry["env"]
    if entry["env_negative"]:
        row["env_negative"] = entry["env_negative"]
    if flag in GATHERED:
        row["gathered"] = True
    return row
