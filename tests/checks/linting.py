"""What the tables of the checks share: one file linted in an empty folder, and what came of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context

DEFAULT = Policy()
STRICT = Policy(profile="strict")


def run(
    folder: Path,
    name: str,
    content: str | bytes,
    beside: Mapping[str, str] | None = None,
    policy: Policy = DEFAULT,
) -> Result:
    """Lint a file in `folder` with others beside it; an internal error fails the test at once."""
    for path, text in (beside or {}).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = lint(name, data, Context(folder), policy, True)
    finally:
        os.chdir(before)
    assert result.internal == ()
    return result


def of_rule(result: Result, rule: str) -> list[Finding]:
    """The findings of one rule."""
    return [finding for finding in result.findings if finding.rule == rule]


def written(result: Result, finding: Finding) -> str:
    """The text that a finding points at."""
    return result.text[finding.span.start : finding.span.end]


def repaired(result: Result, finding: Finding) -> str:
    """The text with a finding's fix applied."""
    from servelint.text import apply_edits

    assert finding.fix is not None, finding.no_fix
    return apply_edits(result.text, finding.fix.edits)


def loud(result: Result) -> list[tuple[str, str, str]]:
    """What a run would fail on: rule, severity and message of everything at warning or above."""
    return [(f.rule, f.severity, f.message) for f in result.findings if f.severity != "note"]


def explained(finding: Finding) -> bool:
    """Whether a finding says what it saw, and either what to do or why nothing can be done."""
    return bool(finding.message) and bool(finding.help or finding.fix or finding.no_fix)


def pod(body: str, image: str = "vllm/vllm-openai:v0.11.2") -> str:
    """A Pod with one container; `body` holds the container's further keys, indented by six blanks."""
    return (
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: qwen\nspec:\n  containers:\n    - name: server\n"
        f"      image: {image}\n{body}"
    )


def chat_folder(name: str = "Qwen/Qwen2.5-7B-Instruct", size: int = 152064) -> dict[str, str]:
    """The config.json of a model folder that keeps the name of its origin."""
    return {"config.json": f'{{"_name_or_path": "{name}", "vocab_size": {size}, "eos_token_id": 151645}}'}
