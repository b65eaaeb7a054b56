"""The command line of `vllm serve`, parsed the way vLLM's own parser does it.

Follows vllm/utils/argparse_utils.py (`FlexibleArgumentParser`) on top of Python 3.11's argparse; which option strings
there are, by version, stands in `rules/engines/vllm.json`. What a word may be that cannot be known (a variable, a
template) is left open: an error that such a word could explain away is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from servelint.engines.meant_json import load_json
from servelint.engines.reading import Option
from servelint.manifests.serving import Argument
from servelint.manifests.versions import at_least, before, compare, parse_version
from servelint.records import field, record, replace
from servelint.text import Span

ReadFile = Callable[[str], str | None]
# Deeper nests than these are nobody's configuration; they are left unread.
_DEEPEST_KEY = 64
_LARGEST_CONFIG = 20_000
_UNKNOWN_DATA: Any = None


@record
class Flag:
    """One flag of the table; `present` is a bit for every version looked at, the lowest for the oldest."""

    name: str
    kind: str
    nargs: str
    choices: tuple[Any, ...]
    optional: bool
    folded: bool
    deprecated: bool
    value_until: str | None
    present: int
    aliases: tuple[str, ...]

    @property
    def key(self) -> str:
        """The name under which the parser keeps the value (`max_model_len`)."""
        return self.name.lstrip("-").replace("-", "_")


@record
class FlagTable:
    """All option strings of all versions; a string that changed hands has an entry for each flag it belonged to."""

    versions: tuple[str, ...]
    flags: dict[str, Flag]
    strings: dict[str, tuple[tuple[Flag, int], ...]]

    def presence(self, string: str) -> int:
        """The versions that know an option string, as bits."""
        mask = 0
        for _, bits in self.strings.get(string, ()):
            mask |= bits
        return mask

    def newest_with(self, string: str) -> str | None:
        """The newest version looked at that knows an option string."""
        mask = self.presence(string)
        return self.versions[mask.bit_length() - 1] if mask else None

    def oldest_with(self, string: str) -> str | None:
        """The oldest version looked at that knows an option string."""
        mask = self.presence(string)
        return self.versions[(mask & -mask).bit_length() - 1] if mask else None


@cache
def flag_table() -> FlagTable:
    """The table of `rules/engines/vllm.json`."""
    from servelint.data import load

    document = load("rules/engines/vllm.json")
    versions: tuple[str, ...] = tuple(document["versions"])
    order = {version: index for index, version in enumerate(versions)}
    masks: dict[str, int] = {}

    def mask(ranges: str) -> int:
        known = masks.get(ranges)
        if known is None:
            known = 0
            for part in ranges.split(","):
                start, _, end = part.partition("..")
                for index in range(order[start], order[end] + 1 if end else len(versions)):
                    known |= 1 << index
            masks[ranges] = known
        return known

    flags: dict[str, Flag] = {}
    strings: dict[str, tuple[tuple[Flag, int], ...]] = {}
    for row in document["flags"]:
        aliases: dict[str, str] = row.get("aliases", {})
        flag = Flag(
            row["flag"], row["kind"], row.get("nargs", ""), tuple(row.get("choices", ())), row.get("optional", False),
            row.get("folded", False), row.get("deprecated", False), row.get("value_until"), mask(row["present"]),
            tuple(aliases),
        )  # fmt: skip
        flags[flag.name] = flag
        strings[flag.name] = (*strings.get(flag.name, ()), (flag, flag.present))
        for alias, ranges in aliases.items():
            strings[alias] = (*strings.get(alias, ()), (flag, mask(ranges)))
    return FlagTable(versions, flags, strings)


@record
class Scope:
    """The versions of the table that a version may be like, as bits.

    One bit for a version that was looked at, the two neighbours for one in between, the end of the table for one
    beyond it, all for an unknown one. `known` is False where nothing can be said for sure: no version, or a newer one
    than the table knows.
    """

    version: str | None
    mask: int
    known: bool


@lru_cache(maxsize=64)
def scope_of(version: str | None) -> Scope:
    """Which versions of the table stand for this one."""
    versions = flag_table().versions
    everything = (1 << len(versions)) - 1
    if parse_version(version) is None:
        return Scope(None, everything, False)
    mask = 0
    for index, known in enumerate(versions):
        order = compare(version, known)
        if order == 0:
            return Scope(version, 1 << index, True)
        if order == -1:
            return Scope(version, mask | 1 << index, True)
        mask = 1 << index
    return Scope(version, mask, False)


@record
class Resolution:
    """What an option word means: its flag (None: no such option), the full option string, and what is behind `=`.

    `matches` holds the strings of an ambiguous prefix. `certain` is False where the versions that know the word differ
    in what it means.
    """

    flag: Flag | None
    string: str
    explicit: str | None = None
    matches: tuple[str, ...] = ()
    certain: bool = True


def resolve(word: str, scope: Scope) -> Resolution | None:
    """An option word as argparse's `_parse_optional` takes it; None where it is a positional."""
    if not word.startswith("-") or word == "-":
        return None
    found = _exact(word, scope)
    if found is not None:
        return found
    name, equals, explicit = word.partition("=")
    if equals:
        found = _exact(name, scope)
        if found is not None:
            return replace(found, explicit=explicit)
    found = _by_prefix(word, scope)
    if found is not None:
        return found
    if _is_negative_number(word) or " " in word:
        return None
    return Resolution(None, word)


def _exact(string: str, scope: Scope) -> Resolution | None:
    best: Flag | None = None
    newest, owners = 0, 0
    for flag, bits in flag_table().strings.get(string, ()):
        common = bits & scope.mask
        owners += common != 0
        if common > newest:
            best, newest = flag, common
    if best is None:
        return None
    return Resolution(best, string, certain=owners == 1)


def _by_prefix(word: str, scope: Scope) -> Resolution | None:
    strings = flag_table().strings
    explicit: str | None = None
    short = ""
    if word.startswith("--"):
        prefix, equals, behind = word.partition("=")
        explicit = behind if equals else None
    else:
        prefix, short = word, word[:2]
    matching: list[tuple[str, int]] = []
    for string, owners in strings.items():
        if string == short or string.startswith(prefix):
            bits = 0
            for _, mask in owners:
                bits |= mask
            if bits & scope.mask:
                matching.append((string, bits & scope.mask))
    if not matching:
        return None
    outcomes: set[tuple[str, ...]] = set()
    newest: tuple[str, ...] = ()
    bit = 1
    while bit <= scope.mask:
        if bit & scope.mask:
            here = tuple(string for string, bits in matching if bits & bit)
            if here:
                outcomes.add(here if len(here) == 1 else ("ambiguous",))
                newest = here
        bit <<= 1
    certain = len(outcomes) == 1
    if len(newest) > 1:
        return Resolution(None, word, matches=newest, certain=certain)
    string = newest[0]
    found = _exact(string, scope)
    if string == short:
        explicit = word[2:]
    return Resolution(found.flag if found else None, string, explicit, (), certain)


def _is_negative_number(word: str) -> bool:
    """argparse's `^-\\d+$|^-\\d*\\.\\d+$`."""
    whole, dot, fraction = word[1:].partition(".")
    if dot:
        return (not whole or whole.isdecimal()) and fraction.isdecimal()
    return whole.isdecimal()


@record
class ParseError:
    """Why the parser refuses the command line.

    `sort` is `unrecognized` (no such option), `stray` (a positional too many), `ambiguous`, `missing-value`,
    `explicit` (a switch with `=value`), `invalid`, `choice`, `json`, `config`, `model` or `help`. `kind` is how the
    program ends (`exit:2`, `exception:ValueError`), `reason` the line it prints. `option` is the flag's canonical name
    or the option word as it stands. `certain` is False where another version, or a word that cannot be known, may make
    it right.
    """

    sort: str
    kind: str
    reason: str
    argument: Argument | None = None
    option: str = ""
    value: str | None = None
    certain: bool = True
    span: Span | None = None
    following: tuple[Argument, ...] = ()


@record
class Parsed:
    """A command line as the parser took it.

    `errors` holds all errors, `error` the one that the program reports and ends with. `options` are in the order in
    which they took effect; `values` maps the parser's own keys to what holds in the end. `model` is what is served:
    None where it cannot be known; `defaulted` says that no model was given and the default one is served. `parts` are
    the dotted options before they are merged. `open` tells that words that cannot be known may add options.
    """

    errors: tuple[ParseError, ...] = ()
    error: ParseError | None = None
    options: tuple[Option, ...] = ()
    parts: tuple[Option, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    model_argument: Argument | None = None
    model_tag: str | None = None
    defaulted: bool = False
    open: bool = False
    config: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the parser takes the command line."""
        return self.error is None

    def option(self, name: str) -> Option | None:
        """The option that wins under that canonical name."""
        for option in reversed(self.options):
            if option.name == name:
                return option
        return None


class _Word:
    """A word on its way through the parser. `many` stands for any number of words."""

    __slots__ = ("argument", "data", "from_config", "many", "merged", "offset", "open", "prefix", "text")

    def __init__(self, text: str | None, argument: Argument, prefix: str = "", many: bool = False) -> None:
        self.text = text
        self.argument = argument
        self.prefix = prefix
        self.many = many
        self.from_config = False
        self.merged = False
        self.open = False
        self.data: Any = None
        self.offset = 0

    def begins(self, text: str) -> bool | None:
        """Whether the word begins with that text; None where it cannot be known."""
        if self.text is not None:
            return self.text.startswith(text)
        if self.many:
            return None
        if len(self.prefix) >= len(text):
            return self.prefix.startswith(text)
        return None if text.startswith(self.prefix) else False

    @property
    def known(self) -> str:
        """What is known of the text."""
        return self.text if self.text is not None else self.prefix


class _LaunchError(Exception):
    """The program ends before argparse gets the words."""

    def __init__(self, error: ParseError) -> None:
        super().__init__(error.reason)
        self.error = error


def parse_serve(
    words: Sequence[Argument], version: str | None = None, module_form: bool = False, read_file: ReadFile | None = None
) -> Parsed:
    """Parse the words after `vllm serve`, or after the module's name with `module_form`.

    `read_file` gives the text of the `--config` file, None where it cannot be known; it may raise FileNotFoundError
    where the file is known not to be there.
    """
    return _Parser(version, module_form, read_file).parse(words)


def default_model(version: str | None) -> str | None:
    """The model that vLLM serves when none is named (vllm/config/model.py)."""
    if version is None:
        return None
    if before(version, "0.9.2.post1"):
        return "facebook/opt-125m"
    return "Qwen/Qwen3-0.6B" if at_least(version, "0.10.2") else None


class _Parser:
    def __init__(self, version: str | None, module_form: bool, read_file: ReadFile | None) -> None:
        self.scope = scope_of(version)
        self.version = self.scope.version
        # A version that the table does not reach: what a flag takes may have changed.
        self.is_newer = self.version is not None and not self.scope.known
        self.module_form = module_form
        self.read_file = read_file
        self.program = "api_server.py" if module_form else "vllm serve"
        self.errors: list[ParseError] = []
        self.late: list[ParseError] = []
        self.extras: list[str] = []
        self.ambiguous: list[ParseError] = []
        self.options: list[Option] = []
        self.parts: list[Option] = []
        self.values: dict[str, Any] = {}
        self.config: str | None = None
        # Whether words that cannot be known may have supplied options and positionals up to here.
        self.loose = False
        self.model_word: _Word | None = None
        self.model_taken = False

    def parse(self, arguments: Sequence[Argument]) -> Parsed:
        words = [_Word(argument.text, argument, argument.prefix, argument.count is None) for argument in arguments]
        try:
            if not self.module_form:
                words = self._move_model(words)
            words = self._expand_config(words)
            words = self._merge_dotted(self._normalise(words))
        except _LaunchError as failure:
            self.errors.append(failure.error)
            return self._result(words, failed=True)
        self._consume(words)
        return self._result(words)

    # What `vllm serve` does before argparse.

    def _move_model(self, words: list[_Word]) -> list[_Word]:
        for index, word in enumerate(words):
            if word.text == "--model":
                if index + 1 == len(words):
                    raise _LaunchError(
                        ParseError(
                            "model", "exception:IndexError", "list index out of range", word.argument, "--model",
                            certain=self.scope.known,
                        )
                    )  # fmt: skip
                rest = index + 2
                moved = words[index + 1]
                if moved.many:
                    # The first of its words is the model, the others stay behind it.
                    self.loose = True
                    first = _Word(None, moved.argument)
                    first.prefix = moved.prefix
                    moved = first
                break
            known = word.known
            if known.startswith("--model=") and (word.text is None or len(known) > len("--model=")):
                rest = index + 1
                moved = _Word(None if word.text is None else known[8:], word.argument, known[8:])
                moved.offset = 8
                break
        else:
            self._require_positional(words)
            return words
        words = [moved, *words[:index], *words[rest:]]
        self._require_positional(words)
        return words

    def _require_positional(self, words: list[_Word]) -> None:
        """`--served-model-name` without a model in front of all options is refused, so that it cannot swallow it."""
        if not words or words[0].text is None or not words[0].text.startswith("-") or words[0].many:
            return
        named = None
        for word in words:
            name, equals, value = word.known.partition("=")
            if word.many or (equals and not value and word.text is not None):
                continue
            if name == "--config":
                return
            if named is None and name.replace("_", "-") == "--served-model-name":
                named = word
        if named is None:
            return
        raise _LaunchError(
            ParseError(
                "model", "exception:ValueError",
                "`model` should be provided as the first positional argument when using `vllm serve`. "
                "i.e. `vllm serve <model> --<arg> <value>`.",
                named.argument, "--served-model-name",
                certain=bool(at_least(self.version, "0.10.2")) and not any(word.many for word in words),
            )
        )  # fmt: skip

    def _expand_config(self, words: list[_Word]) -> list[_Word]:
        places = [index for index, word in enumerate(words) if word.text == "--config"]
        if not places:
            return words
        index = places[0]
        argument = words[index].argument
        if len(places) > 1:
            raise _LaunchError(
                ParseError(
                    "config", "exception:AssertionError", "More than one config file specified!",
                    words[places[1]].argument, "--config",
                )
            )  # fmt: skip
        if index + 1 == len(words):
            raise _LaunchError(
                ParseError(
                    "config", "exception:ValueError",
                    "No config file specified! Please check your command-line arguments.", argument, "--config",
                )
            )  # fmt: skip
        file_word = words[index + 1]
        items = self._config_words(file_word)
        head, tail = words[:index], words[index + 2 :]
        if not self.module_form:
            has_model = bool(head or tail) and not (head + tail)[0].begins("-")
            # The check looks at the word in first place, which is `--config` itself where nothing stands before it.
            has_model = has_model and index > 0
            named = [word for word in items if word.text == "--model" or word.many]
            if not has_model and not named:
                raise _LaunchError(
                    ParseError(
                        "config", "exception:ValueError",
                        "No model specified! Please specify model either as a positional argument or in a config file.",
                        file_word.argument, "--config", certain=bool(at_least(self.version, "0.8.5")),
                    )
                )  # fmt: skip
            if has_model:
                return [head[0], *items, *head[1:], *tail]
            return [*items, *head, *tail]
        if head and not head[0].begins("-"):
            return [head[0], *items, *head[1:], *tail]
        return [*items, *head, *tail]

    def _config_words(self, file_word: _Word) -> list[_Word]:
        unknown = _Word(None, file_word.argument, many=True)
        path = file_word.text
        if path is None:
            return [unknown]
        self.config = path
        extension = path.split(".")[-1]
        if extension not in ("yaml", "yml"):
            raise self._config_failure(
                file_word, "ValueError", f"Config file must be of a yaml/yml type. {extension} supplied"
            )
        try:
            text = self.read_file(path) if self.read_file is not None else None
        except FileNotFoundError:
            raise self._config_failure(
                file_word, "FileNotFoundError", f"[Errno 2] No such file or directory: {path!r}"
            ) from None
        if text is None:
            return [unknown]
        document = self._load_yaml(file_word, text)
        if document is _UNREADABLE:
            return [unknown]
        if not isinstance(document, dict):
            raise self._config_failure(
                file_word, "AttributeError", f"{type(document).__name__!r} object has no attribute 'items'"
            )
        words: list[_Word] = []
        for key, value in document.items():
            if not isinstance(key, str):
                raise self._config_failure(
                    file_word, "TypeError", f'can only concatenate str (not "{type(key).__name__}") to str'
                )
            words += [self._config_word(text, file_word) for text in self._config_item(key, value)]
        return words

    def _config_word(self, text: str, file_word: _Word) -> _Word:
        word = _Word(text, file_word.argument)
        word.from_config = True
        return word

    def _config_item(self, key: str, value: Any) -> list[str]:
        if isinstance(value, bool):
            if value:
                return ["--" + key]
            # The parser that looks for a negative is the outermost one: of `vllm serve` it knows no server flags, so
            # a false is dropped; the module's own parser finds it, in versions that look at all.
            negative = f"--no-{key}"
            if self.module_form and at_least(self.version, "0.20.2") and _exact(negative, self.scope):
                return [negative]
            return []
        if isinstance(value, list):
            return ["--" + key, *map(str, value)] if value else []
        if isinstance(value, dict):
            if before(self.version, "0.16.0"):
                return ["--" + key, str(value)]
            import json

            try:
                return ["--" + key, json.dumps(value)]
            except (TypeError, ValueError):
                return ["--" + key, str(value)]
        return ["--" + key, str(value)]

    def _load_yaml(self, file_word: _Word, text: str) -> Any:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            document = yaml.load(text, loader)
        except yaml.YAMLError as error:
            name = type(error).__name__
            raise self._config_failure(file_word, name, str(error).partition("\n")[0]) from None
        except (ValueError, RecursionError, OverflowError):
            return _UNREADABLE
        return document if _is_small(document) else _UNREADABLE

    def _config_failure(self, word: _Word, name: str, reason: str) -> _LaunchError:
        return _LaunchError(ParseError("config", f"exception:{name}", reason, word.argument, "--config"))

    def _normalise(self, words: list[_Word]) -> list[_Word]:
        """Dashes for underscores in option names, and `-O3` spelt out."""
        result: list[_Word] = []
        old_level = bool(before(self.version, "0.13.0"))
        for index, word in enumerate(words):
            text = word.known
            if text.startswith("--help="):
                result.append(_copy(word, "--help"))
            elif text.startswith("--"):
                name, equals, value = text.partition("=")
                stem, dot, keys = name.partition(".")
                result.append(_copy(word, stem.replace("_", "-") + dot + keys + equals + value))
            elif text.startswith("-O") and (len(text) > 2 or word.text is None):
                level = _copy(word, text[3:] if text[2:3] == "=" else text[2:])
                level.offset = len(text) - len(level.known)
                result += [self._level_word(word, old_level), level]
            elif text == "-O" and index + 1 < len(words) and words[index + 1].text in ("0", "1", "2", "3"):
                result.append(self._level_word(word, old_level))
            else:
                result.append(word)
        return result

    def _level_word(self, word: _Word, old: bool) -> _Word:
        flag = _Word("-O" if old else "--optimization-level", word.argument)
        flag.from_config = word.from_config
        return flag

    def _merge_dotted(self, words: list[_Word]) -> list[_Word]:
        """Collect `--a.b.c V` into one `--a {json}` at the end, where it replaces a whole-JSON `--a`."""
        if not any("." in word.known and word.known.startswith("-") for word in words):
            return words
        if before(self.version, "0.9.0"):
            return words
        import json

        kept: list[_Word] = []
        merged: dict[str, dict[str, Any]] = {}
        first_words: dict[str, Argument] = {}
        open_keys: set[str] = set()
        index = 0
        while index < len(words):
            word = words[index]
            index += 1
            name, equals, behind = word.known.partition("=")
            if word.many or not name.startswith("-") or "." not in name or (word.text is None and not equals):
                kept.append(word)
                continue
            value_word: _Word | None = None
            value: str | None
            if equals:
                value = behind if word.text is not None else None
            elif index == len(words):
                raise _LaunchError(
                    ParseError(
                        "missing-value", "exception:IndexError", "list index out of range", word.argument, name
                    )
                )  # fmt: skip
            else:
                value_word = words[index]
                value = value_word.text
                index += 1
                self.loose = self.loose or value_word.many
            adds = name.endswith("+")
            key, *keys = (name[:-1] if adds else name).split(".")
            data = _dotted_value(value, adds) if value is not None else _UNKNOWN_DATA
            if value is None or len(keys) > _DEEPEST_KEY:
                open_keys.add(key)
            self.parts.append(self._part(word, value_word, name, value, data))
            first_words.setdefault(key, word.argument)
            if len(keys) <= _DEEPEST_KEY:
                for part in reversed(keys):
                    data = {part: data}
                _update(merged.setdefault(key, {}), data)
        for key, data in merged.items():
            argument = first_words[key]
            flag_word, value_word = _Word(key, argument), _Word(None, argument)
            try:
                value_word.text = json.dumps(data)
            except (RecursionError, ValueError):
                open_keys.add(key)
            value_word.data, value_word.merged, value_word.open = data, True, key in open_keys
            flag_word.merged = True
            kept += [flag_word, value_word]
        return kept

    def _part(self, word: _Word, value_word: _Word | None, name: str, value: str | None, data: Any) -> Option:
        value_argument = value_word.argument if value_word is not None else word.argument
        span = value_argument.span if value_word is not None else _inner_span(word, len(name) + 1, None)
        return Option(
            name.removesuffix("+"), name, value, span, _inner_span(word, 0, len(name)), data, value is None,
            value_argument,
        )  # fmt: skip

    # What argparse does.

    def _consume(self, words: list[_Word]) -> None:
        patterns, resolutions = self._classify(words)
        index, count = 0, len(words)
        while index < count:
            if patterns[index] == "O":
                index = self._consume_option(words, patterns, resolutions, index)
            else:
                end = index
                while end < count and patterns[end] != "O":
                    end += 1
                self._consume_positionals(words[index:end], patterns[index:end])
                index = end

    def _classify(self, words: list[_Word]) -> tuple[list[str], list[Resolution | None]]:
        """For each word: `O` option, `A` argument, `-` the double dash, `U` unknown word, `M` any number of them."""
        patterns: list[str] = []
        resolutions: list[Resolution | None] = []
        behind_dashes = False
        for word in words:
            resolution: Resolution | None = None
            if word.many:
                pattern = "M"
            elif behind_dashes:
                pattern = "A" if word.text is not None else "U"
            elif word.text == "--":
                pattern, behind_dashes = "-", True
            elif word.text is None and not (word.prefix.startswith("-") and "=" in word.prefix):
                pattern = "A" if word.prefix and not word.prefix.startswith("-") else "U"
            elif word.merged and word.data is not None:
                pattern = "A"
            else:
                resolution = resolve(word.known, self.scope)
                pattern = "A" if resolution is None else "O"
                if resolution is not None and resolution.matches:
                    self.ambiguous.append(self._ambiguous(word, resolution))
            patterns.append(pattern)
            resolutions.append(resolution)
        return patterns, resolutions

    def _ambiguous(self, word: _Word, resolution: Resolution) -> ParseError:
        matches = ", ".join(resolution.matches)
        return ParseError(
            "ambiguous", "exit:2", f"{self.program}: error: ambiguous option: {word.known} could match {matches}",
            word.argument, word.known, certain=resolution.certain and not self.is_newer,
        )  # fmt: skip

    def _consume_option(
        self, words: list[_Word], patterns: list[str], resolutions: list[Resolution | None], index: int
    ) -> int:
        word, resolution = words[index], resolutions[index]
        assert resolution is not None
        flag = resolution.flag
        if flag is None:
            return self._unrecognized(words, patterns, resolution, index)
        following = patterns[index + 1] if index + 1 < len(words) else ""
        if resolution.explicit is not None:
            self._take_explicit(word, flag, resolution)
            return index + 1
        if flag.kind in ("switch", "help"):
            self._take_switch(word, flag, resolution)
            if self._takes_value_in_old_versions(flag) and following == "A":
                # `StoreBoolean`: the next word belonged to the switch once.
                return index + 2
            return index + 1
        values: list[_Word] = []
        end = index + 1
        if flag.nargs == "+":
            while end < len(words) and patterns[end] in "AUM":
                values.append(words[end])
                end += 1
                if patterns[end - 1] == "M":
                    break
        elif following in ("A", "U", "M"):
            values.append(words[end])
            end += 1
        if any(value.many for value in values):
            self.loose = True
        if values or flag.nargs == "?":
            self._take(word, flag, resolution, values)
            return end
        wanted = "at least one argument" if flag.nargs == "+" else "one argument"
        self._error(
            "missing-value", flag, f"expected {wanted}", word, resolution.certain,
            following=(words[index + 1].argument,) if following else (),
        )  # fmt: skip
        return end

    def _unrecognized(self, words: list[_Word], patterns: list[str], resolution: Resolution, index: int) -> int:
        word = words[index]
        if resolution.matches:
            # Reported already; what follows was meant as its value.
            return index + 2 if index + 1 < len(words) and patterns[index + 1] in "AU" else index + 1
        end = index + 1
        stray_start = end
        while end < len(words) and patterns[end] in "AU-":
            end += 1
        strays = words[stray_start:end]
        extra = strays
        if not self.model_taken and not self._rejects_positional() and strays:
            # The first positional is the model, even where it was meant as this option's value.
            self._consume_positionals(strays, patterns[stray_start:end], quiet=True)
            extra = strays[1:]
        following = [stray.argument for stray in strays]
        self.extras += [word.known, *(stray.known for stray in extra)]
        self.late.append(
            ParseError(
                "unrecognized", "exit:2", "", word.argument, word.known, certain=self.scope.known,
                following=tuple(following),
            )
        )  # fmt: skip
        return end

    def _take_explicit(self, word: _Word, flag: Flag, resolution: Resolution) -> None:
        explicit = resolution.explicit or ""
        value = _Word(explicit if word.text is not None else None, word.argument, explicit)
        value.offset = len(word.known) - len(explicit)
        if flag.kind in ("switch", "help"):
            if self._takes_value_in_old_versions(flag):
                self._take_switch(word, flag, resolution)
                return
            self._error(
                "explicit", flag, f"ignored explicit argument {explicit!r}", word, resolution.certain, value=explicit
            )
            return
        self._take(word, flag, resolution, [value])

    def _takes_value_in_old_versions(self, flag: Flag) -> bool:
        """Whether this version may be one in which the switch still took a value."""
        return flag.value_until is not None and compare(self.version, flag.value_until) in (None, -1, 0)

    def _take_switch(self, word: _Word, flag: Flag, resolution: Resolution) -> None:
        if flag.kind == "help":
            self.errors.append(ParseError("help", "exit:0", "", word.argument, "--help"))
            return
        string = resolution.string
        data = string == flag.name or not string.startswith("--")
        self.values[flag.key] = data
        span = word.argument.span
        self.options.append(Option(flag.name, word.known, None, span, span, data, False, word.argument))

    def _take(self, word: _Word, flag: Flag, resolution: Resolution, values: list[_Word]) -> None:
        converted: list[Any] = []
        unknown = False
        failed = False
        for value in values:
            if value.text is None or value.open:
                unknown = True
                continue
            data, problem = convert(flag, value.text)
            if data == -1 and not self._knows_auto(flag, value.text):
                problem = ("invalid", f"invalid int value: {value.text!r}")
            if problem is None:
                converted.append(data)
                continue
            failed = True
            sort, wrong = problem
            self._error(
                sort, flag, wrong, word, resolution.certain and self._is_certain(flag, sort, value.text),
                value=value.text, argument=value.argument, span=_inner_span(value, value.offset, None),
            )  # fmt: skip
            break
        data = self._stored(flag, converted, bool(values))
        first = values[0] if values else word
        text: str | None = None
        if values and not unknown:
            text = " ".join(value.known for value in values)
        span = _inner_span(first, first.offset, None) if values else word.argument.span
        if len(values) > 1 and not first.from_config:
            span = Span(span.start, max(span.start, values[-1].argument.span.end))
        spelled = word.known + "." if word.merged else word.known
        option = Option(
            flag.name, spelled, text, span, self._name_span(word), None if unknown else data,
            unknown, first.argument,
        )  # fmt: skip
        self.options.append(option)
        if not failed:
            self.values[flag.key] = None if unknown else data

    def _knows_auto(self, flag: Flag, text: str) -> bool:
        """`--max-model-len auto` came after 0.13.0."""
        if flag.kind != "human-integer-or-auto" or text.strip() == "-1":
            return True
        return not before(self.version, "0.13.0.post1")

    def _stored(self, flag: Flag, converted: list[Any], given: bool) -> Any:
        if flag.kind == "appended":
            gathered: list[Any] = self.values.get(flag.key) or []
            gathered += converted
            return gathered
        if flag.kind == "lora":
            return [module for module in converted if module is not None]
        if flag.nargs == "+":
            return converted
        if not given:
            return True
        return converted[0] if converted else None

    def _name_span(self, word: _Word) -> Span:
        if word.from_config or word.text is None or "=" not in word.text:
            return word.argument.span
        return _inner_span(word, 0, word.text.index("="))

    def _is_certain(self, flag: Flag, sort: str, text: str) -> bool:
        """Whether the table's kind of value holds for this version: it is that of the newest one with the flag."""
        if "integer" in flag.kind or flag.kind == "number":
            return not self.is_newer
        if sort == "json" and text[:1] in ("{", "'", '"'):
            # Older versions also took `key=value` for some of them, and never a broken object.
            return True
        newest = 1 << (flag.present.bit_length() - 1)
        if self.scope.known and self.scope.mask & -self.scope.mask >= newest:
            return True
        return sort != "choice" and bool(at_least(self.version, "0.11.2")) and self.scope.known

    def _consume_positionals(self, words: list[_Word], patterns: Sequence[str], quiet: bool = False) -> None:
        """The first goes to the model, unless it is taken; the others are too many."""
        takes_model = not self.model_taken and not self._rejects_positional()
        index = 0
        while index < len(words):
            word, pattern = words[index], patterns[index]
            index += 1
            if pattern == "-":
                if self.model_taken and not takes_model and not quiet:
                    self._stray(word)
                continue
            if pattern == "M":
                self.loose = True
                continue
            if takes_model:
                takes_model, self.model_taken = False, True
                self.model_word = word
                if pattern == "U":
                    self.loose = True
                # The double dash right behind the model goes with it.
                if index < len(words) and patterns[index] == "-":
                    index += 1
                continue
            if pattern == "U":
                self.loose = True
                continue
            if not quiet:
                self._stray(word)

    def _rejects_positional(self) -> bool:
        return self.module_form and bool(before(self.version, "0.9.2.post1"))

    def _stray(self, word: _Word) -> None:
        if self.loose:
            return
        self.extras.append(word.known)
        self.late.append(ParseError("stray", "exit:2", "", word.argument, value=word.known, certain=not self.is_newer))

    def _error(
        self,
        sort: str,
        flag: Flag,
        text: str,
        word: _Word,
        certain: bool,
        *,
        value: str | None = None,
        argument: Argument | None = None,
        span: Span | None = None,
        following: tuple[Argument, ...] = (),
    ) -> None:
        if sort == "lora":
            reason = f"{self.program}: error: {text}"
        else:
            names = "/".join([flag.name, *(alias for alias in flag.aliases if self._shows(flag, alias))])
            reason = f"{self.program}: error: argument {names}: {text}"
        self.errors.append(
            ParseError(sort, "exit:2", reason, argument or word.argument, flag.name, value, certain, span, following)
        )

    def _shows(self, flag: Flag, alias: str) -> bool:
        if alias.startswith(("--no-enable-", "--no-disable-")):
            return False
        bits = sum(mask for owner, mask in flag_table().strings.get(alias, ()) if owner is flag)
        return bool(bits & self.scope.mask)

    def _result(self, words: list[_Word], failed: bool = False) -> Parsed:
        late = self.late
        if late and not failed:
            program = self.program if self.module_form else "vllm"
            reason = f"{program}: error: unrecognized arguments: {' '.join(self.extras)}"
            late = [
                ParseError(
                    error.sort, error.kind, reason, error.argument, error.option, error.value, error.certain,
                    error.span, error.following,
                )
                for error in late
            ]  # fmt: skip
        errors = (*self.ambiguous, *self.errors, *late)
        is_open = self.loose or any(word.many or word.text is None for word in words)
        model, argument, tag, defaulted = self._served(is_open, failed)
        return Parsed(
            errors, errors[0] if errors else None, tuple(self.options), tuple(self.parts), self.values, model,
            argument, tag, defaulted, is_open, self.config,
        )  # fmt: skip

    def _served(self, is_open: bool, failed: bool) -> tuple[str | None, Argument | None, str | None, bool]:
        """What is served, where it is named, what was given as positional, and whether it is the default."""
        word = self.model_word
        tag = word.text if word is not None else None
        if word is not None and not self.module_form:
            return tag, word.argument, tag, False
        option = next((option for option in reversed(self.options) if option.name == "--model"), None)
        if option is not None:
            return option.value, option.argument, tag, False
        if failed or (is_open and self.loose):
            return None, None, tag, False
        return default_model(self.version), None, tag, True


_UNREADABLE = object()


def _copy(word: _Word, text: str) -> _Word:
    copy = _Word(None if word.text is None else text, word.argument, text if word.text is None else "", word.many)
    copy.from_config = word.from_config
    return copy


def _inner_span(word: _Word, start: int, end: int | None) -> Span:
    """Where a part of a word stands in the file; the whole word where its characters cannot be told apart."""
    argument = word.argument
    inner = argument.inner
    if inner is None or word.from_config or word.merged or argument.text is None:
        return argument.span
    length = len(inner.text)
    stop = length if end is None else end
    if inner.text != argument.text or not 0 <= start <= stop <= length:
        return argument.span
    return inner.host_span(Span(start, stop))


def _is_small(document: Any) -> bool:
    """Whether a document is small when all aliases are written out: aliases can make a short text endless."""
    waiting, seen = [(document, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > _LARGEST_CONFIG or depth > _DEEPEST_KEY:
            return False
        if isinstance(node, dict):
            waiting += [(child, depth + 1) for child in node.values()]
        elif isinstance(node, list | tuple | set):
            waiting += [(child, depth + 1) for child in node]
    return True


def _update(original: dict[str, Any], update: dict[str, Any]) -> None:
    """Merge nested dictionaries; lists grow, everything else is replaced."""
    for key, value in update.items():
        present = original.get(key)
        if isinstance(value, dict) and isinstance(present, dict):
            _update(present, value)
        elif isinstance(value, list) and isinstance(present, list):
            present.extend(value)
        else:
            original[key] = value


def _dotted_value(text: str, adds: bool) -> Any:
    """JSON, else a human-readable integer, else the text; with `+` a list of texts."""
    if adds:
        return text.split(",")
    data, failed = load_json(text)
    if not failed:
        return data
    number, problem = human_integer(text)
    return text if problem is not None else number


def human_integer(text: str) -> tuple[int, str | None]:
    """`4k` is 4000, `4K` is 4096; the number, or what the parser says against the text (empty: no number at all)."""
    body = text.strip()
    powers = {"k": 1, "m": 2, "g": 3, "t": 4}
    suffix = body[-1:]
    number = body[:-1]
    if suffix and suffix in "kKmMgGtT":
        whole, dot, fraction = number.partition(".")
        if whole.isdecimal() and (not dot or fraction.isdecimal()):
            power = powers[suffix.lower()]
            try:
                if suffix.islower():
                    return int(float(number) * 1000**power), None
                if not dot:
                    return int(number) * 1024**power, None
            except (ValueError, OverflowError):
                return 0, ""
            return 0, (
                f"Decimals are not allowed with binary suffixes like {suffix}. "
                f"Did you mean to use {number}{suffix.lower()} instead?"
            )
    try:
        return int(body), None
    except ValueError:
        return 0, ""


Problem = tuple[str, str] | None


def convert(flag: Flag, text: str) -> tuple[Any, Problem]:
    """A value as the flag's own type takes it: the data, and what is wrong (its sort and the parser's words)."""
    data, problem = _converted(flag, text)
    if problem is None and flag.choices and not _is_choice(flag, data):
        shown = ", ".join(map(repr, flag.choices))
        return data, ("choice", f"invalid choice: {data!r} (choose from {shown})")
    return data, problem


def _is_choice(flag: Flag, data: Any) -> bool:
    if data in flag.choices:
        return True
    if not flag.folded or not isinstance(data, str):
        return False
    folded = data.lower().replace("-", "_")
    return any(isinstance(choice, str) and choice.lower().replace("-", "_") == folded for choice in flag.choices)


def _converted(flag: Flag, text: str) -> tuple[Any, Problem]:
    kind = flag.kind
    if (flag.optional or kind == "optional-text") and text in ("", "None"):
        return None, None
    match kind:
        case "integer" | "number":
            return _number(kind, text, flag.optional)
        case "human-integer" | "human-integer-or-auto":
            if kind == "human-integer-or-auto" and text.strip().lower() in ("-1", "auto"):
                return -1, None
            number, wrong = human_integer(text)
            if wrong is None:
                return number, None
            name = "human_readable_int_or_auto" if kind == "human-integer-or-auto" else "human_readable_int"
            return None, ("invalid", wrong or f"invalid {name} value: {text!r}")
        case "json":
            data, failed = load_json(text)
            return data, ("json", f"invalid loads value: {text!r}") if failed else None
        case "json-value":
            data, failed = load_json(text)
            return data, ("json", f"Value {text} cannot be converted to <loads>.") if failed else None
        case "json-or-text":
            stripped = text.strip()
            if not (stripped.startswith("{") and stripped.endswith("}") and len(stripped) > 1):
                return text, None
            data, failed = load_json(text)
            return data, ("json", f"Value {text} cannot be converted to <loads>.") if failed else None
        case "json-object":
            return _json_object(flag, text)
        case "lora":
            return _lora_module(text)
    return text, None


def _number(kind: str, text: str, optional: bool) -> tuple[Any, Problem]:
    name = "int" if kind == "integer" else "float"
    try:
        return (int(text) if kind == "integer" else float(text)), None
    except ValueError:
        words = f"Value {text} cannot be converted to <class '{name}'>." if optional else None
        return None, ("invalid", words or f"invalid {name} value: {text!r}")


def _json_object(flag: Flag, text: str) -> tuple[Any, Problem]:
    data, failed = load_json(text)
    if failed:
        return None, ("json", f"Value {text} is no JSON")
    if isinstance(data, dict) or flag.name == "--compilation-config":
        # `--compilation-config 3` and `-O3` set the level in older versions.
        return data, None
    return data, ("json", f"Input should be an object [input_value={data!r}]")


def _lora_module(text: str) -> tuple[Any, Problem]:
    if not text:
        return None, None
    if "=" in text and "," not in text:
        name, _, path = text.partition("=")
        if "=" in path:
            return None, ("lora", "too many values to unpack (expected 2)")
        return {"name": name, "path": path}, None
    data, failed = load_json(text)
    if failed:
        return None, ("lora", f"Invalid JSON format for --lora-modules: {text}")
    if not isinstance(data, dict) or not {"name", "path"} <= data.keys():
        return None, ("lora", f"Invalid fields for --lora-modules: {text}")
    return data, None
