"""llama.cpp's INI files: which sections serve, what counts in them, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from servelint.manifests.llama_preset import read
from servelint.manifests.serving import Refusal
from servelint.text import Source, apply_edits
from tests.checks.linting import loud, of_rule, repaired, run, written

NOWHERE = Context(Path("/nonexistent"))
QWEN = "[q]\nhf-repo = Qwen/Qwen2.5-7B-Instruct-GGUF\n"
ROUTER, CONFIG = "models.ini", "config.ini"


def servings(text: str, name: str = ROUTER) -> list[tuple[str, dict[str, str | None]]]:
    """Each serving's section and its settings."""
    found = read(name, Source(text), NOWHERE)
    return [
        (serving.facts["section"], {setting.name: setting.value for setting in serving.settings})
        for serving in (found.servings if found is not None else ())
    ]


def said(result: Result) -> list[tuple[str, str]]:
    """The rule and the place of what a run would fail on."""
    return [(finding.rule, written(result, finding)) for finding in result.findings if finding.severity != "note"]


@pytest.mark.parametrize(
    ("name", "text", "file", "wanted"),
    [
        ("another program's", "[x]\nkey = value\n", ROUTER, None),
        ("no setting", "[x]\n", ROUTER, None),
        ("a model", "[x]\nmodel = a.gguf\n", ROUTER, [("x", {"model": "a.gguf"})]),
        (
            "common ones first",
            "version = 1\n[*]\nctx-size = 8192\n[x]\nmodel = a.gguf\n[y]\nmodel = b.gguf\nctx-size = 64\n",
            ROUTER,
            [
                ("x", {"ctx-size": "8192", "model": "a.gguf"}),
                ("y", {"ctx-size": "64", "model": "b.gguf"}),
            ],
        ),
        ("common ones alone", "[*]\nctx-size = 8192\n", ROUTER, [("", {"ctx-size": "8192"})]),
        ("unnamed alone", "n-predict = 1\n", CONFIG, [("", {"n-predict": "1"})]),
        ("the default section", "[default]\nn-predict = 1\n", CONFIG, [("", {"n-predict": "1"})]),
        ("variables", "[x]\nLLAMA_ARG_CTX_SIZE = 64\n", ROUTER, [("x", {"LLAMA_ARG_CTX_SIZE": "64"})]),
        ("config.ini holds no models", "[x]\nmodel = a.gguf\n", CONFIG, None),
        ("a section begun anew", "[x]\nctx-size = 1\n[x]\nmodel = a.gguf\n", ROUTER, [("x", {"model": "a.gguf"})]),
    ],
)
def test_servings(name: str, text: str, file: str, wanted: list[tuple[str, dict[str, str]]] | None) -> None:
    found = read(file, Source(text), NOWHERE)
    assert found is None or found.kind == "llama-preset"
    assert (servings(text, file) or None) == wanted


@pytest.mark.parametrize(
    ("section", "key", "family"),
    [
        ("q", "hf-repo = Qwen/Qwen2.5-7B-Instruct-GGUF", "qwen2.5"),
        ("q", "hf = Qwen/Qwen2.5-7B-Instruct-GGUF:Q8_0\nctx-size = 8192", "qwen2.5"),
        ("q", "LLAMA_ARG_MODEL = /m/Qwen2.5-7B-Instruct-Q4_K_M.gguf", "qwen2.5"),
        ("Qwen/Qwen2.5-7B-Instruct-GGUF:Q4_K_M", "ctx-size = 8192", "qwen2.5"),
        ("Qwen/Qwen2.5-7B-Instruct-GGUF:Q4_K_M", "model = /m/other.gguf", None),
        ("fast", "ctx-size = 8192", None),
    ],
)
def test_what_names_the_model(tmp_path: Path, section: str, key: str, family: str | None) -> None:
    (deployment,) = run(tmp_path, ROUTER, f"[{section}]\n{key}\n").deployments
    assert deployment.identity.family == family


@pytest.mark.parametrize(
    ("text", "file", "cap"),
    [
        ("n-predict = 1000\n", CONFIG, 1000),
        ("[*]\nn-predict = 1000\n", CONFIG, 1000),
        ("n_predict = 1000\nctx-size = 8192\n", CONFIG, None),
        ("[*]\nn-predict = 1000\n[x]\nmodel = a.gguf\n", ROUTER, 1000),
        ("[*]\nn-predict = 1000\n[x]\nmodel = a.gguf\nn = 2000\n", ROUTER, 2000),
        ("[x]\nmodel = a.gguf\nn-predict = 1000\nn-predict = 2000\n", ROUTER, 2000),
        ("[x]\nmodel = a.gguf\nLLAMA_ARG_N_PREDICT = 1000\n", ROUTER, 1000),
        ("[x]\nmodel = a.gguf\npredict = 1000 # tokens\n", ROUTER, 1000),
        ("[x]\nmodel = a.gguf\nn-predict = -1\n", ROUTER, None),
    ],
)
def test_measured_caps(tmp_path: Path, text: str, file: str, cap: int | None) -> None:
    (deployment,) = run(tmp_path, file, text).deployments
    assert (deployment.reading.cap and deployment.reading.cap.value) == cap


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("i", ["i"]),
        ("i#x", ["i"]),
        ('"i"', ['"i"']),
        ("Q\nreverse-prompt = Z", ["Z"]),
        ("\\nUser:", ["\nUser:"]),
        ("#x", []),
        ("<|im_end|>", []),
        ("<|im_end|>\nspecial = on", ["<|im_end|>"]),
        ("<|im_end|>\nspecial = off", []),
    ],
)
def test_measured_reverse_prompts(tmp_path: Path, value: str, wanted: list[str]) -> None:
    (deployment,) = run(tmp_path, ROUTER, f"{QWEN}reverse-prompt = {value}\n").deployments
    assert [stop.value for stop in deployment.reading.stop_set.texts] == wanted


@pytest.mark.parametrize(
    ("name", "text", "file", "wanted"),
    [
        ("a plain switch is on whatever it says", "ignore-eos = false\n", CONFIG,
         [("SL112", "ignore-eos = false"), ("SL505", "ignore-eos = false")]),
        ("so it is for no", "ignore-eos = No\n", CONFIG,
         [("SL112", "ignore-eos = No"), ("SL505", "ignore-eos = No")]),
        ("a router looks", f"{QWEN}ignore-eos = false\n", ROUTER, []),
        ("and takes the rest for on", f"{QWEN}ignore-eos = no\n", ROUTER,
         [("SL112", "ignore-eos = no"), ("SL505", "no")]),
        ("on is on", f"{QWEN}ignore-eos = yes\n", ROUTER, [("SL112", "ignore-eos = yes")]),
        ("a pair that is off", f"{QWEN}jinja = off\n", ROUTER, []),
        ("a pair that was to be off", f"{QWEN}jinja = no\n", ROUTER, [("SL505", "no")]),
        ("a pair that is on as meant", f"{QWEN}jinja = True\n", ROUTER, []),
        ("a pair without its value", f"{QWEN}jinja =\n", ROUTER, [("SL505", "jinja")]),
        ("a negative name", f"{QWEN}no-context-shift = 1\n", ROUTER, []),
        ("a negative name that turns on", f"{QWEN}no-context-shift = yes\n", ROUTER, [("SL505", "yes")]),
        ("config.ini takes the rest for off", "ctx-size = 8\njinja = yes\n", CONFIG, [("SL505", "yes")]),
        ("off as meant", "ctx-size = 8\njinja = no\n", CONFIG, []),
        ("a switch alone", "ctx-size = 8\nignore-eos\n", CONFIG, [("SL501", "ignore-eos")]),
        ("an unknown key", f"{QWEN}n_predict = 1000\n", ROUTER, [("SL504", "n_predict = 1000")]),
        ("an unknown key is only warned of", "ctx-size = 8\nn_predict = 1000\n", CONFIG,
         [("SL504", "n_predict = 1000")]),
        ("a router's own keys", f"{QWEN}load-on-startup = true\nstop-timeout = 5\n", ROUTER, []),
        ("keys in capitals are others", f"{QWEN}Ctx-Size = 8\n", ROUTER, [("SL504", "Ctx-Size = 8")]),
        ("quotes", f'{QWEN}reverse-prompt = "i"\n', ROUTER, [("SL107", '"i"')]),
        ("quotes of the short name", f'{QWEN}r = "i"\n', ROUTER, [("SL107", '"i"')]),
        ("quotes elsewhere", f'{QWEN}alias = "i"\n', ROUTER, [("SL510", '"i"')]),
        ("a value cut off", f"{QWEN}reverse-prompt = i#x\n", ROUTER, [("SL505", "reverse-prompt = i")]),
        ("nothing left", f"{QWEN}reverse-prompt = #x\n", ROUTER, [("SL104", "reverse-prompt"),
         ("SL505", "reverse-prompt = ")]),
        ("a remark behind", f"{QWEN}ctx-size = 8192 ; enough\n", ROUTER, []),
        ("twice", f"{QWEN}n-predict = 1000\nn-predict = 2000\n", ROUTER, [("SL512", "1000")]),
        ("prompts do not add up", f"{QWEN}r = Q\nr = Z\n", ROUTER, [("SL512", "Q")]),
        ("own ones over common ones", f"[*]\nn-predict = 1000\n{QWEN}n-predict = 2000\n", ROUTER, []),
        ("no number", f"{QWEN}n-predict = lots\n", ROUTER, [("SL505", "lots")]),
        ("one token", f"{QWEN}n-predict = -2\n", ROUTER, [("SL206", "-2")]),
        ("an impossible eos", f"{QWEN}override-kv = tokenizer.ggml.eos_token_id=int:-1\n", ROUTER,
         [("SL114", "tokenizer.ggml.eos_token_id=int:-1")]),
        ("indented", f"{QWEN}  ctx-size = 8\n", ROUTER, [("SL501", "  ctx-size = 8")]),
        ("begun anew", f"[q]\nctx-size = 64\n{QWEN}", ROUTER, [("SL512", "[q]")]),
        ("begun anew without a loss", f"[q]\n{QWEN}", ROUTER, []),
        ("common ones begun anew", f"[*]\nctx-size = 64\n[*]\njinja = on\n{QWEN}[r]\nmodel = a.gguf\n", ROUTER,
         [("SL512", "[*]")]),
    ],
    ids=lambda value: value if isinstance(value, str) and "\n" not in value and "." not in value else "",
)  # fmt: skip
def test_findings(tmp_path: Path, name: str, text: str, file: str, wanted: list[tuple[str, str]]) -> None:
    assert sorted(said(run(tmp_path, file, text))) == wanted


def test_a_router_refuses_a_key_that_config_only_warns_of(tmp_path: Path) -> None:
    (router,) = of_rule(run(tmp_path, ROUTER, f"{QWEN}n_predict = 1000\n"), "SL504")
    (config,) = of_rule(run(tmp_path, CONFIG, "ctx-size = 8\nn_predict = 1000\n"), "SL504")
    assert (router.severity, config.severity) == ("error", "warning")
    assert "n-predict" in (router.help or "")


@pytest.mark.parametrize(
    "text",
    [
        f"version = 1\n\n; all of them\n[*]\nctx-size = 8192\njinja = true\n\n{QWEN}temp = 0.7\ntop-p = 0.8\n",
        f"{QWEN}reverse-prompt = ### User:\n".replace("###", "User"),
        f"{QWEN}override-kv = tokenizer.ggml.eot_token_id=int:151645\n",
        "[Qwen/Qwen2.5-7B-Instruct-GGUF:Q4_K_M]\nc = 8192\nngl = 99\nfa = on\nnp = 4\n",
        f"{QWEN}no-mmap = true\n".replace("no-mmap = true", "load-mode = none"),
    ],
)
def test_a_healthy_file_is_met_with_silence(tmp_path: Path, text: str) -> None:
    assert loud(run(tmp_path, ROUTER, text)) == []


def test_a_remark_may_silence_a_finding(tmp_path: Path) -> None:
    text = f"{QWEN}n-predict = 100 # servelint: ignore[SL201] short answers\n"
    assert loud(run(tmp_path, ROUTER, text)) == []
    header = f"; servelint: ignore[SL206]\n{QWEN}n-predict = -2 ; servelint: ignore[SL206] one token\n"
    assert "SL206" not in {rule for rule, _, _ in loud(run(tmp_path, ROUTER, header))}


@pytest.mark.parametrize(
    ("line", "rule", "mended"),
    [
        ('reverse-prompt = "User:" ; note', "SL107", "reverse-prompt = User: ; note"),
        ("reverse-prompt = 'User:'", "SL107", "reverse-prompt = User:"),
        ('n-predict = "1000"', "SL510", "n-predict = 1000"),
        ('jinja = "off"', "SL510", "jinja = off"),
        ("chat-template-kwargs = '{\"a\": 1}'", "SL510", 'chat-template-kwargs = {"a": 1}'),
        ('reverse-prompt = " User:"', "SL107", None),
    ],
)
def test_quotes_are_told_once_and_taken_off(tmp_path: Path, line: str, rule: str, mended: str | None) -> None:
    result = run(tmp_path, ROUTER, f"{QWEN}{line}\n")
    (finding,) = result.findings
    assert finding.rule == rule
    assert (repaired(result, finding) if finding.fix else None) == (mended and f"{QWEN}{mended}\n")


@pytest.mark.parametrize(
    ("values", "wanted"),
    [(["512"], f"{QWEN}n-predict = 512 # so\n"), (["a#b"], None), (["a;b"], None), (["a\nb"], None), ([""], None),
     (["a", "b"], None)],
)  # fmt: skip
def test_a_value_is_written_where_the_old_one_stands(values: list[str], wanted: str | None) -> None:
    text = f"{QWEN}n-predict = 4 # so\n"
    found = read(ROUTER, Source(text), NOWHERE)
    assert found is not None
    (serving,) = found.servings
    setting = serving.last("n-predict")
    assert setting is not None
    edits = serving.writer.replace(setting, values)
    assert (None if isinstance(edits, Refusal) else apply_edits(text, edits)) == wanted
    assert isinstance(serving.writer.add("stop", ["<|im_end|>"]), Refusal)


_LINES = st.lists(
    st.sampled_from(
        ["[x]", "[*]", "[org/Qwen2.5-7B-Instruct]", "[", "ctx-size = 8", "n-predict = -2", "r = a#b", "  c = 1",
         'r = "i"', "ignore-eos", "ignore-eos = no", "jinja =", "override-kv = a,b", "n = 1e9", "temp = hot",
         "# servelint: ignore[SL505]", "hf = Qwen/Qwen2.5-7B-Instruct-GGUF", "LLAMA_ARG_CTX_SIZE = 0", "[x] y", "é"]
    ),
    max_size=9,
)  # fmt: skip


@given(_LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from([ROUTER, CONFIG]))
@settings(max_examples=60)
def test_any_file_can_be_linted(lines: list[str], line_end: str, name: str) -> None:
    text = line_end.join(lines)
    result = lint(name, text.encode(), NOWHERE, Policy(), True)
    assert result.internal == ()
    for finding in result.findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(result.text)
