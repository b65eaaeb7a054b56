"""What a shell script launches, with which words, variables and doubts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.files.context import Context
from servelint.manifests.launch_script import read
from servelint.manifests.serving import Manifest, Serving
from servelint.text import decode


def manifest_of(text: str) -> Manifest | None:
    """A text as the reader takes it."""
    return read("serve.sh", decode(text.encode("utf-8", "surrogateescape")), Context(Path("/nonexistent")))


def only(text: str) -> Serving:
    """The one serving of a script."""
    manifest = manifest_of(text)
    assert manifest is not None
    (serving,) = manifest.servings
    return serving


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#!/bin/sh\n",
        "# vllm serve m\n",
        "echo 'vllm serve m'\n",
        "pip install vllm\n",
        "cat <<EOF\nvllm serve m\nEOF\n",
        "alias v='vllm serve m'\n",
        "if [ x = vllm ]; then\n",
        "vllm bench serve --model m\n",
        "curl localhost/v1/models | grep vllm\n",
    ],
)
def test_scripts_that_launch_nothing(text: str) -> None:
    assert manifest_of(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve m \\\n  --port 80 # eighty\n", ["serve", "m", "--port", "80"]),
        ("M=m\nvllm serve $M --port ${PORT:-80}\n", ["serve", "m", "--port", None]),
        ('A=(--port 80)\nvllm serve m "${A[@]}"\n', ["serve", "m", "--port", "80"]),
        ("A='--port 80'\nvllm serve m $A\n", ["serve", "m", "--port", "80"]),
        ("bash -c 'vllm serve m'\n", ["serve", "m"]),
        ("run() { vllm serve m; }\nrun\n", ["serve", "m"]),
        ("vllm serve m 2>&1 | tee log\n", ["serve", "m"]),
        ("set -e; cd /x && exec vllm serve m\n", ["serve", "m"]),
        ("vllm serve m \\\r\n", ["serve", "m", "\r"]),
    ],
)
def test_the_words(text: str, words: list[str | None]) -> None:
    assert [word.text for word in only(text).arguments or ()] == words


def test_the_place_of_every_word() -> None:
    text = '#!/bin/bash\nMODEL=m\nnohup vllm serve "$MODEL" --port 80 > log 2>&1 &\n'
    serving = only(text)
    shown = [text[word.span.start : word.span.end] for word in serving.arguments or ()]
    assert shown == ["serve", '"$MODEL"', "--port", "80"]
    assert text[serving.span.start : serving.span.end].startswith("nohup vllm serve")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=1 B=2 vllm serve m\n", {"A": "1", "B": "2"}),
        ("A=1 A=2 vllm serve m\n", {"A": "2"}),
        ("export A=1\nvllm serve m\n", {"A": "1"}),
        ("A=1\nvllm serve m\n", {}),
        ("env A=1 vllm serve m\n", {"A": "1"}),
        ("A=$X vllm serve m\n", {"A": None}),
        ("A=1 docker run -e B=2 vllm/vllm-openai --model m\n", {"B": "2"}),
        ("docker run -e B vllm/vllm-openai --model m\n", {"B": None}),
    ],
)
def test_the_variables(text: str, found: dict[str, str | None]) -> None:
    environment = only(text).environment
    assert {setting.name: setting.value for setting in environment} == found
    assert all(setting.value is not None or setting.reason for setting in environment)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("docker run --env-file x.env vllm/vllm-openai --model m\n", "x.env"),
        ("vllm serve m $EXTRA\n", "outside"),
        ('vllm serve m "$@"\n', "outside"),
        ("if [ -d /x ]; then vllm serve m; fi\n", "some paths"),
        ("test -d /x && vllm serve m\n", "some paths"),
    ],
)
def test_what_is_hidden_is_said(text: str, hint: str) -> None:
    assert any(hint in reason for reason in only(text).hidden)


def test_a_plain_launch_hides_nothing() -> None:
    assert only("vllm serve m\n").hidden == ()


@pytest.mark.parametrize(
    ("image", "version"),
    [("v0.11.2", "0.11.2"), ("latest", None), ("$TAG", None)],
)
def test_the_version_of_an_image(image: str, version: str | None) -> None:
    setting = only(f"docker run vllm/vllm-openai:{image} --model m\n").version
    assert (setting.value if setting is not None else None) == version


def test_several_launches() -> None:
    manifest = manifest_of("vllm serve a --port 1 &\nvllm serve b --port 2 &\nwait\n")
    assert manifest is not None
    assert [[word.text for word in serving.arguments or ()][1] for serving in manifest.servings] == ["a", "b"]


_PIECES = st.sampled_from(
    ["vllm serve m ", "docker run ", "-e A=1 ", "vllm/vllm-openai ", "--port ", "$X ", '"$@" ', "'", '"', "\\\n",
     "\n", ";",     "A=1 ", "(", ")", "{", "}", "if x; then ", "fi\n", "python -m vllm ", "| tee x",
     "&", "<<E\n", "E\n", "\r", "\0", "\ud800"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=14).map("".join))
def test_any_script_is_read(text: str) -> None:
    text = text.replace("\ud800", "\udcff")
    manifest = manifest_of(text)
    for serving in manifest.servings if manifest is not None else ():
        for word in serving.arguments or ():
            assert 0 <= word.span.start <= word.span.end <= len(text)
