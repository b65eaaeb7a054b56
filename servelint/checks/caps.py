"""SL2: is the answer cut off, or never ended by anything?"""

from __future__ import annotations

from collections.abc import Iterator

from servelint.checks.catalogue import parameter
from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding, Related
from servelint.checks.policy import Policy
from servelint.checks.terminators import missing_terminators, span_of_stops
from servelint.text import Span

_LONGEST_NUMBER = 18
_BENCHMARK_WORDS = ("bench", "perf", "throughput", "latency", "loadtest", "load-test", "load_test")


def is_benchmark(path: str) -> bool:
    """Whether the path says that this deployment is measured, not used."""
    lowered = path.lower()
    return any(word in lowered for word in _BENCHMARK_WORDS)


def check_low_cap(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL201: an explicit cap that cuts ordinary answers."""
    cap, serving, identity = deployment.reading.cap, deployment.serving, deployment.identity
    threshold = parameter("SL201", "threshold", policy)
    if cap is None or not 0 < cap.value < threshold or is_benchmark(serving.path):
        return
    if any(setting.elsewhere and setting.span == cap.span for setting in serving.environment):
        # The file that it stands in says so itself.
        return
    if identity.role not in ("unknown", "instruct", "reasoning") or not deployment.reading.generates:
        return
    help_text = "raise it to what your longest answer needs, once the terminators are right"
    why = f"An answer of more than {cap.value} tokens ends in mid-sentence, with the finish reason `length`."
    if missing_terminators(deployment):
        why += " It also hides that this model is not stopped at the end of its turn (SL101): mend that first."
    yield Finding(
        "SL201", "warning", cap.path or serving.path, cap.span or serving.span,
        f"{cap.origin} caps every answer at {cap.value} tokens", why=why, help=help_text,
        no_fix="how long an answer may be is yours to say",
    )  # fmt: skip


def check_default_cap(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL202: no cap is given, and the default of this engine's version is tiny."""
    cap, serving = deployment.reading.default_cap, deployment.serving
    if cap is None or deployment.reading.cap is not None or not deployment.reading.generates:
        return
    if cap.value >= parameter("SL202", "threshold", policy) or is_benchmark(serving.path):
        return
    yield Finding(
        "SL202", "warning", cap.path or serving.path, cap.span or serving.span,
        f"{cap.origin} ends an answer after {cap.value} tokens unless the request says otherwise",
        why="Clients that send no max_tokens get cut answers and no error.",
        help="send max_tokens with every request, or serve with a version that has no such default",
    )  # fmt: skip


def check_unbounded(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL206: nothing at all ends generation."""
    serving, reading = deployment.serving, deployment.reading
    limit = serving.last("num_predict")
    if serving.engine != "ollama" or limit is None or limit.value not in ("-1", "-2"):
        return
    stop_set = reading.stop_set
    if stop_set.texts or stop_set.ids or stop_set.tokens or reading.reads_model_ids or deployment.verdict == "stops":
        return
    yield Finding(
        "SL206", "warning", serving.path, limit.whole,
        f"num_predict {limit.value} lifts the cap, and no stop is known for this model",
        why="Ollama before 0.30 then generates until the client hangs up; later versions until ten contexts are full.",
        help="set the model's terminators as stops, and a positive num_predict",
        related=(Related(serving.path, span_of_stops(deployment), "the model that nothing stops"),),
    )  # fmt: skip


def check_room_for_reply(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """SL207 on a Modelfile: the reply may be longer than the whole context."""
    serving = deployment.serving
    context, limit = _integer(deployment, "num_ctx"), _integer(deployment, "num_predict")
    if context is None or limit is None or context[0] <= 0 or limit[0] < context[0]:
        return
    related = (Related(serving.path, context[1], f"the context holds {context[0]} tokens, prompt included"),)
    yield Finding(
        "SL207", "warning", serving.path, limit[1],
        f"num_predict {limit[0]} does not fit into num_ctx {context[0]}",
        why="Prompt and reply share the context: the reply is cut, or the prompt's beginning is thrown away.",
        help="raise num_ctx, or lower num_predict below it", related=related,
    )  # fmt: skip


def _integer(deployment: Deployment, name: str) -> tuple[int, Span] | None:
    setting = deployment.serving.last(name)
    if deployment.serving.engine != "ollama" or setting is None or setting.value is None:
        return None
    digits = setting.value.strip()
    try:
        number = int(digits) if digits.isascii() and "_" not in digits and len(digits) <= _LONGEST_NUMBER else None
    except ValueError:
        return None
    return None if number is None else (number, setting.whole)


CHECKS: tuple[Check, ...] = (check_low_cap, check_default_cap, check_unbounded, check_room_for_reply)
