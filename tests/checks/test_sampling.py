"""SL401 and SL403: sampling that loops."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import chat_folder, explained, of_rule, run, written


@pytest.mark.parametrize(
    ("name", "text", "severity"),
    [
        ("Modelfile", "FROM qwen3:8b\nPARAMETER temperature 0\n", "warning"),
        ("Modelfile", 'FROM qwen3:8b\nPARAMETER temperature "0.0"\n', "warning"),
        ("Modelfile", "FROM deepseek-r1:7b\nPARAMETER temperature 0\n", "note"),
        ("serve.sh", "vllm serve Qwen/Qwen3-8B --override-generation-config '{\"temperature\": 0}'\n", "warning"),
    ],
)
def test_greedy_reasoning(tmp_path: Path, name: str, text: str, severity: str) -> None:
    result = run(tmp_path, name, text)
    (finding,) = of_rule(result, "SL401")
    assert (finding.severity, "temperature" in written(result, finding)) == (severity, True)
    assert explained(finding)


def test_greedy_reasoning_in_a_model_folder(tmp_path: Path) -> None:
    text = '{"eos_token_id": [151645, 151643], "do_sample": false}'
    result = run(tmp_path, "generation_config.json", text, chat_folder("Qwen/Qwen3-8B"))
    (finding,) = of_rule(result, "SL401")
    assert "do_sample false" in finding.message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Modelfile", "FROM qwen2.5:7b\nPARAMETER temperature 0\n"),
        ("Modelfile", "FROM qwen3:8b\nPARAMETER temperature 0.6\n"),
        ("Modelfile", "FROM qwen3:8b\n"),
        ("Modelfile", "FROM m\nPARAMETER temperature 0\n"),
        ("Modelfile", "FROM qwen3:8b\nPARAMETER temperature warm\n"),
        ("serve.sh", 'vllm serve Qwen/Qwen3-8B --override-generation-config \'{"temperature": "x"}\'\n'),
    ],
)
def test_no_greedy_reasoning(tmp_path: Path, name: str, text: str) -> None:
    assert not of_rule(run(tmp_path, name, text), "SL401")


@pytest.mark.parametrize("value", ["0.9", "0", "-1", "1.31", "2", "1" + "0" * 400])
def test_an_extreme_penalty(tmp_path: Path, value: str) -> None:
    text = f'{{"eos_token_id": 2, "repetition_penalty": {value}}}'
    result = run(tmp_path, "generation_config.json", text)
    (finding,) = of_rule(result, "SL403")
    assert (finding.severity, written(result, finding)) == ("warning", value)
    assert len(finding.message) < 100


@pytest.mark.parametrize("value", ["1", "1.0", "1.05", "1.3", "NaN", "null", "true", '"high"'])
def test_an_ordinary_penalty(tmp_path: Path, value: str) -> None:
    text = f'{{"eos_token_id": 2, "repetition_penalty": {value}}}'
    assert not of_rule(run(tmp_path, "generation_config.json", text), "SL403")


@pytest.mark.parametrize(("value", "count"), [("0.8", 1), ("1.1", 0), ("1.5", 1)])
def test_ollamas_penalty(tmp_path: Path, value: str, count: int) -> None:
    assert len(of_rule(run(tmp_path, "Modelfile", f"FROM m\nPARAMETER repeat_penalty {value}\n"), "SL403")) == count
