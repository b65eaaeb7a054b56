"""The flow has one direction: which package may import which, as CONTRIBUTING tells it."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT

# What each package may know beside itself. `records`, `data` and `files` belong to nobody's subject.
ANYWHERE = {"records", "data", "files"}
KNOWS = {
    "text": set(),
    "formats": {"text"},
    "manifests": {"text", "formats"},
    "models": {"text", "manifests"},
    "engines": {"text", "manifests", "models"},
    "checks": {"text", "formats", "manifests", "models", "engines"},
    "fixing": {"text", "formats", "manifests", "checks"},
    "report": {"text", "manifests", "models", "engines", "checks", "fixing"},
}
# The Modelfile is Ollama's own form, and some of vLLM's options hold JSON: only they can say what is wrong in there.
OWN_FORMS = {
    ("ollama.py", "formats"),
    ("vllm.py", "formats"),
    ("meant_json.py", "formats"),
    ("sglang_arguments.py", "formats"),
}


def imported(package: str) -> set[tuple[str, str]]:
    """The files of a package, each with every other package of servelint that it imports."""
    found = set()
    for path in sorted((ROOT / "servelint" / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                if parts[0] == "servelint" and len(parts) > 1:
                    found.add((path.name, parts[1]))
    return found


@pytest.mark.parametrize("package", KNOWS)
def test_a_package_knows_only_those_before_it(package: str) -> None:
    allowed = KNOWS[package] | ANYWHERE | {package}
    assert {(file, other) for file, other in imported(package) if other not in allowed} <= OWN_FORMS
