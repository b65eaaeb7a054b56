"""From a file's bytes to its findings: the whole flow once."""

from __future__ import annotations

import os.path
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module

from servelint.checks.catalogue import is_selected, severity_of
from servelint.checks.deployment import Check, Deployment
from servelint.checks.embedded import moved, relocated
from servelint.checks.finding import Finding
from servelint.checks.ignores import apply_ignores
from servelint.checks.policy import Policy
from servelint.engines import read_serving, with_model
from servelint.engines.reading import Reading
from servelint.files.context import Context
from servelint.formats.problem import Problem
from servelint.manifests.catalogue import KINDS, Kind, kinds_of
from servelint.manifests.serving import Manifest, Piece, Serving
from servelint.models.identity import Identity
from servelint.models.resolve import identify_serving
from servelint.records import record, replace
from servelint.text import Source, Span, decode

# A script that writes a ConfigMap that holds a script: deeper, and more of them, than anybody writes.
_DEEPEST_PIECE = 3
_MOST_PIECES = 5_000


@record
class Result:
    """What came of one file: `findings` after selection and ignores, sorted by place; `kind` None for no manifest.

    `internal` holds a paste-ready line for every rule or reader that broke; the findings of the others stand. `pieces`
    are the results of manifests that lie inside this one, in their own places; what they found is among `findings`.
    """

    path: str
    kind: str | None
    text: str
    findings: tuple[Finding, ...] = ()
    deployments: tuple[Deployment, ...] = ()
    internal: tuple[str, ...] = ()
    manifest: Manifest | None = None
    pieces: tuple[Result, ...] = ()


# Which groups of rules look at a kind: a hook that checks a Modelfile need not load the rules of model folders.
_GROUPS: dict[str, tuple[str, ...]] = {
    "modelfile": ("terminators", "modelfile_values", "caps", "sampling", "prompts", "faults"),
    "generation-config": ("model_files", "schemas", "caps", "sampling"),
    "model-config": ("model_files", "schemas"),
    "chat-template": ("chat_templates", "schemas", "training"),
    "adapter-config": ("adapters",),
    "gguf": ("gguf_values",),
    "env-file": ("env_values", "faults", "caps"),
    "launch-script": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines"),
    "dockerfile": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines"),
    "llama-preset": ("terminators", "faults", "caps", "sampling", "prompts"),
    "ray-serve": ("terminators", "faults", "caps", "sampling", "prompts"),
    "kustomization": ("terminators", "faults", "caps", "sampling", "prompts"),
    "helm-template": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines", "kubernetes_values"),
    "helm-values": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines", "helm_values"),
    "engine-config": ("terminators", "faults", "caps", "sampling", "prompts"),
    "recipes": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines"),
    "skypilot": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines"),
    "local-preset": ("terminators", "faults", "caps", "sampling"),
    "unit": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines"),
    "llama-swap": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines"),
    "localai": ("terminators", "faults", "caps", "sampling"),
    "litellm": ("terminators", "faults", "caps", "sampling", "prompts"),
    "compose": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines"),
    "kubernetes": ("terminators", "faults", "caps", "sampling", "prompts", "launch_lines", "kubernetes_values"),
}

_RULE_OF_PROBLEM = {"syntax": "SL501", "encoding": "SL903", "unclosed-quote": "SL503", "duplicate-key": "SL514"}


def lint(path: str, data: bytes, context: Context, policy: Policy, forced: bool = False) -> Result:
    """Lint one file's bytes. Never raises; `forced` means that the file was named, not found in a folder."""
    kinds = list(kinds_of(path, data))
    if not kinds:
        return Result(path, None, "")
    return _lint(kinds, path, decode(data), context, policy, 0)


def _lint(kinds: Sequence[Kind], path: str, source: Source, context: Context, policy: Policy, depth: int) -> Result:
    internal: list[str] = []
    manifest = None
    for kind in kinds:
        manifest = _read(kind, path, source, context, internal)
        if manifest is not None:
            break
    if manifest is None:
        return Result(path, None, source.text, internal=tuple(internal))
    deployments = []
    found = [_of_problem(path, problem, manifest) for problem in manifest.problems]
    for serving in manifest.servings:
        deployment = _deploy(serving, context, internal)
        if deployment is None:
            continue
        if not serving.facts.get("aside"):
            deployments.append(deployment)
        for check in () if serving.facts.get("by_name") else _checks(manifest.kind):
            try:
                found.extend(each for each in check(deployment, policy) if not _is_told_elsewhere(each, serving))
            except Exception as error:  # one broken rule must not take the others' findings with it
                internal.append(_broken(f"{check.__module__}.{check.__name__}", path, error))
    pieces = []
    for piece in manifest.pieces[:_MOST_PIECES] if depth < _DEEPEST_PIECE else ():
        result = _lint_piece(piece, path, context, policy, depth)
        if result is None:
            continue
        pieces.append(result)
        internal.extend(result.internal)
        found.extend(relocated(finding, result.path, path, piece.inner) for finding in result.findings)
        deployments.extend(moved(deployment, result.path, path, piece.inner) for deployment in result.deployments)
    if manifest.pieces and not manifest.servings and not pieces:
        # What might have held a manifest holds none.
        return Result(path, None, source.text, internal=tuple(internal))
    chosen = _choose(found, policy)
    rendered: tuple[tuple[int, str], ...] = manifest.facts.get("rendered_from", ())
    if rendered:
        chosen = [_told_source(finding, path, rendered) for finding in chosen]
    if policy.respect_ignores and "servelint" in source.text:
        chosen = _choose(apply_ignores(path, chosen, manifest.comments, policy), policy)
    chosen.sort(key=lambda finding: (finding.span.start, finding.rule, finding.span.end, finding.message))
    return Result(
        path, manifest.kind, manifest.text, tuple(chosen), tuple(deployments), tuple(internal), manifest, tuple(pieces)
    )


def _is_told_elsewhere(finding: Finding, serving: Serving) -> bool:
    """Whether all that a finding is about stands in another manifest, which only is named here: it is told there."""
    placed: Sequence[Span] = serving.facts.get("placed", ())
    if not placed:
        return False
    if finding.path != serving.path:
        # Words of its own may be what makes the other file's image say something.
        has_own_words = any(word.span not in placed for word in serving.arguments or ())
        return serving.image is not None and finding.path == serving.image.path and not has_own_words
    return finding.span in placed and all(item.path != serving.path or item.span in placed for item in finding.related)


def _told_source(finding: Finding, path: str, rendered: Sequence[tuple[int, str]]) -> Finding:
    """The finding with the template that its lines were rendered from."""
    index = bisect_right(rendered, finding.span.start, key=lambda entry: entry[0]) - 1
    if index < 0 or finding.path != path:
        return finding
    return replace(finding, message=f"{finding.message} (rendered from {rendered[index][1]})")


def _lint_piece(piece: Piece, host: str, context: Context, policy: Policy, depth: int) -> Result | None:
    """A manifest that lies inside another, in its own places; None where it is none."""
    data = piece.inner.text.encode("utf-8", "surrogateescape")
    if piece.kind is not None:
        kinds = [known for known in KINDS if known.name == piece.kind][:1]
    else:
        kinds = list(kinds_of(piece.name, data))
    if not kinds:
        return None
    path = host
    if piece.name != "-":
        path = os.path.join(os.path.dirname(host), os.path.basename(piece.name))  # noqa: PTH118, PTH119, PTH120
    result = _lint(kinds, path, Source(piece.inner.text), context, policy, depth + 1)
    return None if result.manifest is None and not result.internal else result


def _read(kind: Kind, path: str, source: Source, context: Context, internal: list[str]) -> Manifest | None:
    try:
        return kind.read(path, source, context)
    except Exception as error:  # a reader that breaks on one file must not stop the run
        internal.append(_broken(kind.reader, path, error))
        return None


def _deploy(serving: Serving, context: Context, internal: list[str]) -> Deployment | None:
    try:
        serving = with_model(serving, context)
        identity = identify_serving(serving)
        reading = read_serving(serving, identity, context)
    except Exception as error:  # as above: named, and the other servings go on
        internal.append(_broken(f"the engine {serving.engine}", serving.path, error))
        return None
    return Deployment(serving, identity, reading, verdict_of(identity, reading))


def verdict_of(identity: Identity, reading: Reading) -> str:
    """`stops` where a token that ends this model's turns is in the stop set, `runs-away` where none can be."""
    tokens = identity.turn or (identity.document if identity.role == "base" else ())
    if not tokens or not reading.generates:
        return "unknown"
    published = {stop.value for stop in reading.stop_set.published}
    states = [token.id in published or reading.stop_set.holds(token.text, token.id) for token in tokens]
    if True in states:
        return "stops"
    # Stops of its own take the place of what the model brought along; a later Ollama's own list may save it all the
    # same, and is told among what is not known.
    replaced = reading.stops_replace and reading.reads_model_ids and bool(reading.stop_set.texts)
    return "unknown" if None in states and not replaced else "runs-away"


@cache
def _checks(kind: str) -> tuple[Check, ...]:
    checks: list[Check] = []
    for group in _GROUPS.get(kind, ()):
        checks.extend(import_module(f"servelint.checks.{group}").CHECKS)
    return tuple(checks)


def _of_problem(path: str, problem: Problem, manifest: Manifest) -> Finding:
    from servelint.checks.faults import finding_of_problem

    return finding_of_problem(path, problem, _RULE_OF_PROBLEM.get(problem.sort, "SL501"), manifest)


def _choose(findings: Iterable[Finding], policy: Policy) -> list[Finding]:
    """The findings of the chosen rules, once each, with the severity the user gave their rule."""
    chosen: dict[tuple[str, Span, str], Finding] = {}
    for finding in findings:
        if not is_selected(finding.rule, policy):
            continue
        severity = severity_of(finding.rule, finding.severity, policy)
        if severity is None:
            continue
        if severity != finding.severity:
            finding = replace(finding, severity=severity)
        if not _is_text(finding.message, finding.why, finding.help, finding.no_fix or ""):
            finding = _as_text(finding)
        chosen.setdefault((finding.rule, finding.span, finding.message), finding)
    return list(chosen.values())


def _is_text(*texts: str) -> bool:
    """Whether these can be written anywhere: a byte that is not UTF-8 stands in a text as half a surrogate pair."""
    for text in texts:
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                return False
    return True


def _as_text(finding: Finding) -> Finding:
    def shown(text: str) -> str:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    return replace(
        finding, message=shown(finding.message), why=shown(finding.why), help=shown(finding.help),
        no_fix=None if finding.no_fix is None else shown(finding.no_fix),
    )  # fmt: skip


def _broken(what: str, path: str, error: BaseException) -> str:
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{what} broke on {path}: {type(error).__name__}: {error} ({' > '.join(frames[-4:])})"
