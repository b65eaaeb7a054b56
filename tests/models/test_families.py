"""The table of families: its files, their schema, and what the compiled form gives."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from servelint.data import data_folder
from servelint.data.compile import compile_families, compiled, family_documents, read_yaml, write
from servelint.models.families import (
    details,
    family_names,
    fim_stops,
    greedy_advice,
    identity_of,
    official_generation_config,
    sampling,
    table,
    tool_terminators,
    vocabulary,
)
from servelint.models.identity import UNKNOWN, Token
from servelint.models.names import identify, key_of

FILES = sorted((data_folder() / "rules/families").glob("*.yaml"))
DOCUMENTS = family_documents(data_folder())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_family_file(path: Path) -> None:
    import jsonschema

    document = read_yaml(path)
    schema = json.loads((data_folder() / "schemas/family.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)
    assert path.stem == document["name"]
    special = document["special_tokens"]
    ends = [item for item in (document["base_end"], document["pad"]) if item]
    for item in (*document["terminators"], *ends):
        assert special[item["token"]] == item["id"]
    ids = [identifier for identifier in special.values() if identifier is not None]
    assert len(ids) == len(set(ids))
    size = max(document["vocabulary_size"], default=None)
    if size is not None:
        assert max(ids, default=0) < size
    # Turn, tools, document, optional: the order in which they are written into a manifest.
    ranks = [[True, "tools", "recommended", False].index(item["required"]) for item in document["terminators"]]
    assert ranks == sorted(ranks)
    for stop in document.get("fim_stops", ()):
        assert stop in special
    for role, values in document["generation_config"].items():
        listed = values.get("eos_token_id")
        for identifier in listed if isinstance(listed, list) else [listed]:
            assert identifier is None or identifier in ids, (role, identifier)


def test_the_compiled_files_are_fresh() -> None:
    for name, text in compiled(data_folder()).items():
        written = (data_folder() / name).read_text(encoding="utf-8")
        assert written == text, f"{name} is stale: run python -m servelint.data.compile"


def test_compiling_is_deterministic_and_writes_only_what_changed(tmp_path: Path) -> None:
    (tmp_path / "rules/families").mkdir(parents=True)
    for path in FILES[:3]:
        (tmp_path / "rules/families" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "rules/SL999-example.yaml").write_text(
        "code: SL999\nname: example\nseverity: note\nfix: none\nsummary: An example.\n", encoding="utf-8"
    )
    assert write(tmp_path) == [
        "rules/compiled/families.json",
        "rules/compiled/family_details.json",
        "rules/compiled/rules.json",
        "rules/compiled/rule_index.json",
    ]
    assert write(tmp_path) == []
    rules = json.loads((tmp_path / "rules/compiled/rules.json").read_text(encoding="utf-8"))
    assert rules["SL999"]["summary"] == "An example."
    backwards = dict(reversed(DOCUMENTS.items()))
    assert json.dumps(compile_families(backwards)) == json.dumps(compile_families(DOCUMENTS))


def test_no_name_means_two_families() -> None:
    demands: Counter[tuple[Any, ...]] = Counter()
    for document in DOCUMENTS.values():
        for item in document["names"]:
            entry = {"name": item} if isinstance(item, str) else item
            for size in entry.get("sizes", [None]):
                demands[key_of(entry["name"]), tuple(sorted(entry.get("with", ()))), size] += 1
    assert [demand for demand, count in demands.items() if count > 1] == []
    library = Counter(name for document in DOCUMENTS.values() for name in document.get("ollama", {}).get("names", ()))
    assert [name for name, count in library.items() if count > 1] == []


@pytest.mark.parametrize("name", family_names())
def test_identity(name: str) -> None:
    document = DOCUMENTS[name]
    chat, base = identity_of(name, "instruct"), identity_of(name, "base")
    by_kind = {kind: [item["token"] for item in document["terminators"] if item["required"] == kind] for kind in (
        True, "recommended", "tools",
    )}  # fmt: skip
    assert [token.text for token in chat.turn] == by_kind[True]
    assert [token.text for token in chat.document] == by_kind["recommended"]
    assert [token.text for token in tool_terminators(chat)] == by_kind["tools"]
    assert base.turn == ()
    assert base.document == ((Token(**_plain(document["base_end"])),) if document["base_end"] else ())
    assert identity_of(name, "embedding").terminators == ()
    expected = () if document.get("open_vocabulary") else tuple(document["special_tokens"])
    assert tuple(token.text for token in vocabulary(name)) == expected
    assert chat.generates_chat
    assert not base.generates_chat


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    return {"text": item["token"], "id": item["id"]}


def test_unknown_families_are_unknown() -> None:
    assert identity_of("no-such-family", "instruct") == UNKNOWN
    assert details("no-such-family") == {}
    assert vocabulary("no-such-family") == ()
    assert sampling(UNKNOWN) == {}
    assert greedy_advice(UNKNOWN) == "allowed"
    assert official_generation_config(UNKNOWN) == {}
    assert fim_stops(UNKNOWN) == ()
    assert tool_terminators(UNKNOWN) == ()


def test_what_rules_ask_for() -> None:
    qwen3, base = identify("Qwen/Qwen3-8B"), identify("Qwen/Qwen3-8B-Base")
    assert greedy_advice(qwen3) == "forbidden"
    assert greedy_advice(base) == "allowed"
    assert greedy_advice(identify("Qwen/Qwen2.5-VL-7B-Instruct")) == "by-design"
    assert sampling(qwen3)["thinking"]["temperature"] == 0.6
    assert sampling(identify("Qwen/Qwen3-4B-Thinking-2507")).keys() == {"reasoning"}
    assert official_generation_config(base)["max_new_tokens"] == 2048
    assert official_generation_config(qwen3)["eos_token_id"] == [151645, 151643]
    assert "<|fim_pad|>" in fim_stops(identify("qwen2.5-coder:7b-base"))
    assert [token.text for token in tool_terminators(identify("llama3.1:8b"))] == ["<|eom_id|>"]


def test_the_table_is_small_enough_to_load_in_every_run() -> None:
    assert (data_folder() / "rules/compiled/families.json").stat().st_size < 80_000
    assert len(table()["vocabularies"]) < len(family_names())


# Terminators that the table of facts requires, and that end a document here; tokens that one generation lacks.
DEMOTED = {("internlm2", "</s>"), ("internlm3", "</s>"), ("nemotron3", "</s>"), ("stablelm2", "<|endoftext|>")}
ABSENT = {"<|eom_id|>", "<|python_tag|>", "<|finetune_right_pad_id|>"}


def test_every_family_of_the_table_of_facts_is_here(shared: Path) -> None:
    facts = json.loads((shared / "facts/model-families.json").read_text(encoding="utf-8"))["families"]
    ours = {(document["family"], document["generation"]): document for document in DOCUMENTS.values()}
    for entry in facts:
        document = ours[entry["family"], entry["generation"]]
        name = document["name"]
        assert document["confidence"] == entry["confidence"]
        terminators = {item["token"]: item for item in document["terminators"]}
        for item in entry["instruct_terminators"]:
            found = terminators[item["token"]]
            assert found["id"] == item["id"]
            required = "tools" if "tool" in str(item["required"]) else item["required"]
            assert found["required"] == required or (name, item["token"]) in DEMOTED
        for text, identifier in entry["special_tokens"].items():
            if isinstance(identifier, int) and not (name == "llama3" and text in ABSENT):
                assert document["special_tokens"][text] == identifier
        base = entry["base_eos"]
        assert (document["base_end"] or {}).get("id") == (base or {}).get("id")
