"""The entry point: finds the command, runs it, and turns whatever happens into an exit status."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

# In the order of `servelint --help`.
COMMANDS = ("check", "fix", "explain", "rules", "inventory", "diagnose", "init")


def main(arguments: Sequence[str]) -> int:
    """Run a command line, without the program's name, and give its exit status. Never raises."""
    try:
        # Where no word is an option there is nothing to parse, and a hook need not wait for the parser's import.
        if not any(word.startswith("-") for word in arguments) and "_SERVELINT_COMPLETE" not in os.environ:
            if not arguments or arguments[0] not in COMMANDS:
                from servelint.cli.checking import check

                return check(arguments)
            if arguments[0] == "check":
                from servelint.cli.checking import check

                return check(arguments[1:])
            if arguments[0] == "fix" and len(arguments) > 1:
                from servelint.cli.repairing import fix

                return fix(arguments[1:])
        from servelint.cli.application import run_application

        return run_application(arguments)
    except KeyboardInterrupt:
        return 130
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except Exception as error:
        from servelint.cli.output import complain

        return complain(error)


def run() -> None:
    """The console script."""
    # What a run makes lives until its end or dies by its count of references: looking for cycles after every few
    # hundred objects would cost a quarter of the time.
    gc.set_threshold(100_000, 20, 20)
    status = main(sys.argv[1:])
    from servelint.cli.output import close

    close()
    sys.exit(status)
