"""Which model a serving serves: from the files it lies with, from its name otherwise."""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

from servelint.manifests.serving import Serving, Setting
from servelint.models.families import table
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.models.names import identify
from servelint.records import replace

if TYPE_CHECKING:
    from servelint.manifests.gguf import Vocabulary
    from servelint.manifests.model_folder import ModelFolder


def identify_serving(serving: Serving) -> Identity:
    """The identity of a serving's model; `UNKNOWN` where nothing tells."""
    folder = serving.facts.get("folder")
    if folder is not None:
        return _of_folder(folder, serving.model)
    vocabulary = serving.facts.get("vocabulary")
    if vocabulary is not None:
        identity = _of_vocabulary(serving, vocabulary)
        own = serving.last("template")
        return _with_template(identity, own.value) if own is not None and own.value else identity
    name = serving.model
    if serving.kind == "generation-config":
        # Only the name of the file says which model it is about.
        return replace(identify(name.value), certain=False) if name is not None and name.value else UNKNOWN
    identity = UNKNOWN
    if name is not None and name.value:
        named = serving.engine == "ollama" and serving.facts.get("source") in ("library", "hub")
        identity = identify(name.value, ollama=named or None)
    elif name is not None and name.likely:
        identity = identify(name.likely.removeprefix("…/"))
        if not name.likely.startswith("…/"):
            # Only a default: somebody may say otherwise.
            identity = replace(identity, certain=False)
    template = serving.last("template")
    if template is not None and template.value:
        return _with_template(identity, template.value)
    return identity


def _of_folder(folder: object, model: Setting | None) -> Identity:
    """By the name that config.json keeps of its origin, and by what its chat template writes behind an answer."""
    from servelint.manifests.model_folder import ModelFolder

    assert isinstance(folder, ModelFolder)
    named = _named(folder)
    if named.family is None and model is not None and model.path is None and model.value:
        # A hub's snapshot keeps no name; the manifest has it.
        named = identify(model.value)
    template = folder.template
    if template is None or named.role not in ("unknown", "base", "instruct", "reasoning"):
        return named
    from servelint.models.chat_template import turn_end, understand

    chat = understand(template.text, folder.special_tokens)
    own = {*folder.token_ids, *folder.special_tokens.values(), *(token.text for token in named.vocabulary)}
    text = turn_end(chat, own) or turn_end(chat, table()["tokens"])
    if text is None:
        return named
    if named.role == "base" and folder.special_tokens.get("eos_token") != text:
        # The publishers of base models ship a chat template with them, and a tokenizer that ends at the document's end.
        return named
    number = folder.token_ids.get(text)
    if number is None:
        number = next((token.id for token in named.vocabulary if token.text == text), None)
    end = Token(text, number)
    known = named if named.generates_chat and any(token.text == text for token in named.turn) else None
    role = named.role if named.role in ("instruct", "reasoning") else "instruct"
    vocabulary = named.vocabulary or tuple(Token(*entry) for entry in folder.token_ids.items())
    return replace(
        named,
        role=role,
        turn=known.turn if known is not None and number is None else (end,),
        document=_document_ends(named, end, folder),
        vocabulary=vocabulary,
        # A base model's tokenizer ends at the document's end, and may carry a template all the same: where no name
        # tells otherwise, it may be one.
        certain=named.family is not None or folder.special_tokens.get("eos_token") == text,
        source=f"the chat template in {os.path.basename(template.path)}",  # noqa: PTH119 (a plain str)
    )


def _document_ends(named: Identity, turn: Token, folder: ModelFolder) -> tuple[Token, ...]:
    """The ends of a document that this vocabulary has, with its own ids."""
    found = []
    for token in named.terminators:
        number = folder.token_ids.get(token.text, token.id)
        if token.text != turn.text and (not folder.token_ids or token.text in folder.token_ids):
            found.append(Token(token.text, number))
    return tuple(found)


def _named(folder: ModelFolder) -> Identity:
    """By the name that config.json keeps of its origin, when the vocabulary fits it; else by the folder's own name."""
    name = folder.data("config.json").get("_name_or_path")
    identity = identify(name) if isinstance(name, str) and name.strip() else UNKNOWN
    if isinstance(name, str) and not _SIZE.search(name):
        # `Qwen3` names a family, not which of its models this is.
        identity = replace(identity, certain=False)
    if identity.family is None and identity.role == "unknown":
        here = os.path.basename(folder.path)  # noqa: PTH119 (a plain str)
        if here:
            identity = replace(identify(here), certain=False)
    size = folder.text_config().get("vocab_size")
    highest = max((token.id for token in identity.terminators if token.id is not None), default=-1)
    if isinstance(size, int) and size <= highest:
        # The name is kept from the checkpoint that this one grew from, but the vocabulary is another.
        return UNKNOWN
    return identity


def _of_vocabulary(serving: Serving, vocabulary: Vocabulary) -> Identity:
    """By what the chat template in a GGUF writes behind an answer, and by the names that it and its file have."""
    named = identify(vocabulary.name) if vocabulary.name else UNKNOWN
    if named.family is None:
        file = serving.path if serving.kind == "gguf" or serving.model is None else serving.model.value or ""
        named = identify(os.path.basename(file))  # noqa: PTH119 (a plain str)
    numbers = {token.text: vocabulary.find(token.text) for token in (*named.terminators, *named.vocabulary)}
    if any(numbers.get(token.text) is None for token in named.turn):
        # The name is kept from another model: this vocabulary has no such token.
        named = UNKNOWN
    own = replace(
        named,
        certain=False,
        turn=tuple(Token(token.text, numbers[token.text]) for token in named.turn),
        document=tuple(Token(token.text, numbers.get(token.text)) for token in named.document),
        vocabulary=tuple(Token(text, number) for text, number in numbers.items() if number is not None),
    )
    if vocabulary.template is None or own.role not in ("unknown", "base", "instruct", "reasoning"):
        return own
    from servelint.models.chat_template import shaped_end, turn_end, understand

    entry = vocabulary.entry("eos")
    ending = vocabulary.text(entry.value) if entry is not None and isinstance(entry.value, int) else None
    chat = understand(vocabulary.template, {"eos_token": ending} if ending else {})
    text = turn_end(chat, {*table()["tokens"], *([ending] if ending else [])}) or shaped_end(chat)
    number = vocabulary.find(text) if text is not None else None
    if text is None or number is None or (own.role == "base" and ending != text):
        return own
    role = own.role if own.role in ("instruct", "reasoning") else "instruct"
    return replace(own, role=role, turn=(Token(text, number),), certain=True, source="the chat template in the GGUF")


_SIZE = re.compile(r"\d[bm](?![a-z])", re.IGNORECASE)

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
