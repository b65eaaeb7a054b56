"""Makefiles, justfiles, Procfiles and SkyPilot tasks: the words that their shells get, and where these stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.run import Result
from servelint.files.context import Context
from servelint.manifests.recipes import read_lines
from servelint.text import Source
from tests.checks.linting import loud, of_rule, repaired, run, written

SERVE = "vllm serve acme/quill"


def commands(result: Result) -> list[list[str | None]]:
    """The words of every launch behind `serve`, None for one that cannot be known."""
    return [[word.text for word in d.serving.arguments or ()][1:] for d in result.deployments]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("tab", f"run:\n\t{SERVE} --port 80\n", [["acme/quill", "--port", "80"]]),
        ("no tab is no recipe", f"run:\n    {SERVE}\n", []),
        ("prefixes", f"run:\n\t@{SERVE}\n\t-{SERVE}\n\t+{SERVE}\n\t@-+ {SERVE}\n", [["acme/quill"]] * 4),
        (
            "continued",
            f"run:\n\t@{SERVE} \\\n\t\t--port 80 \\\n\t\t--tp=2\n",
            [["acme/quill", "--port", "80", "--tp=2"]],
        ),
        ("continued in quotes", "run:\n\tvllm serve 'acme\\\n\t/quill'\n", [["acme\\\n/quill"]]),
        ("the last line is open", f"run:\n\t{SERVE} \\\n", [["acme/quill"]]),
        ("no final newline", f"run:\n\t{SERVE}", [["acme/quill"]]),
        ("CRLF", f"run:\r\n\t{SERVE} \\\r\n\t  --port 80\r\n", [["acme/quill", "--port", "80"]]),
        ("behind the rule", f"run: deps ; {SERVE}\n", [["acme/quill"]]),
        ("a comment behind a rule", f"run: deps # ; {SERVE}\n", []),
        ("a comment", f"# \t{SERVE}\nrun:\n\t# {SERVE}\n\ttrue\n", []),
        ("variable", "M := acme/quill\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("braces", "M = acme/quill\nrun:\n\tvllm serve ${M}\n", [["acme/quill"]]),
        ("one letter", "M = acme/quill\nrun:\n\tvllm serve $M\n", [["acme/quill"]]),
        ("set below", "run:\n\tvllm serve $(M)\nM = acme/quill\n", [["acme/quill"]]),
        ("part of a word", "M = quill\nrun:\n\tvllm serve acme/$(M)-7b\n", [["acme/quill-7b"]]),
        ("in single quotes", "M = quill\nrun:\n\tvllm serve 'acme/$(M)'\n", [["acme/quill"]]),
        ("a default", "M ?= acme/quill\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("a default too late", "M = acme/quill\nM ?= b\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("the last holds", "M = a\nM = acme/quill\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("exported", "export M = acme/quill\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("a comment behind", "M = acme/quill # the best\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("of others", "O = acme\nM = $(O)/quill\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("of others, at once", "O = acme\nM := $(O)/quill\nO = b\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("of others, late", "O = b\nM = $(O)/quill\nO = acme\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        ("of itself", "M = $(M)\nrun:\n\tvllm serve $(M)\n", [[None]]),
        ("appended", f"A = --port 80\nA += --tp=2\nrun:\n\t{SERVE} $(A)\n", [["acme/quill", "--port", "80", "--tp=2"]]),
        (
            "on two lines",
            f"A = --port 80 \\\n  --tp=2\nrun:\n\t{SERVE} $(A)\n",
            [["acme/quill", "--port", "80", "--tp=2"]],
        ),
        ("empty", f"A =\nrun:\n\t{SERVE} $(A) --tp=2\n", [["acme/quill", "--tp=2"]]),
        ("not set", "run:\n\tvllm serve $(M)\n", [[None]]),
        ("of a shell", "M := $(shell cat model)\nrun:\n\tvllm serve $(M)\n", [[None]]),
        ("of a shell, by a mark", "M != cat model\nrun:\n\tvllm serve $(M)\n", [[None]]),
        ("a function", f"run:\n\t{SERVE} $(if $(X),--tp=2,) --port 80\n", [["acme/quill", None, "--port", "80"]]),
        ("a target's own name", f"run:\n\t{SERVE} --name $@\n", [["acme/quill", "--name", None]]),
        ("a doubled dollar", f"run:\n\tP=80; {SERVE} --port $$P\n", [["acme/quill", "--port", "80"]]),
        ("a doubled dollar in quotes", f"run:\n\t{SERVE} '$$P'\n", [["acme/quill", "$P"]]),
        ("shells apart", "run:\n\tM=acme/quill\n\tvllm serve $$M\n", [[None]]),
        ("one shell", ".ONESHELL:\nrun:\n\t@M=acme/quill\n\tvllm serve $$M\n", [["acme/quill"]]),
        ("one shell for each rule", ".ONESHELL:\na:\n\tM=b\nrun:\n\tvllm serve $$M\n", [[None]]),
        ("either branch", "ifdef X\nM = a\nelse\nM = b\nendif\nrun:\n\tvllm serve $(M)\n", [[None]]),
        ("behind the branches", "ifdef X\nM = a\nendif\nM = acme/quill\nrun:\n\tvllm serve $(M)\n", [["acme/quill"]]),
        (
            "recipes of branches",
            f"run:\nifeq ($(X),1)\n\t{SERVE}\nelse\n\tvllm serve b\nendif\n",
            [["acme/quill"], ["b"]],
        ),
        ("for a target", "M = a\nbig: M = b\nbig run:\n\tvllm serve $(M)\n", [[None]]),
        ("for a target, exported", "M = a\nbig: export M := b\nrun:\n\tvllm serve $(M)\n", [[None]]),
        ("a definition", f"define M\n\t{SERVE}\nendef\nrun:\n\tvllm serve $(M)\n", [[None]]),
        ("open parentheses", f"run:\n\t{SERVE} $(X\n", [["acme/quill", None]]),
    ],
)
def test_makefile(tmp_path: Path, name: str, text: str, expected: list[list[str | None]]) -> None:
    result = run(tmp_path, "Makefile", text)
    assert commands(result) == expected
    assert [finding for finding in result.findings if finding.rule in ("SL501", "SL508")] == []


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a variable", "m := 'acme/quill'\nrun:\n    vllm serve {{m}}\n", [["acme/quill"]]),
        ("double quotes", 'm := "acme/quill"\nrun:\n    vllm serve {{ m }}\n', [["acme/quill"]]),
        ("exported", "export m := 'acme/quill'\nrun:\n    vllm serve {{m}}\n", [["acme/quill"]]),
        ("a text", "run:\n    vllm serve acme/{{ 'quill' }}\n", [["acme/quill"]]),
        ("an expression", "m := env('M')\nrun:\n    vllm serve {{m}}\n", [[None]]),
        ("not set", "run:\n    vllm serve {{m}}\n", [[None]]),
        ("part of a word", "m := 'quill'\nrun:\n    vllm serve 'acme/{{m}}'\n", [["acme/quill"]]),
        ("a parameter", "m := 'b'\nrun m:\n    vllm serve {{m}}\n", [[None]]),
        ("a parameter with a default", "m := 'b'\nrun m='acme/quill':\n    vllm serve {{m}}\n", [[None]]),
        ("a parameter in single quotes", "run m:\n    vllm serve 'acme/{{m}}'\n", [[None]]),
        (
            "of another recipe",
            "m := 'acme/quill'\na m='x:y':\n    true\nrun:\n    vllm serve {{m}}\n",
            [["acme/quill"]],
        ),
        ("braces", f"run:\n    {SERVE} '{{{{{{{{x}}}}'\n", [["acme/quill", "{{x}}"]]),
        ("prefixes", f"run:\n    @{SERVE}\n    -{SERVE}\n    @-{SERVE}\n", [["acme/quill"]] * 3),
        ("continued", f"run:\n    {SERVE} \\\n        --port 80\n", [["acme/quill", "--port", "80"]]),
        ("CRLF", f"run:\r\n    {SERVE} --port 80\r\n", [["acme/quill", "--port", "80"]]),
        ("a tab", f"run:\n\t{SERVE}\n", [["acme/quill"]]),
        ("shells apart", "run:\n    M=acme/quill\n    vllm serve $M\n", [[None]]),
        ("a script", "run:\n    #!/usr/bin/env bash\n    M=acme/quill\n\n    vllm serve $M\n", [["acme/quill"]]),
        (
            "a script by env -S",
            "run:\n    #!/usr/bin/env -S bash -eu\n    M=acme/quill\n    vllm serve $M\n",
            [["acme/quill"]],
        ),
        (
            "a script with a here-document",
            f"run:\n    #!/bin/sh\n    cat <<EOF\n    it's\n    EOF\n    {SERVE}\nnext:\n    true\n",
            [["acme/quill"]],
        ),
        ("a script of Python", f"run:\n    #!/usr/bin/env python3\n    {SERVE}\n", []),
        ("no recipe", f"set shell := ['bash', '-c']\nalias r := run\n# x: {SERVE}\n", []),
    ],
)
@pytest.mark.parametrize("file", ["justfile", "serve.just"])
def test_justfile(tmp_path: Path, file: str, name: str, text: str, expected: list[list[str | None]]) -> None:
    result = run(tmp_path, file, text + "\n# vllm\n")
    assert commands(result) == expected
    assert [finding for finding in result.findings if finding.rule in ("SL501", "SL508")] == []


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("run port='80':\n    vllm serve acme/quill --port {{port}}\n", "80"),
        ("run port='80' *args:\n    vllm serve acme/quill --port {{port}}\n", "80"),
        ("run port:\n    vllm serve acme/quill --port {{port}}\n", None),
        ("run port='$(date)':\n    vllm serve acme/quill --port {{port}}\n", None),
    ],
)
def test_default_of_a_parameter_is_a_guess(tmp_path: Path, text: str, guess: str | None) -> None:
    (deployment,) = run(tmp_path, "justfile", text).deployments
    port = (deployment.serving.arguments or ())[-1]
    assert (port.text, port.guess) == (None, guess)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"web: {SERVE} --port $PORT\n", [["acme/quill", "--port", None]]),
        (f"web:{SERVE}\r\nworker: {SERVE} --port 81\r\n", [["acme/quill"], ["acme/quill", "--port", "81"]]),
        (f"# web: {SERVE}\n", []),
        (f"web: cd x && {SERVE}\n", [["acme/quill"]]),
        ("web: python app.py # vllm\n", []),
    ],
)
@pytest.mark.parametrize("name", ["Procfile", "Procfile.dev"])
def test_procfile(tmp_path: Path, name: str, text: str, expected: list[list[str | None]]) -> None:
    assert commands(run(tmp_path, name, text)) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a block",
            f"resources: {{}}\nrun: |\n  cd x\n  {SERVE} \\\n    --port 80\n",
            [["acme/quill", "--port", "80"]],
        ),
        ("a line", f"resources: {{}}\nrun: {SERVE}\n", [["acme/quill"]]),
        ("folded", f"resources: {{}}\nrun: >\n  {SERVE}\n  --port 80\n", [["acme/quill", "--port", "80"]]),
        (
            "envs",
            "envs: {M: acme/quill, P: 80}\nrun: |\n  vllm serve $M --port ${P}\n",
            [["acme/quill", "--port", "80"]],
        ),
        ("secrets", "resources: {}\nsecrets: {M: acme/quill}\nrun: |\n  vllm serve $M\n", [["acme/quill"]]),
        ("an env that is to be given", "envs:\n  M: null\nrun: |\n  vllm serve $M\n", [[None]]),
        ("an empty env", "envs:\n  M:\nrun: |\n  vllm serve $M\n", [[None]]),
        ("set in the script", "envs: {M: b}\nrun: |\n  M=acme/quill\n  vllm serve $M\n", [["acme/quill"]]),
        ("set by the scheduler", "resources: {}\nrun: |\n  vllm serve acme/quill --tp=$N\n", [["acme/quill", None]]),
        ("two documents", f"name: line\n---\nresources: {{}}\nrun: |\n  {SERVE}\n", [["acme/quill"]]),
        ("no task", f"steps: {{}}\nrun: |\n  {SERVE}\n", []),
        ("setup serves nothing", f"setup: |\n  {SERVE}\nrun: |\n  true # vllm\n", []),
    ],
)
def test_skypilot(tmp_path: Path, name: str, text: str, expected: list[list[str | None]]) -> None:
    result = run(tmp_path, "task.yaml", text)
    assert commands(result) == expected
    assert result.kind == ("skypilot" if expected else None)


# Places and repairs.


@pytest.mark.parametrize(
    ("name", "text", "marked", "line", "column"),
    [
        ("Makefile", f"run:\n\t@{SERVE} \\\n\t\t--prot 80\n", "--prot", 3, 3),
        ("Makefile", "M := x\nrun:\n\tvllm serve $(M) $(Y) --prot $$P\n", "--prot", 3, 23),
        ("Makefile", f"A := --prot 80\nrun:\n\t{SERVE} $(A)\n", "$(A)", 3, 24),
        ("Makefile", f".ONESHELL:\nrun:\n\tset -e\n\t{SERVE} --prot 80\n", "--prot", 4, 24),
        ("justfile", "run m:\n    @vllm serve {{m}} --prot 80\n", "--prot", 2, 23),
        ("justfile", f"run:\n    #!/bin/sh\n    set -e\n    {SERVE} --prot 80\n", "--prot", 4, 27),
        ("Procfile", f"web: {SERVE} --prot 80\n", "--prot", 1, 28),
        ("task.yaml", f"resources: {{}}\nrun: |\n  {SERVE} \\\n    --prot 80\n", "--prot", 4, 5),
    ],
)
def test_place(tmp_path: Path, name: str, text: str, marked: str, line: int, column: int) -> None:
    result = run(tmp_path, name, text)
    (finding,) = of_rule(result, "SL504")
    assert written(result, finding) == marked
    start = finding.span.start
    assert (text.count("\n", 0, start) + 1, start - (text.rfind("\n", 0, start) + 1) + 1) == (line, column)


MODELFILE = ("FROM ./qwen2.5-7b-instruct.gguf", "PARAMETER stop '<|im_end|>'", "PARAMETER num_ctx 4096")


@pytest.mark.parametrize(
    ("name", "head", "indentation", "tail"),
    [
        (
            "Makefile",
            ".ONESHELL:\nbuild:\n\tcat > Modelfile <<'EOF'\n",
            "\t",
            "\tEOF\n\tollama create q -f Modelfile\n",
        ),
        ("justfile", "build:\n    #!/bin/sh\n    cat > Modelfile <<'EOF'\n", "    ", "    EOF\n"),
        ("task.yaml", "resources: {}\nrun: |\n  cat > Modelfile <<'EOF'\n", "  ", "  EOF\n  ollama serve\n"),
        ("task.yaml", "setup: |\n  tee Modelfile <<'EOF'\n", "  ", "  EOF\nrun: |\n  ollama serve\n"),
    ],
)
def test_here_documents_are_read_and_repaired(
    tmp_path: Path, name: str, head: str, indentation: str, tail: str
) -> None:
    def file(*lines: str) -> str:
        return head + "".join(f"{indentation}{line}\n" for line in lines) + tail

    result = run(tmp_path, name, file(*MODELFILE))
    (quotes,) = of_rule(result, "SL107")
    assert written(result, quotes) == "'<|im_end|>'"
    assert repaired(result, quotes) == file(MODELFILE[0], 'PARAMETER stop "<|im_end|>"', MODELFILE[2])
    (second,) = of_rule(result, "SL102")
    assert repaired(result, second) == file(*MODELFILE[:2], 'PARAMETER stop "<|endoftext|>"', MODELFILE[2])


@pytest.mark.parametrize(
    ("name", "text", "fixed"),
    [
        (
            "Makefile",
            'run:\n\tvllm serve Q --override-generation-config "\'{\\"top_k\\":1}\'" --port $(P)\n',
            'run:\n\tvllm serve Q --override-generation-config "{\\"top_k\\":1}" --port $(P)\n',
        ),
        # What is named here and set elsewhere is not written over.
        ("Makefile", 'G := {"top_k":1}\nrun:\n\tvllm serve Q --override-generation-config $(G)\n', None),
        ("justfile", "g := '{\"top_k\":1}'\nrun:\n    vllm serve Q --override-generation-config {{g}}\n", None),
    ],
)
def test_repair_of_a_word(tmp_path: Path, name: str, text: str, fixed: str | None) -> None:
    result = run(tmp_path, name, text)
    (finding,) = of_rule(result, "SL508")
    if fixed is None:
        assert finding.fix is None
        assert finding.no_fix
        assert written(result, finding) in ("$(G)", "{{g}}")
    else:
        assert repaired(result, finding) == fixed
        assert of_rule(run(tmp_path, name, fixed), "SL508") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Makefile", "run:\n\tvllm serve Q --override-generation-config '{\"top_k\": $(K)}' # don't\n"),
        ("Makefile", "M ?= Q\n.PHONY: run\nrun: ## serve $(M)\n\t@vllm serve $(M) --port $${PORT:-8000}\n"),
        ("justfile", "# don't\nrun k:\n    vllm serve Q --override-generation-config '{\"top_k\": {{k}}}'\n"),
        ("justfile", "run:\n    #!/bin/sh\n    # don't\n    vllm serve '{{x}}' --port {{y}}\n"),
        ("Procfile", "web: vllm serve Q --port ${PORT:-8000}\n"),
        (
            "task.yaml",
            "resources: {accelerators: A100}\nrun: |\n  vllm serve Q --tensor-parallel-size $SKYPILOT_NUM_GPUS\n",
        ),
    ],
)
def test_healthy_files_are_silent(tmp_path: Path, name: str, text: str) -> None:
    result = run(tmp_path, name, text)
    assert len(result.deployments) == 1
    assert loud(result) == []


lines = st.lists(
    st.sampled_from(
        [
            "run:",
            "run m='x':",
            "\tvllm serve Q",
            "    vllm serve Q",
            "\t@vllm serve $(M) \\",
            "\t\t--port 80",
            "M = Q",
            "M := 'Q'",
            "ifdef X",
            "else",
            "endif",
            ".ONESHELL:",
            "define D",
            "endef",
            "    #!/bin/sh",
            "\t'",
            "# don't",
            "    vllm serve {{m}}",
            "\techo $",
            "\tcat <<EOF",
            "\tEOF",
            "\r",
            "\\",
            "",
        ]
    ),
    max_size=10,
)


@given(lines, st.sampled_from(["Makefile", "justfile", "Procfile"]))
@settings(max_examples=100)
def test_any_lines_are_read_in_their_places(texts: list[str], name: str) -> None:
    text = "\n".join(texts)
    manifest = read_lines(name, Source(text), Context(Path("nowhere")))
    for serving in manifest.servings if manifest is not None else ():
        assert 0 <= serving.span.start <= serving.span.end <= len(text)
        for word in serving.arguments or ():
            assert 0 <= word.span.start <= word.span.end <= len(text)
            if word.text in ("Q", "80") and word.literal:
                assert text[word.span.start : word.span.end].strip("'") == word.text
