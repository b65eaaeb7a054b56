"""What transformers, vLLM, SGLang and TGI take from a model folder's own files."""

from __future__ import annotations

from typing import Any

from servelint.engines.reading import Cap, Reading, StopId, StopSet
from servelint.manifests.model_folder import CONFIG, GENERATION_CONFIG, TOKENIZER_CONFIG, FolderFile, ModelFolder
from servelint.manifests.serving import Serving
from servelint.models.identity import Identity
from servelint.text import Span


def read_model_files(serving: Serving, identity: Identity) -> Reading:
    """A model folder as the serving's engine reads it, seen from the file that decides (`facts["file"]`).

    Sources: transformers `generation/utils.py` (`adjust_generation_fn`, `_prepare_generation_config`), vLLM
    `config/model.py` (`try_get_generation_config`) and `sampling_params.py`, SGLang `configs/model_config.py`
    (`_get_hf_eos_token_id`), TGI `flash_causal_lm.py`.
    """
    cap = _cap(serving) if serving.facts["file"].readable else None
    return Reading(stop_set_of_folder(serving, identity), cap=cap)


def stop_set_of_folder(serving: Serving, identity: Identity) -> StopSet:
    """What ends generation where the serving's engine loads the folder in `facts["folder"]`."""
    folder: ModelFolder | None = serving.facts["folder"]
    listed, unknown = ids_of_generation_config(folder, serving, identity)
    ids: list[StopId] = []
    own = tokenizer_end(folder, identity) if serving.engine != "transformers" else None
    if serving.engine == "llama.cpp":
        return _stop_set_of_conversion(folder, own, identity)
    if serving.engine != "transformers" and own is None:
        unknown.append("the tokenizer's own end token was not read")
    match serving.engine:
        case "tgi":
            ids = _ids_of_tgi(folder, serving, listed, own)
        case "sglang":
            ids = [*ids_of_config(folder, identity), *listed, *_given(own)]
        case "vllm":
            ids = [*listed, *_given(own)]
        case _:
            ids = listed
    return StopSet(ids=_distinct(ids), unknown=tuple(unknown))


def _stop_set_of_conversion(folder: ModelFolder | None, own: StopId | None, identity: Identity) -> StopSet:
    """What ends generation in a GGUF made of the folder: convert_hf_to_gguf.py does not read generation_config.json.

    The tokenizer's end comes first, then a single id in config.json (a list is dropped); llama.cpp adds every token of
    the vocabulary whose text it knows as an end.
    """
    if folder is None:
        return StopSet(unknown=("the tokenizer was not read",))
    from servelint.engines.llamacpp import ends_by_text

    alone = [stop for stop in ids_of_config(folder, identity) if not isinstance(_top_eos(folder), list)]
    held = set(folder.token_ids) | ({own.token} if own is not None and own.token else set())
    tokens = tuple(text for text in ends_by_text(held) if text in held)
    # The converters of some architectures write a second end (`<|user|>` for GLM).
    unknown = ["the ends that the converter of this architecture adds by itself"]
    if not folder.token_ids:
        unknown.append("which of the texts that llama.cpp ends at are in the vocabulary")
    return StopSet(ids=tuple(_given(own) or alone[:1]), tokens=tokens, unknown=tuple(unknown))


def _top_eos(folder: ModelFolder) -> Any:
    return folder.data(CONFIG).get("eos_token_id")


def _given(own: StopId | None) -> list[StopId]:
    return [] if own is None else [own]


def _distinct(ids: list[StopId]) -> tuple[StopId, ...]:
    return tuple({stop.value: stop for stop in reversed(ids)}.values())[::-1]


def _ids_of_tgi(folder: ModelFolder | None, serving: Serving, listed: list[StopId], own: StopId | None) -> list[StopId]:
    """A list in generation_config.json takes the place of the tokenizer's end; a single id is not looked at.

    Since 2.0.2; config.json is never asked.
    """
    file = _generation_config(folder, serving)
    is_list = file is not None and file.readable and isinstance(_top(file).get("eos_token_id"), list)
    return listed if is_list else _given(own)


def _generation_config(folder: ModelFolder | None, serving: Serving) -> FolderFile | None:
    if folder is not None:
        return folder.file(GENERATION_CONFIG)
    file: FolderFile = serving.facts["file"]
    return file


def _top(file: FolderFile) -> dict[str, Any]:
    return file.data if isinstance(file.data, dict) else {}


def ids_of_generation_config(
    folder: ModelFolder | None, serving: Serving, identity: Identity
) -> tuple[list[StopId], list[str]]:
    """The end ids that transformers takes, and what is unknown of them.

    config.json is asked only where generation_config.json is absent or cannot be read (an OSError to transformers): the
    two are not merged.
    """
    file = _generation_config(folder, serving)
    if file is not None and file.readable:
        # Spans count in the serving's own file; of another one the path is enough.
        span = file.span_of("eos_token_id") if file.path == serving.path else None
        value = _top(file).get("eos_token_id")
        ids = compared_ids(value) if serving.engine in ("vllm", "sglang") else plain_ids(value)
        return _stop_ids(ids, f"{GENERATION_CONFIG} eos_token_id", identity, file.path, span), []
    if folder is None or folder.file(CONFIG) is None:
        return [], ["the file cannot be read, and config.json, which is used instead, was not found"]
    return ids_of_config(folder, identity), []


def ids_of_config(folder: ModelFolder | None, identity: Identity) -> list[StopId]:
    """The end ids of config.json; those of its `text_config` where it names none itself."""
    file = folder.file(CONFIG) if folder is not None else None
    if folder is None or file is None:
        return []
    value = folder.data(CONFIG).get("eos_token_id")
    if value is None:
        value = folder.text_config().get("eos_token_id")
    return _stop_ids(value, "config.json eos_token_id", identity, file.path, None)


def _stop_ids(value: Any, origin: str, identity: Identity, path: str, span: Span | None) -> list[StopId]:
    texts = {token.id: token.text for token in (*identity.terminators, *identity.vocabulary)}
    return [StopId(number, origin, texts.get(number), span, path) for number in plain_ids(value)]


def plain_ids(value: Any) -> list[int]:
    """The ids in an `eos_token_id`: whole numbers only, alone or in a list."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
    return plain_ids([value])


def compared_ids(value: Any) -> list[int]:
    """The ids that a token may equal, as Python's `in` compares them: 151645.0 in a list is one, alone it is an error.

    Measured on vLLM 0.33.0, which puts the list's members into a set.
    """
    if not isinstance(value, list):
        return plain_ids(value)
    return plain_ids([int(item) if isinstance(item, float) and item.is_integer() else item for item in value])


def tokenizer_end(folder: ModelFolder | None, identity: Identity) -> StopId | None:
    """The tokenizer's end token with its id, None where the folder does not tell."""
    text = folder.special_tokens.get("eos_token") if folder is not None else None
    if folder is None or text is None:
        return None
    identifier = folder.token_ids.get(text)
    if identifier is None:
        identifier = next((known.id for known in identity.vocabulary if known.text == text), None)
    if identifier is None:
        return None
    file = folder.file(TOKENIZER_CONFIG)
    return StopId(identifier, "tokenizer_config.json eos_token", text, None, file.path if file is not None else None)


def _cap(serving: Serving) -> Cap | None:
    setting = serving.last("max_new_tokens")
    if setting is None or not isinstance(setting.data, int) or isinstance(setting.data, bool):
        return None
    # vLLM up to 0.16 takes it as a ceiling for every request, later versions as the default of those that send none.
    return Cap(setting.data, f"{GENERATION_CONFIG} max_new_tokens", Span(setting.span.start, setting.span.end))
