"""What the server behind a route of LiteLLM does with the route's defaults: findings, and silence where all is well."""

from __future__ import annotations

from pathlib import Path

import pytest

from servelint.checks.deployment import Deployment
from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from tests.manifests.test_litellm import route

OLLAMA = "model: ollama/llama3.1:8b\napi_base: http://ollama:11434\n"
OLLAMA_CHAT = "model: ollama_chat/qwen2.5:7b\n"
OLLAMA_V1 = "model: openai/qwen2.5:7b\napi_base: http://ollama:11434/v1\n"
VLLM = "model: hosted_vllm/Qwen/Qwen2.5-7B-Instruct\napi_base: http://vllm:8000/v1\n"
SGLANG = "model: openai/Qwen/Qwen2.5-7B-Instruct\napi_base: http://sglang:30000/v1\n"
LLAMA_SERVER = "model: openai/qwen2.5-7b-instruct\napi_base: http://llama-server:8080/v1\n"
TGI = "model: openai/tgi\napi_base: http://tgi:80/v1\n"
COMPLETIONS = "model: text-completion-openai/Qwen/Qwen2.5-7B-Instruct\napi_base: http://vllm:8000/v1\n"
UNKNOWN = "model: openai/Qwen/Qwen2.5-7B-Instruct\napi_base: http://inference:8000/v1\n"
HOSTED = "model: openrouter/qwen/qwen-2.5-72b-instruct\n"
AZURE = "model: azure/gpt-4o\napi_base: os.environ/AZURE_BASE\n"
EVERY = (OLLAMA, OLLAMA_CHAT, OLLAMA_V1, VLLM, SGLANG, LLAMA_SERVER, TGI, UNKNOWN, HOSTED, AZURE)
FIVE = 'stop: ["a1", "b1", "c1", "d1", "e1"]'
BOTH = 'stop: ["<|im_end|>", "<|endoftext|>"]'


def check(parameters: str, name: str = "chat", tail: str = "") -> Result:
    result = lint(
        "config.yaml", (route(parameters, name) + tail).encode(), Context(Path("/nonexistent")), Policy(), True
    )
    assert result.internal == ()
    return result


def found(result: Result) -> list[tuple[str, str, int]]:
    return [(f.rule, f.severity, result.text.count("\n", 0, f.span.start) + 1) for f in result.findings]


def deployed(parameters: str) -> Deployment:
    (deployment,) = check(parameters).deployments
    return deployment


FIRING = [
    ("Ollama: an empty list", OLLAMA + "stop: []", [("SL104", "error", 6)]),
    ("Ollama: an empty text", OLLAMA_CHAT + 'stop: ["", "<|im_end|>", "<|endoftext|>"]', [("SL104", "error", 5)]),
    ("Ollama's OpenAI route: an empty list", OLLAMA_V1 + "stop: []", [("SL104", "warning", 6)]),
    ("Ollama: nothing but an empty text", OLLAMA + 'stop: ""', [("SL104", "error", 6)]),
    ("Ollama: a list of nothing but that", OLLAMA + 'stop: [""]', [("SL104", "error", 6)]),
    ("vLLM: an empty text", VLLM + 'stop: ""', [("SL104", "error", 6)]),
    ("Ollama: a list without the terminator", OLLAMA + "stop: ['\\nObs: ']", [("SL101", "warning", 6)]),
    ("the same on its OpenAI route", OLLAMA_V1 + "stop: ['\\nObs: ']", [("SL101", "warning", 6)]),
    ("Ollama: one text", OLLAMA + "stop: '<|eot_id|>'", [("SL102", "note", 6), ("SL505", "warning", 6)]),
    ("TGI: five stops", TGI + FIVE, [("SL111", "warning", 6)]),
    ("Azure: five stops", AZURE + FIVE, [("SL111", "warning", 6)]),
    ("OpenAI: five stops", "model: gpt-4o-mini\n" + FIVE, [("SL111", "warning", 5)]),
    ("Ollama's OpenAI route: num_ctx", OLLAMA_V1 + "num_ctx: 16384", [("SL208", "warning", 6)]),
    ("Ollama's OpenAI route: think", OLLAMA_V1 + "think: false", [("SL208", "warning", 6)]),
    ("the same in extra_body", OLLAMA_V1 + "extra_body:\n  num_ctx: 9000", [("SL208", "warning", 7)]),
    ("a variable's value is as unread", OLLAMA_V1 + "num_ctx: os.environ/CTX", [("SL208", "warning", 6)]),
    ("vLLM: num_ctx", VLLM + "num_ctx: 16384", [("SL208", "warning", 6)]),
    ("Ollama: stop_token_ids", OLLAMA + "stop_token_ids: [128009]", [("SL208", "warning", 6)]),
    ("Ollama's OpenAI route: max_completion_tokens", OLLAMA_V1 + "max_completion_tokens: 900", [("SL205", "error", 6)]),
    ("vLLM: num_predict", VLLM + "num_predict: 900", [("SL205", "error", 6)]),
    ("vLLM: max_new_tokens", VLLM + "max_new_tokens: 900", [("SL205", "error", 6)]),
    ("Ollama: max_new_tokens", OLLAMA + "max_new_tokens: 900", [("SL205", "error", 6)]),
    ("a low cap", OLLAMA + "max_tokens: 64", [("SL201", "warning", 6)]),
    ("a low cap as a text", VLLM + 'max_tokens: "64"', [("SL201", "warning", 6)]),
    ("a low cap of Ollama's", OLLAMA + "num_predict: 128", [("SL201", "warning", 6)]),
    ("a low cap of a vendor's model", HOSTED + "max_tokens: 32", [("SL201", "warning", 5)]),
    ("no room", OLLAMA + "num_ctx: 2048\nmax_tokens: 4096", [("SL207", "warning", 7)]),
    ("vLLM: ignore_eos", VLLM + "extra_body: {ignore_eos: true}", [("SL112", "error", 6)]),
    ("vLLM: min_tokens at the cap", VLLM + "max_tokens: 900\nmin_tokens: 900", [("SL112", "error", 7)]),
    ("vLLM: a terminator is forbidden", VLLM + "logit_bias: {151645: -100}", [("SL112", "error", 6)]),
    ("vLLM: a special token as a text", VLLM + 'stop: ["<|im_end|>"]', [("SL109", "note", 6)]),
    ("SGLang: the same", SGLANG + 'stop: ["<|im_end|>"]', [("SL109", "note", 6)]),
    ("vLLM: of a model nobody knows", 'model: hosted_vllm/house\nstop: ["<|im_end|>"]', [("SL109", "warning", 5)]),
    ("vLLM: misspelt", VLLM + 'stop: ["<|im_end>"]', [("SL105", "error", 6)]),
    ("Ollama: misspelt", OLLAMA_CHAT + 'stop: ["<|im_end>", "<|im_end|>", "<|endoftext|>"]', [("SL105", "error", 5)]),
    ("Ollama: several in one", OLLAMA_V1 + "stop: '<|im_end|>, <|endoftext|>'",
     [("SL108", "error", 6)]),
    ("a chat model on the completions route", COMPLETIONS, [("SL305", "warning", 4)]),
    ("its cap under another name", COMPLETIONS.replace("-Instruct", "") + "max_completion_tokens: 900",
     [("SL205", "error", 6)]),
    ("a base model as chat", "model: hosted_vllm/Qwen/Qwen2.5-7B", [("SL301", "warning", 4)]),
    ("Ollama: a base model as chat", "model: ollama_chat/llama3:8b-text", [("SL301", "warning", 4)]),
    ("greedy reasoning", "model: hosted_vllm/Qwen/Qwen3-8B\ntemperature: 0", [("SL401", "warning", 5)]),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "wanted"), [row[1:] for row in FIRING], ids=[row[0] for row in FIRING])
def test_faults(parameters: str, wanted: list[tuple[str, str, int]]) -> None:
    assert found(check(parameters.strip("\n"))) == wanted


SILENT = [
    *((f"nothing set: {entry.split()[1]}", entry) for entry in EVERY),
    *((f"a fair cap: {entry.split()[1]}", entry + "max_tokens: 2048\ntemperature: 0.7") for entry in EVERY),
    ("Ollama: complete", OLLAMA_CHAT + BOTH),
    ("Ollama's OpenAI route: complete", OLLAMA_V1 + BOTH),
    ("Ollama: its own options", OLLAMA + "num_ctx: 16384\nkeep_alive: 5m\nrepeat_penalty: 1.1"),
    ("Ollama: the cap under either name", OLLAMA + "max_completion_tokens: 2048"),
    ("Ollama: any number of stops", OLLAMA + 'stop: ["<|eot_id|>", "<|end_of_text|>", "a1", "b1", "c1", "d1"]'),
    ("Ollama: stops that a variable holds", OLLAMA + "stop: os.environ/STOPS"),
    ("Ollama: no value", OLLAMA + "stop: null"),
    ("vLLM: an empty list", VLLM + "stop: []"),
    ("vLLM: stops stand beside its own", VLLM + "stop: ['\\nObs: ']"),
    ("vLLM: the ids beside the text",
     VLLM + 'stop: ["<|im_end|>"]\nextra_body:\n  stop_token_ids: [151645, 151643]'),
    ("vLLM: special tokens are kept", VLLM + 'stop: ["<|im_end|>"]\nextra_body: {skip_special_tokens: false}'),
    ("vLLM: its own fields", VLLM + "extra_body: {ignore_eos: false, repetition_penalty: 1.05}"),
    ("vLLM: a token that ends nothing is forbidden", VLLM + "logit_bias: {151644: -100}"),
    ("llama-server: its samplers", LLAMA_SERVER + "repeat_penalty: 1.1\nn_predict: 900"),
    ("TGI: four stops", TGI + 'stop: ["a1", "b1", "c1", "d1"]'),
    ("a server that nobody knows", UNKNOWN + "num_ctx: 9000\n" + FIVE),
    ("a relay", "model: litellm_proxy/qwen2.5:7b\napi_base: http://litellm:4000\nnum_ctx: 9000"),
    ("an address from outside", "model: openai/qwen2.5:7b\napi_base: os.environ/BASE\nnum_ctx: 9000"),
    ("a cap from outside", OLLAMA + "max_tokens: os.environ/CAP"),
    ("a base model on the completions route", COMPLETIONS.replace("-Instruct", "")),
    ("Ollama templates its completions route", COMPLETIONS.replace("vllm:8000", "ollama:11434")),
    ("the ids are sent along", COMPLETIONS + "extra_body: {stop_token_ids: [151645, 151643]}"),
    ("a base model that the proxy may complete with", "model: ollama/llama3:8b-text"),
    ("the server's own name for a model", "model: hosted_vllm/llama-3-8b\napi_base: http://localhost:8000"),
    ("an embedding model", "model: ollama/nomic-embed-text"),
    ("a choice", VLLM + "max_tokens: 8\nextra_body: {guided_choice: [yes, no]}"),
]  # fmt: skip


@pytest.mark.parametrize("parameters", [row[1] for row in SILENT], ids=[row[0] for row in SILENT])
def test_silence(parameters: str) -> None:
    assert found(check(parameters.strip("\n"))) == []


@pytest.mark.parametrize(
    ("parameters", "name", "mode"),
    [
        (COMPLETIONS, "autocomplete", ""),
        ("model: hosted_vllm/Qwen/Qwen2.5-Coder-7B\n", "fim", ""),
        ("model: hosted_vllm/Qwen/Qwen2.5-7B\n", "drafts", "completion"),
        (VLLM + "max_tokens: 8\n", "intent-classifier", ""),
        (VLLM + "max_tokens: 8\nstop: ''\n", "vectors", "embedding"),
    ],
)
def test_what_a_route_is_for(parameters: str, name: str, mode: str) -> None:
    tail = f"    model_info:\n      mode: {mode}\n" if mode else ""
    assert found(check(parameters.strip("\n"), name, tail)) == []
    # The same route with another name and no mode is told of.
    assert found(check(parameters.strip("\n"))) != []


def test_what_the_model_holds_is_no_cap() -> None:
    assert found(check(OLLAMA.strip("\n"), tail="    model_info: {max_tokens: 64, max_output_tokens: 64}\n")) == []


def test_the_routers_defaults_reach_every_route() -> None:
    tail = "router_settings:\n  default_litellm_params: {max_tokens: 64}\n"
    assert found(check(OLLAMA.strip("\n"), tail=tail)) == [("SL201", "warning", 7)]
    assert found(check(OLLAMA + "max_tokens: 900", tail=tail)) == []


@pytest.mark.parametrize(
    ("parameters", "verdict", "replaces", "texts", "cap"),
    [
        (OLLAMA_CHAT + BOTH, "stops", True, ["<|im_end|>", "<|endoftext|>"], None),
        (OLLAMA_CHAT + "stop: ['Obs: ']", "unknown", True, ["Obs: "], None),
        (VLLM + "stop: ['Obs: ']\nmax_tokens: 900", "unknown", False, ["Obs: "], 900),
        # vLLM compares with a text that has no such token.
        (VLLM + BOTH, "unknown", False, [], None),
        (VLLM + "stop_token_ids: [151645]", "stops", False, [], None),
        (OLLAMA + "max_completion_tokens: 700\nnum_predict: 900", "unknown", True, [], 700),
    ],
)
def test_what_ends_an_answer(parameters: str, verdict: str, replaces: bool, texts: list[str], cap: int | None) -> None:
    deployment = deployed(parameters)
    reading = deployment.reading
    assert (deployment.verdict, reading.stops_replace) == (verdict, replaces)
    assert [text.value for text in reading.stop_set.texts] == texts
    assert (reading.cap.value if reading.cap else None) == cap
    assert not reading.stop_set.complete


def test_what_is_dropped_in_silence_is_told_so() -> None:
    parameters = COMPLETIONS.replace("-Instruct", "") + "max_completion_tokens: 900"
    said = [check(parameters, tail=tail).findings[0].why for tail in ("", "litellm_settings: {drop_params: true}\n")]
    assert ["drop_params" in why for why in said] == [False, True]
