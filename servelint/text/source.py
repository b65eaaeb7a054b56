"""Bytes to text and back, without losing one."""

from __future__ import annotations

import codecs

from servelint.records import record

_BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    # UTF-32-LE begins with the mark of UTF-16-LE, so it must be looked for first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNIT = {"utf-8": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}


@record
class Source:
    """A file's bytes as text, with everything needed to write them back.

    `text` is without the byte order mark. Bytes that are not valid UTF-8 stand in it as lone surrogates (Python's
    `surrogateescape`), so that `encode(text)` gives the very bytes back. `tail` holds bytes at the end that do not
    fill a code unit of UTF-16 or UTF-32.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    tail: bytes = b""

    @property
    def is_valid(self) -> bool:
        """Whether every byte was valid in the file's encoding."""
        return not self.tail and self.first_invalid() is None

    def first_invalid(self) -> int | None:
        """The offset of the first character that stands for an invalid byte, or None."""
        if self.text.isascii():
            return None
        try:
            self.text.encode("utf-8")
        except UnicodeEncodeError as error:
            return error.start
        return None

    @property
    def newline(self) -> str:
        """The newline that new lines get: the file's most frequent one.

        A text without any takes CRLF if it has a UTF-8 mark, since only editors on Windows write one, and LF otherwise.
        """
        crlf = self.text.count("\r\n")
        line_feeds = self.text.count("\n") - crlf
        returns = self.text.count("\r") - crlf
        if not (crlf or line_feeds or returns):
            return "\r\n" if self.mark == codecs.BOM_UTF8 else "\n"
        if crlf >= line_feeds and crlf >= returns:
            return "\r\n"
        return "\n" if line_feeds >= returns else "\r"

    def encode(self, text: str) -> bytes:
        """`text` in this file's encoding, with its byte order mark; the inverse of `decode` for unedited text."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "surrogatepass"
        return self.mark + text.encode(self.encoding, errors) + self.tail


def decode(data: bytes) -> Source:
    """Decode any bytes: by their byte order mark, as UTF-8 otherwise. Never raises.

    UTF-16 and UTF-32 are only taken where a mark says so, as the readers of manifests do (Ollama's
    `parser/parser.go`, PyYAML). Where the marked bytes cannot be turned into characters and back, they are read as
    UTF-8 with escapes instead, which any bytes can.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if not data.startswith(mark):
            continue
        body = data[len(mark) :]
        spare = len(body) % _UNIT[encoding]
        tail = body[len(body) - spare :] if spare else b""
        errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
        try:
            text = body[: len(body) - spare].decode(encoding, errors)
            source = Source(text, encoding, mark, tail)
            if source.encode(text) == data:
                return source
        except UnicodeError:
            continue
    return Source(data.decode("utf-8", "surrogateescape"))
