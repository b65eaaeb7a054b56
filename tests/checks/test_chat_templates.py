"""The rules on a folder's chat template: SL302, SL303, SL304, SL306, SL309, SL501."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servelint.checks.run import Result
from tests.checks.linting import explained, loud, of_rule, run, written
from tests.models.test_chat_template import CHATML

DECODER = {
    "151643": {"content": "<|endoftext|>"}, "151644": {"content": "<|im_start|>"}, "151645": {"content": "<|im_end|>"},
}  # fmt: skip
GLM = (
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def tokenizer(template: Any = CHATML, **more: Any) -> str:
    """A tokenizer_config.json with this template."""
    return json.dumps({"eos_token": "<|im_end|>", "added_tokens_decoder": DECODER, "chat_template": template, **more})


def linted(tmp_path: Path, template: Any, beside: dict[str, str] | None = None) -> Result:
    """What is said of a tokenizer_config.json."""
    return run(tmp_path, "tokenizer_config.json", tokenizer(template), beside)


def test_a_healthy_template(tmp_path: Path) -> None:
    result = linted(tmp_path, CHATML)
    assert result.findings == ()
    # The deployments of a folder are told at the file with its end ids.
    assert result.deployments == ()


@pytest.mark.parametrize(
    ("template", "rule", "severity"),
    [
        (CHATML.partition("{% if add")[0], "SL302", "error"),
        (CHATML.replace("<|im_end|>", ""), "SL306", "warning"),
        (CHATML.replace("assistant\n{%", "assistant{%"), "SL302", "warning"),
        (CHATML.replace("{{ m.role }}\n", "{{ m.role + '\\r\\n' }}"), "SL309", "warning"),
        ("{% for m in messages %}", "SL501", "error"),
        (CHATML.replace("<|im_end|>", "<|eot_id|>"), "SL304", "warning"),
    ],
)
def test_faults(tmp_path: Path, template: str, rule: str, severity: str) -> None:
    result = linted(tmp_path, template)
    (finding,) = of_rule(result, rule)
    assert finding.severity == severity
    assert explained(finding) or finding.why


def test_a_fault_of_syntax_is_shown_where_it_stands(tmp_path: Path) -> None:
    result = linted(tmp_path, "line one\n{% if %}\n")
    (finding,) = of_rule(result, "SL501")
    assert written(result, finding) == "{% if %}"


def test_a_file_of_its_own_wins(tmp_path: Path) -> None:
    broken = CHATML.partition("{% if add")[0]
    result = run(tmp_path, "chat_template.jinja", broken, {"tokenizer_config.json": tokenizer()})
    assert [rule for rule, _, _ in loud(result)] == ["SL302"]
    other = run(tmp_path, "tokenizer_config.json", tokenizer(broken), {"chat_template.jinja": CHATML})
    assert loud(other) == []


def test_named_templates(tmp_path: Path) -> None:
    named = [{"name": "tool_use", "template": "{% if %}"}, {"name": "default", "template": CHATML}]
    assert loud(linted(tmp_path, named)) == []


def test_a_model_that_ends_where_the_next_turn_begins(tmp_path: Path) -> None:
    decoder = {"1": {"content": "<|user|>"}, "2": {"content": "<|assistant|>"}, "3": {"content": "<|endoftext|>"}}
    config = json.dumps({"eos_token": "<|endoftext|>", "added_tokens_decoder": decoder, "chat_template": GLM})
    healthy = run(tmp_path, "tokenizer_config.json", config, {"generation_config.json": '{"eos_token_id": [3, 1]}'})
    assert loud(healthy) == []
    (tmp_path / "generation_config.json").unlink()
    assert [rule for rule, _, _ in loud(run(tmp_path, "tokenizer_config.json", config))] == ["SL306"]


def test_a_chat_model_without_a_template(tmp_path: Path) -> None:
    config = json.dumps({"_name_or_path": "Qwen/Qwen2.5-7B-Instruct", "architectures": ["Qwen2ForCausalLM"]})
    result = run(tmp_path, "tokenizer_config.json", '{"eos_token": "<|im_end|>"}', {"config.json": config})
    assert [(finding.rule, finding.severity) for finding in result.findings] == [("SL303", "note")]


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer.model", "vocab.json"])
def test_an_end_that_is_no_added_token_is_none_the_less_one(tmp_path: Path, name: str) -> None:
    template = CHATML.replace("<|im_end|>", "<|eot_id|>")
    # Longer than what is read at once, with the token across the border.
    (tmp_path / name).write_bytes(b"x" * (1024 * 1024 - 4) + b"<|eot_id|>" + b"y" * 100)
    assert "SL304" not in [rule for rule, _, _ in loud(linted(tmp_path, template))]
    (tmp_path / name).write_bytes(b"x" * 100)
    assert "SL304" in [rule for rule, _, _ in loud(linted(tmp_path, template))]
