"""What an engine makes of a serving: its options, what ends generation, and what caps it."""

from __future__ import annotations

from typing import Any

from servelint.manifests.serving import Argument
from servelint.records import field, record
from servelint.text import Span


@record
class StopText:
    """A text that ends generation when it appears in the output, and where it comes from."""

    value: str
    origin: str
    span: Span | None = None
    path: str | None = None


@record
class StopId:
    """A token id that ends generation, its text where known, and where it comes from."""

    value: int
    origin: str
    token: str | None = None
    span: Span | None = None
    path: str | None = None


@record
class StopSet:
    """What ends generation here.

    `unknown` says what else may be in the set and why it cannot be known; without any, the set is complete.
    `tokens` are texts of special tokens that end generation by token (not by text) without a known id: llama.cpp's
    end-of-generation list. `published` are ids that the model's publisher is known to ship in files that were not read
    here: they are told, and count for the verdict, but nothing in sight pins them.
    """

    texts: tuple[StopText, ...] = ()
    ids: tuple[StopId, ...] = ()
    tokens: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    published: tuple[StopId, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is unknown."""
        return not self.unknown

    def holds(self, text: str, identifier: int | None) -> bool | None:
        """Three-valued: is this token in (True), out (False), or unknown (None)?"""
        if any(stop.value == text for stop in self.texts) or text in self.tokens:
            return True
        if any(stop.token == text or (identifier is not None and stop.value == identifier) for stop in self.ids):
            return True
        return None if self.unknown else False


@record
class Cap:
    """How many tokens an answer may have, and which setting says so; `hard` where a request cannot raise it."""

    value: int
    origin: str
    span: Span | None = None
    path: str | None = None
    hard: bool = False


@record
class Option:
    """One option of a command line as its engine's parser took it.

    `name` is the option's canonical name (`--max-model-len`), `spelled` what stands there. `value` is the text of the
    value: None for a switch, and for a value that cannot be known (then `unknown`). `data` is the value after the
    parser's own conversion. `span` is the value as written, `name_span` the name.
    """

    name: str
    spelled: str
    value: str | None
    span: Span
    name_span: Span
    data: Any = None
    unknown: bool = False
    argument: Argument | None = None


@record
class Fault:
    """What an engine's own parser, or its start-up, says against a setting.

    `sort`: `unknown-option`, `invalid-value`, `deprecated`, `removed`, `not-split`, `lost-quotes`, `literal-quotes`,
    `inert`, `conflict`, `shadowed`, `fatal`, `bans-end`, `no-terminator`, `unbounded`, `list-in-one`, `text-stripped`,
    `emptied`, and others that `checks/faults.py` lists. `message` says what was seen and what the engine does about it,
    `suggestion` is the nearest known name or the right form. `certain` is False where another version may take it;
    `severity` is set where it is not the one that goes with the sort.
    """

    sort: str
    message: str
    span: Span
    suggestion: str | None = None
    certain: bool = True
    subject: str = ""
    related: tuple[tuple[Span, str], ...] = ()
    why: str = ""
    help: str = ""
    path: str | None = None
    severity: str | None = None


@record
class Reading:
    """A serving as its engine reads it.

    `reads_model_ids` tells whether the engine takes end ids from the model's own files (so that nothing in the manifest
    need name them); `stops_replace` whether stops given here replace the model's own. `serves_chat` is True where chat
    turns are served for sure (a chat-only flag or template is given), None where it cannot be told.
    """

    stop_set: StopSet
    options: tuple[Option, ...] = ()
    cap: Cap | None = None
    default_cap: Cap | None = None
    faults: tuple[Fault, ...] = ()
    reads_model_ids: bool = True
    stops_replace: bool = False
    serves_chat: bool | None = None
    generates: bool = True
    facts: dict[str, Any] = field(default_factory=dict)

    def option(self, name: str) -> Option | None:
        """The option that wins under that canonical name."""
        found = [option for option in self.options if option.name == name]
        return found[-1] if found else None
