"""What stops and caps a request on vLLM: against results recorded from vLLM's own code."""

from __future__ import annotations

from typing import Any

import pytest

from servelint.engines.vllm_sampling import answer, effective_stop_ids, server_side
from tests.conftest import read_rows

NEWEST = "0.33.0"
ROWS = read_rows("vectors/stopset.handed.jsonl")


@pytest.mark.skipif(not ROWS, reason="needs the recorded vectors beside the checkout")
@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_recorded_code(row: dict[str, Any]) -> None:
    mode = row["generation_config"]
    server = server_side(
        row["gen"], row["config"], mode, row["pathgen"], row["pathconfig"], row["override"], NEWEST, mode == "DIR"
    )
    if server.unknown:
        # Which model types transformers knows is not servelint's business; it says so instead of guessing.
        assert row["result"]["startup_error"] is not None
        return
    result = row["result"]
    assert server.startup_error == (result["startup_error"] or {}).get("class")
    if server.startup_error:
        return
    assert server.file_eos == result["file_eos"]
    assert server.hard_cap == result["hard_cap"]
    assert _comparable(server.defaults) == result["default_sampling_params"]
    raised = {**row["req"], "max_completion_tokens": 8000}
    for name, request, chat in (
        ("chat", row["req"], True),
        ("chat_req8000", raised, True),
        ("completion", row["req"], False),
    ):
        mine = answer(
            server, row["tok_eos"], request, chat=chat, max_model_len=row["max_model_len"],
            prompt_length=row["prompt_len"],
        )  # fmt: skip
        for key, value in result[name].items():
            wanted = value["class"] if isinstance(value, dict) else value
            if key.endswith("_ids"):
                assert sorted(map(repr, mine[key])) == sorted(map(repr, wanted)), (name, key)
            else:
                assert mine[key] == wanted, (name, key)


def _comparable(values: dict[str, Any]) -> dict[str, Any]:
    return {key: "<nan>" if isinstance(value, float) and value != value else value for key, value in values.items()}


@pytest.mark.parametrize(
    ("version", "hard"), [("0.16.0", 512), ("0.8.5", 512), ("0.17.1", None), ("0.33.0", None), (None, None)]
)
def test_cap_of_the_models_own_file(version: str | None, hard: int | None) -> None:
    server = server_side({"eos_token_id": 1, "max_new_tokens": 512}, {}, version=version)
    assert server.hard_cap == hard
    assert server.defaults["max_tokens"] == 512
    asked = answer(server, 1, {"max_tokens": 8000})
    assert asked["max_tokens"] == (512 if hard else 8000)
    assert answer(server, 1)["max_tokens"] == 512


@pytest.mark.parametrize("version", ["0.8.5", "0.16.0", "0.33.0"])
def test_cap_of_the_override_is_hard_in_every_version(version: str) -> None:
    server = server_side({"eos_token_id": 1}, {}, override={"max_new_tokens": 64}, version=version)
    assert answer(server, 1, {"max_tokens": 8000})["max_tokens"] == 64


def test_keys_by_version() -> None:
    override = {"presence_penalty": 0.5, "temperature": 0.2, "eos_token_id": 7, "stop": ["x"]}
    assert server_side({}, {}, override=override, version="0.28.0").defaults == {"temperature": 0.2}
    newest = server_side({}, {}, override=override, version="0.33.0")
    assert newest.defaults == {"presence_penalty": 0.5, "temperature": 0.2}
    assert effective_stop_ids(1, newest.file_eos) == [1]


def test_union() -> None:
    assert effective_stop_ids(2, [1, 2, 1]) == [2, 1]
    assert effective_stop_ids(2, 1, [7], ignore_eos=True) == [7]
    assert effective_stop_ids(None, None) == []
    with pytest.raises(TypeError):
        effective_stop_ids(2, 1.5)


def test_completion_default() -> None:
    server = server_side({"eos_token_id": 1, "max_new_tokens": 512}, {}, version=NEWEST)
    assert answer(server, 1, chat=False)["max_tokens"] == 16
