"""SL6, as far as a folder shows it: was the model taught to stop?"""

from __future__ import annotations

import os.path
from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.manifests.model_folder import TOKENIZER_CONFIG, FolderFile, ModelFolder

# What trainers leave in the folder of what they have trained.
_TRACES = frozenset(
    {"training_args.bin", "trainer_state.json", "trainer_log.jsonl", "train_results.json", "all_results.json"}
)


def check_padding(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL602: a folder that was trained here pads with the token that ends a turn."""
    serving = deployment.serving
    folder: ModelFolder = serving.facts["folder"]
    file: FolderFile | None = serving.facts.get("file")
    if file is None or os.path.basename(serving.path) != TOKENIZER_CONFIG or not _TRACES & set(folder.names()):  # noqa: PTH119
        return
    pad = folder.special_tokens.get("pad_token")
    if pad is None or all(token.text != pad for token in deployment.identity.turn):
        return
    yield Finding(
        "SL602", "warning", serving.path, file.span_of("pad_token") or serving.span,
        f"{pad} ends this model's turns, and the model was trained with it as padding",
        why="Trainers that mask padding mask the end of every turn with it: the model is never taught to stop. At "
        "inference the same padding is harmless.",
        help="train with another padding token, or make sure that the collator masks by position",
        no_fix="the weights are trained already",
    )  # fmt: skip


CHECKS: tuple[Check, ...] = (check_padding,)
