"""Versions as image tags and package pins write them, and comparisons that know when they cannot tell."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

# Words of a tag that name a moving target: what they mean today is not what they meant when the file was written.
_MOVING = frozenset({"latest", "nightly", "main", "master", "dev", "edge", "stable", "release", "canary", "head"})
_DIGITS = frozenset("0123456789")
_HEXADECIMAL = frozenset("0123456789abcdef")
# A release, then its candidates and fixes, in the order of PEP 440.
_DEVELOPMENT, _CANDIDATE, _RELEASE, _POST = -2, -1, 0, 1
_STAGES = {
    "dev": _DEVELOPMENT,
    "a": _CANDIDATE,
    "alpha": _CANDIDATE,
    "b": _CANDIDATE,
    "beta": _CANDIDATE,
    "c": _CANDIDATE,
    "rc": _CANDIDATE,
    "pre": _CANDIDATE,
    "post": _POST,
}
_LONGEST = 80


class Version(NamedTuple):
    """A version that can be ordered: `release` without trailing zeros, then the stage and its number.

    `stage` is -2 for a development build, -1 for a pre-release, 0 for the release, 1 for a post-release. What follows
    the version in a tag (`-rocm`, `-cu128`, `+cpu`) is a flavour and does not count.
    """

    release: tuple[int, ...]
    stage: int = _RELEASE
    serial: int = 0


@lru_cache(maxsize=512)
def parse_version(text: str | None) -> Version | None:
    """The version that a tag or a pin begins with, or None where it names none (`latest`, a digest, a commit).

    Takes `v0.11.2`, `0.8.5.post1`, `2.0.2`, `3.3.4-rocm`, `0.11.0rc2`, `v0.10.1.1`, `b4719` and
    `server-cuda-b4719` (llama.cpp's build numbers), `v0.5.6.post2-cu126`.
    """
    found = _scan(text)
    return found[0] if found else None


def version_of_image(image: str) -> str | None:
    """The version that an image reference names, without a leading `v` and without the flavour.

    `vllm/vllm-openai:v0.8.5.post1` gives `0.8.5.post1`. None for a moving tag, a digest, no tag, or a tag that cannot
    be known (a variable, a template).
    """
    tag = tag_of_image(image)
    found = _scan(tag) if tag is not None else None
    return found[1] if found else None


def tag_of_image(image: str) -> str | None:
    """The tag of an image reference, None where there is none or where a variable or a template supplies part of it.

    A digest and a registry's port are no tags.
    """
    name = image.strip().partition("@")[0]
    if any(mark in name for mark in "${}<>%"):
        return None
    last = name.rpartition("/")[2]
    tag = last.partition(":")[2]
    return tag or None


def version_of_pin(requirement: str, package: str) -> str | None:
    """The version that a requirement pins exactly (`vllm[audio]==0.8.5.post1; ...`), None where it leaves it open."""
    name, equals, rest = requirement.partition("==")
    if not equals or name.partition("[")[0].strip().lower().replace("_", "-") != package:
        return None
    pinned = rest.lstrip("=").partition(";")[0].partition("#")[0].partition(",")[0].strip()
    if "*" in pinned:
        return None
    found = _scan(pinned)
    return found[1] if found else None


def compare(left: str | None, right: str | None) -> int | None:
    """-1, 0 or 1 as `left` is older than, as old as, or newer than `right`; None where one of them is not known."""
    first, second = parse_version(left), parse_version(right)
    if first is None or second is None:
        return None
    return (first > second) - (first < second)


def at_least(version: str | None, floor: str) -> bool | None:
    """Whether a version is `floor` or newer; None where it is not known."""
    order = compare(version, floor)
    return None if order is None else order >= 0


def before(version: str | None, ceiling: str) -> bool | None:
    """Whether a version is older than `ceiling`; None where it is not known."""
    order = compare(version, ceiling)
    return None if order is None else order < 0


def _scan(text: str | None) -> tuple[Version, str] | None:
    """The version that stands in a tag, and its text."""
    if not text or len(text) > _LONGEST or not text.isascii():
        return None
    tag = text.strip().lower()
    if tag.startswith("sha256:") or tag in _MOVING:
        return None
    pieces = tag.split("-")
    # llama.cpp's images carry the flavour in front (`server-cuda-b4719`); a CUDA version may stand there as well
    # (`cuda-12.4-v0.9.2`), so a piece with a `v` goes first.
    for index in sorted(range(len(pieces)), key=lambda place: not pieces[place].startswith("v")):
        piece = pieces[index]
        if piece in _MOVING or piece == "sha":
            return None
        if piece[:1] == "b" and piece[1:].isdigit() and len(piece) >= 4:
            return Version((int(piece[1:]),)), piece
        found = _read(piece)
        if found is None:
            continue
        version, written = found
        if version.stage == _RELEASE and index + 1 < len(pieces):
            stage, serial, end = _stage(pieces[index + 1], 0)
            # `0.30.0-rc1`, the way semantic versioning writes it.
            if stage == _CANDIDATE and end:
                return version._replace(stage=stage, serial=serial), f"{written}-{pieces[index + 1]}"
        return found
    return None


def _read(piece: str) -> tuple[Version, str] | None:
    """A dotted version with an optional `v` in front and a stage behind."""
    start = 1 if piece[:1] == "v" and piece[1:2] in _DIGITS and piece[1:2] else 0
    position, release = start, []
    while position < len(piece) and piece[position] in _DIGITS:
        end = position
        while end < len(piece) and piece[end] in _DIGITS:
            end += 1
        if end - position > 9:
            return None
        release.append(int(piece[position:end]))
        position = end
        if piece[position : position + 1] != "." or piece[position + 1 : position + 2] not in _DIGITS:
            break
        if position + 1 == len(piece):
            break
        position += 1
    # A bare number is a version only after a `v`; otherwise it is a date, a build, a commit that happens to be digits.
    if not release or (len(release) == 1 and not start):
        return None
    # Without its `v`, a bare number could not be read as a version again.
    written = 0 if len(release) == 1 else start
    stage, serial, end = _stage(piece, position)
    rest = piece[end:]
    if rest and rest[0] not in "+_." and all(character in _HEXADECIMAL for character in rest):
        return None
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    return Version(tuple(release), stage, serial), piece[written:end]


def _stage(piece: str, position: int) -> tuple[int, int, int]:
    """The stage behind a release (`.post1`, `rc2`, `.dev3`), its number, and where it ends."""
    letters = position + 1 if piece[position : position + 1] in (".", "_") else position
    end = letters
    while end < len(piece) and piece[end].isalpha():
        end += 1
    stage = _STAGES.get(piece[letters:end])
    if stage is None:
        return _RELEASE, 0, position
    stop = end
    while stop < len(piece) and piece[stop] in _DIGITS:
        stop += 1
    return stage, int(piece[end:stop][:9] or 0), stop
