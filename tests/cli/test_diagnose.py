"""`servelint diagnose`: the page, its data, and what it refuses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

from tests.cli.conftest import Run
from tests.conftest import ROOT


@pytest.mark.parametrize("name", ["bad/model-folder/tickets-3b", "good/model-folder/tickets-3b"])
def test_examples(run: Run, folder: Path, golden: Callable[[str, str], None], name: str) -> None:
    shutil.copytree(ROOT / "examples" / name, folder / "m")
    ran = run("diagnose", "m")
    assert ran.err == ""
    assert ran.status == (1 if name.startswith("bad") else 0)
    golden(f"diagnose-{name.partition('/')[0]}", ran.out)
    document = json.loads(run("diagnose", "--format", "json", "m").out)
    assert [engine["engine"] for engine in document["engines"]] == [
        "transformers",
        "vllm",
        "sglang",
        "tgi",
        "llama.cpp",
    ]
    assert document["prompt"]["ends_in_header"] is True
    assert document["model"]["turn_end"][0]["text"] == "<|im_end|>"


def test_a_gguf(run: Run, folder: Path) -> None:
    writer = gguf.GGUFWriter("m.gguf", "qwen2")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*(f"w{number}" for number in range(11)), ",", "<|im_end|>"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    ran = run("diagnose", "m.gguf")
    assert ran.status == 1
    assert "llama.cpp" in ran.out
    assert "SL114" in ran.out
    assert "there is no chat template here" in ran.out


@pytest.mark.parametrize(
    ("path", "hint"),
    [("nope", "no such folder or file"), ("empty", "no model folder"), ("x.txt", "neither a folder nor a GGUF")],
)
def test_what_is_refused(run: Run, folder: Path, path: str, hint: str) -> None:
    (folder / "empty").mkdir()
    (folder / "x.txt").write_text("x")
    ran = run("diagnose", path)
    assert (ran.status, ran.out, hint in ran.err, ran.err.count("\n")) == (2, "", True, 1)


def test_a_folder_of_hostile_files(run: Run, folder: Path) -> None:
    place = folder / "m"
    place.mkdir()
    (place / "generation_config.json").write_bytes(b"[" * 100_000)
    (place / "config.json").write_text('{"architectures": ["QForCausalLM"], "model_type": "q"}')
    (place / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "eos_token": "</s>",
                "chat_template": "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            }
        )
    )
    with (place / "tokenizer.json").open("wb") as file:
        file.truncate(2 * 1024**3)
    (place / "special_tokens_map.json").symlink_to("/etc/passwd")
    ran = run("diagnose", "m")
    assert ran.status == 1
    assert "SL501" in ran.out
    assert "it takes more time or memory than a template gets" in ran.out
    assert "root:" not in ran.out
