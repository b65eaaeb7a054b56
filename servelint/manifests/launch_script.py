"""Shell scripts that launch an engine."""

from __future__ import annotations

from collections.abc import Iterator

from servelint.files.context import Context
from servelint.formats.shell import Command, Script, read_script
from servelint.manifests.containers import CONDITIONAL, servings_of_words, word_argument
from servelint.manifests.serving import Manifest, NoWriter, Serving, Setting
from servelint.records import replace
from servelint.text import Source

_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a script; None where it launches no engine and can be read."""
    script = read_script(source.text)
    servings = [
        serving
        for command in script.commands
        for serving in servings_of_command(path, "launch-script", command, script, source.text)
    ]
    if not servings:
        # Whatever else is in a script that launches nothing is no business of ours, syntax errors included.
        return None
    return Manifest(
        path, "launch-script", source.text, "shell", tuple(servings), script.problems, script.comments,
        {"document": script},
    )  # fmt: skip


def servings_of_command(path: str, kind: str, command: Command, script: Script, text: str) -> Iterator[Serving]:
    """The servings that one command of a script launches."""
    last = {assignment.name: assignment for assignment in command.assignments}
    environment = tuple(
        Setting(name, value.value.text, value.value.span, value.span, f"environment {name}", reason=value.value.reason)
        for name, value in last.items()
    )
    facts = {"command": command, "document": script, "text": text}
    base = Serving(path, command.span, kind, "", _WRITER, environment=environment, facts=facts)
    for serving in servings_of_words(base, [word_argument(word) for word in command.words]):
        hidden = list(serving.hidden)
        if any(argument.count is None for argument in serving.arguments or ()):
            hidden.append("some words come from outside the script")
        if command.condition and CONDITIONAL not in hidden:
            hidden.append(CONDITIONAL)
        yield replace(serving, hidden=tuple(hidden))
