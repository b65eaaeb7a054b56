"""What `ollama create` refuses, as recorded from the real program, and what ends generation."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.engines.ollama import (
    create_parameters,
    create_problems,
    create_source,
    nearest_parameter,
    read_ollama,
)
from servelint.engines.reading import Fault, Reading
from servelint.formats.modelfile import read_modelfile, read_modelfile_source
from servelint.manifests.modelfile import read_modelfile_manifest
from servelint.manifests.serving import Setting
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.records import replace
from servelint.text import Span, decode
from tests.conftest import read_rows

VECTORS = [row for row in read_rows("vectors/modelfile.handed.jsonl") if row["ok"]]
QWEN = Identity("qwen2.5", "instruct", (Token("<|im_end|>", 151645),), (Token("<|endoftext|>", 151643),))


def _files(path: str) -> str | None:
    """The folder of the recordings: the Modelfile alone."""
    return "empty" if path in ("", ".", "./") else None


def _single(value: Any) -> Any:
    return struct.unpack("f", struct.pack("f", value))[0] if isinstance(value, float) else value


def _read(text: str, identity: Identity = UNKNOWN) -> Reading:
    return read_ollama(read_modelfile_manifest("Modelfile", text, "\n").servings[0], identity)


def _faults(text: str) -> list[Fault]:
    return list(_read(text).faults)


@pytest.mark.skipif(not VECTORS, reason="needs the folder of recorded vectors beside the checkout")
def test_agrees_with_ollama_create() -> None:
    wrong: list[tuple[str, object, object]] = []
    for row in VECTORS:
        document = read_modelfile_source(decode(base64.b64decode(row["input_base64"])))
        faults = [fault for fault in create_problems(document, _files, "@DIR@") if fault.sort != "deprecated"]
        message = faults[0].message if faults else None
        if message != row["create_error"]:
            wrong.append((row["id"], message, row["create_error"]))
        if row["create_error"] is not None:
            continue
        parameters = {name: _single(value) for name, value in create_parameters(document).items()}
        expected = {
            name: _single(float(value)) if isinstance(parameters.get(name), float) else value
            for name, value in (row["parameters"] or {}).items()
        }
        if parameters != expected or create_source(document, _files) != row["from"]:
            wrong.append((row["id"], parameters, expected))
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("num_ctx", "4096", 4096), ("num_ctx", "+7", 7), ("num_ctx", "-0", 0), ("num_ctx", "007", 7),
        ("num_ctx", "9223372036854775807", 2**63 - 1), ("num_ctx", "-9223372036854775808", -(2**63)),
        ("num_ctx", "9223372036854775808", None), ("num_ctx", "1_0", None), ("num_ctx", "1.0", None),
        ("num_ctx", "0x10", None), ("num_ctx", "٣", None), ("num_ctx", "９", None), ("num_ctx", "+", None),
        ("num_ctx", "9" * 5000, None), ("num_ctx", "0" * 5000 + "1", 1),
        ("top_p", "0.5", 0.5), ("top_p", ".5", 0.5), ("top_p", "5.", 5.0), ("top_p", "1e-1", 0.1), ("top_p", "+1", 1.0),
        ("top_p", "0x1p-1", 0.5), ("top_p", "0x_1.8p1", 3.0), ("top_p", "0X1P+2", 4.0), ("top_p", "1_0.5", 10.5),
        ("top_p", "1e-400", 0.0), ("top_p", "1e-18446744073709551616", 0.0),
        ("top_p", "3.402823567e38", 3.402823567e38),
        ("top_p", "3.4028235678e38", None), ("top_p", "1e39", None), ("top_p", "0x1p128", None),
        ("top_p", "0x1p99999999", None), ("top_p", "0x1", None), ("top_p", "0x", None), ("top_p", "0xp1", None),
        ("top_p", "1e", None), ("top_p", "1e+", None),
        ("top_p", "e1", None), ("top_p", ".", None), ("top_p", ".e1", None),
        ("top_p", "_1", None), ("top_p", "1_", None), ("top_p", "1__0", None), ("top_p", "1_.5", None),
        ("top_p", "1e_5", None), ("top_p", "1e5_", None), ("top_p", "1.2.3", None), ("top_p", "0.7f", None),
        ("top_p", "1 2", None), ("top_p", "٣", None), ("top_p", "1e++5", None), ("top_p", "--1", None),
        ("top_p", "0x1p1_0", 1024.0), ("top_p", "0x__1p1", None), ("top_p", "1p2", None), ("top_p", "nano", None),
        ("use_mmap", "T", True), ("use_mmap", "0", False), ("use_mmap", "yes", None), ("use_mmap", "tRUE", None),
    ],
)  # fmt: skip
def test_values_as_go_reads_them(name: str, value: str, expected: Any) -> None:
    document = read_modelfile(f"FROM m\nPARAMETER {name} {value}\n")
    assert create_parameters(document).get(name) == expected
    faults = create_problems(document)
    if expected is None:
        kind = {"num_ctx": "int", "top_p": "float", "use_mmap": "bool"}[name]
        assert [fault.message for fault in faults] == [f"invalid {kind} value [{value}]"]
    else:
        assert faults == []


@pytest.mark.parametrize(
    ("value", "message"),
    [("NaN", "NaN"), ("inf", "+Inf"), ("-Infinity", "-Inf"), ("+INF", "+Inf")],
)
def test_numbers_that_json_does_not_have(value: str, message: str) -> None:
    document = read_modelfile(f"FROM m\nPARAMETER min_p {value}\n")
    (fault,) = create_problems(document)
    assert fault.message == f"client cannot encode request: json: unsupported value: {message}"
    assert create_problems(read_modelfile(f"FROM m\nPARAMETER min_p {value}\nPARAMETER min_p 0.1\n")) == []


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ("0.14.0", True), ("v0.14.0", True), ("0.14", True), ("1", True), ("1.2.3-rc1", True),
        ("1.2.3-rc.1+b.01", True),
        ("1.2.3+x", True), ("", False), ("v", False), ("V1.2.3", False), ("vv1", False), ("01.2.3", False),
        ("1.2-rc1", False), ("1.2.3-", False), ("1.2.3-01", False), ("1.2.3-0a", True), ("1.2.3.4", False),
        (">=0.14", False), ("1.2.3+", False), ("1.2.x", False), ("1.٣", False), ("latest", False),
    ],
)  # fmt: skip
def test_versions_that_requires_takes(value: str, valid: bool) -> None:
    faults = create_problems(read_modelfile(f"FROM m\nREQUIRES {value}\n"))
    assert [fault.message for fault in faults] == ([] if valid else ["requires must be a valid semver (e.g. 0.14.0)"])


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_tokens", "num_predict"), ("max_new_tokens", "num_predict"), ("n_ctx", "num_ctx"), ("Stop", "stop"),
        ("TEMPERATURE", "temperature"), ("temprature", "temperature"), ("repetition_penalty", "repeat_penalty"),
        ("num_pedict", "num_predict"), ("topk", "top_k"), ("SYSTEM", "SYSTEM"), ("think", None), ("format", None),
        ("keep_alive", None), ("", None), ("x" * 5000, None),
    ],
)  # fmt: skip
def test_the_nearest_parameter(name: str, meant: str | None) -> None:
    assert nearest_parameter(name) == meant


@pytest.mark.parametrize(
    ("lines", "sorts"),
    [
        ("PARAMETER num_ctx 4096", []),
        ("PARAMETER mirostat 2", ["deprecated"]),
        ("PARAMETER tfs_z 1", ["removed"]),
        ("PARAMETER max_tokens 1", ["cap-name"]),
        ("PARAMETER n_ctx 1", ["unknown-option"]),
        ("PARAMETER  stop x", ["unknown-option"]),
        ("PARAMETER num_ctx 32k", ["invalid-value"]),
        ("PARAMETER num_ctx 4096 # c", []),
        ("PARAMETER num_ctx ${CTX}", []),
        ("PARAMETER system x", []),
        ("PARAMETER seed 1\nPARAMETER seed 2\nPARAMETER seed 3", ["shadowed", "shadowed"]),
        ("PARAMETER seed x\nPARAMETER seed 2", ["invalid-value", "shadowed"]),
        ("PARAMETER stop a\nPARAMETER stop b", []),
        ("SYSTEM a\nSYSTEM b", ["shadowed"]),
        ("MESSAGE user a\nMESSAGE assistant b", []),
        ("LICENSE a\nLICENSE b", []),
        ("FROM n", ["shadowed"]),
        ("FROM ./n.gguf", []),
        ("FROM 'n'", ["invalid-value", "shadowed"]),
        ("REQUIRES new", ["invalid-value"]),
    ],
)
def test_faults(lines: str, sorts: list[str]) -> None:
    assert [fault.sort for fault in _faults(f"FROM m\n{lines}\n")] == sorts


@pytest.mark.parametrize(
    ("line", "suggestion", "place"),
    [
        ("PARAMETER num_ctx 32k", "32768", "32k"),
        ("PARAMETER num_ctx 4,096", "4096", "4,096"),
        ("PARAMETER num_predict 128.0", "128", "128.0"),
        ("PARAMETER num_ctx '4096'", "4096", "'4096'"),
        ("PARAMETER use_mmap yes", "true", "yes"),
        ("PARAMETER temperature hot", None, "hot"),
        ("PARAMETER max_tokens 1", "num_predict", "max_tokens"),
        ("PARAMETER num_ctx ", None, "PARAMETER num_ctx "),
    ],
)
def test_a_fault_has_a_place_and_a_suggestion(line: str, suggestion: str | None, place: str) -> None:
    text = f"FROM m\n{line}\n"
    (fault,) = _faults(text)
    assert (fault.suggestion, text[fault.span.start : fault.span.end]) == (suggestion, place)


def test_paths_are_judged_only_where_it_is_known_what_lies_there() -> None:
    document = read_modelfile("FROM .\nADAPTER ./nope.gguf\n")
    assert create_problems(document) == []
    messages = [fault.message for fault in create_problems(document, _files, "/d")]
    assert messages == ["no Modelfile or safetensors files found", "stat /d/nope.gguf: no such file or directory"]
    assert create_problems(document, lambda path: "folder" if path == "." else "file") == []


def test_explicit_stops_are_the_whole_list() -> None:
    reading = _read('FROM qwen2.5:7b\nPARAMETER stop "User:"\nPARAMETER stop <|im_end|>\n', QWEN)
    assert [(stop.value, stop.origin) for stop in reading.stop_set.texts] == [
        ("User:", "PARAMETER stop"), ("<|im_end|>", "PARAMETER stop"),
    ]  # fmt: skip
    assert reading.stops_replace
    assert reading.reads_model_ids
    assert reading.facts["explicit_stops"] is True
    assert reading.stop_set.holds("<|im_end|>", None) is True
    assert reading.stop_set.unknown == ("Ollama 0.30 and later also stop on <|im_end|>, <|endoftext|>",)


@pytest.mark.parametrize(
    ("source", "inherits", "reads_ids", "words"),
    [
        ("qwen2.5:7b", "library", True, "stops inherited from the library model qwen2.5:7b"),
        ("hf.co/a/b", "hub", True, "hf.co/a/b"),
        ("./x.gguf", "template", False, "recognises the chat template"),
        ("${MODEL}", "", True, "whose name cannot be known"),
    ],
)
def test_where_stops_may_come_from(source: str, inherits: str, reads_ids: bool, words: str) -> None:
    reading = _read(f"FROM {source}\n", QWEN)
    assert (reading.facts["inherits"], reading.reads_model_ids) == (inherits, reads_ids)
    assert words in reading.stop_set.unknown[0]
    assert reading.stop_set.holds("<|im_end|>", None) is None


@pytest.mark.parametrize(
    ("requires", "held", "complete"),
    [("0.30.0", True, True), ("v0.31", True, True), ("0.15.0", None, False), ("rubbish", None, False)],
)
def test_end_tokens_by_text_depend_on_the_version(requires: str, held: bool | None, complete: bool) -> None:
    reading = _read(f"FROM ./x.gguf\nREQUIRES {requires}\nPARAMETER stop User:\n", QWEN)
    assert reading.stop_set.holds("<|im_end|>", 151645) is held
    assert reading.stop_set.complete is complete
    assert reading.reads_model_ids is complete


def test_an_old_image_tag_is_certain() -> None:
    serving = read_modelfile_manifest("Modelfile", "FROM ./x.gguf\nPARAMETER stop User:\n", "\n").servings[0]
    tag = Setting("tag", "0.9.0", Span(0, 0), Span(0, 0), "image tag")
    reading = read_ollama(replace(serving, version=tag), QWEN)
    assert reading.stop_set.holds("<|im_end|>", 151645) is False
    assert reading.stop_set.complete


def test_a_vocabulary_may_take_a_token_out_of_the_list() -> None:
    harmony = Identity(vocabulary=(Token("<|return|>"), Token("<|call|>"), Token("<|end|>")))
    text = "FROM ./x.gguf\nREQUIRES 0.30.0\nPARAMETER stop x\n"
    assert _read(text).stop_set.holds("<|end|>", None) is True
    assert _read(text, harmony).stop_set.holds("<|end|>", None) is False


@pytest.mark.parametrize(
    ("lines", "cap"),
    [
        ("", None), ("PARAMETER num_predict 64", 64), ("PARAMETER num_predict 64\nPARAMETER num_predict -1", None),
        ("PARAMETER num_predict -2", None), ("PARAMETER num_predict 0", None), ('PARAMETER num_predict "128"', 128),
        ("PARAMETER num_predict 1\nPARAMETER num_predict 512", 512), ("PARAMETER num_predict x", None),
        ("PARAMETER num_predict ${N}", None),
    ],
)  # fmt: skip
def test_the_cap_is_the_last_one(lines: str, cap: int | None) -> None:
    found = _read(f"FROM m\n{lines}\n").cap
    assert (found.value if found else None) == cap


def test_options_and_facts() -> None:
    text = 'FROM m\r\nPARAMETER num_ctx 8192\r\nPARAMETER temperature "0.5"\r\nTEMPLATE """a\r\nb"""\r\nSYSTEM x\r\n'
    reading = _read(text)
    assert reading.facts["num_ctx"] == 8192
    (place,) = reading.facts["template"]["carriage_returns"]
    assert text[place.start : place.end] == '"""a\r\nb"""'
    temperature = reading.option("temperature")
    assert temperature is not None
    assert (temperature.data, text[temperature.span.start : temperature.span.end]) == (0.5, '"0.5"')


def test_a_refused_file_serves_nothing() -> None:
    reading = _read("FROM m\nPARAMETER stop x\nOOPS\n")
    assert not reading.generates
    assert not reading.stop_set.complete


@pytest.mark.parametrize(
    ("lines", "chat"),
    [
        ("", None), ("TEMPLATE {{ .Prompt }}", None), ("MESSAGE user hi", True), ("RENDERER qwen3-coder", True),
        ("TEMPLATE {{ range .Messages }}{{ .Role }}{{ end }}", True),
        ("TEMPLATE <|fim_prefix|>{{ .Prompt }}<|fim_suffix|>", None),
    ],
)  # fmt: skip
def test_chat_is_told_by_what_is_given(lines: str, chat: bool | None) -> None:
    assert _read(f"FROM m\n{lines}\n").serves_chat is chat


@given(
    st.lists(st.sampled_from(["stop", "num_ctx", "top_p", "use_mmap", "mirostat", "zz", "system", "from"]), max_size=6),
    st.text(max_size=12),
)
def test_any_values_are_read(names: list[str], value: str) -> None:
    text = "FROM m\n" + "".join(f"PARAMETER {name} {value}\n" for name in names)
    reading = _read(text)
    for fault in reading.faults:
        assert 0 <= fault.span.start <= fault.span.end <= len(text)
