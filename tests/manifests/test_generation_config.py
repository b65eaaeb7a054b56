"""generation_config.json as it is read and edited: which files are ones, what they say, and their small repairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.files.context import Context
from servelint.manifests.generation_config import read
from servelint.manifests.model_folder import ENGINES, JsonWriter
from servelint.manifests.serving import Manifest, Refusal
from servelint.text import apply_edits, decode


def manifest_of(
    text: str | bytes, path: str = "generation_config.json", beside: dict[str, str] | None = None
) -> Manifest | None:
    """A text as the reader takes it, with other files beside it."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    overlay = {name: content.encode() for name, content in (beside or {}).items()}
    return read(path, decode(data), Context(Path("/nonexistent"), overlay))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("generation_config.json", ""),
        ("generation_config.json", "{}"),
        ("generation_config.json", "[]"),
        ("generation_config.json", "{"),
        ("generation_config.json", '{"eos_token_id": 2}'),
        ("generation_config.json", '{"temperature": 1}'),
        ("generation_config.json", '{"eos_id": 2}'),
        ("other.json", '{"eos_token_id": 2, "do_sample": true}'),
        ("generation_config.old.json", '{"eos_token_id": [2,],}'),
    ],
)
def test_generation_configs(path: str, text: str) -> None:
    manifest = manifest_of(text, path)
    assert manifest is not None
    assert tuple(serving.engine for serving in manifest.servings) == ENGINES


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("generation_config.json", '{"samples": 100, "output": "x"}'),
        ("my_generation_config.json", '{"samples": 100}'),
        ("generation_config.schema.json", '{"properties": {"eos_token_id": {}, "bos_token_id": {}}}'),
        ("results.json", '{"config": {"eos_token_id": 1, "do_sample": true}}'),
        ("rows.json", '[{"eos_token_id": 1, "do_sample": true}]'),
        ("rows.json", '{"eos_token_id": 1, "do_sample": true}\n{"eos_token_id": 1}'),
        ("settings.json", '{"eos_token_id": 1, "do_sample": true, // hm\n}'),
    ],
)
def test_other_files(path: str, text: str) -> None:
    assert manifest_of(text, path) is None


def test_quite_other_keys_beside_a_model() -> None:
    assert manifest_of('{"samples": 100}', beside={"config.json": "{}"}) is not None


def test_the_settings_with_their_places() -> None:
    text = '{"eos_token_id": [1, 2], "temperature": 0.70, "do_sample": true}'
    manifest = manifest_of(text)
    assert manifest is not None
    found = [(s.name, s.value, s.data, text[s.span.start : s.span.end]) for s in manifest.servings[0].settings]
    assert found == [
        ("eos_token_id", "[1, 2]", [1, 2], "[1, 2]"),
        ("temperature", "0.70", 0.7, "0.70"),
        ("do_sample", "True", True, "true"),
    ]


def test_a_key_that_stands_twice_counts_as_its_last_value() -> None:
    manifest = manifest_of('{"eos_token_id": [1, 2], "eos_token_id": 3}')
    assert manifest is not None
    assert [setting.data for setting in manifest.servings[0].settings] == [3]
    assert [problem.sort for problem in manifest.problems] == ["duplicate-key"]


@pytest.mark.parametrize(
    ("data", "sort", "hint"),
    [
        (b"\xef\xbb\xbf{}", "encoding", "byte order mark"),
        (b'{"eos_token": "\xe9"}', "encoding", "0xE9"),
        (b"{,}", "syntax", ""),
    ],
)
def test_bytes_that_no_reader_takes(data: bytes, sort: str, hint: str) -> None:
    manifest = manifest_of(data)
    assert manifest is not None
    assert any(hint in problem.message for problem in manifest.problems if problem.sort == sort)
    assert not manifest.servings[0].facts["file"].readable


def test_only_a_file_of_the_own_name_has_a_folder() -> None:
    beside = {"config.json": '{"_name_or_path": "Qwen/Qwen3-8B"}'}
    text = '{"eos_token_id": 1, "do_sample": true}'
    own, other = manifest_of(text, beside=beside), manifest_of(text, "a.json", beside)
    assert own is not None
    assert other is not None
    assert own.servings[0].facts["folder"].data("config.json") == {"_name_or_path": "Qwen/Qwen3-8B"}
    assert own.servings[0].model is not None
    assert own.servings[0].model.value == "Qwen/Qwen3-8B"
    assert other.servings[0].facts["folder"] is None
    assert other.servings[0].model is None


def test_a_file_of_a_collection_is_named_after_its_model() -> None:
    manifest = manifest_of('{"max_new_tokens": 5}', "generation_configs/acme__qwen2.5-7b-instruct--before.json")
    assert manifest is not None
    assert manifest.servings[0].model is not None
    assert manifest.servings[0].model.value == "acme/qwen2.5-7b-instruct"


def edited(text: str, name: str, method: str, *arguments: Any, **keywords: Any) -> str:
    """The text after one of the writer's edits on a key."""
    manifest = manifest_of(text)
    assert manifest is not None
    writer = manifest.servings[0].writer
    assert isinstance(writer, JsonWriter)
    setting = manifest.servings[0].last(name)
    answer = getattr(writer, method)(*([setting] if setting is not None else [name]), *arguments, **keywords)
    assert not isinstance(answer, Refusal)
    return apply_edits(text, answer)


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ('{"eos_token_id": 1}', True, '{"eos_token_id": [2, 1]}'),
        ('{"eos_token_id": 1}', False, '{"eos_token_id": [1, 2]}'),
        ('{"eos_token_id": [1]}', True, '{"eos_token_id": [2, 1]}'),
        ('{"eos_token_id": [1]}', False, '{"eos_token_id": [1, 2]}'),
        ('{"eos_token_id": []}', True, '{"eos_token_id": [2]}'),
        ('{\n  "eos_token_id": [\n    1\n  ]\n}\n', True, '{\n  "eos_token_id": [\n    2,\n    1\n  ]\n}\n'),
    ],
)
def test_an_id_is_added(text: str, first: bool, after: str) -> None:
    assert edited(text, "eos_token_id", "add_id", 2, first=first) == after


@pytest.mark.parametrize(
    ("text", "values", "after"),
    [
        ('{"eos_token_id": "1"}', [1], '{"eos_token_id": 1}'),
        ('{"eos_token_id": ["1"]}', [1], '{"eos_token_id": [1]}'),
        ('{"eos_token_id": null}', [1, 2], '{"eos_token_id": [1, 2]}'),
    ],
)
def test_a_value_is_replaced(text: str, values: list[int], after: str) -> None:
    assert edited(text, "eos_token_id", "replace", values) == after


def test_a_key_is_added() -> None:
    assert edited('{"bos_token_id": 1}', "eos_token_id", "add", [[2, 3]]) == (
        '{"bos_token_id": 1, "eos_token_id": [2, 3]}'
    )


def test_an_empty_file_takes_no_key() -> None:
    manifest = manifest_of("")
    assert manifest is not None
    assert isinstance(manifest.servings[0].writer.add("eos_token_id", [1]), Refusal)


@given(st.binary(max_size=80) | st.sampled_from(["\ufeff{}", '{"a": 1', "nul", "[" * 500, "9" * 6000]).map(str.encode))
def test_any_bytes_are_read(data: bytes) -> None:
    manifest = manifest_of(data)
    assert manifest is None or len(manifest.servings) == len(ENGINES)
