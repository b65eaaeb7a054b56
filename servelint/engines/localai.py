"""LocalAI: what ends generation for a model file, and what caps it.

Sources: mudler/LocalAI core/config/model_config.go, backend/cpp/llama-cpp/grpc-server.cpp (82c191af).
"""

from __future__ import annotations

from collections.abc import Iterator

from servelint.engines.reading import Cap, Fault, Reading, StopSet, StopText
from servelint.manifests.serving import Serving

# Backends that run llama.cpp, or one of its older wrappers; the others read a model folder of their own.
_LLAMA_BACKENDS = frozenset(
    {"llama", "llama-cpp", "llama-grpc", "llama-stable", "go-llama", "llama-cpp-fallback", "cuda12-llama-cpp", None}
)
_UNREAD = "the end ids inside the GGUF, and which of them this build of the backend knows"


def read_localai(serving: Serving) -> Reading:
    """The serving as LocalAI reads it: stop words are texts that every request carries, a client's are added."""
    texts = tuple(
        StopText(setting.value, "stopwords", setting.span) for setting in serving.named("stop") if setting.value
    )
    backend = serving.facts.get("backend")
    is_llama = backend in _LLAMA_BACKENDS or (backend or "").endswith("llama-cpp")
    # With the model's own template, llama.cpp's chat code ends a turn by itself.
    own = not is_llama or bool(serving.facts.get("uses_tokenizer_template"))
    unknown = _UNREAD if is_llama else f"what the backend {backend} takes from the model's files"
    return Reading(
        StopSet(texts, unknown=(unknown,)), (), _cap(serving), None, tuple(_faults(serving)), own, False,
        True if serving.named("template") or serving.facts.get("uses_tokenizer_template") else None,
        facts={"backend": backend},
    )  # fmt: skip


def _cap(serving: Serving) -> Cap | None:
    """`parameters.max_tokens`; 0, as none at all, means no cap."""
    setting = serving.last("max_tokens")
    if setting is None or not isinstance(setting.data, int) or isinstance(setting.data, bool) or setting.data <= 0:
        return None
    return Cap(setting.data, "parameters.max_tokens", setting.span)


def _faults(serving: Serving) -> Iterator[Fault]:
    ignored = serving.last("ignore_eos")
    if ignored is not None and ignored.data is True:
        yield Fault(
            "bans-end", "ignore_eos forbids every token that ends an answer", ignored.span, subject="ignore_eos",
            why="No answer ends by itself: each runs to the cap, or to the end of the context.", help="leave it out",
        )  # fmt: skip
    for setting in serving.named("stop"):
        if setting.value == "":
            yield Fault(
                "emptied", "this stop word is empty", setting.span, subject="stopwords",
                why="An empty stop is found at once: every answer is empty.", help="remove it",
            )  # fmt: skip
    for name, node, right in serving.facts.get("misplaced", ()):
        sort = "cap-name" if name == "max_tokens" else "unknown-option"
        yield Fault(
            sort, f"LocalAI does not look for {name} here", node.span, right, False, name,
            why="A key that it does not know is passed over in silence, and the default holds.",
            help=f"write it as {right}" + (" at the top of the file" if "." not in right else ""),
        )  # fmt: skip
