"""Comments that silence a rule at one node: `# servelint: ignore[SL201] why`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from servelint.checks.catalogue import code_of, is_selected
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.formats.problem import Comment
from servelint.records import record

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
    lookup = _Lookup(ignores)
    used: dict[int, set[str]] = {}
    kept = []
    for finding in findings:
        silencing = lookup.bound(finding)
        for index, name in silencing:
            used.setdefault(index, set()).add(name)
        if not silencing:
            kept.append(finding)
    for index, ignore in enumerate(ignores):
        kept.extend(_judge(path, ignore, used.get(index, set()), policy))
    return kept


class _Lookup:
    """Finds the ignores of a rule whose node a finding lies in, without looking at all of them."""

    def __init__(self, ignores: Sequence[Ignore]) -> None:
        by_rule: dict[str, list[tuple[int, int, int, str]]] = {}
        for index, ignore in enumerate(ignores):
            target = ignore.comment.target
            for name in ignore.rules:
                code = code_of(name)
                if code is not None:
                    place = (target.start, max(target.end, target.start + 1), index, name)
                    by_rule.setdefault(code, []).append(place)
        self._places = {code: sorted(places) for code, places in by_rule.items()}
        # How far the nodes up to each one reach: behind a place that none of them reaches, there is nothing to find.
        self._reach = {code: list(accumulate((end for _, end, _, _ in places), max))
                       for code, places in self._places.items()}  # fmt: skip

    def bound(self, finding: Finding) -> list[tuple[int, str]]:
        """The number of every ignore that silences a finding, and the name by which it does."""
        places = self._places.get(finding.rule, [])
        reach = self._reach.get(finding.rule, [])
        span, found = finding.span, []
        position = bisect_right(places, max(span.start, span.end - 1), key=lambda place: place[0]) - 1
        while position >= 0 and reach[position] > span.start:
            _, end, index, name = places[position]
            if end > span.start:
                found.append((index, name))
            position -= 1
        return found


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
