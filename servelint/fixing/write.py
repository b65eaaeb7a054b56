"""Writes a repaired file so that whatever happens, either the old or the new text is there."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from servelint.files.context import UnreadableError, read_bytes


class WriteError(Exception):
    """A file that was left as it is; the message says why, without the path."""


def replace_file(path: Path, before: bytes, after: bytes) -> None:
    """Put `after` in the place of `before`: by a temporary file in the same folder, fsync and rename.

    Mode, owner and extended attributes stay. Raises `WriteError`, and leaves the file whole, where it is a symbolic
    link, is read-only, is no longer what was read, or where the disk will not take the new text.
    """
    try:
        status = os.lstat(path)
    except OSError as error:
        raise WriteError((error.strerror or str(error)).lower()) from error
    if stat.S_ISLNK(status.st_mode):
        raise WriteError(f"is a symbolic link; fix {_target(path)} itself")
    # The permission bits, not os.access: for root every file is writable, and a read-only file was made so on purpose.
    if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise WriteError("is read-only")
    _refuse_changed(path, before)
    temporary = _write_beside(path, status, after)
    try:
        _refuse_changed(path, before)
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise WriteError((error.strerror or str(error)).lower()) from error
        raise
    _sync_folder(path.parent)


def _target(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return "its target"


def _refuse_changed(path: Path, before: bytes) -> None:
    try:
        current = read_bytes(os.fspath(path))
    except UnreadableError as error:
        raise WriteError(str(error)) from error
    if current != before:
        raise WriteError("changed since it was read; run again")


def _write_beside(path: Path, status: os.stat_result, after: bytes) -> Path:
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".servelint", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            _copy_attributes(path, descriptor)
            file.write(after)
            file.flush()
            os.fsync(descriptor)
    except BaseException as error:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        if isinstance(error, OSError):
            raise WriteError((error.strerror or str(error)).lower()) from error
        raise
    return Path(temporary)


def _copy_attributes(path: Path, descriptor: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for name in os.listxattr(path):
            with contextlib.suppress(OSError):
                os.setxattr(descriptor, name, os.getxattr(path, name))


def _sync_folder(folder: Path) -> None:
    # Makes the rename itself durable; file systems that cannot sync a folder are as safe as they get.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
