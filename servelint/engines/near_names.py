"""Which option a word is a slip for."""

from __future__ import annotations

from collections.abc import Iterable

from servelint.text.distance import edit_distance

_LONGEST_NAME = 60


def nearest_name(word: str, names: Iterable[str]) -> str | None:
    """The long option that a word is most likely a slip for; None where none is near.

    Near means a slip of the hand: a few letters wrong, missing, doubled or swapped, other case, a plural, a dash.
    """
    if len(word) > _LONGEST_NAME or len(word) < 5 or not word.startswith("-"):
        return None
    import difflib

    known = list(names)
    lowered = "--" + word.lower().lstrip("-").rstrip("-:").partition(":")[0]
    squeezed = lowered.replace("-", "")
    for name in known:
        if name == lowered or name.replace("-", "") == squeezed:
            return name
    for name in difflib.get_close_matches(lowered, known, 3, 0.82):
        # `--max-model-length`: the right word, written out or in the plural.
        if lowered.startswith(name) and len(lowered) - len(name) <= 3:
            return name
        if edit_distance(lowered, name, 3) <= (1 if len(name) < 9 else 2 if len(name) < 16 else 3):
            return name
    return None
