"""`servelint fix`: what it writes, what it leaves, and what it says of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Run, spawn
from tests.conftest import ROOT

BAD = "FROM qwen3:8b\nPARAMETER stop <|endoftext|>\n"
FIXED = "FROM qwen3:8b\nPARAMETER stop <|endoftext|>\nPARAMETER stop <|im_end|>\n"
# Its repair is for a person to decide on.
CAPPED = FIXED + "PARAMETER num_predict 9\n"
UNSAFE = 'FROM mystery-model\nPARAMETER stop "<im_end>"\n'


@pytest.fixture
def bad(folder: Path) -> Path:
    file = folder / "Modelfile"
    file.write_text(BAD)
    return file


def test_it_rewrites_and_is_done(run: Run, bad: Path) -> None:
    first = run("fix", "Modelfile")
    assert first.status == 1
    assert first.out == (
        "Modelfile: 1 finding fixed\n  SL101 missing-terminator: add <|im_end|>\n1 file rewritten, 1 finding fixed\n"
    )
    assert bad.read_text() == FIXED
    assert run("fix", "Modelfile") == (0, "0 files rewritten, 0 findings fixed\n", "")
    assert run("fix", "--quiet", ".") == (0, "", "")
    assert bad.read_text() == FIXED


def test_what_is_left_is_said_with_its_reason(run: Run, bad: Path) -> None:
    bad.write_text(CAPPED)
    ran = run("fix", "Modelfile")
    assert ran.status == 1
    assert "Modelfile: 1 finding left\n  4:23 warning SL201 low-cap: " in ran.out
    assert "    not fixed: how long an answer may be is yours to say\n" in ran.out
    assert ran.out.endswith("0 files rewritten, 0 findings fixed, 1 left\n")
    assert run("fix", "--fail-on", "error", "Modelfile").status == 0
    assert run("fix", "--ignore", "SL201", "Modelfile").status == 0


def test_rules_that_are_off_are_not_repaired(run: Run, bad: Path) -> None:
    assert run("fix", "--ignore", "SL101", "--ignore", "SL1", "Modelfile").status == 0
    assert bad.read_text() == BAD
    (bad.parent / ".servelint.yaml").write_text("rules: {SL1: {severity: off}}\n")
    assert run("fix", "Modelfile").status == 0
    assert bad.read_text() == BAD


DIFF = """\
--- a/Modelfile
+++ b/Modelfile
@@ -1,2 +1,3 @@
 FROM qwen3:8b
 PARAMETER stop <|endoftext|>
+PARAMETER stop <|im_end|>
"""


def test_a_diff_writes_nothing(run: Run, bad: Path) -> None:
    ran = run("fix", "--diff", "Modelfile")
    assert ran.status == 1
    assert ran.out == DIFF
    assert ran.err.endswith("1 file would be rewritten, 1 finding to fix\n")
    assert bad.read_text() == BAD
    bad.write_text(FIXED)
    assert run("fix", "--diff", "Modelfile") == (0, "", "0 files would be rewritten, 0 findings to fix\n")


def test_check_writes_nothing(run: Run, bad: Path) -> None:
    ran = run("fix", "--check", "Modelfile")
    assert ran.status == 1
    assert ran.out.endswith("1 file would be rewritten, 1 finding to fix\n")
    assert bad.read_text() == BAD
    bad.write_text(FIXED)
    assert run("fix", "--check", "Modelfile").status == 0


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(
    "data",
    [
        BAD.encode(),
        BAD.encode().replace(b"\n", b"\r\n"),
        BAD.encode().removesuffix(b"\n"),
        b"# \xff latin \x1b[31m\n" + BAD.encode(),
        b"\xef\xbb\xbf" + BAD.encode(),
    ],
)
def test_a_diff_is_a_patch_that_git_takes(run: Run, bad: Path, data: bytes) -> None:
    bad.write_bytes(data)
    patch = spawn("fix", "--diff", ".").stdout
    assert run("fix", "Modelfile").status == 1
    fixed = bad.read_bytes()
    bad.write_bytes(data)
    (bad.parent / ".git").rmdir()
    applied = subprocess.run(["git", "apply", "-"], input=patch, capture_output=True, check=False)
    assert applied.returncode == 0, applied.stderr
    assert bad.read_bytes() == fixed != data


def test_a_diff_for_people_is_escaped(run: Run, bad: Path) -> None:
    bad.write_bytes(b"# \x1b[2J\n" + BAD.encode())
    out = run("fix", "--diff", "--color", "always", "Modelfile").out
    assert " # \\x1b[2J\n" in out
    assert "\x1b[32m+PARAMETER stop <|im_end|>\x1b[0m\n" in out


def test_unsafe_repairs_only_when_asked(run: Run, bad: Path) -> None:
    bad.write_text(UNSAFE)
    ran = run("fix", "Modelfile")
    assert "not fixed: changes what is served; apply it with --unsafe-fixes" in ran.out
    assert bad.read_text() == UNSAFE
    assert run("fix", "--unsafe-fixes", "Modelfile").status == 1
    assert bad.read_text() != UNSAFE


def test_standard_input_onto_standard_output(folder: Path) -> None:
    ran = spawn("fix", "-", "--stdin-filename", "Modelfile", stdin=BAD.encode() + b"# \xff")
    assert ran.stdout == FIXED.encode() + b"# \xff"
    assert ran.returncode == 1
    assert ran.stderr.endswith(b"1 file rewritten, 1 finding fixed\n")
    clean = spawn("fix", "-", "--stdin-filename", "Modelfile", stdin=FIXED.encode())
    assert (clean.returncode, clean.stdout) == (0, FIXED.encode())
    diff = spawn("fix", "--diff", "-", "--stdin-filename", "Modelfile", stdin=BAD.encode())
    assert diff.stdout == DIFF.encode()


def test_a_file_that_cannot_be_written_is_left_and_said(run: Run, bad: Path) -> None:
    bad.chmod(0o444)
    (bad.parent / "other.Modelfile").write_text(BAD)
    ran = run("fix", ".")
    assert ran.status == 1
    assert "Modelfile: not rewritten: is read-only\n" in ran.out
    assert bad.read_text() == BAD
    assert (bad.parent / "other.Modelfile").read_text() == FIXED
    assert ran.out.endswith("1 file rewritten, 1 finding fixed\n")


def test_a_file_that_cannot_be_read_is_left_and_said(run: Run, folder: Path) -> None:
    os.mkfifo("pipe")
    ran = run("fix", "pipe")
    assert ran.status == 1
    assert "pipe: 1 finding left\n  1:1 error SL903 unreadable-file: " in ran.out


def test_a_baseline_hides_what_is_left(run: Run, bad: Path) -> None:
    bad.write_text(CAPPED)
    assert run("check", "--write-baseline", "known.json", "Modelfile").status == 0
    assert run("fix", "--baseline", "known.json", "Modelfile").status == 0


def test_examples(run: Run, folder: Path, golden: Callable[[str, str], None]) -> None:
    shutil.copytree(ROOT / "examples" / "bad", folder / "bad")
    diff = run("fix", "--diff", "bad")
    golden("fix-diff", diff.out)
    ran = run("fix", "bad")
    golden("fix", ran.out)
    assert ran.status == 1
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    again = run("fix", "bad")
    assert again.out.split("\n")[-2].startswith("0 files rewritten, 0 findings fixed")
    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before
