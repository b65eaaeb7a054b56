"""adapter_config.json: a LoRA adapter, and the base model that it sits on."""

from __future__ import annotations

from servelint.files.context import Context
from servelint.manifests.model_folder import byte_problems, read_folder, read_folder_file
from servelint.manifests.serving import Manifest, NoWriter, Serving
from servelint.text import Source, Span

_WRITER = NoWriter("what an adapter was trained with cannot be changed afterwards")


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read the file with the tokenizer beside it; it serves nothing by itself."""
    file = read_folder_file(path, source)
    root = file.document.root
    if root is None or root.kind != "object":
        return None
    span = file.span_of("base_model_name_or_path") or Span(root.span.start, root.span.start + 1)
    facts = {"folder": read_folder(path, context, file), "file": file, "aside": True}
    serving = Serving(path, span, "adapter-config", "transformers", _WRITER, facts=facts)
    return Manifest(
        path, "adapter-config", source.text, "json", (serving,), (*byte_problems(source), *file.document.problems), (),
        {"why": "PEFT, and every server that loads adapters, refuses it.", "document": file.document},
    )  # fmt: skip
