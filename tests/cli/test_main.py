"""Which command a command line means, and how each run ends."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import servelint
from servelint.cli import check, checking, fix, repairing
from servelint.cli.main import COMMANDS, main
from servelint.report import FORMATS
from tests.cli.conftest import Run, spawn

GOOD = "FROM qwen3:8b\n"
BAD = 'FROM qwen3:8b\nPARAMETER stop "User:"\n'


def test_help_reads_well(run: Run) -> None:
    ran = run("--help")
    assert ran.status == 0
    for command in COMMANDS:
        assert f"\n  {command} " in ran.out
    assert "Exit status: 0" in ran.out
    assert "..." not in ran.out.split("Commands:")[1]
    for command in COMMANDS:
        page = run(command, "--help")
        assert page.status == 0
        assert page.out.startswith(f"Usage: servelint {command} ")
    assert run("-h").out == ran.out


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"servelint {servelint.__version__}\n", "")


def test_check_is_the_default(run: Run, folder: Path) -> None:
    (folder / "Modelfile").write_text(BAD)
    expected = run("check", "Modelfile")
    assert expected.status == 1
    assert "SL101" in expected.out
    for words in [(), (".",), ("Modelfile",), ("--color", "auto"), ("--color", "auto", "Modelfile"), ("check",)]:
        assert run(*words) == expected


def test_the_short_cut_past_the_parser_does_what_the_parser_does() -> None:
    pairs = ((check.command, checking.check), (fix.command, repairing.fix))
    for parsed, direct in pairs:
        options = {name: option.default for name, option in inspect.signature(parsed).parameters.items()}
        own = {name: option.default for name, option in inspect.signature(direct).parameters.items()}
        assert options == own


def test_every_format_can_be_asked_for(run: Run, folder: Path) -> None:
    for name in FORMATS:
        assert run("check", "--format", name).status == 0
    assert run("check", "--format", "xml").status == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nope"], "No such option: --nope"),
        (["check", "--fail-on", "never"], "--fail-on"),
        (["fix"], "Missing argument 'PATH...'"),
        (["explain"], "Missing argument 'RULE'"),
        (["gone.yaml"], "servelint: gone.yaml: no such file or directory\n"),
        (["gone/"], "servelint: gone/: no such file or directory\n"),
        (["chek"], "servelint: chek: no such file or directory; did you mean the command 'check'?\n"),
        (["Modelfile", "fix"], "servelint: fix: no such file or directory; the command comes first: servelint fix …\n"),
        (["a\0b"], "servelint: a\\x00b: embedded null byte\n"),
        (["--select", "SL999"], "servelint: there is no rule 'SL999'"),
        (["--ignore", "mising-terminator"], "did you mean SL101 missing-terminator"),
        (["--config", "gone.yaml"], "servelint: gone.yaml: no such file or directory\n"),
        (["--baseline", "gone.json", "Modelfile"], "servelint: gone.json: no such file or directory\n"),
        (["--output", "xml=a"], "servelint: --output xml=a: must be FORMAT=FILE"),
        (["--output", "json"], "servelint: --output json: must be FORMAT=FILE"),
        (["--output", "json=gone/a.json"], "servelint: cannot write gone/a.json: No such file or directory\n"),
        (["--write-baseline", "gone/a.json"], "servelint: cannot write gone/a.json: No such file or directory\n"),
        (["explain", "SL1o1"], "servelint: there is no rule SL1o1; did you mean SL101 missing-terminator"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(run: Run, folder: Path, words: list[str], message: str) -> None:
    (folder / "Modelfile").write_text(BAD)
    ran = run(*words)
    assert ran.status == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_broken_configuration_is_status_2(run: Run, folder: Path) -> None:
    (folder / "Modelfile").write_text(BAD)
    (folder / ".servelint.yaml").write_text("profil: strict\n")
    for words in (["Modelfile"], ["."], ["fix", "Modelfile"], ["inventory"]):
        ran = run(*words)
        assert ran.status == 2
        assert ran.err.startswith("servelint: .servelint.yaml:1: unknown key 'profil'")
        assert ran.out == ""
    assert (folder / "Modelfile").read_text() == BAD


class OddError(Exception):
    """Something that no one has thought of."""


@pytest.mark.parametrize("words", [["check"], ["fix", "."], ["inventory"]])
def test_where_servelint_breaks_the_other_results_stand(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    (folder / "a.Modelfile").write_text(BAD)
    (folder / "b.Modelfile").write_text(BAD)
    from servelint.checks.run import Result, lint

    def broken(path: str, *rest: object, **named: object) -> Result:
        if path.startswith("a"):
            raise OddError("what\x1b[31m happened")
        return lint(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr("servelint.cli.session.lint", broken)
    monkeypatch.setattr("servelint.fixing.repair.lint", broken)
    ran = run(*words)
    assert ran.status == 3
    assert "a.Modelfile: OddError: what\\x1b[31m happened (" in ran.err
    assert f"servelint {servelint.__version__}, Python " in ran.err
    assert "Traceback" not in ran.err
    assert "b.Modelfile" in ran.out


def test_a_broken_rule_is_told(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "Modelfile").write_text(BAD)
    from servelint.checks.run import lint
    from servelint.records import replace

    monkeypatch.setattr(
        "servelint.cli.session.lint", lambda *words: replace(lint(*words), internal=("rule SL000 broke",))
    )
    ran = run("check", "--format", "json")
    assert ran.status == 3
    assert '{"path": "Modelfile", "message": "rule SL000 broke"}' in ran.out
    assert '"rule": "SL101"' in ran.out
    assert "  rule SL000 broke\n" in ran.err


def test_nothing_that_is_raised_gets_through(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (RuntimeError("odd"), RecursionError("deep"), MemoryError(), UnicodeError("x")):

        def raising(*words: object, error: Exception = error, **named: object) -> int:
            raise error

        monkeypatch.setattr("servelint.cli.checking.check", raising)
        assert main(["Modelfile"]) == 3
        err = capsys.readouterr().err
        assert type(error).__name__ in err
        assert "Traceback" not in err
    monkeypatch.setattr("servelint.cli.checking.check", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    assert main(["Modelfile"]) == 130


needs_shell = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")


@needs_shell
def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    (folder / "Modelfile").write_text(BAD * 3000)
    process = subprocess.Popen(
        [sys.executable, "-m", "servelint", "--format", "jsonl"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said(folder: Path) -> None:
    (folder / "Modelfile").write_text(BAD)
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run([sys.executable, "-m", "servelint"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert ran.returncode == 2
    assert ran.stderr == b"servelint: cannot write the output: no space left on device\n"


# A shell's background jobs are born deaf to interrupts.
_PROGRAM = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); print(flush=True)\n"


@needs_shell
@pytest.mark.parametrize("words", [["check", "-"], ["fix", "-"]])
def test_an_interrupt_ends_quietly(folder: Path, words: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", f"{_PROGRAM}from servelint.cli.main import main; exit(main({words!r}))"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    # It waits for its standard input by now, or will; an interrupt while it still imports must not show either.
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")


def test_output_that_is_not_unicode(folder: Path) -> None:
    (folder / "Modelfile.漢").write_text('FROM qwen3:8b\nPARAMETER stop "漢字"\n', encoding="utf-8")
    ran = spawn("check", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert ran.returncode == 1
    assert b"Modelfile.\\u6f22:2:1: error SL101" in ran.stdout
    assert ran.stderr == b""


def test_a_path_that_is_not_unicode(folder: Path) -> None:
    name = b"Modelfile.\xff"
    try:
        Path(os.fsdecode(name)).write_text(BAD)
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    for words in ([], [os.fsdecode(name)], ["--format", "json"], ["fix", "--diff", "."]):
        ran = spawn(*words)
        assert ran.returncode == 1
        assert ran.stderr == b"" or words[:1] == ["fix"]
