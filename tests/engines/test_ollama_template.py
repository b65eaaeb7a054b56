"""What Ollama renders: recorded from the real program, and by table."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.engines.ollama_template import Message, Rendering, identifiers, render, understand
from servelint.manifests.template import read_template
from servelint.models.chat_template import bent_header, leaves_turns_open, missing_header
from tests.conftest import read_rows

ROWS = [row for row in read_rows("vectors/templates.handed.jsonl") if row["ok"]]
TALK = [Message("system", "SYS"), Message("user", "U1"), Message("assistant", "A1"), Message("user", "U2")]
needs_vectors = pytest.mark.skipif(not ROWS, reason="needs the folder of recorded vectors beside the checkout")


@needs_vectors
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_recorded_renderings(row: dict[str, Any]) -> None:
    template = read_template(row["template"])
    assert list(identifiers(template)) == row["vars"]
    found = render(template, TALK)
    assert found.unknown is None
    assert (found.error is None) == (row["render_error"] is None)
    if row["render_error"] is None:
        assert found.text == row["rendered"]


@needs_vectors
@pytest.mark.parametrize("row", [row for row in ROWS if row["cat"].startswith("chatml")], ids=lambda row: row["id"])
def test_faults_of_recorded_renderings(row: dict[str, Any]) -> None:
    chat = understand(read_template(row["template"]))
    flags = row["chatml"]
    if "\r" in row["rendered"] or "<think>" in row["rendered"] or not row["rendered"].startswith("<|im_start|>"):
        return
    right = missing_header(chat) is None and bent_header(chat) is None
    assert right == flags["prompt_ends_with_header"]
    if flags["prompt_ends_with_header"] and row["why"] != "header inside the range for every message":
        assert leaves_turns_open(chat) == (not flags["history_closed"])


def said(text: str, talk: list[Message] = TALK) -> Rendering:
    """What comes of a template."""
    return render(read_template(text), talk)


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{{ .X }}{{ .Response }}", "<no value>A1<no value>"),
        ("{{ range .Messages }}{{ .Role }},{{ end }}", "system,user,assistant,user,"),
        ("{{ range $i, $m := .Messages }}{{ $i }}{{ $m.Content }} {{ end }}", "0SYS 1U1 2A1 3U2 "),
        ("{{ with .System }}{{ . }}{{ else }}none{{ end }}{{ len .Messages }}", "SYS4"),
        ("{{ $n := 1 }}{{ range .Messages }}{{ $n = .Role }}{{ end }}{{ $n }}", "user"),
        ('{{ range .Messages }}{{ if eq .Role "user" "system" }}{{ .Content }}{{ continue }}{{ end }}-{{ end }}',
         "SYSU1-U2"),
        ("{{ (index .Messages 3).Content }}{{ if .Messages }}{{ end }}", "U2"),
        ("{{ len (slice .Messages 1 3) }}{{ slice .System 0 2 }}", "2SY"),
        ("{{ or .X .System }}{{ and .X .System }}{{ .Messages | len | print }}", "SYS<no value>4"),
        ('{{ printf "%s-%d-%v-%q-%t" .System 3 "x" "q" true }}{{ if .Messages }}{{ end }}', 'SYS-3-x-"q"-true'),
        ("{{ json .System }}{{ if gt (len .Messages) 3 }}y{{ end }}", '"SYS"y'),
        ('{{ define "t" }}[{{ . }}]{{ end }}{{ template "t" .System }}{{ if .Messages }}{{ end }}', "[SYS]"),
    ],
)  # fmt: skip
def test_values(text: str, rendered: str) -> None:
    assert said(text) == Rendering(rendered)


@pytest.mark.parametrize(
    "text",
    [
        "{{ range .Messages }}{{ .Nope }}{{ end }}",
        "{{ index .Messages 9 }}{{ .Messages }}",
        "{{ eq .System 5 }}{{ .Messages }}",
        '{{ template "none" }}{{ .Messages }}',
        "{{ .Messages.Role }}",
        "{{ and }}{{ .Messages }}",
    ],
)
def test_what_fails_at_every_request(text: str) -> None:
    assert said(text).error is not None


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Messages }}",
        "{{ range .Messages }}{{ . }}{{ end }}",
        "{{ html .System }}{{ if .Messages }}{{ end }}",
        '{{ printf "%x" .System }}{{ if .Messages }}{{ end }}',
        "{{ if .System }}{{ .Response }}{{ else }}x{{ end }}",
        "{{ print .Response .Prompt }}",
        '{{ define "t" }}{{ template "t" . }}{{ end }}{{ template "t" . }}',
        '{{ define "t" }}{{ range .Messages }}{{ end }}{{ end }}' + "{{ range .Messages }}" * 12 + "x"
        + "{{ range $.Messages }}" * 4 + "y" + "{{ end }}" * 16,
        "{{ range 1000000 }}{{ $.System }}{{ end }}{{ .Messages }}",
    ],
)  # fmt: skip
def test_what_is_not_known_is_said(text: str) -> None:
    found = said(text)
    assert found.unknown is not None or found.error is not None


@given(
    st.lists(
        st.sampled_from(
            [
                "{{ if .System }}",
                "{{ range .Messages }}",
                "{{ .Content }}",
                "{{ .Response }}",
                "{{ else }}",
                "{{ end }}",
                "{{ .Prompt }}",
                "x",
                "{{ $x := .System }}",
                "{{ $x }}",
                "{{ len . }}",
                "{{ index . 0 }}",
                "{{ break }}",
                '{{ template "t" . }}',
            ]
        ),
        max_size=12,
    )
)
def test_any_template_has_one_outcome(pieces: list[str]) -> None:
    found = said("".join(pieces))
    assert sum(part is not None for part in (found.text, found.error, found.unknown)) == 1
