"""JSON on a command line: what it says, and what it was meant to say where its quotes were lost."""

from __future__ import annotations

from typing import Any


def load_json(text: str) -> tuple[Any, bool]:
    """The value of a JSON text, and whether it is none."""
    import json

    try:
        return json.loads(text), False
    except (ValueError, RecursionError):
        return None, True


def repair_json(text: str) -> str | None:
    """JSON whose double quotes were lost, with the quotes put back; None where more than one text may have been meant.

    A bare word that is a number or one of `true`, `false`, `null` stays as it is.
    """
    if len(text) > 4096 or text.count("{") > 64:
        return None
    pieces: list[str] = []
    expect_key: list[bool] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character in "{[":
            expect_key.append(character == "{")
            pieces.append(character)
        elif character in "}]":
            if expect_key:
                expect_key.pop()
            pieces.append(character)
        elif character in ",:":
            pieces.append(character + " ")
        elif not character.isspace():
            end = position
            while end < len(text) and text[end] not in "{}[],:":
                end += 1
            word = text[position:end].strip()
            is_key = text[end : end + 1] == ":"
            if not word or '"' in word or "'" in word or "\\" in word or (is_key and not _is_key(word)):
                return None
            pieces.append(f'"{word}"' if is_key or load_json(word)[1] else word)
            position = end
            continue
        position += 1
    repaired = "".join(pieces)
    data, failed = load_json(repaired)
    return repaired if not failed and isinstance(data, dict) else None


def _is_key(word: str) -> bool:
    return word.replace("_", "").replace("-", "").replace(".", "").isalnum()


def lenient_json(text: str) -> str | None:
    """What a text that is almost JSON was meant to be: single quotes, Python's words, a trailing comma."""
    if not text.lstrip().startswith("{") or len(text) > 4096:
        return None
    import json

    from servelint.formats.json import plain, read_json

    document = read_json(text)
    if document.root is None or document.root.kind != "object" or len(document.problems) > 20:
        return None
    try:
        meant = json.dumps(plain(document.root), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return None if load_json(meant)[1] or meant == "{}" else meant
