"""LocalAI model files and gallery entries: what is read, what is found, and what a repair writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.run import Result
from servelint.files.context import Context
from servelint.formats.yaml import read_yaml
from servelint.manifests.localai import LocalaiWriter, read
from servelint.manifests.serving import Refusal
from servelint.text import Source, apply_edits
from tests.checks.linting import loud, of_rule, repaired, run, written

GGUF = "qwen2.5-7b-instruct.gguf"
HEAD = "name: quill\nbackend: llama-cpp\ncontext_size: 4096\n"
PARAMETERS = f"parameters:\n  model: {GGUF}\n"
STOPS = 'stopwords:\n- "<|im_end|>"\n- "<|endoftext|>"\n'


def places(result: Result) -> list[tuple[str, int, str]]:
    """Rule, line and the text of what is a warning or worse."""
    return [
        (f.rule, result.text.count("\n", 0, f.span.start) + 1, written(result, f))
        for f in result.findings
        if f.severity != "note"
    ]


@pytest.mark.parametrize(
    ("name", "text", "models"),
    [
        ("a model file", HEAD + PARAMETERS, [GGUF]),
        ("a template says so", f"{PARAMETERS}template:\n  chat: x\n", [GGUF]),
        ("no key of LocalAI's own", f"name: x\n{PARAMETERS}", []),
        ("other parameters", "backend: x\nparameters: [model]\nstopwords: []\n", []),
        ("a gallery's base", "backend: llama-cpp\nstopwords: []\n", [None]),
        ("only a backend", "backend: llama-cpp\nname: x\n", []),
        ("two documents", f"{HEAD}{PARAMETERS}---\n{HEAD}parameters:\n  model: b.gguf\n", [GGUF, "b.gguf"]),
        # `--models-config-file` takes a list of them.
        (
            "a list",
            f"- backend: llama-cpp\n  parameters: {{model: {GGUF}}}\n- backend: vllm\n  parameters: {{model: b/c}}\n",
            [GGUF, "b/c"],
        ),
        ("a list of something else", "- a\n- b: 1\n", []),
    ],
)
def test_whose_file_it_is(tmp_path: Path, name: str, text: str, models: list[str | None]) -> None:
    manifest = read("model.yaml", Source(text), Context(tmp_path))
    servings = manifest.servings if manifest is not None else ()
    assert [serving.model.value if serving.model else None for serving in servings] == models


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("none", "", []),
        ("a block", STOPS, ["<|im_end|>", "<|endoftext|>"]),
        ("a line", "stopwords: ['<|im_end|>', </s>]\n", ["<|im_end|>", "</s>"]),
        ("an empty list", "stopwords: []\n", []),
        ("null among them", "stopwords: [null, </s>]\n", ["</s>"]),
        ("no list", "stopwords: </s>\n", []),
    ],
)
def test_stop_words(tmp_path: Path, name: str, text: str, expected: list[str]) -> None:
    (deployment,) = run(tmp_path, "model.yaml", HEAD + text + PARAMETERS).deployments
    stops = deployment.reading.stop_set
    assert [stop.value for stop in stops.texts] == expected
    # The ids inside the GGUF are not known.
    assert stops.unknown
    assert not deployment.reading.stops_replace


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ("", None),
        ("  max_tokens: 4096\n", 4096),
        # As with none at all, there is no bound.
        ("  max_tokens: 0\n", None),
        ("  max_tokens: -1\n", None),
        ("  max_tokens: true\n", None),
    ],
)
def test_cap(tmp_path: Path, text: str, cap: int | None) -> None:
    (deployment,) = run(tmp_path, "model.yaml", HEAD + STOPS + PARAMETERS + text).deployments
    found = deployment.reading.cap
    assert (found.value if found else None) == cap
    assert found is None or found.origin == "parameters.max_tokens"


@pytest.mark.parametrize(
    ("name", "text", "own", "serves_chat"),
    [
        ("none", "", False, None),
        ("a template", "template:\n  chat: |\n    {{.Input}}\n", False, True),
        ("a message's template", "template:\n  chat_message: |\n    {{.Content}}\n", False, True),
        ("an empty one", "template:\n  chat: ''\n", False, None),
        ("a completion's", "template:\n  completion: x\n", False, None),
        ("the model's", "template:\n  use_tokenizer_template: true\n", True, True),
        ("not the model's", "template:\n  use_tokenizer_template: false\n", False, None),
        ("by an option", "options:\n- use_jinja:true\n", True, True),
        ("by another option", "options: ['context_shift:true']\n", False, None),
    ],
)
def test_template(tmp_path: Path, name: str, text: str, own: bool, serves_chat: bool | None) -> None:
    (deployment,) = run(tmp_path, "model.yaml", HEAD + text + PARAMETERS).deployments
    reading = deployment.reading
    # With the model's own template llama.cpp's chat code ends a turn by itself.
    assert (reading.reads_model_ids, reading.serves_chat) == (own, serves_chat)


@pytest.mark.parametrize(
    ("backend", "own"), [("llama-cpp", False), ("cuda12-llama-cpp", False), ("vllm", True), ("transformers", True)]
)
def test_backends_that_read_a_model_folder(tmp_path: Path, backend: str, own: bool) -> None:
    text = f"backend: {backend}\ncontext_size: 4096\n{PARAMETERS}"
    (deployment,) = run(tmp_path, "model.yaml", text).deployments
    assert deployment.reading.reads_model_ids is own


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("no stops", HEAD + PARAMETERS, [("SL101", 1, "quill")]),
        ("another stop", HEAD + "stopwords: [<|endoftext|>]\n" + PARAMETERS, [("SL101", 4, "<|endoftext|>")]),
        ("a low cap", HEAD + STOPS + PARAMETERS + "  max_tokens: 64\n", [("SL201", 9, "64")]),
        ("no end", HEAD + STOPS + PARAMETERS + "  ignore_eos: true\n", [("SL112", 9, "true")]),
        ("an empty stop", HEAD + STOPS + '- ""\n' + PARAMETERS, [("SL104", 7, '""')]),
        ("a cap in the wrong place", HEAD + STOPS + "max_tokens: 4096\n" + PARAMETERS, [("SL205", 7, "max_tokens")]),
        (
            "a context in the wrong place",
            HEAD + STOPS + PARAMETERS + "  context_size: 8192\n",
            [("SL504", 9, "context_size")],
        ),
        (
            "a temperature in the wrong place",
            HEAD + STOPS + "temperature: 1\n" + PARAMETERS,
            [("SL504", 7, "temperature")],
        ),
    ],
)
def test_finding(tmp_path: Path, name: str, text: str, expected: list[tuple[str, int, str]]) -> None:
    assert places(run(tmp_path, "model.yaml", text)) == expected


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a block", "stopwords:\n- <|endoftext|>\n", "stopwords:\n- <|endoftext|>\n- <|im_end|>\n"),
        ("deeper", "stopwords:\n    - '</s>'\n", "stopwords:\n    - '</s>'\n    - '<|im_end|>'\n"),
        ("a line", "stopwords: ['</s>']\n", "stopwords: ['</s>', '<|im_end|>']\n"),
        ("a comment behind", "stopwords:\n- </s> # end\n", "stopwords:\n- </s> # end\n- <|im_end|>\n"),
    ],
)
def test_repair_in_place(tmp_path: Path, name: str, before: str, after: str) -> None:
    result = run(tmp_path, "model.yaml", HEAD + before + PARAMETERS)
    (finding,) = of_rule(result, "SL101")
    new = repaired(result, finding)
    assert new == HEAD + after + PARAMETERS
    assert of_rule(run(tmp_path, "model.yaml", new), "SL101") == []


@pytest.mark.parametrize("before", ["", "stopwords: []\n", "stopwords:\n"])
def test_repair_of_a_file_without_stops(tmp_path: Path, before: str) -> None:
    result = run(tmp_path, "model.yaml", HEAD + before + PARAMETERS)
    (finding,) = of_rule(result, "SL101")
    if finding.fix is None:
        assert before == "stopwords:\n"
        assert finding.no_fix
        return
    data = yaml.safe_load(repaired(result, finding))
    assert data.pop("stopwords") == ["<|im_end|>"]
    assert data == yaml.safe_load(HEAD + PARAMETERS)


def test_what_is_no_list_is_not_written_to(tmp_path: Path) -> None:
    (finding,) = of_rule(run(tmp_path, "model.yaml", HEAD + "stopwords: </s>\n" + PARAMETERS), "SL101")
    assert finding.fix is None
    assert finding.no_fix


def gallery(stops: str) -> str:
    lines = (HEAD + stops + PARAMETERS).splitlines()
    return "name: chatml\nconfig_file: |\n" + "".join(f"  {line}\n" for line in lines)


def test_gallery_entry(tmp_path: Path) -> None:
    result = run(tmp_path, "chatml.yaml", gallery("stopwords:\n- <|endoftext|>\n"))
    assert places(result) == [("SL101", 7, "<|endoftext|>")]
    (finding,) = of_rule(result, "SL101")
    new = repaired(result, finding)
    assert new == gallery("stopwords:\n- <|endoftext|>\n- <|im_end|>\n")
    assert loud(run(tmp_path, "chatml.yaml", new)) == []


def test_gallery_entry_with_a_setting_out_of_place(tmp_path: Path) -> None:
    text = gallery(STOPS) + "    context_size: 8192\n"
    assert places(run(tmp_path, "qwen.yaml", text)) == [("SL504", 11, "context_size")]


@pytest.mark.parametrize(
    "text",
    [
        HEAD + STOPS + PARAMETERS + "  temperature: 0.7\n  max_tokens: 4096\n",
        HEAD + "template:\n  use_tokenizer_template: true\n" + PARAMETERS,
        f"backend: vllm\ncontext_size: 4096\n{PARAMETERS}",
        HEAD + "stopwords: ['<|im_end|>', <dummy32000>, </s>, <|endoftext|>]\n" + PARAMETERS,
        HEAD + "parameters:\n  model: whisper-large.bin\n",
        gallery(STOPS),
    ],
)
def test_healthy_files_are_silent(tmp_path: Path, text: str) -> None:
    result = run(tmp_path, "model.yaml", text)
    assert result.kind == "localai"
    assert loud(result) == []


words = st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=6), min_size=1, max_size=3)


@given(
    st.sampled_from(["", "stopwords: []\n", "stopwords: [a, 'b']\n", "stopwords:\n- a\n", 'stopwords:\n  - "a"\n']),
    words,
)
@settings(max_examples=100)
def test_added_words_are_read_as_they_were_meant(before: str, added: list[str]) -> None:
    text = HEAD + before + PARAMETERS
    file = read_yaml(text)
    (root,) = file.documents
    assert root is not None
    edits: Any = LocalaiWriter(file, root).add("stop", added)
    assert not isinstance(edits, Refusal)
    old, new = yaml.safe_load(text), yaml.safe_load(apply_edits(text, edits))
    assert new.pop("stopwords") == [*old.pop("stopwords", []), *added]
    assert new == old


def test_only_stop_words_can_be_added() -> None:
    file = read_yaml(HEAD + PARAMETERS)
    (root,) = file.documents
    assert root is not None
    assert isinstance(LocalaiWriter(file, root).add("eos_token_id", [1]), Refusal)
