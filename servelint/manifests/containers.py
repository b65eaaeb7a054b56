"""What runs in a container, or behind any list of words: the engine, through shells, runners and `docker run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from servelint.formats.filling import UNKNOWN
from servelint.formats.shell_words import split_words
from servelint.manifests.images import engine_of_image, known_image, takes_arguments, tells_version
from servelint.manifests.launchers import Launch, asks_for_help, container_run, recognise
from servelint.manifests.serving import Argument, Serving, Setting
from servelint.manifests.versions import version_of_image
from servelint.records import replace
from servelint.text import Embedded

if TYPE_CHECKING:
    from servelint.files.context import Context
    from servelint.formats.shell import Word

SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
CONDITIONAL = "runs only on some paths of the script"
# A shell in a container in a shell: deeper than this nobody nests them.
_DEEPEST = 4


def servings_of_container(
    base: Serving,
    entry_point: Sequence[Argument] | None,
    words: Sequence[Argument],
    image: tuple[str, str] | None = None,
    depth: int = 0,
) -> Iterator[Serving]:
    """The servings that a container makes of its words.

    `base` holds the container's image and environment; `entry_point` is what takes the place of the image's own (None:
    that one gets the words), `image` the engine that the image starts and how, where that is known otherwise than by
    its name.
    """
    name = image_name(base.image)
    launch = image or (engine_of_image(name) if name else None)
    if entry_point:
        if entry_point[0].text is not None or launch is None:
            yield from servings_of_words(base, [*entry_point, *words], depth)
            return
        # What runs is not known, but the container is still the engine's.
        yield replace(base, engine=launch[0], facts={**base.facts, "launcher": None})
        return
    if launch is None or entry_point is not None:
        # An image of a house's own may carry the engine, and words that name it.
        yield from servings_of_words(base, words, depth)
        return
    engine, launcher = launch
    if launcher == "tools":
        if not words or words[0].text not in ("--server", "-s"):
            return
        words, launcher = words[1:], "image"
    if engine == "ollama" and words and words[0].text not in (None, "serve"):
        # `ollama pull`, `ollama run`: a client, or a model fetched for later.
        return
    if launcher == "image" and not takes_arguments(name, words):
        yield from servings_of_words(base, words, depth)
        return
    if not any(asks_for_help(word.text) for word in words):
        yield replace(base, engine=engine, arguments=tuple(words), facts={**base.facts, "launcher": launcher})


def servings_of_words(base: Serving, words: Sequence[Argument], depth: int = 0) -> Iterator[Serving]:
    """The servings that a command makes, the program first: a shell's script and a client's container are looked into.

    `base` holds what is known of the place: path, writer, image, environment.
    """
    if not words or words[0].text is None or depth > _DEEPEST:
        return
    program = words[0].text.rsplit("/", 1)[-1]
    if program in SHELLS:
        yield from _of_shell(base, words, depth)
        return
    run = container_run(words)
    if run is not None:
        # The variables around the client are not the container's.
        inner = replace(
            base, image=run.image, version=version_setting(run.image), environment=run.environment,
            facts={**base.facts, "env_files": run.env_files},
        )  # fmt: skip
        yield from servings_of_container(inner, run.entry_point, run.words, depth=depth + 1)
        return
    launch = recognise(words)
    if launch is not None:
        yield with_launch(base, launch)
    elif words[0].form in ("yaml", "list") and any(letter.isspace() for letter in words[0].text.strip()):
        yield from _of_one_item(base, words)


def _of_one_item(base: Serving, words: Sequence[Argument]) -> Iterator[Serving]:
    """A whole command in the first item of a list: no such program is there, but what was meant is."""
    parts = split_words(words[0].text or "", 0, "posix").words
    meant = [replace(words[0], text=part.text, inner=None, literal=False, node=None) for part in parts]
    launch = recognise([*meant, *words[1:]]) if meant else None
    if launch is not None:
        yield with_launch(replace(base, facts={**base.facts, "in_one_item": words[0]}), launch)


def with_env_files(serving: Serving, context: Context) -> Serving:
    """The serving with the variables that `docker run --env-file` hands on: those of `-e` win over them.

    Each is placed where its file is named; a file that is not within reach is told among what is hidden.
    """
    files: tuple[Argument, ...] = serving.facts.get("env_files", ())
    if not files:
        return serving
    from servelint.files.beside import read_beside
    from servelint.manifests.env_file import settings_elsewhere

    given = {setting.name for setting in serving.environment}
    found: dict[str, Setting] = {}
    hidden = list(serving.hidden)
    for file in files:
        near = read_beside(serving.path, file.text, context) if file.text else None
        if near is None:
            hidden.append(f"the variables in {file.text or '…'} were not read")
            continue
        settings = settings_elsewhere(near[1], "docker", file.text or "", file.span)
        found.update({setting.name: setting for setting in settings if setting.name not in given})
    return replace(serving, environment=(*found.values(), *serving.environment), hidden=tuple(hidden))


def with_launch(base: Serving, launch: Launch) -> Serving:
    """The base as the serving that a launch makes of it."""
    facts = {**base.facts, "launcher": launch.launcher}
    return replace(base, engine=launch.engine, arguments=launch.arguments, facts=facts)


def image_name(image: Setting | None) -> str | None:
    """The image, or as much of it as its repository takes where a slot stands in it (`vllm/vllm-openai:${TAG}`)."""
    if image is None:
        return None
    return image.value if image.value is not None else known_image(str(image.data or ""), False)


def version_setting(image: Setting | None) -> Setting | None:
    """The version that the tag of an engine's own image says; that of another image is no version of the engine."""
    if image is None or image.value is None or not tells_version(image.value):
        return None
    tag = version_of_image(image.value)
    return None if tag is None else Setting("version", tag, image.span, image.whole, "image tag", image.path)


def _of_shell(base: Serving, words: Sequence[Argument], depth: int) -> Iterator[Serving]:
    """`sh -c "script" $0 $1 …`: the script is read as a shell reads it, and its places are mapped back."""
    from servelint.formats.shell import read_script

    index = _script_index(words)
    if index is None:
        return
    script_word = words[index]
    inner = script_word.inner or _whole(script_word)
    text = script_word.text
    if text is None:
        if UNKNOWN not in inner.text:
            return
        # A variable was filled in before the shell reads the script: all but its value is known.
        text = inner.text
    rest = [word.text for word in words[index + 1 :]]
    known = all(text is not None for text in rest) and all(word.count == 1 for word in words[index + 1 :])
    arguments = [text for text in rest[1:] if text is not None] if known else None
    outside = {setting.name: setting.value for setting in base.environment if setting.value is not None}
    script = read_script(text, None, arguments, (rest[0] if rest else "sh") if known else None, outside)
    for command in script.commands:
        settings = {setting.name: setting for setting in base.environment}
        for assignment in command.assignments:
            value = _from_outside(word_argument(assignment.value), assignment.value.quote, script_word.reason)
            settings[assignment.name] = Setting(
                assignment.name, value.text, inner.host_span(value.span), inner.host_span(assignment.span),
                f"environment {assignment.name}", reason=value.reason,
            )  # fmt: skip
        hidden = (*base.hidden, CONDITIONAL) if command.condition else base.hidden
        facts = {**base.facts, "script": script, "command": command, "inner": inner, "text": text}
        own = replace(
            base, span=inner.host_span(command.span), environment=tuple(settings.values()), hidden=hidden, facts=facts
        )
        arguments_of = [_from_outside(word_argument(word), word.quote, script_word.reason) for word in command.words]
        yield from servings_of_words(own, [mapped(word, inner) for word in arguments_of], depth + 1)


def _from_outside(word: Argument, quote: str, reason: str | None) -> Argument:
    """A word of a script without the value that something outside fills in; bare, it may be any number of words."""
    text = word.prefix if word.text is None else word.text
    if UNKNOWN not in text:
        return word
    return replace(
        word, text=None, reason=reason, prefix=text.partition(UNKNOWN)[0], suffix=text.rpartition(UNKNOWN)[2],
        count=None if text == UNKNOWN and not quote else word.count, literal=False,
    )  # fmt: skip


def _script_index(words: Sequence[Argument]) -> int | None:
    """Which word is the script of `sh -c script`; None for a shell that runs a file, or reads its input."""
    index = 1
    while index < len(words):
        text = words[index].text
        if text is None or text[:1] not in ("-", "+") or len(text) == 1:
            return None
        if not text.startswith("--") and "c" in text[1:]:
            index += 1
            # `-c` takes no value of its own: options may still stand between it and the script.
            while index < len(words) and (words[index].text or "")[:1] in ("-", "+") and words[index].text != "-":
                index += 2 if (words[index].text or "").endswith("o") and words[index].text != "--" else 1
            return index if index < len(words) else None
        index += 2 if text in ("--rcfile", "--init-file") or (not text.startswith("--") and text.endswith("o")) else 1
    return None


def _whole(word: Argument) -> Embedded:
    """A map for a word without one: everything stands where the word stands."""
    text = word.text or ""
    start, end = word.span.start, word.span.end
    refusal = "the script cannot be edited here"
    return Embedded(text, [start] * len(text) + [end], None, refusal, [end] * len(text))


def word_argument(word: Word) -> Argument:
    """A shell word as an engine's argument."""
    return Argument(
        word.text, word.span, word.reason, word.prefix, word.inner, word.count, word.literal, "shell", None,
        word.suffix, word.guess if word.text is None else None,
    )  # fmt: skip


def mapped(argument: Argument, inner: Embedded) -> Argument:
    """An argument of an embedded text, seen from the host."""
    own = argument.inner.within(inner) if argument.inner is not None else None
    return replace(argument, span=inner.host_span(argument.span), inner=own, form="string")
