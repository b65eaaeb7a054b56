"""What lies beside a manifest: reads sibling files for context, within the root, within limits."""

# Plain strings: pathlib costs more at start than reading a manifest.
# ruff: noqa: PTH109, PTH110, PTH116
from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from servelint.text import Source, decode

# A manifest that a person wrote is far smaller; tokenizer files and weights are never read whole.
SIZE_LIMIT = 8 * 1024 * 1024
_CHUNK = 64 * 1024
_PIECE = 1024 * 1024
# How many files of a folder are looked through for something that one names, and how large one may be.
_MOST_TEXTS = 60
_TEXT_LIMIT = 512 * 1024


class UnreadableError(Exception):
    """A file that cannot be read; the message says why, without the path."""


def read_bytes(path: str, limit: int = SIZE_LIMIT) -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Raises `UnreadableError` with a reason that a person understands. Never blocks on a pipe or a device.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableError((error.strerror or str(error)).lower()) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError("not a regular file")
        if status.st_size > limit:
            raise UnreadableError(f"{status.st_size:,} bytes, more than the limit of {limit:,}")
        # A file object would set a buffer of the limit's size aside for every small file. The first read takes all
        # that was there, and as one byte more was asked for, it has seen the end.
        data = os.read(descriptor, status.st_size + 1)
        if len(data) == status.st_size:
            return data
        while len(data) <= limit and (more := os.read(descriptor, _CHUNK)):
            data += more
        return data
    except OSError as error:
        raise UnreadableError((error.strerror or str(error)).lower()) from error
    finally:
        os.close(descriptor)


class Context:
    """Reads files below `root` by paths relative to the working directory, as findings name them.

    `overlay` holds texts that stand in for files: an editor's buffer, standard input, the result of a fix not yet
    written. Nothing outside the root is read, through a symlink or otherwise, but for folders that were admitted: the
    hub's own cache. `online` tells whether the hub may be asked for what is not there; `chart_values` names the files
    of values that are laid over a Helm chart's own.
    """

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        overlay: Mapping[str, bytes] | None = None,
        online: bool = False,
    ) -> None:
        self.root = os.fspath(root) if root is not None else os.getcwd()
        self.online = online
        self.chart_values: Callable[[str], Sequence[str]] = lambda _: ()
        self.notes: dict[str, None] = {}
        self._admitted: list[str] = []
        self._overlay = {os.path.normpath(path): data for path, data in (overlay or {}).items()}
        self._seen: dict[str, Source | None] = {}
        self._there: dict[str, bool] = {}
        self._listed: dict[str, tuple[str, ...]] = {}
        self._texts: dict[tuple[str, tuple[str, ...]], tuple[tuple[str, str], ...]] = {}

    def admit(self, folder: str) -> None:
        """Let files below another folder be read, too."""
        real = os.path.realpath(folder)
        if real not in self._admitted:
            self._admitted.append(real)

    def note(self, text: str) -> None:
        """Keep a line for whoever runs this, once: something that was asked for could not be had."""
        self.notes.setdefault(text)

    @cached_property
    def _real_root(self) -> str:
        return os.path.realpath(self.root)

    def _within(self, path: str) -> bool:
        """Whether something of that path is there, and within the root."""
        known = self._there.get(path)
        if known is None:
            known = self._there[path] = os.path.lexists(path) and self._is_below_root(path)
        return known

    def _is_below_root(self, path: str) -> bool:
        real = os.path.realpath(path)
        roots = (self._real_root, *self._admitted)
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots)

    def read(self, path: str) -> Source | None:
        """The file's text, or None where it is not there, not readable, too large, or outside the root."""
        path = os.path.normpath(path)
        if path in self._overlay:
            return decode(self._overlay[path])
        if path not in self._seen:
            try:
                self._seen[path] = decode(read_bytes(path)) if self._within(path) else None
            except UnreadableError:
                self._seen[path] = None
        return self._seen[path]

    def pieces(self, path: str, limit: int) -> Iterator[bytes]:
        """The first `limit` bytes of a file of any size, piece by piece; nothing where it may not be read."""
        path = os.path.normpath(path)
        if path in self._overlay:
            yield self._overlay[path][:limit]
            return
        if not self._within(path):
            return
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return
            while limit > 0 and (data := os.read(descriptor, min(_PIECE, limit))):
                limit -= len(data)
                yield data
        except OSError:
            return
        finally:
            os.close(descriptor)

    def size(self, path: str) -> int | None:
        """How many bytes a regular file has; None where there is none that may be read."""
        path = os.path.normpath(path)
        if path in self._overlay:
            return len(self._overlay[path])
        try:
            status = os.stat(path) if self._within(path) else None
        except OSError:
            return None
        return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None

    def exists(self, path: str) -> bool:
        """Whether a file or folder of that path is there and within the root."""
        path = os.path.normpath(path)
        return path in self._overlay or (self._within(path) and os.path.exists(path))

    def names(self, folder: str) -> tuple[str, ...]:
        """The names in a folder, sorted; none where it cannot be listed."""
        folder = os.path.normpath(folder or ".")
        known = self._listed.get(folder)
        if known is None:
            try:
                known = tuple(sorted(os.listdir(folder))) if self._within(folder) else ()  # noqa: PTH208 (names)
            except OSError:
                known = ()
            self._listed[folder] = known
        return known

    def texts(self, folder: str, endings: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        """Names and texts of the first files in a folder that end so: few enough, and small enough, to look through.

        They are read once: whoever asks for each file of a folder must not read the folder for each.
        """
        key = os.path.normpath(folder or "."), endings
        known = self._texts.get(key)
        if known is None:
            found = []
            for name in [name for name in self.names(folder) if name.lower().endswith(endings)][:_MOST_TEXTS]:
                path = os.path.join(folder, name)  # noqa: PTH118
                size = self.size(path)
                source = self.read(path) if size is not None and size <= _TEXT_LIMIT else None
                if source is not None:
                    found.append((name, source.text))
            known = self._texts[key] = tuple(found)
        return known
