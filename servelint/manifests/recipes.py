"""Shell lines in files of other programs: Makefiles, justfiles, Procfiles, SkyPilot tasks."""

# Plain strings, as findings name files.
# ruff: noqa: PTH119
from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence

from servelint.files.context import Context
from servelint.formats.problem import Comment
from servelint.formats.shell import read_script
from servelint.formats.yaml import Node, embedded, entries, get, read_yaml, scalar_type
from servelint.manifests.containers import SHELLS, servings_of_words, with_env_files
from servelint.manifests.launch_script import pieces_of
from servelint.manifests.serving import Argument, Manifest, NoWriter, Piece, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.records import record, replace
from servelint.text import Embedded, Source, Span, verbatim

_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
# Make's assignments, the longest first; of those with a colon the value is expanded at once.
_ASSIGNMENTS = (":::=", "::=", ":=", "?=", "+=", "!=", "=")
_MODIFIERS = ("export ", "override ", "private ", "unexport ")
_CONDITIONALS = frozenset({"ifeq", "ifneq", "ifdef", "ifndef"})
_DEEPEST_VALUE = 8
# A default that means the same to a shell inside `${NAME:-…}`.
_PLAIN = _NAME | frozenset("/:@,+%=")


@record
class LineFile:
    """A file of lines; `text` is all that a proof needs to know of it."""

    text: str


@record
class _Script:
    """A text as its shell gets it; `filled` are the places in the file that the program fills in."""

    inner: Embedded
    filled: tuple[Span, ...] = ()


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
    pieces: list[Piece] = []
    for script in scripts:
        place = script.inner.host_span(Span(0, 0))
        base = Serving(path, place, "recipes", "", _WRITER, facts={"document": document})
        for serving in servings_of_words(base, _shell(script.inner)):
            servings.append(with_env_files(_guarded(serving, script.filled), context))
        pieces += _pieces(script.inner)
    if not servings and not pieces:
        return None
    comments = tuple(_comments(source.text))
    return Manifest(
        path, "recipes", source.text, "lines", tuple(servings), (), comments, {"document": document}, tuple(pieces)
    )  # fmt: skip


def _guarded(serving: Serving, filled: Sequence[Span]) -> Serving:
    """The serving with the words that the program supplies not to be edited where they are only named."""
    if not filled or serving.arguments is None:
        return serving
    arguments = tuple(
        replace(word, inner=None, literal=False)
        if any(place.start < word.span.end and word.span.start < place.end for place in filled)
        else word
        for word in serving.arguments
    )
    return replace(serving, arguments=arguments)


def _pieces(script: Embedded) -> Iterator[Piece]:
    """The manifests that a script writes or hands on as here-documents."""
    if "<<" not in script.text:
        return
    for piece in pieces_of(read_script(script.text).heredocs):
        yield replace(piece, inner=piece.inner.within(script))


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


class _Written:
    """The text of a script made piece by piece, with its places in the file and the quotes that the shell is within."""

    __slots__ = ("_comment", "_ends", "_escaped", "_filled", "_host", "_last", "_offsets", "_pieces", "_quote")

    def __init__(self, host: str) -> None:
        self._host = host
        self._pieces: list[str] = []
        self._offsets: list[int] = []
        self._ends: list[int] = []
        self._filled: list[Span] = []
        self._quote = ""
        self._escaped = self._comment = False
        self._last = "\n"

    def keep(self, start: int, end: int) -> None:
        """Text that stands there as it is."""
        self._offsets.extend(range(start, end))
        self._ends.extend(range(start + 1, end + 1))
        self._add(self._host[start:end])

    def put(self, text: str, start: int, end: int) -> None:
        """What the shell gets for the text at that place."""
        self._offsets.extend([start] * len(text))
        self._ends.extend([end] * len(text))
        self._add(text)

    def fill(self, text: str, start: int, end: int) -> None:
        """The value of a variable that is named there."""
        self._filled.append(Span(start, end))
        self.put(text, start, end)

    def hole(self, name: str, start: int, end: int, default: str | None = None) -> None:
        """A value that is not known: a shell variable that nobody sets, expanded within single quotes too."""
        letters = "".join(letter if letter in _LETTERS else "_" for letter in name)[:40]
        plain = letters if letters[:1].isalpha() or letters[:1] == "_" else "_" + letters
        behind = "" if default is None else f":-{default}"
        expansion = f"${{{plain}{behind}}}"
        self.fill(f"'\"{expansion}\"'" if self._quote == "'" else expansion, start, end)

    def result(self, encode: Callable[[str], str | None]) -> _Script:
        """What was made."""
        end = self._ends[-1] if self._ends else 0
        inner = Embedded("".join(self._pieces), [*self._offsets, end], encode, None, self._ends)
        return _Script(inner, tuple(self._filled))

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        for letter in text:
            if self._comment:
                self._comment = letter != "\n"
            elif self._escaped:
                self._escaped = False
            elif self._quote == "'":
                self._quote = "" if letter == "'" else self._quote
            elif letter == "\\":
                self._escaped = True
            elif self._quote:
                self._quote = "" if letter == self._quote else self._quote
            elif letter in "'\"":
                self._quote = letter
            else:
                self._comment = letter == "#" and self._last in " \t\n;"
            self._last = letter


def _of_procfile(text: str) -> Iterator[_Script]:
    position = 0
    for line in text.split("\n"):
        name, colon, command = line.partition(":")
        if colon and name and all(letter in _NAME for letter in name):
            start = position + len(name) + 1 + len(command) - len(command.lstrip())
            yield _Script(verbatim(command.strip(), start))
        position += len(line) + 1


def _joined(text: str, start: int) -> tuple[int, int]:
    """The end of a logical line, continued by backslashes, and where the next one begins; a `\\r` before either."""
    position = start
    while True:
        end = text.find("\n", position)
        following = len(text) if end < 0 else end + 1
        stop = len(text) if end < 0 else end
        while stop > position and text[stop - 1] == "\r":
            stop -= 1
        if end < 0 or stop == position or text[stop - 1] != "\\":
            return stop, following
        position = end + 1


def _of_makefile(text: str) -> Iterator[_Script]:
    """The recipes' lines, each a shell of its own save under `.ONESHELL`, with the variables of the file filled in."""
    makefile = _Makefile()
    makefile.read(text)
    for lines in makefile.recipes:
        for own in [lines] if makefile.is_one_shell else [[line] for line in lines]:
            written = _Written(text)
            for index, (start, end) in enumerate(own):
                if index:
                    written.put("\n", own[index - 1][1], start)
                makefile.write(text, start, end, written)
            yield written.result(lambda new: new.replace("$", "$$").replace("\n", "\n\t"))


class _Makefile:
    """What a Makefile says: its recipes, and its variables, None where a value cannot be told from the file."""

    __slots__ = ("is_one_shell", "known", "recipes")

    def __init__(self) -> None:
        self.known: dict[str, str | None] = {"MAKE": "make", "SHELL": "/bin/sh"}
        self.recipes: list[list[tuple[int, int]]] = []
        self.is_one_shell = False

    def read(self, text: str) -> None:
        """Take the file's lines in their order."""
        depth = position = 0
        in_recipe = in_define = False
        for_targets: set[str] = set()
        while position < len(text):
            start = position
            end, position = _joined(text, start)
            line = text[start:end]
            word = line.split(maxsplit=1)[0] if line.strip() else ""
            if in_define:
                in_define = word != "endef"
            elif line.startswith("\t"):
                if not in_recipe:
                    self.recipes.append([])
                in_recipe = True
                self._recipe_line(text, start + 1, end)
            elif word in _CONDITIONALS or word in ("else", "endif"):
                # Of two branches only one runs.
                depth += (word in _CONDITIONALS) - (word == "endif")
                in_recipe = False
            elif word in ("define", "undefine"):
                in_define = word == "define"
                self.known[line.split()[1] if len(line.split()) > 1 else ""] = None
            elif word and not word.startswith("#"):
                in_recipe = False
                self._take(text, start, end, depth > 0, for_targets)
        self.known.update(dict.fromkeys(for_targets))

    def _recipe_line(self, text: str, begin: int, end: int) -> None:
        while begin < end and text[begin] in "@-+ \t":
            begin += 1
        self.recipes[-1].append((begin, end))

    def _take(self, text: str, start: int, end: int, is_conditional: bool, for_targets: set[str]) -> None:
        """An assignment, for the file or for some targets, or the head of a rule, with its recipe behind a `;`."""
        line = text[start:end]
        if self._assign(line, is_conditional):
            return
        targets, colon, rest = line.partition(":")
        if not colon:
            return
        if targets.strip() == ".ONESHELL":
            self.is_one_shell = True
        name, _, _ = _make_assignment(rest.removeprefix(":"))
        if name is not None:
            # It holds for whatever such a target is built from, too.
            for_targets.add(name)
            return
        _, semicolon, command = rest.partition(";")
        if semicolon and "#" not in rest[: len(rest) - len(command)]:
            self.recipes.append([])
            self._recipe_line(text, end - len(command), end)

    def _assign(self, line: str, is_conditional: bool) -> bool:
        name, mark, value = _make_assignment(line)
        if name is None:
            return False
        if mark == "?=" and name in self.known:
            return True
        if is_conditional or mark == "!=":
            self.known[name] = None
        elif mark == "+=" and name in self.known:
            before = self.known[name]
            self.known[name] = None if before is None else f"{before} {value}".strip()
        else:
            self.known[name] = self.expanded(value) if mark.startswith(":") else value
        return True

    def expanded(self, value: str, depth: int = 0) -> str | None:
        """A value with its references replaced; None where one of them is not known."""
        if "$" not in value:
            return value
        pieces = []
        position = 0
        while (dollar := value.find("$", position)) >= 0:
            pieces.append(value[position:dollar])
            name, position = _make_reference(value, dollar, len(value))
            found = "$" if name == "$" else self.known.get(name)
            found = found if found is None or name == "$" else self.value(name, depth + 1)
            if found is None:
                return None
            pieces.append(found)
        return "".join(pieces) + value[position:]

    def value(self, name: str, depth: int = 0) -> str | None:
        """What a reference to a variable gives."""
        value = self.known.get(name)
        return None if value is None or depth > _DEEPEST_VALUE else self.expanded(value, depth)

    def write(self, text: str, start: int, end: int, written: _Written) -> None:
        """A line of a recipe as its shell gets it: with its backslashes, without the tab of the line behind one."""
        position = start
        for index in range(start, end):
            if index < position or text[index] not in "$\r\t":
                continue
            if text[index] == "$":
                written.keep(position, index)
                name, position = _make_reference(text, index, end)
                value = self.value(name)
                if name == "$":
                    written.put("$", index, position)
                elif value is None:
                    written.hole(name, index, position)
                else:
                    written.fill(value, index, position)
            elif text.startswith("\r\n", index) or (text[index] == "\t" and text[index - 1] == "\n"):
                written.keep(position, index)
                position = index + 1
        written.keep(position, end)


def _make_assignment(line: str) -> tuple[str | None, str, str]:
    """The name, the mark and the value of an assignment; the name is None where the line is none."""
    body = line.strip()
    while body.startswith(_MODIFIERS):
        body = body.partition(" ")[2].lstrip()
    for mark in _ASSIGNMENTS:
        name, found, value = body.partition(mark)
        bare = name.strip()
        if found and bare and all(letter in _NAME for letter in bare):
            parts = [part.rstrip("\r").removesuffix("\\").strip() for part in value.split("\n")]
            return bare, mark, " ".join(part for part in parts if part).partition(" #")[0].strip()
    return None, "", ""


def _make_reference(text: str, dollar: int, end: int) -> tuple[str, int]:
    """The name behind a dollar, and where the reference ends; `$` for the one that a doubled dollar stands for."""
    if dollar + 1 >= end:
        return "$", end
    opening = text[dollar + 1]
    closing = {"(": ")", "{": "}"}.get(opening)
    if closing is None:
        return opening, dollar + 2
    depth = 0
    for index in range(dollar + 1, end):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return text[dollar + 2 : index], index + 1
    return text[dollar + 2 : end], end


def _of_justfile(text: str) -> Iterator[_Script]:
    """The recipes' lines; the body of one that begins with `#!` is a script as a whole."""
    known: dict[str, str | None] = {}
    bodies: list[tuple[list[list[tuple[int, int]]], Mapping[str, str | None]]] = []
    position = 0
    while position < len(text):
        start = position
        end, position = _joined(text, start)
        line = text[start:end]
        if line[:1] in (" ", "\t"):
            continue
        name, found, value = line.removeprefix("export ").partition(":=")
        if found and name.strip() and all(letter in _NAME for letter in name.strip()):
            known[name.strip()] = _just_string(value.strip())
            continue
        if ":" in line and not line.startswith(("#", "set ", "alias ", "import ", "mod ", "export ", "[")):
            scripts, position = _just_body(text, position)
            bodies.append((scripts, _just_parameters(line)))
    for scripts, parameters in bodies:
        for lines in scripts:
            yield _just_filled(text, lines, known, parameters)


def _just_string(text: str) -> str | None:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]:
        return None if text[0] == '"' and "\\" in text else text[1:-1]
    return None


def _just_parameters(line: str) -> dict[str, str | None]:
    """The parameters in a recipe's head with their defaults, None where a caller must give one."""
    words = [""]
    quote = ""
    for letter in line:
        if letter == ":" and not quote:
            break
        if letter in (" ", "\t") and not quote:
            words.append("")
            continue
        words[-1] += letter
        if letter in "'\"`()":
            closes = letter == quote or (quote == "(" and letter == ")")
            quote = "" if closes else quote or letter
    found: dict[str, str | None] = {}
    for word in words[1:]:
        name, equals, default = word.lstrip("+*$").partition("=")
        if name:
            found[name] = _just_string(default) if equals else None
    return found


def _just_body(text: str, start: int) -> tuple[list[list[tuple[int, int]]], int]:
    """The scripts that a recipe's lines make, each as the places of its lines, and where the recipe ends."""
    lines: list[tuple[int, int]] = []
    position = start
    while position < len(text):
        end, following = _joined(text, position)
        line = text[position:end]
        if line.strip() and line[:1] not in (" ", "\t"):
            break
        lines.append((position, end))
        position = following
    while lines and not text[lines[-1][0] : lines[-1][1]].strip():
        lines.pop()
    filled = [(begin + _indent(text, begin, end), end) for begin, end in lines if text[begin:end].strip()]
    if filled and text.startswith("#!", filled[0][0]):
        if not _is_shell_line(text[filled[0][0] : filled[0][1]]):
            return [], position
        return [_dedented(text, lines)], position
    found = []
    for begin, end in filled:
        while begin < end and text[begin] in "@-":
            begin += 1
        found.append([(begin, end)])
    return found, position


def _indent(text: str, begin: int, end: int) -> int:
    return end - begin - len(text[begin:end].lstrip(" \t"))


def _is_shell_line(line: str) -> bool:
    """Whether a `#!` line names a shell, by its path or through `env`."""
    names = [word.rsplit("/", 1)[-1] for word in line[2:].split()]
    if names[:1] == ["env"]:
        names = [name for name in names[1:] if not name.startswith("-") and "=" not in name]
    return bool(names) and names[0] in SHELLS


def _dedented(text: str, lines: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines of a script without the indentation that all of them share, as just writes it into its file."""
    physical: list[tuple[int, int]] = []
    for begin, end in lines:
        while (stop := text.find("\n", begin, end)) >= 0:
            physical.append((begin, stop))
            begin = stop + 1
        physical.append((begin, end))
    common = min(_indent(text, begin, end) for begin, end in physical if text[begin:end].strip())
    return [(min(begin + common, end), end) for begin, end in physical]


def _just_filled(
    text: str, lines: Sequence[tuple[int, int]], known: Mapping[str, str | None], parameters: Mapping[str, str | None]
) -> _Script:
    written = _Written(text)
    for index, (begin, end) in enumerate(lines):
        if index:
            written.put("\n", lines[index - 1][1], begin)
        position = begin
        while (start := text.find("{{", position, end)) >= 0:
            written.keep(position, start)
            if text.startswith("{{{{", start):
                written.put("{{", start, start + 4)
                position = start + 4
                continue
            close = text.find("}}", start, end)
            if close < 0:
                position = start
                break
            position = close + 2
            _just_value(text[start + 2 : close].strip(), known, parameters, written, Span(start, position))
        written.keep(position, end)
    indentation = text[text.rfind("\n", 0, lines[0][0]) + 1 : lines[0][0]] if len(lines) > 1 else ""
    return written.result(lambda new: new.replace("{{", "{{{{").replace("\n", "\n" + indentation))


def _just_value(
    name: str, known: Mapping[str, str | None], parameters: Mapping[str, str | None], written: _Written, place: Span
) -> None:
    if name in parameters:
        default = parameters[name]
        is_plain = default is not None and all(letter in _PLAIN for letter in default)
        written.hole(name, place.start, place.end, default if is_plain else None)
        return
    value = known[name] if name in known else _just_string(name)
    if value is None:
        written.hole(name, place.start, place.end)
    else:
        written.fill(value, place.start, place.end)


def read_skypilot(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a SkyPilot task; None where its `run` launches no known engine."""
    file = read_yaml(source.text)
    servings: list[Serving] = []
    pieces: list[Piece] = []
    for root in file.documents:
        run = get(root, "run")
        if root is None or run is None or run.kind != "scalar" or not _is_task(root):
            continue
        environment = tuple(
            Setting(key.text, _variable(node), node.span, node.span, f"{block} {key.text}")
            for block in ("envs", "secrets")
            for key, node in entries(get(root, block))
            if node.kind == "scalar"
        )
        script = embedded(file, run)
        base = Serving(
            path, run.span, "skypilot", "", YamlWriter(file), environment=environment,
            facts={"document": file, "container": root},
        )  # fmt: skip
        servings += [with_env_files(serving, context) for serving in servings_of_words(base, _shell(script))]
        setup = get(root, "setup")
        for text in (script, embedded(file, setup) if setup is not None and setup.kind == "scalar" else None):
            pieces += _pieces(text) if text is not None else ()
    if not servings and not pieces:
        return None
    return Manifest(
        path, "skypilot", source.text, "yaml", tuple(servings), file.problems, file.comments, {"document": file},
        tuple(pieces),
    )  # fmt: skip


def _variable(node: Node) -> str | None:
    """The value of a variable; one without must be given to the launch."""
    return None if scalar_type(node) == "null" else node.text


def _is_task(root: Node) -> bool:
    return any(
        get(root, key) is not None for key in ("resources", "setup", "service", "envs", "num_nodes", "file_mounts")
    )
