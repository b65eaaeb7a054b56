"""SL302 and SL306: what the rendering of a conversation shows, whoever rendered it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from servelint.checks.finding import Finding
from servelint.checks.repairs import excerpt
from servelint.models.chat_template import (
    ChatTemplate,
    bent_header,
    leaves_turns_open,
    missing_header,
    variants_without_header,
)
from servelint.models.identity import Identity
from servelint.text import Span


def faults_of_prompt(
    chat: ChatTemplate, path: str, place: Span, identity: Identity, ends: Collection[str] = ()
) -> Iterator[Finding]:
    """What is wrong with a template, rendered for a model; the findings stand at `place`.

    `ends` are texts that end a turn here beside those that the identity knows.
    """
    header = missing_header(chat)
    if header:
        yield Finding(
            "SL302", "error" if identity.generates_chat else "warning", path, place,
            f"the prompt does not end in the assistant's header {excerpt(header)!r}",
            why="The model does not know that it is its turn: it goes on with the user's text, or opens turns of its "
            f"own. Rendered, the prompt ends in {excerpt((chat.tail or '')[-40:])!r}.",
            help="write the header at the end where add_generation_prompt is true",
            no_fix="where it belongs in the template is its author's to say",
        )  # fmt: skip
    for variant in variants_without_header(chat):
        yield Finding(
            "SL302", "warning", path, place,
            f"{variant} the prompt does not end in the assistant's header, though it does otherwise",
            why="Such requests alone go astray: the model does not know that it is its turn.",
            help="write the header at the end in every branch of the template",
            no_fix="where it belongs in the template is its author's to say",
        )  # fmt: skip
    bent = bent_header(chat)
    if bent:
        yield Finding(
            "SL302", "warning", path, place,
            f"the prompt ends in {excerpt((chat.tail or '')[-30:])!r} where the model expects {excerpt(bent)!r}",
            why="The model never saw a turn of its own begin like this.",
            help="end the template with the header exactly as it stands before earlier answers",
            no_fix="where it belongs in the template is its author's to say",
        )  # fmt: skip
    if leaves_turns_open(chat, {*ends, *(token.text for token in identity.terminators)}):
        yield Finding(
            "SL306", "warning", path, place,
            f"earlier answers are not closed: behind one comes {excerpt((chat.between or '')[:40])!r}",
            why="What the model reads in its own history it repeats: it learns in context to end no turn.",
            help="write the token that ends a turn behind the content of every assistant message",
            no_fix="which token ends a turn of this model is its author's to say",
        )  # fmt: skip
