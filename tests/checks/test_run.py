"""The whole flow: verdicts, selection, order, and above all that nothing raises and healthy files stay silent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servelint.checks import run as run_module
from servelint.checks.deployment import Deployment
from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint, verdict_of
from servelint.engines.reading import Reading, StopId, StopSet, StopText
from servelint.files.context import Context
from servelint.manifests.model_folder import ENGINES
from servelint.models.identity import Identity, Token
from tests.checks.linting import DEFAULT, STRICT, loud, pod, run
from tests.conftest import ROOT, SHARED

NAMES = ("Modelfile", "generation_config.json", "other.json", "tgi.env", "serve.sh", "start", "pod.yaml", "-")
GOOD = sorted(path for path in (ROOT / "examples/good").rglob("*") if path.is_file())
EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*") if path.is_file() and path.suffix != ".md")
CORPUS = sorted(path for path in (SHARED / "corpus").rglob("*") if path.is_file()) if SHARED.is_dir() else []

# Every finding at warning or above in public files, judged one by one: each is a fault of the file.
JUDGED: dict[str, list[str]] = {
    # A cap of 64 and of 32 tokens for everybody; an end given as a text where ids belong; no end at all.
    # Parameters that Ollama dropped or refuses, quotes and blocks that never close, prose where an instruction belongs.
    "modelfiles/01-.General-Purpose.modelfile": ["SL501", "SL506", "SL506", "SL506"],
    "modelfiles/03-CodeLLaMA-Instruct.modelfile": ["SL506"],
    "modelfiles/06-DeepSeek-LLM-Chat.modelfile": ["SL503"],
    "modelfiles/07-NexusRaven-v2.modelfile": ["SL501"],
    "modelfiles/09-Phind-CodeLLaMA.modelfile": ["SL506"],
    "modelfiles/10-Rift-Coder.modelfile": ["SL506"],
    "modelfiles/13-Modelfile.broken": ["SL501", "SL504", "SL505"],
    "modelfiles/15-ollama__ollama--Modelfile": ["SL504"],
    # Remarks behind values, and a template with CRLF in it.
    "modelfiles/14-Modelfile.txt": ["SL309", "SL502", "SL502", "SL502", "SL502", "SL502"],
    # Templates in Ollama's older style with no place for earlier answers: none of them is ever closed.
    "modelfiles/12-Modelfile.qwen": ["SL306"],
    "modelfiles/34-Modelfile.qwen3": ["SL306"],
    "modelfiles/49-Autolycus-Mistral.modelfile": ["SL306"],
    "modelfiles/50-Beyonder.modelfile": ["SL306"],
    "modelfiles/51-CodeLLaMA-oasst-sft.modelfile": ["SL306"],
    "modelfiles/52-Dolphin-Mistral.modelfile": ["SL306"],
    "modelfiles/53-Dolphin-Mixtral.modelfile": ["SL306"],
    "modelfiles/54-Dolphin-OpenOrca.modelfile": ["SL306"],
    # TGI of the series whose answers end after 100 tokens, and an option under its old name.
    "manifests/24-opea-project__GenAIExamples--compose_tgi.yaml": ["SL202"],
    "manifests/28-opea-project__GenAIExamples--compose.yaml": ["SL202", "SL506"],
    # The size of the context where LocalAI does not look for it.
    "llamacpp/36-mudler__LocalAI--qwen3.yaml": ["SL504"],
    # A chat model imported by path, without any stop.
    "modelfiles/37-Modelfile": ["SL101"],
    "modelfiles/42-Modelfile": ["SL101"],
}


def lint_in(folder: Path, path: Path, policy: Policy = DEFAULT) -> Result:
    """Lint a file of a tree as a run there would."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return lint(str(path.relative_to(folder)), path.read_bytes(), Context(folder), policy, True)
    finally:
        os.chdir(before)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: str(path.relative_to(ROOT)))
def test_good_examples_are_silent(path: Path) -> None:
    result = lint_in(ROOT, path)
    assert result.internal == ()
    assert loud(result) == []


def test_bad_examples_are_not() -> None:
    bad = [path for path in EXAMPLES if "bad" in path.parts]
    speaking = {path.parent.name for path in bad if loud(lint_in(ROOT, path))}
    assert {"ollama", "vllm", "tgi", "kserve", "kubernetes", "tickets-3b", "mirror-7b"} <= speaking


@pytest.mark.skipif(not CORPUS, reason="needs the folder of public manifests beside the checkout")
def test_public_files_give_the_judged_findings_and_no_others() -> None:
    folder = SHARED / "corpus"
    found: dict[str, list[str]] = {}
    for path in CORPUS:
        if (
            path.parent.name == "generation_configs"
        ):  # they have judgements of their own: tests/checks/test_model_files.py
            continue
        result = lint_in(folder, path)
        assert result.internal == ()
        rules = sorted(rule for rule, _, _ in loud(result))
        if rules:
            found[result.path] = rules
    assert found == JUDGED


@pytest.mark.skipif(not CORPUS, reason="needs the folder of public manifests beside the checkout")
def test_public_files_break_no_rule_of_the_strict_profile() -> None:
    for path in CORPUS:
        assert lint_in(SHARED / "corpus", path, STRICT).internal == ()


def check(name: str, data: bytes, beside: dict[str, bytes] | None = None) -> Result:
    """Lint bytes under a name, with files beside it that exist only here; the properties of any result hold."""
    context = Context(Path("/nonexistent"), beside)
    result = lint(name, data, context, Policy(select=("ALL",), profile="strict"), True)
    assert result.internal == ()
    for finding in result.findings:
        if finding.path == name:
            assert 0 <= finding.span.start <= finding.span.end <= len(result.text)
        for edit in finding.fix.edits if finding.fix is not None else ():
            assert 0 <= edit.start <= edit.end <= len(result.text)
        for text in (finding.message, finding.why, finding.help, finding.no_fix or ""):
            text.encode("utf-8")
    return result


_MARKED = st.binary(max_size=60).flatmap(
    lambda data: st.sampled_from(
        [
            data,
            b"FROM m\n" + data,
            b'{"eos_token_id": ' + data,
            b"MODEL_ID=" + data + b"\nMAX_TOTAL_TOKENS=1",
            b"#!/bin/sh\nvllm serve " + data,
            pod("      args:\n        - ").encode() + data,
            b"PARAMETER stop " + data,
            b"vllm serve m --override-generation-config '{" + data + b"}'",
            b"\xff\xfe" + data,
            b"\xef\xbb\xbf" + data,
        ]
    )
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(NAMES), _MARKED)
def test_any_bytes_under_any_name(name: str, data: bytes) -> None:
    check(name, data)


_SEEDS = [(path.name, path.read_bytes()) for path in (*EXAMPLES, *CORPUS[::5]) if path.stat().st_size < 8_000]
_SNIPPETS = st.sampled_from(
    [
        b"",
        b"\n",
        b'"',
        b"'",
        b"{",
        b"}",
        b"[",
        b"]",
        b"\\",
        b"#",
        b": ",
        b"- ",
        b" ",
        b"\t",
        b"\r",
        b"\0",
        b"\xff",
        b"{{ .x }}",
        b"$(A)",
        b"${A}",
        b"null",
        b"-1",
        b"9" * 400,
        b"1e999",
        b"&a ",
        b"*a",
        b"<<: ",
        b"---\n",
        b'"""',
        b"<|im_end|>",
        b"stop ",
        b"true",
        b"--",
        b"vllm serve ",
        b"\xed\xa0\x80",
        "\u2028".encode(),
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(_SEEDS),
    st.lists(st.tuples(st.integers(0, 8_000), st.integers(0, 12), _SNIPPETS), min_size=1, max_size=5),
)
def test_mutated_manifests(seed: tuple[str, bytes], changes: list[tuple[int, int, bytes]]) -> None:
    name, data = seed
    for place, length, snippet in changes:
        place %= len(data) + 1
        data = data[:place] + snippet + data[place + length :]
    check(name, data)


_SCALARS = st.sampled_from(
    [
        "vllm/vllm-openai:v0.11.2",
        "ghcr.io/huggingface/text-generation-inference:1.4.0",
        "vllm",
        "serve",
        "sh",
        "-c",
        "m",
        "Qwen/Qwen2.5-7B",
        "--max-model-len",
        '--override-generation-config={"max_new_tokens": 1}',
        "--port 80",
        "$(A)",
        "A",
        "MODEL_ID",
        "MAX_TOTAL_TOKENS",
        "{{ .x }}",
        "",
        "vllm serve m\n--port 80",
        5,
        -1,
        None,
        True,
        1.5,
        10**400,
        "kserve",
        "huggingface",
        "Pod",
        "x: y",
        "it's",
        "\u2028",
        "--chat-template",
        "hf://Qwen/Qwen2.5-7B",
    ]
)
_KEYS = st.sampled_from(
    [
        "name",
        "image",
        "args",
        "command",
        "env",
        "value",
        "valueFrom",
        "envFrom",
        "model",
        "modelFormat",
        "storageUri",
        5,
        None,
    ]
)
_TREES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_KEYS, inner, max_size=5), max_leaves=20
)
_CONTAINERS = st.fixed_dictionaries(
    {"image": _SCALARS, "args": st.lists(_TREES, max_size=6) | _TREES},
    optional={"command": st.lists(_SCALARS, max_size=4) | _TREES, "env": st.lists(_TREES, max_size=3), "model": _TREES},
)
_KINDS = st.sampled_from(
    ["Pod", "Deployment", "List", "InferenceService", "ServingRuntime", "CronJob", "LeaderWorkerSet"]
)


@settings(max_examples=200, deadline=None)
@given(_KINDS, st.lists(_CONTAINERS, max_size=3), _TREES)
def test_any_structure_under_the_keys_of_kubernetes(kind: str, containers: list[Any], tree: Any) -> None:
    inner = {"containers": containers}
    spec: Any = {
        "Pod": inner,
        "ServingRuntime": inner,
        "List": tree,
        "InferenceService": {"predictor": {**inner, "model": containers[0] if containers else tree}},
        "CronJob": {"jobTemplate": {"spec": {"template": {"spec": inner}}}},
        "LeaderWorkerSet": {"leaderWorkerTemplate": {"workerTemplate": {"spec": inner}}},
    }.get(kind, {"template": {"spec": inner}})
    items = [{"kind": "Pod", "spec": inner}, tree]
    document = {"apiVersion": "v1", "kind": kind, "spec": spec, "items": items, "metadata": tree, "x": "vllm"}
    check("pod.yaml", yaml.safe_dump(document, allow_unicode=True).encode())


_JSON = st.recursive(
    st.sampled_from(
        [
            1,
            151645,
            151643,
            -1,
            10**400,
            1.5,
            float("nan"),
            float("inf"),
            True,
            None,
            "",
            "<|im_end|>",
            "151645",
            "\ud800",
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["content", "a", "7"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_FIELDS = st.sampled_from(
    [
        "eos_token_id",
        "max_new_tokens",
        "min_new_tokens",
        "temperature",
        "do_sample",
        "suppress_tokens",
        "repetition_penalty",
        "vocab_size",
        "_name_or_path",
        "eos_token",
        "added_tokens_decoder",
        "eos_id",
    ]
)
_OBJECTS = st.dictionaries(_FIELDS, _JSON, max_size=7) | _JSON


@settings(max_examples=150, deadline=None)
@given(_OBJECTS, _OBJECTS, _OBJECTS, st.booleans())
def test_any_model_folder(own: Any, config: Any, tokenizer: Any, named: bool) -> None:
    import json

    if named and isinstance(config, dict):
        config = {**config, "_name_or_path": "Qwen/Qwen2.5-7B-Instruct"}
    beside = {"config.json": json.dumps(config).encode(), "tokenizer_config.json": json.dumps(tokenizer).encode()}
    check("generation_config.json", json.dumps(own).encode(), beside)


@pytest.mark.parametrize(
    "data",
    [
        pod("").encode() + b"      args: [" + b"[" * 3000,
        b'{"eos_token_id": ' + b"[" * 3000,
        b"FROM m\n" + b"PARAMETER stop " + b'"' * 20_000 + b"\n",
        b"FROM m\n" + b"PARAMETER stop x\n" * 500,
        b"#!/bin/sh\nvllm serve m " + b"$(" * 2000,
        b"#!/bin/sh\nvllm serve m " + b"--override-generation-config " + b"{" * 5000,
        b"MODEL_ID=" + b'"' * 20_000,
        pod("      args: ['" + "$(" * 5000 + "']\n").encode(),
        pod("      args: ['" + "<" * 5000 + "']\n").encode(),
        pod("      command: [sh, -c, '" + "(" * 3000 + "vllm serve m']\n").encode(),
    ],
)
def test_hostile_files(data: bytes) -> None:
    for name in NAMES:
        check(name, data)


def test_no_manifest(tmp_path: Path) -> None:
    result = run(tmp_path, "README.md", "FROM qwen2.5\nvllm serve m\n")
    assert (result.kind, result.findings, result.deployments) == (None, (), ())


def test_findings_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = "FROM m\nPARAMETER num_predict 9\nPARAMETER stop User\nPARAMETER repeat_penalty 9\n"
    found = run(tmp_path, "Modelfile", text).findings
    assert [finding.rule for finding in found] == ["SL201", "SL110", "SL403"]


def test_what_every_engine_says_is_said_once(tmp_path: Path) -> None:
    result = run(tmp_path, "generation_config.json", '{"eos_token_id": 1, "max_new_tokens": 9}')
    assert [finding.rule for finding in result.findings] == ["SL201", "SL203"]
    assert len(result.deployments) == len(ENGINES)


@pytest.mark.parametrize(
    ("policy", "rules"),
    [
        (Policy(), [("SL102", "note"), ("SL201", "warning")]),
        (Policy(select=("SL2",)), [("SL201", "warning")]),
        (Policy(ignore=("low-cap",)), [("SL102", "note")]),
        (Policy(severities={"SL201": "error", "SL1": "off"}), [("SL201", "error")]),
    ],
)
def test_the_users_choice(tmp_path: Path, policy: Policy, rules: list[tuple[str, str]]) -> None:
    text = "FROM qwen2.5:7b\nPARAMETER stop <|im_end|>\nPARAMETER num_predict 9\n"
    found = run(tmp_path, "Modelfile", text, policy=policy).findings
    assert [(finding.rule, finding.severity) for finding in found] == rules


IM_END = Token("<|im_end|>", 151645)
INSTRUCT = Identity(role="instruct", turn=(IM_END,), document=(Token("<|endoftext|>", 151643),))
BASE = Identity(role="base", document=(Token("<|endoftext|>", 151643),))


@pytest.mark.parametrize(
    ("identity", "stop_set", "verdict"),
    [
        (INSTRUCT, StopSet(ids=(StopId(151645, "x"),)), "stops"),
        (INSTRUCT, StopSet(texts=(StopText("<|im_end|>", "x"),)), "stops"),
        (INSTRUCT, StopSet(tokens=("<|im_end|>",)), "stops"),
        (INSTRUCT, StopSet(published=(StopId(151645, "x"),), unknown=("files",)), "stops"),
        (INSTRUCT, StopSet(ids=(StopId(151643, "x"),)), "runs-away"),
        (INSTRUCT, StopSet(ids=(StopId(151643, "x"),), unknown=("files",)), "unknown"),
        (INSTRUCT, StopSet(), "runs-away"),
        (BASE, StopSet(ids=(StopId(151643, "x"),)), "stops"),
        (BASE, StopSet(), "runs-away"),
        (Identity(), StopSet(), "unknown"),
        (Identity(role="instruct"), StopSet(), "unknown"),
    ],
)
def test_verdicts(identity: Identity, stop_set: StopSet, verdict: str) -> None:
    assert verdict_of(identity, Reading(stop_set)) == verdict
    assert verdict_of(identity, Reading(stop_set, generates=False)) == "unknown"


def test_a_broken_rule_leaves_the_others_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(deployment: Deployment, policy: Policy) -> list[Any]:
        raise RuntimeError("no")

    rules = run_module._checks("modelfile")
    monkeypatch.setattr(run_module, "_checks", lambda kind: [broken, *rules])
    result = lint("Modelfile", b"FROM m\nPARAMETER num_predict 9\n", Context(tmp_path), DEFAULT)
    assert [finding.rule for finding in result.findings] == ["SL201"]
    (line,) = result.internal
    assert "RuntimeError: no" in line
    assert "Modelfile" in line
    assert "\n" not in line


def test_a_broken_reader_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("servelint.manifests.modelfile.read", broken)
    result = lint("Modelfile", b"FROM m\n", Context(tmp_path), DEFAULT)
    assert result.kind is None
    assert "servelint.manifests.modelfile:read broke on Modelfile" in result.internal[0]


def test_a_broken_engine_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(run_module, "read_serving", broken)
    result = lint("Modelfile", b"FROM m\n", Context(tmp_path), DEFAULT)
    assert (result.kind, result.deployments) == ("modelfile", ())
    assert "the engine ollama broke" in result.internal[0]
