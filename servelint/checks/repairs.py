"""Turns what a manifest's writer answers into a fix, or into the reason why there is none."""

from __future__ import annotations

from servelint.checks.finding import Fix, Safety
from servelint.manifests.serving import Refusal, Serving
from servelint.text import Edit


def repair(title: str, answer: tuple[Edit, ...] | Refusal, safety: Safety = "safe") -> tuple[Fix | None, str | None]:
    """The fix for a writer's answer, and the reason where the writer refused."""
    if isinstance(answer, Refusal):
        return None, answer.reason
    if not answer:
        return None, None
    return Fix(title, safety, tuple(answer)), None


def listing(texts: list[str]) -> str:
    """Names in a sentence: `a`, `a and b`, `a, b and c`."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def excerpt(text: str, most: int = 60) -> str:
    """A value as a message shows it: on one line, printable, and not too long."""
    flat = text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")[: 8 * most]
    if not flat.isprintable():
        flat = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in flat)
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def file_text(serving: Serving) -> str:
    """The text that the serving's spans count in: its document's, or that of the script that launches it."""
    text = getattr(serving.facts.get("document"), "text", None)
    return text if isinstance(text, str) else str(serving.facts.get("text", ""))
