"""The command `python -m servelint.data.flags`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from servelint.data import data_folder
from servelint.data.flags import llamacpp, sglang, tgi, vllm
from servelint.data.flags.writing import render

# The engine, the file of its table, and what makes the table of the introspection.
TABLES: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "vllm": ("vllm.json", vllm.table),
    "sglang": ("sglang.json", sglang.table),
    "tgi": ("tgi.json", tgi.table),
    "llama.cpp": ("llamacpp-server.json", llamacpp.table),
}


def main(arguments: Sequence[str]) -> int:
    """Read the introspection named second, write the engine's table (to the third, else to its place in the data)."""
    if not 2 <= len(arguments) <= 3 or arguments[0] not in TABLES:
        sys.stderr.write(f"usage: flags {{{','.join(TABLES)}}} INTROSPECTION.json [OUTPUT.json]\n")
        return 2
    name, make = TABLES[arguments[0]]
    found = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
    output = Path(arguments[2]) if len(arguments) == 3 else data_folder() / "rules" / "engines" / name
    output.write_text(render(make(found)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
