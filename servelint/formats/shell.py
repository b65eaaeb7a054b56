"""Shell scripts: the commands that will run, in order, with the words that each program really gets.

A small symbolic evaluator of bash. Nothing is executed: what depends on the machine (files, the output of programs,
variables and arguments from outside) is unknown, with the reason, and everything else is what bash would make of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from servelint.formats.problem import Comment, Problem
from servelint.formats.shell_words import Word, quote_word, split_words
from servelint.records import field, record
from servelint.text import Edit, Embedded, Span

__all__ = ["Assignment", "Command", "Heredoc", "Script", "Word", "quote_word", "read_script", "split_words"]

# No script that a person wrote is as large; what is larger is not read.
SIZE_LIMIT = 1_000_000
COMMAND_LIMIT = 500


@record
class Assignment:
    """A variable that a command finds in its environment, and where the script sets it.

    `value` is the value as a word (its `span` is where it is written), `span` the whole assignment. `origin` is
    `prefix` (`A=1 vllm …`), `launcher` (`env A=1 vllm …`) or `export`.
    """

    name: str
    value: Word
    span: Span
    origin: str


@record
class Command:
    """One run of one program.

    `words` are what it gets, the program itself first. `launchers` are the programs that start it (`nohup`, `env`,
    `sudo`), outermost first; their own words are not in `words`. `assignments` are the variables that the script sets
    for it, in order, the last one of a name wins; `environment` maps every variable that it is known to get to its
    text (None where unknown). `span` is the whole simple command, launchers included, redirections not. `end` is the
    offset after the last word, before any redirection, pipe, `&` or comment. `separator` is what stands between two
    lines of the command (` \\`, a newline and the indentation) where it is continued, one blank otherwise.

    `condition` is None where nothing in the script stands in the way of the command. Otherwise it names what decides
    whether it runs, when the script alone does not tell: `and` or `or` (what stands before `&&` or `||`), `if`, `case`,
    `loop`, `function` (one that nobody calls); of several, the outermost that is not `and`. Earlier commands are taken
    to come to an end, and guards that end the script (`[ -d model ] || exit 1`) to be passed.
    """

    words: tuple[Word, ...]
    span: Span
    end: int
    launchers: tuple[str, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    separator: str = " "
    redirections: tuple[Span, ...] = ()
    condition: str | None = None
    background: bool = False
    elsewhere: bool = False
    host: Embedded | None = None
    host_end: int | None = None

    @property
    def program(self) -> str | None:
        """The program's name as written, None where it cannot be known."""
        return self.words[0].text

    def insert(self, text: str) -> Edit | None:
        """The edit that puts shell text (`separator`, then words as `quote_word` writes them) after the last word.

        None where the command is not written out: it comes from a variable, or from a here-document with expansions.
        """
        if self.host_end is None:
            return None
        if self.host is None:
            return Edit(self.host_end, self.host_end, text)
        return self.host.host_edit(Edit(self.host_end, self.host_end, text))


@record
class Heredoc:
    """A here-document: `body` as written, mapped to the host (not to be edited where the delimiter is unquoted).

    `text` is what the program reads, None where an expansion in it is unknown. `file` is where `cat` or `tee` writes it
    to (a word, whose text may be unknown), None where it goes elsewhere; `program` is what reads it.
    """

    body: Embedded
    text: str | None
    quoted: bool
    span: Span
    file: Word | None = None
    append: bool = False
    program: str | None = None


@record
class Script:
    """What was read of a script.

    `incomplete` says why not everything that runs could be listed (a bound was reached), and is empty as a rule.
    """

    commands: tuple[Command, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: tuple[Comment, ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    incomplete: tuple[str, ...] = ()


def read_script(
    text: str,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] | None = None,
    name: str | None = None,
    outside: Mapping[str, str] | None = None,
) -> Script:
    """Read a script for bash (or sh) without running anything.

    With an `environment`, that is all there is, and other variables are unset; without one, every variable that the
    script does not set may come from outside and is unknown, save those that `outside` gives. `arguments` are the
    script's own (None: unknown), `name` its `$0`. Never raises: what bash would refuse is a problem, and the commands
    before it stand.
    """
    if len(text) > SIZE_LIMIT:
        return Script(incomplete=(f"the script is larger than {SIZE_LIMIT:,} characters",))
    from servelint.formats.shell_run import run

    return run(text, environment, arguments, name, outside)
