"""generation_config.json, with the files of the model folder around it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from servelint.files.context import Context
from servelint.formats import json_edit
from servelint.formats.json import JsonFile, Node, get, plain
from servelint.formats.problem import Problem
from servelint.manifests.model_folder import (
    CONFIG,
    GENERATION_CONFIG,
    FolderFile,
    ModelFolder,
    read_folder,
    read_folder_file,
)
from servelint.manifests.serving import Manifest, Refusal, Serving, Setting
from servelint.text import Edit, Source, Span

# Every engine that loads a model folder and reads this file.
ENGINES = ("transformers", "vllm", "tgi")


class JsonWriter:
    """Edits the top-level keys of one JSON file in its own style."""

    def __init__(self, file: JsonFile) -> None:
        self._file = file

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Add a key with one value, or with a list."""
        value = values[0] if len(values) == 1 else list(values)
        root = self._file.root
        if root is None:
            return Refusal("the file holds nothing")
        return _answer(json_edit.add_member(self._file, root, name, value, after="bos_token_id"))

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put another value in the place of a key's: a list of one stays a list only where it was one."""
        was_list = isinstance(setting.data, list)
        value = list(values) if was_list or len(values) != 1 else values[0]
        node = self._node(setting)
        return (
            Refusal("it is not a top-level key")
            if node is None
            else _answer(json_edit.replace_value(self._file, node, value))
        )

    def add_id(self, setting: Setting, identifier: int, first: bool) -> tuple[Edit, ...] | Refusal:
        """Add an id to `eos_token_id`: a single one becomes a list."""
        node = self._node(setting)
        if node is None:
            return Refusal("it is not a top-level key")
        if node.kind == "array":
            insert = json_edit.insert_first if first else json_edit.insert_last
            return _answer(insert(self._file, node, identifier))
        before, after = ([identifier], []) if first else ([], [identifier])
        return _answer(json_edit.scalar_to_list(self._file, node, before, after))

    def _node(self, setting: Setting) -> Node | None:
        members = self._file.root.members if self._file.root is not None else ()
        return next((entry.value for entry in members if entry.value.span == setting.span), None)


def _answer(answer: tuple[Edit, ...] | str) -> tuple[Edit, ...] | Refusal:
    return Refusal(answer) if isinstance(answer, str) else answer


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read the file and its siblings: one serving for each engine that could load the folder."""
    file = read_folder_file(path, source)
    if not _is_one(path, file, context):
        return None
    # Under another name (a collection of configs, a template to copy) the file is no part of the folder it lies in.
    own_name = os.path.basename(path) == GENERATION_CONFIG  # noqa: PTH119 (a plain str, as findings name it)
    folder = read_folder(path, context, {GENERATION_CONFIG: file}) if own_name else None
    writer = JsonWriter(file.document)
    settings = tuple(_settings(file))
    root = file.document.root
    span = Span(0, len(source.text[:1])) if root is None else Span(root.span.start, root.span.start + 1)
    facts = {"folder": folder, "file": file}
    model = _model(folder)
    servings = tuple(
        Serving(path, span, "generation-config", engine, writer, model=model, settings=settings, facts=dict(facts))
        for engine in ENGINES
    )
    problems = (*_byte_problems(source), *file.document.problems)
    why = (
        "transformers and vLLM then read config.json instead and say nothing: whatever end ids and sampling values "
        "stand here are not used."
    )
    return Manifest(
        path, "generation-config", source.text, "json", servings, problems, (), {"why": why, "document": file.document}
    )


def _model(folder: ModelFolder | None) -> Setting | None:
    """The name that config.json keeps of where the model came from."""
    name = folder.data(CONFIG).get("_name_or_path") if folder is not None else None
    if folder is None or not isinstance(name, str) or not name.strip():
        return None
    root = folder.files[CONFIG].document.root
    entry = get(root, "_name_or_path")
    span = entry.span if entry is not None else Span(0, 0)
    return Setting("_name_or_path", name, span, span, "config.json _name_or_path", folder.files[CONFIG].path)


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
        # A faulty copy with the words in its name (`generation_config.old.json`) is still meant as one.
        return "eos_token_id" in names and (file.readable or "generation_config" in base.lower())
    if not names or names & _KEYS or any("eos" in name.lower() or "stop" in name.lower() for name in names):
        return True
    return context.exists(os.path.join(os.path.dirname(path), CONFIG))  # noqa: PTH118, PTH120 (as above)


def _settings(file: FolderFile) -> list[Setting]:
    root = file.document.root
    if root is None or root.kind != "object":
        return []
    # A key that stands twice counts once, as its last value: so every reader has it.
    last = {entry.name: entry for entry in root.members}
    found = []
    for key, entry in last.items():
        data = plain(entry.value)
        text = entry.value.raw if entry.value.kind == "number" else str(data)
        found.append(Setting(key, text, entry.value.span, entry.span, f"{GENERATION_CONFIG} {key}", data=data))
    return found


def _byte_problems(source: Source) -> list[Problem]:
    found = []
    if source.mark:
        found.append(
            Problem(
                "the file begins with a byte order mark, which Python's JSON reader refuses",
                Span(0, len(source.text[:1])),
                "encoding",
            )
        )
    invalid = source.first_invalid()
    if invalid is not None:
        byte = ord(source.text[invalid]) - 0xDC00
        shown = f"0x{byte:02X}" if 0 <= byte <= 0xFF else "a lone surrogate"
        message = f"the byte {shown} here is not UTF-8, so the file cannot be read"
        found.append(Problem(message, Span(invalid, invalid + 1), "encoding"))
    return found
