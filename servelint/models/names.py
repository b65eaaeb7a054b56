"""Reads a model's name: which family it is of, and in which role, as far as a name can tell.

A name is taken apart into parts: runs of letters, numbers, and sizes (`7b`, `8x7b`, `a3b`). The table of families is
looked up by runs of parts, so that `Qwen2.5-7B`, `qwen-2.5_7b` and `qwen2.5:7b` are the same to it. What is left over
is either packaging (a quantisation, a format, a date), a word that tells the role, or unknown; and with unknown words
beside it a name proves no more than the family.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from servelint.models.families import family, identity_of, table
from servelint.models.identity import UNKNOWN, Identity
from servelint.records import replace

# No name of a model is longer; a hostile one must not cost more than a real one.
_LENGTH_LIMIT = 400
_DEPTH_LIMIT = 12
_LONGEST_KEY = 7


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INSTRUCT = _words(
    "instruct instruction instructions inst chat it sft dpo orpo kto simpo rlhf ppo abliterated uncensored heretic"
)
_REASONING = _words("thinking reasoning reasoner think")
_ROLE_WORDS = {
    "reranker": _words("reranker rerank reranking"),
    "embedding": _words(
        "embedding embeddings embed embedder retriever colqwen colpali colbert gte bge minilm simcse stella"
    ),
    "reward": _words("reward rm prm orm worldpm rewardmodel"),
    "classifier": _words("classifier classification guard llamaguard moderation"),
    "speech": _words("asr tts whisper vocoder"),
}
_WITHOUT_CHAT = ("embedding", "reranker", "reward", "classifier", "speech")
# Parts that say how the weights are packed, who packed them, or which release it is.
_PACKAGING = _words(
    """
    gguf ggml awq gptq gptqmodel fp bf int nf nvfp mxfp bnb bitsandbytes bit bits mlx exl bpw hqq quanto aqlm vptq
    marlin apex autoround autoawq torchao hf ud imatrix imat iq tq xs xxs xl nl ps quant quants quantized quantised
    quantization onnx ov openvino tensorrt trtllm trt neuron llamafile safetensors pytorch static dynamic mixed
    optimized converted fused latest main preview vision multimodal audio plus mini nano meta nvidia qwen google
    mistralai microsoft unsloth bartowski lmstudio community mradermacher thebloke maziyarpanahi redhatai neuralmagic
    cyankiwi ai of model models weights lite small medium large group act order desc sym moe
    npu cpu gpu cuda rocm qat kv per channel tensor block mnn mlc
    scout maverick air flash turbo nemo super ultra versatile exp terminus speciale
    """
)
# Folder and file names that say nothing of the model inside.
_GENERIC = _words(
    """
    model models ggml pytorch checkpoint checkpoints ckpt step epoch final best merged output outputs out weights
    snapshots snapshot refs blobs blob main tree resolve raw export exported hub cache latest current consolidated
    sha trained run adapter default
    """
)
# Packagers and vendors whose name alone is not a folder that says nothing.
_VENDORS = _words("qwen meta nvidia google mistralai microsoft nemo")
_EXTENSIONS = (".gguf", ".safetensors", ".ggml", ".bin", ".llamafile", ".onnx", ".pt", ".pth", ".nemo", ".task")
_PREFIXES = ("ollama_chat/", "ollama/", "hosted_vllm/", "huggingface/", "litellm_proxy/")


@cache
def _scanner() -> re.Pattern[str]:
    # A size first (an underscore is its decimal point only where no letter stands before: qwen2-1_5b, not qwen2_7b),
    # then letters, then a number with its decimals.
    return re.compile(
        r"\d+(?:\.\d+)?x\d+(?:\.\d+)?[bm](?![a-z\d])"
        r"|(?<![a-z\d])[ae]?\d+_\d+[bm](?![a-z\d])"
        r"|(?<![a-z])[ae]\d+(?:\.\d+)?b(?![a-z\d])"
        r"|\d+(?:\.\d+)?[bm](?![a-z\d])"
        r"|[a-z]+"
        r"|\d+(?:[._]\d+(?![a-z\d]))*"
    )


def parts_of(name: str) -> list[str]:
    """The parts of a name, lower-cased: `Qwen2.5-1_5B.Q4_K_M` is qwen, 2.5, 1.5b, q, 4, k, m."""
    return [part.replace("_", ".") for part in _scanner().findall(name[:_LENGTH_LIMIT].lower())]


def key_of(name: str) -> str:
    """The key that a name of the table is looked up by: its parts, joined by blanks; `.*` stays."""
    stem, star, _ = name.partition(".*")
    return " ".join(parts_of(stem)) + star


def _is_size(part: str) -> bool:
    return part[-1] in "bm" and len(part) > 1 and part[-2].isdigit()


def identify(name: str, *, ollama: bool | None = None) -> Identity:
    """Who a model of this name is; `UNKNOWN` where the name does not tell.

    Takes what manifests hold: ids of the Hugging Face hub, Ollama names with tags, GGUF files, folders, URLs and
    storage URIs, paths of the hub's cache. `ollama` says whether the name is one that Ollama resolves (a bare name or
    tag then means its library, where an unmarked model is an instruct model); None lets the name's own form decide.
    Never raises.
    """
    return _identify(name[: 8 * _LENGTH_LIMIT], ollama)


@lru_cache(maxsize=512)
def _identify(name: str, ollama: bool | None) -> Identity:
    reference, ollama = _without_scheme(name.strip().strip("\"'"), ollama)
    segments = [segment for segment in reference.split("/") if segment not in ("", ".", "..", "~")][-_DEPTH_LIMIT:]
    tail: list[str] = []
    for index in range(len(segments) - 1, -1, -1):
        segment = segments[index]
        if any(mark in segment for mark in "{}$<>*"):
            return UNKNOWN
        cached = segment.startswith("models--")
        if cached:
            segment = segment.rsplit("--", 1)[-1]
        if index == len(segments) - 1:
            segment, tag, by_ollama = _split_tag(segment, segments[:index], ollama)
            if by_ollama:
                return _of_ollama(segment, tag, library=ollama is True or index == 0)
            if tag:
                tail = parts_of(tag)
        stem = _without_extension(segment)
        parts = parts_of(stem)
        if "mmproj" in parts:
            return UNKNOWN
        if _is_hash(stem):
            continue
        if not cached and _is_generic(parts):
            tail = [part for part in parts if part not in _GENERIC] + tail
            continue
        is_file = stem != segment or index < len(segments) - 1
        local = is_file or len(segments) != 2
        # A bare name with a tag is a model that somebody made for Ollama, most often out of a chat model.
        return _of_parts(parts + tail, f"the name {segment}", local=local, tagged=bool(tail) and index == 0)
    return UNKNOWN


def _without_scheme(name: str, ollama: bool | None) -> tuple[str, bool | None]:
    """The path within a reference, and whether its scheme or host says that Ollama resolves it."""
    name = name.replace("\\", "/")
    scheme, separator, rest = name.partition("://")
    if separator and scheme.isalnum():
        if scheme.lower() == "ollama":
            return rest, True
        if scheme.lower() in ("hf", "huggingface"):
            # hf://owner/repo:revision and hf://owner/repo@revision: neither is a tag.
            owner, slash, repository = rest.partition("/")
            for mark in ":@":
                repository = repository.partition(mark)[0]
            return owner + slash + repository, False
        name = rest.partition("?")[0].partition("#")[0]
    lowered = name.lower()
    for host in ("registry.ollama.ai/library/", "ollama.com/library/", "registry.ollama.ai/", "ollama.com/"):
        if lowered.startswith(host):
            return name[len(host) :], True
    for host in ("hf.co/", "huggingface.co/", "www.huggingface.co/"):
        if lowered.startswith(host):
            return name[len(host) :], False
    for prefix in _PREFIXES:
        if lowered.startswith(prefix):
            return name[len(prefix) :], True if prefix.startswith("ollama") else ollama
    return name, ollama


def _split_tag(segment: str, before: Sequence[str], ollama: bool | None) -> tuple[str, str, bool]:
    """A last segment without its tag, the tag, and whether it is a model of Ollama's library or a copy of one."""
    head, colon, tag = segment.partition(":")
    if ollama is False or _without_extension(segment) != segment:
        return head, "" if _is_revision(tag) else tag, False
    known = head.lower() in table()["ollama"]
    if known and (ollama or colon or not before or (len(before) == 1 and head.islower())):
        return head, tag, True
    return head, tag, False


def _is_revision(tag: str) -> bool:
    return tag in ("main", "latest") or _is_hash(tag)


def _without_extension(name: str) -> str:
    lowered = name.lower()
    for extension in _EXTENSIONS:
        if lowered.endswith(extension):
            return name[: -len(extension)]
    return name


def _is_hash(stem: str) -> bool:
    lowered = stem.lower().removeprefix("sha256-").removeprefix("sha256:")
    return len(lowered) >= 7 and not lowered.isalpha() and all(character in "0123456789abcdef" for character in lowered)


def _is_generic(parts: Sequence[str]) -> bool:
    """Whether a name says nothing of the model's family: `ggml-model-q4_0`, `checkpoint-500`, `8b-instruct`."""
    if not _VENDORS.isdisjoint(parts):
        return False
    return all(_is_neutral(part) or part in _GENERIC or part in _INSTRUCT or part == "base" for part in parts)


def _is_neutral(part: str) -> bool:
    return part in _PACKAGING or len(part) == 1 or not part[0].isalpha() or _is_size(part)


def _matches(parts: Sequence[str]) -> Iterator[tuple[int, int, list[list[Any]]]]:
    """Where keys of the table stand, the longest at each place, from left to right: start, end, entries."""
    names = table()["names"]
    start = 0
    while start < len(parts):
        for end in range(min(len(parts), start + _LONGEST_KEY), start, -1):
            key = " ".join(parts[start:end])
            entries = names.get(key)
            if entries is None and "." in parts[end - 1]:
                entries = names.get(key[: len(key) - len(parts[end - 1])] + parts[end - 1].partition(".")[0] + ".*")
            if entries is not None:
                yield start, end, entries
                start = end
                break
        else:
            start += 1


def _choose(entries: Sequence[list[Any]], parts: Sequence[str], end: int, single: bool) -> list[Any] | None:
    """The most demanding entry of a key whose demands the name meets."""
    present = set(parts)
    for entry in entries:
        _, words, sizes, _, _ = entry
        if words and not all(word in present for word in words):
            continue
        if sizes:
            # A single word such as `gemma` is a family of its own only with its size right behind it.
            found = parts[end : end + 1] if single else [part for part in parts if _is_size(part)]
            if not any(size in sizes for size in found):
                continue
        return entry
    return None


def _find(parts: Sequence[str]) -> tuple[list[Any] | None, set[int], str | None]:
    """The family entry of a name, the places of the parts that it accounts for, and the base family of a fine-tune."""
    first: tuple[list[Any], set[int]] | None = None
    for start, end, entries in _matches(parts):
        if not entries:
            return None, set(), None
        entry = _choose(entries, parts, end, end - start == 1)
        if entry is None:
            continue
        covered = set(range(start, end))
        if entry[1]:
            covered |= {index for index, part in enumerate(parts) if part in entry[1]}
        if entry[0] == "chatml-finetune":
            # However it is written, the fine-tune's own turns end the way it was taught, not as those of its base do.
            base, base_covered = _base_of(parts, start)
            return entry, covered | base_covered, base
        if first is None:
            first = (entry, covered)
    if first is None:
        return None, set(), None
    return first[0], first[1], None


def _base_of(parts: Sequence[str], own: int) -> tuple[str | None, set[int]]:
    """The first other family that a fine-tune's name tells, and the places of all such."""
    base: str | None = None
    covered: set[int] = set()
    for start, end, entries in _matches(parts):
        entry = _choose(entries, parts, end, end - start == 1)
        if entry is None or start == own:
            continue
        covered |= set(range(start, end))
        if base is None and entry[0] != "chatml-finetune":
            base = entry[0]
    return base, covered


def _role_word(parts: Sequence[str], covered: set[int]) -> str | None:
    """The role of a model that does not chat, by a word outside the family's own name."""
    if parts[:2] == ["e", "5"] or (parts[:1] == ["multilingual"] and parts[1:3] == ["e", "5"]):
        return "embedding"
    for role, words in _ROLE_WORDS.items():
        if any(part in words and index not in covered for index, part in enumerate(parts)):
            return role
    return None


def _marked_role(parts: Sequence[str], base_words: Sequence[str]) -> tuple[str | None, set[int]]:
    """The role that the last marker of a name gives, and where all its markers stand."""
    role: str | None = None
    places: set[int] = set()
    for index, part in enumerate(parts):
        if part == "base" or part in base_words:
            marked = "base"
        elif part in _REASONING:
            marked = "reasoning"
        elif part in _INSTRUCT:
            # `Thinking-Instruct` and the like are not heard of; `Base-SFT` is.
            marked = role if role == "reasoning" else "instruct"
        else:
            continue
        role = marked
        places.add(index)
    return role, places


def _of_parts(parts: list[str], source: str, *, local: bool, tagged: bool = False) -> Identity:
    entry, covered, base = _find(parts)
    special = _role_word(parts, covered)
    if entry is None:
        return replace(UNKNOWN, role=special, source=source) if special else UNKNOWN
    name: str = entry[0]
    named_role: str | None = entry[3]
    known = family(name)
    assert known is not None
    if base is not None and (family(base) or {}).get("chat_template") == "chatml":
        # A ChatML fine-tune of a family that speaks ChatML itself keeps that family's ids.
        name, named_role = str(base), "instruct"
        known = family(name) or known
    marked, places = _marked_role(parts, known.get("base_words", ()))
    neutral = known.get("neutral_words", ())
    unknown = [
        part
        for index, part in enumerate(parts)
        if index not in covered and index not in places and not _is_neutral(part) and part not in neutral
    ]
    if entry[4] and unknown:
        return UNKNOWN
    size = next((part for part in parts if _is_size(part)), None)
    certain = not unknown
    role: str
    if named_role is not None and named_role in _WITHOUT_CHAT:
        role = named_role
    elif special is not None:
        role, certain = special, True
    elif marked is not None and not (marked == "base" and unknown):
        role = marked
    elif entry[0] == "chatml-finetune":
        role = "instruct"
    elif unknown or marked is not None:
        role = "unknown"
    else:
        role = named_role or known["unmarked"]
        if role == "base":
            # `llama3` alone is as often the chat model; only with its size is it the name of the base model, and a
            # file that somebody named by hand may have lost its marker.
            sized = size is not None or named_role == "base"
            role, certain = ("base", not local) if sized and not tagged else ("unknown", False)
    if role == "instruct" and named_role == "reasoning":
        role = "reasoning"
    return identity_of(name, role, source=source, certain=certain, size=size)


def _of_ollama(head: str, tag: str, *, library: bool) -> Identity:
    """A model of Ollama's library, or a copy of it in somebody's namespace."""
    source = f"the name {head}:{tag}" if tag else f"the name {head}"
    own = parts_of(head)
    parts = own + parts_of(tag)
    name: str = table()["ollama"][head.lower()]
    entry, covered, _ = _find(parts)
    named_role = None
    if entry is not None and (entry[1] or entry[2]) and not entry[4] and set(range(len(own))) <= covered | _sizes(own):
        name, named_role = entry[0], entry[3]
    elif entry is not None and entry[0] == name:
        named_role = entry[3]
    known = family(name)
    assert known is not None
    library_entry = known.get("ollama") or {}
    base_words = ("text", *known.get("base_words", ()), *library_entry.get("base_words", ()))
    marked, places = _marked_role(parts, base_words)
    special = _role_word(parts, covered)
    unknown = any(
        not _is_neutral(part) and index not in places and index not in covered
        for index, part in enumerate(parts)
        if index >= len(own)
    )
    size = next((part for part in parts if _is_size(part)), None)
    role = library_entry.get("unmarked") or named_role or known["unmarked"]
    if named_role is not None and named_role in _WITHOUT_CHAT:
        role = named_role
    elif special is not None:
        role = special
    elif marked == "base":
        role = "base"
    elif marked == "reasoning" or (marked is None and named_role == "reasoning"):
        role = "reasoning"
    elif marked == "instruct" and role != "reasoning":
        role = "instruct"
    return identity_of(name, role, source=source, certain=library and not unknown, size=size)


def _sizes(parts: Sequence[str]) -> set[int]:
    return {index for index, part in enumerate(parts) if _is_size(part)}
