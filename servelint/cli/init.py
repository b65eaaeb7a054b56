"""`servelint init`: a configuration to start from."""

from __future__ import annotations

from pathlib import Path

from servelint.cli.output import UsageError, say
from servelint.configuration import FILE_NAMES

# Everything is commented out (settings by a bare `#`): it changes nothing until someone decides something.
TEMPLATE = """\
# servelint's configuration. It holds for this folder and those below; the command line wins over it.
# Rules: `servelint rules`. One at length: `servelint explain SL101`.

# `strict` also reports terminators that no manifest pins.
#profile: default

# The rules that speak (without this line, those that are on by default), and rules that do not:
# codes, the beginning of codes, names, or ALL.
#select: [ALL]
#ignore: [SL404]

# The least severity that makes `servelint check` exit with 1: note, warning or error.
#fail-on: warning

# What a walk through folders leaves out beside what git ignores, as in .gitignore.
#exclude:
#  - /vendor/

# Severities (off, note, warning, error) and parameters of single rules.
#rules:
#  SL201: {threshold: 128}
#  SL103: {severity: warning}

# What holds for some files only; a later entry wins over an earlier one.
#paths:
#  - path: deploy/prod/
#    profile: strict
#  - path: "*-bench.yaml"
#    ignore: [SL2]

# A rule that says nothing on some files, and why.
#ignores:
#  - path: examples/runaway.Modelfile
#    rule: SL101
#    reason: shows what happens

# Findings that were there before, made by `servelint check --write-baseline FILE`.
#baseline: .servelint-baseline.json

# Files of values that Helm charts are installed with (`helm -f`): their templates are read with them.
#charts:
#  - path: charts/chat/
#    values: [deploy/prod/chat.yaml]
"""


def command() -> int:
    """Write a commented .servelint.yaml into this folder."""
    taken = next((name for name in FILE_NAMES if Path(name).is_symlink() or Path(name).exists()), None)
    if taken is not None:
        raise UsageError(f"{taken} is there already, and stays as it is")
    try:
        with Path(FILE_NAMES[0]).open("x", encoding="utf-8", newline="\n") as file:
            file.write(TEMPLATE)
    except OSError as error:
        raise UsageError(f"cannot write {FILE_NAMES[0]}: {(error.strerror or str(error)).lower()}") from error
    say(f"wrote {FILE_NAMES[0]}; nothing in it is in force until you uncomment it")
    return 0
