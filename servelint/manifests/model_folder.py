"""The files of a Hugging Face model folder, read as context for one of them."""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH119, PTH120
from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from servelint.files.context import Context
from servelint.formats import json_edit
from servelint.formats.json import JsonFile, Node, embedded, get, plain, read_json
from servelint.formats.problem import Problem
from servelint.manifests.serving import Refusal, Serving, Setting
from servelint.records import record
from servelint.text import Edit, Embedded, Source, Span

GENERATION_CONFIG = "generation_config.json"
CONFIG = "config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
SPECIAL_TOKENS_MAP = "special_tokens_map.json"
ADDED_TOKENS = "added_tokens.json"
TOKENIZER = "tokenizer.json"
CHAT_TEMPLATE = "chat_template.jinja"
CHAT_TEMPLATE_JSON = "chat_template.json"
ADAPTER_CONFIG = "adapter_config.json"
_JSON_FILES = frozenset(
    {GENERATION_CONFIG, CONFIG, TOKENIZER_CONFIG, SPECIAL_TOKENS_MAP, ADDED_TOKENS, CHAT_TEMPLATE_JSON, ADAPTER_CONFIG}
)
_LONGEST_ID = 10
_VOCABULARY_LIMIT = 64 * 1024 * 1024


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

    def span_of(self, key: str) -> Span | None:
        """Where the value of a top-level key stands; None where there is none."""
        node = get(self.document.root, key)
        return node.span if node is not None else None


@record
class TemplateText:
    """A chat template: its text, the file that holds it, and where it stands there (the JSON string, quotes included).

    `inner` maps the text into the JSON file; it is None in a file of the template's own.

    `name` is that of a named template; the one without a name, or named `default`, is what chat turns are rendered
    with.
    """

    text: str
    path: str
    span: Span
    name: str = "default"
    inner: Embedded | None = None


class ModelFolder:
    """A model folder. Its files are read when somebody asks for them: most questions need two or three."""

    def __init__(
        self,
        path: str,
        context: Context,
        given: dict[str, FolderFile] | None = None,
        template: Source | None = None,
    ) -> None:
        self.path = path
        self._template = template
        self._context = context
        self._files: dict[str, FolderFile | None] = dict(given or {})

    def file(self, name: str) -> FolderFile | None:
        """A JSON file of the folder; None where it is not there."""
        if name not in self._files:
            beside = os.path.join(self.path, name)
            source = self._context.read(beside) if name in _JSON_FILES else None
            self._files[name] = None if source is None else read_folder_file(beside, source)
        return self._files[name]

    def has(self, name: str) -> bool:
        """Whether a file of that name is there."""
        return self._files.get(name) is not None or self._context.exists(os.path.join(self.path, name))

    def names(self) -> tuple[str, ...]:
        """The names of everything in the folder."""
        return self._context.names(self.path)

    def data(self, name: str) -> dict[str, Any]:
        """The object in a file, empty where the file is absent, unreadable, or holds something else."""
        file = self.file(name)
        return file.data if file is not None and isinstance(file.data, dict) else {}

    def text_config(self) -> dict[str, Any]:
        """What config.json says of the part that writes text: models that see pictures keep it in `text_config`."""
        data = self.data(CONFIG)
        inner = data.get("text_config")
        return {**data, **inner} if isinstance(inner, dict) else data

    @cached_property
    def token_ids(self) -> dict[str, int]:
        """Special tokens and their ids, as far as the tokenizer's files tell.

        tokenizer_config.json's `added_tokens_decoder` is what transformers goes by; files that transformers 5 writes
        have none, there tokenizer.json's list counts. Qwen's first tokenizers keep both empty.
        """
        found = self._ids_of_added_tokens()
        if not found:
            found = self._ids_of_tokenizer()
        return {**found, **_ids_of_decoder(self.data(TOKENIZER_CONFIG).get("added_tokens_decoder"))}

    def _ids_of_added_tokens(self) -> dict[str, int]:
        return {text: value for text, value in self.data(ADDED_TOKENS).items() if type(value) is int}

    def _ids_of_tokenizer(self) -> dict[str, int]:
        if _ids_of_decoder(self.data(TOKENIZER_CONFIG).get("added_tokens_decoder")):
            return {}
        from servelint.formats.tokenizer_json import LIMIT, read_added_tokens

        return read_added_tokens(self._context.pieces(os.path.join(self.path, TOKENIZER), LIMIT))

    def vocabulary_mentions(self, text: str) -> bool:
        """Whether the bytes of a token stand anywhere in the vocabulary's own files: it need not be an added one."""
        wanted = text.encode("utf-8", "surrogatepass")
        for name in ("tokenizer.json", "tokenizer.model", "vocab.json"):
            tail = b""
            for piece in self._context.pieces(os.path.join(self.path, name), _VOCABULARY_LIMIT):
                if wanted in tail + piece:
                    return True
                tail = piece[-len(wanted) :]
        return False

    @cached_property
    def special_tokens(self) -> dict[str, str]:
        """The texts of `bos_token`, `eos_token`, `pad_token`, …, by tokenizer_config.json, else by its map."""
        found: dict[str, str] = {}
        for name in (SPECIAL_TOKENS_MAP, TOKENIZER_CONFIG):
            for key, value in self.data(name).items():
                text = value.get("content") if isinstance(value, dict) else value
                if key.endswith("_token") and isinstance(text, str):
                    found[key] = text
        return found

    @cached_property
    def templates(self) -> tuple[TemplateText, ...]:
        """The chat templates in force: files of their own win over what tokenizer_config.json holds.

        See transformers `tokenization_utils_base.py`, `from_pretrained` (5.24.0).
        """
        own = self._template or self._context.read(os.path.join(self.path, CHAT_TEMPLATE))
        found = []
        if own is not None:
            place = os.path.join(self.path, CHAT_TEMPLATE)
            found.append(TemplateText(own.text, place, Span(0, len(own.text))))
        for name in self._context.names(os.path.join(self.path, "chat_templates")):
            place = os.path.join(self.path, "chat_templates", name)
            source = self._context.read(place) if name.endswith(".jinja") else None
            if source is not None:
                found.append(TemplateText(source.text, place, Span(0, len(source.text)), name.removesuffix(".jinja")))
        if found:
            return tuple(found)
        for name in (CHAT_TEMPLATE_JSON, TOKENIZER_CONFIG):
            file = self.file(name)
            if file is not None and file.readable and file.document.root is not None:
                found += _templates_of_json(file)
                if found:
                    break
        return tuple(found)

    @property
    def template(self) -> TemplateText | None:
        """The template that chat turns are rendered with."""
        return next((template for template in self.templates if template.name == "default"), None)


def _ids_of_decoder(decoder: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    if isinstance(decoder, dict):
        for key, value in decoder.items():
            text = value.get("content") if isinstance(value, dict) else None
            if isinstance(text, str) and key.isascii() and key.isdigit() and len(key) < _LONGEST_ID:
                found[text] = int(key)
    return found


def _templates_of_json(file: FolderFile) -> list[TemplateText]:
    node = get(file.document.root, "chat_template")
    if node is None:
        return []
    if node.kind == "string":
        return [_template(file, node, "default")]
    found = []
    for item in node.items if node.kind == "array" else ():
        name, text = get(item, "name"), get(item, "template")
        if name is not None and text is not None and text.kind == "string" and name.kind == "string":
            found.append(_template(file, text, str(plain(name))))
    return found


def _template(file: FolderFile, node: Node, name: str) -> TemplateText:
    return TemplateText(str(plain(node)), file.path, node.span, name, embedded(node))


def read_folder_file(path: str, source: Source) -> FolderFile:
    """A JSON file as the engines read it.

    transformers opens these files as UTF-8 without a signature (`configuration_utils.py`), so a byte order mark makes
    them unreadable, as an invalid byte does.
    """
    document = read_json(source.text)
    readable = document.strict and not source.mark and source.is_valid
    return FolderFile(path, source, document, readable, plain(document.root) if readable and document.root else None)


def read_folder(
    path: str, context: Context, given: FolderFile | None = None, template: Source | None = None
) -> ModelFolder:
    """The folder that the file `path` lies in; `given` (or `template`) is that file where it was read already."""
    known = {os.path.basename(path): given} if given is not None else None
    return ModelFolder(os.path.dirname(path), context, known, template)


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


# Every engine that loads a model folder.
ENGINES = ("transformers", "vllm", "sglang", "tgi", "llama.cpp")


def servings_of_folder(
    path: str, kind: str, file: FolderFile, folder: ModelFolder | None, model: Setting | None = None
) -> tuple[Serving, ...]:
    """One serving for each engine that could load the folder, told at the file that decides where it stops."""
    root = file.document.root
    span = Span(0, len(file.source.text[:1])) if root is None else Span(root.span.start, root.span.start + 1)
    writer, settings, model = JsonWriter(file.document), tuple(_settings(file)), model or _model(folder)
    return tuple(
        Serving(
            path, span, kind, engine, writer, model=model, settings=settings, facts={"folder": folder, "file": file}
        )
        for engine in ENGINES
    )


def _model(folder: ModelFolder | None) -> Setting | None:
    """The name that config.json keeps of where the model came from."""
    name = folder.data(CONFIG).get("_name_or_path") if folder is not None else None
    file = folder.file(CONFIG) if folder is not None else None
    if file is None or not isinstance(name, str) or not name.strip():
        return None
    root = file.document.root
    entry = get(root, "_name_or_path")
    span = entry.span if entry is not None else Span(0, 0)
    return Setting("_name_or_path", name, span, span, "config.json _name_or_path", file.path)


def _settings(file: FolderFile) -> list[Setting]:
    root = file.document.root
    name = CONFIG if os.path.basename(file.path) == CONFIG else GENERATION_CONFIG
    if root is None or root.kind != "object":
        return []
    # A key that stands twice counts once, as its last value: so every reader has it.
    last = {entry.name: entry for entry in root.members}
    found = []
    for key, entry in last.items():
        data = plain(entry.value)
        text = entry.value.raw if entry.value.kind == "number" else str(data)
        found.append(Setting(key, text, entry.value.span, entry.span, f"{name} {key}", data=data))
    return found


def byte_problems(source: Source) -> list[Problem]:
    """What keeps Python's JSON reader from the text of a file: a byte order mark, bytes that are not UTF-8."""
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
