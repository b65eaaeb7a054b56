"""llama-swap's configuration: macros, the commands that are made with them, and the fields that it forces."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.checks.run import Result
from servelint.text import apply_edits
from tests.manifests.test_custom_resources import check, loud, told

MODEL = "-m /models/Qwen2.5-7B-Instruct-Q4_K_M.gguf"


def config(command: str, macros: str = "", rest: str = "") -> str:
    """A configuration with one model; `command` is YAML, `macros` the lines below that key, `rest` further keys."""
    head = f"macros:\n{_indented(macros, 2)}" if macros else ""
    return f"{head}models:\n  qwen:\n{_indented(f'cmd: {command}', 4)}{_indented(rest, 4)}"


def _indented(text: str, width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" if line else "\n" for line in text.splitlines())


def swap(text: str) -> Result:
    return check(text, name="config.yaml")


def serving_of(text: str) -> dict[str, Any]:
    (serving,) = told(swap(text))
    return serving


def argv_of(text: str) -> list[str | None]:
    words: list[str | None] = serving_of(text)["argv"]
    return words


@pytest.mark.parametrize(
    ("command", "macros", "words"),
    [
        ("llama-server -m x.gguf --port ${PORT}", "", ["-m", "x.gguf", "--port", None]),
        ("llama-server -m x.gguf --port=${PORT}", "", ["-m", "x.gguf", None]),
        ("${bin} -m x.gguf", "bin: /app/llama-server --no-mmap", ["--no-mmap", "-m", "x.gguf"]),
        ("${bin} -m x.gguf", "bin: '\"/opt/my apps/llama-server\"'", ["-m", "x.gguf"]),
        ("llama-server -m ${dir}/x.gguf -c ${size}", "dir: /m\nsize: 8192", ["-m", "/m/x.gguf", "-c", "8192"]),
        # Macros hold macros; those of a list keep its order.
        ("${run} -m x.gguf", "bin: llama-server\nrun: ${bin} -c ${size}\nsize: 9", ["-c", "9", "-m", "x.gguf"]),
        ("${run} -m x.gguf", "- bin: llama-server\n- run: ${bin} -ngl 9", ["-ngl", "9", "-m", "x.gguf"]),
        ("${run} -m x.gguf", "run: llama-server --port ${PORT} -ngl 9", ["--port", None, "-ngl", "9", "-m", "x.gguf"]),
        # A macro that is not there may hold any number of words.
        ("llama-server ${gone} -m x.gguf", "", [None, "-m", "x.gguf"]),
        ("llama-server -m ${env.MODELS}/x.gguf", "", ["-m", None]),
        ("llama-server -m x.gguf --alias ${MODEL_ID}", "", ["-m", "x.gguf", "--alias", "qwen"]),
        # What is no macro's name is text.
        ("llama-server -m x.gguf --x '${a b}' ${}", "", ["-m", "x.gguf", "--x", "${a b}", "${}"]),
        ("llama-server -m x.gguf --x $HOME", "", ["-m", "x.gguf", "--x", "$HOME"]),
        ("llama-server -m x.gguf --x ${loop}", "loop: ${pool}\npool: ${loop}", ["-m", "x.gguf", "--x", None]),
        ("|\n  llama-server\n    -m x.gguf\n    -c 8192", "", ["-m", "x.gguf", "-c", "8192"]),
        ("|\n  llama-server \\\n    -m x.gguf \\\n    -c 8192", "", ["-m", "x.gguf", "-c", "8192"]),
        ("|\n  llama-server \\  \n    -m x.gguf \\", "", ["-m", "x.gguf"]),
        ("|\n  # first\n  llama-server\n    # -n 5\n    -m x.gguf\n  # last", "", ["-m", "x.gguf"]),
        # The lines that begin with `#` go; a `#` further on is a word.
        ("|\n  llama-server -m x.gguf --temp 0.7 # hot", "", ["-m", "x.gguf", "--temp", "0.7", "#", "hot"]),
        # Folding joins the lines first.
        (">\n  llama-server -m x.gguf\n  # hot", "", ["-m", "x.gguf", "#", "hot"]),
        ("|\n  llama-server -m x.gguf \\\n  # -n 5\n  -c 1", "", ["-m", "x.gguf", "-c", "1"]),
        # Comments go before macros are filled in, and those of a macro's lines behind that.
        ("|\n  # ${more}\n  llama-server -m x.gguf", "more: |\n  -n 5\n  -c 1", ["-m", "x.gguf"]),
        ("|\n  llama-server -m x.gguf\n  ${more}", "more: |\n  -n\n  # -c 1\n  5", ["-m", "x.gguf", "-n", "5"]),
        ("llama-server -m x.gguf --x '{\"a\":1}'", "", ["-m", "x.gguf", "--x", '{"a":1}']),
        ("'llama-server -m x.gguf --x \"a \\\"b\\\"\"'", "", ["-m", "x.gguf", "--x", 'a "b"']),
    ],
)  # fmt: skip
def test_words(command: str, macros: str, words: list[str | None]) -> None:
    serving = serving_of(config(command, macros))
    assert (serving["engine"], serving["argv"]) == ("llama.cpp", words)


def test_a_models_macros_lie_over_the_files() -> None:
    text = config("llama-server -m x.gguf -c ${size} -b ${batch}", "size: 1\nbatch: 2", "macros:\n  size: 3")
    assert argv_of(text) == ["-m", "x.gguf", "-c", "3", "-b", "2"]


@pytest.mark.parametrize(
    ("command", "engine", "words"),
    [
        ("vllm serve m --port ${PORT}", "vllm", ["serve", "m", "--port", None]),
        ("docker run --rm -p ${PORT}:8000 vllm/vllm-openai:v0.11.2 --model m", "vllm", ["--model", "m"]),
        ("podman run ghcr.io/ggml-org/llama.cpp:server -m x.gguf", "llama.cpp", ["-m", "x.gguf"]),
        ("bash -c 'exec llama-server -m x.gguf --port ${PORT}'", "llama.cpp", ["-m", "x.gguf", "--port", None]),
        ("sh -c \"exec llama-server -m x.gguf\"", "llama.cpp", ["-m", "x.gguf"]),
        ("python -m sglang.launch_server --model-path m", "sglang", ["--model-path", "m"]),
    ],
)  # fmt: skip
def test_who_is_launched(command: str, engine: str, words: list[str | None]) -> None:
    serving = serving_of(config(command))
    assert (serving["engine"], serving["argv"]) == (engine, words)


@pytest.mark.parametrize(
    "text",
    [
        config("whisper-server --port ${PORT}"),
        config("${env.SERVER} -m x.gguf"),
        config("llama-server --help"),
        "models:\n  qwen:\n    proxy: http://llama-server\n    cmd: [llama-server]\n",
        "models: llama-server ${PORT}\n",
        "macros: 1\nmodels: {qwen: {cmd: llama-swap}}\n",
    ],
)
def test_who_is_not(text: str) -> None:
    assert told(swap(text)) == []


def test_each_model_is_a_deployment_of_its_own() -> None:
    text = (
        "models:\n  one:\n    cmd: llama-server -m a.gguf --port ${PORT}\n  two:\n"
        "    cmd: llama-server -m b.gguf --port ${PORT}\n    unlisted: true\n"
    )
    assert [(serving["line"], serving["argv"][1]) for serving in told(swap(text))] == [(2, "a.gguf"), (4, "b.gguf")]


def test_environment() -> None:
    text = config(
        f"llama-server {MODEL}", "gpu: 3",
        'env:\n  - "CUDA_VISIBLE_DEVICES=${gpu}"\n  - LLAMA_ARG_N_PREDICT=-1\n  - HOME=${env.HOME}\n  - PLAIN',
    )  # fmt: skip
    (deployment,) = swap(text).deployments
    assert {setting.name: setting.value for setting in deployment.serving.environment} == {
        "CUDA_VISIBLE_DEVICES": "3", "LLAMA_ARG_N_PREDICT": "-1", "HOME": None,
    }  # fmt: skip


def test_a_variable_of_the_environment_is_judged_where_it_stands() -> None:
    text = config(f"llama-server {MODEL}", "", "env:\n  - A=b\n  - LLAMA_ARG_N_PREDICT=many")
    assert loud(swap(text)) == [("SL505", 6)]


@pytest.mark.parametrize(
    ("rest", "cap", "found"),
    [
        ("filters:\n  setParams:\n    max_tokens: 50", 50, [("SL201", 6)]),
        ("filters:\n  setParams:\n    max_tokens: 4096", 4096, []),
        ("filters:\n  setParams:\n    ignore_eos: true", None, [("SL112", 6)]),
        ("filters:\n  setParams:\n    stop: ['']", None, [("SL104", 6)]),
        ("filters:\n  setParams:\n    temperature: 0.6\n    top_p: 0.95", None, []),
        ("filters:\n  setParams:\n    max_tokens: ${cap}", 50, [("SL201", 8)]),
        ("filters:\n  setParams:\n    max_tokens: ${gone}", None, []),
        ("filters:\n  setParams:\n    max_tokens: ${env.CAP}", None, []),
        ('filters:\n  stripParams: "max_tokens, temperature"', None, []),
        ("filters: {}", None, []),
        ("filters:", None, []),
    ],
)
def test_forced_fields(rest: str, cap: int | None, found: list[tuple[str, int]]) -> None:
    result = swap(config(f"llama-server {MODEL}", "cap: 50" if "${cap}" in rest else "", rest))
    (serving,) = told(result)
    assert (serving["cap"] or {}).get("value") == cap
    assert loud(result) == found


def test_forced_stops_take_part() -> None:
    text = config(
        f"llama-server {MODEL}", "end: '###'",
        "filters:\n  setParams:\n    stop: ['${end}', '${gone}', 'User:']",
    )  # fmt: skip
    (serving,) = told(swap(text))
    assert [stop["value"] for stop in serving["stop_set"]["texts"]] == ["###", "User:"]


@pytest.mark.parametrize(
    ("command", "part", "found"),
    [
        (f"|\n  # first\n  llama-server {MODEL} \\\n    -c 8192 \\\n    -b 5x", "5x", ("SL505", 7)),
        (f"llama-server {MODEL} -b 5x", "5x", ("SL505", 3)),
    ],
)
def test_places_behind_comments_and_macros(command: str, part: str, found: tuple[str, int]) -> None:
    result = swap(config(command))
    assert loud(result) == [found]
    (finding,) = result.findings
    assert part in result.text[finding.span.start : finding.span.end]


def test_what_a_macro_supplies_is_told_where_it_is_called_and_not_rewritten() -> None:
    result = swap(config(f"llama-server {MODEL} ${{bad}}", "bad: -n 5x"))
    (finding,) = [finding for finding in result.findings if finding.rule == "SL505"]
    assert result.text[finding.span.start : finding.span.end].startswith("$")
    assert finding.fix is None


def test_an_open_quote_is_told() -> None:
    assert ("SL503", 3) in loud(swap(config(f"llama-server {MODEL} --x 'a")))


def test_repairs_keep_comments_and_continuations() -> None:
    text = config(
        "|\n  # the chat model\n  vllm serve Qwen/Qwen3-8B \\\n"
        '    --override-generation-config {"temperature":0.6} \\\n    # port\n    --port ${PORT}'
    )
    result = swap(text)
    (finding,) = [finding for finding in result.findings if finding.rule == "SL508"]
    assert finding.fix is not None
    after = apply_edits(text, finding.fix.edits)
    assert after == text.replace('{"temperature":0.6}', r"{\"temperature\":0.6}")
    assert loud(swap(after)) == []


WORDS = st.lists(st.sampled_from(["-c", "8192", "'a b'", '"c\\"d"', "e\\ f", "#x", "--y=${z w}", "é"]), max_size=6)


@given(WORDS, st.sampled_from([" ", "\n", " \\\n", "\n# no\n"]))
def test_a_command_is_what_a_shell_makes_of_its_lines(words: list[str], between: str) -> None:
    # A word that begins a line with `#` would be a comment.
    words = [word for word in words if "\n" not in between or not word.startswith("#")]
    command = "|\n" + _indented(between.join(["llama-server -m x.gguf", *words]), 2)
    assert argv_of(config(command)) == ["-m", "x.gguf", *shlex.split(" ".join(words))]


@given(st.text(st.sampled_from("ab${}.\\'\"# \n-"), max_size=25), st.text(st.sampled_from("a${}b# "), max_size=8))
def test_any_command_is_survived(command: str, macro: str) -> None:
    quoted = macro.replace("'", "''")
    result = swap(config(f"|2\n{_indented('llama-server ' + command, 2)}", f"a: '{quoted}'\nb: '${{a}}'"))
    assert all(0 <= finding.span.start <= finding.span.end <= len(result.text) for finding in result.findings)
