"""Shell scripts that launch an engine."""

from __future__ import annotations

from servelint.files.context import Context
from servelint.formats.shell import Command, Script, Word, read_script
from servelint.manifests.launchers import Launch, recognise
from servelint.manifests.serving import Argument, Manifest, NoWriter, Serving, Setting
from servelint.manifests.versions import version_of_image
from servelint.text import Source

CONDITIONAL = "runs only on some paths of the script"
_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a script; None where it launches no engine and can be read."""
    script = read_script(source.text)
    servings = servings_of_commands(path, script, "launch-script", source.text)
    if not servings:
        # Whatever else is in a script that launches nothing is no business of ours, syntax errors included.
        return None
    return Manifest(
        path, "launch-script", source.text, "shell", tuple(servings), script.problems, script.comments,
        {"document": script},
    )  # fmt: skip


def servings_of_commands(path: str, script: Script, kind: str, text: str) -> list[Serving]:
    """The servings that a script's commands launch, in order."""
    servings = []
    for command in script.commands:
        launch = recognise([argument_of(word) for word in command.words])
        if launch is not None:
            servings.append(serving_of_launch(path, kind, launch, command, script, text))
    return servings


def argument_of(word: Word) -> Argument:
    """A shell word as an engine's argument."""
    return Argument(word.text, word.span, word.reason, word.prefix, word.inner, word.count, word.literal, "shell")


def serving_of_launch(path: str, kind: str, launch: Launch, command: Command, script: Script, text: str) -> Serving:
    """A launch in a script as a serving."""
    environment = [*_assignments(command, launch), *launch.environment]
    hidden = []
    if launch.env_files:
        names = ", ".join(argument.text or "…" for argument in launch.env_files)
        hidden.append(f"the variables in {names} were not read")
    if any(argument.count is None for argument in launch.arguments):
        hidden.append("some words come from outside the script")
    if command.condition:
        hidden.append(CONDITIONAL)
    version = None
    if launch.image is not None and launch.image.value:
        tag = version_of_image(launch.image.value)
        if tag is not None:
            version = Setting("version", tag, launch.image.span, launch.image.whole, "image tag")
    return Serving(
        path, command.span, kind, launch.engine, _WRITER, version, launch.image, None, launch.arguments, (),
        tuple(environment), tuple(hidden),
        {
            "launcher": launch.launcher, "command": command, "document": script, "text": text,
            "env_files": launch.env_files,
        },
    )  # fmt: skip


def _assignments(command: Command, launch: Launch) -> list[Setting]:
    # The variables set before a `docker run` are the client's, not the container's.
    if launch.image is not None:
        return []
    last = {assignment.name: assignment for assignment in command.assignments}
    return [
        Setting(name, value.value.text, value.value.span, value.span, f"environment {name}", reason=value.value.reason)
        for name, value in last.items()
    ]
