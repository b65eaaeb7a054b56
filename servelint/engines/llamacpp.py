"""What llama.cpp makes of a GGUF's vocabulary: where generation ends.

Sources: llama.cpp `src/llama-vocab.cpp` (0c1e57098), and what was measured on it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from servelint.data import load
from servelint.engines.reading import Reading, StopId, StopSet
from servelint.manifests.serving import Serving
from servelint.manifests.versions import at_least

if TYPE_CHECKING:
    from servelint.manifests.gguf import Vocabulary

_TABLE = "rules/engines/llamacpp.json"


def ends_by_text(vocabulary: Collection[str]) -> tuple[str, ...]:
    """The texts that end generation wherever a vocabulary has them, without those that others in it take out."""
    table = load(_TABLE)["ends_by_text"]
    held = set(vocabulary)
    out = {rule["token"] for rule in table["unless"] if held.issuperset(rule["with"])}
    return tuple(token for token in table["tokens"] if token not in out)


def listed_ends(texts: Sequence[str], version: str | None) -> tuple[tuple[str, ...], str | None]:
    """Which of a vocabulary's tokens end generation by their text in a build, and what is unknown of that.

    A build of which nothing is known is taken for a current one.
    """
    table = load(_TABLE)["ends_by_text"]
    if at_least(version, table["since"]) is not False:
        held = set(ends_by_text(texts))
        return tuple(dict.fromkeys(text for text in texts if text in held)), None
    for era in table["earlier"]:
        if at_least(version, era["since"]):
            if era["tokens"] is None:
                return (), f"which single end token llama.cpp {version} takes by its text"
            return tuple(text for text in era["tokens"] if text in texts), None
    return (), None


def default_end(vocabulary: Vocabulary) -> int | None:
    """The end id that llama.cpp starts from where the file names none it can use; None where that is not known."""
    number: int | None = load(_TABLE)["default_ids"].get(vocabulary.model)
    return number


def end_id(vocabulary: Vocabulary) -> tuple[int | None, str]:
    """The id that llama.cpp takes for the end, and where it is from. A missing or impossible one gives the default."""
    entry = vocabulary.entry("eos")
    if entry is not None and entry.sort == "u32" and (vocabulary.size is None or entry.value < vocabulary.size):
        return int(entry.value), entry.key
    return default_end(vocabulary), f"llama.cpp's default for {vocabulary.model or 'this kind of'} vocabularies"


def read_vocabulary_ends(
    vocabulary: Vocabulary, version: str | None, path: str | None = None
) -> tuple[list[tuple[str, StopId]], tuple[str, ...], str | None]:
    """The ends that a file's keys name, by the name of the key; the tokens that end by their text; what is unknown."""
    ids: list[tuple[str, StopId]] = []
    number, origin = end_id(vocabulary)
    if number is not None:
        ids.append(("eos", StopId(number, origin, vocabulary.text(number), path=path)))
    for name in ("eot", "eom"):
        entry = vocabulary.entry(name)
        if entry is not None and entry.sort == "u32" and entry.value != number:
            ids.append((name, StopId(int(entry.value), entry.key, vocabulary.text(int(entry.value)), path=path)))
    tokens, unknown = listed_ends([text for text in ends_by_text(()) if vocabulary.find(text) is not None], version)
    return ids, tokens, unknown


def read_llamacpp(serving: Serving) -> Reading:
    """A GGUF as llama.cpp's server loads it."""
    vocabulary: Vocabulary = serving.facts["vocabulary"]
    version = serving.version.value if serving.version is not None else None
    ids, tokens, doubt = read_vocabulary_ends(vocabulary, version, serving.path)
    unknown = [] if vocabulary.size is not None else ["the vocabulary could not be read"]
    unknown += [doubt] if doubt is not None else []
    return Reading(StopSet(ids=tuple(stop for _, stop in ids), tokens=tokens, unknown=tuple(unknown)))
