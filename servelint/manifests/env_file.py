"""An environment file that configures text-generation-launcher (TGI) or llama-server, and who reads it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from servelint.formats.env_file import EnvEntry, EnvFile, append_line, read_env, replace_value
from servelint.manifests.serving import Manifest, Refusal, Serving, Setting
from servelint.records import record
from servelint.text import Edit, Span
from servelint.text.distance import edit_distance

if TYPE_CHECKING:
    from servelint.files.context import Context
    from servelint.text import Source

# What lies beside an env file and may hand it to a program: looked at in this order, so many, and no larger ones.
_CONSUMER_NAMES = (
    ".sh", ".bash", ".zsh", ".service", ".container", ".yaml", ".yml", "makefile", "justfile", ".mk", "dockerfile",
)  # fmt: skip
_FILE_LIMIT = 40
_SIZE_LIMIT = 256 * 1024
_MENTION_LIMIT = 50
_ENTRY_LIMIT = 2000
_IMAGE = "text-generation-inference"
# What may stand around a file's name where it is a word of its own, or the last part of a path.
_BEFORE = frozenset(" \t\r\n\"'=:[,(/\\")
_AFTER = frozenset(" \t\r\n\"'],;)}&|#")
_CONTAINER_PROGRAMS = ("docker", "podman", "nerdctl")


@record
class Use:
    """How a file hands an env file on: the dialect it is read in, where that is said, and the TGI image it starts."""

    path: str
    dialect: str
    image: Setting | None


@record
class EnvWriter:
    """Sets variables in an env file; a variable has one value."""

    document: EnvFile
    newline: str = "\n"

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Set a variable on a line of its own behind the last one."""
        if len(values) != 1:
            return Refusal("a variable takes one value")
        edits = append_line(self.document, name, str(values[0]), self.newline)
        return Refusal(edits) if isinstance(edits, str) else edits

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put another value in the place of a variable's."""
        entry = entry_of(self.document, setting)
        if entry is None or len(values) != 1:
            return Refusal("a variable takes one value" if entry else "the variable is not set in this file")
        edits = replace_value(self.document, entry, str(values[0]))
        return Refusal(edits) if isinstance(edits, str) else edits


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read an env file; None where it configures neither TGI nor llama.cpp."""
    uses = _uses(path, context)
    dialect = _common(path, uses, context)
    manifest = read_env_manifest(path, source.text, dialect, source.newline, uses)
    return manifest if manifest.servings else None


def read_env_manifest(path: str, text: str, dialect: str, newline: str = "\n", uses: Sequence[Use] = ()) -> Manifest:
    """The text of an env file as a manifest: without servings where it holds no names of TGI's launcher.

    The serving's `facts` are `document` (the `EnvFile`), `dialect` and `consumers` (paths of files that hand it on).
    """
    document = read_env(text, dialect)
    images = {use.image.value: use.image for use in uses if use.image is not None}
    if _is_llama_file(document):
        return _llama_manifest(path, text, document, dialect, newline, uses)
    if not _is_launcher_file(document, bool(images)):
        return Manifest(path, "env-file", text, "env")
    image = next(iter(images.values())) if len(images) == 1 else None
    environment = tuple(_setting(entry) for entry in document.entries)
    model = next((setting for setting in reversed(environment) if setting.name == "MODEL_ID"), None)
    place = document.last("MODEL_ID") or next(entry for entry in document.entries)
    hidden = tuple(f"arguments in {use.path} win over the variables" for use in uses)
    facts = {"document": document, "dialect": dialect, "consumers": tuple(use.path for use in uses)}
    serving = Serving(
        path, place.whole, "env-file", "tgi", EnvWriter(document, newline), _version(image), image, model, None, (),
        environment, hidden, facts,
    )  # fmt: skip
    return Manifest(path, "env-file", text, "env", (serving,), document.problems, document.comments, dict(facts))


def _is_llama_file(document: EnvFile) -> bool:
    """Whether a variable has the name that only llama.cpp's programs read."""
    return any(entry.name.startswith("LLAMA_ARG_") for entry in document.entries[:_ENTRY_LIMIT])


def _llama_manifest(
    path: str, text: str, document: EnvFile, dialect: str, newline: str, uses: Sequence[Use]
) -> Manifest:
    place = next(entry for entry in document.entries if entry.name.startswith("LLAMA_ARG_"))
    facts = {"document": document, "dialect": dialect, "consumers": tuple(use.path for use in uses)}
    hidden = tuple(f"arguments in {use.path} win over the variables" for use in uses)
    serving = Serving(
        path, place.whole, "env-file", "llama.cpp", EnvWriter(document, newline),
        environment=tuple(_setting(entry) for entry in document.entries), hidden=hidden, facts=facts,
    )  # fmt: skip
    return Manifest(path, "env-file", text, "env", (serving,), document.problems, document.comments, dict(facts))


def settings_elsewhere(text: str, dialect: str, name: str, place: Span) -> list[Setting]:
    """The variables of an env file that another manifest names, each placed where it is named."""
    return [
        Setting(entry.name, entry.value, place, place, f"{name} {entry.name}", reason=entry.reason, elsewhere=True)
        for entry in read_env(text, dialect).entries
    ]


def entry_of(document: EnvFile, setting: Setting) -> EnvEntry | None:
    """The entry that a setting was made of."""
    return next((entry for entry in document.entries if entry.whole == setting.whole), None)


def _setting(entry: EnvEntry) -> Setting:
    span = entry.span if entry.span.end > entry.span.start else entry.name_span
    return Setting(entry.name, entry.value, span, entry.whole, entry.name, reason=entry.reason)


def _version(image: Setting | None) -> Setting | None:
    if image is None or image.value is None:
        return None
    from servelint.manifests.versions import version_of_image

    version = version_of_image(image.value)
    return None if version is None else Setting("version", version, image.span, image.whole, "image tag", image.path)


def _is_launcher_file(document: EnvFile, has_image: bool) -> bool:
    """Whether the names are TGI's: `MODEL_ID` and one more, or two of those that no other program has.

    A misspelt name counts as the one that is near it. Where a file that hands this one on starts TGI's image,
    one name is enough.
    """
    known, shared = launcher_names()
    has_model = False
    own = set()
    for entry in document.entries[:_ENTRY_LIMIT]:
        name = entry.name if entry.name in known else near_launcher_name(entry.name)
        if name == "MODEL_ID":
            has_model = True
        elif name is not None and name not in shared:
            own.add(name)
    if has_image:
        return has_model or bool(own)
    return len(own) + has_model >= 2


@cache
def launcher_names() -> tuple[frozenset[str], frozenset[str]]:
    """The variables that TGI's launcher reads, and those of them that many other programs read too."""
    from servelint.data import load

    options = load("rules/engines/tgi.json")["flags"]
    known = frozenset(option["env"] for option in options if "env" in option)
    return known, frozenset(option["env"] for option in options if option.get("generic") and "env" in option)


@lru_cache(maxsize=4096)
def near_launcher_name(name: str) -> str | None:
    """The variable of TGI's launcher that a misspelt one must mean, None where none is near enough.

    Near is: the same letters in another case or with other separators, the same words in another order, or one edit
    away (two for long names). Names that many programs share are nobody's misspelling.
    """
    known, shared = launcher_names()
    if name in known or len(name) > 60:
        return None
    upper = name.upper().replace("-", "_").replace(".", "_")
    words = sorted(upper.split("_"))
    for candidate in sorted(known - shared):
        if upper == candidate or words == sorted(candidate.split("_")):
            return candidate
    best: tuple[int, str] | None = None
    for candidate in sorted(known - shared):
        allowed = 0 if len(candidate) < 7 else (1 if len(candidate) < 14 else 2)
        # `MIN_…` is no misspelling of `MAX_…`, nor is a name with a number of its own (`MODEL_ID2`).
        if not allowed or upper[:1] != candidate[0] or (upper.startswith("MIN_") and candidate.startswith("MAX_")):
            continue
        if any(character.isdigit() for character in upper):
            continue
        distance = edit_distance(upper, candidate, allowed)
        if distance <= allowed and (best is None or distance < best[0]):
            best = distance, candidate
    return best[1] if best else None


# Who reads the file.


def dialect_of(path: str, context: Context) -> str:
    """The dialect that the files beside this one and one folder up say it is read in, or `unknown`."""
    return _common(path, _uses(path, context), context)


def _common(path: str, uses: Sequence[Use], context: Context) -> str:
    dialects = {use.dialect for use in uses}
    if len(dialects) == 1:
        return dialects.pop()
    if not dialects and os.path.basename(path) == ".env":  # noqa: PTH119 (a plain str)
        # Compose fills its own file in from a `.env` beside it, without anybody naming it.
        folder = os.path.dirname(path)  # noqa: PTH120 (a plain str)
        if any(_is_compose_name(name) for name in context.names(folder)):
            return "compose"
    return "unknown"


def _is_compose_name(name: str) -> bool:
    lowered = name.lower()
    return lowered.endswith((".yaml", ".yml")) and lowered.startswith(("compose.", "docker-compose"))


def _uses(path: str, context: Context) -> tuple[Use, ...]:
    """The files nearby that hand this one to a program."""
    folder, name = os.path.split(path)
    found = []
    for sibling in _siblings(folder, name, context):
        source = context.read(sibling)
        if source is None or len(source.text) > _SIZE_LIMIT or name not in source.text:
            continue
        dialect = consumers(source.text, name)
        if dialect is not None:
            found.append(Use(sibling, dialect, _image_in(source.text, sibling)))
    return tuple(found)


def _siblings(folder: str, name: str, context: Context) -> Iterator[str]:
    """Files of the folder, then of its parent, that may start a program; a bounded number."""
    count = 0
    for place in (folder, os.path.join(folder, os.pardir)):  # noqa: PTH118 (a plain str)
        for other in context.names(place):
            if other == name or not other.lower().endswith(_CONSUMER_NAMES):
                continue
            count += 1
            if count > _FILE_LIMIT:
                return
            path = os.path.normpath(os.path.join(place, other))  # noqa: PTH118 (a plain str)
            try:
                too_large = os.path.getsize(path) > _SIZE_LIMIT  # noqa: PTH202 (a plain str)
            except OSError:
                too_large = False
            if not too_large:
                yield path


def consumers(text: str, name: str) -> str | None:
    """The dialect in which a script, Compose file, Makefile or unit has the env file of that name read.

    None where it does not hand the file to anything, or to several programs that read it differently.
    """
    found = {dialect for place in _mentions(text, name) if (dialect := _dialect_at(text, place, len(name))) is not None}
    return found.pop() if len(found) == 1 else None


def _mentions(text: str, name: str) -> Iterator[int]:
    place = text.find(name)
    count = 0
    while place >= 0 and count < _MENTION_LIMIT:
        before = text[place - 1 : place] if place else ""
        after = text[place + len(name) : place + len(name) + 1]
        if (not before or before in _BEFORE) and (not after or after in _AFTER):
            count += 1
            yield place
        place = text.find(name, place + 1)


def _dialect_at(text: str, place: int, length: int) -> str | None:
    """What the words before this mention make of it."""
    line_start = text.rfind("\n", 0, place) + 1
    if text[line_start:place].lstrip().startswith(("#", ";", "//")):
        return None
    start = place
    while start > line_start and text[start - 1] not in " \t\"'=:[,(":
        start -= 1
    before = text[line_start:start].rstrip(" \t\"'=:[,(")
    word = before.split()[-1] if before.split() else ""
    key = word.lstrip("{-,")
    if word.endswith("--env-file"):
        return _of_command(text, line_start, place)
    if word.endswith("--from-env-file"):
        # kubectl reads it as docker does: everything behind the `=`.
        return "docker"
    if key == "EnvironmentFile":
        section = text.rfind("\n[", 0, place)
        header = text[section + 1 : section + 20] if section >= 0 else text[:20]
        return "docker" if header.startswith("[Container]") else "systemd"
    if word in ("source", ".") and before.split()[-2:-1] in ([], ["&&"], ["then"], ["do"], [";"], ["-a;"], ["{"]):
        return "shell"
    if key == "env_file":
        return "compose"
    if word in ("-", "path", "") or (word == "path" and "-" in before):
        return _of_list(text, line_start, place + length)
    return None


def _of_command(text: str, line_start: int, place: int) -> str | None:
    """The dialect of `--env-file`, by the program whose command this is, over continued lines."""
    start = line_start
    for _ in range(60):
        if start < 2 or not text[:start].endswith(("\\\n", "\\\r\n")):
            break
        start = text.rfind("\n", 0, start - 1) + 1
    command = text[start:place]
    words = command.replace("-compose", " compose").split()
    if "compose" in words or any(word.endswith("docker compose") for word in words):
        return "compose"
    programs = [word.rsplit("/", 1)[-1].strip("\"'(`$") for word in words]
    if any(program in _CONTAINER_PROGRAMS for program in programs):
        return "docker"
    if any(program in ("uv", "node", "bun", "deno", "npx") for program in programs):
        return None
    return "docker" if any(f"{program} run" in text for program in _CONTAINER_PROGRAMS) else None


def _of_list(text: str, line_start: int, end: int) -> str | None:
    """The dialect of an item below a Compose file's `env_file:`; `format: raw` reads it as docker does."""
    start = line_start
    for _ in range(20):
        if start == 0:
            return None
        above = text.rfind("\n", 0, start - 1) + 1
        line = text[above : start - 1].strip()
        start = above
        if line.startswith("env_file:"):
            following = text[end : end + 200].splitlines()[1:4]
            raw = any(other.strip() in ("format: raw", 'format: "raw"', "format: 'raw'") for other in following)
            return "docker" if raw else "compose"
        if line and not line.startswith(("-", "#", "path:", "required:", "format:")):
            return None
    return None


def _image_in(text: str, path: str) -> Setting | None:
    """The TGI image that a file starts, where it names exactly one."""
    found: dict[str, Span] = {}
    place = text.find(_IMAGE)
    count = 0
    while place >= 0 and count < _MENTION_LIMIT:
        count += 1
        start = place
        while start > 0 and text[start - 1] not in " \t\r\n\"'=":
            start -= 1
        end = place
        while end < len(text) and text[end] not in " \t\r\n\"',;":
            end += 1
        word = text[start:end]
        line = text[text.rfind("\n", 0, start) + 1 : start].lstrip()
        if not line.startswith("#") and "://" not in word:
            found.setdefault(word, Span(start, end))
        place = text.find(_IMAGE, end)
    if len(found) != 1:
        return None
    ((word, span),) = found.items()
    known = not any(mark in word for mark in "$`{")
    return Setting("image", word if known else None, span, span, "image", path, reason=None if known else "a variable")
