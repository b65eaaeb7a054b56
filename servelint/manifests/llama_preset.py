"""llama.cpp's INI files: presets of a router (`--models-preset`) and its `config.ini`."""

# Plain strings, as findings name files.
# ruff: noqa: PTH119
from __future__ import annotations

import os.path
from bisect import bisect_right
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
# What names the model among a section's keys.
_MODEL_KEYS = frozenset(
    {
        "m", "model", "hf", "hfr", "hf-repo", "mu", "model-url", "dr", "docker-repo", "LLAMA_ARG_MODEL",
        "LLAMA_ARG_HF_REPO", "LLAMA_ARG_MODEL_URL", "LLAMA_ARG_DOCKER_REPO",
    }
)  # fmt: skip

# A section without effect: its name, its header, and the header of that name that counts.
Dropped = tuple[str, Span, Span]


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
    settings, dropped = _counting(document)
    common = [setting for setting in settings if setting.section in _COMMON]
    sections = {section.name: section.span for section in document.sections if section.name not in _COMMON}
    held: dict[str, list[IniSetting]] = {}
    for setting in settings:
        held.setdefault(setting.section, []).append(setting)
    servings: list[Serving] = []
    for name, span in sections.items() if not is_config else ():
        told = tuple(entry for entry in dropped if entry[0] == name or (not servings and entry[0] in _COMMON))
        servings.append(_serving(path, document, span, [*common, *held.get(name, ())], name, is_config, told))
    if not servings and common:
        told = tuple(entry for entry in dropped if entry[0] in _COMMON)
        servings.append(_serving(path, document, common[0].whole, common, "", is_config, told))
    if not servings:
        return None
    return Manifest(
        path, "llama-preset", source.text, "ini", tuple(servings), document.problems, document.comments,
        {"document": document},
    )  # fmt: skip


def _counting(document: IniFile) -> tuple[list[IniSetting], tuple[Dropped, ...]]:
    """The settings that count, and the sections that do not: a header that comes again begins its section anew."""
    last = {section.name: section.span for section in document.sections}
    earlier = [section for section in document.sections if section.span != last[section.name]]
    if not earlier:
        return list(document.settings), ()
    starts = [section.span.start for section in document.sections]
    kept: list[IniSetting] = []
    lost: set[Span] = set()
    for setting in document.settings:
        index = bisect_right(starts, setting.whole.start) - 1
        header = document.sections[index].span if index >= 0 else None
        if header is None or header == last[setting.section]:
            kept.append(setting)
        else:
            lost.add(header)
    dropped = tuple((entry.name, entry.span, last[entry.name]) for entry in earlier if entry.span in lost)
    return kept, dropped


def _serving(
    path: str, document: IniFile, span: Span, entries: Sequence[IniSetting], section: str, is_config: bool,
    dropped: tuple[Dropped, ...],
) -> Serving:  # fmt: skip
    settings = tuple(_setting(entry) for entry in entries if entry.name != "version")
    facts = {"document": document, "section": section, "is_config": is_config, "dropped": dropped}
    model = None
    if "/" in section and not any(setting.name in _MODEL_KEYS for setting in settings):
        # A section that is named after a repository serves it.
        model = Setting("section", section, span, span, f"[{section}]")
    return Serving(
        path, span, "llama-preset", "llama.cpp", PresetWriter(document), model=model, settings=settings, facts=facts
    )


def _setting(entry: IniSetting) -> Setting:
    place = entry.span if entry.value else entry.name_span
    return Setting(entry.name, entry.value, place, entry.whole, entry.name, data=entry)
