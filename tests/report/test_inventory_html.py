"""The inventory as a page: what is in it, that nothing in it is markup by accident, and that it stands alone."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.files.context import Context
from servelint.report import Style
from servelint.report.collect import Failure, Report, gather
from servelint.report.inventory import render_json, render_text
from servelint.report.inventory_html import render_html
from tests.checks.linting import run
from tests.report.samples import deployment, report

SCHEMA = json.loads((Path(__file__).parent.parent.parent / "schemas" / "report.schema.json").read_text())

HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "</style></title></table><script>alert(2)</script>",
    "\" onmouseover='alert(3)' x=\"",
    "{{ constructor.constructor('alert(4)')() }} {% raw %} ${alert(5)}",
    "qwen\u202e8:3\u2066",
    "a\0b\x1b[31m\x7f\r\n\tc\ufeff\u200b",
    "&lt;b&gt; &amp;#60; <!-- -- > ]]>",
    "byte \udcff, half \ud800",
    "\u202e<img src=x onerror=alert(6)>\0\" onmouseover='alert(7)",
    "שלום עולם",
)


def serving(**changes: Any) -> dict[str, Any]:
    """A deployment as `servings.describe` says it."""
    return {
        "path": "deploy/a.yaml",
        "line": 3,
        "engine": "vllm",
        "engine_version": "0.11.2",
        "model": "Qwen/Qwen3-8B",
        "family": "qwen3",
        "role": "instruct",
        "stop_set": {"texts": [], "ids": [], "tokens": [], "complete": True, "unknown": []},
        "cap": None,
        "default_cap": None,
        "verdict": "stops",
        "argv": None,
        **changes,
    }


def told(servings: Iterable[dict[str, Any]]) -> Report:
    """The report of these deployments."""
    made = Report()
    made.servings.extend(servings)
    for each in made.servings:
        made.verdicts[each["verdict"]] += 1
    made.files = made.seen = len({each["path"] for each in made.servings})
    return made


class Page(HTMLParser):
    """Everything that a browser would make elements of, and the texts in them."""

    VOID = frozenset({"meta", "col", "input", "wbr"})

    def __init__(self, servings: Iterable[dict[str, Any]] | Report) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.headings: list[str] = []
        self.inside: dict[str, str] = {"script": "", "style": ""}
        self.source = "".join(render_html(servings if isinstance(servings, Report) else told(servings)))
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        facts = dict(attributes)
        self.tags.append((tag, facts))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if tag == "th" and facts.get("class") in ("namespace", "file"):
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        assert "\r" not in data
        if self.open[-1:] in (["script"], ["style"]):
            self.inside[self.open[-1]] += data
            return
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
            if self.headings and "th" in self.open and len(self.rows[-1]) == 1:
                self.headings[-1] += data

    def entries(self) -> list[list[str]]:
        """The cells of the deployments' rows."""
        return [row for row in self.rows if len(row) == 8 and not row[0].startswith("Verdict")]


FULL = serving(
    namespace="search",
    stop_set={
        "texts": [{"value": "</s>\n", "from": "--stop", "line": 7}],
        "ids": [{"value": 151645, "token": "<|im_end|>", "from": "config.json eos_token_id", "line": None}],
        "tokens": [f"<|{letter}|>" for letter in "abcdefgh"],
        "complete": False,
        "unknown": ["what the weights say"],
    },
    cap={"value": 2048, "from": "--max-tokens"},
    verdict="runs-away",
)


def test_a_row_tells_all_of_a_deployment() -> None:
    assert Page([FULL]).entries() == [
        [
            "✗ runs away",
            "deploy/a.yaml line 3, namespace search",
            "vllm",
            "0.11.2",
            "Qwen/Qwen3-8B qwen3",
            "instruct",
            '"</s>\\n" from --stop, line 7'
            "151645 <|im_end|> from config.json eos_token_id"
            "<|a|> <|b|> <|c|> <|d|> <|e|> <|f|> by the engine's own list"
            "2 tokens more of that list<|g|><|h|>"
            "1 thing not knownwhat the weights say",
            "2,048 tokens --max-tokens",
        ]
    ]


@pytest.mark.parametrize(
    ("changes", "column", "expected"),
    [
        ({"verdict": "stops"}, 0, "✓ stops"),
        ({"verdict": "unknown"}, 0, "? unknown"),
        ({}, 1, "deploy/a.yaml line 3"),
        ({"engine_version": None}, 3, "not known"),
        ({"model": None, "family": None}, 4, "not known from here"),
        ({"model": None, "likely_model": "…/a.gguf"}, 4, "likely …/a.gguf qwen3"),
        ({"role": "unknown"}, 5, "unknown"),
        ({}, 6, "nothing that was read"),
        ({}, 7, "none seen"),
        ({"default_cap": {"value": 16, "from": "vLLM"}}, 7, "16 tokens by default vLLM"),
        ({"cap": {"value": -1, "from": "-n"}, "default_cap": {"value": 16, "from": "x"}}, 7, "-1 tokens -n"),
    ],
)
def test_what_is_not_there_is_said_so(changes: dict[str, Any], column: int, expected: str) -> None:
    assert Page([serving(**changes)]).entries()[0][column] == expected


NAMESPACES = [
    serving(path="b.yaml", line=9, namespace="search"),
    serving(path="a.yaml", line=30, namespace="search"),
    serving(path="a.yaml", line=4, namespace="search"),
    serving(path="a.yaml", line=2, namespace="chat"),
    serving(path="Modelfile", line=1),
]


def test_namespaces_and_files_are_groups() -> None:
    page = Page(NAMESPACES)
    assert page.headings == [
        "namespace chat 1 deployment", "a.yaml 1 deployment",
        "namespace search 3 deployments", "a.yaml 2 deployments", "b.yaml 1 deployment",
        "no namespace given 1 deployment", "Modelfile 1 deployment",
    ]  # fmt: skip
    assert [row[1].split(",")[0] for row in page.entries()] == [
        "a.yaml line 2", "a.yaml line 4", "a.yaml line 30", "b.yaml line 9", "Modelfile line 1",
    ]  # fmt: skip
    assert Page([serving()]).headings == ["deploy/a.yaml 1 deployment"]


def test_the_text_groups_by_namespace_too() -> None:
    lines = "".join(render_text(told(NAMESPACES), Style())).split("\n")
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "namespace chat (1 deployment)", "a.yaml:2: vllm 0.11.2",
        "namespace search (3 deployments)", "a.yaml:4: vllm 0.11.2", "a.yaml:30: vllm 0.11.2", "b.yaml:9: vllm 0.11.2",
        "no namespace given (1 deployment)", "Modelfile:1: vllm 0.11.2",
        "5 deployments in 3 files: 5 stops",
    ]  # fmt: skip
    assert "namespace" not in "".join(render_text(told([serving()]), Style()))


OBJECTS = """apiVersion: apps/v1
kind: Deployment
metadata: {name: one, namespace: search}
spec: {template: {spec: {containers: [{name: m, image: "vllm/vllm-openai:v0.11.2", args: [--model, Qwen/Qwen3-8B]}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: two}
spec: {template: {spec: {containers: [{name: m, image: "vllm/vllm-openai:v0.11.2", args: [--model, Qwen/Qwen3-8B]}]}}}
"""


def test_the_namespace_comes_from_the_manifest(tmp_path: Path) -> None:
    result = run(tmp_path, "deploy.yaml", OBJECTS)
    what = gather([(result, Context(tmp_path))], lambda _, entries: entries, with_servings=True)
    document = json.loads("".join(render_json(what)))
    assert [each.get("namespace", "absent") for each in document["servings"]] == ["search", "absent"]
    jsonschema.validate(document["servings"], {**SCHEMA, **SCHEMA["properties"]["servings"], "required": []})
    assert Page(what).headings[::2] == ["namespace search 1 deployment", "no namespace given 1 deployment"]


def test_the_counts_on_top() -> None:
    page = Page([serving(verdict=verdict, engine=engine) for verdict, engine in (
        ("stops", "vllm"), ("stops", "tgi"), ("runs-away", "vllm"), ("unknown", "vllm"), ("runs-away", "ollama"),
    )])  # fmt: skip
    assert page.rows[:4] == [
        ["Engine", "all", "runs away", "unknown", "stops"],
        ["ollama", "1", "1", "0", "0"],
        ["tgi", "1", "0", "0", "1"],
        ["vllm", "3", "1", "1", "1"],
    ]
    for counts in (("5", "deployments"), ("2", "✗", " runs away"), ("1", "?", " unknown"), ("2", "✓", " stops")):
        assert any(tuple(page.texts[start : start + len(counts)]) == counts for start in range(len(page.texts)))


def test_the_policy_lets_nothing_in_but_the_page_itself() -> None:
    page = Page([FULL])
    policy = next(facts["content"] for tag, facts in page.tags if facts.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    digests = {
        name: base64.b64encode(hashlib.sha256(page.inside[name].encode()).digest()).decode()
        for name in ("script", "style")
    }
    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src 'sha256-{digests['script']}'",
        f"style-src 'sha256-{digests['style']}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    tags = [tag for tag, _ in page.tags]
    assert tags.count("script") == tags.count("style") == 1
    assert not {"link", "img", "iframe", "object", "embed", "base", "a"} & set(tags)
    for _, facts in page.tags:
        assert not {"src", "href", "srcset", "style", "action", "data", "poster"} & set(facts)
        assert not any(name.startswith("on") for name in facts)
    assert not re.search(r"url\(|@import|https?:|//[a-z]", page.inside["style"])
    assert not re.search(r"https?:|innerHTML|eval|Function\(|import\b|fetch|document\.write", page.inside["script"])


def everywhere(value: str) -> dict[str, Any]:
    """A deployment that says this wherever a manifest's own text gets to."""
    stop = {"value": value, "from": value, "line": None}
    return serving(
        path=value, namespace=value, model=value, engine=value, engine_version=value, role=value, family=value,
        stop_set={
            "texts": [stop], "ids": [{**stop, "value": 1, "token": value}], "tokens": [value], "complete": False,
            "unknown": [value],
        },
        cap={"value": 1, "from": value},
    )  # fmt: skip


def shape(page: Page) -> list[tuple[str, tuple[str, ...]]]:
    """The page's elements with the names of their attributes, apart from marked escapes and where a line may end."""
    return [(tag, tuple(facts)) for tag, facts in page.tags if facts.get("class") != "escape" and tag != "wbr"]


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_stay_values(value: str) -> None:
    page = Page([everywhere(value)])
    assert shape(page) == shape(Page([everywhere("plain")]))
    assert page.source.isascii()
    entry = page.entries()[0]
    assert entry[2] == entry[3] == entry[5] == entry[7].removeprefix("1 token ")
    assert all(text.replace("\n", "").isprintable() for text in page.texts)
    if value.isprintable():
        assert entry[2] == value


@pytest.mark.parametrize(
    ("value", "visible"),
    [
        ("qwen\u202e8:3", 'qwen<span class="escape">\\u202e</span>8:3'),
        ("a\0\x1b[31m", 'a<span class="escape">\\x00\\x1b</span>[31m'),
        ("byte \udcff", 'byte <span class="escape">\\xff</span>'),
        # What somebody wrote like an escape is not marked as one.
        ("qwen\\u202e", "qwen\\u202e"),
        ("a & b", "a &amp; b"),
        ("</b>/c", "&lt;/<wbr>b&gt;/<wbr>c"),
        ("x" * 3000, "x" * 1999 + "&#8230;"),
    ],
)
def test_what_shows_nothing_is_shown_as_an_escape(value: str, visible: str) -> None:
    assert f"<bdi>{visible}</bdi>" in Page([serving(model=value)]).source


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=40).filter(lambda text: text != "unknown"))
def test_no_text_changes_the_page(value: str) -> None:
    page = Page([everywhere(value)])
    assert shape(page) == shape(Page([everywhere("plain")]))
    assert page.source.isascii()


def test_where_servelint_broke_is_told() -> None:
    what = told([serving()])
    what.failures.append(Failure("<b>.yaml", "ValueError: <i>"))
    page = Page(what)
    assert "Not judged" in page.texts
    assert "<b>.yaml" in page.texts
    assert ": ValueError: <i>" in page.texts


def test_where_nothing_is_served() -> None:
    page = Page(report())
    assert "No deployment found." in page.texts
    assert page.rows == []


def test_a_report_gives_the_same_page_each_time() -> None:
    what = report(deployments=(deployment(), deployment(verdict="stops")))
    assert "".join(render_html(what)) == "".join(render_html(what))
    assert len(Page(what).entries()) == 2


def test_the_command_writes_it_whatever_the_stream_can_say(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "Modelfile").write_text('FROM qwen3:8b\nPARAMETER stop "終"\n', encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "servelint", "inventory", "--format", "html"],
        cwd=tmp_path, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "cp1252"}, check=True,
    )  # fmt: skip
    assert b"<code>&quot;&#32066;&quot;</code>" in ran.stdout
    assert ran.stdout.endswith(b"</html>" + os.linesep.encode())
