"""What is read off the rendering of a chat template."""

from __future__ import annotations

import pytest

from servelint.models.chat_template import (
    bent_header,
    leaves_turns_open,
    missing_header,
    turn_end,
    understand,
    variants_without_header,
)

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MISTRAL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
LLAMA = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
HARMONY = (
    "{% for m in messages %}{% if m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}"
    "{% if loop.last and not add_generation_prompt %}<|return|>{% else %}<|end|>{% endif %}"
    "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
THINKING = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n{% endif %}")
CLOSED_THOUGHT = CHATML.replace("assistant\n{% endif %}", "assistant\n<think>\n\n</think>\n\n{% endif %}")
PARTS = CHATML.replace("{{ m.content }}", "{% for p in m.content %}{{ p.text }}{% endfor %}")
STRICT = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHATML
TOKENS = {"<|im_end|>", "<|im_start|>", "<|eot_id|>", "</s>", "<|return|>", "<|end|>", "<|endoftext|>"}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}


@pytest.mark.parametrize(
    ("template", "end"),
    [
        (CHATML, "<|im_end|>"),
        (MISTRAL, "</s>"),
        (LLAMA, "<|eot_id|>"),
        (HARMONY, "<|return|>"),
        (THINKING, "<|im_end|>"),
        (CLOSED_THOUGHT, "<|im_end|>"),
        (PARTS, "<|im_end|>"),
        (STRICT, "<|im_end|>"),
        (CHATML.replace("<|im_end|>", ""), None),
    ],
)
def test_the_end_of_a_turn(template: str, end: str | None) -> None:
    chat = understand(template, SPECIAL)
    assert chat.understood
    assert turn_end(chat, TOKENS) == end


@pytest.mark.parametrize("template", [CHATML, MISTRAL, LLAMA, HARMONY, THINKING, CLOSED_THOUGHT, PARTS, STRICT])
def test_healthy_templates(template: str) -> None:
    chat = understand(template, SPECIAL)
    assert (missing_header(chat), bent_header(chat), leaves_turns_open(chat)) == (None, None, False)


@pytest.mark.parametrize(
    ("template", "header"),
    [
        (CHATML.partition("{% if add")[0], "<|im_start|>assistant"),
        (LLAMA.partition("{% if add")[0], "<|start_header_id|>assistant<|end_header_id|>"),
        (CHATML.replace("assistant\n{% endif %}", "model\n{% endif %}"), "<|im_start|>assistant"),
    ],
)
def test_headers_that_are_missing(template: str, header: str) -> None:
    assert missing_header(understand(template, SPECIAL)) == header


@pytest.mark.parametrize("tail", ["assistant", "assistant ", "assistant\n\n", "assistant\n<|im_end|>\n"])
def test_headers_that_are_bent(tail: str) -> None:
    # A single newline behind a block's end is taken away by the template engine: it stands in an expression.
    written = "{{ " + repr("<|im_start|>" + tail) + " }}"
    chat = understand(CHATML.replace("<|im_start|>assistant\n{% endif %}", written + "{% endif %}"), SPECIAL)
    assert missing_header(chat) is None
    assert bent_header(chat) == "<|im_start|>assistant\n"


def test_a_header_of_its_own_is_its_own_affair() -> None:
    chat = understand(CHATML.replace("assistant\n{% endif %}", "assistant\n<|thought|>\n{% endif %}"), SPECIAL)
    assert bent_header(chat) is None


@pytest.mark.parametrize(
    "template",
    [
        CHATML.replace("<|im_end|>", "{% if m.role != 'assistant' %}<|im_end|>{% endif %}"),
        CHATML.replace("<|im_end|>", ""),
    ],
)
def test_turns_that_are_left_open(template: str) -> None:
    assert leaves_turns_open(understand(template, SPECIAL))


def test_what_cannot_be_rendered() -> None:
    assert understand("{% if %}").fault is not None
    assert understand("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}").unknown
    assert understand("hello").failure == "it leaves out what was said"
    assert understand("{{ raise_exception('never') }}").failure == "it refuses a plain conversation: never"
    assert understand(STRICT).refuses_system


@pytest.mark.parametrize(
    ("condition", "variants"),
    [
        ("add_generation_prompt and not tools", ("with tools",)),
        (
            "add_generation_prompt and enable_thinking is not defined",
            ("with enable_thinking", "without enable_thinking"),
        ),
        ("add_generation_prompt and messages[0].role != 'system'", ("behind a system turn",)),
    ],
)
def test_variants_that_lose_the_header(condition: str, variants: tuple[str, ...]) -> None:
    chat = understand(CHATML.replace("{% if add_generation_prompt %}", "{% if " + condition + " %}"), SPECIAL)
    assert missing_header(chat) is None
    assert variants_without_header(chat) == variants


@pytest.mark.parametrize("template", [CHATML, MISTRAL, LLAMA, HARMONY, THINKING, CLOSED_THOUGHT, PARTS, STRICT])
def test_healthy_templates_keep_it_in_every_variant(template: str) -> None:
    chat = understand(template, SPECIAL)
    assert variants_without_header(chat) == ()
    assert len(chat.variants) >= 3
