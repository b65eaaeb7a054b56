"""The end ids that a family's own repository on the hub ships, for engines that take them from there unread."""

from __future__ import annotations

from functools import lru_cache

from servelint.data import load
from servelint.engines.model_files import plain_ids
from servelint.engines.reading import Reading, StopId
from servelint.manifests.serving import Serving
from servelint.models.identity import Identity
from servelint.records import replace


def with_published_ids(serving: Serving, identity: Identity, reading: Reading) -> Reading:
    """The reading with what the publisher's own generation_config.json is known to list.

    Only for a model named by the publisher's repository itself: a copy, a quantisation or a fine-tune may have lost it.
    """
    if serving.model is None or not reading.reads_model_ids or not reading.generates or not identity.certain:
        return reading
    if identity.family is None or not _is_publishers_own(serving.model.value or "", identity.family):
        return reading
    from servelint.models.families import official_generation_config

    texts = {token.id: token.text for token in (*identity.vocabulary, *identity.terminators)}
    origin = f"the published generation_config.json of {identity.family}"
    ids = tuple(
        StopId(value, origin, texts.get(value))
        for value in plain_ids(official_generation_config(identity).get("eos_token_id"))
    )
    return replace(reading, stop_set=replace(reading.stop_set, published=ids)) if ids else reading


@lru_cache(maxsize=256)
def _is_publishers_own(name: str, family: str) -> bool:
    owner, slash, repository = name.removeprefix("hf://").partition("/")
    if not slash or "/" in repository or ":" in repository:
        return False
    publishers = load("rules/publishers.json")["publishers"]
    return any(family.startswith(prefix) and owner in owners for prefix, owners in publishers.items())
