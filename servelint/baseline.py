"""A baseline: findings that were there when servelint was adopted, and are not reported until their lines change.

A finding is known again by its path (relative to the baseline's folder), its rule, and the text of its lines without
regard to blanks; so it survives that lines move. Of several alike, as many are hidden as were recorded.
"""

# Plain strings, as in the findings.
# ruff: noqa: PTH100, PTH120
from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from typing import Any

from servelint.files.context import UnreadableError, read_bytes
from servelint.report.collect import Entry

VERSION = 1
_SIZE_LIMIT = 64 * 1024 * 1024

Key = tuple[str, str, str]


class BaselineError(Exception):
    """A baseline that cannot be read; the message begins with its path."""


class Baseline:
    """The findings of a baseline file that were not met again so far."""

    def __init__(self, path: str, keys: Iterable[Key]) -> None:
        self._folder = os.path.dirname(os.path.abspath(path))
        self._left = Counter(keys)

    def unknown(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that the baseline does not hold. Each recorded finding hides one."""
        kept = []
        for entry in entries:
            key = fingerprint(entry, self._folder)
            if self._left[key] > 0:
                self._left[key] -= 1
            else:
                kept.append(entry)
        return kept


def fingerprint(entry: Entry, folder: str) -> Key:
    """What a finding is known by: path from `folder`, rule, and a digest of the text of its lines."""
    import hashlib

    place, lines = entry.place, entry.lines
    path = os.path.relpath(os.path.abspath(place.path), folder).replace(os.sep, "/")
    last = place.end_line - 1 if place.end_column == 1 and place.end_line > place.line else place.end_line
    end = lines.line_start(last + 1) if last < lines.lines else len(entry.text)
    text = " ".join(entry.text[lines.line_start(place.line) : end].split())
    return path, entry.finding.rule, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_baseline(path: str) -> Baseline:
    """The baseline in a file. Raises `BaselineError` where there is none that can be read."""
    try:
        document = json.loads(read_bytes(path, _SIZE_LIMIT))
        if not isinstance(document, dict) or document.get("version") != VERSION:
            raise BaselineError(f"{path}: not a baseline of version {VERSION}; make it with --write-baseline")
        keys = [_key(row) for row in document["findings"]]
    except UnreadableError as error:
        raise BaselineError(f"{path}: {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BaselineError(f"{path}: not a baseline; make it with --write-baseline") from error
    return Baseline(path, keys)


def _key(row: Any) -> Key:
    path, rule, text = row["path"], row["rule"], row["text"]
    if not (isinstance(path, str) and isinstance(rule, str) and isinstance(text, str)):
        raise TypeError
    return path, rule, text


def render_baseline(path: str, entries: Iterable[Entry]) -> str:
    """The baseline that holds these entries, to be written to `path`: a line each, in a stable order."""
    folder = os.path.dirname(os.path.abspath(path))
    keys = sorted(fingerprint(entry, folder) for entry in entries)
    rows = ",\n".join(json.dumps({"path": name, "rule": rule, "text": text}) for name, rule, text in keys)
    return f'{{"version": {VERSION},\n"findings": [{chr(10) + rows + chr(10) if rows else ""}]}}\n'
