"""SL5 on environment files: what the program that reads the file keeps of quotes and remarks."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding, Related
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, repair
from servelint.formats.env_file import EnvEntry, EnvFile, move_comment, remove_quotes
from servelint.manifests.serving import Refusal
from servelint.text import Edit, Span

_KEEPS_COMMENTS = frozenset({"docker", "systemd"})
_READERS = {"docker": "docker run --env-file", "systemd": "systemd"}


def check_swallowed_comment(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL502: a remark behind a value, which the file's reader takes for a part of it."""
    serving = deployment.serving
    document, dialect = _document(deployment)
    for entry in document.entries:
        if entry.comment is None or (dialect not in _KEEPS_COMMENTS and dialect != "unknown"):
            continue
        kept = entry.interpretations.get(dialect if dialect in _KEEPS_COMMENTS else "docker")
        if kept is None or "#" not in kept:
            continue
        fix, refusal = repair("move the comment to a line of its own", _answer(move_comment(document, entry)))
        certain = dialect in _KEEPS_COMMENTS
        reader = _READERS.get(dialect, "docker run --env-file and systemd")
        verb = "keeps" if certain else "keep"
        yield Finding(
            "SL502", "error" if certain else "warning", serving.path, _value_span(entry),
            f"the comment is part of the value: {reader} {verb} {excerpt(kept)!r}",
            why="Only a `#` at the beginning of a line opens a comment for it.",
            help="put the comment on a line of its own above", related=_consumers(deployment), fix=fix, no_fix=refusal,
        )  # fmt: skip


def check_kept_quotes(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL510: quotes that docker hands to the program."""
    serving = deployment.serving
    document, dialect = _document(deployment)
    if dialect not in ("docker", "unknown"):
        return
    for entry in document.entries:
        kept = entry.interpretations.get("docker")
        if not entry.quote or kept is None or not kept.startswith(entry.quote):
            continue
        fix, refusal = None, "who reads the file is not known"
        if dialect == "docker":
            fix, refusal_or_none = repair("remove the quotes", _answer(remove_quotes(document, entry)))
            refusal = refusal_or_none or ""
            message = f"docker run --env-file keeps the quotes: {entry.name} is {excerpt(kept)}"
            why = "The program gets a value that begins and ends with a quote."
        else:
            message = f"whether these quotes are part of {entry.name} depends on who reads the file"
            why = "`docker run --env-file` keeps them; Compose, systemd and a shell take them off."
        yield Finding(
            "SL510", "error" if dialect == "docker" else "warning", serving.path, entry.span, message, why=why,
            help="write the value without quotes", related=_consumers(deployment), fix=fix,
            no_fix=refusal or None,
        )  # fmt: skip


def _document(deployment: Deployment) -> tuple[EnvFile, str]:
    facts = deployment.serving.facts
    return facts["document"], facts["dialect"]


def _value_span(entry: EnvEntry) -> Span:
    return Span(entry.span.start, entry.comment.end) if entry.comment is not None else entry.span


def _consumers(deployment: Deployment) -> tuple[Related, ...]:
    names = deployment.serving.facts.get("consumers", ())
    return tuple(Related(path, Span(0, 0), "hands this file to the program") for path in names[:3])


def _answer(answer: tuple[Edit, ...] | str) -> tuple[Edit, ...] | Refusal:
    return Refusal(answer) if isinstance(answer, str) else answer


CHECKS: tuple[Check, ...] = (check_swallowed_comment, check_kept_quotes)
