"""What transformers, vLLM and TGI take from a model folder's own files."""

from __future__ import annotations

from typing import Any

from servelint.engines.reading import Cap, Reading, StopId, StopSet
from servelint.manifests.model_folder import CONFIG, GENERATION_CONFIG, TOKENIZER_CONFIG, ModelFolder
from servelint.manifests.serving import Serving
from servelint.models.identity import Identity
from servelint.text import Span


def read_model_files(serving: Serving, identity: Identity) -> Reading:
    """A generation_config.json in its folder, as the serving's engine reads both.

    Sources: transformers `generation/utils.py` (`_prepare_generation_config`), vLLM `config/model.py`
    (`try_get_generation_config`) and `sampling_params.py`, TGI `flash_causal_lm.py`.
    """
    folder: ModelFolder | None = serving.facts["folder"]
    readable: bool = serving.facts["file"].readable
    ids, unknown = _ids_of_generation_config(serving, folder, readable, identity)
    if serving.engine in ("vllm", "tgi"):
        own = tokenizer_end(folder, identity)
        if own is None:
            unknown.append("the tokenizer's own end token was not read")
        listed = isinstance(_data(serving, "eos_token_id"), list) and readable
        if serving.engine == "tgi" and not listed:
            # TGI fills its list only from a list; a single id is ignored, config.json is never asked.
            ids = []
        if own is not None and not (serving.engine == "tgi" and listed):
            ids.append(own)
    cap = _cap(serving) if readable else None
    return Reading(StopSet(ids=tuple(ids), unknown=tuple(unknown)), cap=cap, facts={"readable": readable})


def _data(serving: Serving, name: str) -> Any:
    setting = serving.last(name)
    return setting.data if setting is not None else None


def _ids_of_generation_config(
    serving: Serving, folder: ModelFolder | None, readable: bool, identity: Identity
) -> tuple[list[StopId], list[str]]:
    texts = {token.id: token.text for token in (*identity.terminators, *identity.vocabulary)}
    if readable:
        setting = serving.last("eos_token_id")
        if setting is None:
            return [], []
        return [StopId(value, setting.origin, texts.get(value), setting.span) for value in plain_ids(setting.data)], []
    if folder is None or CONFIG not in folder.files:
        return [], ["the file cannot be read, and config.json, which is used instead, was not found"]
    path = folder.files[CONFIG].path
    values = plain_ids(folder.data(CONFIG).get("eos_token_id"))
    return [StopId(value, "config.json eos_token_id", texts.get(value), None, path) for value in values], []


def plain_ids(value: Any) -> list[int]:
    """The ids in an `eos_token_id`: whole numbers only, alone or in a list."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
    return plain_ids([value])


def tokenizer_end(folder: ModelFolder | None, identity: Identity) -> StopId | None:
    """The tokenizer's end token with its id, None where the folder does not tell."""
    if folder is None or TOKENIZER_CONFIG not in folder.files:
        return None
    data = folder.data(TOKENIZER_CONFIG)
    token = data.get("eos_token")
    text = token.get("content") if isinstance(token, dict) else token
    if not isinstance(text, str):
        return None
    identifier = token_ids(folder).get(text)
    if identifier is None:
        identifier = next((known.id for known in identity.vocabulary if known.text == text), None)
    if identifier is None:
        return None
    return StopId(identifier, "tokenizer_config.json eos_token", text, None, folder.files[TOKENIZER_CONFIG].path)


def token_ids(folder: ModelFolder) -> dict[str, int]:
    """Special tokens and their ids, as `added_tokens_decoder` of the tokenizer_config.json has them."""
    decoder = folder.data(TOKENIZER_CONFIG).get("added_tokens_decoder")
    found: dict[str, int] = {}
    if isinstance(decoder, dict):
        for key, value in decoder.items():
            text = value.get("content") if isinstance(value, dict) else None
            if isinstance(text, str) and key.isascii() and key.isdigit() and len(key) < 10:
                found[text] = int(key)
    return found


def _cap(serving: Serving) -> Cap | None:
    setting = serving.last("max_new_tokens")
    if setting is None or not isinstance(setting.data, int) or isinstance(setting.data, bool):
        return None
    # vLLM up to 0.16 takes it as a ceiling for every request, later versions as the default of those that send none.
    return Cap(setting.data, f"{GENERATION_CONFIG} max_new_tokens", Span(setting.span.start, setting.span.end))
