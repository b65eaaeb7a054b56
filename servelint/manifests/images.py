"""Which engine a container image starts."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from servelint.data import load
from servelint.manifests.serving import Argument


@lru_cache(maxsize=512)
def _row(image: str) -> tuple[dict[str, Any] | None, str]:
    """The row of the table that an image fits, and the image's tag.

    Judged by the repository's last parts; a mirror's host or a house prefix before them does not matter.
    """
    repository = image.rsplit("@", 1)[0]
    head, _, tail = repository.rpartition("/")
    name, _, tag = tail.partition(":")
    folder = head.rpartition("/")[2]
    wanted = f"{folder}/{name}".lower()
    rows: list[dict[str, Any]] = load("rules/engines/images.json")["images"]
    return next((row for row in rows if name and fnmatchcase(wanted, row["image"])), None), tag


def engine_of_image(image: str) -> tuple[str, str] | None:
    """The engine that a container image starts, and how: `("vllm", "image")`; None for any other image."""
    row, tag = _row(image)
    if row is None:
        return None
    launcher = row["launcher"]
    for prefix, other in row.get("tags", {}).items():
        if tag.startswith(prefix):
            launcher = other
    return None if launcher is None else (row["engine"], launcher)


def has_own_entry_point(image: str | None) -> bool:
    """Whether an image surely starts the server itself, whatever words it gets.

    The engines' own images do. Others that carry the engine (`rocm/vllm`, `nvcr.io/nvidia/vllm`) run the command that
    they are given.
    """
    if image is None:
        return False
    row, _ = _row(image)
    return row is not None and bool(row.get("own"))


def tells_version(image: str) -> bool:
    """Whether an image's tag is a version of the engine: in the engines' own images, and those that go with them."""
    row, _ = _row(image)
    return row is not None and bool(row.get("own")) and bool(row.get("numbered", True))


def takes_arguments(image: str | None, words: Sequence[Argument]) -> bool:
    """Whether the words behind an image are for the server: always in the engines' own images.

    In others, which may run whatever command they get (`rocm/vllm bash`), only where they begin with an option.
    """
    return has_own_entry_point(image) or bool(words and (words[0].text or words[0].prefix).startswith("-"))


def known_image(text: str, is_whole: bool) -> str | None:
    """An image as far as its repository goes: `vllm/vllm-openai:` of `vllm/vllm-openai:$TAG`.

    None where the beginning that is known may end within the repository's name.
    """
    return text if is_whole or ":" in text.rsplit("/", 1)[-1] or "@" in text else None
