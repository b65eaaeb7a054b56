"""llama-server's command line and variables, against what was measured on the server itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.engines.forced import with_forced_fields
from servelint.engines.llamacpp_arguments import (
    ServerLine,
    converted,
    options_by_name,
    options_by_variable,
    parse_variables,
    parse_words,
    split_list,
    unescaped,
)
from servelint.engines.llamacpp_overrides import id_overrides, overrides_of
from servelint.engines.llamacpp_server import model_of, read_server
from servelint.engines.model_files import read_model_files
from servelint.engines.reading import Fault, Reading
from servelint.files.context import Context
from servelint.formats.gguf import Entry, Gguf
from servelint.manifests.generation_config import read as read_generation_config
from servelint.manifests.gguf import Vocabulary
from servelint.manifests.serving import Argument, NoWriter, Serving, Setting
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.text import Span, decode, verbatim
from tests.checks.linting import loud, of_rule, run

HERE = Span(0, 0)
NOWHERE = Path("/nonexistent")
KEY = "tokenizer.ggml."
EOS, EOT, EOM = f"{KEY}eos_token_id", f"{KEY}eot_token_id", f"{KEY}eom_token_id"
QWEN = Identity(
    "qwen2.5", "instruct", (Token("<|im_end|>", 151645),), (Token("<|endoftext|>", 151643),),
    (Token("<|endoftext|>", 151643), Token("<|im_start|>", 151644), Token("<|im_end|>", 151645),
     Token("<|fim_pad|>", 151662)), 152064,
)  # fmt: skip


def words(*texts: str) -> tuple[Argument, ...]:
    """Arguments one after the other: `$x` is an unknown word, `$x*` any number, `--a=$x` one with a known beginning."""
    arguments, position = [], 0
    for text in texts:
        span = Span(position, position + len(text))
        known, dollar, _ = text.partition("$")
        if dollar:
            count = None if text.endswith("*") else 1
            arguments.append(Argument(None, span, "comes from outside", known, None, count))
        else:
            arguments.append(Argument(text, span, inner=verbatim(text, position)))
        position += len(text) + 1
    return tuple(arguments)


def variables(**values: str | None) -> tuple[Setting, ...]:
    return tuple(Setting(name, value, HERE, HERE, f"env {name}") for name, value in values.items())


def parse(*texts: str) -> ServerLine:
    return parse_words(words(*texts))


def taken(line: ServerLine) -> list[tuple[str, Any]]:
    """Options and their values, in the order in which they count."""
    return [(option.name, option.data) for option in line.options]


def sorts(line: ServerLine) -> list[tuple[str, str]]:
    return [(misfit.sort, misfit.text) for misfit in line.misfits]


class _Words:
    """A list of tokens as the reader gives it."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> str:
        return self.texts[index]

    def find(self, text: str) -> int | None:
        return self.texts.index(text) if text in self.texts else None


CHATML = {0: "!", 11: ",", 257: "<|endoftext|>", 258: "<|im_start|>", 259: "<|im_end|>"}


def vocabulary(tokens: Mapping[int, str] = CHATML, sort: str = "u32", **ids: Any) -> Vocabulary:
    """A byte-level vocabulary with these tokens among its words, and these ids under its keys."""
    entries = [Entry(f"{KEY}model", "string", "gpt2", 0, 0)]
    entries += [Entry(f"{KEY}{name}_token_id", sort, value, 0, 0) for name, value in ids.items()]
    made = Vocabulary(Gguf(3, True, 0, tuple(entries)))
    made.__dict__["_tokens"] = _Words([tokens.get(number, f"w{number}") for number in range(max(tokens) + 1)])
    return made


def serving(
    *texts: str, held: Vocabulary | None = None, version: str | None = None, forced: tuple[Setting, ...] = (),
    **environment: str | None,
) -> Serving:  # fmt: skip
    facts: dict[str, Any] = {"vocabulary": held} if held is not None else {}
    image = Setting("version", version, HERE, HERE, "image tag") if version is not None else None
    return Serving(
        "run.sh", HERE, "launch-script", "llama.cpp", NoWriter(""), image, arguments=words(*texts),
        environment=variables(**environment), facts={**facts, "forced": forced},
    )  # fmt: skip


def reading(*texts: str, identity: Identity = UNKNOWN, **rest: Any) -> Reading:
    made = serving(*texts, **rest)
    return with_forced_fields(made, identity, read_server(made, identity, None))


def ends(held: Vocabulary, *texts: str, version: str | None = None) -> set[int | None]:
    """The ids at which generation ends."""
    stops = reading(*texts, held=held, version=version).stop_set
    assert stops.complete
    return {stop.value for stop in stops.ids} | {held.find(token) for token in stops.tokens}


def faults(found: Reading) -> list[tuple[str, str]]:
    return [(fault.sort, fault.subject) for fault in found.faults]


def only(found: Reading) -> Fault:
    (fault,) = found.faults
    return fault


# What ends generation, by metadata and overrides: the first of the measured tables.

CODER = {**CHATML, 260: "<|fim_pad|>", 261: "<|repo_name|>", 262: "<|file_sep|>"}
DISTILLED = {**CHATML, 257: "<｜end▁of▁sentence｜>", 258: "<｜User｜>", 259: "<｜Assistant｜>"}
HARMONY = {11: ",", 256: "<|endoftext|>", 257: "<|return|>", 258: "<|end|>", 259: "<|call|>"}
RENAMED = {**CHATML, 259: "<|turn_end|>"}


@pytest.mark.parametrize(
    ("name", "held", "wanted"),
    [
        ("eos is im_end", vocabulary(eos=259), {257, 259}),
        ("eos is endoftext", vocabulary(eos=257), {257, 259}),
        ("no eos", vocabulary(), {11, 257, 259}),
        ("eos out of range", vocabulary(eos=999999), {11, 257, 259}),
        ("eos is the comma", vocabulary(eos=11), {11, 257, 259}),
        ("coder", vocabulary(CODER, eos=259), {257, 259, 260, 261, 262}),
        ("distilled", vocabulary(DISTILLED, eos=257), {257}),
        ("distilled, wrong eos", vocabulary(DISTILLED, eos=259), {257, 259}),
        ("harmony loses its end", vocabulary(HARMONY, eos=257), {256, 257, 259}),
        ("renamed turn end: a runaway", vocabulary(RENAMED, eos=257), {257}),
        ("renamed turn end with an eot", vocabulary(RENAMED, eos=257, eot=259), {257, 259}),
        ("renamed turn end with an eom", vocabulary(RENAMED, eos=257, eom=259), {257, 259}),
        ("other families' ends", vocabulary({**CHATML, 260: "</s>", 261: "<eos>"}, eos=259), {257, 259, 260, 261}),
        ("a pad is an end of fill-in-the-middle", vocabulary({**CHATML, 260: "[PAD]"}, eos=259), {257, 259, 260}),
    ],
)
def test_measured_metadata(name: str, held: Vocabulary, wanted: set[int]) -> None:
    assert ends(held) == wanted


def test_of_two_pads_one_is_an_end_and_nobody_knows_which() -> None:
    stops = reading(held=vocabulary({**CHATML, 260: "[PAD]", 261: "<PAD>"}, eos=259)).stop_set
    assert {stop.value for stop in stops.ids} == {259}
    assert stops.holds("[PAD]", 260) is None


@pytest.mark.parametrize(
    ("name", "held", "override", "wanted"),
    [
        ("over endoftext", vocabulary(eos=257), f"{EOS}=int:259", {257, 259}),
        ("over no eos", vocabulary(), f"{EOS}=int:259", {257, 259}),
        ("below all ids", vocabulary(eos=259), f"{EOS}=int:-1", {11, 257, 259}),
        ("below all ids over no eos", vocabulary(), f"{EOS}=int:-1", {11, 257, 259}),
        ("beyond all ids", vocabulary(eos=259), f"{EOS}=int:999999", {11, 257, 259}),
        ("zero", vocabulary(eos=259), f"{EOS}=int:0", {0, 257, 259}),
        ("no number is zero", vocabulary(eos=259), f"{EOS}=int:x", {0, 257, 259}),
        ("a str is thrown away", vocabulary(RENAMED, eos=257), f"{EOS}=str:259", {257}),
        ("a float is thrown away", vocabulary(RENAMED, eos=257), f"{EOS}=float:259", {257}),
        ("the first of a key", vocabulary(RENAMED, eos=259), f"{EOS}=int:257,{EOS}=int:65", {257}),
        ("a key that is not known", vocabulary(RENAMED, eos=257), f"{KEY}eos_token_ids=int:259", {257}),
        ("padding ends nothing", vocabulary(RENAMED, eos=257), f"{KEY}padding_token_id=int:259", {257}),
        ("a pad of fill-in-the-middle", vocabulary(eos=259), f"{KEY}fim_pad_token_id=int:258", {257, 258, 259}),
        ("eos of a wrong type", vocabulary(eos="259", sort="string"), f"{EOS}=int:259", {257, 259}),
        ("renamed, eot", vocabulary(RENAMED, eos=257), f"{EOT}=int:259", {257, 259}),
        ("renamed, eos", vocabulary(RENAMED, eos=257), f"{EOS}=int:259", {257, 259}),
        ("renamed, eom", vocabulary(RENAMED, eos=257), f"{EOM}=int:259", {257, 259}),
        ("an eot beyond all ids changes nothing", vocabulary(eos=259), f"{EOT}=int:999999", {257, 259}),
    ],
)
def test_measured_overrides(name: str, held: Vocabulary, override: str, wanted: set[int]) -> None:
    assert ends(held, "--override-kv", override) == wanted


def test_overrides_in_several_options_add_up_and_the_first_of_a_key_wins() -> None:
    held = vocabulary(RENAMED, eos=258)
    found = ends(held, "--override-kv", f"{EOS}=int:257", "--override-kv", f"{EOT}=int:259,{EOS}=int:65")
    assert found == {257, 259}


@pytest.mark.parametrize(
    ("build", "held", "wanted"),
    [
        ("server-b2713", vocabulary(eos=257), {257}),
        ("server-b2714", vocabulary(eos=257), {257, 259}),
        ("server-cuda-b3818", vocabulary(eos=257), {257, 259}),
        ("server-b3915", vocabulary(CODER, eos=257), {257, 259}),
        ("server-b3916", vocabulary(CODER, eos=257), {257, 259, 260, 261, 262}),
    ],
)
def test_the_build_says_what_ends_by_text(build: str, held: Vocabulary, wanted: set[int]) -> None:
    assert ends(held, version=build) == wanted


# The words: what was measured of launches.


@pytest.mark.parametrize(
    ("name", "texts", "wanted", "refused"),
    [
        ("joined by a sign", ["--ctx-size=64"], [], [("joined", "--ctx-size=64")]),
        ("joined", ["-n4"], [], [("joined", "-n4")]),
        ("joined, long", ["-n128", "-c", "8"], [("--ctx-size", 8)], [("joined", "-n128")]),
        ("one word with a blank", ["-c 8192"], [], [("joined", "-c 8192")]),
        ("underscore behind one dash", ["-n_predict", "4"], [], [("unknown", "-n_predict")]),
        ("underscore behind two", ["--n_predict", "4"], [("--n-predict", 4)], []),
        ("mixed", ["--ctx_size", "64", "--n-predict", "4"], [("--ctx-size", 64), ("--n-predict", 4)], []),
        ("conversation", ["-cnv", "-n", "4"], [("--n-predict", 4)], [("unknown", "-cnv")]),
        ("in-prefix", ["--in-prefix", "x", "-n", "4"], [("--n-predict", 4)], [("unknown", "--in-prefix")]),
        ("interactive", ["-i"], [], [("unknown", "-i")]),
        ("former ones", ["--no-mmap", "--mlock"], [], [("unknown", "--no-mmap"), ("unknown", "--mlock")]),
        ("bare once", ["-fa", "-sm", "row"], [("--flash-attn", True), ("--split-mode", "row")], []),
        ("with a value", ["-fa", "on"], [("--flash-attn", "on")], []),
        ("takes whatever follows", ["-r", "-n", "4"], [("--reverse-prompt", "-n")], [("stray", "4")]),
        ("no number", ["-n", "abc"], [("--n-predict", None)], [("value", "abc")]),
        ("nothing", ["-n", ""], [("--n-predict", None)], [("value", "")]),
        ("number and more", ["-n", "5x"], [("--n-predict", 5)], [("value", "5x")]),
        ("fraction", ["-n", "1.9"], [("--n-predict", 1)], [("value", "1.9")]),
        ("number and a blank", ["-n", " 5 "], [("--n-predict", 5)], []),
        ("all", ["-n", "-1"], [("--n-predict", -1)], []),
        ("twice", ["-n", "4", "-n", "6"], [("--n-predict", 4), ("--n-predict", 6)], []),
        ("prompts add up", ["-r", "Q", "-r", "Z"], [("--reverse-prompt", "Q"), ("--reverse-prompt", "Z")], []),
        ("no value left", ["-c"], [], [("missing", "-c")]),
        ("stray", ["model.gguf", "-c", "8"], [("--ctx-size", 8)], [("stray", "model.gguf")]),
        ("a pair", ["--no-context-shift", "--jinja"], [("--context-shift", False), ("--jinja", True)], []),
        ("largest seed", ["-s", "4294967295"], [("--seed", 4294967295)], []),
        ("random seed", ["--seed", "-1"], [("--seed", -1)], []),
        ("too large", ["-c", "4294967295"], [("--ctx-size", None)], [("value", "4294967295")]),
        ("zeros in front", ["-c", "0" * 30 + "64"], [("--ctx-size", 64)], []),
    ],
)
def test_measured_words(
    name: str, texts: list[str], wanted: list[tuple[str, Any]], refused: list[tuple[str, str]]
) -> None:
    line = parse(*texts)
    assert taken(line) == wanted
    assert sorts(line) == refused
    assert not line.open


@pytest.mark.parametrize(
    ("text", "number", "fine"),
    [
        ("0.7", 0.7, True), ("1e-3", 0.001, True), (" .5", 0.5, True), ("inf", float("inf"), True), ("0x10", 16, True),
        ("0,7", 0, False), ("1_0", 1, False), ("1e100", None, False), ("hot", None, False), ("", None, False),
        ("٣", None, False),
    ],
)  # fmt: skip
def test_numbers_are_read_as_stof_does(text: str, number: float | None, fine: bool) -> None:
    data, reason = converted(options_by_name()["--temp"], text)
    assert data == number
    assert (reason is None) is fine


@pytest.mark.parametrize(
    ("texts", "is_open", "wanted", "refused"),
    [
        (["$ARGS*"], True, [], []),
        (["$ARG"], True, [], []),
        (["-n", "$N"], False, [("--n-predict", None)], []),
        (["-n", "5", "$ARGS*", "4"], True, [("--n-predict", 5)], [("stray", "4")]),
        (["--n-predict=$N", "-c", "64"], False, [("--ctx-size", 64)], [("joined", "--n-predict=")]),
        (["--my-flag=$N"], False, [], []),
        (["-c", "$N*", "-n"], False, [("--ctx-size", None)], [("missing", "-n")]),
    ],
)
def test_words_that_cannot_be_known(
    texts: list[str], is_open: bool, wanted: list[tuple[str, Any]], refused: list[tuple[str, str]]
) -> None:
    line = parse(*texts)
    assert (line.open, taken(line), sorts(line)) == (is_open, wanted, refused)


def test_what_may_follow_unknown_words_is_not_certain() -> None:
    assert [misfit.certain for misfit in parse("$ARGS*", "4").misfits] == [False]
    assert [misfit.certain for misfit in parse("4").misfits] == [True]


# The variables.


@pytest.mark.parametrize(
    ("values", "wanted", "refused"),
    [
        ({"LLAMA_ARG_N_PREDICT": "5"}, [("--n-predict", 5)], []),
        ({"LLAMA_ARG_N_PREDICT": ""}, [], [("value", "")]),
        ({"LLAMA_ARG_N_PREDICT": "abc"}, [], [("value", "abc")]),
        ({"LLAMA_ARG_CTX_SIZE": "64", "PATH": "/bin"}, [("--ctx-size", 64)], []),
        ({"LLAMA_ARG_JINJA": "yes"}, [], [("truth", "yes")]),
        ({"LLAMA_ARG_JINJA": "enabled"}, [("--jinja", True)], []),
        ({"LLAMA_ARG_JINJA": "off"}, [("--jinja", False)], []),
        ({"LLAMA_ARG_NO_CONTEXT_SHIFT": "0"}, [("--context-shift", False)], []),
        ({"LLAMA_ARG_NO_JINJA": "", "LLAMA_ARG_JINJA": "1"}, [("--jinja", True), ("--jinja", False)], []),
        ({"LLAMA_ARG_N_PREDICT": None}, [("--n-predict", None)], []),
    ],
)
def test_measured_variables(
    values: dict[str, str | None], wanted: list[tuple[str, Any]], refused: list[tuple[str, str]]
) -> None:
    line = parse_variables(variables(**values))
    assert taken(line) == wanted
    assert sorts(line) == refused


@pytest.mark.parametrize("text", ["yes", "", "True"])
def test_a_switch_that_is_told_something_else_than_on_stays_off(text: str) -> None:
    switches = [name for name, option in options_by_variable().items() if option.kind == "switch"]
    assert switches
    assert parse_variables(variables(**{switches[0]: text})) == ServerLine()


@pytest.mark.parametrize(
    ("texts", "environment", "cap", "origin"),
    [
        (["-n", "5"], {}, 5, "-n"),
        ([], {"LLAMA_ARG_N_PREDICT": "500"}, 500, "LLAMA_ARG_N_PREDICT"),
        (["--predict", "7"], {"LLAMA_ARG_N_PREDICT": "500"}, 7, "--predict"),
        (["-n", "-1"], {"LLAMA_ARG_N_PREDICT": "500"}, None, None),
        (["-n", "-2"], {}, None, None),
        (["-n", "4", "-n", "6"], {}, 6, "-n"),
        (["$ARGS*"], {"LLAMA_ARG_N_PREDICT": "500"}, None, None),
        ([], {}, None, None),
        (["-n", "5x"], {}, 5, "-n"),
        (["-n4"], {}, None, None),
    ],
)
def test_the_command_line_wins_over_the_variables(
    texts: list[str], environment: dict[str, str], cap: int | None, origin: str | None
) -> None:
    found = reading(*texts, **environment).cap
    assert (found and found.value, found and found.origin) == (cap, origin)


@pytest.mark.parametrize(
    ("build", "hard"), [(None, False), ("server-b4747", True), ("server-b3000", True), ("server-b6000", False)]
)
def test_the_cap_held_for_every_request_in_old_builds_alone(build: str | None, hard: bool) -> None:
    found = reading("-n", "512", version=build).cap
    assert found is not None
    assert found.hard is hard


def test_what_the_command_line_overrides_is_said() -> None:
    found = reading("-n", "600", LLAMA_ARG_N_PREDICT="500")
    assert faults(found) == [("shadowed", "--n-predict")]
    assert "LLAMA_ARG_N_PREDICT has no effect" in only(found).message
    assert faults(reading("-n", "500", LLAMA_ARG_N_PREDICT="500")) == []
    assert faults(reading("-n", "400", "-n", "600")) == [("shadowed", "--n-predict")]


# Stops: reverse prompts, and what stands in a request.


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["-r", "Z"], ["Z"]),
        (["-r", "Q", "-r", "Z"], ["Q", "Z"]),
        (["-r", "Q,Z"], ["Q,Z"]),
        (["-r", "\\nUser:"], ["\nUser:"]),
        (["-r", "\\nUser:", "--no-escape"], ["\\nUser:"]),
        (["--no-escape", "-r", "\\nUser:", "-e"], ["\nUser:"]),
        (["-r", "<|im_end|>"], []),
        (["-r", "<|im_end|>", "--special"], ["<|im_end|>"]),
        (["-r", "\\x3c|im_end|>"], []),
        (["-r", ""], []),
    ],
)
def test_measured_reverse_prompts(texts: list[str], wanted: list[str]) -> None:
    found = reading(*texts, held=vocabulary(eos=259))
    assert [stop.value for stop in found.stop_set.texts] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("plain", "plain"), ("a\\nb\\tc\\rd", "a\nb\tc\rd"), ("\\\\n", "\\n"), ("\\'\\\"", "'\""), ("\\q", "\\q"),
        ("\\x41", "A"), ("\\x4", "\\x4"), ("\\xzz", "\\xzz"), ("end\\", "end\\"), ("\\xe2", "\\xe2"),
    ],
)  # fmt: skip
def test_escapes(text: str, wanted: str) -> None:
    assert unescaped(text) == wanted


def test_ignoring_the_ends_leaves_none() -> None:
    found = reading("--ignore-eos", held=vocabulary(eos=259))
    assert (found.stop_set.ids, found.stop_set.tokens, found.stop_set.complete) == ((), (), True)
    assert faults(found) == [("bans-end", "--ignore-eos")]


@pytest.mark.parametrize(
    ("value", "bans"),
    [("151645-100", True), ("151645-inf", True), ("151643-5", True), ("151645+5", False), ("15043-100", False),
     ("151645-0.5", False), ("151645", False)],
)  # fmt: skip
def test_a_bias_may_ban_an_end(value: str, bans: bool) -> None:
    assert faults(reading("--logit-bias", value, identity=QWEN)) == ([("bans-end", "--logit-bias")] if bans else [])


def fields(**values: Any) -> tuple[Setting, ...]:
    """Fields that a proxy puts into every request."""
    return tuple(
        Setting(name, None if isinstance(data, list) else str(data), HERE, HERE, f"setParams {name}", data=data)
        for name, data in values.items()
    )


@pytest.mark.parametrize(
    ("texts", "request_fields", "cap"),
    [
        (["-n", "5"], {}, 5),
        (["-n", "5"], {"max_tokens": 30}, 30),
        (["-n", "5"], {"max_tokens": -1}, 5),
        (["-n", "5"], {"max_tokens": None}, 5),
        ([], {"max_tokens": 9, "n_predict": 4}, 4),
        ([], {"max_tokens": 9, "max_completion_tokens": 8}, 8),
        ([], {"max_tokens": 9, "n_predict": None}, 9),
    ],
)
def test_measured_caps_of_requests(texts: list[str], request_fields: dict[str, Any], cap: int) -> None:
    found = reading(*texts, forced=fields(**request_fields))
    assert found.cap is not None
    assert found.cap.value == cap
    assert found.faults == ()


@pytest.mark.parametrize(("value", "said"), [(-2, "refuses every request"), (0, "after one token")])
def test_measured_lengths_that_no_request_should_have(value: int, said: str) -> None:
    fault = only(reading(forced=fields(max_tokens=value)))
    assert (fault.sort, fault.subject) == ("invalid-value", "max_tokens")
    assert said in fault.message


@pytest.mark.parametrize(
    ("texts", "stop", "wanted"),
    [
        (["-r", "Z"], ["Y"], ["Y"]),
        (["-r", "Z"], [], ["Z"]),
        ([], ["<|im_end|>"], []),
        (["--special"], ["<|im_end|>"], ["<|im_end|>"]),
        ([], "Y", ["Y"]),
    ],
)
def test_measured_stops_of_requests(texts: list[str], stop: Any, wanted: list[str]) -> None:
    assert [text.value for text in reading(*texts, forced=fields(stop=stop)).stop_set.texts] == wanted


@pytest.mark.parametrize("stop", [[""], "", ["Y", ""]])
def test_an_empty_stop_ends_every_answer_at_once(stop: Any) -> None:
    assert faults(reading(forced=fields(stop=stop))) == [("emptied", "stop")]


def test_a_request_may_ignore_the_ends() -> None:
    found = reading(held=vocabulary(eos=259), forced=fields(ignore_eos=True))
    assert (found.stop_set.ids, found.stop_set.tokens) == ((), ())
    assert faults(found) == [("bans-end", "ignore_eos")]
    assert reading(held=vocabulary(eos=259), forced=fields(ignore_eos=False)).faults == ()


def test_fields_in_front_of_another_engine_leave_its_own_texts() -> None:
    made = serving("-r", "Z", forced=fields(stop=["Y"], max_tokens=0))
    other = Serving(**{name: getattr(made, name) for name in Serving.__slots__} | {"engine": "vllm"})
    found = with_forced_fields(other, UNKNOWN, read_server(made, UNKNOWN, None))
    assert [text.value for text in found.stop_set.texts] == ["Z", "Y"]
    assert found.faults == ()


# What is said, and what is not.


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["-n", "512", "-c", "8192", "-ngl", "99", "--host", "0.0.0.0", "--port", "8080", "--jinja"],
        ["-n", "-1"],
        ["-c", "128", "-n", "200"],
        ["-fa", "-sm", "row"],
        ["--no-mmap", "--mlock", "-dio"],
        ["-r", "Q,Z"],
        ["--override-kv", f"{EOT}=int:151645"],
        ["--override-kv", f"{KEY}fim_pad_token_id=int:151662"],
        ["--override-kv", "general.name=str:a"],
        ["--temp", "0.7", "--seed", "4294967295", "-n", "512 "],
        ["--some-new-flag", "5"],
    ],
    ids=lambda texts: " ".join(texts) or "nothing",
)
def test_a_healthy_line_is_met_with_silence(texts: list[str]) -> None:
    found = [fault for fault in reading(*texts, identity=QWEN).faults if fault.certain or fault.suggestion]
    assert found == []


@pytest.mark.parametrize(
    ("texts", "sort", "said"),
    [
        (["-n", "-2"], "unbounded", "after one token"),
        (["-n4"], "not-split", "-n and its value are one word"),
        (["--ctx-size=64"], "not-split", "--ctx-size and its value are one word"),
        (["--ctx-size=$SIZE"], "not-split", "--ctx-size and its value are one word"),
        (["-n_predict", "4"], "unknown-option", "no option -n_predict"),
        (["-cnv"], "unknown-option", "llama-completion"),
        (["-no-cnv"], "unknown-option", "llama-completion"),
        (["--in-prefix", "x"], "unknown-option", "llama-completion"),
        (["-i"], "unknown-option", "llama-completion"),
        (["--stop", "X"], "unknown-option", "no option --stop"),
        (["-n", "abc"], "invalid-value", "stoi"),
        (["-n", ""], "invalid-value", "stoi"),
        (["-n", "5x"], "invalid-value", "reads 5 and drops 'x'"),
        (["-c", "200", "-n", "300"], "no-room", "a context of 256 tokens"),
        (["-r", "<|im_end|>,<|endoftext|>"], "list-in-one", "single stop"),
        (["-r", "<|im_end|>"], "text-stripped", "never written"),
        (["-r", ""], "emptied", "empty text"),
        (["--chat-template-kwargs", "{a:1}"], "lost-quotes", "quotes"),
        (["--override-kv", f"{EOS}=151645"], "invalid-value", "a type is wanted"),
        (["--override-kv", "a=int:1,b=bool:True"], "invalid-value", "lower case"),
        (["--override-kv", "a"], "invalid-value", "KEY=TYPE:VALUE"),
        (["--override-kv", f"{EOS}=int:-1"], "no-terminator", "falls back to its default"),
        (["--override-kv", f"{EOS}=int:999999"], "no-terminator", "falls back to its default"),
        (["--override-kv", f"{EOS}=int:x"], "no-terminator", "becomes id 0"),
        (["--override-kv", f"{EOS}=int:²"], "no-terminator", "becomes id 0"),
        (["--override-kv", f"{EOS}=int:0"], "no-terminator", "ordinary word piece"),
        (["--override-kv", f"{EOS}=int:151644"], "no-terminator", "ends nothing"),
        (["--override-kv", f"{EOT}=int:999999"], "inert", "this eot is thrown away"),
        (["--override-kv", f"{EOS}=str:151645"], "inert", "wants an int"),
        (["--override-kv", f"{EOS}=float:151645"], "inert", "wants an int"),
        (["--override-kv", f"{KEY}eos_token_ids=int:151645"], "inert", "knows no key"),
        (["--override-kv", "tokenizer.chat_template=str:x"], "inert", "does not reach the chat"),
        (["--override-kv", f"{EOS}=int:151645,{EOS}=int:151643"], "shadowed", "the first counts"),
    ],
)
def test_faults(texts: list[str], sort: str, said: str) -> None:
    fault = only(reading(*texts, identity=QWEN))
    assert fault.sort == sort
    assert said in fault.message


def test_an_impossible_eos_leaves_an_unknown_default_where_the_file_was_not_read() -> None:
    stops = reading("--override-kv", f"{EOS}=int:-1", identity=QWEN).stop_set
    assert stops.ids == ()
    assert stops.tokens == ("<|im_end|>", "<|endoftext|>")
    assert stops.unknown == ("the default end of this kind of vocabulary, which stands in for an impossible id",)


# How an override's items are taken apart.


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a=int:1", ["a=int:1"]),
        ("a=int:1,b=int:2", ["a=int:1", "b=int:2"]),
        ('"a=str:x,y",b=int:2', ["a=str:x,y", "b=int:2"]),
        ('"a=str:""q"""', ['a=str:"q"']),
        ('a=str:"x,y"', ['a=str:"x', 'y"']),
        ("", [""]),
        ("a,", ["a", ""]),
    ],
)
def test_items_of_a_list(text: str, items: list[str]) -> None:
    found = list(split_list(text))
    assert [item for item, _, _ in found] == items
    assert [text[start:end] for _, start, end in found if '"' not in text] == [i for i in items if '"' not in text]


@given(st.text(alphabet='a",=:é', max_size=40))
@settings(max_examples=100)
def test_items_cover_the_list(text: str) -> None:
    found = list(split_list(text))
    assert found[0][1] == 0
    assert found[-1][2] == len(text)
    for (_, _, end), (_, start, _) in pairwise(found):
        assert start == end + 1
        assert text[end] == ","


def test_where_an_override_stands() -> None:
    text = f"a=int:7,{EOS}=int:259"
    items = overrides_of(parse("--override-kv", text))
    line = f"--override-kv {text}"
    assert [line[item.span.start : item.span.end] for item in items] == ["a=int:7", f"{EOS}=int:259"]
    assert [line[item.value_span.start : item.value_span.end] for item in items] == ["7", "259"]
    assert [item.number for item in id_overrides(items, 260)] == [259]
    assert id_overrides(items, 259) == []


@given(st.lists(st.text(alphabet='-=n4c: \t,"x$é', max_size=8), max_size=8))
@settings(max_examples=100)
def test_any_words_can_be_read(texts: list[str]) -> None:
    found = reading(*texts, identity=QWEN)
    end = sum(len(text) + 1 for text in texts)
    for fault in found.faults:
        assert 0 <= fault.span.start <= fault.span.end <= end
    for option in found.options:
        assert 0 <= option.span.start <= option.span.end <= end


@pytest.mark.parametrize(
    ("texts", "environment", "model"),
    [
        (["-m", "a.gguf", "-hf", "org/name"], {}, "a.gguf"),
        (["-hf", "org/name:Q8_0"], {"LLAMA_ARG_HF_REPO": "other/name"}, "org/name:Q8_0"),
        ([], {"LLAMA_ARG_MODEL": "a.gguf"}, "a.gguf"),
        (["--model=a.gguf"], {}, None),
    ],
)
def test_what_names_the_model(texts: list[str], environment: dict[str, str], model: str | None) -> None:
    found = model_of(serving(*texts, **environment))
    assert (found.value if found is not None else None) == model


# Whole files.

LINE = "#!/bin/sh\nllama-server -hf Qwen/Qwen2.5-7B-Instruct-GGUF {}\n"


@pytest.mark.parametrize(
    ("rest", "wanted"),
    [
        ("-c 8192 -n 2048", []),
        ("-n=2048", ["SL507"]),
        ("-n2048", ["SL507"]),
        ("-n 2048 --ignore-eos", ["SL112"]),
        ("-n -2", ["SL206"]),
        ("--override-kv tokenizer.ggml.eos_token_id=int:-1", ["SL114"]),
        ("--override-kv tokenizer.ggml.eot_token_id=int:-1", ["SL121"]),
        ("-r '<|im_end|>'", []),
        ("-r '\\n### User:'", []),
        ("--port $PORT -n ${N:-2048}", []),
        ("-n 2048 -n 4096", ["SL512"]),
    ],
)
def test_scripts(tmp_path: Path, rest: str, wanted: list[str]) -> None:
    assert [rule for rule, _, _ in loud(run(tmp_path, "run.sh", LINE.format(rest)))] == wanted


def test_variables_of_a_compose_file(tmp_path: Path) -> None:
    text = (
        "services:\n  qwen:\n    image: ghcr.io/ggml-org/llama.cpp:server-b6000\n"
        "    command: [-hf, Qwen/Qwen2.5-7B-Instruct-GGUF]\n    environment:\n"
        "      LLAMA_ARG_N_PREDICT: ''\n      LLAMA_ARG_CTX_SIZE: '8192'\n"
    )
    result = run(tmp_path, "compose.yaml", text)
    (finding,) = of_rule(result, "SL505")
    assert "LLAMA_ARG_N_PREDICT" in finding.message
    assert len(loud(result)) == 1


# A file whose ids are of a wrong type.


@pytest.mark.parametrize("sort", ["i32", "u64", "string", "array", "f32"])
@pytest.mark.parametrize(
    ("override", "loads"),
    [(None, False), (f"{EOS}=int:259", True), (f"{EOS}=int:-1", True), (f"{EOS}=str:259", False)],
)
def test_measured_types_that_end_the_loading(sort: str, override: str | None, loads: bool) -> None:
    texts = [] if override is None else ["--override-kv", override]
    found = reading(*texts, held=vocabulary(eos=259, sort=sort))
    assert (("fatal", EOS) in faults(found)) is not loads


def test_a_file_of_the_right_types_is_met_with_silence() -> None:
    assert reading(held=vocabulary(eos=259, eot=257)).faults == ()


# The room of an answer.


@pytest.mark.parametrize(
    ("texts", "room"),
    [
        (["-c", "8192", "-n", "4096"], None),
        (["-c", "8192", "-n", "4096", "-np", "4"], "a context of 2048 tokens, one of 4 parts of 8192"),
        (["-c", "8192", "-n", "2048", "-np", "4"], None),
        (["-c", "8192", "-n", "4096", "-np", "4", "-kvu"], None),
        (["-c", "8192", "-n", "4096", "-np", "4", "-no-kvu"], "a context of 2048 tokens, one of 4 parts of 8192"),
        (["-c", "8192", "-n", "4096", "-np", "4", "$ARGS*"], None),
        (["-c", "8192", "-n", "4096", "-np", "$N"], None),
        (["-c", "8192", "-n", "4096", "-np", "-1"], None),
        (["-c", "0", "-n", "4096"], None),
        (["-c", "128", "-n", "256"], None),
        (["-c", "128", "-n", "257"], "a context of 256 tokens"),
    ],
)
def test_room(texts: list[str], room: str | None) -> None:
    found = [fault.message.partition(" into ")[2] for fault in reading(*texts).faults]
    assert found == ([room] if room is not None else [])


# What a conversion writes as eos: the measured precedence of gguf's `SpecialVocab`.

ADDED = {"added_tokens": [{"id": 151643, "content": "<|endoftext|>"}, {"id": 151645, "content": "<|im_end|>"}]}


@pytest.mark.parametrize(
    ("name", "tokenizer", "config", "generation", "wanted"),
    [
        ("the tokenizer's", {"eos_token": "<|im_end|>"}, {"eos_token_id": 151643}, [151645, 151643], [151645]),
        ("absent", {}, {"eos_token_id": 151643}, None, [151643]),
        ("null", {"eos_token": None}, {"eos_token_id": 151643}, None, [151643]),
        ("a list", {}, {"eos_token_id": [151645, 151643]}, None, []),
        ("generation_config alone", {}, {}, [151645, 151643], []),
        ("an added token", {"eos_token": {"content": "<|im_end|>"}}, {"eos_token_id": 1}, None, [151645]),
        ("not among them", {"eos_token": "<|over|>"}, {"eos_token_id": 151643}, None, [151643]),
        ("in a part", {}, {"text_config": {"eos_token_id": 248044}}, None, [248044]),
    ],
)
def test_measured_conversions(
    name: str, tokenizer: dict[str, Any], config: dict[str, Any], generation: list[int] | None, wanted: list[int]
) -> None:
    files = {"tokenizer_config.json": tokenizer, "config.json": config, "tokenizer.json": ADDED}
    text = json.dumps({"eos_token_id": generation} if generation else {"top_k": 20})
    overlay = {path: json.dumps(data).encode() for path, data in files.items()}
    manifest = read_generation_config("generation_config.json", decode(text.encode()), Context(NOWHERE, overlay))
    assert manifest is not None
    (made,) = [entry for entry in manifest.servings if entry.engine == "llama.cpp"]
    assert [stop.value for stop in read_model_files(made, UNKNOWN).stop_set.ids] == wanted


SWAP = """\
models:
  qwen:
    cmd: llama-server --port ${{PORT}} -m /m/Qwen2.5-7B-Instruct-Q4_K_M.gguf -c 8192 -n 4096
    filters:
      setParams:
        {}
"""


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("max_tokens: 4096", []),
        ("max_tokens: -1", []),
        ("max_tokens: 0", ["SL505"]),
        ("max_tokens: -2", ["SL505"]),
        ("max_tokens: 100", ["SL201"]),
        ('stop: ["User:"]', []),
        ('stop: [""]', ["SL104"]),
        ("ignore_eos: true", ["SL112"]),
        ("ignore_eos: false", []),
    ],
)
def test_fields_that_llama_swap_forces(tmp_path: Path, field: str, wanted: list[str]) -> None:
    assert [rule for rule, _, _ in loud(run(tmp_path, "config.yaml", SWAP.format(field)))] == wanted
