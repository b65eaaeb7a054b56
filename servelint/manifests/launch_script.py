"""Shell scripts that launch an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servelint.files.context import Context
from servelint.formats.shell import Command, Heredoc, Script, read_script
from servelint.manifests.containers import CONDITIONAL, servings_of_words, with_env_files, word_argument
from servelint.manifests.serving import Manifest, NoWriter, Piece, Serving, Setting
from servelint.records import replace
from servelint.text import Embedded, Source, Span

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
        if not heredoc.quoted:
            # In YAML a `${NAME}` is seen for what it is; anything else is read as the program will get it.
            is_yaml = kind in ("kubernetes", "compose") or (name or "").endswith((".yaml", ".yml"))
            if heredoc.text is None and not is_yaml:
                continue
            inner = _as_read(inner, heredoc.text)
        yield Piece(name or "-", inner, kind)


def _as_read(body: Embedded, text: str | None) -> Embedded:
    """The body of an unquoted here-document as its program reads it; with no text, expansions stay as written.

    What an expansion supplied stands where the expansion does.
    """
    runs = list(_runs(body.text))
    if all(not is_expansion and len(characters) == end - start for start, end, is_expansion, characters in runs):
        return body
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    supplied = None if text is None else _supplied(runs, text)
    if text is not None and supplied is None:
        # An expansion that was not understood: somewhere in the body.
        supplied, runs = [text], [(0, len(body.text), True, "")]
    index = 0
    for start, end, is_expansion, written in runs:
        made, one_to_one = written, len(written) == end - start
        if is_expansion and supplied is not None:
            made, one_to_one = supplied[index], False
            index += 1
        for offset in range(len(made)):
            place = Span(start + offset, start + offset + 1) if one_to_one else Span(start, end)
            host = body.host_span(place)
            starts.append(host.start)
            ends.append(host.end)
        characters.append(made)
    return Embedded("".join(characters), [*starts, body.offsets[-1]], None, body.refusal, ends)


def _runs(raw: str) -> Iterator[tuple[int, int, bool, str]]:
    """The parts of a here-document's body: start, end, whether an expansion, and what is read where it is none."""
    position = begin = 0
    while position < len(raw):
        character, following = raw[position], raw[position + 1 : position + 2]
        if character == "\\" and following and following in "\\$`\n":
            end, is_expansion, read_as = position + 2, False, "" if following == "\n" else following
        elif character in "$`" and (end := _end_of_expansion(raw, position)) > position + 1:
            is_expansion, read_as = True, raw[position:end]
        else:
            position += 1
            continue
        if position > begin:
            yield begin, position, False, raw[begin:position]
        yield position, end, is_expansion, read_as
        position = begin = end
    if position > begin:
        yield begin, position, False, raw[begin:position]


def _end_of_expansion(raw: str, start: int) -> int:
    """Where the expansion ends that begins with a dollar or a back quote; `start + 1` where it is only that."""
    if raw[start] == "`":
        close = raw.find("`", start + 1)
        return start + 1 if close < 0 else close + 1
    opening = raw[start + 1 : start + 2]
    if opening and opening in "({":
        closing = ")" if opening == "(" else "}"
        depth = 0
        for index in range(start + 1, len(raw)):
            depth += (raw[index] == opening) - (raw[index] == closing)
            if depth == 0:
                return index + 1
        return len(raw)
    end = start + 1
    while end < len(raw) and (raw[end] == "_" or (raw[end].isascii() and raw[end].isalnum())):
        end += 1
        if raw[start + 1].isdigit():
            return end
    return end + 1 if end == start + 1 and opening and opening in "@*#?$!-" else end


def _supplied(runs: Sequence[tuple[int, int, bool, str]], text: str) -> list[str] | None:
    """What each expansion gave, found between the parts that are written out; None where these are not in the text."""
    found: list[str] = []
    position = 0
    literal = ""
    is_open = False
    for start, _, is_expansion, written in (*runs, (-1, -1, True, "")):
        if not is_expansion:
            literal += written
            continue
        is_last = start < 0
        if not is_open:
            place = (
                position if text.startswith(literal, position) and (not is_last or text[position:] == literal) else -1
            )
        elif is_last:
            place = len(text) - len(literal) if text.endswith(literal) else -1
        else:
            place = text.find(literal, position)
        if place < position:
            return None
        if is_open:
            found.append(text[position:place])
        position, literal, is_open = place + len(literal), "", True
    return found


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
