"""The published schemas: valid themselves, silent on healthy files, and loud on what engines fail on."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conftest import ROOT

SCHEMAS = sorted((ROOT / "schemas").glob("*.json"))


def validator(name: str) -> Draft202012Validator:
    """A validator for one of the published schemas."""
    return Draft202012Validator(json.loads((ROOT / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")))


def faults(name: str, document: Any) -> list[str]:
    """The keys that a schema complains about, as `key.key`."""
    errors = validator(name).iter_errors(document)
    return sorted(".".join(str(part) for part in error.absolute_path) for error in errors)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_schema_is_valid_and_identified(path: Path) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://servelint.dev/schemas/{path.name}"
    Draft202012Validator.check_schema(schema)


def test_the_schemas_are_there() -> None:
    names = {path.name for path in SCHEMAS}
    assert {"rule.schema.json", "generation_config.schema.json", "tokenizer_config.schema.json"} <= names


def test_healthy_generation_configs_pass(shared: Path) -> None:
    with (shared / "corpus/generation_configs.index.tsv").open(encoding="utf-8") as file:
        names = [row["file"] for row in csv.DictReader(file, delimiter="\t") if row["verdict"] == "correct"]
    assert len(names) > 40
    alarms = {}
    for name in names:
        document = json.loads((shared / "corpus/generation_configs" / name).read_text(encoding="utf-8"))
        if found := faults("generation_config", document):
            alarms[name] = found
    assert alarms == {}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"eos_token_id": 0},
        {"eos_token_id": [151645, 151643], "top_k": -1, "temperature": 1, "presence_penalty": 1.5},
        {"eos_token_id": None, "max_new_tokens": None, "return_legacy_cache": None},
        {"early_stopping": "never", "pad_token_id": -1, "some_private_key": {"nested": []}},
        {"stop_strings": "END", "begin_suppress_tokens": [151645], "temperature": 0.0},
    ],
)
def test_generation_config_accepts(document: dict[str, Any]) -> None:
    assert faults("generation_config", document) == []


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"eos_token_id": "151645"}, ["eos_token_id"]),
        ({"eos_token_id": ["151645", 151643]}, ["eos_token_id.0"]),
        ({"eos_token_id": True}, ["eos_token_id"]),
        ({"eos_token_id": -1}, ["eos_token_id"]),
        ({"eos_token_id": 151645.5}, ["eos_token_id"]),
        ({"eos_token_id": {"id": 2}}, ["eos_token_id"]),
        ({"temperature": "0.7"}, ["temperature"]),
        ({"temperature": -0.1, "top_p": 1.5}, ["temperature", "top_p"]),
        ({"max_new_tokens": 0}, ["max_new_tokens"]),
        ({"max_new_tokens": "512"}, ["max_new_tokens"]),
        ({"early_stopping": "always"}, ["early_stopping"]),
        ({"do_sample": "true"}, ["do_sample"]),
        ({"cache_implementation": "fast"}, ["cache_implementation"]),
        ({"compile_config": {"fullgraph": True}}, ["compile_config"]),
        ({"stopping_criteria": None}, ["stopping_criteria"]),
        ({"bad_words_ids": [1, 2]}, ["bad_words_ids.0", "bad_words_ids.1"]),
        ({"repetition_penalty": 0}, ["repetition_penalty"]),
        ([], [""]),
        ("x", [""]),
    ],
)
def test_generation_config_rejects(document: Any, where: list[str]) -> None:
    assert faults("generation_config", document) == where


def test_every_field_of_the_generation_config_is_described() -> None:
    properties = validator("generation_config").schema["properties"]
    assert [name for name, field in properties.items() if not field.get("description", "").endswith(".")] == []


def test_all_known_fields_are_in_the_schema(shared: Path) -> None:
    facts = json.loads((shared / "facts/generation-config-fields.json").read_text(encoding="utf-8"))
    known = {field["name"] for field in facts["fields"]} | set(facts["forbidden"])
    assert known == set(validator("generation_config").schema["properties"])


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"eos_token": "<|im_end|>", "chat_template": "{{ messages }}", "model_max_length": 131072}, []),
        ({"eos_token": {"content": "<|im_end|>", "special": True}, "pad_token": None, "errors": "replace"}, []),
        ({"added_tokens_decoder": {"151645": {"content": "<|im_end|>"}}, "extra_special_tokens": {}}, []),
        ({"model_max_length": 1000000000000000019884624838656, "added_tokens_decoder": {}}, []),
        ({"chat_template": [{"name": "default", "template": "x"}]}, []),
        ({"eos_token": 151645}, ["eos_token"]),
        ({"eos_token": {"special": True}}, ["eos_token"]),
        ({"added_tokens_decoder": {"<|im_end|>": {"content": "x"}}}, ["added_tokens_decoder"]),
        ({"added_tokens_decoder": {"7": "<|im_end|>"}}, ["added_tokens_decoder.7"]),
        ({"chat_template": [{"name": "default"}]}, ["chat_template.0"]),
        ({"padding_side": "top"}, ["padding_side"]),
        ({"additional_special_tokens": ["<|a|>", 3]}, ["additional_special_tokens.1"]),
    ],
)
def test_tokenizer_config(document: dict[str, Any], where: list[str]) -> None:
    assert faults("tokenizer_config", document) == where


CUSTOM = {
    "code": "ACME001",
    "name": "cap-for-the-widget",
    "template": "cap-range",
    "summary": "The widget shows at most 800 tokens.",
    "parameters": {"most": 800},
}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"severity": "error", "applies_to": {"engines": ["vllm"], "models": ["Qwen/*"]}},
        {"template": "require-stop", "parameters": {"texts": ["<|im_end|>"]}},
        {"template": "forbid-flag", "parameters": {"flag": "--trust-remote-code"}},
        {"template": "require-flag", "parameters": {"flag": "--max-model-len", "values": [8192, "16K"]}},
        {"template": "require-sampling", "parameters": {"temperature": {"least": 0.5, "most": 0.7}, "top_k": 20}},
    ],
)
def test_custom_rules_are_accepted(change: dict[str, Any]) -> None:
    assert faults("rule", CUSTOM | change) == []


@pytest.mark.parametrize(
    "change",
    [
        {"code": "SL999"},
        {"template": "run-this"},
        {"parameters": {}},
        {"parameters": {"most": "800"}},
        {"template": "require-stop", "parameters": {"texts": []}},
        {"template": "forbid-flag", "parameters": {"values": ["x"]}},
        {"applies_to": {}},
        {"severity": "fatal"},
        {"unheard_of": 1},
    ],
)
def test_broken_custom_rules_are_refused(change: dict[str, Any]) -> None:
    assert faults("rule", CUSTOM | change) != []


def test_a_bad_example_must_say_what_it_expects() -> None:
    example = {"title": "Something", "kind": "bad", "files": {"Modelfile": "FROM x\n"}, "lint": ["Modelfile"]}
    rule = {
        "code": "SL101", "name": "a-name", "severity": "error", "fix": "none", "status": "planned",
        "summary": "One sentence of it.", "what": "what", "why": "because", "ignore_when": "never", "fix_notes": "none",
        "examples": [example],
    }  # fmt: skip
    assert faults("rule", rule) == ["examples.0"]
    assert faults("rule", rule | {"examples": [example | {"expect": [{"line": 1}]}]}) == []
    assert faults("rule", rule | {"examples": [example | {"kind": "good", "expect": [{"line": 1}]}]}) == ["examples.0"]


def test_an_implemented_rule_needs_both_kinds_of_example() -> None:
    good = {"title": "Something", "kind": "good", "files": {"Modelfile": "FROM x\n"}, "lint": ["Modelfile"]}
    rule = {
        "code": "SL101", "name": "a-name", "severity": "error", "fix": "none", "status": "implemented",
        "summary": "One sentence of it.", "what": "what", "why": "because", "ignore_when": "never", "fix_notes": "none",
        "examples": [good],
    }  # fmt: skip
    assert faults("rule", rule) == ["examples"]
