"""The added tokens of a tokenizer.json: these files have tens of megabytes, of which they are some kilobytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_KEY = b'"added_tokens"'
# Where tokenizers writes them, they stand before the vocabulary, within the first hundred kilobytes.
LIMIT = 64 * 1024 * 1024
_LONGEST_LIST = 8 * 1024 * 1024


def read_added_tokens(pieces: Iterable[bytes]) -> dict[str, int]:
    """The added tokens and their ids, from the pieces of a file; no more of them is taken than the list needs.

    Empty where there is no such list, or where it cannot be read.
    """
    kept = bytearray()
    start = -1
    for piece in pieces:
        kept += piece
        if start < 0:
            start = _beginning(kept)
            if start < 0:
                # The key may lie across two pieces.
                del kept[: max(0, len(kept) - 64)]
                continue
            del kept[:start]
            start = 0
        found = _list(kept)
        if found is not None:
            return _tokens(found)
        if len(kept) > _LONGEST_LIST:
            return {}
    return {}


def _beginning(kept: bytearray) -> int:
    """Where the list's bracket stands; -1 where the key was not met, or what follows it is not here yet."""
    key = kept.find(_KEY)
    while key >= 0:
        rest = bytes(kept[key + len(_KEY) : key + len(_KEY) + 40]).lstrip()
        if rest.startswith(b":") and rest[1:].lstrip().startswith(b"["):
            return kept.index(b"[", key)
        key = kept.find(_KEY, key + 1)
    return -1


def _list(kept: bytearray) -> list[Any] | None:
    """The list, once all of it is here."""
    if b"]" not in kept:
        return None
    try:
        found, _ = json.JSONDecoder().raw_decode(kept.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _tokens(found: list[Any]) -> dict[str, int]:
    tokens: dict[str, int] = {}
    for entry in found:
        if isinstance(entry, dict):
            text, identifier = entry.get("content"), entry.get("id")
            if isinstance(text, str) and isinstance(identifier, int) and not isinstance(identifier, bool):
                tokens[text] = identifier
    return tokens
