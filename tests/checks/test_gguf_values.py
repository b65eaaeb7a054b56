"""The rules on a GGUF: SL112 to SL116, SL302, SL303, SL903."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import pytest

from servelint.checks.run import Result
from tests.checks.linting import explained, loud, run
from tests.models.test_chat_template import CHATML

WORDS = [f"w{number}" for number in range(11)] + [","]
QWEN = [*WORDS, "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
OWN = [*WORDS, "<|over|>", "<|begin|>"]


def made(tmp_path: Path, tokens: list[str], template: str | None = CHATML, **ids: int) -> Result:
    """The result of a file with this vocabulary, template and ids."""
    writer = gguf.GGUFWriter(str(tmp_path / "m.gguf"), "qwen2")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token.startswith("<") else 1 for token in tokens])
    if template is not None:
        writer.add_chat_template(template)
    for name, value in ids.items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return run(tmp_path, "m.gguf", (tmp_path / "m.gguf").read_bytes())


def served(result: Result) -> tuple[str, list[int]]:
    """The verdict, and the ids in the stop set."""
    (deployment,) = result.deployments
    return deployment.verdict, [stop.value for stop in deployment.reading.stop_set.ids]


@pytest.mark.parametrize("eos", [12, 14])
def test_a_turn_end_that_llamacpp_knows_needs_no_id(tmp_path: Path, eos: int) -> None:
    result = made(tmp_path, QWEN, eos=eos)
    assert loud(result) == []
    assert served(result) == ("stops", [eos])


def test_without_an_end_id_the_comma_ends_answers(tmp_path: Path) -> None:
    result = made(tmp_path, QWEN)
    (finding,) = result.findings
    assert (finding.rule, finding.severity, "','" in finding.message) == ("SL114", "error", True)
    assert "--special-token-by-id eos 14" in finding.help
    assert explained(finding)


@pytest.mark.parametrize(("eos", "hint"), [(99, "beyond its 15 tokens"), (3, "an ordinary token")])
def test_ids_that_end_nothing(tmp_path: Path, eos: int, hint: str) -> None:
    (finding,) = made(tmp_path, QWEN, eos=eos).findings
    assert (finding.rule, hint in finding.message) == ("SL114", True)


def test_an_end_of_its_own_must_be_named(tmp_path: Path) -> None:
    own = CHATML.replace("<|im_end|>", "<|over|>").replace("<|im_start|>", "<|begin|>")
    template = own.replace("<|over|>", "{{ eos_token }}")
    assert loud(made(tmp_path, OWN, template, eos=12)) == []


def test_a_known_end_that_no_text_and_no_id_names(tmp_path: Path) -> None:
    result = made(tmp_path, [*QWEN, "[|endofturn|]"], CHATML.replace("<|im_end|>", "[|endofturn|]"), eos=12)
    assert [(finding.rule, finding.severity) for finding in result.findings] == [("SL113", "error")]
    assert served(result)[0] == "runs-away"


def test_no_template(tmp_path: Path) -> None:
    result = made(tmp_path, QWEN, None, eos=14)
    assert [finding.rule for finding in result.findings] in ([], ["SL303"])


def test_a_template_without_header(tmp_path: Path) -> None:
    result = made(tmp_path, QWEN, CHATML.partition("{% if add")[0], eos=14)
    assert [finding.rule for finding in result.findings] == ["SL302"]


def test_a_type_that_is_refused(tmp_path: Path) -> None:
    writer: Any = gguf.GGUFWriter(str(tmp_path / "m.gguf"), "qwen2")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(QWEN)
    writer.add_int32("tokenizer.ggml.eos_token_id", 14)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    result = run(tmp_path, "m.gguf", (tmp_path / "m.gguf").read_bytes())
    assert [(finding.rule, finding.severity) for finding in result.findings] == [("SL116", "error")]


@pytest.mark.parametrize("data", [b"GGUF", b"GGUF\x03\0\0\0" + b"\xff" * 40, b"not one"])
def test_what_cannot_be_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "m.gguf").write_bytes(data)
    result = run(tmp_path, "m.gguf", data)
    assert [(finding.rule, finding.severity) for finding in result.findings] == [("SL903", "error")]


def test_a_file_that_was_not_fetched_is_none(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
    (tmp_path / "m.gguf").write_bytes(pointer)
    assert run(tmp_path, "m.gguf", pointer).kind is None
