"""The hooks, in the real pre-commit: installed from a repository that is this checkout, run on a repository of a user.

The `files` of the hooks is made of the catalogue of kinds; `python -m tests.hooks.test_pre_commit` writes it anew.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from servelint.manifests.catalogue import KINDS

ROOT = Path(__file__).resolve().parent.parent.parent
HOOKS = ROOT / ".pre-commit-hooks.yaml"
SHIPPED = ("servelint", "rules", "schemas", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
IDENTITY = ("-c", "user.name=Someone", "-c", "user.email=someone@example.org", "-c", "commit.gpgsign=false")


def files_pattern() -> str:
    """The regular expression of every path that any kind of manifest may have."""
    parts = []
    for kind in KINDS:
        pattern = kind.files
        if pattern.startswith("(?i)"):
            # A flag for all of the expression may only stand at its beginning.
            pattern = f"(?i:{pattern[4:]})"
        parts.append(pattern)
    return "|".join(dict.fromkeys(parts))


def hooks() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    return loaded


def test_files_come_from_the_catalogue() -> None:
    for hook in hooks():
        assert hook["files"] == files_pattern(), "run python -m tests.hooks.test_pre_commit"


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("Modelfile", True),
        ("a/Modelfile.qwen", True),
        ("qwen.modelfile", True),
        ("a/deploy.yaml", True),
        ("compose.yml", True),
        ("serve.sh", True),
        ("m/generation_config.json", True),
        (".env", True),
        ("tgi.env", True),
        ("bin/serve", True),
        ("a.py", False),
        ("README.md", False),
        ("logo.png", False),
        ("main.go", False),
    ],
)
def test_paths(path: str, taken: bool) -> None:
    assert bool(re.search(files_pattern(), path)) is taken


def command(folder: Path, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **settings}
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def git(folder: Path, *words: str) -> str:
    ran = command(folder, "git", *IDENTITY, *words)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def published(folder: Path, system: bool) -> str:
    """A repository with what a release has, and its commit; with `system`, hooks that use this environment."""
    folder.mkdir()
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_data"))
        else:
            shutil.copy(source, folder / name)
    if system:
        file = folder / HOOKS.name
        file.write_text(file.read_text(encoding="utf-8").replace("language: python", "language: system"))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "release")
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="needs pre-commit")
def test_both_hooks_in_pre_commit(tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    git(user, "init", "-q")
    (user / "Modelfile").write_text('FROM qwen3:8b\nPARAMETER stop "User:"\n')
    (user / "notes.md").write_text("nothing to serve\n")
    bin_folder = str(Path(sys.executable).parent)
    settings = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}

    def pre_commit(*words: str) -> subprocess.CompletedProcess[str]:
        return command(user, sys.executable, "-m", "pre_commit", *words, **settings)

    def configure(system: bool) -> subprocess.CompletedProcess[str]:
        release = tmp_path / ("system" if system else "release")
        commit = published(release, system)
        ids = [{"id": hook["id"]} for hook in hooks()]
        # The repair first: the check then sees what it left.
        config = {"repos": [{"repo": str(release), "rev": commit, "hooks": ids[::-1]}]}
        (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        git(user, "add", "-A")
        return pre_commit("install-hooks")

    # Without a package index the environment of the hooks cannot be made; this one stands in for it then.
    if configure(system=False).returncode != 0:
        installed = configure(system=True)
        assert installed.returncode == 0, installed.stdout

    failing = pre_commit("run", "servelint", "--all-files")
    assert failing.returncode == 1
    assert "Modelfile:2:1: error SL101 missing-terminator" in failing.stdout

    fixing = pre_commit("run", "servelint-fix", "--all-files")
    assert fixing.returncode == 1
    assert "files were modified by this hook" in fixing.stdout
    assert (
        (user / "Modelfile")
        .read_text()
        .startswith('FROM qwen3:8b\nPARAMETER stop "User:"\nPARAMETER stop "<|im_end|>"')
    )

    git(user, "add", "-A")
    passing = pre_commit("run", "--all-files")
    assert passing.returncode == 0, passing.stdout
    assert passing.stdout.count("Passed") == 2


if __name__ == "__main__":
    text = HOOKS.read_text(encoding="utf-8")
    quoted = files_pattern().replace("'", "''")
    HOOKS.write_text(re.sub(r"(?m)^  files: .*$", lambda _: f"  files: '{quoted}'", text), encoding="utf-8")
