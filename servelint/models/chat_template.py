"""What a chat template does to a conversation, found out by rendering it: nothing here looks at its source.

Conversations of sentinel texts are rendered as transformers would; what stands between the sentinels says how a turn is
opened and closed. So a fine-tune of an unknown family is understood like any other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from servelint.records import record

if TYPE_CHECKING:
    from servelint.models.rendering import Rendering, TemplateFault

# Nothing that a template writes by itself, in one piece, and unmoved by `strip`, `title` or a split at a tag.
SYSTEM, FIRST, ANSWER, SECOND = "Qzsystem1", "Qzquestion1", "Qzanswer1", "Qzquestion2"
# A block of thoughts as a prompt may open it, or close it empty, with the blanks around it.
_THOUGHT = re.compile(r"^<think>\s*(?:</think>\s*)?$")
_THINKING = re.compile(r"<think>\s*</think>|</?think>|<\|channel>\w*|<channel\|>", re.IGNORECASE)
_VARIANTS: dict[str, dict[str, Any]] = {
    "with tools": {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "look_up",
                    "description": "Looks a word up.",
                    "parameters": {
                        "type": "object",
                        "properties": {"word": {"type": "string", "description": "The word."}},
                        "required": ["word"],
                    },
                },
            }
        ]
    },
    "with enable_thinking": {"enable_thinking": True},
    "without enable_thinking": {"enable_thinking": False},
}
# How a question is opened in a language, how an answer is, and what ends both. The blanks behind a header are part of
# it: the model never saw a turn without them.
LANGUAGES: tuple[tuple[str, str], ...] = (
    ("<|im_start|>user", "<|im_start|>assistant\n"),
    ("<|start_header_id|>user", "<|start_header_id|>assistant<|end_header_id|>\n\n"),
    ("<start_of_turn>user", "<start_of_turn>model\n"),
    ("<|turn>user", "<|turn>model\n"),
    ("<|start_of_role|>user", "<|start_of_role|>assistant<|end_of_role|>"),
    ("<|user|>", "<|assistant|>"),
    ("<｜User｜>", "<｜Assistant｜>"),
    ("<|USER|>", "<|ASSISTANT|>"),
)


_SPECIAL = re.compile(r"<[^<>\s]{1,40}>|\[\|[^\[\]\s]{1,40}\|\]")
# Tokens that begin a turn, or a text: none of them ends an answer.
_OPENERS = frozenset(
    {
        "<|im_start|>", "<|start_header_id|>", "<start_of_turn>", "<|turn>", "<|start_of_role|>", "<|user|>",
        "<｜User｜>", "<|USER|>", "<|system|>", "<|begin_of_text|>", "<bos>", "<s>",
    }
)  # fmt: skip


@record
class ChatTemplate:
    """What a template writes around the turns of a conversation.

    `opening` is what stands before a question, `header` between a question and an earlier answer, `between` between an
    answer and the next question, `closing` behind the last answer, `tail` behind the last question where a generation
    prompt is asked for, `bare_tail` where none is. Each is None where the template would not render that conversation.
    `fault` is jinja2's own word against the template, `failure` how it fails on a plain conversation, `unknown` why its
    outcome cannot be known. `refuses_system` tells that it takes no system turn. `variants` are the tails of prompts
    that are asked for otherwise, by what is asked: with tools, with thinking on or off, behind a system turn.
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
    variants: tuple[tuple[str, str], ...] = ()

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

    first, answer, second = turn("user", FIRST), turn("assistant", ANSWER), turn("user", SECOND)
    conversations = [
        ([first, answer, second], True), ([first, answer, second], False), ([first, answer], False),
        ([turn("system", SYSTEM), first], True), ([first], True), ([first], False),
    ]  # fmt: skip
    plain = {**tokens, "tools": None, "documents": None}
    calls: list[dict[str, Any]] = [
        {**plain, "messages": messages, "add_generation_prompt": asked} for messages, asked in conversations
    ]
    asked_for = {**plain, "messages": [first], "add_generation_prompt": True}
    calls += [{**asked_for, **given} for given in _VARIANTS.values()]
    from servelint.models.rendering import TemplateFault, render

    outcome = render(template, calls)
    if isinstance(outcome, TemplateFault):
        return ChatTemplate(fault=outcome)
    unknown = next((result.unknown for result in outcome if result.unknown), None)
    if unknown is not None:
        return ChatTemplate(unknown=unknown)
    prompted, unprompted, ended, with_system, single, bare = outcome[: len(conversations)]
    others = dict(zip(_VARIANTS, outcome[len(conversations) :], strict=True))
    others["behind a system turn"] = with_system
    text = prompted.text or ""
    # Some models take no history: what can be seen of a single question is seen.
    tail = _after(prompted, SECOND)
    return ChatTemplate(
        opening=_before(single, FIRST),
        header=within(text, FIRST, ANSWER) or within(ended.text or "", FIRST, ANSWER),
        between=within(text, ANSWER, SECOND),
        closing=_after(ended, ANSWER),
        tail=tail if tail is not None else _after(single, FIRST),
        bare_tail=_after(unprompted, SECOND) if tail is not None else _after(bare, FIRST),
        failure=_failure(prompted),
        refuses_system=with_system.text is None or SYSTEM not in with_system.text,
        variants=tuple((name, after) for name, each in others.items() if (after := _after(each, FIRST)) is not None),
    )


def _failure(result: Rendering) -> str | None:
    if result.refused is not None:
        return f"it refuses a plain conversation: {result.refused}"
    if result.error is not None:
        return f"it fails on a plain conversation: {result.error}"
    missing = [name for name in (FIRST, ANSWER, SECOND) if name not in (result.text or "")]
    return "it leaves out what was said" if missing else None


def _before(result: Rendering, mark: str) -> str | None:
    before, found, _ = (result.text or "").partition(mark)
    return before if found else None


def _after(result: Rendering, mark: str) -> str | None:
    _, found, after = (result.text or "").rpartition(mark)
    return after if found else None


def within(text: str, start: str, end: str) -> str | None:
    """What stands between two texts; None where one of them is missing."""
    _, found, rest = text.partition(start)
    inner, ended, _ = rest.partition(end)
    return inner if found and ended else None


def turn_end(template: ChatTemplate, tokens: Iterable[str]) -> str | None:
    """The token that the template writes behind the last answer, of those that the vocabulary has.

    None where it writes none: the answer is left open, or its end is ordinary text.
    """
    known = [token for token in tokens if token not in _OPENERS]
    return _leading_token(template.closing, known) or _leading_token(template.between, known)


def shaped_end(template: ChatTemplate) -> str | None:
    """What stands behind the last answer and has the shape of a special token, whoever may have it in a vocabulary."""
    found = _SPECIAL.match((template.closing or template.between or "").lstrip())
    return None if found is None or found[0] in _OPENERS else found[0]


def _leading_token(text: str | None, tokens: Iterable[str]) -> str | None:
    written = (text or "").lstrip()
    return max((token for token in tokens if token and written.startswith(token)), key=len, default=None)


def leaves_turns_open(template: ChatTemplate, ends: Collection[str] = ()) -> bool:
    """Whether an earlier answer is followed by the next turn's opening with no token in between that ends it.

    Some models end where the next turn begins (GLM's `<|user|>`): their own `ends` say so. In a language of plain words
    (`User: …`) nothing tells an end from an answer, so nothing is said of it.
    """
    if template.between is None:
        return False
    following = _SPECIAL.match(template.between.lstrip())
    if following is not None:
        return following[0] in _OPENERS and following[0] not in ends
    return _header_of_language(template) is not None


def missing_header(template: ChatTemplate) -> str | None:
    """The header that the prompt should end with and does not hold; None where it does, or none is known.

    It is known by the language in which the questions are opened, else by what stands before earlier answers. A block
    of thoughts that is opened, closed or left out makes no difference. A template without a header of its own
    (`[/INST]` closes the question, and the answer follows) misses none.
    """
    if template.tail is None:
        return None
    written = _plain(template.tail)
    header = _header_of_language(template)
    if header is not None:
        return None if header.rstrip() in written else header.rstrip()
    wanted = _plain(template.header or "")
    if written.startswith(wanted) or not wanted.startswith(written):
        return None
    bare = _plain(template.bare_tail) if template.bare_tail is not None else written
    # Something was added when it was asked for: a header of which earlier answers show more (`<|channel|>final`).
    return None if len(written) > len(bare) else wanted[len(written) :].strip()


def variants_without_header(template: ChatTemplate) -> tuple[str, ...]:
    """In which variants the header is missing, of a template that writes it otherwise."""
    header = _header_of_language(template)
    if header is None or missing_header(template) is not None:
        return ()
    return tuple(name for name, tail in template.variants if header.rstrip() not in _plain(tail))


def bent_header(template: ChatTemplate) -> str | None:
    """The header as the model knows it, where the prompt ends in another form of it: a blank more, no newline, or with
    the turn closed again. None where it is right, or its form is not known.
    """
    header = _header_of_language(template)
    # Only of ChatML the exact form is the same in every family that uses it.
    if template.tail is None or header != LANGUAGES[0][1] or missing_header(template):
        return None
    _, _, behind = template.tail.rpartition(header.rstrip())
    rest = _THOUGHT.sub("", behind.removeprefix("\n"))
    if (behind.startswith("\n") and not rest) or "\r" in behind:
        # Right, or only with carriage returns in it, which is another fault.
        return None
    # What a fine-tune opens its answers with (`<|thought|>`) is its own affair.
    return header if rest.strip() in ("", "<|im_end|>", "<|endoftext|>") else None


def _header_of_language(template: ChatTemplate) -> str | None:
    opening = template.opening or ""
    found = [(opening.rfind(question), header) for question, header in LANGUAGES if question in opening]
    return max(found)[1] if found else None


def _plain(text: str) -> str:
    return _THINKING.sub("", text).rstrip()
