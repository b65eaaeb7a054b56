"""SL3: does the model know whose turn it is?"""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.manifests.serving import Serving
from servelint.text import Span


def check_base_as_chat(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL301: a base checkpoint behind a chat route or a chat template."""
    identity, serving = deployment.identity, deployment.serving
    if identity.role != "base" or deployment.reading.serves_chat is not True:
        return
    place = serving.model
    yield Finding(
        "SL301", "warning" if identity.certain else "note", serving.path,
        place.whole if place and place.path is None else serving.span,
        f"{_name(deployment)} is a base model, and it is served for chat",
        why=(
            "A base model was not trained to end a turn; its own end token closes documents, so it answers and then "
            "plays both sides."
        ),
        help="serve the instruction-tuned checkpoint, or use the completions route with a stop of your own",
        no_fix="which model to serve is yours to say",
    )  # fmt: skip


def _name(deployment: Deployment) -> str:
    model = deployment.serving.model
    return model.value if model is not None and model.value else str(deployment.identity.family)


def check_missing_template(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL303 on a Modelfile: an import by path of a chat model, with no TEMPLATE."""
    serving, identity = deployment.serving, deployment.identity
    if serving.facts.get("source") != "path" or identity.role not in ("unknown", "instruct", "reasoning"):
        return
    if serving.named("template") or serving.named("renderer"):
        return
    vocabulary = serving.facts.get("vocabulary")
    if vocabulary is not None and vocabulary.template is not None:
        return
    yield Finding(
        "SL303", "note", serving.path, serving.span,
        "an import by path brings no TEMPLATE, and none is given here",
        why=(
            "Ollama from 0.30 on renders the template inside the GGUF; older versions send the bare prompt, and the "
            "model does not know whose turn it is."
        ),
        help="write the model's TEMPLATE, or say REQUIRES 0.30.0 and make sure that the GGUF carries its chat template",
    )  # fmt: skip


def check_raw_prompt(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL305 on a Modelfile: the template is the bare prompt, and the model was trained on turns."""
    serving, identity = deployment.serving, deployment.identity
    template = serving.last("template")
    if serving.facts.get("source") != "path" or not identity.generates_chat or template is None:
        return
    # With a RENDERER the template is dead text: so official models are written.
    if serving.named("renderer") or "".join((template.value or "").split()) != "{{.Prompt}}":
        return
    yield Finding(
        "SL305", "warning", serving.path, template.whole,
        f"the bare prompt goes to a model that was trained on turns ({identity.source})",
        why="Without the header of an assistant's turn it continues the question, and comes to no end of a turn.",
        help="write the model's chat TEMPLATE, or leave TEMPLATE out so that the one in the GGUF is used",
        no_fix="the model's template has to be looked up",
    )  # fmt: skip


def check_template(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL302, SL306 and SL501 on a Modelfile's TEMPLATE, by what Ollama renders from it."""
    serving = deployment.serving
    setting = serving.last("template")
    if serving.engine != "ollama" or setting is None or not (setting.value or "").strip() or serving.named("renderer"):
        return
    from servelint.checks.rendered_prompts import faults_of_prompt
    from servelint.engines.ollama_template import understand
    from servelint.manifests.template import read_template

    text = setting.value or ""
    template = read_template(text)
    if template.problem is not None:
        yield Finding(
            "SL501", "error", serving.path, _within(serving, setting.span, text, template.problem.span),
            f"Ollama refuses this TEMPLATE: {template.problem.message}",
            why="The template is Go's text/template; `ollama create` ends with a template error.",
        )  # fmt: skip
        return
    chat = understand(template)
    if chat.failure is not None:
        yield Finding(
            "SL501", "error", serving.path, Span(setting.span.start, setting.span.start),
            f"every chat request fails on this TEMPLATE: {chat.failure}",
            why="Ollama creates the model, and answers each request with this error.",
        )  # fmt: skip
        return
    if deployment.identity.role not in ("unknown", "instruct", "reasoning"):
        return
    place = Span(setting.whole.start, setting.span.start)
    yield from faults_of_prompt(chat, serving.path, place, deployment.identity)


def check_given_template(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL302, SL304 and SL306 on the template that a launch line names."""
    given = deployment.reading.facts.get("chat_template")
    identity, path = deployment.identity, deployment.serving.path
    if given is None or identity.role not in ("unknown", "instruct", "reasoning"):
        return
    from servelint.checks.rendered_prompts import faults_of_prompt
    from servelint.models.chat_template import turn_end, understand
    from servelint.models.families import table

    text, option = given
    ends = {token.text for token in identity.terminators}
    chat = understand(text, {"eos_token": identity.turn[0].text} if identity.turn else {})
    if not chat.understood:
        return
    end = turn_end(chat, {*ends, *table()["tokens"]})
    if identity.turn and identity.certain and end not in ends:
        shown = f"ends turns with {end}" if end is not None else "ends turns with no token at all"
        yield Finding(
            "SL304", "warning", path, option.span,
            f"this chat template {shown}; {_name(deployment)} ends them with {identity.turn[0].text}",
            why="The model never saw such a conversation: it answers worse, and ends its turns by luck.",
            help="leave --chat-template out, so that the model's own is used",
            no_fix="a fine-tune may have been trained with this template",
        )  # fmt: skip
        return
    yield from faults_of_prompt(chat, path, option.span, identity)


def _within(serving: Serving, span: Span, text: str, inner: Span) -> Span:
    """A place of the template in its Modelfile; the whole value where it is not written there as it is."""
    start = serving.facts["document"].text.find(text, span.start, span.end)
    return span if start < 0 else Span(start + inner.start, start + max(inner.end, inner.start))


CHECKS: tuple[Check, ...] = (
    check_base_as_chat,
    check_missing_template,
    check_raw_prompt,
    check_template,
    check_given_template,
)
