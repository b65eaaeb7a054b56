"""generation_config.json, with the files of the model folder around it."""

from __future__ import annotations

import os

from servelint.files.context import Context
from servelint.manifests.model_folder import (
    CONFIG,
    GENERATION_CONFIG,
    FolderFile,
    byte_problems,
    read_folder,
    read_folder_file,
    servings_of_folder,
)
from servelint.manifests.serving import Manifest, Setting
from servelint.text import Source, Span


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read the file and its siblings: one serving for each engine that could load the folder."""
    file = read_folder_file(path, source)
    if not _is_one(path, file, context):
        return None
    # Under another name (a collection of configs, a template to copy) the file is no part of the folder it lies in.
    own_name = os.path.basename(path) == GENERATION_CONFIG  # noqa: PTH119 (a plain str, as findings name it)
    folder = read_folder(path, context, file) if own_name else None
    servings = servings_of_folder(path, "generation-config", file, folder, None if own_name else _model_of_name(path))
    problems = (*byte_problems(source), *file.document.problems)
    why = (
        "transformers and vLLM then read config.json instead and say nothing: whatever end ids and sampling values "
        "stand here are not used."
    )
    return Manifest(
        path, "generation-config", source.text, "json", servings, problems, (), {"why": why, "document": file.document}
    )


def _model_of_name(path: str) -> Setting | None:
    """The model that a collection's file is about, as far as its name says: `qwen2.5-7b-instruct.json`."""
    if not _is_called_one(path):
        return None
    stem = os.path.basename(path).removesuffix(".json").replace("generation_config", "")  # noqa: PTH119 (as above)
    name = max(stem.split("--"), key=len).replace("__", "/").strip("._- ")
    return Setting("name", name or None, Span(0, 0), Span(0, 0), "the file's name", path)


def _is_called_one(path: str) -> bool:
    """Whether the file's name or its folder's says what it is (`generation_config.old.json`, `generation_configs/`)."""
    folder, name = os.path.split(path)
    return "generation_config" in name.lower() or "generation_config" in os.path.basename(folder).lower()  # noqa: PTH119


# Any of them tells that transformers wrote the file, or is meant to read it.
_KEYS = frozenset(
    {
        "bos_token_id", "pad_token_id", "decoder_start_token_id", "transformers_version", "_from_model_config",
        "do_sample", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "max_length", "max_new_tokens",
        "min_length", "min_new_tokens", "num_beams", "suppress_tokens", "forced_decoder_ids", "chat_format",
    }
)  # fmt: skip


def _is_one(path: str, file: FolderFile, context: Context) -> bool:
    """Whether transformers would read this file as a generation config.

    Under its own name a file counts unless it is an object of quite other keys with no model beside it (some project's
    own settings); under another name only where an end id stands at its top, and it can be read.
    """
    root = file.document.root
    names = {entry.name for entry in root.members} if root is not None and root.kind == "object" else set()
    base = os.path.basename(path)  # noqa: PTH119 (a plain str, as findings name it)
    if base != GENERATION_CONFIG:
        # A faulty one with the words in its name, or in a folder of them, is still meant as one.
        if _is_called_one(path):
            return bool(names & _KEYS) or any("eos" in name.lower() for name in names)
        return "eos_token_id" in names and bool(names & _KEYS) and file.readable
    if not names or names & _KEYS or any("eos" in name.lower() or "stop" in name.lower() for name in names):
        return True
    return context.exists(os.path.join(os.path.dirname(path), CONFIG))  # noqa: PTH118, PTH120 (as above)
