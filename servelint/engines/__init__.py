"""What each engine does with flags, environment and files. Knows no formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from servelint.engines.reading import Reading
    from servelint.files.context import Context
    from servelint.manifests.serving import Serving
    from servelint.models.identity import Identity


# Engines whose reading looks at the model's own files.
_READS_FILES = frozenset({"vllm", "tgi", "sglang", "llama.cpp", "koboldcpp", "llama-cpp-python"})


def with_model(serving: Serving, context: Context) -> Serving:
    """The serving with its model filled in, where only the engine's own parser can tell which words name it.

    Where the model's files lie within reach, `facts` of the serving gets the `folder`.
    """
    if serving.arguments is None and serving.kind not in ("env-file", "llama-preset", "local-preset"):
        return serving
    named = serving if serving.model is not None else _with_named_model(serving, context)
    return _with_folder(named, context)


def _with_folder(serving: Serving, context: Context) -> Serving:
    """The serving with the model's own files, where they lie within reach."""
    model = serving.model
    if serving.engine not in _READS_FILES or model is None or not model.value or "folder" in serving.facts:
        return serving
    from servelint.models.location import gguf_beside, locate
    from servelint.records import replace

    if model.value.lower().endswith(".gguf"):
        vocabulary = gguf_beside(serving.path, model.value, context)
        return serving if vocabulary is None else replace(serving, facts={**serving.facts, "vocabulary": vocabulary})
    folder = locate(serving.path, model.value, _revision(serving, context), context)
    return serving if folder is None else replace(serving, facts={**serving.facts, "folder": folder})


def _revision(serving: Serving, context: Context) -> str | None:
    if serving.engine != "vllm":
        return next((setting.value for setting in serving.environment if setting.name == "REVISION"), None)
    from servelint.engines.vllm import parse_serving

    parsed = parse_serving(serving, context)
    value = parsed[1].values.get("revision") if parsed is not None else None
    return value if isinstance(value, str) else None


def _with_named_model(serving: Serving, context: Context) -> Serving:
    from servelint.records import replace

    if serving.engine == "vllm":
        from servelint.engines import vllm

        model = vllm.model_of(serving, context)
    elif serving.engine == "tgi":
        from servelint.engines import tgi

        model = tgi.model_of(serving)
    elif serving.engine == "sglang":
        from servelint.engines import sglang

        model = sglang.model_of(serving, context)
    elif serving.engine == "llama.cpp":
        from servelint.engines import llamacpp_server

        model = llamacpp_server.model_of(serving)
    else:
        return serving
    return serving if model is None else replace(serving, model=model)


def read_serving(serving: Serving, identity: Identity, context: Context) -> Reading:
    """The serving as its engine reads it, with what stands in front of the engine."""
    reading = _read_engine(serving, identity, context)
    if "forced" not in serving.facts:
        return reading
    from servelint.engines.forced import with_forced_fields

    return with_forced_fields(serving, identity, reading)


def _read_engine(serving: Serving, identity: Identity, context: Context) -> Reading:
    """Each engine is loaded when the first serving of it comes."""
    if serving.kind in ("generation-config", "model-config"):
        from servelint.engines.model_files import read_model_files

        return read_model_files(serving, identity)
    if serving.kind == "gguf":
        from servelint.engines.llamacpp import read_llamacpp

        return read_llamacpp(serving)
    match serving.engine:
        case "ollama" if serving.kind != "modelfile":
            from servelint.engines.ollama_server import read_ollama_server

            return read_ollama_server(serving)
        case "ollama":
            from servelint.engines.ollama import read_ollama

            return read_ollama(serving, identity)
        case "vllm":
            from servelint.engines.published import with_published_ids
            from servelint.engines.vllm import read_vllm

            return with_published_ids(serving, identity, read_vllm(serving, identity, context))
        case "tgi":
            from servelint.engines.published import with_published_ids
            from servelint.engines.tgi import read_tgi

            return with_published_ids(serving, identity, read_tgi(serving, identity))
        case "sglang":
            from servelint.engines.published import with_published_ids
            from servelint.engines.sglang import read_sglang

            return with_published_ids(serving, identity, read_sglang(serving, identity, context))
        case "lm-studio" | "koboldcpp" | "llama-cpp-python":
            from servelint.engines.local_presets import read_local_preset

            return read_local_preset(serving, identity)
        case "litellm":
            from servelint.engines.litellm import read_litellm

            return read_litellm(serving, identity)
        case "localai":
            from servelint.engines.localai import read_localai

            return read_localai(serving)
        case "llama.cpp":
            from servelint.engines.llamacpp_server import read_server

            return read_server(serving, identity, context)
    from servelint.engines.reading import Reading, StopSet

    if serving.kind in ("chat-template", "adapter-config"):
        return Reading(StopSet(unknown=("the ends of this folder are told at its generation_config.json",)))
    return Reading(StopSet(unknown=(f"servelint does not know what {serving.engine} does",)))
