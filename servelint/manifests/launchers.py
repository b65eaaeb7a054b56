"""Which words of a command line launch an engine, and what that engine's program gets."""

from __future__ import annotations

from collections.abc import Sequence

from servelint.manifests.images import known_image
from servelint.manifests.serving import Argument, Setting
from servelint.records import record
from servelint.text import Span

VLLM_MODULES = (
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints.api_server",
    "vllm.entrypoints.launchers.api_server.entry",
)

SGLANG_MODULES = ("sglang.launch_server", "sglang.srt.server")
# llama.cpp's server, as it is built and as distributions rename it.
_LLAMA_SERVERS = frozenset({"llama-server", "llama-server.exe", "llama.cpp-server", "llamacpp-server", "llama_server"})

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

    `launcher` is how it is started: `serve` (`vllm serve`, `sglang serve`), `module` (`python -m …`), `image` (a
    container image's own entry point gets the words), `launcher` (a program of the engine's own:
    `text-generation-launcher`, `llama-server`), `kserve` (KServe's Hugging Face server), `dynamo` (NVIDIA Dynamo's
    worker), `config` (options out of a file). `arguments` are what the engine's program gets; of `vllm serve` and
    `sglang serve` they begin with `serve`.
    """

    engine: str
    launcher: str
    arguments: tuple[Argument, ...]
    name: Span


@record
class ContainerRun:
    """A `docker run` as its words say it: the image, what takes its entry point's place, and what the program gets.

    `entry_point` is None where the image's own gets the words; empty where it is taken away.
    """

    image: Setting
    entry_point: tuple[Argument, ...] | None
    words: tuple[Argument, ...]
    environment: tuple[Setting, ...] = ()
    env_files: tuple[Argument, ...] = ()


def base_name(program: str) -> str:
    """A program's name without its folder: `/opt/venv/bin/vllm` is `vllm`."""
    return program.rsplit("/", 1)[-1]


def recognise(words: Sequence[Argument]) -> Launch | None:
    """The launch that these words make, None where they launch no engine that servelint knows.

    The first word is the program. Runners (`uv run`, `poetry run`) are looked through; an unknown word where the
    program should stand makes it None.
    """
    launch = _recognise(words)
    if launch is not None and any(asks_for_help(word.text) for word in launch.arguments):
        return None
    return launch


def asks_for_help(text: str | None) -> bool:
    """Whether a word makes the program print something and end."""
    return text in ("--help", "-h", "--version") or (text is not None and text.startswith("--help="))


def _recognise(words: Sequence[Argument]) -> Launch | None:
    rest = list(words)
    for _ in range(4):
        if not rest or rest[0].text is None:
            return None
        program = base_name(rest[0].text)
        if program not in _RUNNERS:
            return _direct_launch(program, rest)
        rest = _behind_runner(program, rest)
    return None


def _direct_launch(program: str, words: list[Argument]) -> Launch | None:
    following = words[1:]
    if program in ("vllm", "sglang"):
        if following and following[0].text == "serve":
            return Launch(program, "serve", tuple(following), words[0].span)
        return None
    if program == "text-generation-launcher":
        return Launch("tgi", "launcher", tuple(following), words[0].span)
    if program in _LLAMA_SERVERS or (program == "server" and _is_llama_server(words[0].text or "", following)):
        return Launch("llama.cpp", "launcher", tuple(following), words[0].span)
    if program == "ollama":
        if following and following[0].text in ("serve", "start"):
            return Launch("ollama", "serve", tuple(following), words[0].span)
        return None
    if program.startswith(("python", "pypy")):
        return _module_launch(words)
    return None


def _is_llama_server(program: str, words: Sequence[Argument]) -> bool:
    """Whether a program of the name that llama.cpp's server had until 2024 is that: by its folder, or by its model."""
    if "llama" in program.lower():
        return True
    return any((word.text or word.prefix).lower().endswith(".gguf") for word in words)


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
            if module == "dynamo.vllm":
                return Launch("vllm", "dynamo", following, words[place].span)
            if module in SGLANG_MODULES:
                return Launch("sglang", "module", following, words[place].span)
            if module == "llama_cpp.server":
                return Launch("llama-cpp-python", "module", following, words[place].span)
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


def container_run(words: Sequence[Argument]) -> ContainerRun | None:
    """The container that these words start, None where they start none: `docker run`, `podman run`, `nerdctl run`."""
    if not words or words[0].text is None or base_name(words[0].text) not in _CONTAINER_PROGRAMS:
        return None
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
    if known_image(image.text if image.text is not None else image.prefix, image.text is not None) is None:
        return None
    setting = Setting("image", image.text, image.span, image.span, "image", data=image.prefix, reason=image.reason)
    replaced = None
    if has_entry_point:
        if entry_point is None or entry_point.text is None:
            return None
        # An empty one takes the image's away: the words behind the image are the whole command.
        replaced = (entry_point,) if entry_point.text else ()
    return ContainerRun(setting, replaced, tuple(words[index + 1 :]), tuple(environment), tuple(env_files))


def _container_option(words: Sequence[Argument], index: int) -> tuple[str, Argument | None, int]:
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
