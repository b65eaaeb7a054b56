"""Shell scripts: what is read beside what bash does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from servelint.formats.shell import read_script
from tests.conftest import read_rows
from tests.formats.shell_oracle import HAVE_BASH, judge, launches_of_script

_TABLE = Path(__file__).with_name("shell_table.txt").read_text(encoding="utf-8").split("%%\n")
_ROWS = read_rows("vectors/shell.handed.jsonl")
needs_bash = pytest.mark.skipif(not HAVE_BASH, reason="needs bash")


@pytest.mark.skipif(not _ROWS, reason="needs the folder of recorded vectors beside the checkout")
@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row["id"])
def test_recorded_launches(row: dict[str, Any]) -> None:
    script = read_script(row["script"], row["env"], row["args"])
    commands = [command for command in script.commands if command.program == "vllm"]
    found = [words for _, words in launches_of_script(script)]
    truth = [launch["argv"] for launch in row["launches"]]
    if sum(command.background for command in commands) > 1:  # they start in any order
        assert sorted(map(str, found)) == sorted(map(str, truth))
        return
    if any(command.condition for command in commands):
        assert len(found) >= len(truth)
        return
    assert len(found) == len(truth)
    for words, true_words, command, launch in zip(found, truth, commands, row["launches"], strict=True):
        assert len(words) == len(true_words)
        assert all(word is None or word == true for word, true in zip(words, true_words, strict=True))
        for name, value in launch["env"].items():
            assert command.environment[name] == value


@pytest.mark.skipif(not _ROWS, reason="needs the folder of recorded vectors beside the checkout")
def test_recorded_launches_are_rarely_unknown() -> None:
    unknown = 0
    for row in _ROWS:
        found = launches_of_script(read_script(row["script"], row["env"], row["args"]))
        unknown += any(condition or None in words for condition, words in found)
    # Two depend on the machine: a folder that may be there, patterns that files may match.
    assert unknown <= 2


@needs_bash
@pytest.mark.parametrize("script", _TABLE)
@pytest.mark.parametrize("arguments", [(), ("p", "q r")], ids=["bare", "arguments"])
def test_words_are_those_of_bash(script: str, arguments: tuple[str, ...]) -> None:
    assert judge(script, arguments) == "agree"


@needs_bash
@pytest.mark.parametrize(
    "script",
    [
        "vllm a || vllm b; vllm c && vllm d\n",
        "vllm *nomatch* [ab] a?b\n",
        "cd /nonexistent && vllm x\n",
        "[ -f nofile ] && vllm x || vllm y\n",
        'f() { vllm "$FUNCNAME"; }; vllm ok\n',
        "xargs vllm <<< 'a b'\n",
        "vllm a=~ ~/x --b=~/c\n",
        'vllm $RANDOM $$ $(date) "$(hostname)"\n',
        'A=([5]=z); vllm "${A[5]}"\n',
        "while read -r x; do vllm $x; done < /dev/null\n",
    ],
)
def test_what_depends_on_the_machine_is_unknown(script: str) -> None:
    assert judge(script) == "unknown"


# Scripts put together at random

_literals = st.sampled_from(["a", "--x", "p/q-r", "a=b", "z#", "{a}", "x{a,b}", "{1..3}", '{"t":1,"u":2}', "!", "{a,}"])
_single = st.sampled_from(["'a'", "'b c'", "'*'", "'$X'", "'{a,b}'", "'\"q\"'", "''", "'#'", "'a\\nb'"])
_double = st.sampled_from(
    [
        '"a"',
        '"b c"',
        '"$X"',
        '"${Y}z"',
        '"it\'s"',
        '"\\$X"',
        '"\\"q\\""',
        '"\\\\"',
        '"a\\nb"',
        '""',
        '"$"',
        '"`echo q`"',
        '"$(echo "n m")"',
        '"${A[@]}"',
        '"${A[*]}"',
        '"$@"',
        '"$*"',
        '"x$@y"',
        '"a\\\nb"',
    ]
)
_ansi = st.sampled_from(["$'a\\tb'", "$'\\x41'", "$'it\\'s'", "$'\\\\'", "$'\\n'", "$'\\101'"])
_escaped = st.sampled_from(["\\ ", "\\*", "\\$X", "\\\\", "a\\ b", '\\"', "\\'", "\\#", "\\{a,b}", "a\\\nb"])
_plain = st.sampled_from(
    [
        "$X",
        "${Y}",
        "$U",
        "$A",
        "${A[@]}",
        "${A[*]}",
        "${A[0]}",
        "${#A[@]}",
        "${#X}",
        "$#",
        "$1",
        "$2",
        "$@",
        "$*",
        "${A[@]:1}",
        "${@:2}",
        "$((1+2))",
        "$((2*3))",
        "$(echo a b)",
        "`echo c`",
        "$(echo)",
        '$(echo "$X")',
    ]
)
_defaults = st.builds(
    "${{{}{}{}}}".format,
    st.sampled_from(["X", "Y", "U", "N"]),
    st.sampled_from([":-", "-", ":+", "+"]),
    st.sampled_from(["a b", '"a b"', "$Y", "", "'q r'", '"$X"z']),
)
_changes = st.sampled_from(
    [
        "${X#a}",
        "${X##*/}",
        "${X%b*}",
        "${Y%%*-}",
        '"${X/a/q r}"',
        '"${Y//[ab]/z}"',
        "${X/#a/$Y}",
        "${X:1}",
        "${Y: -2}",
        "${X^^}",
        "${Y,}",
        '"${X//"*"/}"',
        '"${Y/%?/}"',
        "${X%[a-c]}",
    ]
)
_piece = st.one_of(_literals, _single, _double, _ansi, _escaped, _plain, _defaults, _changes)
_word = st.one_of(_piece, st.builds("{}{}".format, _piece, _piece))
_words = st.lists(_word, min_size=1, max_size=3).map(" ".join)
_assignment = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(["X", "Y"]), st.sampled_from(["=", "+="]), _word),
    st.builds("A{}({})".format, st.sampled_from(["=", "+="]), _words),
    st.sampled_from(["IFS=,", "IFS=:", "unset X", "export X", 'X="a,b:c"', 'Y=" a  b "', "A[1]=z", "X='a/b/c'"]),
    st.builds("set -- {}".format, _words),
)
_condition = st.sampled_from(
    ["true", "false", '[ -z "$X" ]', '[ -n "$Y" ]', "[[ $X == a* ]]", "[[ -n $Y && $X != b ]]", "[ $# -gt 1 ]"]
)
_run = st.one_of(
    st.builds("vllm {}".format, _words),
    st.builds("{} vllm {}".format, st.sampled_from(["env Q=1", "nohup", "command", "nice -n 3", "!", "time"]), _words),
    st.builds('X={} vllm "$X"'.format, _word),
    st.builds('bash -c \'vllm "$X" "$@" $0\' {}'.format, _words),
    st.builds("vllm {} >/dev/null 2>&1 z".format, _words),
    st.just("eval 'vllm $X'"),
)
_simple = st.one_of(_run, _assignment)
_command = st.one_of(
    _simple,
    st.builds("if {}; then {}; else {}; fi".format, _condition, _simple, _simple),
    st.builds('for v in {}; do vllm "$v" $v; {}; done'.format, _words, _simple),
    st.builds("case {} in a*) {};; *) {};; esac".format, _word, _simple, _simple),
    st.builds("( {}; {} )".format, _simple, _simple),
    st.builds("{} && {}".format, _condition, _simple),
    st.builds("f() {{ {}; }}; f {}".format, _simple, _words),
    st.builds('vllm "$(cat <<E\n{}\nE\n)"'.format, st.sampled_from(['a "b" $X', "$(echo q)", "\\$X `echo z`", "it's"])),
)
_scripts = st.lists(_command, min_size=1, max_size=4).map("\n".join)


@needs_bash
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_scripts, st.booleans())
def test_random_scripts_are_never_misread(script: str, with_variable: bool) -> None:
    environment = {"U": "u v"} if with_variable else {}
    assert judge(f'{script}\nvllm end "$X" "$Y" "${{A[@]}}"\n', ("p", "q r"), environment) != "wrong"
