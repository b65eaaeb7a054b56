"""A serving as vLLM reads it: faults, stop set, cap, model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.engines.meant_json import repair_json
from servelint.engines.reading import Fault, Reading
from servelint.engines.vllm import model_of, read_vllm
from servelint.engines.vllm_faults import nearest_option
from servelint.files.context import Context
from servelint.manifests.serving import Argument, NoWriter, Serving, Setting
from servelint.models.identity import UNKNOWN, Identity, Token
from servelint.text import Span, verbatim

OVERRIDE = "--override-generation-config"
OFFICIAL = "vllm/vllm-openai"


def serving(*texts: str, image: str | None = None, launcher: str = "serve", **facts: Any) -> Serving:
    """A serving whose file's text is its words, one blank apart; `$X` is an unknown word."""
    arguments, position = [], 0
    for text in texts:
        span = Span(position, position + len(text))
        known, dollar, _ = text.partition("$")
        if dollar:
            arguments.append(Argument(None, span, "comes from outside", known, None, None if "*" in text else 1))
        else:
            arguments.append(Argument(text, span, inner=verbatim(text, position)))
        position += len(text) + 1
    place = Span(0, 0)
    tag = image.rpartition(":")[2].removeprefix("v") if image and ":" in image else None
    return Serving(
        "deploy/serve.sh", place, "launch-script", "vllm", NoWriter("a test"),
        Setting("version", tag, place, place, "image tag") if tag and tag != "latest" else None,
        Setting("image", image, place, place, "image") if image else None,
        None, tuple(arguments), facts={"launcher": "image" if image and launcher == "serve" else launcher, **facts},
    )  # fmt: skip


def read(*texts: str, context: Context | None = None, identity: Identity = UNKNOWN, **settings: Any) -> Reading:
    return read_vllm(serving(*texts, **settings), identity, context)


def faults(*texts: str, **settings: Any) -> list[Fault]:
    return list(read(*texts, **settings).faults)


@pytest.mark.parametrize(
    ("texts", "image", "sort", "marked", "suggestion", "certain"),
    [
        (("Q", "--max-modle-len", "1"), None, "unknown-option", "--max-modle-len", "--max-model-len", False),
        (("Q", "--max-modle-len", "1"), "v0.11.2", "unknown-option", "--max-modle-len", "--max-model-len", True),
        (("Q", "--acme-warmup", "1"), None, "unknown-option", "--acme-warmup", None, False),
        (("Q", "--acme-warmup", "1"), "v0.11.2", "unknown-option", "--acme-warmup", None, True),
        (("Q", "--context-length", "1"), None, "unknown-option", "--context-length", "--max-model-len", False),
        (("Q", "--stop", "x"), None, "unknown-option", "--stop", None, True),
        (("Q", "--max-tokens", "5"), None, "unknown-option", "--max-tokens", None, True),
        (("Q", "--ignore-eos"), None, "unknown-option", "--ignore-eos", None, True),
        (("Q", "--trust-r"), "v0.33.0", "unknown-option", "--trust-r", None, True),
        (("Q", "--trust-r"), None, "unknown-option", "--trust-r", None, False),
        (("--model=Q", "--enable-reasoning"), "v0.28.0", "removed", "--enable-reasoning", None, True),
        (
            ("--model=Q", "--cuda-graph-sizes", "8"), "v0.28.0", "removed", "--cuda-graph-sizes",
            "--cudagraph-capture-sizes", True,
        ),
        (("--model=Q", "--disable-log-requests"), "v0.28.0", "removed", "--disable-log-requests", None, True),
        (("--model=Q", "--device", "cuda"), "v0.28.0", "removed", "--device", None, True),
        (("--model=Q", "--device", "cuda"), "v0.33.0", "removed", "--device", None, True),
        (("--model=Q", "--uds", "x"), "v0.8.5", "unknown-option", "--uds", "--uds", True),
        (("Q", "--port", "80k"), None, "invalid-value", "80k", "80000", True),
        (("Q", "--max-model-len", "8,192"), None, "invalid-value", "8,192", "8192", True),
        (("Q", "--max-model-len=1e4"), None, "invalid-value", "1e4", "10000", True),
        (("Q", "--max-model-len", "auto"), "v0.13.0", "invalid-value", "auto", None, True),
        (("Q", "--dtype", "BF16"), None, "invalid-value", "BF16", "bfloat16", False),
        (("Q", "--dtype", "BF16"), "v0.33.0", "invalid-value", "BF16", "bfloat16", True),
        (("Q", "--port"), None, "invalid-value", "--port", None, True),
        (("Q", "--max-model-len", "'8192'"), None, "literal-quotes", "'8192'", "8192", True),
        (("Q", "--enforce-eager=true"), None, "invalid-value", "--enforce-eager=true", "--enforce-eager", True),
        (("Q", "--enforce-eager=no"), None, "invalid-value", "--enforce-eager=no", "--no-enforce-eager", True),
        (("Q", "--enforce-eager", "true"), None, "invalid-value", "true", None, True),
        (("Q", OVERRIDE, "{temperature:0.6}"), None, "lost-quotes", "{temperature:0.6}", '{"temperature": 0.6}', True),
        (
            ("Q", OVERRIDE, "{temperature:", "0.6,", "top_k:", "5}"), None, "lost-quotes", "{temperature:",
            '{"temperature": 0.6, "top_k": 5}', True,
        ),
        (("Q", OVERRIDE, "'{\"top_k\":1}'"), None, "literal-quotes", "'{\"top_k\":1}'", '{"top_k":1}', True),
        (("Q", OVERRIDE + "='{\"top_k\":1}'"), None, "literal-quotes", "'{\"top_k\":1}'", '{"top_k":1}', True),
        (("Q", OVERRIDE, '{\\"top_k\\":1}'), None, "literal-quotes", '{\\"top_k\\":1}', '{"top_k":1}', True),
        (("Q", OVERRIDE, "{'a': True}"), None, "invalid-value", "{'a': True}", '{"a": true}', True),
        (("Q", OVERRIDE, "512"), None, "fatal", "512", None, True),
        (("Q", OVERRIDE, '{"eos_token_id":1}'), None, "inert", '"eos_token_id":1', None, True),
        (("Q", OVERRIDE, '{"stop": ["x"]}'), None, "inert", '"stop": ["x"]', None, True),
        (("Q", OVERRIDE + ".eos_token_id", "1"), None, "inert", "1", None, True),
        (("Q", OVERRIDE, '{"max_tokens": 5}'), None, "cap-name", '"max_tokens": 5', "max_new_tokens", True),
        (("Q", OVERRIDE + ".max-new-tokens", "5"), None, "cap-name", "5", "max_new_tokens", True),
        (("Q", OVERRIDE, '{"temprature": 1}'), None, "inert", '"temprature": 1', "temperature", True),
        (("Q", OVERRIDE, '{"presence_penalty": 1}'), "v0.28.0", "inert", '"presence_penalty": 1', None, True),
        (("Q", OVERRIDE, '{"max_new_tokens": "9"}'), None, "fatal", '"max_new_tokens": "9"', "9", True),
        (("Q", OVERRIDE, '{"max_new_tokens": 0}'), None, "fatal", '"max_new_tokens": 0', None, True),
        (("Q", "--hf-overrides", '{"eos_token_id":1}'), None, "inert", '{"eos_token_id":1}', None, True),
        (("Q", "--generation-config", "None"), None, "invalid-value", "None", "vllm", True),
        (("Q", "--generation-config", "AUTO"), None, "invalid-value", "AUTO", "auto", True),
        (("Q", "--generation-config="), None, "invalid-value", "", "auto", True),
        (("Q", "--generation-config", "/g/generation_config.json"), None, "invalid-value", "/g/generation_config.json",
         "/g", True),
        (("Q", "--generation-config", '{"top_k":1}'), None, "invalid-value", '{"top_k":1}',
         OVERRIDE + " '{\"top_k\":1}'", True),
        (("Q", "--max-model-len 16384"), None, "not-split", "--max-model-len 16384", '["--max-model-len", "16384"]',
         True),
        (("--max-model-len 16384", "--model=Q"), "v0.11.2", "not-split", "--max-model-len 16384",
         '["--max-model-len", "16384"]', True),
        (("serve Q --port 80",), "v0.11.2", "not-split", "serve Q --port 80", '["serve", "Q", "--port", "80"]', True),
        (("vllm", "serve", "Q"), "v0.11.2", "doubled-entry-point", "vllm serve", None, True),
        (("serve", "Q"), "v0.11.2", "doubled-entry-point", "serve", None, True),
        (("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "Q"), "v0.9.2", "doubled-entry-point",
         "python3 -m vllm.entrypoints.openai.api_server", None, True),
        (("sh", "-c", "vllm serve Q"), "v0.11.2", "doubled-entry-point", "sh", None, True),
        (("Q",), "v0.9.2", "conflict", "Q", None, True),
        (("Q",), "v0.10.2", "conflict", "Q", None, True),
        (("Q", "--model", "R"), None, "conflict", "Q", None, True),
        (("--model", "A", "--model", "B"), None, "shadowed", "B", None, True),
        (("--port", "80"), None, "conflict", "--port", None, True),
        (("--api-key", "k", "acme/quill"), None, "conflict", "--api-key", None, True),
        (("Q", "--port", "1", "--port=2"), None, "shadowed", "1", None, True),
        (("Q", OVERRIDE, '{"top_k":5}', OVERRIDE + ".top_p", "0.5"), None, "shadowed", '{"top_k":5}', None, True),
        (("Q", "--enable-auto-tool-choice"), None, "fatal", "--enable-auto-tool-choice", None, True),
        (("Q", "--config=c.yaml"), None, "invalid-value", "--config=c.yaml", "--config c.yaml", True),
        (("Q", "--port", "80", ">", "log"), None, "conflict", ">", None, True),
        (("--served-model-name", "x", "Q"), "v0.33.0", "conflict", "--served-model-name", None, True),
    ],
)  # fmt: skip
def test_fault(
    texts: tuple[str, ...], image: str | None, sort: str, marked: str, suggestion: str | None, certain: bool
) -> None:
    found = faults(*texts, image=f"{OFFICIAL}:{image}" if image else None)
    assert [fault.sort for fault in found] == [sort], found
    (fault,) = found
    text = " ".join(texts)
    assert text[fault.span.start : fault.span.end] == marked
    assert fault.suggestion == suggestion
    assert fault.certain is certain
    assert fault.message


@pytest.mark.parametrize(
    ("texts", "image"),
    [
        (("Q", "--max-model-len", "16384"), None),
        (("Q", "--max_model_len=16k", "-tp", "2", "--gpu", "0.9"), None),
        (("--model", "Q", "--max-model-len", "16384"), "v0.8.5"),
        (("Q", "--generation-config", "vllm"), None),
        (("Q", "--generation-config", "/etc/gen"), None),
        (("Q", OVERRIDE, '{"temperature":0.6,"max_new_tokens":512,"do_sample":true}'), None),
        (("Q", "--reasoning-parser", "qwen3", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"), None),
        (("Q", "--swap-space", "4", "--enable-reasoning", "--guided-decoding-backend", "x"), None),
        (("Q", "--guided-decoding-backend", "x"), "v0.12.0"),
        (("--model", "$MODEL", "$EXTRA*", "x", "y"), "v0.11.2"),
        (("$MODEL", "--port", "$PORT", "--max-model-len=$N", OVERRIDE, "$J"), None),
        (("--model=Q", "--enable-chunked-prefill", "True"), "v0.6.3"),
        (("Q", "--enable-chunked-prefill", "True"), None),
        (("Q", "--max-model-len", "auto"), "v0.16.0"),
        (("Q", "--max-model-len", "auto"), None),
        (("Q", "--limit-mm-per-prompt", "image=4"), None),
        (("Q", "--chat-template", "{{ messages }} --port 80"), None),
        (("Q", "--middleware", "a.b", "--middleware", "c.d"), None),
        (("Q", "--disable-log-requests", "--trust-remote-code", "--no-enable-prefix-caching"), None),
        (("--model=Q", "--disable-log-requests"), "latest"),
        ((), "v0.11.2"),
        (("--port", "80"), None),
    ],
)
def test_silent(texts: tuple[str, ...], image: str | None) -> None:
    found = faults(*texts, image=f"{OFFICIAL}:{image}" if image else None)
    loud = [fault for fault in found if fault.certain or fault.suggestion is not None]
    if texts == ("--port", "80"):
        # The counter-example: a command line that does not name a model at all is not silent.
        assert loud
    else:
        assert not loud


def test_another_image_is_another_program() -> None:
    # Its tag is not vLLM's version, and its entry point may name the model.
    found = faults("--max-seq-len-to-capture", "2048", image="opea/vllm-gaudi:1.22.0")
    assert not found
    (fault,) = faults("--model=Q", "--max-modle-len", "1", image="acme/llm:0.9.2")
    assert (fault.sort, fault.certain) == ("unknown-option", False)
    assert not faults("--model=Q", "--enable-reasoning", image="acme/llm:0.28.0")
    assert faults("--model=Q", "--enable-reasoning", image="mirror.example/x/vllm-openai:v0.28.0")


def test_kserve_has_options_of_its_own() -> None:
    assert not faults("--model_name=q", "--backend=vllm", "--max-modle-len", "1", launcher="kserve")
    (fault,) = faults("--model_name=q", OVERRIDE, '{"eos_token_id": 1}', launcher="kserve")
    assert fault.sort == "inert"


# Stop set and cap.


def write(folder: Path, **files: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.json").write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    return tmp_path


def test_unread_files_are_unknown() -> None:
    reading = read("acme/quill")
    assert reading.reads_model_ids
    assert not reading.stop_set.complete
    assert len(reading.stop_set.unknown) == 2
    assert reading.stop_set.holds("<|im_end|>", 151645) is None
    assert (reading.cap, reading.default_cap) == (None, None)
    assert reading.facts["completions_default"] == 16


def test_local_model_folder(project: Path) -> None:
    write(
        project / "deploy" / "quill",
        generation_config={"eos_token_id": [5, 6], "max_new_tokens": 512},
        tokenizer_config={"eos_token": "<end>", "added_tokens_decoder": {"7": {"content": "<end>"}}},
    )
    reading = read("./quill", context=Context(project))
    assert [stop.value for stop in reading.stop_set.ids] == [7, 5, 6]
    assert reading.stop_set.complete
    assert reading.default_cap is not None
    assert (reading.default_cap.value, reading.default_cap.hard, reading.cap) == (512, False, None)
    old = read("--model", "./quill", context=Context(project), image=f"{OFFICIAL}:v0.9.2")
    assert old.cap is not None
    assert (old.cap.value, old.cap.hard, old.default_cap) == (512, True, None)
    bare = read("./quill", "--generation-config", "vllm", context=Context(project))
    assert [stop.value for stop in bare.stop_set.ids] == [7, 5, 6]
    assert (bare.cap, bare.default_cap) == (None, None)
    other = read("./quill", "--tokenizer", "acme/other", context=Context(project))
    assert [stop.value for stop in other.stop_set.ids] == [5, 6]
    assert len(other.stop_set.unknown) == 1
    skipped = read("./quill", "--skip-tokenizer-init", context=Context(project))
    assert [stop.value for stop in skipped.stop_set.ids] == [5, 6]
    assert skipped.stop_set.complete


@pytest.mark.parametrize("broken", ['{"eos_token_id": 9,}', '\ufeff{"eos_token_id": 9}', "", "<<<<<<< HEAD"])
def test_broken_file_falls_back_to_config(project: Path, broken: str) -> None:
    write(project / "deploy" / "quill", generation_config=broken, config={"eos_token_id": 8})
    assert [stop.value for stop in read("./quill", context=Context(project)).stop_set.ids] == [8]


def test_folder_of_the_flag(project: Path) -> None:
    write(project / "deploy" / "gen", generation_config={"eos_token_id": 9, "max_new_tokens": 64, "temperature": 0})
    reading = read("Q", "--generation-config", "./gen", context=Context(project))
    assert [stop.value for stop in reading.stop_set.ids] == [9]
    assert reading.cap is not None
    assert (reading.cap.value, reading.cap.hard) == (64, True)
    assert [(name, value) for name, value, _, _ in reading.facts["sampling"]] == [("temperature", 0)]
    both = read("Q", "--generation-config", "./gen", OVERRIDE, '{"max_new_tokens": 512}', context=Context(project))
    assert both.cap is not None
    assert both.cap.value == 512
    assert not reading.faults


def test_folder_of_the_flag_that_takes_ids_away(project: Path) -> None:
    write(project / "deploy" / "gen", generation_config={"temperature": 0.3})
    (fault,) = read("Q", "--generation-config", "./gen", context=Context(project)).faults
    assert fault.sort == "custom-file-drops-ids"
    (project / "deploy" / "empty").mkdir()
    (project / "deploy" / "empty" / "note.txt").write_text("x")
    (fault,) = read("Q", "--generation-config", "./empty", context=Context(project)).faults
    assert (fault.sort, fault.certain) == ("fatal", False)


def test_cap_and_sampling_of_the_override() -> None:
    texts = ("Q", OVERRIDE, '{"max_new_tokens": 64, "temperature": 0, "top_p": null}')
    reading = read(*texts)
    text = " ".join(texts)
    assert reading.cap is not None
    assert reading.cap.span is not None
    assert text[reading.cap.span.start : reading.cap.span.end] == '"max_new_tokens": 64'
    assert (reading.cap.value, reading.cap.hard) == (64, True)
    assert [(name, value) for name, value, _, _ in reading.facts["sampling"]] == [("temperature", 0)]


def test_config_file(project: Path) -> None:
    (project / "deploy" / "c.yaml").write_text("model: acme/quill\noverride-generation-config:\n  max_new_tokens: 64\n")
    one = serving("--config", "c.yaml")
    found = model_of(one, Context(project))
    assert found is not None
    assert found.value == "acme/quill"
    reading = read_vllm(one, UNKNOWN, Context(project))
    assert reading.cap is not None
    assert reading.cap.value == 64
    assert not reading.faults


def test_version_that_reads_no_list() -> None:
    llama = Identity("llama3", "instruct", (Token("<|eot_id|>", 128009),), (Token("<|end_of_text|>", 128001),))
    (fault,) = read("--model", "L", identity=llama, image=f"{OFFICIAL}:v0.4.0").faults
    assert fault.sort == "ignores-list"
    assert not read("--model", "L", identity=llama, image=f"{OFFICIAL}:v0.4.1").faults
    qwen = Identity("qwen2.5", "instruct", (Token("<|im_end|>", 151645),))
    assert not read("--model", "L", identity=qwen, image=f"{OFFICIAL}:v0.4.0").faults


@pytest.mark.parametrize(
    ("texts", "chat", "generates"),
    [
        (("Q",), None, True),
        (("Q", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"), True, True),
        (("Q", "--chat-template", "./x.jinja"), True, True),
        (("Q", "--chat-template", ""), None, True),
        (("Q", "--reasoning-parser", "$P"), True, True),
        (("Q", "--runner", "pooling"), None, False),
        (("Q", "--task", "embed"), None, False),
        (("Q", "--task=generate"), None, True),
        (("Q", "--convert", "classify"), None, False),
    ],
)
def test_route(texts: tuple[str, ...], chat: bool | None, generates: bool) -> None:
    reading = read(*texts)
    assert reading.serves_chat is chat
    assert reading.generates is generates


@pytest.mark.parametrize(
    ("texts", "image", "value"),
    [
        (("serve", "Q", "--port", "1"), None, "Q"),
        (("Q",), "v0.11.2", "Q"),
        (("serve", "Q"), "v0.11.2", "Q"),
        (("vllm", "serve", "Q"), "v0.11.2", "Q"),
        (("--model=Q",), "v0.8.5", "Q"),
        (("--model", "$M"), "v0.11.2", None),
    ],
)
def test_model_of(texts: tuple[str, ...], image: str | None, value: str | None) -> None:
    found = model_of(serving(*texts, image=f"{OFFICIAL}:{image}" if image else None), None)
    assert found is not None
    assert found.value == value
    assert (found.reason is None) == (value is not None)


def test_no_model() -> None:
    assert model_of(serving("sh", "-c", "vllm serve Q", image=f"{OFFICIAL}:v0.11.2"), None) is None
    assert model_of(serving("--port", "1"), None) is None
    place = Span(0, 3)
    storage = Setting("storageUri", "hf://acme/quill", place, place, "storageUri")
    found = model_of(serving("--model=/mnt/models", launcher="module", storage_uri=storage), None)
    assert found is not None
    assert (found.value, found.span) == ("acme/quill", place)
    kserve = model_of(serving("--model_id=acme/quill", launcher="kserve"), None)
    assert kserve is not None
    assert kserve.value == "acme/quill"


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        ("--max-modle-len", "--max-model-len"),
        ("--maxmodellen", "--max-model-len"),
        ("--MAX-MODEL-LEN", "--max-model-len"),
        ("--max-model-length", "--max-model-len"),
        ("---max-model-len", "--max-model-len"),
        ("--max-model-len:4096", "--max-model-len"),
        ("--generationconfig", "--generation-config"),
        ("--served-model-names", "--served-model-name"),
        ("--prot", "--port"),
        ("--acme-warmup-profile", None),
        ("--enable-acme-cache", None),
        ("--gen-config", None),
        ("--x", None),
        ("-x", None),
        ("--" + "a" * 500, None),
    ],
)
def test_nearest_option(word: str, nearest: str | None) -> None:
    assert nearest_option(word, 1 << 16) == nearest


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("{temperature:0.6}", '{"temperature": 0.6}'),
        ("{a: {b: [1, x]}, c: true}", '{"a": {"b": [1, "x"]}, "c": true}'),
        ("{eos_token_id:[1,2]}", '{"eos_token_id": [1, 2]}'),
        ("{a:http://x}", None),
        ("{a b:1}", None),
        ("{a:}", None),
        ("{a:1", None),
        ("{'a':1}", None),
        ("a:1", None),
        ("{}", "{}"),
        ("{" * 100, None),
    ],
)
def test_repair_json(text: str, repaired: str | None) -> None:
    assert repair_json(text) == repaired


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True), st.integers() | st.booleans() | st.none(), max_size=4
    )
)
def test_json_that_lost_its_quotes_comes_back(data: dict[str, Any]) -> None:
    bare = json.dumps(data).replace('"', "")
    # A word that JSON knows cannot be told from a key of that name, and is a key all the same.
    assert json.loads(repair_json(bare) or "0") == data


_ANY = st.one_of(
    st.sampled_from(
        ("--port", "--model", "Q", "serve", "vllm", "sh", "-c", OVERRIDE, OVERRIDE + ".a", "{a:", "1}", "'{}'",
         "--x y", "--generation-config", "--config", "$A", "$B*", "--max-modle-len", "#", "true", "--enforce-eager",
         '{"stop":1}')
    ),
    st.text(max_size=10),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(_ANY, max_size=7),
    st.sampled_from((None, f"{OFFICIAL}:v0.4.0", f"{OFFICIAL}:v0.9.0", f"{OFFICIAL}:v0.11.2", "x/y:1")),
    st.sampled_from(("serve", "module", "kserve", "image", "other")),
)
def test_any_words_are_read(texts: list[str], image: str | None, launcher: str) -> None:
    one = serving(*texts, image=image, launcher=launcher)
    reading = read_vllm(one, UNKNOWN, None)
    assert all(fault.message and fault.span.start <= fault.span.end for fault in reading.faults)
    model_of(one, None)
