"""Which model a serving serves: by its files, its name, its template."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from servelint.files.context import Context
from servelint.manifests import generation_config, modelfile
from servelint.manifests.serving import NoWriter, Serving, Setting
from servelint.models.identity import UNKNOWN, Identity
from servelint.models.resolve import identify_serving
from servelint.text import Span, decode
from tests.models.test_chat_template import CHATML as JINJA


def of_modelfile(text: str) -> Identity:
    """The identity of a Modelfile's model."""
    manifest = modelfile.read("Modelfile", decode(text.encode()), Context(Path("/nonexistent")))
    assert manifest is not None
    return identify_serving(manifest.servings[0])


def of_folder(config: Any) -> Identity:
    """The identity of a model folder with that config.json."""
    data = config if isinstance(config, bytes) else json.dumps(config).encode()
    context = Context(Path("/nonexistent"), {"config.json": data})
    manifest = generation_config.read("generation_config.json", decode(b'{"eos_token_id": 1}'), context)
    assert manifest is not None
    return identify_serving(manifest.servings[0])


@pytest.mark.parametrize(
    ("config", "family", "role"),
    [
        ({"_name_or_path": "Qwen/Qwen2.5-7B-Instruct", "vocab_size": 152064}, "qwen2.5", "instruct"),
        ({"_name_or_path": "Qwen/Qwen2.5-7B", "vocab_size": 152064}, "qwen2.5", "base"),
        ({"_name_or_path": "Qwen/Qwen2.5-7B-Instruct"}, "qwen2.5", "instruct"),
        ({"_name_or_path": "Qwen/Qwen2.5-7B-Instruct", "vocab_size": 32000}, None, "unknown"),
        ({"_name_or_path": "Qwen/Qwen2.5-7B-Instruct", "vocab_size": "many"}, "qwen2.5", "instruct"),
        ({"_name_or_path": ""}, None, "unknown"),
        ({"_name_or_path": "  "}, None, "unknown"),
        ({"_name_or_path": ["Qwen"]}, None, "unknown"),
        ({"_name_or_path": "/tmp/checkpoint-500"}, None, "unknown"),
        ({"vocab_size": 152064}, None, "unknown"),
        ([], None, "unknown"),
        (b"{broken", None, "unknown"),
    ],
)
def test_by_the_files(config: Any, family: str | None, role: str) -> None:
    identity = of_folder(config)
    assert (identity.family, identity.role) == (family, role)


def test_no_folder_and_no_name() -> None:
    span = Span(0, 0)
    serving = Serving("x.sh", span, "launch-script", "vllm", NoWriter("no"))
    assert identify_serving(serving) == UNKNOWN
    unknown = Setting("model", None, span, span, "model", reason="templated")
    assert identify_serving(Serving("x.sh", span, "launch-script", "vllm", NoWriter("no"), model=unknown)) == UNKNOWN


CHATML = 'TEMPLATE """<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n{{ .Response }}<|im_end|>"""\n'


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        # A template in the family's own language changes nothing.
        (f"FROM qwen2.5:7b\n{CHATML}", ["<|im_end|>"]),
        # What stands behind the answer is how this import ends its turns, whatever its name makes think.
        (f"FROM ./house.gguf\n{CHATML}", ["<|im_end|>"]),
        (f"FROM llama3\n{CHATML}", ["<|im_end|>"]),
        ('FROM ./house.gguf\nTEMPLATE "<start_of_turn>model"\n', ["<end_of_turn>"]),
        ('FROM ./house.gguf\nTEMPLATE """{{ .Prompt }}{{ .Response }}<|eot_id|>"""\n', ["<|eot_id|>"]),
        ('FROM ./house.gguf\nTEMPLATE """{{ .Prompt }}{{ .Response }}<|nobodys|>"""\n', []),
        ('FROM ./house.gguf\nTEMPLATE """{{ .Prompt }}{{ .Response"""\n', []),
        ('FROM ./house.gguf\nTEMPLATE """{{ .Prompt }}"""\n', []),
        ("FROM ./house.gguf\n", []),
        # A base model stays one.
        (f"FROM ./qwen2.5-7b.gguf\n{CHATML}", None),
    ],
)
def test_by_the_template(text: str, turn: list[str] | None) -> None:
    identity = of_modelfile(text)
    if turn is None:
        assert identity.role != "instruct"
    else:
        assert [token.text for token in identity.turn][:1] == turn[:1]


def test_a_template_is_a_guess() -> None:
    identity = of_modelfile(f"FROM ./house.gguf\n{CHATML}")
    assert (identity.role, identity.certain) == ("instruct", False)
    assert "TEMPLATE" in identity.source


IDS = {"151643": {"content": "<|endoftext|>"}, "151645": {"content": "<|im_end|>"}}


def of_files(name: str | None, eos: str, template: str = JINJA) -> Identity:
    """The identity of a model folder with a tokenizer."""
    config = {} if name is None else {"_name_or_path": name}
    tokenizer = {"eos_token": eos, "added_tokens_decoder": IDS, "chat_template": template}
    overlay = {"config.json": json.dumps(config).encode(), "tokenizer_config.json": json.dumps(tokenizer).encode()}
    context = Context(Path("/nonexistent"), overlay)
    manifest = generation_config.read("generation_config.json", decode(b'{"eos_token_id": 1}'), context)
    assert manifest is not None
    return identify_serving(manifest.servings[0])


@pytest.mark.parametrize(
    ("name", "eos", "role", "turn", "certain"),
    [
        # A fine-tune of nobody's family is understood by its template alone.
        ("./out", "<|im_end|>", "instruct", "<|im_end|>", True),
        # The same, but its tokenizer ends where documents do: it may be a base model with its publisher's template.
        ("./out", "<|endoftext|>", "instruct", "<|im_end|>", False),
        ("./runs/qwen2.5-7b-support-sft", "<|endoftext|>", "instruct", "<|im_end|>", True),
        # Base models carry templates; one whose tokenizer ends turns has been taught to.
        ("Qwen/Qwen2.5-7B", "<|endoftext|>", "base", None, True),
        ("Qwen/Qwen2.5-7B", "<|im_end|>", "instruct", "<|im_end|>", True),
        ("Qwen/Qwen3-Embedding-8B", "<|endoftext|>", "embedding", None, True),
    ],
)
def test_a_folder_by_its_template(name: str, eos: str, role: str, turn: str | None, certain: bool) -> None:
    identity = of_files(name, eos)
    assert (identity.role, identity.certain) == (role, certain)
    assert (identity.turn[0].text if identity.turn else None) == turn
    if turn is not None:
        assert identity.turn[0].id == 151645
