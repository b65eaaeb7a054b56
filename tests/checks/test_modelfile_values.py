"""SL107, SL108, SL309 and SL502 on Modelfiles: what a value holds that was meant as syntax."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.linting import explained, of_rule, repaired, run, written


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("PARAMETER temperature 0.7 # warm", "# warm\nPARAMETER temperature 0.7"),
        ("  PARAMETER num_ctx 8192   # long", "  # long\n  PARAMETER num_ctx 8192"),
        ("PARAMETER stop <|im_end|> # end", "# end\nPARAMETER stop <|im_end|>"),
        ("FROM qwen2.5:7b # base", "# base\nFROM qwen2.5:7b"),
    ],
)
def test_a_comment_in_a_value(tmp_path: Path, line: str, after: str) -> None:
    head = "" if line.startswith("FROM") else "FROM m\n"
    result = run(tmp_path, "Modelfile", f"{head}{line}\n")
    (finding,) = of_rule(result, "SL502")
    assert finding.severity == "error"
    assert explained(finding)
    assert repaired(result, finding) == f"{head}{after}\n"


@pytest.mark.parametrize(
    "text",
    [
        "# head\nFROM m\n  # indented\nPARAMETER num_ctx 8192\n",
        "FROM m\nPARAMETER stop ###\n",
        'FROM m\nPARAMETER stop "# "\n',
        "FROM m\nPARAMETER stop #\n",
        'FROM m\nSYSTEM """Write # headings # and more"""\n',
        "FROM m\nSYSTEM Use C# or F# # often\n",
        'FROM m\nTEMPLATE """# {{ .Prompt }}"""\n',
        "FROM m\nMESSAGE user what is # 5\n",
    ],
)
def test_no_comment_in_a_value(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL502")


@pytest.mark.parametrize(
    "value",
    ["'<|im_end|>'", "`<|im_end|>`", "\u201c<|im_end|>\u201d", '\\"<|im_end|>\\"'],
)
def test_quotes_that_are_kept(tmp_path: Path, value: str) -> None:
    result = run(tmp_path, "Modelfile", f"FROM m\nPARAMETER stop {value}\n")
    (finding,) = of_rule(result, "SL107")
    assert (finding.severity, written(result, finding)) == ("error", value)
    assert repaired(result, finding) == 'FROM m\nPARAMETER stop "<|im_end|>"\n'


@pytest.mark.parametrize("value", ['"\\n"', '"\\nUser:"', "Human:\\n", "a\\tb:\\t"])
def test_escapes_that_are_kept(tmp_path: Path, value: str) -> None:
    (finding,) = of_rule(run(tmp_path, "Modelfile", f"FROM m\nPARAMETER stop {value}\n"), "SL107")
    assert finding.severity == "warning"
    assert explained(finding)


@pytest.mark.parametrize(
    "value",
    [
        '"<|im_end|>"',
        '"""<|im_end|>"""',
        "<|im_end|>",
        "'",
        "don't",
        "it's 'so'",
        "\\nabla",
        "C:\\temp",
        "\\end{x}",
        "\\",
        "a\\",
    ],
)
def test_no_syntax_is_kept(tmp_path: Path, value: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", f"FROM m\nPARAMETER stop {value}\n"), "SL107")


@pytest.mark.parametrize(
    "value",
    ['["<|im_end|>", "<|endoftext|>"]', '"<|im_end|>" "<|endoftext|>"', '"<|im_end|>", "<|endoftext|>"'],
)
def test_several_stops_in_one_value(tmp_path: Path, value: str) -> None:
    result = run(tmp_path, "Modelfile", f"FROM m\n  PARAMETER stop {value}\n")
    (finding,) = of_rule(result, "SL108")
    assert finding.severity == "error"
    assert explained(finding)
    assert repaired(result, finding) == ('FROM m\n  PARAMETER stop "<|im_end|>"\n  PARAMETER stop "<|endoftext|>"\n')


@pytest.mark.parametrize("value", ["a, b", "[INST]", '"[/INST]"', "Yes, sir", '"a" is said', "[]"])
def test_one_stop_is_one_stop(tmp_path: Path, value: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", f"FROM m\nPARAMETER stop {value}\n"), "SL108")


def test_carriage_returns_in_a_template(tmp_path: Path) -> None:
    text = 'FROM m\r\nTEMPLATE """{{ .System }}\r\n{{ .Prompt }}"""\r\nPARAMETER num_ctx 4096\r\n'
    result = run(tmp_path, "Modelfile", text)
    (finding,) = of_rule(result, "SL309")
    assert finding.severity == "warning"
    # The lines of the Modelfile itself may end as they like.
    assert repaired(result, finding) == text.replace("}}\r\n{{", "}}\n{{")


@pytest.mark.parametrize(
    "text",
    [
        'FROM m\r\nTEMPLATE """{{ .Prompt }}"""\r\n',
        "FROM m\r\nTEMPLATE {{ .Prompt }}\r\n",
        'FROM m\r\nSYSTEM """a\r\nb"""\r\n',
        'FROM m\nTEMPLATE """a\n{{ .Prompt }}"""\n',
    ],
)
def test_no_carriage_return_reaches_a_prompt(tmp_path: Path, text: str) -> None:
    assert not of_rule(run(tmp_path, "Modelfile", text), "SL309")
