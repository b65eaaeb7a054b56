"""The rules on generation_config.json: SL112 to SL116, SL203, SL513."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import chat_folder, explained, loud, of_rule, repaired, run, written

NAME = "generation_config.json"
CHAT = chat_folder()
BASE = chat_folder("Qwen/Qwen2.5-7B")
LISTED = '{"eos_token_id": [151645, 151643]}'


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        (LISTED, CHAT),
        ('{"eos_token_id": 151645}', CHAT),
        ('{"eos_token_id": [151643, 151645, 151645]}', CHAT),
        ('{"eos_token_id": 151643}', BASE),
        ('{"eos_token_id": 7}', {}),
        ('{"eos_token_id": [1, 2], "pad_token_id": null, "temperature": 0.6, "top_k": 20, "do_sample": true}', {}),
        ('{"eos_token_id": 151643}', chat_folder("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B")),
        ('{"eos_token_id": 128009}', chat_folder("meta-llama/Meta-Llama-3-8B-Instruct", 128256)),
        ('{"eos_token_id": 151645, "suppress_tokens": [1, 2], "min_new_tokens": 1, "max_new_tokens": 4096}', {}),
    ],
)
def test_healthy_files(tmp_path: Path, text: str, beside: dict[str, str]) -> None:
    assert loud(run(tmp_path, NAME, text, beside)) == []


@pytest.mark.parametrize(
    ("text", "beside", "hint", "after"),
    [
        ('{"bos_token_id": 1}', CHAT, "no eos_token_id", '{"bos_token_id": 1, "eos_token_id": [151645, 151643]}'),
        ('{"bos_token_id": 1}', {}, "no eos_token_id", None),
        ("{}", {}, "no eos_token_id", None),
        ('{"eos_token_id": []}', {}, "empty list", None),
        ('{"eos_token_ids": [151645]}', {}, "no eos_token_id", None),
    ],
)  # fmt: skip
def test_lost_ids(tmp_path: Path, text: str, beside: dict[str, str], hint: str, after: str | None) -> None:
    result = run(tmp_path, NAME, text, beside)
    (finding,) = of_rule(result, "SL115")
    assert (finding.severity, hint in finding.message) == ("warning", True)
    assert explained(finding)
    if after is None:
        assert finding.fix is None
    else:
        assert repaired(result, finding) == after


def test_a_key_that_nobody_reads_is_named(tmp_path: Path) -> None:
    (finding,) = of_rule(run(tmp_path, NAME, '{"eos_token_ids": [151645]}'), "SL115")
    assert "eos_token_ids is no key" in finding.help


@pytest.mark.parametrize(
    ("value", "mended"),
    [
        ('"151645"', "151645"),
        ('["151645", "151643"]', "[151645, 151643]"),
        ('[151645, "151643"]', "[151645, 151643]"),
        ("151645.0", "151645"),
        ("[151645.0]", "[151645]"),
        ('" 7 "', "7"),
        ("true", None),
        ("[true]", None),
        ('"<|im_end|>"', None),
        ('"\\ud800"', None),
        ("1.5", None),
        ("1e400", None),
        ("NaN", None),
        ("[null]", None),
        ("[[151645]]", None),
        ('{"a": 1}', None),
        ('["' + "9" * 50 + '"]', None),
        ("[" * 150 + "]" * 150, None),
    ],
)
def test_wrong_types(tmp_path: Path, value: str, mended: str | None) -> None:
    result = run(tmp_path, NAME, f'{{"eos_token_id": {value}}}')
    (finding,) = of_rule(result, "SL116")
    assert (finding.severity, written(result, finding)) == ("error", value)
    assert len(finding.message) < 160
    finding.message.encode("utf-8")
    assert not of_rule(result, "SL513")
    if mended is None:
        assert finding.fix is None
        assert finding.no_fix
    else:
        assert repaired(result, finding) == f'{{"eos_token_id": {mended}}}'


def test_null_is_no_id(tmp_path: Path) -> None:
    result = run(tmp_path, NAME, '{"eos_token_id": null}', CHAT)
    (finding,) = of_rule(result, "SL116")
    assert repaired(result, finding) == LISTED


@pytest.mark.parametrize(
    ("value", "mended"),
    [("151643", "[151645, 151643]"), ("[151643]", "[151645, 151643]"), ("[]", "[151645]")],
)
def test_the_turns_end_is_missing(tmp_path: Path, value: str, mended: str) -> None:
    result = run(tmp_path, NAME, f'{{"eos_token_id": {value}}}', CHAT)
    (finding,) = of_rule(result, "SL113")
    assert (finding.severity, "<|im_end|> (151645)" in finding.message) == ("error", True)
    assert explained(finding)
    assert repaired(result, finding) == f'{{"eos_token_id": {mended}}}'


def test_the_tokenizer_tells_the_other_engines_fate(tmp_path: Path) -> None:
    def why(token: str) -> str:
        tokenizer = f'{{"eos_token": "{token}", "added_tokens_decoder": {{"151645": {{"content": "<|im_end|>"}}}}}}'
        result = run(tmp_path, NAME, '{"eos_token_id": 151643}', {**CHAT, "tokenizer_config.json": tokenizer})
        return of_rule(result, "SL113")[0].why

    assert "transformers does not stop there" in why("<|im_end|>")
    assert "vLLM, TGI and llama.cpp do, by tokenizer_config.json eos_token" in why("<|im_end|>")
    assert "transformers, vLLM and TGI do not stop there" in why("<|endoftext|>")
    assert "SGLang does, by config.json eos_token_id" in why("<|endoftext|>")


@pytest.mark.parametrize(
    ("value", "beside", "hint"),
    [
        ("-1", {}, "-1 is no token id"),
        ("200000", CHAT, "outside the vocabulary"),
        ("[151645, 200000]", CHAT, "200000 is outside"),
        ("151644", CHAT, "<|im_start|>"),
    ],
)
def test_no_terminators(tmp_path: Path, value: str, beside: dict[str, str], hint: str) -> None:
    (finding,) = of_rule(run(tmp_path, NAME, f'{{"eos_token_id": {value}}}', beside), "SL114")
    assert (finding.severity, hint in finding.message) == ("error", True)
    assert finding.fix is None or finding.fix.safety == "unsafe"


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ('{"eos_token_id": [151645, 7]}', CHAT),
        ('{"eos_token_id": 7}', {"config.json": '{"vocab_size": "many"}'}),
        ('{"eos_token_id": 7}', {"config.json": "[1]"}),
        ('{"eos_token_id": 7}', {"config.json": "{broken"}),
        ('{"eos_token_id": 7}', {"config.json": '{"vocab_size": true, "_name_or_path": 5}'}),
    ],
)
def test_nothing_is_said_of_unknown_ids(tmp_path: Path, text: str, beside: dict[str, str]) -> None:
    assert not of_rule(run(tmp_path, NAME, text, beside), "SL114")


def test_an_inherited_cap(tmp_path: Path) -> None:
    result = run(tmp_path, NAME, '{"eos_token_id": 7, "max_new_tokens": 2048}')
    (finding,) = of_rule(result, "SL203")
    assert (finding.severity, written(result, finding)) == ("note", "2048")
    assert explained(finding)


@pytest.mark.parametrize("value", ["null", "0", "-1", "true", '"2048"', "1.5"])
def test_no_inherited_cap(tmp_path: Path, value: str) -> None:
    text = f'{{"eos_token_id": 7, "max_new_tokens": {value}}}'
    assert not of_rule(run(tmp_path, NAME, text), "SL203")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"eos_token_id": [7, 8], "suppress_tokens": [8, 9]}', "[8, 9]"),
        ('{"eos_token_id": 7, "suppress_tokens": [7]}', "[7]"),
        ('{"eos_token_id": 7, "min_new_tokens": 512, "max_new_tokens": 512}', "512"),
        ('{"eos_token_id": 7, "min_new_tokens": 513, "max_new_tokens": 512}', "513"),
    ],
)
def test_banned_ends(tmp_path: Path, text: str, place: str) -> None:
    result = run(tmp_path, NAME, text)
    (finding,) = of_rule(result, "SL112")
    assert (finding.severity, written(result, finding)) == ("error", place)
    assert explained(finding)


@pytest.mark.parametrize(
    "keys",
    ['"suppress_tokens": [1]', '"suppress_tokens": 7', '"suppress_tokens": null', '"min_new_tokens": 512',
     '"min_new_tokens": true, "max_new_tokens": 1', '"min_new_tokens": 1, "max_new_tokens": 512'],
)  # fmt: skip
def test_no_end_is_banned(tmp_path: Path, keys: str) -> None:
    assert not of_rule(run(tmp_path, NAME, f'{{"eos_token_id": 7, {keys}}}'), "SL112")


@pytest.mark.parametrize(
    ("value", "place", "hint"),
    [
        ('{"eos_token_id": 7, "temperature": "hot"}', '"hot"', "a number or null is expected"),
        ('{"eos_token_id": 7, "top_k": 1.5}', "1.5", "a whole number or null is expected"),
        ('{"eos_token_id": 7, "do_sample": "yes"}', '"yes"', "true or false"),
        ('{"eos_token_id": 7, "max_new_tokens": 0}', "0", "at least 1 is expected"),
        ('{"eos_token_id": 7, "streamer": null}', "null", "an argument of generate()"),
        ("[]", "[", "an object is expected"),
        ("null", "n", "an object is expected"),
    ],
)
def test_fields_of_a_wrong_type(tmp_path: Path, value: str, place: str, hint: str) -> None:
    result = run(tmp_path, NAME, value)
    (finding,) = of_rule(result, "SL513")
    assert (finding.severity, written(result, finding), hint in finding.message) == ("error", place, True)
    assert explained(finding)


@pytest.mark.parametrize("text", ["{", "{,}", '{"eos_token_id": 7,}', "// no\n{}", ""])
def test_an_unreadable_file_is_judged_by_its_syntax_alone(tmp_path: Path, text: str) -> None:
    assert {finding.rule for finding in run(tmp_path, NAME, text, CHAT).findings} == {"SL501"}


def test_a_byte_order_mark_makes_it_unreadable(tmp_path: Path) -> None:
    assert {finding.rule for finding in run(tmp_path, NAME, "\ufeff{}", CHAT).findings} == {"SL903"}


def test_a_config_under_another_name_knows_no_folder(tmp_path: Path) -> None:
    assert run(tmp_path, "other.json", '{"eos_token_id": 151643, "pad_token_id": 1}', CHAT).findings == ()


def test_public_files_are_judged_as_people_judged_them(shared: Path, tmp_path: Path) -> None:
    folder = shared / "corpus"
    missed = []
    lines = (folder / "generation_configs.index.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for line in lines:
        name, _, verdict, _ = line.split("\t")
        data = (folder / "generation_configs" / name).read_bytes()
        place = tmp_path / name / "generation_configs"
        place.mkdir(parents=True)
        found = loud(run(tmp_path / name, f"generation_configs/{name}", data))
        if verdict == "correct":
            assert found == [], name
        if verdict == "unknown":
            assert not [rule for rule, severity, _ in found if severity == "error"], name
        if verdict == "incorrect" and not found:
            missed.append(name)
    # Nothing in this one says that it belongs to a Phi-3.
    assert missed == ["987cf716--phi-finetuned-values.json"]


GEMMA = {
    "config.json": '{"_name_or_path": "google/gemma-4-E4B-it", "architectures": ["Gemma4ForConditionalGeneration"]}'
}


@pytest.mark.parametrize(
    ("text", "beside", "severity"),
    [
        ('{"_from_model_config": true, "eos_token_id": [1, 106]}', GEMMA, "warning"),
        ('{"_from_model_config": true, "eos_token_id": [1, 106, 50]}', GEMMA, None),
        ('{"eos_token_id": [1, 106]}', GEMMA, None),
        ('{"_from_model_config": true, "eos_token_id": 151645}', CHAT, "note"),
    ],
)
def test_files_that_were_made_anew(tmp_path: Path, text: str, beside: dict[str, str], severity: str | None) -> None:
    result = run(tmp_path, NAME, text, beside)
    found = of_rule(result, "SL115")
    assert [finding.severity for finding in found] == ([severity] if severity is not None else [])
    for finding in found:
        assert explained(finding)
        assert "_from_model_config" in repaired(result, finding)


def test_the_vocabulary_is_told_by_the_other_ids(tmp_path: Path) -> None:
    beside = {"config.json": '{"_name_or_path": "vilm/Quyen-Mini-v0.1", "architectures": ["Qwen2ForCausalLM"]}'}
    result = run(tmp_path, NAME, '{"bos_token_id": 151643, "eos_token_id": 151643}', beside)
    (finding,) = of_rule(result, "SL113")
    assert "<|im_end|> (151645)" in finding.message
