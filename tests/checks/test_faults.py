"""What an engine's own parser says, as findings: which rule, how loud, and what is mended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from servelint.checks.faults import _RULES
from tests.checks.linting import explained, loud, of_rule, pod, repaired, run, written
from tests.conftest import ROOT

QWEN = "Qwen/Qwen2.5-7B-Instruct"
PINNED = "docker run vllm/vllm-openai:v0.11.2 --model " + QWEN
TGI = "docker run ghcr.io/huggingface/text-generation-inference:3.0.1 --model-id " + QWEN


def test_every_sort_of_fault_has_its_rule() -> None:
    sorts: set[str] = set()
    for path in (ROOT / "servelint/engines").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        sorts.update(re.findall(r"(?:Fault|_fault)\(\s*\"([a-z-]+)\"", text))
    assert len(sorts) > 8
    assert sorts <= set(_RULES)


@pytest.mark.parametrize(
    ("text", "rule", "severity", "place"),
    [
        (f"{PINNED} --max-modle-len 8192\n", "SL504", "error", "--max-modle-len"),
        (f"vllm serve {QWEN} --max-modle-len 8192\n", "SL504", "warning", "--max-modle-len"),
        (f"{PINNED} --max-model-len 32,768\n", "SL505", "error", "32,768"),
        (f"{PINNED} --override-generation-config '{{\"eos_token_id\": 2}}'\n", "SL121", "warning", '"eos_token_id": 2'),
        (f"{PINNED} '--max-model-len 8192'\n", "SL507", "error", "'--max-model-len 8192'"),
        ("docker run vllm/vllm-openai:v0.11.2 vllm serve m\n", "SL507", "error", "vllm serve"),
        (f"{PINNED} --max-model-len 1024 --max-model-len 8192\n", "SL512", "warning", None),
        (f"{TGI} --max-input-tokens 4096 --max-total-tokens 4096\n", "SL207", "error", None),
        (f"{TGI} --max-total-token 4096\n", "SL504", "error", "--max-total-token"),
    ],
)
def test_faults_of_a_command_line(tmp_path: Path, text: str, rule: str, severity: str, place: str | None) -> None:
    result = run(tmp_path, "serve.sh", text)
    (finding,) = of_rule(result, rule)
    assert finding.severity == severity
    assert place is None or written(result, finding) == place
    assert explained(finding) or finding.why


@pytest.mark.parametrize(
    "text",
    [
        f"vllm serve {QWEN}\n",
        f"{PINNED} --max-model-len 8192 --gpu-memory-utilization=0.9\n",
        f"vllm serve {QWEN} --quite-new-option 5\n",
        f"vllm serve {QWEN} --max-model-len ${{LENGTH:-8192}}\n",
        f"vllm serve {QWEN} $EXTRA\n",
        f'vllm serve {QWEN} "$@"\n',
        f"vllm serve {QWEN} --generation-config vllm\n",
        f"vllm serve {QWEN} --override-generation-config '{{\"temperature\": 0.7}}'\n",
        f"{TGI} --max-input-tokens 4096 --max-total-tokens 8192\n",
    ],
)
def test_a_healthy_command_line(tmp_path: Path, text: str) -> None:
    assert loud(run(tmp_path, "serve.sh", text)) == []


@pytest.mark.parametrize(
    ("name", "text", "rule", "after"),
    [
        (
            "serve.sh",
            f"vllm serve {QWEN} --override-generation-config {{\"temperature\":0.7}}\n",
            "SL508",
            f"vllm serve {QWEN} --override-generation-config '{{\"temperature\":0.7}}'\n",
        ),
        (
            "serve.sh",
            f"vllm serve {QWEN} --override-generation-config={{\"temperature\":0.7}}\n",
            "SL508",
            f"vllm serve {QWEN} --override-generation-config='{{\"temperature\":0.7}}'\n",
        ),
        (
            "pod.yaml",
            pod(f"      args:\n        - {QWEN}\n        - --override-generation-config\n        - \"'{{}}'\"\n"),
            "SL508",
            pod(f"      args:\n        - {QWEN}\n        - --override-generation-config\n        - \"{{}}\"\n"),
        ),
        (
            "serve.sh",
            f"vllm serve {QWEN} --override-generation-config {{\"a\": 1, \"b\":  {{\"c\": 2}}}} --port 80\n",
            "SL508",
            f"vllm serve {QWEN} --override-generation-config '{{\"a\": 1, \"b\":  {{\"c\": 2}}}}' --port 80\n",
        ),
        (
            "serve.sh",
            f"vllm serve {QWEN} --override-generation-config={{\"temperature\":0.7,\"top_k\":5}} --port 80\n",
            "SL508",
            f"vllm serve {QWEN} --override-generation-config='{{\"temperature\":0.7,\"top_k\":5}}' --port 80\n",
        ),
        (
            "serve.sh",
            f"vllm serve {QWEN} --override-generation-config {{\"a\":[1,2]}} --port 80\n",
            "SL508",
            f"vllm serve {QWEN} --override-generation-config '{{\"a\":[1,2]}}' --port 80\n",
        ),
        (
            "pod.yaml",
            pod(
                f"      command: [bash, -c]\n      args:\n        - |\n          vllm serve {QWEN} \\\n"
                "            --override-generation-config {\"temperature\":0.7,\"top_k\":5} \\\n            --port 80\n"
            ),
            "SL508",
            pod(
                f"      command: [bash, -c]\n      args:\n        - |\n          vllm serve {QWEN} \\\n"
                "            --override-generation-config '{\"temperature\":0.7,\"top_k\":5}' \\\n"
                "            --port 80\n"
            ),
        ),
        (
            "pod.yaml",
            pod(f"      args:\n        - {QWEN}\n        - \"--max-model-len 8192\"\n"),
            "SL507",
            pod(f"      args:\n        - {QWEN}\n        - \"--max-model-len\"\n        - \"8192\"\n"),
        ),
    ],
)  # fmt: skip
def test_what_is_mended(tmp_path: Path, name: str, text: str, rule: str, after: str) -> None:
    result = run(tmp_path, name, text)
    (finding,) = of_rule(result, rule)
    assert repaired(result, finding) == after
    assert not of_rule(run(tmp_path, name, after), rule)


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("serve.sh", f"X='--max-model-len 8192'\ndocker run vllm/vllm-openai:v0.11.2 --model {QWEN} \"$X\"\n", "SL507"),
        ("serve.sh", f"vllm serve {QWEN} --override-generation-config {{\"a\":{{\"b\":1,\"c\":2}}}}\n", "SL508"),
        ("pod.yaml", pod("      args: &a [m, '--port 80']\n    - {name: b, image: vllm, args: *a}\n"), "SL507"),
    ],
)  # fmt: skip
def test_what_is_not_mended_says_why(tmp_path: Path, name: str, text: str, rule: str) -> None:
    (finding,) = of_rule(run(tmp_path, name, text), rule)
    assert finding.fix is None
    assert finding.no_fix


@pytest.mark.parametrize(
    ("text", "rule", "severity"),
    [
        ("FROM m\nPARAMETER temprature 1\n", "SL504", "error"),
        ("FROM m\nPARAMETER num_ctx 32k\n", "SL505", "error"),
        ("FROM m\nPARAMETER mirostat 1\n", "SL506", "warning"),
        ('FROM m\nSYSTEM """open\n', "SL503", "error"),
        ("FROM m\nNONSENSE x\n", "SL501", "error"),
        ("PARAMETER num_ctx 4096\n", "SL501", "error"),
        ("FROM m\nPARAMETER max_tokens 512\n", "SL205", "error"),
    ],
)
def test_faults_of_a_modelfile(tmp_path: Path, text: str, rule: str, severity: str) -> None:
    (finding,) = of_rule(run(tmp_path, "Modelfile", text), rule)
    assert finding.severity == severity
    assert explained(finding) or finding.why


def test_a_fault_of_syntax_points_at_its_place(tmp_path: Path) -> None:
    result = run(tmp_path, "generation_config.json", '{"eos_token_id": [1, 2,]}')
    (finding,) = of_rule(result, "SL501")
    assert written(result, finding) == ","
    assert "config.json" in finding.why


def test_a_key_that_stands_twice(tmp_path: Path) -> None:
    (finding,) = of_rule(
        run(tmp_path, "generation_config.json", '{"eos_token_id": [1, 2], "eos_token_id": 2}'), "SL514"
    )
    assert finding.related
    assert "last" in finding.help


@pytest.mark.parametrize(
    ("name", "text", "old", "new"),
    [
        ("serve.sh", f"{TGI} --max-input-length 4096 # long\n", "--max-input-length", "--max-input-tokens"),
        ("serve.sh", f"{TGI} '--max-input-length'=4096\n", "--max-input-length", "--max-input-tokens"),
        ("tgi.env", f"MODEL_ID={QWEN}\nMAX_INPUT_LENGTH=4096\nMAX_TOTAL_TOKENS=8192\n", "_LENGTH", "_TOKENS"),
        (
            "pod.yaml",
            pod(
                f"      env:\n        - {{name: MODEL_ID, value: {QWEN}}}\n        - name: MAX_INPUT_LENGTH  # long\n"
                '          value: "6000"\n',
                "ghcr.io/huggingface/text-generation-inference:3.3.4",
            ),
            "MAX_INPUT_LENGTH",
            "MAX_INPUT_TOKENS",
        ),
    ],
)
def test_a_pure_rename_is_mended_where_the_name_stands(
    tmp_path: Path, name: str, text: str, old: str, new: str
) -> None:
    beside = {"run.sh": "docker run --env-file tgi.env ghcr.io/huggingface/text-generation-inference:3.3.4\n"}
    result = run(tmp_path, name, text, beside)
    (finding,) = of_rule(result, "SL506")
    assert finding.fix is not None and finding.fix.safety == "safe"
    assert repaired(result, finding) == text.replace(old, new)


def test_an_old_name_that_stands_twice_in_its_place_is_left_alone(tmp_path: Path) -> None:
    body = (
        f"      env:\n        - {{name: MODEL_ID, value: {QWEN}}}\n        - {{name: MAX_INPUT_LENGTH, value: '1'}}\n"
    )
    text = pod(body.replace("'1'", "MAX_INPUT_LENGTH"), "ghcr.io/huggingface/text-generation-inference:3.3.4")
    for finding in of_rule(run(tmp_path, "pod.yaml", text), "SL506"):
        assert finding.fix is None
