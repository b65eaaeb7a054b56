"""The four questions about one model: who it is, where each engine stops, how its prompt ends, and what is wrong."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from servelint.report.printing import paint, printable

if TYPE_CHECKING:
    from servelint.checks.deployment import Deployment
    from servelint.models.chat_template import ChatTemplate
    from servelint.report import Style
    from servelint.report.collect import Entry

_VERDICTS = {"stops": ("stops", "good"), "runs-away": ("runs away", "error"), "unknown": ("unknown", "warning")}
_SHOWN = 60


def diagnosis(path: str, deployments: Sequence[Deployment], entries: Sequence[Entry]) -> dict[str, Any]:
    """The answers as data; `deployments` are those of the folder or the file, `entries` all that is wrong with it."""
    identity = deployments[0].identity if deployments else None
    return {
        "version": 1,
        "path": path,
        "model": {
            "name": next((d.serving.model.value for d in deployments if d.serving.model is not None), None),
            "family": identity.family if identity is not None else None,
            "role": identity.role if identity is not None else "unknown",
            "known_by": (identity.source or None) if identity is not None else None,
            "turn_end": [_token(token.text, token.id) for token in identity.turn] if identity is not None else [],
        },
        "engines": [_engine(deployment) for deployment in deployments],
        "prompt": _prompt(deployments),
        "findings": [
            {
                "rule": entry.finding.rule,
                "severity": entry.finding.severity,
                "path": entry.finding.path,
                "line": entry.place.line,
                "message": entry.finding.message,
                "help": entry.finding.help,
                "mend": _command(entry),
            }
            for entry in entries
        ],
    }


def _token(text: str | None, number: int | None) -> dict[str, Any]:
    return {"text": text, "id": number}


def _engine(deployment: Deployment) -> dict[str, Any]:
    stops = deployment.reading.stop_set
    return {
        "engine": deployment.serving.engine,
        "verdict": deployment.verdict,
        "ids": [{"value": stop.value, "token": stop.token, "from": stop.origin} for stop in stops.ids],
        "tokens": list(stops.tokens),
        "unknown": list(stops.unknown),
    }


def _prompt(deployments: Sequence[Deployment]) -> dict[str, Any]:
    from servelint.models.chat_template import leaves_turns_open, missing_header, understand

    found = _template(deployments)
    empty = {"template": None, "tail": None, "ends_in_header": None, "closes_turns": None, "trouble": None}
    if found is None:
        return empty
    text, place, tokens = found
    ends = {token.text for token in deployments[0].identity.terminators}
    chat: ChatTemplate = understand(text, tokens)
    trouble = chat.fault.message if chat.fault is not None else chat.unknown or chat.failure
    return {
        "template": place,
        "tail": chat.tail,
        "ends_in_header": None if chat.tail is None else missing_header(chat) is None,
        "closes_turns": None if chat.between is None else not leaves_turns_open(chat, ends),
        "trouble": trouble,
    }


def _template(deployments: Sequence[Deployment]) -> tuple[str, str, dict[str, str]] | None:
    """The chat template, the file it is from, and the special tokens that it writes."""
    for deployment in deployments:
        folder, vocabulary = deployment.serving.facts.get("folder"), deployment.serving.facts.get("vocabulary")
        if folder is not None and folder.template is not None:
            return folder.template.text, folder.template.path, folder.special_tokens
        if vocabulary is not None and vocabulary.template is not None:
            return vocabulary.template, deployment.serving.path, {}
    return None


def _command(entry: Entry) -> str | None:
    """The command that mends it, where servelint can."""
    fix, path = entry.finding.fix, shlex.quote(entry.finding.path)
    if fix is None:
        return None
    return f"servelint fix {path}" if fix.safety == "safe" else f"servelint fix --unsafe-fixes {path}"


def render_json(document: dict[str, Any]) -> Iterator[str]:
    """The diagnosis as one JSON document."""
    yield json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def render_text(document: dict[str, Any], style: Style) -> Iterator[str]:
    """The diagnosis as a page."""
    yield paint(printable(document["path"]), "bold", style) + "\n\n"
    yield from _section("1. Who is it?", _who(document["model"]), style)
    yield from _section("2. Where does it stop?", _where(document["engines"], style), style)
    yield from _section("3. Does its prompt end in the assistant's header?", _how(document["prompt"]), style)
    yield from _section("4. What is wrong, and what mends it?", _wrong(document["findings"], style), style)


def _section(title: str, lines: Iterator[str], style: Style) -> Iterator[str]:
    yield paint(title, "bold", style) + "\n"
    for line in lines:
        yield f"   {line}\n"
    yield "\n"


def _who(model: dict[str, Any]) -> Iterator[str]:
    roles = {
        "instruct": "an instruct model: it answers in turns",
        "reasoning": "a reasoning model: it thinks, then answers in turns",
        "base": "a base model: it goes on with texts and was not taught to end a turn",
        "unknown": "whether instruct or base is not known",
    }
    role = roles.get(model["role"], f"{model['role']} model: it does not chat")
    yield f"{model['family'] or 'a model of no known family'}, {role}"
    if model["name"]:
        yield f"it calls itself {printable(model['name'])}"
    if model["known_by"]:
        yield f"known by {printable(model['known_by'])}"
    for token in model["turn_end"]:
        number = f" ({token['id']})" if token["id"] is not None else ""
        yield f"its turns end with {printable(token['text'])}{number}"


def _where(engines: list[dict[str, Any]], style: Style) -> Iterator[str]:
    if not engines:
        yield "nothing here says so: there is no generation_config.json, no config.json of a model that writes, no GGUF"
    width = max((len(engine["engine"]) for engine in engines), default=0)
    for engine in engines:
        word, color = _VERDICTS[engine["verdict"]]
        ids = [f"{stop['value']} {printable(stop['token'] or '')}".strip() for stop in engine["ids"]]
        listed = ", ".join([*ids, *(printable(token) for token in engine["tokens"])]) or "at nothing"
        yield f"{engine['engine']:<{width}}  {paint(f'{word:<9}', color, style)}  {listed}"
        sources = dict.fromkeys(stop["from"] for stop in engine["ids"])
        if sources:
            yield f"{'':<{width}}  {'':<9}  from {', '.join(sources)}"
        for reason in engine["unknown"]:
            yield f"{'':<{width}}  {'':<9}  not known: {printable(reason)}"


def _how(prompt: dict[str, Any]) -> Iterator[str]:
    if prompt["template"] is None:
        yield "there is no chat template here"
        return
    yield f"the template is in {printable(prompt['template'])}"
    if prompt["trouble"]:
        yield f"it cannot be rendered as it should be: {printable(prompt['trouble'])}"
    if prompt["tail"] is not None:
        tail = prompt["tail"][-_SHOWN:]
        answer = "yes" if prompt["ends_in_header"] else "no"
        yield f"{answer}: rendered, the prompt ends in {printable(json.dumps(tail, ensure_ascii=False))}"
    if prompt["closes_turns"] is not None:
        yield "earlier answers are closed" if prompt["closes_turns"] else "earlier answers are left open"


def _wrong(findings: list[dict[str, Any]], style: Style) -> Iterator[str]:
    if not findings:
        yield "nothing that was found"
    for finding in findings:
        place = f"{finding['path']}:{finding['line']}" if finding["line"] else finding["path"]
        severity = paint(finding["severity"], finding["severity"], style)
        yield f"{severity} {finding['rule']} {printable(finding['message'])}"
        yield f"  at {printable(place)}"
        if finding["mend"]:
            yield f"  mend it: {printable(finding['mend'])}"
        elif finding["help"]:
            yield f"  what to do: {printable(finding['help'])}"
