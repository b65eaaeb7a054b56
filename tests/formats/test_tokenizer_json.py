"""The added tokens of a tokenizer.json, and nothing else of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.tokenizer_json import read_added_tokens

TOKENS = [{"id": 5, "content": "<|im_end|>", "special": True}, {"id": 7, "content": 'é]"[', "special": False}]
TEXT = json.dumps({"version": "1.0", "added_tokens": TOKENS, "model": {"vocab": {"a": 1, "[": 2}}}).encode()
FOUND = {"<|im_end|>": 5, 'é]"[': 7}


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_in_pieces(size: int) -> None:
    assert read_added_tokens(TEXT[i : i + size] for i in range(0, len(TEXT), size)) == FOUND


def test_no_more_is_read_than_needed() -> None:
    def pieces() -> object:
        yield TEXT
        raise AssertionError("the rest of the file was read")

    assert read_added_tokens(pieces()) == FOUND  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b'{"added_tokens": 5}', b'{"added_tokens": [', b'{"added_tokens": ["x", {"id": "1", "content": "a"}]}',
     b'{"added_tokens": ' + b"[" * 100_000, b"\xff" * 100],
)  # fmt: skip
def test_what_holds_none(data: bytes) -> None:
    assert read_added_tokens([data]) == {}


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    assert isinstance(read_added_tokens([b'{"added_tokens": [', data]), dict)
