"""Which words of a command line launch an engine, and what that engine's program gets."""

from __future__ import annotations

from collections.abc import Sequence

from servelint.manifests.serving import Argument, Setting
from servelint.records import record
from servelint.text import Span

VLLM_MODULES = (
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints.api_server",
    "vllm.entrypoints.launchers.api_server.entry",
)

# Programs that run what follows them; of their options, those that take the next word as their value.
_RUNNERS: dict[str, frozenset[str]] = {
    "uv": frozenset({"--with", "--python", "-p", "--project", "--directory", "--extra", "--group", "--env-file"}),
    "uvx": frozenset({"--with", "--python", "-p", "--from"}),
    "poetry": frozenset({"-C", "--directory"}),
    "pipenv": frozenset(),
    "conda": frozenset({"-n", "--name", "-p", "--prefix"}),
    "mamba": frozenset({"-n", "--name", "-p", "--prefix"}),
}
_CONTAINER_PROGRAMS = frozenset({"docker", "podman", "nerdctl"})

# The options of `docker run` that take no value; all others take the next word unless they carry a `=`.
_SWITCHES = frozenset(
    {
        "--detach", "--disable-content-trust", "--init", "--interactive", "--no-healthcheck", "--oom-kill-disable",
        "--privileged", "--publish-all", "--quiet", "--read-only", "--rm", "--sig-proxy", "--tty", "--help",
        "--replace", "--rmi", "--tls-verify", "--http-proxy", "--no-hosts", "--no-hostname", "--passwd", "--rootfs",
        "--use-api-socket", "--env-host", "--read-only-tmpfs",
    }
)  # fmt: skip
# The client's own options before `run` that take the next word.
_CLIENT_OPTIONS = frozenset(
    {"--config", "--context", "-c", "--host", "-H", "--log-level", "-l", "--tlscacert", "--tlscert", "--tlskey"}
    | {"--connection", "--identity", "--root", "--namespace", "-n", "--address", "-a", "--url"}
)
_SHORT_SWITCHES = frozenset("ditPq")


@record
class Launch:
    """An engine's launch as the words say it.

    `launcher` is how it is started: `serve` (`vllm serve`), `module` (`python -m …`), `image` (a container image's own
    entry point gets the words), `launcher` (`text-generation-launcher`), `kserve` (KServe's Hugging Face server).
    `arguments` are what the engine's program gets; of `vllm serve` they begin with `serve`.
    """

    engine: str
    launcher: str
    arguments: tuple[Argument, ...]
    name: Span
    image: Setting | None = None
    environment: tuple[Setting, ...] = ()
    env_files: tuple[Argument, ...] = ()


def base_name(program: str) -> str:
    """A program's name without its folder: `/opt/venv/bin/vllm` is `vllm`."""
    return program.rsplit("/", 1)[-1]


def engine_of_image(image: str) -> tuple[str, str] | None:
    """The engine that a container image starts, and how: `("vllm", "image")`; None for any other image.

    Judged by the repository's last parts; a mirror's host or a house prefix before them does not matter.
    """
    repository = image.rsplit("@", 1)[0]
    tail = repository.rsplit("/", 1)[-1]
    name = tail.split(":", 1)[0].lower()
    folder = repository[: -len(tail)].rstrip("/").rsplit("/", 1)[-1].lower()
    if name in ("vllm-openai", "vllm-openai-rocm", "vllm-openai-cpu", "vllm-cpu", "vllm-cpu-release-repo", "vllm"):
        return "vllm", "image"
    if name.startswith("vllm-openai") or (folder in ("vllm", "vllm-project") and name.startswith("vllm")):
        return "vllm", "image"
    if "text-generation-inference" in name or name in ("tgi", "tgi-gaudi"):
        return "tgi", "image"
    if name.startswith("huggingfaceserver"):
        return "vllm", "kserve"
    return None


def has_own_entry_point(image: str | None) -> bool:
    """Whether an image surely starts the server itself, whatever words it gets.

    vLLM's and TGI's own images do. Others that carry the engine (`rocm/vllm`, `nvcr.io/nvidia/vllm`) run the command
    that they are given.
    """
    if image is None:
        return False
    name = image.rsplit("@", 1)[0].rsplit("/", 1)[-1].split(":", 1)[0].lower()
    return name.startswith("vllm-openai") or "text-generation-inference" in name


def takes_arguments(image: str | None, words: Sequence[Argument]) -> bool:
    """Whether the words behind an image are for the server: always in the engines' own images.

    In others, which may run whatever command they get (`rocm/vllm bash`), only where they begin with an option.
    """
    return has_own_entry_point(image) or bool(words and (words[0].text or words[0].prefix).startswith("-"))


def known_image(text: str, is_whole: bool) -> str | None:
    """An image as far as its repository goes: `vllm/vllm-openai:` of `vllm/vllm-openai:$TAG`.

    None where the beginning that is known may end within the repository's name.
    """
    return text if is_whole or ":" in text.rsplit("/", 1)[-1] or "@" in text else None


def recognise(words: Sequence[Argument]) -> Launch | None:
    """The launch that these words make, None where they launch no engine that servelint knows.

    The first word is the program. Runners (`uv run`, `poetry run`) and containers (`docker run … image …`) are looked
    through; an unknown word where the program or the image should stand makes it None.
    """
    launch = _recognise(words)
    if launch is not None and any(_asks_for_help(word.text) for word in launch.arguments):
        return None
    return launch


def _asks_for_help(text: str | None) -> bool:
    """Whether a word makes the program print something and end."""
    return text in ("--help", "-h", "--version") or (text is not None and text.startswith("--help="))


def _recognise(words: Sequence[Argument]) -> Launch | None:
    rest = list(words)
    for _ in range(4):
        if not rest or rest[0].text is None:
            return None
        program = base_name(rest[0].text)
        if program in _CONTAINER_PROGRAMS:
            return _container_launch(rest)
        if program not in _RUNNERS:
            return _direct_launch(program, rest)
        rest = _behind_runner(program, rest)
    return None


def _direct_launch(program: str, words: list[Argument]) -> Launch | None:
    following = words[1:]
    if program == "vllm":
        if following and following[0].text == "serve":
            return Launch("vllm", "serve", tuple(following), words[0].span)
        return None
    if program == "text-generation-launcher":
        return Launch("tgi", "launcher", tuple(following), words[0].span)
    if program.startswith(("python", "pypy")):
        return _module_launch(words)
    return None


def _module_launch(words: list[Argument]) -> Launch | None:
    index = 1
    while index < len(words):
        text = words[index].text
        if text is None:
            return None
        if text.startswith("-m"):
            # `-m module`, or `-mmodule`.
            place = index + 1 if text == "-m" else index
            if place >= len(words):
                return None
            module = text[2:] or words[place].text
            following = tuple(words[place + 1 :])
            if module in VLLM_MODULES:
                return Launch("vllm", "module", following, words[place].span)
            if module in ("vllm", "vllm.entrypoints.cli.main") and following and following[0].text == "serve":
                return Launch("vllm", "serve", following, words[place].span)
            if module == "huggingfaceserver":
                return Launch("vllm", "kserve", following, words[place].span)
            return None
        if not text.startswith("-"):
            return None
        index += 2 if text in ("-W", "-X") else 1
    return None


def _behind_runner(program: str, words: list[Argument]) -> list[Argument]:
    index = 1
    with_value = _RUNNERS[program]
    while index < len(words):
        text = words[index].text
        if text is None:
            return []
        if text == "run" or text.startswith("-"):
            index += 2 if text in with_value else 1
            continue
        break
    return words[index:]


def _container_launch(words: list[Argument]) -> Launch | None:
    index = 1
    while index < len(words) and words[index].text not in ("run", "create"):
        # `docker container run` has one more word; `docker exec`, `docker build` launch no server from an image.
        text = words[index].text or ""
        if not text.startswith("-") and text != "container":
            return None
        index += 2 if text in _CLIENT_OPTIONS else 1
    index += 1
    environment: list[Setting] = []
    env_files: list[Argument] = []
    entry_point: Argument | None = None
    has_entry_point = False
    while index < len(words):
        word = words[index]
        if word.count is None and not word.prefix:
            return None
        # `--name=$NAME` without quotes is still meant as one word.
        text = word.text if word.text is not None else word.prefix
        if text == "--":
            index += 1
            break
        if not text.startswith("-") or text == "-":
            break
        name, value, width = _container_option(words, index)
        if name in ("-e", "--env") and value is not None:
            environment.append(_variable(value))
        elif name == "--env-file" and value is not None:
            env_files.append(value)
        elif name == "--entrypoint":
            entry_point, has_entry_point = value, True
        index += width
    if index >= len(words):
        return None
    image = words[index]
    repository = known_image(image.text if image.text is not None else image.prefix, image.text is not None)
    if repository is None:
        return None
    following = words[index + 1 :]
    setting = Setting("image", image.text, image.span, image.span, "image", reason=image.reason)
    if has_entry_point:
        if entry_point is None or entry_point.text is None:
            return None
        # An empty one takes the image's away: the words behind the image are the whole command.
        launch = recognise([entry_point, *following] if entry_point.text else following)
        if launch is None:
            return None
    else:
        engine = engine_of_image(repository)
        if engine is None:
            launch = recognise(following) if following else None
            if launch is None:
                return None
        else:
            launch = Launch(engine[0], engine[1], tuple(following), image.span)
            if engine[1] == "image" and not takes_arguments(repository, following):
                launch = recognise(following)
                if launch is None:
                    return None
    return Launch(
        launch.engine, launch.launcher, launch.arguments, launch.name, setting, tuple(environment), tuple(env_files)
    )


def _container_option(words: list[Argument], index: int) -> tuple[str, Argument | None, int]:
    """An option of `docker run` at this place: its name, its value, and how many words it takes."""
    word = words[index]
    text = word.text if word.text is not None else word.prefix
    if text.startswith("--"):
        name, equals, _ = text.partition("=")
        if equals:
            return name, _tail(word, len(name) + 1), 1
        if name in _SWITCHES:
            return name, None, 1
        return name, words[index + 1] if index + 1 < len(words) else None, 2
    for position, letter in enumerate(text[1:], start=1):
        if letter in _SHORT_SWITCHES:
            continue
        if position + 1 < len(text):
            start = position + (2 if text[position + 1] == "=" else 1)
            return f"-{letter}", _tail(word, start), 1
        return f"-{letter}", words[index + 1] if index + 1 < len(words) else None, 2
    return text, None, 1


def _tail(word: Argument, start: int) -> Argument:
    """What follows the first `start` characters of a word."""
    text = None if word.text is None else word.text[start:]
    span = word.span
    if word.inner is not None and word.text is not None:
        span = word.inner.host_span(Span(start, len(word.text)))
    return Argument(text, span, word.reason, word.prefix[start:], None, word.count, word.literal, word.form)


def _variable(word: Argument) -> Setting:
    """An environment variable as `-e` gives it; without a value it is the host's own, and unknown."""
    known = word.text if word.text is not None else word.prefix
    name, equals, value = known.partition("=")
    if not equals or word.text is None:
        reason = word.reason or f"{name} comes from the environment of the host"
        return Setting(name, None, word.span, word.span, f"environment {name}", reason=reason)
    return Setting(name, value, _tail(word, len(name) + 1).span, word.span, f"environment {name}")
