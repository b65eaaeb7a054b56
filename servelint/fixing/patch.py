"""Patches one field of a file that is no text: the same bytes everywhere else, and nothing moves."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from servelint.checks.finding import BytePatch, Finding
from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from servelint.fixing.repair import Repair
from servelint.fixing.write import WriteError


class _Patched(Context):
    """The same files, one of them as it will be."""

    def __init__(self, context: Context, path: str, patch: BytePatch) -> None:
        super().__init__(context.root)
        self._context, self._path, self._patch = context, os.path.normpath(path), patch

    def size(self, path: str) -> int | None:
        """How many bytes the file has: a patch changes no size."""
        return self._context.size(path)

    def pieces(self, path: str, limit: int) -> Iterator[bytes]:
        """The file's bytes, with the patch in their place."""
        position, patch = 0, self._patch
        for piece in self._context.pieces(path, limit):
            start = patch.offset - position
            if os.path.normpath(path) == self._path and -len(patch.new) < start < len(piece):
                whole = bytearray(piece)
                for index, byte in enumerate(patch.new):
                    if 0 <= start + index < len(piece):
                        whole[start + index] = byte
                yield bytes(whole)
            else:
                yield piece
            position += len(piece)


def patch_of(
    path: str, data: bytes, context: Context, policy: Policy, *, unsafe: bool
) -> tuple[Repair, BytePatch | None]:
    """What would be repaired, and the patch that does it; writes nothing.

    `before` and `after` of the repair show the field as lines of text. A patch is proven by reading the file with it in
    place: the finding must be gone, and none may have come.
    """
    result = lint(path, data, context, policy, forced=True)
    for finding in result.findings:
        fix = finding.fix
        if fix is None or fix.patch is None or not (fix.safety == "safe" or (unsafe and fix.safety == "unsafe")):
            continue
        patch = fix.patch
        again = lint(path, data, _Patched(context, path, patch), policy, forced=True)
        if {f.rule for f in again.findings} - {f.rule for f in result.findings} or finding.rule in {
            f.rule for f in again.findings
        }:
            continue
        before, after = f"{patch.key} = {patch.was}\n", f"{patch.key} = {patch.becomes}\n"
        left = _left(again, unsafe)
        return Repair(path, before.encode(), after.encode(), (finding,), left, again), patch
    return Repair(path, b"", b"", (), _left(result, unsafe), result), None


def _left(result: Result, unsafe: bool) -> tuple[tuple[Finding, str], ...]:
    def reason(finding: Finding) -> str:
        if finding.fix is None:
            return finding.no_fix or "no repair that is right in every case"
        return "its repair could not be proven" if unsafe else "changes what is served; apply it with --unsafe-fixes"

    return tuple((finding, reason(finding)) for finding in result.findings)


def write_patch(path: str, patch: BytePatch) -> None:
    """Put the new bytes in the place of the old ones. Raises `WriteError` where those are no longer there.

    Four bytes within one block of the disk: they are written as one, or not at all.
    """
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            raise WriteError("is a symbolic link; fix its target itself")
        if not status.st_mode & 0o222 or not os.access(path, os.W_OK):
            raise WriteError("is read-only")
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            if os.pread(descriptor, len(patch.old), patch.offset) != patch.old:
                raise WriteError("changed since it was read; run again")
            os.pwrite(descriptor, patch.new, patch.offset)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise WriteError((error.strerror or str(error)).lower()) from error
