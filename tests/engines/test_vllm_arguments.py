"""vLLM's command line: against the recorded parser, against argparse itself, and with words that cannot be known."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.engines.vllm_arguments import (
    Flag,
    Parsed,
    convert,
    default_model,
    flag_table,
    human_integer,
    parse_serve,
    resolve,
    scope_of,
)
from servelint.manifests.serving import Argument
from servelint.text import Span, verbatim
from tests.conftest import SHARED, read_rows

NEWEST = "0.33.0"
ROWS = read_rows("vectors/argv.handed.jsonl")


def words(*texts: str) -> list[Argument]:
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
    return arguments


def parse(*texts: str, version: str | None = NEWEST, module: bool = False, **files: str) -> Parsed:
    return parse_serve(words(*texts), version, module, files.get)


def sorts(parsed: Parsed) -> list[str]:
    return [error.sort for error in parsed.errors]


@pytest.mark.skipif(not ROWS, reason="needs the recorded vectors beside the checkout")
@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_recorded_parser(row: dict[str, Any]) -> None:
    def read_file(path: str) -> str:
        name = path.removeprefix("@DIR@/")
        if name not in row["config_files"]:
            raise FileNotFoundError(path)
        text: str = row["config_files"][name]
        return text

    parsed = parse_serve([Argument(text, Span(0, 0)) for text in row["argv"]], NEWEST, False, read_file)
    assert parsed.accepted == row["ok"], parsed.error
    if not row["ok"]:
        assert parsed.error is not None
        reason, wanted = parsed.error.reason.partition("\n")[0], row["error"]["reason"]
        assert parsed.error.kind == row["error"]["kind"]
        assert reason.startswith(wanted.removesuffix("...")) if wanted.endswith("...") else reason == wanted
        return
    recorded = dict(row["parsed"])
    assert parsed.model == recorded.pop("model")
    recorded.pop("model_tag", None)
    defaults = _defaults()
    for key, value in recorded.items():
        mine = parsed.values.get(key, defaults[key])
        if isinstance(value, list) and value and str(value[0]).startswith("<object"):
            assert len(mine) == len(value)
        elif str(value).startswith("<object"):
            assert key in parsed.values
        else:
            assert mine == value or str(mine) == value, key
    for key, value in parsed.values.items():
        assert key in recorded or key == "model" or value == defaults[key], key


def _defaults() -> dict[str, Any]:
    import json

    facts = json.loads((SHARED / "facts" / "vllm-serve-args.json").read_text(encoding="utf-8"))
    return {entry["flag"].lstrip("-").replace("-", "_"): entry["default"] for entry in facts["flags"]}


# Against argparse itself, for what needs no word of vLLM's own.


class _RefusedError(Exception):
    """argparse refuses."""


class _Reference(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _RefusedError(message)


def _reference() -> _Reference:
    parser = _Reference(add_help=False)
    parser.add_argument("model_tag", nargs="?")
    scope = scope_of(NEWEST)
    for flag in flag_table().flags.values():
        names = [flag.name, *flag.aliases]
        here = [
            name
            for name in names
            for owner, bits in flag_table().strings[name]
            if owner is flag and bits & scope.mask and flag.kind not in ("help", "lora", "appended")
        ]
        if not here:
            continue
        if flag.kind == "switch":
            for name in here:
                value = name == flag.name or not name.startswith("--")
                parser.add_argument(name, dest=flag.key, action="store_const", const=value)
            continue
        parser.add_argument(
            *here, dest=flag.key, type=_type_of(flag), nargs=flag.nargs or None, choices=flag.choices or None,
            const=True if flag.nargs == "?" else None,
        )  # fmt: skip
    return parser


def _type_of(flag: Flag) -> Callable[[str], Any]:
    def converted(text: str) -> Any:
        data, problem = convert(flag, text)
        if problem is not None and problem[0] != "choice":
            raise argparse.ArgumentTypeError(problem[1])
        return data

    return converted


_POOL = (
    "acme/quill", "x", "9", "-1", "-5e", "", "-", "--", "a b", "-a b", "true", "{}", "--port", "--port=9", "--port=",
    "--po", "-tp", "-tp=2", "-tp2", "-t", "-q", "-qawq", "-q=awq", "-n", "-n4", "-ep", "-dcp", "--api-key",
    "--hf-token", "--hf-token=x", "--trust-remote-code", "--no-trust-remote-code", "--trust-remote-code=", "--trust-r",
    "--no-en", "--enforce", "--max-m", "--max-model-len", "4k", "--dtype", "half", "--dtype=bf", "--nosuch",
    "--nosuch=1", "-x", "-xyz=1", "--gpu", "0_8", "--chat", "--lim", "--ignore-patterns", "--cudagraph-capture-sizes",
    "---port", "--=", "-=", "--disable-log-requests", "--enable-prefix-caching", "--revision", "--seed",
)  # fmt: skip
_REFERENCE = _reference() if sys.version_info[:2] == (3, 11) else None


@pytest.mark.skipif(_REFERENCE is None, reason="vLLM's parser was recorded on the argparse of Python 3.11")
@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(_POOL), max_size=7))
def test_same_as_argparse(texts: list[str]) -> None:
    assert _REFERENCE is not None
    parsed = parse(*texts)
    try:
        expected = vars(_REFERENCE.parse_args(texts))
    except _RefusedError as error:
        assert parsed.error is not None
        said = parsed.error.reason.partition(": error: ")[2]
        # The two differ in how they name an option that has several names, and a conversion that failed.
        assert said.split(":")[0].split("/")[0] == str(error).split(":")[0].split("/")[0]
        return
    assert parsed.accepted, parsed.error
    assert parsed.model_tag == expected.pop("model_tag")
    given_values = {key: value for key, value in expected.items() if value is not None}
    assert {key: value for key, value in parsed.values.items() if value is not None} == given_values


# Versions.


@pytest.mark.parametrize(
    ("option", "version", "known"),
    [
        ("--enable-reasoning", "0.9.2", True),
        ("--enable-reasoning", "0.28.0", False),
        ("--disable-log-requests", "0.16.0", True),
        ("--disable-log-requests", "0.28.0", False),
        ("--disable-log-requests", "0.33.0", True),
        ("--override-generation-config={}", "0.6.3", False),
        ("--override-generation-config={}", "0.8.0", True),
        ("--guided-decoding-backend=x", "0.12.0", True),
        ("--guided-decoding-backend=x", "0.14.0", False),
        ("-O3", "0.9.2", True),
        ("-O3", "0.33.0", True),
        ("-O3", "0.5.5", False),
    ],
)
def test_option_by_version(option: str, version: str, known: bool) -> None:
    assert parse("Q", option, version=version).accepted is known


def test_unknown_version_knows_the_options_of_all() -> None:
    for option in ("--enable-reasoning", "--disable-log-requests", "--swa-bounded-replay"):
        assert parse("Q", option, version=None).accepted
    error = parse("Q", "--nosuch", version=None).error
    assert error is not None
    assert error.certain is False


def test_newer_version_may_have_more() -> None:
    error = parse("Q", "--brand-new", version="0.40.0").error
    assert error is not None
    assert error.certain is False
    error = parse("Q", "--brand-new", version="0.12.0").error
    assert error is not None
    assert error.certain is True


def test_disable_log_requests_changed_hands() -> None:
    assert parse("Q", "--disable-log-requests", version="0.16.0").values == {"disable_log_requests": True}
    assert parse("Q", "--disable-log-requests", version="0.33.0").values == {"enable_log_requests": False}


def test_switch_that_took_a_value_once() -> None:
    assert parse("Q", "--enable-chunked-prefill", "False", version="0.7.3").accepted
    assert parse("Q", "--enable-chunked-prefill=False", version=None).accepted
    assert not parse("Q", "--enable-chunked-prefill", "False", version="0.33.0").accepted


@pytest.mark.parametrize(
    ("version", "model"),
    [("0.9.2", "facebook/opt-125m"), ("0.10.2", "Qwen/Qwen3-0.6B"), ("0.10.0", None), (None, None)],
)
def test_default_model(version: str | None, model: str | None) -> None:
    assert default_model(version) == model
    parsed = parse("--port", "9", version=version)
    assert (parsed.model, parsed.defaulted) == (model, True)


# The module form.


def test_module_form() -> None:
    assert parse("--model", "Q", module=True).model == "Q"
    assert parse("--served-model-name", "x", "--model", "Q", module=True).accepted
    parsed = parse("Q", module=True, version="0.10.2")
    assert (parsed.accepted, parsed.model, parsed.model_tag) == (True, "Qwen/Qwen3-0.6B", "Q")
    assert sorts(parse("Q", module=True, version="0.9.2")) == ["stray"]
    # Of two, the last wins here.
    assert parse("--model", "A", "--model", "B", module=True).model == "B"


# The configuration file.


def test_false_in_the_file() -> None:
    text = "use-tqdm-on-load: false\n"
    # `vllm serve` looks for the negative in the outermost parser, which has no server flags.
    assert "use_tqdm_on_load" not in parse("Q", "--config", "c.yaml", **{"c.yaml": text}).values
    parsed = parse("--model", "Q", "--config", "c.yaml", module=True, **{"c.yaml": text})
    assert parsed.values["use_tqdm_on_load"] is False


def test_file_that_cannot_be_read_leaves_everything_open() -> None:
    parsed = parse("--config", "/etc/vllm.yaml")
    assert parsed.accepted
    assert (parsed.model, parsed.defaulted, parsed.open) == (None, False, True)


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}, *a{i}]\n" for i in range(30)),
        "a: &a [*a]\n",
        "a: " + "[" * 3000 + "]" * 3000,
        "a: 2024-99-99\n",
    ],
)
def test_hostile_file(text: str) -> None:
    parsed = parse("Q", "--config", "c.yaml", **{"c.yaml": text})
    assert parsed.open or sorts(parsed) == ["config"]
    assert not parsed.options


@pytest.mark.parametrize(
    ("text", "kind"),
    [("5: x\n", "TypeError"), ("[]\n", "AttributeError"), ("null\n", "AttributeError"), ("a: b: c\n", "ScannerError")],
)
def test_file_that_ends_the_program(text: str, kind: str) -> None:
    error = parse("Q", "--config", "c.yaml", **{"c.yaml": text}).error
    assert error is not None
    assert error.kind == f"exception:{kind}"


# Words that cannot be known.


@pytest.mark.parametrize(
    ("texts", "model"),
    [
        (("$MODEL",), None),
        (("$MODEL", "--port", "9"), None),
        (("--model=$MODEL",), None),
        (("--model", "$MODEL"), None),
        (("$ARGS*",), None),
        (("Q", "$ARGS*"), "Q"),
        (("Q", "$ARGS*", "x", "y"), "Q"),
        (("Q", "--port", "$PORT"), "Q"),
        (("Q", "--port", "$PORT*", "9"), "Q"),
        (("Q", "--port=$PORT"), "Q"),
        (("Q", "--max-model-len", "${N}"), "Q"),
        (("Q", "$FLAG", "value"), "Q"),
        (("Q", "--max-$X", "5"), "Q"),
        (("acme/$NAME", "--port", "9"), None),
        (("Q", "--override-generation-config.temperature", "$T"), "Q"),
        (("Q", "--override-generation-config.temperature=$T"), "Q"),
        (("Q", "--override-generation-config", "$JSON"), "Q"),
        (("Q", "--config", "$FILE"), "Q"),
        (("--served-model-name", "$N*", "Q"), None),
        (("Q", "--cudagraph-capture-sizes", "1", "$MORE"), "Q"),
    ],
)
def test_nothing_is_said_because_of_an_unknown_word(texts: tuple[str, ...], model: str | None) -> None:
    parsed = parse(*texts)
    assert not [error for error in parsed.errors if error.certain], parsed.errors
    assert parsed.model == model
    assert not parsed.defaulted


@pytest.mark.parametrize(
    ("texts", "sort"),
    [
        (("$MODEL", "--max-modle-len", "5"), "unrecognized"),
        (("$MODEL", "--port", "x"), "invalid"),
        (("Q", "--port", "--model=$MODEL"), "missing-value"),
        (("Q", "--seed", "$S", "--dtype", "bf16"), "choice"),
    ],
)
def test_other_errors_are_still_found(texts: tuple[str, ...], sort: str) -> None:
    assert sort in sorts(parse(*texts))


def test_all_errors_are_found_and_the_first_is_the_programs() -> None:
    parsed = parse("Q", "--nosuch", "--port", "x", "--mod", "y", "--seed", "z")
    assert sorts(parsed) == ["ambiguous", "invalid", "invalid", "unrecognized"]
    assert parsed.error is not None
    assert parsed.error.sort == "ambiguous"


def test_spans_point_at_the_value() -> None:
    texts = ("Q", "--max_model_len=4k", "--port", "9", "--override-generation-config.top_k=5")
    line = " ".join(texts)
    parsed = parse(*texts)
    option = parsed.option("--max-model-len")
    assert option is not None
    assert line[option.span.start : option.span.end] == "4k"
    assert line[option.name_span.start : option.name_span.end] == "--max_model_len"
    assert (option.data, option.value) == (4000, "4k")
    port = parsed.option("--port")
    assert port is not None
    assert line[port.span.start : port.span.end] == "9"
    (part,) = parsed.parts
    assert line[part.span.start : part.span.end] == "5"
    assert line[part.name_span.start : part.name_span.end] == "--override-generation-config.top_k"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4k", 4000), ("4K", 4096), ("25.6k", 25600), ("1g", 10**9), ("1T", 2**40), (" 8_192 ", 8192),
        ("1.5K", None), ("k", None), ("1e4", None), ("9" * 400 + "k", None), ("", None), ("4kb", None), (".5k", None),
    ],
)  # fmt: skip
def test_human_integer(text: str, number: int | None) -> None:
    found, wrong = human_integer(text)
    assert (found if wrong is None else None) == number


def test_resolve() -> None:
    scope = scope_of(NEWEST)
    found = resolve("--max-m", scope)
    assert found is not None
    assert found.string == "--max-model-len"
    assert resolve("-1", scope) is None
    assert resolve("x", scope) is None
    unknown = resolve("-zz", scope)
    assert unknown is not None
    assert unknown.flag is None


_WORDS = st.one_of(
    st.sampled_from(_POOL),
    st.sampled_from(
        ("--model", "--model=x", "--config", "--config=x", "--served-model-name", "--a.b", "-O", "-O3", "-O=2", "$x",
         "$x*", "--x=$y", "-$z", "-sc.a", "--override-generation-config.a+", "--hf-overrides.a.b", "c.yaml", "serve")
    ),
    st.text(max_size=8),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(_WORDS, max_size=8),
    st.sampled_from((None, "0.4.0", "0.7.3", "0.9.0", "0.12.0", "0.33.0", "1.0")),
    st.booleans(),
)
def test_any_words_are_taken(texts: list[str], version: str | None, module: bool) -> None:
    parsed = parse(*texts, version=version, module=module, **{"c.yaml": "port: 1\nmodel: M\n"})
    assert (parsed.error is None) == (not parsed.errors)
    for option in parsed.options:
        assert option.span.start <= option.span.end


def test_deep_and_long_words() -> None:
    assert parse("Q", "--override-generation-config." + ".".join("a" * 5000), "1").accepted
    assert sorts(parse("Q", "--override-generation-config", "[" * 100_000)) == ["json"]
    deep = parse("Q", "--override-generation-config.a", "[" * 100_000)
    assert deep.values["override_generation_config"] == {"a": "[" * 100_000}
    assert sorts(parse("Q", "--port", "9" * 5000)) == ["invalid"]
    many = [word for index in range(2000) for word in (f"--hf-overrides.k{index}", "1")]
    assert len(parse("Q", *many).values["hf_overrides"]) == 2000
