"""Which rules speak, how loud, and with which parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from servelint.records import field, record


@record
class Policy:
    """What was chosen for one file, from the configuration and the command line.

    `select` and `ignore` hold codes (`SL101`), prefixes (`SL1`) or names (`missing-terminator`); an empty `select`
    means every rule that is on by default. The longest match wins, and `ignore` wins a tie. `profile` is `default` or
    `strict`. `parameters` maps a rule's code to its parameters, `severities` to a severity of the user's own.
    """

    profile: str = "default"
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    severities: Mapping[str, str] = field(default_factory=dict)
    respect_ignores: bool = True

    @property
    def strict(self) -> bool:
        """Whether the profile is `strict`: what is not pinned in the manifest is a warning."""
        return self.profile == "strict"
