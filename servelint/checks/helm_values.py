"""SL5 on values of Helm charts: what YAML makes of a word that a chart hands on as a string."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.kubernetes_values import check_strings
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, repair
from servelint.formats.yaml import Node, scalar_type
from servelint.manifests.yaml_writer import YamlWriter

_GARBLED = (
    "The chart writes Go's form of it (`map[…]`) or a nested object, and the engine or the API server refuses it."
)
_REFUSED = "The chart writes it out as it is, and the API server refuses the object: `cannot unmarshal` into a string."


def check_texts(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL511: a collection among an engine's words; a number or boolean where the chart does not quote it."""
    serving = deployment.serving
    texts: tuple[tuple[Node, str, bool], ...] = serving.facts.get("texts", ())
    for node, what, strict in texts:
        kind = scalar_type(node) if node.kind == "scalar" else node.kind
        if node.kind == "scalar" and (kind in ("string", "null") or not strict):
            continue
        if node.kind != "scalar":
            hint = " (a `: ` or a `{` without quotes around the whole makes it one)" if what.startswith("an") else ""
            yield Finding(
                "SL511", "error", serving.path, node.span, f"{what} is a {kind}, not a text{hint}", why=_GARBLED,
                help="put the whole of it in single quotes",
                no_fix="what was meant cannot be told from a collection",
            )  # fmt: skip
            continue
        fix, refusal = None, None
        if isinstance(serving.writer, YamlWriter):
            fix, refusal = repair("quote it", serving.writer.quote(node))
        yield Finding(
            "SL511", "error", serving.path, node.span,
            f"{what} is {excerpt(node.text)}, which YAML reads as {kind}; the API takes only strings there",
            why=_REFUSED, help=f'write "{excerpt(node.text)}"', fix=fix, no_fix=refusal,
        )  # fmt: skip


# Objects may lie in the file that installs a chart.
CHECKS: tuple[Check, ...] = (check_strings, check_texts)
