"""The files of a model folder that hold a chat template: tokenizer_config.json, and templates of their own."""

from __future__ import annotations

from servelint.files.context import Context
from servelint.manifests.model_folder import FolderFile, ModelFolder, byte_problems, read_folder, read_folder_file
from servelint.manifests.serving import Manifest, NoWriter, Serving
from servelint.text import Source, Span

_WRITER = NoWriter("a chat template is mended by hand: what the model was trained on decides")


def read_json_file(path: str, source: Source, context: Context) -> Manifest | None:
    """Read tokenizer_config.json or chat_template.json."""
    file = read_folder_file(path, source)
    root = file.document.root
    if root is None or root.kind != "object":
        return None
    folder = read_folder(path, context, file)
    span = Span(root.span.start, root.span.start + 1)
    return Manifest(
        path, "chat-template", source.text, "json", (_serving(path, span, folder, file),),
        (*byte_problems(source), *file.document.problems), (),
        {"why": "transformers, and with it every server, refuses to load the tokenizer.", "document": file.document},
    )  # fmt: skip


def read_template(path: str, source: Source, context: Context) -> Manifest | None:
    """Read chat_template.jinja."""
    folder = read_folder(path, context, template=source)
    return Manifest(path, "chat-template", source.text, "", (_serving(path, Span(0, 0), folder),))


def _serving(path: str, span: Span, folder: ModelFolder, file: FolderFile | None = None) -> Serving:
    """The folder as whoever renders its template has it; its deployments are told at the file with the end ids."""
    return Serving(
        path, span, "chat-template", "transformers", _WRITER, facts={"folder": folder, "file": file, "aside": True}
    )
