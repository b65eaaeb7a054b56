"""Fixtures that all tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# No test says how long something may take: a busy machine would fail it.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of facts, vectors and cases that lies beside a development checkout."""
    if not SHARED.is_dir():
        pytest.skip("needs the folder of recorded vectors beside the checkout")
    return SHARED


def read_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a JSON-lines file in the shared folder, none where it is absent (the test then skips)."""
    file = SHARED / name
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
