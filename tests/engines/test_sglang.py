"""A serving as SGLang reads it: its parser, the file of `--config`, faults, stop set, cap, model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.engines.reading import Fault, Reading
from servelint.engines.sglang import model_of, parse_serving, read_sglang
from servelint.engines.sglang_arguments import flags_by_name, parse_words
from servelint.files.context import Context
from servelint.manifests.serving import Argument, NoWriter, Serving, Setting
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.text import Span, verbatim
from tests.checks.linting import loud, run

PREFERRED = "--preferred-sampling-params"
OVERRIDE = "--json-model-override-args"
END = Identity("qwen2.5", "instruct", (Token("<|im_end|>", 151645),), (Token("<|endoftext|>", 151643),))


def serving(*texts: str, version: str | None = None, **facts: Any) -> Serving:
    """A serving whose file's text is its words, one blank apart; `$X` is an unknown word, `$X*` any number of them."""
    arguments, position = [], 0
    for text in texts:
        span = Span(position, position + len(text))
        known, dollar, _ = text.partition("$")
        if dollar:
            arguments.append(Argument(None, span, "comes from outside", known, None, None if "*" in text else 1))
        else:
            arguments.append(Argument(text, span, inner=verbatim(text, position)))
        position += len(text) + 1
    place = Span(0, 0)
    return Serving(
        "deploy/serve.sh", place, "launch-script", "sglang", NoWriter("a test"),
        Setting("version", version, place, place, "image tag") if version else None,
        None, None, tuple(arguments), facts=facts,
    )  # fmt: skip


def read(
    *texts: str, context: Context | None = None, identity: Identity = UNKNOWN, version: str | None = None, **facts: Any
) -> Reading:
    return read_sglang(serving(*texts, version=version, **facts), identity, context)


def faults(*texts: str, version: str | None = None) -> list[Fault]:
    return list(read(*texts, version=version).faults)


def values(reading: Reading, name: str) -> list[Any]:
    return [option.data for option in reading.options if option.name == name]


# The parser.


@pytest.mark.parametrize(
    ("texts", "name", "data"),
    [
        (("--context-length", "4096"), "--context-length", 4096),
        (("--context-length=4096",), "--context-length", 4096),
        (("--context-len", "4096"), "--context-length", 4096),
        (("--context-l=4096",), "--context-length", 4096),
        (("--model", "Q"), "--model-path", "Q"),
        (("--model-path", "Q"), "--model-path", "Q"),
        (("--tp", "2"), "--tensor-parallel-size", 2),
        (("--tp-size=2",), "--tensor-parallel-size", 2),
        (("--tensor-parallel-size", "2"), "--tensor-parallel-size", 2),
        (("--mem-fraction-static", ".9"), "--mem-fraction-static", 0.9),
        (("--trust-remote-code",), "--trust-remote-code", True),
        (("--port", "-1"), "--port", -1),
        ((PREFERRED, '{"temperature": 0.6}'), PREFERRED, {"temperature": 0.6}),
        ((PREFERRED + '={"temperature": 0.6}',), PREFERRED, {"temperature": 0.6}),
        # The last one wins, whichever of its names is used.
        (("--context-length", "1", "--context-len=2"), "--context-length", 2),
        (("--model", "A", "--model-path", "B"), "--model-path", "B"),
        # A value with an equals sign, a blank, or nothing at all.
        (("--served-model-name", "a=b"), "--served-model-name", "a=b"),
        (("--served-model-name", "- b"), "--served-model-name", "- b"),
        (("--served-model-name=",), "--served-model-name", ""),
    ],
)
def test_option(texts: tuple[str, ...], name: str, data: Any) -> None:
    reading = read(*texts)
    option = reading.option(name)
    assert option is not None
    assert option.data == data
    assert [fault.sort for fault in reading.faults if fault.sort != "shadowed"] == []


@pytest.mark.parametrize(
    ("texts", "name", "expected"),
    [
        (("--lora-paths", "a", "b", "--port", "1"), "--lora-paths", ["a", "b"]),
        (("--lora-paths", "--port", "1"), "--lora-paths", [None]),
        (("--lora-paths=a", "--port", "1"), "--lora-paths", ["a"]),
        (("--custom-weight-loader", "x.y", "z.w"), "--custom-weight-loader", ["x.y", "z.w"]),
        (("--lora-paths", "a", "-1"), "--lora-paths", ["a", "-1"]),
    ],
)
def test_options_of_many_values(texts: tuple[str, ...], name: str, expected: list[Any]) -> None:
    reading = read(*texts)
    assert values(reading, name) == expected
    assert reading.faults == ()
    port = reading.option("--port")
    assert (port is not None) is ("--port" in texts)


@pytest.mark.parametrize(
    ("texts", "version", "sort", "marked", "suggestion", "certain"),
    [
        (("--model_path", "Q"), None, "unknown-option", "--model_path", "--model-path", True),
        (("--model_path=Q",), None, "unknown-option", "--model_path=Q", "--model-path", True),
        (("--context_length", "1"), "0.5.0", "unknown-option", "--context_length", "--context-length", True),
        (("--contxt-length", "1"), None, "unknown-option", "--contxt-length", "--context-length", False),
        (("--contxt-length", "1"), "0.5.23", "unknown-option", "--contxt-length", "--context-length", True),
        (("--acme-warmup", "1"), None, "unknown-option", "--acme-warmup", None, False),
        (("--max-model-len", "4096"), None, "unknown-option", "--max-model-len", "--context-length", False),
        (("--gpu-memory-utilization", "0.9"), None, "unknown-option", "--gpu-memory-utilization",
         "--mem-fraction-static", False),
        (("--stop", "x"), None, "unknown-option", "--stop", None, True),
        (("--stop-token-ids", "1"), None, "unknown-option", "--stop-token-ids", None, True),
        (("--max-tokens", "5"), None, "unknown-option", "--max-tokens", None, True),
        (("--max_new_tokens", "5"), None, "unknown-option", "--max_new_tokens", None, True),
        (("--ignore-eos",), None, "unknown-option", "--ignore-eos", None, True),
        (("--generation-config", "vllm"), None, "unknown-option", "--generation-config", None, True),
        (("--override-generation-config", "{}"), None, "unknown-option", "--override-generation-config", None, True),
        (("--me", "1"), "0.5.23", "invalid-value", "--me", None, True),
        (("--mod", "Q"), None, "invalid-value", "--mod", None, False),
        (("--port", "80k"), None, "invalid-value", "80k", None, True),
        (("--port=80k",), None, "invalid-value", "80k", None, True),
        (("--context-length", "4x"), None, "invalid-value", "4x", None, True),
        (("--context-length",), None, "invalid-value", "--context-length", None, True),
        (("--context-length", "--port", "1"), None, "invalid-value", "--context-length", None, True),
        (("--trust-remote-code=true",), None, "invalid-value", "--trust-remote-code=true", None, True),
        (("--trust-remote-code", "true"), None, "fatal", "true", None, True),
        (("--", "x"), None, "fatal", "x", None, True),
        (("Q", "--port", "1"), None, "fatal", "Q", None, True),
        (("--context-length 4096",), None, "not-split", "--context-length 4096", '["--context-length", "4096"]', True),
        (("--sampling-defaults", "Model"), None, "invalid-value", "Model", "model", False),
        ((PREFERRED, "{temperature:0.6}"), None, "lost-quotes", "{temperature:0.6}", '{"temperature": 0.6}', True),
        ((PREFERRED, "'{\"top_k\":1}'"), None, "literal-quotes", "'{\"top_k\":1}'", '{"top_k":1}', True),
        ((PREFERRED, "{'a': True}"), None, "invalid-value", "{'a': True}", '{"a": true}', True),
        ((OVERRIDE, "{eos_token_id:1}"), None, "lost-quotes", "{eos_token_id:1}", '{"eos_token_id": 1}', True),
        ((PREFERRED, '{"stop": ["x"]}'), None, "inert", '{"stop": ["x"]}', None, True),
        ((PREFERRED, '{"stop_token_ids": [1]}'), None, "inert", '{"stop_token_ids": [1]}', None, True),
        ((PREFERRED, '{"max_new_tokens": 5}'), None, "inert", '{"max_new_tokens": 5}', None, True),
        (("--context-length", "1", "--context-length=2"), None, "shadowed", "1", None, True),
        (("--model", "A", "--model-path", "B"), None, "shadowed", "A", None, True),
        (("--enable-ep-moe",), "0.5.23", "removed", "--enable-ep-moe", None, True),
        (("--sampling-defaults", "openai"), "0.4.6.post5", "unknown-option", "--sampling-defaults", None, True),
        (("--sampling-defaults", "openai"), "0.4.1", "unknown-option", "--sampling-defaults", None, True),
    ],
)  # fmt: skip
def test_fault(
    texts: tuple[str, ...], version: str | None, sort: str, marked: str, suggestion: str | None, certain: bool
) -> None:
    found = faults(*texts, version=version)
    assert [fault.sort for fault in found] == [sort], found
    (fault,) = found
    assert " ".join(texts)[fault.span.start : fault.span.end] == marked
    assert (fault.suggestion, fault.certain) == (suggestion, certain)
    assert fault.message


@pytest.mark.parametrize(
    ("texts", "version"),
    [
        (("--model-path", "Q", "--context-length", "4096", "--tp", "2", "--host", "0.0.0.0"), None),
        (("serve", "--model", "Q", "--trust-remote-code"), None),
        (("serve", "Q", "--port", "1"), None),
        (("serve", "$MODEL", "--port", "1"), None),
        (("serve", "--model-type", "llm", "--model", "Q"), None),
        (("serve", "--model-type=llm", "Q"), None),
        (("--enable-ep-moe",), None),
        (("--enable-ep-moe",), "0.4.6.post5"),
        (("--sampling-defaults", "openai"), None),
        # Between the two versions that were looked at, nobody knows.
        (("--sampling-defaults", "openai"), "0.5.0"),
        (("--enable-ep-moe",), "0.5.0"),
        (("--port", "$PORT", "--context-length=$N", PREFERRED, "$J"), None),
        (("$EXTRA*", "stray", "words"), None),
        (("--lora-paths", "$LORAS*", "x"), None),
        (("--model", "Q", "--chat-template", "{{ messages }} --port 80"), None),
        ((PREFERRED, '{"temperature": 0.6, "top_p": 0.9}'), None),
        ((OVERRIDE, '{"eos_token_id": [1, 2]}'), None),
        (("--context-length", "1", "--context-length", "1"), None),
        (("--context-length", "1", "--context-length", "$N"), None),
        (("--model", "Q", "--"), None),
        ((), None),
    ],
)
def test_silent(texts: tuple[str, ...], version: str | None) -> None:
    assert faults(*texts, version=version) == []


@given(st.sampled_from(sorted(flags_by_name())), st.integers(min_value=3))
@settings(max_examples=100)
def test_a_prefix_names_what_only_one_option_begins_with(name: str, length: int) -> None:
    prefix = name[: 3 + length % max(1, len(name) - 2)]
    line = parse_words([Argument(f"{prefix}=1", Span(0, len(prefix) + 2))], None)
    owners = {flag.name for other, flag in flags_by_name().items() if other.startswith(prefix)}
    if prefix in flags_by_name():
        owners = {flags_by_name()[prefix].name}
    if len(owners) == 1:
        assert {option.name for option in line.options} == owners
        assert "ambiguous" not in [misfit.sort for misfit in line.misfits]
    else:
        assert [misfit.sort for misfit in line.misfits] == ["ambiguous"]
        assert line.options == ()


words = st.sampled_from(
    ["--port", "--tp", "1", "x", "--lora-paths", "--trust-remote-code", "--port=2", "--nope", "-1", "-", "--", "", "$A"]
)


@given(st.lists(words, max_size=8))
@settings(max_examples=100)
def test_any_words_are_read(texts: list[str]) -> None:
    reading = read(*texts)
    text = " ".join(texts)
    for option in reading.options:
        assert 0 <= option.name_span.start <= option.name_span.end <= len(text)
        assert flags_by_name()[option.name].name == option.name
    if "$A" not in texts:
        kept = [option.value for option in reading.options if option.value is not None]
        assert all(value in text for value in kept)


# The model.


@pytest.mark.parametrize(
    ("texts", "model", "place"),
    [
        (("--model-path", "acme/quill"), "acme/quill", "acme/quill"),
        (("--model=acme/quill",), "acme/quill", "acme/quill"),
        (("serve", "--model-path", "acme/quill"), "acme/quill", "acme/quill"),
        # `serve` itself takes a first word for the model; the module and its parser have no such place.
        (("serve", "acme/quill", "--port", "1"), "acme/quill", "acme/quill"),
        (("serve", "acme/quill", "--model-path", "acme/other"), "acme/other", "acme/other"),
        (("acme/quill", "--port", "1"), None, None),
        (("serve", "--port", "1", "acme/quill"), None, None),
        (("serve", "--port", "1"), None, None),
        (("--model_path", "acme/quill"), None, None),
    ],
)
def test_model(texts: tuple[str, ...], model: str | None, place: str | None) -> None:
    found = model_of(serving(*texts), None)
    assert (found.value if found else None) == model
    if found is not None:
        assert " ".join(texts)[found.span.start : found.span.end] == place


def test_a_model_that_cannot_be_known() -> None:
    for texts in (("--model-path", "$MODEL"), ("--model=$MODEL",), ("serve", "$MODEL")):
        found = model_of(serving(*texts), None)
        assert found is not None
        assert (found.value, found.reason) == (None, "the value cannot be known")
    assert model_of(serving("$ARGS*"), None) is None


# The file of `--config`.


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("config", "texts", "name", "expected"),
    [
        ("context-length: 8192\n", (), "--context-length", [8192]),
        ("context_length: 8192\n", (), "--context-length", [8192]),
        ("context-length: 8192\n", ("--context-length", "4096"), "--context-length", [8192, 4096]),
        ("model: acme/quill\n", (), "--model-path", ["acme/quill"]),
        ("trust-remote-code: true\n", (), "--trust-remote-code", [True]),
        ("trust-remote-code: false\n", (), "--trust-remote-code", []),
        ("lora-paths: [a, b]\n", (), "--lora-paths", ["a", "b"]),
        ("lora-paths: []\n", (), "--lora-paths", []),
        ("context-length: 0x1000\n", (), "--context-length", [4096]),
        (f"{PREFERRED[2:]}: '{{\"top_k\": 1}}'\n", (), PREFERRED, [{"top_k": 1}]),
        ("no-such-key: 1\n", (), "--port", []),
    ],
)
def test_config_file(project: Path, config: str, texts: tuple[str, ...], name: str, expected: list[Any]) -> None:
    (project / "deploy" / "c.yaml").write_text(config)
    # Wherever it stands, the file lies below the command line.
    for line in (("--config", "c.yaml", *texts), (*texts, "--config", "c.yaml")):
        reading = read(*line, context=Context(project))
        assert values(reading, name) == expected
        assert [fault for fault in reading.faults if fault.sort != "inert"] == []
        last = reading.option(name)
        assert (None if last is None else last.data) == (expected[-1] if expected else None)


def test_only_two_words_name_a_config_file(project: Path) -> None:
    (project / "deploy" / "c.yaml").write_text("context-length: 8192\n")
    assert values(read("--config=c.yaml", context=Context(project)), "--context-length") == []


def test_a_config_file_out_of_reach_leaves_the_line_open() -> None:
    line = parse_serving(serving("--config", "/etc/c.yaml", "--port", "1"), None)
    assert line is not None
    assert line.open
    reading = read("--config", "/etc/c.yaml")
    assert "words of the command line that come from elsewhere" in reading.stop_set.unknown


def test_a_false_switch_of_the_file_does_not_hold(project: Path) -> None:
    (project / "deploy" / "c.yaml").write_text("is-embedding: false\n")
    assert read("--config", "c.yaml", context=Context(project)).generates
    (project / "deploy" / "c.yaml").write_text("is-embedding: true\n")
    assert not read("--config", "c.yaml", context=Context(project)).generates


# Stop set, cap, and what is served.


FOLDER = {
    "model/config.json": '{"eos_token_id": 1, "vocab_size": 9}',
    "model/generation_config.json": '{"eos_token_id": [2, 3]}',
    "model/tokenizer_config.json": '{"eos_token": "<e>", "added_tokens_decoder": {"4": {"content": "<e>"}}}',
}


@pytest.mark.parametrize(
    ("command", "expected", "complete"),
    [
        # A union, wider than vLLM's: config.json counts beside generation_config.json.
        ("python -m sglang.launch_server --model-path ./model", [1, 2, 3, 4], True),
        ("sglang serve ./model", [1, 2, 3, 4], True),
        (f"sglang serve --model ./model {OVERRIDE} '{{\"eos_token_id\": [7, 8]}}'", [7, 8, 1, 2, 3, 4], True),
        # What an override that is not read as JSON may say is not guessed.
        (f"sglang serve --model ./model {OVERRIDE} '{{eos_token_id: 7}}'", [1, 2, 3, 4], True),
        ("sglang serve --model ./model --tokenizer-path acme/other", [], False),
        ('sglang serve --model ./model "$@"', [], False),
        ("docker run lmsysorg/sglang:v0.5.23 sglang serve --model-path ./model", [1, 2, 3, 4], True),
        # The old version does not open generation_config.json.
        ("docker run lmsysorg/sglang:v0.4.6.post5 python3 -m sglang.launch_server --model-path ./model", [1, 4], True),
    ],
)
def test_stop_set_of_a_folder(tmp_path: Path, command: str, expected: list[int], complete: bool) -> None:
    result = run(tmp_path, "serve.sh", f"#!/bin/sh\n{command}\n", FOLDER)
    (deployment,) = result.deployments
    stops = deployment.reading.stop_set
    assert [stop.value for stop in stops.ids] == expected
    assert stops.complete is complete


def test_unread_files_are_unknown() -> None:
    reading = read("--model-path", "acme/quill", identity=END)
    assert reading.reads_model_ids
    assert not reading.stop_set.complete
    assert reading.stop_set.holds("<|im_end|>", 151645) is None
    assert (reading.cap, reading.default_cap) == (None, None)
    assert reading.facts["completions_default"] == 16


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"eos_token_id": 151645}', [(151645, "<|im_end|>")]),
        ('{"eos_token_id": [151645, 151643]}', [(151645, "<|im_end|>"), (151643, "<|endoftext|>")]),
        ('{"eos_token_id": 5}', [(5, None)]),
        ('{"vocab_size": 5}', []),
        ("[1]", []),
        ("{", []),
    ],
)
def test_override_of_the_config_adds_ids(value: str, expected: list[tuple[int, str | None]]) -> None:
    reading = read("--model-path", "acme/quill", OVERRIDE, value, identity=END)
    assert [(stop.value, stop.token) for stop in reading.stop_set.ids] == expected
    assert all(stop.span is not None for stop in reading.stop_set.ids)


@pytest.mark.parametrize(
    ("texts", "serves_chat", "generates"),
    [
        (("--model", "Q"), None, True),
        (("--model", "Q", "--chat-template", "chatml"), True, True),
        (("--model", "Q", "--tool-call-parser", "qwen25"), True, True),
        (("--model", "Q", "--reasoning-parser", "qwen3"), True, True),
        (("--model", "Q", "--is-embedding"), None, False),
    ],
)
def test_what_is_served(texts: tuple[str, ...], serves_chat: bool | None, generates: bool) -> None:
    reading = read(*texts)
    assert (reading.serves_chat, reading.generates) == (serves_chat, generates)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("lmsysorg/sglang:v0.5.23-cu129", ["SL506"]),
        ("registry.example/lmsysorg/sglang:0.5.23", ["SL506"]),
        ("lmsysorg/sglang:v0.4.6.post5", []),
        ("lmsysorg/sglang:latest", []),
        # These tags are no versions of SGLang.
        ("lmsysorg/sglang:deepseek-v3.2", []),
        ("acme/sglang:v1.5.23", []),
        ("lmsysorg/sglang:$TAG", []),
    ],
)
def test_version_of_the_image(tmp_path: Path, image: str, expected: list[str]) -> None:
    command = f"docker run {image} python3 -m sglang.launch_server --model-path Q --enable-ep-moe\n"
    result = run(tmp_path, "serve.sh", command)
    assert [deployment.serving.engine for deployment in result.deployments] == ["sglang"]
    assert [finding.rule for finding in result.findings if finding.severity != "note"] == expected


@pytest.mark.parametrize("beside", [{}, {"t.jinja": "{{ messages }}"}])
def test_chat_template_of_a_file(tmp_path: Path, beside: dict[str, str]) -> None:
    result = run(tmp_path, "serve.sh", "sglang serve --model Q --chat-template ./t.jinja\n", beside)
    template = result.deployments[0].reading.facts["chat_template"]
    assert (template[0] if template else None) == beside.get("t.jinja")


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-7B-Instruct --host 0.0.0.0 --port 30000 --tp 2",
        "sglang serve --model-path Qwen/Qwen2.5-7B-Instruct --mem-fraction-static 0.85 --context-length 32768",
        "sglang serve Qwen/Qwen2.5-7B-Instruct --reasoning-parser qwen3 --tool-call-parser qwen25",
        "docker run --gpus all lmsysorg/sglang:latest python3 -m sglang.launch_server --model Qwen/Qwen2.5-7B-Instruct",
        'sglang serve --model-path "$MODEL" --port "$PORT" "$@"',
    ],
)
def test_healthy_commands_are_silent(tmp_path: Path, command: str) -> None:
    result = run(tmp_path, "serve.sh", f"#!/bin/sh\n{command}\n")
    assert [deployment.serving.engine for deployment in result.deployments] == ["sglang"]
    assert loud(result) == []
