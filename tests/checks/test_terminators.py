"""SL101 to SL106 and SL110 on Modelfiles: when they speak, how loud, what they mend; and when they are silent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import DEFAULT, STRICT, explained, of_rule, pod, repaired, run, written

IM_END, END_OF_TEXT = "PARAMETER stop <|im_end|>\n", "PARAMETER stop <|endoftext|>\n"


@pytest.mark.parametrize(
    ("text", "severity", "missing"),
    [
        (f"FROM qwen2.5:7b\n{END_OF_TEXT}", "error", "<|im_end|>"),
        ("FROM llama3.1\nPARAMETER stop <|end_of_text|>\n", "error", "<|eot_id|>"),
        ("FROM gemma2:9b\nPARAMETER stop <eos>\n", "error", "<end_of_turn>"),
        ("FROM qwen3:8b\nPARAMETER stop User:\n", "error", "<|im_end|>"),
        ('FROM qwen3:8b\nPARAMETER stop ""\n', "error", "<|im_end|>"),
        ("FROM ./qwen2.5-7b-instruct-q4_k_m.gguf\n", "warning", "<|im_end|>"),
        ("FROM ./Meta-Llama-3-8B-Instruct.gguf\n", "warning", "<|eot_id|>"),
    ],
)
def test_a_missing_terminator(tmp_path: Path, text: str, severity: str, missing: str) -> None:
    result = run(tmp_path, "Modelfile", text)
    (finding,) = of_rule(result, "SL101")
    assert (finding.severity, missing in finding.message) == (severity, True)
    assert explained(finding)
    assert not of_rule(run(tmp_path, "Modelfile", repaired(result, finding)), "SL101")


@pytest.mark.parametrize(
    "text",
    [
        "FROM qwen2.5:7b\n",
        f"FROM qwen2.5:7b\n{IM_END}",
        f"FROM qwen2.5:7b\n{IM_END}{END_OF_TEXT}",
        'FROM qwen2.5:7b\nPARAMETER stop "<|im_end|>"\n',
        "FROM my-own-model\nPARAMETER stop END\n",
        "FROM ./weights.gguf\n",
        "FROM ./qwen2.5-7b.gguf\n",
        "FROM nomic-embed-text\nPARAMETER stop x\n",
        "FROM {{ .Model }}\nPARAMETER stop x\n",
        "FROM hf.co/Qwen/Qwen2.5-7B-Instruct-GGUF\n",
        "FROM llama3.1\nPARAMETER stop <|eot_id|>\n",
        "FROM ./DeepSeek-R1-Distill-Qwen-7B.gguf\nPARAMETER stop <｜end▁of▁sentence｜>\n",
    ],
)
def test_no_terminator_is_missed(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL101")


def test_a_misspelt_terminator_is_not_missing_too(tmp_path: Path) -> None:
    result = run(tmp_path, "Modelfile", f"FROM qwen2.5:7b\nPARAMETER stop <im_end>\n{END_OF_TEXT}")
    assert [finding.rule for finding in result.findings] == ["SL105"]


def test_vllm_reads_the_ids_itself(tmp_path: Path) -> None:
    assert run(tmp_path, "serve.sh", "vllm serve house/Qwen2.5-7B-Instruct-mine\n").findings == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("serve.sh", "vllm serve house/Qwen2.5-7B-Instruct-mine\n"),
        ("pod.yaml", pod("      args: [--model, house/Qwen2.5-7B-Instruct-mine]\n")),
    ],
)
def test_the_strict_profile_wants_terminators_pinned(tmp_path: Path, name: str, text: str) -> None:
    (finding,) = of_rule(run(tmp_path, name, text, policy=STRICT), "SL103")
    assert (finding.severity, "<|im_end|>" in finding.message) == ("warning", True)
    assert explained(finding)


@pytest.mark.parametrize(("policy", "severity"), [(DEFAULT, "note"), (STRICT, "warning")])
def test_the_second_terminator(tmp_path: Path, policy: object, severity: str) -> None:
    result = run(tmp_path, "Modelfile", f"FROM qwen2.5:7b\n{IM_END}", policy=policy)  # type: ignore[arg-type]
    (finding,) = of_rule(result, "SL102")
    assert finding.severity == severity
    assert repaired(result, finding) == f"FROM qwen2.5:7b\n{IM_END}{END_OF_TEXT}"


@pytest.mark.parametrize(
    "text",
    [
        "FROM qwen2.5:7b\n",
        f"FROM qwen2.5:7b\n{IM_END}{END_OF_TEXT}",
        f"FROM qwen2.5:7b\n{END_OF_TEXT}",
        f"FROM house-model\n{IM_END}",
        f"FROM ./qwen2.5-7b.gguf\n{IM_END}",
    ],
)
def test_no_second_terminator_is_wanted(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL102")


@pytest.mark.parametrize("value", ['""', '""""""', ""])
def test_an_empty_stop(tmp_path: Path, value: str) -> None:
    (finding,) = of_rule(run(tmp_path, "Modelfile", f"FROM qwen2.5:7b\nPARAMETER stop {value}\n{IM_END}"), "SL104")
    assert finding.severity == "error"
    assert explained(finding)


@pytest.mark.parametrize("value", ["x", '" "', '"x"'])
def test_a_stop_with_a_text(tmp_path: Path, value: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", f"FROM qwen2.5:7b\nPARAMETER stop {value}\n"), "SL104")


@pytest.mark.parametrize(
    ("value", "severity", "meant", "safety"),
    [
        ("<im_end>", "error", "<|im_end|>", "safe"),
        ("<|im_end>", "error", "<|im_end|>", "safe"),
        ("|im_end|", "error", "<|im_end|>", "safe"),
        ("&lt;|im_end|&gt;", "error", "<|im_end|>", "safe"),
        ("<eos_token>", "warning", None, None),
        ("eos_token", "warning", None, None),
    ],
)
def test_a_lookalike(tmp_path: Path, value: str, severity: str, meant: str | None, safety: str | None) -> None:
    text = f"FROM qwen2.5:7b\nPARAMETER stop {value}\n{END_OF_TEXT}"
    result = run(tmp_path, "Modelfile", text)
    (finding,) = of_rule(result, "SL105")
    assert (finding.severity, written(result, finding)) == (severity, value)
    assert explained(finding)
    assert (finding.fix.safety if finding.fix else None) == safety
    if meant is not None:
        assert repaired(result, finding) == text.replace(value, meant)


def test_a_lookalike_beside_the_token_itself(tmp_path: Path) -> None:
    text = f"FROM qwen2.5:7b\nPARAMETER stop <im_end>\n{IM_END}{END_OF_TEXT}"
    (finding,) = of_rule(run(tmp_path, "Modelfile", text), "SL105")
    assert finding.fix is None
    assert finding.no_fix is not None
    assert "listed already" in finding.no_fix


@pytest.mark.parametrize("value", ["<|im_end|>", "<|eot_id|>", "User:", "<|house_turn|>", "###", "</answer>"])
def test_no_lookalike(tmp_path: Path, value: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", f"FROM qwen2.5:7b\nPARAMETER stop {value}\n"), "SL105")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("FROM llama3\nPARAMETER stop <|eot_id|>\nPARAMETER stop <|im_end|>\n", "note"),
        ("FROM llama3\nPARAMETER stop <|im_end|>\n", "warning"),
    ],
)
def test_a_foreign_token(tmp_path: Path, text: str, severity: str) -> None:
    result = run(tmp_path, "Modelfile", text)
    (finding,) = of_rule(result, "SL106")
    assert (finding.severity, written(result, finding), finding.fix) == (severity, "<|im_end|>", None)


@pytest.mark.parametrize(
    "text",
    [
        f"FROM qwen2.5:7b\n{IM_END}{END_OF_TEXT}PARAMETER stop <|im_start|>\n",
        "FROM house-model\nPARAMETER stop <|im_end|>\n",
        'FROM llama3\nTEMPLATE """<|im_start|>user\n{{ .Prompt }}<|im_end|>\n"""\nPARAMETER stop <|im_end|>\n',
        "FROM llama3\nPARAMETER stop <|eot_id|>\nPARAMETER stop User:\n",
    ],
)
def test_no_foreign_token(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL106")


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("FROM m\nPARAMETER stop User\n", "note"),
        ("FROM m\nPARAMETER stop ```\n", "note"),
        ('FROM m\nPARAMETER stop " "\n', "note"),
        ("FROM qwen3:8b\nPARAMETER stop </think>\n", "warning"),
    ],
)
def test_ordinary_text(tmp_path: Path, text: str, severity: str) -> None:
    (finding,) = of_rule(run(tmp_path, "Modelfile", text), "SL110")
    assert finding.severity == severity
    assert explained(finding)


@pytest.mark.parametrize("value", ["<|im_end|>", "User:", "### Instruction", "[INST]", "</answer>", "</think>"])
def test_no_ordinary_text(tmp_path: Path, value: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", f"FROM llama3\nPARAMETER stop {value}\n"), "SL110")
