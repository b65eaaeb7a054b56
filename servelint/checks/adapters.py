"""SL605: was an adapter able to learn the end of a turn?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.manifests.model_folder import FolderFile, ModelFolder
from servelint.models.names import identify

# The layers that hold a token's row.
_ROWS = frozenset({"embed_tokens", "lm_head", "wte", "embed_in", "embed_out", "word_embeddings", "output_layer"})


def check_adapter(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL605: an adapter on a base model, with a chat template whose end the frozen layers hold."""
    serving, identity = deployment.serving, deployment.identity
    folder: ModelFolder = serving.facts["folder"]
    file: FolderFile = serving.facts["file"]
    data = folder.data("adapter_config.json")
    base = data.get("base_model_name_or_path")
    if not isinstance(base, str) or folder.template is None or not identity.turn:
        return
    known = identify(base)
    end = identity.turn[0].text
    if known.role != "base" or not known.certain or any(token.text == end for token in known.document):
        return
    if _ROWS & _named(data) or data.get("trainable_token_indices"):
        return
    place = file.span_of("modules_to_save") or file.span_of("target_modules") or serving.span
    yield Finding(
        "SL605", "warning", serving.path, place,
        f"the adapter ends turns with {end} on the base model {base}, and leaves the layers that hold it frozen",
        why="A base model hardly ever saw that token, and its row can move in neither layer: the adapter learns the "
        "answers, and not to end them.",
        help="train embed_tokens and lm_head as well (modules_to_save), or start from the instruction-tuned model",
        no_fix="the weights are trained already",
    )  # fmt: skip


def _named(data: dict[str, Any]) -> set[str]:
    """The last parts of all names in `modules_to_save` and `target_modules`."""
    names: set[str] = set()
    for key in ("modules_to_save", "target_modules"):
        value = data.get(key)
        listed = value if isinstance(value, list) else [value]
        names.update(name.rpartition(".")[2] for name in listed if isinstance(name, str))
    return names


CHECKS: tuple[Check, ...] = (check_adapter,)
