"""SL11x and SL2xx on generation_config.json: which ids end generation, of which type, and for which engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding, Related, Severity
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, listing, repair
from servelint.engines.model_files import plain_ids, read_model_files, tokenizer_end
from servelint.engines.reading import StopSet
from servelint.manifests.model_folder import CONFIG, ENGINES, GENERATION_CONFIG, ModelFolder
from servelint.manifests.serving import Setting
from servelint.models.families import (
    id_beside,
    official_generation_config,
    published_ends,
    tool_terminators,
)
from servelint.models.identity import Token
from servelint.records import replace
from servelint.text import Span

_EOS = "eos_token_id"
_NEAR_EOS = frozenset({"eos_token_id", "eos_id", "eos_token", "stop_token_id", "eostoken_id", "eos_tokenid"})


def check_lost_ids(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL115: the file is read, and it names no end id at all."""
    if not _first(deployment) or not _readable(deployment) or _falls_back(deployment):
        return
    serving, setting = deployment.serving, _eos(deployment)
    if setting is not None and (setting.data != [] or _turn_with_ids(deployment)):
        # An empty list in a chat model's file is SL113's, which knows what belongs there.
        return
    folder: ModelFolder | None = serving.facts["folder"]
    root = serving.facts["file"].document.root
    if root is None or root.kind != "object":
        return
    why = "transformers and vLLM do not look into config.json once this file is there; "
    if folder is not None and plain_ids(folder.data(CONFIG).get(_EOS)):
        why += f"the {_EOS} {folder.data(CONFIG)[_EOS]} there is not used."
    else:
        why += "generation then ends at the length limit only, or at the tokenizer's own end token on vLLM and TGI."
    near = next((s.name for s in serving.settings if s.name.lower().replace("-", "_").rstrip("s") in _NEAR_EOS), None)
    help_text = f"{near} is no key of this file: write {_EOS}" if near else "name the ids that end this model's turns"
    ids = [token.id for token in deployment.identity.terminators if token.id is not None]
    fix, refusal = None, "the ids that belong here are not known; take them from the model's tokenizer"
    if ids and deployment.identity.certain and deployment.identity.generates_chat:
        answer = serving.writer.add(_EOS, [ids]) if setting is None else serving.writer.replace(setting, ids)
        fix, refusal_text = repair(f"add {_EOS} {ids}", answer)
        refusal = refusal_text or ""
    message = f"{GENERATION_CONFIG} has no {_EOS}" if setting is None else f"{_EOS} is an empty list"
    yield Finding(
        "SL115", "warning", serving.path, serving.span if setting is None else setting.span, message, why=why,
        help=help_text, fix=fix, no_fix=refusal or None,
    )  # fmt: skip


def check_id_types(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL116: something else than an id, or a list of ids."""
    setting = _eos(deployment)
    if not _first(deployment) or not _readable(deployment) or setting is None or _well_typed(setting.data):
        return
    serving = deployment.serving
    numbers = _plain_numbers(setting.data)
    fix, refusal = None, "which id is meant cannot be told from it"
    if numbers is not None:
        value = numbers if isinstance(setting.data, list) else numbers[:1]
        fix, refusal_text = repair("write the ids as whole numbers", serving.writer.replace(setting, value))
        refusal = refusal_text or ""
    elif setting.data is None and deployment.identity.generates_chat and deployment.identity.certain:
        ids = [token.id for token in deployment.identity.terminators if token.id is not None]
        if ids:
            fix, refusal_text = repair(f"write {ids}", serving.writer.replace(setting, ids))
            refusal = refusal_text or ""
    yield Finding(
        "SL116", "error", serving.path, setting.span,
        f"{_EOS} is {_shown(setting.data)}; a whole number or a list of whole numbers belongs here",
        why=_why_type(setting.data), help="write the token's id as a bare number", fix=fix, no_fix=refusal or None,
    )  # fmt: skip


def _well_typed(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, int) and not isinstance(item, bool) for item in items)


def _plain_numbers(value: Any) -> list[int] | None:
    numbers = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool) or item is None:
            return None
        if isinstance(item, int):
            numbers.append(item)
        elif (isinstance(item, float) and item.is_integer() and 0 <= item < 1e9) or (
            isinstance(item, str) and item.strip().isascii() and item.strip().isdigit() and len(item.strip()) < 10
        ):
            numbers.append(int(item))
        else:
            return None
    return numbers or None


def _shown(value: Any) -> str:
    import json

    try:
        return excerpt(json.dumps(value, ensure_ascii=False), 50)
    except (ValueError, RecursionError):
        # A number of thousands of digits, or lists within lists within lists.
        return "too long to be shown"


def _why_type(value: Any) -> str:
    if value is None:
        return "Nothing ends generation but the length limit: null is no end id, and config.json is not asked."
    if isinstance(value, bool):
        return "Python takes true for the id 1, which is some other token."
    if isinstance(value, str):
        return "vLLM takes a text apart into characters, transformers fails on it: no answer ends where it should."
    if isinstance(value, list) and any(isinstance(item, float) for item in value):
        return "vLLM happens to compare 151645.0 as equal to 151645; other readers refuse it or never stop."
    if isinstance(value, list):
        return "An id that is not a whole number never equals a token, so it ends nothing."
    return "vLLM fails on every request with a TypeError."


def check_turn_end(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL113: the id that ends this model's turns is not among those that the engines stop on."""
    serving, identity = deployment.serving, deployment.identity
    if not _first(deployment) or not _readable(deployment) or not identity.generates_chat:
        return
    if not _well_typed(_eos_data(deployment, [])):
        return
    setting = _eos(deployment)
    if setting is None and not _falls_back(deployment):
        # SL115 says that the file names no end at all.
        return
    turn = _turn_with_ids(deployment)
    sets = {engine: _stop_set(deployment, engine) for engine in ENGINES}
    if not turn or any(sets["transformers"].holds(token.text, token.id) is not False for token in turn):
        return
    token = turn[0]
    assert token.id is not None
    running = [engine for engine, stops in sets.items() if stops.holds(token.text, token.id) is False]
    stopping: dict[str, list[str]] = {}
    for engine, stops in sets.items():
        origin = next((stop.origin for stop in stops.ids if stop.value == token.id), None)
        if origin is not None:
            stopping.setdefault(origin, []).append(engine)
    why = f"By {identity.source}: {_named(running)} {'does' if len(running) == 1 else 'do'} not stop there, and the "
    why += "answer runs on into the user's next turn"
    for origin, engines in stopping.items():
        why += f"; {_named(engines)} {'does' if len(engines) == 1 else 'do'}, by {origin}"
    if setting is None:
        fix, refusal = repair(f"add {_EOS} {[token.id]}", serving.writer.add(_EOS, [[token.id]]))
    else:
        fix, refusal = repair(
            f"add {token.id} ({token.text})",
            serving.writer.add_id(setting, token.id, first=True),  # type: ignore[attr-defined]
        )
    message = f"{token.text} ({token.id}) ends this model's turns, and config.json names no end"
    if setting is not None:
        message = f"{token.text} ({token.id}) ends this model's turns and is not in {_EOS} {_shown(setting.data)}"
    severity: Severity = "error" if identity.certain else "warning"
    if set(plain_ids(official_generation_config(identity).get(_EOS))) == set(plain_ids(_eos_data(deployment))) != set():
        # Its publishers ship it so, and their own code passes the end of a turn by hand.
        severity = "note"
    yield Finding(
        "SL113", severity, serving.path,
        serving.span if setting is None else setting.span, message,
        why=f"{why}.", help=f"add {token.id}", fix=fix, no_fix=refusal,
    )  # fmt: skip


_TITLES = {"transformers": "transformers", "vllm": "vLLM", "sglang": "SGLang", "tgi": "TGI", "llama.cpp": "llama.cpp"}


def _named(engines: Sequence[str]) -> str:
    return listing([_TITLES[engine] for engine in engines])


def _stop_set(deployment: Deployment, engine: str) -> StopSet:
    """What ends generation where another engine loads the same folder."""
    serving, identity = deployment.serving, deployment.identity
    if engine == serving.engine:
        return deployment.reading.stop_set
    return read_model_files(replace(serving, engine=engine), identity).stop_set


def _falls_back(deployment: Deployment) -> bool:
    """Whether config.json decides, for there is no generation_config.json."""
    return deployment.serving.kind == "model-config"


def _turn_with_ids(deployment: Deployment) -> list[Token]:
    """The ends of a turn with their ids: by the tokenizer, the family, or the vocabulary that the file's ids are of."""
    folder: ModelFolder | None = deployment.serving.facts["folder"]
    known = folder.token_ids if folder is not None else {}
    found = []
    for token in deployment.identity.turn:
        number = known.get(token.text, token.id)
        if number is None and not known:
            number = id_beside(token.text, _ids_given(deployment))
        if number is not None:
            found.append(Token(token.text, number))
    return found


def _ids_given(deployment: Deployment) -> set[int]:
    """All special ids that the file names: they tell which vocabulary it is about."""
    names = ("eos_token_id", "bos_token_id", "pad_token_id")
    settings = [deployment.serving.last(name) for name in names]
    return {number for setting in settings if setting is not None for number in plain_ids(setting.data)}


def check_regenerated(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL115: a file made anew from config.json, with fewer ends than the model's authors publish."""
    serving, identity = deployment.serving, deployment.identity
    setting, mark = _eos(deployment), serving.last("_from_model_config")
    if not _first(deployment) or not _readable(deployment) or setting is None or mark is None or mark.data is not True:
        return
    published = plain_ids(published_ends(identity))
    ids = set(plain_ids(setting.data))
    lost = [number for number in published if number not in ids]
    turn = _turn_with_ids(deployment)
    if not lost or not ids or not ids < set(published) or not any(token.id in ids for token in turn):
        # Without the end of a turn SL113 says it.
        return
    texts = {token.id: token.text for token in identity.vocabulary}
    names = listing([f"{number} ({texts[number]})" if number in texts else str(number) for number in lost])
    fix, refusal = repair(f"add {names}", serving.writer.replace(setting, [*plain_ids(setting.data), *lost]))
    # Without the end of a document turns still end; without that of a call of a tool they do not.
    tools = {token.id for token in tool_terminators(replace(identity, role="instruct"))}
    yield Finding(
        "SL115", "warning" if tools & set(lost) else "note", serving.path, setting.span,
        f"this file was made anew from config.json (_from_model_config), and {names} was lost",
        why=f"The authors of {identity.family} publish {published}; what the lost ones end runs on here.",
        help=f"add {listing([str(number) for number in lost])}, or copy {GENERATION_CONFIG} from the original",
        fix=fix, no_fix=refusal,
    )  # fmt: skip


def check_disagreement(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL117: the files of a folder name different ends, so that it depends on the engine where an answer ends."""
    serving = deployment.serving
    folder: ModelFolder | None = serving.facts["folder"]
    setting = _eos(deployment)
    if not _first(deployment) or folder is None or setting is None or not _readable(deployment):
        return
    ids = set(plain_ids(setting.data))
    own = tokenizer_end(folder, deployment.identity)
    if not ids or own is None or own.value in ids or own.path is None:
        return
    if deployment.identity.turn:
        # Where one of them is this model's end of a turn, the other adds to it; where none is, SL113 says so.
        return
    yield Finding(
        "SL117", "warning", serving.path, setting.span,
        f"the tokenizer ends at {own.token} ({own.value}), which is not in {_EOS} {_shown(setting.data)}",
        why="transformers goes by this file alone, vLLM and SGLang by both, TGI by one of them: where an answer ends "
        "depends on who serves it.",
        help="name the same ends in all files", related=(Related(own.path, Span(0, 0), "the tokenizer's own end"),),
        no_fix="which of them the model was trained on cannot be told from the files",
    )  # fmt: skip


def check_missing_file(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL115: a chat model's folder without generation_config.json, so that config.json decides."""
    serving, identity = deployment.serving, deployment.identity
    if not _first(deployment) or not _falls_back(deployment) or not identity.generates_chat:
        return
    ids = set(plain_ids(_eos_data(deployment)))
    lost = [token for token in identity.document if token.id is not None and token.id not in ids]
    also = f", and {listing([f'{token.id} ({token.text})' for token in lost])} is lost" if lost else ""
    yield Finding(
        "SL115", "note", serving.path, serving.span,
        f"the folder has no {GENERATION_CONFIG}: the ends are those of config.json{also}",
        why="Quantisers, converters and merges forget to copy it; with it go the second end and the sampling values.",
        help=f"copy {GENERATION_CONFIG} from the model that this one was made of",
    )  # fmt: skip


def check_not_terminators(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL114: an id that is no terminator of this vocabulary, or lies outside of it."""
    serving, identity = deployment.serving, deployment.identity
    setting = _eos(deployment)
    if not _first(deployment) or not _readable(deployment) or setting is None:
        return
    folder: ModelFolder | None = serving.facts["folder"]
    size = folder.data(CONFIG).get("vocab_size") if folder is not None else None
    ends = {token.id for token in identity.terminators}
    texts = {token.id: token.text for token in identity.vocabulary}
    ids = plain_ids(setting.data)
    for value in dict.fromkeys(ids):
        if isinstance(size, int) and not isinstance(size, bool) and not 0 <= value < size:
            message = f"{value} is outside the vocabulary of {size} tokens"
        elif value < 0:
            message = f"{value} is no token id"
        elif (
            identity.family is None
            or not identity.certain
            or not ends
            or ends & set(ids)
            or None in ends
            or value in ends
        ):
            continue
        else:
            named = f" ({texts[value]})" if value in texts else ""
            message = f"{value}{named} ends nothing in {identity.family}"
        wanted = [token.id for token in identity.terminators if token.id is not None]
        fix, refusal = None, None
        if wanted and identity.certain:
            fix, refusal = repair(f"write {wanted}", serving.writer.replace(setting, wanted), "unsafe")
        yield Finding(
            "SL114", "error", serving.path, setting.span, message,
            why="The model never writes this token at the end of a turn, so generation goes on to the length limit.",
            help=f"the ends of {identity.family} are {listing([f'{t.id} ({t.text})' for t in identity.terminators])}"
            if identity.family
            else "take the id from the model's tokenizer",
            fix=fix, no_fix=refusal,
        )  # fmt: skip


def check_hidden_cap(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL203: a cap that every request inherits from the model's own file."""
    cap = deployment.reading.cap
    if not _first(deployment) or cap is None or cap.value < 1:
        return
    yield Finding(
        "SL203", "note", deployment.serving.path, cap.span or deployment.serving.span,
        f"max_new_tokens {excerpt(str(cap.value), 20)} is inherited by every server that loads this folder",
        why=(
            "vLLM up to 0.16 caps every request with it, later versions those that send no max_tokens; the base "
            "checkpoints of several families carry such a value and fine-tunes keep it."
        ),
        help="remove it from the folder if your clients send their own limit",
    )  # fmt: skip


def check_banned_ends(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL112: the end token is suppressed, or not allowed before the cap."""
    if not _first(deployment) or not _readable(deployment):
        return
    serving = deployment.serving
    ids = set(plain_ids(_eos_data(deployment)))
    suppressed = serving.last("suppress_tokens")
    banned = (
        ids & set(plain_ids(suppressed.data)) if suppressed is not None and isinstance(suppressed.data, list) else set()
    )
    if suppressed is not None and banned:
        yield Finding(
            "SL112", "error", serving.path, suppressed.span,
            f"suppress_tokens bans {listing([str(value) for value in sorted(banned)])}, which {_EOS} names as an end",
            why="The model can never write its end token, so every answer runs to the length limit.",
            help="take the id out of suppress_tokens",
        )  # fmt: skip
    least, most = serving.last("min_new_tokens"), serving.last("max_new_tokens")
    if least is None or most is None or not _is_count(least.data) or not _is_count(most.data) or least.data < most.data:
        return
    related = (Related(serving.path, most.span, f"the cap is {most.data}"),)
    yield Finding(
        "SL112", "error", serving.path, least.span,
        f"min_new_tokens {least.data} bans the end token up to the cap of {most.data}",
        why="Every answer gets exactly as long as the cap.", help="lower min_new_tokens", related=related,
    )  # fmt: skip


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def check_inert_stops(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL121: stop settings in this file that the servers throw away."""
    if not _first(deployment) or not _readable(deployment):
        return
    serving = deployment.serving
    for name in ("stop_strings", "stop", "stop_token_ids"):
        setting = serving.last(name)
        if setting is None or setting.data in (None, [], ""):
            continue
        if name == "stop_strings":
            why = "transformers uses it only when generate() is also given the tokenizer; vLLM and TGI never do."
        else:
            why = "No such field exists: transformers keeps it unused, vLLM and TGI drop it."
        yield Finding(
            "SL121", "warning", serving.path, setting.whole,
            f"{name} in this file stops nothing on a server that loads this folder", why=why,
            help=f"put the ids of these texts into {_EOS}, or send the stops with the request",
        )  # fmt: skip


def _first(deployment: Deployment) -> bool:
    # The file yields a serving for each engine; what is wrong with it is said once, and of a config.json that another
    # file stands in front of nothing.
    return deployment.serving.engine == "transformers" and not deployment.serving.facts.get("aside")


def _readable(deployment: Deployment) -> bool:
    return bool(deployment.serving.facts["file"].readable)


def _eos(deployment: Deployment) -> Setting | None:
    return deployment.serving.last(_EOS)


def _eos_data(deployment: Deployment, missing: Any = None) -> Any:
    setting = _eos(deployment)
    return setting.data if setting is not None else missing


CHECKS: tuple[Check, ...] = (
    check_lost_ids,
    check_id_types,
    check_missing_file,
    check_turn_end,
    check_regenerated,
    check_disagreement,
    check_not_terminators,
    check_hidden_cap,
    check_banned_ends,
    check_inert_stops,
)
