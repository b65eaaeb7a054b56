"""Which files lie below a folder: what git would ignore is left out, nothing outside is entered, the order is fixed."""

# Plain strings: a path object for each of ten thousand entries would cost more than listing them.
# ruff: noqa: PTH110, PTH118, PTH119
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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

Excludes = Callable[[str, bool], bool]


class _Level(NamedTuple):
    """The patterns of one ignore file; they match `prefix` and the path without its first `strip` characters."""

    patterns: GitIgnoreSpec
    strip: int
    prefix: str


_Chain = tuple[_Level, ...]


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
                entries = sorted(listing, key=_name_of)
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


def compile_patterns(lines: Iterable[str]) -> GitIgnoreSpec | None:
    """Patterns in gitignore's language, None where there are none.

    A pattern that cannot be read matches nothing, as in git. Nor does one with more wildcards than a person writes: it
    could take exponential time to say no.
    """
    kept = [line for line in lines if line.strip() and not line.startswith("#") and _is_harmless(line)]
    if not kept:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(kept)
    except Exception:  # pathspec's own error, or one of `re` for a range like [z-a]: one bad line must not undo the others
        return GitIgnoreSpec.from_lines([line for line in kept if _is_readable(line)])


def matches(patterns: GitIgnoreSpec, path: str, is_folder: bool) -> bool | None:
    """Whether the last pattern that matches a path (relative to the patterns' folder) takes it in; None without one."""
    if os.sep != "/":
        path = path.replace(os.sep, "/")
    return patterns.check_file(path + "/" if is_folder else path).include


def _name_of(entry: os.DirEntry[str]) -> str:
    return entry.name


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


def _is_harmless(line: str) -> bool:
    if "*" not in line:
        return True
    double = line.count("**")
    return double <= _MOST_DOUBLE_STARS and line.count("*") - 2 * double <= _MOST_STARS


def _is_readable(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except Exception:  # as above
        return False
    return True


def _is_ignored(chain: _Chain, path: str, is_folder: bool) -> bool:
    for patterns, strip, prefix in reversed(chain):
        verdict = matches(patterns, prefix + path[strip:], is_folder)
        if verdict is not None:
            return verdict
    return False


def _with_own(chain: _Chain, here: str, entries: Iterable[os.DirEntry[str]]) -> _Chain:
    own = [".git/info/exclude"] if any(entry.name == ".git" for entry in entries) else []
    own += [".gitignore"] if any(entry.name == ".gitignore" for entry in entries) else []
    for name in own:
        patterns = _read_patterns(os.path.join(here, name))
        if patterns is not None:
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
            if patterns is not None:
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


def _read_patterns(path: str) -> GitIgnoreSpec | None:
    from pathlib import Path

    from servelint.files.context import UnreadableError, read_bytes

    if not os.path.exists(path):
        return None
    try:
        data = read_bytes(Path(path), _IGNORE_FILE_LIMIT)
    except UnreadableError:
        return None
    return compile_patterns(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").splitlines())
