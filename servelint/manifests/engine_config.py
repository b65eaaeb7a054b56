"""YAML files that hold a server's options: `vllm serve --config`, `sglang serve --config`.

Sources: vLLM vllm/utils/argparse_utils.py (`load_config_file`, 0.33.0), SGLang srt/server_args_config_parser.py
(0.5.23). A file names options by their keys, with dashes or underscores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from servelint.data import load
from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, embedded_late, entries, get, read_yaml, scalar_type, value
from servelint.manifests.serving import Argument, Manifest, Serving
from servelint.manifests.yaml_writer import YamlWriter
from servelint.text import Source, Span

# Options that only one of the servers has under this name, and that say whose file it is.
_OF_VLLM = frozenset(
    {
        "tensor-parallel-size", "max-model-len", "gpu-memory-utilization", "max-num-seqs", "max-num-batched-tokens",
        "enforce-eager", "enable-auto-tool-choice", "generation-config", "override-generation-config", "swap-space",
        "enable-lora", "uvicorn-log-level", "kv-cache-dtype", "enable-prefix-caching", "served-model-name",
    }
)  # fmt: skip
_OF_SGLANG = frozenset(
    {
        "model-path", "context-length", "mem-fraction-static", "tp-size", "max-running-requests", "dp-size",
        "chunked-prefill-size", "attention-backend", "preferred-sampling-params", "json-model-override-args",
    }
)  # fmt: skip


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a file of options; None where its keys are not those of a server."""
    file = read_yaml(source.text)
    root = file.documents[0] if len(file.documents) == 1 else None
    if root is None or root.kind != "mapping":
        return None
    below = get(root, "vllm")
    is_kaito = below is not None and below.kind == "mapping" and _engine(below) == "vllm" and _is_inference_config(root)
    if is_kaito and below is not None:
        root = below
    engine = _engine(root)
    if engine is None:
        return None
    arguments = tuple(option_words(file, root, engine))
    first = root.items[0][0]
    facts = {"document": file, "launcher": "config", "container": root}
    if is_kaito:
        # Whose options these are says the Workspace that names them; there the deployment is told.
        facts["aside"] = True
    serving = Serving(
        path, Span(first.begin, first.end), "engine-config", engine, YamlWriter(file), arguments=arguments, facts=facts
    )
    return Manifest(
        path, "engine-config", source.text, "yaml", (serving,), file.problems, file.comments, {"document": file}
    )


def _is_inference_config(root: Node) -> bool:
    """Whether a file is KAITO's `inference_config.yaml`: `vllm` beside its own few keys."""
    return {key.text for key, _ in entries(root)} <= {"vllm", "max_probe_steps", "transformers"}


def _engine(root: Node) -> str | None:
    keys = {key.text.replace("_", "-") for key, _ in entries(root)}
    below = [key.text.replace("_", "-") for key, node in entries(root) if node.kind == "mapping"]
    for engine, own, table in (("vllm", _OF_VLLM, "vllm"), ("sglang", _OF_SGLANG, "sglang")):
        rows = load(f"rules/engines/{table}.json")["flags"]
        known = {name.lstrip("-") for row in rows for name in (row["flag"], *row.get("aliases", ()))} | {"model"}
        # The options that take JSON may have a mapping; a server's file has hardly any other.
        takes_json = {
            name.lstrip("-")
            for row in rows
            if row["kind"].startswith("json") or row["flag"] == "--json-model-override-args"
            for name in (row["flag"], *row.get("aliases", ()))
        }
        nested = sum(1 for key in below if key not in takes_json)
        # Other programs' files may share a key; nearly all of a server's file are the server's.
        if keys & own and len(keys & known) * 4 >= len(keys) * 3 and nested * 4 <= len(keys):
            if engine == "vllm" and not keys & {"model", "model-tag", "served-model-name"} and len(keys & own) < 2:
                continue
            return engine
    return None


def option_words(file: YamlFile, root: Node, engine: str) -> Iterator[Argument]:
    """The words that the program makes of the file, each where its key or its value stands."""
    for key, node in entries(root):
        if key.kind != "scalar":
            continue
        name = "--" + (key.text if engine == "vllm" else key.text.replace("_", "-"))
        option = Argument(name, key.span, literal=False, form="string")
        data = value(node)
        if isinstance(data, bool) and engine == "sglang" and _takes_value(name):
            yield option
            yield Argument(str(data).lower(), node.span, literal=False, form="string")
        elif data is True:
            yield option
        elif data is False:
            continue
        elif node.kind == "sequence":
            # An empty list gives no words at all.
            if node.items:
                yield option
            for item in node.items:
                yield _value(file, item)
        elif node.kind == "mapping":
            yield option
            yield Argument(json.dumps(data, default=str), node.span, literal=False, form="string")
        else:
            yield option
            yield _value(file, node)


def _takes_value(name: str) -> bool:
    """Whether SGLang has an option of that name that is no switch."""
    rows = load("rules/engines/sglang.json")["flags"]
    return any(name in (row["flag"], *row.get("aliases", ())) and row["kind"] not in ("switch", "pair") for row in rows)


def _is_float(node: Node) -> bool:
    """Whether PyYAML reads a number: it wants a point, and a sign behind the `e` (`1e3` is a text to it)."""
    lowered = node.text.lower()
    mantissa, exponent, power = lowered.partition("e")
    return scalar_type(node) == "float" and "." in mantissa and (not exponent or power[:1] in ("+", "-"))


def _value(file: YamlFile, node: Node) -> Argument:
    if node.kind != "scalar":
        return Argument(json.dumps(value(node), default=str), node.span, literal=False, form="string")
    if scalar_type(node) in ("int", "null", "bool") or _is_float(node):
        # Python writes what YAML made of it.
        return Argument(str(value(node)), node.span, literal=False, form="string")
    return Argument(node.text, node.span, inner=embedded_late(file, node), form="string")
