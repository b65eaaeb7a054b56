"""What ends and caps a request on vLLM, worked out from the model's files, the server's flags and the request.

Follows `ModelConfig.try_get_generation_config` and `get_diff_sampling_param` (vllm/config/model.py),
`SamplingParams.update_from_generation_config` (vllm/sampling_params.py) and `get_max_tokens` (vllm/entrypoints).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from servelint.manifests.versions import before
from servelint.records import field, record

# Keys of the sampling defaults that the server takes over, with the first version that does; all others are dropped.
ALLOWED_KEYS: Mapping[str, str] = {
    "repetition_penalty": "0.6.6",
    "temperature": "0.6.6",
    "top_k": "0.6.6",
    "top_p": "0.6.6",
    "min_p": "0.6.6",
    "max_new_tokens": "0.7.3",
    "presence_penalty": "0.32.0",
    "frequency_penalty": "0.32.0",
    "skip_special_tokens": "0.33.0",
}
# `/v1/completions` cuts after so many tokens where the request names no cap, in every version.
COMPLETION_TOKENS = 16
_MOST_STOPS = 4
# Model types that transformers is known to load; of any other nothing is said where config.json has to stand in.
_MODEL_TYPES = frozenset(
    {
        "bloom", "chatglm", "cohere", "cohere2", "dbrx", "deepseek_v2", "deepseek_v3", "falcon", "gemma", "gemma2",
        "gemma3", "gemma3_text", "glm", "glm4", "glm4_moe", "gpt2", "gpt_neox", "gpt_oss", "granite", "internlm2",
        "llama", "llama4", "mistral", "mistral3", "mixtral", "olmo", "olmo2", "opt", "phi", "phi3", "qwen2",
        "qwen2_5_vl", "qwen2_moe", "qwen2_vl", "qwen3", "qwen3_moe", "qwen3_next", "smollm3", "stablelm", "starcoder2",
    }
)  # fmt: skip
_TEMPERATURE_FLOOR = 1e-2
_GREEDY = 1e-5

FileText = str | Mapping[str, Any] | None


@record
class ServerSide:
    """What the server makes of the model's files and its flags.

    `file_eos` is the `eos_token_id` as found, of any type. `startup_error` names the exception that ends the server;
    `unknown` says that what happens depends on something that servelint does not know. `hard_cap` is a cap that no
    request can raise, `defaults` the sampling defaults with `max_tokens` for `max_new_tokens`.
    """

    file_eos: Any = None
    defaults: dict[str, Any] = field(default_factory=dict)
    hard_cap: Any = None
    startup_error: str | None = None
    unknown: bool = False


class _RequestError(Exception):
    """The server refuses the request, or breaks on it; the text is the exception's name."""


def server_side(
    generation: FileText,
    config: FileText,
    generation_config: str = "auto",
    folder_generation: FileText = None,
    folder_config: FileText = None,
    override: Any = None,
    version: str | None = None,
    is_folder: bool = True,
) -> ServerSide:
    """Read the generation config as the server does at its start.

    `generation` and `config` are the model's generation_config.json and config.json (None: no such file),
    `folder_generation` and `folder_config` those of the folder that `--generation-config` names. `is_folder` is False
    where that value names something that is no folder.
    """
    named = generation_config not in ("auto", "vllm")
    if named and not is_folder:
        return ServerSide(startup_error="ValueError")
    if named:
        generation, config = folder_generation, folder_config
    found, failure, unknown = _generation_config(generation, config)
    if failure or unknown:
        return ServerSide(startup_error=failure, unknown=unknown)
    override = {} if override is None else override
    if not isinstance(override, Mapping):
        return ServerSide(found.get("eos_token_id"), startup_error="TypeError")
    source = dict(found) if generation_config != "vllm" else {}
    source.update(override)
    defaults = {
        key: source[key]
        for key, since in ALLOWED_KEYS.items()
        if source.get(key) is not None and not before(version, since)
    }
    cap = defaults.pop("max_new_tokens", None)
    if cap is not None:
        defaults["max_tokens"] = cap
    own_file_only = generation_config == "auto" and override.get("max_new_tokens") is None
    # Up to 0.16.0 the model's own value was a ceiling too; from 0.17.1 on it is what a silent request gets.
    hard = None if own_file_only and not before(version, "0.17.0") else cap
    return ServerSide(found.get("eos_token_id"), defaults, hard)


def _generation_config(generation: FileText, config: FileText) -> tuple[Mapping[str, Any], str | None, bool]:
    """The generation config, the exception that ends the server, and whether it cannot be told."""
    data, readable = _read(generation)
    if readable:
        if not isinstance(data, Mapping):
            return {}, "TypeError", False
        return data, _refused_cap(data.get("max_new_tokens")), False
    # A file that is missing or that json.loads refuses is replaced by config.json, in silence.
    data, readable = _read(config)
    if not readable:
        return {}, "ValueError", False
    if not isinstance(data, Mapping):
        return {}, "TypeError", False
    if "model_type" not in data:
        return {}, "ValueError", False
    eos = data.get("eos_token_id")
    if isinstance(eos, str | float) or (isinstance(eos, list) and any(not isinstance(item, int) for item in eos)):
        # transformers checks the types of config.json's fields, unlike those of generation_config.json.
        return {}, "StrictDataclassFieldValidationError", False
    if data["model_type"] not in _MODEL_TYPES:
        return data, None, True
    return data, _refused_cap(data.get("max_new_tokens")), False


def _refused_cap(cap: Any) -> str | None:
    """What transformers' own validation raises for a `max_new_tokens`."""
    if cap is None:
        return None
    try:
        return "ValueError" if cap <= 0 else None
    except TypeError:
        return "TypeError"


def _read(text: FileText) -> tuple[Any, bool]:
    if text is None:
        return None, False
    if not isinstance(text, str):
        return text, True
    import json

    try:
        return json.loads(text), True
    except (ValueError, RecursionError):
        return None, False


def effective_stop_ids(
    tokenizer_eos: int | None, file_eos: Any, stop_token_ids: Any = (), ignore_eos: bool = False
) -> list[Any]:
    """All ids that end generation: the tokenizer's, the file's, and the request's.

    Members may be of any type that the file holds; what is no integer never matches a token. Raises TypeError where
    vLLM does, on every request.
    """
    listed = request_stop_ids(tokenizer_eos, file_eos, stop_token_ids, ignore_eos)
    if tokenizer_eos is None or ignore_eos:
        return listed
    return _distinct([tokenizer_eos, *listed])


def request_stop_ids(
    tokenizer_eos: int | None, file_eos: Any, stop_token_ids: Any = (), ignore_eos: bool = False
) -> list[Any]:
    """The ids of a request after the file's were added to it: without the tokenizer's own."""
    own = list(stop_token_ids or ())
    if ignore_eos:
        _file_ids(tokenizer_eos, file_eos)
        return own
    extra = _file_ids(tokenizer_eos, file_eos)
    return _distinct([*extra, *own]) if extra else own


def _file_ids(tokenizer_eos: int | None, file_eos: Any) -> list[Any]:
    if file_eos is None:
        return []
    values = [file_eos] if isinstance(file_eos, int) else list(file_eos)
    # vLLM takes the tokenizer's own id out, and keeps the others as a set.
    return [value for value in _distinct(values) if tokenizer_eos is None or value != tokenizer_eos]


def _distinct(values: list[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def answer(
    server: ServerSide,
    tokenizer_eos: int | None,
    request: Mapping[str, Any] | None = None,
    *,
    chat: bool = True,
    max_model_len: int = 32768,
    prompt_length: int = 100,
) -> dict[str, Any]:
    """What one request gets: `max_tokens`, stops and sampling values, or `request_error` or `stop_error`.

    Errors are given by the exception's name.
    """
    try:
        return _answer(server, tokenizer_eos, dict(request or {}), chat, max_model_len, prompt_length)
    except _RequestError as error:
        return {"request_error": str(error)}


def _answer(
    server: ServerSide,
    tokenizer_eos: int | None,
    request: dict[str, Any],
    chat: bool,
    max_model_len: int,
    prompt_length: int,
) -> dict[str, Any]:
    stop = request.get("stop")
    stops = [] if stop is None else [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS or not all(isinstance(text, str) for text in stops):
        raise _RequestError("ValidationError")
    own_ids = request.get("stop_token_ids")
    if own_ids is not None and not isinstance(own_ids, list):
        raise _RequestError("ValidationError")
    stop_ids = [_whole(identifier) for identifier in own_ids or ()]
    ignore_eos = _truth(request.get("ignore_eos"), False)
    min_tokens = _whole(request["min_tokens"]) if request.get("min_tokens") is not None else 0
    names = ("max_completion_tokens", "max_tokens") if chat else ("max_tokens",)
    asked = [_whole(request[name]) for name in names if request.get(name) is not None]
    wanted: Any = asked[0] if asked else None
    if wanted is None:
        wanted = server.defaults.get("max_tokens") if chat else COMPLETION_TOKENS
    bounds = [max_model_len - prompt_length, wanted, server.hard_cap]
    try:
        max_tokens = min(bound for bound in bounds if bound is not None)
        values = _sampling_values(server.defaults, request)
    except TypeError:
        raise _RequestError("TypeError") from None
    if min_tokens < 0 or max_tokens < 1 or min_tokens > max_tokens or "" in stops:
        raise _RequestError("VLLMValidationError")
    result: dict[str, Any] = {"max_tokens": max_tokens, "stop_strings": stops}
    try:
        listed = request_stop_ids(tokenizer_eos, server.file_eos, stop_ids, ignore_eos)
        result["effective_stop_ids"] = effective_stop_ids(tokenizer_eos, server.file_eos, stop_ids, ignore_eos)
        everything = _distinct([*_file_ids(tokenizer_eos, server.file_eos), *stop_ids])
    except TypeError:
        result["stop_error"] = "TypeError"
        return result
    result["eos_token_id"] = None if ignore_eos else tokenizer_eos
    result["stop_token_ids"] = listed
    result["all_stop_ids"] = everything if tokenizer_eos is None else _distinct([tokenizer_eos, *everything])
    result["min_tokens"] = min_tokens
    skips = request.get("skip_special_tokens")
    result["skip_special_tokens"] = server.defaults.get("skip_special_tokens", True) if skips is None else skips
    return {**result, **values}


def _sampling_values(defaults: Mapping[str, Any], request: Mapping[str, Any]) -> dict[str, Any]:
    """Temperature, top_p and top_k after vLLM's own checks; TypeError where it compares a text with a number."""

    def value(name: str, fallback: Any) -> Any:
        asked = request.get(name)
        return defaults.get(name, fallback) if asked is None else asked

    temperature, top_p, top_k = value("temperature", 1.0), value("top_p", 1.0), value("top_k", 0)
    min_p, repetition = value("min_p", 0.0), value("repetition_penalty", 1.0)
    if 0 < temperature < _TEMPERATURE_FLOOR:
        temperature = _TEMPERATURE_FLOOR
    if not math.isfinite(temperature) or temperature < 0:
        raise _RequestError("VLLMValidationError")
    for name in ("presence_penalty", "frequency_penalty"):
        if not -2 <= value(name, 0.0) <= 2:
            raise _RequestError("VLLMValidationError")
    if not 0 < top_p <= 1 or top_k < -1 or not 0 <= min_p <= 1 or not repetition > 0:
        raise _RequestError("VLLMValidationError")
    if temperature < _GREEDY:
        top_p, top_k = 1.0, 0
    return {"temperature": temperature, "top_p": top_p, "top_k": top_k}


def _whole(value: Any) -> int:
    """An integer as pydantic takes it outside its strict mode: also `"5"`, `5.0` and a truth value."""
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    raise _RequestError("ValidationError")


def _truth(value: Any, fallback: bool) -> bool:
    if value is None:
        return fallback
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.lower()
        if word in ("1", "true", "t", "yes", "y", "on"):
            return True
        if word in ("0", "false", "f", "no", "n", "off"):
            return False
    if value in (0, 1):
        return bool(value)
    raise _RequestError("ValidationError")
