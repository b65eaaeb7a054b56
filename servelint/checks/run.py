"""From a file's bytes to its findings: the whole flow once."""

from __future__ import annotations

from dataclasses import dataclass

from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.engines.reading import Reading
from servelint.files.context import Context
from servelint.manifests.serving import Serving
from servelint.models.identity import Identity


@dataclass(frozen=True, slots=True)
class Deployment:
    """A serving, who its model is, how its engine reads it, and whether it stops (`stops`, `runs-away`, `unknown`)."""

    serving: Serving
    identity: Identity
    reading: Reading
    verdict: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one file: `findings` after selection and ignores, sorted by place; `kind` None for no manifest.

    `internal` holds a paste-ready line for every rule or reader that broke; the findings of the others stand.
    """

    path: str
    kind: str | None
    text: str
    findings: tuple[Finding, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    internal: tuple[str, ...] = ()


def lint(path: str, data: bytes, context: Context, policy: Policy, forced: bool = False) -> Result:
    """Lint one file's bytes. Never raises; `forced` (the file was named, not found in a folder) lets more kinds in."""
    raise NotImplementedError
