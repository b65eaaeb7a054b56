"""SL502 and SL510 on environment files: what the file's reader keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import explained, loud, of_rule, repaired, run

DOCKER = {"run.sh": "docker run --env-file tgi.env ghcr.io/huggingface/text-generation-inference:3.0.1\n"}
MODEL = "MODEL_ID=Qwen/Qwen2.5-7B-Instruct\n"
TOTAL = "MAX_TOTAL_TOKENS=8192\n"


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        ('MODEL_ID="Qwen/Qwen3-8B"', "MODEL_ID=Qwen/Qwen3-8B"),
        ("MODEL_ID='Qwen/Qwen3-8B'", "MODEL_ID=Qwen/Qwen3-8B"),
        ('HF_TOKEN="a b"', "HF_TOKEN=a b"),
    ],
)
def test_docker_keeps_quotes(tmp_path: Path, line: str, mended: str) -> None:
    result = run(tmp_path, "tgi.env", f"{TOTAL}{line}\n", DOCKER)
    (finding,) = of_rule(result, "SL510")
    assert finding.severity == "error"
    assert explained(finding)
    assert repaired(result, finding) == f"{TOTAL}{mended}\n"


def test_who_reads_the_file_may_be_unknown(tmp_path: Path) -> None:
    (finding,) = of_rule(run(tmp_path, "tgi.env", f'{TOTAL}MODEL_ID="Qwen/Qwen3-8B"\n'), "SL510")
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    "line", ["MODEL_ID=Qwen/Qwen3-8B", 'HF_TOKEN=a"b"', "HF_TOKEN=don't", "HF_TOKEN=", '# MODEL_ID="x"', "HF_TOKEN"]
)
def test_no_quotes_are_kept(tmp_path: Path, line: str) -> None:
    assert not of_rule(run(tmp_path, "tgi.env", f"{TOTAL}{line}\n", DOCKER), "SL510")


@pytest.mark.parametrize(
    ("beside", "severity"),
    [(DOCKER, "error"), ({}, "warning")],
)
def test_a_comment_in_a_value(tmp_path: Path, beside: dict[str, str], severity: str) -> None:
    result = run(tmp_path, "tgi.env", f"{MODEL}MAX_TOTAL_TOKENS=8192  # all\n", beside)
    (finding,) = of_rule(result, "SL502")
    assert finding.severity == severity
    assert explained(finding)
    assert repaired(result, finding) == f"{MODEL}# all\nMAX_TOTAL_TOKENS=8192\n"


@pytest.mark.parametrize("line", ["# head", "  # indented", "HF_TOKEN=a#b", "MAX_INPUT_TOKENS=4096"])
def test_no_comment_in_a_value(tmp_path: Path, line: str) -> None:
    assert not of_rule(run(tmp_path, "tgi.env", f"{MODEL}{TOTAL}{line}\n", DOCKER), "SL502")


def test_a_healthy_file(tmp_path: Path) -> None:
    assert loud(run(tmp_path, "tgi.env", f"# TGI\n{MODEL}{TOTAL}MAX_INPUT_TOKENS=4096\n", DOCKER)) == []
