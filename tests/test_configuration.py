"""What a configuration says, what is refused with file and line, and that its schema describes the same language."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.catalogue import is_selected, parameter, severity_of
from servelint.checks.policy import Policy
from servelint.cli.init import TEMPLATE
from servelint.configuration import ConfigurationError, Configurations, Layer, laid_over
from servelint.configuration_reader import _CHART_KEYS, _IGNORE_KEYS, _KEYS, _PATH_KEYS, read_configuration

SCHEMA = json.loads((Path(__file__).parent.parent / "schemas" / "configuration.schema.json").read_text())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = ".servelint.yaml") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_everything_at_once(folder: Path) -> None:
    write(
        folder,
        """\
profile: strict
select: [SL1, low-cap]
ignore: SL105
fail-on: note
exclude: [vendor/, "*.bak.yaml"]
rules:
  SL201: {severity: error, threshold: 128}
  missing-terminator: {severity: off}
paths:
  - path: bench/
    profile: default
    ignore: [SL2]
ignores:
  - {path: [a.yaml, "b*.yaml"], rule: SL103, reason: seen}
baseline: known.json
""",
    )
    configuration = Configurations().of("x.yaml")
    assert configuration.fail_on == "note"
    assert configuration.baseline == str(folder / "known.json")
    assert configuration.excludes("vendor", True)
    assert configuration.excludes("a/x.bak.yaml", False)
    assert not configuration.excludes("a/x.yaml", False)
    policy = configuration.policy("x.yaml")
    assert policy.strict
    assert [is_selected(code, policy) for code in ("SL101", "SL105", "SL201", "SL202")] == [True, False, True, False]
    assert parameter("SL201", "threshold", policy) == 128
    assert severity_of("SL201", "warning", policy) == "error"
    assert severity_of("SL101", "error", policy) is None
    bench = configuration.policy("bench/deep/x.yaml")
    assert not bench.strict
    assert not is_selected("SL201", bench)
    assert is_selected("SL101", bench)
    assert not is_selected("SL103", configuration.policy("sub/a.yaml"))
    assert is_selected("SL103", configuration.policy("sub/a.yaml", respect_ignores=False))


def test_the_nearest_one_wins_and_the_repository_ends_the_search(folder: Path) -> None:
    write(folder, "profile: strict", "outer/.servelint.yaml")
    write(folder, "fail-on: error", "outer/inner/.servelint.yml")
    (folder / "outer" / "repository" / ".git").mkdir(parents=True)
    found = Configurations()
    assert found.policy("outer/a.yaml").strict
    assert found.policy("outer/deep/er/a.yaml").strict
    assert found.of("outer/inner/deep/a.yaml").fail_on == "error"
    assert not found.policy("outer/inner/a.yaml").strict
    assert found.of("outer/repository/a.yaml").path is None
    assert found.of("a.yaml").path is None
    assert found.policy(str(folder / "outer" / "a.yaml")).strict


def test_pyproject(folder: Path) -> None:
    write(
        folder, "[tool.servelint]\nprofile = 'strict'\n[tool.servelint.rules.SL201]\nthreshold = 9\n", "pyproject.toml"
    )
    write(folder, "[tool.other]\n", "sub/pyproject.toml")
    write(folder, "# tool.servelint is set above\n", "sub/sub/pyproject.toml")
    policy = Configurations().policy("sub/sub/x.yaml")
    assert policy.strict
    assert parameter("SL201", "threshold", policy) == 9
    write(folder, "profile: default")
    assert not Configurations().policy("x.yaml").strict


def test_one_for_all_files(folder: Path) -> None:
    write(folder, "profile: strict")
    named = write(folder, "ignores: [{path: sub/, rule: SL101, reason: r}]\nbaseline: b.json", "ci/lint.yaml")
    found = Configurations(named=str(named))
    assert not found.policy("x.yaml").strict
    # Its patterns hold from the working directory on, its baseline lies beside it.
    assert not is_selected("SL101", found.policy("sub/x.yaml"))
    assert found.of("x.yaml").baseline == str(folder / "ci" / "b.json")


def chosen(policy: Policy, *codes: str) -> list[bool]:
    return [is_selected(code, policy) and severity_of(code, "warning", policy) is not None for code in codes]


def test_what_is_said_later_wins() -> None:
    base = Policy(select=("SL201",), ignore=("SL101",), severities={"SL202": "off"})
    codes = ("SL101", "SL201", "SL202")
    assert chosen(base, *codes) == [False, True, False]
    # However short: a prefix on the command line beats a code in the file, in both directions.
    assert chosen(laid_over(base, Layer(ignore=("SL2",))), *codes) == [False, False, False]
    assert chosen(laid_over(base, Layer(select=("SL",))), *codes) == [True, True, True]
    assert chosen(laid_over(base, Layer(select=("SL1",))), *codes) == [True, False, False]
    assert chosen(laid_over(base, Layer(select=("ALL",), ignore=("SL202",))), *codes) == [True, True, False]
    assert chosen(laid_over(Policy(), Layer(ignore=("ALL",))), *codes) == [False, False, False]
    assert chosen(laid_over(base, Layer(ignore=("ALL",))), *codes) == [False, False, False]
    assert laid_over(base, Layer(severities={"SL2": "note"})).severities == {"SL2": "note"}
    below = Policy(parameters={"SL201": {"threshold": 1, "other": 2}})
    over = laid_over(below, Layer(parameters={"SL201": {"threshold": 3}}))
    assert over.parameters == {"SL201": {"threshold": 3, "other": 2}}


def test_the_command_line_over_the_file(folder: Path) -> None:
    write(folder, "profile: strict\nignore: [SL201]")
    found = Configurations(Layer(profile="default", select=("SL2",)))
    assert not found.policy("x.yaml").strict
    assert chosen(found.policy("x.yaml"), "SL101", "SL201") == [False, True]


REFUSED = [
    ("profil: strict\n", ":1: unknown key 'profil' in the configuration; did you mean 'profile'?"),
    ("\nfail_on: note\n", ":2: unknown key 'fail_on' in the configuration; did you mean 'fail-on'?"),
    ("zebra: 1\n", ":1: unknown key 'zebra' in the configuration; known are "),
    ("profile: hard\n", ":1: profile must be one of default, strict, not 'hard'"),
    ("fail-on: off\n", ":1: fail-on must be one of note, warning, error, not False"),
    ("select: [SL101, SL19x]\n", ":1: there is no rule 'SL19x'"),
    ("select:\n  - SL101\n  - mising-terminator\n", ":3: there is no rule 'mising-terminator'; did you mean SL101"),
    ("select: 5\n", ":1: select must be a list, not 5"),
    ("select: [5]\n", ":1: an entry of select must be a text, not 5"),
    ("exclude: {a: b}\n", ":1: exclude must be a list, not a mapping"),
    ("rules: [SL101]\n", ":1: rules must be a mapping, not a list"),
    ("rules:\n  SL999: {severity: note}\n", ":2: there is no rule 'SL999'"),
    ("rules:\n  SL201:\n    treshold: 9\n", ":3: unknown key 'treshold' in rules.SL201; did you mean 'threshold'?"),
    ("rules:\n  SL2: {threshold: 9}\n", ":2: unknown key 'threshold' in rules.SL2; known are severity"),
    ("rules: {SL201: {threshold: many}}\n", ":1: rules.SL201.threshold must be a whole number, not 'many'"),
    ("rules: {SL201: {threshold: true}}\n", ":1: rules.SL201.threshold must be a whole number, not True"),
    ("rules: {SL201: {severity: loud}}\n", ":1: rules.SL201.severity must be one of off, note, warning, error"),
    ("rules: {SL201: note}\n", ":1: rules.SL201 must be a mapping, not 'note'"),
    ("paths: [{profile: strict}]\n", ":1: an entry of paths needs path"),
    ("paths:\n  - {path: a, fail-on: note}\n", ":2: unknown key 'fail-on' in an entry of paths"),
    ("paths: [{path: []}]\n", ":1: path is empty"),
    ("ignores: [{path: a, rule: SL101}]\n", ":1: an entry of ignores needs reason"),
    ("ignores: [{path: a, rule: SL101, reason: ''}]\n", ":1: reason must be a text"),
    ("baseline: [a]\n", ":1: baseline must be a text, not a list"),
    ("profile: strict\nprofile: default\n", ":2: 'profile' is given twice"),
    ("- a\n", ":1: the configuration must be a mapping, not a list"),
    ("profile: [\n", ":2: "),
    ("a: &a [x]\nb: *c\n", ":2: "),
    ("profile: !!python/name:os.system x\n", ":1: "),
    ("profile: \x01\n", ": "),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused(folder: Path, text: str, message: str) -> None:
    write(folder, text)
    with pytest.raises(ConfigurationError) as error:
        Configurations().of("x.yaml")
    assert str(error.value).startswith(f".servelint.yaml{message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.servelint]\nselect = ['SL101']\nprofil = 'x'\n", ":3: unknown key 'profil'"),
        ("[tool.servelint.rules]\nSL201 = {threshold = 'x'}\n", ":2: rules.SL201.threshold must be a whole number"),
        ("[[tool.servelint.paths]]\npath = 'a'\n[[tool.servelint.paths]]\nwhat = 1\n", ":4: unknown key 'what'"),
        ("[tool.servelint\n", ": "),
    ],
)
def test_refused_in_pyproject(folder: Path, text: str, message: str) -> None:
    write(folder, text, "pyproject.toml")
    with pytest.raises(ConfigurationError) as error:
        Configurations().of("x.yaml")
    assert str(error.value).startswith(f"pyproject.toml{message}")


def test_hostile_files(folder: Path) -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    )
    for text in (bomb, "a: " + "[" * 100_000, "\n".join(" " * depth + "a:" for depth in range(200)), "\0", "\ud800"):
        (folder / ".servelint.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(ConfigurationError):
            Configurations().of("x.yaml")
    (folder / ".servelint.yaml").unlink()
    (folder / ".servelint.yaml").symlink_to(".servelint.yaml")
    with pytest.raises(ConfigurationError):
        Configurations().of("x.yaml")


def loaded(text: str) -> Any:
    value = yaml.safe_load(text)
    return {} if value is None else value


ACCEPTED = [
    "",
    "profile: strict",
    "select: ALL",
    "select: [SL1, missing-terminator]\nignore: []",
    "exclude: a\nfail-on: note",
    "rules: {SL201: {threshold: 1, severity: off}, low-cap: {}, SL1: {severity: note}, SL701: {share: 1, least: 3}}",
    "paths: [{path: a}, {path: [a, b], select: SL1, rules: {}}]",
    "ignores: [{path: a, rule: SL1, reason: r}]\nbaseline: b",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_the_schema_takes_what_is_taken(folder: Path, text: str) -> None:
    read_configuration(str(write(folder, text)))
    jsonschema.validate(loaded(text), SCHEMA)


# What only the catalogue of rules can tell; a schema that listed it would be out of date with every new rule.
BEYOND_THE_SCHEMA = ("there is no rule", "in rules.", "rules.SL201.threshold must", "is given twice")


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_the_schema_refuses_what_is_refused(folder: Path, text: str, message: str) -> None:
    if any(part in message for part in BEYOND_THE_SCHEMA):
        return
    try:
        value = loaded(text)
    except (yaml.YAMLError, ValueError):
        return
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(value)


def test_the_schema_names_the_same_keys() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(_KEYS)
    assert set(SCHEMA["properties"]["paths"]["items"]["properties"]) == set(_PATH_KEYS)
    assert set(SCHEMA["properties"]["charts"]["items"]["properties"]) == set(_CHART_KEYS)
    assert set(SCHEMA["properties"]["ignores"]["items"]["properties"]) == set(_IGNORE_KEYS)


words = st.sampled_from(["SL101", "SL1", "low-cap", "ALL", "", "nope", "strict", "note", "off", "a/*.yaml"])
scalars = st.one_of(words, st.integers(-1, 3), st.booleans(), st.none(), st.floats(0, 1))
keys = st.sampled_from([*_KEYS, "path", "rule", "reason", "values", "severity", "threshold", "SL201", "x"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4), max_leaves=8
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(_KEYS), values, max_size=4))
def test_the_schema_and_the_checker_agree(tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any]) -> None:
    file = tmp_path_factory.mktemp("configured") / ".servelint.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    try:
        read_configuration(str(file))
    except ConfigurationError as error:
        assert not valid or any(part in str(error) for part in BEYOND_THE_SCHEMA)
    else:
        assert valid


def test_the_template_of_init_is_a_configuration_with_and_without_its_comments(folder: Path) -> None:
    assert read_configuration(str(write(folder, TEMPLATE))).layers == (Layer(),)
    settings_only = [line.removeprefix("#") for line in TEMPLATE.splitlines() if not re.match(r"# \S", line)]
    text = "\n".join(settings_only)
    configuration = read_configuration(str(write(folder, text)))
    jsonschema.validate(yaml.safe_load(text), SCHEMA)
    assert set(yaml.safe_load(text)) == set(_KEYS)
    assert configuration.fail_on == "warning"
    assert len(configuration.layers) == 3


def test_charts_are_read_with_the_values_they_are_installed_with(folder: Path) -> None:
    from servelint.cli.session import Session

    write(folder, "charts: [{path: charts/*, values: [prod.yaml, eu.yaml]}]\n")
    write(folder, "model: {name: Qwen/Qwen2.5-7B-Instruct, length: 8192}\n", "charts/chat/values.yaml")
    write(folder, "model: {name: Qwen/Qwen3-8B}\n", "prod.yaml")
    write(folder, "model: {length: null}\n", "eu.yaml")
    write(folder, "name: chat\n", "charts/chat/Chart.yaml")
    write(
        folder,
        """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.11.2
      args:
        - --model={{ .Values.model.name }}
        - --max-model-len={{ .Values.model.length }}
""",
        "charts/chat/templates/pod.yaml",
    )
    session = Session()
    ((result, _),) = session.results(session.targets(["charts/chat/templates/pod.yaml"]), quiet=True)
    (deployment,) = result.deployments
    model, length = deployment.serving.arguments or ()
    assert model.text == "--model=Qwen/Qwen3-8B"
    assert length.text is None


def test_a_chart_without_values_is_refused(folder: Path) -> None:
    write(folder, "charts:\n  - path: charts/*\n")
    with pytest.raises(ConfigurationError, match=r"yaml:2: an entry of charts needs values"):
        Configurations().of("x.yaml")
