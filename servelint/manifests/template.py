"""Ollama's TEMPLATE as a Go template, with the functions that Ollama adds to Go's."""

from __future__ import annotations

from servelint.formats.go_template import Chain, GoTemplate, Node, Operand, Pipeline, Word, read_go_template

__all__ = ["Chain", "GoTemplate", "Node", "Operand", "Pipeline", "Word", "read_template"]

# template/template.go, `funcs`.
_FUNCTIONS = frozenset({"json", "currentDate", "yesterdayDate", "toTypeScriptType"})


def read_template(text: str) -> GoTemplate:
    """Parse a TEMPLATE as Ollama does when the model is created. Never raises."""
    return read_go_template(text, _FUNCTIONS)
