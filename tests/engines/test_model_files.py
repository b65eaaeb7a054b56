"""What each engine takes from a model folder's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servelint.engines.model_files import plain_ids, read_model_files, tokenizer_end
from servelint.engines.reading import Reading
from servelint.files.context import Context
from servelint.manifests.generation_config import read
from servelint.manifests.model_folder import ModelFolder, read_folder
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.models.resolve import identify_serving
from servelint.text import decode
from tests.checks.linting import run
from tests.conftest import read_rows


def readings_of(text: str, beside: dict[str, Any] | None = None) -> dict[str, Reading]:
    """What every engine makes of a generation_config.json with these files beside it."""
    overlay = {name: json.dumps(data).encode() for name, data in (beside or {}).items()}
    manifest = read("generation_config.json", decode(text.encode()), Context(Path("/nonexistent"), overlay))
    assert manifest is not None
    return {serving.engine: read_model_files(serving, identify_serving(serving)) for serving in manifest.servings}


def ids(reading: Reading) -> list[int]:
    """The ids of a stop set."""
    return [stop.value for stop in reading.stop_set.ids]


TOKENIZER = {"eos_token": "<|im_end|>", "added_tokens_decoder": {"151645": {"content": "<|im_end|>"}}}
BOTH = {"tokenizer_config.json": TOKENIZER, "config.json": {"eos_token_id": 5}}


@pytest.mark.parametrize(
    ("text", "beside", "transformers", "vllm", "sglang", "tgi"),
    [
        # A list: TGI takes it instead of the tokenizer's end, vLLM beside it.
        ('{"eos_token_id": [151643]}', {"tokenizer_config.json": TOKENIZER}, [151643], [151643, 151645],
         [151643, 151645], [151643]),
        # A single id: TGI does not read it.
        ('{"eos_token_id": 151643}', {"tokenizer_config.json": TOKENIZER}, [151643], [151643, 151645],
         [151643, 151645], [151645]),
        # No id: config.json is not asked, for the file is there.
        # SGLang unites all three files.
        ('{"top_k": 1}', BOTH, [], [151645], [5, 151645], [151645]),
        # An unreadable file: config.json is read in silence, save by TGI.
        ('{"eos_token_id": 1,}', {"config.json": {"eos_token_id": 5}}, [5], [5], [5], []),
        ('{"eos_token_id": 1,}', {"config.json": {"eos_token_id": [5, 6]}}, [5, 6], [5, 6], [5, 6], []),
        ('{"eos_token_id": [1, true, "2", 3.0, null]}', {}, [1], [1, 3], [1, 3], [1]),
        ('{"eos_token_id": "151645"}', {}, [], [], [], []),
    ],
)  # fmt: skip
def test_the_ids(
    text: str, beside: dict[str, Any], transformers: list[int], vllm: list[int], sglang: list[int], tgi: list[int]
) -> None:
    found = readings_of(text, beside)
    assert {engine: ids(reading) for engine, reading in found.items() if engine != "llama.cpp"} == {
        "transformers": transformers, "vllm": vllm, "sglang": sglang, "tgi": tgi,
    }  # fmt: skip


def test_what_was_not_read_is_unknown() -> None:
    found = readings_of('{"eos_token_id": 1}')
    assert found["transformers"].stop_set.complete
    assert not found["vllm"].stop_set.complete
    assert not found["tgi"].stop_set.complete
    assert not readings_of("{")["transformers"].stop_set.complete


def test_where_an_id_comes_from() -> None:
    found = readings_of('{"eos_token_id": 1,}', BOTH)
    assert [(stop.origin, stop.path, stop.token) for stop in found["vllm"].stop_set.ids] == [
        ("config.json eos_token_id", "config.json", None),
        ("tokenizer_config.json eos_token", "tokenizer_config.json", "<|im_end|>"),
    ]


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ('{"max_new_tokens": 512}', 512),
        ('{"max_new_tokens": null}', None),
        ('{"max_new_tokens": true}', None),
        ('{"max_new_tokens": "512"}', None),
        ('{"max_length": 512}', None),
        ('{"max_new_tokens": 512,}', None),
    ],
)
def test_the_cap(text: str, cap: int | None) -> None:
    for reading in readings_of(text).values():
        assert (reading.cap.value if reading.cap is not None else None) == cap


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (5, [5]),
        ([5, 6], [5, 6]),
        (True, []),
        (None, []),
        ("5", []),
        (5.0, []),
        ([5, [6]], [5]),
        ({"a": 5}, []),
        ([], []),
    ],
)
def test_plain_ids(value: Any, found: list[int]) -> None:
    assert plain_ids(value) == found


def folder_of(tokenizer: Any) -> ModelFolder:
    """A folder with only that tokenizer_config.json."""
    overlay = {"m/tokenizer_config.json": json.dumps(tokenizer).encode()}
    return read_folder("m/generation_config.json", Context(Path("/nonexistent"), overlay))


@pytest.mark.parametrize(
    ("tokenizer", "found"),
    [
        ({"added_tokens_decoder": {"7": {"content": "<e>"}, "8": {"content": "<f>"}}}, {"<e>": 7, "<f>": 8}),
        ({"added_tokens_decoder": {"x": {"content": "a"}, "-1": {"content": "b"}, "9" * 40: {"content": "c"}}}, {}),
        ({"added_tokens_decoder": {"7": "<e>", "8": {"content": 5}, "9": None}}, {}),
        ({"added_tokens_decoder": {"\u0667": {"content": "<e>"}}}, {}),
        ({"added_tokens_decoder": [1]}, {}),
        ({"added_tokens_decoder": None}, {}),
        ({}, {}),
        ([], {}),
        (None, {}),
    ],
)
def test_token_ids(tokenizer: Any, found: dict[str, int]) -> None:
    assert folder_of(tokenizer).token_ids == found


DECODER = {"7": {"content": "<e>"}}
KNOWN = Identity(vocabulary=(Token("<k>", 3), Token("<n>", None)))


@pytest.mark.parametrize(
    ("tokenizer", "identity", "value"),
    [
        ({"eos_token": "<e>", "added_tokens_decoder": DECODER}, UNKNOWN, 7),
        ({"eos_token": {"content": "<e>"}, "added_tokens_decoder": DECODER}, UNKNOWN, 7),
        ({"eos_token": "<k>"}, KNOWN, 3),
        ({"eos_token": "<n>"}, KNOWN, None),
        ({"eos_token": "<x>"}, KNOWN, None),
        ({"eos_token": None}, KNOWN, None),
        ({"eos_token": ["<e>"]}, KNOWN, None),
        ({"eos_token": {"content": 5}}, KNOWN, None),
        ({}, KNOWN, None),
        ([], KNOWN, None),
    ],
)
def test_the_tokenizers_end(tokenizer: Any, identity: Identity, value: int | None) -> None:
    found = tokenizer_end(folder_of(tokenizer), identity)
    assert (found.value if found is not None else None) == value


def test_without_a_folder_the_tokenizer_is_unknown() -> None:
    assert tokenizer_end(None, UNKNOWN) is None


GENERATED = read_rows("vectors/hfgen.handed.jsonl")
STOP_SETS = read_rows("vectors/stopset.handed.jsonl")
needs_vectors = pytest.mark.skipif(not GENERATED, reason="needs the folder of recorded vectors beside the checkout")


@needs_vectors
@pytest.mark.parametrize("row", GENERATED, ids=lambda row: row["id"])
def test_transformers_reads_the_same(row: dict[str, Any], tmp_path: Path) -> None:
    result = run(tmp_path, "generation_config.json", row["text"], {"config.json": '{"model_type": "qwen2"}'})
    errors = {finding.rule for finding in result.findings if finding.severity == "error"}
    refused = not row["ok"] and not row["error"]["oserror"]
    fallen_back = not row["ok"] and row["error"]["oserror"]
    # What is not valid JSON is read as if it were not there, what is no good config ends the start.
    assert bool(errors & {"SL501", "SL903"}) == fallen_back
    if refused:
        assert "SL513" in errors
    if not row["ok"]:
        return
    (reading,) = [each.reading for each in result.deployments if each.serving.engine == "transformers"]
    assert ids(reading) == list(dict.fromkeys(plain_ids(row["eos_token_id"])))
    assert (reading.cap.value if reading.cap is not None else None) == row["max_new_tokens"]


def _of_files(row: dict[str, Any]) -> bool:
    """Whether a row's outcome depends on the folder alone: no request field, no flag."""
    plain_start = row["generation_config"] in ("auto", "vllm") and not row["override"] and not row["req"]
    return (
        plain_start
        and row["result"]["startup_error"] is None
        and "effective_stop_ids" in (row["result"].get("chat") or {})
    )


@needs_vectors
@pytest.mark.parametrize("row", [row for row in STOP_SETS if _of_files(row)], ids=lambda row: row["id"])
def test_vllm_stops_on_the_same(row: dict[str, Any], tmp_path: Path) -> None:
    def written(content: Any) -> str:
        return content if isinstance(content, str) else json.dumps(content)

    files = {name: written(row[key]) for key, name in (("gen", "generation_config.json"), ("config", "config.json"))
             if row[key] is not None}  # fmt: skip
    own = row["tok_eos"]
    if own is not None:
        decoder = {str(own): {"content": "<e>"}}
        files["tokenizer_config.json"] = json.dumps({"eos_token": "<e>", "added_tokens_decoder": decoder})
    if not files.keys() & {"generation_config.json", "config.json"}:
        return
    name = "generation_config.json" if "generation_config.json" in files else "config.json"
    if name == "config.json":
        # A config of a model that writes text: only such ones are served.
        config = json.loads(files[name])
        files[name] = json.dumps({"architectures": ["Qwen2ForCausalLM"], **config})
    result = run(tmp_path, name, files.pop(name), files)
    (reading,) = [each.reading for each in result.deployments if each.serving.engine == "vllm"]
    truth = row["result"]["chat"]["effective_stop_ids"]
    unreadable = not result.deployments[0].serving.facts["file"].readable and row["config"] is None
    if unreadable:
        assert not reading.stop_set.complete
        return
    # What is no whole number never equals a token, and is none of the ids here.
    assert set(ids(reading)) == {
        each for each in truth if isinstance(each, int | float) and each is not True and each is not False
    }


@pytest.mark.parametrize(
    ("config", "tokenizer", "number", "tokens"),
    [
        # The tokenizer wins over config.json; what llama.cpp knows by its text ends as well.
        ({"eos_token_id": 5}, TOKENIZER, [151645], ("<|im_end|>",)),
        ({"eos_token_id": 5}, {"added_tokens_decoder": {"7": {"content": "<|over|>"}}}, [5], ()),
        # A list in config.json is dropped.
        ({"eos_token_id": [5, 6]}, {"added_tokens_decoder": {"7": {"content": "<|over|>"}}}, [], ()),
    ],
)
def test_a_conversion_to_gguf(config: Any, tokenizer: Any, number: list[int], tokens: tuple[str, ...]) -> None:
    found = readings_of('{"eos_token_id": [1, 2]}', {"config.json": config, "tokenizer_config.json": tokenizer})
    assert ids(found["llama.cpp"]) == number
    assert found["llama.cpp"].stop_set.tokens == tokens
