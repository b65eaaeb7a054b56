"""Patches of a GGUF: one field, proven, the same bytes elsewhere."""

from __future__ import annotations

from pathlib import Path

import gguf
import pytest

from servelint.checks.policy import Policy
from servelint.files.context import Context
from servelint.fixing.patch import patch_of, write_patch
from servelint.fixing.write import WriteError
from tests.models.test_chat_template import CHATML

TOKENS = [*(f"w{number}" for number in range(11)), ",", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    writer = gguf.GGUFWriter("m.gguf", "qwen2")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([1] * 12 + [3] * 3)
    writer.add_eos_token_id(3)
    writer.add_chat_template(CHATML)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return tmp_path / "m.gguf"


def test_one_field_changes(broken: Path) -> None:
    before = broken.read_bytes()
    repair, patch = patch_of("m.gguf", before[:64], Context(), Policy(), unsafe=True)
    assert patch is not None
    assert repair.after == b"tokenizer.ggml.eos_token_id = 14\n"
    write_patch("m.gguf", patch)
    after = broken.read_bytes()
    assert [index for index, (one, other) in enumerate(zip(before, after, strict=True)) if one != other] == [
        patch.offset
    ]
    value = gguf.GGUFReader(str(broken)).fields["tokenizer.ggml.eos_token_id"].parts[-1][0]
    assert value == 14
    again, patch = patch_of("m.gguf", after[:64], Context(), Policy(), unsafe=True)
    assert patch is None
    assert again.left == ()


def test_it_changes_what_is_served_so_it_must_be_asked_for(broken: Path) -> None:
    repair, patch = patch_of("m.gguf", broken.read_bytes()[:64], Context(), Policy(), unsafe=False)
    assert patch is None
    assert ["--unsafe-fixes" in reason for _, reason in repair.left] == [True]


def test_a_file_that_changed_meanwhile_is_left_alone(broken: Path) -> None:
    data = broken.read_bytes()
    _, patch = patch_of("m.gguf", data[:64], Context(), Policy(), unsafe=True)
    assert patch is not None
    broken.write_bytes(data[: patch.offset] + b"\x09" + data[patch.offset + 1 :])
    with pytest.raises(WriteError, match="changed"):
        write_patch("m.gguf", patch)
    broken.chmod(0o444)
    with pytest.raises(WriteError, match="read-only"):
        write_patch("m.gguf", patch)
    (broken.parent / "l.gguf").symlink_to(broken)
    with pytest.raises(WriteError, match="symbolic"):
        write_patch("l.gguf", patch)
