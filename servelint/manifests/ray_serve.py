"""Ray Serve's LLM configuration: `applications[].args.llm_configs[]`, in a file of its own or inside a RayService.

Sources: docs.ray.io (LLMServingArgs), ray-project/kuberay config/samples (feeaf72f). The keys of `engine_kwargs` are
vLLM's engine arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from servelint.files.context import Context
from servelint.formats.yaml import Node, YamlFile, entries, find, get, read_yaml
from servelint.manifests.engine_config import option_words
from servelint.manifests.serving import BY_NAME, Argument, Manifest, Serving, Setting
from servelint.manifests.yaml_writer import YamlWriter
from servelint.text import Source

_MODEL_VARIABLES = ("MODEL_ID", "MODEL", "MODEL_NAME", "HF_MODEL_ID", "LLM_MODEL_ID")


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
            servings.extend(_of_own_code(path, writer, application))
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


def _of_own_code(path: str, writer: YamlWriter, application: Node) -> Iterator[Serving]:
    """An application of one's own around vLLM, known by the names of its code, with the model in a variable of it.

    What the code makes of it all is not known: such a deployment is listed, and not judged.
    """
    code = get(application, "import_path")
    deployments = get(application, "deployments")
    listed = deployments.items if deployments is not None and deployments.kind == "sequence" else ()
    names = [code, *(get(item, "name") for item in listed)]
    if not any(node is not None and node.kind == "scalar" and "vllm" in node.text.lower() for node in names):
        return
    for key, node in entries(find(application, ("runtime_env", "env_vars"))):
        if key.text in _MODEL_VARIABLES and node.kind == "scalar" and node.text:
            model = Setting(key.text, node.text, node.span, node.span, f"env_vars {key.text}", data=node)
            yield Serving(
                path, node.span, "ray-serve", "vllm", writer, model=model, hidden=(BY_NAME,), facts={"by_name": True}
            )
            return


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
