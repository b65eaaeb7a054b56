"""config.json of a model folder: what decides where there is no generation_config.json."""

from __future__ import annotations

from servelint.files.context import Context
from servelint.manifests.model_folder import (
    GENERATION_CONFIG,
    byte_problems,
    read_folder,
    read_folder_file,
    servings_of_folder,
)
from servelint.manifests.serving import Manifest
from servelint.records import replace
from servelint.text import Source

# Heads that write text. An encoder or a classifier ends nothing.
_WRITES = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read the file; it tells what is served only where the folder has no generation_config.json to do so."""
    file = read_folder_file(path, source)
    root = file.document.root
    names = {entry.name for entry in root.members} if root is not None and root.kind == "object" else set()
    if not names & {"architectures", "model_type"}:
        return None
    folder = read_folder(path, context, file)
    architectures = folder.data("config.json").get("architectures")
    writes = isinstance(architectures, list) and any(str(name).endswith(_WRITES) for name in architectures)
    servings = servings_of_folder(path, "model-config", file, folder)
    if not writes or not file.readable or folder.has(GENERATION_CONFIG):
        # Another file tells what is served from here; this one is looked at for its own sake.
        servings = (replace(servings[0], facts={**servings[0].facts, "aside": True}),)
    why = "transformers, and with it every server, refuses to load the model."
    return Manifest(
        path, "model-config", source.text, "json", servings, (*byte_problems(source), *file.document.problems), (),
        {"why": why, "document": file.document},
    )  # fmt: skip
