"""SL513: a model folder's files against the JSON Schemas in `schemas/`."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.repairs import excerpt, listing
from servelint.manifests.model_folder import CONFIG, GENERATION_CONFIG, TOKENIZER_CONFIG, FolderFile
from servelint.text import Span

_SCHEMAS = {
    GENERATION_CONFIG: "generation_config.schema.json",
    CONFIG: "config.schema.json",
    TOKENIZER_CONFIG: "tokenizer_config.schema.json",
}
_WHYS = {
    GENERATION_CONFIG: "Readers take the value as it stands, and fail or misbehave at the first request.",
    CONFIG: "The model cannot be loaded, or is loaded as something else.",
    TOKENIZER_CONFIG: "The tokenizer cannot be loaded, or a token of the template is lost.",
}


def check_schema(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """A field of the wrong type, or out of range."""
    serving = deployment.serving
    file: FolderFile | None = serving.facts.get("file")
    # The file yields a serving for each engine; what is wrong with it is said once.
    if file is None or not file.readable or serving.engine != "transformers":
        return
    base = os.path.basename(file.path)  # noqa: PTH119 (a plain str, as findings name it)
    name = GENERATION_CONFIG if serving.kind == "generation-config" else base
    if name not in _SCHEMAS:
        return
    for error in _validator(_SCHEMAS[name]).iter_errors(file.data):
        path = list(error.absolute_path)
        if path[:1] == ["eos_token_id"]:
            # SL116 says it better.
            continue
        field = ".".join(str(part) for part in path) or base
        yield Finding(
            "SL513", "error", serving.path, _place(deployment, file, path),
            f"{field} is {_shown(error.instance)}; {_expected(error)}",
            why=_WHYS[name], help="write a value of the right type",
        )  # fmt: skip


@cache
def _validator(name: str) -> Any:
    # jsonschema costs more to import than a hook spends on a Modelfile: only these kinds pay for it.
    import json

    from jsonschema import Draft202012Validator

    from servelint.data import data_folder

    return Draft202012Validator(json.loads((data_folder() / "schemas" / name).read_text(encoding="utf-8")))


def _place(deployment: Deployment, file: FolderFile, path: Sequence[Any]) -> Span:
    """The value of the top-level key that a fault lies in: what is further inside is named in the message."""
    span = file.span_of(str(path[0])) if path else None
    return span if span is not None else deployment.serving.span


def _shown(value: Any) -> str:
    import json

    try:
        return excerpt(json.dumps(value, ensure_ascii=False), 50)
    except (ValueError, RecursionError):
        # A number of thousands of digits, or lists within lists within lists.
        return "too long to be shown"


_TYPES = {
    "integer": "a whole number", "number": "a number", "boolean": "true or false", "string": "a text",
    "array": "a list", "object": "an object",
}  # fmt: skip


def _expected(error: Any) -> str:
    if error.validator == "type":
        kinds = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
        return f"{' or '.join(_TYPES.get(str(kind), str(kind)) for kind in kinds)} is expected"
    if error.validator in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"):
        words = {
            "minimum": "at least",
            "exclusiveMinimum": "more than",
            "maximum": "at most",
            "exclusiveMaximum": "less than",
        }
        return f"{words[error.validator]} {error.validator_value} is expected"
    if error.validator == "enum":
        return f"one of {listing([_shown(value) for value in error.validator_value])} is expected"
    if error.validator == "not":
        # What may not stand there at all: the schema says why.
        reason = str(error.schema.get("description", "nothing may stand here")).rstrip(".")
        return reason[:1].lower() + reason[1:]
    return excerpt(str(error.message), 100)


CHECKS: tuple[Check, ...] = (check_schema,)
