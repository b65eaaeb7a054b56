"""Option files of vLLM and SGLang: the words that each server makes of them, and their repairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.run import Result
from servelint.files.context import Context
from servelint.formats.yaml import read_yaml
from servelint.manifests.engine_config import option_words, read
from servelint.text import Source
from tests.checks.linting import loud, of_rule, repaired, run, written

VLLM = "model: acme/quill\nmax-model-len: 4096\ndtype: auto\nseed: 1\n"
SGLANG = "model-path: acme/quill\ncontext-length: 4096\ndtype: auto\nhost: localhost\n"


def words(text: str, engine: str) -> list[str | None]:
    """The words that the server's parser gets of a file."""
    file = read_yaml(text)
    (root,) = file.documents
    assert root is not None
    return [argument.text for argument in option_words(file, root, engine)]


def places(result: Result) -> list[tuple[str, int, str]]:
    """Rule, line and the text of what is a warning or worse."""
    return [
        (f.rule, result.text.count("\n", 0, f.span.start) + 1, written(result, f))
        for f in result.findings
        if f.severity != "note"
    ]


@pytest.mark.parametrize(
    ("name", "text", "vllm", "sglang"),
    [
        ("a dash", "max-model-len: 1", ["--max-model-len", "1"], ["--max-model-len", "1"]),
        ("an underscore", "context_length: 1", ["--context_length", "1"], ["--context-length", "1"]),
        ("true", "trust-remote-code: true", ["--trust-remote-code"], ["--trust-remote-code"]),
        ("yes", "trust-remote-code: yes", ["--trust-remote-code"], ["--trust-remote-code"]),
        ("false", "trust-remote-code: false", [], []),
        # A quoted word is a text, and a switch takes none.
        ("quoted", 'trust-remote-code: "false"', ["--trust-remote-code", "false"], ["--trust-remote-code", "false"]),
        # SGLang writes a truth value out for what is no switch of it.
        ("no switch, true", "context-length: true", ["--context-length"], ["--context-length", "true"]),
        ("no switch, false", "context-length: false", [], ["--context-length", "false"]),
        ("a list", "lora-paths: [a, b]", ["--lora-paths", "a", "b"], ["--lora-paths", "a", "b"]),
        ("a block list", "lora-paths:\n- a\n- 1\n", ["--lora-paths", "a", "1"], ["--lora-paths", "a", "1"]),
        ("truth in a list", "lora-paths: [yes, off]", *[["--lora-paths", "True", "False"]] * 2),
        ("an empty list", "lora-paths: []", [], []),
        ("nothing", "revision:", ["--revision", "None"], ["--revision", "None"]),
        ("null", "revision: null", ["--revision", "None"], ["--revision", "None"]),
        ("a mapping", "x: {a: 1, b: [c]}", *[["--x", '{"a": 1, "b": ["c"]}']] * 2),
        ("a block mapping", "x:\n  a: true\n  b: null\n", *[["--x", '{"a": true, "b": null}']] * 2),
        ("JSON in a text", "x: '{\"a\": 1}'", *[["--x", '{"a": 1}']] * 2),
        ("an octal number", "revision: 0123456", *[["--revision", "42798"]] * 2),
        ("a hexadecimal number", "port: 0x50", *[["--port", "80"]] * 2),
        ("a version", "revision: 1.10", *[["--revision", "1.1"]] * 2),
        ("a quoted version", "revision: '1.10'", *[["--revision", "1.10"]] * 2),
        ("no number to PyYAML", "seed: 1e3", *[["--seed", "1e3"]] * 2),
        ("a number with an exponent", "x: 1.0e+3", *[["--x", "1000.0"]] * 2),
        ("underscores in a number", "max-model-len: 8_192", *[["--max-model-len", "8192"]] * 2),
        ("an empty text", "served-model-name: ''", *[["--served-model-name", ""]] * 2),
    ],
)
def test_words(name: str, text: str, vllm: list[str], sglang: list[str]) -> None:
    assert words(text, "vllm") == vllm
    assert words(text, "sglang") == sglang


scalars = st.one_of(
    st.integers(-9, 10**6),
    st.sampled_from([0.5, 1.25, -2.0, None, "text", "1", "true", "a b", "", "null", "1.10", "é", "a: b", "#", "{"]),
)
values = st.one_of(scalars, st.lists(scalars, max_size=3), st.booleans())


@given(st.dictionaries(st.sampled_from(["model", "revision", "max-model-len", "port", "lora-modules"]), values))
@settings(max_examples=100)
def test_words_are_what_python_makes_of_the_values(data: dict[str, Any]) -> None:
    text = yaml.safe_dump(data, allow_unicode=True)
    expected: list[str] = []
    for key, value in yaml.safe_load(text).items():
        if value is True:
            expected.append(f"--{key}")
        elif isinstance(value, list):
            expected += [f"--{key}", *map(str, value)] if value else []
        elif value is not False:
            expected += [f"--{key}", str(value)]
    if data:
        assert words(text, "vllm") == expected


# Whose file it is.


@pytest.mark.parametrize(
    ("name", "text", "engine"),
    [
        ("vLLM", VLLM, "vllm"),
        ("underscores", "model: acme/quill\nmax_model_len: 4096\n", "vllm"),
        ("a nested value", VLLM + "override-generation-config:\n  top_k: 1\ndtype: auto\nport: 1\nseed: 2\n", "vllm"),
        ("SGLang", SGLANG, "sglang"),
        ("SGLang, underscores", "model_path: acme/quill\nmem_fraction_static: 0.8\n", "sglang"),
        ("few keys", "model: acme/quill\nmax-model-len: 4096\noverride-generation-config: {top_k: 1}\n", "vllm"),
        ("KAITO", "vllm:\n  model: acme/quill\n  max-model-len: 4096\nmax_probe_steps: 6\n", "vllm"),
        ("a training", "model: acme/quill\nmax_model_len: 4096\nlr: 1\nepochs: 3\nbatch: 2\n", None),
        ("values of a chart", "model: {name: x}\nimage: {tag: y}\nvllm: {max-model-len: 1}\n", None),
        ("one key", "max-model-len: 4096 # model\n", None),
        ("two documents", f"{VLLM}---\n{VLLM}", None),
        ("a list", "- model: acme/quill\n  max-model-len: 4096\n", None),
        ("empty", "# model max-model-len\n", None),
    ],
)
def test_whose_file_it_is(tmp_path: Path, name: str, text: str, engine: str | None) -> None:
    manifest = read("config.yaml", Source(text), Context(tmp_path))
    assert [serving.engine for serving in manifest.servings] == [engine] if manifest else engine is None


def test_options_of_kaito_are_told_where_they_are_named(tmp_path: Path) -> None:
    result = run(
        tmp_path, "params.yaml", "vllm:\n  model: acme/quill\n  max-modle-len: 1\n  max-model-len: 4096\n  seed: 1\n"
    )
    assert places(result) == [("SL504", 3, "max-modle-len")]
    assert result.deployments == ()


# What is found in it.


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("misspelt", VLLM + "max-modle-len: 3\n", [("SL504", 5, "max-modle-len")]),
        ("misspelt, underscores", VLLM + "max_modle_len: 3\n", [("SL504", 5, "max_modle_len")]),
        ("a quoted truth value", VLLM + 'enforce-eager: "false"\n', [("SL505", 5, '"false"')]),
        ("no value", VLLM + "generation-config: null\n", [("SL505", 5, "null")]),
        ("no number", VLLM + "port: 80k\n", [("SL505", 5, "80k")]),
        (
            "ids that are dropped",
            VLLM + "override-generation-config: {eos_token_id: 1}\n",
            [("SL121", 5, "{eos_token_id: 1}")],
        ),
        (
            "ids that are dropped, in a text",
            VLLM + "override-generation-config: '{\"eos_token_id\": 1}'\n",
            [("SL121", 5, '"eos_token_id": 1')],
        ),
        (
            "a cap under a wrong name",
            VLLM + "override-generation-config: {max_tokens: 512}\n",
            [("SL205", 5, "{max_tokens: 512}")],
        ),
        ("a stop", VLLM + "stop-token-ids: [151645]\n", [("SL504", 5, "stop-token-ids")]),
        ("SGLang: misspelt", SGLANG + "contxt-length: 1\n", [("SL504", 5, "contxt-length")]),
        (
            "SGLang: another's option",
            SGLANG + "gpu-memory-utilization: 0.9\n",
            [("SL504", 5, "gpu-memory-utilization")],
        ),
        ("SGLang: a quoted truth value", SGLANG + "trust-remote-code: 'true'\n", [("SL505", 5, "'true'")]),
        ("SGLang: no number", SGLANG + "mem-fraction-static: true\n", [("SL505", 5, "true")]),
        ("SGLang: a stop", SGLANG + "stop-token-ids: [1]\n", [("SL504", 5, "stop-token-ids")]),
        ("SGLang: out of reach", SGLANG + "preferred-sampling-params: {stop: [x]}\n", [("SL121", 5, "{stop: [x]}")]),
    ],
)
def test_finding(tmp_path: Path, name: str, text: str, expected: list[tuple[str, int, str]]) -> None:
    assert places(run(tmp_path, "config.yaml", text)) == expected


@pytest.mark.parametrize(
    ("name", "line", "fixed"),
    [
        (
            "quotes that are part of it",
            'override-generation-config: "\'{\\"top_k\\": 1}\'" # few',
            'override-generation-config: "{\\"top_k\\": 1}" # few',
        ),
        (
            "quotes that are lost",
            "override-generation-config: '{top_k: 1}'",
            "override-generation-config: '{\"top_k\": 1}'",
        ),
        (
            "quotes that are lost in a block",
            "override-generation-config: |-\n  {top_k: 1}",
            'override-generation-config: |-\n  {"top_k": 1}',
        ),
    ],
)
def test_repair(tmp_path: Path, name: str, line: str, fixed: str) -> None:
    result = run(tmp_path, "config.yaml", f"{VLLM}{line}\nport: 80\n")
    (finding,) = of_rule(result, "SL508")
    new = repaired(result, finding)
    assert new.replace(" ", "") == f"{VLLM}{fixed}\nport: 80\n".replace(" ", "")
    assert json.loads(yaml.safe_load(new)["override-generation-config"]) == {"top_k": 1}
    assert of_rule(run(tmp_path, "config.yaml", new), "SL508") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vLLM", VLLM + "tensor-parallel-size: 2\ngpu-memory-utilization: 0.9\nenable-prefix-caching: true\n"),
        ("underscores", "model: acme/quill\nmax_model_len: 4096\nserved_model_name: [a, b]\n"),
        ("an empty list", VLLM + "lora-modules: []\nport: 80\n"),
        ("a false switch", VLLM + "enforce-eager: false\nenable-auto-tool-choice: false\n"),
        ("nested", VLLM + "override-generation-config:\n  temperature: 0.6\n  max_new_tokens: 512\n"),
        ("SGLang", SGLANG + "tp-size: 2\nmem_fraction_static: 0.85\ntrust-remote-code: true\n"),
        ("SGLang, false switches", SGLANG + "is-embedding: false\nskip_tokenizer_init: false\nlora-paths: []\n"),
        ("SGLang, nested", SGLANG + "preferred-sampling-params:\n  temperature: 0.6\n"),
    ],
)
def test_healthy_files_are_silent(tmp_path: Path, name: str, text: str) -> None:
    result = run(tmp_path, "config.yaml", text)
    assert result.kind == "engine-config"
    assert loud(result) == []
    (deployment,) = result.deployments
    assert deployment.serving.model is not None
    assert deployment.serving.model.value == "acme/quill"
    assert deployment.reading.generates


def test_cap_of_the_file(tmp_path: Path) -> None:
    result = run(tmp_path, "config.yaml", VLLM + "override-generation-config: {max_new_tokens: 64}\n")
    (deployment,) = result.deployments
    cap = deployment.reading.cap
    assert cap is not None
    assert (cap.value, cap.hard) == (64, True)
    assert [finding.rule for finding in result.findings if finding.severity != "note"] == ["SL201"]
