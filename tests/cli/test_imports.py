"""What a run may load: a hook pays for what it touches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "typer", "click", "rich", "jsonschema", "huggingface_hub", "asyncio", "multiprocessing", "importlib.metadata",
    "concurrent.futures", "difflib", "pathspec", "jinja2", "ruamel.yaml", "pydantic", "dataclasses", "inspect",
    "logging", "argparse", "tomllib", "subprocess", "shutil", "hashlib", "platform",
}  # fmt: skip

# All of the standard library that the check of a Modelfile may load, beside what Python itself does at its start.
ALLOWED = {
    "__future__", "_bisect", "_collections", "_functools", "_json", "_operator", "_typing", "bisect", "collections",
    "contextlib", "functools", "gc", "importlib", "itertools", "json", "keyword", "math", "operator", "os", "re",
    "reprlib", "types", "typing", "warnings", "enum", "copyreg", "_sre", "sre_compile", "sre_constants", "sre_parse",
    "annotationlib", "ast", "_ast", "_weakref", "copy", "weakref", "_weakrefset", "unicodedata", "string",
}  # fmt: skip
_BARE = set(
    json.loads(
        subprocess.run(
            [sys.executable, "-c", "import sys, json; print(json.dumps(sorted(sys.modules)))"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
)


def loaded(*words: str) -> set[str]:
    """The modules that a command line loads, in a process of its own."""
    program = (
        "import sys; from servelint.cli.main import main; status = main(sys.argv[1:]); "
        "import json; sys.stderr.write(json.dumps([status, sorted(sys.modules)]))"
    )
    ran = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True)
    status, modules = json.loads(ran.stderr)
    assert status == 0, ran.stdout
    return set(modules)


@pytest.fixture
def healthy(folder: Path) -> Path:
    (folder / "Modelfile").write_text('FROM qwen3:8b\nPARAMETER stop "<|im_end|>"\nPARAMETER stop "<|endoftext|>"\n')
    return folder


@pytest.mark.parametrize("words", [["Modelfile"], ["check", "Modelfile"]])
def test_a_modelfile_needs_nothing_heavy(healthy: Path, words: list[str]) -> None:
    modules = loaded(*words)
    assert modules & (HEAVY | {"yaml", "tree_sitter"}) == set()
    foreign = {name.partition(".")[0] for name in modules - _BARE if not name.startswith("servelint")}
    assert foreign <= ALLOWED
    assert {name for name in modules if name.startswith("servelint.cli.")} == {
        "servelint.cli.checking", "servelint.cli.main", "servelint.cli.output", "servelint.cli.session",
    }  # fmt: skip


def test_a_folder_needs_pathspec_only_for_wildcards(healthy: Path) -> None:
    (healthy / ".gitignore").write_text("*.log\n/build\n")
    assert loaded(".") & HEAVY == set()
    (healthy / ".gitignore").write_text("*.l?g\n")
    assert "pathspec" in loaded(".")


def test_a_configuration_is_only_read_where_there_is_one(healthy: Path) -> None:
    assert "servelint.configuration_reader" not in loaded("Modelfile")
    (healthy / "pyproject.toml").write_text("[tool.other]\n")
    assert "tomllib" not in loaded("Modelfile")
    (healthy / ".servelint.yaml").write_text("profile: default\n")
    modules = loaded("Modelfile")
    assert "servelint.configuration_reader" in modules
    assert modules & (HEAVY - {"typer"}) == set()


def test_options_need_the_parser_but_no_colours_library(healthy: Path) -> None:
    modules = loaded("check", "--format", "concise", "Modelfile")
    assert "typer" in modules
    # typer itself brings some of the rest.
    assert (
        modules & {"rich", "jsonschema", "huggingface_hub", "asyncio", "multiprocessing", "pathspec", "pydantic"}
        == set()
    )
    assert "servelint.cli.fix" not in modules


def test_help_does_not_need_it_either(healthy: Path) -> None:
    assert "rich" not in loaded("--help")
    assert "rich" not in loaded("check", "--help")
