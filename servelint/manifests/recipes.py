"""Shell lines in files of other programs: Makefiles, justfiles, Procfiles, SkyPilot tasks."""

# Plain strings, as findings name files.
# ruff: noqa: PTH119
from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping

from servelint.files.context import Context
from servelint.formats.filling import Filling
from servelint.formats.problem import Comment
from servelint.formats.yaml import Node, embedded, entries, get, read_yaml
from servelint.manifests.containers import servings_of_words, with_env_files
from servelint.manifests.serving import Argument, Manifest, NoWriter, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import record
from servelint.text import Embedded, Source, Span, verbatim

_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
# Make's assignments, the longest first.
_ASSIGNMENTS = ("::=", ":=", "?=", "+=", "=")


@record
class LineFile:
    """A file of lines; `text` is all that a proof needs to know of it."""

    text: str


def read_lines(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a Makefile, justfile or Procfile; None where no recipe of it launches a known engine."""
    name = os.path.basename(path).lower()
    if name.startswith("procfile"):
        scripts = list(_of_procfile(source.text))
    elif "justfile" in name or name.endswith(".just"):
        scripts = list(_of_justfile(source.text))
    else:
        scripts = list(_of_makefile(source.text))
    document = LineFile(source.text)
    servings: list[Serving] = []
    for script in scripts:
        base = Serving(path, script.host_span(Span(0, 0)), "recipes", "", _WRITER, facts={"document": document})
        for serving in servings_of_words(base, _shell(script)):
            servings.append(with_env_files(serving, context))
    if not servings:
        return None
    comments = tuple(_comments(source.text))
    return Manifest(
        path, "recipes", source.text, "lines", tuple(servings), (), comments, {"document": document}
    )  # fmt: skip


def _shell(script: Embedded) -> list[Argument]:
    place = script.host_span(Span(0, 0))
    whole = script.host_span(Span(0, len(script.text)))
    return [
        Argument("sh", place, literal=False), Argument("-c", place, literal=False),
        Argument(script.text, whole, inner=script, form="string"),
    ]  # fmt: skip


def _comments(text: str) -> Iterator[Comment]:
    position = 0
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("#"):
            start = position + line.index("#")
            span = Span(start, start + len(stripped))
            following = text.find("\n", span.end)
            end = text.find("\n", following + 1) if following >= 0 else -1
            yield Comment(span, stripped, Span(span.end, len(text) if end < 0 else end))
        position += len(line) + 1


def _of_procfile(text: str) -> Iterator[Embedded]:
    position = 0
    for line in text.split("\n"):
        name, colon, command = line.partition(":")
        if colon and name and all(letter in _NAME for letter in name):
            start = position + len(name) + 1 + len(command) - len(command.lstrip())
            yield verbatim(command.strip(), start)
        position += len(line) + 1


def _joined(text: str, start: int) -> tuple[int, int]:
    """The end of a logical line, continued by backslashes, and where the next one begins."""
    position = start
    while True:
        end = text.find("\n", position)
        if end < 0:
            return len(text), len(text)
        stop = end
        while stop > position and text[stop - 1] == "\r":
            stop -= 1
        if stop == position or text[stop - 1] != "\\":
            return end, end + 1
        position = end + 1


def _of_makefile(text: str) -> Iterator[Embedded]:
    """The recipe lines, each a shell of its own; variables that are set plainly in the file are filled in."""
    known: dict[str, str | None] = {"MAKE": "make", "SHELL": "/bin/sh"}
    recipes: list[Embedded] = []
    position = 0
    while position < len(text):
        start = position
        end, position = _joined(text, start)
        line = text[start:end]
        if line.startswith("\t"):
            begin = start + 1
            while begin < end and text[begin] in "@-+ \t":
                begin += 1
            # The shell gets the lines of a recipe with their backslashes, but without the tab of the next one.
            recipes.append(verbatim(text[begin:end], begin))
            continue
        name, value = _make_assignment(line)
        if name is not None:
            known[name] = value
    for recipe in recipes:
        yield _make_filled(recipe, known)


def _make_assignment(line: str) -> tuple[str | None, str | None]:
    body = line.strip()
    if body.startswith("#") or not body:
        return None, None
    body = body.removeprefix("export ").removeprefix("override ").lstrip()
    for mark in _ASSIGNMENTS:
        name, found, value = body.partition(mark)
        bare = name.strip()
        if found and bare and all(letter in _NAME for letter in bare):
            value = value.partition(" #")[0].strip()
            if "$" in value or "\n" in value or mark == "+=":
                return bare, None
            return bare, value
    return None, None


def _make_filled(recipe: Embedded, known: Mapping[str, str | None]) -> Embedded:
    """A recipe as its shell gets it; a value that is not known becomes a shell variable that is not set."""
    text = recipe.text
    if "$" not in text:
        return recipe
    filling = Filling(recipe)
    position = 0
    while True:
        dollar = text.find("$", position)
        if dollar < 0 or dollar + 1 >= len(text):
            filling.keep(position, len(text))
            return filling.result().inner
        filling.keep(position, dollar)
        following = text[dollar + 1]
        if following == "$":
            filling.keep(dollar, dollar + 1)
            position = dollar + 2
            continue
        close = text.find({"(": ")", "{": "}"}.get(following, ""), dollar) if following in "({" else dollar + 1
        if close < 0:
            filling.keep(dollar, len(text))
            return filling.result().inner
        name = text[dollar + 2 : close] if following in "({" else following
        value = known.get(name)
        filling.put(value if value is not None else _hole(name), dollar)
        position = close + 1


def _hole(name: str) -> str:
    letters = "".join(letter if letter in _LETTERS else "_" for letter in name)[:40]
    return f"${{{letters if letters[:1].isalpha() or letters[:1] == '_' else '_' + letters}}}"


def _of_justfile(text: str) -> Iterator[Embedded]:
    """The recipes' lines; the body of one that begins with `#!` is a script as a whole."""
    known: dict[str, str | None] = {}
    bodies: list[Embedded] = []
    position = 0
    while position < len(text):
        start = position
        end, position = _joined(text, start)
        line = text[start:end]
        if line[:1] in (" ", "\t"):
            continue
        name, found, value = line.partition(":=")
        if found and name.strip() and all(letter in _NAME for letter in name.strip()):
            known[name.strip()] = _just_string(value.strip())
            continue
        if ":" in line and not line.startswith(("#", "set ", "alias ", "import ", "mod ", "export ")):
            found_bodies, position = _just_body(text, position)
            bodies += found_bodies
    for body in bodies:
        yield _just_filled(body, known)


def _just_string(text: str) -> str | None:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]:
        return None if text[0] == '"' and "\\" in text else text[1:-1]
    return None


def _just_body(text: str, start: int) -> tuple[list[Embedded], int]:
    lines: list[tuple[int, int]] = []
    position = start
    while position < len(text):
        end, following = _joined(text, position)
        line = text[position:end]
        if line.strip() and line[:1] not in (" ", "\t"):
            break
        if line.strip():
            lines.append((position + len(line) - len(line.lstrip()), end))
        position = following
    if lines and text.startswith("#!", lines[0][0]):
        return [verbatim(text[lines[0][0] : lines[-1][1]], lines[0][0])], position
    found = []
    for begin, end in lines:
        while begin < end and text[begin] in "@-":
            begin += 1
        found.append(verbatim(text[begin:end], begin))
    return found, position


def _just_filled(body: Embedded, known: Mapping[str, str | None]) -> Embedded:
    text = body.text
    if "{{" not in text:
        return body
    filling = Filling(body)
    position = 0
    while True:
        start = text.find("{{", position)
        end = text.find("}}", start) if start >= 0 else -1
        if start < 0 or end < 0:
            filling.keep(position, len(text))
            return filling.result().inner
        filling.keep(position, start)
        name = text[start + 2 : end].strip()
        value = known.get(name)
        filling.put(value if value is not None else _hole(name), start)
        position = end + 2


def read_skypilot(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a SkyPilot task; None where its `run` launches no known engine."""
    file = read_yaml(source.text)
    servings: list[Serving] = []
    for root in file.documents:
        run = get(root, "run")
        if root is None or run is None or run.kind != "scalar" or not _is_task(root):
            continue
        environment = tuple(
            Setting(key.text, node.text if node.text else None, node.span, node.span, f"envs {key.text}")
            for key, node in entries(get(root, "envs"))
            if node.kind == "scalar"
        )
        script = embedded(file, run)
        base = Serving(
            path, run.span, "skypilot", "", YamlWriter(file), environment=environment,
            facts={"document": file, "container": root},
        )  # fmt: skip
        servings += [with_env_files(serving, context) for serving in servings_of_words(base, _shell(script))]
    if not servings:
        return None
    return Manifest(
        path, "skypilot", source.text, "yaml", tuple(servings), file.problems, file.comments, {"document": file}
    )


def _is_task(root: Node) -> bool:
    return any(
        get(root, key) is not None for key in ("resources", "setup", "service", "envs", "num_nodes", "file_mounts")
    )
