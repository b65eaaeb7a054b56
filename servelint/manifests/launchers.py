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


@record
class ContainerOptions:
    """What the options of `docker run` say; `end` is the word behind them.

    `entry_point` is as in a `ContainerRun`; it means nothing where `is_entry_point_known` is False.
    """

    entry_point: tuple[Argument, ...] | None
    environment: tuple[Setting, ...]
    env_files: tuple[Argument, ...]
    end: int
    is_entry_point_known: bool = True


def base_name(program: str) -> str:
    """A program's name without its folder: `/opt/venv/bin/vllm` is `vllm`."""
    return program.rsplit("/", 1)[-1]


def recognise(words: Sequence[Argument]) -> Launch | None:
    """The launch that these words make, None where they launch no engine that servelint knows.

    The first word is the program. Runners (`uv run`, `numactl`) are looked through; an unknown word where the program
    should stand makes it None.
    """
    launch = _recognise(behind_launchers(words))
    if launch is not None and any(asks_for_help(word.text) for word in launch.arguments):
        return None
    return launch


def asks_for_help(text: str | None) -> bool:
    """Whether a word makes the program print something and end."""
    return text in ("--help", "-h", "--version") or (text is not None and text.startswith("--help="))


def behind_launchers(words: Sequence[Argument]) -> Sequence[Argument]:
    """The words without the programs at their beginning that only run the rest: `env`, `numactl`, `tini --`.

    In a shell's script they are looked through by its reader; no shell stands before the words of a unit or an image.
    The same words where what is behind such a program is not certain.
    """
    from servelint.formats.shell_launchers import LAUNCHERS

    for _ in range(4):
        if not words or words[0].text is None:
            break
        name = base_name(words[0].text)
        launcher = LAUNCHERS.get(name)
        if launcher is None or name in _RUNNERS or name in _NO_LAUNCHERS or launcher.subcommand:
            break
        if launcher.elsewhere or launcher.joins or launcher.dashed:
            break
        index = _behind_options(words, launcher.valued)
        if index is None:
            break
        index += launcher.operands
        while launcher.assigns and index < len(words) and _is_assignment(words[index]):
            index += 1
        words = words[index:]
    return words


def without_launchers(
    entry_point: Sequence[Argument], words: Sequence[Argument]
) -> tuple[tuple[Argument, ...], Sequence[Argument]]:
    """An entry point and the words behind it, without programs that only run the rest (`["tini", "--"]`)."""
    whole = (*entry_point, *words)
    rest = behind_launchers(whole)
    return (tuple(entry_point), words) if len(rest) == len(whole) else ((), rest)


# `xargs` adds words of its own; what `env -S` runs is one word.
_NO_LAUNCHERS = frozenset({"xargs", "screen", "systemd-run"})


def _behind_options(words: Sequence[Argument], with_value: frozenset[str]) -> int | None:
    """Where a program's own options end; None where that is not known."""
    index = 1
    while index < len(words):
        text = words[index].text
        if text is None or text in ("-S", "--split-string"):
            return None
        if text == "--":
            return index + 1
        if not text.startswith("-"):
            return index
        index += 2 if text in with_value else 1
    return index


def _is_assignment(word: Argument) -> bool:
    name, equals, _ = (word.text if word.text is not None else word.prefix).partition("=")
    return bool(equals) and name.isidentifier()


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
    words = behind_launchers(words)
    if not words or words[0].text is None or base_name(words[0].text) not in _CONTAINER_PROGRAMS:
        return None
    index = 1
    while index < len(words) and words[index].text not in ("run", "create"):
        # `docker container run` has one more word; `docker exec`, `docker build` launch no server from an image.
        text = words[index].text or ""
        if not text.startswith("-") and text != "container":
            return None
        index += 2 if text in _CLIENT_OPTIONS else 1
    options = container_options(words, index + 1, takes_list=base_name(words[0].text) == "podman")
    if options is None or options.end >= len(words):
        return None
    image = words[options.end]
    if known_image(image.text if image.text is not None else image.prefix, image.text is not None) is None:
        return None
    setting = Setting("image", image.text, image.span, image.span, "image", data=image.prefix, reason=image.reason)
    if not options.is_entry_point_known:
        return None
    following = tuple(words[options.end + 1 :])
    return ContainerRun(setting, options.entry_point, following, options.environment, options.env_files)


def container_options(words: Sequence[Argument], index: int, takes_list: bool) -> ContainerOptions | None:
    """The options of `docker run` from a word on, up to the image; None where a word may be any number of them.

    `takes_list` says that the client reads a JSON list as the words of an entry point, as podman does.
    """
    environment: list[Setting] = []
    env_files: list[Argument] = []
    entry_point: tuple[Argument, ...] | None = None
    is_known = True
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
            is_known = value is not None and value.text is not None
            entry_point = entry_point_words(value, takes_list) if value is not None else None
        index += width
    return ContainerOptions(entry_point, tuple(environment), tuple(env_files), min(index, len(words)), is_known)


def entry_point_words(value: Argument, takes_list: bool) -> tuple[Argument, ...]:
    """The words of an entry point that a client's option gives; none where it takes the image's own away.

    Source: containers/podman `pkg/specgenutil/specgen.go`, which tries the value as a JSON list first.
    """
    if not value.text and value.text is not None:
        return ()
    if not takes_list or value.text is None or not value.text.startswith("["):
        return (value,)
    from servelint.formats.json import embedded, read_json

    document = read_json(value.text)
    root = document.root
    if root is None or not document.strict or root.kind != "array" or any(item.kind != "string" for item in root.items):
        return (value,)
    found: list[Argument] = []
    for item in root.items:
        inner = embedded(item)
        span = value.span
        own = None
        if value.inner is not None:
            span, own = value.inner.host_span(item.span), inner.within(value.inner)
        found.append(Argument(inner.text, span, inner=own, literal=value.literal, form="string"))
    return tuple(found)


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
