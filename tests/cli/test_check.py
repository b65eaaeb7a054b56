"""`servelint check`: its options, its exit status, what it reads and what it leaves alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import Run, spawn
from tests.conftest import ROOT

GOOD = 'FROM qwen3:8b\nPARAMETER stop "<|im_end|>"\nPARAMETER stop "<|endoftext|>"\n'
BAD = 'FROM qwen3:8b\nPARAMETER stop "User:"\n'
# A note, and nothing more.
NOTED = 'FROM qwen3:8b\nPARAMETER stop "<|im_end|>"\n'
SCHEMA = json.loads((ROOT / "schemas" / "report.schema.json").read_text(encoding="utf-8"))


def put(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def findings(run: Run, *words: str) -> list[dict[str, Any]]:
    document = json.loads(run("check", "--format", "json", *words).out)
    jsonschema.validate(document, SCHEMA)
    found: list[dict[str, Any]] = document["findings"]
    return found


def rules(run: Run, *words: str) -> list[str]:
    return [finding["rule"] for finding in findings(run, *words)]


def paths(run: Run, *words: str) -> list[str]:
    return sorted({finding["path"] for finding in findings(run, *words)})


def test_exit_status(run: Run, folder: Path) -> None:
    put(folder, good__Modelfile=GOOD, noted__Modelfile=NOTED, bad__Modelfile=BAD)
    assert run("check", "good").status == 0
    assert rules(run, "noted") == ["SL102"]
    assert run("check", "noted").status == 0
    assert run("check", "--fail-on", "note", "noted").status == 1
    assert run("check", "--fail-on", "error", "bad").status == 1
    assert run("check", "--fail-on", "error", "noted").status == 0
    put(folder, **{".servelint.yaml": "fail-on: note\n"})
    assert run("check", "noted").status == 1
    assert run("check", "--fail-on", "warning", "noted").status == 0


def test_choice_of_rules(run: Run, folder: Path) -> None:
    put(folder, Modelfile=BAD + "PARAMETER num_predict 9\n")
    assert {"SL101", "SL201"} <= set(rules(run))
    assert rules(run, "--select", "SL2") == ["SL201"]
    assert rules(run, "--select", "low-cap,SL101", "--ignore", "SL101") == ["SL201"]
    assert rules(run, "--select", "SL2", "--select", "SL101") == ["SL101", "SL201"]
    assert rules(run, "--ignore", "ALL") == []
    put(folder, **{".servelint.yaml": "ignore: [SL201]\nrules: {SL101: {severity: note}}\n"})
    assert "SL201" not in rules(run)
    assert run("check", "--ignore", "SL106", "--ignore", "SL110").status == 0
    assert rules(run, "--select", "SL2") == ["SL201"]


def test_profile(run: Run, folder: Path) -> None:
    put(folder, Modelfile=NOTED)
    assert [finding["severity"] for finding in findings(run)] == ["note"]
    assert [finding["severity"] for finding in findings(run, "--profile", "strict")] == ["warning"]
    put(folder, **{".servelint.yaml": "profile: strict\n"})
    assert [finding["severity"] for finding in findings(run)] == ["warning"]
    assert [finding["severity"] for finding in findings(run, "--profile", "default")] == ["note"]


def test_ignore_comments(run: Run, folder: Path) -> None:
    put(
        folder,
        Modelfile='FROM qwen3:8b\n# servelint: ignore[SL101] its client stops it\nPARAMETER stop "User:"\n',
    )
    assert rules(run) == []
    assert "SL101" in rules(run, "--no-ignores")
    put(folder, Modelfile=BAD, **{".servelint.yaml": "ignores: [{path: Modelfile, rule: SL1, reason: r}]\n"})
    assert rules(run) == []
    assert "SL101" in rules(run, "--no-ignores")


def test_folders_leave_out_what_is_ignored_and_files_do_not(run: Run, folder: Path) -> None:
    put(folder, Modelfile=BAD, out__Modelfile=BAD, vendor__Modelfile=BAD, node_modules__Modelfile=BAD)
    put(folder, **{".gitignore": "out/\n", ".servelint.yaml": "exclude: [/vendor]\n"})
    assert paths(run) == ["Modelfile"]
    assert paths(run, "out/Modelfile", "vendor/Modelfile") == ["out/Modelfile", "vendor/Modelfile"]
    assert paths(run, "out") == ["out/Modelfile"]
    assert paths(run, ".", "./Modelfile", "Modelfile", "out/../Modelfile") == ["Modelfile"]
    assert len(findings(run, "Modelfile", "./Modelfile")) == len(findings(run, "Modelfile"))


def test_each_file_has_its_nearest_configuration(run: Run, folder: Path) -> None:
    put(folder, a__Modelfile=BAD, b__c__Modelfile=BAD, **{"b/.servelint.yaml": "ignore: [ALL]\n"})
    assert paths(run) == ["a/Modelfile"]
    os.chdir("b/c")
    assert paths(run) == []
    assert paths(run, "../../a") == ["../../a/Modelfile"]


def test_standard_input(folder: Path) -> None:
    ran = spawn("check", "-", stdin=BAD.encode())
    assert ran.returncode == 1
    assert ran.stdout.startswith(b"-:2:1: error SL101")
    named = spawn("check", "-", "--stdin-filename", "sub/Modelfile", "--format", "concise", stdin=BAD.encode())
    assert named.stdout.startswith(b"sub/Modelfile:2:1: error SL101")
    (folder / "sub").mkdir()
    (folder / "sub" / ".servelint.yaml").write_text("ignore: [ALL]\n")
    assert spawn("check", "-", "--stdin-filename", "sub/Modelfile", stdin=BAD.encode()).returncode == 0
    assert spawn("check", "-", stdin=b"\xff\x00\xfe").returncode == 0


def test_further_reports(run: Run, folder: Path) -> None:
    put(folder, Modelfile=BAD)
    ran = run("check", "--output", "json=a.json", "--output", "concise=b.txt", "--color", "always")
    assert ran.status == 1
    document = json.loads((folder / "a.json").read_text())
    jsonschema.validate(document, SCHEMA)
    assert document["servings"][0]["model"] == "qwen3:8b"
    assert (folder / "b.txt").read_text().startswith("Modelfile:2:1: error SL101")
    assert "\x1b[31;1merror\x1b[0m" in ran.out


@pytest.mark.parametrize(
    ("words", "settings", "colored"),
    [
        ([], {}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colors(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], settings: dict[str, str], colored: bool
) -> None:
    put(folder, Modelfile=BAD)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b" in run("check", *words).out) is colored


def test_quiet(run: Run, folder: Path) -> None:
    put(folder, Modelfile=GOOD)
    assert run("check") == (0, "1 file, 1 deployment: stops where it should\n", "")
    assert run("check", "--quiet") == (0, "", "")
    assert run("check", "gone-" * 0 + ".git") == (0, "no serving manifest found: nothing was checked\n", "")


def test_a_baseline(run: Run, folder: Path) -> None:
    put(folder, Modelfile=BAD, sub__Modelfile=BAD)
    number = len(findings(run))
    made = run("check", "--write-baseline", "known.json")
    assert made == (0, "", f"{number} findings recorded in known.json\n")
    first = (folder / "known.json").read_text()
    assert run("check", "--write-baseline", "known.json").status == 0
    assert (folder / "known.json").read_text() == first

    ran = run("check", "--baseline", "known.json")
    assert ran.status == 0
    assert f"({number} findings in the baseline)" in ran.out
    # Lines that move, and blanks that change, are the same findings.
    put(folder, Modelfile='# a comment\n\nFROM qwen3:8b\nPARAMETER stop   "User:"\n')
    assert rules(run, "--baseline", "known.json") == []
    # It knows its files from wherever one stands, and the configuration may name it.
    put(folder, Modelfile=BAD, **{".servelint.yaml": "baseline: known.json\n"})
    os.chdir("sub")
    assert rules(run) == []
    assert rules(run, "..") == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "findings": []}', '{"version": 1, "findings": [1]}'])
def test_a_baseline_that_is_none(run: Run, folder: Path, text: str) -> None:
    put(folder, Modelfile=BAD, **{"known.json": text})
    ran = run("check", "--baseline", "known.json", "Modelfile")
    assert ran.status == 2
    assert ran.err.startswith("servelint: known.json: not a baseline")


def test_what_cannot_be_read_is_said(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, Modelfile=GOOD, **{"data.json": "[1]", "notes.txt": "x"})
    os.mkfifo("pipe")
    found = findings(run, "pipe", "Modelfile")
    assert [(each["rule"], each["path"], each["line"]) for each in found] == [("SL903", "pipe", 1)]
    assert "not a regular file" in found[0]["message"]
    assert run("check", "--ignore", "SL903", "pipe").status == 0

    def small(path: Path, limit: int = 2) -> bytes:
        from servelint.files.context import read_bytes

        return read_bytes(path, 2)

    monkeypatch.setattr("servelint.cli.session.read_bytes", small)
    # Only what looks like a manifest by its name and beginning, be it named or found.
    for words in ((), ("Modelfile", "data.json", "notes.txt")):
        assert [(each["rule"], each["path"]) for each in findings(run, *words)] == [("SL903", "Modelfile")]


def test_a_folder_without_permission(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, sub__Modelfile=BAD)
    honest = os.scandir

    def scandir(path: str) -> object:
        # Not by permission bits: root, as whom CI runs, may read everything.
        if Path(path).name == "sub":
            raise PermissionError(13, "Permission denied")
        return honest(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert [(each["rule"], each["path"]) for each in findings(run)] == [("SL903", "sub")]


def test_files_beside_it_are_read_within_the_repository_only(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    from servelint.checks.run import lint
    from servelint.files.context import Context

    def noting(path: str, data: bytes, context: Context, *rest: Any) -> Any:
        seen.append(os.path.relpath(context.root, folder))
        return lint(path, data, context, *rest)

    monkeypatch.setattr("servelint.cli.session.lint", noting)
    put(folder, a__Modelfile=GOOD, inner__deep__Modelfile=GOOD, **{"inner/.git": "gitdir: x\n"})
    outside = folder.parent / "outside"
    outside.mkdir()
    put(outside, Modelfile=GOOD)
    for path in ("a", "inner/deep/Modelfile", "../outside"):
        assert run("check", path).status == 0
    assert seen == [".", "inner", "../outside"]


def test_what_two_files_tell_of_one_place_is_reported_once(run: Run, folder: Path) -> None:
    put(folder, **{
        "tgi.env": "MODEL_ID=Qwen/Qwen2.5-7B-Instruct\n",
        "run.sh": "docker run --env-file tgi.env ghcr.io/huggingface/text-generation-inference:2.4.1\n",
    })  # fmt: skip
    assert [(each["rule"], each["path"]) for each in findings(run)] == [("SL202", "run.sh")]


@pytest.mark.parametrize("sort", ["bad", "good"])
def test_examples(run: Run, folder: Path, golden: Callable[[str, str], None], sort: str) -> None:
    shutil.copytree(ROOT / "examples" / sort, folder / sort)
    ran = run("check", sort)
    assert ran.err == ""
    assert ran.status == (1 if sort == "bad" else 0)
    golden(f"check-{sort}", ran.out)
    golden(f"check-{sort}-concise", run("check", "--format", "concise", sort).out)
    document = json.loads(run("check", "--format", "json", sort).out)
    jsonschema.validate(document, SCHEMA)
    golden(f"inventory-{sort}", run("inventory", sort).out)


def test_real_manifests_keep_the_contract(run: Run, shared: Path, folder: Path) -> None:
    shutil.copytree(shared / "corpus" / "manifests", folder / "m")
    ran = run("check", "--format", "json", "m")
    assert ran.status in (0, 1), ran.err
    document = json.loads(ran.out)
    jsonschema.validate(document, SCHEMA)
    assert document["servings"]
