"""What a chat template does to a conversation, found out by rendering it: nothing here looks at its source.

Conversations of sentinel texts are rendered as transformers would; what stands between the sentinels says how a turn is
opened and closed. So a fine-tune of an unknown family is understood like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from servelint.models.rendering import Rendering, TemplateFault, render
from servelint.records import record

# Nothing that a template writes by itself, in one piece, and unmoved by `strip`, `title` or a split at a tag.
_SYSTEM, _FIRST, _ANSWER, _SECOND = "Qzsystem1", "Qzquestion1", "Qzanswer1", "Qzquestion2"
_THINKING = re.compile(r"<think>\s*</think>|</?think>|<\|channel>\w*|<channel\|>", re.IGNORECASE)
_TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "Looks a word up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}


@record
class ChatTemplate:
    """What a template writes around the turns of a conversation.

    `opening` is what stands before a question, `header` between a question and an earlier answer, `between` between an
    answer and the next question, `closing` behind the last answer, `tail` behind the last question where a generation
    prompt is asked for, `bare_tail` where none is. Each is None where the template would not render that conversation.
    `fault` is jinja2's own word against the template, `failure` how it fails on a plain conversation, `unknown` why its
    outcome cannot be known. `refuses_system` tells that it takes no system turn.
    """

    opening: str | None = None
    header: str | None = None
    between: str | None = None
    closing: str | None = None
    tail: str | None = None
    bare_tail: str | None = None
    fault: TemplateFault | None = None
    failure: str | None = None
    unknown: str | None = None
    refuses_system: bool = False

    @property
    def understood(self) -> bool:
        """Whether a plain conversation came out."""
        return self.tail is not None and self.header is not None


def understand(template: str, special_tokens: Mapping[str, str] | None = None) -> ChatTemplate:
    """Render a template's conversations and read off what it writes. `special_tokens` are `bos_token` and its like."""
    tokens = dict(special_tokens or {})
    found = _understand(template, tokens, parts=False)
    if found.fault is None and found.unknown is None and not found.understood:
        # Templates of models that see pictures may want a list of parts in place of a text.
        other = _understand(template, tokens, parts=True)
        return other if other.understood else found
    return found


def _understand(template: str, tokens: dict[str, str], parts: bool) -> ChatTemplate:
    def turn(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": text}] if parts else text}

    first, answer, second = turn("user", _FIRST), turn("assistant", _ANSWER), turn("user", _SECOND)
    conversations = [
        ([first, answer, second], True), ([first, answer, second], False), ([first, answer], False),
        ([turn("system", _SYSTEM), first], True), ([first], True), ([first], False),
    ]  # fmt: skip
    calls = [
        {**tokens, "messages": messages, "add_generation_prompt": asked, "tools": None, "documents": None}
        for messages, asked in conversations
    ]
    outcome = render(template, calls)
    if isinstance(outcome, TemplateFault):
        return ChatTemplate(fault=outcome)
    unknown = next((result.unknown for result in outcome if result.unknown), None)
    if unknown is not None:
        return ChatTemplate(unknown=unknown)
    prompted, unprompted, ended, with_system, single, bare = outcome
    text = prompted.text or ""
    # Some models take no history: what can be seen of a single question is seen.
    tail = _after(prompted, _SECOND)
    return ChatTemplate(
        opening=_before(single, _FIRST),
        header=_within(text, _FIRST, _ANSWER) or _within(ended.text or "", _FIRST, _ANSWER),
        between=_within(text, _ANSWER, _SECOND),
        closing=_after(ended, _ANSWER),
        tail=tail if tail is not None else _after(single, _FIRST),
        bare_tail=_after(unprompted, _SECOND) if tail is not None else _after(bare, _FIRST),
        failure=_failure(prompted),
        refuses_system=with_system.text is None or _SYSTEM not in with_system.text,
    )


def _failure(result: Rendering) -> str | None:
    if result.refused is not None:
        return f"it refuses a plain conversation: {result.refused}"
    if result.error is not None:
        return f"it fails on a plain conversation: {result.error}"
    missing = [name for name in (_FIRST, _ANSWER, _SECOND) if name not in (result.text or "")]
    return "it leaves out what was said" if missing else None


def _before(result: Rendering, mark: str) -> str | None:
    before, found, _ = (result.text or "").partition(mark)
    return before if found else None


def _after(result: Rendering, mark: str) -> str | None:
    _, found, after = (result.text or "").rpartition(mark)
    return after if found else None


def _within(text: str, start: str, end: str) -> str | None:
    _, found, rest = text.partition(start)
    inner, ended, _ = rest.partition(end)
    return inner if found and ended else None


def turn_end(template: ChatTemplate, tokens: Iterable[str]) -> str | None:
    """The token that the template writes behind the last answer, of those that the vocabulary has.

    None where it writes none: the answer is left open, or its end is ordinary text.
    """
    known = tuple(tokens)
    found = _leading_token(template.closing, known)
    if found is not None or template.between is None or template.opening is None:
        return found
    return _leading_token(_remainder(template.between, template.opening), known)


def _leading_token(text: str | None, tokens: Iterable[str]) -> str | None:
    written = (text or "").lstrip()
    return max((token for token in tokens if token and written.startswith(token)), key=len, default=None)


def leaves_turns_open(template: ChatTemplate) -> bool:
    """Whether an earlier answer is followed by the next question's opening with nothing in between."""
    if template.between is None or template.opening is None:
        return False
    return not _remainder(template.between, template.opening).strip()


def _remainder(between: str, opening: str) -> str:
    """What stands between an answer and the opening of the next question (of which the first has a beginning more)."""
    length = 0
    while length < min(len(between), len(opening)) and between[-1 - length] == opening[-1 - length]:
        length += 1
    return between[: len(between) - length]


def missing_header(template: ChatTemplate) -> str | None:
    """What the prompt should end with and does not: the header that stands before earlier answers; None where it does.

    A block of thoughts that is opened, closed or left out makes no difference. A template without a header of its own
    (`[/INST]` closes the question, and the answer follows) misses none.
    """
    if template.tail is None or template.header is None:
        return None
    wanted, written = _plain(template.header), _plain(template.tail)
    if written.startswith(wanted) or not wanted:
        return None
    if not wanted.startswith(written):
        return None
    bare = _plain(template.bare_tail) if template.bare_tail is not None else written
    # Something was added when it was asked for: a header of which earlier answers show more (`<|channel|>final`).
    return None if len(written) > len(bare) else wanted[len(written) :].strip()


def _plain(text: str) -> str:
    return _THINKING.sub("", text).rstrip()
