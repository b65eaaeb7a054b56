"""SL1: is what ends an assistant turn of this model among what stops generation here?"""

from __future__ import annotations

import json
from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding, Severity
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, listing, repair
from servelint.manifests.serving import Setting
from servelint.models.identity import Token
from servelint.text import Span


def missing_terminators(deployment: Deployment) -> list[Token]:
    """The turn terminators that are out of the stop set, or that nothing in sight puts in; none for a base model."""
    identity, stop_set = deployment.identity, deployment.reading.stop_set
    if not identity.generates_chat or not deployment.reading.generates:
        return []
    if any(stop_set.holds(token.text, token.id) for token in identity.turn):
        # Where a family lists several (Llama's <|eot_id|> and <|eom_id|>), the others end special turns only.
        return []
    return [token for token in identity.turn if not stop_set.holds(token.text, token.id)]


_BY_PATH = "an import by path inherits no stops."
_WITHOUT_STOPS = {"localai": "LocalAI adds no stop words of its own to those in the file."}


def meant_texts(deployment: Deployment) -> set[str]:
    """The stops as their author meant them: what another rule's repair makes of a misspelt or misquoted one.

    A terminator among them is not missing: its own line is at fault, and that is said there.
    """
    stops = _stops(deployment)
    if not stops:
        return set()
    from servelint.models.tokens import known_token, lookalike

    texts: set[str] = set()
    for text in _said_texts(deployment, stops):
        texts.add(text)
        candidates = () if known_token(text) else lookalike(text, deployment.identity)
        if len(candidates) == 1:
            texts.add(candidates[0].text)
    return texts


def _said_texts(deployment: Deployment, stops: tuple[Setting, ...]) -> Iterator[str]:
    """The stops without quotes that do not belong to them, and several in one text as several."""
    document = deployment.serving.facts.get("document")
    if deployment.serving.kind == "modelfile" and document is not None:
        from servelint.formats.modelfile import meant_stops

        for instruction in document.named("stop"):
            yield from meant_stops(instruction)
        return
    for setting in stops:
        if setting.value:
            yield setting.value
            yield setting.value.strip("'\"")
    for fault in deployment.reading.faults:
        if fault.sort == "list-in-one" and fault.suggestion:
            yield from json.loads(fault.suggestion)


def check_missing_terminator(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL101, and SL103 where only an unread file pins the terminator."""
    if policy.strict and _is_unpinned_guess(deployment):
        yield _unpinned(deployment, list(deployment.identity.turn))
        return
    meant = meant_texts(deployment)
    missing = [token for token in missing_terminators(deployment) if token.text not in meant]
    if not missing:
        return
    serving, identity, reading = deployment.serving, deployment.identity, deployment.reading
    if any(fault.sort == "bans-end" for fault in reading.faults):
        # What forbids every end is the fault, and is told as that.
        return
    stops = _stops(deployment)
    listed = bool(stops)
    names = listing([token.text for token in missing])
    if not listed and reading.reads_model_ids:
        if policy.strict:
            yield _unpinned(deployment, missing)
        return
    certain = reading.stop_set.complete or (listed and reading.stops_replace and reading.reads_model_ids)
    severity: Severity = "error" if certain and identity.certain else "warning"
    fix, refusal = repair(f"add {names}", serving.writer.add("stop", [token.text for token in missing]))
    if listed:
        shown = listing([excerpt(setting.value or "", 30) or '""' for setting in stops])
        message = f"{names} ends a turn of this model and is not among its stops ({shown})"
        why = _why_listed(deployment)
    else:
        message = f"nothing here stops this model at the end of its turn: {names} is not set"
        why = f"{_subject(deployment)} ends its turns with {names}; {_WITHOUT_STOPS.get(serving.engine, _BY_PATH)}"
    yield Finding(
        "SL101", severity, serving.path, stops[-1].whole if listed else serving.span, message,
        why=why, help=f"add {names} to the stops", fix=fix, no_fix=refusal,
    )  # fmt: skip


def _is_unpinned_guess(deployment: Deployment) -> bool:
    """Whether the family is known but not the role, no stop is listed, and files that were not read decide."""
    identity, reading = deployment.identity, deployment.reading
    if identity.role != "unknown" or not identity.turn or _stops(deployment) or not reading.generates:
        return False
    return reading.reads_model_ids and not any(reading.stop_set.holds(t.text, t.id) for t in identity.turn)


def _why_listed(deployment: Deployment) -> str:
    subject = _subject(deployment)
    if deployment.reading.stops_replace and deployment.reading.reads_model_ids:
        own = "One `PARAMETER stop` replaces" if deployment.serving.kind == "modelfile" else "Stops given here replace"
        return (
            f"{subject} writes it after every answer. {own} the whole inherited list, so "
            "without it the model goes on and writes the user's next turn too."
        )
    return f"{subject} writes it after every answer; without it the model goes on and writes the user's next turn too."


def _subject(deployment: Deployment) -> str:
    source = deployment.identity.source
    return f"This model (known by {source})" if source else "This model"


def _unpinned(deployment: Deployment, missing: list[Token]) -> Finding:
    serving = deployment.serving
    names = listing([token.text for token in missing])
    fix, refusal = repair(f"add {names}", serving.writer.add("stop", [token.text for token in missing]))
    unread = listing(list(deployment.reading.stop_set.unknown)) or "the model's own files"
    return Finding(
        "SL103", "warning", serving.path, serving.span,
        f"nothing in sight pins {names}; it stops only if files that were not read say so",
        why=f"Not known from here: {unread}.", help="pin the terminators in the manifest",
        fix=fix, no_fix=refusal,
    )  # fmt: skip


def check_missing_document_terminator(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL102: the second terminator, where the first is set by hand."""
    identity, serving = deployment.identity, deployment.serving
    stops = _stops(deployment)
    if not stops or not identity.generates_chat or deployment.reading.facts.get("texts_stripped"):
        # Where the text of a special token is never written, a second one helps no more than the first.
        return
    values = meant_texts(deployment)
    if not any(token.text in values for token in identity.turn):
        return
    missing = [token for token in identity.document if token.text not in values]
    if not missing:
        return
    names = listing([token.text for token in missing])
    fix, refusal = repair(f"add {names}", serving.writer.add("stop", [token.text for token in missing]))
    first = listing([token.text for token in identity.turn if token.text in values])
    yield Finding(
        "SL102", "warning" if policy.strict else "note", serving.path, stops[-1].whole,
        f"{first} is set, {names} is not",
        why="Quantised and fine-tuned models end some answers with it, and then run on into an invented user turn.",
        help=f"add {names} beside it", fix=fix, no_fix=refusal,
    )  # fmt: skip


def check_emptied_stops(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL104 on a Modelfile: a stop without text, in a list that replaces the model's own."""
    if deployment.serving.engine != "ollama":
        return
    for setting in _stops(deployment):
        if setting.value != "":
            continue
        yield Finding(
            "SL104", "error", deployment.serving.path, setting.whole,
            "this stop is empty: it names no text to stop at, yet it replaces every stop the model brings along",
            why=(
                "Ollama takes one `PARAMETER stop` as the whole list, so the inherited stops are gone; from 0.30 on an "
                "empty one also ends every answer before its first word."
            ),
            help="write the model's terminators, or remove the line to inherit them",
        )  # fmt: skip


def check_lookalikes(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL105: a misspelt special token, which can never match."""
    if not _stops(deployment):
        return
    from servelint.models.tokens import known_token, lookalike

    identity, serving = deployment.identity, deployment.serving
    values = {setting.value for setting in _stops(deployment)}
    for setting in _stops(deployment):
        if not setting.value or known_token(setting.value):
            continue
        candidates = lookalike(setting.value, identity)
        if not candidates:
            if _is_placeholder(setting.value):
                yield Finding(
                    "SL105", "warning", serving.path, setting.span,
                    f"{excerpt(setting.value)} is the name of a slot in a tokenizer's configuration, not a token",
                    why="Generation never produces this text, so the stop never matches.",
                    help="write the token that the model's tokenizer_config.json has in this slot",
                )  # fmt: skip
            continue
        names = listing([token.text for token in candidates])
        sole = candidates[0].text if len(candidates) == 1 else None
        fix, refusal = None, None
        if sole is None:
            refusal = f"it could stand for {names}"
        elif sole in values:
            refusal = f"{sole} is listed already; remove this line"
        else:
            safe = any(token.text == sole for token in identity.terminators)
            respell = getattr(serving.writer, "respell", serving.writer.replace)
            fix, refusal = repair(f"spell it {sole}", respell(setting, [sole]), "safe" if safe else "unsafe")
        yield Finding(
            "SL105", "error", serving.path, setting.span,
            f"{excerpt(setting.value)} is no token of any model; {names} was meant",
            why="A stop that differs from the token in one character never matches.",
            help=f"write {sole}" if sole else "write the token exactly as the model's tokenizer has it",
            fix=fix, no_fix=refusal,
        )  # fmt: skip


_SLOTS = frozenset({"eostoken", "eostokenid", "bostoken", "padtoken", "stoptoken", "endtoken", "eottoken", "stopword"})


def _is_placeholder(value: str) -> bool:
    return "".join(character for character in value.lower() if character.isalnum()) in _SLOTS


def check_foreign_tokens(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL106: a token of another family."""
    identity, serving = deployment.identity, deployment.serving
    if identity.family is None or not identity.vocabulary or not _stops(deployment):
        return
    from servelint.models.tokens import known_token

    own = {token.text for token in (*identity.vocabulary, *identity.terminators)}
    template = serving.last("template")
    written = template.value if template is not None and template.value else ""
    missing = bool(missing_terminators(deployment))
    for setting in _stops(deployment):
        value = setting.value
        if not value or value in own or value in written:
            continue
        families = known_token(value)
        if not families:
            continue
        shown = listing(sorted(families)[:3])
        yield Finding(
            "SL106", "warning" if missing else "note", serving.path, setting.span,
            f"{excerpt(value)} is a token of {shown}, not of {identity.family}",
            why="This model never writes it as a token; as text it would cut an answer that quotes it.",
            help="remove it if no prompt of yours makes the model write it",
        )  # fmt: skip


def check_ordinary_text(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL110: a stop that ordinary answers contain, or that fires inside the reasoning."""
    identity, serving = deployment.identity, deployment.serving
    for setting in _stops(deployment):
        value = setting.value
        if not value:
            continue
        if identity.thinking and value.strip() in ("</think>", "<think>"):
            yield Finding(
                "SL110", "warning", serving.path, setting.span,
                f"{value.strip()} stops this reasoning model before its answer",
                why="The model writes it around every chain of thought.", help="remove it from the stops",
            )  # fmt: skip
            continue
        if _is_ordinary(value):
            yield Finding(
                "SL110", "note", serving.path, setting.span,
                f"the stop {excerpt(value)!r} occurs in ordinary answers and cuts them there",
                why="A stop matches wherever the text appears, within words too.",
                help="stop on the token that ends the turn, not on a word",
            )  # fmt: skip


def _is_ordinary(value: str) -> bool:
    bare = value.strip()
    if not bare:
        return True
    if bare in ("```", ".", ",", ";", "-", "*", "#"):
        return True
    return bare.isalpha() and bare.isascii() and len(bare) < 20


def _stops(deployment: Deployment) -> tuple[Setting, ...]:
    stops: tuple[Setting, ...] = deployment.reading.facts.get("stops", ())
    return deployment.serving.named("stop") or stops


def span_of_stops(deployment: Deployment) -> Span:
    """Where the stops stand, or the deployment itself where there are none."""
    stops = _stops(deployment)
    return stops[-1].whole if stops else deployment.serving.span


def check_narrowed_ids(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL119 on vLLM: the folder of --generation-config lists fewer ends than the model's own file does."""
    option = deployment.reading.option("--generation-config")
    listed = {stop.value for stop in deployment.reading.stop_set.ids if stop.origin == "--generation-config"}
    if option is None or not listed or not deployment.identity.certain:
        return
    from servelint.engines.model_files import plain_ids
    from servelint.models.families import official_generation_config

    identity, serving = deployment.identity, deployment.serving
    published = plain_ids(official_generation_config(identity).get("eos_token_id"))
    missing = [value for value in dict.fromkeys(published) if value not in listed]
    if not missing or not identity.generates_chat:
        return
    texts = {token.id: token.text for token in (*identity.vocabulary, *identity.terminators)}
    names = listing([f"{value} ({texts[value]})" if value in texts else str(value) for value in missing])
    ends_turn = any(token.id in missing for token in identity.turn)
    yield Finding(
        "SL119", "warning" if ends_turn else "note", serving.path, option.span,
        f"this folder's eos_token_id takes the place of the model's own list, and lacks {names}",
        why="Of the model's own ends only the tokenizer's end token is left beside what the folder lists.",
        help=f"list {names} there too",
    )  # fmt: skip


CHECKS: tuple[Check, ...] = (
    check_missing_terminator,
    check_missing_document_terminator,
    check_emptied_stops,
    check_lookalikes,
    check_foreign_tokens,
    check_ordinary_text,
    check_narrowed_ids,
)
