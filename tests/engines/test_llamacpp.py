"""What llama.cpp makes of a vocabulary, by its build."""

from __future__ import annotations

import pytest

from servelint.engines.llamacpp import ends_by_text, listed_ends, read_llamacpp
from servelint.formats.gguf import Entry, Gguf
from servelint.manifests.gguf import Vocabulary
from servelint.manifests.serving import NoWriter, Serving, Setting
from servelint.text import Span
from tests.conftest import SHARED

HERE = Span(0, 0)


class _Words:
    """A list of tokens as the reader gives it."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> str:
        return self.words[index]

    def find(self, text: str) -> int | None:
        return self.words.index(text) if text in self.words else None


def serving(build: str | None, *words: str, **ids: int) -> Serving:
    """A GGUF with these tokens and ids, served by a build."""
    entries = [Entry("tokenizer.ggml.model", "string", "gpt2", 0, 0)]
    entries += [Entry(f"tokenizer.ggml.{name}_token_id", "u32", value, 0, 0) for name, value in ids.items()]
    vocabulary = Vocabulary(Gguf(3, True, 0, tuple(entries)))
    vocabulary.__dict__["_tokens"] = _Words(*words)
    version = Setting("version", build, HERE, HERE, "image tag") if build is not None else None
    return Serving("m.gguf", HERE, "gguf", "llama.cpp", NoWriter(""), version, facts={"vocabulary": vocabulary})


@pytest.mark.parametrize(
    ("build", "tokens"),
    [(None, ("<|im_end|>", "<|endoftext|>")), ("b4719", ("<|im_end|>", "<|endoftext|>")), ("b3000", ())],
)
def test_the_list_of_texts_came_with_a_build(build: str | None, tokens: tuple[str, ...]) -> None:
    stops = read_llamacpp(serving(build, "a", "<|endoftext|>", "<|im_end|>", eos=1)).stop_set
    assert [stop.value for stop in stops.ids] == [1]
    assert stops.tokens == tokens


def test_a_missing_or_impossible_id_gives_the_default() -> None:
    for ids in ({}, {"eos": 99}):
        stops = read_llamacpp(serving(None, *(["w"] * 11), ",", **ids)).stop_set
        assert [(stop.value, stop.token) for stop in stops.ids] == [(11, ",")]


def test_further_ids_count() -> None:
    stops = read_llamacpp(serving(None, "a", "b", "c", eos=0, eot=1, eom=2)).stop_set
    assert [stop.value for stop in stops.ids] == [0, 1, 2]


@pytest.mark.parametrize(
    ("vocabulary", "out"),
    [({"<|end|>", "<|return|>", "<|call|>"}, "<|end|>"), ({"</s>", "<|tool_response>"}, "</s>")],
)
def test_some_are_taken_out_by_others(vocabulary: set[str], out: str) -> None:
    assert out in ends_by_text(())
    assert out not in ends_by_text(vocabulary)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder of recorded vectors beside the checkout")
def test_the_texts_are_those_of_the_source() -> None:
    import json

    facts = json.loads((SHARED / "facts" / "llamacpp-eog.json").read_text(encoding="utf-8"))
    assert list(ends_by_text(())) == [entry["text"] for entry in facts["texts"]]


@pytest.mark.parametrize(
    ("version", "tokens", "unknown"),
    [
        (None, ("<|im_end|>", "<|endoftext|>"), False),
        ("b4719", ("<|im_end|>", "<|endoftext|>"), False),
        ("b3818", ("<|im_end|>", "<|endoftext|>"), False),
        ("b3817", (), True),
        ("b2953", (), True),
        ("b2952", ("<|im_end|>",), False),
        ("b2714", ("<|im_end|>",), False),
        ("b2713", (), False),
    ],
)
def test_which_tokens_end_by_their_text_is_a_matter_of_the_build(
    version: str | None, tokens: tuple[str, ...], unknown: bool
) -> None:
    found, doubt = listed_ends(["<|im_end|>", "<|endoftext|>", "<|im_start|>"], version)
    assert found == tokens
    assert (doubt is not None) is unknown
