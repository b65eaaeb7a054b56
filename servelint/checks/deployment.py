"""What a check looks at: one serving with all that is known of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.engines.reading import Reading
from servelint.manifests.serving import Serving
from servelint.models.identity import Identity
from servelint.records import record


@record
class Deployment:
    """A serving, who its model is, how its engine reads it, and whether it stops (`stops`, `runs-away`, `unknown`)."""

    serving: Serving
    identity: Identity
    reading: Reading
    verdict: str


Check = Callable[[Deployment, Policy], Iterable[Finding]]
