"""Which files lie below a folder: what git would ignore is left out, nothing outside is entered, the order is fixed."""

# Plain strings: a path object for each of ten thousand entries would cost more than listing them.
# ruff: noqa: PTH110, PTH118, PTH119
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from servelint.records import record

if TYPE_CHECKING:
    from pathspec.pattern import Pattern

# Folders that hold other people's files or a tool's own; their names are taken in any depth.
SKIPPED_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".terraform", "site-packages",
    }
)  # fmt: skip
# Git's own ignore files are small; a larger one is not read, so that a hostile one costs nothing.
_IGNORE_FILE_LIMIT = 1024 * 1024
# Each wildcard of a pattern is one more loop in the regular expression that pathspec makes of it.
_MOST_STARS, _MOST_DOUBLE_STARS = 3, 2

Excludes: TypeAlias = "Callable[[str, bool], bool]"


@record
class _Pattern:
    """One pattern: what it is matched against (path or name, of which depth), and either a literal or an expression."""

    include: bool
    folders_only: bool
    anchored: bool
    depth: int | None
    literal: str | None
    is_suffix: bool
    expression: Pattern | None


Patterns: TypeAlias = tuple[_Pattern, ...]


@record
class _Level:
    """The patterns of one ignore file; they match `prefix` and the path without its first `strip` characters."""

    patterns: Patterns
    strip: int
    prefix: str


_Chain: TypeAlias = "tuple[_Level, ...]"


def walk(
    folder: str,
    wanted: Callable[[str], bool],
    excludes_in: Callable[[str], Excludes | None] | None = None,
    unreadable: Callable[[str, str], None] | None = None,
) -> Iterator[str]:
    """The files below `folder` whose base name is `wanted`, by paths that begin with it (bare for `.`), sorted.

    `.gitignore` files are respected as git does, those of the folders above up to the repository's root included, and
    so is `.git/info/exclude`. `excludes_in(folder)` gives a further test for the entries of one folder: of path and
    whether it is a folder. Symbolic links to folders are not followed, those to files only where the target lies below
    `folder` and would not be found under its own name. A folder that cannot be listed is told to `unreadable`, with
    the reason.
    """
    folder = os.path.normpath(folder)
    real_root = os.path.realpath(folder)
    separator = os.sep
    start = "" if folder == "." else folder.rstrip(separator) + separator
    stack: list[tuple[str, _Chain]] = [(start, _levels_above(folder, len(start)))]
    while stack:
        here, chain = stack.pop()
        try:
            with os.scandir(here or ".") as listing:
                entries = sorted(listing, key=attrgetter("name"))
        except OSError as error:
            if unreadable is not None:
                unreadable(here.rstrip(separator) or ".", (error.strerror or str(error)).lower())
            continue
        chain = _with_own(chain, here, entries)
        excluded = excludes_in(here.rstrip(separator) or ".") if excludes_in is not None else None
        folders: list[tuple[str, _Chain]] = []
        for entry in entries:
            name = entry.name
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if is_folder:
                if name in SKIPPED_FOLDERS:
                    continue
            elif not wanted(name) or not _is_file(entry, real_root, wanted):
                continue
            path = here + name
            if chain and _is_ignored(chain, path, is_folder):
                continue
            if excluded is not None and excluded(path, is_folder):
                continue
            if is_folder:
                folders.append((path + separator, chain))
            else:
                yield path
        stack.extend(reversed(folders))


def compile_patterns(lines: Iterable[str]) -> Patterns:
    """Patterns in gitignore's language, in the reverse of their order.

    A pattern that cannot be read matches nothing, as in git. Nor does one with more wildcards than a person writes: it
    could take exponential time to say no.
    """
    compiled = [pattern for pattern in map(_compile, lines) if pattern is not None]
    return tuple(reversed(compiled))


def matches(patterns: Patterns, path: str, is_folder: bool) -> bool | None:
    """Whether the last pattern that matches takes a path (relative to the patterns' folder) in; None without one.

    The folders above the path must have been asked before, and what is below a folder that was taken in is not asked.
    """
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    name = path.rpartition("/")[2]
    for pattern in patterns:
        if pattern.folders_only and not is_folder:
            continue
        subject = path if pattern.anchored else name
        if pattern.depth is not None and subject.count("/") != pattern.depth:
            continue
        if pattern.literal is not None:
            found = subject.endswith(pattern.literal) if pattern.is_suffix else subject == pattern.literal
        else:
            found = bool(pattern.expression and pattern.expression.match_file(subject))
        if found:
            return pattern.include
    return None


def covers(patterns: Patterns, path: str) -> bool:
    """Whether the patterns take in a file, or a folder above it; nothing needs to have been asked before."""
    if not patterns:
        return False
    position = path.find(os.sep)
    while position >= 0:
        if matches(patterns, path[:position], True):
            return True
        position = path.find(os.sep, position + 1)
    return bool(matches(patterns, path, False))


def _compile(line: str) -> _Pattern | None:
    """One line of an ignore file; None where it holds no pattern.

    Only what has wildcards is given to pathspec, one pattern at a time and without its `!` and last slash. Its check of
    whole files lets the `*` of `*`, `!*/`, `!*.yaml` win over the exceptions, unlike git, and importing it costs more
    than listing a thousand files.
    """
    bare = line.rstrip(" \t\r\n")
    if bare.endswith("\\") and len(bare) < len(line):
        bare += line[len(bare)]
    if not bare or bare.startswith("#"):
        return None
    include = not bare.startswith("!")
    body = bare if include else bare[1:]
    folders_only = body.endswith("/")
    body = body.removesuffix("/")
    anchored = "/" in body
    body = body.removeprefix("/")
    double = body.count("**")
    if not body or double > _MOST_DOUBLE_STARS or body.count("*") - 2 * double > _MOST_STARS:
        return None
    depth = body.count("/") if not double else None
    if not _has_wildcards(body):
        return _Pattern(include, folders_only, anchored, depth, body, False, None)
    if not anchored and body.startswith("*") and len(body) > 1 and not _has_wildcards(body[1:]):
        return _Pattern(include, folders_only, anchored, depth, body[1:], True, None)
    from pathspec import GitIgnoreSpec

    try:
        (expression,) = GitIgnoreSpec.from_lines([f"/{body}" if anchored else body]).patterns
    except Exception:  # pathspec's own error, or one of `re` (for a range like [z-a]): the other lines stand
        return None
    return _Pattern(include, folders_only, anchored, depth, None, False, expression)


def _has_wildcards(text: str) -> bool:
    return any(character in text for character in "*?[\\")


def _is_file(entry: os.DirEntry[str], real_root: str, wanted: Callable[[str], bool]) -> bool:
    """Whether it is a regular file, or a link to one below the root that has no wanted name of its own."""
    try:
        if not entry.is_symlink():
            return entry.is_file(follow_symlinks=False)
        if not entry.is_file():
            return False
    except OSError:
        return False
    target = os.path.realpath(entry.path)
    inside = target.startswith(real_root.rstrip(os.sep) + os.sep)
    return inside and not wanted(os.path.basename(target))


def _is_ignored(chain: _Chain, path: str, is_folder: bool) -> bool:
    for level in reversed(chain):
        verdict = matches(level.patterns, level.prefix + path[level.strip :], is_folder)
        if verdict is not None:
            return verdict
    return False


def _with_own(chain: _Chain, here: str, entries: Iterable[os.DirEntry[str]]) -> _Chain:
    own = [".git/info/exclude"] if any(entry.name == ".git" for entry in entries) else []
    own += [".gitignore"] if any(entry.name == ".gitignore" for entry in entries) else []
    for name in own:
        patterns = _read_patterns(os.path.join(here, name))
        if patterns:
            chain = (*chain, _Level(patterns, len(here), ""))
    return chain


def _levels_above(folder: str, strip: int) -> _Chain:
    """The ignore files between the repository's root and the folder, those of the folder itself left out.

    None of them counts where they ignore the folder itself: it was named, so what is in it is wanted.
    """
    levels: list[_Level] = []
    place = os.path.realpath(folder)
    prefix = ""
    while not os.path.lexists(os.path.join(place, ".git")):
        above, name = os.path.split(place)
        if above == place:
            # No repository around it: what other projects' folders above may ignore is nothing to this one.
            return ()
        place, prefix = above, f"{name}/{prefix}"
        for file in (".gitignore", ".git/info/exclude"):
            patterns = _read_patterns(os.path.join(place, file))
            if patterns:
                levels.append(_Level(patterns, strip, prefix))
    chain = tuple(reversed(levels))
    return () if _ignores_folder(chain) else chain


def _ignores_folder(chain: _Chain) -> bool:
    if not chain:
        return False
    parts = chain[0].prefix.rstrip("/").split("/")
    for depth in range(1, len(parts) + 1):
        for level in reversed(chain):
            skipped = len(parts) - len(level.prefix.rstrip("/").split("/"))
            if skipped >= depth:
                continue
            verdict = matches(level.patterns, "/".join(parts[skipped:depth]), True)
            if verdict is not None:
                if verdict:
                    return True
                break
    return False


def _read_patterns(path: str) -> Patterns:
    from servelint.files.context import UnreadableError, read_bytes

    if not os.path.exists(path):
        return ()
    try:
        data = read_bytes(path, _IGNORE_FILE_LIMIT)
    except UnreadableError:
        return ()
    return compile_patterns(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n"))
