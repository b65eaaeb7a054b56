"""The table of model families: what `rules/families/*.yaml` say, in the compiled form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache, lru_cache
from typing import Any

from servelint.data import load
from servelint.models.identity import UNKNOWN, Identity, Token

FAMILIES_FILE = "rules/compiled/families.json"
DETAILS_FILE = "rules/compiled/family_details.json"
_GENERATING = frozenset({"instruct", "reasoning", "unknown"})


@cache
def table() -> Mapping[str, Any]:
    """The compiled table: `families` by name, and the indexes `names`, `ollama` and `tokens` (see compile.py)."""
    document: Mapping[str, Any] = load(FAMILIES_FILE)
    return document


def family(name: str | None) -> Mapping[str, Any] | None:
    """What names and terminators need of a family, under the keys of its YAML file; None for an unknown one.

    `tokens` is the place of its special tokens in `vocabularies`, `certain` whether its terminators are verified.
    """
    entry: Mapping[str, Any] | None = table()["families"].get(name)
    return entry


def details(name: str | None) -> Mapping[str, Any]:
    """What else the table holds of a family: sampling, generation_config, fim_stops, greedy, pad, model_types, …

    Empty for an unknown family; a key is left out where the family has nothing under it.
    """
    document: Mapping[str, Mapping[str, Any]] = load(DETAILS_FILE)
    return document.get(name or "", {})


def family_names() -> tuple[str, ...]:
    """Every family of the table, sorted."""
    return tuple(sorted(table()["families"]))


def vocabulary(name: str) -> tuple[Token, ...]:
    """The special tokens of a family with their ids, none where its models differ in them."""
    entry = family(name)
    if entry is None or entry.get("open_vocabulary"):
        return ()
    return tuple(Token(text, identifier) for text, identifier in table()["vocabularies"][entry["tokens"]].items())


@lru_cache(maxsize=512)
def identity_of(
    name: str, role: str = "unknown", *, source: str = "", certain: bool = True, size: str | None = None
) -> Identity:
    """The identity of a model of this family in this role; `UNKNOWN` for a family that the table lacks.

    `size` is the size as names write it (`0.8b`), for families that think by default in some sizes only. An unknown
    role keeps the terminators that the model has if it chats.
    """
    entry = family(name)
    if entry is None:
        return UNKNOWN
    turn: tuple[Token, ...] = ()
    document: tuple[Token, ...] = ()
    if role == "base":
        document = _tokens([entry["base_end"]] if entry["base_end"] else [])
    elif role in _GENERATING:
        turn = _tokens(item for item in entry["terminators"] if item[2] is True)
        document = _tokens(item for item in entry["terminators"] if item[2] == "recommended")
    return Identity(
        family=name,
        role=role,
        turn=turn,
        document=document,
        vocabulary=vocabulary(name),
        vocabulary_size=max(entry["vocabulary_size"], default=None),
        thinking=_thinks(entry, role, size),
        certain=certain and entry["certain"],
        source=source,
        template=entry["chat_template"],
    )


def _tokens(items: Any) -> tuple[Token, ...]:
    return tuple(Token(item[0], item[1]) for item in items)


def _thinks(entry: Mapping[str, Any], role: str, size: str | None) -> bool:
    if role == "reasoning":
        return True
    return entry["thinking"].get(role) == "default-on" and size not in entry.get("thinking_off_sizes", ())


def sampling(identity: Identity) -> Mapping[str, Mapping[str, float]]:
    """The authors' sampling values by situation (`default`, `thinking`, `non_thinking`, …); empty where none are known.

    Where values differ by role, only those of the identity's role are given.
    """
    values: Mapping[str, Mapping[str, float]] = details(identity.family).get("sampling", {})
    return {identity.role: values[identity.role]} if identity.role in values else values


def greedy_advice(identity: Identity) -> str:
    """What the authors say of greedy decoding: `allowed`, `discouraged`, `forbidden` or `by-design`.

    `forbidden` and `discouraged` hold while the model thinks, so a model that does not think is `allowed`.
    """
    advice = str(details(identity.family).get("greedy", "allowed"))
    return "allowed" if advice in ("forbidden", "discouraged") and not identity.thinking else advice


def fim_stops(identity: Identity) -> tuple[str, ...]:
    """What ends a fill-in-the-middle completion of this family; empty where it has none or nobody knows."""
    return tuple(details(identity.family).get("fim_stops", ()))


def official_generation_config(identity: Identity) -> Mapping[str, Any]:
    """The fields of the authors' own generation_config.json for this role; empty where unknown."""
    by_role: Mapping[str, Mapping[str, Any]] = details(identity.family).get("generation_config", {})
    fallback = "instruct" if identity.role == "reasoning" else identity.role
    return by_role.get(identity.role) or by_role.get(fallback, {})


def published_ends(identity: Identity) -> Any:
    """The `eos_token_id` that the authors publish; of a model whose role its name leaves open, the instruct one's."""
    by_role: Mapping[str, Mapping[str, Any]] = details(identity.family).get("generation_config", {})
    own = official_generation_config(identity).get("eos_token_id")
    return own if identity.role != "unknown" else by_role.get("instruct", {}).get("eos_token_id")


def id_beside(text: str, ids: Collection[int]) -> int | None:
    """The id of a token in the vocabularies that hold these ids, where all of them that have the token agree on it."""
    found = {
        vocabulary[text]
        for vocabulary in table()["vocabularies"]
        if vocabulary.get(text) is not None and set(ids) <= set(vocabulary.values())
    }
    return found.pop() if len(found) == 1 else None


def tool_terminators(identity: Identity) -> tuple[Token, ...]:
    """What ends a turn of this family only where tools are called."""
    entry = family(identity.family)
    if entry is None or not identity.generates_chat:
        return ()
    return _tokens(item for item in entry["terminators"] if item[2] == "tools")
