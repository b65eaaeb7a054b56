"""What llama-server says against its command line and its variables, in words that help."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from servelint.engines.llamacpp import ends_by_text
from servelint.engines.llamacpp_arguments import (
    Misfit,
    ServerLine,
    option_of_key,
    options_by_name,
    options_by_variable,
)
from servelint.engines.llamacpp_overrides import END_KEYS, Override, is_number, rescued_keys
from servelint.engines.meant_json import lenient_json, repair_json
from servelint.engines.near_names import nearest_name
from servelint.engines.reading import Fault, Option, StopSet
from servelint.manifests.serving import Serving
from servelint.models.identity import Identity
from servelint.text import Span
from servelint.text.distance import edit_distance

if TYPE_CHECKING:
    from servelint.manifests.gguf import Vocabulary

_ENDS = "The program prints `invalid argument` and ends."
_LONGEST_SHOWN = 60
# A context is rounded up to a multiple of this.
_CONTEXT_STEP = 256
# Options that people give to the server and that belong elsewhere, and what works instead.
_EXPLAINED: dict[str, str] = {
    "--stop": "the server's own stops are reverse prompts: one `-r TEXT` for each; requests send `stop`",
    "--stop-strings": "the server's own stops are reverse prompts: one `-r TEXT` for each; requests send `stop`",
    "--stop-words": "the server's own stops are reverse prompts: one `-r TEXT` for each; requests send `stop`",
    "--stop-token-ids": "llama.cpp has no list of stop ids: --override-kv tokenizer.ggml.eot_token_id=int:ID adds one",
    "--eos-token-id": "end ids come from the GGUF: --override-kv tokenizer.ggml.eos_token_id=int:ID sets another",
    "--max-tokens": "the cap of an answer is -n (--n-predict), which a request may raise",
    "--max-new-tokens": "the cap of an answer is -n (--n-predict), which a request may raise",
    "--generation-config": "llama.cpp reads no generation_config.json; what ends generation is inside the GGUF",
    "--override-generation-config": "llama.cpp reads no generation_config.json; sampling has flags of its own",
    "--max-model-len": "the size of the context is -c (--ctx-size)",
    "--context-length": "the size of the context is -c (--ctx-size)",
    "--gpu-memory-utilization": "how many layers go to the GPU is -ngl (--n-gpu-layers)",
    "--tensor-parallel-size": "how the model is split is -sm and -ts (--split-mode, --tensor-split)",
}
# Only the program that completes on the command line has these (measured on llama-server).
_OF_OTHER_PROGRAMS = frozenset(
    {
        "-cnv", "--conversation", "-no-cnv", "--no-conversation", "--in-prefix", "--in-suffix", "-i", "--interactive",
    }
)  # fmt: skip
_OFF = frozenset({"off", "disabled", "false", "0", "no"})
# Known to earlier builds, and what took their place in the build that the table is of.
_FORMER: dict[str, str] = {
    "--no-mmap": "--load-mode none", "--mlock": "--load-mode mlock", "-dio": "--load-mode dio",
    "--direct-io": "--load-mode dio", "--mmap": "--load-mode mmap",
}  # fmt: skip


def faults_of(
    serving: Serving,
    identity: Identity,
    variables: ServerLine,
    words: ServerLine,
    overrides: Sequence[Override],
    stop_set: StopSet,
) -> list[Fault]:
    """Everything that is to be said, by place."""
    misfits = [*variables.misfits, *words.misfits]
    if serving.kind == "llama-preset":
        # That the quotes are part of it is all that is wrong with such a value, and is told below.
        misfits = [misfit for misfit in misfits if misfit.sort == "key" or not _is_quoted(misfit.text)]
    faults = [fault for misfit in misfits if (fault := _of_misfit(misfit)) is not None]
    faults += _near_variables(serving)
    faults += _of_preset(serving)
    faults += _shadowed(variables, words, _sections(serving))
    faults += faults_of_overrides(overrides, identity)
    faults += _of_file(serving, overrides)
    faults += _of_ends(identity, variables, words, stop_set)
    faults += _of_length(identity, variables, words)
    faults.sort(key=lambda fault: (fault.span.start, fault.span.end, fault.sort))
    return faults


def _shown(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_SHOWN else plain[: _LONGEST_SHOWN - 1] + "…"


def _is_quoted(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] and text[0] in "'\""


def _of_misfit(misfit: Misfit) -> Fault | None:
    text = _shown(misfit.text)
    if misfit.sort == "joined" and len(misfit.parts) == 1:
        name = misfit.parts[0]
        return Fault(
            "not-split", f"{name} and its value are one word to llama-server, which knows no such option", misfit.span,
            subject=name, why=_ENDS, help=f"write {name} and its value as two words",
        )  # fmt: skip
    if misfit.sort == "joined":
        name, value = misfit.parts
        shown = f"{name} and its value are one word to llama-server, which knows no such option: {text}"
        return Fault(
            "not-split", shown, misfit.span, json.dumps([name, value]), subject=name, why=_ENDS,
            help=f"write two words: {name} {_shown(value)}",
        )  # fmt: skip
    if misfit.sort == "missing":
        return Fault("invalid-value", f"{text} has no value behind it", misfit.span, subject=text, why=_ENDS)
    if misfit.sort == "stray":
        message = f"{text!r} belongs to no option: llama-server takes options only"
        return Fault("fatal", message, misfit.span, subject=text, why=_ENDS, certain=misfit.certain)
    if misfit.sort == "key":
        return _of_key(misfit)
    if misfit.sort == "truth":
        message = f"{text!r} is no truth value to llama.cpp: {misfit.reason or 'the program ends'}"
        return Fault(
            "invalid-value", message, misfit.span, why="It takes on, off, true, false, enabled, disabled, 1, 0."
        )
    if misfit.sort == "value":
        return _of_value(misfit)
    return _of_unknown(misfit)


def _of_key(misfit: Misfit) -> Fault:
    """A key of a preset that names no option: the router refuses the file, `config.ini` only warns of it."""
    key = misfit.text
    dashed = key.replace("_", "-")
    near = dashed if f"--{dashed}" in options_by_name() and dashed != key else None
    near = near or (nearest_name(f"--{key}", options_by_name()) or "").removeprefix("--") or None
    what = "the router does not start" if misfit.certain else "it is passed over with a warning"
    explained = _EXPLAINED.get(f"--{dashed}", "")
    return Fault(
        "unknown-option", f"llama.cpp knows no key {key}: {what}", misfit.span, near, misfit.certain, key,
        help="" if near else explained,
        why="Keys are the names of options without their dashes, with dashes inside, or their variables.",
    )  # fmt: skip


def _of_value(misfit: Misfit) -> Fault | None:
    option, text = misfit.option, misfit.text
    if option is None:
        return None
    if option.kind == "json":
        return _of_json(misfit)
    if option.kind == "choice":
        near = _near_choice(text, option.choices)
        if near is None:
            # Another build, or a fork, may take it.
            return None
        message = f"{misfit.spelled} does not take {_shown(text)!r}"
        return Fault("invalid-value", message, misfit.span, near, False, option.flag, help=f"did you mean {near}?")
    message = f"{misfit.spelled} {_shown(text)!r}: {misfit.reason}"
    return Fault(
        "invalid-value", message, misfit.span, subject=option.flag, why="What stands here is not what is served.",
        help=_better_number(text),
    )  # fmt: skip


def _of_json(misfit: Misfit) -> Fault:
    name = misfit.spelled
    value = misfit.text
    if len(value) > 2 and value[0] == value[-1] and value[0] in "'\"`" and _is_json(value[1:-1]):
        return Fault(
            "literal-quotes", f"{name} gets its JSON with the quotes around it as part of the value", misfit.span,
            value[1:-1], subject=name, why=_ENDS,
        )  # fmt: skip
    repaired = repair_json(value) if '"' not in value and "'" not in value else None
    if repaired is not None:
        return Fault(
            "lost-quotes", f"the quotes of {name}'s JSON are lost: llama-server gets {_shown(value)}", misfit.span,
            repaired, subject=name, why=_ENDS, help=f"put single quotes around the whole JSON: '{_shown(repaired)}'",
        )  # fmt: skip
    meant = lenient_json(value)
    return Fault(
        "invalid-value", f"{name} wants JSON, and {_shown(value)} is none", misfit.span, meant, subject=name, why=_ENDS,
        help=f"strict JSON: {_shown(meant)}" if meant else "write strict JSON in double quotes",
    )  # fmt: skip


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _better_number(text: str) -> str:
    lead = text.strip().rstrip("kKmM")
    factor = {"k": 1024, "K": 1024, "m": 1024**2, "M": 1024**2}.get(text.strip()[-1:], 0)
    if factor and lead.isascii() and lead.isdigit():
        return f"write the number out: {int(lead) * factor}"
    return "write a plain number"


def _near_choice(text: str, choices: Sequence[str]) -> str | None:
    lowered = text.strip().lower()
    for choice in choices:
        if lowered == choice.lower():
            return choice
    return next((choice for choice in choices if len(choice) > 3 and edit_distance(lowered, choice, 1) == 1), None)


def _of_unknown(misfit: Misfit) -> Fault | None:
    name = misfit.text.partition("=")[0]
    explained = _EXPLAINED.get(name.replace("_", "-"))
    if explained is not None:
        return Fault(
            "unknown-option", f"llama-server has no option {name}", misfit.span, None, True, name, why=_ENDS,
            help=explained,
        )  # fmt: skip
    if name in _OF_OTHER_PROGRAMS:
        shown = f"llama-server has no option {name}: it is one of llama-completion's"
        return Fault(
            "unknown-option", shown, misfit.span, None, True, name, why=_ENDS,
            help="leave it out; a server holds conversations by its chat route",
        )  # fmt: skip
    if name in _FORMER:
        # Right for earlier builds, and nothing says which one this is.
        return None
    near = _near_option(name)
    if near is None:
        return Fault("unknown-option", f"llama-server has no option {name}", misfit.span, None, False, name, why=_ENDS)
    return Fault("unknown-option", f"llama-server has no option {name}", misfit.span, near, False, name, why=_ENDS)


@cache
def _near_option(name: str) -> str | None:
    if name.startswith("--"):
        return nearest_name(name, options_by_name())
    # A long name behind a single dash.
    return f"-{name}" if len(name) > 3 and f"-{name}".replace("_", "-") in options_by_name() else None


def _near_variables(serving: Serving) -> Iterator[Fault]:
    known = options_by_variable()
    for setting in serving.environment:
        if not setting.name.startswith("LLAMA_ARG_") or setting.name in known:
            continue
        near = _near_variable(setting.name)
        if near is not None:
            yield Fault(
                "unknown-option", f"llama-server reads no variable {setting.name}", setting.span, near, False,
                setting.name, why="A variable that it does not know is ignored in silence.",
            )  # fmt: skip


@cache
def _near_variable(name: str) -> str | None:
    if len(name) > _LONGEST_SHOWN:
        return None
    allowed = 1 if len(name) < 18 else 2
    found = [other for other in options_by_variable() if edit_distance(name, other, allowed) <= allowed]
    # `LLAMA_ARG_N_PREDICT2` may be a script's own.
    return found[0] if len(found) == 1 and not name[-1].isdigit() else None


def _of_preset(serving: Serving) -> Iterator[Fault]:
    """What an INI file makes of remarks and quotes, and of a switch that is told to be off."""
    if serving.kind != "llama-preset":
        return
    for name, span, later in serving.facts["dropped"]:
        yield Fault(
            "shadowed", f"nothing in this [{name}] has an effect: a later [{name}] begins anew", span, subject=name,
            related=((later, "this one counts"),), help="write one section of that name",
        )  # fmt: skip
    for setting in serving.settings:
        entry = setting.data
        option = option_of_key(setting.name)
        text = serving.facts["document"].text
        if entry.remark is not None and text[entry.remark.start - 1] not in " \t=":
            yield Fault(
                "invalid-value", f"{setting.name} is {_shown(entry.value)!r}: the {text[entry.remark.start]} behind it "
                "begins a remark", setting.whole, subject=setting.name,
                why="In llama.cpp's INI files nothing protects a `#` or a `;`.",
                help="a value with one of them can only be given on the command line",
            )  # fmt: skip
        elif entry.remark is not None and not entry.value:
            yield Fault(
                "invalid-value", f"{setting.name} is empty: all behind the `=` is a remark", setting.whole,
                subject=setting.name, why="In llama.cpp's INI files nothing protects a `#` or a `;`.",
                help="a value with one of them can only be given on the command line",
            )  # fmt: skip
        if _is_quoted(entry.value):
            inner = entry.value[1:-1]
            sort = "stop-quotes" if option is not None and option.flag == "--reverse-prompt" else "kept-quotes"
            yield Fault(
                sort, f"the quotes are part of the value of {setting.name}: {_shown(entry.value)}", setting.span,
                inner if inner.strip() == inner else None, subject=setting.name,
                why="llama.cpp's INI files know no quotes.",
                help=f"write {_shown(inner)}" if inner.strip() == inner else "blanks at its ends are lost without them",
            )  # fmt: skip
        is_switch = option is not None and option.kind == "switch"
        if serving.facts["is_config"] and is_switch and entry.value.lower() in _OFF:
            yield Fault(
                "invalid-value", f"{setting.name} = {entry.value} turns it on: in config.ini the value of a plain "
                "switch is not looked at", setting.whole, subject=setting.name,
                why="It holds for every llama.cpp program of that user.", help="remove the line",
            )  # fmt: skip


def _sections(serving: Serving) -> dict[Span, str]:
    """Which section of an INI file each setting is in; empty for any other form."""
    return {setting.whole: setting.data.section for setting in serving.settings if serving.kind == "llama-preset"}


def _shadowed(variables: ServerLine, words: ServerLine, sections: Mapping[Span, str]) -> Iterator[Fault]:
    by_name = options_by_name()
    last: dict[str, Option] = {}
    for option in words.options:
        earlier = last.get(option.name)
        gathered = by_name[option.name].gathered and not sections
        # A section's own value over the common one is how presets are meant.
        same = earlier is None or sections.get(earlier.name_span) == sections.get(option.name_span)
        if earlier is not None and same and not gathered and _differ(earlier, option):
            yield Fault(
                "shadowed", f"{earlier.spelled} {_value(earlier)} has no effect: {option.spelled} {_value(option)} "
                "behind it wins", earlier.span, subject=option.name, related=((option.span, "this one wins"),),
            )  # fmt: skip
        last[option.name] = option
    for option in variables.options:
        winner = last.get(option.name)
        if winner is not None and _differ(option, winner):
            yield Fault(
                "shadowed", f"{option.spelled} has no effect: {winner.spelled} {_value(winner)} on the command line "
                "wins", option.span, subject=option.name, related=((winner.span, "this one wins"),),
            )  # fmt: skip


def _differ(one: Option, other: Option) -> bool:
    return not one.unknown and not other.unknown and one.data != other.data


def _value(option: Option) -> str:
    return _shown(option.value) if option.value is not None else ""


def faults_of_overrides(overrides: Sequence[Override], identity: Identity) -> Iterator[Fault]:
    """What is wrong with overrides of a GGUF's keys, in themselves and for this model."""
    first: dict[str, Override] = {}
    for item in overrides:
        if item.refused is not None:
            yield Fault(
                "invalid-value", f"{item.option.spelled} {_shown(item.key)}: {item.refused}", item.span,
                subject=item.option.spelled, why="The program prints what is wrong with the override and ends.",
                help=_as_integer(item) if item.name else "",
            )  # fmt: skip
            continue
        earlier = first.setdefault(item.key, item)
        if earlier is not item and (earlier.type, earlier.value) != (item.type, item.value):
            yield Fault(
                "shadowed", f"this {item.key} has no effect: of two overrides of one key the first counts", item.span,
                subject=item.option.spelled, related=((earlier.span, "the one that counts"),),
            )  # fmt: skip
            continue
        fault = _of_override(item, identity)
        if fault is not None:
            yield fault


def _as_integer(item: Override) -> str:
    """The override as it is right, with the id that was meant where one stands there."""
    number = next((text for text in (item.value, item.type) if is_number(text)), "ID")
    option = f"{item.option.spelled} " if item.option.spelled.startswith("-") else ""
    return f"{option}{item.key}=int:{number.strip()}"


def _of_override(item: Override, identity: Identity) -> Fault | None:
    if item.key.startswith("tokenizer.chat_template"):
        return Fault(
            "inert", f"an override of {item.key} does not reach the chat", item.span, subject=item.key,
            why="llama.cpp takes the template from the file's own metadata, not from overrides.",
            help="use --chat-template-file",
        )  # fmt: skip
    if item.key in ("tokenizer.ggml.eos_token_ids", "tokenizer.ggml.stop_token_ids", "tokenizer.ggml.eog_token_ids"):
        return Fault(
            "inert", f"llama.cpp knows no key {item.key}", item.span, subject=item.key,
            why="A key that it does not know is taken without a word and never read.",
            help="tokenizer.ggml.eos_token_id sets the end, tokenizer.ggml.eot_token_id adds a second one",
        )  # fmt: skip
    if item.name is None:
        return None
    if item.type != "int":
        return Fault(
            "inert", f"{item.key} wants an int, and {item.type}:{_shown(item.value)} is thrown away", item.span,
            subject=item.key, why="llama.cpp warns of a bad type and keeps the id that the file has.",
            help=_as_integer(item),
        )  # fmt: skip
    number = item.number or 0
    if not is_number(item.value):
        return _no_end(item, f"{_shown(item.value)!r} is no number, and becomes id {number}", identity, True)
    size = identity.vocabulary_size
    if number < 0 or (size is not None and number >= size):
        said = f"{number} is no id of this vocabulary" if number >= 0 else f"{number} is no id"
        if item.name != "eos":
            return Fault(
                "inert", f"{said}: this {item.name} is thrown away", item.value_span, subject=item.key,
                why="llama.cpp warns of a bad special token and keeps what it finds without the override.",
                help="give the id of a token, or leave the override out",
            )  # fmt: skip
        return _no_end(item, f"{said}: llama.cpp falls back to its default", identity, True)
    if not identity.vocabulary or item.name.startswith("fim"):
        # The ends of a fill-in-the-middle prompt are no family's turn ends, and rightly so.
        return None
    texts = {token.id: token.text for token in (*identity.vocabulary, *identity.terminators)}
    text = texts.get(number)
    if text is None:
        lowest = min((token.id for token in identity.vocabulary if token.id is not None), default=0)
        if number > lowest:
            # Among the special tokens, and none that the table names.
            return None
        return _no_end(item, f"{number} is an ordinary word piece of {identity.family}", identity, identity.certain)
    if text in {token.text for token in identity.terminators} or text in ends_by_text((text,)):
        return None
    if not identity.terminators:
        return None
    return _no_end(item, f"{number} is {text}, which ends nothing in {identity.family}", identity, identity.certain)


def _no_end(item: Override, said: str, identity: Identity, certain: bool) -> Fault:
    ends = [f"{token.id} ({token.text})" for token in identity.terminators if token.id is not None]
    help_text = f"the ends of {identity.family} are {' and '.join(ends[:2])}" if ends else "leave the override out"
    if ends and item.name == "eos":
        help_text += "; llama.cpp knows them by their text without any override"
    why = "It becomes an end of generation: an answer is cut where the model writes it."
    if "default" in said:
        why = "For most vocabularies the default is id 11, a comma: an answer is cut at the first one."
    return Fault("no-terminator", said, item.value_span, subject=item.key, why=why, help=help_text, certain=certain)


def _of_file(serving: Serving, overrides: Sequence[Override]) -> Iterator[Fault]:
    """Ids of a type in the GGUF that ends the loading of it: only an override of the key is read instead."""
    vocabulary: Vocabulary | None = serving.facts.get("vocabulary")
    if vocabulary is None or vocabulary.gguf.fault is not None:
        return
    rescued = rescued_keys(overrides)
    place = serving.model.span if serving.model is not None and serving.model.path is None else serving.span
    for key, name in END_KEYS.items():
        entry = vocabulary.entry(name)
        if entry is not None and entry.sort != "u32" and key not in rescued:
            yield Fault(
                "fatal", f"the GGUF has {key} as {entry.sort}: llama.cpp takes nothing but u32, and does not load it",
                place, subject=key, why="wrong type, expected u32",
                help=f"--override-kv {key}=int:ID is read in its place; or write the file anew",
            )  # fmt: skip


def _of_ends(identity: Identity, variables: ServerLine, words: ServerLine, stop_set: StopSet) -> Iterator[Fault]:
    ignored = words.last("--ignore-eos")
    if ignored is not None:
        yield Fault(
            "bans-end", f"{ignored.spelled} forbids every token that ends an answer", ignored.name_span,
            subject="--ignore-eos", why="No answer ends by itself: each runs to the cap, or to the end of the context.",
            help="leave it out, and let requests that want it send ignore_eos",
        )  # fmt: skip
    yield from _of_biases(words, identity)
    special = words.last("--special") or variables.last("--special")
    control = {token.text for token in (*identity.terminators, *identity.vocabulary)} | set(ends_by_text(()))
    for option in words.all("--reverse-prompt"):
        if option.value is None:
            continue
        listed = _listed(option.value, control)
        if listed:
            written = " ".join(f"-r '{text}'" for text in listed)
            yield Fault(
                "list-in-one", f"{option.spelled} takes one text: {_shown(option.value)!r} is a single stop",
                option.span, json.dumps(listed), subject=option.spelled,
                why="A comma separates nothing here, so the whole text would have to appear in an answer.",
                help=f"give the option once for each: {_shown(written)}",
            )  # fmt: skip
        elif option.value in control and special is None:
            ends = stop_set.holds(option.value, None)
            yield Fault(
                "text-stripped",
                f"{_shown(option.value)} is a control token: its text is never written, so it cannot match",
                option.span, subject=option.spelled,
                severity="note" if ends else "warning",
                why="llama-server leaves control tokens out of the answer unless --special is given"
                + ("; it ends at this one by its id." if ends else "."),
                help="" if ends else "--override-kv tokenizer.ggml.eot_token_id=int:ID makes an end of it",
            )  # fmt: skip
        elif option.value == "":
            yield Fault(
                "emptied", f"{option.spelled} is given an empty text", option.span, subject=option.spelled,
                why="An empty stop is found at once: every answer that it holds for is empty.",
                help="leave it out",
            )  # fmt: skip


def _listed(value: str, control: set[str]) -> list[str]:
    """The texts that a comma was to separate, where that is plain: tokens, or names of speakers."""
    if "," not in value:
        return []
    pieces = [piece.strip() for piece in value.split(",")]
    if len(pieces) < 2 or not all(pieces):
        return []
    plain = all(piece in control or (piece.startswith("<") and piece.endswith(">")) for piece in pieces)
    speakers = all(piece.endswith(":") and " " not in piece for piece in pieces)
    return pieces if plain or speakers else []


def _of_biases(words: ServerLine, identity: Identity) -> Iterator[Fault]:
    texts = {token.id: token.text for token in identity.terminators}
    for option in words.all("--logit-bias"):
        number, sign, amount = _bias(option.value or "")
        if sign != "-" or number not in texts or amount < 5:
            continue
        yield Fault(
            "bans-end", f"{option.spelled} {option.value} bans {texts[number]}, which ends an answer of this model",
            option.span, subject=option.spelled, why="The model hardly ever writes it: answers run to the cap.",
            help="take the bias off",
        )  # fmt: skip


def _bias(text: str) -> tuple[int | None, str, float]:
    for sign in "+-":
        number, found, amount = text.partition(sign)
        if found and number.isascii() and number.isdigit():
            try:
                return int(number), sign, abs(float(amount))
            except ValueError:
                return None, "", 0.0
    return None, "", 0.0


def _of_length(identity: Identity, variables: ServerLine, words: ServerLine) -> Iterator[Fault]:
    limit = words.last("--n-predict") or (None if words.open else variables.last("--n-predict"))
    if limit is None or not isinstance(limit.data, int):
        return
    if limit.data == -2:
        yield Fault(
            "unbounded", f"{limit.spelled} -2 ends every answer of llama-server after one token", limit.span,
            subject=limit.spelled, why="Only llama-completion takes -2 for `until the context is full`.",
            help=f"write {limit.spelled} -1, or a cap",
        )  # fmt: skip
        return
    size = _whole(words.last("--ctx-size") or variables.last("--ctx-size"))
    slots = _slots(variables, words)
    room = size // slots + -(size // slots) % _CONTEXT_STEP if size is not None else 0
    if 0 < room < limit.data:
        parts = f", one of {slots} parts of {size}" if slots > 1 else ""
        shown = f"{limit.spelled} {limit.data} does not fit into a context of {room} tokens{parts}"
        yield Fault(
            "no-room", shown, limit.span, subject=limit.spelled, severity="warning",
            why="Prompt and answer share the context: the answer ends where it is full, with the reason `length`.",
            help="raise -c, or lower the cap below it",
        )  # fmt: skip
        return
    shift = words.last("--context-shift") or variables.last("--context-shift")
    if limit.data != -1 or shift is None or shift.data is not True or identity.terminators:
        return
    yield Fault(
        "unbounded", f"{limit.spelled} -1 lifts the cap, the context shifts, and no end of this model is known",
        limit.span, subject=limit.spelled, related=((shift.span, "so that a full context ends nothing either"),),
        why="If the GGUF names no end that the model writes, an answer never ends.",
        help="name a cap, or leave the context shift out",
    )  # fmt: skip


def _slots(variables: ServerLine, words: ServerLine) -> int:
    """Among how many requests the context is divided: 1 where it is not, or where nobody can say."""
    unified = words.last("--kv-unified") or variables.last("--kv-unified")
    per_slot = words.last("--kv-unified-per-slot") or variables.last("--kv-unified-per-slot")
    count = _whole(words.last("--parallel") or variables.last("--parallel"))
    is_divided = (unified is None or unified.data is False) and per_slot is None and not words.open
    return count if count is not None and count > 1 and is_divided else 1


def _whole(option: Option | None) -> int | None:
    value: Any = option.data if option is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
