"""SL201, SL202, SL206 and SL207: caps that cut, and none at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from servelint.checks.caps import is_benchmark
from servelint.checks.policy import Policy
from tests.checks.linting import explained, of_rule, pod, run, written

QWEN = "Qwen/Qwen2.5-7B-Instruct"
TGI = "ghcr.io/huggingface/text-generation-inference"


def override(value: object) -> str:
    """A launch with that server-wide cap."""
    return f"vllm serve {QWEN} --override-generation-config '{{\"max_new_tokens\": {value}}}'\n"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("Modelfile", "FROM m\nPARAMETER num_predict 128\n", "128"),
        ("Modelfile", "FROM m\nPARAMETER num_predict 255\n", "255"),
        ("serve.sh", override(64), "64"),
        ("pod.yaml", pod(f"      args: [{QWEN}, '--override-generation-config={{\"max_new_tokens\": 64}}']\n"), "64"),
        ("generation_config.json", '{"eos_token_id": 2, "max_new_tokens": 20}', "20"),
    ],
)  # fmt: skip
def test_a_low_cap(tmp_path: Path, name: str, text: str, shown: str) -> None:
    result = run(tmp_path, name, text)
    (finding,) = of_rule(result, "SL201")
    assert (finding.severity, finding.fix) == ("warning", None)
    assert shown in finding.message
    assert shown in written(result, finding)
    assert explained(finding)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Modelfile", "FROM m\nPARAMETER num_predict 256\n"),
        ("Modelfile", "FROM m\nPARAMETER num_predict -1\n"),
        ("Modelfile", "FROM m\nPARAMETER num_predict -2\n"),
        ("Modelfile", "FROM m\nPARAMETER num_predict 0\n"),
        ("Modelfile", "FROM nomic-embed-text\nPARAMETER num_predict 10\n"),
        ("bench/Modelfile", "FROM m\nPARAMETER num_predict 10\n"),
        ("load-test/serve.sh", override(64)),
        ("serve.sh", override(4096)),
        ("serve.sh", override('"64"')),
        ("serve.sh", f"vllm serve {QWEN} --max-model-len 128\n"),
        ("serve.sh", f"vllm serve {QWEN} --override-generation-config '{{\"max_tokens\": 64}}'\n"),
        ("serve.sh", "vllm serve Qwen/Qwen3-Reranker-8B --override-generation-config '{\"max_new_tokens\": 1}'\n"),
        ("generation_config.json", '{"eos_token_id": 2, "max_new_tokens": true}'),
        ("generation_config.json", '{"eos_token_id": 2, "max_length": 20}'),
    ],
)
def test_no_low_cap(tmp_path: Path, name: str, text: str) -> None:
    assert not of_rule(run(tmp_path, name, text), "SL201")


def test_the_threshold_is_the_users(tmp_path: Path) -> None:
    policy = Policy(parameters={"SL201": {"threshold": 32}})
    assert not of_rule(run(tmp_path, "Modelfile", "FROM m\nPARAMETER num_predict 32\n", policy=policy), "SL201")
    assert of_rule(run(tmp_path, "Modelfile", "FROM m\nPARAMETER num_predict 31\n", policy=policy), "SL201")


def test_a_low_cap_that_hides_a_runaway_says_so(tmp_path: Path) -> None:
    text = "FROM qwen2.5:7b\nPARAMETER stop <|endoftext|>\nPARAMETER num_predict 100\n"
    (finding,) = of_rule(run(tmp_path, "Modelfile", text), "SL201")
    assert "SL101" in finding.why


@pytest.mark.parametrize("tag", ["1.4.0", "2.4.1", "2.0.4-rocm"])
def test_a_tiny_default(tmp_path: Path, tag: str) -> None:
    result = run(tmp_path, "serve.sh", f"docker run {TGI}:{tag} --model-id {QWEN}\n")
    (finding,) = of_rule(result, "SL202")
    assert finding.severity == "warning"
    assert explained(finding)


@pytest.mark.parametrize("tag", ["3.0.1", "latest", "1.2.0", "$TAG"])
def test_no_tiny_default(tmp_path: Path, tag: str) -> None:
    assert not of_rule(run(tmp_path, "serve.sh", f"docker run {TGI}:{tag} --model-id {QWEN}\n"), "SL202")


@pytest.mark.parametrize("value", ["-1", "-2"])
def test_nothing_ends_generation(tmp_path: Path, value: str) -> None:
    (finding,) = of_rule(run(tmp_path, "Modelfile", f"FROM ./w.gguf\nPARAMETER num_predict {value}\n"), "SL206")
    assert finding.severity == "warning"
    assert explained(finding)


@pytest.mark.parametrize(
    "text",
    [
        "FROM m\nPARAMETER num_predict -1\n",
        "FROM ./w.gguf\n",
        "FROM ./w.gguf\nPARAMETER num_predict 512\n",
        "FROM ./w.gguf\nPARAMETER num_predict -1\nPARAMETER stop END:\n",
    ],
)
def test_something_ends_generation(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL206")


@pytest.mark.parametrize(("context", "limit"), [("2048", "2048"), ("2048", "4096"), ('"2048"', "+4096")])
def test_no_room_for_the_reply(tmp_path: Path, context: str, limit: str) -> None:
    text = f"FROM m\nPARAMETER num_ctx {context}\nPARAMETER num_predict {limit}\n"
    (finding,) = of_rule(run(tmp_path, "Modelfile", text), "SL207")
    assert finding.severity == "warning"
    assert finding.related


@pytest.mark.parametrize(
    ("context", "limit"),
    [("4096", "2048"), ("2048", "-1"), ("0", "5000"), ("32k", "5000"), ("2048", "many"), ("9" * 30, "8" * 40)],
)
def test_room_for_the_reply(tmp_path: Path, context: str, limit: str) -> None:
    text = f"FROM m\nPARAMETER num_ctx {context}\nPARAMETER num_predict {limit}\n"
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL207")


@pytest.mark.parametrize(
    ("path", "benchmark"),
    [("bench/a.sh", True), ("LoadTest.yaml", True), ("throughput.sh", True), ("serve.sh", False), ("a/b.yaml", False)],
)
def test_benchmarks_by_their_path(path: str, benchmark: bool) -> None:
    assert is_benchmark(path) is benchmark


@pytest.mark.parametrize("value", ["--16384", "+-1", "1_0", "9" * 30, "٣"])
def test_what_is_no_number_is_no_room(tmp_path: Path, value: str) -> None:
    text = f"FROM qwen3:8b\nPARAMETER num_ctx 4096\nPARAMETER num_predict {value}\n"
    assert of_rule(run(tmp_path, "Modelfile", text), "SL207") == []
