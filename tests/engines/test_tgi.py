"""What TGI's launcher makes of arguments and variables, by version; and the env files that set them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.engines.reading import Fault, Reading
from servelint.engines.tgi import model_of, option_table, read_tgi, version_of
from servelint.files.context import Context
from servelint.manifests.env_file import (
    consumers,
    dialect_of,
    near_launcher_name,
    read,
    read_env_manifest,
)
from servelint.manifests.serving import Argument, NoWriter, Refusal, Serving, Setting
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.text import Source, Span, apply_edits, verbatim
from servelint.text.distance import edit_distance
from tests.conftest import read_rows

IMAGE = "ghcr.io/huggingface/text-generation-inference"


def serving(
    words: list[str | None] | str = (),
    variables: dict[str, str | None] | list[tuple[str, str | None]] = (),
    tag: str | None = "3.3.4",
    launcher: str | None = "image",
) -> Serving:
    """A serving of these words and variables; the spans of the words count in the words joined by newlines."""
    if isinstance(words, str):
        words = shlex.split(words)
    arguments, position = [], 0
    for word in words:
        width = len(word) if word is not None else 4
        inner = verbatim(word, position) if word is not None else None
        arguments.append(Argument(word, Span(position, position + width), inner=inner))
        position += width + 1
    environment, position = [], 1000
    for name, value in variables.items() if isinstance(variables, dict) else variables:
        whole = Span(position, position + len(name) + 1 + len(value or ""))
        environment.append(Setting(name, value, Span(position + len(name) + 1, whole.end), whole, name))
        position = whole.end + 1
    span = Span(5000, 5010)
    image = Setting("image", f"{IMAGE}:{tag}", span, span, "image") if tag is not None else None
    facts: dict[str, Any] = {} if launcher is None else {"launcher": launcher}
    return Serving(
        "compose.yaml", span, "kubernetes", "tgi", NoWriter("a test"), None, image, None, tuple(arguments), (),
        tuple(environment), (), facts,
    )  # fmt: skip


def reading(*parts: Any, **named: Any) -> Reading:
    return read_tgi(serving(*parts, **named), UNKNOWN)


def sorts(found: Reading) -> list[str]:
    return [fault.sort for fault in found.faults]


def only_fault(found: Reading) -> Fault:
    (fault,) = found.faults
    return fault


SILENT: list[tuple[Any, Any, str | None]] = [
    ("--model-id Qwen/Qwen2.5-7B-Instruct --max-total-tokens 8192 --max-input-tokens=4096", {}, "3.3.4"),
    ([], {"MODEL_ID": "x", "MAX_INPUT_LENGTH": "3000", "MAX_TOTAL_TOKENS": "4096"}, "1.1.1"),
    ([], {"MODEL_ID": "x", "HF_TOKEN": "s", "CUDA_VISIBLE_DEVICES": "0", "NCCL_DEBUG": "INFO", "MY_APP": "1"}, "3.3.4"),
    (
        [],
        {"MODEL_DIR": "/m", "MAX_OUTPUT_TOKENS": "1", "MODEL_ID2": "x", "MIN_INPUT_LENGTH": "1", "PORTS": "1"},
        "3.3.4",
    ),
    (["--model-id Qwen/Qwen2.5-7B-Instruct", "--max-total-tokens 8192"], {}, "3.3.4"),
    (["--model-id", None, "--max-total-tokens", "8192"], {"MAX_INPUT_TOKENS": None}, "3.3.4"),
    ([None, "--max-input-tokens", "9", "orphan"], {}, "3.3.4"),
    ("--sharded false --num-shard 1 --trust-remote-code --cuda-graphs 1,2,4 --quantize awq", {}, "2.4.1"),
    ("--cors-allow-origin a --cors-allow-origin b -p 80", {"TRUST_REMOTE_CODE": "yes", "NGROK": ""}, "3.3.4"),
    ("--max-input-tokens 9000 --max-batch-prefill-tokens 4096", {}, "3.3.4"),
    ("--max-total-tokens 8192", {"MAX_TOTAL_TOKENS": "8192"}, "3.3.4"),
    ("--help", {}, None),
    ([], {"MAX_INPUT_LENGTH": "1000", "MAX_TOTAL_TOKENS": "2000"}, None),
    (["--max-total-tokens", "3000", "--max-input-tokens", None], {}, "3.3.4"),
]


@pytest.mark.parametrize(("words", "variables", "tag"), SILENT)
def test_sound_launches_are_silent(words: Any, variables: Any, tag: str | None) -> None:
    assert not reading(words, variables, tag=tag).faults


FAULTS: list[tuple[Any, Any, str | None, str, str, str | None, bool]] = [
    ("--max-total-token 1", {}, "3.3.4", "unknown-option", "--max-total-token", "--max-total-tokens", True),
    ("--max_total_tokens 1", {}, None, "unknown-option", "no option", "--max-total-tokens", True),
    ("--max-model-len 1", {}, None, "unknown-option", "no option", "--max-total-tokens", True),
    ("--eos-token-id 1", {}, None, "unknown-option", "no option", None, True),
    ("--brand-new-thing 1", {}, None, "unknown-option", "no option", None, False),
    ([], {"MAX_TOTAL_TOKEN": "1"}, None, "unknown-option", "ignores it", "MAX_TOTAL_TOKENS", False),
    ([], {"max_total_tokens": "1"}, None, "unknown-option", "ignores it", "MAX_TOTAL_TOKENS", False),
    ([], {"MAX_TOKENS_TOTAL": "1"}, None, "unknown-option", "ignores it", "MAX_TOTAL_TOKENS", False),
    ([], {"NUM_SHARDS": "1"}, None, "unknown-option", "ignores it", "NUM_SHARD", False),
    ([], {"MAX_TOTAL_TOKENS": ""}, None, "invalid-value", "empty", None, True),
    ([], {"MAX_TOTAL_TOKENS": "8k"}, None, "invalid-value", "`8k`", None, True),
    ([], {"MAX_TOTAL_TOKENS": "8192 "}, None, "invalid-value", "plain digits", None, True),
    ([], {"MAX_TOTAL_TOKENS": '"8192"'}, None, "invalid-value", "plain digits", None, True),
    ([], {"QUANTIZE": ""}, None, "invalid-value", "one of", None, False),
    ([], {"SHARDED": "yes"}, None, "invalid-value", "true or false", None, True),
    ("--port 70000", {}, None, "invalid-value", "65535", None, True),
    ("--num-shard 0", {}, None, "invalid-value", "at least 1", None, True),
    ("--cuda-memory-fraction 0_9", {}, None, "invalid-value", "a number", None, True),
    ("--cuda-graphs 1,x", {}, None, "invalid-value", "whole number", None, True),
    ("--max-total-tokens", {}, None, "invalid-value", "no value", None, True),
    ("--max-total-tokens --sharded true", {}, None, "invalid-value", "no value", None, True),
    ("--trust-remote-code=true", {}, None, "invalid-value", "switch", None, True),
    ("--max-total-tokens 1 stray", {}, None, "fatal", "no option", None, True),
    ("--port 1 --port 2", {}, None, "fatal", "twice", None, True),
    ("text-generation-launcher --port 1", {}, "3.3.4", "doubled-entry-point", "already", None, True),
    ("--max-total-tokens 16384", {"MAX_TOTAL_TOKENS": "4096"}, None, "shadowed", "argument", None, True),
    ([], [("MAX_TOTAL_TOKENS", "1"), ("MAX_TOTAL_TOKENS", "2")], None, "shadowed", "again", None, True),
    ([], {"MAX_INPUT_TOKENS": "9", "MAX_INPUT_LENGTH": "9"}, "3.3.4", "conflict", "two names", None, True),
    ("--max-input-length 9", {"MAX_INPUT_TOKENS": "9"}, "3.3.4", "conflict", "two names", None, True),
    ([], {"MAX_INPUT_LENGTH": "9"}, "3.3.4", "deprecated", "old name", "MAX_INPUT_TOKENS", True),
    ("--max-input-length 9", {}, "2.2.0", "deprecated", "old name", "--max-input-tokens", True),
    ([], {"MAX_INPUT_TOKENS": "9"}, "1.4.3", "unknown-option", "yet", "MAX_INPUT_LENGTH", False),
    ("--max-input-tokens 3000 --max-total-tokens 3000", {}, "2.2.0", "no-room", "no token", None, True),
    ("--max-input-tokens 3000", {"MAX_TOTAL_TOKENS": "2000"}, None, "no-room", "no token", None, True),
    ([], {"MAX_TOTAL_TOKENS": "1024"}, "1.4.0", "no-room", "default prompt length", None, True),
    ([], {"MAX_INPUT_LENGTH": "2048"}, "1.1.0", "no-room", "default total", None, True),
    ("--max-total-tokens 9 --max-batch-total-tokens 8", {}, None, "conflict", "batch", None, True),
    ("--max-batch-prefill-tokens 9 --max-batch-total-tokens 8", {}, "3.0.0", "conflict", "batch", None, True),
    ("--max-batch-prefill-tokens 9 --max-batch-total-tokens 8", {}, None, "conflict", "batch", None, False),
    ("--sharded true --num-shard 1", {}, None, "conflict", "several shards", None, True),
    ("--quantize exl2 --num-shard 2", {}, None, "conflict", "one shard", None, True),
    ("--ngrok --ngrok-edge e", {}, None, "conflict", "--ngrok-authtoken", None, False),
]


@pytest.mark.parametrize(("words", "variables", "tag", "sort", "text", "suggestion", "certain"), FAULTS)
def test_faults(
    words: Any, variables: Any, tag: str | None, sort: str, text: str, suggestion: str | None, certain: bool
) -> None:
    fault = only_fault(reading(words, variables, tag=tag))
    assert (fault.sort, fault.suggestion, fault.certain) == (sort, suggestion, certain)
    assert text in fault.message


def test_words_are_split_again_only_by_the_image() -> None:
    words = ["--model-id Qwen/Qwen2.5-7B-Instruct"]
    assert reading(words).option("--model-id").value == "Qwen/Qwen2.5-7B-Instruct"
    assert reading(words).option("--model-id").span == Span(11, 35)
    fault = only_fault(reading(words, launcher="launcher"))
    assert (fault.sort, fault.suggestion) == ("not-split", "--model-id")


def test_secrets_are_not_shown() -> None:
    found = reading(
        "--api-key secret-word --ngrok-authtoken secret-word --ngrok=secret-word", {"API_KEY": "other-secret"}
    )
    assert found.faults
    assert not any("secret" in fault.message for fault in found.faults if fault.subject != "--ngrok")


@pytest.mark.parametrize(
    ("words", "variables", "value"),
    [
        ("--model-id a", {"MODEL_ID": "b"}, "a"),
        ("--model-id=a", {}, "a"),
        ([], {"MODEL_ID": "b"}, "b"),
        ([], {"HF_MODEL_ID": "c"}, "c"),
        (["--model-id", None], {"MODEL_ID": "b"}, None),
    ],
)
def test_model(words: Any, variables: Any, value: str | None) -> None:
    assert model_of(serving(words, variables)).value == value


def test_model_is_unknown_where_words_are() -> None:
    assert model_of(serving([None], {"MODEL_ID": "b"})) is None
    assert model_of(serving()) is None


CAPS = [
    ("0.9.4", 20),
    ("1.1.0", 20),
    ("1.1.1", "rest"),
    ("1.3.1", "rest"),
    ("1.3.3", None),
    ("1.3.4", 100),
    ("1.4.3", 100),
    ("2.4.1", 100),
    ("2.4", 100),
    ("1.3", None),
    ("3.0.0", "rest"),
    ("3.3.4-rocm", "rest"),
    ("latest", None),
    ("sha-abcdef0", None),
    (None, None),
]


@pytest.mark.parametrize(("tag", "cap"), CAPS)
def test_default_cap_by_version(tag: str | None, cap: Any) -> None:
    found = reading(tag=tag)
    if isinstance(cap, int):
        assert found.default_cap.value == cap
        assert found.facts["default_cap"] == str(cap)
    else:
        assert found.default_cap is None
        assert found.facts["default_cap"] == cap


@pytest.mark.parametrize(
    ("tag", "reads"), [("2.0.1", False), ("2.0.2", True), ("1.4.5", False), ("2.0", None), ("latest", None)]
)
def test_the_models_own_files_decide_what_stops(tag: str, reads: bool | None) -> None:
    found = reading(tag=tag)
    assert found.facts["reads_generation_config_list"] is reads
    assert found.stop_set.holds("<|im_end|>", 151645) is None
    assert found.reads_model_ids and not found.stops_replace
    (why,) = found.stop_set.unknown
    assert "tokenizer" in why
    assert ("does not read" in why) == (reads is False)


def test_old_version_is_said_where_only_a_list_names_the_turn_end() -> None:
    identity = Identity("llama3", "instruct", (Token("<|eot_id|>", 128009),))
    assert [fault.sort for fault in read_tgi(serving(tag="2.0.1"), identity).faults] == ["ignores-list"]
    assert not read_tgi(serving(tag="2.0.2"), identity).faults
    assert not read_tgi(serving(tag="latest"), identity).faults


def test_versions_of_other_builds() -> None:
    assert version_of(serving(tag="2.3.0-tgi2.2.0-gpu-py310-cu121-ubuntu22.04")) == "2.2.0"
    assert version_of(serving(tag="3.3.4-intel-xpu")) == "3.3.4"


def test_llama_backend_is_another_program() -> None:
    found = reading("--model-gguf x --n-gpu-layers 9", tag="3.3.4-llamacpp")
    assert not found.faults and found.default_cap is None
    assert found.facts["max_stop_sequences"] == 0
    assert "GGUF" in found.stop_set.unknown[0]


def test_totals_are_kept_for_other_rules() -> None:
    facts = reading("--max-total-tokens 8192 --max-stop-sequences 8", {"MAX_INPUT_TOKENS": "4096"}).facts
    assert (facts["max_total_tokens"], facts["max_input_tokens"], facts["max_stop_sequences"]) == (8192, 4096, 8)


def test_table_is_whole() -> None:
    table = option_table()
    assert len(table["flags"]) == 54
    for option in table["flags"]:
        assert option["flag"].startswith("--") and "_" not in option["flag"]
        assert option["kind"] in ("text", "whole", "number", "choice", "truth", "switch")
        assert ("choices" in option) == (option["kind"] == "choice")
        assert option.get("env", "X").isupper()
    assert len(table["source"]["commit"]) == 40


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.none() | st.sampled_from(["--model-id", "--port=1", "-p", "--", "-", "", " ", "--max-total-tokens 9", "x", "--=", "--ngrok", "9", "-x9"]) | st.text(max_size=5), max_size=6),  # noqa: E501
    st.lists(st.tuples(st.sampled_from(["MAX_TOTAL_TOKENS", "QUANTIZE", "SHARDED", "x", "", "MAX_INPUT_LENGTH"]) | st.text(max_size=5), st.none() | st.text(max_size=5)), max_size=4),  # noqa: E501
    st.sampled_from([None, "3.3.4", "1.4", "2", "x"]),
    st.sampled_from(["image", "launcher", None]),
)  # fmt: skip
def test_any_words_are_read(
    words: list[str | None], variables: list[tuple[str, str | None]], tag: Any, launcher: Any
) -> None:
    given_serving = serving(words, variables, tag=tag, launcher=launcher)
    read_tgi(given_serving, UNKNOWN)
    model_of(given_serving)


# Env files.

NEAR = [
    ("MAX_TOTAL_TOKEN", "MAX_TOTAL_TOKENS"),
    ("MAX_TOTAL_TOKNES", "MAX_TOTAL_TOKENS"),
    ("MAX-TOTAL-TOKENS", "MAX_TOTAL_TOKENS"),
    ("max_input_length", "MAX_INPUT_LENGTH"),
    ("MODELID", "MODEL_ID"),
    ("QUANTISE", "QUANTIZE"),
    ("NUM_SHARDS", "NUM_SHARD"),
    ("MAX_CONCURRENT_REQUEST", "MAX_CONCURRENT_REQUESTS"),
    ("MODEL_DIR", None),
    ("MODEL_ID2", None),
    ("HOST", None),
    ("API_KEYS", None),
    ("MAX_OUTPUT_TOKENS", None),
    ("MIN_INPUT_LENGTH", None),
    ("MAX_NEW_TOKENS", None),
    ("HF_TOKEN", None),
    ("MODEL_ID", None),
    ("", None),
    ("MODEL_NAME", None),
    ("MAX_TOKENS", None),
]


@pytest.mark.parametrize(("name", "near"), NEAR)
def test_near_names(name: str, near: str | None) -> None:
    assert near_launcher_name(name) == near


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abc", max_size=6), st.text(alphabet="abc", max_size=6))
def test_distance_is_bounded_and_symmetric(left: str, right: str) -> None:
    full = edit_distance(left, right, 20)
    assert full == edit_distance(right, left, 20)
    assert edit_distance(left, right, 2) == min(full, 3)
    assert (full == 0) == (left == right)


FILES = [
    ("MODEL_ID=a\nMAX_TOTAL_TOKENS=9\n", True),
    ("MODEL_ID=a\nMAX_TOTAL_TOKEN=9\n", True),
    ("MAX_TOTAL_TOKENS=9\nMAX_INPUT_TOKENS=8\n", True),
    ("MODEL_ID=a\nPORT=80\nAPI_KEY=x\n", False),
    ("MODEL_ID=a\n", False),
    ("MAX_INPUT_TOKENS=9\nMAX_OUTPUT_TOKENS=9\n", False),
    ("OTHER_CTX_SIZE=1\n", False),
    ("", False),
]


@pytest.mark.parametrize(("text", "expected"), FILES)
def test_which_env_files_are_tgis(text: str, expected: bool) -> None:
    assert bool(read_env_manifest("x.env", text, "unknown").servings) is expected


def test_env_file_as_a_serving() -> None:
    text = "# top\nMODEL_ID=Qwen/Qwen3-8B\nMAX_TOTAL_TOKENS=8192 # all\nOTHER=$X\n"
    manifest = read_env_manifest("x.env", text, "docker")
    (found,) = manifest.servings
    assert (manifest.kind, manifest.format, found.engine, found.model.value) == (
        "env-file",
        "env",
        "tgi",
        "Qwen/Qwen3-8B",
    )
    assert [(setting.origin, setting.value) for setting in found.environment][1] == ("MAX_TOTAL_TOKENS", "8192 # all")
    assert [comment.text for comment in manifest.comments] == ["# top", "# all"]
    # The comment that spoils the number is another rule's to speak of.
    assert not read_tgi(found, UNKNOWN).faults
    assert isinstance(found.writer.replace(found.environment[1], ["9"]), Refusal)
    edits = found.writer.add("MAX_INPUT_TOKENS", ["4096"])
    assert apply_edits(text, edits) == text + "MAX_INPUT_TOKENS=4096\n"
    assert apply_edits(text, found.writer.replace(found.environment[0], ["b"])) == text.replace("Qwen/Qwen3-8B", "b")
    assert isinstance(found.writer.add("A", ["1", "2"]), Refusal)


def test_faults_stand_where_the_values_do() -> None:
    text = "MODEL_ID=a\nMAX_TOTAL_TOKENS=\nNUM_SHARD=x\n"
    (found,) = read_env_manifest("x.env", text, "unknown").servings
    places = [text[fault.span.start : fault.span.end] for fault in read_tgi(found, UNKNOWN).faults]
    assert places == ["MAX_TOTAL_TOKENS", "x"]


CONSUMERS = [
    (f"docker run --rm --env-file tgi.env {IMAGE}:3.3.4\n", "docker"),
    ("docker run \\\n  --gpus all \\\n  --env-file=./conf/tgi.env \\\n  x\n", "docker"),
    ('podman run --env-file "$HERE/tgi.env" x\n', "docker"),
    ('args+=(--env-file tgi.env)\ndocker run "${args[@]}" x\n', "docker"),
    ("docker compose --env-file tgi.env up\n", "compose"),
    ("docker-compose --env-file tgi.env up\n", "compose"),
    ("uv run --env-file tgi.env main.py\n", None),
    ("services:\n  a:\n    env_file: tgi.env\n", "compose"),
    ("services:\n  a:\n    env_file:\n      - other.env\n      - ./tgi.env\n", "compose"),
    ("services:\n  a:\n    env_file:\n      - path: tgi.env\n        required: false\n", "compose"),
    ("services:\n  a:\n    env_file:\n      - path: tgi.env\n        format: raw\n", "docker"),
    ("services:\n  a:\n    env_file: [tgi.env]\n", "compose"),
    ("services:\n  a:\n    volumes:\n      - tgi.env\n", None),
    ("[Service]\nEnvironmentFile=-/etc/tgi/tgi.env\n", "systemd"),
    ("[Container]\nImage=x\nEnvironmentFile=/etc/tgi/tgi.env\n", "docker"),
    ("set -a; . ./tgi.env\n", "shell"),
    ("source tgi.env\n", "shell"),
    ("kubectl create configmap tgi --from-env-file=tgi.env\n", "docker"),
    ("# docker run --env-file tgi.env x\n", None),
    ("cp my-tgi.env.example tgi.env.bak\n", None),
    ("docker run --env-file my-tgi.env x\n", None),
    ("docker run --env-file tgi.env x\nsource tgi.env\n", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "dialect"), CONSUMERS)
def test_who_reads_the_file(text: str, dialect: str | None) -> None:
    assert consumers(text, "tgi.env") == dialect


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["tgi.env", " ", "\n", "\\\n", "--env-file", "=", "env_file:", "- ", ".", "docker", "run", "source", "EnvironmentFile", "[", "#", '"']), max_size=12).map("".join))  # fmt: skip  # noqa: E501
def test_any_text_may_mention_the_file(text: str) -> None:
    assert consumers(text, "tgi.env") in ("docker", "compose", "systemd", "shell", None)


def test_siblings_tell_the_dialect_and_the_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "tgi.env").write_text("MODEL_ID=a\nMAX_INPUT_LENGTH=9\n")
    (tmp_path / "conf" / "alone.env").write_text("MODEL_ID=a\n")
    (tmp_path / "run.sh").write_text(f"docker run --env-file conf/tgi.env {IMAGE}:3.3.4\n")
    (tmp_path / "huge.sh").write_text("source conf/tgi.env\n" + "#" * 300_000)
    context = Context(tmp_path)
    assert dialect_of("conf/tgi.env", context) == "docker"
    assert dialect_of("conf/alone.env", context) == "unknown"
    assert read("conf/alone.env", Source("MODEL_ID=a\n"), context) is None
    manifest = read("conf/tgi.env", Source("MODEL_ID=a\nMAX_INPUT_LENGTH=9\n"), context)
    (found,) = manifest.servings
    assert (found.version.value, found.version.path, found.image.path) == ("3.3.4", "run.sh", "run.sh")
    assert found.facts["dialect"] == "docker" and "run.sh" in found.hidden[0]
    assert sorts(read_tgi(found, UNKNOWN)) == ["deprecated"]
    (tmp_path / "tgi.service").write_text("[Service]\nEnvironmentFile=/opt/conf/tgi.env\n")
    assert dialect_of("conf/tgi.env", Context(tmp_path)) == "unknown"
    (tmp_path / ".env").write_text("")
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    assert dialect_of(".env", Context(tmp_path)) == "compose"


@pytest.mark.parametrize("row", [row for row in read_rows("cases/cases.handed.jsonl") if row.get("format") == "tgi-env"], ids=lambda row: row["id"])  # fmt: skip  # noqa: E501
def test_public_reports(row: dict[str, Any]) -> None:
    (name,) = [name for name in row["files"] if name.endswith(".env")]
    others = [text for other, text in row["files"].items() if other != name]
    dialect = next((found for text in others if (found := consumers(text, name))), "unknown")
    text = row["files"][name]
    (found,) = read_env_manifest(name, text, dialect).servings
    document = found.facts["document"]
    lines = set()
    for fault in read_tgi(found, UNKNOWN).faults:
        lines.add(text.count("\n", 0, fault.span.start) + 1)
    for entry in document.entries:
        spoilt = entry.value is None or entry.value[:1] == entry.quote != "" or (entry.comment and "#" in entry.value)
        if spoilt:
            lines.add(text.count("\n", 0, entry.whole.start) + 1)
    assert lines == {expected["line"] for expected in row["expect"]}
