"""What a walk finds, judged by git itself where ignore files are concerned."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servelint.files.walk import compile_patterns, covers, matches, walk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def every(_: str) -> bool:
    return True


def grow(root: Path, *names: str) -> None:
    for name in names:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x")


def git(root: Path, *words: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(["git", *words], cwd=root, env=environment, check=True, capture_output=True, text=True).stdout


def listed_by_git(root: Path) -> list[str]:
    return sorted(git(root, "ls-files", "-z", "-co", "--exclude-standard").split("\0")[:-1])


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_order_names_and_skipped_folders(inside: Path) -> None:
    grow(inside, "b/Modelfile", "a.yaml", "a/z.yaml", "a/b.yaml", "node_modules/x.yaml", ".git/config", ".venv/y.yaml")
    grow(inside, "a/readme.md", ".github/w.yaml")
    found = list(walk(".", lambda name: name.endswith((".yaml", "Modelfile"))))
    assert found == ["a.yaml", ".github/w.yaml", "a/b.yaml", "a/z.yaml", "b/Modelfile"]
    assert list(walk("a", every)) == ["a/b.yaml", "a/readme.md", "a/z.yaml"]
    assert list(walk("./a/", every)) == list(walk("a", every))
    assert list(walk(str(inside / "b"), every)) == [str(inside / "b" / "Modelfile")]


IGNORE_FILES = [
    {".gitignore": "*.yaml\n!keep.yaml\n"},
    {".gitignore": "build/\n", "a/.gitignore": "!build/\n"},
    {".gitignore": "/a\n"},
    {".gitignore": "a/*\n!a/b\n"},
    {".gitignore": "*\n!*/\n!*.yaml\n"},
    {".gitignore": "**/build\n\\#odd\n# comment\n\n  \n"},
    {".gitignore": "*.md", "a/.gitignore": "!*.md", "a/b/.gitignore": "x.md"},
    {".git/info/exclude": "*.md\n", ".gitignore": "!a/x.md\n"},
    {".gitignore": "a/**/x.yaml\n"},
    {".gitignore": "[ab].yaml\nkee?.yaml\n"},
    {".gitignore": "\ufeff*.md\r\n*.yaml\r\n"},
    {".gitignore": "!\n/\n[\n*.md\n"},
    {"a/.gitignore": "/b\n"},
    {"a/.gitignore": "*\n"},
    {".gitignore": "x.yaml\n!b/\n*.md\n!c/x.yaml\n"},
    {".gitignore": "build\n!build\nbuild/x.yaml\n"},
    {".gitignore": "*.m*\n!/a/*.md\nke*.yaml\n/x.*\n"},
    {".gitignore": "keep.yaml  \n\\!x\nx.md\\ \n*.yaml\n!a/b/c/*.yaml\n"},
    {".gitignore": "/*\n!/a\n/a/*\n!/a/b\n"},
    {".gitignore": "a/**\n!a/**/\n!a/**/*.yaml\n"},
]  # fmt: skip


@needs_git
@pytest.mark.parametrize("files", IGNORE_FILES, ids=lambda files: repr(files)[:60])
def test_ignore_files_as_git_reads_them(inside: Path, files: dict[str, str]) -> None:
    git(inside, "init", "-q")
    grow(inside, "x.md", "x.yaml", "keep.yaml", "a.yaml", "#odd", "a/x.md", "a/x.yaml", "a/keep.yaml", "a/b/x.md")
    grow(inside, "a/b/x.yaml", "a/b/c/x.yaml", "build/x.yaml", "a/build/x.yaml", "a/b/build")
    for name, text in files.items():
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).write_text(text, encoding="utf-8", newline="")
    assert sorted(walk(".", every)) == listed_by_git(inside)


@needs_git
def test_ignore_files_above_the_folder(inside: Path) -> None:
    git(inside, "init", "-q")
    grow(inside, "a/b/x.yaml", "a/b/y.md", "a/b/out/z.md", "a/c.md", "gone/deep/x.yaml", "gone/deep/x.md")
    (inside / ".gitignore").write_text("*.md\n/a/b/out\n/gone\n")
    (inside / "a" / ".gitignore").write_text("!y.md\n")
    assert list(walk("a/b", every)) == ["a/b/x.yaml", "a/b/y.md"]
    # A folder that was named is wanted, whatever ignores it.
    assert list(walk("gone/deep", every)) == ["gone/deep/x.md", "gone/deep/x.yaml"]
    os.chdir(inside / "a" / "b")
    assert list(walk(".", every)) == ["x.yaml", "y.md"]
    assert list(walk("..", every)) == ["../.gitignore", "../b/x.yaml", "../b/y.md"]


def test_a_repository_is_not_asked_for(inside: Path) -> None:
    (inside / ".gitignore").write_text("*.md\n")
    grow(inside, "x.md", "sub/x.md", "sub/x.yaml")
    assert list(walk(".", every)) == [".gitignore", "sub/x.yaml"]
    # Outside of a repository a folder is judged by itself.
    assert list(walk("sub", every)) == ["sub/x.md", "sub/x.yaml"]


def test_links(inside: Path) -> None:
    grow(inside, "out/secret.yaml", "in/blobs/77ab", "in/real.yaml", "in/snap/x.md")
    (inside / "in" / "snap" / "a.yaml").symlink_to("../blobs/77ab")
    (inside / "in" / "snap" / "twice.yaml").symlink_to("../real.yaml")
    (inside / "in" / "snap" / "away.yaml").symlink_to(inside / "out" / "secret.yaml")
    (inside / "in" / "snap" / "broken.yaml").symlink_to("nowhere.yaml")
    (inside / "in" / "snap" / "self.yaml").symlink_to("self.yaml")
    (inside / "in" / "loop").symlink_to("..")
    (inside / "in" / "away").symlink_to(inside / "out")
    assert list(walk("in", lambda name: name.endswith(".yaml"))) == ["in/real.yaml", "in/snap/a.yaml"]


def test_pipes_are_no_files(inside: Path) -> None:
    os.mkfifo("Modelfile")
    assert list(walk(".", every)) == []


def test_excludes_of_each_folder(inside: Path) -> None:
    grow(inside, "a/x", "a/y", "b/x", "b/y", "c/x")
    asked: list[str] = []

    def excludes_in(folder: str):  # type: ignore[no-untyped-def]
        asked.append(folder)
        if folder == "a":
            return lambda path, is_folder: path == "a/x" and not is_folder
        return (lambda path, is_folder: path == "c" and is_folder) if folder == "." else None

    assert list(walk(".", every, excludes_in)) == ["a/y", "b/x", "b/y"]
    assert asked == [".", "a", "b"]


def test_what_cannot_be_listed_is_told(inside: Path) -> None:
    told: list[tuple[str, str]] = []
    assert list(walk("nowhere", every, unreadable=lambda path, reason: told.append((path, reason)))) == []
    assert told == [("nowhere", "no such file or directory")]


@pytest.mark.skipif(shutil.which("rm") is None, reason="needs rm")
def test_a_deep_tree_is_no_recursion(inside: Path) -> None:
    descriptor = os.open(".", os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("x.yaml", os.O_CREAT, dir_fd=descriptor))
    os.close(descriptor)
    try:
        assert [path.count("/") for path in walk(".", every)] == [1500]
    finally:
        # Python's own way to remove a tree is a recursion, and pytest would fall over it later.
        subprocess.run(["rm", "-rf", "d"], check=True)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("*a*a*a*a*a*a*a*a*a*b", "a" * 250), ("**/a/**/a/**/a/**/b", "a/" * 1000 + "a"), ("[z-a]", "z"), ("!", "!")],
)
def test_a_pattern_that_no_person_writes_matches_nothing(pattern: str, path: str) -> None:
    assert matches(compile_patterns([pattern, "other"]), path, False) is None
    assert matches(compile_patterns([pattern, "other"]), "other", False) is True


@pytest.mark.parametrize(
    ("lines", "path", "covered"),
    [
        (["deploy"], "deploy/a/b.yaml", True),
        (["deploy/"], "deploy/a/b.yaml", True),
        (["deploy/"], "deploy", False),
        (["/a.yaml"], "sub/a.yaml", False),
        (["*.yaml", "!keep.yaml"], "sub/keep.yaml", False),
        (["charts/**/values.yaml"], "charts/x/y/values.yaml", True),
        ([], "a", False),
    ],
)
def test_a_file_without_a_walk(lines: list[str], path: str, covered: bool) -> None:
    assert covers(compile_patterns(lines), path) is covered


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.text(max_size=12), max_size=4), st.text(min_size=1, max_size=12))
def test_any_patterns_on_any_path(lines: list[str], path: str) -> None:
    assert matches(compile_patterns(lines), path, False) in (True, False, None)
