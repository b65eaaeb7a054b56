"""The whole command line as typer parses it. Imported only where there are options to parse: typer costs 60 ms."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_command

from servelint.cli.main import COMMANDS

if TYPE_CHECKING:
    from typer.core import TyperCommand

_ROOT_OPTIONS = ("--help", "-h", "--version", "-V", "--install-completion", "--show-completion")
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
_EPILOG = """\
\b
Examples:
  servelint                            check the manifests below this folder
  servelint Modelfile deploy/          check these
  servelint fix --diff Modelfile       show what the repairs would change
  servelint explain SL101              a rule, with its reasons and examples
  servelint inventory                  what is served here, and what stops it
  servelint diagnose models/qwen       one model folder or GGUF, asked four questions

Exit status: 0 all is well, 1 findings (or files rewritten by fix), 2 wrong usage or
configuration, 3 servelint itself broke.
"""


class _Commands(TyperGroup):
    """The commands, each built when it is asked for; `check` where none is named."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: typer.Context, cmd_name: str) -> TyperCommand | None:  # type: ignore[override]  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"servelint.cli.{cmd_name}")
        app = _application(add_completion=False)
        app.command(cmd_name, context_settings=_CONTEXT)(module.command)
        return get_command(app)  # type: ignore[return-value]

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if not ctx.resilient_parsing and (not args or args[0] not in (*COMMANDS, *_ROOT_OPTIONS)):
            args = ["check", *args]
        return super().parse_args(ctx, args)


def _application(**settings: object) -> typer.Typer:
    # Rich would cost a cold start as much again as everything else together.
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, **settings)  # type: ignore[arg-type]


def _print_version(wanted: bool) -> None:
    if wanted:
        from servelint import __version__

        typer.echo(f"servelint {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", "-V", callback=_print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Say whether your LLM deployments stop where they should, and repair the manifests.

    Reads Ollama Modelfiles, vLLM and TGI launch lines in scripts and Kubernetes manifests, TGI environment files,
    model folders with their chat templates, and GGUF. Without a command, it checks.
    """


def run_application(arguments: Sequence[str]) -> int:
    """Parse a command line and run its command; gives the exit status.

    Raises what the command raises, and the parser's own errors, which can `show` themselves.
    """
    app = _application(
        cls=_Commands, subcommand_metavar="[COMMAND] [PATH]...", context_settings=_CONTEXT, epilog=_EPILOG
    )
    app.callback()(_root)
    status = get_command(app).main(list(arguments), prog_name="servelint", standalone_mode=False)
    return status if isinstance(status, int) else 0
