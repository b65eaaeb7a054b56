"""Dockerfiles: lines, variables, stages; the expectations follow BuildKit's own parser and its documentation."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.dockerfile import CommandLine, Dockerfile, Stage, fill, known_beginning, read_dockerfile
from servelint.text import Edit, Span, apply_edits, verbatim

_PIECES = [
    "FROM a AS b\n", "FROM b\n", "ARG x=1\n", "ARG x\n", "ENV y=$x z=${x:-d}\n", "ENV y ", "RUN <<EOF\n", "EOF\n",
    "COPY <<-'A' <<B /d/\n", "A\n", "\tB\n", 'CMD ["a", "\\u0062"]\n', "CMD [", "ENTRYPOINT []\n", "# escape=`\n",
    "# c\n", "ONBUILD ", "SHELL ", "\\\n", "`\n", "\\ \t\n", "\r\n", "\n", " ", "\t", "$", "${", "}", "'", '"', "\\",
    "<<", "--from=a ", "é", "\0", "\x85", "=", ":-", "#", "x",
]  # fmt: skip
_TEXT = st.one_of(st.text(), st.lists(st.sampled_from(_PIECES), max_size=25).map("".join))


def _read(text: str) -> list[tuple[str, str]]:
    return [(instruction.name, instruction.value.text) for instruction in read_dockerfile(text).instructions]


def _messages(text: str) -> list[str]:
    return [problem.message for problem in read_dockerfile(text).problems]


def _stage(text: str, arguments: dict[str, str] | None = None) -> Stage:
    document = read_dockerfile(text, arguments)
    assert document.problems == ()
    return document.stages[-1]


def _environment(text: str, arguments: dict[str, str] | None = None) -> dict[str, str | None]:
    return {name: entry.value for name, entry in _stage(text, arguments).environment.items()}


def _shown(line: CommandLine | None) -> list[str | None] | str | None:
    if line is None:
        return None
    if line.words is not None:
        return [word.text for word in line.words]
    assert line.script is not None
    return line.script.text


def _at(document: Dockerfile, span: Span) -> str:
    return document.text[span.start : span.end]


# Lines


@pytest.mark.parametrize(
    ("text", "instructions"),
    [
        ("FROM a\nCMD b", [("FROM", "a"), ("CMD", "b")]),
        ("from a\r\ncmd b\r\n", [("FROM", "a"), ("CMD", "b")]),
        ("  FROM\ta  \n\n \t\nCMD  b\n", [("FROM", "a"), ("CMD", "b")]),
        ("FROM a\nRUN b \\\n  c\n", [("FROM", "a"), ("RUN", "b   c")]),
        ("FROM a\nRUN b\\\nc\n", [("FROM", "a"), ("RUN", "bc")]),
        ("FROM a\nRUN b \\ \t\nc\n", [("FROM", "a"), ("RUN", "b c")]),
        ("FROM a\r\nRUN b \\\r\n  c\r\n", [("FROM", "a"), ("RUN", "b   c")]),
        ("FROM a\nRUN b \\\n# c\n  # d \\\n\ne\n", [("FROM", "a"), ("RUN", "b e")]),
        ("FROM a\nRUN b # c\n", [("FROM", "a"), ("RUN", "b # c")]),
        # Two of them escape each other.
        ("FROM a\nRUN b \\\\\nCMD c\n", [("FROM", "a"), ("RUN", "b \\\\"), ("CMD", "c")]),
        ("FROM a\nRUN b \\", [("FROM", "a"), ("RUN", "b")]),
        ("\\\nFROM \\\na\n", [("FROM", "a")]),
        ("FROM a\nRUN\n", [("FROM", "a"), ("RUN", "")]),
        ("# escape=`\nFROM a\nRUN b `\nc\nRUN d\\\n", [("FROM", "a"), ("RUN", "b c"), ("RUN", "d\\")]),
        ("# syntax=docker/dockerfile:1\n#ESCAPE = ` \nFROM `\na\n", [("FROM", "a")]),
        # Only at the very top.
        ("# c\n# escape=`\nFROM a\nRUN b `\n", [("FROM", "a"), ("RUN", "b `")]),
        ("\n# escape=`\nFROM a\nRUN b `\n", [("FROM", "a"), ("RUN", "b `")]),
        ("FROM a\nONBUILD RUN b\n", [("FROM", "a"), ("ONBUILD", "RUN b")]),
        ("FROM a\nCMD \u2003b\x85\n", [("FROM", "a"), ("CMD", "b")]),
    ],
)
def test_instructions(text: str, instructions: list[tuple[str, str]]) -> None:
    assert _read(text) == instructions


def test_spans_are_where_things_stand() -> None:
    text = "FROM a\r\n run --mount=type=cache,target='/x y' b \\\r\n# c\r\n  d\r\n"
    document = read_dockerfile(text)
    run = document.instructions[1]
    assert _at(document, run.name_span) == "run"
    assert _at(document, run.span) == text[9:-2]
    assert (run.arguments.text, run.flags[0].name, run.flags[0].value) == ("b   d", "mount", "type=cache,target=/x y")
    assert _at(document, run.flags[0].span) == "--mount=type=cache,target='/x y'"
    assert _at(document, run.arguments.host_span(Span(4, 5))) == "d"
    comment = document.comments[0]
    assert (comment.text, comment.target) == ("# c", run.span)


def test_a_comment_belongs_to_the_instruction_below() -> None:
    document = read_dockerfile("# syntax=a\n# b\nFROM a\n# c \nCMD d")
    assert [comment.text for comment in document.comments] == ["# syntax=a", "# b", "# c"]
    assert document.comments[1].target == document.instructions[0].span
    assert document.comments[2].target == document.instructions[1].span
    assert document.directives == {"syntax": "a"}


def test_a_value_is_edited_in_place() -> None:
    text = "FROM a\nRUN b \\\n  c\n"
    value = read_dockerfile(text).instructions[1].value
    edit = value.host_edit(Edit(4, 5, "new"))
    assert edit is not None
    assert apply_edits(text, [edit]) == "FROM a\nRUN b \\\n  new\n"
    assert value.host_edit(Edit(0, 1, "a\nb")) is None


@pytest.mark.parametrize(
    ("text", "flags", "arguments"),
    [
        ("COPY --from=b --link /a /c", [("from", "b"), ("link", None)], "/a /c"),
        ("COPY -- --a /c", [], "--a /c"),
        ("RUN --network=none\\\n --x=\"a b\" c", [("network", "none"), ("x", "a b")], "c"),
        ("RUN a --b", [], "a --b"),
    ],
)  # fmt: skip
def test_flags(text: str, flags: list[tuple[str, str | None]], arguments: str) -> None:
    instruction = read_dockerfile(f"FROM a\n{text}\n").instructions[1]
    assert [(flag.name, flag.value) for flag in instruction.flags] == flags
    assert instruction.arguments.text == arguments
    assert all(instruction.flag(name) is not None for name, _ in flags)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FROM a\nENTRPOINT b\n", "there is no instruction ENTRPOINT; ENTRYPOINT is meant, perhaps"),
        ("FROM a\nversion: 3\n", "there is no instruction VERSION:"),
        ("FROM a\nONBUILD FROM b\n", "FROM cannot stand behind ONBUILD"),
        ("FROM a\nONBUILD RUM b\n", "there is no instruction RUM; RUN is meant, perhaps"),
        ("FROM a\nONBUILD\n", "ONBUILD names no instruction"),
        ("RUN a\nFROM b\n", "RUN stands before the first FROM"),
        ("", "the file has no instructions"),
        ("# only\n", "the file has no instructions"),
        ("FROM a\n\\\n", "a line is continued, and nothing follows"),
        ("# escape=x\nFROM a\n", "the escape character can only be \\ or `"),
        ("# syntax=a\n# syntax=b\nFROM a\n", "the directive syntax stands here twice"),
        ("FROM\n", "FROM names no image"),
        ("FROM a b\n", "FROM takes an image, and a name behind AS"),
        ("FROM a AS b c\n", "FROM takes an image, and a name behind AS"),
        ("FROM a AS 1b\n", "1b cannot be the name of a stage"),
        ("FROM a\nENV b\n", "ENV gives this variable no value"),
        ("FROM a\nENV b=1 c\n", "ENV holds a variable without a value"),
        ("FROM a\nENV b='1\n", "the quote ' is never closed"),
        ("FROM a\nENV b=${}\n", "a bad substitution"),
        ("FROM a\nENV b=${c\n", "a substitution lacks its }"),
        ("FROM a\nENV b=${c:-d\n", "a substitution lacks its }"),
        ("FROM a\nENV b=${c!d}\n", "a substitution has the unknown modifier '!'"),
        ("FROM a\nARG\n", "ARG names no build argument"),
        ("FROM a\nRUN <<EOF\nb\n", "the here-document EOF is never closed"),
        ("FROM a\nCMD [1]\n", "the list behind CMD holds something that is no string"),
        ("FROM a\nSHELL bash -c\n", "SHELL takes a list of strings, in brackets"),
        ("FROM a\nCMD --model b\n", "CMD takes no flag --model"),
        ("FROM a\nCOPY <<EOF\nEOF\n", "COPY names no destination"),
    ],
)
def test_what_the_builder_refuses(text: str, message: str) -> None:
    assert _messages(text) == [message]


def test_an_empty_line_in_an_instruction_is_only_warned_of() -> None:
    document = read_dockerfile("FROM a\nRUN b \\\n\n  c\n")
    assert document.problems == ()
    assert [warning.span for warning in document.warnings] == [Span(15, 15)]


# Commands


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('["a", "b c"]', ["a", "b c"]),
        ('[ "a",\\\n  "b" ]', ["a", "b"]),
        ('["\\u0061\\n\\"$x"]', ['a\n"$x']),
        ("[]", []),
        ("a b", "a b"),
        ("['a', 'b']", "['a', 'b']"),
        ('["a" "b"]', '["a" "b"]'),
        ('["a",]', '["a",]'),
        ('["a"] b', '["a"] b'),
        ("[ -f a ] && b", "[ -f a ] && b"),
    ],
)
def test_exec_and_shell_form(value: str, shown: list[str] | str) -> None:
    assert _shown(_stage(f"FROM a\nCMD {value}\n").command) == shown


def test_a_word_is_edited_as_json() -> None:
    text = 'FROM a\nCMD ["a", \\\n "b\\u0063"]\n'
    command = _stage(text).command
    assert command is not None and command.words is not None
    word = command.words[1]
    assert text[word.span.start : word.span.end] == '"b\\u0063"'
    assert word.inner is not None
    edit = word.inner.host_edit(Edit(1, 2, '"\n'))
    assert edit is not None
    assert apply_edits(text, [edit]) == 'FROM a\nCMD ["a", \\\n "b\\"\\n"]\n'


@pytest.mark.parametrize(
    ("text", "entry_point", "command", "inherited"),
    [
        ("FROM a\nCMD b\n", None, "b", ()),
        ("FROM a\nCMD b\nENTRYPOINT c\n", "c", "b", ()),
        ("FROM a\nCMD b\nCMD c\n", None, "c", ()),
        ("FROM a AS x\nENTRYPOINT b\nCMD c\nFROM x\n", "b", "c", ("CMD", "ENTRYPOINT")),
        ("FROM a AS x\nENTRYPOINT b\nCMD c\nFROM x\nCMD d\n", "b", "d", ("ENTRYPOINT",)),
        ("FROM a AS x\nENTRYPOINT b\nCMD c\nFROM x\nENTRYPOINT d\n", "d", None, ()),
        ("FROM a AS x\nENTRYPOINT b\nCMD c\nFROM x\nCMD e\nENTRYPOINT d\n", "d", "e", ()),
        ("FROM a AS x\nENTRYPOINT b\nCMD c\nFROM x\nENTRYPOINT []\n", [], None, ()),
        ("FROM a AS x\nCMD c\nFROM a\n", None, None, ()),
        ("FROM a AS x\nCMD c\nFROM X AS y\nFROM y\n", None, "c", ("CMD", "ENTRYPOINT")),
    ],
)
def test_what_a_stage_starts(
    text: str, entry_point: list[str] | str | None, command: list[str] | str | None, inherited: tuple[str, ...]
) -> None:
    stage = _stage(text)
    assert (_shown(stage.entry_point), _shown(stage.command), stage.inherited) == (entry_point, command, inherited)


def test_the_shell_is_that_of_the_time() -> None:
    stage = _stage('FROM a AS x\nSHELL ["bash", "-c"]\nFROM x\nRUN b\nSHELL ["zsh"]\nCMD c\nENTRYPOINT ["d"]\n')
    assert stage.command is not None and stage.command.shell is not None and stage.shell is not None
    assert [word.text for word in stage.command.shell] == ["zsh"]
    assert [word.text for word in stage.runs[0].shell or ()] == ["bash", "-c"]
    assert _stage("FROM a\nCMD b\n").shell is None


# Variables


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("ENV a=b", {"a": "b"}),
        ("ENV a=b c=d\\\n e='f g' h=\"i j\" k=l\\ m", {"a": "b", "c": "d", "e": "f g", "h": "i j", "k": "l m"}),
        ("ENV a b  c", {"a": "b  c"}),
        ("ENV a \"b c\"", {"a": "b c"}),
        ("ENV a b=c", {"a": "b=c"}),
        ("ENV a= b=\"\"", {"a": "", "b": ""}),
        ("ENV a=b=c", {"a": "b=c"}),
        ("ENV a=1\nENV b=$a${a}c d='$a' e=\"$a\" f=\\$a g=\"\\$a\\b\"",
         {"a": "1", "b": "11c", "d": "$a", "e": "1", "f": "$a", "g": "$a\\b"}),
        # All of one instruction see what was before it.
        ("ENV a=1\nENV a=2 b=$a", {"a": "2", "b": "1"}),
        ("ENV a=1\nENV a=${a}2", {"a": "12"}),
        ("ENV e=\nENV a=${e:-d} b=${e-d} c=${e:+d} f=${e+d} g=${e:-${e:-x}}",
         {"e": "", "a": "d", "b": "", "c": "", "f": "d", "g": "x"}),
        ("ENV e=v\nENV a=${e:-d} b=${e-d} c=${e:+d} f=${e+d} g=${e:?d} h=${e:+\"}\"}",
         {"e": "v", "a": "v", "b": "v", "c": "d", "f": "d", "g": "v", "h": "}"}),
        ("ENV a=$ b=$. c=$$d e=$1f", {"a": "$", "b": "$.", "c": "d", "e": "f"}),
        ("ENV a=$b c=x$b", {"a": None, "c": None}),
        ("ENV PATH=/opt:$PATH", {"PATH": None}),
        ("ENV e=v\nENV a=${e#v} b=${e/v/w}", {"e": "v", "a": None, "b": None}),
        ("ENV n=x\nENV $n=1", {"n": "x", "x": "1"}),
        ("ARG a=1\nENV b=$a", {"b": "1"}),
        ("ARG a=1 b=$a\nENV c=$b", {"c": "1"}),
        ("ARG a\nENV b=$a c=${a:-d}", {"b": None, "c": None}),
        ("ENV a=1\nARG a\nENV b=$a", {"a": "1", "b": "1"}),
    ],
)  # fmt: skip
def test_environment(text: str, environment: dict[str, str | None]) -> None:
    assert _environment(f"FROM x\n{text}\n") == environment


def test_an_escape_of_its_own() -> None:
    assert _environment("# escape=`\nFROM x\nENV a=C:\\b c=d` e f=`$a\n") == {"a": "C:\\b", "c": "d e", "f": "$a"}


@pytest.mark.parametrize(
    ("text", "reason", "prefix", "is_default"),
    [
        ("ENV v=a$b", "b is not set in this file", "a", False),
        ("ARG b\nENV v=a$b", "the build argument b has no default", "a", False),
        ("ARG b\nENV c=$b\nENV v=$c", "the build argument b has no default", "", False),
        ("ARG b=1\nENV v=a$b", None, "a1", True),
        ("ARG b=1\nENV c=$b\nENV v=a$c", None, "a1", True),
        ("ENV b=1\nENV v=a$b", None, "a1", False),
    ],
)
def test_why_a_value_is_not_known(text: str, reason: str | None, prefix: str, is_default: bool) -> None:
    entry = _stage(f"FROM x\n{text}\n").environment["v"]
    assert (entry.reason, entry.prefix, entry.is_default) == (reason, prefix, is_default)


def test_where_a_variable_stands() -> None:
    document = read_dockerfile("FROM x\nENV a=1 \\\n  b='2 3'\nENV c 4 5\n")
    environment = document.stages[0].environment
    assert [_at(document, entry.span) for entry in environment.values()] == ["1", "'2 3'", "4 5"]
    assert [_at(document, entry.whole) for entry in environment.values()] == ["a=1", "b='2 3'", "c 4 5"]


def test_build_arguments_that_are_given() -> None:
    text = "ARG t=1\nFROM x:$t\nARG t\nARG u=2\nARG v\nENV a=$t$u$v\n"
    stage = _stage(text, {"t": "7", "u": "8", "v": "9"})
    assert stage.image.inner.text == "x:7" and not stage.is_default
    assert (stage.environment["a"].value, stage.environment["a"].is_default) == ("789", False)
    stage = _stage(text, {"v": "9"})
    assert (stage.environment["a"].value, stage.environment["a"].is_default) == ("129", True)


def test_doubling_variables_stay_small() -> None:
    text = "FROM x\nENV a=0123456789\n" + "ENV a=$a$a$a$a\n" * 40
    entry = read_dockerfile(text).stages[0].environment["a"]
    assert entry.value is None


def test_quotes_stay_where_they_are_not_taken_off() -> None:
    assert fill(verbatim("\"$a\" '$a' $a", 0), {"a": "1"}).inner.text == "\"1\" '$a' 1"
    assert fill(verbatim("\"$a\" '$a' $a", 0), {"a": "1"}, unquotes=True).inner.text == "1 $a 1"
    assert fill(verbatim("${a:-${b:-c}}", 0), {}).guesses == ("c",)


# Stages


@pytest.mark.parametrize(
    ("text", "image", "name", "base"),
    [
        ("FROM a", "a", None, None),
        ("FROM --platform=$P a:1@sha256:0 as B", "a:1@sha256:0", "b", None),
        ("ARG V=1\nFROM a:$V", "a:1", None, None),
        ("ARG V=1\nARG I=a:${V}\nFROM ${I}-x", "a:1-x", None, None),
        ("ARG V=\nFROM a:${V:-2}", "a:2", None, None),
        ('FROM "a"', "a", None, None),
        ("FROM a AS b\nFROM b AS c", "b", "c", 0),
        ("ARG B=b\nFROM a AS b\nFROM $B", "b", None, 0),
        # Of two with one name the last counts, and none builds on itself.
        ("FROM a AS b\nFROM c AS b\nFROM b AS b", "b", "b", 1),
        ("FROM a AS b\nFROM 0", "0", None, None),
    ],
)
def test_images(text: str, image: str, name: str | None, base: int | None) -> None:
    stage = _stage(text)
    assert not stage.image.names
    assert (stage.image.inner.text, stage.name, stage.base, stage.reason) == (image, name, base, None)


def test_an_image_that_is_not_known() -> None:
    document = read_dockerfile("ARG V\nFROM a/b:$V-c AS d\n")
    stage = document.stages[0]
    assert known_beginning(stage.image) == "a/b:"
    assert (stage.image.names, stage.reason) == (("V",), "the build argument V has no default")
    assert _at(document, stage.image.inner.host_span(Span(0, 4))) == "a/b:"
    assert stage.name_span is not None and _at(document, stage.name_span) == "d"


def test_an_image_is_edited_in_place() -> None:
    text = "FROM a:1 AS b\n"
    inner = _stage(text).image.inner
    edit = inner.host_edit(Edit(2, 3, "22"))
    assert edit is not None
    assert apply_edits(text, [edit]) == "FROM a:22 AS b\n"
    assert inner.host_edit(Edit(2, 3, "2 2")) is None


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        # What stands before the first FROM holds in a stage only where ARG takes it up.
        ("ARG a=1\nFROM x\nENV b=$a", {"b": None}),
        ("ARG a=1\nFROM x\nARG a\nENV b=$a", {"b": "1"}),
        ("ARG a=1\nFROM x\nARG a=2\nENV b=$a", {"b": "2"}),
        ("FROM x AS y\nENV a=1\nFROM y\nENV b=$a", {"a": "1", "b": "1"}),
        ("FROM x AS y\nENV a=1\nFROM y\nENV a=2\nFROM y", {"a": "1"}),
        ("FROM x AS y\nARG a=1\nFROM y\nENV b=$a", {"b": "1"}),
        ("FROM x AS y\nENV a=1\nFROM x\nENV b=$a", {"b": None}),
    ],
)
def test_what_a_stage_knows(text: str, environment: dict[str, str | None]) -> None:
    assert _environment(text + "\n") == environment


# Here-documents


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("COPY <<EOF /a\nb\nc\nEOF\n", [("/a", "b\nc\n", False)]),
        ("COPY --chmod=600 <<'EOF' /a\nEOF\n", [("/a", "", True)]),
        ('COPY <<-"E F" /a\n\t\tb\n\tE F\n', []),
        ("ADD <<-EOF /a\n\t\tb\n\tEOF\n", [("/a", "b\n", False)]),
        ("COPY <<a <<b /d/\n1\na\n2\nb\n", [("/d/a", "1\n", False), ("/d/b", "2\n", False)]),
        ("COPY <<a x /d/\n1\na\n", [("/d/a", "1\n", False)]),
        ("ENV D=/e\nCOPY <<a $D/f\n1\na\n", [("/e/f", "1\n", False)]),
        ("COPY <<a $D/f\n1\na\n", [("$D/f", "1\n", False)]),
        ("COPY <<EOF /a\r\nb\r\nEOF\r\n", [("/a", "b\r\n", False)]),
        ("COPY <<EOF \\\n /a\n# no comment\n\\\nEOF", [("/a", "# no comment\n\\\n", False)]),
    ],
)
def test_copied_files(text: str, files: list[tuple[str, str, bool]]) -> None:
    stage = read_dockerfile(f"FROM x\n{text}").stages[0]
    assert [(path, heredoc.body.text, heredoc.quoted) for path, heredoc in stage.files] == files


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        ("RUN <<EOF\na\nb\nEOF\nCMD c", ["a\nb\n"]),
        ("RUN --mount=type=cache <<EOF\na\nEOF\n", ["a\n"]),
        ("RUN cat <<EOF > /x\na\nEOF\n", ["cat <<EOF > /x\na\nEOF"]),
        ("RUN a <<A 3<<B\n1\nA\n2\nB\n", ["a <<A 3<<B\n1\nA\n2\nB"]),
        # None of these is one to the builder.
        ("RUN echo $((1<<2))\nRUN b", ["echo $((1<<2))", "b"]),
        ("RUN echo $((1 << 2))\nRUN b", ["echo $((1 << 2))", "b"]),
        ("RUN cat <<<b\nRUN c", ["cat <<<b", "c"]),
        ("RUN echo '<<EOF'\nRUN c", ["echo '<<EOF'", "c"]),
        ("RUN cat<<EOF\nRUN c", ["cat<<EOF", "c"]),
        ("RUN echo it's <<EOF\nRUN c", ["echo it's <<EOF", "c"]),
        ("RUN << EOF\nRUN c", ["<< EOF", "c"]),
    ],
)
def test_run_scripts(text: str, scripts: list[str]) -> None:
    assert [_shown(run) for run in _stage(f"FROM x\n{text}").runs] == scripts


def test_no_heredoc_in_the_exec_form() -> None:
    assert _read('FROM x\nRUN ["a", "<<EOF"]\nCMD b\n')[2] == ("CMD", "b")


def test_a_heredoc_behind_onbuild() -> None:
    document = read_dockerfile("FROM x\nONBUILD RUN --mount=a <<EOF\na\nEOF\nCMD b\n")
    assert document.problems == ()
    assert [instruction.name for instruction in document.instructions] == ["FROM", "ONBUILD", "CMD"]
    assert document.instructions[1].heredocs[0].body.text == "a\n"


def test_a_heredoc_is_part_of_its_instruction() -> None:
    document = read_dockerfile("FROM x\nRUN cat <<-EOF >/y\n\ta\n\tEOF\nCMD b\n")
    run = document.instructions[1]
    assert _at(document, run.span) == "RUN cat <<-EOF >/y\n\ta\n\tEOF"
    script = document.stages[0].runs[0].script
    assert script is not None and script.text == "cat <<-EOF >/y\na\nEOF"
    assert _at(document, script.host_span(Span(15, 16))) == "a"


def test_a_heredoc_body_is_edited_in_place() -> None:
    text = "FROM x\nCOPY <<EOF /a\nb\nEOF\n"
    body = _stage(text).files[0][1].body
    edit = body.host_edit(Edit(1, 1, "\nc"))
    assert edit is not None
    assert apply_edits(text, [edit]) == "FROM x\nCOPY <<EOF /a\nb\nc\nEOF\n"
    assert body.host_edit(Edit(1, 1, "\nEOF\n")) is None


# Any text


@given(_TEXT)
def test_any_text_is_read(text: str) -> None:
    document = read_dockerfile(text)
    spans = [instruction.span for instruction in document.instructions]
    assert all(one.end <= other.start for one, other in pairwise(spans))
    for instruction in document.instructions:
        assert 0 <= instruction.span.start < instruction.span.end <= len(text)
        assert instruction.span.covers(instruction.name_span)
        assert _at(document, instruction.name_span).upper().endswith(instruction.name[-1:])
        inners = [instruction.value, instruction.arguments, *(heredoc.body for heredoc in instruction.heredocs)]
        for inner in inners:
            assert len(inner.offsets) == len(inner.text) + 1
            assert all(one <= other for one, other in pairwise(inner.offsets))
            assert [text[offset] for offset in inner.offsets[:-1]] == list(inner.text)
            assert inner.offsets[-1] <= len(text)
        assert all(instruction.span.covers(flag.span) for flag in instruction.flags)
    for place in [*document.problems, *document.warnings, *document.comments]:
        assert 0 <= place.span.start <= place.span.end <= len(text)


@given(_TEXT)
def test_all_of_a_stage_lies_in_the_text(text: str) -> None:
    whole = Span(0, len(text))
    for stage in read_dockerfile(text).stages:
        lines = [line for line in (stage.entry_point, stage.command, *stage.runs) if line is not None]
        inners = [stage.image.inner, *(line.script for line in lines if line.script is not None)]
        for inner in inners:
            assert len(inner.offsets) == len(inner.text) + 1
            assert all(one <= other for one, other in pairwise(inner.offsets))
            assert whole.covers(inner.host_span(Span(0, len(inner.text))))
        for entry in stage.environment.values():
            assert entry.whole.covers(entry.span) and whole.covers(entry.whole)
            assert (entry.value is None) == (entry.reason is not None)
        assert stage.base is None or stage.base >= 0


@given(st.lists(st.text(st.characters(exclude_characters="\n")), max_size=4), st.booleans())
def test_exec_words_read_back(words: list[str], ascii_only: bool) -> None:
    text = f"FROM a\nCMD {json.dumps(words, ensure_ascii=ascii_only)}\n"
    command = _stage(text).command
    assert command is not None and command.words is not None
    assert [word.text for word in command.words] == words
    for word in command.words:
        assert json.loads(text[word.span.start : word.span.end]) == word.text
        assert word.inner is not None and word.inner.text == word.text


@given(st.text(st.characters(exclude_characters="\n\r\0"), min_size=1))
def test_a_quoted_value_is_read_back(value: str) -> None:
    quoted = "'" + value.replace("'", "'\"'\"'") + "'"
    if quoted.endswith("\\'") or "\\" in quoted:
        return
    assert _environment(f"FROM a\nENV v={quoted}\n") == {"v": value}
