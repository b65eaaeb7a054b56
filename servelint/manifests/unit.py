"""systemd services, their drop-ins, and Podman's Quadlets that launch an engine.

Sources: systemd.service(5), systemd.exec(5), podman-systemd.unit(5).
"""

# Plain strings, as findings name files.
# ruff: noqa: PTH118, PTH119, PTH120
from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence

from servelint.files.context import Context
from servelint.formats.problem import Problem
from servelint.formats.shell_words import Word
from servelint.formats.unit_file import (
    UnitFile,
    UnitSetting,
    assignments_of,
    exec_commands,
    filled_words,
    read_unit,
    split_unit_words,
)
from servelint.manifests.containers import (
    servings_of_container,
    servings_of_words,
    version_setting,
    with_env_files,
    word_argument,
)
from servelint.manifests.env_file import settings_elsewhere
from servelint.manifests.serving import Argument, Manifest, NoWriter, Serving, Setting
from servelint.records import replace
from servelint.text import Embedded, Source, Span

_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")
_COMMANDS = ("ExecStart", "ExecStartPost")


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a unit; None where it launches no engine that servelint knows."""
    unit = read_unit(source.text)
    problems: list[Problem] = []
    if path.endswith(".container"):
        servings = list(_container(path, unit, context, problems))
    else:
        servings = list(_service(path, unit, context, problems))
    if not servings:
        return None
    return Manifest(
        path, "unit", source.text, "unit", tuple(servings), (*unit.problems, *problems), unit.comments,
        {"document": unit},
    )  # fmt: skip


def _service(path: str, unit: UnitFile, context: Context, problems: list[Problem]) -> Iterator[Serving]:
    environment, hidden = _environment(path, unit, "Service", context)
    below = _extended(path, context)
    if below is not None:
        earlier, more = _environment(path, below, "Service", context)
        here = {setting.name for setting in environment}
        environment = [setting for setting in earlier if setting.name not in here] + environment
        hidden += more
    for name in _COMMANDS:
        for setting in unit.all("Service", name):
            yield from _command(path, unit, setting, environment, hidden, problems, context)


def _extended(path: str, context: Context) -> UnitFile | None:
    """The unit that a drop-in (`name.service.d/x.conf`) adds to, where it lies beside the drop-in's folder."""
    folder = os.path.dirname(path)
    if not path.endswith(".conf") or not folder.endswith(".d"):
        return None
    source = context.read(folder[: -len(".d")])
    return None if source is None else read_unit(source.text)


def _command(
    path: str, unit: UnitFile, setting: UnitSetting, environment: Sequence[Setting], hidden: Sequence[str],
    problems: list[Problem], context: Context,
) -> Iterator[Serving]:  # fmt: skip
    value = setting.value
    commands, problem = exec_commands(value)
    variables = {entry.name: entry.value for entry in environment}
    for command in commands:
        words = _arguments(command.words, value, variables, command.expands)
        base = Serving(
            path, setting.name_span, "unit", "", _WRITER, environment=tuple(environment), hidden=tuple(hidden),
            facts={"document": unit},
        )  # fmt: skip
        found = list(servings_of_words(base, words))
        if found and problem is not None:
            problems.append(replace(problem, span=value.host_span(problem.span)))
        for serving in found:
            yield with_env_files(serving, context)


def _arguments(
    words: Sequence[Word], value: Embedded, variables: Mapping[str, str | None], expands: bool
) -> list[Argument]:
    return [_placed(word, value) for word in filled_words(words, variables, {}, expands)]


def _placed(word: Word, value: Embedded) -> Argument:
    inner = word.inner.within(value) if word.inner is not None else None
    return replace(word_argument(word), span=value.host_span(word.span), inner=inner, form="string")


def _environment(path: str, unit: UnitFile, section: str, context: Context) -> tuple[list[Setting], list[str]]:
    """The variables of `Environment=`, over which those of `EnvironmentFile=` win; and what was not read."""
    found: dict[str, Setting] = {}
    hidden: list[str] = []
    for setting in unit.all(section, "Environment"):
        for name, text, span in assignments_of(setting.value):
            place = setting.value.host_span(span)
            known = None if _has_specifier(text) else text.replace("%%", "%")
            reason = "a specifier in it is filled in when the unit starts" if known is None else None
            found[name] = Setting(name, known, place, place, f"Environment {name}", reason=reason)
    for setting in unit.all(section, "EnvironmentFile"):
        for entry in _of_file(path, setting, section, context, hidden):
            found[entry.name] = entry
    return list(found.values()), hidden


def _has_specifier(text: str) -> bool:
    return "%" in text.replace("%%", "")


def _of_file(path: str, setting: UnitSetting, section: str, context: Context, hidden: list[str]) -> Iterator[Setting]:
    """The variables of a file that lies beside the unit under the name by which it is named on the machine."""
    named = setting.value.text.lstrip("-").strip("\"'")
    source = context.read(os.path.join(os.path.dirname(path), os.path.basename(named)))
    if source is None or _has_specifier(os.path.basename(named)):
        hidden.append(f"the variables in {named} were not read")
        return
    dialect = "docker" if section == "Container" else "systemd"
    place = setting.value.host_span(Span(0, len(setting.value.text)))
    yield from settings_elsewhere(source.text, dialect, named, place)


def _container(path: str, unit: UnitFile, context: Context, problems: list[Problem]) -> Iterator[Serving]:
    named = unit.last("Container", "Image")
    if named is None:
        return
    environment, hidden = _environment(path, unit, "Container", context)
    place = named.value.host_span(Span(0, len(named.value.text)))
    text = named.value.text
    known = None if _has_specifier(text) else text
    image = Setting("image", known, place, place, "Image", data=text.partition("%")[0])
    around, _ = _environment(path, unit, "Service", context)
    variables = {setting.name: setting.value for setting in around}
    words = _words_of(unit.last("Container", "Exec"), variables, problems)
    entry = unit.last("Container", "Entrypoint")
    entry_point = None if entry is None else _words_of(entry, variables, problems)
    base = Serving(
        path, place, "unit", "", _WRITER, version_setting(image), image, environment=tuple(environment),
        hidden=tuple(hidden), facts={"document": unit},
    )  # fmt: skip
    yield from servings_of_container(base, entry_point, words)


def _words_of(
    setting: UnitSetting | None, variables: Mapping[str, str | None], problems: list[Problem]
) -> list[Argument]:
    """Podman puts the words into the `ExecStart=` that it writes: systemd fills in there what `[Service]` sets.

    The container's own variables are not known to it (containers/podman issue 25047).
    """
    if setting is None:
        return []
    value = setting.value
    words, problem = split_unit_words(value.text)
    if problem is not None:
        problems.append(replace(problem, span=value.host_span(problem.span)))
    return _arguments(words, value, variables, True)
