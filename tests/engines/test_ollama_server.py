"""An Ollama server in a manifest: its variables, and nothing that is not its business."""

from __future__ import annotations

from pathlib import Path

import pytest

from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context


def lint_compose(name: str, value: str) -> Result:
    """A Compose file whose Ollama gets one variable."""
    text = f'services:\n  o:\n    image: ollama/ollama:0.30.2\n    environment:\n      {name}: "{value}"\n'
    return lint("compose.yaml", text.encode(), Context(Path("/nonexistent")), Policy(), True)


@pytest.mark.parametrize(
    "name",
    ["OLLAMA_CONTEXT_LENGTH", "OLLAMA_KEEP_ALIVE", "OLLAMA_HOST", "OLLAMA_MODELS", "OLLAMA_SITE_NAME", "HF_TOKEN",
     "OLLAMA_HOST2"],
)  # fmt: skip
def test_known_and_foreign_variables_are_silent(name: str) -> None:
    assert lint_compose(name, "1").findings == ()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("OLLAMA_NUM_CTX", "OLLAMA_CONTEXT_LENGTH"),
        ("OLLAMA_KEEPALIVE", "OLLAMA_KEEP_ALIVE"),
        ("OLLAMA_CONTEXT_LENGHT", "OLLAMA_CONTEXT_LENGTH"),
        ("OLLAMA_STOP", "Modelfile"),
        ("OLLAMA_NUM_PREDICT", "the request"),
    ],
)
def test_a_variable_that_is_not_read_is_told(name: str, meant: str) -> None:
    result = lint_compose(name, "1")
    assert [(finding.rule, finding.severity) for finding in result.findings] == [("SL504", "warning")]
    finding = result.findings[0]
    assert result.text[finding.span.start : finding.span.end].startswith(name)
    assert meant in finding.help


def test_the_server_itself_has_no_model() -> None:
    deployment = lint_compose("OLLAMA_HOST", "0.0.0.0").deployments[0]
    assert deployment.serving.engine == "ollama"
    assert deployment.serving.model is None
    assert deployment.verdict == "unknown"
