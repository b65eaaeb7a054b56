"""SL3: does the model know whose turn it is?"""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy


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


CHECKS: tuple[Check, ...] = (check_base_as_chat, check_missing_template, check_raw_prompt)
