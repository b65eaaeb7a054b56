"""The tables of options: rebuilt from the introspections, and whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from servelint.data import data_folder
from servelint.data.flags.__main__ import TABLES, main
from servelint.data.flags.writing import ranges, render
from servelint.engines.vllm_arguments import flag_table


@pytest.mark.parametrize(
    ("engine", "facts"),
    [
        ("vllm", "vllm-serve-args.json"),
        ("sglang", "sglang-args.json"),
        ("llama.cpp", "llamacpp-args.json"),
        ("tgi", "tgi-args.json"),
    ],
)
def test_is_what_the_introspection_gives(shared: Path, engine: str, facts: str) -> None:
    name, make = TABLES[engine]
    found = json.loads((shared / "facts" / facts).read_text(encoding="utf-8"))
    written = (data_folder() / "rules" / "engines" / name).read_text(encoding="utf-8")
    assert render(make(found)) == written


def test_knows_every_option_string_in_every_version(shared: Path) -> None:
    found = json.loads((shared / "facts" / "vllm-serve-args.json").read_text(encoding="utf-8"))
    known = flag_table()
    for string, versions in found["option_string_presence"].items():
        if string.startswith("<"):
            continue
        mask = sum(1 << known.versions.index(version) for version in versions)
        assert known.presence(string) == mask, string


def test_an_option_string_has_one_owner_in_each_version() -> None:
    for string, owners in flag_table().strings.items():
        seen = 0
        for _, bits in owners:
            assert not seen & bits, string
            seen |= bits


@pytest.mark.parametrize(
    ("seen", "text"),
    [(["1", "2"], "1..2"), (["3"], "3.."), (["1", "3"], "1..1,3.."), (["1", "2", "3"], "1.."), ([], "")],
)
def test_ranges(seen: list[str], text: str) -> None:
    assert ranges(seen, ["1", "2", "3"]) == text


def test_command(tmp_path: Path, shared: Path) -> None:
    output = tmp_path / "out.json"
    assert main(["vllm", str(shared / "facts" / "vllm-serve-args.json"), str(output)]) == 0
    assert json.loads(output.read_text(encoding="utf-8"))["versions"]
    assert main([]) == 2


def test_presence_by_version() -> None:
    known = flag_table()
    assert known.newest_with("--enable-reasoning") == "0.9.2"
    assert known.oldest_with("--enable-reasoning") == "0.7.3"
    assert known.newest_with("--nosuch") is None
