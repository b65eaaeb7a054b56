"""The command line and the variables of llama-server, taken as llama.cpp's own parser takes them.

Follows common/arg.cpp of ggml-org/llama.cpp: words only, no `--flag=value`, no `-n128`; an option that takes a value
takes the next word whatever it is. The options are in `rules/engines/llamacpp-server.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from servelint.engines.reading import Option
from servelint.manifests.serving import Argument, Setting
from servelint.records import record
from servelint.text import Span

# `common_arg_utils`: what a variable may hold that switches something.
_TRUE = frozenset({"on", "enabled", "true", "1"})
_FALSE = frozenset({"off", "disabled", "false", "0"})
# Took no value in older builds, and in forks still.
_ONCE_BARE = frozenset({"--flash-attn", "--fit"})
_BLANKS = " \t\n\v\f\r"
# Read by `std::stoul`: -1 and the whole range of 64 bits are right.
_UNSIGNED = frozenset({"--seed"})
_FLOAT = re.compile(
    r"[+-]?(?:0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])"
)
_LONGEST_NUMBER = 20
_LARGEST_FLOAT = 3.4028235e38
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "'": "'", '"': '"', "\\": "\\"}
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([nrt'\"\\]))")
# What people take for a truth value, whether llama.cpp does or not.
_MEANT_ON = _TRUE | {"yes", "y"}
_MEANT_OFF = _FALSE | {"no", "n"}


@record
class ServerOption:
    """An option of llama-server: `flag` is the name it goes by here, `kind` as the table has it."""

    flag: str
    kind: str
    names: tuple[str, ...]
    negative: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    variable: str | None = None
    negative_variable: str | None = None
    gathered: bool = False

    @property
    def takes(self) -> int:
        """How many of the words behind it are its own."""
        return {"switch": 0, "pair": 0, "two-integers": 2}.get(self.kind, 1)


@record
class Misfit:
    """A word that the parser refuses, or takes for something else than was meant.

    `sort` is `unknown` (no such option), `stray` (a word that belongs to no option), `joined` (an option and its value
    in one word; `parts` are the two), `missing` (no value behind it), `value` (the value does not fit, `reason` says
    what the program does), `truth` (a variable that is neither true nor false). `spelled` is the option's name as it
    stands there.
    """

    sort: str
    span: Span
    text: str
    option: ServerOption | None = None
    reason: str = ""
    parts: tuple[str, ...] = ()
    certain: bool = True
    argument: Argument | None = None
    spelled: str = ""


@record
class ServerLine:
    """What the parser made of its words: options in the order in which they count, and what it refuses.

    `open` tells that words which cannot be known may add options.
    """

    options: tuple[Option, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    open: bool = False

    def last(self, flag: str) -> Option | None:
        """The option that holds under that name."""
        return next((option for option in reversed(self.options) if option.name == flag), None)

    def all(self, flag: str) -> list[Option]:
        """All options of that name, in their order."""
        return [option for option in self.options if option.name == flag]


@cache
def options_by_name() -> Mapping[str, ServerOption]:
    """Every name of every option."""
    from servelint.data import load

    found: dict[str, ServerOption] = {}
    for row in load("rules/engines/llamacpp-server.json")["flags"]:
        option = ServerOption(
            row["flag"], row["kind"], tuple(row["names"]), tuple(row.get("negative", ())),
            tuple(row.get("choices", ())), row.get("env"), row.get("env_negative"), row.get("gathered", False),
        )  # fmt: skip
        for name in (*option.names, *option.negative):
            found[name] = option
    return found


@cache
def options_by_variable() -> Mapping[str, ServerOption]:
    """The variables that give an option its value, the negative ones too."""
    found: dict[str, ServerOption] = {}
    for option in options_by_name().values():
        for name in (option.variable, option.negative_variable):
            if name is not None:
                found[name] = option
    return found


def normal(word: str) -> str:
    """An option word as the parser looks it up: underscores of a long name are dashes."""
    return word.replace("_", "-") if word.startswith("--") else word


def parse_words(words: Sequence[Argument]) -> ServerLine:
    """The words behind the program."""
    options: list[Option] = []
    misfits: list[Misfit] = []
    is_open = False
    index = 0
    while index < len(words):
        word = words[index]
        if word.text is None:
            name, equals, _ = word.prefix.partition("=")
            joined = options_by_name().get(normal(name)) if equals else None
            if joined is not None:
                # Whatever the value is, the option is not found under this name.
                misfits.append(Misfit("joined", word.span, word.prefix, joined, parts=(name,), argument=word))
            else:
                is_open = is_open or word.count is None or not word.prefix.startswith("-")
            index += 1
            continue
        option = options_by_name().get(normal(word.text))
        if option is None:
            misfits.append(_misfit(word, is_open))
            # An option that this table does not know may have a value behind it.
            following = words[index + 1] if index + 1 < len(words) else None
            takes_next = misfits[-1].sort == "unknown" and following is not None and not _is_option(following)
            index += 2 if takes_next else 1
            continue
        index += _take(option, words, index, options, misfits, is_open)
    return ServerLine(tuple(options), tuple(misfits), is_open)


def _is_option(word: Argument) -> bool:
    text = word.text if word.text is not None else word.prefix
    return text.startswith("-") and not _number_start(text)


def _number_start(text: str) -> bool:
    return text[1:2].isdigit() or text[1:2] == "."


def _take(
    option: ServerOption, words: Sequence[Argument], index: int, options: list[Option], misfits: list[Misfit],
    is_open: bool,
) -> int:  # fmt: skip
    """Take the option at this place; gives how many words it took."""
    word = words[index]
    spelled = word.text or ""
    name = normal(spelled)
    if option.takes == 0:
        options.append(
            Option(option.flag, spelled, None, word.span, word.span, name not in option.negative, False, word)
        )
        return 1
    values = words[index + 1 : index + 1 + option.takes]
    if option.flag in _ONCE_BARE and (not values or _is_bare(option, values[0])):
        options.append(Option(option.flag, spelled, None, word.span, word.span, True, False, word))
        return 1
    if len(values) < option.takes:
        if not is_open:
            misfits.append(Misfit("missing", word.span, spelled, option, argument=word))
        return 1 + len(values)
    value = values[0]
    if value.text is None:
        options.append(Option(option.flag, spelled, None, value.span, word.span, None, True, value))
        return 1 + len(values)
    data, reason = converted(option, value.text)
    if reason is not None:
        certain = option.kind != "choice"
        misfits.append(
            Misfit("value", value.span, value.text, option, reason, certain=certain, argument=value, spelled=spelled)
        )
    options.append(Option(option.flag, spelled, value.text, value.span, word.span, data, False, value))
    return 1 + len(values)


def _is_bare(option: ServerOption, value: Argument) -> bool:
    """Whether an option that once took no value stands here without one."""
    return value.text is not None and value.text not in option.choices and value.text.startswith("-")


def _misfit(word: Argument, is_open: bool) -> Misfit:
    text = word.text or ""
    if not text.startswith("-") or text == "-":
        return Misfit("stray", word.span, text, certain=not is_open, argument=word)
    parts = _joined(text)
    if parts is not None:
        option = options_by_name()[normal(parts[0])]
        return Misfit("joined", word.span, text, option, parts=parts, argument=word)
    return Misfit("unknown", word.span, text, certain=False, argument=word)


def _joined(text: str) -> tuple[str, ...] | None:
    """The option and the value that stand in one word: `--ctx-size=64`, `-n128`, `-c 8192`."""
    name, equals, value = text.partition("=")
    if equals and normal(name) in options_by_name():
        return name, value
    for blank in _BLANKS:
        lead, found, rest = text.partition(blank)
        if found and normal(lead) in options_by_name():
            return lead, rest.strip(_BLANKS)
    if not text.startswith("--"):
        end = len(text)
        while end > 1 and (text[end - 1].isdigit() or text[end - 1] == "."):
            end -= 1
        option = options_by_name().get(text[:end])
        if end < len(text) and option is not None and option.takes == 1:
            return text[:end], text[end:]
    return None


def converted(option: ServerOption, text: str) -> tuple[Any, str | None]:
    """The value as the program takes it, and what is wrong with it (None: nothing)."""
    if option.kind in ("integer", "two-integers"):
        return _integer(text, 64) if option.flag in _UNSIGNED else _integer(text, 31)
    if option.kind == "number":
        return _number(text)
    if option.kind == "choice":
        if text in option.choices:
            return text, None
        shown = ", ".join(option.choices)
        return text, f"it takes {shown}"
    if option.kind == "json":
        return _json(text)
    return text, None


def _integer(text: str, bits: int) -> tuple[int | None, str | None]:
    """`std::stoi`: blanks and a sign, then digits; what stands behind them is dropped in silence."""
    body = text.lstrip(_BLANKS)
    start = 1 if body[:1] in ("+", "-") else 0
    end = start
    while end < len(body) and body[end].isascii() and body[end].isdigit():
        end += 1
    if end == start:
        return None, "the program ends (`stoi`): a whole number is wanted"
    digits = body[start:end].lstrip("0") or "0"
    number = int(digits) if len(digits) <= _LONGEST_NUMBER else 2**64
    number = -number if body.startswith("-") else number
    if not -(2**bits) <= number < 2**bits:
        return None, "the program ends (`stoi`): the number is too large"
    rest = body[end:]
    if rest.strip(_BLANKS):
        return number, f"the program reads {number} and drops {rest!r}"
    return number, None


def _number(text: str) -> tuple[float | None, str | None]:
    """`std::stof`."""
    body = text.strip(_BLANKS)
    found = _FLOAT.match(body)
    if found is None:
        return None, "the program ends (`stof`): a number is wanted"
    written = found.group()
    number = _hexadecimal(written) if "x" in written.lower() else float(written)
    if number is None or (abs(number) > _LARGEST_FLOAT and "i" not in written.lower()):
        return None, "the program ends (`stof`): the number is too large"
    if found.end() < len(body):
        return number, f"the program reads {number:g} and drops {body[found.end() :]!r}"
    return number, None


def _hexadecimal(text: str) -> float | None:
    try:
        return float.fromhex(text)
    except OverflowError:
        return None


def unescaped(text: str) -> str:
    """A text with its escapes as `string_process_escapes` (common/common.cpp) resolves them; others stay as written.

    A byte above 127 (`\\xe2`) may be a part of a character only, so it stays as written too.
    """
    return _ESCAPE.sub(_resolved, text) if "\\" in text else text


def _resolved(found: re.Match[str]) -> str:
    if found[2] is not None:
        return _ESCAPES[found[2]]
    number = int(found[1], 16)
    return chr(number) if number < 128 else found[0]


def _json(text: str) -> tuple[Any, str | None]:
    from servelint.engines.meant_json import load_json

    data, failed = load_json(text)
    return (None, "it takes JSON, and this is none: the program ends") if failed else (data, None)


def parse_variables(environment: Sequence[Setting]) -> ServerLine:
    """The variables that the program reads before its words; the last one of a name holds."""
    options: list[Option] = []
    misfits: list[Misfit] = []
    known = options_by_variable()
    held = [entry for entry in {entry.name: entry for entry in environment}.values() if entry.name in known]
    # `get_value_from_env` looks for the negative variable first and then for no other.
    held.sort(key=lambda entry: entry.name == known[entry.name].negative_variable)
    for setting in held:
        option = known[setting.name]
        if setting.value is None:
            options.append(Option(option.flag, setting.name, None, setting.span, setting.span, None, True))
            continue
        data, misfit = _variable(option, setting, setting.value)
        if misfit is not None:
            misfits.append(misfit)
        if data is not None:
            options.append(Option(option.flag, setting.name, setting.value, setting.span, setting.span, data))
    return ServerLine(tuple(options), tuple(misfits))


# Keys that a router's preset takes beside the options.
_PRESET_KEYS = frozenset({"load-on-startup", "stop-timeout", "dedup-cache-models", "version"})


def parse_preset(settings: Sequence[Setting], is_config: bool) -> ServerLine:
    """The keys of a preset's section, the common ones before its own; of repeated keys the last one counts.

    A key is an option's name without its dashes, or its variable. In `config.ini` a plain switch is on whatever its
    value says.
    """
    options: list[Option] = []
    misfits: list[Misfit] = []
    for setting in settings:
        if setting.name in _PRESET_KEYS or setting.value is None:
            continue
        option = option_of_key(setting.name)
        if option is None:
            misfits.append(Misfit("key", setting.whole, setting.name, certain=not is_config, spelled=setting.name))
            continue
        data, misfit = _preset_value(option, setting, setting.value, is_config)
        if misfit is not None:
            misfits.append(misfit)
        if data is not None:
            options.append(Option(option.flag, setting.name, setting.value, setting.span, setting.whole, data))
    return ServerLine(tuple(options), tuple(misfits))


def option_of_key(key: str) -> ServerOption | None:
    """The option that a preset's key names: without its dashes, long or short, or by its variable."""
    found = options_by_name().get(f"--{key}") or options_by_name().get(f"-{key}")
    return found or options_by_variable().get(key)


def _preset_value(option: ServerOption, setting: Setting, value: str, is_config: bool) -> tuple[Any, Misfit | None]:
    if option.kind == "switch" and is_config:
        return True, None
    if option.takes == 0:
        truth, misfit = _preset_truth(option, setting, value, is_config)
        return (True if truth else None) if option.kind == "switch" else truth, misfit
    data, reason = converted(option, value)
    if reason is None:
        return data, None
    certain = option.kind != "choice"
    return data, Misfit("value", setting.span, value, option, reason, certain=certain, spelled=setting.name)


def _preset_truth(
    option: ServerOption, setting: Setting, value: str, is_config: bool
) -> tuple[bool, Misfit | None]:  # fmt: skip
    """What a preset makes of a truth value: nothing is refused here (common/preset.cpp).

    Under a negative name all but the true values mean on; else a router takes all but the false values for on, and
    `config.ini` all but the true ones for off.
    """
    negated = bool({f"--{setting.name}", f"-{setting.name}"} & {*option.negative})
    negated = negated or setting.name == option.negative_variable
    truth = value not in _TRUE if negated else value in _TRUE if is_config else value not in _FALSE
    if value in _TRUE | _FALSE:
        return truth, None
    word = value.lower()
    meant = True if word in _MEANT_ON else False if word in _MEANT_OFF else None
    if meant is not None and truth is (meant is not negated):
        return truth, None
    reason = f"{option.flag} is {'on' if truth else 'off'} with it"
    return truth, Misfit("truth", setting.span, value, option, reason, spelled=setting.name)


def _variable(option: ServerOption, setting: Setting, value: str) -> tuple[Any, Misfit | None]:
    if option.kind == "pair":
        if setting.name == option.negative_variable:
            # Present is enough: `LLAMA_ARG_NO_CONTEXT_SHIFT=0` turns it off all the same.
            return False, None
        if value not in _TRUE | _FALSE:
            return None, Misfit("truth", setting.span, value, option, spelled=setting.name)
        return value in _TRUE, None
    if option.kind == "switch":
        return (True if value in _TRUE else None), None
    data, reason = converted(option, value)
    if reason is None:
        return data, None
    certain = option.kind != "choice"
    return data, Misfit("value", setting.span, value, option, reason, certain=certain, spelled=setting.name)


def split_list(text: str) -> Iterator[tuple[str, int, int]]:
    """The items of a comma-separated value, where each begins and ends (`parse_csv_row` in common/arg.cpp).

    Double quotes hold commas together only where they begin an item; inside one, `""` is a quote.
    """
    item: list[str] = []
    start, quoted, position = 0, False, 0
    while position < len(text):
        character = text[position]
        if character == '"' and quoted and text[position + 1 : position + 2] == '"':
            item.append('"')
            position += 1
        elif character == '"' and (quoted or not item):
            quoted = not quoted
        elif character == "," and not quoted:
            yield "".join(item), start, position
            item, start = [], position + 1
        else:
            item.append(character)
        position += 1
    yield "".join(item), start, len(text)
