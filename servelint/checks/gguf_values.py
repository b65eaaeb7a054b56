"""SL11x on a GGUF: what llama.cpp will end at, by the file's own metadata."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import BytePatch, Finding, Fix
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt
from servelint.engines.llamacpp import end_id
from servelint.formats.gguf import Entry, patch
from servelint.manifests.gguf import Vocabulary
from servelint.text import Span

_HERE = Span(0, 0)
_NORMAL = 1


def check_readable(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL903: the head of the file cannot be read."""
    gguf = _vocabulary(deployment).gguf
    if gguf.fault is not None:
        yield Finding(
            "SL903", "error", deployment.serving.path, _HERE, f"byte {gguf.offset:,}: {gguf.fault}",
            why="llama.cpp, and all that is built on it, refuses to load the file.",
            help="fetch or convert it anew",
        )  # fmt: skip


def check_end_id(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL114 and SL116: the end id is missing, impossible, of a type that is refused, or an ordinary token."""
    vocabulary, path = _vocabulary(deployment), deployment.serving.path
    if vocabulary.gguf.fault is not None:
        return
    entry = vocabulary.entry("eos")
    if entry is not None and entry.sort != "u32":
        yield Finding(
            "SL116", "error", path, _HERE,
            f"{entry.key} is of type {entry.sort} ({excerpt(str(entry.value), 40)}); llama.cpp takes nothing but u32",
            why="The model is refused when it is loaded: wrong type, expected u32.",
            help=_command(deployment), no_fix="a value of another type needs the file to be written anew",
        )  # fmt: skip
        return
    number, _ = end_id(vocabulary)
    if number is None:
        return
    if not _is_ordinary(vocabulary, number) or any(token.id == number for token in deployment.identity.terminators):
        return
    token = f"{number} ({excerpt(vocabulary.text(number) or '', 30)!r})"
    fix = _patched(deployment, entry)
    if entry is not None and entry.value == number:
        yield Finding(
            "SL114", "error", path, _HERE, f"{entry.key} is {token}, an ordinary token",
            why="Every answer is cut where the model writes it for the first time.",
            help=_command(deployment), fix=fix, no_fix=None if fix else "which token was meant cannot be told for sure",
        )  # fmt: skip
        return
    said = "has no end id"
    if entry is not None:
        said = f"has an end id ({entry.value}) beyond its {vocabulary.size:,} tokens"
    yield Finding(
        "SL114", "error", path, _HERE, f"the file {said}, so llama.cpp ends at its default, token {token}",
        why="Every answer is cut where the model writes that token for the first time.",
        help=_command(deployment), fix=fix,
        no_fix=None if fix else "a key that is missing needs the file to be written anew",
    )  # fmt: skip


def _patched(deployment: Deployment, entry: Entry | None) -> Fix | None:
    """The end of a turn in the place of an id that ends nothing: the same four bytes, and nothing moves."""
    turn = next((token for token in deployment.identity.turn if token.id is not None), None)
    if entry is None or turn is None or turn.id is None or not deployment.identity.certain:
        return None
    little = _vocabulary(deployment).gguf.little
    old, new = patch(entry, entry.value, little), patch(entry, turn.id, little)
    if old is None or new is None:
        return None
    change = BytePatch(entry.start, old, new, entry.key, str(entry.value), str(turn.id))
    return Fix(f"set {entry.key} to {turn.id} ({turn.text})", "unsafe", (), change)


def _is_ordinary(vocabulary: Vocabulary, number: int) -> bool:
    """Whether a token is one of those that answers are made of."""
    text = vocabulary.text(number)
    return text is not None and vocabulary.sort(number) in (_NORMAL, None) and not text.startswith("<")


def check_turn_end(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL113: the token that ends this model's turns is none that llama.cpp ends at."""
    identity, path = deployment.identity, deployment.serving.path
    if _vocabulary(deployment).gguf.fault is not None or not identity.generates_chat:
        return
    stops = deployment.reading.stop_set
    if not identity.turn or any(stops.holds(token.text, token.id) is not False for token in identity.turn):
        return
    token = identity.turn[0]
    yield Finding(
        "SL113", "error" if identity.certain else "warning", path, _HERE,
        f"{token.text} ({token.id}) ends this model's turns, and nothing in the file makes llama.cpp end there",
        why=f"By {identity.source}: it is neither the end id nor one of the texts that llama.cpp knows as ends.",
        help=_command(deployment), no_fix="a second end needs the file to be written anew",
    )  # fmt: skip


def check_template(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL302, SL303 and SL306 on the chat template inside."""
    vocabulary, path = _vocabulary(deployment), deployment.serving.path
    identity = deployment.identity
    if vocabulary.gguf.fault is not None:
        return
    if vocabulary.template is None:
        if identity.generates_chat:
            yield Finding(
                "SL303", "note", path, _HERE, "there is no chat template in this file",
                why="llama.cpp then renders chats in ChatML, whatever the model was trained on.",
                help="write one into it: gguf-new-metadata --chat-template-file",
            )  # fmt: skip
        return
    if identity.role not in ("unknown", "instruct", "reasoning"):
        return
    from servelint.checks.rendered_prompts import faults_of_prompt
    from servelint.models.chat_template import understand

    entry = vocabulary.entry("eos")
    ending = vocabulary.text(entry.value) if entry is not None and isinstance(entry.value, int) else None
    chat = understand(vocabulary.template, {"eos_token": ending} if ending else {})
    yield from faults_of_prompt(chat, path, _HERE, identity)


def check_banned(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL112: the end of a turn is among the tokens that are never sampled."""
    vocabulary = _vocabulary(deployment)
    entry = vocabulary.gguf.get("tokenizer.ggml.suppress_tokens")
    if entry is None or entry.sort != "array" or entry.element not in ("i32", "u32"):
        return
    for token in deployment.identity.turn:
        if token.id is not None and token.id in entry.value:
            yield Finding(
                "SL112", "error", deployment.serving.path, _HERE,
                f"{entry.key} bans {token.id} ({token.text}), which ends this model's turns",
                why="llama.cpp never samples it, so every answer runs to the limit.",
                help="write the file anew without it", no_fix="an array needs the file to be written anew",
            )  # fmt: skip


def _command(deployment: Deployment) -> str:
    """What mends the file: a copy with the right ids, for a value that cannot be changed in place."""
    path = deployment.serving.path
    turn = next((token for token in deployment.identity.turn if token.id is not None), None)
    number = str(turn.id) if turn is not None else "ID"
    copy = path[: -len(".gguf")] + ".mended.gguf" if path.lower().endswith(".gguf") else path + ".mended"
    return f"gguf-new-metadata {shlex.quote(path)} {shlex.quote(copy)} --special-token-by-id eos {number}"


def _vocabulary(deployment: Deployment) -> Vocabulary:
    vocabulary: Vocabulary = deployment.serving.facts["vocabulary"]
    return vocabulary


CHECKS: tuple[Check, ...] = (check_readable, check_end_id, check_turn_end, check_template, check_banned)
