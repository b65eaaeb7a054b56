"""The command line of SGLang's server, taken as Python's argparse takes it.

Unlike vLLM's parser it does not equate underscores with dashes. The flags, by version, are in
`rules/engines/sglang.json`; the `--config` file stands below the command line (`sglang/srt/server_args_config_parser`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from servelint.engines.meant_json import load_json
from servelint.engines.reading import Option
from servelint.manifests.serving import Argument
from servelint.manifests.versions import at_least, before
from servelint.records import record
from servelint.text import Span

ReadFile = Callable[[str], str | None]
_UNLIMITED = 10**6
# The parser takes any text for these; the server reads it as JSON when it starts (`srt/server_args.py`).
_JSON_TEXTS = frozenset({"--json-model-override-args"})


@record
class ServerFlag:
    """A flag of SGLang's server; `first` and `last` are the versions looked at that have it, None for the newest."""

    name: str
    kind: str
    nargs: str
    choices: tuple[Any, ...]
    first: str
    last: str | None
    names: tuple[str, ...]

    @property
    def takes(self) -> tuple[int, int]:
        """How many words behind it are its own, at least and at most."""
        if self.kind in ("switch", "pair", "help"):
            return 0, 0
        return {"+": (1, _UNLIMITED), "*": (0, _UNLIMITED), "?": (0, 1)}.get(self.nargs, (1, 1))


@record
class Misfit:
    """What the parser refuses.

    `sort` is `unknown`, `ambiguous`, `stray`, `missing`, `explicit` (a switch with a value), `value`, `choice` or
    `json`. `certain` is False where another version may take it.
    """

    sort: str
    span: Span
    text: str
    flag: ServerFlag | None = None
    certain: bool = True
    argument: Argument | None = None


@record
class ServerLine:
    """What the parser made of its words; `open` tells that words which cannot be known may add options."""

    options: tuple[Option, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    open: bool = False

    def last(self, name: str) -> Option | None:
        """The option that holds under that name."""
        return next((option for option in reversed(self.options) if option.name == name), None)


@cache
def flags_by_name() -> Mapping[str, ServerFlag]:
    """Every name of every flag of every version."""
    from servelint.data import load

    found: dict[str, ServerFlag] = {}
    for row in load("rules/engines/sglang.json")["flags"]:
        first, _, last = row["present"].partition("..")
        names = (row["flag"], *row.get("aliases", ()))
        flag = ServerFlag(
            row["flag"], row["kind"], row.get("nargs", ""), tuple(row.get("choices", ())), first, last or None, names
        )
        for name in names:
            found[name] = flag
    return found


@cache
def versions() -> tuple[str, ...]:
    """The versions looked at, the oldest first."""
    from servelint.data import load

    return tuple(load("rules/engines/sglang.json")["versions"])


def is_gone(flag: ServerFlag, version: str | None) -> bool:
    """Whether a version is known to have dropped the flag: it was not in the newest one looked at."""
    return flag.last is not None and at_least(version, versions()[-1]) is True


def is_unborn(flag: ServerFlag, version: str | None) -> bool:
    """Whether a version is known not to have the flag yet: it is no newer than the oldest one looked at."""
    return flag.first != versions()[0] and reads_config_alone(version)


def reads_config_alone(version: str | None) -> bool:
    """Whether a version is no newer than the oldest one looked at, whose end ids come from config.json alone."""
    return version is not None and at_least(versions()[0], version) is True


def parse_words(words: Sequence[Argument], version: str | None, read_file: ReadFile | None = None) -> ServerLine:
    """The words behind the program. `read_file` gives the text of the `--config` file, None where it is not known."""
    parser = _Parser(version)
    for index, word in enumerate(words):
        # Only the two-word form is looked for.
        if word.text == "--config" and index + 1 < len(words):
            parser.read_config(words[index + 1], read_file)
            break
    parser.read(list(words))
    return ServerLine(tuple(parser.options), tuple(parser.misfits), parser.is_open)


class _Parser:
    __slots__ = ("is_open", "misfits", "options", "version")

    def __init__(self, version: str | None) -> None:
        self.version = version
        self.options: list[Option] = []
        self.misfits: list[Misfit] = []
        self.is_open = False

    def read(self, words: list[Argument]) -> None:
        """Take the words in their order."""
        index = 0
        while index < len(words):
            word = words[index]
            if word.text is None:
                if not word.prefix.startswith("-") or "=" not in word.prefix:
                    self.is_open = True
                else:
                    self._take_unknown(word)
                index += 1
                continue
            if word.text == "--":
                # What follows are words that belong to no option.
                strays = [other for other in words[index + 1 :] if other.text is not None]
                self.misfits += [Misfit("stray", other.span, other.text or "", argument=other) for other in strays]
                return
            if not self._is_option(word.text):
                if not self.is_open:
                    self.misfits.append(Misfit("stray", word.span, word.text, argument=word))
                index += 1
                continue
            index += self._take(words, index)

    def read_config(self, word: Argument, read_file: ReadFile | None) -> None:
        """What the YAML file says, as options that stand before the command line's."""
        text = read_file(word.text) if read_file is not None and word.text else None
        if text is None:
            self.is_open = True
            return
        from servelint.formats.yaml import entries, read_yaml, value

        file = read_yaml(text)
        for key, node in entries(file.documents[0] if file.documents else None):
            flag = flags_by_name().get("--" + key.text.replace("_", "-"))
            data = value(node)
            if flag is None or (data is False and flag.takes == (0, 0)):
                # A switch that the file sets to false is left out.
                continue
            if flag.takes == (0, 0):
                self.options.append(Option(flag.name, key.text, None, word.span, word.span, data))
                continue
            # What is wrong with a value is told where the file itself is read.
            for item in data if isinstance(data, list) else (data,):
                shown = item if isinstance(item, str) else json.dumps(item) if isinstance(item, dict) else str(item)
                shown = shown.lower() if item is data and isinstance(item, bool) else shown
                self.options.append(Option(flag.name, key.text, shown, word.span, word.span, convert(flag, shown)[0]))

    def _is_option(self, text: str) -> bool:
        """argparse: a dash in front, unless it is a negative number or holds a blank without naming an option."""
        if not text.startswith("-") or text == "-":
            return False
        if text == "--":
            return True
        if text in flags_by_name() or text.partition("=")[0] in flags_by_name():
            return True
        if _is_negative_number(text):
            return False
        return " " not in text or bool(self._matches(text.partition("=")[0]))

    def _matches(self, prefix: str) -> list[str]:
        if not prefix.startswith("--"):
            return []
        return [name for name, flag in flags_by_name().items() if name.startswith(prefix) and not self._is_absent(flag)]

    def _is_absent(self, flag: ServerFlag) -> bool:
        return is_gone(flag, self.version) or before(self.version, flag.first) is True

    def _resolve(self, text: str) -> tuple[ServerFlag | None, str | None, list[str]]:
        """The flag of an option word, what is behind its `=`, and the names that a prefix may stand for."""
        name, equals, value = text.partition("=")
        explicit = value if equals else None
        flag = flags_by_name().get(name)
        if flag is not None:
            return flag, explicit, []
        matches = self._matches(name)
        owners = {flags_by_name()[match].name for match in matches}
        if len(matches) == 1 or len(owners) == 1:
            return flags_by_name()[matches[0]], explicit, []
        return None, explicit, matches

    def _take_unknown(self, word: Argument) -> None:
        flag, _, _ = self._resolve(word.prefix)
        if flag is not None:
            self.options.append(Option(flag.name, word.prefix, None, word.span, word.span, None, True, word))

    def _take(self, words: list[Argument], index: int) -> int:
        word = words[index]
        text = word.text or ""
        flag, explicit, matches = self._resolve(text)
        if flag is None:
            sort = "ambiguous" if matches else "unknown"
            known = self.version == versions()[-1]
            self.misfits.append(Misfit(sort, word.span, text, None, known, word))
            following = words[index + 1] if index + 1 < len(words) else None
            takes = explicit is None and following is not None and not (following.text or "").startswith("-")
            return 2 if takes else 1
        least, most = flag.takes
        spelled = text.partition("=")[0]
        if most == 0:
            if explicit is not None:
                self.misfits.append(Misfit("explicit", word.span, text, flag, argument=word))
            self.options.append(
                Option(flag.name, spelled, None, word.span, word.span, not _is_negated(flag, spelled), False, word)
            )
            return 1
        if explicit is not None:
            span = _behind(word, len(text) - len(explicit))
            self._value(flag, spelled, explicit, span, word, word)
            return 1
        values = self._values(words, index + 1, most)
        if not values and not least:
            self.options.append(Option(flag.name, spelled, None, word.span, word.span, None, False, word))
            return 1
        if len(values) < least:
            if not self.is_open:
                self.misfits.append(Misfit("missing", word.span, spelled, flag, argument=word))
            return 1 + len(values)
        for value in values:
            if value.text is None:
                self.is_open = self.is_open or value.count is None
                self.options.append(Option(flag.name, spelled, None, value.span, word.span, None, True, value))
            else:
                self._value(flag, spelled, value.text, value.span, word, value)
        return 1 + len(values)

    def _values(self, words: list[Argument], start: int, most: int) -> list[Argument]:
        found: list[Argument] = []
        for word in words[start : start + most]:
            if word.text is not None and self._is_option(word.text):
                break
            if word.text is None and found and word.prefix.startswith("-"):
                break
            found.append(word)
        return found

    def _value(self, flag: ServerFlag, spelled: str, text: str, span: Span, word: Argument, argument: Argument) -> None:
        data, sort = convert(flag, text)
        if sort is not None:
            self.misfits.append(Misfit(sort, span, text, flag, sort != "choice", argument))
        self.options.append(Option(flag.name, spelled, text, span, word.span, data, False, argument))


def _is_negated(flag: ServerFlag, spelled: str) -> bool:
    return flag.kind == "pair" and spelled.startswith("--no-") and not flag.name.startswith("--no-")


def _is_negative_number(text: str) -> bool:
    whole, dot, fraction = text[1:].partition(".")
    return (not whole or whole.isdecimal()) and fraction.isdecimal() if dot else whole.isdecimal()


def _behind(word: Argument, start: int) -> Span:
    if word.inner is None or word.text is None or word.inner.text != word.text:
        return word.span
    return word.inner.host_span(Span(start, len(word.text)))


def convert(flag: ServerFlag, text: str) -> tuple[Any, str | None]:
    """The value after the parser's own conversion, and what is wrong with it."""
    data: Any = text
    if flag.kind == "integer":
        try:
            data = int(text)
        except ValueError:
            return None, "value"
    elif flag.kind == "number":
        try:
            data = float(text)
        except ValueError:
            return None, "value"
    elif flag.kind == "human-integer":
        from servelint.engines.vllm_arguments import human_integer

        data, wrong = human_integer(text)
        if wrong is not None:
            return None, "value"
    elif flag.kind == "json" or flag.name in _JSON_TEXTS:
        data, failed = load_json(text)
        if failed:
            return None, "json"
    if flag.choices and data not in flag.choices:
        return data, "choice"
    return data, None


def without_program(words: Sequence[Argument]) -> tuple[Argument, ...]:
    """The words that the server's parser gets: behind the module, or behind `sglang serve`.

    `serve` itself takes a first word without a dash for the model, and keeps `--model-type` (`sglang/cli/serve.py`).
    """
    found = tuple(words)
    if not found or found[0].text != "serve":
        return found
    found = _without_backend(found[1:])
    first = found[0] if found else None
    if first is None or first.count is None or (first.text if first.text is not None else first.prefix)[:1] == "-":
        return found
    return Argument("--model-path", first.span, literal=False, form=first.form), *found


def _without_backend(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    kept: list[Argument] = []
    index = 0
    while index < len(words):
        text = words[index].text or words[index].prefix
        if text == "--model-type":
            index += 1
        elif not text.startswith("--model-type="):
            kept.append(words[index])
        index += 1
    return tuple(kept)
