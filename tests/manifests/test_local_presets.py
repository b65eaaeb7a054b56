"""Presets of LM Studio, KoboldCpp and llama-cpp-python: what stops and caps an answer, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from servelint.manifests.local_presets import read
from servelint.manifests.serving import Refusal, Serving
from servelint.text import Source, apply_edits
from tests.checks.linting import loud, of_rule, repaired, run, written

NOWHERE = Context(Path("/nonexistent"))
STOPS, CAP = "llm.prediction.stopStrings", "llm.prediction.maxPredictedTokens"
MODEL = "/m/Qwen2.5-7B-Instruct-Q4_K_M.gguf"
EOS = "tokenizer.ggml.eos_token_id"


def lm_studio(**fields: Any) -> str:
    listed = [{"key": key.replace("__", "."), "value": value} for key, value in fields.items()]
    return json.dumps({"identifier": "@local:q", "name": "Q", "operation": {"fields": listed}, "load": {"fields": []}})


def koboldcpp(**fields: Any) -> str:
    return json.dumps({"model_param": MODEL, "contextsize": 8192, "gpulayers": 99, **fields})


def llama_cpp_python(*overrides: Any, **fields: Any) -> str:
    return json.dumps({"models": [{"model": MODEL, "n_ctx": 8192, "kv_overrides": list(overrides), **fields}]})


def read_servings(text: str, name: str = "preset.json") -> list[Serving]:
    found = read(name, Source(text), NOWHERE)
    return list(found.servings) if found is not None else []


def said(result: Result) -> list[tuple[str, str]]:
    """The rule and the place of what a run would fail on."""
    return sorted((finding.rule, written(result, finding)) for finding in result.findings if finding.severity != "note")


@pytest.mark.parametrize(
    ("name", "text", "engines"),
    [
        ("LM Studio", lm_studio(**{STOPS: ["x"]}), ["lm-studio"]),
        ("KoboldCpp", koboldcpp(), ["koboldcpp"]),
        ("KoboldCpp, its list of models", koboldcpp(model_param=None, model=[MODEL]), ["koboldcpp"]),
        ("llama-cpp-python", llama_cpp_python(), ["llama-cpp-python"]),
        (
            "two models",
            json.dumps({"models": [{"model": "a.gguf", "n_ctx": 1}, {"model": "b.GGUF", "chat_format": "chatml"}]}),
            ["llama-cpp-python", "llama-cpp-python"],
        ),
        ("other settings of LM Studio", lm_studio(**{"llm.load.contextLength": 5}), []),
        ("a name that LM Studio has not", lm_studio(**{"llm.prediction.maxTokens": 5}), []),
        ("a catalogue of models", json.dumps({"models": [{"model": "a.gguf"}]}), []),
        ("models that are no GGUF", json.dumps({"models": [{"model": "org/name", "n_ctx": 1}]}), []),
        ("models that are no objects", json.dumps({"models": ["a.gguf", None, 1]}), []),
        ("one key of KoboldCpp", json.dumps({"model": "a.gguf", "threads": 8}), []),
        ("no object", "[1]", []),
        ("nothing", "", []),
        ("fields that are no list", '{"operation": {"fields": {"key": "llm.prediction.stopStrings"}}}', []),
        ("fields that are no objects", '{"operation": {"fields": [1, null, "x"]}}', []),
    ],
)
def test_whose_file_it_is(name: str, text: str, engines: list[str]) -> None:
    assert [serving.engine for serving in read_servings(text)] == engines


@pytest.mark.parametrize(
    ("name", "text", "stops", "cap", "default"),
    [
        ("LM Studio", lm_studio(**{STOPS: ["a", "b"]}), ["a", "b"], None, None),
        ("no stops", lm_studio(**{STOPS: [], CAP: {"checked": True, "value": 900}}), [], (900, False), None),
        ("an empty box", lm_studio(**{CAP: {"checked": False, "value": 900}, STOPS: ["a"]}), ["a"], None, None),
        ("no box", lm_studio(**{CAP: 900}), [], (900, False), None),
        ("no bound", lm_studio(**{CAP: {"checked": True, "value": -1}}), [], None, None),
        ("KoboldCpp", koboldcpp(), [], None, None),
        ("a limit", koboldcpp(genlimit=900), [], (900, True), None),
        ("no limit", koboldcpp(genlimit=0), [], None, None),
        ("a default", koboldcpp(defaultgenamt=900), [], None, (900, False)),
        ("defaults", koboldcpp(gendefaults='{"max_tokens":800,"stop_sequence":["a"]}'), ["a"], None, (800, False)),
        ("another name", koboldcpp(gendefaults='{"max_length":800}'), [], None, (800, False)),
        ("defaults come first", koboldcpp(gendefaults='{"max_length":800}', defaultgenamt=9), [], None, (800, False)),
        (
            "defaults that overwrite",
            koboldcpp(gendefaults='{"max_tokens":800}', gendefaultsoverwrite=True, genlimit=900),
            [], (800, True), None,
        ),
        (
            "a limit below them",
            koboldcpp(gendefaults='{"max_tokens":800}', gendefaultsoverwrite=True, genlimit=700),
            [], (700, True), None,
        ),
        ("defaults that are no string", koboldcpp(gendefaults={"max_tokens": 800}), [], None, None),
        ("defaults that are no JSON", koboldcpp(gendefaults="none"), [], None, None),
        ("llama-cpp-python", llama_cpp_python(), [], None, None),
    ],
)  # fmt: skip
def test_stops_and_caps(
    tmp_path: Path, name: str, text: str, stops: list[str], cap: tuple[int, bool] | None, default: Any
) -> None:
    servings = run(tmp_path, "preset.json", text).deployments
    (reading,) = [deployment.reading for deployment in servings]
    assert [stop.value for stop in reading.stop_set.texts] == stops
    assert (reading.cap and (reading.cap.value, reading.cap.hard)) == cap
    assert (reading.default_cap and (reading.default_cap.value, reading.default_cap.hard)) == default


@pytest.mark.parametrize(
    ("text", "default"), [(llama_cpp_python(), 16), (koboldcpp(), None), (lm_studio(**{STOPS: ["x"]}), None)]
)
def test_only_the_completions_of_llama_cpp_python_end_after_a_few_tokens(
    tmp_path: Path, text: str, default: int | None
) -> None:
    (deployment,) = run(tmp_path, "preset.json", text).deployments
    assert deployment.reading.facts.get("completions_default") == default


@pytest.mark.parametrize(
    ("name", "override", "ids", "wanted"),
    [
        ("an end", f"{EOS}=int:151645", [151645], []),
        ("blanks around the id, as Python takes them", f"{EOS}=int: 151645", [151645], []),
        ("without a type", f"{EOS}=151645", [], ["SL121"]),
        ("a sign in the value", "general.name=str:a=b", [], ["SL505"]),
        ("a colon in the value", "general.name=str:a:b", [], ["SL505"]),
        ("a comma in the value", "general.name=str:a,b", [], []),
        ("no sign", "general.name", [], ["SL505"]),
        ("true in any case", "tokenizer.ggml.add_bos_token=bool:True", [], []),
        ("no type of its", "general.name=text:a", [], ["SL505"]),
        ("no number", f"{EOS}=int:x", [], ["SL505"]),
        ("no id", f"{EOS}=int:-1", [], ["SL114"]),
        ("no end", f"{EOS}=int:151644", [151644], ["SL114"]),
        ("a key that is not known", "tokenizer.ggml.eos_token_ids=int:151645", [], ["SL121"]),
        ("a str for an id", f"{EOS}=str:151645", [], ["SL121"]),
    ],
)
def test_overrides(tmp_path: Path, name: str, override: str, ids: list[int], wanted: list[str]) -> None:
    result = run(tmp_path, "config.json", llama_cpp_python(override))
    assert said(result) == [(rule, json.dumps(override)) for rule in wanted]
    (deployment,) = result.deployments
    assert [stop.value for stop in deployment.reading.stop_set.ids] == ids
    for finding in result.findings:
        assert "--override-kv" not in finding.message + (finding.help or "")


def test_the_first_override_of_a_key_counts(tmp_path: Path) -> None:
    result = run(tmp_path, "config.json", llama_cpp_python(f"{EOS}=int:151645", f"{EOS}=int:151643"))
    assert said(result) == [("SL512", f'"{EOS}=int:151643"')]
    (deployment,) = result.deployments
    assert [stop.value for stop in deployment.reading.stop_set.ids] == [151645]


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("healthy", lm_studio(**{STOPS: ["<|im_end|>"], CAP: {"checked": True, "value": 4096}}), []),
        ("empty", lm_studio(**{STOPS: [""]}), [("SL104", '""')]),
        ("misspelt", lm_studio(**{STOPS: ["<im_end>"]}), [("SL105", '"<im_end>"')]),
        ("a low cap", lm_studio(**{CAP: {"checked": True, "value": 100}}), [("SL201", "100")]),
        ("an empty box caps nothing", lm_studio(**{CAP: {"checked": False, "value": 100}, STOPS: ["a"]}), []),
        ("loops", lm_studio(**{"llm.prediction.repeatPenalty": {"checked": True, "value": 3}}), [("SL403", "3")]),
        ("a penalty that is off", lm_studio(**{"llm.prediction.repeatPenalty": {"checked": False, "value": 3}}), []),
        ("healthy", koboldcpp(gendefaults='{"max_tokens":4096,"stop_sequence":["<|im_end|>"]}'), []),
        ("empty", koboldcpp(gendefaults='{"stop_sequence":[""]}'), [("SL104", '\\"\\"')]),
        ("a low limit", koboldcpp(genlimit=100), [("SL201", "100")]),
        ("a low default", koboldcpp(defaultgenamt=64), [("SL202", "64")]),
        ("healthy", llama_cpp_python(chat_format="chatml", n_gpu_layers=-1), []),
    ],
)
def test_findings(tmp_path: Path, name: str, text: str, wanted: list[tuple[str, str]]) -> None:
    assert said(run(tmp_path, "preset.json", text)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (lm_studio(**{STOPS: ["<im_end>"]}), lm_studio(**{STOPS: ["<|im_end|>"]})),
        (
            koboldcpp(gendefaults='{"stop_sequence":["<im_end>"],"temperature":0.7}'),
            koboldcpp(gendefaults='{"stop_sequence":["<|im_end|>"],"temperature":0.7}'),
        ),
    ],
)
def test_a_misspelt_stop_is_mended_in_its_place(tmp_path: Path, text: str, wanted: str) -> None:
    result = run(tmp_path, "preset.json", text)
    (finding,) = of_rule(result, "SL105")
    assert repaired(result, finding) == wanted


@given(st.text(max_size=20))
@settings(max_examples=60)
def test_a_stop_in_json_in_a_string_is_written_as_json(value: str) -> None:
    text = koboldcpp(gendefaults=json.dumps({"stop_sequence": ["old"], "max_tokens": 800}))
    (serving,) = read_servings(text)
    stop = serving.last("stop")
    assert stop is not None
    edits = serving.writer.replace(stop, [value])
    assert not isinstance(edits, Refusal)
    after = json.loads(apply_edits(text, edits))
    assert json.loads(after["gendefaults"]) == {"stop_sequence": [value], "max_tokens": 800}


def test_what_the_writer_refuses() -> None:
    (serving,) = read_servings(lm_studio(**{STOPS: ["a"]}))
    stop = serving.last("stop")
    assert stop is not None
    assert isinstance(serving.writer.add("stop", ["a"]), Refusal)
    assert isinstance(serving.writer.replace(stop, ["a", "b"]), Refusal)


_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 300), st.sampled_from(["", "a", "k=int:1", "{}", '["', MODEL])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["key", "value", "checked", "fields", "model"]), inner, max_size=3),
    ),
    max_leaves=6,
)  # fmt: skip
_NAMES = ["operation", "models", "model", "model_param", "contextsize", "gpulayers", "gendefaults", "genlimit",
          "defaultgenamt", "gendefaultsoverwrite", "kv_overrides", "n_ctx"]  # fmt: skip


@given(
    st.one_of(
        st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=6),
        st.lists(_VALUES, max_size=3).map(lambda values: json.loads(llama_cpp_python(*values))),
        _VALUES.map(lambda value: json.loads(lm_studio(**{STOPS: value, CAP: value}))),
        _VALUES.map(lambda value: json.loads(koboldcpp(gendefaults=json.dumps(value), genlimit=value))),
    )
)
@settings(max_examples=100)
def test_any_preset_can_be_linted(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    result = lint("preset.json", text.encode(), NOWHERE, Policy(), True)
    assert result.internal == ()
    for finding in result.findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(text)
    for serving in read_servings(text):
        for setting in serving.settings:
            assert 0 <= setting.span.start <= setting.span.end <= len(text)


def test_silence_on_other_json(tmp_path: Path) -> None:
    assert loud(run(tmp_path, "settings.json", '{"models": [{"model": "a.gguf", "size": 5}]}')) == []
