"""`explain`, `rules`, `inventory`, `init`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from servelint.checks.catalogue import rules
from servelint.cli.init import TEMPLATE
from tests.cli.conftest import Run


def test_explain(run: Run, golden: Callable[[str, str], None]) -> None:
    ran = run("explain", "SL201")
    assert ran.status == 0
    golden("explain-SL201", ran.out)
    assert run("explain", "low-cap") == run("explain", "sl201") == ran


@pytest.mark.parametrize("code", sorted(rules()))
def test_every_rule_can_be_explained(run: Run, code: str) -> None:
    ran = run("explain", code)
    assert ran.status == 0
    assert ran.out.startswith(f"{code} {rules()[code].name}\n")
    assert ran.out.replace("\n", "").isprintable()
    assert json.loads(run("explain", code, "--format", "json").out)["code"] == code


def test_rules(run: Run) -> None:
    ran = run("rules")
    assert ran.status == 0
    lines = ran.out.splitlines()
    assert [line[:5] for line in lines] == sorted(rules())
    assert len({line.index(rules()[line[:5]].name) for line in lines}) == 1
    listed = json.loads(run("rules", "--format", "json").out)
    assert [rule["code"] for rule in listed] == sorted(rules())
    by_code = {rule["code"]: rule for rule in listed}
    assert by_code["SL201"]["parameters"][0]["name"] == "threshold"
    assert by_code["SL101"]["fix"] == ["safe"]


def test_inventory(run: Run, folder: Path) -> None:
    (folder / "Modelfile").write_text('FROM qwen3:8b\nPARAMETER stop "<|im_end|>"\nPARAMETER num_predict 99\n')
    ran = run("inventory")
    assert ran.status == 0
    assert "Modelfile:1: ollama\n" in ran.out
    assert '"<|im_end|>", from PARAMETER stop, line 2\n' in ran.out
    assert "stops where it should" in ran.out
    assert ran.out.endswith("1 deployment in 1 file: 1 stops\n")
    document = json.loads(run("inventory", "--format", "json", "Modelfile").out)
    assert [serving["engine"] for serving in document["servings"]] == ["ollama"]
    assert document["servings"] == json.loads(run("check", "--format", "json").out)["servings"]
    (folder / "Modelfile").unlink()
    assert run("inventory") == (0, "no deployment found\n", "")


def test_init(run: Run, folder: Path) -> None:
    ran = run("init")
    assert ran.status == 0
    assert (folder / ".servelint.yaml").read_text() == TEMPLATE
    assert run("check").status == 0
    again = run("init")
    assert again.status == 2
    assert again.err == "servelint: .servelint.yaml is there already, and stays as it is\n"
    (folder / ".servelint.yaml").unlink()
    (folder / ".servelint.yml").symlink_to("nowhere")
    assert run("init").status == 2
    assert not (folder / ".servelint.yaml").exists()
