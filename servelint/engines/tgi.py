"""Hugging Face's Text Generation Inference: what its launcher makes of arguments and variables, and what then ends
and caps its answers.

Sources: launcher/src/main.rs, router/src/validation.rs, server/…/flash_causal_lm.py and utils/tokens.py of
huggingface/text-generation-inference (db931fcf, near v3.3.7); the options are in `rules/engines/tgi.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from servelint.engines.reading import Cap, Fault, Option, Reading, StopSet
from servelint.manifests.serving import Argument, Serving, Setting, likely_model
from servelint.manifests.versions import at_least, compare, tag_of_image, version_of_image
from servelint.models.identity import Identity
from servelint.records import record
from servelint.text import Span

_FALSE = frozenset({"false", "f", "no", "n", "0", "off", ""})
# Options of clap's own that print something and end.
_INFORMATION = frozenset({"--help", "-h", "--version", "-V"})
_PROGRAM = "text-generation-launcher"
# Turn ends that are not what these families' tokenizers call their end token: only generation_config.json lists them.
_LISTED_ENDS = frozenset({"<|eot_id|>", "<|end|>", "<end_of_turn>"})
_LONGEST_SHOWN = 60
_CAPPED = "it prints what is wrong and ends"
_REFUSED = "The launcher ends before it loads the model."


@record
class _Word:
    """A word as the launcher gets it; `text` is None where it cannot be known."""

    text: str | None
    span: Span
    argument: Argument
    prefix: str = ""


class _Parse:
    """What the launcher's parser made of its words and variables."""

    __slots__ = ("faults", "open_ended", "options")

    def __init__(self) -> None:
        self.options: list[Option] = []
        self.faults: list[Fault] = []
        # Where words are missing or may be any number: what is not seen may still be there.
        self.open_ended = False


@cache
def option_table() -> dict[str, Any]:
    """The launcher's options and what differs by version, as `rules/engines/tgi.json` has them."""
    from servelint.data import load

    table: dict[str, Any] = load("rules/engines/tgi.json")
    return table


@cache
def _by_flag() -> dict[str, dict[str, Any]]:
    found = {option["flag"]: option for option in option_table()["flags"]}
    found.update({option["short"]: option for option in option_table()["flags"] if "short" in option})
    return found


@cache
def _by_variable() -> dict[str, dict[str, Any]]:
    return {option["env"]: option for option in option_table()["flags"] if "env" in option}


def model_of(serving: Serving) -> Setting | None:
    """What names the model: `--model-id`, else `MODEL_ID`, else SageMaker's `HF_MODEL_ID`; None where nothing does."""
    parse = _read_arguments(serving)
    for option in reversed(parse.options):
        if option.name == "--model-id":
            reason = "the value cannot be known" if option.unknown else None
            likely = likely_model(option.argument)
            return Setting(
                "--model-id", option.value, option.span, option.span, "--model-id", reason=reason, likely=likely
            )
    if parse.open_ended:
        return None
    for name in ("MODEL_ID", "HF_MODEL_ID"):
        found = next((setting for setting in reversed(serving.environment) if setting.name == name), None)
        if found is not None:
            return found
    return None


def read_tgi(serving: Serving, identity: Identity) -> Reading:
    """The serving as TGI reads it: arguments win over variables, variables over defaults."""
    version = version_of(serving)
    llama = _is_llama_backend(serving)
    arguments = _read_arguments(serving)
    variables = _read_variables(serving)
    options = (*variables.options, *arguments.options)
    faults: list[Fault] = []
    if not llama:
        faults = [*variables.faults, *arguments.faults]
        faults.extend(_shadowed(variables.options, arguments.options))
        faults.extend(_renamed(version, options))
        faults.extend(_conflicts(options, version))
        faults.extend(_version_faults(serving, identity, version))
        faults.sort(key=lambda fault: (fault.path or "", fault.span.start, fault.span.end, fault.sort))
    answer = _default_cap(version)
    cap = None
    if answer is not None and answer[0] is not None and not llama:
        place = serving.version or serving.image
        span = place.span if place else None
        cap = Cap(answer[0], f"default of TGI {version}", span, place.path if place else None)
    winners = {option.name: option for option in options}
    return Reading(
        _stop_set(serving, identity, version, llama),
        options,
        default_cap=cap,
        faults=tuple(faults),
        reads_model_ids=True,
        facts={
            "version": version,
            "default_cap": None if answer is None else ("rest" if answer[0] is None else str(answer[0])),
            "reads_generation_config_list": _reaches(version, option_table()["lists_read_since"]),
            "max_input_tokens": _whole(winners, "--max-input-tokens") or _whole(winners, "--max-input-length"),
            "max_total_tokens": _whole(winners, "--max-total-tokens"),
            "max_stop_sequences": 0 if llama else _stops_taken(winners),
        },
    )


def version_of(serving: Serving) -> str | None:
    """The version of TGI that is served, from the image's tag; None where it is not said."""
    image = serving.image.value if serving.image else None
    if image:
        # Hugging Face's and AWS's containers write PyTorch's version first: `2.3.0-tgi2.2.0-gpu-py310`.
        _, marker, behind = (tag_of_image(image) or "").partition("tgi")
        if marker and behind[:1].isdigit():
            return version_of_image(f"tgi:{behind}")
    if serving.version is not None and serving.version.value:
        return serving.version.value
    return version_of_image(image) if image else None


def _is_llama_backend(serving: Serving) -> bool:
    """TGI's llama.cpp backend is another program, with options of its own."""
    image = serving.image.value if serving.image else None
    return image is not None and "llamacpp" in image.rpartition("/")[2].lower()


def _series(version: str) -> list[str]:
    """The versions that a version may stand for: a tag of two parts (`2.4`) moves with the series."""
    parts = version.split(".")
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        return [f"{version}.{patch}" for patch in range(9)]
    return [version]


def _reaches(version: str | None, floor: str) -> bool | None:
    """Whether a version is `floor` or newer; None where that is not known."""
    if version is None:
        return None
    answers = {at_least(candidate, floor) for candidate in _series(version)}
    # A tag of a series moves: its newest patch is what a new pull gives.
    return answers.pop() if len(answers) == 1 else None


def _at_most(version: str | None, ceiling: str) -> bool:
    """Whether a version is known to be `ceiling` or older."""
    order = compare(version, ceiling)
    return order is not None and order <= 0


def _default_cap(version: str | None) -> tuple[int | None] | None:
    """How many tokens a request without a cap gets: a number, or `(None,)` for all that is left of the total.

    None where the version is not known, or is none of those that were looked at.
    """
    if version is None:
        return None
    answers: list[tuple[int | None]] = []
    for candidate in _series(version):
        for bracket in option_table()["default_caps"]:
            if at_least(candidate, bracket.get("from", "0.0.1")) and _at_most(candidate, bracket.get("to", "999.0")):
                answers.append((bracket["tokens"],))
    return answers[0] if answers and all(answer == answers[0] for answer in answers) else None


def _stop_set(serving: Serving, identity: Identity, version: str | None, llama: bool) -> StopSet:
    # Which model classes read the list, and from which version on, is known; a folder that is there tells the rest.
    if not llama and serving.facts.get("folder") is not None and _reaches(version, option_table()["lists_read_since"]):
        from servelint.engines.model_files import stop_set_of_folder

        return stop_set_of_folder(serving, identity)
    return StopSet(unknown=(_what_stops(version, llama),))


def _what_stops(version: str | None, llama: bool) -> str:
    """Why the stop set cannot be told from the manifest: TGI has no option for stops or end ids."""
    if llama:
        return "the vocabulary of the model's GGUF decides, by llama.cpp's list of end tokens"
    since = option_table()["lists_read_since"]
    own = "the end token of the model's own tokenizer decides"
    reads = _reaches(version, since)
    if reads is False:
        return f"{own}; TGI {version} does not read generation_config.json"
    listed = "a list of ids in generation_config.json, which some model classes take instead"
    if reads:
        return f"{own}, or {listed}"
    return f"{own}, or, from TGI {since} on, {listed}"


def _stops_taken(winners: dict[str, Option]) -> int | None:
    option = winners.get("--max-stop-sequences")
    return 4 if option is None else (option.data if isinstance(option.data, int) else None)


# The command line.


def _words(serving: Serving) -> Iterator[_Word]:
    """The words that the launcher gets: the image's entry point splits them at blanks once more."""
    launcher = serving.facts.get("launcher")
    splits = launcher == "image" or (launcher is None and serving.image is not None)
    for argument in serving.arguments or ():
        text = argument.text
        if text is None or not splits or not (text == "" or any(blank in text for blank in " \t\n")):
            yield _Word(text, argument.span, argument, argument.prefix)
            continue
        position = 0
        for piece in text.split():
            position = text.index(piece, position)
            inner = argument.inner
            span = inner.host_span(Span(position, position + len(piece))) if inner is not None else argument.span
            position += len(piece)
            yield _Word(piece, span, argument)


def _read_arguments(serving: Serving) -> _Parse:
    """Read the words as clap 4 does: long options in kebab case, `--a b` or `--a=b`, each at most once."""
    parse = _Parse()
    words = list(_words(serving))
    index = 0
    if words and words[0].text is not None and words[0].text.rsplit("/", 1)[-1] == _PROGRAM:
        message = f"the image's entry point starts {_PROGRAM} already; here it becomes an argument, and {_CAPPED}"
        parse.faults.append(Fault("doubled-entry-point", message, words[0].span, subject=_PROGRAM, why=_REFUSED))
        index = 1
    while index < len(words):
        index += _read_word(words, index, parse)
    _find_repeated(parse)
    return parse


def _read_word(words: Sequence[_Word], index: int, parse: _Parse) -> int:
    """Take the option at this place; gives how many words it took."""
    word = words[index]
    text = word.text
    if text is None:
        name, equals, _ = word.prefix.partition("=")
        option = _by_flag().get(name)
        if equals and option is not None:
            parse.options.append(_unknown(option, name, word, word))
        else:
            parse.open_ended = True
        return 1
    if text in _INFORMATION:
        return 1
    if not text.startswith("-") or text == "-":
        # After something unknown this may be its value.
        if not parse.open_ended:
            message = f"{_shown(text)} belongs to no option: the launcher takes options only"
            parse.faults.append(Fault("fatal", message, word.span, subject=text, why=_REFUSED))
        return 1
    if text.startswith("--"):
        name, equals, value = text.partition("=")
    else:
        name, value = text[:2], text[2:].removeprefix("=")
        equals = "=" if text[2:] else ""
    option = _by_flag().get(name)
    if option is None:
        return _unknown_flag(words, index, name, parse)
    if option["kind"] == "switch":
        if equals:
            parse.faults.append(_invalid(option, name, value, word.span, "it is a switch, which takes no value"))
        parse.options.append(Option(option["flag"], name, None, word.span, word.span, True, False, word.argument))
        return 1
    if equals:
        _take(option, name, value, word, _behind_equals(word, len(text) - len(value)), parse)
        return 1
    following = words[index + 1] if index + 1 < len(words) else None
    if following is None or (following.text is not None and following.text.startswith("-") and len(following.text) > 1):
        if not parse.open_ended:
            message = f"{name} has no value: {_CAPPED}"
            parse.faults.append(Fault("invalid-value", message, word.span, subject=name, why=_REFUSED))
        return 1
    if following.text is None:
        if following.argument.count is None:
            parse.open_ended = True
        parse.options.append(_unknown(option, name, following, word))
    else:
        _take(option, name, following.text, word, following.span, parse)
    return 2


def _take(option: dict[str, Any], name: str, value: str, word: _Word, span: Span, parse: _Parse) -> None:
    data, reason = _converted(option, value)
    if reason is not None:
        parse.faults.append(_invalid(option, name, value, span, reason))
    parse.options.append(Option(option["flag"], name, value, span, word.span, data, False, word.argument))


def _unknown(option: dict[str, Any], name: str, value: _Word, word: _Word) -> Option:
    return Option(option["flag"], name, None, value.span, word.span, None, True, value.argument)


def _behind_equals(word: _Word, start: int) -> Span:
    """Where the value of `--name=value` stands."""
    inner = word.argument.inner
    if inner is None or word.text is None or word.argument.text != word.text:
        return word.span
    return inner.host_span(Span(start, len(word.text)))


def _unknown_flag(words: Sequence[_Word], index: int, name: str, parse: _Parse) -> int:
    word = words[index]
    text = word.text or ""
    lead = text.split()[0] if text.split() else text
    if lead != text and lead.partition("=")[0] in _by_flag():
        message = f"{_shown(text)} is one word to the launcher, which has no such option: {_CAPPED}"
        parse.faults.append(Fault("not-split", message, word.span, lead, subject=lead, why=_REFUSED))
        return 1
    elsewhere = option_table()["elsewhere"]
    suggestion = elsewhere.get(name) or _near_flag(name)
    message = f"TGI has no option {_shown(name)}: {_CAPPED}"
    help_text = _help_for(name) if name in elsewhere and suggestion is None else ""
    certain = suggestion is not None or name in elsewhere
    parse.faults.append(
        Fault("unknown-option", message, word.span, suggestion, certain, name, why=_REFUSED, help=help_text)
    )
    following = words[index + 1] if index + 1 < len(words) else None
    takes_next = "=" not in text and following is not None and not (following.text or "").startswith("-")
    return 2 if takes_next else 1


def _help_for(name: str) -> str:
    """What to do instead of an option that other servers have."""
    if "stop" in name or "eos" in name:
        return "stops are request fields (`stop`); end ids come from the model's own files"
    if "generation-config" in name:
        return "TGI reads generation_config.json from the model's own files only"
    if "served-model-name" in name or "max-num-seqs" in name:
        return "TGI has nothing like it"
    return "it is a field of the request"


@cache
def _near_flag(name: str) -> str | None:
    """The option that a misspelt one must mean, None where none is near enough."""
    from servelint.text.distance import edit_distance

    wanted = "--" + name.strip("-").lower().replace("_", "-")
    if wanted in _by_flag():
        return wanted
    if len(wanted) > 60:
        return None
    best: tuple[int, str] | None = None
    for candidate in _by_flag():
        if len(candidate) < 8:
            continue
        limit = 1 if len(candidate) < 14 else 2
        distance = edit_distance(wanted, candidate, limit)
        if distance <= limit and (best is None or distance < best[0]):
            best = distance, candidate
    return best[1] if best else None


def _find_repeated(parse: _Parse) -> None:
    """clap 4 refuses an option that is given twice, unless it gathers values."""
    first: dict[str, Option] = {}
    for option in parse.options:
        known = _by_flag()[option.name]
        earlier = first.setdefault(option.name, option)
        if earlier is not option and not known.get("repeats") and "list" not in known:
            related = ((earlier.name_span, "the first one"),)
            message = f"{option.spelled} is given twice, which the launcher refuses"
            parse.faults.append(
                Fault("fatal", message, option.name_span, subject=option.name, related=related, why=_REFUSED)
            )


# The environment.


def _read_variables(serving: Serving) -> _Parse:
    """Read the variables: a known one has the option's value, an unknown one is ignored without a word."""
    parse = _Parse()
    last: dict[str, tuple[Setting, Option]] = {}
    for setting in serving.environment:
        option = _by_variable().get(setting.name)
        if option is None:
            _note_near_miss(setting, parse)
            continue
        taken = _variable(serving, option, setting, parse)
        earlier = last.get(setting.name)
        if earlier is not None and not earlier[1].unknown and not taken.unknown and earlier[1].value != taken.value:
            message = f"{setting.name} is set again further down, and that value wins"
            related = ((setting.whole, "this one wins"),)
            parse.faults.append(
                Fault(
                    "shadowed", message, earlier[0].whole, subject=setting.name, related=related, path=earlier[0].path
                )
            )
        last[setting.name] = setting, taken
        parse.options.append(taken)
    return parse


def _variable(serving: Serving, option: dict[str, Any], setting: Setting, parse: _Parse) -> Option:
    value = setting.value
    if value is None:
        return Option(option["flag"], setting.name, None, setting.span, setting.whole, None, True)
    if option["kind"] == "switch":
        return Option(option["flag"], setting.name, value, setting.span, setting.whole, value.lower() not in _FALSE)
    data, reason = _converted(option, value)
    if reason is not None and not _has_another_cause(serving, value):
        parse.faults.append(_invalid(option, setting.name, value, setting.span, reason, setting.path))
    return Option(option["flag"], setting.name, value, setting.span, setting.whole, data)


def _has_another_cause(serving: Serving, value: str) -> bool:
    """Whether quotes or a comment in an env file spoil the value: rules of their own speak of those."""
    return serving.kind == "env-file" and (" #" in value or "\t#" in value or value[:1] in ('"', "'", "“", "‘", "`"))


def _note_near_miss(setting: Setting, parse: _Parse) -> None:
    """A name that is nearly one of TGI's: the launcher ignores it in silence."""
    name = setting.name
    table = option_table()
    if name in table["variables"] or name in table["sagemaker"] or not name:
        return
    from servelint.manifests.env_file import near_launcher_name

    near = near_launcher_name(name)
    if near is None:
        return
    message = f"TGI knows no variable {_shown(name)} and ignores it; {near} is what it reads"
    parse.faults.append(
        Fault(
            "unknown-option",
            message,
            setting.whole,
            near,
            False,
            name,
            why="The default holds instead.",
            path=setting.path,
        )
    )


def _shadowed(variables: Sequence[Option], arguments: Sequence[Option]) -> Iterator[Fault]:
    """Variables whose option is given as an argument too: the argument wins."""
    given = {option.name: option for option in arguments}
    for option in variables:
        winner = given.get(option.name)
        if winner is None or option.unknown or winner.unknown:
            continue
        if option.data == winner.data and (option.data is not None or option.value == winner.value):
            continue
        message = f"{option.spelled} has no effect: the argument {winner.spelled} wins over the variable"
        yield Fault(
            "shadowed", message, option.name_span, subject=option.spelled, related=((winner.name_span, "this wins"),)
        )


# Values.


def _converted(option: dict[str, Any], text: str) -> tuple[Any, str | None]:
    """The value as the launcher's parser converts it, and what is wrong with it."""
    if option.get("list"):
        pieces = [_converted({**option, "list": None}, piece) for piece in text.split(option["list"])]
        return [data for data, _ in pieces], next((reason for _, reason in pieces if reason), None)
    match option["kind"]:
        case "whole":
            return _whole_number(option, text)
        case "number":
            return _decimal(text)
        case "truth":
            if text in ("true", "false"):
                return text == "true", None
            return None, "it takes true or false"
        case "choice":
            if text in option["choices"]:
                return text, None
            return None, "it takes one of " + ", ".join(option["choices"])
    return text, None


def _whole_number(option: dict[str, Any], text: str) -> tuple[int | None, str | None]:
    digits = text.removeprefix("+")
    if not digits:
        return None, "it takes a whole number"
    if not (digits.isascii() and digits.isdigit()):
        return None, "it takes a whole number in plain digits"
    number = int(digits) if len(digits) <= 30 else option["maximum"] + 1
    if number > option["maximum"]:
        return None, f"it takes at most {option['maximum']}"
    if number < option.get("minimum", 0):
        return number, f"it takes at least {option['minimum']}"
    return number, None


def _decimal(text: str) -> tuple[float | None, str | None]:
    """A number as Rust reads one: Python takes underscores and blanks besides."""
    if text and text.isascii() and "_" not in text and text == text.strip() and len(text) < 400:
        try:
            return float(text), None
        except ValueError:
            pass
    return None, "it takes a number"


def _invalid(option: dict[str, Any], name: str, value: str, span: Span, reason: str, path: str | None = None) -> Fault:
    shown = "this value" if option.get("secret") else (_shown(value) if value else "empty")
    quoted = value[:1] in ('"', "'") and value[-1:] == value[:1] and len(value) > 1
    hint = "the quotes are part of the value here" if quoted else ""
    certain = option["kind"] != "choice"
    return Fault(
        "invalid-value",
        f"{name} is {shown}, but {reason}",
        span,
        None,
        certain,
        name,
        why=_REFUSED,
        help=hint,
        path=path,
    )


def _shown(text: str) -> str:
    """A text in a message: short, on one line."""
    if len(text) > _LONGEST_SHOWN:
        text = text[: _LONGEST_SHOWN - 1] + "…"
    return "`" + "".join(character if character.isprintable() else " " for character in text) + "`"


# What the launcher checks once it has read everything.


def _renamed(version: str | None, options: Sequence[Option]) -> Iterator[Fault]:
    """Options under a name that is old for this version, or not yet known to it."""
    given = {option.name for option in options}
    for option in options:
        known = _by_flag()[option.name]
        is_variable = not option.spelled.startswith("-")
        renamed = known.get("renamed")
        if renamed and renamed["to"] not in given and _reaches(version, renamed["since"]):
            successor = _spelled_like(renamed["to"], is_variable)
            message = f"{option.spelled} is the old name of {successor} since TGI {renamed['since']}"
            yield Fault("deprecated", message, option.name_span, successor, True, option.spelled)
        if "absent" in known and _at_most(version, known["absent"]):
            older = next(
                flag for flag, other in _by_flag().items() if other.get("renamed", {}).get("to") == option.name
            )
            successor = _spelled_like(older, is_variable)
            what = "ignores it" if is_variable else "refuses to start"
            message = f"TGI {version} does not know {option.spelled} yet and {what}: its name there is {successor}"
            yield Fault("unknown-option", message, option.name_span, successor, not is_variable, option.spelled)


def _spelled_like(flag: str, is_variable: bool) -> str:
    return str(_by_flag()[flag]["env"]) if is_variable else flag


def _whole(winners: dict[str, Option], name: str) -> int | None:
    option = winners.get(name)
    return option.data if option is not None and isinstance(option.data, int) else None


def _conflicts(options: Sequence[Option], version: str | None) -> Iterator[Fault]:
    """Combinations that end the launch, of values that are all known."""
    winners = {option.name: option for option in options}
    yield from _input_conflicts(winners, version)
    prefill, batch = winners.get("--max-batch-prefill-tokens"), winners.get("--max-batch-total-tokens")
    total = winners.get("--max-total-tokens")
    yield from _above(total, batch, "an answer needs", "a batch may hold", certain=True)
    yield from _above(prefill, batch, "prompts may fill", "a batch may hold", certain=bool(_reaches(version, "3.0.0")))
    shards = _whole(winners, "--num-shard")
    sharded, quantize = winners.get("--sharded"), winners.get("--quantize")
    if sharded is not None and sharded.data is True and shards == 1:
        yield _pair(sharded, winners["--num-shard"], f"{sharded.spelled} asks for several shards, but there is one")
    if quantize is not None and quantize.data == "exl2" and shards is not None and shards > 1:
        yield _pair(quantize, winners["--num-shard"], "exl2 works on one shard only")
    ngrok = winners.get("--ngrok")
    if ngrok is not None and ngrok.data is True:
        for name in ("--ngrok-authtoken", "--ngrok-edge"):
            if name not in winners:
                message = f"{ngrok.spelled} needs {_spelled_like(name, not ngrok.spelled.startswith('-'))}"
                yield Fault("conflict", message, ngrok.name_span, certain=False, subject=ngrok.spelled, why=_REFUSED)


def _input_conflicts(winners: dict[str, Option], version: str | None) -> Iterator[Fault]:
    new, old = winners.get("--max-input-tokens"), winners.get("--max-input-length")
    total = winners.get("--max-total-tokens")
    table = option_table()
    is_old = _at_most(version, table["old_defaults"]["to"])
    if new is not None and old is not None and not is_old:
        message = f"{old.spelled} and {new.spelled} are two names of one option, and TGI takes only one of them"
        fault = Fault(
            "conflict", message, old.name_span, None, bool(_reaches(version, "2.0.4")) or version is None, old.spelled,
            related=((new.name_span, "the other name"),), why=_REFUSED, help=f"keep {new.spelled}",
        )  # fmt: skip
        yield fault
        return
    given = old if is_old else (new or old)
    length = given.data if given is not None else None
    limit = total.data if total is not None else None
    if is_old:
        # Up to 1.4 both have a default of their own, so that one alone can be at odds with the other's.
        length = table["old_defaults"]["--max-input-length"] if given is None else length
        limit = table["old_defaults"]["--max-total-tokens"] if total is None else limit
    place = given or total
    if place is None or not isinstance(length, int) or not isinstance(limit, int) or length < limit:
        return
    what = given.spelled if given is not None else f"the default prompt length ({length})"
    against = total.spelled if total is not None else "the default total"
    message = f"{what} leaves no token for an answer: prompts of {length} tokens, {limit} in all ({against})"
    related = ((total.name_span, "prompt and answer together"),) if total is not None and place is not total else ()
    yield Fault("no-room", message, place.span, subject=place.spelled, related=related, why=_REFUSED)


def _above(more: Option | None, less: Option | None, what: str, than: str, certain: bool) -> Iterator[Fault]:
    if more is None or less is None or not isinstance(more.data, int) or not isinstance(less.data, int):
        return
    if more.data > less.data:
        message = f"{what} {more.data} tokens ({more.spelled}), but {than} {less.data} ({less.spelled})"
        related = ((less.name_span, "the smaller one"),)
        yield Fault("conflict", message, more.span, None, certain, more.spelled, related=related, why=_REFUSED)


def _pair(option: Option, other: Option, message: str) -> Fault:
    related = ((other.name_span, "the other one"),)
    return Fault("conflict", message, option.name_span, subject=option.spelled, related=related, why=_REFUSED)


def _version_faults(serving: Serving, identity: Identity, version: str | None) -> Iterator[Fault]:
    """A version that reads only the tokenizer's end token, for a model whose turns end with another one."""
    since = option_table()["lists_read_since"]
    listed = [token.text for token in identity.turn if token.text in _LISTED_ENDS]
    place = serving.version or serving.image
    if place is None or not listed or _reaches(version, since) is not False:
        return
    message = f"TGI {version} does not read the eos_token_id list of generation_config.json"
    why = f"It stops at the tokenizer's own end token only; where that is not {listed[0]}, turns do not end."
    yield Fault(
        "ignores-list",
        message,
        place.span,
        subject=version or "",
        why=why,
        help=f"use TGI {since} or newer",
        path=place.path,
    )
