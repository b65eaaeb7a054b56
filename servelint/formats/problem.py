"""What a reader has to say of a text that its format's own program refuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from servelint.records import record
from servelint.text import Span


@record
class Problem:
    """A fault of syntax: what the format's own reader says, and where.

    `sort` is `syntax` (the reader refuses the file), `encoding`, `unclosed-quote` or `duplicate-key`; `related` points
    to what the fault is about (the first of two keys, the quote that is never closed), with a word of its own.
    """

    message: str
    span: Span
    sort: str = "syntax"
    related: tuple[tuple[Span, str], ...] = ()


@record
class Comment:
    """A comment as it stands in the text, and the node it belongs to: the one it stands on or above."""

    span: Span
    text: str
    target: Span


class LateComments(Sequence[Comment]):
    """Comments that are looked for only when somebody asks for them: most files are read without."""

    __slots__ = ("_find", "_found")

    def __init__(self, find: Callable[[], tuple[Comment, ...]]) -> None:
        self._find = find
        self._found: tuple[Comment, ...] | None = None

    def _comments(self) -> tuple[Comment, ...]:
        if self._found is None:
            self._found = self._find()
        return self._found

    def __len__(self) -> int:
        return len(self._comments())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._comments() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._comments())

    @overload
    def __getitem__(self, index: int) -> Comment: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Comment]: ...
    def __getitem__(self, index: int | slice) -> Comment | Sequence[Comment]:
        return self._comments()[index]
