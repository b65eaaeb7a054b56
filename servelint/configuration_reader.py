"""Reads `.servelint.yaml`, `.servelint.yml` or `[tool.servelint]` of pyproject.toml.

The checker is small and strict, and says file and line; `schemas/configuration.schema.json` describes the same language
for editors.
"""

# Plain strings, as in the configuration.
# ruff: noqa: PTH100, PTH118, PTH120
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from servelint.configuration import (
    FAIL_ON,
    PROFILES,
    SEVERITIES,
    SIZE_LIMIT,
    ChartValues,
    Configuration,
    ConfigurationError,
    Layer,
    PathIgnore,
    check_selectors,
)
from servelint.files.walk import Patterns, compile_patterns

# Aliases make a small file a large tree; no configuration that a person writes has as many values as this.
_MOST_NODES = 20_000
_MOST_DEPTH = 20


def read_configuration(path: str, folder: str | None = None) -> Configuration:
    """The configuration in one file, whose patterns hold from `folder` on (its own where None).

    Raises `ConfigurationError` where it cannot be read or says what no configuration can.
    """
    from servelint.files.context import UnreadableError, read_bytes

    try:
        data = read_bytes(path, SIZE_LIMIT)
    except UnreadableError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    root = _read_toml(path, data) if path.endswith(".toml") else _read_yaml(path, data)
    if root is None:
        raise ConfigurationError(f"{path}: has no [tool.servelint]")
    return _Checker(path).configuration(root, os.path.abspath(folder or os.path.dirname(path) or "."))


def has_table(path: str, data: bytes) -> bool:
    """Whether a pyproject.toml has a `[tool.servelint]`. Raises `ConfigurationError` where it is not TOML."""
    return _read_toml(path, data) is not None


class _Node(NamedTuple):
    """A value and its 1-based line: a scalar, a list of nodes, or key, key's line and node for every entry.

    `text` is a scalar as it is written: YAML 1.1 reads `off` as false.
    """

    value: Any
    line: int
    text: str = ""


class _Entry(NamedTuple):
    key: str
    line: int
    node: _Node


class _Mapping(list[_Entry]):
    """The entries of a mapping, in order."""


def _read_yaml(path: str, data: bytes) -> _Node:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        root = yaml.compose(data, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}" if mark is not None else ""
        raise ConfigurationError(f"{path}{where}: {error.problem or error.context or 'not YAML'}") from error
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not YAML: {str(error).splitlines()[0]}") from error
    if root is None:
        return _Node(_Mapping(), 1)
    return _of_yaml(path, root, [0], 0)


def _of_yaml(path: str, node: Any, count: list[int], depth: int) -> _Node:
    import yaml

    line = node.start_mark.line + 1
    count[0] += 1
    if count[0] > _MOST_NODES or depth > _MOST_DEPTH:
        raise ConfigurationError(f"{path}:{line}: too large or too deep for a configuration")
    if isinstance(node, yaml.SequenceNode):
        return _Node([_of_yaml(path, item, count, depth + 1) for item in node.value], line)
    if isinstance(node, yaml.MappingNode):
        entries = _Mapping()
        for key, value in node.value:
            text = key.value if isinstance(key, yaml.ScalarNode) else ""
            entries.append(_Entry(text, key.start_mark.line + 1, _of_yaml(path, value, count, depth + 1)))
        return _Node(entries, line)
    try:
        value = yaml.constructor.SafeConstructor().construct_object(node)
    except Exception as error:  # a tag of its own, a date in month 13
        raise ConfigurationError(f"{path}:{line}: {node.value!r} is no plain value") from error
    return _Node(value, line, node.value)


def _read_toml(path: str, data: bytes) -> _Node | None:
    import tomllib

    try:
        text = data.decode()
        document = tomllib.loads(text)
    except (UnicodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path}: {error}") from error
    tool = document.get("tool")
    table = tool.get("servelint") if isinstance(tool, dict) else None
    if table is None:
        return None
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines, 1) if "tool.servelint" in line), 1)
    return _of_toml(table, start, lines)


def _of_toml(value: Any, line: int, lines: Sequence[str]) -> _Node:
    """Nodes of a TOML value. tomllib keeps no places, so a key's line is the next one that begins with it."""
    if isinstance(value, list):
        return _Node([_of_toml(item, line, lines) for item in value], line)
    if not isinstance(value, dict):
        return _Node(value, line, str(value))
    entries = _Mapping()
    for key, item in value.items():
        place = next((number for number in range(line, len(lines) + 1) if _names(lines[number - 1], key)), line)
        entries.append(_Entry(key, place, _of_toml(item, place, lines)))
    return _Node(entries, line)


def _names(line: str, key: str) -> bool:
    bare = line.lstrip(" \t[{")
    if bare.startswith(("tool.servelint.", '"')):
        bare = bare.removeprefix("tool.servelint.").lstrip('"')
    return bare.startswith(key) and not bare[len(key) : len(key) + 1].replace("-", "a").replace("_", "a").isalnum()


class _Checker:
    """Turns nodes into a configuration, or says at which line they cannot be one."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _refuse(self, line: int, message: str) -> ConfigurationError:
        return ConfigurationError(f"{self._path}:{line}: {message}")

    def configuration(self, root: _Node, folder: str) -> Configuration:
        entries = self._entries(root, "the configuration", _KEYS)
        own = os.path.abspath(os.path.dirname(self._path) or ".")
        baseline = self._text(entries["baseline"], "baseline") if "baseline" in entries else None
        return Configuration(
            folder,
            self._path,
            (self._layer(entries), *self._list(entries.get("paths"), "paths", self._path_layer)),
            self._choice(entries["fail-on"], "fail-on", FAIL_ON) if "fail-on" in entries else None,
            compile_patterns(self._texts(entries.get("exclude"), "exclude")),
            tuple(self._list(entries.get("ignores"), "ignores", self._path_ignore)),
            os.path.join(own, baseline) if baseline is not None else None,
            tuple(self._list(entries.get("charts"), "charts", self._chart)),
        )

    def _layer(self, entries: Mapping[str, _Node], patterns: Patterns | None = None) -> Layer:
        severities: dict[str, str] = {}
        parameters: dict[str, dict[str, Any]] = {}
        if "rules" in entries:
            self._rules(entries["rules"], severities, parameters)
        return Layer(
            self._choice(entries["profile"], "profile", PROFILES) if "profile" in entries else None,
            self._selectors(entries.get("select"), "select"),
            self._selectors(entries.get("ignore"), "ignore"),
            severities or None,
            parameters or None,
            patterns,
        )

    def _path_layer(self, node: _Node) -> Layer:
        entries = self._entries(node, "an entry of paths", _PATH_KEYS)
        return self._layer(entries, self._patterns(node, entries, "an entry of paths"))

    def _path_ignore(self, node: _Node) -> PathIgnore:
        entries = self._entries(node, "an entry of ignores", _IGNORE_KEYS)
        for key in ("rule", "reason"):
            if key not in entries:
                raise self._refuse(node.line, f"an entry of ignores needs {key}")
        rule = self._text(entries["rule"], "rule")
        self._known_selector(rule, entries["rule"].line)
        return PathIgnore(
            self._patterns(node, entries, "an entry of ignores"), rule, self._text(entries["reason"], "reason")
        )

    def _chart(self, node: _Node) -> ChartValues:
        entries = self._entries(node, "an entry of charts", _CHART_KEYS)
        files = self._texts(entries.get("values"), "values")
        if not files:
            raise self._refuse(node.line, "an entry of charts needs values")
        own = os.path.dirname(self._path)
        return ChartValues(
            self._patterns(node, entries, "an entry of charts"), tuple(os.path.join(own, file) for file in files)
        )

    def _patterns(self, node: _Node, entries: Mapping[str, _Node], what: str) -> Patterns:
        if "path" not in entries:
            raise self._refuse(node.line, f"{what} needs path")
        texts = self._texts(entries["path"], "path")
        if not texts:
            raise self._refuse(entries["path"].line, "path is empty")
        return compile_patterns(texts)

    def _rules(self, node: _Node, severities: dict[str, str], parameters: dict[str, dict[str, Any]]) -> None:
        from servelint.checks.catalogue import INDEX_FILE, code_of
        from servelint.data import load

        index = load(INDEX_FILE)
        for rule, line, settings in self._pairs(node, "rules"):
            self._known_selector(rule, line)
            code = code_of(rule)
            defaults = index[code][3] if code is not None else {}
            known = ("severity", *defaults)
            for name, value in self._entries(settings, f"rules.{rule}", known).items():
                if name == "severity":
                    severities[code or rule] = self._choice(value, f"rules.{rule}.severity", SEVERITIES)
                else:
                    text = f"rules.{rule}.{name}"
                    parameters.setdefault(str(code), {})[name] = self._parameter(value, text, defaults[name])

    def _parameter(self, node: _Node, what: str, default: Any) -> Any:
        value = [item.value for item in node.value] if type(node.value) is list else node.value
        allowed = (int, float) if isinstance(default, float) else (type(default),)
        if default is None or type(value) in allowed:
            return value
        raise self._refuse(node.line, f"{what} must be {_KINDS.get(allowed[-1], 'something else')}, not {_said(node)}")

    def _entries(self, node: _Node, what: str, known: Sequence[str]) -> dict[str, _Node]:
        entries: dict[str, _Node] = {}
        for key, line, value in self._pairs(node, what):
            if key not in known:
                raise self._refuse(line, f"unknown key {key!r} in {what}{_nearest(key, known)}")
            entries[key] = value
        return entries

    def _pairs(self, node: _Node, what: str) -> _Mapping:
        if not isinstance(node.value, _Mapping):
            raise self._refuse(node.line, f"{what} must be a mapping, not {_said(node)}")
        seen: set[str] = set()
        for entry in node.value:
            if entry.key in seen:
                raise self._refuse(entry.line, f"{entry.key!r} is given twice")
            seen.add(entry.key)
        return node.value

    def _list(self, node: _Node | None, what: str, read: Callable[[_Node], Any]) -> list[Any]:
        if node is None:
            return []
        if type(node.value) is not list:
            raise self._refuse(node.line, f"{what} must be a list, not {_said(node)}")
        return [read(item) for item in node.value]

    def _text(self, node: _Node, what: str) -> str:
        if not isinstance(node.value, str) or not node.value.strip():
            raise self._refuse(node.line, f"{what} must be a text, not {_said(node)}")
        return node.value

    def _texts(self, node: _Node | None, what: str) -> list[str]:
        if node is not None and isinstance(node.value, str):
            return [self._text(node, what)]
        return self._list(node, what, lambda item: self._text(item, f"an entry of {what}"))

    def _choice(self, node: _Node, what: str, choices: Sequence[str]) -> str:
        text = node.text.lower() if isinstance(node.value, bool) else node.value
        if text == "false":
            text = "off"
        if isinstance(text, str) and text in choices:
            return text
        raise self._refuse(node.line, f"{what} must be one of {', '.join(choices)}, not {_said(node)}")

    def _selectors(self, node: _Node | None, what: str) -> tuple[str, ...]:
        selectors = self._texts(node, what)
        for place, selector in enumerate(selectors):
            line = node.value[place].line if node is not None and type(node.value) is list else node.line if node else 1
            self._known_selector(selector, line)
        return tuple(selectors)

    def _known_selector(self, selector: str, line: int) -> None:
        try:
            check_selectors([selector])
        except ConfigurationError as error:
            raise self._refuse(line, str(error)) from error


def _nearest(key: str, known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(key[:80].replace("_", "-"), known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(known)}"


def _said(node: _Node) -> str:
    if isinstance(node.value, _Mapping):
        return "a mapping"
    if isinstance(node.value, list):
        return "a list"
    return "nothing" if node.value is None else repr(node.value)[:60]


_KEYS = ("profile", "select", "ignore", "fail-on", "exclude", "rules", "paths", "ignores", "baseline", "charts")
_PATH_KEYS = ("path", "profile", "select", "ignore", "rules")
_CHART_KEYS = ("path", "values")
_IGNORE_KEYS = ("path", "rule", "reason")
_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", list: "a list"}
