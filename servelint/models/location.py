"""Where the files of a named model lie: in the repository, in the hub's local cache, or, when asked, on the hub.

Nothing is fetched unless the context says `online`.
"""

# Plain strings, as findings name files.
# ruff: noqa: PTH110, PTH111, PTH112, PTH118, PTH120
from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from servelint.files.context import Context
from servelint.manifests.model_folder import (
    ADDED_TOKENS,
    CHAT_TEMPLATE,
    CONFIG,
    GENERATION_CONFIG,
    SPECIAL_TOKENS_MAP,
    TOKENIZER_CONFIG,
    ModelFolder,
)

if TYPE_CHECKING:
    from servelint.manifests.gguf import Vocabulary

_HUB_NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
# The small files that say where a model ends; tokenizer.json and weights are not fetched.
_FILES = (CONFIG, GENERATION_CONFIG, TOKENIZER_CONFIG, SPECIAL_TOKENS_MAP, ADDED_TOKENS, CHAT_TEMPLATE)
_SECONDS = 10.0


def locate(manifest: str, model: str, revision: str | None, context: Context) -> ModelFolder | None:
    """The folder of a model that the manifest `manifest` names; None where it is not within reach."""
    local = _beside(manifest, model, context)
    if local is not None:
        return ModelFolder(local, context)
    name = model.removeprefix("hf://").strip("/")
    if not _HUB_NAME.fullmatch(name) or ".." in name:
        return None
    place = _cached(name, revision or "main")
    if place is None and context.online:
        place, trouble = _fetched(name, revision or "main")
        if trouble:
            context.note(f"{name}: {trouble}")
    if place is None:
        return None
    context.admit(_cache_of(name))
    return ModelFolder(place, context)


def _beside(manifest: str, model: str, context: Context) -> str | None:
    if not model or model.startswith(("/", "~")) or "://" in model or "\0" in model:
        return None
    first = model.partition("/")[0]
    for base in dict.fromkeys((os.path.dirname(manifest), "")):
        if not os.path.lexists(os.path.join(base, first)):
            # Most names are the hub's, and nothing of their owner's name lies here.
            continue
        place = os.path.normpath(os.path.join(base, model))
        if any(context.exists(os.path.join(place, name)) for name in (CONFIG, GENERATION_CONFIG)):
            return place
    return None


def gguf_beside(manifest: str, model: str, context: Context) -> Vocabulary | None:
    """The vocabulary of a GGUF that a manifest names by its path, where it lies within reach."""
    if model.startswith(("/", "~")) or "://" in model or "\0" in model:
        return None
    from servelint.manifests.gguf import read_vocabulary

    for base in dict.fromkeys((os.path.dirname(manifest), "")):
        found = read_vocabulary(os.path.normpath(os.path.join(base, model)), context)
        if found is not None:
            return found
    return None


def cache_folder(environment: Mapping[str, str] = os.environ) -> str:
    """Where huggingface_hub keeps what it has fetched (its `constants.py`, told without importing it)."""
    named = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE")
    if named:
        return os.path.expanduser(named)
    home = environment.get("HF_HOME") or os.path.join(
        environment.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "huggingface"
    )
    return os.path.join(os.path.expanduser(home), "hub")


def _cache_of(name: str) -> str:
    return os.path.join(cache_folder(), f"models--{name.replace('/', '--')}")


def _cached(name: str, revision: str) -> str | None:
    # Importing the hub's client costs more than checking a manifest: only where there is something to find.
    if not os.path.isdir(_cache_of(name)):
        return None
    from huggingface_hub import try_to_load_from_cache

    for file in (CONFIG, GENERATION_CONFIG, TOKENIZER_CONFIG):
        try:
            found = try_to_load_from_cache(name, file, cache_dir=cache_folder(), revision=revision)
        except ValueError:
            return None
        if isinstance(found, str):
            return os.path.dirname(found)
    return None


@cache
def _fetched(name: str, revision: str) -> tuple[str | None, str | None]:
    """The folder in the cache with the small files of one revision, or why there is none. Asks the hub once a run."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    try:
        # Asked first, for it alone has a timeout; one commit then holds for all the files.
        HfApi().model_info(name, revision=revision, timeout=_SECONDS)
        place = snapshot_download(
            name, revision=revision, cache_dir=cache_folder(), allow_patterns=list(_FILES), etag_timeout=_SECONDS
        )
    except Exception as error:  # whatever the network or the hub brings up: the run goes on without it
        return None, _told(error)
    if not any(os.path.exists(os.path.join(place, file)) for file in _FILES):
        return None, "the hub has none of the files that say where it ends"
    return place, None


def _told(error: Exception) -> str:
    """What went wrong, in one line of our own: messages of the client hold addresses, and headers may hold a token."""
    kind = type(error).__name__
    words = {
        "RepositoryNotFoundError": "the hub has no such model, or keeps it private",
        "GatedRepoError": "the hub shows this model only to those who accepted its terms",
        "RevisionNotFoundError": "the hub has no such revision of it",
        "LocalEntryNotFoundError": "the hub could not be reached",
        "OfflineModeIsEnabled": "HF_HUB_OFFLINE forbids to ask the hub",
    }
    if kind in words:
        return words[kind]
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"the hub answered {status}" if status else f"the hub could not be asked ({kind})"
