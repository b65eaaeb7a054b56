"""The rules as their documents describe them: names, severities, parameters, and which of them a policy chooses.

A run needs no more than the small index; the documents themselves are loaded for `explain`, `rules` and the reports.
Both are compiled from `rules/SL*.yaml` (`python -m servelint.data.compile`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, cast

from servelint.checks.policy import Policy
from servelint.data import load

if TYPE_CHECKING:
    from servelint.checks.finding import Severity

RULES_FILE = "rules/compiled/rules.json"
INDEX_FILE = "rules/compiled/rule_index.json"
_SEVERITIES = ("note", "warning", "error")


class UnknownRuleError(LookupError):
    """No rule has this code or name; `nearest` holds `CODE name` of those that come near, the nearest first."""

    def __init__(self, rule: str, nearest: Sequence[str]) -> None:
        hint = f"; did you mean {' or '.join(nearest)}?" if nearest else "; see `servelint rules` for the list"
        super().__init__(f"there is no rule {rule}{hint}")
        self.rule = rule
        self.nearest = tuple(nearest)

    def __str__(self) -> str:
        # LookupError's own str would be right too, but KeyError-like quoting has surprised readers before.
        return str(self.args[0])


class Rule:
    """One rule's document (`schemas/rule.schema.json`) behind names."""

    __slots__ = ("document",)

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document

    @property
    def code(self) -> str:
        """The rule's code, `SL101`."""
        return str(self.document["code"])

    @property
    def name(self) -> str:
        """The rule's name, `missing-terminator`."""
        return str(self.document["name"])

    @property
    def severities(self) -> tuple[str, ...]:
        """Every severity that the rule gives by itself, the highest first."""
        return tuple(sorted(_listed(self.document["severity"]), key=_SEVERITIES.index, reverse=True))

    @property
    def safeties(self) -> tuple[str, ...]:
        """How safe its repairs are (`safe`, `unsafe`); empty where it has none."""
        return tuple(safety for safety in _listed(self.document["fix"]) if safety != "none")

    @property
    def enabled(self) -> bool:
        """Whether the rule speaks without being selected."""
        return bool(self.document.get("enabled", True))

    @property
    def implemented(self) -> bool:
        """Whether this release has the check, or only the plan for it."""
        return bool(self.document.get("status") == "implemented")

    @property
    def summary(self) -> str:
        """One sentence."""
        return str(self.document["summary"])

    def text(self, key: str) -> str:
        """A longer text of the document (`what`, `why`, `ignore_when`, `fix_notes`), empty where it has none."""
        return str(self.document.get(key, ""))

    @property
    def parameters(self) -> tuple[Mapping[str, Any], ...]:
        """The parameters a user may set: name, type, default, meaning."""
        return tuple(self.document.get("parameters", ()))

    @property
    def references(self) -> tuple[str, ...]:
        """Where the truth behind the rule can be looked up."""
        return tuple(self.document.get("references", ()))

    @property
    def examples(self) -> tuple[Mapping[str, Any], ...]:
        """The examples, good and bad, which are tests as well."""
        return tuple(self.document.get("examples", ()))


def _listed(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


@cache
def _index() -> dict[str, list[Any]]:
    """Code to name, whether it is on by default, default severity, and the parameters' defaults."""
    index: dict[str, list[Any]] = load(INDEX_FILE)
    return index


@cache
def _codes_of_names() -> dict[str, str]:
    return {entry[0]: code for code, entry in _index().items()}


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the codes."""
    documents = load(RULES_FILE)
    return {code: Rule(documents[code]) for code in sorted(documents)}


def code_of(rule: str) -> str | None:
    """The code of a rule given by code or name, in any case; None where there is no such rule."""
    code = rule.upper()
    return code if code in _index() else _codes_of_names().get(rule.lower())


def name_of(code: str) -> str:
    """The name of a rule; the code itself where it is unknown."""
    entry = _index().get(code)
    return str(entry[0]) if entry else code


def find(rule: str) -> Rule:
    """The rule of that code or name. Raises `UnknownRuleError`, which names the nearest known ones."""
    code = code_of(rule.strip())
    if code is not None:
        return rules()[code]
    raise UnknownRuleError(rule, nearest_rules(rule))


def nearest_rules(rule: str) -> list[str]:
    """At most three rules that come near a misspelt code or name, as `CODE name`."""
    import difflib

    wanted = rule.strip()[:80]
    code = wanted.upper()
    codes = [known for known in _index() if len(known) == len(code) and _differences(known, code) == 1]
    if not codes:
        codes = [
            _codes_of_names()[name] for name in difflib.get_close_matches(wanted.lower(), _codes_of_names(), 3, 0.7)
        ]
    return [f"{code} {name_of(code)}" for code in codes[:3]]


def _differences(one: str, other: str) -> int:
    return sum(left != right for left, right in zip(one, other, strict=True))


def is_selector(text: str) -> bool:
    """Whether a word of `select` or `ignore` can choose any rule: a code, a prefix of codes, a name, or `ALL`."""
    return any(_reach(text, code) >= 0 for code in _index())


def is_selected(code: str, policy: Policy) -> bool:
    """Whether a rule speaks under this policy.

    The longest match wins and `ignore` wins a tie; a name counts as much as the whole code, `ALL` as little as
    possible. An empty `select` chooses what is on by default; a rule that is off by default speaks where `select`
    reaches it, be it by a prefix.
    """
    return _is_selected(code, tuple(policy.select), tuple(policy.ignore))


@lru_cache(maxsize=4096)
def _is_selected(code: str, select: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    chosen = max((_reach(selector, code) for selector in select), default=-1)
    dropped = max((_reach(selector, code) for selector in ignore), default=-1)
    if chosen < 0:
        if select or dropped >= 0:
            return False
        entry = _index().get(code)
        return entry is None or bool(entry[1])
    return chosen > dropped


def _reach(selector: str, code: str) -> int:
    """How much of a rule's code a selector matches: -1 for nothing, 0 for `ALL`."""
    upper = selector.strip().upper()
    if upper == "ALL":
        return 0
    if upper.startswith("SL") and code.startswith(upper):
        return len(upper)
    entry = _index().get(code)
    return len(code) if entry is not None and entry[0] == selector.strip().lower() else -1


def severity_of(code: str, severity: Severity, policy: Policy) -> Severity | None:
    """The severity that a finding of this rule gets, None where the user has turned the rule off.

    The policy's `severities` are keyed as selectors are, and the longest match wins; a value that is no severity
    changes nothing.
    """
    if not policy.severities:
        return severity
    best, chosen = -1, str(severity)
    for selector, value in policy.severities.items():
        reach = _reach(selector, code)
        if reach > best:
            best, chosen = reach, value
    if chosen == "off":
        return None
    return cast("Severity", chosen) if chosen in _SEVERITIES else severity


def parameter(code: str, name: str, policy: Policy) -> Any:
    """The value of a rule's parameter under this policy: the user's, else the default of the rule's document.

    The policy may key the rule by code or name. Raises KeyError for a parameter that the rule does not have.
    """
    entry = _index()[code]
    default = entry[3][name]
    if not policy.parameters:
        return default
    for key in (code, entry[0]):
        given = policy.parameters.get(key)
        if given is not None and name in given:
            return given[name]
    return default


def index_of(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The index for these rule documents (what `rule_index.json` holds)."""
    index = {}
    for code in sorted(documents):
        rule = Rule(documents[code])
        defaults = {str(entry["name"]): entry.get("default") for entry in rule.parameters}
        index[code] = [rule.name, rule.enabled, rule.severities[0], defaults]
    return index
