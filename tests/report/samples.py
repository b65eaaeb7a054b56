"""Findings and deployments made by hand, for tests of what is printed of them."""

from __future__ import annotations

from servelint.checks.deployment import Deployment
from servelint.checks.finding import Finding, Fix, Related
from servelint.checks.run import Result
from servelint.engines.reading import Cap, Reading, StopId, StopSet, StopText
from servelint.files.context import Context
from servelint.manifests.serving import Argument, NoWriter, Serving, Setting
from servelint.models.identity import Identity
from servelint.report.collect import Report, gather
from servelint.text import Edit, Span

MODELFILE = 'FROM qwen3:8b\nPARAMETER stop "<|endoftext|>"\nPARAMETER num_predict 512\n'


def span_of(text: str, part: str) -> Span:
    start = text.index(part)
    return Span(start, start + len(part))


def deployment(text: str = MODELFILE, verdict: str = "runs-away") -> Deployment:
    stop = span_of(text, '"<|endoftext|>"')
    model = Setting("FROM", "qwen3:8b", span_of(text, "qwen3:8b"), span_of(text, "FROM qwen3:8b"), "FROM")
    word = Argument("--model", Span(0, 4))
    serving = Serving(
        "Modelfile", Span(0, 13), "modelfile", "ollama", NoWriter("a sample"), model=model,
        arguments=(word, Argument(None, Span(0, 4), reason="$MODEL")),
    )  # fmt: skip
    stops = StopSet(
        (StopText("<|endoftext|>", "PARAMETER stop", stop),),
        (StopId(151645, "generation_config.json eos_token_id", "<|im_end|>"), StopId(7, "somewhere", None, Span(0, 1))),
        ("<|a|>", "<|b|>"),
        ("what the weights say",),
    )
    cap = Cap(512, "PARAMETER num_predict", span_of(text, "512"))
    reading = Reading(stops, cap=cap, default_cap=Cap(16, "the default"))
    return Deployment(serving, Identity("qwen3", "instruct"), reading, verdict)


def finding(text: str, part: str, **changes: object) -> Finding:
    """A finding about `part` of the text."""
    values: dict[str, object] = {
        "rule": "SL101",
        "severity": "error",
        "path": "Modelfile",
        "span": span_of(text, part),
        "message": "<|im_end|> is missing",
    }
    return Finding(**{**values, **changes})  # type: ignore[arg-type]


def full_finding(text: str = MODELFILE) -> Finding:
    """A finding with everything that one may have."""
    return finding(
        text, 'PARAMETER stop "<|endoftext|>"', why="The model goes on.", help="add it",
        related=(Related("Modelfile", span_of(text, "qwen3:8b"), "the model"),),
        fix=Fix("add <|im_end|>", "safe", (Edit(44, 44, '\nPARAMETER stop "<|im_end|>"'),)),
    )  # fmt: skip


def report(*findings: Finding, text: str = MODELFILE, deployments: tuple[Deployment, ...] = ()) -> Report:
    """The report of one Modelfile with these findings, which are all about it."""
    path = findings[0].path if findings else "Modelfile"
    result = Result(path, "modelfile", text, findings, deployments)
    return gather([(result, Context())], lambda _, entries: entries, with_servings=True)
