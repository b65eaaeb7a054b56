"""Rules as pages and as a table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from servelint.report import Style
from servelint.report.printing import paint, printable

if TYPE_CHECKING:
    from servelint.checks.catalogue import Rule


def render_page(rule: Rule, style: Style) -> Iterator[str]:
    """Everything a person may want to know of one rule."""
    yield f"{paint(f'{rule.code} {rule.name}', 'bold', style)}\n\n{rule.summary}\n\n"
    severities = ", ".join(paint(severity, severity, style) for severity in rule.severities)
    yield f"{'Severity:':<10}{severities}{'' if rule.enabled else '; off unless selected'}\n"
    yield f"{'Repair:':<10}{' or '.join(rule.safeties) or 'none'}\n"
    if not rule.implemented:
        yield f"{'Status:':<10}planned: this release does not check it yet\n"
    for title, key in _SECTIONS:
        text = rule.text(key).strip()
        if text:
            yield f"\n{paint(title, 'bold', style)}\n{_indented(text)}"
    if rule.parameters:
        yield f"\n{paint('Parameters', 'bold', style)}\n"
        for parameter in rule.parameters:
            yield f"  {parameter['name']} ({parameter['type']}, default {json.dumps(parameter['default'])})\n"
            yield f"    {parameter['meaning']}\n"
    for example in rule.examples:
        kind = "Reported" if example["kind"] == "bad" else "Not reported"
        yield f"\n{paint(f'{kind}: ', 'bold', style)}{example['title']}\n"
        yield from _files(example["files"], style)
        if "fixed" in example:
            yield "  after `servelint fix`:\n"
            yield from _files(example["fixed"], style)
    if rule.references:
        yield f"\n{paint('References', 'bold', style)}\n"
        yield from (f"  {reference}\n" for reference in rule.references)


_SECTIONS = (
    ("What it looks at", "what"),
    ("Why it matters", "why"),
    ("When to ignore it", "ignore_when"),
    ("What the repair does", "fix_notes"),
)


def _files(files: dict[str, str], style: Style) -> Iterator[str]:
    for name, text in files.items():
        yield f"  {paint(name, 'dim', style)}\n"
        yield "".join(f"    | {printable(line)}".rstrip() + "\n" for line in text.removesuffix("\n").split("\n"))


def _indented(text: str) -> str:
    return "".join(f"  {line}".rstrip() + "\n" for line in text.split("\n"))


def render_table(rules: Iterable[Rule], style: Style) -> Iterator[str]:
    """A line for each rule: code, name, severities, repair, and what it says where there is room."""
    rows = [(rule, "/".join(rule.severities), "/".join(rule.safeties) or "-") for rule in rules]
    names = max((len(rule.name) for rule, _, _ in rows), default=0)
    levels = max((len(severities) for _, severities, _ in rows), default=0)
    repairs = max((len(safeties) for _, _, safeties in rows), default=0)
    for rule, severities, safeties in rows:
        state = "" if rule.implemented else "[planned] "
        off = "" if rule.enabled else "[off by default] "
        code = paint(rule.code, "bold", style)
        yield (
            f"{code}  {rule.name:<{names}}  {severities:<{levels}}  {safeties:<{repairs}}  {state}{off}{rule.summary}\n"
        )


def render_json(rules: Iterable[Rule]) -> Iterator[str]:
    """The rules as a JSON list, without their examples."""
    documents = (
        {
            "code": rule.code,
            "name": rule.name,
            "severity": list(rule.severities),
            "fix": list(rule.safeties),
            "enabled": rule.enabled,
            "implemented": rule.implemented,
            "summary": rule.summary,
            "parameters": list(rule.parameters),
        }
        for rule in rules
    )
    yield "[\n" + ",\n".join(json.dumps(document) for document in documents) + "\n]\n"
