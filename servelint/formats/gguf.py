"""The head of a GGUF file: version, counts and metadata, read in one bounded pass.

Follows ggml's `gguf.cpp` and gguf-py (versions 2 and 3, both byte orders). Weights are never touched, counts are
checked against the file's size before anything is set aside for them, and a list of a quarter of a million tokens is
kept as the places where they stand.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from servelint.records import record

MAGIC = b"GGUF"
# The longest vocabularies with their merges take some 20 MB.
METADATA_LIMIT = 256 * 1024 * 1024
_MOST_KEYS = 100_000
_LONGEST_KEY = 65_535
_LONGEST_TEXT = 16 * 1024 * 1024
_DEEPEST = 4
_SCALARS: dict[int, tuple[str, str]] = {
    0: ("u8", "B"), 1: ("i8", "b"), 2: ("u16", "H"), 3: ("i16", "h"), 4: ("u32", "I"), 5: ("i32", "i"), 6: ("f32", "f"),
    7: ("bool", "B"), 10: ("u64", "Q"), 11: ("i64", "q"), 12: ("f64", "d"),
}  # fmt: skip
_STRING, _ARRAY = 8, 9
WHOLE_NUMBERS = frozenset({"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64"})


class _FaultError(Exception):
    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


class TextList:
    """An array of texts, by the places where they stand in the bytes that were kept."""

    __slots__ = ("_data", "_order", "_places")

    def __init__(self, data: bytes, places: array[int], order: str) -> None:
        self._data = data
        self._places = places
        self._order = order

    def __len__(self) -> int:
        return max(0, len(self._places) - 1)

    def __getitem__(self, index: int) -> str:
        """The text of that number. Raises IndexError beyond the end."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        # Behind each text stand the eight bytes of the next one's length.
        return self._data[self._places[index] : self._places[index + 1] - 8].decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def find(self, text: str) -> int | None:
        """The number of the first element that is this text; None where none is."""
        wanted = text.encode("utf-8", "surrogatepass")
        # With its length in front of it a text is found without looking at the others.
        wanted = struct.pack(self._order + "Q", len(wanted)) + wanted
        start = self._data.find(wanted)
        while start >= 0:
            index = bisect_left(self._places, start + 8)
            if index < len(self) and self._places[index] == start + 8:
                return index
            start = self._data.find(wanted, start + 1)
        return None


@record(eq=False)
class Entry:
    """A key of the metadata: its type, value, and where the value stands in the file.

    `sort` is `u8` … `f64`, `bool`, `string` or `array`; of an array `element` is the type of its elements and `value`
    a `TextList`, a list of numbers, or None for arrays of arrays. `start` and `end` are offsets in bytes.
    """

    key: str
    sort: str
    value: Any
    start: int
    end: int
    element: str = ""
    count: int = 0


@record(eq=False)
class Gguf:
    """What the head of a file says. `fault` is why it could not be read to its end, and `offset` where that is."""

    version: int = 0
    little: bool = True
    tensors: int = 0
    entries: tuple[Entry, ...] = ()
    fault: str | None = None
    offset: int = 0

    def get(self, key: str) -> Entry | None:
        """The entry of a key: the first where it stands twice, as llama.cpp takes it."""
        return next((entry for entry in self.entries if entry.key == key), None)


class _Stream:
    """Bytes that come piece by piece, with one window over them that only moves forward."""

    def __init__(self, pieces: Iterable[bytes], size: int) -> None:
        self._pieces = iter(pieces)
        self.size = size
        self.data = b""
        self.base = 0
        self.position = 0

    @property
    def offset(self) -> int:
        """Where the next byte stands in the file."""
        return self.base + self.position

    def need(self, count: int) -> None:
        """Have that many bytes in the window; raises `_FaultError` where the file ends before."""
        if self.position + count <= len(self.data):
            return
        if self.offset + count > self.size:
            raise _FaultError(f"the file ends in the middle of its metadata, at {self.size:,} bytes", self.offset)
        if self.offset + count > METADATA_LIMIT:
            raise _FaultError(f"its metadata are larger than {METADATA_LIMIT:,} bytes", self.offset)
        parts = [self.data[self.position :]]
        self.base, self.position = self.offset, 0
        held = len(parts[0])
        while held < count:
            piece = next(self._pieces, b"")
            if not piece:
                raise _FaultError(
                    f"the file ends in the middle of its metadata, at {self.base + held:,} bytes", self.base
                )
            parts.append(piece)
            held += len(piece)
        self.data = b"".join(parts)

    def take(self, count: int) -> bytes:
        """That many bytes."""
        self.need(count)
        start = self.position
        self.position += count
        return self.data[start : self.position]


def read_gguf(pieces: Iterable[bytes], size: int) -> Gguf:
    """Read the head of a file of `size` bytes from its pieces; only as many are taken as the metadata need.

    Never raises: what is wrong stands in `fault`, beside what was read until then.
    """
    reader = _Reader(_Stream(pieces, size))
    try:
        reader.read()
    except _FaultError as error:
        return reader.found(error.message, error.offset)
    return reader.found(None, 0)


class _Reader:
    def __init__(self, stream: _Stream) -> None:
        self.stream = stream
        self.order = "<"
        self.version = 0
        self.tensors = 0
        self.entries: list[Entry] = []

    def found(self, fault: str | None, offset: int) -> Gguf:
        return Gguf(self.version, self.order == "<", self.tensors, tuple(self.entries), fault, offset)

    def read(self) -> None:
        stream = self.stream
        if stream.size < 4 or stream.take(4) != MAGIC:
            raise _FaultError("it does not begin with GGUF", 0)
        raw = stream.take(4)
        (self.version,) = struct.unpack("<I", raw)
        if self.version & 0xFFFF == 0:
            # Written by a machine of the other byte order (gguf-py `gguf_reader.py`).
            self.order = ">"
            (self.version,) = struct.unpack(">I", raw)
        if self.version == 1:
            raise _FaultError("it is of version 1, which llama.cpp no longer reads; convert the model anew", 4)
        if self.version not in (2, 3):
            raise _FaultError(f"it says to be of version {self.version}, and there are 2 and 3", 4)
        self.tensors, keys = self.number("q"), self.number("q")
        if not 0 <= self.tensors <= stream.size // 24:
            raise _FaultError(f"it claims {self.tensors:,} tensors, more than a file of its size can hold", 8)
        if not 0 <= keys <= min(_MOST_KEYS, stream.size // 13):
            raise _FaultError(f"it claims {keys:,} keys, more than a file of its size can hold", 16)
        for _ in range(keys):
            self.entries.append(self.entry())

    def number(self, code: str) -> int:
        (value,) = struct.unpack(self.order + code, self.stream.take(struct.calcsize(code)))
        return int(value)

    def text(self, most: int, what: str) -> bytes:
        start = self.stream.offset
        length = self.number("Q")
        if length > most or length > self.stream.size - self.stream.offset:
            raise _FaultError(f"{what} claims {length:,} bytes, more than there are or make sense", start)
        return self.stream.take(length)

    def entry(self) -> Entry:
        key = self.text(_LONGEST_KEY, "a key").decode("utf-8", "replace")
        sort = self.number("I")
        start = self.stream.offset
        if sort == _STRING:
            value: Any = self.text(_LONGEST_TEXT, f"the text of {key}").decode("utf-8", "replace")
            return Entry(key, "string", value, start, self.stream.offset)
        if sort == _ARRAY:
            element, count, value = self.array(key, 0)
            return Entry(key, "array", value, start, self.stream.offset, element, count)
        value = self.scalar(sort, key)
        return Entry(key, _SCALARS[sort][0], value, start, self.stream.offset)

    def scalar(self, sort: int, key: str) -> Any:
        if sort not in _SCALARS:
            raise _FaultError(f"{key} is of type {sort}, which there is not", self.stream.offset - 4)
        name, code = _SCALARS[sort]
        (value,) = struct.unpack(self.order + code, self.stream.take(struct.calcsize("<" + code)))
        return bool(value) if name == "bool" else value

    def array(self, key: str, depth: int) -> tuple[str, int, Any]:
        start = self.stream.offset
        sort, count = self.number("I"), self.number("Q")
        if sort not in _SCALARS and sort not in (_STRING, _ARRAY):
            raise _FaultError(f"the elements of {key} are of type {sort}, which there is not", start)
        least = 8 if sort == _STRING else 12 if sort == _ARRAY else struct.calcsize("<" + _SCALARS[sort][1])
        if count > (self.stream.size - self.stream.offset) // least:
            raise _FaultError(f"{key} claims {count:,} elements, more than the file can hold", start)
        if sort == _STRING:
            return "string", count, self.texts(key, count)
        if sort == _ARRAY:
            if depth >= _DEEPEST or count > _MOST_KEYS:
                raise _FaultError(f"{key} holds arrays in arrays, more than make sense", start)
            for _ in range(count):
                self.array(key, depth + 1)
            return "array", count, None
        name, code = _SCALARS[sort]
        numbers = array({"bool": "B"}.get(name, code))
        numbers.frombytes(self.stream.take(count * least))
        if (self.order == "<") != (_LITTLE_MACHINE):
            numbers.byteswap()
        return name, count, numbers

    def texts(self, key: str, count: int) -> TextList:
        """Run over the texts and keep them in one piece: their number is known to be possible by now."""
        stream = self.stream
        unpack = struct.Struct(self.order + "Q").unpack_from
        kept = bytearray()
        places = array("Q")
        data, position, behind = stream.data, stream.position, len(stream.data)
        for _ in range(count):
            if position + 8 > behind:
                stream.position = position
                stream.need(8)
                data, position, behind = stream.data, stream.position, len(stream.data)
            (length,) = unpack(data, position)
            end = position + 8 + length
            if end > behind:
                stream.position = position
                if length > _LONGEST_TEXT or length > stream.size - stream.offset - 8:
                    raise _FaultError(f"a text of {key} claims {length:,} bytes, more than there are", stream.offset)
                stream.need(8 + length)
                data, position, behind = stream.data, stream.position, len(stream.data)
                end = position + 8 + length
            kept += data[position:end]
            position = end
            places.append(len(kept) - length)
        stream.position = position
        places.append(len(kept) + 8)
        return TextList(bytes(kept), places, self.order)


_LITTLE_MACHINE = struct.pack("=H", 1) == struct.pack("<H", 1)


def patch(entry: Entry, value: int, little: bool) -> bytes | None:
    """The bytes that put another whole number in the place of an entry's; None where it does not fit its type."""
    if entry.sort not in WHOLE_NUMBERS:
        return None
    code = next(code for name, code in _SCALARS.values() if name == entry.sort)
    try:
        return struct.pack(("<" if little else ">") + code, value)
    except struct.error:
        return None
