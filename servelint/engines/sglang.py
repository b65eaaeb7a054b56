"""SGLang: what its server makes of a command line, and what then ends its answers.

Sources: sglang 0.4.6.post5 and 0.5.23, `srt/configs/model_config.py`, `srt/managers/schedule_batch.py`,
`srt/entrypoints/openai/serving_chat.py`. The stop set is the union of config.json's and generation_config.json's ids,
the tokenizer's end, and what a request names; no flag adds to it but an override of the model's config.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from servelint.engines.meant_json import lenient_json, load_json, repair_json
from servelint.engines.near_names import nearest_name
from servelint.engines.reading import Fault, Option, Reading, StopId, StopSet
from servelint.engines.sglang_arguments import (
    Misfit,
    ServerLine,
    flags_by_name,
    is_gone,
    is_unborn,
    parse_words,
    reads_config_alone,
    without_program,
)
from servelint.files.beside import read_beside
from servelint.files.context import Context
from servelint.manifests.serving import Serving, Setting, likely_model
from servelint.manifests.versions import version_of_image
from servelint.models.identity import Identity

# What a request to the completions route gets without a `max_tokens` of its own.
COMPLETION_TOKENS = 16
_PARSED = "sglang_parsed"
_IMAGE = "/lmsysorg/sglang"
_ENDS = "The program prints its usage and ends."
_LONGEST_SHOWN = 60
_CHAT_OPTIONS = (
    "--chat-template", "--tool-call-parser", "--reasoning-parser", "--hf-chat-template-name",
    "--default-chat-template-kwargs",
)  # fmt: skip
_EXPLAINED: dict[str, str] = {
    "--stop": "stops are request fields (`stop`, `stop_token_ids`); the server takes none",
    "--stop-token-ids": "stops are request fields; ids for all requests belong into the model's generation_config.json",
    "--stop-strings": "stops are request fields (`stop`); the server takes none",
    "--eos-token-id": "end ids come from the model's config.json, generation_config.json and tokenizer",
    "--ignore-eos": "`ignore_eos` is a request field",
    "--max-tokens": "the cap of an answer is the request's `max_tokens`",
    "--max-new-tokens": "the cap of an answer is the request's `max_tokens`",
    "--generation-config": "SGLang reads the generation_config.json of the model's own folder only",
    "--override-generation-config": "SGLang has no override of the generation config; edit the model's own file",
    "--temperature": "sampling values are request fields; the model's generation_config.json gives the defaults",
}
# Names that other servers give to the same thing.
_SYNONYMS: dict[str, str] = {
    "--max-model-len": "--context-length", "--ctx-size": "--context-length", "--max-seq-len": "--context-length",
    "--gpu-memory-utilization": "--mem-fraction-static", "--model-id": "--model-path",
    "--max-num-seqs": "--max-running-requests", "--max-num-batched-tokens": "--max-prefill-tokens",
    "--num-shard": "--tensor-parallel-size",
}  # fmt: skip


def parse_serving(serving: Serving, context: Context | None) -> ServerLine | None:
    """The serving's command line as SGLang's parser takes it, parsed once; None where it has none."""
    if serving.arguments is None:
        return None
    kept = serving.facts.get(_PARSED)
    if kept is not None and kept[0] is serving.arguments:
        found: ServerLine = kept[1]
        return found

    def read_file(path: str) -> str | None:
        near = None if context is None else read_beside(serving.path, path, context)
        return None if near is None else near[1]

    line = parse_words(without_program(serving.arguments), version_of(serving), read_file)
    serving.facts[_PARSED] = serving.arguments, line
    return line


def version_of(serving: Serving) -> str | None:
    """The version that serves, as far as the tag of SGLang's own image tells: that has no entry point of its own."""
    if serving.version is not None:
        return serving.version.value
    image = serving.image.value if serving.image is not None else None
    name, _, tag = (image or "").rpartition(":")
    if image is None or not f"/{name}".endswith(_IMAGE):
        return None
    found = version_of_image(image)
    return found if found is not None and tag.removeprefix("v").startswith(found) else None


def model_of(serving: Serving, context: Context | None) -> Setting | None:
    """The model that the command line names."""
    line = parse_serving(serving, context)
    option = line.last("--model-path") if line is not None else None
    if option is None:
        return None
    reason = "the value cannot be known" if option.unknown else None
    likely = likely_model(option.argument)
    return Setting("--model-path", option.value, option.span, option.span, option.spelled, reason=reason, likely=likely)


def read_sglang(serving: Serving, identity: Identity, context: Context | None) -> Reading:
    """The serving as SGLang reads it."""
    line = parse_serving(serving, context) or ServerLine(open=True)
    version = version_of(serving)
    faults = [fault for misfit in line.misfits if (fault := _of_misfit(misfit)) is not None]
    faults += _of_options(line, version)
    faults.sort(key=lambda fault: (fault.span.start, fault.span.end, fault.sort))
    facts: dict[str, Any] = {
        "completions_default": COMPLETION_TOKENS,
        "chat_template": _chat_template(serving, line, context),
    }
    serves_chat = True if any(line.last(name) is not None for name in _CHAT_OPTIONS) else None
    generates = line.last("--is-embedding") is None
    return Reading(
        _stop_set(serving, identity, line), line.options, None, None, tuple(faults), True, False, serves_chat,
        generates, facts,
    )  # fmt: skip


def _stop_set(serving: Serving, identity: Identity, line: ServerLine) -> StopSet:
    ids = tuple(_overridden(line, identity))
    if serving.facts.get("folder") is not None and line.last("--tokenizer-path") is None and not line.open:
        from servelint.engines.model_files import stop_set_of_folder

        found = stop_set_of_folder(serving, identity)
        if reads_config_alone(version_of(serving)):
            found = _of_config_alone(serving, identity)
        return StopSet(found.texts, (*ids, *found.ids), found.tokens, found.unknown)
    unknown = [
        "the end token of the model's tokenizer, which was not read",
        "the eos_token_id in the model's config.json and generation_config.json, which were not read",
    ]
    if line.open:
        unknown.append("words of the command line that come from elsewhere")
    return StopSet(ids=ids, unknown=tuple(unknown))


def _of_config_alone(serving: Serving, identity: Identity) -> StopSet:
    """What ends generation in a version that does not open generation_config.json."""
    from servelint.engines.model_files import ids_of_config, tokenizer_end

    folder = serving.facts["folder"]
    ids, own = ids_of_config(folder, identity), tokenizer_end(folder, identity)
    unknown = []
    if not ids:
        unknown.append("the end ids of config.json were not read")
    if own is None:
        unknown.append("the tokenizer's own end token was not read")
    elif own.value not in [stop.value for stop in ids]:
        ids.append(own)
    return StopSet(ids=tuple(ids), unknown=tuple(unknown))


def _overridden(line: ServerLine, identity: Identity) -> Iterator[StopId]:
    """The ids that an override of the model's config adds: the config's own count whatever the other file says."""
    option = line.last("--json-model-override-args")
    data, failed = load_json(option.value) if option is not None and option.value else (None, True)
    if failed or option is None or not isinstance(data, dict):
        return
    from servelint.engines.model_files import plain_ids

    texts = {token.id: token.text for token in (*identity.vocabulary, *identity.terminators)}
    for number in plain_ids(data.get("eos_token_id")):
        yield StopId(number, "--json-model-override-args", texts.get(number), option.span)


def _chat_template(serving: Serving, line: ServerLine, context: Context | None) -> tuple[str, Option] | None:
    """The Jinja file that `--chat-template` names, where it lies within reach; other values name a built-in one."""
    option = line.last("--chat-template")
    if option is None or not option.value or not option.value.endswith(".jinja") or context is None:
        return None
    found = read_beside(serving.path, option.value, context)
    return None if found is None else (found[1], option)


def _shown(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _LONGEST_SHOWN else plain[: _LONGEST_SHOWN - 1] + "…"


def _of_misfit(misfit: Misfit) -> Fault | None:
    text, flag = _shown(misfit.text), misfit.flag
    name = flag.name if flag is not None else text
    match misfit.sort:
        case "stray":
            lead, blank, rest = misfit.text.partition(" ")
            if blank and lead in flags_by_name():
                return _joined(misfit, lead, rest)
            message = f"{text!r} belongs to no option"
            return Fault("fatal", message, misfit.span, subject=text, why=_ENDS)
        case "missing":
            return Fault("invalid-value", f"{text} has no value behind it", misfit.span, subject=text, why=_ENDS)
        case "explicit":
            message = f"{name} is a switch, which takes no value"
            return Fault("invalid-value", message, misfit.span, subject=name, why=_ENDS, help=f"write {name} alone")
        case "value":
            message = f"{name} does not take {text!r}"
            return Fault("invalid-value", message, misfit.span, subject=name, why=_ENDS, help="write a plain number")
        case "choice":
            return _of_choice(misfit)
        case "json":
            return _of_json(misfit)
        case "ambiguous":
            message = f"{text} is short for several options"
            return Fault("invalid-value", message, misfit.span, None, misfit.certain, text, why=_ENDS)
    return _of_unknown(misfit)


def _joined(misfit: Misfit, name: str, value: str) -> Fault:
    import json

    message = f"{name} and its value are one word to SGLang: {_shown(misfit.text)}"
    return Fault(
        "not-split", message, misfit.span, json.dumps([name, value.strip()]), subject=name, why=_ENDS,
        help=f"write two words: {name} {_shown(value.strip())}",
    )  # fmt: skip


def _of_choice(misfit: Misfit) -> Fault | None:
    """Only a slip of the hand: another version may have the choice."""
    flag, text = misfit.flag, misfit.text
    if flag is None:
        return None
    choices = [choice for choice in flag.choices if isinstance(choice, str)]
    near = next((choice for choice in choices if choice.lower() == text.lower() and choice != text), None)
    if near is None:
        import difflib

        found = difflib.get_close_matches(text, choices, 1, 0.86)
        near = found[0] if found else None
    if near is None:
        return None
    message = f"{flag.name} does not take {_shown(text)!r}"
    return Fault("invalid-value", message, misfit.span, near, False, flag.name, why=_ENDS, help=f"did you mean {near}?")


def _of_json(misfit: Misfit) -> Fault:
    name = misfit.flag.name if misfit.flag is not None else ""
    value = misfit.text
    if len(value) > 2 and value[0] == value[-1] and value[0] in "'\"`" and not load_json(value[1:-1])[1]:
        return Fault(
            "literal-quotes", f"{name} gets its JSON with the quotes around it as part of the value", misfit.span,
            value[1:-1], subject=name, why=_ENDS,
        )  # fmt: skip
    repaired = repair_json(value) if '"' not in value and "'" not in value else None
    if repaired is not None:
        return Fault(
            "lost-quotes", f"the quotes of {name}'s JSON are lost: SGLang gets {_shown(value)}", misfit.span, repaired,
            subject=name, why=_ENDS, help=f"put single quotes around the whole JSON: '{_shown(repaired)}'",
        )  # fmt: skip
    meant = lenient_json(value)
    return Fault(
        "invalid-value", f"{name} wants JSON, and {_shown(value)} is none", misfit.span, meant, subject=name, why=_ENDS,
        help=f"strict JSON: {_shown(meant)}" if meant else "write strict JSON in double quotes",
    )  # fmt: skip


def _of_unknown(misfit: Misfit) -> Fault | None:
    name = misfit.text.partition("=")[0]
    explained = _EXPLAINED.get(name.replace("_", "-"))
    if explained is not None:
        return Fault(
            "unknown-option", f"SGLang has no option {name}", misfit.span, None, True, name, why=_ENDS, help=explained
        )
    lead, blank, rest = misfit.text.partition(" ")
    if blank and lead in flags_by_name():
        return _joined(misfit, lead, rest)
    dashed = name.replace("_", "-")
    if dashed != name and dashed in flags_by_name():
        message = f"SGLang has no option {name}: its parser does not take underscores for dashes"
        return Fault("unknown-option", message, misfit.span, dashed, True, name, why=_ENDS)
    near = _SYNONYMS.get(dashed) or nearest_name(name, flags_by_name())
    return Fault(
        "unknown-option", f"SGLang has no option {_shown(name)}", misfit.span, near, misfit.certain, name, why=_ENDS
    )


def _of_options(line: ServerLine, version: str | None) -> Iterator[Fault]:
    last: dict[str, Option] = {}
    for option in line.options:
        flag = flags_by_name()[option.name]
        earlier = last.get(option.name)
        # What the command line says over the file of `--config` is meant so.
        is_of_file = earlier is not None and not earlier.spelled.startswith("-")
        if earlier is not None and not is_of_file and not flag.nargs and _differ(earlier, option):
            yield Fault(
                "shadowed", f"{earlier.spelled} {_shown(earlier.value or '')} has no effect: a later one wins".replace(
                    "  ", " "
                ), earlier.span, subject=option.name, related=((option.span, "this one wins"),),
            )  # fmt: skip
        last[option.name] = option
        if is_gone(flag, version):
            yield Fault(
                "removed", f"SGLang {version} has no option {option.spelled} any more", option.name_span,
                subject=option.spelled, why=_ENDS,
            )  # fmt: skip
        elif is_unborn(flag, version) and option.spelled.startswith("-"):
            yield Fault(
                "unknown-option", f"SGLang {version} has no option {option.spelled} yet", option.name_span,
                subject=option.spelled, why=_ENDS,
            )  # fmt: skip
    yield from _of_preferred(line)


def _differ(one: Option, other: Option) -> bool:
    same_place = one.name_span == other.name_span
    return not one.unknown and not other.unknown and one.data != other.data and not same_place


def _of_preferred(line: ServerLine) -> Iterator[Fault]:
    """`--preferred-sampling-params` lies under each request's own; the OpenAI routes send every one of these keys."""
    option = line.last("--preferred-sampling-params")
    if option is None or not isinstance(option.data, dict):
        return
    for key in ("stop", "stop_token_ids", "max_new_tokens", "stop_regex"):
        if key in option.data:
            yield Fault(
                "inert", f"{key} in --preferred-sampling-params does not reach the OpenAI routes", option.span,
                subject=key, why="Those routes put every one of these keys into the request themselves, None included; "
                "only /generate takes the preferred one.",
                help="put end ids into the model's generation_config.json; stops and caps into the requests",
            )  # fmt: skip
