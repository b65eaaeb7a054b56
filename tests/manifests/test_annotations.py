"""Annotations that silence a rule, and the sources of rendered manifests."""

from __future__ import annotations

from pathlib import Path

import pytest

from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context

MANIFEST = """\
# Source: chat/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: chat
  annotations:
    team: assistants
    {workload}
spec:
  template:
    metadata:
      annotations:
        team: assistants
        {pod}
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.2
          args: [--model, Qwen/Qwen3-8B, "--dtype auto"]
"""


def check(workload: str = "", pod: str = "") -> Result:
    """Lint a Deployment with these annotations on the workload and on its pods."""
    text = MANIFEST.replace("{workload}", workload).replace("{pod}", pod)
    result = lint("k.yaml", text.encode(), Context(Path("/nonexistent")), Policy(), True)
    assert result.internal == ()
    return result


def rules(result: Result) -> list[str]:
    """Every rule that spoke."""
    return [finding.rule for finding in result.findings]


def test_without_an_annotation_it_is_told() -> None:
    assert rules(check()) == ["SL507"]


@pytest.mark.parametrize(
    "text", ["SL507", "SL507 the image splits it", '"SL507: the image splits it"', "argv-not-split", "SL201, SL507 why"]
)
@pytest.mark.parametrize("place", ["workload", "pod"])
def test_an_annotation_silences_a_rule(text: str, place: str) -> None:
    found = rules(check(**{place: f"servelint.dev/ignore: {text}"}))
    assert "SL507" not in found
    # One of two names silences nothing, and that is told.
    assert found == (["SL901"] if "SL201" in text else [])


def test_an_annotation_without_effect_says_so() -> None:
    result = check(pod="servelint.dev/ignore: SL201 one word is wanted")
    assert rules(result) == ["SL901", "SL507"]
    finding = result.findings[0]
    assert result.text[finding.span.start : finding.span.end] == "SL201 one word is wanted"


def test_a_rendered_manifest_names_its_template() -> None:
    assert check().findings[0].message.endswith("(rendered from chat/templates/deployment.yaml)")
