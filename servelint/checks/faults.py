"""SL5 and its neighbours: what the format's reader or the engine's own parser says against a manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

from servelint.checks.caps import is_benchmark
from servelint.checks.deployment import Check, Deployment
from servelint.checks.finding import Finding, Fix, Related, Severity
from servelint.checks.policy import Policy
from servelint.checks.repairs import file_text, repair
from servelint.engines.reading import Fault
from servelint.formats.problem import Problem
from servelint.manifests.serving import Argument, Manifest, Refusal, Serving
from servelint.text import Edit

# Which rule speaks for which sort of fault, and how loud when the engine is certain of it.
_RULES: dict[str, tuple[str, Severity]] = {
    "unknown-option": ("SL504", "error"),
    "invalid-value": ("SL505", "error"),
    "fatal": ("SL505", "error"),
    "deprecated": ("SL506", "warning"),
    "removed": ("SL506", "error"),
    "not-split": ("SL507", "error"),
    "doubled-entry-point": ("SL507", "error"),
    "lost-quotes": ("SL508", "error"),
    "literal-quotes": ("SL508", "error"),
    "inert": ("SL121", "warning"),
    "shadowed": ("SL512", "warning"),
    "conflict": ("SL505", "error"),
    "no-room": ("SL207", "error"),
    "cap-name": ("SL205", "error"),
    "custom-file-drops-ids": ("SL115", "warning"),
    "ignores-list": ("SL118", "warning"),
    "bans-end": ("SL112", "error"),
    "no-terminator": ("SL114", "error"),
    "unbounded": ("SL206", "warning"),
    "list-in-one": ("SL108", "error"),
    "text-stripped": ("SL109", "warning"),
    "emptied": ("SL104", "error"),
    "stop-quotes": ("SL107", "error"),
    "kept-quotes": ("SL510", "error"),
    "stop-count": ("SL111", "warning"),
    "stop-lookalike": ("SL105", "error"),
    "unread-field": ("SL208", "warning"),
    "raw-prompt": ("SL305", "warning"),
}


def check_faults(deployment: Deployment, policy: Policy) -> Iterator[Finding]:
    """One finding for every fault that the engine's reading brought up."""
    command = deployment.serving.facts.get("command")
    last = command.words[-1] if command is not None else None
    # What stands in a file of its own is told there; here only what the two make of each other is.
    elsewhere = {setting.span for setting in deployment.serving.environment if setting.elsewhere}
    for fault in deployment.reading.faults:
        if fault.sort in _OF_A_VALUE and fault.span in elsewhere:
            continue
        if last is not None and last.text in (" ", "\t", "\r") and fault.sort == "conflict":
            # A backslash with a blank behind it makes a word of the blank: SL509 says so.
            arguments = deployment.serving.arguments
            if arguments and fault.span == arguments[-1].span:
                continue
        finding = _finding(deployment, fault)
        if finding is not None:
            yield finding


def _finding(deployment: Deployment, fault: Fault) -> Finding | None:
    rule, severity = _RULES[fault.sort]
    if fault.sort == "unknown-option" and not fault.certain and fault.suggestion is None:
        # Newer than the table, or of a private build: what is near nothing known is nobody's typing error.
        return None
    if fault.severity in ("note", "warning", "error"):
        severity = cast("Severity", fault.severity)
    elif not fault.certain and severity == "error":
        severity = "warning"
    if rule in _NOT_IN_BENCHMARKS and is_benchmark(deployment.serving.path):
        return None
    serving = deployment.serving
    related = tuple(Related(serving.path, span, text) for span, text in fault.related)
    help_text = fault.help or (f"did you mean {fault.suggestion}?" if fault.suggestion else "")
    fix, refusal = _mend(serving, fault)
    return Finding(
        rule, severity, fault.path or serving.path, fault.span, fault.message, why=fault.why, help=help_text,
        related=related, fix=fix, no_fix=refusal,
    )  # fmt: skip


def _mend(serving: Serving, fault: Fault) -> tuple[Fix | None, str | None]:
    """The repair of a word whose meaning is certain: renamed, split in two, or with its quotes where they belong."""
    if fault.sort == "deprecated" and fault.suggestion and fault.certain and fault.path in (None, serving.path):
        return _rename(serving, fault, fault.suggestion)
    if fault.suggestion is None and fault.sort == "lost-quotes":
        return None, "what the JSON was meant to say is not certain"
    if fault.suggestion is None or not fault.certain or fault.sort not in _MENDED:
        return None, None
    if fault.sort in ("stop-quotes", "kept-quotes"):
        return repair("leave the quotes out", (Edit(fault.span.start, fault.span.end, fault.suggestion),))
    if fault.sort == "list-in-one" and serving.arguments is None:
        return _split_setting(serving, fault, json.loads(fault.suggestion))
    argument = next((word for word in serving.arguments or () if word.span.covers(fault.span)), None)
    if argument is None or argument.text is None:
        return None, "the word is not written out here"
    if not argument.literal and not (fault.sort == "lost-quotes" and _braces_expanded(serving, argument)):
        return None, "the word is not written out here"
    if fault.sort == "not-split":
        return _split(serving, argument, json.loads(fault.suggestion))
    if fault.sort == "list-in-one":
        texts = json.loads(fault.suggestion)
        return _repeat(serving, argument, fault.subject, texts)
    start = argument.text.find("=") + 1 if argument.text.startswith("-") else 0
    if fault.sort == "literal-quotes":
        return _replaced(argument, start, fault.suggestion, "leave the inner quotes out")
    if argument.form == "yaml" or "'" in fault.suggestion:
        return None, None
    if serving.facts.get("inner") is not None and serving.facts.get("command") is not None:
        return _quoted_in_script(serving, argument, argument.text[:start], fault.suggestion)
    if argument.form == "string" and serving.kind != "unit" and argument.text.count("{") == argument.text.count("}"):
        meant, is_split = fault.suggestion, serving.facts.get("launcher") != "config"
        if is_split:
            # The quotes that are left of it stand within the word: a blank would part it.
            meant = json.dumps(json.loads(meant), ensure_ascii=False, separators=(",", ":"))
        title = "put the quotes of the JSON back"
        fix, _ = (None, None) if is_split and " " in meant else _replaced(argument, start, meant, title)
        if fix is not None:
            return fix, None
    end = _end_of_json(serving, argument, argument.text[start:])
    if end is None:
        return None, "the JSON is not written out here"
    shown = file_text(serving)[argument.span.start : end]
    if "\n" in shown or (serving.kind == "unit" and any(mark in shown for mark in "%$\\")):
        # A remark may stand between the lines; a unit fills in what it finds in quotes, too.
        return None, "how the JSON is written here leaves no room for quotes around it"
    written = _as_written(serving, argument.span.start, end, argument.text[:start], fault.suggestion)
    word = f"{argument.text[:start]}'{written}'"
    return repair("quote the JSON for the shell", (Edit(argument.span.start, end, word),))


def _quoted_in_script(serving: Serving, argument: Argument, name: str, meant: str) -> tuple[Fix | None, str | None]:
    """The JSON in quotes of the shell's, in a script that lies in another text (`sh -c`)."""
    inner, words, text = serving.facts["inner"], serving.facts["command"].words, serving.facts["text"]
    first = next((index for index, word in enumerate(words) if inner.host_span(word.span) == argument.span), None)
    depth = 0
    for word in words[first:] if first is not None else ():
        if word.text is None or not (word.literal or _braces_expanded(serving, argument)):
            break
        depth += word.text.count("{") - word.text.count("}")
        if depth == 0:
            start = words[first].span.start
            value = _spaced(text[start : word.span.end].removeprefix(name), meant)
            edit = inner.host_edit(Edit(start, word.span.end, f"{name}'{value}'"))
            if edit is None or "\n" in file_text(serving)[edit.start : edit.end]:
                # A Dockerfile's remarks may stand between the lines.
                return None, "how the JSON is written here leaves no room for quotes around it"
            return repair("quote the JSON for the shell", (edit,))
    return None, "the JSON is not written out here"


def _replaced(argument: Argument, start: int, text: str, title: str) -> tuple[Fix | None, str | None]:
    """Another text in the place of the word's from `start` on, written as the word is."""
    if argument.inner is None or argument.inner.encode is None:
        return None, "the word cannot be edited here"
    edit = argument.inner.host_edit(Edit(start, len(argument.text or ""), text))
    return repair(title, Refusal("it cannot be written here") if edit is None else (edit,))


def _split(serving: Serving, argument: Argument, texts: list[str]) -> tuple[Fix | None, str | None]:
    """Two words where one holds an option and its value."""
    split = getattr(serving.writer, "split", None)
    if argument.node is not None or argument.form == "list":
        parted = _parted(argument.text or "", texts)
        if parted is None:
            return None, "where these words part is not clear"
        texts = parted
    if argument.node is not None:
        return (None, None) if split is None else repair("make two words of it", split(argument.node, texts))
    if argument.form == "list":
        return repair("make two words of it", (_as_json_items(argument, texts),))
    written = _written(serving, argument)
    name = texts[0]
    if not written.startswith(name):
        return None, "the word is not written out here"
    # Behind the name stands the `=`, or the value itself.
    place = argument.span.start + len(name)
    gap = 1 if written[len(name) : len(name) + 1] == "=" else 0
    if not gap and written[len(name) : len(name) + 1].isspace():
        return None, "how the blank got into the word is not clear"
    return repair("make two words of it", (Edit(place, place + gap, " "),))


def _split_setting(serving: Serving, fault: Fault, texts: list[str]) -> tuple[Fix | None, str | None]:
    """An item for each text where a list holds them in one."""
    setting = next((each for each in serving.settings if each.span == fault.span), None)
    split = getattr(serving.writer, "split", None)
    if setting is None or setting.data is None or split is None:
        return None, "the stops do not stand in a list"
    answer = split(setting.data, texts)
    if isinstance(answer, Refusal):
        answer = serving.writer.replace(setting, texts)
    return repair("make an item of each", answer)


def _parted(text: str, texts: list[str]) -> list[str] | None:
    """The words of a text that no shell splits, where quotes or JSON in it may hold blanks."""
    if not any(mark in text for mark in "'\"{"):
        return texts
    name, _, rest = text.partition(" ")
    rest = rest.strip()
    if not name.startswith("-"):
        return None
    if rest[:1] in ("'", '"') and len(rest) > 1 and rest[-1] == rest[0] and rest.count(rest[0]) == 2:
        return [name, rest[1:-1]]
    try:
        return [name, rest] if isinstance(json.loads(rest), (dict, list)) else None
    except ValueError:
        return None


def _repeat(serving: Serving, argument: Argument, option: str, texts: list[str]) -> tuple[Fix | None, str | None]:
    """The option once more for each text but the first."""
    words = [texts[0]]
    for text in texts[1:]:
        words += [option, text]
    title = "give the option once for each"
    split = getattr(serving.writer, "split", None)
    if argument.node is not None:
        return (None, None) if split is None else repair(title, split(argument.node, words))
    if argument.form == "list":
        return repair(title, (_as_json_items(argument, words),))
    if argument.form != "shell":
        return None, "the words are part of a text"
    from servelint.formats.shell_words import quote_word

    quote = _written(serving, argument)[:1]
    style = quote if quote in ("'", '"') else "'"
    shown = " ".join(word if word == option else quote_word(word, style) for word in words)
    return repair(title, (Edit(argument.span.start, argument.span.end, shown),))


def _as_json_items(argument: Argument, texts: list[str]) -> Edit:
    """Several items of a JSON list in the place of one."""
    shown = ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    return Edit(argument.span.start, argument.span.end, shown)


def _written(serving: Serving, argument: Argument) -> str:
    return file_text(serving)[argument.span.start : argument.span.end]


def _rename(serving: Serving, fault: Fault, name: str) -> tuple[Fix | None, str | None]:
    """The new name in the place of the old one, where that stands once in what the fault points at."""
    written = file_text(serving)[fault.span.start : fault.span.end]
    if not fault.subject or written.count(fault.subject) != 1:
        return None, "the name is not written out here"
    start = fault.span.start + written.index(fault.subject)
    return repair(f"write {name}", (Edit(start, start + len(fault.subject), name),))


def _braces_expanded(serving: Serving, argument: Argument) -> bool:
    """Whether a shell makes this and other words of one word of the file, and of nothing but its own letters."""
    count = sum(word.span == argument.span for word in serving.arguments or ())
    return count > 1 and argument.form in ("shell", "string") and not {"$", "`"} & set(_written(serving, argument))


def _end_of_json(serving: Serving, first: Argument, value: str) -> int | None:
    """Where the JSON ends that begins in this word: a shell has cut it at its blanks."""
    depth = value.count("{") - value.count("}")
    end = first.span.end
    if _braces_expanded(serving, first):
        return end
    behind = False
    for word in serving.arguments or ():
        if word is first:
            behind = True
        elif behind and depth > 0:
            if word.text is None or not word.literal:
                return None
            depth += word.text.count("{") - word.text.count("}")
            end = word.span.end
    return end if depth == 0 else None


def _as_written(serving: Serving, start: int, end: int, prefix: str, meant: str) -> str:
    """The JSON as its author spaced it, where that is what is meant; else as it was put together again."""
    return _spaced(file_text(serving)[start:end].removeprefix(prefix), meant)


def _spaced(written: str, meant: str) -> str:
    try:
        return written if "'" not in written and json.loads(written) == json.loads(meant) else meant
    except ValueError:
        return meant


# What is meant in a file that measures and does not serve.
_NOT_IN_BENCHMARKS = frozenset({"SL112", "SL206"})
_MENDED = frozenset({"not-split", "literal-quotes", "lost-quotes", "list-in-one", "stop-quotes", "kept-quotes"})

_OF_A_VALUE = frozenset({"invalid-value", "unknown-option", "deprecated", "removed"})

_PROBLEM_HELP = {
    "SL501": "nothing else in this file is judged before it can be read",
    "SL503": 'close the quote at the end of a line (`"""` must be the last thing on its line)',
    "SL514": "keep one of them; readers take the last and say nothing",
}
_PROBLEM_WHY = {
    "SL503": "Everything up to the end of the file becomes part of this value, and the file is refused.",
    "SL514": "The earlier value has no effect.",
}


def finding_of_problem(path: str, problem: Problem, rule: str, manifest: Manifest) -> Finding:
    """A fault of syntax as a finding, in the words of the format's own reader."""
    related = tuple(Related(path, span, text) for span, text in problem.related)
    message = problem.message
    if rule == "SL503":
        message = f"this quote is never closed ({message})"
    return Finding(
        rule, "error", path, problem.span, message, why=_PROBLEM_WHY.get(rule, manifest.facts.get("why", "")),
        help=_PROBLEM_HELP.get(rule, ""), related=related,
    )  # fmt: skip


CHECKS: tuple[Check, ...] = (check_faults,)
