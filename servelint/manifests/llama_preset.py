"""llama.cpp's INI files: presets of a router (`--models-preset`) and its `config.ini`."""

# Plain strings, as findings name files.
# ruff: noqa: PTH119
from __future__ import annotations

import os.path
from collections.abc import Sequence
from typing import Any

from servelint.files.context import Context
from servelint.formats.ini import IniFile, IniSetting, read_ini
from servelint.manifests.serving import Manifest, Refusal, Serving, Setting
from servelint.records import record
from servelint.text import Edit, Source, Span

_COMMON = ("", "*", "default")
# Keys that only llama.cpp's programs have among those that write such files.
_OWN_KEYS = frozenset(
    {
        "ctx-size", "n-predict", "n-gpu-layers", "hf-repo", "hf-file", "flash-attn", "model", "mmproj", "jinja", "hf",
        "reverse-prompt", "override-kv", "ignore-eos", "chat-template", "chat-template-file", "ngl", "predict",
        "gpu-layers", "load-on-startup",
    }
)  # fmt: skip


@record
class PresetWriter:
    """Changes values of an INI file in their places."""

    document: IniFile

    def add(self, name: str, values: Sequence[Any]) -> Refusal:
        """Refuse: what ends generation is inside the GGUF."""
        return Refusal("no option of this server names what ends generation by default; it is inside the GGUF")

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Another value in the place of a setting's."""
        text = str(values[0]) if len(values) == 1 else ""
        if not text or any(mark in text for mark in "\n#;"):
            return Refusal("it cannot be written here: `#` and `;` begin a remark")
        return (Edit(setting.span.start, setting.span.end, text),)


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read an INI file; None where it is none of llama.cpp's."""
    document = read_ini(source.text)
    names = {setting.name for setting in document.settings}
    if not any(name.startswith("LLAMA_ARG_") for name in names) and len(names & _OWN_KEYS) < 1:
        return None
    is_config = os.path.basename(path) == "config.ini"
    common = [setting for setting in document.settings if setting.section in _COMMON]
    sections = [section for section in document.sections if section.name not in _COMMON]
    servings = []
    for section in sections if not is_config else ():
        own = [setting for setting in document.settings if setting.section == section.name]
        servings.append(_serving(path, document, section.span, [*common, *own], section.name, is_config))
    if not servings and common:
        servings.append(_serving(path, document, common[0].whole, common, "", is_config))
    if not servings:
        return None
    return Manifest(
        path, "llama-preset", source.text, "ini", tuple(servings), document.problems, document.comments,
        {"document": document},
    )  # fmt: skip


def _serving(
    path: str, document: IniFile, span: Span, entries: Sequence[IniSetting], section: str, is_config: bool
) -> Serving:
    settings = tuple(_setting(entry) for entry in entries if entry.name != "version")
    facts = {"document": document, "section": section, "is_config": is_config}
    return Serving(path, span, "llama-preset", "llama.cpp", PresetWriter(document), settings=settings, facts=facts)


def _setting(entry: IniSetting) -> Setting:
    place = entry.span if entry.value else entry.name_span
    return Setting(entry.name, entry.value, place, entry.whole, entry.name, data=entry)
