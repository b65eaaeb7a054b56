"""Templates of charts: what stands there for sure is judged, everything else is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from servelint.fixing.repair import fix_file
from servelint.formats.helm import mask, resolved

CHART = {
    "chart/Chart.yaml": b"apiVersion: v2\nname: chat\nappVersion: v0.11.2\n",
    "chart/values.yaml": b'image: {repository: vllm/vllm-openai}\nmodel: Qwen/Qwen3-8B\nlength: "32,768"\n',
}
NAME = "chart/templates/deployment.yaml"
HEAD = """\
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "chat.fullname" . }}
  labels:
    {{- include "chat.labels" . | nindent 4 }}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          args:
            - --model
            - {{ .Values.model | quote }}
"""
TAIL = """\
{{- end }}
"""


def check(items: str, behind: str = "", chart: dict[str, bytes] | None = None) -> Result:
    """Lint a template whose args have these further lines."""
    text = HEAD + items + behind + TAIL
    result = lint(NAME, text.encode(), Context(Path("/nonexistent"), CHART if chart is None else chart), Policy(), True)
    assert result.internal == ()
    return result


def rules(result: Result) -> list[str]:
    """The rules that spoke, at warning or above."""
    return [finding.rule for finding in result.findings if finding.severity != "note"]


def test_values_are_filled_in() -> None:
    (deployment,) = check("").deployments
    assert deployment.serving.version is not None
    assert deployment.serving.version.value == "0.11.2"
    assert deployment.serving.model is not None
    assert deployment.serving.model.value == "Qwen/Qwen3-8B"


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("            - --dtype auto\n", ["SL507"]),
        ("            - --max-model-len={{ .Values.length }}\n", ["SL505"]),
        ("            - --max-model-len={{ .Values.other }}\n", []),
        ("            - --max-model-len={{ include \"chat.length\" . }}\n", []),
        ("            {{- if .Values.eager }}\n            - --dtype auto\n            {{- end }}\n", []),
        ("            {{- if .Values.eager }}\n            - --eager\n            {{- else }}\n            - --lazy\n"
         "            {{- end }}\n", []),
        ("            {{- toYaml .Values.extra | nindent 12 }}\n", []),
        ("            {{- /* --dtype auto */}}\n", []),
        ("            - {{ .Values.flags }}\n", []),
        ("            - --chat-template\n            - {{ `{{ \"{{\" }}` }}\n", []),
    ],
)  # fmt: skip
def test_only_what_is_sure_is_judged(items: str, expected: list[str]) -> None:
    assert rules(check(items)) == expected


def test_a_list_that_comes_from_elsewhere_names_no_missing_model() -> None:
    text = HEAD.replace("            - --model\n            - {{ .Values.model | quote }}\n",
                        "            {{- toYaml .Values.args | nindent 12 }}\n") + TAIL  # fmt: skip
    result = lint(NAME, text.encode(), Context(Path("/nonexistent"), CHART), Policy(), True)
    assert result.internal == ()
    assert rules(result) == []


def test_without_a_chart_a_template_is_not_judged() -> None:
    assert check("            - --dtype auto\n", chart={}).kind is None


def test_a_repair_touches_a_line_without_an_expression_only() -> None:
    text = HEAD + "            - --dtype auto\n            - --seed={{ .Values.seed }}\n" + TAIL
    repaired = fix_file(NAME, text.encode(), Context(Path("/nonexistent"), CHART), Policy())
    assert repaired.after.decode() == text.replace("- --dtype auto", "- --dtype\n            - auto")


@pytest.mark.parametrize(
    ("template", "masked"),
    [
        ("a: {{ .b }}\n", "a: aaaaaaaa\n"),
        ("{{- if .b }}\n", "#           \n"),
        ("  {{ end }}\n", "  #        \n"),
        ("{{/* a\n b */}}\nc: d\n", "#     \n #     \nc: d\n"),
        ('a: "{{ "}}" }}"\n', 'a: "aaaaaaaaaa"\n'),
        ("a: {{ .b\n", "a: {{ .b\n"),
    ],
)
def test_a_mask_is_as_long_as_what_it_hides(template: str, masked: str) -> None:
    assert mask(template).masked == masked
    assert len(masked) == len(template)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ .Values.a.b }}", "c"),
        ("x-{{ .Values.a.b | quote }}", "x-c"),
        ("{{ quote .Values.a.b }}", "c"),
        ("{{ .Values.n }}", "8"),
        ("{{ .Values.t }}", "true"),
        ("{{ $.Values.n }}", "8"),
        ('{{ .Values.none | default "d" }}', "d"),
        ("{{ .Values.none | default 5 }}", "5"),
        ("{{ .Values.none | default .Values.n }}", "8"),
        ("{{ .Values.none }}", "{{ .Values.none }}"),
        ("{{ .Values.a }}", "{{ .Values.a }}"),
        ("{{ .Values.a.b | upper }}", "{{ .Values.a.b | upper }}"),
        ("{{ .Release.Name }}", "{{ .Release.Name }}"),
    ],
)
def test_values_that_are_known(text: str, expected: str) -> None:
    assert resolved(text, {"a": {"b": "c"}, "n": 8, "t": True}, lambda _: None) == expected


@given(st.text(st.sampled_from("{}- ./*\"`'\nabif endrange:"), max_size=80))
def test_any_text_is_masked_at_the_same_length(text: str) -> None:
    masked = mask(text)
    assert len(masked.masked) == len(text)
    assert masked.masked.count("\n") == text.count("\n")
    resolved(text, {}, lambda _: None)


@given(st.data())
def test_no_damage_to_a_template_breaks_the_reader(data: st.DataObject) -> None:
    text = HEAD + "            - --dtype auto\n" + TAIL
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    broken = text[:start] + data.draw(st.text(st.sampled_from('{}-[]: \n"#|>'), max_size=5)) + text[end:]
    result = lint(NAME, broken.encode(), Context(Path("/nonexistent"), CHART), Policy(), True)
    assert result.internal == ()


@pytest.mark.parametrize(
    ("name", "behind", "expected"),
    [
        ("words at the end", "            {{- toYaml .Values.extraArgs | nindent 12 }}\n", []),
        ("words behind a remark", "            # more\n            {{- toYaml .Values.extraArgs | nindent 12 }}\n", []),
        ("an include at the end", '          {{- include "chat.more" . | nindent 10 }}\n', []),
        ("other containers behind it", "        {{- toYaml .Values.sidecars | nindent 8 }}\n", ["SL505"]),
        ("nothing behind it", "", ["SL505"]),
    ],
)
def test_what_may_be_brought_in_behind_the_last_line(name: str, behind: str, expected: list[str]) -> None:
    head = HEAD.replace("            - --model\n            - {{ .Values.model | quote }}\n", "")
    text = head + "            - --port=80\n" + behind + TAIL
    result = lint(NAME, text.encode(), Context(Path("/nonexistent"), CHART), Policy(), True)
    assert result.internal == ()
    assert rules(result) == expected, name
