"""The Modelfile reader against what Ollama's own parser made of the same bytes, and the guesses about slips."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.modelfile import (
    Instruction,
    Modelfile,
    is_special,
    listed_stops,
    meant_stops,
    read_modelfile,
    read_modelfile_source,
    stray_quotes,
    swallowed_instruction,
    trailing_comment,
)
from servelint.text import Edit, apply_edits, decode
from tests.conftest import read_rows

VECTORS = read_rows("vectors/modelfile.handed.jsonl")

WORDS = (
    "FROM m",
    "PARAMETER ",
    "parameter stop ",
    "stop",
    "SYSTEM ",
    "MESSAGE user ",
    "TEMPLATE",
    "REQUIRES 0.30",
    '"""',
)
MARKS = "\"'`#\\ \t\r\n\n\nabF[],;<|>_=:\u00a0\u200b｜🙂“”\0"
ALPHABET = st.sampled_from([*WORDS, *MARKS, "\udc80\udce2"])
TEXTS = st.lists(ALPHABET, max_size=60).map("".join)


def _first(text: str) -> Instruction:
    """The first instruction of a text that needs no FROM line."""
    return read_modelfile(text).instructions[0]


def _commands(document: Modelfile) -> list[dict[str, str]]:
    return [{"name": i.name, "args": f"{i.role}: {i.value}" if i.role else i.value} for i in document.instructions]


@pytest.mark.skipif(not VECTORS, reason="needs the folder of recorded vectors beside the checkout")
def test_agrees_with_ollamas_parser() -> None:
    wrong = []
    for row in VECTORS:
        document = read_modelfile_source(decode(base64.b64decode(row["input_base64"])))
        error = document.problems[0].message if document.problems else None
        commands = None if error else _commands(document)
        if (error, commands) != (row["error"], row["commands"]):
            wrong.append((row["id"], error, row["error"]))
    assert wrong == []
    assert len(VECTORS) > 400


@pytest.mark.skipif(not VECTORS, reason="needs the folder of recorded vectors beside the checkout")
def test_places_in_the_vectors_hold_what_was_read() -> None:
    for row in VECTORS:
        source = decode(base64.b64decode(row["input_base64"]))
        _check_places(read_modelfile(source.text))


def _check_places(document: Modelfile) -> None:
    text = document.text
    end = 0
    for instruction in document.instructions:
        assert end <= instruction.span.start <= instruction.span.end <= len(text)
        end = instruction.span.end
        assert text[instruction.keyword_span.start : instruction.keyword_span.end] == instruction.keyword
        assert instruction.span.covers(instruction.value_span)
        if instruction.parameter_span is not None:
            found = text[instruction.parameter_span.start : instruction.parameter_span.end]
            assert found == instruction.parameter == instruction.name
        written = text[instruction.value_span.start : instruction.value_span.end]
        if written.isprintable() and instruction.closed:
            assert written == instruction.quote + instruction.value + instruction.quote
        inner = instruction.inner
        assert inner.text == instruction.value
        assert len(inner.offsets) == len(inner.text) + 1
        assert all(one <= other for one, other in zip(inner.offsets, inner.offsets[1:], strict=False))
        for offset, character in zip(inner.offsets, inner.text, strict=False):
            assert text[offset] == character or character == "\ufffd"
    for comment in document.comments:
        assert text[comment.span.start : comment.span.end] == comment.text
        assert comment.text.startswith("#")
        assert 0 <= comment.target.start <= comment.target.end <= len(text)
    for problem in document.problems:
        assert 0 <= problem.span.start <= problem.span.end <= len(text)


@given(TEXTS)
def test_any_text_is_read_with_places_in_range(text: str) -> None:
    document = read_modelfile(text)
    _check_places(document)
    for instruction in document.instructions:
        trailing_comment(instruction)
        stray_quotes(instruction)
        listed_stops(instruction)
        swallowed_instruction(instruction)
        meant_stops(instruction)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(data: bytes) -> None:
    source = decode(data)
    _check_places(read_modelfile(source.text))
    read_modelfile_source(source)


@given(TEXTS)
def test_a_value_maps_onto_the_text_and_back(text: str) -> None:
    for instruction in read_modelfile(text).instructions:
        if not instruction.value or not instruction.closed or not instruction.value.isprintable():
            continue
        edit = instruction.inner.host_edit(Edit(0, 1, "Z"))
        assert edit is not None
        changed = read_modelfile(apply_edits(text, [edit]))
        at = [i for i in changed.instructions if i.span.start == instruction.span.start]
        assert at
        # Taking away a first quote or hash inside the value changes no more than that character.
        assert at[0].value == "Z" + instruction.value[1:]


@pytest.mark.parametrize(
    ("text", "name", "value", "quote"),
    [
        ("FROM m", "model", "m", ""),
        ("from\tm\n", "model", "m", ""),
        ("PARAMETER stop <|im_end|> # end\n", "stop", "<|im_end|> # end", ""),
        ('PARAMETER stop "User: "  \n', "stop", "User: ", '"'),
        ('PARAMETER stop """"""\n', "stop", "", '"""'),
        ('PARAMETER stop """""""\n', "stop", '"', '"""'),
        ('SYSTEM """a\n"""\n', "system", "a\n", '"""'),
        ('SYSTEM """a\r\nb"""\r\n', "system", "a\r\nb", '"""'),
        ('SYSTEM hi """\n', "system", 'hi """', ""),
        ("PARAMETER stop \nFROM m", "stop", "", ""),
        ("PARAMETER  stop x\n", "", "stop x", ""),
        ("PARAMETER stop a\u00a0b\n", "stop", "ab", ""),
        ("\u200bFROM m", "model", "m", ""),
        ("PARAMETER stop \udce2\udc96x\n", "stop", "\ufffdx", ""),
        ("PARAMETER stop \udcff\udcfex\n", "stop", "\ufffd\ufffdx", ""),
    ],
)
def test_values(text: str, name: str, value: str, quote: str) -> None:
    instruction = _first(text)
    assert (instruction.name, instruction.value, instruction.quote) == (name, value, quote)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("FROM m\nFORM x\n", "(line 2): command must be one of", "FORM"),
        ("FROM\nSYSTEM x\n", "(line 2): command must be one of", "FROM"),
        ("FROM m\r\n\r\n```\r\n", "(line 5): command must be one of", "```"),
        ("FROM m\nPARAMETER stop=<|im_end|>\n", "unexpected EOF: stop", "stop=<|im_end|>"),
        ("FROM m\nPARAMETER <|eot_id|>\n", "unexpected EOF: ", "<|eot_id|>"),
        ("FROM m\nPARAMETER stop\nSYSTEM x", "unexpected EOF: stop", "stop"),
        ("FROM m\nMESSAGE tool hi\n", "(line 2): message role must be one of", "tool"),
        ('FROM m\nSYSTEM """abc\n', "unexpected EOF", '"""'),
        ('FROM m\nPARAMETER stop "abc\n', "unexpected EOF", '"'),
        ("FROM m\nPARAMETER ", "unexpected EOF", "PARAMETER "),
        ("SYSTEM x\n", "no FROM line", "SYSTEM"),
        ("", "no FROM line", ""),
    ],
)
def test_problems_stand_at_the_culprit(text: str, message: str, place: str) -> None:
    (problem,) = read_modelfile(text).problems
    assert problem.message.startswith(message)
    assert text[problem.span.start : problem.span.end] == place
    assert problem.sort == ("unclosed-quote" if place.startswith('"') else "syntax")


def test_the_unclosed_instruction_is_kept_and_marked() -> None:
    document = read_modelfile('FROM m\nPARAMETER stop "<|im_end|>" # end\n')
    assert [i.closed for i in document.instructions] == [True, False]


def test_comments_belong_to_the_next_instruction() -> None:
    text = 'FROM m\n# one\n\n  # two\nSYSTEM """\n# inside\n"""\n# last'
    document = read_modelfile(text)
    system = document.instructions[1]
    assert [c.text for c in document.comments] == ["# one", "# two", "# last"]
    assert [c.target for c in document.comments] == [system.span, system.span, document.comments[2].span]


def test_a_comment_above_a_fault_belongs_to_it() -> None:
    document = read_modelfile("FROM m\n# why\nOOPS x\n")
    assert document.comments[0].target == document.problems[0].span


REMARKS = [
    ("PARAMETER stop <|im_end|> # end of turn\n", "# end of turn"),
    ("PARAMETER stop <|im_end|>\t#end\n", "#end"),
    ("PARAMETER stop [INST] ## two\n", "## two"),
    ("PARAMETER stop '<|im_end|>' # end\n", "# end"),
    ("PARAMETER stop User: # the next turn\n", "# the next turn"),
    ("PARAMETER num_predict 128 # cap\n", "# cap"),
    ("PARAMETER num_ctx 8192#\t#x\n", "#x"),
    ("FROM qwen2.5:7b # base\n", "# base"),
    ("FROM ./a.gguf # was ./b.gguf\n", "# was"),
    ("REQUIRES 0.30.0 # new\n", "# new"),
    ('PARAMETER stop "<|im_end|>" # end\nPARAMETER stop "b"\n', "# end"),
    ('PARAMETER stop "<|im_end|>" # end\nPARAMETER temperature 1\n', "# end"),
    ('PARAMETER stop "a" "b" # both\n', "# both"),
    ('PARAMETER stop "x" # "e"\n', '# "e"'),
    ('PARAMETER stop """x"""\t# c\nPARAMETER stop """y"""\n', "# c"),
    ('PARAMETER num_ctx "4096" # c\n', "# c"),
    ('SYSTEM """a\nb""" # c\nPARAMETER stop x\n', "# c"),
    ('SYSTEM "Be kind." # c\nPARAMETER stop "x"\n', "# c"),
    ('TEMPLATE """{{ .Prompt }}""" # c\n', "# c"),
]
NO_REMARKS = [
    'PARAMETER stop "###"\n',
    "PARAMETER stop ### Response:\n",
    'PARAMETER stop "### Response:"\n',
    "PARAMETER stop # Instruction\n",
    'PARAMETER stop "User #"\n',
    'PARAMETER stop "a # b"\n',
    "PARAMETER stop C# code\n",
    "PARAMETER stop Step #2\n",
    "PARAMETER stop Turn ### End\n",
    "PARAMETER stop Question #\n",
    "FROM repo/c#model\n",
    "FROM ./My #1 tune.gguf\n",
    "SYSTEM Use # for headings.\n",
    "MESSAGE user hi # still text\n",
    'SYSTEM """\nUse """ # like this\nin code.\n"""\n',
    'SYSTEM "Say "C" # then "D""\n',
    'TEMPLATE """{{ .Prompt }}\n# Answer\n"""\n',
    'LICENSE """\n# Licence\nFROM the desk.\n"""\n',
]


@pytest.mark.parametrize(("text", "comment"), REMARKS)
def test_remarks_behind_a_value(text: str, comment: str) -> None:
    start = trailing_comment(_first(text))
    assert start is not None
    assert text[start:].startswith(comment)


@pytest.mark.parametrize("text", NO_REMARKS)
def test_hashes_that_are_no_remarks(text: str) -> None:
    assert trailing_comment(_first(text)) is None


STRAY = [
    ("'<|im_end|>'", "<|im_end|>"),
    ("`<|im_end|>`", "<|im_end|>"),
    ("“<end_of_turn>”", "<end_of_turn>"),
    ("‘</s>’", "</s>"),
    ("'''<end_of_turn>'''", "<end_of_turn>"),
    ('\\"<|im_end|>\\"', "<|im_end|>"),
    ('"\\"<|im_end|>\\""', "<|im_end|>"),
    ("\"'<|im_end|>'\"", "<|im_end|>"),
    ('""<|im_end|>""', "<|im_end|>"),
    ('"<|endoftext|>""', "<|endoftext|>"),
    ('<|im_start|>"', "<|im_start|>"),
    ("'<｜User｜>\"", "<｜User｜>"),
    ("'User:'", "User:"),
    ("'don't stop'", "don't stop"),
    ("“User:”", "User:"),
    ('\\"User:\\"', "User:"),
    ("'4096'", "4096"),
]
NOT_STRAY = [
    '"<|im_end|>"', "<|im_end|>", '"""<|im_end|>"""', '"User:"', "don't", "'tis the 'season'", "'a' 'b'", '"```"',
    "```", "'''", "''", "`", '"\'"', "Say 'hi'", "\"'User'\"", '"say "stop" now"', "\\n\\n", '"</s>"x"', "'a",
]  # fmt: skip


@pytest.mark.parametrize(("written", "cleaned"), STRAY)
def test_stray_quotes(written: str, cleaned: str) -> None:
    assert stray_quotes(_first(f"PARAMETER stop {written}\n")) == cleaned


@pytest.mark.parametrize("written", NOT_STRAY)
def test_quotes_that_are_meant(written: str) -> None:
    assert stray_quotes(_first(f"PARAMETER stop {written}\n")) is None


LISTS = [
    ('"a" "b"', ["a", "b"]),
    ('"a", "b", "c"', ["a", "b", "c"]),
    ('"<|im_end|>","<|endoftext|>"', ["<|im_end|>", "<|endoftext|>"]),
    ('"<|im_end|>"; "<|endoftext|>"', ["<|im_end|>", "<|endoftext|>"]),
    ('["<|im_end|>", "<|endoftext|>"]', ["<|im_end|>", "<|endoftext|>"]),
    ('["</s>"]', ["</s>"]),
    ("['</s>', '[INST]']", ["</s>", "[INST]"]),
    ('["User:", "\\n\\n"]', ["User:", "\n\n"]),
    ('"["a", "b"]"', ["a", "b"]),
    ('[\\"a\\", \\"b\\"]', ["a", "b"]),
    ("[<|im_end|> <|endoftext|>]", ["<|im_end|>", "<|endoftext|>"]),
    ("<|im_end|>, <|endoftext|>", ["<|im_end|>", "<|endoftext|>"]),
    ("<|im_end|> <|endoftext|>", ["<|im_end|>", "<|endoftext|>"]),
    ('"<|im_end|>, <|endoftext|>"', ["<|im_end|>", "<|endoftext|>"]),
    ('<|im_end|>, "User:"', ["<|im_end|>", "User:"]),
    ("'a' 'b'", ["a", "b"]),
    ("[INST] [/INST]", ["[INST]", "[/INST]"]),
    ('"a" PARAMETER stop "b" PARAMETER stop "c"', ["a", "b", "c"]),
]
NOT_LISTS = [
    '"Thanks, bye"', "Thanks, bye", "d, e", "</s> User:", "<|im_start|>user", "[INST]", "[/INST]", "[]", '"a"', "a b",
    '"say "stop" now"', '"</s>"x"', '["a"', "<|im_end|><|endoftext|>", '"<|im_end|>"', "'tis the 'season'", "[1] [2]",
    '""', "", "a > b", "User: Assistant:",
]  # fmt: skip


@pytest.mark.parametrize(("written", "stops"), LISTS)
def test_listed_stops(written: str, stops: list[str]) -> None:
    instruction = _first(f"PARAMETER stop {written}\n")
    assert listed_stops(instruction) == stops
    assert meant_stops(instruction) == stops


@pytest.mark.parametrize("written", NOT_LISTS)
def test_values_that_are_one_stop(written: str) -> None:
    assert listed_stops(_first(f"PARAMETER stop {written}\n")) is None


@pytest.mark.parametrize(
    ("line", "stops"),
    [
        ("PARAMETER stop <|im_end|> # end", ["<|im_end|>"]),
        ("PARAMETER stop '<|im_end|>' # end", ["<|im_end|>"]),
        ('PARAMETER stop "<|im_end|>" # end\nPARAMETER stop "x"', ["<|im_end|>"]),
        ('PARAMETER stop "a" "b" # both', ["a", "b"]),
        ('PARAMETER stop """a""" # c', ["a"]),
        ("PARAMETER stop <a>, <b> # c", ["<a>", "<b>"]),
        ("PARAMETER stop User:", ["User:"]),
    ],
)
def test_what_a_stop_line_means(line: str, stops: list[str]) -> None:
    assert meant_stops(_first(line)) == stops


def test_a_remark_hides_list_and_quotes_until_it_is_moved() -> None:
    instruction = _first("PARAMETER stop '<a>', '<b>' # c")
    assert listed_stops(instruction) is None
    assert stray_quotes(instruction) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('SYSTEM "hello\nPARAMETER stop "x"\n', "PARAMETER stop"),
        ('PARAMETER stop "<|im_end|>\n  MESSAGE user hi\nSYSTEM "x"\n', "MESSAGE user"),
        ('SYSTEM "line1\nline2"\n', None),
        ('SYSTEM "line1\nfrom here to there"\n', None),
        ('SYSTEM """line1\nPARAMETER stop "x"\n"""\n', None),
        ("SYSTEM x\n", None),
    ],
)
def test_swallowed_instructions(text: str, found: str | None) -> None:
    start = swallowed_instruction(_first(text))
    assert (start is not None) == (found is not None)
    if start is not None and found is not None:
        assert text[start:].startswith(found)


@pytest.mark.parametrize(
    ("text", "special"),
    [
        ("<|im_end|>", True), ("</s>", True), ("[INST]", True), ("[/INST]", True), ("<<SYS>>", True),
        ("<</SYS>>", True), ("<｜end▁of▁sentence｜>", True), ("<EOT>", True), ("User:", False), ("<>", False),
        ("<|>", False), ("[1]", False), ("<a b>", False), ("<a><b>", False), ("", False), ("[]", False),
        ("<|im_start|>user", False),
    ],
)  # fmt: skip
def test_special_tokens_by_their_looks(text: str, special: bool) -> None:
    assert is_special(text) is special


def test_the_cost_is_linear_in_hostile_input() -> None:
    """Counts what a quadratic reader could not do within the time of a test run: 200,000 lines of each sort."""
    for line in ("a\r", '" #\n', '\u200b"\n', "# c\r"):
        document = read_modelfile('FROM m\nSYSTEM """' + line * 200_000)
        assert len(document.instructions) == 2
        assert not document.instructions[1].closed
        trailing_comment(document.instructions[1])
