"""Compose files: the words and variables that each service's server gets, where they stand, how they are mended."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.checks.run import Result
from servelint.formats.shell_words import split_words
from servelint.text import apply_edits
from tests.manifests.test_custom_resources import check, told
from tests.manifests.test_custom_resources import loud as lines_of

VLLM = "image: vllm/vllm-openai:v0.11.2"
TGI = "image: ghcr.io/huggingface/text-generation-inference:3.3.4"


def service(*lines: str, name: str = "vllm") -> str:
    """A Compose file with one service; lines of more than one level bring their further indentation along."""
    return f"services:\n  {name}:\n" + "".join(f"    {line}\n" for text in lines for line in text.splitlines())


def compose(text: str, beside: dict[str, str] | None = None, name: str = "compose.yaml") -> Result:
    return check(text, beside, name)


def loud(result: Result) -> list[tuple[str, int]]:
    return lines_of(result)


def serving_of(text: str, beside: dict[str, str] | None = None, name: str = "compose.yaml") -> dict[str, Any]:
    (serving,) = told(compose(text, beside, name))
    return serving


def argv_of(text: str, beside: dict[str, str] | None = None, name: str = "compose.yaml") -> list[str | None]:
    words: list[str | None] = serving_of(text, beside, name)["argv"]
    return words


def variables_of(text: str, beside: dict[str, str] | None = None, name: str = "compose.yaml") -> dict[str, str | None]:
    (deployment,) = compose(text, beside, name).deployments
    return {setting.name: setting.value for setting in deployment.serving.environment}


def hidden_of(text: str, beside: dict[str, str] | None = None) -> tuple[str, ...]:
    (deployment,) = compose(text, beside).deployments
    return deployment.serving.hidden


def mended(result: Result, rule: str) -> str:
    """The text with every fix of a rule applied."""
    edits = [edit for finding in result.findings if finding.rule == rule and finding.fix for edit in finding.fix.edits]
    assert edits
    return apply_edits(result.text, edits)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("command: --model m --port 1", ["--model", "m", "--port", "1"]),
        ("command: [--model, m, --port, 1]", ["--model", "m", "--port", "1"]),
        ("command:\n  - --model\n  - m\n  - a b", ["--model", "m", "a b"]),
        ("command: >\n  --model m\n  --port 1", ["--model", "m", "--port", "1"]),
        ("command: |\n  --model m\n  # no comment\n  --port 1", ["--model", "m", "#", "no", "comment", "--port", "1"]),
        ("command: \"--model m --x 'a b'\"", ["--model", "m", "--x", "a b"]),
        ("command: '--model m --x \"a b\"'", ["--model", "m", "--x", "a b"]),
        ("command: --model m --x '{\"a\":1}'", ["--model", "m", "--x", '{"a":1}']),
        ('command: --model m --x {"a":1}', ["--model", "m", "--x", "{a:1}"]),
        ('command: --model m --x {\\"a\\":1}', ["--model", "m", "--x", '{"a":1}']),
        ("command: --model m\\ n ''", ["--model", "m n", ""]),
        # A backslash at a line's end is no continuation: it makes the line break part of a word (shellwords.go).
        ("command: |\n  --model m \\\n  --port 1", ["--model", "m", "\n--port", "1"]),
        # What stands behind an operator is dropped in silence.
        ("command: --model m && sleep 1", ["--model", "m"]),
        ("command: --model m --port 80>log", ["--model", "m", "--port"]),
        ("command: --model m --x 2.5>log", ["--model", "m", "--x"]),
        ("command: --model m --x v2>log", ["--model", "m", "--x", "v2"]),
        ("command: --model m --x `a 'b c'`", ["--model", "m", "--x", "`a b c`"]),
        ("command: --model m --x $$(a 'b c')", ["--model", "m", "--x", "$(a 'b c')"]),
        ("command: --model m a ) b )", ["--model", "m", "a", ") b )"]),
        ("command: --model m $$HOME", ["--model", "m", "$HOME"]),
        ("command: [--model, 'm$$']", ["--model", "m$"]),
        ("command: ''", []),
        ("command: []", []),
        ("command:", []),
    ],
)
def test_words_of_a_command(command: str, words: list[str]) -> None:
    assert argv_of(service(VLLM, command)) == words


@given(st.text(st.sampled_from("ab=-'\" \t\n#$"), max_size=30))
def test_a_string_without_operators_and_escapes_is_cut_as_shlex_cuts_it(text: str) -> None:
    split = split_words(text)
    try:
        expected = shlex.split(text)
    except ValueError:
        assert split.problem is not None
        return
    assert split.problem is None
    assert [word.text for word in split.words] == expected


@given(st.text(st.sampled_from("ab3 '\"\\n`$();|>"), max_size=25))
def test_the_splitter_reads_any_text_and_maps_it(text: str) -> None:
    split = split_words(text, 7)
    ends = [7]
    for word in split.words:
        assert word.inner is not None
        assert word.span.start >= ends[-1]
        assert 7 <= word.span.start < word.span.end <= 7 + len(text)
        assert len(word.inner.offsets) == len(word.text or "") + 1
        ends.append(word.span.end)
    if split.problem is not None:
        assert split.problem.span.end <= 7 + len(text)


@pytest.mark.parametrize(
    ("lines", "engine", "words"),
    [
        (("image: me/x", "entrypoint: vllm serve", "command: m"), "vllm", ["serve", "m"]),
        (("image: me/x", "entrypoint: [vllm, serve]", "command: [m, --seed, 1]"), "vllm",
         ["serve", "m", "--seed", "1"]),
        (("image: me/x", "entrypoint:\n  - python3\n  - -m\n  - vllm.entrypoints.openai.api_server"), "vllm", []),
        (("image: me/x", "command: vllm serve m"), "vllm", ["serve", "m"]),
        ((VLLM, "entrypoint: [tini, --]", "command: vllm serve m"), "vllm", ["serve", "m"]),
        ((VLLM, "entrypoint: []", "command: vllm serve m"), "vllm", ["serve", "m"]),
        ((VLLM, "entrypoint: ''", "command: vllm serve m"), "vllm", ["serve", "m"]),
        (("image: me/x", "entrypoint: [sh, -c]", "command: ['exec vllm serve $$M']", "environment: {M: m}"), "vllm",
         ["serve", "m"]),
        (("image: me/x", 'command: bash -c "vllm serve m --port $$((8000 + 1))"'), "vllm",
         ["serve", "m", "--port", "8001"]),
        # What Compose fills in before the shell reads the script is not known; all else is.
        (("image: me/x", 'command: sh -c "exec vllm serve m --port ${PORT:-1} --seed 2"'), "vllm",
         ["serve", "m", "--port", None, "--seed", "2"]),
        (("image: me/x", "command: [sh, -c, 'M=$MODEL; vllm serve $$M --port=$PORT']"), "vllm",
         ["serve", None, None]),
        (("image: me/x", "entrypoint: text-generation-launcher", "command: --model-id m"), "tgi", ["--model-id", "m"]),
        (("image: ghcr.io/ggml-org/llama.cpp:server", "command: -m m.gguf"), "llama.cpp", ["-m", "m.gguf"]),
        (("image: ghcr.io/ggml-org/llama.cpp:full", "command: --server -m m.gguf"), "llama.cpp", ["-m", "m.gguf"]),
    ],
)  # fmt: skip
def test_who_is_launched(lines: tuple[str, ...], engine: str, words: list[str | None]) -> None:
    serving = serving_of(service(*lines))
    assert (serving["engine"], serving["argv"]) == (engine, words)


@pytest.mark.parametrize(
    "lines",
    [
        ("image: postgres:16", "command: -c max_connections=100"),
        (VLLM, "entrypoint: sleep", "command: infinity"),
        (VLLM, "command: --help"),
        ("image: me/vllm-client", "command: python ask.py"),
        ("image: ghcr.io/ggml-org/llama.cpp:full", "command: --convert m"),
        ("image: ghcr.io/ggml-org/llama.cpp:light", "command: -m m.gguf"),
        ("image: ${VLLM_IMAGE}", "command: --model m"),
    ],
)
def test_who_is_not(lines: tuple[str, ...]) -> None:
    assert told(compose(service(*lines, name="house"))) == []


@pytest.mark.parametrize(
    ("image", "engine", "version"),
    [
        ("vllm/vllm-openai:v0.11.2", "vllm", "0.11.2"),
        (f"vllm/vllm-openai@sha256:{'a' * 64}", "vllm", None),
        (f"vllm/vllm-openai:v0.10.1@sha256:{'a' * 64}", "vllm", "0.10.1"),
        ("mirror.example:5000/vllm/vllm-openai:v0.9.2", "vllm", "0.9.2"),
        ("vllm/vllm-openai:${TAG}", "vllm", None),
        # A default's version holds for nobody who sets the variable.
        ("vllm/vllm-openai:${TAG:-v0.4.0}", "vllm", None),
        ("${IMAGE:-vllm/vllm-openai:v0.4.0}", "vllm", None),
        ("${IMAGE:-vllm/vllm-openai}", "vllm", None),
        ("${IMAGE:-ghcr.io/ggml-org/llama.cpp:server}", "llama.cpp", None),
        ("${REGISTRY:-docker.io}/vllm/vllm-openai:${TAG:-latest}", "vllm", None),
    ],
)
def test_images(image: str, engine: str, version: str | None) -> None:
    serving = serving_of(service(f"image: {image}", "command: --model m"))
    assert (serving["engine"], serving["engine_version"]) == (engine, version)


def test_the_image_may_come_from_the_env_file_beside() -> None:
    text = service("image: vllm/vllm-openai:$TAG", "command: [--model, $MODEL]")
    serving = serving_of(text, {".env": "TAG=v0.11.2\nMODEL='Qwen/Qwen3-8B' # the model\n"})
    assert (serving["engine_version"], serving["model"]) == ("0.11.2", "Qwen/Qwen3-8B")


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("$PORT", "9000"),
        ("${PORT}", "9000"),
        ("${PORT:-1}", "9000"),
        ("${NONE:-1}", "1"),
        ("${NONE-1}", ""),
        ("${PORT:?set it}", "9000"),
        ("${PORT:+yes}", "yes"),
        ("${NONE:+yes}", ""),
        ("${NONE:-${PORT}}", "9000"),
        ("$$PORT", "$PORT"),
        ("$GONE", None),
        ("${GONE:-1}", None),
        ("${GONE:?set it}", None),
        ("--port=${GONE:-1}", None),
    ],
)
def test_interpolation_of_an_item(written: str, word: str | None) -> None:
    beside = {".env": "PORT=9000\nNONE=\n"}
    assert argv_of(service(VLLM, f"command: [--model, m, '{written}']"), beside) == ["--model", "m", word]


def test_a_variable_in_a_string_is_split() -> None:
    text = service(VLLM, "command: --model m $FLAGS")
    assert argv_of(text, {".env": "FLAGS=--port 1 --seed 2\n"}) == ["--model", "m", "--port", "1", "--seed", "2"]
    assert argv_of(text) == ["--model", "m", None]


def test_a_default_names_the_likely_model_and_judges_nothing() -> None:
    text = service(VLLM, "command: --model ${MODEL:-${OTHER:-Qwen/Qwen3-8B}} --max-model-len ${LENGTH:-8k,0}")
    result = compose(text)
    assert told(result)[0]["likely_model"] == "Qwen/Qwen3-8B"
    assert loud(result) == []


@pytest.mark.parametrize(
    ("lines", "rule", "line"),
    [
        ((VLLM, "command: --model m --port $(cat port) --max-model-len 8k,0"), "SL501", 4),
        ((VLLM, "command: --model m --port ${A[@]}"), "SL501", 4),
        ((VLLM, "command: --model m --stop 5$"), "SL501", 4),
        ((VLLM, "command: >\n  --model m\n  --port ${PORT\n  --max-model-len 8k,0"), "SL501", 6),
        ((VLLM, "command:\n  - --model\n  - $(cat model)"), "SL501", 6),
        ((VLLM, "entrypoint: vllm serve $(cat model)"), "SL501", 4),
        (("image: me/x", "command: vllm serve m --port $(cat port)"), "SL501", 4),
        (("image: me/x", "entrypoint: vllm serve", "command: m --port $(cat port)"), "SL501", 5),
        ((VLLM, "command: --model m (x) --max-model-len 8k,0"), "SL501", 4),
        ((VLLM, "command: --model m ) --max-model-len 8k,0"), "SL501", 4),
        ((VLLM, "command: --model m --max-model-len 8k,0 --x 'a"), "SL503", 4),
        ((VLLM, "command: --model m --port $$(a"), "SL501", 4),
    ],
)
def test_what_compose_refuses_gives_one_finding(lines: tuple[str, ...], rule: str, line: int) -> None:
    assert loud(compose(service(*lines))) == [(rule, line)]


def test_what_an_alias_brings_along_is_refused_once_where_it_is_written() -> None:
    text = f"x-words: &words --model $(x)\n{service(VLLM, 'command: *words')}  two:\n    {VLLM}\n    command: *words\n"
    assert loud(compose(text)) == [("SL501", 1)]


def test_what_another_program_gets_is_none_of_our_business() -> None:
    assert loud(compose(service("image: nginx", "command: echo $(x)", name="vllm-proxy"))) == []


@pytest.mark.parametrize(
    "lines",
    ["environment:\n  A: b\n  N: 1\n  E:\n  B: $${C}", "environment:\n  - A=b\n  - N=1\n  - E\n  - B=$${C}"],
    ids=["map", "list"],
)
def test_environment(lines: str) -> None:
    assert variables_of(service(VLLM, "command: m", lines)) == {"A": "b", "N": "1", "E": None, "B": "${C}"}


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        ("environment: {A: '${X}'}", "y"),
        ("environment: ['A=${X}']", "y"),
        ("environment: {A: '${GONE:-z}'}", None),
        ("environment: ['A=${GONE:-z}']", None),
        ("environment: ['A=b=c']", "b=c"),
        ("environment: ['A=']", ""),
        ("environment: {A: ''}", ""),
        ("environment: ['A=1', 'A=2']", "2"),
    ],
)
def test_a_variables_value(lines: str, value: str | None) -> None:
    assert variables_of(service(VLLM, "command: m", lines), {".env": "X=y\n"}) == {"A": value}


def test_the_env_file_beside_is_not_the_containers() -> None:
    assert variables_of(service(VLLM, "command: m"), {".env": "VLLM_USE_V1=1\n"}) == {}


ONE = "A='1' # one\nB=${A}2\nexport C=\"x\\ny\"\n"


# The environment around may have an A of its own, which `${A}` would mean.
@pytest.mark.parametrize(
    ("lines", "variables", "hidden"),
    [
        ("env_file: one.env", {"A": "1", "B": None, "C": "x\ny"}, 0),
        ("env_file: [one.env, ./two.env]", {"A": "two", "B": None, "C": "x\ny"}, 0),
        ("env_file: [two.env, one.env]", {"A": "1", "B": None, "C": "x\ny"}, 0),
        ("env_file:\n  - path: two.env\n    required: false", {"A": "two"}, 0),
        ("env_file:\n  - path: raw.env\n    format: raw", {"A": "'1' # one"}, 0),
        ("env_file: [one.env, gone.env]", {"A": "1", "B": None, "C": "x\ny"}, 1),
        ("env_file: /etc/one.env", {}, 1),
        ("env_file: $FILE", {}, 1),
        ("env_file: two.env\nenvironment: {A: own}", {"A": "own"}, 0),
        ("env_file: two.env\nenvironment: [A]", {"A": None}, 0),
    ],
)
def test_env_files(lines: str, variables: dict[str, str | None], hidden: int) -> None:
    beside = {"one.env": ONE, "two.env": "A=two\n", "raw.env": "A='1' # one\n"}
    text = service(VLLM, "command: m", lines)
    assert variables_of(text, beside) == variables
    assert len(hidden_of(text, beside)) == hidden


def test_what_stands_in_an_env_file_is_told_there() -> None:
    text = service(TGI, "command: --model-id Qwen/Qwen2.5-7B-Instruct", "env_file: x.env")
    assert loud(compose(text, {"x.env": "MAX_TOTAL_TOKENS=lots\n"})) == []
    assert loud(compose(text.replace("env_file: x.env", "environment: {MAX_TOTAL_TOKENS: lots}"))) == [("SL505", 5)]


SHARED = """\
x-vllm: &vllm
  image: vllm/vllm-openai:v0.11.2
  environment: &variables
    A: a
    B: b
x-words: &words [--model, Qwen/Qwen3-8B]
services:
  one:
    <<: *vllm
    command: *words
  two:
    <<: *vllm
    command: --model Qwen/Qwen3-4B
    environment:
      <<: *variables
      B: own
    profiles: [gpu]
    deploy:
      resources: {reservations: {devices: [{driver: nvidia, capabilities: [gpu]}]}}
"""


def test_anchors_merge_keys_and_extensions() -> None:
    result = compose(SHARED)
    one, two = told(result)
    assert (one["engine_version"], one["argv"]) == ("0.11.2", ["--model", "Qwen/Qwen3-8B"])
    assert (two["engine_version"], two["argv"]) == ("0.11.2", ["--model", "Qwen/Qwen3-4B"])
    environments = [
        {setting.name: setting.value for setting in deployment.serving.environment} for deployment in result.deployments
    ]
    assert environments == [{"A": "a", "B": "b"}, {"A": "a", "B": "own"}]
    assert loud(result) == []


EXTENDED = """\
services:
  base:
    image: vllm/vllm-openai:v0.11.2
    command: --model Qwen/Qwen3-8B
    environment: {A: a, B: b}
  chat:
    extends: base
    environment: [B=own, C=c]
"""


def test_extends_within_a_file() -> None:
    result = compose(EXTENDED)
    assert [serving["argv"] for serving in told(result)] == [["--model", "Qwen/Qwen3-8B"]] * 2
    chat = result.deployments[1].serving
    assert {setting.name: setting.value for setting in chat.environment} == {"A": "a", "B": "own", "C": "c"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("extends: {file: base.yaml, service: llm}", ["--model", "Qwen/Qwen3-8B"]),
        ("extends: {file: base.yaml, service: llm}\ncommand: --model m", ["--model", "m"]),
        ("extends: {file: base.yaml, service: further}", ["--model", "Qwen/Qwen3-8B"]),
        ("extends: {file: ./base.yaml, service: llm}\ncommand: !reset null", []),
    ],
)
def test_extends_from_another_file(lines: str, words: list[str]) -> None:
    base = service(VLLM, "command: --model Qwen/Qwen3-8B", name="llm") + "  further:\n    extends: {service: llm}\n"
    text = service(lines)
    assert argv_of(text, {"base.yaml": base}) == words
    assert loud(compose(text, {"base.yaml": base})) == []


@pytest.mark.parametrize(
    "lines",
    ["extends: {file: gone.yaml, service: llm}", "extends: {file: '${F}', service: llm}", "extends: vllm",
     "extends: gone"],
)  # fmt: skip
def test_what_cannot_be_extended_is_left_alone(lines: str) -> None:
    assert told(compose(service(lines, "command: --model m"))) == []


def test_an_entry_point_keeps_the_command_of_what_is_extended() -> None:
    """Compose merges the two by themselves (override/merge.go); only an image's own command would go."""
    base = service("image: me/x", "command: Qwen/Qwen3-8B --port 1", name="llm")
    text = service("extends: {file: base.yaml, service: llm}", "entrypoint: vllm serve")
    assert argv_of(text, {"base.yaml": base}) == ["serve", "Qwen/Qwen3-8B", "--port", "1"]


MAIN = service(VLLM, "command: --model Qwen/Qwen3-8B", "environment: {A: a, B: b}")


@pytest.mark.parametrize(
    ("lines", "version", "words"),
    [
        ("environment: {B: own}", "0.11.2", ["--model", "Qwen/Qwen3-8B"]),
        ("command: --model m\nenvironment: {B: own}", "0.11.2", ["--model", "m"]),
        ("image: vllm/vllm-openai:v0.10.0\nenvironment: {B: own}", "0.10.0", ["--model", "Qwen/Qwen3-8B"]),
    ],
)
def test_an_override_lies_over_the_main_file(lines: str, version: str, words: list[str]) -> None:
    text, beside, name = service(lines), {"docker-compose.yml": MAIN}, "docker-compose.override.yml"
    serving = serving_of(text, beside, name)
    assert (serving["engine_version"], serving["argv"]) == (version, words)
    assert variables_of(text, beside, name) == {"A": "a", "B": "own"}


def test_a_variant_with_an_image_of_its_own_stands_alone() -> None:
    text = service("image: vllm/vllm-openai:v0.10.0", "command: --model m")
    assert variables_of(text, {"compose.yaml": MAIN}, "compose.cpu.yaml") == {}
    assert argv_of(service("deploy: {replicas: 2}"), {"compose.yaml": MAIN}, "compose.gpu.yaml") == [
        "--model", "Qwen/Qwen3-8B",
    ]  # fmt: skip


FROM_VLLM = 'FROM vllm/vllm-openai:v0.11.2\nENV A=image B=image\nCMD ["--model", "Qwen/Qwen3-8B"]\n'
STAGES = """\
FROM vllm/vllm-openai:v0.11.2 AS chat
ENTRYPOINT ["vllm", "serve"]
CMD ["Qwen/Qwen3-8B"]
FROM ghcr.io/ggml-org/llama.cpp:server AS Small
CMD ["-m", "/models/Qwen3-4B.gguf"]
FROM alpine
"""


@pytest.mark.parametrize(
    ("lines", "files", "engine", "words"),
    [
        ("build: .", {"Dockerfile": FROM_VLLM}, "vllm", ["--model", "Qwen/Qwen3-8B"]),
        ("build: ./docker/", {"docker/Dockerfile": FROM_VLLM}, "vllm", ["--model", "Qwen/Qwen3-8B"]),
        ("build: {context: .}", {"Dockerfile": FROM_VLLM}, "vllm", ["--model", "Qwen/Qwen3-8B"]),
        ("build: {dockerfile: gpu.Dockerfile}", {"gpu.Dockerfile": FROM_VLLM}, "vllm", ["--model", "Qwen/Qwen3-8B"]),
        ("build: {context: docker, dockerfile: ../d/x}", {"d/x": FROM_VLLM}, "vllm", ["--model", "Qwen/Qwen3-8B"]),
        ("build: .\ncommand: --model m", {"Dockerfile": FROM_VLLM}, "vllm", ["--model", "m"]),
        ("build: .\ncommand: vllm serve m", {"Dockerfile": 'FROM me/x\nENTRYPOINT ["tini", "--"]\n'}, "vllm",
         ["serve", "m"]),
        ("build: .\ncommand: []", {"Dockerfile": FROM_VLLM}, "vllm", []),
        # An entry point of the service's own takes the image's command away.
        ("build: .\nentrypoint: vllm serve", {"Dockerfile": FROM_VLLM}, "vllm", ["serve"]),
        ("build: .\nentrypoint: vllm serve\ncommand: m", {"Dockerfile": FROM_VLLM}, "vllm", ["serve", "m"]),
        ("build: {context: ., target: chat}", {"Dockerfile": STAGES}, "vllm", ["serve", "Qwen/Qwen3-8B"]),
        ("build: {context: ., target: small}", {"Dockerfile": STAGES}, "llama.cpp", ["-m", "/models/Qwen3-4B.gguf"]),
        ("build: {context: ., target: '1'}", {"Dockerfile": STAGES}, "llama.cpp", ["-m", "/models/Qwen3-4B.gguf"]),
        ("build: {context: ., target: chat}\ncommand: [m]", {"Dockerfile": STAGES}, "vllm", ["serve", "m"]),
        ("image: me/vllm-of-ours:1\nbuild: .", {"Dockerfile": FROM_VLLM}, "vllm", ["--model", "Qwen/Qwen3-8B"]),
        ("image: '${REGISTRY}/ours:${TAG}'\nbuild: .", {"Dockerfile": FROM_VLLM}, "vllm", ["--model", "Qwen/Qwen3-8B"]),
        ("build: .", {"Dockerfile": "FROM python:3.12\nCMD vllm serve Qwen/Qwen3-8B\n"}, "vllm",
         ["serve", "Qwen/Qwen3-8B"]),
        ("build:\n  dockerfile_inline: |\n    FROM vllm/vllm-openai:v0.11.2\n    CMD [\"--model\", \"m\"]", {}, "vllm",
         ["--model", "m"]),
        ("extends: {file: base/compose.yaml, service: llm}",
         {"base/compose.yaml": service("build: docker", name="llm"), "base/docker/Dockerfile": FROM_VLLM}, "vllm",
         ["--model", "Qwen/Qwen3-8B"]),
    ],
)  # fmt: skip
def test_what_a_service_builds(lines: str, files: dict[str, str], engine: str, words: list[str]) -> None:
    serving = serving_of(service(lines), files)
    assert (serving["engine"], serving["argv"]) == (engine, words)
    assert loud(compose(service(lines), files)) == []


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        ("build: .", {}),
        ("build: {context: ., target: gone}", {"Dockerfile": STAGES}),
        ("build: {context: ., target: $T}", {"Dockerfile": STAGES}),
        ("build: {context: .}", {"Dockerfile": STAGES}),
        ("build: $FOLDER", {"Dockerfile": FROM_VLLM}),
        ("build: {context: ., dockerfile: $D}", {"Dockerfile": FROM_VLLM}),
        ("build: /srv/llm", {"Dockerfile": FROM_VLLM}),
        ("build: https://example.com/llm.git#main", {"Dockerfile": FROM_VLLM}),
        ("build: .\nentrypoint: sleep infinity", {"Dockerfile": FROM_VLLM}),
        ("build: .", {"Dockerfile": 'FROM vllm/vllm-openai:v0.11.2\nENTRYPOINT ["/start.sh"]\n'}),
        ("build: .", {"Dockerfile": ""}),
    ],
)
def test_builds_that_launch_nothing_that_is_known(lines: str, files: dict[str, str]) -> None:
    assert told(compose(service(lines, name="house"), files)) == []


def test_an_engines_image_is_believed_before_a_build() -> None:
    text = service(VLLM, "build: .", "command: --model m")
    assert serving_of(text, {"Dockerfile": "FROM alpine\nENTRYPOINT vllm serve n\n"})["argv"] == ["--model", "m"]


@pytest.mark.parametrize(
    ("arguments", "version", "variable"),
    [
        ("", "0.10.0", "y"),
        ("args: {TAG: v0.11.2, M: x}", "0.11.2", "x"),
        ("args: [TAG=v0.11.2, M=x]", "0.11.2", "x"),
        ("args: {TAG: $TAG, M: '${M:-x}'}", "0.11.1", None),
        ("args: {TAG: $GONE}", None, "y"),
        ("args: [TAG, M]", None, None),
        ("args: {TAG: , M: }", None, None),
    ],
)
def test_build_arguments(arguments: str, version: str | None, variable: str | None) -> None:
    dockerfile = "ARG TAG=v0.10.0\nFROM vllm/vllm-openai:$TAG\nARG M=y\nENV MODE=$M\n"
    text = service(f"build:\n  context: .\n  {arguments}", "command: --model m")
    beside = {"Dockerfile": dockerfile, ".env": "TAG=v0.11.1\n"}
    assert serving_of(text, beside)["engine_version"] == version
    assert variables_of(text, beside) == {"MODE": variable}


def test_variables_lie_over_the_images() -> None:
    text = service("build: .", "environment: {B: own}", "env_file: x.env")
    assert variables_of(text, {"Dockerfile": FROM_VLLM, "x.env": "C=c\n"}) == {"A": "image", "B": "own", "C": "c"}


@pytest.mark.parametrize(
    "dockerfile",
    [
        'FROM vllm/vllm-openai:v0.11.2\nCMD ["--model", "Qwen/Qwen3-8B", "--max-model-len", "8k,0"]\n',
        "FROM vllm/vllm-openai:v0.11.2\nENTRYPOINT vllm serve Qwen/Qwen3-8B --max-model-len 8k,0\n",
        "FROM ghcr.io/huggingface/text-generation-inference:3.3.4\nENV MODEL_ID=Qwen/Qwen2.5-7B MAX_TOTAL_TOKENS=x\n",
        'FROM python:3.12\nCMD ["bash", "-c", "vllm serve Qwen/Qwen3-8B\\n--max-model-len 8k,0"]\n',
        'FROM vllm/vllm-openai:v0.11.2\nCMD ["--model", "Qwen/Qwen3-8B", "--max-modle-len", "8192"]\nRUM x\n',
    ],
)
def test_what_stands_in_the_dockerfile_is_told_there(dockerfile: str) -> None:
    result = compose(service("build: .", "environment: {HF_HOME: /models}"), {"Dockerfile": dockerfile})
    assert [finding for finding in result.findings if finding.path == "compose.yaml"] == []
    assert told(result)


def test_the_default_cap_of_a_built_image_stands_at_its_from() -> None:
    dockerfile = "# a house of our own\nFROM ghcr.io/huggingface/text-generation-inference:2.4.0\n"
    text = service("build: .", "command: --model-id Qwen/Qwen2.5-7B-Instruct")
    result = compose(text, {"Dockerfile": dockerfile})
    (finding,) = result.findings
    assert (finding.rule, finding.path) == ("SL202", "Dockerfile")
    assert dockerfile[finding.span.start : finding.span.end].endswith("text-generation-inference:2.4.0")


def test_words_of_its_own_over_a_build_are_judged() -> None:
    text = service("build: .", "command: --model Qwen/Qwen3-8B --max-model-len 8k,0")
    assert loud(compose(text, {"Dockerfile": FROM_VLLM})) == [("SL505", 4)]


@pytest.mark.parametrize(
    ("lines", "rule", "lines_after"),
    [
        (
            (VLLM, "command:\n  - Qwen/Qwen3-8B # the model\n  # kind\n  - --dtype auto\n  - --port=1"), "SL507",
            (VLLM, "command:\n  - Qwen/Qwen3-8B # the model\n  # kind\n  - --dtype\n  - auto\n  - --port=1"),
        ),
        (
            (VLLM, "command: ['Qwen/Qwen3-8B', '--dtype auto'] # keep"), "SL507",
            (VLLM, "command: ['Qwen/Qwen3-8B', '--dtype', 'auto'] # keep"),
        ),
        (
            (VLLM, 'command:\n  - "Qwen/Qwen3-8B"\n  - "--served-model-name a$$b"'), "SL507",
            (VLLM, 'command:\n  - "Qwen/Qwen3-8B"\n  - "--served-model-name"\n  - "a$$b"'),
        ),
        (
            (VLLM, 'command: Qwen/Qwen3-8B --override-generation-config {"temperature":0.6} --port 80 # keep'), "SL508",
            (VLLM, "command: Qwen/Qwen3-8B --override-generation-config '{\"temperature\":0.6}' --port 80 # keep"),
        ),
        (
            (VLLM, 'command: >-\n  Qwen/Qwen3-8B\n  --override-generation-config {"temperature":0.6}\n  --port 80'),
            "SL508",
            (VLLM, 'command: >-\n  Qwen/Qwen3-8B\n  --override-generation-config {\\"temperature\\":0.6}\n  --port 80'),
        ),
        (
            (TGI, "command: --model-id m --max-input-length 1024 # keep"), "SL506",
            (TGI, "command: --model-id m --max-input-tokens 1024 # keep"),
        ),
        (
            (TGI, "command: [--model-id, m, --max-input-length=1024] # keep"), "SL506",
            (TGI, "command: [--model-id, m, --max-input-tokens=1024] # keep"),
        ),
        (
            (TGI, "environment:\n  - MODEL_ID=m\n  - MAX_INPUT_LENGTH=1024 # keep"), "SL506",
            (TGI, "environment:\n  - MODEL_ID=m\n  - MAX_INPUT_TOKENS=1024 # keep"),
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_repairs(lines: tuple[str, ...], rule: str, lines_after: tuple[str, ...], newline: str) -> None:
    text, after = (service(*each).replace("\n", newline) for each in (lines, lines_after))
    result = compose(text)
    assert mended(result, rule) == after
    assert rule not in [finding.rule for finding in compose(after).findings]


@pytest.mark.parametrize(
    "lines",
    [
        (VLLM, "command: [Qwen/Qwen3-8B, '--dtype $KIND']"),
        (VLLM, "command: Qwen/Qwen3-8B $FLAGS"),
    ],
)
def test_nothing_that_a_variable_supplies_is_rewritten(lines: tuple[str, ...]) -> None:
    result = compose(service(*lines), {".env": "KIND=auto\nFLAGS='\"--dtype auto\"'\n"})
    assert [(finding.rule, finding.fix) for finding in result.findings] == [("SL507", None)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "services:\n",
        "services: []\n",
        "services:\n  vllm:\n",
        "services:\n  vllm: {image: vllm/vllm-openai, command: {a: b}}\n",
        "services:\n  vllm: {image: [a], build: [b], command: 1, environment: 2, env_file: {a: b}}\n",
        "services:\n  vllm: {build: {context: [a], target: {}, args: 1, dockerfile: []}, extends: []}\n",
        "services:\n  vllm: {extends: {service: []}}\n",
    ],
)
def test_odd_files_are_survived(text: str) -> None:
    assert loud(compose(text)) == []


@given(st.text(st.sampled_from("ab-$${}:'\"\\ ()>&`#\n"), max_size=30))
def test_any_command_is_survived(command: str) -> None:
    shown = command.replace("\n", "\n        ")
    result = compose(f"services:\n  vllm:\n    {VLLM}\n    command: |2\n        {shown}\n")
    assert all(0 <= finding.span.start <= finding.span.end <= len(result.text) for finding in result.findings)
    assert sum(finding.rule in ("SL501", "SL503") for finding in result.findings) <= 1


def test_what_stands_in_the_dockerfile_alone_is_told_there_alone() -> None:
    dockerfile = (
        'FROM vllm/vllm-openai:v0.4.0\nCMD ["--model", "meta-llama/Meta-Llama-3-8B-Instruct", "--max-modle-len=1"]\n'
    )
    beside = {"Dockerfile": dockerfile}
    built = check("services: {chat: {build: .}}\n", beside, "compose.yaml")
    assert lines_of(built) == []
    assert len(built.deployments) == 1
    own = check(dockerfile, {}, "Dockerfile")
    assert sorted(rule for rule, _ in lines_of(own)) == ["SL118", "SL504"]
