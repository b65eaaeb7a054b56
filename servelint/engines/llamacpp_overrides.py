"""`--override-kv`: what llama.cpp makes of each item (common/arg.cpp, `string_parse_kv_override`)."""

from __future__ import annotations

from collections.abc import Sequence

from servelint.engines.llamacpp_arguments import ServerLine, split_list
from servelint.engines.reading import Option
from servelint.records import record
from servelint.text import Span

TYPES = ("int", "float", "bool", "str")
# The keys that name a token which ends generation, by the name that the vocabulary gives it.
END_KEYS = {
    "tokenizer.ggml.eos_token_id": "eos",
    "tokenizer.ggml.eot_token_id": "eot",
    "tokenizer.ggml.eom_token_id": "eom",
    # llama.cpp ends at these as well, whatever their texts.
    "tokenizer.ggml.fim_pad_token_id": "fim_pad",
    "tokenizer.ggml.fim_rep_token_id": "fim_rep",
    "tokenizer.ggml.fim_sep_token_id": "fim_sep",
}
_LONGEST_KEY, _LONGEST_TEXT = 127, 127


@record
class Override:
    """One item: its key, type and value as written, and where it stands.

    `number` is the id that an integer becomes, None for any other. `refused` says why the program ends over it.
    """

    key: str
    type: str
    value: str
    span: Span
    value_span: Span
    option: Option
    number: int | None = None
    refused: str | None = None

    @property
    def name(self) -> str | None:
        """Which end the key names (`eos`, `eot`, `fim_pad`, …), None for any other key."""
        return END_KEYS.get(self.key)


def overrides_of(words: ServerLine) -> list[Override]:
    """All items of all `--override-kv`, in their order."""
    found = []
    for option in words.all("--override-kv"):
        if option.value is not None:
            found += [_override(item, start, end, option) for item, start, end in split_list(option.value)]
    return found


def _override(item: str, start: int, end: int, option: Option) -> Override:
    key, equals, rest = item.partition("=")
    kind, colon, value = rest.partition(":")
    span = _place(option, start, end)
    # With quotes in it, an item is longer than what it says.
    value_span = _place(option, end - len(value), end) if colon and end - start == len(item) else span
    refused = None
    number = None
    if not equals or len(key) > _LONGEST_KEY:
        refused = "it wants KEY=TYPE:VALUE"
    elif not colon or kind not in TYPES:
        refused = f"a type is wanted before the value: {', '.join(TYPES)}"
    elif kind == "bool" and value not in ("true", "false"):
        refused = "a bool is true or false, in lower case"
    elif kind == "str" and len(value.encode("utf-8", "surrogatepass")) > _LONGEST_TEXT:
        refused = f"a str has at most {_LONGEST_TEXT} bytes"
    elif kind == "int":
        number = _atol(value)
    return Override(key, kind, value, span, value_span, option, number, refused)


def _atol(text: str) -> int:
    """`atol`: digits after blanks and a sign; 0 where there are none, in silence."""
    body = text.lstrip(" \t\n\v\f\r")
    sign = -1 if body.startswith("-") else 1
    body = body[1:] if body[:1] in ("+", "-") else body
    end = 0
    while end < len(body) and end < 18 and body[end].isascii() and body[end].isdigit():
        end += 1
    return sign * int(body[:end]) if end else 0


def is_number(text: str) -> bool:
    """Whether an integer's text is all number: of any other, `atol` takes the digits in front, or 0."""
    body = text.strip(" \t\n\v\f\r")
    body = body[1:] if body[:1] in ("+", "-") else body
    return body.isascii() and body.isdigit()


def _place(option: Option, start: int, end: int) -> Span:
    """Where a part of the value stands; the whole value where it is not written out there."""
    argument, text = option.argument, option.value
    if argument is None or argument.inner is None or text is None or argument.inner.text != text:
        return option.span
    return argument.inner.host_span(Span(start, end))


def id_overrides(overrides: Sequence[Override], size: int | None) -> list[Override]:
    """The items that set an end for good: the first of a key counts, and its id must be within the vocabulary."""
    return [item for item in _first_integers(overrides) if _is_id(item, size)]


def impossible_eos(overrides: Sequence[Override], size: int | None) -> Override | None:
    """The item that takes the file's eos away and gives no other: llama.cpp then starts from its default."""
    return next((item for item in _first_integers(overrides) if item.name == "eos" and not _is_id(item, size)), None)


def rescued_keys(overrides: Sequence[Override]) -> set[str]:
    """The keys of ids that are not read from the file, of whatever type they are there."""
    return {item.key for item in _first_integers(overrides)}


def _first_integers(overrides: Sequence[Override]) -> list[Override]:
    first: dict[str, Override] = {}
    for item in overrides:
        if item.name is not None and item.refused is None:
            first.setdefault(item.key, item)
    return [item for item in first.values() if item.type == "int"]


def _is_id(item: Override, size: int | None) -> bool:
    return item.number is not None and 0 <= item.number < (size or 2**31)
