"""What runs in a container: `docker run` and its like, shells within shells, and what each hands on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.shell import read_script
from servelint.formats.shell_words import quote_word, split_words
from servelint.manifests.containers import (
    CONDITIONAL,
    image_name,
    servings_of_container,
    servings_of_words,
    version_setting,
    word_argument,
)
from servelint.manifests.serving import Argument, NoWriter, Serving, Setting
from servelint.text import Span
from tests.manifests.test_custom_resources import check, loud, told

VLLM = "vllm/vllm-openai:v0.11.2"
TGI = "ghcr.io/huggingface/text-generation-inference:3.3.4"
LLAMA = "ghcr.io/ggml-org/llama.cpp"


def words_of(line: str) -> list[Argument]:
    commands = read_script(line).commands
    return [word_argument(word) for word in commands[0].words] if commands else []


def servings_of(line: str, environment: tuple[Setting, ...] = ()) -> list[Serving]:
    base = Serving("x.sh", Span(0, 0), "launch-script", "", NoWriter("a test"), environment=environment)
    return list(servings_of_words(base, words_of(line)))


def servings_of_string(text: str, environment: tuple[Setting, ...] = ()) -> list[Serving]:
    """As `servings_of`, of a string that is cut without a shell: a Compose file's, or a unit's."""
    base = Serving("x", Span(0, 0), "compose", "", NoWriter("a test"), environment=environment)
    return list(servings_of_words(base, [word_argument(word) for word in split_words(text, 0, "posix").words]))


def argv(serving: Serving) -> list[str | None]:
    return [argument.text for argument in serving.arguments or ()]


@pytest.mark.parametrize(
    ("line", "engine", "words"),
    [
        (f"docker run {VLLM} --model m", "vllm", ["--model", "m"]),
        (f"podman run --device nvidia.com/gpu=all {VLLM} --model m", "vllm", ["--model", "m"]),
        (f"nerdctl run --gpus all {VLLM} --model m", "vllm", ["--model", "m"]),
        (f"/usr/bin/docker run -d --name x {VLLM} m", "vllm", ["m"]),
        (f"docker container run --rm {VLLM} m", "vllm", ["m"]),
        (f"docker create {VLLM} m", "vllm", ["m"]),
        (f"docker --context far -H ssh://x run {VLLM} m", "vllm", ["m"]),
        (f"docker run -it --rm -p 8000:8000 -v /m:/m --ipc=host {VLLM} --model m", "vllm", ["--model", "m"]),
        (f"docker run -p8000:8000 -e=A=b -itd {VLLM} --model m", "vllm", ["--model", "m"]),
        (f"podman run --replace --tls-verify --name x {VLLM} --model m", "vllm", ["--model", "m"]),
        (f"podman run --replace=true --name x {VLLM} --model m", "vllm", ["--model", "m"]),
        # What stands behind the image is the server's, and looks like the client's own options.
        (f"docker run {VLLM} --model m --name x -e y", "vllm", ["--model", "m", "--name", "x", "-e", "y"]),
        (f"docker run -v $PWD/m:/m {VLLM} --model $MODEL", "vllm", ["--model", None]),
        (f"docker run {TGI} --model-id m", "tgi", ["--model-id", "m"]),
        (f"docker run {LLAMA}:server -m x.gguf", "llama.cpp", ["-m", "x.gguf"]),
        (f"docker run {LLAMA}:server-cuda -m x.gguf", "llama.cpp", ["-m", "x.gguf"]),
        (f"docker run {LLAMA}:full --server -m x.gguf", "llama.cpp", ["-m", "x.gguf"]),
        (f"docker run {LLAMA}:full-cuda -s -m x.gguf", "llama.cpp", ["-m", "x.gguf"]),
        ("docker run ollama/ollama", "ollama", []),
        (f"docker run --entrypoint vllm {VLLM} serve m", "vllm", ["serve", "m"]),
        (f"docker run --entrypoint=vllm {VLLM} serve m", "vllm", ["serve", "m"]),
        (f'docker run --entrypoint "" {VLLM} vllm serve m', "vllm", ["serve", "m"]),
        ("docker run --entrypoint text-generation-launcher me/x --model-id m", "tgi", ["--model-id", "m"]),
        ("docker run me/x vllm serve m", "vllm", ["serve", "m"]),
        ("docker exec box vllm serve m", "vllm", ["serve", "m"]),
        # Images that run whatever command they get.
        ("docker run rocm/vllm vllm serve m", "vllm", ["serve", "m"]),
        ("docker run rocm/vllm --model m", "vllm", ["--model", "m"]),
        ("docker run rocm/vllm bash -c 'vllm serve m --port 1'", "vllm", ["serve", "m", "--port", "1"]),
        (f"docker run --entrypoint bash {VLLM} -c 'vllm serve m'", "vllm", ["serve", "m"]),
        (f"docker run --entrypoint /bin/sh {VLLM} -ec 'exec vllm serve m'", "vllm", ["serve", "m"]),
        (f"bash -c 'docker run {VLLM} --model m'", "vllm", ["--model", "m"]),
        (f"docker run {VLLM.replace('v0.11.2', '$TAG')} --model m", "vllm", ["--model", "m"]),
        (f"docker run mirror.example/a/{VLLM} m", "vllm", ["m"]),
    ],
)
def test_who_is_launched(line: str, engine: str, words: list[str | None]) -> None:
    (serving,) = servings_of(line)
    assert (serving.engine, argv(serving)) == (engine, words)


@pytest.mark.parametrize(
    "line",
    [
        f"docker pull {VLLM}",
        f"docker build -t {VLLM} .",
        "docker run",
        "docker run --rm",
        f"docker run {VLLM} --help",
        f"docker run {VLLM} --version",
        f"docker run --entrypoint python3 {VLLM} ask.py",
        f"docker run --entrypoint $PROGRAM {VLLM} serve m",
        "docker run $IMAGE --model m",
        "docker run vllm/${REPOSITORY} --model m",
        f"docker run $OPTIONS {VLLM} --model m",
        "docker run rocm/vllm bash",
        f"docker run {LLAMA}:full --convert m",
        f"docker run {LLAMA}:full",
        f"docker run {LLAMA}:light -m x.gguf",
        "docker run nginx",
    ],
)
def test_who_is_not(line: str) -> None:
    assert servings_of(line) == []


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        ("-e A=b", {"A": "b"}),
        ("-eA=b", {"A": "b"}),
        ("-e=A=b", {"A": "b"}),
        ("--env A=b --env=B=c", {"A": "b", "B": "c"}),
        ("-ite A=b", {"A": "b"}),
        ("-e A=b=c", {"A": "b=c"}),
        ("-e A=", {"A": ""}),
        # Without a value it is the host's own.
        ("-e A", {"A": None}),
        ("-e A=$A", {"A": None}),
        ("-e 'A=b c'", {"A": "b c"}),
        ("--name A=b", {}),
    ],
)
def test_variables(options: str, variables: dict[str, str | None]) -> None:
    around = Setting("AROUND", "x", Span(0, 0), Span(0, 0), "environment")
    (serving,) = servings_of(f"docker run {options} {VLLM} --model m", (around,))
    # Those around the client are not the container's.
    assert {setting.name: setting.value for setting in serving.environment} == variables


def test_places() -> None:
    line = f"docker run -e A='b' {VLLM} --model 'm'"
    (serving,) = servings_of(line)
    assert serving.image is not None
    assert serving.version is not None

    def written(span: Span) -> str:
        return line[span.start : span.end]

    assert (written(serving.image.span), written(serving.environment[0].whole)) == (VLLM, "A='b'")
    assert [written(argument.span) for argument in serving.arguments or ()] == ["--model", "'m'"]
    assert (serving.version.value, serving.version.origin) == ("0.11.2", "image tag")


def test_places_in_a_script_in_a_container() -> None:
    line = f"docker run --entrypoint sh {VLLM} -c 'cd /m && vllm serve \"m n\" --port 1'"
    (serving,) = servings_of(line)
    assert [line[word.span.start : word.span.end] for word in serving.arguments or ()] == [
        "serve", '"m n"', "--port", "1",
    ]  # fmt: skip
    assert line[serving.span.start : serving.span.end].startswith("vllm serve")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sh -c 'vllm serve $0' m", ["serve", "m"]),
        ("sh -c 'vllm serve m \"$@\"' -- --port 1", ["serve", "m", "--port", "1"]),
        ("sh -c 'vllm serve $1' x m", ["serve", "m"]),
        ("bash -lc 'vllm serve m'", ["serve", "m"]),
        ("bash -e -o pipefail -c 'vllm serve m'", ["serve", "m"]),
        ("bash -c -e 'vllm serve m'", ["serve", "m"]),
        ("bash --rcfile x -c 'vllm serve m'", ["serve", "m"]),
        ("bash -c 'bash -c \"vllm serve m\"'", ["serve", "m"]),
        ("bash -c 'A=m; vllm serve $A'", ["serve", "m"]),
        ("bash -c 'vllm serve $OUTSIDE'", ["serve", "outside"]),
        ("bash -c 'vllm serve $UNKNOWN'", ["serve", None]),
    ],
)
def test_scripts_of_shells(line: str, words: list[str | None]) -> None:
    outside = Setting("OUTSIDE", "outside", Span(0, 0), Span(0, 0), "environment")
    (serving,) = servings_of_string(line, (outside,))
    assert argv(serving) == words


def test_words_behind_a_script_that_are_not_known() -> None:
    base = Serving("x", Span(0, 0), "compose", "", NoWriter("a test"))
    known = [Argument(text, Span(0, 1)) for text in ("sh", "-c", 'vllm serve "$1" --port 1', "x")]
    (serving,) = servings_of_words(base, [*known, Argument(None, Span(2, 3), "a slot")])
    assert argv(serving) == ["serve", None, "--port", "1"]


@pytest.mark.parametrize("line", ["bash serve.sh", "sh", "bash -c", "bash -s vllm serve m", "bash -x serve.sh"])
def test_shells_without_a_script_here(line: str) -> None:
    assert servings_of_string(line) == []


def test_a_scripts_own_variables_are_its_commands() -> None:
    (serving,) = servings_of_string("bash -c 'VLLM_USE_V1=0 vllm serve m'")
    assert [(setting.name, setting.value) for setting in serving.environment] == [("VLLM_USE_V1", "0")]


def test_what_runs_on_some_paths_only_says_so() -> None:
    (serving,) = servings_of_string("bash -c 'if [ -n \"$X\" ]; then vllm serve m; fi'")
    assert serving.hidden == (CONDITIONAL,)


@pytest.mark.parametrize(
    ("image", "name", "version"),
    [
        (None, None, None),
        ((VLLM, None), VLLM, "0.11.2"),
        (("me/vllm:v0.11.2", None), "me/vllm:v0.11.2", None),
        ((None, "vllm/vllm-openai:"), "vllm/vllm-openai:", None),
        ((None, "vllm/vllm-"), None, None),
        ((None, None), None, None),
    ],
)
def test_images(image: tuple[str | None, str | None] | None, name: str | None, version: str | None) -> None:
    setting = None if image is None else Setting("image", image[0], Span(0, 0), Span(0, 0), "image", data=image[1])
    found = version_setting(setting)
    assert image_name(setting) == name
    assert (None if found is None else found.value) == version


def test_an_entry_point_that_is_not_known_leaves_the_container_the_engines() -> None:
    setting = Setting("image", VLLM, Span(0, 0), Span(0, 0), "image")
    base = Serving("x", Span(0, 0), "compose", "", NoWriter("a test"), image=setting)
    entry = [Argument(None, Span(0, 1), "a slot")]
    (serving,) = servings_of_container(base, entry, [Argument("m", Span(1, 2))])
    assert (serving.engine, serving.arguments, serving.facts["launcher"]) == ("vllm", None, None)
    assert list(servings_of_container(Serving("x", Span(0, 0), "compose", "", NoWriter("a test")), entry, [])) == []


def test_a_word_without_a_map_places_its_whole_script() -> None:
    base = Serving("x", Span(0, 0), "compose", "", NoWriter("a test"))
    words = [Argument(text, Span(5, 9)) for text in ("sh", "-c", "vllm serve m --port 1")]
    (serving,) = servings_of_words(base, words)
    assert {argument.span for argument in serving.arguments or ()} == {Span(5, 9)} == {serving.span}


def test_the_variables_of_an_env_file_are_the_containers() -> None:
    text = f"#!/bin/sh\ndocker run --env-file x.env -e A=own {VLLM} --model m\n"
    (deployment,) = check(text, {"x.env": "A=file\nB='kept'\n"}, "run.sh").deployments
    values = {setting.name: setting.value for setting in deployment.serving.environment}
    assert values == {"A": "own", "B": "'kept'"}
    (deployment,) = check(text, {}, "run.sh").deployments
    assert deployment.serving.hidden


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (f"docker run {VLLM} --model Qwen/Qwen3-8B --max-model-len 8192", []),
        (f"docker run {VLLM} --model Qwen/Qwen3-8B --max-model-len 8k,0", [("SL505", 2)]),
        (f"podman run --rm {VLLM} vllm serve Qwen/Qwen3-8B", [("SL507", 2)]),
        (f"docker run -e MAX_TOTAL_TOKENS=lots {TGI} --model-id Qwen/Qwen2.5-7B-Instruct", [("SL505", 2)]),
    ],
)
def test_findings_in_a_script(line: str, found: list[tuple[str, int]]) -> None:
    result = check(f"#!/bin/sh\n{line}\n", name="run.sh")
    assert told(result)
    assert loud(result) == found


PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=12)


@given(st.lists(PLAIN, max_size=5), st.sampled_from(["docker", "podman"]))
def test_any_words_reach_the_server_as_they_are(words: list[str], program: str) -> None:
    words = [word for word in words if word not in ("--help", "-h", "--version")]
    line = f"{program} run --rm {VLLM} " + " ".join(quote_word(word, "'") for word in words)
    (serving,) = servings_of(line)
    assert argv(serving) == words


@given(st.lists(st.sampled_from(["run", "-e", "-it", "--entrypoint", "sh", "-c", "", VLLM, "--", "A=b", "$X", "-"])))
def test_any_client_line_is_survived(words: list[str]) -> None:
    line = " ".join(["docker", *(quote_word(word, "'") if word != "$X" else word for word in words)])
    for serving in servings_of(line):
        assert all(0 <= argument.span.start <= argument.span.end <= len(line) for argument in serving.arguments or ())


@pytest.mark.parametrize(
    ("name", "words", "engines"),
    [
        ("a fetch", '["pull", "qwen2.5:7b"]', []),
        ("a question", '["run", "qwen2.5:7b"]', []),
        ("the server", '["serve"]', ["ollama"]),
        ("nothing", "[]", ["ollama"]),
    ],
)
def test_ollamas_image_serves_only_where_it_is_told_to(name: str, words: str, engines: list[str]) -> None:
    text = f"services: {{a: {{image: 'ollama/ollama:0.12.0', command: {words}}}}}\n"
    result = check(text, name="compose.yaml")
    assert [deployment.serving.engine for deployment in result.deployments] == engines, name


def test_the_tag_of_an_image_that_counts_something_else_is_no_version() -> None:
    words = "command: [--model, meta-llama/Meta-Llama-3-8B-Instruct]"
    result = check(f"services: {{a: {{image: 'lmcache/vllm-openai:v0.3.7', {words}}}}}\n", name="compose.yaml")
    assert loud(result) == []
    (deployment,) = result.deployments
    assert deployment.serving.version is None


def test_a_whole_command_in_one_item() -> None:
    text = "services: {a: {image: 'acme/llm:1', entrypoint: ['vllm serve Qwen/Qwen2.5-7B-Instruct --port 80']}}\n"
    result = check(text, name="compose.yaml")
    assert [rule for rule, _ in loud(result)] == ["SL507"]
    assert len(result.deployments) == 1
