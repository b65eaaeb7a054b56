"""Which rules speak where, and how loud: by the nearest configuration of each file, and by the command line over it."""

# Plain strings: a configuration is looked for in every folder of a walk.
# ruff: noqa: PTH100, PTH109, PTH110, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from servelint.checks.policy import Policy
from servelint.records import record, replace

if TYPE_CHECKING:
    from servelint.files.walk import Patterns

FILE_NAMES = (".servelint.yaml", ".servelint.yml")
PROFILES = ("default", "strict")
FAIL_ON = ("note", "warning", "error")
SEVERITIES = ("off", "note", "warning", "error")
SIZE_LIMIT = 1024 * 1024


class ConfigurationError(Exception):
    """A configuration that cannot be taken; the message begins with file and line."""


@record
class Layer:
    """What one place says of the rules: the file's top, one entry of its `paths`, or the command line.

    `covers` is None where it holds for every path. An empty `select` leaves the choice of the layer below.
    """

    profile: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, str] | None = None
    parameters: Mapping[str, Mapping[str, Any]] | None = None
    covers: Patterns | None = None


@record
class PathIgnore:
    """A rule that says nothing on some paths, and why."""

    covers: Patterns
    rule: str
    reason: str


@record
class ChartValues:
    """Files of values that are laid over a chart's own, as `helm -f` lays them: the last one wins."""

    covers: Patterns
    files: tuple[str, ...]


@record
class Configuration:
    """One configuration file, or the absence of one. Its patterns are relative to `folder`, an absolute path."""

    folder: str
    path: str | None = None
    layers: tuple[Layer, ...] = ()
    fail_on: str | None = None
    exclude: Patterns = ()
    ignores: tuple[PathIgnore, ...] = ()
    baseline: str | None = None
    charts: tuple[ChartValues, ...] = ()

    def chart_values(self, chart: str) -> tuple[str, ...]:
        """The files of values for a chart, given by its folder's path relative to the working directory."""
        if not self.charts:
            return ()
        from servelint.files.walk import covers

        relative = self._relative(chart)
        return tuple(file for entry in self.charts if covers(entry.covers, relative) for file in entry.files)

    def policy(self, path: str, respect_ignores: bool = True) -> Policy:
        """What holds for one file, given by its path relative to the working directory."""
        policy = Policy(respect_ignores=respect_ignores)
        if self.path is None:
            return policy
        from servelint.files.walk import covers

        relative = self._relative(path)
        for layer in self.layers:
            if layer.covers is None or covers(layer.covers, relative):
                policy = laid_over(policy, layer)
        if respect_ignores:
            ignored = tuple(ignore.rule for ignore in self.ignores if covers(ignore.covers, relative))
            policy = laid_over(policy, Layer(ignore=ignored))
        return policy

    @property
    def is_uniform(self) -> bool:
        """Whether every file gets the same policy."""
        return not self.ignores and all(layer.covers is None for layer in self.layers)

    def excludes(self, path: str, is_folder: bool) -> bool:
        """Whether a walk leaves this entry out; the folders above it must have been asked before."""
        from servelint.files.walk import matches

        return bool(self.exclude) and bool(matches(self.exclude, self._relative(path), is_folder))

    def _relative(self, path: str) -> str:
        return os.path.relpath(os.path.abspath(path), self.folder)


class Configurations:
    """The configuration of every file: the nearest one upward from it, or the one that was named; and the command line.

    The search ends at a repository's root (where `.git` is) or the file system's. `choice` is laid over all of them.
    """

    def __init__(self, choice: Layer | None = None, named: str | None = None, respect_ignores: bool = True) -> None:
        self._choice = choice
        self._respect_ignores = respect_ignores
        self._found: dict[str, Configuration] = {}
        self._policies: dict[str, Policy] = {}
        # The patterns of a file that was named hold from the working directory on: it may lie anywhere.
        self._named: Configuration | None = None
        if named is not None:
            from servelint.configuration_reader import read_configuration

            self._named = read_configuration(named, os.getcwd())

    def of(self, path: str) -> Configuration:
        """The configuration of a file. Raises `ConfigurationError`."""
        return self.in_folder(os.path.dirname(path) or ".")

    def in_folder(self, folder: str) -> Configuration:
        """The configuration of the files in a folder. Raises `ConfigurationError`."""
        if self._named is not None:
            return self._named
        found = self._found.get(folder)
        if found is None:
            found = self._found[folder] = self._search(os.path.abspath(folder))
        return found

    def policy(self, path: str) -> Policy:
        """What holds for a file, the command line included. Raises `ConfigurationError`."""
        folder = os.path.dirname(path) or "."
        policy = self._policies.get(folder)
        if policy is not None:
            return policy
        configuration = self.in_folder(folder)
        policy = configuration.policy(path, self._respect_ignores)
        if self._choice is not None:
            policy = laid_over(policy, self._choice)
        if configuration.is_uniform:
            self._policies[folder] = policy
        return policy

    def _search(self, folder: str) -> Configuration:
        passed: list[str] = []
        place = folder
        while True:
            found = self._found.get(place) or _read_in(place)
            if found is None:
                passed.append(place)
                above = os.path.dirname(place)
                if above != place and not os.path.lexists(os.path.join(place, ".git")):
                    place = above
                    continue
                found = Configuration(place)
            for each in (*passed, place):
                self._found[each] = found
            return found


def laid_over(policy: Policy, layer: Layer) -> Policy:
    """The policy with a layer over it: whatever the layer says wins, however short the selector it says it with."""
    if layer.profile is not None:
        policy = replace(policy, profile=layer.profile)
    if layer.select or layer.ignore:
        policy = _chosen_anew(policy, layer)
    if layer.severities:
        kept = {
            rule: severity
            for rule, severity in policy.severities.items()
            if not any(other == "ALL" or rule.startswith(other) for other in layer.severities)
        }
        policy = replace(policy, severities={**kept, **layer.severities})
    if layer.parameters:
        parameters = {rule: dict(values) for rule, values in policy.parameters.items()}
        for rule, values in layer.parameters.items():
            parameters.setdefault(rule, {}).update(values)
        policy = replace(policy, parameters=parameters)
    return policy


def _chosen_anew(policy: Policy, layer: Layer) -> Policy:
    if not policy.select and not policy.ignore and not policy.severities:
        return replace(policy, select=layer.select, ignore=layer.ignore)
    from servelint.checks.catalogue import INDEX_FILE, is_selected
    from servelint.data import load

    wanted = Policy(select=layer.select, ignore=layer.ignore)
    untouched = Policy(select=("ALL",), ignore=layer.ignore)
    codes: list[str] = []
    severities = dict(policy.severities)
    for code in load(INDEX_FILE):
        if layer.select:
            if not is_selected(code, wanted):
                continue
            if _is_off(code, policy):
                # To select a rule brings it back; a word that is no severity leaves it its own.
                severities[code] = "own"
        elif not is_selected(code, policy) or not is_selected(code, untouched):
            continue
        codes.append(code)
    if not codes:
        return replace(policy, select=(), ignore=("ALL",))
    return replace(policy, select=tuple(codes), ignore=(), severities=severities)


def _is_off(code: str, policy: Policy) -> bool:
    from servelint.checks.catalogue import severity_of

    return severity_of(code, "note", policy) is None


def _read_in(folder: str) -> Configuration | None:
    """The configuration in one folder; its reader is only imported where there is something to read."""
    for name in FILE_NAMES:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            from servelint.configuration_reader import read_configuration

            return read_configuration(_shown(path))
    path = os.path.join(folder, "pyproject.toml")
    if not os.path.exists(path):
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (as above)
            data = file.read(SIZE_LIMIT)
    except OSError:
        return None
    if b"tool.servelint" not in data:
        return None
    from servelint.configuration_reader import has_table, read_configuration

    return read_configuration(_shown(path)) if has_table(_shown(path), data) else None


def _shown(path: str) -> str:
    relative = os.path.relpath(path)
    return path if len(relative) > len(path) else relative


def check_selectors(selectors: Iterable[str]) -> None:
    """Raise `ConfigurationError` for a word that can choose no rule, naming the nearest known ones."""
    from servelint.checks.catalogue import is_selector, nearest_rules

    for selector in selectors:
        if not is_selector(selector):
            near = nearest_rules(selector)
            hint = f"; did you mean {' or '.join(near)}?" if near else "; see `servelint rules` for the list"
            raise ConfigurationError(f"there is no rule {selector!r}{hint}")
