"""Turns the YAML files that people write into the JSON files that a run loads.

`python -m servelint.data.compile` writes the files of `rules/compiled/` anew: `families.json` and `family_details.json`
from `rules/families/*.yaml`, `rules.json` and `rule_index.json` from `rules/SL*.yaml`. Reading the YAML itself would
cost more than a whole check.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from servelint.data import data_folder

# What only people read stays in the YAML files.
_FOR_PEOPLE = ("family", "generation", "title", "notes", "sources", "names", "not_names")
# What only some rules ask for is loaded only for them.
_DETAILS = ("sampling", "generation_config", "fim_stops", "greedy", "pad", "tokenizer_end", "model_types")


def read_yaml(path: Path) -> Any:
    """One YAML document. Raises yaml.YAMLError for a broken one."""
    import yaml

    with path.open(encoding="utf-8") as file:
        return yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def family_documents(folder: Path) -> dict[str, dict[str, Any]]:
    """The documents of `rules/families/`, by the name that they give themselves."""
    documents = (read_yaml(path) for path in sorted((folder / "rules" / "families").glob("*.yaml")))
    return {document["name"]: document for document in documents}


def rule_documents(folder: Path) -> dict[str, dict[str, Any]]:
    """The documents of `rules/SL*.yaml`, by code."""
    documents = (read_yaml(path) for path in sorted((folder / "rules").glob("SL*.yaml")))
    return {document["code"]: document for document in documents}


def compile_families(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The families, and what is looked up in them.

    `names` maps a key (the parts of a name, joined by blanks) to `[family, with, sizes, role, alone]`, the most
    demanding first; an empty list is a name that belongs to none. `ollama` maps the models of Ollama's library to
    families, `tokens` the special tokens to the families that have them, `vocabularies` holds each vocabulary once.
    """
    from servelint.models.names import key_of

    families: dict[str, Any] = {}
    vocabularies: list[dict[str, int | None]] = []
    names: dict[str, list[list[Any]]] = {}
    ollama: dict[str, str] = {}
    tokens: dict[str, list[str]] = {}
    for name in sorted(documents):
        document = documents[name]
        entry = {
            key: value for key, value in document.items() if key not in (*_FOR_PEOPLE, *_DETAILS, "special_tokens")
        }
        special = document["special_tokens"]
        if special not in vocabularies:
            vocabularies.append(special)
        entry["tokens"] = vocabularies.index(special)
        entry["terminators"] = [[item["token"], item["id"], item["required"]] for item in document["terminators"]]
        end = document["base_end"]
        entry["base_end"] = [end["token"], end["id"]] if end else None
        entry["certain"] = entry.pop("terminators_confidence", document["confidence"]) == "verified"
        del entry["confidence"]
        if document.get("ollama"):
            listed = entry["ollama"] = dict(document["ollama"])
            ollama.update(dict.fromkeys(listed.pop("names"), name))
        families[name] = entry
        for item in document["names"]:
            rule = {"name": item} if isinstance(item, str) else item
            demand = [name, rule.get("with"), rule.get("sizes"), rule.get("role"), rule.get("alone", False)]
            names.setdefault(key_of(rule["name"]), []).append(demand)
        for blocked in document.get("not_names", ()):
            names[key_of(blocked)] = []
        for token in special:
            tokens.setdefault(token, []).append(name)
    for demands in names.values():
        demands.sort(key=lambda demand: (-len(demand[1] or ()), demand[2] is None, demand[0]))
    return {
        "families": families,
        "names": {key: names[key] for key in sorted(names)},
        "ollama": {key: ollama[key] for key in sorted(ollama)},
        "tokens": {key: tokens[key] for key in sorted(tokens)},
        "vocabularies": vocabularies,
    }


def compile_details(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What a run needs of a family only for some rules, by family; what is empty is left out."""
    return {
        name: {key: documents[name][key] for key in _DETAILS if documents[name].get(key)} for name in sorted(documents)
    }


def compiled(folder: Path) -> dict[str, str]:
    """The text of every compiled file, by its path below the data folder."""
    from servelint.checks.catalogue import index_of

    rules = rule_documents(folder)
    families = family_documents(folder)
    documents = {
        "families": compile_families(families),
        "family_details": compile_details(families),
        "rules": {code: rules[code] for code in sorted(rules)},
        "rule_index": index_of(rules),
    }
    return {f"rules/compiled/{name}.json": _encode(document) for name, document in documents.items()}


def _encode(document: Any) -> str:
    """One line an entry of each top-level mapping: compact, and a change shows as a small difference."""
    import json

    def compact(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    sections = []
    for key, value in document.items():
        if isinstance(value, dict) and all(isinstance(inner, (dict, list, str)) for inner in value.values()):
            lines = ",\n".join(f"  {compact(name)}:{compact(inner)}" for name, inner in value.items())
            sections.append(f" {compact(key)}:{{\n{lines}\n }}" if lines else f" {compact(key)}:{{}}")
        else:
            sections.append(f" {compact(key)}:{compact(value)}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def write(folder: Path) -> list[str]:
    """Write the compiled files that are not as they should be; gives their paths below the folder."""
    written = []
    for name, text in compiled(folder).items():
        path = folder / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(name)
    return written


if __name__ == "__main__":
    for changed in write(data_folder()):
        print(changed)  # noqa: T201 (this is a program for people)
