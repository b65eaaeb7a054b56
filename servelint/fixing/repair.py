"""Repairs one file: chooses fixes, applies them, reads the new text again, and keeps only what is proven."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable

from servelint.checks.finding import RANK, Finding, Fix
from servelint.checks.policy import Policy
from servelint.checks.run import Result, lint
from servelint.files.context import Context
from servelint.fixing.proof import unexpected_change
from servelint.records import record
from servelint.text import Edit, Source, apply_edits, decode

MOST_PASSES = 10
MOST_ATTEMPTS = 60


@record
class Repair:
    """What a repair made of one file: bytes before and after, what was fixed, and what was left and why.

    `result` is the lint of the text after.
    """

    path: str
    before: bytes
    after: bytes
    fixed: tuple[Finding, ...]
    left: tuple[tuple[Finding, str], ...]
    result: Result

    @property
    def changed(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def fix_file(path: str, data: bytes, context: Context, policy: Policy, *, unsafe: bool = False) -> Repair:
    """Repair one file's bytes; writes nothing.

    Each pass applies every fix that does not overlap an earlier one, and reads the new text: a pass that is not proven
    is taken apart, and only the fixes that are proven one by one stay. Ends when nothing is left to fix, after
    `MOST_PASSES` passes, or when a text comes back that was there before.
    """
    current = data
    first = result = lint(path, current, context, policy, forced=True)
    fixed: list[Finding] = []
    refused: dict[tuple[str, str], str] = {}
    seen = {current}
    for _ in range(MOST_PASSES):
        chosen = [f for f in result.findings if _applies(f, unsafe) and _key(f) not in refused]
        if not chosen:
            break
        source = decode(current)
        step = _apply(path, source, result, chosen, context, policy, unsafe)
        if step.after is None or step.after in seen:
            refused.update(step.refused)
            if step.after is not None:
                refused.update({_key(f): "its repair leads back to an earlier text" for f in step.fixed})
            continue
        # On the new text each refused repair gets another chance: what stood in its way may be mended.
        refused = {}
        fixed.extend(step.fixed)
        current, result = step.after, step.result
        seen.add(current)
    reason = _worse(first, result, fixed) if fixed else None
    if reason:
        # What came to light on the way could not be mended after all: nothing is changed, rather than half of it.
        current, result = data, first
        refused.update({_key(finding): f"its repair could not be proven: {reason}" for finding in fixed})
        fixed = []
    left = tuple((finding, _why_left(finding, unsafe, refused)) for finding in result.findings)
    return Repair(path, data, current, tuple(fixed), left, result)


@record
class _Step:
    after: bytes | None
    result: Result
    fixed: tuple[Finding, ...]
    refused: dict[tuple[str, str], str]


def _key(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.message


def _applies(finding: Finding, unsafe: bool) -> bool:
    if finding.fix is None:
        return False
    return finding.fix.safety == "safe" or (unsafe and finding.fix.safety == "unsafe")


def _why_left(finding: Finding, unsafe: bool, refused: dict[tuple[str, str], str]) -> str:
    reason = refused.get(_key(finding))
    if reason:
        return reason
    if finding.fix is None:
        return finding.no_fix or "no repair that is right in every case"
    if finding.fix.safety == "unsafe" and not unsafe:
        return "changes what is served; apply it with --unsafe-fixes"
    return "shown only, to be made by hand"


def _apply(
    path: str, source: Source, result: Result, chosen: list[Finding], context: Context, policy: Policy, unsafe: bool
) -> _Step:
    together = _without_overlaps(chosen)
    step = _attempt(path, source, result, together, context, policy, unsafe)
    if step.after is not None or len(together) == 1:
        return step
    # Something in the batch is not proven: halve it until what is at fault stands alone, each part on top of those
    # that were proven.
    refused: dict[tuple[str, str], str] = {}
    kept: list[Finding] = []
    best = step
    groups, attempts = [together], 0
    while groups:
        group = groups.pop()
        if attempts >= MOST_ATTEMPTS:
            refused.update({_key(finding): "too many repairs of this file could not be proven" for finding in group})
            continue
        # The whole batch has been tried.
        trial = step if group is together else _attempt(path, source, result, [*kept, *group], context, policy, unsafe)
        attempts += 1
        if trial.after is not None:
            kept += group
            best = trial
        elif len(group) == 1:
            refused[_key(group[0])] = trial.refused.get(_key(group[0]), "its repair could not be proven")
        else:
            middle = len(group) // 2
            groups += [group[middle:], group[:middle]]
    return _Step(best.after, best.result, tuple(kept), refused)


def _without_overlaps(findings: Iterable[Finding]) -> list[Finding]:
    """The findings whose edits do not overlap those of an earlier, more severe one; same edits go together."""
    taken: set[Edit] = set()
    # What was taken does not overlap: sorted by place, an edit can only overlap its neighbours.
    places: list[Edit] = []
    chosen: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (-RANK[f.severity], f.span.start, f.rule)):
        fix = finding.fix
        assert fix is not None
        fresh = [edit for edit in fix.edits if edit not in taken]
        if any(_overlaps_one(edit, places) for edit in fresh):
            continue
        taken.update(fresh)
        for edit in fresh:
            insort(places, edit, key=_place)
        chosen.append(finding)
    return sorted(chosen, key=lambda f: f.span.start)


def _place(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _overlaps_one(edit: Edit, places: list[Edit]) -> bool:
    position = bisect_left(places, _place(edit), key=_place)
    return any(_overlap(edit, other) for other in places[max(0, position - 2) : position + 2])


def _overlap(one: Edit, other: Edit) -> bool:
    if one.start == one.end == other.start == other.end:
        # Two insertions at one place: which comes first is not decided, so they take turns.
        return True
    return one.start < other.end and other.start < one.end


def _attempt(
    path: str, source: Source, result: Result, findings: list[Finding], context: Context, policy: Policy, unsafe: bool
) -> _Step:
    def refuse(reason: str) -> _Step:
        return _Step(None, result, (), {_key(finding): reason for finding in findings})

    edits = [edit for finding in findings if finding.fix for edit in finding.fix.edits]
    text = apply_edits(source.text, edits)
    if text == source.text:
        return refuse("its repair changes nothing")
    after = source.encode(text)
    again = lint(path, after, context, policy, forced=True)
    reason = unexpected_change(result, again, edits) or _not_better(result, again, findings, unsafe)
    if reason:
        return refuse(f"its repair could not be proven: {reason}")
    return _Step(after, again, tuple(findings), {})


def _not_better(before: Result, after: Result, findings: list[Finding], unsafe: bool) -> str | None:
    """Why the new text is no better, or None: what was repaired must be gone, and nothing as bad may have come.

    What one repair brings to light and the next can mend (a quote behind a remark) is no objection yet.
    """
    if after.internal and not before.internal:
        return "servelint itself failed on the new text"
    old = Counter(_key(finding) for finding in before.findings)
    new = Counter(_key(finding) for finding in after.findings)
    for finding in findings:
        if new[_key(finding)] >= old[_key(finding)]:
            return f"{finding.rule} would still be reported"
    return _worse(before, after, findings, unsafe)


def _worse(before: Result, after: Result, findings: list[Finding], unsafe: bool | None = None) -> str | None:
    """The finding, as bad as the worst that was repaired, that only the new text has; those still to mend apart."""
    old = {_key(finding) for finding in before.findings}
    old_rules = Counter(finding.rule for finding in before.findings)
    new_rules = Counter(finding.rule for finding in after.findings)
    worst = max(RANK[finding.severity] for finding in findings)
    for finding in after.findings:
        if RANK[finding.severity] < worst or _key(finding) in old or new_rules[finding.rule] <= old_rules[finding.rule]:
            continue
        if unsafe is None or not _applies(finding, unsafe):
            return f"{finding.rule} would be reported instead ({finding.message})"
    return None


def describe(fix: Fix) -> str:
    """A fix's title with its safety, for a report."""
    return fix.title if fix.safety == "safe" else f"{fix.title} ({fix.safety})"
