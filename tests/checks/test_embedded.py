"""Manifests inside other files: what is found in them stands in the outer file, and is repaired there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.run import Result
from servelint.formats.shell import read_script
from servelint.formats.yaml import get, read_yaml
from servelint.manifests.launch_script import pieces_of
from servelint.text import Span, apply_edits
from tests.checks.linting import loud, of_rule, repaired, run, written

FROM = "FROM ./qwen2.5-7b-instruct.gguf"
QUOTED = "PARAMETER stop '<|im_end|>'"
MENDED = 'PARAMETER stop "<|im_end|>"'
SECOND = 'PARAMETER stop "<|endoftext|>"'
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: quill}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.2
      args:
        - "--model=acme/quill"
        - --max-modle-len=4096
        - "--served-model-name=%s"
"""


def places(result: Result) -> list[tuple[str, int, int, str]]:
    """Rule, line, column and the text of what is a warning or worse, in the outer file."""
    found = []
    for finding in result.findings:
        if finding.severity == "note":
            continue
        assert finding.path == result.path
        start = finding.span.start
        line, column = result.text.count("\n", 0, start) + 1, start - (result.text.rfind("\n", 0, start) + 1) + 1
        found.append((finding.rule, line, column, written(result, finding)))
    return found


# Here-documents.


@pytest.mark.parametrize(
    ("name", "head", "indentation", "tail"),
    [
        ("cat", "cat > Modelfile <<'EOF'\n", "", "EOF\nollama create q -f Modelfile\n"),
        ("double quotes", 'cat >Modelfile <<"EOF"\n', "", "EOF\n"),
        ("a backslash", "cat <<\\EOF > Modelfile\n", "", "EOF\n"),
        ("tee", "tee Modelfile <<'EOF' >/dev/null\n", "", "EOF\n"),
        ("a pipe to tee", "cat <<'EOF' | sudo tee /srv/Modelfile\n", "", "EOF\n"),
        ("ollama", "ollama create q -f - <<'EOF'\n", "", "EOF\n"),
        ("a branch", "if true; then\ncat > Modelfile <<'EOF'\n", "", "EOF\nfi\n"),
        ("a function", "build() {\ncat > Modelfile <<'EOF'\n", "", "EOF\n}\nbuild\n"),
    ],
)
def test_modelfile_of_a_quoted_here_document(tmp_path: Path, name: str, head: str, indentation: str, tail: str) -> None:
    def script(*lines: str) -> str:
        return "#!/bin/sh\n# llama\n" + head + "".join(f"{indentation}{line}\n" for line in lines) + tail

    result = run(tmp_path, "build.sh", script(FROM, QUOTED))
    line = 3 + head.count("\n")
    assert places(result) == [("SL107", line + 1, len("PARAMETER stop ") + 1, "'<|im_end|>'")]
    (quotes,), (second,) = of_rule(result, "SL107"), of_rule(result, "SL102")
    assert repaired(result, quotes) == script(FROM, MENDED)
    assert repaired(result, second) == script(FROM, QUOTED, SECOND)
    both = repaired(run(tmp_path, "build.sh", script(FROM, MENDED)), second)
    assert loud(run(tmp_path, "build.sh", both)) == []


def test_tabs_of_a_stripped_here_document(tmp_path: Path) -> None:
    text = f"if true; then\n\tcat > Modelfile <<-'EOF'\n\t{FROM}\n\t{QUOTED}\n\tEOF\nfi\n# llama\n"
    result = run(tmp_path, "build.sh", text)
    assert places(result) == [("SL107", 4, 17, "'<|im_end|>'")]
    (second,) = of_rule(result, "SL102")
    fixed = repaired(result, second)
    (heredoc,) = read_script(fixed).heredocs
    assert heredoc.text == f"{FROM}\n{QUOTED}\n{SECOND}\n"


@pytest.mark.parametrize(
    ("name", "before", "lines", "place"),
    [
        ("nothing to fill in", "", (FROM, QUOTED), ("SL107", 3, 16, "'<|im_end|>'")),
        ("an escaped dollar", "", (FROM, "# \\$5", QUOTED), ("SL107", 4, 16, "'<|im_end|>'")),
        ("an escaped back quote", "", (FROM, "# \\`a\\` \\\\", QUOTED), ("SL107", 4, 16, "'<|im_end|>'")),
        ("a joined line", "", (FROM, "# a \\", "b", QUOTED), ("SL107", 5, 16, "'<|im_end|>'")),
        ("a variable above", "M=x.gguf\n", ("FROM ./qwen2.5-7b-$M", QUOTED), ("SL107", 4, 16, "'<|im_end|>'")),
        ("a variable of lines", "M='a\n# b'\n", (FROM, "# ${M}", QUOTED), ("SL107", 6, 16, "'<|im_end|>'")),
        ("two variables", "A=1 B=2\n", (FROM, "# $A$B $A", QUOTED), ("SL107", 5, 16, "'<|im_end|>'")),
        ("arithmetic", "", (FROM, "# $((1+1)) $(echo hi)", QUOTED), ("SL107", 4, 16, "'<|im_end|>'")),
        ("in a variable", "S=\"'<|im_end|>'\"\n", (FROM, "PARAMETER stop $S"), ("SL107", 4, 16, "$S")),
        ("part of a variable", "S='<|im_end|>'\n", (FROM, "PARAMETER stop '$S'"), ("SL107", 4, 16, "'$S'")),
        ("a lone dollar", "", (FROM, "# 5 $ and $", QUOTED), ("SL107", 4, 16, "'<|im_end|>'")),
    ],
)  # fmt: skip
def test_modelfile_of_an_unquoted_here_document(
    tmp_path: Path, name: str, before: str, lines: tuple[str, ...], place: tuple[str, int, int, str]
) -> None:
    text = before + "cat > Modelfile <<EOF\n" + "".join(f"{line}\n" for line in lines) + "EOF\n"
    result = run(tmp_path, "build.sh", text)
    assert places(result) == [place]
    # What the shell would fill in is not written from here.
    assert all(finding.fix is None and finding.no_fix for finding in of_rule(result, "SL107"))


@pytest.mark.parametrize(
    "body",
    [
        f"FROM $1\n{QUOTED}\n",
        f"FROM ${{MODEL}}\n{QUOTED}\n",
        f"FROM $(cat model)\n{QUOTED}\n",
    ],
)
def test_what_an_unknown_variable_may_change_is_not_judged(tmp_path: Path, body: str) -> None:
    result = run(tmp_path, "build.sh", f"cat > Modelfile <<EOF\n{body}EOF\n# llama\n")
    assert (result.kind, result.findings) == (None, ())


@pytest.mark.parametrize(
    "head",
    [
        "cat <<EOF | kubectl apply -f -",
        "kubectl apply -f - <<EOF",
        "kubectl create -n x -f - <<EOF",
        "cat <<EOF | sudo k3s kubectl apply -f -",
        "cat <<EOF | tee pod.yaml",
        "cat > pod.yaml <<EOF",
        "oc apply -f - <<'EOF'",
    ],
)
@pytest.mark.parametrize("name", ["quill", "${NAME}", "$(NAME)"])
def test_pod_of_a_here_document(tmp_path: Path, head: str, name: str) -> None:
    result = run(tmp_path, "deploy.sh", f"#!/bin/sh\nset -eu\n{head}\n{POD % name}EOF\necho done\n")
    assert places(result) == [("SL504", 13, 11, "--max-modle-len=4096")]
    assert [d.serving.span.start < result.text.index("EOF\necho") for d in result.deployments] == [True]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("escaped for Kubernetes", "\\$(NAME)", "$(NAME)"),
        ("escaped beside a variable", "${A}\\$(NAME)", None),
        ("a doubled backslash", "a\\\\\\\\b", "a\\b"),
        ("a value", "$Q", "quill"),
    ],
)
def test_escapes_in_yaml_are_the_shells(tmp_path: Path, name: str, value: str, expected: str | None) -> None:
    result = run(tmp_path, "deploy.sh", f"Q=quill\nkubectl apply -f - <<EOF\n{POD % value}EOF\n")
    assert places(result) == [("SL504", 12, 11, "--max-modle-len=4096")]
    last = (result.deployments[0].serving.arguments or ())[-1]
    assert last.text == (None if expected is None else f"--served-model-name={expected}")


parts = st.sampled_from(
    ["a", "$A", "${A}", "\\$", "\\\\", "\\\n", "$(echo x)", "$", "\n", "é", "`echo y`", "$A$B", "\\`", " "]
)


@given(st.lists(parts, max_size=8), st.sampled_from(["", "1", "a", "a\n", "$A"]))
@settings(max_examples=100)
def test_every_character_of_a_here_document_has_its_place(texts: list[str], value: str) -> None:
    body = "".join(texts)
    script = f"A='{value}'\nB=2\ncat > Modelfile <<EOF\n{body}\nEOF\n"
    heredocs = read_script(script).heredocs
    start = script.index("<<EOF\n") + 6
    for heredoc, piece in zip(heredocs, pieces_of(heredocs), strict=False):
        inner = piece.inner
        assert inner.text == heredoc.text
        for index, character in enumerate(inner.text):
            span = inner.host_span(Span(index, index + 1))
            assert start <= span.start < span.end <= len(script)
            shown = script[span.start : span.end]
            if len(shown) == 1:
                assert shown == character
            else:
                assert shown[0] in "$\\`"


# ConfigMaps and Secrets.


CONFIG = """\
apiVersion: v1
kind: {kind}
metadata: {{name: quill}}
{key}:
  Modelfile: |
    FROM ./qwen2.5-7b-instruct.gguf
    PARAMETER stop '<|im_end|>'
  generation_config.json: |
    {{"eos_token_id": "151645"}}
  start.sh: |
    #!/bin/sh
    exec vllm serve acme/quill \\
      --max-modle-len 4096
  tgi.env: |
    MODEL_ID=acme/quill
    MAX_TOTAL_TOKENS=32k
"""


@pytest.mark.parametrize(("kind", "key"), [("ConfigMap", "data"), ("Secret", "stringData")])
def test_files_of_a_config_map(tmp_path: Path, kind: str, key: str) -> None:
    text = CONFIG.format(kind=kind, key=key)
    result = run(tmp_path, "config.yaml", text)
    assert places(result) == [
        ("SL107", 7, 20, "'<|im_end|>'"),
        ("SL116", 9, 22, '"151645"'),
        ("SL504", 13, 7, "--max-modle-len"),
        ("SL505", 16, 22, "32k"),
    ]
    (quotes,), (number,) = of_rule(result, "SL107"), of_rule(result, "SL116")
    assert repaired(result, quotes) == text.replace(QUOTED, MENDED)
    assert repaired(result, number) == text.replace('"151645"', "151645")
    (second,) = of_rule(result, "SL102")
    assert repaired(result, second) == text.replace(QUOTED, f"{QUOTED}\n    {SECOND}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("literal", "|\n    {}\n    {}\n"),
        ("stripped", "|-\n    {}\n    {}\n"),
        ("deeper", "|\n        {}\n        {}\n"),
        ("an indentation of its own", "|2\n    {}\n    {}\n"),
        ("double quotes", '"{}\\n{}\\n"\n'),
        ("a comment behind", "| # a file\n    {}\n    {}\n"),
    ],
)
def test_repair_decodes_to_what_is_meant(tmp_path: Path, name: str, value: str) -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: q}\ndata:\n  Modelfile: "

    def decoded(text: str) -> list[str]:
        (root,) = read_yaml(text).documents
        node = get(get(root, "data"), "Modelfile")
        assert node is not None
        return [line.strip() for line in node.text.split("\n") if line.strip()]

    text = head + value.format(FROM, QUOTED) + "  other: x\n"
    result = run(tmp_path, "config.yaml", text)
    (quotes,), (second,) = of_rule(result, "SL107"), of_rule(result, "SL102")
    assert decoded(repaired(result, quotes)) == [FROM, MENDED]
    assert decoded(repaired(result, second)) == [FROM, QUOTED, SECOND]
    assert quotes.fix is not None
    assert second.fix is not None
    both = apply_edits(result.text, (*quotes.fix.edits, *second.fix.edits))
    assert decoded(both) == [FROM, MENDED, SECOND]
    assert both.endswith("  other: x\n")
    assert loud(run(tmp_path, "config.yaml", both)) == []


@pytest.mark.parametrize(
    "value",
    [
        "|\n    {}\n",
        "|+\n    {}\n\n",
        ">\n    {}\n",
        "'{}\n\n    '\n",
    ],
)
def test_json_of_a_config_map(tmp_path: Path, value: str) -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: q}\ndata:\n  generation_config.json: "
    text = head + value.format('{"eos_token_id": ["151645", 151643], "top_p": 0.8}')
    result = run(tmp_path, "config.yaml", text)
    (finding,) = of_rule(result, "SL116")
    (root,) = read_yaml(repaired(result, finding)).documents
    node = get(get(root, "data"), "generation_config.json")
    assert node is not None
    assert json.loads(node.text) == {"eos_token_id": [151645, 151643], "top_p": 0.8}


def test_a_config_map_in_a_script(tmp_path: Path) -> None:
    text = CONFIG.format(kind="ConfigMap", key="data")
    script = f"#!/bin/sh\ncat <<'EOF' | kubectl apply -f -\n{text}EOF\n"
    result = run(tmp_path, "deploy.sh", script)
    assert [(rule, line, column) for rule, line, column, _ in places(result)] == [
        ("SL107", 9, 20), ("SL116", 11, 22), ("SL504", 15, 7), ("SL505", 18, 22),
    ]  # fmt: skip
    (quotes,) = of_rule(result, "SL107")
    assert repaired(result, quotes) == script.replace(QUOTED, MENDED)


# Dockerfiles.


@pytest.mark.parametrize(
    ("name", "head", "tail"),
    [
        ("quoted", "COPY <<'EOF' /Modelfile\n", "EOF\n"),
        ("unquoted", "COPY <<EOF /Modelfile\n", "EOF\n"),
        ("into a folder", "COPY <<'Modelfile' /srv/\n", "Modelfile\n"),
        ("a script", "RUN cat > /Modelfile <<'EOF'\n", "EOF\n"),
        ("a script of its own", "RUN <<EOS\ncat > /Modelfile <<'EOF'\n", "EOF\nEOS\n"),
    ],
)
def test_modelfile_of_a_dockerfile(tmp_path: Path, name: str, head: str, tail: str) -> None:
    def dockerfile(*lines: str) -> str:
        return "FROM ollama/ollama:0.12.0\n" + head + "".join(f"{line}\n" for line in lines) + tail + "EXPOSE 11434\n"

    result = run(tmp_path, "Dockerfile", dockerfile(FROM, QUOTED))
    line = 2 + head.count("\n")
    assert places(result) == [("SL107", line + 1, 16, "'<|im_end|>'")]
    (quotes,), (second,) = of_rule(result, "SL107"), of_rule(result, "SL102")
    assert repaired(result, quotes) == dockerfile(FROM, MENDED)
    assert repaired(result, second) == dockerfile(FROM, QUOTED, SECOND)


# Silence.


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", f"cat > Modelfile <<'EOF'\n{FROM}\n{MENDED}\n{SECOND}\nEOF\n"),
        ("a.sh", f"cat > Modelfile.md <<'EOF'\n{FROM}\n{QUOTED}\nEOF\nollama serve\n"),
        ("a.sh", f"cat >> Modelfile <<'EOF'\n{QUOTED}\nEOF\nollama serve\n"),
        ("a.sh", f"cat <<'EOF'\n{FROM}\n{QUOTED}\nEOF\nollama serve\n"),
        ("a.sh", f"cat <<'EOF' > notes.txt\n{FROM}\n{QUOTED}\nEOF\nollama serve\n"),
        ("a.sh", "python3 - <<'EOF'\nimport vllm\nEOF\n"),
        ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: q}\ndata:\n  llama.txt: |\n    FROM x\n"),
    ],
)
def test_what_is_well_or_no_manifest_is_silent(tmp_path: Path, name: str, text: str) -> None:
    assert loud(run(tmp_path, name, text)) == []


def test_reports_show_places_of_the_outer_file(tmp_path: Path) -> None:
    text = f"#!/bin/sh\ncat > Modelfile <<'EOF'\n{FROM}\n{MENDED}\nEOF\n"
    (deployment,) = run(tmp_path, "build.sh", text).deployments
    serving = deployment.serving
    assert serving.path == "build.sh"
    assert text[serving.span.start :].startswith("FROM")
    assert serving.model is not None
    assert text[serving.model.span.start : serving.model.span.end] == "./qwen2.5-7b-instruct.gguf"
    (stop,) = deployment.reading.stop_set.texts
    assert stop.span is not None
    assert text[stop.span.start : stop.span.end] == '"<|im_end|>"'
