"""SL513 on every file of a model folder that has a schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import explained, loud, of_rule, run, written

ENCODER = '"architectures": ["BertModel"], "model_type": "bert"'


@pytest.mark.parametrize(
    ("name", "text", "place", "hint"),
    [
        ("config.json", '{"architectures": "QwenForCausalLM", "model_type": "q"}', '"QwenForCausalLM"', "a list"),
        ("config.json", "{" + ENCODER + ', "vocab_size": 0}', "0", "at least 1"),
        ("tokenizer_config.json", '{"eos_token": 151645}', "151645", "a text"),
        ("tokenizer_config.json", '{"added_tokens_decoder": {"5": {"special": true}}}', '{"5": {"special": true}}', ""),
        ("tokenizer_config.json", '{"chat_template": {"a": "b"}}', '{"a": "b"}', "a text or a list"),
        ("generation_config.json", '{"eos_token_id": 1, "top_k": "x"}', '"x"', "a whole number"),
    ],
)
def test_values_that_no_reader_takes(tmp_path: Path, name: str, text: str, place: str, hint: str) -> None:
    result = run(tmp_path, name, text)
    (finding,) = of_rule(result, "SL513")
    assert (finding.severity, written(result, finding), hint in finding.message) == ("error", place, True)
    assert explained(finding)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.json", "{" + ENCODER + "}"),
        ("config.json", '{"architectures": null, "model_type": "q", "eos_token_id": [1, 2], "anything": {"a": [1]}}'),
        ("tokenizer_config.json", '{"eos_token": {"content": "</s>", "__type": "AddedToken"}, "pad_token": null}'),
        ("tokenizer_config.json", '{"chat_template": [{"name": "default", "template": "{{ messages[0].content }}"}]}'),
    ],
)
def test_healthy_files(tmp_path: Path, name: str, text: str) -> None:
    assert loud(run(tmp_path, name, text)) == []
