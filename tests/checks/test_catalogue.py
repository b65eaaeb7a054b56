"""The catalogue: names and codes, and which rules a policy chooses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from servelint.checks.catalogue import (
    INDEX_FILE,
    UnknownRuleError,
    code_of,
    find,
    index_of,
    is_selected,
    is_selector,
    name_of,
    nearest_rules,
    parameter,
    rules,
    severity_of,
)
from servelint.checks.policy import Policy
from servelint.data import load
from tests.conftest import ROOT


def test_rules_come_in_the_order_of_their_codes() -> None:
    assert list(rules()) == sorted(rules())
    assert {"SL101", "SL404", "SL514", "SL606", "SL705", "SL903"} <= set(rules())


def test_compiled_files_are_up_to_date() -> None:
    documents = {}
    for path in sorted((ROOT / "rules").glob("SL*.yaml")):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        documents[document["code"]] = document
    assert {code: rule.document for code, rule in rules().items()} == documents
    assert load(INDEX_FILE) == index_of(documents)


def test_codes_and_names_are_those_of_the_contract(shared: Path) -> None:
    text = (shared / "RULES.md").read_text(encoding="utf-8")
    contract = dict(re.findall(r"\b(SL\d{3}) (?:\| )?([a-z]+(?:-[a-z0-9]+)+)", text))
    assert len(contract) > 60
    assert {code: rule.name for code, rule in rules().items()} == contract


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("SL101", "SL101"),
        ("sl101", "SL101"),
        ("missing-terminator", "SL101"),
        ("Missing-Terminator", "SL101"),
        ("SL1", None),
        ("SL999", None),
        ("", None),
        ("ALL", None),
    ],
)
def test_code_of(rule: str, code: str | None) -> None:
    assert code_of(rule) == code


def test_find_gives_the_document() -> None:
    rule = find("low-cap")
    assert (rule.code, rule.name, rule.severities, rule.safeties) == ("SL201", "low-cap", ("warning",), ())
    assert [entry["name"] for entry in rule.parameters] == ["threshold"]
    assert rule.examples
    assert find(" SL101 ").safeties == ("safe",)
    assert find("SL101").severities == ("error", "warning")
    assert not find("SL404").enabled


@pytest.mark.parametrize(
    ("rule", "nearest"),
    [
        ("mising-terminator", "SL101 missing-terminator"),
        ("SL1O1", "SL101 missing-terminator"),
        ("lowcap", "SL201 low-cap"),
    ],
)
def test_find_names_the_nearest(rule: str, nearest: str) -> None:
    with pytest.raises(UnknownRuleError) as caught:
        find(rule)
    assert caught.value.nearest[0] == nearest
    assert f"did you mean {nearest}" in str(caught.value)


@pytest.mark.parametrize("rule", ["zzzzzz", "x" * 100_000, "", "\ud800", "%s", "SL"])
def test_find_of_nonsense_points_to_the_list(rule: str) -> None:
    with pytest.raises(UnknownRuleError, match="servelint rules"):
        find(rule)
    assert nearest_rules(rule) == []


def test_name_of() -> None:
    assert name_of("SL101") == "missing-terminator"
    assert name_of("ACME001") == "ACME001"


@pytest.mark.parametrize(
    ("code", "select", "ignore", "selected"),
    [
        ("SL101", (), (), True),
        ("SL404", (), (), False),
        ("SL902", (), (), False),
        ("SL404", ("SL404",), (), True),
        ("SL404", ("sampling-off-recommendation",), (), True),
        ("SL404", ("SL4",), (), True),
        ("SL404", ("ALL",), (), True),
        ("SL101", ("SL2",), (), False),
        ("SL101", (), ("SL101",), False),
        ("SL101", (), ("missing-terminator",), False),
        ("SL101", (), ("SL1",), False),
        ("SL101", (), ("ALL",), False),
        ("SL201", (), ("SL1",), True),
        # The longest match wins, whichever side it is on.
        ("SL101", ("SL1",), ("SL10",), False),
        ("SL101", ("SL10",), ("SL1",), True),
        ("SL101", ("SL101",), ("SL10",), True),
        ("SL101", ("missing-terminator",), ("SL10",), True),
        ("SL101", ("SL1",), ("ALL",), True),
        ("SL201", ("SL1",), ("ALL",), False),
        ("SL101", ("ALL",), ("SL1",), False),
        # A tie goes to ignore.
        ("SL101", ("SL1",), ("SL1",), False),
        ("SL101", ("SL101",), ("missing-terminator",), False),
        ("SL101", ("ALL",), ("ALL",), False),
        # Only what is written counts, not what it looks like.
        ("SL101", ("sl1",), (), True),
        ("SL101", ("1",), (), False),
        ("SL101", ("SL1011",), (), False),
        ("SL101", ("terminator",), (), False),
        ("SL101", ("",), (), False),
    ],
)
def test_is_selected(code: str, select: tuple[str, ...], ignore: tuple[str, ...], selected: bool) -> None:
    assert is_selected(code, Policy(select=select, ignore=ignore)) is selected


def test_a_custom_rule_is_on_unless_ignored() -> None:
    assert is_selected("ACME001", Policy())
    assert not is_selected("ACME001", Policy(ignore=("ALL",)))


@pytest.mark.parametrize(
    ("selector", "known"),
    [
        ("ALL", True),
        ("all", True),
        ("SL", True),
        ("SL1", True),
        ("SL101", True),
        ("low-cap", True),
        ("SL8", False),
        ("SL10a", False),
        ("", False),
        ("low", False),
    ],
)
def test_is_selector(selector: str, known: bool) -> None:
    assert is_selector(selector) is known


@pytest.mark.parametrize(
    ("severities", "expected"),
    [
        ({}, "warning"),
        ({"SL201": "error"}, "error"),
        ({"low-cap": "note"}, "note"),
        ({"SL201": "off"}, None),
        ({"SL2": "off", "SL201": "note"}, "note"),
        ({"SL201": "note", "SL2": "off"}, "note"),
        ({"ALL": "error"}, "error"),
        ({"SL101": "off"}, "warning"),
        ({"SL201": "fatal"}, "warning"),
    ],
)
def test_severity_of(severities: dict[str, str], expected: str | None) -> None:
    assert severity_of("SL201", "warning", Policy(severities=severities)) == expected


def test_parameter_of_the_document_and_of_the_user() -> None:
    assert parameter("SL201", "threshold", Policy()) == 256
    assert parameter("SL201", "threshold", Policy(parameters={"SL201": {"threshold": 64}})) == 64
    assert parameter("SL201", "threshold", Policy(parameters={"low-cap": {"threshold": 64}})) == 64
    assert parameter("SL201", "threshold", Policy(parameters={"SL202": {"threshold": 64}})) == 256
    with pytest.raises(KeyError):
        parameter("SL201", "treshold", Policy())
