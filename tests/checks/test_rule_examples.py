"""Every rule's document follows the schema, and its examples are what they say: bad, good, repaired."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from servelint.checks.policy import Policy
from servelint.checks.run import lint
from servelint.files.context import Context
from servelint.fixing.repair import fix_file
from servelint.text import LineIndex
from tests.conftest import ROOT

DOCUMENTS: list[tuple[str, dict[str, Any]]] = [
    (path.name, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in sorted((ROOT / "rules").glob("SL*.yaml"))
]
EXAMPLES = [
    pytest.param(document, example, id=f"{document['code']}-{example['title']}")
    for _, document in DOCUMENTS
    for example in document.get("examples", ())
]
RUNNABLE = [
    pytest.param(document, example, id=f"{document['code']}-{example['title']}")
    for _, document in DOCUMENTS
    if document["status"] == "implemented"
    for example in document.get("examples", ())
]
REPAIRED = [param for param in RUNNABLE if "fixed" in dict(param.values[1])]  # type: ignore[call-overload]


def content(text: str) -> bytes:
    """The bytes of an example's file."""
    return bytes.fromhex(text[4:]) if text.startswith("hex:") else text.encode("utf-8")


def policy_of(document: Mapping[str, Any], example: Mapping[str, Any]) -> Policy:
    """The policy an example is judged under: the default one, with the rule selected where it is off by default."""
    return Policy(
        profile=example.get("profile", "default"),
        select=() if document.get("enabled", True) else ("ALL",),
        parameters={document["code"]: example["parameters"]} if "parameters" in example else {},
    )


def place(folder: Path, example: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> Context:
    """Write an example's files into an empty folder and work there."""
    for name, text in example["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(text))
    monkeypatch.chdir(folder)
    return Context(folder)


@pytest.mark.parametrize(("name", "document"), DOCUMENTS, ids=[name for name, _ in DOCUMENTS])
def test_document_follows_the_schema(name: str, document: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "schemas/rule.schema.json").read_text(encoding="utf-8"))
    errors = Draft202012Validator(schema).iter_errors(document)
    assert [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in errors] == []
    assert name == f"{document['code']}-{document['name']}.yaml"


def test_codes_and_names_are_unique() -> None:
    assert len({document["code"] for _, document in DOCUMENTS}) == len(DOCUMENTS)
    assert len({document["name"] for _, document in DOCUMENTS}) == len(DOCUMENTS)


@pytest.mark.parametrize(("document", "example"), EXAMPLES)
def test_example_is_consistent(document: dict[str, Any], example: dict[str, Any]) -> None:
    files = example["files"]
    assert set(example["lint"]) <= set(files)
    severities = document["severity"] if isinstance(document["severity"], list) else [document["severity"]]
    for expected in example.get("expect", ()):
        text = content(files[expected.get("path", example["lint"][0])]).decode("utf-8", "replace")
        assert expected.get("line", 1) <= LineIndex(text).lines
        assert expected.get("severity", severities[0]) in severities
    for name, text in example.get("fixed", {}).items():
        assert content(text) != content(files[name]), "the repaired text must differ"
        assert document["fix"] == "safe" or "safe" in document["fix"]


def test_titles_are_unique_within_a_rule() -> None:
    for _, document in DOCUMENTS:
        titles = [example["title"] for example in document.get("examples", ())]
        assert len(titles) == len(set(titles)), document["code"]


@pytest.mark.parametrize(("document", "example"), RUNNABLE)
def test_example_is_judged_so(
    document: dict[str, Any], example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, policy = place(tmp_path, example, monkeypatch), policy_of(document, example)
    found = []
    for name in example["lint"]:
        data = content(example["files"][name])
        result = lint(name, data, context, policy, forced=True)
        assert result.internal == ()
        lines = LineIndex(result.text)
        for finding in result.findings:
            if finding.rule == document["code"]:
                line, _ = lines.position(finding.span.start)
                found.append({"line": line, "severity": finding.severity, "path": finding.path})
    expected = example.get("expect", [])
    assert len(found) == len(expected), found
    for got, wanted in zip(found, expected, strict=True):
        assert {key: got[key] for key in wanted} == wanted


@pytest.mark.parametrize(("document", "example"), REPAIRED)
def test_example_is_repaired_so(
    document: dict[str, Any], example: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, policy = place(tmp_path, example, monkeypatch), policy_of(document, example)
    for name in example["lint"]:
        data = content(example["files"][name])
        repair = fix_file(name, data, context, policy)
        wanted = example["fixed"].get(name)
        assert repair.after == (content(wanted) if wanted is not None else data)
        assert document["code"] in {finding.rule for finding in repair.fixed}
        assert not [finding for finding in repair.result.findings if finding.rule == document["code"]]
        again = fix_file(name, repair.after, Context(tmp_path, {name: repair.after}), policy)
        assert not again.changed


# What a newcomer sees on the manifests in examples/bad, as examples/README.md tells it.
SHOWN = {
    "kserve/inferenceservice.yaml": {"SL301", "SL511"},
    "kubernetes/deployment.yaml": {"SL201", "SL507"},
    "model-folder/mirror-7b/generation_config.json": {"SL116"},
    "model-folder/tickets-3b/generation_config.json": {"SL113", "SL203"},
    "ollama/Modelfile": {"SL101", "SL502"},
    "ollama/import.Modelfile": {"SL101", "SL201"},
    "ollama/translate.Modelfile": {"SL108"},
    "tgi/tgi.env": {"SL502", "SL510"},
    "vllm/serve.sh": {"SL121", "SL504"},
}
# Those that a safe fix makes the same as their namesake in examples/good.
MADE_GOOD = (
    "model-folder/mirror-7b/generation_config.json",
    "ollama/Modelfile",
    "ollama/translate.Modelfile",
    "tgi/tgi.env",
)


def lint_example(path: Path) -> set[str]:
    """The rules that speak of one of the example manifests, notes included."""
    result = lint(path.as_posix(), path.read_bytes(), Context(ROOT), Policy(), forced=True)
    assert result.internal == ()
    return {finding.rule for finding in result.findings}


@pytest.mark.parametrize("name", SHOWN)
def test_bad_manifest_shows_its_faults(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_example(Path("examples/bad") / name) >= SHOWN[name]


def files_below(folder: str) -> list[str]:
    """The files of one of the two trees, relative to it."""
    return sorted(path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("name", files_below("examples/good"))
def test_good_manifest_is_silent(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_example(Path("examples/good") / name) == set()


@pytest.mark.parametrize("name", MADE_GOOD)
def test_fix_makes_the_bad_manifest_good(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    bad, good = Path("examples/bad") / name, Path("examples/good") / name
    repair = fix_file(bad.as_posix(), bad.read_bytes(), Context(ROOT), Policy())
    assert repair.after.decode() == good.read_text(encoding="utf-8")


def test_the_walk_through_names_every_bad_manifest() -> None:
    readme = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    for name, codes in SHOWN.items():
        assert (
            f"bad/{name}" in readme or f"bad/{Path(name).parent}**" in readme or f"bad/{Path(name).parent}`" in readme
        )
        assert all(code in readme for code in codes)
