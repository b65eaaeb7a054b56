"""INI files as llama.cpp's own grammar reads them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.ini import read_ini


def read(text: str) -> list[tuple[str, str, str]]:
    """Section, key and value of every setting."""
    return [(setting.section, setting.name, setting.value) for setting in read_ini(text).settings]


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("nothing", "", []),
        ("before any header", "version = 1\n", [("", "version", "1")]),
        ("common and own", "[*]\na = 1\n[x]\nb=2", [("*", "a", "1"), ("x", "b", "2")]),
        ("a repository", "[org/name-GGUF:Q8_0]\nc = 8\n", [("org/name-GGUF:Q8_0", "c", "8")]),
        ("blanks in a header", "[ x ]\na = 1\n", [("x", "a", "1")]),
        ("blanks around a value", "a \t=  1 2 \t\n", [("", "a", "1 2")]),
        ("an empty value", "a =\n", [("", "a", "")]),
        ("a second sign", "a = b=c\n", [("", "a", "b=c")]),
        ("a remark behind", "a = 1 ; no\nb = 2 # no\n", [("", "a", "1"), ("", "b", "2")]),
        ("a remark inside", "reverse-prompt = i#x\n", [("", "reverse-prompt", "i")]),
        ("a remark alone", "reverse-prompt = #end\n", [("", "reverse-prompt", "")]),
        ("a remark in JSON", 'chat-template-kwargs = {"a":"#1"}\n', [("", "chat-template-kwargs", '{"a":"')]),
        ("quotes protect nothing", 'r = "a;b"\n', [("", "r", '"a')]),
        ("quotes are kept", 'r = "i"\n', [("", "r", '"i"')]),
        ("no continuation", "a = 1 \\\nb = 2\n", [("", "a", "1 \\"), ("", "b", "2")]),
        ("dots and underscores", "_a.b-C_1 = 2\n", [("", "_a.b-C_1", "2")]),
        ("repeated", "a = 1\na = 2\n", [("", "a", "1"), ("", "a", "2")]),
        ("line ends of Windows", "[x]\r\na = 1\r\n\r\nb = 2\r\n", [("x", "a", "1"), ("x", "b", "2")]),
        ("line ends of old", "[x]\ra = 1\rb = 2\r", [("x", "a", "1"), ("x", "b", "2")]),
        ("remark behind a header", "[x] ; mine\na = 1\n", [("x", "a", "1")]),
        ("an indented remark", "a = 1\n   # two\n \t \n", [("", "a", "1")]),
        ("other blanks belong to a value", "a = \u00a01\u2028\n", [("", "a", "\u00a01\u2028")]),
        ("no line end at all", "a = 1", [("", "a", "1")]),
    ],
)
def test_settings(name: str, text: str, wanted: list[tuple[str, str, str]]) -> None:
    file = read_ini(text)
    assert read(text) == wanted
    assert file.problems == ()


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        ("ignore-eos\n", "no `key = value`", "ignore-eos"),
        ("a = 1\n1a = 2\n", "no `key = value`", "1a = 2"),
        ("a b = 1\n", "no `key = value`", "a b = 1"),
        ("--ctx-size = 1\n", "no `key = value`", "--ctx-size = 1"),
        ("= 1\n", "no `key = value`", "= 1"),
        ("a # = 1\n", "no `key = value`", "a # = 1"),
        ("a : 1\n", "no `key = value`", "a : 1"),
        ("clé = 1\n", "no `key = value`", "clé = 1"),
        ("[x\na = 1\n", "without its `]`", "[x"),
        ("[]\n", "without a name", "[]"),
        ("[x] y\n", "more behind", "y"),
        ("[x]\n  a = 1\n", "blanks in front", "  a = 1"),
        (" [x]\n", "blanks in front", " [x]"),
        ("\ufeffa = 1\n", "no `key = value`", "\ufeffa = 1"),
    ],
)
def test_what_the_whole_file_is_refused_for(text: str, said: str, place: str) -> None:
    (problem,) = read_ini(text).problems
    assert said in problem.message
    assert "refused" in problem.message
    assert text[problem.span.start : problem.span.end] == place


def test_an_indented_setting_is_read_all_the_same() -> None:
    assert read("[x]\n  a = 1\n") == [("x", "a", "1")]


def test_not_every_line_of_another_kind_of_file_is_reported() -> None:
    assert len(read_ini("what is this\n" * 1000).problems) == 50


def test_places() -> None:
    text = "[x]\n; note\nreverse-prompt =  i #x \nb=\n"
    file = read_ini(text)
    first, second = file.settings
    parts = (first.name_span, first.span, first.whole, first.remark, second.span, second.whole)
    assert [text[span.start : span.end] if span is not None else None for span in parts] == [
        "reverse-prompt", "i", "reverse-prompt =  i", "#x", "", "b=",
    ]  # fmt: skip
    assert [(section.name, text[section.span.start : section.span.end]) for section in file.sections] == [("x", "[x]")]


def test_a_remark_belongs_to_its_line_or_to_the_next_setting() -> None:
    text = "# above\na = 1 # behind a\n[x] # header\nb = 2\n# last\n"
    file = read_ini(text)
    assert [(note.text, text[note.target.start : note.target.end]) for note in file.comments] == [
        ("# above", "a = 1"), ("# behind a", "a = 1"), ("# header", "b = 2"), ("# last", "# last"),
    ]  # fmt: skip


_LINES = st.lists(
    st.one_of(
        st.text(alphabet='[]=;# \t\r\nab-_.1"é\u2028', max_size=12),
        st.sampled_from(["[x]", "[*]", "a = 1", "  b = 2", "c = d#e", "# remark", "ignore-eos", "[x] # y"]),
    ),
    max_size=8,
)


@given(st.one_of(st.text(max_size=60), _LINES.map("\n".join)))
@settings(max_examples=100)
def test_any_text_can_be_read(text: str) -> None:
    file = read_ini(text)
    for setting in file.settings:
        spans = [setting.name_span, setting.span, setting.whole, *([setting.remark] if setting.remark else [])]
        assert all(0 <= span.start <= span.end <= len(text) for span in spans)
        assert text[setting.name_span.start : setting.name_span.end] == setting.name
        assert text[setting.span.start : setting.span.end] == setting.value
        assert setting.whole.start == setting.name_span.start
        assert setting.whole.end == setting.span.end
        assert not set("\r\n;#") & set(setting.value)
    for section in file.sections:
        header = text[section.span.start : section.span.end]
        assert header[0] + header[-1] == "[]"
        assert header[1:-1].strip(" \t") == section.name
    for comment in file.comments:
        assert text[comment.span.start : comment.span.end] == comment.text
        assert comment.text[0] in ";#"
    for problem in file.problems:
        assert 0 <= problem.span.start < problem.span.end <= len(text)


@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,8}", fullmatch=True),
        st.text(alphabet='abc =[]"\\é', max_size=8).map(lambda value: value.strip(" ")),
        max_size=5,
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
@settings(max_examples=100)
def test_what_is_written_is_read(values: dict[str, str], line_end: str) -> None:
    text = f"[x]{line_end}" + "".join(f"{name} = {value}{line_end}" for name, value in values.items())
    assert read(text) == [("x", name, value) for name, value in values.items()]
    assert read_ini(text).problems == ()
