"""SL5 on Kubernetes: what YAML makes of a value that the API takes only as a string."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, repair
from servelint.formats.yaml import Node
from servelint.manifests.kubernetes import strings_wanted
from servelint.manifests.yaml_writer import YamlWriter


def check_strings(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL511: a number, boolean, null or mapping among args, command or environment values."""
    serving = deployment.serving
    for node, what, kind in strings_wanted(serving):
        if kind == "string":
            continue
        if kind.endswith(" instead of a list"):
            yield Finding(
                "SL511", "error", serving.path, node.span,
                f"{what} is a {kind}; the API takes only a list of strings there",
                why=_REFUSED, help="write one string an item", no_fix="how the words are meant to be split is unclear",
            )  # fmt: skip
            continue
        if kind == "null":
            yield _of_null(deployment, node, what)
            continue
        fix, refusal = None, "what was meant cannot be told from a collection"
        if node.kind == "scalar" and isinstance(serving.writer, YamlWriter):
            fix, refusal_text = repair("quote it", serving.writer.quote(node))
            refusal = refusal_text or ""
        shown = f"{excerpt(node.text)}, which YAML reads as {kind}" if node.kind == "scalar" else f"a {kind}"
        yield Finding(
            "SL511", "error", serving.path, node.span,
            f"{what} is {shown}; the API takes only strings there", why=_REFUSED,
            help=f'write "{excerpt(node.text)}"' if node.kind == "scalar" else "write one string an item",
            fix=fix, no_fix=refusal or None,
        )  # fmt: skip


_REFUSED = "The API server refuses the object: `cannot unmarshal` into a string."


def _of_null(deployment: Deployment, node: Node, what: str) -> Finding:
    """A null: Go's decoder makes an empty string of it, and clients that validate refuse it (`unknown object type`)."""
    serving = deployment.serving
    written = node.text if node.style == "plain" else ""
    in_list = what.startswith("an item")
    fix, refusal = None, "what was meant cannot be told from a null"
    if isinstance(serving.writer, YamlWriter) and in_list == bool(written):
        # `value:` is the empty string that the server makes of it; `- null` is a word like its neighbours.
        fix, refusal_text = repair("quote it", serving.writer.quote(node))
        refusal = refusal_text or ""
    shown = excerpt(written) if written else "empty"
    return Finding(
        "SL511", "error" if in_list else "warning", serving.path, node.span,
        f"{what} is {shown}, which YAML reads as null; the API takes only strings there",
        why='kubectl refuses it (`unknown object type "nil"`) or, without its validation, gives an empty text.',
        help="write the text in quotes; a `#` behind a blank begins a comment" if in_list else 'write "" or a value',
        fix=fix, no_fix=refusal or None,
    )  # fmt: skip


CHECKS: tuple[Check, ...] = (check_strings,)
