"""Writing: the old text or the new one, never anything else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from servelint.fixing.write import WriteError, replace_file


def test_mode_is_kept_and_nothing_is_left_beside(tmp_path: Path) -> None:
    file = tmp_path / "Modelfile"
    file.write_bytes(b"old")
    file.chmod(0o640)
    replace_file(file, b"old", b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["Modelfile"]


def test_a_changed_file_is_left(tmp_path: Path) -> None:
    file = tmp_path / "Modelfile"
    file.write_bytes(b"edited meanwhile")
    with pytest.raises(WriteError, match="changed since it was read"):
        replace_file(file, b"old", b"new")
    assert file.read_bytes() == b"edited meanwhile"


def test_a_read_only_file_is_left(tmp_path: Path) -> None:
    file = tmp_path / "Modelfile"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        replace_file(file, b"old", b"new")
    assert file.read_bytes() == b"old"


def test_a_symbolic_link_is_left(tmp_path: Path) -> None:
    target = tmp_path / "real"
    target.write_bytes(b"old")
    link = tmp_path / "Modelfile"
    link.symlink_to("real")
    with pytest.raises(WriteError, match="symbolic link; fix real itself"):
        replace_file(link, b"old", b"new")
    assert target.read_bytes() == b"old"
    assert link.is_symlink()


@pytest.mark.parametrize("step", ["write", "fsync", "rename"])
def test_a_full_disk_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    file = tmp_path / "Modelfile"
    file.write_bytes(b"old")

    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    if step == "write":
        monkeypatch.setattr("tempfile.mkstemp", full)
    else:
        monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), full)
    with pytest.raises(WriteError, match="no space left"):
        replace_file(file, b"old", b"new")
    monkeypatch.undo()
    assert file.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["Modelfile"]


_WRITER = """
import sys
from pathlib import Path
from servelint.fixing.write import replace_file
path = Path(sys.argv[1])
old, new = b"o" * 400_000, b"n" * 400_000
print("ready", flush=True)
while True:
    replace_file(path, old, new)
    replace_file(path, new, old)
"""


def test_killed_at_any_moment_the_old_or_the_new_text_is_there(tmp_path: Path) -> None:
    file = tmp_path / "Modelfile"
    for attempt in range(12):
        file.write_bytes(b"o" * 400_000)
        process = subprocess.Popen([sys.executable, "-c", _WRITER, str(file)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        content = file.read_bytes()
        assert content in (b"o" * 400_000, b"n" * 400_000)
