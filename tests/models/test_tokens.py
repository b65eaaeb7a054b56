"""Exact special tokens, and texts that look like one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.models.families import family_names, identity_of, table
from servelint.models.identity import UNKNOWN
from servelint.models.names import identify
from servelint.models.tokens import known_token, lookalike

QWEN = "qwen2.5:7b"
LLAMA = "llama3.1:8b"
DISTILL = "DeepSeek-R1-Distill-Qwen-7B-Q8_0.gguf"

# model (None: nothing is known of it), text, what may be meant
LOOKALIKES: list[tuple[str | None, str, list[str]]] = [
    (QWEN, "<im_end>", ["<|im_end|>"]),
    (QWEN, "|im_end|", ["<|im_end|>"]),
    (QWEN, "<|im_end>", ["<|im_end|>"]),
    (QWEN, "<im_end|>", ["<|im_end|>"]),
    (QWEN, "&lt;|im_end|&gt;", ["<|im_end|>"]),
    (QWEN, "&LT;|im_end|&GT;", ["<|im_end|>"]),
    (QWEN, "&amp;lt;|im_end|&amp;gt;", ["<|im_end|>"]),
    (QWEN, "<｜im_end｜>", ["<|im_end|>"]),
    (QWEN, "＜|im_end|＞", ["<|im_end|>"]),
    (QWEN, "<|im▁end|>", ["<|im_end|>"]),
    (QWEN, "<|im\u200b_end|>", ["<|im_end|>"]),
    (QWEN, "<|im-end|>", ["<|im_end|>"]),
    (QWEN, "<|imend|>", ["<|im_end|>"]),
    (QWEN, "<| im_end |>", ["<|im_end|>"]),
    (QWEN, "<|im end|>", ["<|im_end|>"]),
    (QWEN, "<|IM_END|>", ["<|im_end|>"]),
    (QWEN, "<<|im_end|>>", ["<|im_end|>"]),
    (QWEN, "<|im_end||>", ["<|im_end|>"]),
    (QWEN, "[im_end]", ["<|im_end|>"]),
    (QWEN, "im_end|>", ["<|im_end|>"]),
    (QWEN, "<|im_emd|>", ["<|im_end|>"]),
    (QWEN, "<|im_edn|>", ["<|im_end|>"]),
    (QWEN, "<im_start>", ["<|im_start|>"]),
    (QWEN, "|endoftext|", ["<|endoftext|>"]),
    (QWEN, "<|endoftext>", ["<|endoftext|>"]),
    (QWEN, "<endoftext>", ["<|endoftext|>"]),
    (QWEN, "<|end of text|>", ["<|endoftext|>"]),
    (QWEN, "<|endofttext|>", ["<|endoftext|>"]),
    # The same letters end a document of both families.
    (QWEN, "<|end_of_text>", ["<|endoftext|>"]),
    (LLAMA, "<|endoftext>", ["<|end_of_text|>"]),
    (LLAMA, "<|end_of_text>", ["<|end_of_text|>"]),
    (None, "<|end_of_text>", ["<|end_of_text|>"]),
    (None, "<|endoftext>", ["<|endoftext|>"]),
    (LLAMA, "<eot_id>", ["<|eot_id|>"]),
    (LLAMA, "<|eotid|>", ["<|eot_id|>"]),
    (LLAMA, "<|eom_id>", ["<|eom_id|>"]),
    (None, "<eot_id>", ["<|eot_id|>"]),
    (DISTILL, "<|end_of_sentence|>", ["<｜end▁of▁sentence｜>"]),
    (DISTILL, "<|end▁of▁sentence|>", ["<｜end▁of▁sentence｜>"]),
    (DISTILL, "<｜end_of_sentence｜>", ["<｜end▁of▁sentence｜>"]),
    (DISTILL, "<｜end of sentence｜>", ["<｜end▁of▁sentence｜>"]),
    (DISTILL, "<|User|>", ["<｜User｜>"]),
    (None, "<|end_of_sentence|>", ["<｜end▁of▁sentence｜>"]),
    ("gemma2:9b", "<endofturn>", ["<end_of_turn>"]),
    ("gemma2:9b", "<end_of_turn", ["<end_of_turn>"]),
    ("gemma2:9b", "&lt;end_of_turn&gt;", ["<end_of_turn>"]),
    # Two families write it with other brackets: no sole candidate.
    (None, "<endofturn>", ["<end_of_turn>", "<|end_of_turn|>"]),
    ("phi3", "<|end>", ["<|end|>"]),
    ("phi3", "|end|", ["<|end|>"]),
    # A misspelt token of another family is still misspelt.
    (LLAMA, "<im_end>", ["<|im_end|>"]),
    (None, "<|im_end>", ["<|im_end|>"]),
    # Exact tokens are never misspelt, whoever they belong to.
    (QWEN, "<|im_end|>", []),
    (QWEN, "<|eot_id|>", []),
    (QWEN, "<|end_of_text|>", []),
    (QWEN, "<|end|>", []),
    (QWEN, "</s>", []),
    ("gemma2:9b", "<|end_of_turn|>", []),
    (QWEN, "[/INST]", []),
    (QWEN, "<|file_sep|>", []),
    # Markers of somebody's own.
    (QWEN, "<end>", []),
    ("gemma2:9b", "<end>", []),
    ("phi3", "<end>", []),
    (None, "<end>", []),
    (None, "<|end>", []),
    (QWEN, "<END>", []),
    (QWEN, "<|END|>", []),
    (QWEN, "<stop>", []),
    (QWEN, "<|stop|>", []),
    (QWEN, "</answer>", []),
    (QWEN, "</tool>", []),
    (QWEN, "<tool-call>", []),
    (QWEN, "<thinking>", []),
    (QWEN, "<|eos_token|>", []),
    (None, "<|eos_token|>", []),
    (QWEN, "<amend>", []),
    (QWEN, "<|amend|>", []),
    (QWEN, "<legend>", []),
    (QWEN, "<|send|>", []),
    (QWEN, "<|end_of_answer|>", []),
    (QWEN, "###", []),
    (QWEN, "User:", []),
    (QWEN, "im_end", []),
    # The quotes are the fault, not the token.
    (QWEN, '<|im_end|>"', []),
    (QWEN, "<|im_end|>'", []),
    (QWEN, '<|im_end|>" "<|endoftext|>', []),
    (QWEN, "<\\|im_end\\|>", ["<|im_end|>"]),
    (QWEN, "\n", []),
    (QWEN, "", []),
]


@pytest.mark.parametrize(("model", "text", "meant"), LOOKALIKES)
def test_lookalike(model: str | None, text: str, meant: list[str]) -> None:
    identity = identify(model) if model else UNKNOWN
    assert [token.text for token in lookalike(text, identity)] == meant


def test_the_candidate_has_the_model_s_own_id() -> None:
    assert [token.id for token in lookalike("<im_end>", identify("Qwen/Qwen3.5-9B"))] == [248046]
    assert [token.id for token in lookalike("&lt;|im_end|&gt;", identify("Qwen/Qwen3.5-9B"))] == [248046]
    assert [token.id for token in lookalike("<im_end>", UNKNOWN)] == [None]


@pytest.mark.parametrize("name", family_names())
def test_every_terminator_is_found_again_once_its_bars_are_lost(name: str) -> None:
    identity = identity_of(name, "instruct")
    for token in identity.terminators:
        inner = token.text.strip("<>|｜")
        if "_" not in inner and "▁" not in inner:
            continue
        for spelled in (f"<{inner}|>", f"|{inner}|", f"&lt;|{inner}|&gt;"):
            if not known_token(spelled):
                assert token in lookalike(spelled, identity)


@given(st.text(max_size=80), st.sampled_from(["qwen2.5", "llama3", "mistral", None]))
def test_any_text_is_taken(text: str, name: str | None) -> None:
    identity = identity_of(name, "instruct") if name else UNKNOWN
    found = lookalike(text, identity)
    assert not (found and known_token(text))


@given(st.sampled_from("İ&lt;ŉ"), st.integers(1, 60))
def test_escapes_end(letter: str, count: int) -> None:
    lookalike("<" + letter * count + "&lt;|im_end|&gt;", UNKNOWN)


def test_known_tokens() -> None:
    assert "qwen2.5" in known_token("<|im_end|>")
    assert "phi3" in known_token("<|end|>")
    assert known_token("<EOT>") == ("codellama",)
    assert known_token("<im_end>") == ()
    assert known_token("") == ()
    # Ids differ between families, texts may not: every token of the table is known.
    for vocabulary in table()["vocabularies"]:
        for text in vocabulary:
            assert known_token(text)
