"""Bytes to text and back."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.text import decode

MARKS = (b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


@given(st.sampled_from(MARKS), st.binary(max_size=200))
def test_reading_then_writing_is_the_identity(mark: bytes, body: bytes) -> None:
    source = decode(mark + body)
    assert source.encode(source.text) == mark + body


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"FROM m\n", "FROM m\n", "utf-8"),
        (codecs.BOM_UTF8 + b"FROM m", "FROM m", "utf-8"),
        (codecs.BOM_UTF16_LE + "FROM m\r\n".encode("utf-16-le"), "FROM m\r\n", "utf-16-le"),
        (codecs.BOM_UTF16_BE + "FROM ä".encode("utf-16-be"), "FROM ä", "utf-16-be"),
        (codecs.BOM_UTF32_LE + "x".encode("utf-32-le"), "x", "utf-32-le"),
        (b"caf\xe9", "caf\udce9", "utf-8"),
    ],
)
def test_decode(data: bytes, text: str, encoding: str) -> None:
    source = decode(data)
    assert (source.text, source.encoding) == (text, encoding)


def test_a_spare_byte_of_utf_16_is_kept() -> None:
    data = codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"\x00"
    source = decode(data)
    assert source.text == "ab"
    assert not source.is_valid
    assert source.encode("abc") == codecs.BOM_UTF16_LE + "abc".encode("utf-16-le") + b"\x00"


@pytest.mark.parametrize(
    ("data", "newline"),
    [
        (b"a\nb\n", "\n"),
        (b"a\r\nb\r\n", "\r\n"),
        (b"a\rb\r", "\r"),
        (b"a\r\nb\nc\n", "\n"),
        (b"a\r\nb\n", "\r\n"),
        (b"a", "\n"),
        (codecs.BOM_UTF8 + b"a", "\r\n"),
        (b"", "\n"),
    ],
)
def test_newline(data: bytes, newline: str) -> None:
    assert decode(data).newline == newline


def test_first_invalid() -> None:
    assert decode(b"ab\xffc").first_invalid() == 2
    assert decode("abä".encode()).first_invalid() is None
