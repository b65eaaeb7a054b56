"""Go templates: what Go's own parser takes, and what it says against the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.go_template import Node, read_go_template
from tests.conftest import read_rows

FUNCTIONS = {"json", "currentDate", "yesterdayDate", "toTypeScriptType"}
ROWS = read_rows("vectors/templates.handed.jsonl")


@pytest.mark.skipif(not ROWS, reason="needs the folder of recorded vectors beside the checkout")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_what_ollama_takes(row: dict[str, Any]) -> None:
    problem = read_go_template(row["template"], FUNCTIONS).problem
    assert (None if problem is None else problem.message) == row["error"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ if }}x{{ end }}", ":1: missing value for if"),
        ("a\n{{ range .X }}", ":2: unexpected EOF"),
        ("{{ else }}", ":1: unexpected {{else}}"),
        ("{{ if .A }}{{ else }}{{ else }}{{ end }}", ":1: expected end; found {{else}}"),
        ("{{ if .A }}{{ else with .B }}{{ end }}", ":1: unexpected <with> in input"),
        ("{{ .A", ":1: unclosed action"),
        ("{{ .A\n", ":2: unclosed action started at :1"),
        ('{{ "a }}', ":1: unterminated quoted string"),
        ("{{ `a }}", ":1: unterminated raw quoted string"),
        ("{{ $x }}", ':1: undefined variable "$x"'),
        ("{{ .A | 5 }}", ":1: non executable command in pipeline stage 2"),
        ("{{ (.A }}", ":1: unclosed left paren"),
        ("{{ .A) }}", ":1: unexpected right paren"),
        ("{{ 5.x }}", ':1: bad number syntax: "5.x"'),
        ("{{ nil.x }}", ':1: unexpected . after term "nil"'),
        ("{{ m['x'] }}", ":1: bad character U+005B '['"),
        ("{{ break }}", ":1: {{break}} outside {{range}}"),
        ("{{/* a }}", ":1: unclosed comment"),
        ("{{/* a */ }}", ":1: comment ends before closing delimiter"),
        ("{{ template .A }}", ':1: unexpected ".A" in template clause'),
        ('{{ define "a" }}x{{ end }}{{ define "a" }}y{{ end }}',
         ':1: template: multiple definition of template "a"'),
        ("{{ --1 }}", ':1: bad number syntax: "--1"'),
        ("{{ $a, $b, $c := .A }}", ":1: too many declarations in command"),
    ],
)  # fmt: skip
def test_what_go_says(text: str, message: str) -> None:
    problem = read_go_template(text).problem
    assert problem is not None
    assert problem.message == f"template: {message}"
    assert 0 <= problem.span.start <= problem.span.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain } text {",
        "{{ .A -}} x {{- .B }}",
        "{{ $x := 1 }}{{ $x = 2 }}{{ $x }}",
        "{{ range $i, $_ := .Messages }}{{ $last := eq (len (slice $.Messages $i)) 1 }}{{ $last }}{{ end }}",
        "{{ if .A }}{{ else if .B }}{{ else }}{{ end }}",
        "{{ with .A }}{{ else with .B }}{{ end }}",
        '{{ define "t" }}{{ end }}{{ template "t" }}{{ block "b" . }}{{ .X }}{{ end }}',
        "{{ (index .Messages 0).Content }}",
        "{{ range .A }}{{ if .B }}{{ continue }}{{ end }}{{ break }}{{ end }}",
        "{{ printf `%s` .A | print }}{{ 0x1F }}{{ 'a' }}{{ 1_000 }}",
        "{{- /* a comment */ -}} x",
    ],
)
def test_what_go_takes(text: str) -> None:
    assert read_go_template(text).problem is None


def texts(nodes: tuple[Node, ...]) -> list[str]:
    """The texts between the actions, in order, those of branches included."""
    found: list[str] = []
    for node in nodes:
        if node.sort == "text":
            found.append(node.text)
        found += texts(node.body) + texts(node.otherwise or ())
    return found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a {{- .X -}} b", ["a", "b"]),
        ("a {{.X}} b", ["a ", " b"]),
        ("a\n{{- if .X }}\n b{{ end -}}\n c", ["a", "\n b", "c"]),
        ("a {{- /* c */ -}} b", ["a", "b"]),
        ("a {{/* c */}} b", ["a ", " b"]),
    ],
)
def test_trim_markers(text: str, left: list[str]) -> None:
    assert texts(read_go_template(text).nodes) == left


_pieces = st.sampled_from(
    ["{{", "}}", "{{-", " -}}", "if ", "end", "else", "range ", ".A", "$x", ":=", "=", "|", "(", ")", '"a"', "`", "1",
     "-", ".", "nil", "eq ", "text", "\n", " ", "/*", "*/", "define ", "template ", "é", "\x00", "{{ end }}"]
)  # fmt: skip


def spans(nodes: tuple[Node, ...]) -> list[tuple[int, int]]:
    """The spans of all nodes."""
    found: list[tuple[int, int]] = []
    for node in nodes:
        found.append((node.span.start, node.span.end))
        found += spans(node.body) + spans(node.otherwise or ())
    return found


@given(st.lists(_pieces, max_size=20).map("".join))
def test_any_text_is_read(text: str) -> None:
    template = read_go_template(text, FUNCTIONS)
    assert all(0 <= start <= end <= len(text) for start, end in spans(template.nodes))
    if template.problem is None:
        assert [text[s:e] for s, e in spans(template.nodes) if "{{" not in text[s:e]] == texts(template.nodes)


def test_deep_nests_are_refused() -> None:
    assert read_go_template("{{ if .A }}" * 5000).problem is not None
    assert read_go_template("{{ " + "(" * 5000).problem is not None
