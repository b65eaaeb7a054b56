"""Ray Serve's LLM configuration: `applications[].args.llm_configs[]`, in a file of its own or inside a RayService.

Sources: docs.ray.io (LLMServingArgs), ray-project/kuberay config/samples (feeaf72f). The keys of `engine_kwargs` are
vLLM's engine arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, entries, find, get, read_yaml
from servelint.manifests.engine_config import option_words
from servelint.manifests.serving import Argument, Manifest, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.text import Source


def read(path: str, source: Source, context: Context) -> Manifest | None:
    """Read a Serve configuration; None where no application in it serves a language model."""
    file = read_yaml(source.text)
    writer = YamlWriter(file)
    servings: list[Serving] = []
    for root in file.documents:
        applications = get(root, "applications")
        for application in applications.items if applications is not None and applications.kind == "sequence" else ():
            for config in _configs(application):
                servings.append(_serving(path, file, writer, application, config))
        engine = get(root, "engine_config")
        if engine is not None and get(engine, "engine_kwargs") is not None and root is not None:
            # The form that Ray's LLM package had before it became a part of Serve.
            servings.append(_serving(path, file, writer, root, engine))
    if not servings:
        return None
    return Manifest(
        path, "ray-serve", source.text, "yaml", tuple(servings), file.problems, file.comments, {"document": file}
    )


def _configs(application: Node) -> Iterator[Node]:
    configs = find(application, ("args", "llm_configs"))
    for config in configs.items if configs is not None and configs.kind == "sequence" else ():
        # An item may be the path of a file instead.
        if config.kind == "mapping" and get(config, "model_loading_config") is not None:
            yield config


def _serving(path: str, file: YamlFile, writer: YamlWriter, application: Node, config: Node) -> Serving:
    loading = get(config, "model_loading_config") or config
    named = (get(loading, key) for key in ("model_source", "hf_model_id", "model_id"))
    name = next((node for node in named if node is not None and node.kind == "scalar"), None)
    kwargs = get(config, "engine_kwargs")
    words: list[Argument] = []
    model = None
    if name is not None and name.text:
        model = Setting("model_source", name.text, name.span, name.span, "model_source", data=name)
        words += [
            Argument("--model", name.span, literal=False, form="string"),
            Argument(name.text, name.span, literal=False, form="string"),
        ]
    if kwargs is not None and kwargs.kind == "mapping":
        words += option_words(file, kwargs, "vllm")
    environment = tuple(
        Setting(key.text, node.text, node.span, node.span, f"env_vars {key.text}", data=node)
        for source in (find(application, ("runtime_env", "env_vars")), find(config, ("runtime_env", "env_vars")))
        for key, node in entries(source)
        if node.kind == "scalar"
    )
    place = name if name is not None else config
    facts = {"document": file, "launcher": "config", "container": config}
    return Serving(
        path, place.span, "ray-serve", "vllm", writer, None, None, model, tuple(words), environment=environment,
        facts=facts,
    )  # fmt: skip
