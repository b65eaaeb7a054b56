"""Which words launch an engine: table of command lines, with what the engine's program gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.shell import read_script
from servelint.manifests.containers import servings_of_words, word_argument
from servelint.manifests.images import engine_of_image, has_own_entry_point, known_image, takes_arguments
from servelint.manifests.launchers import base_name, recognise
from servelint.manifests.serving import Argument, NoWriter, Serving
from servelint.text import Span


def words_of(line: str) -> list[Argument]:
    """The words of one line's first command, as the shell hands them over."""
    commands = read_script(line).commands
    return [word_argument(word) for word in commands[0].words] if commands else []


def launch_of(line: str) -> Serving | None:
    """The serving that a line's first command makes."""
    base = Serving("x.sh", Span(0, 0), "launch-script", "", NoWriter("a test"))
    return next(servings_of_words(base, words_of(line)), None)


VLLM_IMAGE = "vllm/vllm-openai:v0.11.2"


@pytest.mark.parametrize(
    ("line", "launcher", "arguments"),
    [
        ("vllm serve m --port 1", "serve", ["serve", "m", "--port", "1"]),
        ("/opt/venv/bin/vllm serve m", "serve", ["serve", "m"]),
        ("uv run vllm serve m", "serve", ["serve", "m"]),
        ("uv run --with vllm --python 3.12 -- vllm serve m", "serve", ["serve", "m"]),
        ("uvx vllm serve m", "serve", ["serve", "m"]),
        ("poetry run vllm serve m", "serve", ["serve", "m"]),
        ("conda run -n e --no-capture-output vllm serve m", "serve", ["serve", "m"]),
        ("CUDA_VISIBLE_DEVICES=0 nohup vllm serve m > log 2>&1 &", "serve", ["serve", "m"]),
        ("exec vllm serve m", "serve", ["serve", "m"]),
        ("sudo -E vllm serve m", "serve", ["serve", "m"]),
        ("python3 -u -m vllm.entrypoints.openai.api_server --model m", "module", ["--model", "m"]),
        ("python -mvllm.entrypoints.openai.api_server --model m", "module", ["--model", "m"]),
        ("python -W ignore -X dev -m vllm.entrypoints.api_server --model m", "module", ["--model", "m"]),
        ("python -m vllm serve m", "serve", ["serve", "m"]),
        ("python3.11 -m vllm.entrypoints.cli.main serve m", "serve", ["serve", "m"]),
        ("python -m huggingfaceserver --model_id m", "kserve", ["--model_id", "m"]),
        ("text-generation-launcher --model-id m", "launcher", ["--model-id", "m"]),
        (f"docker run {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker run {VLLM_IMAGE} m", "image", ["m"]),
        (f"docker run {VLLM_IMAGE} vllm serve m", "image", ["vllm", "serve", "m"]),
        (f"docker run -it {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker run -itd --rm --gpus=all {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker run --gpus all --shm-size 1g -p 80:80 -v $PWD:/x {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker run --name=$NAME {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker run --env-file=x.env {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker run -- {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker --context far run {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker container run {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker create {VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"sudo podman run -d docker.io/{VLLM_IMAGE} --model m", "image", ["--model", "m"]),
        (f"docker run registry.example:5000/{VLLM_IMAGE}@sha256:00 --model m", "image", ["--model", "m"]),
        ("docker run vllm/vllm-openai:$TAG --model m", "image", ["--model", "m"]),
        ('docker run "vllm/vllm-openai:${TAG:-latest}" --model m', "image", ["--model", "m"]),
        (f"docker run --entrypoint vllm {VLLM_IMAGE} serve m", "serve", ["serve", "m"]),
        (f"docker run --entrypoint= {VLLM_IMAGE} vllm serve m", "serve", ["serve", "m"]),
        (f'docker run --entrypoint "" {VLLM_IMAGE} vllm serve m', "serve", ["serve", "m"]),
        (f"docker run --entrypoint python3 {VLLM_IMAGE} -m vllm serve m", "serve", ["serve", "m"]),
        ("docker run rocm/vllm:latest vllm serve m", "serve", ["serve", "m"]),
        ("docker run opea/vllm:1.3 --model m", "image", ["--model", "m"]),
        ("docker run house/own:1 vllm serve m", "serve", ["serve", "m"]),
        ("docker run ghcr.io/huggingface/text-generation-inference:3.0.1 --model-id m", "image", ["--model-id", "m"]),
        ("docker run kserve/huggingfaceserver:v0.15 --model_id m", "kserve", ["--model_id", "m"]),
    ],
)
def test_launches(line: str, launcher: str, arguments: list[str]) -> None:
    launch = launch_of(line)
    assert launch is not None
    assert launch.facts["launcher"] == launcher
    assert [word.text for word in launch.arguments or ()] == arguments


@pytest.mark.parametrize(
    "line",
    [
        "vllm bench serve --model m",
        "vllm --version",
        "vllm chat",
        "vllm serve --help",
        "vllm serve --help=ModelConfig",
        f"docker run {VLLM_IMAGE} --help",
        "python serve.py --model m",
        "python -c 'import vllm' serve",
        "python",
        "python -m",
        "python -m pip install vllm",
        "pip install vllm",
        "uv run",
        "uv pip install vllm",
        "echo vllm serve m",
        "docker",
        "docker run",
        "docker run -it",
        "docker run -e",
        "docker compose run server vllm serve m",
        "docker build -t vllm/vllm-openai .",
        "docker pull vllm/vllm-openai",
        "docker run rocm/vllm bash",
        "docker run -it rocm/vllm",
        "docker run nvcr.io/nvidia/vllm:25.09-py3 nvidia-smi",
        "docker run ubuntu echo vllm serve",
        f"docker run --entrypoint bash {VLLM_IMAGE} -c 'nvidia-smi'",
        f"docker run $OPTIONS {VLLM_IMAGE} --model m",
        "docker run $IMAGE --model m",
        "docker run vllm/vllm$SUFFIX --model m",
        "$VLLM serve m",
        "kubectl run q --image=vllm/vllm-openai -- --model m",
    ],
)
def test_launches_nothing(line: str) -> None:
    assert launch_of(line) is None


def test_docker_exec_is_no_launch_of_an_image() -> None:
    words = [Argument(text, Span(0, 1)) for text in ("docker", "exec", "server", "vllm", "serve", "m")]
    assert recognise(words) is None


@pytest.mark.parametrize(
    ("option", "name", "value"),
    [
        ("-e X=1", "X", "1"),
        ("-eX=1", "X", "1"),
        ("-e=X=1", "X", "1"),
        ("-ite X=1", "X", "1"),
        ("--env X=1", "X", "1"),
        ("--env=X=1", "X", "1"),
        ("--env X=a=b", "X", "a=b"),
        ("--env X=", "X", ""),
        ('-e "X=a b"', "X", "a b"),
        ("-e X", "X", None),
        ('-e "X=$HOST"', "X", None),
    ],
)
def test_variables_of_a_container(option: str, name: str, value: str | None) -> None:
    launch = launch_of(f"docker run {option} {VLLM_IMAGE} --model m")
    assert launch is not None
    assert [(setting.name, setting.value) for setting in launch.environment] == [(name, value)]
    assert value is not None or launch.environment[0].reason


@pytest.mark.parametrize("option", ["--env-file x.env", "--env-file=x.env"])
def test_environment_files_of_a_container(option: str) -> None:
    launch = launch_of(f"docker run {option} {VLLM_IMAGE} --model m")
    assert launch is not None
    assert [word.text for word in launch.facts["env_files"]] == ["x.env"]


def test_the_image_is_where_it_stands() -> None:
    line = f"docker run --rm {VLLM_IMAGE} --model m"
    launch = launch_of(line)
    assert launch is not None
    assert launch.image is not None
    assert line[launch.image.span.start : launch.image.span.end] == launch.image.value == VLLM_IMAGE


@pytest.mark.parametrize(
    ("image", "engine"),
    [
        ("vllm/vllm-openai", ("vllm", "image")),
        ("vllm/vllm-openai:v0.11.2", ("vllm", "image")),
        ("vllm/vllm-openai@sha256:00", ("vllm", "image")),
        ("registry.example:5000/mirror/vllm/vllm-openai:v1@sha256:00", ("vllm", "image")),
        ("vllm-openai", ("vllm", "image")),
        ("vllm/vllm-openai-rocm:x", ("vllm", "image")),
        ("vllm/vllm-tpu", ("vllm", "image")),
        ("ghcr.io/huggingface/text-generation-inference", ("tgi", "image")),
        ("ghcr.io/huggingface/text-generation-inference:3.0.1-rocm", ("tgi", "image")),
        ("kserve/huggingfaceserver:latest-gpu", ("vllm", "kserve")),
        ("ghcr.io/huggingface/text-embeddings-inference:1.5", None),
        ("ubuntu:22.04", None),
        ("house/vllm-proxy:1", None),
        ("vllm/router", None),
        ("", None),
        (":", None),
        ("/", None),
    ],
)
def test_engine_of_an_image(image: str, engine: tuple[str, str] | None) -> None:
    assert engine_of_image(image) == engine


@pytest.mark.parametrize(
    ("image", "own"),
    [
        (VLLM_IMAGE, True),
        ("ghcr.io/huggingface/text-generation-inference:3", True),
        ("rocm/vllm", False),
        ("nvcr.io/nvidia/vllm:25.09-py3", False),
        (None, False),
    ],
)
def test_own_entry_points(image: str | None, own: bool) -> None:
    assert has_own_entry_point(image) is own


def test_who_gets_the_words_behind_an_image() -> None:
    option, program = Argument("--model", Span(0, 7)), Argument("bash", Span(0, 4))
    assert takes_arguments(VLLM_IMAGE, [program])
    assert takes_arguments("rocm/vllm", [option])
    assert takes_arguments("rocm/vllm", [Argument(None, Span(0, 9), prefix="--model=")])
    assert not takes_arguments("rocm/vllm", [program])
    assert not takes_arguments("rocm/vllm", [])


@pytest.mark.parametrize(
    ("text", "whole", "known"),
    [
        ("vllm/vllm-openai", True, "vllm/vllm-openai"),
        ("vllm/vllm-openai:", False, "vllm/vllm-openai:"),
        ("vllm/vllm-openai:v0.", False, "vllm/vllm-openai:v0."),
        ("vllm/vllm", False, None),
        ("registry:5000/", False, None),
        ("", False, None),
    ],
)
def test_an_image_that_is_known_in_part(text: str, whole: bool, known: str | None) -> None:
    assert known_image(text, whole) == known


def test_base_name() -> None:
    assert base_name("/opt/venv/bin/vllm") == base_name("vllm") == "vllm"


_WORDS = st.sampled_from(
    ["docker", "run", "-e", "--env=A", "-", "--", "-it", "vllm", "serve", "python", "-m", "uv", VLLM_IMAGE, "",
     "--help", "vllm.entrypoints.openai.api_server", "--entrypoint", "container", "--entrypoint=", "rocm/vllm", None]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=9), st.integers(0, 9))
def test_any_words(texts: list[str | None], many: int) -> None:
    words = [
        Argument(text, Span(place, place + 1), count=None if place == many else 1) for place, text in enumerate(texts)
    ]
    launch = recognise(words)
    # What the program gets is always the end of the line, in order.
    assert launch is None or not launch.arguments or launch.arguments == tuple(words[-len(launch.arguments) :])
