"""What vLLM's parser and its start-up say against a command line, in words that help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from servelint.engines.meant_json import lenient_json, load_json, repair_json
from servelint.engines.near_names import nearest_name
from servelint.engines.reading import Fault, Option
from servelint.engines.vllm_arguments import (
    Parsed,
    ParseError,
    flag_table,
    human_integer,
    resolve,
    scope_of,
)
from servelint.engines.vllm_sampling import ALLOWED_KEYS
from servelint.manifests.serving import Argument, Serving
from servelint.manifests.versions import at_least, before, compare
from servelint.models.identity import Identity
from servelint.text import Span

if TYPE_CHECKING:
    from servelint.engines.vllm import CustomConfig, Launch

OVERRIDE = "--override-generation-config"
_WITH_OWN_OPTIONS = frozenset({"kserve", "dynamo"})
# Whoever reads a file of options may be given the model beside it.
_MODEL_ELSEWHERE = frozenset({"kserve", "dynamo", "config"})
# Options that people give to the server and that belong elsewhere, and what works instead.
EXPLAINED: dict[str, str] = {
    "--stop": "stops are request fields (`stop`, `stop_token_ids`); the server takes none",
    "--stop-token-ids": "stops are request fields; ids for every request go into a generation_config.json that "
    "--generation-config FOLDER names",
    "--stop-strings": "stops are request fields (`stop`); the server takes none",
    "--stop-words": "stops are request fields (`stop`); the server takes none",
    "--eos-token-id": "end ids come from the tokenizer and from generation_config.json; --generation-config FOLDER "
    "names another one",
    "--ignore-eos": "`ignore_eos` is a request field; the server takes it from nobody else",
    "--max-tokens": "the cap of an answer is the request's `max_tokens`; for every request: "
    "--override-generation-config '{\"max_new_tokens\": N}'",
    "--max-new-tokens": "the cap of an answer is the request's `max_tokens`; for every request: "
    "--override-generation-config '{\"max_new_tokens\": N}'",
    "--min-tokens": "`min_tokens` is a request field",
    "--temperature": "for every request: --override-generation-config '{\"temperature\": …}'",
    "--top-p": "for every request: --override-generation-config '{\"top_p\": …}'",
    "--top-k": "for every request: --override-generation-config '{\"top_k\": …}'",
    "--repetition-penalty": "for every request: --override-generation-config '{\"repetition_penalty\": …}'",
    "--system-prompt": "a system prompt is a message of the request, or part of the chat template",
    "--enable-thinking": "for every request: --default-chat-template-kwargs '{\"enable_thinking\": …}'",
}
# Names that other servers give to the same thing.
_SYNONYMS: dict[str, str] = {
    "--context-length": "--max-model-len",
    "--context-len": "--max-model-len",
    "--ctx-size": "--max-model-len",
    "--max-context-len": "--max-model-len",
    "--max-seq-len": "--max-model-len",
    "--max-len": "--max-model-len",
    "--max-total-tokens": "--max-model-len",
    "--mem-fraction-static": "--gpu-memory-utilization",
    "--model-path": "--model",
    "--model-id": "--model",
    "--tp": "--tensor-parallel-size",
    "--tp-size": "--tensor-parallel-size",
    "--dp": "--data-parallel-size",
    "--dp-size": "--data-parallel-size",
    "--pp": "--pipeline-parallel-size",
    "--tool-parser": "--tool-call-parser",
    "--gpu-memory-utilisation": "--gpu-memory-utilization",
}
# What took a removed option's place. A plain option is the same thing under a new name.
_SUCCESSORS: dict[str, str] = {
    "--cuda-graph-sizes": "--cudagraph-capture-sizes",
    "--override-pooler-config": "--pooler-config",
}
_REPLACED_BY: dict[str, str] = {
    "--device": "the platform is found by itself",
    "--disable-mm-preprocessor-cache": "--mm-processor-cache-gb 0",
    "--enable-multimodal-encoder-data-parallel": "--mm-encoder-tp-mode data",
    "--enable-reasoning": "--reasoning-parser alone turns it on",
    "--guided-decoding-backend": "--structured-outputs-config.backend",
    "--max-seq-len-to-capture": "--cudagraph-capture-sizes",
    "--num-speculative-tokens": "--speculative-config",
    "--rope-scaling": "--hf-overrides '{\"rope_scaling\": …}'",
    "--rope-theta": "--hf-overrides '{\"rope_theta\": …}'",
    "--speculative-model": "--speculative-config",
    "--swap-space": "nothing: it has had no effect",
    "--task": "--runner pooling, or --convert",
}
# Keys of generation_config.json that are no settings of a server; nobody expects anything of them.
_HARMLESS_KEYS = frozenset(
    {
        "bos_token_id", "pad_token_id", "decoder_start_token_id", "transformers_version", "_from_model_config",
        "use_cache", "cache_implementation", "do_sample", "num_return_sequences", "trust_remote_code",
    }
)  # fmt: skip
_STOP_KEYS = frozenset({"eos_token_id", "stop_token_ids", "stop", "stop_strings", "stop_words", "ignore_eos"})
_CAP_KEYS = frozenset(
    {
        "max_tokens",
        "max_completion_tokens",
        "max-new-tokens",
        "max-tokens",
        "max_length",
        "maxTokens",
        "max_output_tokens",
    }
)  # fmt: skip
_NO_FOLDERS = frozenset({"none", "null", "false", "true", "default", "model", "hf", "auto", "vllm", ""})
_SHELL_WORDS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1", "#", "\\", "exec"})
_BOOLEANS = frozenset({"true", "false", "1", "0", "yes", "no", "on", "off"})
# Turn ends that are not what these families' tokenizers call their end token: only generation_config.json names them.
_LISTED_ENDS = frozenset({"<|eot_id|>", "<|end|>", "<end_of_turn>"})
# A word that is meant as one option seldom has more characters; what is longer has no near miss.
_LONGEST_SHOWN = 60


def faults_of(
    serving: Serving, launch: Launch, parsed: Parsed, identity: Identity, custom: CustomConfig | None
) -> tuple[Fault, ...]:
    """Everything to be said against the command line, in the order of the file."""
    reader = _Faults(serving, launch, parsed)
    faults = [*reader.found(), *_version_faults(serving, launch, identity), *_custom_faults(custom)]
    if launch.launcher in _WITH_OWN_OPTIONS:
        # These programs have options of their own, and pass the others on.
        faults = [fault for fault in faults if fault.sort in ("inert", "cap-name", "lost-quotes", "literal-quotes")]
    faults.sort(key=lambda fault: (fault.span.start, fault.span.end, fault.sort))
    return tuple(faults)


def _version_faults(serving: Serving, launch: Launch, identity: Identity) -> Iterator[Fault]:
    """A version that reads only the tokenizer's end token, for a model whose turns end with another one."""
    listed = [token.text for token in identity.turn if token.text in _LISTED_ENDS]
    if serving.version is None or not before(launch.version, "0.4.1") or not listed:
        return
    yield Fault(
        "ignores-list",
        f"vLLM {launch.version} does not read the eos_token_id list of generation_config.json",
        serving.version.span,
        subject=launch.version or "",
        path=serving.version.path,
        why=f"It stops at the tokenizer's own end token only; {listed[0]}, which ends this model's turns, is not that.",
        help="use vLLM 0.4.1 or newer, or send `stop_token_ids` with every request",
    )


def _custom_faults(custom: CustomConfig | None) -> Iterator[Fault]:
    """A folder of `--generation-config` that takes the model's end ids away."""
    if custom is None:
        return
    span = custom.option.span
    if custom.path is None:
        yield Fault(
            "fatal",
            f"{custom.option.value} holds no generation_config.json, and no config.json in its place",
            span,
            certain=False,
            why="vLLM does not start with such a folder.",
            help="put the model's generation_config.json there, with its eos_token_id",
        )
    elif not isinstance(custom.data, dict):
        yield Fault("fatal", f"{custom.path} holds no JSON object", span, why="vLLM does not start with it.")
    elif custom.data.get("eos_token_id") is None:
        yield Fault(
            "custom-file-drops-ids",
            f"{custom.path} has no eos_token_id, and takes the place of the model's own file",
            span,
            why="Of the model's end ids only the tokenizer's own end token is left.",
            help="copy the eos_token_id of the model's generation_config.json into it",
        )


class _Faults:
    """The command line of one serving."""

    def __init__(self, serving: Serving, launch: Launch, parsed: Parsed) -> None:
        from servelint.engines.vllm import is_own_image

        self.serving = serving
        self.launch = launch
        self.parsed = parsed
        self.scope = scope_of(launch.version)
        image = serving.image.value if serving.image is not None else None
        self.image = image
        self.official = is_own_image(image)
        # Another image may be a build of a house's own, with options of its own.
        self.is_release = self.scope.known and (image is None or self.official)
        self.handled: set[int] = set()
        self.places = {id(word): place for place, word in enumerate(launch.words)}
        self.names_model = any(
            word.text == "--model" or (word.text or "").startswith("--model=") for word in launch.words
        )
        self.last_stray = -2

    def found(self) -> Iterator[Fault]:
        """All faults, in no order."""
        yield from self._doubled()
        yield from self._joined()
        for error in self.parsed.errors:
            fault = self._of_error(error)
            if fault is not None:
                yield fault
        yield from self._start_up()
        yield from self._generation_config()
        yield from self._override()
        yield from self._shadowed()
        yield from self._model()

    # Words that are not what their author meant.

    def _doubled(self) -> Iterator[Fault]:
        if self.launch.launcher != "image":
            return
        entry = "python3 -m vllm.entrypoints.openai.api_server" if self.launch.module_form else "vllm serve"
        words = self.launch.doubled
        if words:
            shown = " ".join(word.text or "" for word in words)
            yield Fault(
                "doubled-entry-point",
                f"`{shown}` is given to an image whose entry point is `{entry}` already",
                Span(words[0].span.start, words[-1].span.end),
                certain=self.official,
                subject=shown,
                why=f"The program gets `{words[0].text}` as an argument of its own, and does not start as meant.",
                help="leave these words out, or set the entry point (Kubernetes: `command:`, compose: `entrypoint:`)",
            )
            return
        first = self.launch.shell
        if first is None or first.text is None:
            return
        yield Fault(
            "doubled-entry-point",
            f"`{first.text}` is given to an image whose entry point is `{entry}`",
            first.span,
            certain=self.official,
            subject=first.text,
            why="No shell runs: vLLM gets these words as arguments of its own.",
            help="set the entry point to the shell (Kubernetes: `command:`, compose: `entrypoint:`)",
        )

    def _joined(self) -> Iterator[Fault]:
        """An option and its value in one word, or a whole command in one."""
        for argument in self.launch.words:
            text = argument.text
            if text is None or " " not in text or id(argument) in self.handled:
                continue
            words = text.split()
            if len(words) < 2 or not self._is_joined(text, words):
                continue
            self.handled.add(id(argument))
            import json

            yield Fault(
                "not-split",
                f"`{_short(text)}` is one word, and vLLM takes it as one",
                argument.span,
                json.dumps(words, ensure_ascii=False),
                subject=words[0],
                why="No shell splits these words: there is no option of that whole name, so the server does not start.",
                help=f"write `{words[0]}` and `{_short(' '.join(words[1:]))}` as words of their own",
            )

    def _is_joined(self, text: str, words: list[str]) -> bool:
        first = words[0]
        if first.startswith("-"):
            if "=" in first or '"' in text.partition(" ")[0]:
                return False
            found = resolve(_dashed(first), self.scope)
            return found is not None and found.flag is not None
        return first in ("vllm", "serve") and any(word.startswith("--") for word in words)

    # What the parser says.

    def _of_error(self, error: ParseError) -> Fault | None:
        if error.argument is not None and id(error.argument) in self.handled:
            return None
        match error.sort:
            case "unrecognized":
                return self._unrecognized(error)
            case "stray":
                return self._stray(error)
            case "ambiguous":
                stem = error.option.partition("=")[0].partition(".")[0]
                if flag_table().presence(stem):
                    return self._other_version(error, stem)
                matches = error.reason.rpartition("could match ")[2]
                return self._fault(
                    "unknown-option", error, f"{error.option} is short for several options: {_short(matches)}",
                    help_text="write the option out",
                )  # fmt: skip
            case "missing-value":
                return self._missing_value(error)
            case "explicit":
                return self._explicit(error)
            case "json":
                return self._json(error)
            case "invalid" | "choice" | "lora":
                return self._invalid(error)
            case "help":
                return None
        return self._before_parsing(error)

    def _fault(
        self,
        sort: str,
        error: ParseError,
        message: str,
        suggestion: str | None = None,
        *,
        why: str = "vLLM refuses the command line and does not start.",
        help_text: str = "",
        certain: bool | None = None,
    ) -> Fault:
        span = error.span or (error.argument.span if error.argument is not None else self.serving.span)
        sure = error.certain if certain is None else certain
        return Fault(sort, message, span, suggestion, sure, error.option, (), why, help_text)

    def _unrecognized(self, error: ParseError) -> Fault:
        name = error.option.partition("=")[0]
        stem = name.partition(".")[0]
        table = flag_table()
        if table.presence(stem):
            return self._other_version(error, stem)
        explained = EXPLAINED.get(stem)
        if explained is not None:
            return self._fault(
                "unknown-option", error, f"vLLM's server has no option {name}: {explained}",
                help_text=explained, certain=True,
            )  # fmt: skip
        nearest = _SYNONYMS.get(stem) or nearest_option(stem, self.scope.mask)
        message = f"vLLM has no option {_short(name)}"
        if nearest is not None:
            return self._fault(
                "unknown-option", error, f"{message}; the nearest is {nearest}", nearest, certain=self.is_release
            )
        return self._fault("unknown-option", error, message, certain=self.is_release and self.official)

    def _other_version(self, error: ParseError, name: str) -> Fault:
        table, version = flag_table(), self.launch.version
        newest, oldest = table.newest_with(name), table.oldest_with(name)
        if compare(newest, version) == -1:
            successor, instead = _SUCCESSORS.get(name), _REPLACED_BY.get(name)
            help_text = f"use {successor}" if successor else f"instead: {instead}" if instead else "leave it out"
            return self._fault(
                "removed", error, f"{name} is gone: the last vLLM looked at that has it is {newest}, this is {version}",
                successor, help_text=help_text, certain=self.is_release,
            )  # fmt: skip
        if compare(oldest, version) == 1:
            return self._fault(
                "unknown-option", error,
                f"{name} came with vLLM {oldest} or shortly before, and this is {version}", name,
                help_text=f"use vLLM {oldest} or newer", certain=self.is_release,
            )  # fmt: skip
        return self._fault(
            "removed", error, f"vLLM {version} has no {name}, though older and newer versions do",
            help_text="leave it out", certain=self.is_release,
        )  # fmt: skip

    def _stray(self, error: ParseError) -> Fault | None:
        value = error.value or ""
        place = self.places.get(id(error.argument), -1)
        follows, self.last_stray = place == self.last_stray + 1, place
        if follows:
            # A run of words that belong nowhere is one mistake.
            return None
        if value in _SHELL_WORDS:
            # What stands behind it is no argument either.
            behind = self.places[id(error.argument)]
            self.handled.update(id(word) for word in self.launch.words[behind:])
            return self._fault(
                "conflict", error, f"`{value}` is passed to vLLM as an argument: no shell reads these words",
                help_text="leave it out, or run the command in a shell",
            )  # fmt: skip
        switch = self._switch_before(error.argument)
        if switch is not None and value.lower() in _BOOLEANS:
            return self._fault(
                "invalid-value", error, f"{switch} is a switch and takes no value; `{value}` is one word too many",
                help_text=_switch_help(switch, value),
            )  # fmt: skip
        if value == "serve" or value.rsplit("/", 1)[-1] == "vllm":
            return self._fault("doubled-entry-point", error, f"`{value}` stands among the arguments of vLLM's server")
        if self.names_model:
            return self._fault(
                "conflict", error, f"the model is named twice: as `{_short(value)}`, and with --model",
                help_text="keep one of them",
            )  # fmt: skip
        if self.launch.module_form and value not in ("",):
            return self._fault(
                "conflict", error, f"this version's server takes no model as `{_short(value)}` alone",
                help_text="write --model before it",
            )  # fmt: skip
        return self._fault("conflict", error, f"`{_short(value)}` belongs to no option, and vLLM takes one model only")

    def _switch_before(self, argument: Argument | None) -> str | None:
        place = self.places.get(id(argument), 0)
        text = self.launch.words[place - 1].text if place > 0 else None
        found = resolve(_dashed(text), self.scope) if text else None
        is_switch = found is not None and found.flag is not None and found.flag.kind == "switch"
        return text if is_switch else None

    def _missing_value(self, error: ParseError) -> Fault:
        following = error.following[0].text if error.following else None
        message = f"{error.option} wants a value and gets none"
        if following is not None and following.startswith("-"):
            message += f": `{_short(following)}` begins with a dash and counts as an option"
        return self._fault(
            "invalid-value", error, message, help_text="give the value, or join it with `=` if it begins with a dash"
        )

    def _explicit(self, error: ParseError) -> Fault:
        value = error.value or ""
        return self._fault(
            "invalid-value", error, f"{error.option} is a switch and takes no value",
            _switch(error.option, value), help_text=_switch_help(error.option, value),
        )  # fmt: skip

    def _before_parsing(self, error: ParseError) -> Fault:
        if error.sort == "model" and error.option == "--served-model-name":
            return self._fault(
                "conflict", error, "--served-model-name is given without a model in front of the options",
                help_text="write the model first: `vllm serve MODEL --served-model-name NAME`",
            )  # fmt: skip
        if error.sort == "model":
            return self._fault("invalid-value", error, "--model wants a value and gets none")
        return self._fault("fatal", error, f"vLLM ends at {error.option}: {_short(error.reason)}")

    def _invalid(self, error: ParseError) -> Fault:
        value = error.value or ""
        inner = _unquoted(value)
        if inner is not None:
            return self._fault(
                "literal-quotes", error, f"{error.option} gets {_short(value)} with the quotes as part of the value",
                inner, help_text="leave the inner quotes out",
            )  # fmt: skip
        reason = error.reason.partition(": error: ")[2] or error.reason
        said = reason.rpartition(f"{error.option}: ")[2] if f"{error.option}: " in reason else reason
        suggestion = _better_value(error)
        message = f"{error.option} does not take {_short(value)!r}"
        if error.sort == "choice":
            message += f"; it takes {_choices(error.option)}"
        elif "Decimals" in said:
            message += f": {said}"
        return self._fault("invalid-value", error, message, suggestion)

    def _json(self, error: ParseError) -> Fault:
        value = error.value or ""
        inner = _unquoted(value)
        if inner is not None and not load_json(inner)[1]:
            return self._fault(
                "literal-quotes", error, f"{error.option} gets its JSON with the quotes around it as part of the value",
                inner, help_text=f"write it without them: {_short(inner)}", certain=True,
            )  # fmt: skip
        plain = value.replace('\\"', '"')
        if plain != value and not load_json(plain)[1]:
            return self._fault(
                "literal-quotes", error, f"{error.option} gets its JSON with backslashes before the quotes", plain,
                help_text=f"write it without them: {_short(plain)}", certain=True,
            )  # fmt: skip
        whole = self._rejoined(error, value)
        if '"' not in value and "'" not in value and whole.startswith("{"):
            repaired = repair_json(whole)
            return self._fault(
                "lost-quotes", error, f"the quotes of {error.option}'s JSON are lost: vLLM gets {_short(value)}",
                repaired, certain=True,
                help_text="put single quotes around the whole JSON" + (f": '{_short(repaired)}'" if repaired else ""),
            )  # fmt: skip
        suggestion = lenient_json(value)
        return self._fault(
            "invalid-value", error, f"{error.option} wants JSON, and {_short(value)} is none", suggestion,
            help_text=f"strict JSON: {_short(suggestion)}" if suggestion else "write strict JSON in double quotes",
        )  # fmt: skip

    def _rejoined(self, error: ParseError, value: str) -> str:
        """The value with the words behind it, where a shell has cut bare JSON at its blanks or parted it at its commas.

        A shell that expands braces makes `-x={"a":1,"b":2}` into `-x=a:1` and `-x=b:2`: words of one place.
        """
        source = error.argument
        twins = [word for word in self.launch.words if source is not None and word.span == source.span]
        if len(twins) > 1 and all(word.text is not None for word in twins):
            self.handled.update(id(word) for word in twins if word is not source)
            texts = [word.text or "" for word in twins]
            name = f"{texts[0].partition('=')[0]}=" if texts[0].startswith("-") else ""
            return "{" + ",".join(text.removeprefix(name) for text in texts) + "}"
        if value.count("{") <= value.count("}"):
            return value
        words = self.launch.words
        places = [index for index, word in enumerate(words) if word is error.argument]
        pieces, depth = [value], value.count("{") - value.count("}")
        for word in words[places[0] + 1 : places[0] + 40] if places else ():
            if word.text is None or depth <= 0 or word.text.startswith("--"):
                break
            pieces.append(word.text)
            self.handled.add(id(word))
            depth += word.text.count("{") - word.text.count("}")
        return " ".join(pieces)

    # What start-up says, and what has no effect.

    def _start_up(self) -> Iterator[Fault]:
        parsed = self.parsed
        for word in self.launch.words:
            text = word.text or ""
            if text.startswith("--config=") and len(text) > len("--config="):
                yield Fault(
                    "invalid-value", f"`{_short(text)}` is accepted, and the file is not read", word.span,
                    f"--config {text[9:]}", subject="--config",
                    why="vLLM looks for `--config` as a word of its own; in this form nobody opens the file.",
                    help="write the path as the next word",
                )  # fmt: skip
        yield from self._taken_for_another()
        choice = parsed.option("--enable-auto-tool-choice")
        if choice is not None and choice.data is True and not parsed.open and not parsed.option("--tool-call-parser"):
            yield Fault(
                "fatal", "--enable-auto-tool-choice is given without --tool-call-parser", choice.span,
                subject=choice.name, why="vLLM does not start without the parser.",
                help="add --tool-call-parser with the parser of this model",
                certain=parsed.config is None,
            )  # fmt: skip

    def _taken_for_another(self) -> Iterator[Fault]:
        """A removed option that is the beginning of another's name, and so taken for that one (`--device`)."""
        table = flag_table()
        for option in self.parsed.options:
            name = _dashed(option.spelled).partition("=")[0].partition(".")[0]
            mask = table.presence(name)
            if mask and not mask & self.scope.mask:
                yield Fault(
                    "removed",
                    f"vLLM {self.launch.version} has no {name}, and takes it for the beginning of {option.name}",
                    option.name_span, certain=self.is_release, subject=name, help="leave it out",
                    why="The parser completes a beginning that only one option has.",
                )  # fmt: skip

    def _generation_config(self) -> Iterator[Fault]:
        option = self.parsed.option("--generation-config")
        if option is None or option.value is None:
            return
        value = option.value
        takes = "it takes `auto`, `vllm`, or a folder that holds a generation_config.json"
        if value.lstrip().startswith(("{", "[")):
            data, failed = load_json(value)
            help_text = f"{takes}; the values themselves go into {OVERRIDE}"
            yield Fault(
                "invalid-value", "--generation-config does not take JSON", option.span,
                None if failed or not isinstance(data, dict) else f"{OVERRIDE} '{value}'", subject=option.name,
                why="vLLM takes it as the name of a folder or a repository, and does not start.", help=help_text,
            )  # fmt: skip
        elif value in ("auto", "vllm"):
            return
        elif value.lower() in _NO_FOLDERS:
            near = {"none": "vllm", "null": "vllm", "false": "vllm", "default": "auto", "model": "auto", "hf": "auto"}
            yield Fault(
                "invalid-value", f"--generation-config does not take {value!r}: {takes}", option.span,
                value.lower() if value.lower() in ("auto", "vllm") else near.get(value.lower(), "auto"),
                subject=option.name,
                why="vLLM takes it as the name of a folder or a repository, and does not start.",
            )  # fmt: skip
        elif _unquoted(value) is not None:
            yield Fault(
                "literal-quotes", f"--generation-config gets {_short(value)} with the quotes as part of the value",
                option.span, _unquoted(value), subject=option.name, why="vLLM does not start.",
            )  # fmt: skip
        elif value.rsplit("/", 1)[-1].endswith(".json"):
            folder = value.rpartition("/")[0] or "."
            yield Fault(
                "invalid-value", f"--generation-config wants the folder, not the file {_short(value)}", option.span,
                folder, subject=option.name,
                why="vLLM looks for a generation_config.json inside it, and does not start.",
                help=f"name the folder: {folder}",
            )  # fmt: skip

    def _override(self) -> Iterator[Fault]:
        from servelint.engines.vllm import override_keys

        parsed = self.parsed
        option = parsed.option(OVERRIDE)
        if option is not None and not option.unknown and option.data is not None and not isinstance(option.data, dict):
            if option.value is not None and not load_json(option.value)[1]:
                yield Fault(
                    "fatal", f"{OVERRIDE} wants a JSON object, and {_short(option.value)} is none", option.span,
                    subject=OVERRIDE, why="vLLM breaks on it when it starts.",
                )  # fmt: skip
            return
        for key, value, span in override_keys(parsed):
            fault = self._override_key(key, value, span)
            if fault is not None:
                yield fault
        overrides = parsed.option("--hf-overrides")
        if overrides is not None and isinstance(overrides.data, dict) and "eos_token_id" in overrides.data:
            yield Fault(
                "inert", "eos_token_id in --hf-overrides does not reach the stop set", overrides.span,
                subject="eos_token_id", why="vLLM reads the end ids from the model's files, without these overrides.",
                help="name the ids in a generation_config.json and give its folder to --generation-config",
            )  # fmt: skip

    def _override_key(self, key: str, value: Any, span: Span) -> Fault | None:
        since = ALLOWED_KEYS.get(key)
        if since is not None:
            if key == "max_new_tokens" and value is not None:
                return _bad_cap(value, span)
            if before(self.launch.version, since):
                return Fault(
                    "inert", f"vLLM {self.launch.version} drops {key} from {OVERRIDE}", span, subject=key,
                    why=f"It takes it over from {since} on.", help="send it with the request",
                )  # fmt: skip
            return None
        if key in _STOP_KEYS:
            help_text = (
                "name the ids in a generation_config.json and give its folder to --generation-config, or send "
                "`stop_token_ids` with every request"
            )
            return Fault(
                "inert", f"vLLM drops {key} from {OVERRIDE}: it neither adds nor removes a stop", span, subject=key,
                why="Only sampling values are taken over, in every version; nothing is said in the log.",
                help=help_text,
            )  # fmt: skip
        if key in _CAP_KEYS:
            return Fault(
                "cap-name", f"vLLM drops {key} from {OVERRIDE}: the cap is called max_new_tokens there", span,
                "max_new_tokens", subject=key, why="The answers are not capped by it, and nothing is said in the log.",
            )  # fmt: skip
        if key in _HARMLESS_KEYS:
            return None
        import difflib

        near = difflib.get_close_matches(key, ALLOWED_KEYS, 1, 0.8)
        help_text = "leave it out, or send it with the request"
        if key in ("enable_thinking", "chat_template_kwargs"):
            help_text = "--default-chat-template-kwargs '{\"enable_thinking\": false}' is the flag for it"
        return Fault(
            "inert", f"vLLM drops {_short(key)} from {OVERRIDE}: no such sampling value is taken over", span,
            near[0] if near else None, subject=key, why="Nothing is said in the log.", help="" if near else help_text,
        )  # fmt: skip

    def _shadowed(self) -> Iterator[Fault]:
        """An option that is set once more further on, to something else."""
        latest: dict[str, Option] = {}
        for option in self.parsed.options:
            earlier = latest.get(option.name)
            latest[option.name] = option
            if earlier is None or option.name == "--middleware" or option.unknown or earlier.unknown:
                continue
            if earlier.data == option.data or earlier.argument is option.argument or self._is_config(earlier):
                continue
            if option.spelled.endswith("."):
                message = f"{option.name} as JSON is lost: the dotted {_short(option.spelled)}… replaces all of it"
                help_text = "write everything in one JSON, or everything dotted"
            else:
                message = f"{option.name} is given twice; this value has no effect"
                help_text = "keep one of them"
            yield Fault(
                "shadowed", message, earlier.span, subject=option.name,
                related=((option.span, "the one that counts"),), help=help_text,
                why="vLLM takes the last one; of a JSON value nothing is merged.",
            )  # fmt: skip
        yield from self._first_model_wins()

    def _is_config(self, option: Option) -> bool:
        """Whether an option comes from the `--config` file, which the command line is meant to override."""
        text = option.argument.text if option.argument is not None else None
        return text is not None and text == self.parsed.config

    def _first_model_wins(self) -> Iterator[Fault]:
        if self.launch.module_form:
            return
        option = self.parsed.option("--model")
        if option is None or self.parsed.model_argument is None or self._is_config(option):
            return
        if option.value is not None and option.value != self.parsed.model:
            yield Fault(
                "shadowed", f"--model is given twice; `{_short(option.value)}` has no effect", option.span,
                subject="--model", related=((self.parsed.model_argument.span, "the one that is served"),),
                why="Unlike other options, the first --model wins.", help="keep one of them",
            )  # fmt: skip

    def _model(self) -> Iterator[Fault]:
        parsed, launch = self.parsed, self.launch
        if launch.module_form and parsed.model_tag is not None and not parsed.option("--model"):
            argument = next((word for word in launch.words if word.text == parsed.model_tag), None)
            if argument is not None and id(argument) not in self.handled and at_least(launch.version, "0.10.2"):
                yield Fault(
                    "conflict",
                    f"`{_short(parsed.model_tag)}` is not used: the module serves its default model, {parsed.model}",
                    argument.span, subject="model", help="write --model before it",
                )  # fmt: skip
                return
        if not parsed.defaulted or not launch.words or self.handled or launch.launcher in _MODEL_ELSEWHERE:
            return
        if any(error.sort == "stray" for error in parsed.errors):
            return
        if self.serving.model is not None and self.serving.model.path is None and not self.serving.model.value:
            return
        named = self.serving.facts.get("storage_uri") is not None or self.serving.model is not None
        if named or (self.image is not None and not self.official):
            return
        if launch.launcher == "image" and self.image is None:
            return
        default = parsed.model or "a small default model"
        swallowed = self._swallowed()
        message = f"no model is named, so vLLM serves {default}"
        if swallowed is not None:
            message += f": `{_short(swallowed[1])}` became a value of {swallowed[0]}"
        yield Fault(
            "conflict", message, launch.words[0].span, certain=swallowed is not None or not parsed.errors,
            subject="model", why="Nothing is said about it: the server starts and answers with another model.",
            help="name the model first, before all options",
        )  # fmt: skip

    def _swallowed(self) -> tuple[str, str] | None:
        """An option that takes many values, and its last one, which looks like a model."""
        for option in reversed(self.parsed.options):
            flag = flag_table().flags.get(option.name)
            if flag is None or not flag.nargs or not option.value:
                continue
            last = option.value.rsplit(" ", 1)[-1]
            if "/" in last and not last.startswith("-"):
                return option.name, last
        return None


def _bad_cap(value: Any, span: Span) -> Fault | None:
    if isinstance(value, int) and not isinstance(value, bool):
        if value > 0:
            return None
        return Fault(
            "fatal", f"max_new_tokens {value} in {OVERRIDE} leaves no token to write", span, subject="max_new_tokens",
            why="vLLM starts, and refuses every request.", help="name at least 1, or leave the key out",
        )  # fmt: skip
    number = value.strip() if isinstance(value, str) else ""
    return Fault(
        "fatal", f"max_new_tokens in {OVERRIDE} is {_short(str(value))!r}, and not a whole number", span,
        number if number.isascii() and number.isdigit() else None, subject="max_new_tokens",
        why="vLLM starts, and every request ends in a TypeError.", certain=isinstance(value, str | list | dict),
    )  # fmt: skip


def nearest_option(word: str, mask: int) -> str | None:
    """The option that a word is most likely a slip for, among those of the given versions; None where none is near."""
    strings = flag_table().strings
    return nearest_name(
        word,
        (name for name, owners in strings.items() if name.startswith("--") and any(bits & mask for _, bits in owners)),
    )


def _unquoted(text: str) -> str | None:
    """The inside of a text that begins and ends with the same quote, None for any other."""
    if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"`":
        return text[1:-1]
    return None


def _better_value(error: ParseError) -> str | None:
    """The value that was meant, where a number is written as another program would take it."""
    value = (error.value or "").strip()
    flag = flag_table().flags.get(error.option)
    if flag is None:
        return None
    if error.sort == "choice":
        choices = [choice for choice in flag.choices if isinstance(choice, str)]
        for choice in choices:
            if choice.lower() == value.lower():
                return choice
        short = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}.get(value.lower())
        if short in choices:
            return short
        import difflib

        near = difflib.get_close_matches(value, choices, 1, 0.75)
        return near[0] if near else None
    if "integer" not in flag.kind:
        return value.replace(",", ".") if flag.kind == "number" and value.count(",") == 1 else None
    joined = value.replace(",", "").replace(" ", "")
    if flag.kind != "integer" and joined[-2:].lower() == "kb":
        joined = joined[:-1]
    number, wrong = human_integer(joined)
    if wrong is None:
        return joined if flag.kind != "integer" else str(number)
    try:
        amount = float(joined)
    except ValueError:
        return None
    return str(int(amount)) if amount.is_integer() and abs(amount) < 1e12 else None


def _choices(name: str) -> str:
    """The values that an option takes, the first of them where there are many."""
    choices = [str(choice) for choice in flag_table().flags[name].choices if choice is not None]
    return ", ".join(choices[:8]) + (", …" if len(choices) > 8 else "")


def _switch(name: str, value: str) -> str | None:
    """The switch that says what a truth value behind it was to say."""
    if value.lower() in ("true", "1", "yes", "on", ""):
        return name
    if value.lower() not in _BOOLEANS:
        return None
    negative = "--no-" + name.removeprefix("--")
    return negative if flag_table().presence(negative) else None


def _switch_help(name: str, value: str) -> str:
    switch = _switch(name, value)
    return f"write {switch} alone" if switch else "leave the switch out altogether"


def _dashed(word: str) -> str:
    """A word as the parser normalises it: dashes for underscores in an option's name."""
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    stem, dot, keys = name.partition(".")
    return stem.replace("_", "-") + dot + keys + equals + value


def _short(text: str | None) -> str:
    """A text for a message: on one line, and not too long."""
    shown = " ".join((text or "").split())
    return shown if len(shown) <= _LONGEST_SHOWN else shown[: _LONGEST_SHOWN - 1] + "…"
