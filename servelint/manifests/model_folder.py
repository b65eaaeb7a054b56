"""The JSON files of a Hugging Face model folder, read as context for one of them."""

from __future__ import annotations

import os
from typing import Any

from servelint.files.context import Context
from servelint.formats.json import JsonFile, plain, read_json
from servelint.records import record
from servelint.text import Source

GENERATION_CONFIG = "generation_config.json"
CONFIG = "config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"


@record
class FolderFile:
    """One JSON file: its path, text, nodes with spans, and data.

    `readable` tells whether the engines' own reader takes it (strict JSON in UTF-8 without a byte order mark); `data`
    is what they then get, None where they get nothing.
    """

    path: str
    source: Source
    document: JsonFile
    readable: bool
    data: Any


@record
class ModelFolder:
    """A model folder as far as it was read."""

    path: str
    files: dict[str, FolderFile]

    def data(self, name: str) -> dict[str, Any]:
        """The object in a file, empty where the file is absent, unreadable, or holds something else."""
        file = self.files.get(name)
        return file.data if file is not None and isinstance(file.data, dict) else {}


def read_folder_file(path: str, source: Source) -> FolderFile:
    """A JSON file as the engines read it.

    transformers opens these files as UTF-8 without a signature (`configuration_utils.py`), so a byte order mark makes
    them unreadable, as an invalid byte does.
    """
    document = read_json(source.text)
    readable = document.strict and not source.mark and source.is_valid
    return FolderFile(path, source, document, readable, plain(document.root) if readable and document.root else None)


def read_folder(path: str, context: Context, given: dict[str, FolderFile] | None = None) -> ModelFolder:
    """The files beside `path` (a file of the folder) that say how its model ends; `given` are read already."""
    folder = os.path.dirname(path)  # noqa: PTH120 (a plain str, as findings name it)
    files = dict(given or {})
    for name in (GENERATION_CONFIG, CONFIG, TOKENIZER_CONFIG):
        if name in files:
            continue
        beside = os.path.join(folder, name)  # noqa: PTH118 (as above)
        source = context.read(beside)
        if source is not None:
            files[name] = read_folder_file(beside, source)
    return ModelFolder(folder, files)
