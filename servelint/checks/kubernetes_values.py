"""SL5 on Kubernetes: what YAML makes of a value that the API takes only as a string."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, repair
from servelint.formats.yaml import is_templated
from servelint.manifests.kubernetes import YamlWriter, strings_wanted


def check_strings(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL511: a number, boolean, null or mapping among args, command or environment values."""
    serving = deployment.serving
    writer = serving.writer
    for node, what, kind in strings_wanted(serving):
        if kind == "string" or (node.kind == "scalar" and is_templated(node.text)):
            continue
        fix, refusal = None, "what was meant cannot be told from a collection"
        if node.kind == "scalar" and isinstance(writer, YamlWriter):
            fix, refusal_text = repair("quote it", writer.quote(node))
            refusal = refusal_text or ""
        shown = excerpt(node.text) if node.kind == "scalar" else f"a {kind}"
        yield Finding(
            "SL511", "error", serving.path, node.span,
            f"{what} is {shown or 'empty'}, which YAML reads as {kind}; the API takes only strings there",
            why="The API server refuses the object: `cannot unmarshal` into a string.",
            help=f'write "{shown}"' if node.kind == "scalar" else "write one string an item",
            fix=fix, no_fix=refusal or None,
        )  # fmt: skip


CHECKS: tuple[Check, ...] = (check_strings,)
