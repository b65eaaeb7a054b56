"""A GGUF file as a model that says itself who it is and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from servelint.files.context import Context
from servelint.formats.gguf import METADATA_LIMIT, Entry, Gguf, TextList, read_gguf
from servelint.manifests.serving import Manifest, NoWriter, Serving, Setting
from servelint.text import Source, Span

# What git keeps in the place of a large file that was not fetched.
_POINTER = "version https://git-lfs.github.com/"
_WRITER = NoWriter("a GGUF is no text; its ids are patched in place")


class Vocabulary:
    """The vocabulary of a GGUF, as far as its metadata tell."""

    def __init__(self, gguf: Gguf) -> None:
        self.gguf = gguf

    def entry(self, name: str) -> Entry | None:
        """The entry of a special id: `eos`, `eot`, `eom`, `bos`, `padding`."""
        return self.gguf.get(f"tokenizer.ggml.{name}_token_id")

    @property
    def model(self) -> str:
        """The kind of vocabulary (`gpt2`, `llama`, …); empty where the file does not say."""
        return self._text("tokenizer.ggml.model")

    @property
    def name(self) -> str:
        """What the file calls its model; empty where it does not."""
        return self._text("general.name") or self._text("general.basename")

    @property
    def template(self) -> str | None:
        """The chat template inside."""
        return self._text("tokenizer.chat_template") or None

    def _text(self, key: str) -> str:
        entry = self.gguf.get(key)
        return entry.value if entry is not None and entry.sort == "string" else ""

    @cached_property
    def _tokens(self) -> TextList | None:
        entry = self.gguf.get("tokenizer.ggml.tokens")
        return entry.value if entry is not None and isinstance(entry.value, TextList) else None

    @property
    def size(self) -> int | None:
        """How many tokens there are; None where the file has no list of them."""
        return len(self._tokens) if self._tokens is not None else None

    def text(self, number: int) -> str | None:
        """The text of a token."""
        return self._tokens[number] if self._tokens is not None and 0 <= number < len(self._tokens) else None

    def find(self, text: str) -> int | None:
        """The number of a token."""
        return self._tokens.find(text) if self._tokens is not None else None

    def sort(self, number: int) -> int | None:
        """The type of a token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte."""
        entry = self.gguf.get("tokenizer.ggml.token_type")
        values: Sequence[int] | None = entry.value if entry is not None and entry.sort == "array" else None
        fits = values is not None and not isinstance(values, TextList) and 0 <= number < len(values)
        return values[number] if values is not None and fits else None

    @property
    def is_later_shard(self) -> bool:
        """Whether it is a part of a split file that holds no vocabulary: only the first part does."""
        entry = self.gguf.get("split.no")
        return entry is not None and isinstance(entry.value, int) and entry.value > 0


def read_vocabulary(path: str, context: Context) -> Vocabulary | None:
    """The vocabulary of a GGUF within reach; None where there is none that can be read."""
    size = context.size(path)
    if size is None:
        return None
    gguf = read_gguf(context.pieces(path, METADATA_LIMIT), size)
    return None if gguf.fault is not None else Vocabulary(gguf)


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read the file's head. `source` holds only its first bytes: the metadata are read through the context."""
    size = context.size(path)
    if size is None or source.text.startswith(_POINTER):
        return None
    gguf = read_gguf(context.pieces(path, METADATA_LIMIT), size)
    vocabulary = Vocabulary(gguf)
    here = Span(0, 0)
    if gguf.fault is None and (vocabulary.is_later_shard or vocabulary.size is None):
        # Another part of a split file, an adapter, or a projector: it ends nothing.
        return Manifest(path, "gguf", "")
    name = vocabulary.name
    model = Setting("general.name", name, here, here, "general.name") if name else None
    serving = Serving(path, here, "gguf", "llama.cpp", _WRITER, model=model, facts={"vocabulary": vocabulary})
    return Manifest(path, "gguf", "", "", (serving,))
