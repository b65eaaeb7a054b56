"""vLLM: what its server makes of a command line, and what then ends and caps its answers.

The parser is in `vllm_arguments`, what stops and caps a request in `vllm_sampling`, what is said against the command
line in `vllm_faults`.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from servelint.engines.meant_json import load_json
from servelint.engines.reading import Cap, Option, Reading, StopId, StopSet
from servelint.engines.vllm_arguments import Parsed, parse_serve
from servelint.engines.vllm_sampling import ALLOWED_KEYS, COMPLETION_TOKENS
from servelint.files.beside import places_of, read_beside
from servelint.files.context import Context
from servelint.manifests.images import engine_of_image, tells_version
from servelint.manifests.serving import Argument, Serving, Setting, likely_model
from servelint.manifests.versions import at_least, before
from servelint.models.identity import Identity
from servelint.records import record
from servelint.text import Span

OVERRIDE = "--override-generation-config"
GENERATION_CONFIG = "--generation-config"
SERVER_MODULES = (
    "vllm.entrypoints.openai.api_server",
    "vllm.entrypoints.api_server",
    "vllm.entrypoints.launchers.api_server.entry",
)
# Options that only chat requests use: who gives one serves chat.
_CHAT_OPTIONS = (
    "--chat-template", "--enable-auto-tool-choice", "--tool-call-parser", "--reasoning-parser", "--response-role",
    "--chat-template-content-format", "--default-chat-template-kwargs", "--enable-reasoning", "--tool-parser-plugin",
    "--tool-server", "--trust-request-chat-template", "--exclude-tools-when-tool-choice-none",
)  # fmt: skip
# Where a serving's facts keep its parsed command line.
_PARSED = "vllm_parsed"
_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})
_POOLING_TASKS = frozenset({"embed", "embedding", "classify", "score", "reward"})
_SAMPLING_NAMES = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "do_sample")


@record
class Launch:
    """The command line of a serving, cut down to what the server's own parser gets, and how it was read.

    `module_form` is True where the words go to the module, False where they go to `vllm serve`. `doubled` are words
    in front that repeat the image's entry point; `shell` is a shell's name where one was given to the image instead.
    """

    launcher: str
    words: tuple[Argument, ...]
    module_form: bool
    doubled: tuple[Argument, ...]
    version: str | None
    shell: Argument | None = None


def launch_of(serving: Serving) -> Launch | None:
    """How the serving's words reach the server; None where it has no command line."""
    if serving.arguments is None:
        return None
    words = serving.arguments
    launcher = serving.facts.get("launcher") or "serve"
    version = _version(serving)
    module_form = launcher in ("module", "kserve", "dynamo")
    doubled = 0
    if launcher == "serve":
        words = words[1:] if words and words[0].text == "serve" else words
    elif launcher == "image":
        # The entry point of vllm/vllm-openai was the module up to 0.10.2 and is `vllm serve` from 0.11.2 on.
        module_form = bool(before(version, "0.10.2.post1"))
        first = words[0].text if words else None
        if first is not None and first.rsplit("/", 1)[-1] in _SHELLS:
            return Launch(launcher, (), module_form, (), version, words[0])
        doubled = _doubled(words)
    return Launch(launcher, words[doubled:], module_form, words[:doubled], version)


def _version(serving: Serving) -> str | None:
    """The version of vLLM: a pin, or the tag of vLLM's own image or a mirror of it.

    The tag of another image is a version of that image (`opea/vllm-gaudi:1.22.0`), and vLLM's is not known.
    """
    if serving.version is None:
        return None
    image = serving.image.value if serving.image is not None else None
    if serving.image is not None and not is_own_image(image):
        return None
    return serving.version.value


def is_own_image(image: str | None) -> bool:
    """Whether an image is vLLM's own, or carries its name (a mirror)."""
    return image is not None and tells_version(image) and engine_of_image(image) == ("vllm", "image")


def _doubled(words: tuple[Argument, ...]) -> int:
    """How many words in front are the entry point once more."""
    texts = [word.text for word in words[:4]]
    if not texts or texts[0] is None:
        return 0
    program = texts[0].rsplit("/", 1)[-1]
    if program == "vllm":
        return 2 if texts[1:2] == ["serve"] else 1
    if program == "serve":
        return 1
    if program.startswith("python") and texts[1:2] == ["-m"] and len(texts) > 2 and texts[2] in SERVER_MODULES:
        return 3
    return 0


def parse_serving(serving: Serving, context: Context | None) -> tuple[Launch, Parsed] | None:
    """The serving's command line as vLLM's parser takes it; None where it has none.

    Parsed once: the model is wanted from it before the rest can be read.
    """
    kept = serving.facts.get(_PARSED)
    if kept is not None and kept[0] is serving.arguments:
        found: tuple[Launch, Parsed] = kept[1]
        return found
    launch = launch_of(serving)
    if launch is None:
        return None

    def read_file(path: str) -> str | None:
        found = _read_near(serving, context, path)
        return found[1] if found is not None else None

    result = launch, parse_serve(launch.words, launch.version, launch.module_form, read_file)
    serving.facts[_PARSED] = serving.arguments, result
    return result


def model_of(serving: Serving, context: Context | None) -> Setting | None:
    """The model that the command line names; None where it names none.

    The value is None, with a reason, where a variable or a template supplies it.
    """
    if serving.model is not None:
        return serving.model
    storage = serving.facts.get("storage_uri")
    parsed = parse_serving(serving, context)
    if parsed is not None:
        launch, result = parsed
        found = _kserve_model(launch.words) if launch.launcher == "kserve" else _named_model(result)
        if found is not None and not (storage is not None and (found.value or "").startswith("/mnt/")):
            return found
    if isinstance(storage, Setting):
        value = storage.value
        if value is not None:
            scheme, separator, name = value.partition("://")
            value = name if separator and scheme == "hf" else value
        return Setting("model", value, storage.span, storage.whole, storage.origin, reason=storage.reason)
    return None


def _named_model(parsed: Parsed) -> Setting | None:
    argument = parsed.model_argument
    if argument is None:
        return None
    option = parsed.option("--model")
    span = option.span if option is not None and option.argument is argument else argument.span
    reason = None if parsed.model is not None else argument.reason or "not known from here"
    return Setting("model", parsed.model, span, argument.span, "model", reason=reason, likely=likely_model(argument))


def _kserve_model(words: Sequence[Argument]) -> Setting | None:
    for index, word in enumerate(words):
        name, equals, value = (word.text or word.prefix).partition("=")
        if name.replace("-", "_") not in ("__model_id", "__model_dir"):
            continue
        if equals:
            return Setting("model", value if word.text is not None else None, word.span, word.span, name)
        if index + 1 < len(words):
            following = words[index + 1]
            return Setting("model", following.text, following.span, following.span, name, reason=following.reason)
    return None


def read_vllm(serving: Serving, identity: Identity, context: Context | None) -> Reading:
    """The serving as vLLM reads it."""
    parsed = parse_serving(serving, context)
    if parsed is None:
        unknown = ("the tokenizer and the generation config of the model were not read",)
        return Reading(StopSet(unknown=unknown), facts={"completions_default": COMPLETION_TOKENS})
    launch, result = parsed
    from servelint.engines.vllm_faults import faults_of

    files = _Files(serving, result, context, identity)
    stop_set = files.stop_set()
    cap, default_cap = _caps(result, files, launch.version)
    sampling = tuple(_sampling(result, files))
    facts = {
        "launcher": launch.launcher,
        "module_form": launch.module_form,
        "completions_default": COMPLETION_TOKENS,
        "sampling": sampling,
        "model": result.model,
        "defaulted": result.defaulted,
        "reasoning_parser": result.values.get("reasoning_parser") or None,
        "generation_config": result.values.get("generation_config", "auto"),
        "reads_generation_config": at_least(launch.version, "0.4.1"),
        "accepted": result.accepted,
        "chat_template": _chat_template(serving, result, context),
    }
    faults = faults_of(serving, launch, result, identity, files.custom)
    return Reading(
        stop_set, result.options, cap, default_cap, faults, True, False, _serves_chat(result), _generates(result), facts
    )


@record
class CustomConfig:
    """The folder of `--generation-config` as far as it can be seen from the manifest.

    `path` is the file that the server takes (generation_config.json, or config.json in its place), None where the
    folder is there and holds neither. `data` is what the file holds.
    """

    option: Option
    folder: str
    path: str | None
    data: Any


class _Files:
    """The model's own files and the folder of `--generation-config`, as far as they lie beside the manifest."""

    def __init__(self, serving: Serving, parsed: Parsed, context: Context | None, identity: Identity) -> None:
        self.serving = serving
        self.parsed = parsed
        self.context = context
        self.identity = identity
        self.custom = self._custom()
        located = serving.facts.get("folder")
        self.folder = located.path if located is not None else _local_folder(serving, context, parsed.model)

    def _custom(self) -> CustomConfig | None:
        option = self.parsed.option(GENERATION_CONFIG)
        if option is None or not option.value or option.value in ("auto", "vllm") or self.context is None:
            return None
        folder = _local_folder(self.serving, self.context, option.value)
        if folder is None:
            return None
        for name in ("generation_config.json", "config.json"):
            path = os.path.join(folder, name)  # noqa: PTH118 (a plain str, as findings name it)
            source = self.context.read(path)
            if source is None or source.mark or not source.is_valid:
                continue
            data, failed = load_json(source.text)
            if not failed:
                return CustomConfig(option, folder, path, data)
        return CustomConfig(option, folder, None, None)

    def stop_set(self) -> StopSet:
        """The tokenizer's end token and the generation config's ids; no flag adds any."""
        ids: list[StopId] = []
        unknown: list[str] = []
        self._add_tokenizer(ids, unknown)
        if self.custom is not None:
            if self.custom.path is not None:
                span = self.custom.option.span
                ids += self._ids(self.custom.data, GENERATION_CONFIG, span, None)
        else:
            self._add_generation_config(ids, unknown)
        if self.parsed.open:
            unknown.append("words of the command line that come from elsewhere")
        return StopSet(ids=tuple(ids), unknown=tuple(unknown))

    def _add_tokenizer(self, ids: list[StopId], unknown: list[str]) -> None:
        if self.parsed.values.get("skip_tokenizer_init") is True:
            return
        tokenizer = self.parsed.option("--tokenizer")
        folder = self.folder
        if tokenizer is not None:
            folder = _local_folder(self.serving, self.context, tokenizer.value)
        own = self._tokenizer_end(folder)
        vocabulary = self.serving.facts.get("vocabulary")
        if vocabulary is not None and tokenizer is None:
            # Without --tokenizer the one inside the GGUF is used, and with it its end.
            entry = vocabulary.entry("eos")
            if entry is not None and isinstance(entry.value, int):
                own = StopId(entry.value, f"the GGUF's {entry.key}", vocabulary.text(entry.value))
        if own is not None:
            ids.append(own)
            return
        whose = f"the tokenizer {tokenizer.value or ''}".strip() if tokenizer is not None else "the model's tokenizer"
        unknown.append(f"the end token of {whose}, which was not read")

    def _tokenizer_end(self, folder: str | None) -> StopId | None:
        if folder is None or self.context is None:
            return None
        from servelint.engines.model_files import tokenizer_end
        from servelint.manifests.model_folder import read_folder

        path = os.path.join(folder, "generation_config.json")  # noqa: PTH118 (a plain str, as findings name it)
        return tokenizer_end(read_folder(path, self.context), self.identity)

    def _add_generation_config(self, ids: list[StopId], unknown: list[str]) -> None:
        option = self.parsed.option(GENERATION_CONFIG)
        named = option is not None and option.value not in ("auto", "vllm", None)
        if option is not None and option.value is None:
            unknown.append(f"the folder of {GENERATION_CONFIG}, which cannot be known from here")
            return
        if named and option is not None:
            unknown.append(f"the eos_token_id in the folder of {GENERATION_CONFIG}, which was not read")
            return
        found = self._model_config()
        if found is None:
            unknown.append("the eos_token_id in the model's generation_config.json, which was not read")
            return
        path, data = found
        ids += self._ids(data, f"{path.rsplit('/', 1)[-1]} eos_token_id", None, path)

    def _model_config(self) -> tuple[str, Any] | None:
        """The file that the server takes the generation config from, and what it holds."""
        if self.folder is None or self.context is None:
            return None
        for name in ("generation_config.json", "config.json"):
            path = os.path.join(self.folder, name)  # noqa: PTH118 (a plain str, as findings name it)
            source = self.context.read(path)
            if source is None or source.mark or not source.is_valid:
                continue
            data, failed = load_json(source.text)
            if not failed:
                return path, data
        return None

    def _ids(self, data: Any, origin: str, span: Span | None, path: str | None) -> list[StopId]:
        value = data.get("eos_token_id") if isinstance(data, dict) else None
        values = value if isinstance(value, list) else [value]
        texts = {token.id: token.text for token in (*self.identity.terminators, *self.identity.vocabulary)}
        return [
            StopId(identifier, origin, texts.get(identifier), span, path)
            for identifier in values
            if isinstance(identifier, int) and not isinstance(identifier, bool)
        ]

    def model_cap(self) -> tuple[int, str] | None:
        """`max_new_tokens` of the model's own file, and the file."""
        found = self._model_config() if self.custom is None else None
        value = found[1].get("max_new_tokens") if found is not None and isinstance(found[1], dict) else None
        if found is None or not isinstance(value, int) or isinstance(value, bool):
            return None
        return value, found[0]


def _chat_template(serving: Serving, parsed: Parsed, context: Context | None) -> tuple[str, Option] | None:
    """The template that `--chat-template` gives: a file within reach, or written out on the command line."""
    option = parsed.option("--chat-template")
    if option is None or not option.value:
        return None
    if any(character in option.value for character in "{}\n"):
        return option.value, option
    found = _read_near(serving, context, option.value)
    return None if found is None else (found[1], option)


def _read_near(serving: Serving, context: Context | None, path: str) -> tuple[str, str] | None:
    return None if context is None else read_beside(serving.path, path, context)


def _local_folder(serving: Serving, context: Context | None, path: str | None) -> str | None:
    """The folder that a relative path names, where it lies within reach; None otherwise."""
    if context is None or not path or path.startswith(("/", "~")) or "://" in path or "\0" in path:
        return None
    for place in places_of(serving.path, path):
        if context.names(place):
            return place
        if any(context.exists(os.path.join(place, name)) for name in ("config.json", "generation_config.json")):  # noqa: PTH118
            return place
    return None


def override_keys(parsed: Parsed) -> Iterator[tuple[str, Any, Span]]:
    """The keys of `--override-generation-config` that hold in the end: key, value, and where it stands."""
    option = parsed.option(OVERRIDE)
    if option is None or not isinstance(option.data, Mapping):
        return
    places: dict[str, Span] = {}
    for part in parsed.parts:
        stem, _, key = part.spelled.partition(".")
        if OVERRIDE.startswith(stem.replace("_", "-")):
            places[key.partition(".")[0].removesuffix("+")] = part.span
    written = _spans_of_keys(option) if not places else {}
    for key, value in option.data.items():
        yield key, value, places.get(key) or written.get(key) or option.span


def _spans_of_keys(option: Option) -> dict[str, Span]:
    """Where the keys of a JSON value stand in the file, in so far as its characters can be told apart there."""
    argument, text = option.argument, option.value
    if argument is None or argument.inner is None or text is None or not argument.inner.text.endswith(text):
        return {}
    from servelint.formats.json import read_json

    root = read_json(text).root
    if root is None:
        return {}
    start = len(argument.inner.text) - len(text)
    return {
        str(member.key.value): argument.inner.host_span(
            Span(start + member.key.span.start, start + member.value.span.end)
        )
        for member in root.members
    }


def _caps(parsed: Parsed, files: _Files, version: str | None) -> tuple[Cap | None, Cap | None]:
    """The cap that holds for every request, and the one that a request without its own gets."""
    for key, value, span in override_keys(parsed):
        if key == "max_new_tokens" and _is_whole(value):
            return Cap(value, f"{OVERRIDE} max_new_tokens", span, hard=True), None
        if key == "max_new_tokens" and value is None:
            return None, None
    custom = files.custom
    if custom is not None and isinstance(custom.data, dict) and _is_whole(custom.data.get("max_new_tokens")):
        return Cap(custom.data["max_new_tokens"], f"{custom.path} max_new_tokens", custom.option.span, hard=True), None
    own = files.model_cap()
    if own is None or parsed.values.get("generation_config") == "vllm":
        return None, None
    # Up to 0.16.0 a ceiling for every request, from 0.17.1 on what a request without a cap gets.
    hard = bool(before(version, "0.17.0"))
    cap = Cap(own[0], f"{own[1]} max_new_tokens", None, hard=hard)
    return (cap, None) if hard else (None, cap)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _sampling(parsed: Parsed, files: _Files) -> Iterator[tuple[str, object, Span, str | None]]:
    """The sampling defaults that the flags set: name, value, place, and no other file."""
    given = set()
    for key, value, span in override_keys(parsed):
        if key in ALLOWED_KEYS and key in _SAMPLING_NAMES and value is not None:
            given.add(key)
            yield key, value, span, None
    custom = files.custom
    if custom is not None and isinstance(custom.data, dict):
        for key in _SAMPLING_NAMES:
            if key in ALLOWED_KEYS and key not in given and custom.data.get(key) is not None:
                yield key, custom.data[key], custom.option.span, None


def _serves_chat(parsed: Parsed) -> bool | None:
    for option in parsed.options:
        if option.name in _CHAT_OPTIONS and option.data is not False and (option.value != "" or option.unknown):
            return True
    return None


def _generates(parsed: Parsed) -> bool:
    values = parsed.values
    if values.get("runner") == "pooling" or values.get("task") in _POOLING_TASKS:
        return False
    return values.get("convert") not in ("embed", "classify", "reward")
