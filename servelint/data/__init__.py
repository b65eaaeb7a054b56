"""Where the data beside the code is found: `rules/` and `schemas/`, in a checkout and in a wheel."""

# Plain strings: pathlib costs more at start than the data of a check.
# ruff: noqa: PTH112, PTH118, PTH120, PTH123
from __future__ import annotations

import os.path
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


@cache
def _folder() -> str:
    bundled = os.path.join(_PACKAGE, "_data")
    return bundled if os.path.isdir(bundled) else os.path.dirname(_PACKAGE)


def data_folder() -> Path:
    """The folder that holds `rules/` and `schemas/`: inside the installed package, else the root of the checkout."""
    from pathlib import Path

    return Path(_folder())


@cache
def load(name: str) -> Any:
    """The JSON document `name` (`rules/compiled/families.json`) below the data folder.

    Raises FileNotFoundError for a broken installation.
    """
    import json

    with open(os.path.join(_folder(), name), encoding="utf-8") as file:
        return json.load(file)
