"""Shell scripts that launch an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.shell import Command, Heredoc, Script, read_script
from servelint.manifests.containers import CONDITIONAL, servings_of_words, with_env_files, word_argument
from servelint.manifests.serving import Manifest, NoWriter, Piece, Serving, Setting
from servelint.records import replace
from servelint.text import Embedded, Source

_WRITER = NoWriter("no flag of this server sets what ends generation; it reads the model's own files")


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a script; None where it launches no engine and can be read."""
    script = read_script(source.text)
    servings = [
        serving
        for command in script.commands
        for serving in servings_of_command(path, "launch-script", command, script, source.text)
    ]
    servings = [with_env_files(serving, context) for serving in servings]
    pieces = tuple(pieces_of(script.heredocs))
    if not servings and not pieces:
        # Whatever else is in a script that launches nothing is no business of ours, syntax errors included.
        return None
    return Manifest(
        path, "launch-script", source.text, "shell", tuple(servings), script.problems, script.comments,
        {"document": script}, pieces,
    )  # fmt: skip


# Programs that read a manifest from their input, and of which kind.
_READERS = {
    "kubectl": "kubernetes", "oc": "kubernetes", "k3s": "kubernetes", "microk8s": "kubernetes", "ollama": "modelfile",
    "docker": "compose", "docker-compose": "compose", "podman-compose": "compose",
}  # fmt: skip


def pieces_of(heredocs: Sequence[Heredoc]) -> Iterator[Piece]:
    """The here-documents that are manifests: written to a file of such a name, or read by a program that takes one."""
    for heredoc in heredocs:
        name = heredoc.file.text if heredoc.file is not None else None
        kind = None if heredoc.file is not None else _READERS.get((heredoc.program or "").rsplit("/", 1)[-1])
        if heredoc.append or (name is None and kind is None):
            continue
        inner = heredoc.body
        if heredoc.text != inner.text:
            # In YAML a `${NAME}` is seen for what it is; anything else is read as the program will get it.
            is_yaml = kind in ("kubernetes", "compose") or (name or "").endswith((".yaml", ".yml"))
            if heredoc.text is None and not is_yaml:
                continue
            if heredoc.text is not None:
                places = [inner.offsets[0]] * len(heredoc.text)
                inner = Embedded(heredoc.text, [*places, inner.offsets[-1]], None, "the shell fills variables in here")
        yield Piece(name or "-", inner, kind)


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
