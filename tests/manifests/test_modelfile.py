"""A Modelfile as a manifest, and the edits that its writer makes, byte for byte."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.files.context import Context
from servelint.formats.modelfile import listed_stops, read_modelfile, stray_quotes, trailing_comment
from servelint.manifests.modelfile import ModelfileWriter, read, read_modelfile_manifest, source_of
from servelint.manifests.serving import Manifest, Refusal, Serving
from servelint.text import Edit, Embedded, apply_edits, decode
from tests.conftest import read_rows

FIXES = read_rows("vectors/fixes.handed.jsonl")
TERMINATORS = ["<|im_end|>", "<|endoftext|>"]


def _serving(text: str, newline: str = "\n") -> Serving:
    return read_modelfile_manifest("Modelfile", text, newline).servings[0]


def _writer(serving: Serving) -> ModelfileWriter:
    assert isinstance(serving.writer, ModelfileWriter)
    return serving.writer


def _applied(text: str, answer: tuple[Edit, ...] | Refusal) -> str:
    assert not isinstance(answer, Refusal), answer.reason
    return apply_edits(text, answer)


def _mend(manifest: Manifest, base_model: bool) -> list[Edit]:
    """One pass of the repairs that the catalogue prescribes, for a Qwen model."""
    (serving,) = manifest.servings
    writer = _writer(serving)
    edits: list[Edit] = []
    for setting, instruction in zip(serving.settings, manifest.facts["document"].instructions, strict=True):
        comment = trailing_comment(instruction)
        answer: tuple[Edit, ...] | Refusal = ()
        if comment is not None:
            answer = writer.move_comment(setting, comment)
        elif setting.name == "stop":
            stops, cleaned = listed_stops(instruction), stray_quotes(instruction)
            if stops is not None:
                answer = writer.replace(setting, stops)
            elif cleaned is not None:
                answer = writer.replace(setting, [cleaned])
            elif setting.value == "<im_end>":
                answer = writer.respell(setting, ["<|im_end|>"])
        assert not isinstance(answer, Refusal), answer.reason
        edits.extend(answer)
    explicit = bool(serving.named("stop"))
    if not edits and not base_model and (explicit or serving.facts["source"] == "path"):
        answer = writer.add("stop", TERMINATORS)
        assert not isinstance(answer, Refusal), answer.reason
        edits.extend(answer)
    return edits


@pytest.mark.skipif(not FIXES, reason="needs the folder of recorded vectors beside the checkout")
@pytest.mark.parametrize("row", FIXES, ids=lambda row: str(row["id"]))
def test_repairs_byte_for_byte(row: dict[str, str]) -> None:
    data = base64.b64decode(row["input_base64"])
    for _ in range(4):
        source = decode(data)
        manifest = read("Modelfile", source, Context())
        assert manifest is not None
        data = source.encode(apply_edits(source.text, _mend(manifest, "-base-" in row["model"])))
    assert data == base64.b64decode(row["fixed_base64"])


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("FROM m", 'FROM m\nPARAMETER stop "x"'),
        ("FROM m\n\nSYSTEM x\n", 'FROM m\nPARAMETER stop "x"\n\nSYSTEM x\n'),
        ("SYSTEM x\nFROM m\n", 'SYSTEM x\nFROM m\nPARAMETER stop "x"\n'),
        ("FROM m\nFROM n\n", 'FROM m\nFROM n\nPARAMETER stop "x"\n'),
        ("PARAMETER seed 1\nFROM m\n", 'PARAMETER seed 1\nPARAMETER stop "x"\nFROM m\n'),
        ("FROM m\nparameter seed 1\n", 'FROM m\nparameter seed 1\nPARAMETER stop "x"\n'),
        ("FROM m\nparameter stop a\n", "FROM m\nparameter stop a\nparameter stop x\n"),
        ("FROM m\nParameter stop a  \nSYSTEM s\n", "FROM m\nParameter stop a  \nParameter stop x\nSYSTEM s\n"),
        ('FROM m\n  PARAMETER stop """a"""', 'FROM m\n  PARAMETER stop """a"""\n  PARAMETER stop """x"""'),
        ("FROM m\nPARAMETER stop 'a'\n", "FROM m\nPARAMETER stop 'a'\nPARAMETER stop \"x\"\n"),
        ("FROM m\nPARAMETER stop a # b\n", "FROM m\nPARAMETER stop a # b\nPARAMETER stop x\n"),
        ('FROM m\nPARAMETER stop "a\nb"\n', 'FROM m\nPARAMETER stop "a\nb"\nPARAMETER stop "x"\n'),
        ("FROM m\nSYSTEM a\nPARAMETER system b\n", 'FROM m\nSYSTEM a\nPARAMETER system b\nPARAMETER stop "x"\n'),
        ("FROM m\nPARAMETER stop x # end\n", "FROM m\nPARAMETER stop x # end\n"),
        ("FROM m\nPARAMETER stop 'x'\n", "FROM m\nPARAMETER stop 'x'\n"),
        ('FROM m\nPARAMETER stop ["x", "y"]\n', 'FROM m\nPARAMETER stop ["x", "y"]\n'),
    ],
)
def test_a_stop_is_added_where_its_kind_stands(text: str, fixed: str) -> None:
    assert _applied(text, _serving(text).writer.add("stop", ["x"])) == fixed


def test_lines_end_as_the_file_does() -> None:
    text = "FROM m\r\n# c\r\n"
    assert _applied(text, _serving(text, "\r\n").writer.add("stop", ["a", "b"])) == (
        'FROM m\r\nPARAMETER stop "a"\r\nPARAMETER stop "b"\r\n# c\r\n'
    )


@pytest.mark.parametrize(
    ("line", "value", "written"),
    [
        ("PARAMETER stop a", " User:", 'PARAMETER stop " User:"'),
        ("PARAMETER stop a", "", "PARAMETER stop "),
        ("PARAMETER stop a", '"x', 'PARAMETER stop ""x"'),
        ('PARAMETER stop "a"', 'x"\ny', 'PARAMETER stop """x"\ny"""'),
        ('PARAMETER stop "a"', "a\nb", 'PARAMETER stop "a\nb"'),
        ("PARAMETER stop a", "# x", "PARAMETER stop # x"),
    ],
)
def test_a_value_gets_the_quotes_that_carry_it(line: str, value: str, written: str) -> None:
    text = f"FROM m\n{line}\n"
    fixed = _applied(text, _serving(text).writer.add("stop", [value]))
    assert fixed == f"{text}{written}\n"
    assert read_modelfile(fixed).instructions[-1].value == value


def test_a_number_is_added_without_quotes() -> None:
    text = "FROM m\nSYSTEM x\n"
    serving = _serving(text)
    assert _applied(text, serving.writer.add("temperature", [0.6])) == "FROM m\nPARAMETER temperature 0.6\nSYSTEM x\n"
    assert _applied(text, serving.writer.add("use_mmap", [True])) == "FROM m\nPARAMETER use_mmap true\nSYSTEM x\n"


@pytest.mark.parametrize(
    ("text", "values", "fixed"),
    [
        (
            "FROM m\n  parameter stop <a>, <b>\n",
            ["<a>", "<b>"],
            'FROM m\n  parameter stop "<a>"\n  parameter stop "<b>"\n',
        ),
        ("FROM m\nPARAMETER\tstop   'a'", ["a"], 'FROM m\nPARAMETER\tstop   "a"'),
        ("FROM m\r\nPARAMETER stop x\r\nSYSTEM y\r\n", [], "FROM m\r\nSYSTEM y\r\n"),
        ("FROM m\nPARAMETER stop x", [], "FROM m"),
    ],
)
def test_replacing(text: str, values: list[str], fixed: str) -> None:
    serving = _serving(text, "\r\n" if "\r" in text else "\n")
    assert _applied(text, serving.writer.replace(serving.named("stop")[0], values)) == fixed


@pytest.mark.parametrize("written", ["<im_end>", '"<im_end>"', '"""<im_end>"""'])
def test_respelling_keeps_the_quotes(written: str) -> None:
    text = f"FROM m\nPARAMETER stop {written}\n"
    serving = _serving(text)
    fixed = _applied(text, _writer(serving).respell(serving.named("stop")[0], ["<|im_end|>"]))
    assert fixed == text.replace("<im_end>", "<|im_end|>")


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("FROM m # base", "# base\nFROM m"),
        ("FROM m\n\tPARAMETER seed 1\t #  x \n", "FROM m\n\t#  x \n\tPARAMETER seed 1\n"),
        (
            'FROM m\nPARAMETER stop "a" # x\nPARAMETER stop "b"\nSYSTEM y\n',
            'FROM m\n# x\nPARAMETER stop "a"\nPARAMETER stop "b"\nSYSTEM y\n',
        ),
        ('FROM m\nPARAMETER stop "a" # x', 'FROM m\n# x\nPARAMETER stop "a"'),
        ('FROM m\nSYSTEM """a\nb""" # x\nPARAMETER seed 1\n', 'FROM m\n# x\nSYSTEM """a\nb"""\nPARAMETER seed 1\n'),
        # A zero-width space before the keyword is dropped by Ollama; before a `#` it would be an error.
        ("FROM m\n\u200bPARAMETER seed 1 # x\n", "FROM m\n# x\n\u200bPARAMETER seed 1\n"),
    ],
)
def test_moving_a_remark(text: str, fixed: str) -> None:
    manifest = read_modelfile_manifest("Modelfile", text, "\n")
    (serving,) = manifest.servings
    for setting, instruction in zip(serving.settings, manifest.facts["document"].instructions, strict=True):
        start = trailing_comment(instruction)
        if start is not None:
            assert _applied(text, _writer(serving).move_comment(setting, start)) == fixed
            break
    else:
        pytest.fail("no remark was found")
    assert read_modelfile(fixed).problems == ()


def test_it_refuses_what_it_cannot_do_safely() -> None:
    broken = _serving("FROM m\nPARAMETER stop 'a'\nOOPS\n")
    assert isinstance(broken.writer.add("stop", ["x"]), Refusal)
    assert isinstance(broken.writer.replace(broken.named("stop")[0], ["a"]), Refusal)
    swallowed = _serving('FROM m\nPARAMETER stop "a" # c\nPARAMETER stop "b"\n')
    assert isinstance(swallowed.writer.add("stop", ["x"]), Refusal)
    assert isinstance(swallowed.writer.replace(swallowed.named("stop")[0], ["a"]), Refusal)
    assert isinstance(_serving("FROM m\n").writer.add("stop", ["a\u200bb"]), Refusal)
    assert isinstance(_serving("SYSTEM x\n").writer.add("stop", ["a"]), Refusal)
    whole = _serving("FROM m\nPARAMETER stop a # c\n")
    assert isinstance(_writer(whole).move_comment(whole.settings[1], 3), Refusal)


def test_edits_hold_in_a_block_scalar() -> None:
    host = 'data:\n  Modelfile: |\n    FROM m\n    PARAMETER stop "a" # c\n    PARAMETER stop "b"\nkind: x\n'
    lines = [line for line in host.splitlines(keepends=True) if line.startswith("    ")]
    start = host.index("    FROM")
    offsets: list[int] = []
    position = start
    for line in lines:
        offsets.extend(range(position + 4, position + len(line)))
        position += len(line)
    text = "".join(line[4:] for line in lines)
    inner = Embedded(text, [*offsets, position], lambda new: new.replace("\n", "\n    "))
    serving = _serving(text)
    start_of_comment = text.index("#")
    answer = _writer(serving).move_comment(serving.named("stop")[0], start_of_comment)
    assert not isinstance(answer, Refusal)
    edits = [edit for edit in map(inner.host_edit, answer) if edit is not None]
    assert apply_edits(host, edits) == host.replace('    PARAMETER stop "a" # c\n', '    # c\n    PARAMETER stop "a"\n')


LINES = st.sampled_from(
    ["FROM qwen2.5:7b", "FROM ./x.gguf", "# note", "", "PARAMETER stop <|im_end|>", 'PARAMETER stop "User:"',
     "  parameter stop '</s>'", "PARAMETER temperature 0.7 # warm", 'SYSTEM """\n# PARAMETER stop no\n"""',
     "PARAMETER stop <a>, <b>", 'PARAMETER stop "x" # y', "TEMPLATE {{ .Prompt }}", "\u200bPARAMETER seed 1",
     'MESSAGE user "hi"', "PARAMETER stop", "OOPS"],
)  # fmt: skip


def _file(lines: list[str], newline: str, ends: bool) -> tuple[str, str]:
    return newline.join(line.replace("\n", newline) for line in lines) + (newline if ends else ""), newline


FILES = st.builds(_file, st.lists(LINES, max_size=9), st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())


@given(FILES, st.sampled_from(["<|x|>", "User: ", "a\nb", '"q"']))
def test_adding_changes_nothing_else_and_once_is_enough(file: tuple[str, str], stop: str) -> None:
    text, newline = file
    serving = _serving(text, newline)
    answer = serving.writer.add("stop", [stop])
    if isinstance(answer, Refusal):
        return
    fixed = apply_edits(text, answer)
    before = [(i.name, i.value) for i in read_modelfile(text).instructions]
    after = read_modelfile(fixed)
    assert not after.problems
    found = [(i.name, i.value) for i in after.instructions]
    found.remove(("stop", stop))
    assert found == before
    assert [c.text for c in after.comments] == [c.text for c in read_modelfile(text).comments]
    assert _serving(fixed, newline).writer.add("stop", [stop]) == ()


@given(FILES)
def test_repairs_come_to_an_end_and_keep_every_word(file: tuple[str, str]) -> None:
    text, newline = file
    for _ in range(8):
        manifest = read_modelfile_manifest("Modelfile", text, newline)
        (serving,) = manifest.servings
        edits: list[Edit] = []
        for setting, instruction in zip(serving.settings, manifest.facts["document"].instructions, strict=True):
            start = trailing_comment(instruction)
            if start is not None:
                answer = _writer(serving).move_comment(setting, start)
                edits = [] if isinstance(answer, Refusal) else list(answer)
                break
        if not edits:
            break
        fixed = apply_edits(text, edits)
        assert sorted(fixed.split()) == sorted(text.split())
        text = fixed
    else:
        pytest.fail("the remarks never end")


def test_what_a_manifest_says() -> None:
    text = (
        '# top\nFROM qwen2.5:7b\nREQUIRES 0.30.0\nPARAMETER stop "x"\n'
        "PARAMETER num_ctx ${CTX}\nTEMPLATE {{ .Prompt }}\n"
    )
    manifest = read_modelfile_manifest("a/Modelfile", text, "\n")
    (serving,) = manifest.servings
    assert (manifest.kind, manifest.format, serving.kind, serving.engine) == (
        "modelfile",
        "modelfile",
        "modelfile",
        "ollama",
    )
    assert serving.model is not None
    assert serving.model.value == "qwen2.5:7b"
    assert text[serving.span.start : serving.span.end] == "FROM qwen2.5:7b"
    assert serving.version is not None
    assert (serving.version.value, serving.version.origin) == ("0.30.0", "REQUIRES")
    found = [(s.name, s.value, s.origin, text[s.span.start : s.span.end]) for s in serving.settings]
    assert found == [
        ("model", "qwen2.5:7b", "FROM", "qwen2.5:7b"),
        ("requires", "0.30.0", "REQUIRES", "0.30.0"),
        ("stop", "x", "PARAMETER stop", '"x"'),
        ("num_ctx", None, "PARAMETER num_ctx", "${CTX}"),
        ("template", "{{ .Prompt }}", "TEMPLATE", "{{ .Prompt }}"),
    ]
    assert serving.settings[3].reason
    assert manifest.comments[0].target == serving.span


@pytest.mark.parametrize(
    ("line", "value", "source"),
    [
        ("FROM qwen2.5:7b", "qwen2.5:7b", "library"),
        ("FROM registry.example.net/team/llama3:latest", "registry.example.net/team/llama3:latest", "library"),
        ("FROM hf.co/a/b-GGUF:Q4_K_M", "hf.co/a/b-GGUF:Q4_K_M", "hub"),
        ("FROM huggingface.co/a/b:b.Q4.gguf", "huggingface.co/a/b:b.Q4.gguf", "hub"),
        ("FROM ./x", "./x", "path"),
        ("FROM x.gguf", "x.gguf", "path"),
        ("FROM /models/x", "/models/x", "path"),
        ("FROM ~/x", "~/x", "path"),
        ("FROM .", ".", "path"),
        ('FROM ""', "", "path"),
        ("FROM C:/models/x", "C:/models/x", "path"),
        ("FROM C:\\models\\x", "C:\\models\\x", "path"),
        ("FROM ${MODEL}", None, "unknown"),
        ("FROM $MODEL", None, "unknown"),
        ("FROM {{ .Values.model }}", None, "unknown"),
        ("FROM <your-model>", None, "unknown"),
        ("FROM ./<model>.gguf", None, "unknown"),
        ("FROM a\nFROM b", "b", "library"),
        ("FROM ./a.gguf\nFROM ./mmproj-a.gguf", "./a.gguf", "path"),
        ("FROM ./mmproj-a.gguf\nFROM ./a.gguf", "./a.gguf", "path"),
        ("FROM a\nFROM ./b.gguf", "a", "library"),
        ("SYSTEM x", "-", "unknown"),
    ],
)
def test_what_from_means(line: str, value: str | None, source: str) -> None:
    serving = _serving(line + "\n")
    assert (serving.model.value if serving.model else "-", serving.facts["source"]) == (value, source)


def test_a_name_that_lies_beside_the_modelfile_is_a_path(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "tuned").mkdir()
    context = Context(tmp_path)
    assert source_of(str(folder / "Modelfile"), "tuned", context) == "path"
    assert source_of(str(folder / "Modelfile"), "other", context) == "library"
    assert source_of(str(folder / "Modelfile"), "x\udcff\0" + "y" * 9000, context) == "library"


@pytest.mark.parametrize(
    ("data", "is_modelfile"),
    [(b"", True), (b"# only\n", True), (b"hello world\n", False), (b"FORM x\nfrom y", True), (b"\x00\x01", False)],
)
def test_other_texts_of_that_name(data: bytes, is_modelfile: bool) -> None:
    assert (read("Modelfile", decode(data), Context()) is not None) is is_modelfile


@given(st.binary(max_size=120), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_bytes_give_a_manifest(data: bytes, newline: str) -> None:
    source = decode(b"FROM m\n" + data)
    manifest = read_modelfile_manifest("Modelfile", source.text, newline)
    (serving,) = manifest.servings
    answer = serving.writer.add("stop", ["x"])
    if not isinstance(answer, Refusal):
        assert not read_modelfile(apply_edits(source.text, answer)).problems
    assert source.encode(apply_edits(source.text, ())) == b"FROM m\n" + data
