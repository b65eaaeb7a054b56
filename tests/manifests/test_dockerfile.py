"""Dockerfiles from end to end: what their containers start, what is said of it, and how it is repaired."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.run import Result
from servelint.text import apply_edits
from tests.checks.linting import of_rule, repaired, written
from tests.manifests.test_custom_resources import check, loud, told

VLLM = "vllm/vllm-openai:v0.11.2"
# Up to 0.10.2 the image's entry point is the module, which takes no model without its option.
OLD_VLLM = "vllm/vllm-openai:v0.10.2"
TGI = "ghcr.io/huggingface/text-generation-inference:3.0.1"
MODEL = "Qwen/Qwen3-8B"


def lint(text: str, beside: dict[str, str] | None = None, name: str = "Dockerfile") -> Result:
    """Lint a Dockerfile."""
    return check(text, beside, name)


def all_repaired(result: Result) -> str:
    """The text with every fix applied."""
    edits = [edit for finding in result.findings if finding.fix is not None for edit in finding.fix.edits]
    return apply_edits(result.text, sorted(edits))


@pytest.mark.parametrize(
    ("text", "engine", "version", "argv"),
    [
        (f'FROM {VLLM}\nCMD ["--model", "{MODEL}"]\n', "vllm", "0.11.2", ["--model", MODEL]),
        (f'FROM {VLLM}\nCMD ["{MODEL}", "--port", "1"]\n', "vllm", "0.11.2", [MODEL, "--port", "1"]),
        (f'FROM docker.io/{VLLM}\nCMD ["{MODEL}"]\n', "vllm", "0.11.2", [MODEL]),
        (f'FROM registry.example:5000/mirror/{VLLM}\nCMD ["{MODEL}"]\n', "vllm", "0.11.2", [MODEL]),
        (f'FROM {VLLM}@sha256:{"0" * 64}\nCMD ["{MODEL}"]\n', "vllm", "0.11.2", [MODEL]),
        (f'FROM --platform=linux/arm64 {VLLM}\nCMD ["{MODEL}"]\n', "vllm", "0.11.2", [MODEL]),
        (f'from {VLLM} as Serve\ncmd ["{MODEL}"]\n', "vllm", "0.11.2", [MODEL]),
        (f'FROM vllm/vllm-openai:latest\nCMD ["{MODEL}"]\n', "vllm", None, [MODEL]),
        (f"FROM {VLLM}\n", "vllm", "0.11.2", []),
        (f'FROM {TGI}\nCMD ["--model-id", "{MODEL}"]\n', "tgi", "3.0.1", ["--model-id", MODEL]),
        (f"FROM {TGI}\nENV MODEL_ID={MODEL}\n", "tgi", "3.0.1", []),
        (
            'FROM ghcr.io/ggml-org/llama.cpp:server-cuda-b9000\nCMD ["-m", "/m/q.gguf"]\n',
            "llama.cpp", "b9000", ["-m", "/m/q.gguf"],
        ),
        (
            'FROM ghcr.io/ggml-org/llama.cpp:full\nCMD ["--server", "-m", "/m/q.gguf"]\n',
            "llama.cpp", None, ["-m", "/m/q.gguf"],
        ),
        ("FROM ollama/ollama:0.12.0\n", "ollama", "0.12.0", []),
        # SGLang's image starts no server of itself: the command is given in full.
        (
            f'FROM lmsysorg/sglang:v0.5.3\nCMD ["python3", "-m", "sglang.launch_server", "--model-path", "{MODEL}"]\n',
            "sglang", None, ["--model-path", MODEL],
        ),
        # An image of a house's own, whose words name the engine.
        (f'FROM python:3.12\nCMD ["vllm", "serve", "{MODEL}"]\n', "vllm", None, ["serve", MODEL]),
        (f'FROM rocm/vllm:latest\nCMD ["vllm", "serve", "{MODEL}"]\n', "vllm", None, ["serve", MODEL]),
        (f'FROM rocm/vllm:latest\nCMD ["--model", "{MODEL}"]\n', "vllm", None, ["--model", MODEL]),
    ],
)  # fmt: skip
def test_the_base_image_says_what_is_started(text: str, engine: str, version: str | None, argv: list[str]) -> None:
    (serving,) = told(lint(text))
    assert (serving["engine"], serving["engine_version"], serving["argv"]) == (engine, version, argv)


@pytest.mark.parametrize(
    ("lines", "argv", "line"),
    [
        ('ENTRYPOINT ["vllm", "serve"]\nCMD ["m"]', ["serve", "m"], 3),
        ('CMD ["m"]\nENTRYPOINT ["vllm", "serve"]', ["serve", "m"], 2),
        ('ENTRYPOINT []\nCMD ["vllm", "serve", "m"]', ["serve", "m"], 3),
        ('ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]\nCMD ["--model", "m"]',
         ["--model", "m"], 3),
        ('ENTRYPOINT ["/usr/bin/env", "vllm", "serve", "m"]', ["serve", "m"], 2),
        # Behind an entry point in shell form no command is given to anything.
        ('ENTRYPOINT vllm serve m --max-model-len 8192\nCMD ["--port", "1"]',
         ["serve", "m", "--max-model-len", "8192"], 2),
        ("ENTRYPOINT exec vllm serve m", ["serve", "m"], 2),
        ('ENTRYPOINT ["sh", "-c", "exec vllm serve m"]', ["serve", "m"], 2),
        ('ENTRYPOINT ["bash", "-c", "vllm serve m \\"$@\\"", "--"]\nCMD ["--port", "1"]',
         ["serve", "m", "--port", "1"], 2),
        ('ENTRYPOINT ["tini", "--", "vllm", "serve", "m"]', ["serve", "m"], 2),
        ('ENTRYPOINT ["/usr/bin/tini", "-g", "--"]\nCMD ["vllm", "serve", "m"]', ["serve", "m"], 3),
        ('ENTRYPOINT ["dumb-init", "--"]\nCMD ["bash", "-c", "vllm serve m"]', ["serve", "m"], 3),
        ('ENTRYPOINT ["numactl", "-N", "0", "env", "A=b", "vllm"]\nCMD ["serve", "m"]', ["serve", "m"], 3),
        # The last of each counts.
        ('CMD ["--model", "a"]\nCMD ["--model", "b"]', ["--model", "b"], 3),
        ('ENTRYPOINT ["vllm", "serve", "a"]\nENTRYPOINT ["vllm", "serve", "b"]', ["serve", "b"], 3),
        # A shell of its own, for the shell form only.
        ('SHELL ["/bin/bash", "-o", "pipefail", "-c"]\nENTRYPOINT vllm serve m', ["serve", "m"], 3),
        ('SHELL ["/bin/bash", "-lc"]\nENTRYPOINT ["vllm", "serve", "m"]', ["serve", "m"], 3),
        # Continued lines, with remarks and an empty line between them.
        ("ENTRYPOINT vllm serve m \\\n  # the room\n\n  --port 1", ["serve", "m", "--port", "1"], 2),
        ('CMD ["m", \\\n  # the room\n  "--max-model-len", \\\n  "8192"]', ["m", "--max-model-len", "8192"], 2),
        # Blanks behind the backslash do no harm in a Dockerfile.
        ("ENTRYPOINT vllm serve m \\  \n  --port 1", ["serve", "m", "--port", "1"], 2),
    ],
)  # fmt: skip
def test_entry_point_and_command(lines: str, argv: list[str], line: int) -> None:
    result = lint(f"FROM {VLLM}\n{lines}\n")
    (serving,) = told(result)
    assert (serving["engine"], serving["argv"], serving["line"]) == ("vllm", argv, line)
    assert loud(result) == []


def test_the_escape_character_may_be_another() -> None:
    text = f"# escape=`\nFROM {VLLM}\nENTRYPOINT vllm serve {MODEL} `\n    # the room\n    --max-model-len 8192\n"
    (serving,) = told(lint(text))
    assert serving["argv"] == ["serve", MODEL, "--max-model-len", "8192"]


def test_a_backslash_ends_no_line_where_it_is_not_the_escape_character() -> None:
    text = f"# escape=`\nFROM {VLLM}\nENTRYPOINT vllm serve {MODEL} \\\n    --max-model-len 8192\n"
    assert [finding.rule for finding in lint(text).findings if finding.severity == "error"] == ["SL501"]


# Variables and build arguments


@pytest.mark.parametrize(
    ("text", "version", "argv"),
    [
        (f'ARG TAG=v0.11.2\nFROM vllm/vllm-openai:${{TAG}}\nCMD ["{MODEL}"]\n', "0.11.2", [MODEL]),
        (f'ARG TAG\nFROM vllm/vllm-openai:${{TAG:-v0.11.2}}\nCMD ["{MODEL}"]\n', None, [MODEL]),
        (f'ARG TAG\nFROM vllm/vllm-openai:$TAG\nCMD ["{MODEL}"]\n', None, [MODEL]),
        (f'ARG BASE={VLLM}\nFROM $BASE\nCMD ["{MODEL}"]\n', "0.11.2", [MODEL]),
        # What nobody sets is not known, but the words still name the engine.
        (f'ARG BASE\nFROM $BASE\nCMD ["vllm", "serve", "{MODEL}"]\n', None, ["serve", MODEL]),
        (f"FROM {VLLM}\nENV NAME={MODEL}\nENTRYPOINT vllm serve $NAME\n", "0.11.2", ["serve", MODEL]),
        (f'FROM {VLLM}\nENV NAME="{MODEL}" LEN=8192\nENTRYPOINT vllm serve $NAME --max-model-len ${{LEN}}\n', "0.11.2",
         ["serve", MODEL, "--max-model-len", "8192"]),
        (f"FROM {VLLM}\nENV NAME {MODEL}\nENTRYPOINT vllm serve $NAME\n", "0.11.2", ["serve", MODEL]),
        (f'FROM {VLLM}\nENV MORE="--port 1"\nENTRYPOINT vllm serve {MODEL} $MORE\n', "0.11.2",
         ["serve", MODEL, "--port", "1"]),
        (f'FROM {VLLM}\nENV MORE="--port 1"\nENTRYPOINT ["bash", "-c", "vllm serve {MODEL} $MORE"]\n', "0.11.2",
         ["serve", MODEL, "--port", "1"]),
        (f"FROM {VLLM}\nARG NAME={MODEL}\nENV ID=$NAME\nENTRYPOINT vllm serve $ID\n", "0.11.2", ["serve", MODEL]),
        (f"FROM {VLLM}\nARG NAME\nENV ID=$NAME\nENTRYPOINT vllm serve $ID\n", "0.11.2", ["serve", None]),
        (f"FROM {VLLM}\nARG NAME\nENTRYPOINT vllm serve $NAME\n", "0.11.2", ["serve", None]),
        # An argument before the first FROM is not known behind it, unless it is named there again.
        (f"ARG NAME={MODEL}\nFROM {VLLM}\nENV ID=$NAME\nENTRYPOINT vllm serve $ID\n", "0.11.2", ["serve", None]),
        (f"ARG NAME={MODEL}\nFROM {VLLM}\nARG NAME\nENV ID=$NAME\nENTRYPOINT vllm serve $ID\n", "0.11.2",
         ["serve", MODEL]),
        # No shell, nothing filled in.
        (f'FROM {VLLM}\nENV PORT=1\nCMD ["{MODEL}", "--served-model-name", "$PORT"]\n', "0.11.2",
         [MODEL, "--served-model-name", "$PORT"]),
    ],
)  # fmt: skip
def test_variables(text: str, version: str | None, argv: list[str | None]) -> None:
    result = lint(text)
    (serving,) = told(result)
    assert (serving["engine_version"], serving["argv"]) == (version, argv)
    assert loud(result) == []


def test_the_image_is_not_known_without_its_argument() -> None:
    assert told(lint(f'ARG BASE\nFROM $BASE\nCMD ["{MODEL}", "--max-modl-len", "1"]\n')) == []


def test_variables_reach_the_server() -> None:
    result = lint(f"FROM {TGI}\nENV MODEL_ID={MODEL} \\\n    MAX_INPUT_TOKENS=4096 \\\n    MAX_TOTAL_TOKENS=4096\n")
    (finding,) = of_rule(result, "SL207")
    assert written(result, finding) == "4096"


def test_variables_of_the_base_stage_reach_the_server() -> None:
    result = lint(f"FROM {TGI} AS base\nENV MAX_TOTAL_TOKENS=4096\nFROM base\nENV MAX_INPUT_TOKENS=4096\n")
    assert loud(result) == [("SL207", 4)]


# Stages


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A stage of its own target, though it is not the last.
        (f'FROM {VLLM} AS serve\nCMD ["a"]\nFROM python:3.12 AS test\nCMD ["pytest"]\n', [(["a"], 2)]),
        (f'FROM {VLLM} AS base\nFROM base AS one\nCMD ["a"]\nFROM base AS two\nCMD ["b"]\n',
         [(["a"], 3), (["b"], 5)]),
        # What the last stage takes over from its base is one deployment, told with all that holds at its end.
        (f'FROM {VLLM} AS base\nCMD ["a"]\nFROM base\nENV HF_HOME=/x\n', [(["a"], 2)]),
        (f'FROM {VLLM} AS base\nCMD ["a"]\nFROM base AS middle\nFROM middle\n', [(["a"], 2)]),
        (f'FROM {VLLM} AS base\nCMD ["a"]\nFROM base\nCMD ["b"]\n', [(["a"], 2), (["b"], 4)]),
        # An entry point takes the base stage's command away only where it is the base image's own.
        (f'FROM {VLLM} AS base\nENTRYPOINT ["vllm", "serve"]\nFROM base\nCMD ["a"]\n', [(["serve"], 2), (["serve", "a"],
         4)]),
        # Files of an image are not its entry point.
        (f"FROM {VLLM} AS build\nRUN true\nFROM scratch\nCOPY --from=build /x /x\n", []),
        (f'FROM node AS web\nRUN npm ci\nFROM {VLLM}\nCOPY --from=web /x /x\nCMD ["a"]\n', [(["a"], 5)]),
    ],
)  # fmt: skip
def test_stages(text: str, expected: list[tuple[list[str], int]]) -> None:
    assert [(serving["argv"], serving["line"]) for serving in told(lint(text))] == expected


def test_what_the_stages_share_is_told_once() -> None:
    text = f'FROM {VLLM} AS base\nCMD ["{MODEL}", "--max-modl-len", "1"]\nFROM base AS one\nFROM base AS two\n'
    assert loud(lint(text)) == [("SL504", 2)]


# What is no launch


@pytest.mark.parametrize(
    "text",
    [
        f"FROM python:3.12\nRUN vllm serve {MODEL} --max-modl-len 1 & sleep 1\n",
        f'FROM python:3.12\nRUN ["vllm", "serve", "{MODEL}", "--max-modl-len", "1"]\n',
        f"FROM python:3.12\nRUN <<EOF\nvllm serve {MODEL} --max-modl-len 1\nEOF\n",
        f'FROM python:3.12\nHEALTHCHECK CMD ["vllm", "serve", "{MODEL}", "--max-modl-len", "1"]\n',
        f"FROM python:3.12\nHEALTHCHECK --interval=5s CMD vllm serve {MODEL} --max-modl-len 1\n",
        f'FROM python:3.12\nONBUILD CMD ["vllm", "serve", "{MODEL}", "--max-modl-len", "1"]\n',
        f"FROM python:3.12\nONBUILD ENTRYPOINT vllm serve {MODEL} --max-modl-len 1\n",
        f'FROM python:3.12\nLABEL run="vllm serve {MODEL} --max-modl-len 1"\n',
        f'FROM python:3.12\n# CMD ["vllm", "serve", "{MODEL}", "--max-modl-len", "1"]\nCMD ["bash"]\n',
        f'FROM {VLLM}\nENTRYPOINT ["/entry.sh"]\nCMD ["{MODEL}", "--max-modl-len", "1"]\n',
        f'FROM {VLLM}\nENTRYPOINT ["bash"]\n',
        f'FROM {VLLM}\nENTRYPOINT ["vllm", "serve"]\nCMD ["--help"]\n',
        'FROM ghcr.io/ggml-org/llama.cpp:light\nCMD ["-m", "/m/q.gguf", "--ctx-sise", "1"]\n',
        'FROM ghcr.io/ggml-org/llama.cpp:full\nCMD ["--quantize", "/m/q.gguf"]\n',
        f'FROM python:3.12\nSHELL ["powershell", "-Command"]\nENTRYPOINT vllm serve {MODEL} --max-modl-len 1\n',
        "FROM python:3.12\nRUN pip install vllm==0.11.2\n",
        "",
        "not a Dockerfile: vllm serve\n",
    ],
)
def test_nothing_is_launched(text: str) -> None:
    result = lint(text)
    assert (told(result), result.findings) == ([], ())


@pytest.mark.parametrize(
    "text",
    [
        f'FROM {VLLM}\nCMD ["--model", "{MODEL}", "--max-model-len", "32768", "--port", "8000"]\n',
        f'FROM {VLLM}\nCMD ["{MODEL}", "--override-generation-config", "{{\\"temperature\\": 0.6}}"]\n',
        f"FROM {VLLM}\nENTRYPOINT vllm serve {MODEL} --override-generation-config '{{\"temperature\": 0.6}}'\n",
        f'FROM {OLD_VLLM}\nCMD ["--model", "{MODEL}"]\n',
        f"FROM {TGI}\nENV MODEL_ID={MODEL} MAX_INPUT_TOKENS=4096 MAX_TOTAL_TOKENS=8192\n",
        # TGI's entry script parts its words at blanks.
        f'FROM {TGI}\nCMD ["--model-id {MODEL}"]\n',
        'FROM ghcr.io/ggml-org/llama.cpp:server\nCMD ["-m", "/m/qwen3-8b-q4_k_m.gguf", "-c", "32768"]\n',
        "FROM ollama/ollama:0.12.0\nENV OLLAMA_HOST=0.0.0.0\nRUN ollama serve & sleep 5 && ollama pull qwen3\n",
        f"FROM {VLLM}\nHEALTHCHECK CMD curl -f http://localhost:8000/health || exit 1\nRUN pip install vllm[audio]\n"
        f'CMD ["{MODEL}"]\n',
        f'FROM {VLLM}\nCMD ["{MODEL}"]',
        f'FROM {VLLM}\r\nENTRYPOINT vllm serve {MODEL} \\\r\n    --max-model-len 8192\r\n',
        # A test of the shell's own is no list.
        f'FROM {VLLM}\nENTRYPOINT [ "$A" = "b" ] && vllm serve {MODEL} || [ "$B" = "1" ]\n',
    ],
)  # fmt: skip
def test_healthy_ones_are_silent(text: str) -> None:
    result = lint(text)
    assert told(result) != []
    assert loud(result) == []


# Faults


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        (f'FROM {VLLM}\nCMD ["vllm", "serve", "{MODEL}"]\n', "SL507", '"vllm", "serve"'),
        (f'FROM {VLLM}\nCMD ["sh", "-c", "vllm serve {MODEL}"]\n', "SL507", '"sh"'),
        (f"FROM {VLLM}\nCMD vllm serve {MODEL}\n", "SL507", "CMD"),
        (f'FROM {OLD_VLLM}\nCMD ["{MODEL}"]\n', "SL505", f'"{MODEL}"'),
        (f'FROM {VLLM}\nCMD ["{MODEL}", "--max-modl-len", "1"]\n', "SL504", '"--max-modl-len"'),
        (f"FROM {VLLM}\nENTRYPOINT vllm serve {MODEL} \\\n  --max-modl-len 1\n", "SL504", "--max-modl-len"),
        (f'SYNTAX\nFROM {VLLM}\nCMD ["{MODEL}"]\n', "SL501", "SYNTAX"),
        (f"FROM {VLLM}\nCMD --model {MODEL}\n", "SL501", "--model"),
        (f"FROM {VLLM}\nENTRYPOINT vllm serve {MODEL} \\\n    --port 1\n    --max-model-len 8192\n", "SL501",
         "--max-model-len"),
        (f"FROM {VLLM}\nCMD [\"{MODEL}\", '--port', \"1\"]\n", "SL501", "'--port'"),
        (f'FROM {VLLM}\nENTRYPOINT ["vllm", "serve", "{MODEL}",]\n', "SL501", ","),
        (f'FROM {VLLM}\nENTRYPOINT ["vllm", "serve"]\nCMD ["{MODEL}",]\n', "SL501", ","),
        (f'FROM {VLLM}\nCMD ["{MODEL}", "--override-generation-config", "{{\\"eos_token_id\\": 1}}"]\n', "SL121",
         '\\"eos_token_id\\": 1'),
        ('FROM ghcr.io/ggml-org/llama.cpp:server\nCMD ["-m", "/m/qwen3-8b.gguf", "-n", "32"]\n', "SL201", '"32"'),
        ("FROM ghcr.io/ggml-org/llama.cpp:server\nENV LLAMA_ARG_MODEL=/m/qwen3-8b.gguf LLAMA_ARG_N_PREDICT=32\n",
         "SL201", "32"),
    ],
)  # fmt: skip
def test_faults(text: str, rule: str, place: str) -> None:
    """One fault, one finding, in its place."""
    result = lint(text)
    (finding,) = [finding for finding in result.findings if finding.severity != "note"]
    assert (finding.rule, written(result, finding)) == (rule, place)


def test_a_line_without_its_backslash_is_told_as_that() -> None:
    text = f"FROM {VLLM}\nENTRYPOINT vllm serve {MODEL}\n    --max-model-len 8192\n"
    (finding,) = of_rule(lint(text), "SL501")
    assert "the line above does not go on" in finding.message


def test_a_list_that_is_no_json_is_told_as_it_is_meant() -> None:
    """A list that goes to a shell starts nothing; what it says of the server is judged all the same."""
    result = lint(f"FROM {VLLM}\nCMD ['{MODEL}', '--max-modl-len', '1']\n")
    (serving,) = told(result)
    assert serving["argv"] == [MODEL, "--max-modl-len", "1"]
    assert loud(result) == [("SL501", 2), ("SL504", 2)]
    assert all(finding.fix is None for finding in result.findings)


def test_a_list_that_is_no_json_is_nobodys_business_where_no_engine_is() -> None:
    assert lint("FROM node\nCMD ['node', 'vllm serve']\n").findings == ()


def test_a_flag_that_the_build_refuses_hides_the_words() -> None:
    (serving,) = told(lint(f"FROM {VLLM}\nCMD --model {MODEL} --max-modl-len 1\n"))
    assert serving["argv"] is None


# Repairs


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # The exec form, as JSON.
        ('CMD ["--model Qwen/Qwen3-8B", "--max-model-len 8192"]',
         'CMD ["--model", "Qwen/Qwen3-8B", "--max-model-len", "8192"]'),
        ('CMD [ "Qwen/Qwen3-8B", \\\n  # the room\n  "--max-model-len 8192" ]',
         'CMD [ "Qwen/Qwen3-8B", \\\n  # the room\n  "--max-model-len", "8192" ]'),
        ('CMD ["Qwen/Qwen3-8B", "--override-generation-config", "\'{\\"temperature\\": 0.5}\'"]',
         'CMD ["Qwen/Qwen3-8B", "--override-generation-config", "{\\"temperature\\": 0.5}"]'),
        ('CMD ["Qwen/Qwen3-8B", "--override-generation-config \'{\\"temperature\\": 0.5}\'"]',
         'CMD ["Qwen/Qwen3-8B", "--override-generation-config", "{\\"temperature\\": 0.5}"]'),
        # The shell form, with what stands around it.
        ('ENTRYPOINT vllm serve Qwen/Qwen3-8B \\\n    # cooler\n    --override-generation-config {"temperature": 0.5} '
         "\\\n    --port 1",
         "ENTRYPOINT vllm serve Qwen/Qwen3-8B \\\n    # cooler\n"
         "    --override-generation-config '{\"temperature\": 0.5}' \\\n    --port 1"),
        # A script in the exec form is shell in JSON.
        ('ENTRYPOINT ["sh", "-c", "vllm serve Qwen/Qwen3-8B --override-generation-config {\\"temperature\\":0.5}"]',
         'ENTRYPOINT ["sh", "-c", "vllm serve Qwen/Qwen3-8B --override-generation-config '
         "'{\\\"temperature\\\":0.5}'\"]"),
        ('ENTRYPOINT ["sh", "-c", "vllm serve Qwen/Qwen3-8B --override-generation-config {\\"temperature\\": 0.5}"]',
         'ENTRYPOINT ["sh", "-c", "vllm serve Qwen/Qwen3-8B --override-generation-config '
         "'{\\\"temperature\\\": 0.5}'\"]"),
        ('ENTRYPOINT ["sh", "-c", "vllm serve Qwen/Qwen3-8B \\\\\\n --port 1\\n --max-model-len 8192"]',
         'ENTRYPOINT ["sh", "-c", "vllm serve Qwen/Qwen3-8B \\\\\\n --port 1 \\\\\\n --max-model-len 8192"]'),
    ],
)  # fmt: skip
def test_repairs(before: str, after: str) -> None:
    text = f"FROM {VLLM}\n{before}\n"
    result = lint(text)
    assert all_repaired(result) == f"FROM {VLLM}\n{after}\n"
    assert loud(lint(all_repaired(result))) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f'CMD ["--model-id", "{MODEL}", "--max-input-length", "100"]',
         f'CMD ["--model-id", "{MODEL}", "--max-input-tokens", "100"]'),
        (f"ENTRYPOINT text-generation-launcher --model-id {MODEL} \\\n  --max-input-length=100 # no remark",
         f"ENTRYPOINT text-generation-launcher --model-id {MODEL} \\\n  --max-input-tokens=100 # no remark"),
        (f'ENV MODEL_ID="{MODEL}" \\\n    # the room\n    MAX_INPUT_LENGTH=1024',
         f'ENV MODEL_ID="{MODEL}" \\\n    # the room\n    MAX_INPUT_TOKENS=1024'),
        (f"ENV MODEL_ID {MODEL}\nENV MAX_INPUT_LENGTH 1024", f"ENV MODEL_ID {MODEL}\nENV MAX_INPUT_TOKENS 1024"),
    ],
)  # fmt: skip
def test_renames(before: str, after: str) -> None:
    result = lint(f"FROM {TGI}\n{before}\n")
    (finding,) = of_rule(result, "SL506")
    assert repaired(result, finding) == f"FROM {TGI}\n{after}\n"


@pytest.mark.parametrize(
    "line",
    [
        # A remark between the lines would be lost.
        f'ENTRYPOINT vllm serve {MODEL} --override-generation-config {{"temperature": \\\n  # cooler\n  0.5}}',
        # A list of names in quotes within one word.
        f'CMD ["{MODEL}", "--served-model-name \'a b\' c"]',
        f'ENTRYPOINT vllm serve {MODEL} "--max-model-len 8192"',
    ],
)  # fmt: skip
def test_what_is_not_repaired_says_why(line: str) -> None:
    findings = [finding for finding in lint(f"FROM {VLLM}\n{line}\n").findings if finding.severity == "error"]
    assert findings
    assert all(finding.fix is None and finding.no_fix for finding in findings)


def test_the_escape_character_stays() -> None:
    text = f'# escape=`\nFROM {VLLM}\nENTRYPOINT vllm serve {MODEL} `\n  --hf-overrides {{"a":1}} `\n  --port 1\n'
    result = lint(text)
    (finding,) = of_rule(result, "SL508")
    assert repaired(result, finding) == text.replace('{"a":1}', "'{\"a\":1}'")


# Manifests within


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("COPY <<'EOF' /start.sh", "EOF"),
        ("COPY <<EOF /start.sh", "EOF"),
        ("COPY --chmod=755 <<start.sh /usr/bin/", "start.sh"),
        ("ADD <<'EOF' /start.sh", "EOF"),
        ("RUN cat > /start.sh <<'EOF'", "EOF"),
        ("RUN mkdir -p /x && cat <<'EOF' > /start.sh && chmod +x /start.sh", "EOF"),
        ("RUN <<EOS\ncat > /start.sh <<'EOF'", "EOF\nEOS"),
    ],
)
def test_scripts_that_it_writes(opening: str, closing: str) -> None:
    text = (
        f'FROM python:3.12\n{opening}\n#!/bin/sh\nvllm serve {MODEL} --max-modl-len 1\n{closing}\nCMD ["/start.sh"]\n'
    )
    result = lint(text)
    (serving,) = told(result)
    line = text[: text.index("vllm serve")].count("\n") + 1
    assert (serving["argv"], serving["line"]) == (["serve", MODEL, "--max-modl-len", "1"], line)
    assert loud(result) == [("SL504", line)]


@pytest.mark.parametrize(
    ("opening", "closing", "is_fixed"),
    [
        ("COPY <<'EOF' /Modelfile", "EOF", True),
        ("COPY <<EOF /Modelfile", "EOF", True),
        ("RUN cat > /Modelfile <<'EOF' && ollama create x -f /Modelfile", "EOF", True),
        ("RUN <<EOS\ncat > /Modelfile <<'EOF'", "EOF\nEOS", True),
        # The shell fills its variables in here: what is written there is not what is written here.
        ("RUN cat > /Modelfile <<EOF", "EOF", False),
    ],
)
def test_modelfiles_that_it_writes(opening: str, closing: str, is_fixed: bool) -> None:
    lines = "FROM ./qwen2.5-7b-instruct.gguf\nPARAMETER stop <|im_start|>\n"
    text = f"FROM ollama/ollama:0.12.0\n{opening}\n{lines}{closing}\n"
    result = lint(text)
    (finding,) = of_rule(result, "SL101")
    if not is_fixed:
        assert finding.fix is None and finding.no_fix
        return
    assert repaired(result, finding) == text.replace(lines, f"{lines}PARAMETER stop <|im_end|>\n")


def test_variables_in_an_unquoted_here_document_keep_it_from_being_edited() -> None:
    lines = "FROM ./qwen2.5-7b-instruct.gguf\nPARAMETER stop <|im_start|>\n# $X\n"
    text = f"FROM ollama/ollama\nCOPY <<EOF /Modelfile\n{lines}EOF\n"
    (finding,) = of_rule(lint(text), "SL101")
    assert finding.fix is None and finding.no_fix


# Properties


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                f"FROM {VLLM} AS base", "FROM base", "FROM $BASE", "ARG BASE", f"ENV M={MODEL}", "ENV X=$BASE",
                'ENTRYPOINT ["vllm", "serve"]', "ENTRYPOINT vllm serve $M \\", "  --port 1", "# remark", "",
                'CMD ["--model Qwen/Qwen3-8B"]', "CMD ['a',]", 'CMD ["a", "--max-modl-len", "1"', "CMD --x",
                "RUN cat > /start.sh <<'EOF'", f"vllm serve {MODEL} --max-modl-len 1", "EOF", "COPY <<EOF /Modelfile",
                'SHELL ["bash", "-c"]', "ONBUILD CMD x", "HEALTHCHECK NONE",
            ]
        ),
        max_size=14,
    ),
    st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
def test_any_lines_are_read(lines: list[str], newline: str) -> None:
    """Nothing breaks, every finding lies in the file, and no repair leaves what it repairs."""
    result = lint(newline.join([f"FROM {VLLM}", *lines]))
    for finding in result.findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(result.text)
        if finding.fix is not None:
            again = lint(repaired(result, finding))
            kept = [(f.rule, f.message) for f in again.findings]
            assert kept.count((finding.rule, finding.message)) < [(f.rule, f.message) for f in result.findings].count(
                (finding.rule, finding.message)
            )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=6), st.booleans())
def test_the_words_of_the_exec_form_are_the_servers(words: list[str], ascii_only: bool) -> None:
    words = [word for word in words if word not in ("-h", "--help", "--version")]
    text = f"FROM {VLLM}\nCMD {json.dumps(['--model', MODEL, *words], ensure_ascii=ascii_only)}\n"
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    if not ascii_only and any(character in "\r\n\0\x85\u2028\u2029" for word in words for character in word):
        return
    (serving,) = told(lint(text))
    assert serving["argv"] == ["--model", MODEL, *words]
