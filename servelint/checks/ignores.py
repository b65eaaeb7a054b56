"""Comments that silence a rule at one node: `# servelint: ignore[SL201] why`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from servelint.checks.catalogue import code_of, is_selected
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.formats.problem import Comment
from servelint.records import record
from servelint.text import Span

_WORD = "servelint:"


@record
class Ignore:
    """One ignore comment: the rules it names, the reason it gives, and the node it is bound to."""

    comment: Comment
    rules: tuple[str, ...]
    reason: str


@cache
def _form() -> re.Pattern[str]:
    return re.compile(r"servelint:[ \t]*ignore[ \t]*(?:\[([^\]\n]*)\])?(.*)", re.DOTALL)


def read_ignores(comments: Sequence[Comment]) -> list[Ignore]:
    """The ignores among a file's comments, in order."""
    found = []
    for comment in comments:
        if _WORD not in comment.text:
            continue
        match = _form().search(comment.text)
        if match is None:
            continue
        names = tuple(name.strip() for name in (match[1] or "").split(",") if name.strip())
        found.append(Ignore(comment, names, match[2].strip(" \t\r\n:-—")))
    return found


def apply_ignores(path: str, findings: Sequence[Finding], comments: Sequence[Comment], policy: Policy) -> list[Finding]:
    """The findings that no ignore silences, and one for every ignore that silences nothing or gives no reason."""
    ignores = read_ignores(comments)
    if not ignores:
        return list(findings)
    used: set[tuple[int, str]] = set()
    kept = []
    for finding in findings:
        silenced = False
        for index, ignore in enumerate(ignores):
            for name in ignore.rules:
                if code_of(name) == finding.rule and _bound(ignore.comment, finding.span):
                    used.add((index, name))
                    silenced = True
        if not silenced:
            kept.append(finding)
    for index, ignore in enumerate(ignores):
        kept.extend(_judge(path, ignore, {name for place, name in used if place == index}, policy))
    return kept


def _bound(comment: Comment, span: Span) -> bool:
    target = comment.target
    return span.start < max(target.end, target.start + 1) and target.start <= max(span.start, span.end - 1)


def _judge(path: str, ignore: Ignore, used: set[str], policy: Policy) -> list[Finding]:
    span = ignore.comment.span
    if not ignore.rules:
        message = "this ignore names no rule and has no effect; write `# servelint: ignore[SL201] why`"
        return [Finding("SL901", "note", path, span, message)]
    found = []
    for name in ignore.rules:
        if name in used:
            continue
        code = code_of(name)
        if code is None:
            message = f"this ignore names {name}, and there is no such rule"
            found.append(Finding("SL901", "note", path, span, message, help="see `servelint rules` for the list"))
        elif is_selected(code, policy):
            message = f"this ignore of {name} silences nothing here"
            text = "remove it, so that a later finding is seen, or move it onto the node it is meant for"
            found.append(Finding("SL901", "note", path, span, message, help=text))
    if not ignore.reason:
        message = "this ignore gives no reason; write it after the bracket"
        found.append(Finding("SL902", "note", path, span, message))
    return found
