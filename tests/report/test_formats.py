"""What each format says of the same findings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.finding import Fix, Related
from servelint.checks.run import Result
from servelint.files.context import Context
from servelint.report import FORMATS, Style, format_named
from servelint.report.collect import gather
from servelint.report.inventory import render_json, render_text
from servelint.text import Edit, Span, apply_edits
from tests.report.samples import MODELFILE, deployment, finding, full_finding, report

SCHEMA = json.loads((Path(__file__).parent.parent.parent / "schemas" / "report.schema.json").read_text())


def rendered(name: str, what: object, style: Style | None = None) -> str:
    return "".join(format_named(name).render(what, style or Style()))  # type: ignore[arg-type]


def test_text() -> None:
    assert rendered("text", report(full_finding())) == (
        "Modelfile:2:1: error SL101 missing-terminator: <|im_end|> is missing\n"
        "  |\n"
        '2 | PARAMETER stop "<|endoftext|>"\n'
        "  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  = see: Modelfile:1:6: the model\n"
        "  = why: The model goes on.\n"
        "  = help: add it\n"
        "  = fix: add <|im_end|> (safe)\n"
        "\n"
        "1 error in 1 file; 1 fixable with `servelint fix`\n"
    )


def test_text_breaks_long_explanations_at_blanks() -> None:
    long = finding(MODELFILE, "qwen3", why="word " * 12 + "x" * 70)
    lines = rendered("text", report(long), Style(width=40)).split("\n")
    assert lines[4:7] == [
        "  = why: word word word word word word",
        "         word word word word word word",
        "         " + "x" * 70,
    ]


def test_text_of_a_place_over_several_lines_and_of_none() -> None:
    several = finding(MODELFILE, MODELFILE[5:50])
    text = rendered("text", report(several))
    assert "1 | FROM qwen3:8b\n  |      ^^^^^^^^ … to line 3\n" in text
    whole_line = finding(MODELFILE, "FROM qwen3:8b\n")
    assert "  | ^^^^^^^^^^^^^\n" in rendered("text", report(whole_line))
    at_the_end = finding(MODELFILE, "FROM", span=Span(len(MODELFILE), len(MODELFILE)))
    assert "4 |\n  | ^\n" in rendered("text", report(at_the_end))
    nothing = report(finding(MODELFILE, "FROM", span=Span(0, 0)), text="")
    assert rendered("text", nothing).startswith(
        "Modelfile:1:1: error SL101 missing-terminator: <|im_end|> is missing\n\n"
    )


def test_unsafe_and_refused_repairs() -> None:
    unsafe = finding(MODELFILE, "FROM", fix=Fix("do it", "unsafe", (Edit(0, 1, "f"),)))
    refused = finding(MODELFILE, "qwen3", severity="note", no_fix="it is yours to say")
    text = rendered("text", report(unsafe, refused))
    assert "= fix: do it (unsafe: changes what is served)\n" in text
    assert "= no fix: it is yours to say\n" in text
    assert text.endswith("1 error, 1 note in 1 file; 1 with `servelint fix --unsafe-fixes`\n")


def test_concise() -> None:
    assert rendered("concise", report(full_finding(), finding(MODELFILE, "qwen3", severity="note"))) == (
        "Modelfile:1:6: note SL101 missing-terminator: <|im_end|> is missing\n"
        "Modelfile:2:1: error SL101 missing-terminator: <|im_end|> is missing [fix]\n"
        "1 error, 1 note in 1 file; 1 fixable with `servelint fix`\n"
    )


@pytest.mark.parametrize(
    ("verdicts", "line"),
    [
        (["stops"], "1 file, 1 deployment: stops where it should\n"),
        (["stops", "stops"], "1 file, 2 deployments: all stop where they should\n"),
        ([], "1 file, 0 deployments: nothing to report\n"),
        (
            ["stops", "unknown"],
            "1 file, 2 deployments: nothing to report; "
            "1 stops where it should, 1 cannot be judged from what was read\n",
        ),
        (
            ["stops", "stops", "runs-away"],
            "1 file, 3 deployments: nothing to report; 2 stop where they should, 1 runs away\n",
        ),
    ],
)
@pytest.mark.parametrize("name", ["text", "concise"])
def test_when_all_is_well(name: str, verdicts: list[str], line: str) -> None:
    what = report(deployments=tuple(deployment(verdict=verdict) for verdict in verdicts))
    assert rendered(name, what) == line
    assert rendered(name, what, Style(quiet=True)) == ""


def test_when_nothing_is_a_manifest() -> None:
    results = [(Result("a.yaml", None, ""), Context()), (Result("b.yaml", None, ""), Context())]
    what = gather(results, lambda _, entries: entries, with_servings=False)
    assert rendered("text", what) == "no serving manifest found among 2 files: nothing was checked\n"


def test_json_is_the_contract() -> None:
    text = rendered("json", report(full_finding(), deployments=(deployment(),)))
    document = json.loads(text)
    jsonschema.validate(document, SCHEMA)
    assert document["findings"] == [
        {
            "rule": "SL101", "name": "missing-terminator", "severity": "error",
            "path": "Modelfile", "line": 2, "column": 1, "end_line": 2, "end_column": 31,
            "message": "<|im_end|> is missing", "why": "The model goes on.",
            "help": "add it",
            "related": [
                {"path": "Modelfile", "line": 1, "column": 6, "end_line": 1, "end_column": 14, "message": "the model"}
            ],
            "fix": {
                "safety": "safe",
                "title": "add <|im_end|>",
                "edits": [{"start": 44, "end": 44, "text": '\nPARAMETER stop "<|im_end|>"'}],
            },
        }
    ]  # fmt: skip
    assert document["servings"] == [
        {
            "path": "Modelfile", "line": 1, "engine": "ollama", "engine_version": None, "model": "qwen3:8b",
            "family": "qwen3", "role": "instruct",
            "stop_set": {
                "texts": [{"value": "<|endoftext|>", "from": "PARAMETER stop", "line": 2}],
                "ids": [
                    {
                        "value": 151645, "token": "<|im_end|>", "from": "generation_config.json eos_token_id",
                        "line": None,
                    },
                    {"value": 7, "token": None, "from": "somewhere", "line": 1},
                ],
                "tokens": ["<|a|>", "<|b|>"],
                "complete": False,
                "unknown": ["what the weights say"],
            },
            "cap": {"value": 512, "from": "PARAMETER num_predict"},
            "default_cap": {"value": 16, "from": "the default"},
            "verdict": "runs-away",
            "argv": ["--model", None],
        }
    ]  # fmt: skip
    assert document["summary"] == {
        "files": 1, "deployments": 1, "findings": 1, "errors": 1, "warnings": 0, "notes": 0, "fixable": 1, "hidden": 0,
        "verdicts": {"stops": 0, "runs-away": 1, "unknown": 0},
    }  # fmt: skip


def test_empty_json() -> None:
    document = json.loads(rendered("json", report()))
    jsonschema.validate(document, SCHEMA)
    assert document["findings"] == document["servings"] == document["errors"] == []


def test_jsonl_holds_the_same() -> None:
    what = report(full_finding(), deployments=(deployment(),))
    rows = [json.loads(line) for line in rendered("jsonl", what).splitlines()]
    assert [row.pop("type") for row in rows] == ["finding", "serving", "summary"]
    document = json.loads(rendered("json", what))
    assert rows[0] == document["findings"][0]
    assert rows[1] == document["servings"][0]
    assert rows[2] == {"version": 1, **document["summary"]}


def test_edits_count_characters_of_the_text() -> None:
    text = "# schön 🎉\r\n" + MODELFILE
    fixed = finding(
        text, "qwen3", fix=Fix("rename", "safe", (Edit(text.index("qwen3"), text.index("qwen3") + 5, "qwen2"),))
    )
    document = json.loads(rendered("json", report(fixed, text=text)))
    edits = [Edit(edit["start"], edit["end"], edit["text"]) for edit in document["findings"][0]["fix"]["edits"]]
    assert apply_edits(text, edits) == text.replace("qwen3", "qwen2")


def test_places_in_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("beside.json").write_text('{\n "a": 1}')
    related = (Related("beside.json", Span(3, 6), "there"), Related("gone.json", Span(9, 9), "not any more"))
    result = Result("Modelfile", "modelfile", MODELFILE, (finding(MODELFILE, "FROM", related=related),))
    what = gather([(result, Context())], lambda _, entries: entries, with_servings=False)
    assert "= see: beside.json:2:2: there\n  = see: gone.json:1:1: not any more\n" in rendered("text", what)


def test_order_is_by_path_line_column_and_code() -> None:
    one = finding(MODELFILE, "qwen3")
    results = [
        (Result(path, "modelfile", MODELFILE, tuple(found)), Context())
        for path, found in [
            ("b", [finding(MODELFILE, "512", path="b"), finding(MODELFILE, "FROM", path="b")]),
            ("a", [finding(MODELFILE, "qwen3", path="a", rule="SL502"), finding(MODELFILE, "qwen3", path="a")]),
        ]
    ]
    assert one.rule == "SL101"
    what = gather(results, lambda _, entries: entries, with_servings=False)
    order = [(entry.place.path, entry.place.line, entry.finding.rule) for entry in what.entries]
    assert order == [("a", 1, "SL101"), ("a", 1, "SL502"), ("b", 1, "SL101"), ("b", 3, "SL101")]


def test_a_baseline_hides_and_is_counted() -> None:
    result = Result("Modelfile", "modelfile", MODELFILE, (full_finding(), finding(MODELFILE, "512")))
    what = gather([(result, Context())], lambda _, entries: entries[:1], with_servings=False)
    assert rendered("concise", what).endswith(
        "1 error in 1 file (1 more in the baseline); 1 fixable with `servelint fix`\n"
    )
    all_hidden = gather([(result, Context())], lambda _, entries: [], with_servings=False)
    assert rendered("text", all_hidden).endswith(": nothing to report (2 findings in the baseline)\n")


def test_colors_only_where_wanted() -> None:
    plain = rendered("text", report(full_finding()))
    colored = rendered("text", report(full_finding()), Style(color=True))
    assert "\x1b" not in plain
    assert "\x1b[31;1merror\x1b[0m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


HOSTILE = '\x1b]0;owned\x07\x1b[2J\udcff\u202e\u2028\x85\x00\r"'


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_hostile_is_printed(name: str) -> None:
    text = f"FROM {HOSTILE}\n"
    hostile = finding(
        text, HOSTILE, path=f"{HOSTILE}file", message=HOSTILE, why=HOSTILE, help=HOSTILE,
        related=(Related(f"{HOSTILE}file", Span(0, 1), HOSTILE),), fix=Fix(HOSTILE, "safe", (Edit(0, 0, HOSTILE),)),
    )  # fmt: skip
    result = Result(f"{HOSTILE}file", "modelfile", text, (hostile,), internal=(HOSTILE,))
    what = gather([(result, Context())], lambda _, entries: entries, with_servings=False)
    out = rendered(name, what)
    assert out.replace("\n", "").isprintable()
    if name == "json":
        assert json.loads(out)["findings"][0]["fix"]["edits"][0]["text"] == HOSTILE


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60), st.integers(10, 90), st.sampled_from(FORMATS))
def test_any_text_and_place(text: str, start: int, length: int, width: int, name: str) -> None:
    span = Span(min(start, len(text)), min(start + length, len(text)))
    out = rendered(name, report(finding(MODELFILE, "FROM", span=span), text=text), Style(width=width))
    assert out.replace("\n", "").isprintable()


def test_the_inventory() -> None:
    what = report(deployments=(deployment(),))
    assert "".join(render_text(what, Style())) == (
        "Modelfile:1: ollama\n"
        "  model      qwen3:8b (qwen3, instruct)\n"
        "  verdict    runs away: nothing ends a turn of this model here\n"
        '  stops at   "<|endoftext|>", from PARAMETER stop, line 2\n'
        "             151645 <|im_end|>, from generation_config.json eos_token_id\n"
        "             7, from somewhere, line 1\n"
        "             <|a|> <|b|>, by the engine's own list\n"
        "  not known  what the weights say\n"
        "  cap        512 tokens, PARAMETER num_predict\n"
        "\n"
        "1 deployment in 1 file: 1 runs-away\n"
    )
    document = json.loads("".join(render_json(what)))
    assert document["servings"] == json.loads(rendered("json", what))["servings"]
    assert "".join(render_text(report(), Style())) == "no deployment found\n"
