"""What Ollama does with a Modelfile: what `ollama create` refuses, what it inherits, and what ends generation.

Sources: ollama/ollama `parser/parser.go` (CreateRequest), `api/types.go` (FormatParams), `server/create.go`,
`server/model.go`, `llm/llama_server.go`, version 0.33; Go's `strconv` for numbers; golang.org/x/mod/semver.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from servelint.data import load
from servelint.engines.llamacpp import end_id, ends_by_text
from servelint.engines.reading import Cap, Fault, Option, Reading, StopId, StopSet, StopText
from servelint.formats.modelfile import Instruction, Modelfile, stray_quotes, trailing_comment
from servelint.manifests.modelfile import origin_of, source_of, unknown_reason
from servelint.manifests.serving import Serving
from servelint.manifests.versions import at_least
from servelint.models.identity import Identity
from servelint.records import replace

_TABLE = "rules/engines/ollama.json"
_INSTRUCTIONS = frozenset(
    ["model", "adapter", "draft", "template", "system", "license", "renderer", "parser", "requires", "message"],
)
# Of these the last one wins in silence; messages and licences add up, several FROM are merged.
_SINGLE = frozenset(["template", "system", "renderer", "parser", "requires", "adapter"])
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_DIGITS = frozenset("0123456789")
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_INFINITIES = frozenset(("inf", "infinity"))
# Halfway from the largest 32-bit float to the next power of two: from here on Go says "out of range".
_FLOAT_LIMIT = float.fromhex("0x1.ffffffp127")
_LONGEST_NAME = 255
_LONGEST_NUMBER = 10_000

Files = Callable[[str], str | None]
"""What lies at a path as the Modelfile writes it: `file`, `folder` (with weights), `empty` (without), or None."""


_SENTENCE_END = "</s>"


def create_problems(modelfile: Modelfile, files: Files | None = None, folder: str = "") -> list[Fault]:
    """What `ollama create` says against a Modelfile that its parser accepts, in its own words.

    The first fault that is not `deprecated` is the one that Ollama reports and refuses the file for. Without `files`
    nothing is said of paths. `folder` is the Modelfile's folder as messages name it.
    """
    return [fault for _, fault in _create_faults(modelfile, files, folder)]


def _create_faults(modelfile: Modelfile, files: Files | None, folder: str) -> list[tuple[Instruction, Fault]]:
    faults = []
    for instruction in modelfile.instructions:
        fault = _fault_of(instruction, files, folder)
        if fault is not None:
            faults.append((instruction, fault))
    if all(fault.sort == "deprecated" for _, fault in faults):
        faults.extend(_unencodable(modelfile))
    return faults


def create_parameters(modelfile: Modelfile) -> dict[str, Any]:
    """The typed parameters of the create request: `stop` a list in order, of every other name the last one.

    Values that are refused, and deprecated parameters, are left out. Floats are not yet rounded to 32 bits.
    """
    parameters: dict[str, Any] = {}
    for instruction in modelfile.instructions:
        kind = _type_of(instruction.name)
        if kind is None or instruction.name in _INSTRUCTIONS:
            continue
        if kind == "text":
            parameters.setdefault(instruction.name, []).append(instruction.value)
            continue
        value = _READERS[kind](instruction.value)
        if value is not None:
            parameters[instruction.name] = value
    return parameters


def create_source(modelfile: Modelfile, files: Files | None = None) -> str:
    """The model name of the create request: the last FROM that is no file or folder; empty where all are."""
    name = ""
    for instruction in modelfile.named("model"):
        if _lies_at(instruction.value, files) is None:
            name = instruction.value
    return name


def _fault_of(instruction: Instruction, files: Files | None, folder: str) -> Fault | None:
    name, value, span = instruction.name, instruction.value, instruction.value_span
    if name in ("model", "adapter", "draft"):
        return _fault_of_path(instruction, files, folder)
    if name == "requires":
        if _is_semantic_version(value):
            return None
        return Fault("invalid-value", "requires must be a valid semver (e.g. 0.14.0)", span, subject=name)
    if name in _INSTRUCTIONS:
        return None
    kind = _type_of(name)
    if kind is None:
        return _fault_of_name(instruction)
    if kind == "text" or _READERS[kind](value) is not None:
        return None
    place = span if span.start < span.end else instruction.span
    return Fault("invalid-value", f"invalid {kind} value [{value}]", place, _meant(kind, instruction), subject=name)


def _fault_of_name(instruction: Instruction) -> Fault:
    table, name = load(_TABLE), instruction.name
    span = instruction.parameter_span or instruction.keyword_span
    if span.start == span.end:
        span = instruction.keyword_span
    if name in table["deprecated"]:
        return Fault("deprecated", f"parameter {name} is deprecated", span, subject=name)
    message = f"unknown parameter '{name}'"
    if name in table["removed"]:
        return Fault("removed", message, span, subject=name, why=f"{name} is {table['removed'][name]}.")
    return Fault("unknown-option", message, span, nearest_parameter(name), subject=name)


def nearest_parameter(name: str) -> str | None:
    """The parameter that a name of another program, or a misspelt one, stands for; None where nothing is near."""
    table = load(_TABLE)
    lowered = name.lower().replace("-", "_")
    if lowered in table["parameters"]:
        return str(lowered)
    foreign: str | None = table["foreign"].get(lowered)
    if foreign is not None or len(lowered) < 4 or len(lowered) > 40:
        return foreign
    from difflib import get_close_matches

    close = get_close_matches(lowered, list(table["parameters"]), 1, 0.8)
    if close:
        return str(close[0])
    close = get_close_matches(lowered, list(table["foreign"]), 1, 0.85)
    return str(table["foreign"][close[0]]) if close else None


def _fault_of_path(instruction: Instruction, files: Files | None, folder: str) -> Fault | None:
    if files is None:
        return None
    name, value = instruction.name, instruction.value
    span = instruction.value_span if instruction.value_span.start < instruction.value_span.end else instruction.span
    shown = value if value.startswith(("/", "~")) else os.path.normpath(f"{folder}/{value}" if folder else value or ".")
    if any(len(part.encode("utf-8", "surrogatepass")) > _LONGEST_NAME for part in value.split("/")):
        return Fault("invalid-value", f"stat {shown}: file name too long", span, subject=name)
    found = _lies_at(value, files)
    if found == "empty":
        return Fault("invalid-value", "no Modelfile or safetensors files found", span, subject=name)
    if found is None and name != "model":
        return Fault("invalid-value", f"stat {shown}: no such file or directory", span, subject=name)
    return None


def _lies_at(value: str, files: Files | None) -> str | None:
    if files is not None:
        return files(value)
    return "folder" if value in ("", ".", "./") else None


def _unencodable(modelfile: Modelfile) -> Iterable[tuple[Instruction, Fault]]:
    """NaN and infinity, which pass every check and then cannot be sent: JSON has no such numbers."""
    last: dict[str, tuple[Instruction, float]] = {}
    for instruction in modelfile.instructions:
        if instruction.name not in _INSTRUCTIONS and _type_of(instruction.name) == "float":
            value = _read_float(instruction.value)
            if value is not None:
                last[instruction.name] = (instruction, value)
    for name in sorted(last):
        instruction, value = last[name]
        if value - value == 0:
            continue
        shown = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        message = f"client cannot encode request: json: unsupported value: {shown}"
        yield instruction, Fault("invalid-value", message, instruction.value_span, subject=name)


def _type_of(name: str) -> str | None:
    entry = load(_TABLE)["parameters"].get(name)
    return None if entry is None else str(entry["type"])


def _meant(kind: str, instruction: Instruction) -> str | None:
    """The value that was surely meant, where it can be told: without stray quotes, without `k`, without `.0`."""
    value = stray_quotes(instruction) or instruction.value
    reader = _READERS[kind]
    if kind == "int":
        plain = value.replace(",", "").replace("_", "").replace(" ", "")
        if plain[-1:] in ("k", "K") and plain[:-1].isdigit() and plain.isascii() and len(plain) < 6:
            return str(int(plain[:-1]) * 1024)
        plain = plain[:-2] if plain.endswith(".0") else plain
        return plain if reader(plain) is not None and plain != instruction.value else None
    if kind == "bool":
        lowered = value.lower()
        return (
            "true"
            if lowered in ("true", "yes", "on", "y")
            else "false"
            if lowered in ("false", "no", "off", "n")
            else None
        )
    return value if value != instruction.value and reader(value) is not None else None


def _read_int(text: str) -> int | None:
    """Go's `strconv.ParseInt(text, 10, 64)`: a sign and ASCII digits."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or not _DIGITS.issuperset(digits):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -(2**63) <= number < 2**63 else None


def _read_bool(text: str) -> bool | None:
    """Go's `strconv.ParseBool`."""
    return True if text in _TRUE else False if text in _FALSE else None


def _read_float(text: str) -> float | None:
    """Go's `strconv.ParseFloat(text, 32)`: decimal, hexadecimal with a binary exponent, infinity, NaN.

    None for what Go calls a syntax error and for what a 32-bit float cannot hold.
    """
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned.lower() in _INFINITIES:
        return float(text)
    if text.lower() == "nan":
        return float("nan")
    if not unsigned or not text.isascii() or len(text) > _LONGEST_NUMBER:
        return None
    hexadecimal = unsigned[:2] in ("0x", "0X")
    body = unsigned[2:] if hexadecimal else unsigned
    mark = "p" if hexadecimal else "e"
    lowered = body.lower()
    mantissa, found, exponent = lowered.partition(mark)
    if hexadecimal and not found:
        return None
    digits = _HEXADECIMAL if hexadecimal else _DIGITS
    whole, _, fraction = mantissa.partition(".")
    plain = (whole + fraction).replace("_", "")
    if not plain or not digits.issuperset(plain):
        return None
    if found:
        power = (exponent[1:] if exponent[:1] in ("+", "-") else exponent).replace("_", "")
        if not power or not _DIGITS.issuperset(power) or exponent.lstrip("+-")[:1] not in _DIGITS:
            return None
    if "_" in text and not _underscores_fit(unsigned, hexadecimal):
        return None
    clean = text.replace("_", "")
    try:
        value = float.fromhex(clean) if hexadecimal else float(clean)
    except OverflowError:
        return None
    except ValueError:
        return None
    return value if abs(value) < _FLOAT_LIMIT else None


def _underscores_fit(unsigned: str, hexadecimal: bool) -> bool:
    """Whether every underscore stands between digits (a prefix counts as one): Go's rule for literals."""
    digits = _HEXADECIMAL if hexadecimal else _DIGITS
    for index, character in enumerate(unsigned):
        if character != "_":
            continue
        before = unsigned[index - 1 : index]
        after = unsigned[index + 1 : index + 2]
        prefix = hexadecimal and index == 2
        if not (prefix or (before and before in digits)) or not (after and after in digits):
            return False
    return True


_READERS: dict[str, Callable[[str], Any]] = {"int": _read_int, "float": _read_float, "bool": _read_bool}


def _is_semantic_version(text: str) -> bool:
    """Whether golang.org/x/mod/semver takes it, a `v` in front put there if missing: `0.14`, `v0.15.2-rc1`."""
    text = text.removeprefix("v")
    release, plus, build = text.partition("+")
    release, minus, stage = release.partition("-")
    numbers = release.split(".")
    if not 1 <= len(numbers) <= 3 or not all(_is_version_number(number) for number in numbers):
        return False
    if (plus or minus) and len(numbers) < 3:
        return False
    if minus and not all(_is_identifier(part, True) for part in stage.split(".")):
        return False
    return not plus or all(_is_identifier(part, False) for part in build.split("."))


def _is_version_number(text: str) -> bool:
    return bool(text) and _DIGITS.issuperset(text) and (text == "0" or text[0] != "0")


def _is_identifier(text: str, counts: bool) -> bool:
    if not text or not text.isascii() or not text.replace("-", "a").isalnum():
        return False
    return not counts or not text.isdigit() or text == "0" or text[0] != "0"


def read_ollama(serving: Serving, identity: Identity) -> Reading:
    """A Modelfile as Ollama serves it: a request's own options still come before everything here.

    `facts` of the reading: `num_ctx` (int or None), `explicit_stops` (whether PARAMETER stop lines give the whole list
    of stop texts), `inherits` (`library`, `hub`, `template` or empty: where stops could come from without them),
    `template` (`present`, and `carriage_returns`: spans of TEMPLATE and SYSTEM values that hold one).
    """
    document = serving.facts.get("document")
    if not isinstance(document, Modelfile):
        return Reading(StopSet(unknown=("the Modelfile of this model is not in sight",)))
    source = serving.facts.get("source") or source_of(serving.path, serving.model.value if serving.model else None)
    parameters = create_parameters(document)
    modern = _ends_by_text(serving)
    return Reading(
        _stop_set(document, serving, identity, source, modern),
        options=tuple(_options(document)),
        cap=_cap(document),
        faults=tuple(_faults(document, serving)),
        # A folder of safetensors brings its own end ids along (`convert/tokenizer.go`); a GGUF brings one.
        reads_model_ids=source != "path" or modern is True or not _is_gguf(serving),
        stops_replace=True,
        serves_chat=_serves_chat(document),
        # A file that Ollama refuses serves nothing.
        generates=not document.problems and identity.role not in ("embedding", "reranker", "reward", "classifier"),
        facts={
            "num_ctx": parameters.get("num_ctx"),
            "explicit_stops": bool(document.named("stop")),
            "inherits": {"library": "library", "hub": "hub", "path": "template"}.get(source, ""),
            "template": {
                "present": any(instruction.value for instruction in document.named("template")),
                "carriage_returns": tuple(
                    instruction.value_span
                    for instruction in document.instructions
                    if instruction.name in ("template", "system") and "\r" in instruction.value
                ),
            },
        },
    )


def _is_gguf(serving: Serving) -> bool:
    model = serving.model
    return model is None or model.value is None or model.value.lower().endswith((".gguf", ".ggml", ".bin"))


def _ends_by_text(serving: Serving) -> bool | None:
    """Whether this Ollama runs GGUF models in llama.cpp's server, which knows end tokens by their text."""
    version = serving.version
    if version is None or version.value is None:
        return None
    modern = at_least(version.value, load(_TABLE)["ends_by_text"]["since"])
    # REQUIRES names the oldest version that will do, so an old one there proves nothing; an image tag does.
    return None if modern is False and version.origin == "REQUIRES" else modern


def _stop_set(document: Modelfile, serving: Serving, identity: Identity, source: str, modern: bool | None) -> StopSet:
    texts: list[StopText] = []
    unknown: list[str] = []
    stops = document.named("stop")
    for instruction in stops:
        reason = unknown_reason(instruction)
        if reason is None:
            texts.append(StopText(instruction.value, origin_of(instruction), instruction.value_span))
        else:
            unknown.append(f"a PARAMETER stop that cannot be known: {reason}")
    if document.problems:
        unknown.append(f"Ollama refuses this file: {document.problems[0].message}")
    if not stops:
        unknown.extend(_inherited(serving, source))
    names = ends_by_text({token.text for token in identity.vocabulary})
    if modern is None:
        shown = [token for token in (stop.text for stop in identity.terminators) if token in names]
        listed = ", ".join(shown or names[:4]) + ("" if shown else ", …")
        unknown.append(f"Ollama 0.30 and later also stop on {listed}")
    tokens = names if modern else ()
    ids: tuple[StopId, ...] = ()
    vocabulary = serving.facts.get("vocabulary")
    if vocabulary is not None:
        number, origin = end_id(vocabulary)
        if number is not None:
            # Every runner ends at the file's own id, whatever stops are given.
            ids = (StopId(number, f"the GGUF's {origin}", vocabulary.text(number)),)
        tokens = tuple(token for token in tokens if vocabulary.find(token) is not None)
    if any(token.text == _SENTENCE_END for token in identity.turn):
        # SentencePiece's end is the eos of every conversion, and every runner ends there by its id.
        tokens = (*tokens, _SENTENCE_END)
    return StopSet(tuple(texts), ids, tokens, tuple(unknown))


def _inherited(serving: Serving, source: str) -> list[str]:
    model = serving.model.value if serving.model is not None else None
    if source == "library":
        return [f"stops inherited from the library model {model}"]
    if source == "hub":
        return [f"stops that the hub makes for {model} (its `params` file, or derived from the GGUF)"]
    if source == "path":
        return ["stops that Ollama adds where it recognises the chat template inside the weights"]
    return ["stops inherited from a model whose name cannot be known here"]


def _cap(document: Modelfile) -> Cap | None:
    limits = document.named("num_predict")
    if not limits or unknown_reason(limits[-1]) is not None:
        return None
    value = _read_int(limits[-1].value)
    # 0 and below lift the cap: -1 runs on, -2 fills the context, 0 is dropped or unlimited by version.
    return Cap(value, "PARAMETER num_predict", limits[-1].value_span) if value is not None and value > 0 else None


def _serves_chat(document: Modelfile) -> bool | None:
    if document.named("message") or document.named("renderer"):
        return True
    templates = document.named("template")
    if not templates:
        return None
    written = templates[-1].value
    if ".Messages" in written or ".Role" in written:
        return True
    return True if any(mark in written for mark in ("<|im_start|>", "<|start_header_id|>", "[INST]")) else None


def _options(document: Modelfile) -> Iterable[Option]:
    for instruction in document.instructions:
        kind = _type_of(instruction.name)
        if kind is None or not instruction.is_parameter or instruction.parameter_span is None:
            continue
        unknown = unknown_reason(instruction) is not None
        value = None if unknown else instruction.value
        data = None if value is None else value if kind == "text" else _READERS[kind](value)
        name_span = instruction.parameter_span
        yield Option(instruction.name, instruction.name, value, instruction.value_span, name_span, data, unknown)


def _faults(document: Modelfile, serving: Serving) -> Iterable[Fault]:
    for instruction, fault in _create_faults(document, None, ""):
        if unknown_reason(instruction) is not None:
            continue
        if fault.sort == "invalid-value" and trailing_comment(instruction) is not None:
            # The remark behind the value is the fault, and a rule of its own says so.
            continue
        yield _explained(fault)
    model = serving.model
    for instruction in document.named("model"):
        known = unknown_reason(instruction) is None and trailing_comment(instruction) is None
        if known and model is not None and model.whole == instruction.span and serving.facts.get("source") != "path":
            yield from _fault_of_model(instruction)
    yield from _shadowed(document, serving)


def _fault_of_model(instruction: Instruction) -> Iterable[Fault]:
    """A name that the server refuses: it allows letters, digits and `_-.:/@` (types/model/name.go)."""
    name = instruction.value.removeprefix("https://").removeprefix("http://")
    if all(character.isascii() and (character.isalnum() or character in "_-.:/@") for character in name):
        return
    meant = stray_quotes(instruction)
    yield Fault(
        "invalid-value", f"FROM {instruction.value}: invalid model name", instruction.value_span, meant,
        certain=meant is not None, subject="model",
        why="Ollama finds no file of that name beside the Modelfile, and its server refuses it as the name of a model.",
        help=f"write {meant}" if meant else "give a model name such as qwen2.5:7b, or a path that begins with ./",
    )  # fmt: skip


def _explained(fault: Fault) -> Fault:
    refusal = "`ollama create` stops here and makes no model."
    match fault.sort:
        case "deprecated":
            return replace(
                fault, why="Ollama prints a warning and drops the line; it has no effect.", help="remove the line"
            )
        case "removed":
            return replace(fault, why=f"{fault.why} {refusal}", help="remove the line")
        case "unknown-option":
            sort = "cap-name" if fault.suggestion == "num_predict" else "unknown-option"
            instruction = fault.suggestion is not None and fault.suggestion.isupper()
            hint = f"that is an instruction of its own: {fault.suggestion}" if instruction else ""
            if not fault.subject:
                hint = "write one blank between PARAMETER and the name; a second one ends the name"
            elif not hint and fault.suggestion:
                hint = f"Ollama calls it {fault.suggestion}"
            return replace(fault, sort=sort, why=refusal, help=hint)
    hint = f"write {fault.suggestion}" if fault.suggestion else ""
    return replace(fault, message=f"{fault.subject}: {fault.message}", why=refusal, help=hint)


def _shadowed(document: Modelfile, serving: Serving) -> Iterable[Fault]:
    """Settings that a later one of the same name replaces in silence."""
    table = load(_TABLE)
    last: dict[str, Instruction] = {}
    earlier: list[tuple[Instruction, str]] = []
    for instruction in document.instructions:
        name = instruction.name
        if name == "model":
            model = None if unknown_reason(instruction) is not None else instruction.value
            if model is None or serving.facts.get("source") == "path" or source_of(serving.path, model) == "path":
                continue
        elif name not in _SINGLE and (name == "stop" or name not in table["parameters"]):
            continue
        if name in last:
            earlier.append((last[name], name))
        last[name] = instruction
    for instruction, name in earlier:
        winner = last[name]
        yield Fault(
            "shadowed", f"{origin_of(instruction)} is set again below, and the last one wins", instruction.span,
            subject=name, related=((winner.span, "this one takes effect"),),
            why="Ollama keeps the last of them and says nothing.", help="keep one of the two lines",
        )  # fmt: skip
