"""Which model a serving serves: from the files it lies with, from its name otherwise."""

from __future__ import annotations

from dataclasses import replace

from servelint.manifests.serving import Serving
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.models.names import identify


def identify_serving(serving: Serving) -> Identity:
    """The identity of a serving's model; `UNKNOWN` where nothing tells."""
    folder = serving.facts.get("folder")
    if folder is not None:
        return _of_folder(folder)
    name = serving.model
    if name is not None and name.value:
        named = serving.engine == "ollama" and serving.facts.get("source") in ("library", "hub")
        identity = identify(name.value, ollama=named or None)
        if identity.family is not None or identity.role != "unknown":
            return identity
    template = serving.last("template")
    if template is not None and template.value:
        return _of_ollama_template(template.value)
    return UNKNOWN


def _of_folder(folder: object) -> Identity:
    """By the name that config.json keeps of its origin, when the vocabulary fits it."""
    from servelint.manifests.model_folder import CONFIG, ModelFolder

    assert isinstance(folder, ModelFolder)
    config = folder.data(CONFIG)
    name = config.get("_name_or_path")
    if not isinstance(name, str) or not name.strip():
        return UNKNOWN
    identity = identify(name)
    if identity.family is None:
        return identity
    size = config.get("vocab_size")
    highest = max((token.id for token in identity.terminators if token.id is not None), default=-1)
    if isinstance(size, int) and size <= highest:
        # The name is kept from the checkpoint that this one grew from, but the vocabulary is another.
        return UNKNOWN
    return identity


def _of_ollama_template(template: str) -> Identity:
    """What a Modelfile's own TEMPLATE writes after an answer ends its turns, whatever the model is called."""
    from servelint.models.tokens import known_token

    _, marker, rest = template.partition(".Response")
    if not marker:
        return UNKNOWN
    _, closed, following = rest.partition("}}")
    end = following.find(">")
    if not closed or not following.startswith("<") or end < 0:
        return UNKNOWN
    text = following[: end + 1]
    if not known_token(text):
        return UNKNOWN
    return replace(
        UNKNOWN, role="instruct", turn=(Token(text),), certain=False, source="the TEMPLATE of this Modelfile"
    )
