"""Unit files, their words and their variables; the tables hold what systemd 252 itself makes of the same texts."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servelint.formats.shell_words import Word
from servelint.formats.unit_file import (
    ExecCommand,
    UnitFile,
    assignments_of,
    effective,
    exec_commands,
    filled_words,
    read_unit,
    split_unit_words,
)
from servelint.text import Edit, Embedded, Span, apply_edits, verbatim

_UNIT_TEXT = st.text(st.sampled_from("[A]=k \t\n\r\0\\#;'\"é%$"), max_size=40)
_WORD_TEXT = st.text(st.sampled_from("ab \t'\"\\xu0417é;$%{}nsq"), max_size=30)
_SPECIFIERS = {"i": "one", "h": "/root", "s": "$A"}


def _settings(unit: UnitFile) -> list[tuple[str, str, str]]:
    return [(setting.section, setting.name, setting.value.text) for setting in unit.settings]


def _only(text: str) -> Embedded:
    return read_unit(f"[Service]\nExecStart={text}").settings[0].value


def _texts(words: list[Word]) -> list[str | None]:
    return [word.text for word in words]


def _filled(text: str, environment: dict[str, str | None], expands: bool = True) -> list[Word]:
    words, problem = split_unit_words(text)
    assert problem is None
    return list(filled_words(words, environment, _SPECIFIERS, expands))


# Lines


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("[A]\nk=v\n", [("A", "k", "v")]),
        ("[A]\n  k \t= v w \t\n", [("A", "k", "v w")]),
        ("[A]\nk=\nl = \n", [("A", "k", ""), ("A", "l", "")]),
        ("[A]\nk=a=b\n", [("A", "k", "a=b")]),
        ("[A]\nk=v # no comment\n", [("A", "k", "v # no comment")]),
        ("[A]\n # c\n\t; c \\\nk=v", [("A", "k", "v")]),
        ("[A]\nk=a \\\nb", [("A", "k", "a  b")]),
        ("[A]\nk=a\\\n  b", [("A", "k", "a   b")]),
        ("[A]\nk=a\\\n# c\n  ; c\nb", [("A", "k", "a b")]),
        ("[A]\nk=a\\\n\nl=b", [("A", "k", "a"), ("A", "l", "b")]),
        ("[A]\nk=a\\\\\nl=b", [("A", "k", "a\\\\"), ("A", "l", "b")]),
        ("[A]\nk=a\\ \nl=b", [("A", "k", "a\\"), ("A", "l", "b")]),
        ("[A]\nk=a\\\\\\\nb", [("A", "k", "a\\\\ b")]),
        ("[A]\nk=a \\", [("A", "k", "a")]),
        ("[A]\nk=\\\n  a", [("A", "k", "a")]),
        ("[A]\n\\\nk=a", [("A", "k", "a")]),
        ("[A]\r\nk=a \\\r\n  b \r\nl=c\r\n", [("A", "k", "a    b"), ("A", "l", "c")]),
        ("[A]\rk=a\rl=b", [("A", "k", "a"), ("A", "l", "b")]),
        ("[A]\nk=a\0l=b", [("A", "k", "a"), ("A", "l", "b")]),
        ("[A]\nk=a\\\r\rl=b", [("A", "k", "a"), ("A", "l", "b")]),
        ("[A]\nk=1\n[B]\nk=2\n[A]\nk=3", [("A", "k", "1"), ("B", "k", "2"), ("A", "k", "3")]),
        ("[A]\nk=a\u2028b\x0cc", [("A", "k", "a\u2028b\x0cc")]),
    ],
)
def test_settings(text: str, settings: list[tuple[str, str, str]]) -> None:
    unit = read_unit(text)
    assert unit.problems == ()
    assert _settings(unit) == settings


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("[A]\nno equals \\\n here\nk=v", "Missing '='", "no equals \\\n here"),
        ("[A]\n =v\nk=v", "Missing key name before '='", "=v"),
        ("k=v", "Assignment outside of section", "k=v"),
        ("[A\nk=v", "Invalid section header", "[A"),
        ("[A'b]\nk=v", "Bad characters in section header", "[A'b]"),
    ],
)
def test_problems(text: str, message: str, place: str) -> None:
    unit = read_unit(text)
    problem = unit.problems[0]
    assert problem.message.startswith(message)
    assert text[problem.span.start : problem.span.end] == place
    assert unit.settings[-1].name == "k"


@pytest.mark.parametrize("lines", [["a" * (1 << 20)], ["é" * (1 << 19)], ["a" * 700_000 + "\\", "a" * 700_000]])
def test_a_line_that_is_too_long_ends_the_reading(lines: list[str]) -> None:
    unit = read_unit("\n".join(["[A]", "k=v", f"l={lines[0]}", *lines[1:], "m=w"]))
    assert _settings(unit) == [("A", "k", "v")]
    assert [problem.message for problem in unit.problems] == ["Line too long: systemd refuses the file"]


def test_a_line_may_be_just_short_of_the_limit() -> None:
    assert read_unit("[A]\nk=" + "a" * ((1 << 20) - 3)).problems == ()


def test_problems_are_limited() -> None:
    assert len(read_unit("[A]\n" + "x\n" * 1000).problems) == 50


def test_sections() -> None:
    text = "[A]\nk=1\n [B] \n[A]\nk=2\nl=3\n"
    sections = read_unit(text).sections
    assert [section.name for section in sections] == ["A", "B", "A"]
    assert [text[section.span.start : section.span.end] for section in sections] == ["[A]", "[B]", "[A]"]
    assert [[setting.value.text for setting in section.settings] for section in sections] == [["1"], [], ["2", "3"]]


def test_spans() -> None:
    text = "[A]\n  key = a \\\n # c\n  'b c' \r\n"
    setting = read_unit(text).settings[0]
    assert text[setting.span.start : setting.span.end] == "key = a \\\n # c\n  'b c'"
    assert text[setting.name_span.start : setting.name_span.end] == "key"
    assert setting.value.text == "a    'b c'"
    start = setting.value.text.index("'")
    host = setting.value.host_span(Span(start, start + 5))
    assert text[host.start : host.end] == "'b c'"


def test_comments_belong_to_the_setting_they_stand_in_or_above() -> None:
    text = "# x\n[A]\nk=a \\\n  ; y \nb\n# z"
    unit = read_unit(text)
    span = unit.settings[0].span
    assert [(comment.text, comment.target) for comment in unit.comments] == [
        ("# x", span),
        ("; y", span),
        ("# z", Span(len(text) - 3, len(text))),
    ]


def test_an_empty_assignment_takes_those_before_away() -> None:
    unit = read_unit("[A]\nk=1\nk=2\n[B]\nk=x\n[A]\nk=\nk=3\nk=4\nl=5\nl=")
    assert [setting.value.text for setting in unit.all("A", "k")] == ["3", "4"]
    last = unit.last("A", "k")
    assert last is not None
    assert last.value.text == "4"
    assert unit.all("A", "l") == []
    assert unit.last("A", "l") is None
    drop_in = read_unit("[A]\nk=\nk=9")
    assert [setting.value.text for setting in effective([*unit.all("A", "k"), *drop_in.settings])] == ["9"]


def test_a_value_is_edited_in_place() -> None:
    text = "[A]\nk=a \\\n  b\n"
    value = read_unit(text).settings[0].value
    edit = value.host_edit(Edit(5, 6, "c"))
    assert edit is not None
    assert apply_edits(text, [edit]) == "[A]\nk=a \\\n  c\n"
    assert [value.host_edit(Edit(0, 1, new)) for new in ("x\ny", "x\ry", "x\0y", "x\\")] == [None] * 4


@given(st.one_of(st.text(), _UNIT_TEXT))
def test_any_text_is_read(text: str) -> None:
    unit = read_unit(text)
    spans = [problem.span for problem in unit.problems] + [section.span for section in unit.sections]
    for comment in unit.comments:
        assert text[comment.span.start : comment.span.end] == comment.text
        spans += [comment.span, comment.target]
    for setting in unit.settings:
        assert text[setting.name_span.start : setting.name_span.end] == setting.name or "\\" in text
        assert setting.span.covers(setting.name_span)
        offsets = list(setting.value.offsets)
        assert len(offsets) == len(setting.value.text) + 1
        assert offsets == sorted(offsets)
        assert setting.span.start <= offsets[0] <= offsets[-1] <= setting.span.end
        for character, offset in zip(setting.value.text, offsets, strict=False):
            assert character == text[offset] or (character, text[offset]) == (" ", "\\")
        spans.append(setting.span)
        commands, _ = exec_commands(setting.value)
        for command in commands:
            list(filled_words(command.words, {"A": "b c"}, _SPECIFIERS, command.expands))
        assignments_of(setting.value)
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)


# Words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("a 'b c' \"d e\"", ["a", "b c", "d e"]),
        ("--x='{\"a\": 1}' y", ['--x={"a": 1}', "y"]),
        ("a '' \"\" b''", ["a", "", "", "b"]),
        ("'a\\'b' \"a\\\"b\" a\\\\b", ["a'b", 'a"b', "a\\b"]),
        ("a\\nb 'a\\tb' a\\sb", ["a\nb", "a\tb", "a b"]),
        ("\\x41\\101\\u00e9\\U0001f600", ["AAé😀"]),
        ("\\xc3\\xa9 \\303\\251 \\xe2\\x82\\xac1", ["é", "é", "€1"]),
        ("\\xff", ["\N{REPLACEMENT CHARACTER}"]),
        ("\\q \\x4 \\777 \\x00 \\U0000ffff", ["\\q", "\\x4", "\\777", "\\x00", "\\U0000ffff"]),
        ("a\\ b", ["a\\ b"]),
        ("a\\", ["a\\"]),
        ("a;b ';' #c", ["a;b", ";", "#c"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    found, problem = split_unit_words(text)
    assert problem is None
    assert _texts(found) == words


@pytest.mark.parametrize(("text", "at", "words"), [("a 'b", 2, ["a"]), ('a b"c d\\', 3, ["a"]), ("'a\\'", 0, [])])
def test_a_quote_that_is_never_closed(text: str, at: int, words: list[str]) -> None:
    found, problem = split_unit_words(text)
    assert problem is not None
    assert (problem.sort, problem.span) == ("unclosed-quote", Span(at, at + 1))
    assert _texts(found) == words


@pytest.mark.parametrize(
    ("text", "start", "end", "new", "changed"),
    [
        ("a bc d", 0, 2, "x", "a x d"),
        ("a bc d", 0, 2, "x y;", "a 'x y;' d"),
        ("a bc d", 0, 2, "#x", "a '#x' d"),
        ("a bc d", 0, 2, "it's 5% of $", "a 'it\\'s 5%% of $$' d"),
        ('a "b c" d', 2, 3, 'x"\\', 'a "b x\\"\\\\" d'),
        ("a 'b c' d", 0, 1, "x\ny", "a 'x\\ny c' d"),
        ("a b\\x41c d", 1, 2, "X", "a bXc d"),
        ("a '' d", 0, 0, "x", "a 'x' d"),
        ("a --k='v' d", 4, 5, "w", "a --k='w' d"),
        ("a 5%%b d", 1, 2, "x", "a 5xb d"),
    ],
)
def test_words_are_edited_in_place(text: str, start: int, end: int, new: str, changed: str) -> None:
    word = _filled(text, {})[1]
    assert word.literal
    assert word.inner is not None
    edit = word.inner.host_edit(Edit(start, end, new))
    assert edit is not None
    assert apply_edits(text, [edit]) == changed


def test_no_word_holds_a_nul() -> None:
    inner = split_unit_words("a")[0][0].inner
    assert inner is not None
    assert inner.host_edit(Edit(0, 1, "x\0")) is None


@given(st.one_of(st.text(), _WORD_TEXT))
def test_any_text_is_split(text: str) -> None:
    words, _ = split_unit_words(text)
    for word in words:
        assert 0 <= word.span.start < word.span.end <= len(text)
        inner = word.inner
        assert inner is not None
        assert inner.ends is not None
        assert len(inner.offsets) == len(inner.text) + 1 == len(inner.ends) + 1
        assert list(inner.offsets) == sorted(inner.offsets)
        assert word.span.start <= inner.offsets[0] <= inner.offsets[-1] <= word.span.end
    spans = [word.span for word in words]
    assert all(left.end < right.start for left, right in pairwise(spans))


@given(st.lists(st.text(st.sampled_from("abc-=/.,:{}$%@é"), min_size=1)))
def test_plain_words_come_back(words: list[str]) -> None:
    assert _texts(split_unit_words(" ".join(words))[0]) == words


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), st.sampled_from(["x", "'x'", '"x"']))
def test_what_is_written_comes_back(text: str, host: str) -> None:
    inner = split_unit_words(host)[0][0].inner
    assert inner is not None
    edit = inner.host_edit(Edit(0, 1, text))
    assert edit is not None
    written = f"[Service]\nExecStart=/bin/a {apply_edits(host, [edit])} b"
    (command,), problem = exec_commands(read_unit(written).settings[0].value)
    assert problem is None
    found = [word.text for word in filled_words(command.words, {}, {})]
    assert found == (["/bin/a", text, "b"] if text or host != "x" else ["/bin/a", "b"])


# Commands


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("/bin/a b", [("", ["/bin/a", "b"])]),
        ("-/bin/a b", [("-", ["/bin/a", "b"])]),
        ("@/bin/a zero b", [("@", ["/bin/a", "b"])]),
        ("-@:/bin/a zero b", [("-@:", ["/bin/a", "b"])]),
        ("!!/bin/a", [("!!", ["/bin/a"])]),
        ("+|/bin/a", [("+|", ["/bin/a"])]),
        ('"-/bin/a b" c', [("-", ["/bin/a b", "c"])]),
        ("/bin/a ; /bin/b c", [("", ["/bin/a"]), ("", ["/bin/b", "c"])]),
        ("/bin/a \\; b", [("", ["/bin/a", ";", "b"])]),
        ("/bin/a ';' b;c ;d", [("", ["/bin/a", ";", "b;c", ";d"])]),
        ("; /bin/a ;", [("", ["/bin/a"])]),
        ("';' /bin/a", [("", ["/bin/a"])]),
        ("/bin/a -x -@y", [("", ["/bin/a", "-x", "-@y"])]),
        ("", []),
    ],
)
def test_commands(text: str, commands: list[tuple[str, list[str]]]) -> None:
    found, problem = exec_commands(_only(text))
    assert problem is None
    assert [(command.signs, _texts(list(command.words))) for command in found] == commands


def test_signs_before_the_program() -> None:
    value = _only("-/bin/a b")
    (command,), _ = exec_commands(value)
    assert command.words[0].span == Span(1, 7)
    assert command.words[0].inner is not None
    assert list(command.words[0].inner.offsets) == [1, 2, 3, 4, 5, 6, 7]


def test_a_colon_turns_variables_off() -> None:
    (command,), _ = exec_commands(_only(":/bin/a ${A} %i"))
    assert not command.expands
    words = list(filled_words(command.words, {"A": "1"}, _SPECIFIERS, command.expands))
    assert [word.text for word in words] == ["/bin/a", "${A}", "one"]
    inner = words[1].inner
    assert inner is not None
    assert inner.host_edit(Edit(0, 4, "$B 5%")) == Edit(8, 12, "'$B 5%%'")
    assert ExecCommand((), "-").expands


def test_words_over_several_lines_are_mapped_to_the_file() -> None:
    text = "[Service]\nExecStart=/bin/a \\\n  --b '{\"c\": \\\n# no\n 1}'\n"
    value = read_unit(text).settings[0].value
    (command,), _ = exec_commands(value)
    assert command.words[2].text == '{"c":   1}'
    inner = command.words[2].inner
    assert inner is not None
    edit = inner.within(value).host_edit(Edit(8, 9, "2"))
    assert edit is not None
    assert apply_edits(text, [edit]) == text.replace("1}", "2}")


# Specifiers and variables


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("%h/m", ["/root/m"]),
        ("m-%i 100%% %", ["m-one", "100%", "%"]),
        ("'{% if x %}'", ["{% if x %}"]),
        ("${A} x${A}y '${A}'", ["1 2", "x1 2y", "1 2"]),
        ("$A", ["1", "2"]),
        ("'$A'", ["1", "2"]),
        ("$EMPTY a ${EMPTY}", ["a", ""]),
        ("x$A -$A", ["x$A", "-$A"]),
        ("$$A a$$b $${A} $$", ["$A", "a$b", "${A}", "$"]),
        ("$QUOTED", ["a b", "c d", "\\ef"]),
        ("$A/x $A-b $ b", ["b"]),
        ("${A:-q} ${A:+$$} ${A", ["${A:-q}", "${A:+$}", "${A"]),
        ("a${}b '${A B}z' ${1}", ["ab", "z", ""]),
        ("%s", ["1", "2"]),
        ("x%s", ["x$A"]),
    ],
)
def test_filled_words(text: str, words: list[str]) -> None:
    environment: dict[str, str | None] = {"A": "1 2", "EMPTY": "", "QUOTED": "'a b' c\\ d  \"\\\\ef"}
    assert _texts(_filled(text, environment)) == words


@pytest.mark.parametrize(
    ("text", "prefix", "suffix", "count", "reason"),
    [
        ("--a=${B}/c", "--a=", "/c", 1, "$B is not known from here"),
        ("--a=${A}${B}c${C}d", "--a=1", "d", 1, "$B is not known from here"),
        ("$B", "", "", None, "$B is not known from here"),
        ("$NONE", "", "", None, "$NONE is not known from here"),
        ("a%ub", "a", "b", 1, "%u is not known from here"),
        ("$A%u", "", "", None, "%u is not known from here"),
        ("${A%u}x", "", "x", 1, "%u is not known from here"),
    ],
)
def test_what_is_not_known(text: str, prefix: str, suffix: str, count: int | None, reason: str) -> None:
    (word,) = _filled(text, {"A": "1", "B": None})
    assert word.text is None
    assert word.inner is None
    assert not word.literal
    assert (word.prefix, word.suffix, word.count, word.reason) == (prefix, suffix, count, reason)


def test_only_what_is_supplied_is_no_literal() -> None:
    words = _filled("a 5%% $$ ${A} x%i $A", {"A": "1"})
    assert [word.literal for word in words] == [True, True, True, False, False, False]


def test_filled_text_stands_where_its_variable_stands() -> None:
    (word,) = _filled("x${A}y", {"A": "123"})
    assert word.text == "x123y"
    assert word.inner is not None
    assert word.inner.host_span(Span(2, 3)) == Span(1, 5)
    assert word.inner.host_span(Span(4, 5)) == Span(5, 6)


def test_without_variables_only_specifiers_are_filled_in() -> None:
    assert _texts(_filled("$A ${A} $$ %i", {"A": "1"}, expands=False)) == ["$A", "${A}", "$$", "one"]


@given(_WORD_TEXT, st.dictionaries(st.sampled_from(["a", "b"]), st.one_of(st.none(), _WORD_TEXT)))
def test_any_words_are_filled(text: str, environment: dict[str, str | None]) -> None:
    for word in filled_words(split_unit_words(text)[0], environment, _SPECIFIERS):
        assert (word.text is None) == (word.reason is not None)
        if word.inner is not None:
            assert word.inner.text == word.text
            assert list(word.inner.offsets) == sorted(word.inner.offsets)
            assert word.inner.offsets[-1] <= len(text)


# Environment


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A=b C=d", [("A", "b"), ("C", "d")]),
        ("\"A=b c\" 'D=e f' G='h i'", [("A", "b c"), ("D", "e f"), ("G", "h i")]),
        ("A= B=x=y", [("A", ""), ("B", "x=y")]),
        ("A=$B C=%i D=x\\ty", [("A", "$B"), ("C", "%i"), ("D", "x\ty")]),
        ("A=b 1C=d x =e F-G=h I=j", [("A", "b"), ("I", "j")]),
        ("A=b C=\\x01 D=e", [("A", "b"), ("D", "e")]),
        ("A=b C=\\d E=f", [("A", "b")]),
        ("A=b 'C=d", [("A", "b")]),
    ],
)
def test_assignments(text: str, found: list[tuple[str, str]]) -> None:
    assignments = assignments_of(verbatim(text, 0))
    assert [(name, value) for name, value, _ in assignments] == found


def test_places_of_assignments() -> None:
    text = "A=b \"C=d e\" F='g h'"
    assert [text[span.start : span.end] for _, _, span in assignments_of(verbatim(text, 0))] == [
        "A=b",
        '"C=d e"',
        "F='g h'",
    ]
