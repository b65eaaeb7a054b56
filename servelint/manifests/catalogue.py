"""The kinds of manifest: one entry each, from which detection, the hooks, the documentation and tests are made."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from servelint.records import record

if TYPE_CHECKING:
    from servelint.files.context import Context
    from servelint.manifests.serving import Manifest
    from servelint.text import Source


@record
class Kind:
    """One kind of manifest.

    `named` tests the base name and `sniffs` the bytes: both must agree, and both may let too much through, never too
    little. `reader` is `module:function`, called with path, source and context; it gives None where the file turns out
    to be something else. `files` is the regular expression of paths for the pre-commit hook. `endings` are the only
    ones that such a name can have (in lower case), None for any.
    """

    name: str
    title: str
    reader: str
    files: str
    named: Callable[[str], bool]
    sniffs: Callable[[bytes], bool]
    endings: tuple[str, ...] | None = None

    def read(self, path: str, source: Source, context: Context) -> Manifest | None:
        """Read a file as this kind; None where it is not of it after all."""
        module, _, function = self.reader.partition(":")
        manifest: Manifest | None = getattr(import_module(module), function)(path, source, context)
        return manifest


_NOT_MODELFILES = (
    ".md", ".rst", ".html", ".py", ".go", ".rs", ".js", ".ts", ".tsx", ".json", ".yaml", ".yml", ".toml", ".png",
    ".svg", ".lua", ".vim", ".java", ".rb", ".php", ".c", ".h", ".cpp", ".css", ".sh", ".ps1", ".lock", ".snap", ".j2",
    ".tmpl", ".tpl",
)  # fmt: skip
_NOT_DOCKERFILES = (
    ".md",
    ".py",
    ".go",
    ".js",
    ".ts",
    ".json",
    ".yaml",
    ".yml",
    ".txt",
    ".dockerignore",
    ".j2",
    ".tmpl",
)
_NOT_ENV_FILES = (
    ".yaml", ".yml", ".json", ".toml", ".sh", ".bash", ".py", ".js", ".ts", ".tsx", ".md", ".rst", ".html", ".go",
    ".rs", ".envrc", ".j2", ".tmpl", ".tpl",
)  # fmt: skip
_SHELL_NAMES = (".sh", ".bash", ".ksh", ".zsh")
_ENGINE_MARKERS = (b"vllm", b"text-generation", b"huggingface", b"llama", b"sglang", b".gguf", b"modelfile")
_CONFIG_MARKERS = (
    b"max-model-len", b"max_model_len", b"tensor-parallel-size", b"tensor_parallel_size", b"gpu-memory-utilization",
    b"gpu_memory_utilization", b"model-path", b"model_path", b"mem-fraction-static", b"generation-config",
    b"served-model-name", b"context-length", b"max-num-seqs", b"enforce-eager",
)  # fmt: skip
_KUBERNETES_MARKERS = (
    b"vllm", b"text-generation", b"llama", b"InferenceService", b"ServingRuntime", b"huggingface", b"sglang",
    b"odelfile", b"generation_config", b"model_list", b"kubeai.org", b"kaito.sh", b"serveConfigV2", b"NIMService",
    b".gguf", b"VLLM", b"GMConnector",
)  # fmt: skip


def _is_plain_modelfile_name(name: str) -> bool:
    lowered = name.lower()
    return lowered == "modelfile" or lowered.endswith(".modelfile")


def _is_modelfile_name(name: str) -> bool:
    lowered = name.lower()
    if "modelfile" not in lowered or lowered.endswith(_NOT_MODELFILES):
        return False
    before, _, after = lowered.partition("modelfile")
    return (not before or before[-1] in ".-_ ") and (not after or after[0] in ".-_ ")


def _holds_from(data: bytes) -> bool:
    """Whether a line begins with FROM: prose about Modelfiles (`Modelfile-notes.txt`) has none."""
    lines = data.lower().replace(b"\r", b"\n").split(b"\n")
    return any(line.lstrip(b" \t\xef\xbb\xbf").startswith((b"from ", b"from\t")) for line in lines)


def _is_generation_config(data: bytes) -> bool:
    if b"eos_token_id" not in data and b"transformers_version" not in data:
        # A file of that name which lost its ids is still a generation_config.json; the name has brought it here.
        return True
    return not any(key in data for key in (b'"architectures"', b'"hidden_size"', b'"tokenizer_class"'))


def _names_generation_config(name: str) -> bool:
    lowered = name.lower()
    return lowered.endswith(".json") and "generation_config" in lowered


def _is_loose_generation_config(data: bytes) -> bool:
    """A generation config under another name: what transformers writes has its ids, and no architecture.

    Which of them is one the reader decides: a folder of them may say it of all it holds.
    """
    # Written out: most files of a tree end here.
    if b'"eos_token_id' not in data and b'"do_sample"' not in data and b'"_from_model_config"' not in data:
        return False
    return not any(key in data for key in (b'"architectures"', b'"model_type"', b'"hidden_size"', b'"tokenizer_class"'))


def _is_model_config(data: bytes) -> bool:
    return b'"architectures"' in data or b'"model_type"' in data


def _is_tokenizer_config(data: bytes) -> bool:
    return b"token" in data or b"template" in data


def _is_env_name(name: str) -> bool:
    lowered = name.lower()
    if lowered.endswith(_NOT_ENV_FILES):
        return False
    return lowered == "env" or lowered.startswith(".env") or ".env" in lowered or lowered.endswith((".envfile", "_env"))


def _has_launcher_variables(data: bytes) -> bool:
    return (
        b"LLAMA_ARG_" in data
        or b"MODEL_ID" in data
        or b"_TOTAL_TOKEN" in data
        or b"MAX_INPUT_" in data
        or b"MAX_BATCH_" in data
    )


def _is_shell(data: bytes) -> bool:
    lowered = data.lower()
    return any(marker in lowered for marker in _ENGINE_MARKERS)


def _is_extensionless_shell(data: bytes) -> bool:
    head = data[:80].split(b"\n", 1)[0]
    return head.startswith(b"#!") and (b"sh" in head) and _is_shell(data)


def _is_kubernetes(data: bytes) -> bool:
    return b"apiVersion" in data and b"kind" in data and any(marker in data for marker in _KUBERNETES_MARKERS)


def _is_compose(data: bytes) -> bool:
    return b"services" in data and (_names_engine(data) or b"build:" in data)


def _is_dockerfile_name(name: str) -> bool:
    lowered = name.lower()
    if lowered.endswith(_NOT_DOCKERFILES):
        return False
    return lowered.startswith(("dockerfile", "containerfile")) or lowered.endswith((".dockerfile", ".containerfile"))


def _is_dockerfile(data: bytes) -> bool:
    return _is_shell(data) or b"MODEL_ID" in data


def _is_llama_preset(data: bytes) -> bool:
    return any(key in data for key in (b"LLAMA_ARG_", b".gguf", b"hf-repo", b"n-predict", b"ctx-size", b"ignore-eos",
                                       b"reverse-prompt", b"-GGUF"))  # fmt: skip


def _is_recipes_name(name: str) -> bool:
    lowered = name.lower()
    return (
        lowered.startswith(("makefile", "procfile"))
        or lowered in ("gnumakefile", "justfile", ".justfile")
        or lowered.endswith((".mk", ".just"))
    )


def _is_skypilot(data: bytes) -> bool:
    return b"run:" in data and _names_engine(data)


def _is_engine_config(data: bytes) -> bool:
    return b"model" in data and any(marker in data for marker in _CONFIG_MARKERS)


def _is_local_preset(data: bytes) -> bool:
    return (
        b'"llm.prediction.' in data
        or b'"gpulayers"' in data
        or b'"contextsize"' in data
        or (b".gguf" in data and b'"models"' in data)
    )


def is_values_name(name: str) -> bool:
    """Whether a base name is one that values of a chart have: `values.yaml`, `prod-values.yaml`, `values.gpu.yml`."""
    stem, _, ending = name.lower().rpartition(".")
    return ending in ("yaml", "yml") and "values" in stem.replace("-", ".").replace("_", ".").split(".")


def _is_values(data: bytes) -> bool:
    """An engine, and a key of what is said to one: words, a model, variables."""
    told = any(key in data for key in (b"rgs", b"rguments", b"ommand", b"odel", b"MODEL", b"env"))
    return (told and _is_shell(data)) or _is_known_chart(data)


def _is_known_chart(data: bytes) -> bool:
    """The keys of a known chart, or a resource that installs some chart with values of its own."""
    if b"servingEngineSpec" in data or b"LLM_MODEL_ID" in data or b"modelArtifacts" in data:
        return True
    if b"catalog:" in data and b"engine:" in data and b"url:" in data:
        return True
    if b"ollama:" in data and (b"models:" in data or b"defaultModel:" in data):
        return True
    installs = any(word in data for word in (b"HelmRelease", b"HelmChart", b"argoproj.io", b"helmCharts"))
    return installs and (b"alues" in data or b"parameters" in data) and _is_shell(data)


def _is_unit(data: bytes) -> bool:
    return (b"[Service]" in data or b"[Container]" in data) and _names_engine(data)


def _is_localai(data: bytes) -> bool:
    return (b"parameters:" in data and b"model:" in data) or b"config_file:" in data


def _is_litellm(data: bytes) -> bool:
    return b"model_list" in data and b"litellm_params" in data


def _is_llama_swap(data: bytes) -> bool:
    return b"cmd:" in data and (b"models:" in data or b"${PORT}" in data)


def _names_engine(data: bytes) -> bool:
    return any(marker in data for marker in _ENGINE_MARKERS)


def _always(_: bytes) -> bool:
    return True


KINDS: tuple[Kind, ...] = (
    Kind(
        "modelfile", "Ollama Modelfile", "servelint.manifests.modelfile:read",
        r"(?i)(^|[/._ -])modelfile($|[._ -][^/]*$)", _is_plain_modelfile_name, _always,
    ),
    Kind(
        "modelfile", "Modelfile with a name of its own", "servelint.manifests.modelfile:read",
        r"(?i)(^|[/._ -])modelfile($|[._ -][^/]*$)", _is_modelfile_name, _holds_from,
    ),
    Kind(
        "generation-config", "generation_config.json with its model folder",
        "servelint.manifests.generation_config:read",
        r"(?i)generation_config[^/]*\.json$", _names_generation_config, _is_generation_config, ("json",),
    ),
    Kind(
        "generation-config", "generation config under another name", "servelint.manifests.generation_config:read",
        r"\.json$", lambda name: name.endswith(".json"), _is_loose_generation_config,
        ("json",),
    ),
    Kind(
        "model-config", "config.json of a model folder", "servelint.manifests.model_config:read",
        r"(^|/)config\.json$", lambda name: name == "config.json", _is_model_config, ("json",),
    ),
    Kind(
        "chat-template", "tokenizer_config.json with its chat template",
        "servelint.manifests.chat_template:read_json_file",
        r"(^|/)(tokenizer_config|chat_template)\.json$",
        lambda name: name in ("tokenizer_config.json", "chat_template.json"), _is_tokenizer_config,
        ("json",),
    ),
    Kind(
        "chat-template", "chat template in a file of its own", "servelint.manifests.chat_template:read_template",
        r"(^|/)chat_template\.jinja$", lambda name: name == "chat_template.jinja", _always, ("jinja",),
    ),
    Kind(
        "local-preset", "preset of LM Studio, KoboldCpp or llama-cpp-python", "servelint.manifests.local_presets:read",
        r"\.(json|kcpps)$", lambda name: name.endswith((".json", ".kcpps")), _is_local_preset, ("json", "kcpps"),
    ),
    Kind(
        "adapter-config", "LoRA adapter", "servelint.manifests.adapter_config:read",
        r"(^|/)adapter_config\.json$", lambda name: name == "adapter_config.json",
        lambda data: b"base_model_name_or_path" in data, ("json",),
    ),
    Kind(
        "gguf", "GGUF, by its metadata", "servelint.manifests.gguf:read",
        r"\.gguf$", lambda name: name.lower().endswith(".gguf"), _always, ("gguf",),
    ),
    Kind(
        "env-file", "environment file of TGI or llama-server", "servelint.manifests.env_file:read",
        r"(^|/)[^/]*\.?env([._][^/]*)?$", _is_env_name, _has_launcher_variables,
    ),
    Kind(
        "launch-script", "shell script that launches an engine", "servelint.manifests.launch_script:read",
        r"\.(sh|bash|ksh|zsh)$", lambda name: name.endswith(_SHELL_NAMES), _is_shell,
        ("sh", "bash", "ksh", "zsh"),
    ),
    Kind(
        "launch-script", "script without an extension, by its first line", "servelint.manifests.launch_script:read",
        r"(^|/)[^/.]+$", lambda name: "." not in name, _is_extensionless_shell,
    ),
    Kind(
        "kustomization", "Kustomize, by its patches", "servelint.manifests.kustomize:read",
        r"(^|/)[Kk]ustomization(\.ya?ml)?$",
        lambda name: name in ("kustomization.yaml", "kustomization.yml", "Kustomization"),
        lambda data: b"patch" in data,
    ),
    Kind(
        "helm-template", "template of a Helm chart", "servelint.manifests.helm_template:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")),
        lambda data: b"{{" in data and _is_kubernetes(data), ("yaml", "yml"),
    ),
    Kind(
        "helm-values", "values of a Helm chart", "servelint.manifests.helm_values:read",
        r"\.ya?ml$", is_values_name, _is_values, ("yaml", "yml"),
    ),
    Kind(
        "helm-values", "values of a known chart, or of an Argo CD or Flux release",
        "servelint.manifests.helm_values:read", r"\.ya?ml$",
        lambda name: name.endswith((".yaml", ".yml")) and not is_values_name(name), _is_known_chart, ("yaml", "yml"),
    ),
    Kind(
        "kubernetes", "Kubernetes workload, KServe InferenceService or runtime", "servelint.manifests.kubernetes:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")), _is_kubernetes,
        ("yaml", "yml"),
    ),
    Kind(
        "compose", "Docker Compose file", "servelint.manifests.compose:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")), _is_compose, ("yaml", "yml"),
    ),
    Kind(
        "litellm", "LiteLLM proxy configuration", "servelint.manifests.litellm:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")), _is_litellm, ("yaml", "yml"),
    ),
    Kind(
        "dockerfile", "Dockerfile", "servelint.manifests.dockerfile:read",
        r"(?i)(^|[/.])(dockerfile|containerfile)([.-][^/]*)?$", _is_dockerfile_name, _is_dockerfile,
    ),
    Kind(
        "llama-preset", "llama.cpp preset or config.ini", "servelint.manifests.llama_preset:read",
        r"\.ini$", lambda name: name.endswith(".ini"), _is_llama_preset, ("ini",),
    ),
    Kind(
        "unit", "systemd service, drop-in or Quadlet", "servelint.manifests.unit:read",
        r"\.(service|container|conf)$", lambda name: name.endswith((".service", ".container", ".conf")),
        _is_unit, ("service", "container", "conf"),
    ),
    Kind(
        "recipes", "Makefile, justfile or Procfile", "servelint.manifests.recipes:read_lines",
        r"(?i)(^|/)(gnumakefile|makefile([.-][^/]*)?|\.?justfile|procfile([.-][^/]*)?)$|\.(mk|just)$",
        _is_recipes_name, _is_shell,
    ),
    Kind(
        "skypilot", "SkyPilot task", "servelint.manifests.recipes:read_skypilot",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")), _is_skypilot, ("yaml", "yml"),
    ),
    Kind(
        "ray-serve", "Ray Serve configuration of language models", "servelint.manifests.ray_serve:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")),
        lambda data: b"llm_configs" in data or b"engine_config" in data, ("yaml", "yml"),
    ),
    Kind(
        "engine-config", "options of vLLM or SGLang in YAML", "servelint.manifests.engine_config:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")), _is_engine_config, ("yaml", "yml"),
    ),
    Kind(
        "llama-swap", "llama-swap configuration", "servelint.manifests.llama_swap:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")), _is_llama_swap, ("yaml", "yml"),
    ),
    Kind(
        "localai", "LocalAI model file", "servelint.manifests.localai:read",
        r"\.ya?ml$", lambda name: name.endswith((".yaml", ".yml")), _is_localai, ("yaml", "yml"),
    ),
)  # fmt: skip

_OF_A_NAMELESS_TEXT: tuple[tuple[str, Callable[[bytes], bool]], ...] = (
    ("helm-values", _is_known_chart),
    ("kubernetes", _is_kubernetes),
    ("litellm", _is_litellm),
    ("compose", lambda data: data.startswith(b"services:") or b"\nservices:" in data),
    ("generation-config", _is_loose_generation_config),
    ("launch-script", lambda data: data.startswith(b"#!") and _is_shell(data)),
    ("modelfile", lambda data: b"FROM" in data.upper()),
)


def kind_of(path: str, data: bytes) -> Kind | None:
    """The first kind that a file's name and bytes allow, None where it is no manifest that servelint knows."""
    return next(kinds_of(path, data), None)


def kinds_of(path: str, data: bytes) -> Iterator[Kind]:
    """The kinds that a file's name and bytes allow; its readers tell which of them it is.

    UTF-16 text is sniffed without its zero bytes. A text without a name (`-`) is judged by its bytes alone.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data[2:].replace(b"\0", b"")
    name = os.path.basename(path)  # noqa: PTH119 (a plain str: this runs for every file of a tree)
    if path == "-":
        for wanted, sniffs in _OF_A_NAMELESS_TEXT:
            if sniffs(data):
                yield next(kind for kind in KINDS if kind.name == wanted)
        return
    for kind in _kinds_of(_ending(name)):
        if kind.named(name) and kind.sniffs(data):
            yield kind


def _ending(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return ending.lower() if dot else ""


@lru_cache(maxsize=1024)
def _kinds_of(ending: str) -> tuple[Kind, ...]:
    return tuple(kind for kind in KINDS if kind.endings is None or ending in kind.endings)


# Files that may have gigabytes: only their first bytes are handed to their kind.
HEAD_ONLY = (".gguf",)

# What most files of a repository end in, and no manifest does whatever else its name says.
_NEVER = frozenset(
    {
        "py", "pyi", "md", "rst", "html", "css", "js", "mjs", "ts", "tsx", "jsx", "go", "rs", "java", "kt", "rb",
        "php", "c", "h", "cc", "cpp", "hpp", "cs", "swift", "scala", "lua", "png", "jpg", "jpeg", "gif", "svg", "ico",
        "pdf", "zip", "gz", "tar", "whl", "so", "o", "a", "bin", "safetensors", "parquet", "csv", "lock",
        "snap", "toml", "map", "woff2",
    }
)  # fmt: skip


def may_be_manifest(name: str) -> bool:
    """Whether a base name alone lets any kind in: a walk need not read the other files."""
    ending = _ending(name)
    return ending not in _NEVER and any(kind.named(name) for kind in _kinds_of(ending))
