"""The end ids that a family's own repository on the hub ships, for engines that take them from there unread."""

from __future__ import annotations

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
    if not _is_publishers_own(serving.model.value or "", identity):
        return reading
    from servelint.models.families import official_generation_config

    texts = {token.id: token.text for token in (*identity.vocabulary, *identity.terminators)}
    origin = f"the published generation_config.json of {identity.family}"
    ids = tuple(
        StopId(value, origin, texts.get(value))
        for value in plain_ids(official_generation_config(identity).get("eos_token_id"))
    )
    return replace(reading, stop_set=replace(reading.stop_set, published=ids)) if ids else reading


def _is_publishers_own(name: str, identity: Identity) -> bool:
    owner, slash, repository = name.removeprefix("hf://").partition("/")
    if not slash or "/" in repository or ":" in repository or identity.family is None:
        return False
    publishers = load("rules/publishers.json")["publishers"]
    return any(identity.family.startswith(family) and owner in owners for family, owners in publishers.items())
