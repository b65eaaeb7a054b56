"""The shell reader: places, edits, unknowns, launchers, scripts within scripts, problems, bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.formats.shell import COMMAND_LIMIT, Command, Script, quote_word, read_script
from servelint.text import Edit, Span, apply_edits


def only(script: Script, program: str = "vllm") -> Command:
    """The one run of that program."""
    found = [command for command in script.commands if command.program == program]
    assert len(found) == 1, [command.words for command in script.commands]
    return found[0]


def texts(command: Command) -> list[str | None]:
    return [word.text for word in command.words]


# Places


def test_words_know_where_they_are_written() -> None:
    text = "vllm serve 'a b' --x=\"c\" d\\ e \\\n  f\n"
    command = only(read_script(text))
    written = [text[word.span.start : word.span.end] for word in command.words]
    assert written == ["vllm", "serve", "'a b'", '--x="c"', "d\\ e", "f"]
    assert [word.quote for word in command.words] == ["", "", "'", '"', "\\", ""]
    assert texts(command) == ["vllm", "serve", "a b", "--x=c", "d e", "f"]


def test_elements_of_a_list_are_placed_in_the_list() -> None:
    text = "ARGS=(--port 9000 --j '{}')\nvllm \"${ARGS[@]}\"\n"
    word = only(read_script(text)).words[4]
    assert text[word.span.start : word.span.end] == "'{}'"
    assert text[word.site.start : word.site.end] == '"${ARGS[@]}"'
    assert not word.literal
    assert word.inner is not None
    edit = word.inner.host_edit(Edit(1, 1, '"a": 1'))
    assert edit is not None
    assert apply_edits(text, [edit]).startswith("ARGS=(--port 9000 --j '{\"a\": 1}')")


def test_a_variable_tells_its_assignment() -> None:
    text = "MODEL='q w'\nvllm \"$MODEL\"\n"
    word = only(read_script(text)).words[1]
    assert (word.text, word.literal, word.inner) == ("q w", False, None)
    assert word.source is not None
    assert text[word.source.start : word.source.end] == "'q w'"


@pytest.mark.parametrize(
    ("text", "inserted"),
    [
        ("vllm a > log 2>&1 &\n", "vllm a --n > log 2>&1 &\n"),
        ("vllm a | tee log\n", "vllm a --n | tee log\n"),
        ("vllm a # note\n", "vllm a --n # note\n"),
        ("vllm a > log b\n", "vllm a > log b --n\n"),
        ("vllm a;\n", "vllm a --n;\n"),
        ("vllm a \\\n  b\n", "vllm a \\\n  b \\\n  --n\n"),
        ("vllm a \\\n\t--b c \\\n\necho\n", "vllm a \\\n\t--b c \\\n\t--n \\\n\necho\n"),
        ("vllm a \\\n  # --b \\\n  --c\n", "vllm a --n \\\n  # --b \\\n  --c\n"),
        ("A=1 exec nohup vllm a\n", "A=1 exec nohup vllm a --n\n"),
        ('vllm a "$@"\n', 'vllm a "$@" --n\n'),
        ("bash -c 'vllm a' x\n", "bash -c 'vllm a --n' x\n"),
        ('bash -c "vllm $M \\"b\\"" x\n', 'bash -c "vllm $M \\"b\\" --n" x\n'),
        ("bash <<'EOF'\nvllm \\\n  a\nEOF\n", "bash <<'EOF'\nvllm \\\n  a \\\n  --n\nEOF\n"),
        ("x=$(vllm a)\n", "x=$(vllm a --n)\n"),
    ],
)
def test_a_flag_is_put_after_the_last_word(text: str, inserted: str) -> None:
    command = only(read_script(text))
    edit = command.insert(command.separator + "--n")
    assert edit is not None
    assert apply_edits(text, [edit]) == inserted
    assert command.end == edit.start


def test_what_is_put_into_quotes_is_written_for_them() -> None:
    text = "sh -c 'vllm a'\n"
    edit = only(read_script(text)).insert(" --j " + quote_word('{"a": "it\'s"}'))
    assert edit is not None
    assert texts(only(read_script(apply_edits(text, [edit])))) == ["vllm", "a", "--j", '{"a": "it\'s"}']


@pytest.mark.parametrize(
    "text",
    ["CMD='vllm a'\neval $CMD\n", "bash <<EOF\nvllm a\nEOF\n", "vllm a\r\n", "echo 'vllm a' | sh\n"],
)
def test_no_flag_is_put_where_the_command_is_not_written_out(text: str) -> None:
    assert only(read_script(text)).insert(" --n") is None


_inner_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(
        ["'a b'", '"a \\"b\\$c"', "$'a\\n\\x41'", "bare", "a\\ b", "--x='{\"a\": 1}'", '--x="y"', "''", '""']
    ),
    _inner_text,
    st.data(),
)
def test_edits_of_a_word_become_its_text(written: str, new: str, data: st.DataObject) -> None:
    text = f"vllm x {written} z\n"
    word = only(read_script(text)).words[2]
    assert word.text is not None
    assert word.inner is not None
    first = 4 if word.text.startswith("--x=") else 0
    start = data.draw(st.integers(first, len(word.text)))
    end = data.draw(st.integers(start, len(word.text)))
    edit = word.inner.host_edit(Edit(start, end, new))
    assert edit is not None
    expected = word.text[:start] + new + word.text[end:]
    found = texts(only(read_script(apply_edits(text, [edit]))))
    if not expected and not set(written) & {"'", '"'}:
        assert found == ["vllm", "x", "z"]  # a bare word that is emptied is gone
        return
    assert found == ["vllm", "x", expected, "z"]


@given(_inner_text, st.sampled_from(["", "'", '"', "$'"]))
def test_a_new_word_is_read_back(text: str, quote: str) -> None:
    assert texts(only(read_script(f"vllm {quote_word(text, quote)}\n"))) == ["vllm", text]


# Unknowns


@pytest.mark.parametrize(
    ("word", "prefix", "guess", "count"),
    [
        ('"$MODEL"', "", None, 1),
        ("$MODEL", "", None, None),
        ('--model="$MODEL"', "--model=", None, 1),
        ("--model=$MODEL", "--model=", None, None),
        ("${PORT:-8000}", "", "8000", None),
        ('"${PORT:-8000}"', "", "8000", 1),
        ('"$@"', "", None, None),
        ("$(date)", "", None, None),
        ("*.x", "", "*.x", None),
        ("a?b", "a", "a?b", None),
        ("~/m", "", None, 1),
    ],
)
def test_unknown_words(word: str, prefix: str, guess: str | None, count: int | None) -> None:
    found = only(read_script(f"vllm {word}\n")).words[1]
    assert found.text is None
    assert found.reason
    assert (found.prefix, found.guess, found.count) == (prefix, guess, count)


def test_known_words_around_an_unknown_one_stay_known() -> None:
    text = 'CMD="vllm serve $M --port 9"\n$CMD --x\n'
    assert texts(only(read_script(text))) == ["vllm", "serve", None, "--port", "9", "--x"]


def test_a_pattern_that_no_file_can_match_is_known() -> None:
    command = only(read_script('vllm --cors=["*"] http://h/a?b --allow=*\n'))
    assert texts(command) == ["vllm", "--cors=[*]", "http://h/a?b", "--allow=*"]


def test_variables_that_may_have_been_set_on_the_way_are_guessed() -> None:
    text = 'MODEL=q\nwhile [ $# -gt 0 ]; do case $1 in -m) MODEL=$2; shift 2;; esac; done\nvllm "$MODEL"\n'
    word = only(read_script(text)).words[1]
    assert (word.text, word.guess) == (None, "q")


def test_what_a_branch_adds_may_be_any_number_of_words() -> None:
    text = 'A=(--a 1)\nif [ -n "$TP" ]; then A+=(--tp "$TP"); fi\nvllm "${A[@]}" z\n'
    words = only(read_script(text)).words
    assert [word.text for word in words] == ["vllm", "--a", "1", None, "z"]
    assert words[3].count is None


@pytest.mark.parametrize("source", ["config.sh", "./.env", '"$DIR/settings"'])
def test_a_sourced_file_may_set_anything(source: str) -> None:
    assert texts(only(read_script(f"X=1\n. {source}\nvllm $X\n", {}))) == ["vllm", None]


def test_an_activated_environment_sets_nothing_of_ours() -> None:
    assert texts(only(read_script("X=1\nsource /v/bin/activate\nvllm $X\n", {}))) == ["vllm", "1"]


def test_variables_from_outside() -> None:
    assert texts(only(read_script('vllm "$A" "$B"\n', {"A": "x"}))) == ["vllm", "x", ""]
    assert texts(only(read_script('vllm "$A" "$B"\n', outside={"A": "x"}))) == ["vllm", "x", None]
    assert texts(only(read_script('vllm "$0"\n', name="run.sh"))) == ["vllm", "run.sh"]


# Conditions


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("vllm a\n", [None]),
        ("cd /x && vllm a\n", ["and"]),
        ("export A=1 && vllm a\n", [None]),
        ("pip install x || vllm a\n", ["or"]),
        ("[ -d m ] || exit 1\nvllm a\n", [None]),
        ("if [ -f x ]; then vllm a; else vllm b; fi\n", ["if", "if"]),
        ("if [ 1 = 1 ]; then vllm a; else vllm b; fi\n", [None]),
        ("case $X in a) vllm a;; *) vllm b;; esac\n", ["case", "case"]),
        ("for f in *.x; do vllm $f; done\n", ["loop"]),
        ("for p in 1 2; do vllm $p; done\n", [None, None]),
        ("while true; do vllm a; sleep 1; done\n", [None]),
        ("until curl h; do vllm a; done\n", ["loop"]),
        ("f() { vllm a; }\n", ["function"]),
        ("f() { vllm a; }; f\n", [None]),
        ("f() { vllm $1; }; x && f b\n", ["and"]),
        ('main() { vllm "$@"; }\nmain "$@"\n', [None]),
        ("if x; then cd y && vllm a; fi\n", ["if"]),
        ("x && if y; then vllm a; fi\n", ["if"]),
    ],
)
def test_conditions(text: str, conditions: list[str | None]) -> None:
    found = [command.condition for command in read_script(text).commands if command.program == "vllm"]
    assert found == conditions


# Launchers


@pytest.mark.parametrize(
    "before",
    [
        "exec", "nohup", "setsid -w", "command", "nice -n 5", "nice -10", "ionice -c2 -n 7", "sudo -Eu me A=b",
        "env -u X -i A=b", "env - A=b", "timeout -k 5 1h", "timeout --signal=INT 5m", "stdbuf -oL -e0",
        "numactl -N 0 --membind 0", "numactl --interleave=all", "taskset -c 0-3", "chrt -f 10", "tini -g --",
        "gosu app", "su-exec app", "systemd-run --user -p A=b --unit x", "flock -n /run/l", "uv run --with vllm",
        "uvx --from vllm", "poetry run", "conda run -n e --no-capture-output", "micromamba run -n e",
        "apptainer exec --nv -B /a image.sif", "srun -N 1 --ntasks=1", "mpirun -np 2", "docker exec -it c",
        "kubectl exec -n ns pod -c c --", "time", "time -p", "!", "nohup env A=b nice", "xvfb-run -a", "strace -f -o x",
        "/usr/bin/env", "unbuffer", "screen -dmS name", "dumb-init --",
    ],
)  # fmt: skip
def test_launchers_are_looked_through(before: str) -> None:
    text = f"{before} vllm serve m\n"
    command = only(read_script(text))
    assert texts(command) == ["vllm", "serve", "m"]
    assert text[command.span.start : command.span.end].strip() == text.strip().removeprefix("time -p ").removeprefix(
        "time "
    ).removeprefix("! ")


@pytest.mark.parametrize(
    "text",
    [
        "command -v vllm\n",
        "docker run vllm\n",
        "uv pip install vllm\n",
        "echo vllm serve\n",
        "pip install vllm\n",
        "which vllm\n",
        "# vllm\n",
        "cat <<EOF\nvllm a\nEOF\n",
        "printf '%s' vllm\n",
        "pkill -f vllm\n",
    ],
)
def test_what_only_names_a_program_does_not_run_it(text: str) -> None:
    assert not [command for command in read_script(text).commands if command.program == "vllm"]


def test_xargs_adds_words() -> None:
    command = only(read_script("cat f | xargs -n 1 vllm serve\n"))
    assert texts(command) == ["vllm", "serve", None]
    assert command.words[2].count is None
    command = only(read_script("cat f | xargs -I{} vllm serve --m={} x\n"))
    assert [word.text for word in command.words] == ["vllm", "serve", None, "x"]
    assert command.words[2].prefix == "--m="


def test_environment_of_a_command() -> None:
    text = "export A=1 B\nC=2\nD=3 env E='x y' F=$G vllm\n"
    command = only(read_script(text, {"O": "o"}))
    assert command.environment == {"O": "o", "A": "1", "D": "3", "E": "x y", "F": ""}
    places = {
        found.name: (text[found.value.span.start : found.value.span.end], found.origin) for found in command.assignments
    }
    assert places["A"] == ("1", "export")
    assert places["D"] == ("3", "prefix")
    assert places["E"][1] == "launcher"
    assert "C" not in command.environment


def test_what_runs_elsewhere_has_another_environment() -> None:
    command = only(read_script("export A=1\nssh host vllm serve m\n"))
    assert command.elsewhere
    assert "A" not in command.environment
    assert texts(command) == ["vllm", "serve", "m"]


@pytest.mark.parametrize(
    "text",
    [
        "bash -c 'vllm serve \"m n\"'\n",
        "sh -ec \"vllm serve 'm n'\"\n",
        "bash -euo pipefail -c 'vllm serve m\\ n'\n",
        "bash -c 'vllm \"$@\"' x serve 'm n'\n",
        "eval \"vllm serve 'm n'\"\n",
        "bash <<'E'\nvllm serve 'm n'\nE\n",
        "bash -s 'm n' <<'E'\nvllm serve \"$1\"\nE\n",
        "cat <<'E' | sh\nvllm serve 'm n'\nE\n",
        "tmux new-session -d -s x \"vllm serve 'm n'\"\n",
        "tmux send-keys -t x \"vllm serve 'm n'\" Enter\n",
        "ssh -p 22 host \"vllm serve 'm n'\"\n",
        "su app -c \"vllm serve 'm n'\"\n",
        "screen -dmS x bash -c \"vllm serve 'm n'\"\n",
        "watch -n 1 vllm serve \"'m n'\"\n",
        "x=`vllm serve 'm n'`\n",
    ],
)
def test_scripts_within_scripts(text: str) -> None:
    command = only(read_script(text))
    assert texts(command) == ["vllm", "serve", "m n"]
    word = command.words[2]
    place = word.source or word.span
    assert "m" in text[place.start : place.end]


# Problems, comments, here-documents


@pytest.mark.parametrize(
    ("text", "message", "at", "sort"),
    [
        ("vllm\necho 'a\n", "unexpected EOF while looking for matching `''", 10, "unclosed-quote"),
        ('vllm\necho "a\n', "unexpected EOF while looking for matching `\"'", 10, "unclosed-quote"),
        ("vllm\necho )\n", "syntax error near unexpected token `)'", 10, "syntax"),
        ("vllm\nif x; then\n", "syntax error: unexpected end of file", 16, "syntax"),
        ("vllm\nx | | y\n", "syntax error near unexpected token `|'", 9, "syntax"),
        ("vllm\nserve <\n", "syntax error near unexpected token `newline'", 12, "syntax"),
        ("vllm\ndone\n", "syntax error near unexpected token `done'", 5, "syntax"),
        ("vllm\necho $(x\n", "unexpected EOF while looking for matching `)'", 10, "syntax"),
        ("vllm\necho ${x\n", "unexpected EOF while looking for matching `}'", 10, "syntax"),
        ("vllm\necho ${x y}\n", "bad substitution", 10, "syntax"),
        ("vllm\nfor x in a; do y; fi\n", "syntax error near unexpected token `fi'", 23, "syntax"),
    ],
)  # fmt: skip
def test_problems(text: str, message: str, at: int, sort: str) -> None:
    script = read_script(text)
    assert [(problem.message, problem.span.start, problem.sort) for problem in script.problems] == [(message, at, sort)]
    assert [command.program for command in script.commands] == ["vllm"]


def test_comments_belong_to_what_they_stand_on_or_above() -> None:
    text = "#!/bin/bash\n# one\n\nvllm a # two\nA=(\n  # three\n  b # four\n)\n# five\n"
    found = {comment.text: text[comment.target.start : comment.target.end] for comment in read_script(text).comments}
    assert found == {"# one": "vllm a", "# two": "vllm a", "# three": "b", "# four": "b", "# five": "# five"}


def test_heredocs_that_are_written_to_files() -> None:
    text = 'cat > gen.json <<\'E\'\n{"a": 1}\nE\ntee -a "$D/x" <<F\nb $C\nF\n'
    first, second = read_script(text).heredocs
    assert first.file is not None
    assert (first.file.text, first.quoted, first.append, first.text) == ("gen.json", True, False, '{"a": 1}\n')
    edit = first.body.host_edit(Edit(6, 7, "2"))
    assert edit is not None
    assert '{"a": 2}' in apply_edits(text, [edit])
    assert first.body.host_edit(Edit(0, 0, "E\n")) is None
    assert second.file is not None
    assert (second.file.text, second.quoted, second.append, second.text) == (None, False, True, None)
    assert second.body.encode is None
    assert second.body.refusal


def test_commands_after_a_continuation_with_a_blank() -> None:
    script = read_script("vllm a \\ \n  --b\n")
    assert [texts(command) for command in script.commands] == [["vllm", "a", " "], ["--b"]]


# Robustness


_HOSTILE = {
    "doubling value": "X=aaaaaaaaaa\n" + "X=$X$X\n" * 60 + "vllm $X\n",
    "doubling list": "A=(a b)\n" + 'A+=("${A[@]}")\n' * 40 + 'vllm "${A[@]}"\n',
    "braces": "vllm " + "{a,b}" * 40 + "\n",
    "long sequence": "vllm {1..100000000}\n",
    "recursive function": "f() { f; f; }; f\n",
    "recursive evaluation": 'X=\'eval "$X"; eval "$X"\'; eval "$X"\n',
    "nested loops": "for a in {1..100}; do " * 5 + ":; " + "done; " * 5 + "\n",
    "parentheses": "(" * 20000,
    "substitutions": "$(" * 20000,
    "quoted substitutions": '"$(' * 20000,
    "arithmetic": "vllm $((" + "(" * 5000 + "1" + ")" * 5000 + "))\n",
    "pattern": "X=" + "a" * 5000 + "; vllm ${X%%" + "*a" * 500 + "b} ${X//" + "*a" * 50 + "b/}\n",
    "launchers": "sudo " * 3000 + "vllm\n",
    "branches": "if x; then a=1; else b=1; fi\n" * 800 + "vllm\n",
    "heredocs": "cat <<E\n" * 20000,
    "conditions": "[[ " + "( " * 3000 + "a" + " )" * 3000 + " ]] && vllm\n",
}


@pytest.mark.parametrize("text", list(_HOSTILE.values()), ids=list(_HOSTILE))
def test_hostile_scripts_come_to_an_end(text: str) -> None:
    script = read_script(text, {}, [])
    assert script.commands or script.problems or script.incomplete or "vllm" not in text


def test_no_more_commands_than_can_be_told() -> None:
    script = read_script("for a in {1..100}; do for b in {1..100}; do vllm $a $b; done; done\n")
    assert len(script.commands) == COMMAND_LIMIT
    assert script.incomplete


@pytest.mark.parametrize(
    "text",
    [
        'run() {\n  run a\n  run b\n  run c\n}\nrun x\nvllm "$@"\n',
        "for a in {1..90}; do for b in {1..90}; do for c in {1..90}; do X=$a$b$c; done; done; done\nvllm $X\n",
        'A="a b c d e f g h"\n' + 'A="$A $A"\n' * 9 + "for w in $A; do vllm $w $A; done\n",
    ],
)
def test_what_grows_without_end_is_given_up(text: str) -> None:
    assert read_script(text).incomplete


def test_too_large_a_script_is_not_read() -> None:
    assert read_script("#" * 1_000_001).incomplete


_TOKENS = st.sampled_from(
    [
        "vllm ", "a", "b", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{", "}", '"', "'", "`", "$", "$(", "${",
        "$((", "))", "X", "=", "X=1\n", "$X", "\\", "\\\n", "#", "<<E\n", "E\n", ">x ", "<<<", "if true; then ", "fi\n",
        "else ", "for i in a b; do ", "done\n", "case a in ", "esac\n", ";;", "a)", "f() ", "[[ ", "]]", "==", "!", "*",
        "?", "~", ",", "\t", "\r\n", "é", "eval ", "bash -c ", "A=(", "${A[@]}", "$@", "$'", "\0", "\udc80", "[", "]",
        ":-", "/", "%", ":", "@", "<(", "while x; do ",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(_TOKENS, max_size=40).map("".join)))
def test_any_text_can_be_read(text: str) -> None:
    script = read_script(text)
    for command in script.commands:
        assert command.words
        for word in command.words:
            for span in (word.span, word.site):
                assert 0 <= span.start <= span.end <= len(text)
            assert word.text is not None or word.reason is not None
            if word.inner is not None:
                assert word.text == word.inner.text
                assert len(word.inner.offsets) == len(word.inner.text) + 1
        assert command.span.start <= command.end <= len(text)
    for place in [*script.problems, *script.comments]:
        assert 0 <= place.span.start <= place.span.end <= len(text)
    assert all(isinstance(heredoc.span, Span) for heredoc in script.heredocs)
