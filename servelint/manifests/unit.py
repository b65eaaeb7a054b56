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
from servelint.manifests.launchers import (
    ContainerOptions,
    behind_launchers,
    container_options,
    entry_point_words,
    without_launchers,
)
from servelint.manifests.serving import Argument, Manifest, NoWriter, Serving, Setting
from servelint.records import record, replace
from servelint.text import Embedded, Source, Span

_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")
_COMMANDS = ("ExecStart", "ExecStartPost")
_MOST_DROP_INS = 50


@record
class _Layer:
    """A unit, or a drop-in that adds to it: systemd reads them one after the other as if they were one file."""

    path: str
    unit: UnitFile
    is_own: bool = False


@record
class _Layers:
    """A unit with its drop-ins in the order in which they are read; one of them is the file in hand."""

    layers: tuple[_Layer, ...]

    @property
    def name(self) -> str:
        """The path of the unit that the drop-ins add to."""
        return self.layers[0].path

    def all(self, section: str, name: str) -> list[tuple[_Layer, UnitSetting]]:
        """The settings of that name in effect, each with the file it stands in."""
        found: list[tuple[_Layer, UnitSetting]] = []
        for layer in self.layers:
            for setting in layer.unit.settings:
                if (setting.section, setting.name) != (section, name):
                    continue
                if setting.value.text:
                    found.append((layer, setting))
                else:
                    found.clear()
        return found

    def last(self, section: str, name: str) -> tuple[_Layer, UnitSetting] | None:
        """The one in effect where only one can be."""
        found = self.all(section, name)
        return found[-1] if found else None


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a unit or a drop-in; None where it launches no engine that servelint knows.

    A command is told in the file that it stands in, and not at all where a drop-in takes it away.
    """
    unit = read_unit(source.text)
    problems: list[Problem] = []
    layers = _layers(path, unit, context)
    if layers.name.endswith(".container"):
        servings = list(_container(path, layers, context, problems))
    else:
        servings = list(_service(path, layers, context, problems))
    if not servings:
        return None
    return Manifest(
        path, "unit", source.text, "unit", tuple(servings), (*unit.problems, *problems), unit.comments,
        {"document": unit},
    )  # fmt: skip


def _layers(path: str, unit: UnitFile, context: Context) -> _Layers:
    """The file with what lies around it: `name.service` and the `name.service.d/*.conf` beside it."""
    own = _Layer(path, unit, True)
    folder = os.path.dirname(path)
    is_drop_in = path.endswith(".conf") and folder.endswith(".d")
    if path.endswith(".conf") and not is_drop_in:
        return _Layers((own,))
    base = folder[: -len(".d")] if is_drop_in else path
    found = [own] if not is_drop_in else [_Layer(base, _read(base, context) or UnitFile(""))]
    places = [os.path.join(f"{base}.d", name) for name in context.names(f"{base}.d") if name.endswith(".conf")]
    if is_drop_in and path not in places:
        places.append(path)
    for place in sorted(places)[:_MOST_DROP_INS]:
        other = unit if place == path else _read(place, context)
        if other is not None:
            found.append(own if place == path else _Layer(place, other))
    return _Layers(tuple(found))


def _read(path: str, context: Context) -> UnitFile | None:
    source = context.read(path)
    return None if source is None else read_unit(source.text)


def _service(path: str, layers: _Layers, context: Context, problems: list[Problem]) -> Iterator[Serving]:
    for name in _COMMANDS:
        for layer, setting in layers.all("Service", name):
            if layer.is_own:
                yield from _command(path, layers, layer.unit, setting, problems, context)


def _command(
    path: str, layers: _Layers, unit: UnitFile, setting: UnitSetting, problems: list[Problem], context: Context
) -> Iterator[Serving]:
    environment, hidden = _environment(layers, "Service", setting.name_span, context)
    value = setting.value
    commands, problem = exec_commands(value)
    variables = {entry.name: entry.value for entry in environment}
    for command in commands:
        words = _arguments(command.words, value, variables, command.expands)
        base = Serving(
            path, setting.name_span, "unit", "", _WRITER, environment=tuple(environment), hidden=tuple(hidden),
            facts={"document": unit},
        )  # fmt: skip
        found = list(servings_of_words(base, behind_launchers(words)))
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


def _environment(layers: _Layers, section: str, here: Span, context: Context) -> tuple[list[Setting], list[str]]:
    """The variables of `Environment=` and `EnvironmentFile=`; and what was not read.

    systemd lets the files win, podman the variables (`--env` over `--env-file`). What stands in another file than the
    one in hand is placed at `here`.
    """
    plain: dict[str, Setting] = {}
    of_files: dict[str, Setting] = {}
    hidden: list[str] = []
    for layer, setting in layers.all(section, "Environment"):
        for name, text, span in assignments_of(setting.value):
            place = setting.value.host_span(span) if layer.is_own else here
            known = None if _has_specifier(text) else text.replace("%%", "%")
            reason = "a specifier in it is filled in when the unit starts" if known is None else None
            origin = f"Environment {name}" if layer.is_own else f"{os.path.basename(layer.path)} Environment {name}"
            plain[name] = Setting(name, known, place, place, origin, reason=reason)
    for layer, setting in layers.all(section, "EnvironmentFile"):
        place = setting.value.host_span(Span(0, len(setting.value.text))) if layer.is_own else here
        for named in _file_names(setting, section):
            for entry in _of_file((layer.path, layers.name), named, place, section, context, hidden):
                of_files[entry.name] = entry
    winning, losing = (plain, of_files) if section == "Container" else (of_files, plain)
    return [*(losing[name] for name in losing if name not in winning), *winning.values()], hidden


def _has_specifier(text: str) -> bool:
    return "%" in text.replace("%%", "")


def _file_names(setting: UnitSetting, section: str) -> list[str]:
    """systemd takes one file, which may be missing where a `-` stands before it; podman takes words."""
    text = setting.value.text
    if section == "Container":
        return [word.text for word in split_unit_words(text)[0] if word.text]
    return [text.removeprefix("-").strip("\"'")]


def _of_file(
    units: Sequence[str], named: str, place: Span, section: str, context: Context, hidden: list[str]
) -> Iterator[Setting]:
    """The variables of a file that lies beside the unit under the name by which it is named on the machine."""
    name = os.path.basename(named)
    source = None
    if not _has_specifier(name):
        places = dict.fromkeys(os.path.join(os.path.dirname(unit), name) for unit in units)
        source = next((found for near in places if (found := context.read(near)) is not None), None)
    if source is None:
        hidden.append(f"the variables in {named} were not read")
        return
    dialect = "docker" if section == "Container" else "systemd"
    yield from settings_elsewhere(source.text, dialect, named, place)


def _container(path: str, layers: _Layers, context: Context, problems: list[Problem]) -> Iterator[Serving]:
    named, command = layers.last("Container", "Image"), layers.last("Container", "Exec")
    if named is None or not _is_teller(layers, named[0], command[0] if command is not None else named[0]):
        return
    own = next(setting for layer, setting in (named, command or named) if layer.is_own)
    here = own.value.host_span(Span(0, len(own.value.text)))
    environment, hidden = _environment(layers, "Container", here, context)
    around, _ = _environment(layers, "Service", here, context)
    variables = {setting.name: setting.value for setting in around}
    options, more = _options(layers, here, variables, problems)
    given = {setting.name for setting in options.environment}
    environment = [setting for setting in environment if setting.name not in given]
    image = _image(layers, *named, here, context)
    entry_point = options.entry_point
    if entry_point is None:
        entry_point = _entry_point(layers, here, variables, problems)
    base = Serving(
        path, here, "unit", "", _WRITER, version_setting(image), image,
        environment=(*environment, *options.environment), hidden=(*hidden, *more),
        facts={"document": next(layer.unit for layer in layers.layers if layer.is_own), "env_files": options.env_files},
    )  # fmt: skip
    words: Sequence[Argument] = [] if command is None else _words_of(*command, here, variables, problems)
    if entry_point is not None:
        entry_point, words = without_launchers(entry_point, words)
    for serving in servings_of_container(base, entry_point, words):
        yield with_env_files(serving, context)


def _is_teller(layers: _Layers, image: _Layer, command: _Layer) -> bool:
    """Whether the container is told in the file in hand: where its words stand, if that file is known to start one."""
    return command.is_own if command in (image, layers.layers[0]) else image.is_own


def _image(layers: _Layers, layer: _Layer, setting: UnitSetting, here: Span, context: Context) -> Setting:
    place = setting.value.host_span(Span(0, len(setting.value.text))) if layer.is_own else here
    text = setting.value.text
    if text.endswith((".image", ".build")):
        # The image of another Quadlet: that names it.
        other = _read(os.path.join(os.path.dirname(layers.name), text), context)
        source = other.last("Image", "Image") if other is not None else None
        text = source.value.text if source is not None else "%"
    known = None if _has_specifier(text) else text
    return Setting("image", known, place, place, "Image", data=text.partition("%")[0])


def _options(
    layers: _Layers, here: Span, variables: Mapping[str, str | None], problems: list[Problem]
) -> tuple[ContainerOptions, list[str]]:
    """What `PodmanArgs=` says: the words stand before the image, behind what the other settings make."""
    words: list[Argument] = []
    for layer, setting in layers.all("Container", "PodmanArgs"):
        words += _words_of(layer, setting, here, variables, problems)
    options = container_options(words, 0, takes_list=True)
    if options is None:
        return ContainerOptions(None, (), (), 0), ["some of PodmanArgs= is not known"]
    if not options.is_entry_point_known:
        program = Argument(None, here, "what PodmanArgs= names as the entry point is not known")
        return replace(options, entry_point=(program,)), []
    return options, []


def _entry_point(
    layers: _Layers, here: Span, variables: Mapping[str, str | None], problems: list[Problem]
) -> tuple[Argument, ...] | None:
    """The words of `Entrypoint=`: a JSON list, or what is meant as the words of one.

    Podman takes the value for one program's name where it is no list.
    """
    found = layers.last("Container", "Entrypoint")
    if found is None:
        return None
    layer, setting = found
    value = setting.value
    if value.text.startswith("["):
        place = value.host_span(Span(0, len(value.text))) if layer.is_own else here
        whole = Argument(value.text, place, inner=value if layer.is_own else None, literal=layer.is_own, form="string")
        listed = entry_point_words(whole, takes_list=True)
        if listed != (whole,):
            return listed
    return tuple(_words_of(layer, setting, here, variables, problems))


def _words_of(
    layer: _Layer, setting: UnitSetting, here: Span, variables: Mapping[str, str | None], problems: list[Problem]
) -> list[Argument]:
    """Podman puts the words into the `ExecStart=` that it writes: systemd fills in there what `[Service]` sets.

    The container's own variables are not known to it (containers/podman issue 25047).
    """
    value = setting.value
    words, problem = split_unit_words(value.text)
    if problem is not None and layer.is_own:
        problems.append(replace(problem, span=value.host_span(problem.span)))
    found = _arguments(words, value, variables, True)
    if layer.is_own:
        return found
    return [replace(word, span=here, inner=None, literal=False) for word in found]
