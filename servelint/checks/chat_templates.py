"""SL3 on chat templates: what rendering one shows."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.rendered_prompts import faults_of_prompt
from servelint.checks.repairs import excerpt
from servelint.engines.model_files import plain_ids
from servelint.manifests.model_folder import CONFIG, GENERATION_CONFIG, TOKENIZER_CONFIG, ModelFolder, TemplateText
from servelint.models.chat_template import ChatTemplate, turn_end, understand
from servelint.models.families import table
from servelint.models.identity import Identity
from servelint.text import Span


def check_chat_template(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL302, SL304, SL306, SL309, SL501: the template that chat turns are rendered with."""
    folder: ModelFolder = deployment.serving.facts["folder"]
    template = folder.template
    if template is None or template.path != deployment.serving.path:
        return
    chat = understand(template.text, folder.special_tokens)
    yield from faults_of_template(template, chat, deployment.identity, _ends(folder))
    yield from _foreign_end(folder, template, chat)


def _ends(folder: ModelFolder) -> set[str]:
    """The texts of the ids that the folder's own files name as ends."""
    ids = {
        number for name in (GENERATION_CONFIG, CONFIG) for number in plain_ids(folder.data(name).get("eos_token_id"))
    }
    return {text for text, number in folder.token_ids.items() if number in ids}


def faults_of_template(
    template: TemplateText, chat: ChatTemplate, identity: Identity, ends: Collection[str]
) -> Iterator[Finding]:
    """What is wrong with the template of a folder; `ends` are the texts that its files name as ends."""
    place, path = _place(template), template.path
    if chat.fault is not None:
        yield Finding(
            "SL501", "error", path, _line(template, chat.fault.line),
            f"jinja2 cannot compile this chat template (line {chat.fault.line}): {excerpt(chat.fault.message, 160)}",
            why="Every chat request fails, or the server does not start.",
        )  # fmt: skip
        return
    yield from faults_of_prompt(chat, path, place, identity, ends)
    if any("\r" in (text or "") for text in (chat.tail, chat.header, chat.opening, chat.between)):
        yield Finding(
            "SL309", "warning", path, place, "carriage returns come out of this template, and go into every prompt",
            why="The model never saw them at these places in its training.",
            help=r"write \n in the template's texts, without \r",
        )  # fmt: skip


def _foreign_end(folder: ModelFolder, template: TemplateText, chat: ChatTemplate) -> Iterator[Finding]:
    """A token that ends turns in the template and is none to this tokenizer."""
    end = turn_end(chat, table()["tokens"])
    known = {*folder.token_ids, *folder.special_tokens.values()}
    if end is None or not folder.token_ids or end in known or turn_end(chat, known) is not None:
        return
    if folder.vocabulary_mentions(end):
        return
    yield Finding(
        "SL304", "warning", template.path, _place(template),
        f"the template ends turns with {end}, which is no token of this tokenizer",
        why="The model reads it as a handful of letters, never learnt to stop at them, and no id stands for them.",
        help="use the template that belongs to this model",
    )  # fmt: skip


def check_missing_template(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL303: a chat model's tokenizer without a chat template."""
    serving = deployment.serving
    folder: ModelFolder = serving.facts["folder"]
    if os.path.basename(serving.path) != TOKENIZER_CONFIG or folder.templates or not folder.has(CONFIG):  # noqa: PTH119
        return
    if not deployment.identity.generates_chat or not deployment.identity.certain:
        return
    yield Finding(
        "SL303", "note", serving.path, serving.span, "this chat model's tokenizer has no chat template",
        why="Servers refuse chat requests then (transformers 4.44 and later has no default), or render them in a "
        "language of their own choice.",
        help="copy chat_template from the model that this one was made of, or give the server one",
    )  # fmt: skip


def _place(template: TemplateText) -> Span:
    """Where the template begins: the whole of it would fill the screen."""
    return Span(template.span.start, min(template.span.end, template.span.start + 1))


def _line(template: TemplateText, number: int) -> Span:
    """A line of the template in its file."""
    start = 0
    for _ in range(number - 1):
        following = template.text.find("\n", start)
        if following < 0:
            break
        start = following + 1
    end = template.text.find("\n", start)
    inner = Span(start, len(template.text) if end < 0 else end)
    return inner if template.inner is None else template.inner.host_span(inner)


CHECKS: tuple[Check, ...] = (check_chat_template, check_missing_template)
