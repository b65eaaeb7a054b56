"""LiteLLM's configuration: which files are one, what each route says, and repairs in the file's own style."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.policy import Policy
from servelint.checks.run import lint
from servelint.files.context import Context
from servelint.fixing.repair import fix_file
from servelint.manifests.litellm import read, server_of
from servelint.manifests.serving import Manifest, Serving
from servelint.text import Source

NOWHERE = Context(Path("/nonexistent"))


def route(parameters: str, name: str = "chat") -> str:
    """A configuration of one route; every line of `parameters` is one of its fields."""
    lines = "".join(f"      {line}\n" for line in parameters.split("\n"))
    return f"model_list:\n  - model_name: {name}\n    litellm_params:\n{lines}"


def manifest_of(text: str) -> Manifest:
    manifest = read("config.yaml", Source(text), NOWHERE)
    assert manifest is not None
    return manifest


def serving_of(text: str) -> Serving:
    (serving,) = manifest_of(text).servings
    return serving


def fixed(text: str) -> str:
    return fix_file("config.yaml", text.encode(), NOWHERE, Policy()).after.decode()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (route("model: ollama/qwen2.5:7b"), "litellm"),
        ("proxy_config:\n  model_list: [{litellm_params: {model: ollama/llama3}}]\n", "litellm"),
        ("general_settings: {}\n" + route("model: gpt-4o"), "litellm"),
        # Another program's list of models.
        ("model_list:\n  - model_name: a\n    path: /m  # no litellm_params\n", None),
        ("models:\n  litellm_params: {}\n  model_list: 3\n", None),
        ("# model_list and litellm_params\na: 1\n", None),
        ("model_list: []\nlitellm_params: {}\n", None),
        ("", None),
    ],
)
def test_what_is_one(text: str, kind: str | None) -> None:
    assert lint("litellm.yaml", text.encode(), NOWHERE, Policy(), True).kind == kind


def test_a_text_without_a_name_is_one_by_its_keys() -> None:
    text = route("model: ollama_chat/llama3.1:8b\nstop: []")
    assert [finding.rule for finding in lint("-", text.encode(), NOWHERE, Policy(), True).findings] == ["SL104"]


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (route("model: ollama_chat/qwen2.5:7b") + "\t  api_base: http://ollama:11434\n", ["SL501"]),
        (route("model: 'ollama_chat/qwen2.5:7b"), ["SL501"]),
        (route("model: ollama_chat/qwen2.5:7b\nmodel: ollama_chat/qwen2.5:14b"), ["SL514"]),
        # A template only looks like YAML.
        (route("model: {{ .Values.model }}\napi_key: {{ .Values.key }}:x: {"), []),
    ],
)
def test_faults_of_syntax(text: str, rules: list[str]) -> None:
    found = lint("litellm.yaml", text.encode(), NOWHERE, Policy(), True).findings
    assert [finding.rule for finding in found] == rules


@pytest.mark.parametrize(
    ("parameters", "provider", "model", "server"),
    [
        ("model: ollama/qwen2.5:7b", "ollama", "qwen2.5:7b", "ollama"),
        ("model: ollama_chat/mistral", "ollama_chat", "mistral:latest", "ollama"),
        ("model: ollama_chat/me/mine", "ollama_chat", "me/mine", "ollama"),
        ("model: hosted_vllm/Qwen/Qwen3-8B", "hosted_vllm", "Qwen/Qwen3-8B", "vllm"),
        ("model: openai/Qwen/Qwen3-8B\napi_base: http://vllm:8000/v1", "openai", "Qwen/Qwen3-8B", "vllm"),
        ("model: openai/x\nbase_url: http://localhost:11434/v1", "openai", "x:latest", "ollama-v1"),
        ("model: qwen3:8b\ncustom_llm_provider: ollama", "ollama", "qwen3:8b", "ollama"),
        ("model: huggingface/Qwen/Qwen3-8B\napi_base: http://h:80", "huggingface", "Qwen/Qwen3-8B", "tgi"),
        ("model: groq/llama-3.1-8b-instant", "groq", "groq/llama-3.1-8b-instant", "hosted"),
        ("model: gpt-4o", None, "gpt-4o", "openai"),
        ("model: gemma2:27b\napi_base: http://ollama:11434/v1", None, "gemma2:27b", "unknown"),
        ("model: os.environ/MODEL", None, None, "unknown"),
        ("model: openai/${MODEL}", None, None, "unknown"),
        ("model: openai/x\napi_base: os.environ/BASE", "openai", "x", "unknown"),
    ],
)
def test_whose_model_it_is(parameters: str, provider: str | None, model: str | None, server: str) -> None:
    serving = serving_of(route(parameters))
    assert serving.model is not None
    assert (serving.facts["provider"], serving.model.value, serving.facts["server"]) == (provider, model, server)


@pytest.mark.parametrize(
    ("address", "server"),
    [
        ("http://ollama:11434/v1", "ollama-v1"),
        ("http://10.0.0.4:11434/v1", "ollama-v1"),
        ("http://ollama.llm.svc.cluster.local/v1", "ollama-v1"),
        ("https://user:secret@vllm-qwen:8000/v1", "vllm"),
        ("http://sglang:30000/v1", "sglang"),
        ("http://tgi/v1", "tgi"),
        ("http://llama-server:8080/v1", "llama.cpp"),
        ("https://api.openai.com/v1", "openai"),
        # Whoever stands between may speak to anything.
        ("http://ollama-proxy:4000/v1", "unknown"),
        ("http://litellm:4000/v1", "unknown"),
        # The namespace says nothing of the service.
        ("http://models.vllm.svc.cluster.local/v1", "unknown"),
        ("http://localhost:8000/v1", "unknown"),
        ("", "unknown"),
    ],
)
def test_what_an_address_tells(address: str, server: str) -> None:
    assert server_of("openai", "x", address, True) == server


def test_settings_of_a_route_and_of_the_router() -> None:
    text = route("model: ollama_chat/qwen3:8b\nmax_tokens: os.environ/CAP\nstop: [a, b]\ntemperature: null") + (
        "router_settings:\n  default_litellm_params: {max_tokens: 7, seed: 1}\n"
    )
    serving = serving_of(text)
    told = [(setting.name, setting.value, setting.origin) for setting in serving.settings]
    assert told == [
        ("max_tokens", None, "litellm_params.max_tokens"),
        ("stop", "a", "litellm_params.stop"),
        ("stop", "b", "litellm_params.stop"),
        ("seed", "1", "router_settings.default_litellm_params.seed"),
    ]
    assert "CAP" in str(serving.settings[0].reason)


def test_every_route_is_one_serving() -> None:
    text = route("model: ollama/a") + "  - model_name: two\n    litellm_params: {model: ollama/b}\n  - broken\n  - {}\n"
    assert [serving.facts["route"] for serving in manifest_of(text).servings] == ["chat", "two"]


def test_merged_parameters_hold() -> None:
    text = (
        "shared: &shared\n  api_base: http://ollama:11434/v1\n  num_ctx: 9000\n"
        "model_list:\n  - model_name: chat\n    litellm_params:\n      <<: *shared\n      model: openai/qwen3:8b\n"
    )
    found = lint("litellm.yaml", text.encode(), NOWHERE, Policy(), True).findings
    assert [(finding.rule, text.count("\n", 0, finding.span.start) + 1) for finding in found] == [("SL208", 3)]


def test_a_config_map_that_holds_one() -> None:
    inner = "".join(f"    {line}\n" for line in route("model: ollama/llama3.1:8b\nstop: []").splitlines())
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: proxy}}\ndata:\n  config.yaml: |\n{inner}"
    found = lint("map.yaml", text.encode(), NOWHERE, Policy(), True).findings
    assert [(finding.rule, text.count("\n", 0, finding.span.start) + 1) for finding in found] == [("SL104", 10)]


QWEN = "model: ollama_chat/qwen2.5:7b\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('stop: ["\\nObs:"]  # ReAct', 'stop: ["\\nObs:", "<|im_end|>", "<|endoftext|>"]  # ReAct'),
        ("stop: ['Obs:']", "stop: ['Obs:', '<|im_end|>', '<|endoftext|>']"),
        ("stop: [ 'Obs:' ] # x\nseed: 1", "stop: [ 'Obs:', '<|im_end|>', '<|endoftext|>' ] # x\nseed: 1"),
        ('stop:\n- "Obs:"\nseed: 1', 'stop:\n- "Obs:"\n- "<|im_end|>"\n- "<|endoftext|>"\nseed: 1'),
        # One stop becomes a list: Ollama takes nothing else.
        ("stop: 'Obs:'  # x", "stop: ['Obs:', '<|im_end|>', '<|endoftext|>']  # x"),
        ("stop: Obs", 'stop: ["Obs", "<|im_end|>", "<|endoftext|>"]'),
        ('stop: ["<|im_end>"]', 'stop: ["<|im_end|>", "<|endoftext|>"]'),
        ("stop: [\"'<|im_end|>'\"]", 'stop: ["<|im_end|>", "<|endoftext|>"]'),
        ('stop: ["<|im_end|>"]', 'stop: ["<|im_end|>", "<|endoftext|>"]'),
    ],
)
def test_stops_are_added_in_the_style_of_the_file(before: str, after: str) -> None:
    text, wanted = route(QWEN + before), route(QWEN + after)
    repaired = fixed(text)
    # A look-alike is spelt right first; what is then missing is added by the next run.
    repaired = fixed(repaired)
    assert repaired == wanted
    assert fixed(wanted) == wanted


@pytest.mark.parametrize(
    "parameters",
    [
        QWEN + "stop: []",
        QWEN + "stop: ['']",
        QWEN + "stop: ['', 'Obs:']",
        QWEN + "stop: &stops ['Obs:']\nother: *stops",
        QWEN + "stop: |\n  Obs:",
        "model: hosted_vllm/Qwen/Qwen2.5-7B-Instruct\nstop: ['Obs:']",
        "model: openai/qwen2.5:7b\nstop: ['Obs:']",
        QWEN + "stop: os.environ/STOPS",
    ],
)
def test_what_is_not_touched(parameters: str) -> None:
    assert fixed(route(parameters)) == route(parameters)


def test_a_short_terminator_is_not_taken_for_part_of_a_word() -> None:
    text = route('model: ollama_chat/mistral:7b\nstop: ["<tool> s"]')
    assert yaml.safe_load(fixed(text))["model_list"][0]["litellm_params"]["stop"] == ["<tool> s", "</s>"]


def test_stops_of_the_router_are_repaired_where_they_stand() -> None:
    text = route("model: ollama_chat/qwen2.5:7b") + "router_settings:\n  default_litellm_params:\n    stop: ['Obs:']\n"
    assert fixed(text) == text.replace("['Obs:']", "['Obs:', '<|im_end|>', '<|endoftext|>']")


values = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9000), st.text("ab<|im_end>: #'\"\n", max_size=12),
    st.lists(st.sampled_from(["<|im_end|>", "Obs:", "", "<|im_end>", "a b"]), max_size=4),
)  # fmt: skip
names = st.sampled_from(
    [
        "stop",
        "max_tokens",
        "num_ctx",
        "num_predict",
        "temperature",
        "extra_body",
        "logit_bias",
        "min_tokens",
        "api_base",
    ]
)
models = st.sampled_from(
    [
        "ollama/qwen2.5:7b",
        "openai/qwen2.5:7b",
        "hosted_vllm/Qwen/Qwen3-8B",
        "text-completion-openai/a",
        "os.environ/M",
        "",
    ]
)


@settings(max_examples=80, deadline=None)
@given(models, st.dictionaries(names, values, max_size=5), st.booleans())
def test_repairs_change_the_stops_alone_and_settle(model: str, given_fields: dict[str, Any], flow: bool) -> None:
    entry = {"model_name": "chat", "litellm_params": {"model": model, **given_fields}}
    text = yaml.safe_dump({"model_list": [entry]}, default_flow_style=flow, sort_keys=False)
    assert lint("config.yaml", text.encode(), NOWHERE, Policy(), True).internal == ()
    repaired = fixed(text)
    after = yaml.safe_load(repaired)["model_list"][0]["litellm_params"]
    before = yaml.safe_load(text)["model_list"][0]["litellm_params"]
    after.pop("stop", None), before.pop("stop", None)
    assert after == before
    assert fixed(fixed(repaired)) == fixed(repaired)


@settings(max_examples=100, deadline=None)
@given(st.text("model_list:\n  - {litellm_params: [model, ollama/x]}\t&*!|'\"#", max_size=80))
def test_any_text_is_read(tail: str) -> None:
    text = f"model_list:\n  - litellm_params:\n      model: ollama/llama3\n{tail}"
    assert lint("config.yaml", text.encode(), NOWHERE, Policy(), True).internal == ()


def test_stops_of_an_extra_body_are_repaired_there() -> None:
    text = route("model: openai/qwen2.5:7b\napi_base: http://ollama:11434/v1\nextra_body:\n  stop: ['Obs:']")
    assert fixed(text) == text.replace("['Obs:']", "['Obs:', '<|im_end|>', '<|endoftext|>']")


def test_a_repair_within_a_config_map() -> None:
    inner = "".join(f"    {line}\n" for line in route("model: ollama/qwen2.5:7b\nstop: ['Obs:']  # ReAct").splitlines())
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: proxy}}\ndata:\n  config.yaml: |\n{inner}"
    assert fixed(text) == text.replace("['Obs:']", "['Obs:', '<|im_end|>', '<|endoftext|>']")


def test_a_comment_silences_a_finding() -> None:
    text = route("model: ollama/llama3.1:8b\nstop: []  # servelint: ignore[SL104] everything is to be seen")
    assert lint("config.yaml", text.encode(), NOWHERE, Policy(), True).findings == ()
