"""Where the data beside the code is found: `rules/` and `schemas/`, in a checkout and in a wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent.parent


@cache
def data_folder() -> Path:
    """The folder that holds `rules/` and `schemas/`: inside the installed package, else the root of the checkout."""
    bundled = _PACKAGE / "_data"
    return bundled if bundled.is_dir() else _PACKAGE.parent


@cache
def load(name: str) -> Any:
    """The JSON document `name` (`rules/compiled/families.json`) below the data folder.

    Raises FileNotFoundError for a broken installation.
    """
    import json

    return json.loads((data_folder() / name).read_text(encoding="utf-8"))
