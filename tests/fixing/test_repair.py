"""Repairs: minimal, proven, idempotent; and refused where they cannot be proven."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks import run
from servelint.checks.finding import Finding, Fix
from servelint.checks.policy import Policy
from servelint.files.context import Context
from servelint.fixing import repair
from servelint.fixing.repair import fix_file
from servelint.text import Edit, Span, decode
from tests.conftest import read_rows

FIXES = read_rows("vectors/fixes.handed.jsonl")


def mend(
    text: str | bytes, name: str = "Modelfile", policy: Policy | None = None, unsafe: bool = False
) -> repair.Repair:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return fix_file(name, data, Context(Path("/nowhere")), policy or Policy(), unsafe=unsafe)


@pytest.mark.skipif(not FIXES, reason="needs the folder of recorded vectors beside the checkout")
@pytest.mark.parametrize("row", FIXES, ids=lambda row: str(row["id"]))
def test_repairs_are_those_recorded_byte_for_byte(row: dict[str, str]) -> None:
    before, after = base64.b64decode(row["input_base64"]), base64.b64decode(row["fixed_base64"])
    assert mend(before).after == after
    assert mend(after).after == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "FROM ./qwen2.5-7b-instruct.gguf\nPARAMETER stop '<|im_end|>' # end\nPARAMETER top_k 20\n",
            'FROM ./qwen2.5-7b-instruct.gguf\n# end\nPARAMETER stop "<|im_end|>"\n'
            'PARAMETER stop "<|endoftext|>"\nPARAMETER top_k 20\n',
            id="a remark, then the quotes, then the second terminator",
        ),
        pytest.param(
            'FROM qwen3:4b\nPARAMETER stop ["<im_end>", "User:"]\n',
            'FROM qwen3:4b\nPARAMETER stop "<|im_end|>"\nPARAMETER stop "User:"\nPARAMETER stop "<|endoftext|>"\n',
            id="a list, then the look-alike in it",
        ),
        pytest.param(
            "FROM qwen2.5:7b\r\nparameter num_ctx 4096 # room\r\n",
            "FROM qwen2.5:7b\r\n# room\r\nparameter num_ctx 4096\r\n",
            id="CRLF and lower case are kept",
        ),
    ],
)
def test_several_faults_of_one_line_are_mended_in_turn(before: str, after: str) -> None:
    result = mend(before)
    assert result.after.decode() == after
    assert not [finding for finding in result.result.findings if finding.severity == "error"]


def test_what_no_rule_chosen_reports_is_not_mended() -> None:
    text = "FROM qwen2.5:7b\nPARAMETER stop '<|im_end|>'\n"
    assert not mend(text, policy=Policy(ignore=("SL1",))).changed


def test_an_ignored_finding_is_not_mended() -> None:
    stops = 'PARAMETER stop "<|im_end|>"\nPARAMETER stop "<|endoftext|>"\n'
    text = f"FROM qwen2.5:7b\n# servelint: ignore[SL107] the quotes are wanted\nPARAMETER stop 'a b'\n{stops}"
    assert not mend(text).changed


def test_unsafe_repairs_wait_for_the_flag() -> None:
    text = 'FROM ./house-model.gguf\nPARAMETER stop "<im_end>"\n'
    waiting = mend(text)
    assert not waiting.changed
    assert any("--unsafe-fixes" in reason for _, reason in waiting.left)
    assert mend(text, unsafe=True).after == b'FROM ./house-model.gguf\nPARAMETER stop "<|im_end|>"\n'


def test_a_file_with_a_fault_elsewhere_is_left() -> None:
    text = "FROM qwen2.5:7b\nPARAMETER stop '<|im_end|>'\nPARAMTER stop x\n"
    result = mend(text)
    assert not result.changed
    assert any("must first be readable" in reason for _, reason in result.left)


def _with_fix(monkeypatch: pytest.MonkeyPatch, *edits: Edit) -> None:
    """Let one more rule report the file's beginning, with a repair of these edits, as long as they are not made."""
    honest = run.lint
    first: list[bytes] = []

    def lint(path: str, data: bytes, context: Context, policy: Policy, forced: bool = False) -> run.Result:
        result = honest(path, data, context, policy, forced)
        first.append(data)
        if data != first[0]:
            return result
        finding = Finding("SL999", "error", path, Span(0, 1), "made up", fix=Fix("made up", "safe", edits))
        return run.Result(
            result.path, result.kind, result.text, (finding,), result.deployments, result.internal, result.manifest
        )

    monkeypatch.setattr(repair, "lint", lint)


@pytest.mark.parametrize(
    ("name", "text", "edit", "reason"),
    [
        ("Modelfile", "FROM m\n# why\nPARAMETER top_k 1\n", Edit(7, 13, ""), "comment '# why' would be lost"),
        ("Modelfile", "FROM m\nPARAMETER top_k 1\n", Edit(7, 7, '"'), "cannot be read"),
        ("Modelfile", 'FROM m\nPARAMETER top_k 1\nSYSTEM a"""\n', Edit(7, 7, 'SYSTEM """'), "would change"),
        ("generation_config.json", '{"eos_token_id": 1, "top_k": 2}', Edit(17, 18, '1, "x": 4'), "come or go"),
        ("generation_config.json", '{"eos_token_id": 1}', Edit(17, 18, "["), "cannot be read"),
    ],
)
def test_an_unproven_repair_is_not_made(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, edit: Edit, reason: str
) -> None:
    _with_fix(monkeypatch, edit)
    result = mend(text, name)
    assert not result.changed
    assert any(reason in why for _, why in result.left), result.left


def test_a_batch_with_one_bad_repair_keeps_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = run.lint
    text = "FROM qwen2.5:7b\nPARAMETER stop '<|im_end|>'\n# note\n"

    def lint(path: str, data: bytes, context: Context, policy: Policy, forced: bool = False) -> run.Result:
        result = honest(path, data, context, policy, forced)
        bad = Finding("SL999", "error", path, Span(0, 1), "made up", fix=Fix("bad", "safe", (Edit(44, 50, ""),)))
        found = (*result.findings, bad) if b"# note" in data else result.findings
        return run.Result(
            result.path, result.kind, result.text, found, result.deployments, result.internal, result.manifest
        )

    monkeypatch.setattr(repair, "lint", lint)
    result = mend(text)
    assert result.after.decode() == (
        'FROM qwen2.5:7b\nPARAMETER stop "<|im_end|>"\nPARAMETER stop "<|endoftext|>"\n# note\n'
    )
    assert any("could not be proven" in why for _, why in result.left)


LINES = st.sampled_from(
    [
        "PARAMETER stop <|im_end|>", 'PARAMETER stop "<|im_end|>"', "PARAMETER stop '<|endoftext|>'",
        "PARAMETER top_k 20",
        'PARAMETER stop "<im_end>"', 'PARAMETER stop ["<|im_end|>", "User:"]', "PARAMETER stop <|im_end|> # end",
        "# a remark", "SYSTEM Be brief. # really", 'PARAMETER stop "a" "b"', "PARAMETER num_ctx 4096   # room", "",
        'SYSTEM """\n# no remark\nPARAMETER stop "x"\n"""', "  parameter stop “<|im_end|>”",
        'PARAMETER stop "<|im_end|>" # q',
        "PARAMETER max_tokens 100", "PARAMETER stop User:", 'TEMPLATE """<|im_start|>user\n{{ .Prompt }}"""',
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["FROM qwen2.5:7b", "FROM ./Qwen3-8B-Q4_K_M.gguf", "FROM ./llama-3.1-8b-instruct.gguf", "FROM x"]),
    st.lists(LINES, max_size=7),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_a_repair_keeps_comments_is_idempotent_and_adds_no_fault(
    source: str, lines: list[str], newline: str, final: bool, mark: bytes
) -> None:
    text = newline.join([source, *[line.replace("\n", newline) for line in lines]]) + (newline if final else "")
    before = mark + text.encode()
    result = mend(before)
    assert result.after.startswith(mark)
    again = mend(result.after)
    assert again.after == result.after
    errors = {
        f.rule for f in run.lint("Modelfile", before, Context(), Policy(), True).findings if f.severity == "error"
    }
    assert {finding.rule for finding in result.result.findings if finding.severity == "error"} <= errors
    old = run.lint("Modelfile", before, Context(), Policy(), True).manifest
    new = result.result.manifest
    assert old is not None and new is not None
    kept = [comment.text for comment in new.comments]
    assert all(comment.text in kept for comment in old.comments)
    assert decode(result.after).text.endswith(newline) == text.endswith(newline)
