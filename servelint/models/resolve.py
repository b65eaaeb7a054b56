"""Which model a serving serves: from the files it lies with, from its name otherwise."""

from __future__ import annotations

from servelint.manifests.serving import Serving
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.models.names import identify
from servelint.records import replace


def identify_serving(serving: Serving) -> Identity:
    """The identity of a serving's model; `UNKNOWN` where nothing tells."""
    folder = serving.facts.get("folder")
    if folder is not None:
        return _of_folder(folder)
    name = serving.model
    identity = UNKNOWN
    if name is not None and name.value:
        named = serving.engine == "ollama" and serving.facts.get("source") in ("library", "hub")
        identity = identify(name.value, ollama=named or None)
    template = serving.last("template")
    if template is not None and template.value:
        return _with_template(identity, template.value)
    return identity


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


# The header that a template opens an assistant's turn with, and the token that ends the turn in that language.
_LANGUAGES = (
    ("<|im_start|>assistant", "<|im_end|>"),
    ("<|start_header_id|>assistant", "<|eot_id|>"),
    ("<start_of_turn>model", "<end_of_turn>"),
    ("<|turn>model", "<turn|>"),
)


def _with_template(identity: Identity, template: str) -> Identity:
    """The identity with what a Modelfile's own TEMPLATE says of the turn's end: it is read, the name only guessed at.

    A template in the family's own language changes nothing.
    """
    text = _turn_end_of_template(template)
    if text is None or not _may_chat(identity) or any(token.text == text for token in identity.turn):
        return identity
    number = next((token.id for token in identity.vocabulary if token.text == text), None)
    role = identity.role if identity.role != "unknown" else "instruct"
    return replace(
        identity, role=role, turn=(Token(text, number),), document=(), certain=False,
        source="the TEMPLATE of this Modelfile",
    )  # fmt: skip


def _may_chat(identity: Identity) -> bool:
    return identity.role in ("unknown", "instruct", "reasoning")


def _turn_end_of_template(template: str) -> str | None:
    """What stands directly behind the answer, where it is a known token; else the end in the template's language."""
    from servelint.models.tokens import known_token

    _, marker, rest = template.partition(".Response")
    if marker:
        _, _, following = rest.partition("}}")
        end = following.find(">")
        if following.startswith("<") and 0 < end < 60 and known_token(following[: end + 1]):
            return following[: end + 1]
    return next((end for header, end in _LANGUAGES if header in template), None)
