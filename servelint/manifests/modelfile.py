"""A Modelfile as one deployment: what it serves, what it sets, and how to change it in its own style."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from servelint.files.context import Context
from servelint.formats.modelfile import (
    NO_FROM,
    Instruction,
    Modelfile,
    meant_stops,
    read_modelfile,
    read_modelfile_source,
    swallowed_instruction,
    trailing_comment,
)
from servelint.manifests.serving import Manifest, Refusal, Serving, Setting
from servelint.text import Edit, Source, Span

if TYPE_CHECKING:
    from servelint.manifests.gguf import Vocabulary

_BLANKS = " \t"
_NEWLINES = "\r\n"
_WEIGHTS = (".gguf", ".ggml", ".safetensors", ".bin", ".pt", ".pth")
_HUBS = ("hf.co/", "huggingface.co/", "www.huggingface.co/", "modelscope.cn/", "www.modelscope.cn/")
_WHY = "`ollama create` refuses the whole file; nothing in it takes effect."


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a Modelfile; None where a file of that name holds something else altogether."""
    document = read_modelfile_source(source)
    refused_at_once = not document.instructions and document.problems[0].message != NO_FROM
    if refused_at_once and "from" not in source.text.replace("\0", "").lower():
        # Without a FROM anywhere it was never meant for Ollama.
        return None
    return _manifest(path, document, source.newline, context)


def read_modelfile_manifest(path: str, text: str, newline: str, context: Context | None = None) -> Manifest:
    """Read the text of a Modelfile that lies in the file `path`; all spans count in `text`.

    `newline` is what new lines end in. `context` tells whether a file of the model's name lies beside the Modelfile.
    `facts` of the serving: `document` (the `Modelfile`), `source` (`library`, `path`, `hub` or `unknown`) and
    `vocabulary` (of the GGUF that FROM names, where it lies within reach).
    """
    return _manifest(path, read_modelfile(text), newline, context)


def _manifest(path: str, document: Modelfile, newline: str, context: Context | None) -> Manifest:
    settings = tuple(_setting(instruction) for instruction in document.instructions)
    model, source = _model(path, settings, context)
    requires = [setting for setting in settings if setting.name == "requires"]
    # The FROM line names the deployment; a file without one has only its beginning.
    span = model.whole if model is not None else Span(0, 0)
    hidden = (
        () if source == "path" else ("what the model brings along (template, stops, parameters) is not in this file",)
    )
    serving = Serving(
        path, span, "modelfile", "ollama", ModelfileWriter(document, newline),
        version=requires[-1] if requires else None, model=model, settings=settings, hidden=hidden,
        facts={"document": document, "source": source, "vocabulary": _vocabulary(path, model, source, context)},
    )  # fmt: skip
    return Manifest(
        path, "modelfile", document.text, "modelfile", (serving,), document.problems, document.comments,
        {"document": document, "why": _WHY},
    )  # fmt: skip


def _setting(instruction: Instruction) -> Setting:
    reason = unknown_reason(instruction)
    return Setting(
        instruction.name,
        None if reason is not None else instruction.value,
        instruction.value_span
        if instruction.value_span.start < instruction.value_span.end
        else _name_span(instruction),
        instruction.span,
        origin_of(instruction),
        reason=reason,
    )


def origin_of(instruction: Instruction) -> str:
    """The instruction in the form's own words: `PARAMETER stop`, `FROM`."""
    keyword = instruction.keyword.upper()
    return f"{keyword} {instruction.parameter}" if instruction.is_parameter else keyword


def _name_span(instruction: Instruction) -> Span:
    return instruction.parameter_span or instruction.keyword_span


def unknown_reason(instruction: Instruction) -> str | None:
    """Why the value cannot be known: its quote is never closed, or something else fills it in. None where it is known.

    In prose `{{` and `$` are the value's own; a stop may hold anything but a placeholder that is all of it.
    """
    if not instruction.closed:
        return "its quote is never closed"
    if instruction.name in ("template", "system", "license", "message"):
        return None
    value = instruction.value
    if instruction.name == "stop":
        whole = (value.startswith("{{") and value.endswith("}}")) or (value.startswith("${") and value.endswith("}"))
        return "a template fills it in" if whole else None
    if "{{" in value or "${" in value or "$(" in value or "{%" in value:
        return "a template fills it in"
    if value.startswith("$") and value[1:].replace("_", "").isalnum():
        return "a variable fills it in"
    if instruction.name in ("model", "adapter", "draft"):
        opening = value.find("<")
        if 0 <= opening < value.find(">", opening) or value.startswith(("@", "%", "__")):
            return "it is a placeholder"
    return None


def _model(path: str, settings: tuple[Setting, ...], context: Context | None) -> tuple[Setting | None, str]:
    """The setting that names what is served, and what sort of source it is.

    Several paths are merged, a model and its projector for instance; among names the last wins, and a name wins over
    files (Ollama's `CreateRequest` and `server/create.go`).
    """
    found = [(setting, source_of(path, setting.value, context)) for setting in settings if setting.name == "model"]
    names = [pair for pair in found if pair[1] != "path"]
    if names:
        return names[-1]
    weights = [pair for pair in found if "mmproj" not in (pair[0].value or "").lower()]
    chosen = weights or found
    return chosen[0] if chosen else (None, "unknown")


def _vocabulary(path: str, model: Setting | None, source: str, context: Context | None) -> Vocabulary | None:
    name = model.value if model is not None else None
    if context is None or source != "path" or not name or not name.lower().endswith(".gguf") or "\0" in name:
        return None
    beside = os.path.join(os.path.dirname(path), name)  # noqa: PTH118, PTH120 (paths as findings name them)
    if not _exists(context, beside):
        return None
    from servelint.manifests.gguf import read_vocabulary

    return read_vocabulary(beside, context)


def source_of(path: str, model: str | None, context: Context | None = None) -> str:
    """What a FROM value is: `library` (a model of Ollama's or another registry), `hub`, `path`, or `unknown`.

    A file or folder of that name beside the Modelfile `path` makes a name a path (Ollama looks there first).
    """
    if model is None:
        return "unknown"
    lowered = model.lower()
    bare = lowered.removeprefix("https://").removeprefix("http://")
    if model in ("", ".", "..", "~") or model.startswith(("./", "../", "/", "~/", "\\")) or "\\" in model:
        return "path"
    on_hub = bare.startswith(_HUBS)
    # A hub's tag may be a file's name (`hf.co/user/repo:model.Q4_K_M.gguf`).
    if (lowered.endswith(_WEIGHTS) and not on_hub) or (model[1:3] == ":/" and model[0].isalpha()):
        return "path"
    if context is not None and "\0" not in model and len(model) < 4096:
        beside = os.path.join(os.path.dirname(path), model)  # noqa: PTH118, PTH120 (paths as findings name them)
        if _exists(context, beside):
            return "path"
    return "hub" if on_hub else "library"


def _exists(context: Context, path: str) -> bool:
    try:
        return context.exists(path)
    except (OSError, ValueError):
        # A name that no file system takes (lone surrogates, too long) is no file.
        return False


class ModelfileWriter:
    """Changes a Modelfile in its own style; all edits count in the text that was read."""

    __slots__ = ("_at", "_document", "_newline")

    def __init__(self, document: Modelfile, newline: str) -> None:
        self._document = document
        self._at = {instruction.span.start: instruction for instruction in document.instructions}
        self._newline = newline

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Add one PARAMETER line for each value: after the last of that name, else the last PARAMETER, else FROM.

        Stops that a line means already, and will hold once its remark, quotes or list are mended, are not added again;
        the answer is empty where nothing is left to add.
        """
        document = self._document
        own = [instruction for instruction in document.named(name) if instruction.is_parameter]
        wanted = [_text(value) for value in values]
        if name == "stop":
            meant = {stop for instruction in own for stop in meant_stops(instruction)}
            wanted = [value for value in wanted if value not in meant]
            if not wanted:
                return ()
        if document.problems:
            return Refusal(f"the file must first be readable: {document.problems[0].message}")
        anchor = self._anchor(own)
        if anchor is None:
            return Refusal("there is no FROM line to add it to")
        if anchor.quote and (trailing_comment(anchor) is not None or swallowed_instruction(anchor) is not None):
            return Refusal("the last line of its kind has swallowed the lines behind it; mend that one first")
        keyword, quote = "PARAMETER", '"' if name == "stop" else ""
        if own:
            keyword = anchor.keyword
            comment = trailing_comment(anchor)
            end = anchor.value_span.end if comment is None else comment
            written = document.text[anchor.value_span.start : end].strip(_BLANKS)
            mended = name == "stop" and not anchor.quote and meant_stops(anchor) != [written]
            quote = '"' if mended else anchor.quote
        indent = self._indent(anchor)
        lines = []
        for value in wanted:
            line = _written(f"{keyword} {name} ", name, None, value, quote)
            if line is None:
                return Refusal(f"{value!r} cannot be written in a Modelfile")
            lines.append(self._newline + indent + line)
        end = self._line_end(anchor.span.end)
        return (Edit(end, end, "".join(lines)),)

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put these values in the place of one, in double quotes, on a line each; without values remove the line."""
        return self._replace(setting, values, '"')

    def respell(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put these values in the place of one, in the quotes it has."""
        instruction = self._instruction(setting)
        return self._replace(setting, values, '"' if instruction is None else instruction.quote)

    def remove(self, setting: Setting) -> tuple[Edit, ...] | Refusal:
        """Take the whole line away."""
        return self._replace(setting, (), '"')

    def move_comment(self, setting: Setting, comment_start: int) -> tuple[Edit, ...] | Refusal:
        """Move the remark that begins at `comment_start` to a line of its own directly above the instruction."""
        instruction = self._instruction(setting)
        if instruction is None:
            return Refusal("the instruction is not in this file")
        refusal = self._elsewhere(instruction)
        if refusal is not None:
            return refusal
        text = self._document.text
        if not instruction.value_span.start < comment_start < instruction.value_span.end or text[comment_start] != "#":
            return Refusal("there is no comment")
        end = self._line_end(comment_start)
        start = comment_start
        while start > instruction.value_span.start and text[start - 1] in _BLANKS:
            start -= 1
        first = self._line_start(instruction.span.start)
        indent = self._indent(instruction)
        above = first + len(indent)
        comment = text[comment_start:end]
        return Edit(above, above, comment + self._newline + indent), Edit(start, end, "")

    def _replace(self, setting: Setting, values: Sequence[Any], quote: str) -> tuple[Edit, ...] | Refusal:
        instruction = self._instruction(setting)
        if instruction is None:
            return Refusal("the instruction is not in this file")
        refusal = self._elsewhere(instruction)
        if refusal is not None:
            return refusal
        if not instruction.closed or trailing_comment(instruction) is not None:
            return Refusal("the value has swallowed what stands behind it; mend that first")
        if not values:
            return (self._removal(instruction),)
        text = self._document.text
        # Everything before the value as it stands there, with its blanks.
        head = text[instruction.span.start : instruction.value_span.start]
        indent = self._indent(instruction)
        pieces = []
        for value in values:
            line = _written(head, instruction.name, instruction.role, _text(value), quote)
            if line is None:
                return Refusal(f"{value!r} cannot be written in a Modelfile")
            pieces.append(line)
        written = (self._newline + indent).join(pieces)[len(head) :]
        return (Edit(instruction.value_span.start, instruction.value_span.end, written),)

    def _removal(self, instruction: Instruction) -> Edit:
        text = self._document.text
        start, end = self._line_start(instruction.span.start), self._line_end(instruction.span.end)
        if end < len(text):
            end += 2 if text.startswith("\r\n", end) else 1
        elif start > 0:
            # The last line takes the newline before it along, so that a missing final newline stays missing.
            start -= 2 if text.endswith("\r\n", 0, start) else 1
        return Edit(start, end, "")

    def _anchor(self, own: list[Instruction]) -> Instruction | None:
        if own:
            return own[-1]
        instructions = self._document.instructions
        parameters = [instruction for instruction in instructions if instruction.is_parameter]
        if parameters:
            return parameters[-1]
        sources = self._document.named("model")
        return sources[-1] if sources else None

    def _instruction(self, setting: Setting) -> Instruction | None:
        instruction = self._at.get(setting.whole.start)
        fits = instruction is not None and instruction.span == setting.whole and instruction.name == setting.name
        return instruction if fits else None

    def _elsewhere(self, instruction: Instruction) -> Refusal | None:
        for problem in self._document.problems:
            if not instruction.span.covers(problem.span):
                return Refusal(f"the file must first be readable: {problem.message}")
        return None

    def _indent(self, instruction: Instruction) -> str:
        """The blanks before an instruction. A rune that does not print may stand between them and the keyword."""
        text = self._document.text
        start = end = self._line_start(instruction.span.start)
        while end < instruction.span.start and text[end] in _BLANKS:
            end += 1
        return text[start:end]

    def _line_start(self, position: int) -> int:
        text = self._document.text
        return max(text.rfind("\n", 0, position), text.rfind("\r", 0, position)) + 1

    def _line_end(self, position: int) -> int:
        text = self._document.text
        while position < len(text) and text[position] not in _NEWLINES:
            position += 1
        return position


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _written(head: str, name: str, role: str | None, value: str, quote: str) -> str | None:
    """The line with the value in these quotes, or in the first others that read back as this very value."""
    for mark in dict.fromkeys((quote, '"', '"""', "")):
        line = f"{head}{mark}{value}{mark}"
        found = read_modelfile(line).instructions
        if len(found) != 1 or not found[0].closed:
            continue
        if (found[0].name, found[0].role, found[0].value) == (name, role, value) and found[0].span.end == len(line):
            return line
    return None
