"""The head of GGUF files: what llama.cpp's own package writes and reads, and what no reader should take."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.gguf import Gguf, TextList, patch, read_gguf

TOKENS = ["!", "a", "é", "<|im_end|>", "<|endoftext|>", "", "a" * 300]


def pieces(data: bytes, size: int = 1000) -> Iterator[bytes]:
    """A file's bytes, piece by piece."""
    return (data[start : start + size] for start in range(0, len(data), size))


def read(data: bytes, size: int = 1000) -> Gguf:
    """What is read of a whole file."""
    return read_gguf(pieces(data, size), len(data))


def written(path: Path, little: bool = True, **values: Any) -> bytes:
    """A file as llama.cpp's package writes it."""
    order = gguf.GGUFEndian.LITTLE if little else gguf.GGUFEndian.BIG
    writer = gguf.GGUFWriter(str(path), "qwen2", endianess=order)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(TOKENS)
    writer.add_token_types([1, 1, 1, 3, 3, 1, 1])
    writer.add_eos_token_id(3)
    writer.add_array("a.bools", [True, False])
    writer.add_array("a.floats", [0.5, -1.0])
    for key, value in values.items():
        writer.add_string(key, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path.read_bytes()


@pytest.mark.parametrize("little", [True, False])
@pytest.mark.parametrize("size", [1, 13, 4096])
def test_what_the_package_writes(tmp_path: Path, little: bool, size: int) -> None:
    found = read(written(tmp_path / "m.gguf", little, name="Qwen é"), size)
    assert (found.fault, found.version, found.little, found.tensors) == (None, 3, little, 0)
    tokens = found.get("tokenizer.ggml.tokens")
    assert tokens is not None
    assert isinstance(tokens.value, TextList)
    assert list(tokens.value) == TOKENS
    assert [tokens.value.find(token) for token in TOKENS] == list(range(len(TOKENS)))
    assert tokens.value.find("<|im") is None
    values = {entry.key: entry.value for entry in found.entries if entry.sort != "array"}
    assert values["general.architecture"] == "qwen2"
    assert values["name"] == "Qwen é"
    assert values["tokenizer.ggml.eos_token_id"] == 3
    lists = {entry.key: list(entry.value) for entry in found.entries if entry.element not in ("", "string")}
    assert lists == {"tokenizer.ggml.token_type": [1, 1, 1, 3, 3, 1, 1], "a.bools": [1, 0], "a.floats": [0.5, -1.0]}


def test_version_two_is_read_alike(tmp_path: Path) -> None:
    data = written(tmp_path / "m.gguf")
    found = read(data[:4] + struct.pack("<I", 2) + data[8:])
    assert (found.fault, found.version, len(found.entries)) == (None, 2, 7)


_scalars = {
    "add_uint8": st.integers(0, 255), "add_int8": st.integers(-128, 127), "add_uint16": st.integers(0, 65535),
    "add_int16": st.integers(-32768, 32767), "add_uint32": st.integers(0, 2**32 - 1),
    "add_int32": st.integers(-(2**31), 2**31 - 1), "add_uint64": st.integers(0, 2**64 - 1),
    "add_int64": st.integers(-(2**63), 2**63 - 1), "add_bool": st.booleans(),
    "add_float64": st.floats(allow_nan=False),
    "add_string": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
}  # fmt: skip
_entry = st.sampled_from(sorted(_scalars)).flatmap(lambda name: st.tuples(st.just(name), _scalars[name]))


@settings(max_examples=150, deadline=None)
@given(entries=st.lists(_entry, max_size=8), little=st.booleans())
def test_values_and_places_are_those_of_the_package(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, Any]], little: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "generated.gguf"
    order = gguf.GGUFEndian.LITTLE if little else gguf.GGUFEndian.BIG
    writer = gguf.GGUFWriter(str(path), "x", endianess=order)
    for number, (method, value) in enumerate(entries):
        getattr(writer, method)(f"k{number}", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    data = path.read_bytes()
    found = read(data, 37)
    assert found.fault is None
    own = [entry for entry in found.entries if entry.key.startswith("k")]
    # The package leaves empty texts out.
    wanted = [value for _, value in entries if value != ""]
    assert [entry.value for entry in own] == wanted
    for entry in own:
        if entry.sort in ("u32", "i64"):
            changed = patch(entry, 5, little)
            assert changed is not None
            again = read(data[: entry.start] + changed + data[entry.end :])
            assert [other.value for other in again.entries if other.key == entry.key] == [5]


def header(keys: int = 0, tensors: int = 0, version: int = 3) -> bytes:
    """The first bytes of a file."""
    return b"GGUF" + struct.pack("<Iqq", version, tensors, keys)


def text(value: bytes, length: int | None = None) -> bytes:
    """A text as it stands in a file, its length a lie where one is given."""
    return struct.pack("<Q", len(value) if length is None else length) + value


@pytest.mark.parametrize(
    ("data", "hint"),
    [
        (b"", "does not begin"),
        (b"GGUX" + bytes(20), "does not begin"),
        (b"GGUF", "ends in the middle"),
        (header(version=1), "version 1"),
        (header(version=7), "version 7"),
        (header(keys=2**60), "keys, more than"),
        (header(keys=-1), "keys, more than"),
        (header(tensors=2**60), "tensors, more than"),
        (header(keys=1) + bytes(10), "ends in the middle"),
        (header(keys=1) + text(b"k", 2**60) + bytes(60), "claims"),
        (header(keys=1) + text(b"key") + struct.pack("<I", 99) + bytes(60), "type 99"),
        (header(keys=1) + text(b"key") + struct.pack("<I", 8) + text(b"abc", 2**40) + bytes(60), "claims"),
        (header(keys=1) + text(b"key") + struct.pack("<IIQ", 9, 4, 2**60) + bytes(60), "elements, more than"),
        (
            header(keys=1) + text(b"key") + struct.pack("<IIQ", 9, 8, 3) + text(b"a") + text(b"b", 99) + bytes(60),
            "claims 99",
        ),
        (header(keys=1) + text(b"key") + struct.pack("<IIQ", 9, 55, 1) + bytes(60), "type 55"),
        (header(keys=1) + text(b"key") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 9 + bytes(90), "arrays"),
    ],
)
def test_hostile_files(data: bytes, hint: str) -> None:
    found = read(data)
    assert found.fault is not None
    assert hint in found.fault
    assert 0 <= found.offset <= len(data)


def test_a_head_is_not_read_beyond_its_metadata(tmp_path: Path) -> None:
    data = written(tmp_path / "m.gguf")

    def guarded() -> Iterator[bytes]:
        yield data
        raise AssertionError("the weights were touched")

    assert read_gguf(guarded(), len(data) + 10**12).fault is None


@given(st.binary(max_size=120), st.integers(1, 50))
def test_any_bytes(data: bytes, size: int) -> None:
    for each in (data, header(keys=3) + data):
        assert isinstance(read(each, size), Gguf)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "whole.gguf"
    whole = bytearray(path.read_bytes() if path.exists() else written(path))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(whole)))
    for each in (bytes(whole), bytes(whole[:cut])):
        found = read_gguf(io.BytesIO(each), len(each))
        assert all(entry.end <= len(each) for entry in found.entries)


def test_what_cannot_be_patched() -> None:
    data = header(keys=2) + text(b"a") + struct.pack("<IB", 0, 7) + text(b"b") + struct.pack("<I", 8) + text(b"x")
    found = read(data)
    assert patch(found.entries[0], 300, True) is None
    assert patch(found.entries[0], 200, True) == b"\xc8"
    assert patch(found.entries[1], 1, True) is None
