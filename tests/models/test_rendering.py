"""Chat templates are rendered as transformers renders them, and can do no harm."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.models.rendering import TEMPLATE_LIMIT, Rendering, TemplateFault, render


def one(template: str, **variables: object) -> Rendering:
    """The outcome of one call."""
    outcome = render(template, [variables])
    assert not isinstance(outcome, TemplateFault), outcome
    return outcome[0]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% for m in messages %}\n  {{ m.role }}\n{% endfor %}\n", "  user\n"),
        ("{{ messages | tojson }}", '[{"role": "user", "content": "<é>"}]'),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}", "<é>"),
        ("{% for m in [1, 2, 3] %}{% if m == 2 %}{% continue %}{% endif %}{{ m }}{% endfor %}", "13"),
        ("{{ strftime_now('%Y') }}", "2025-01-01"),
        ("{% set ns = namespace(x=1) %}{% for m in [1, 2] %}{% set ns.x = ns.x + m %}{% endfor %}{{ ns.x }}", "4"),
        ("{{ nothing }}{{ nothing is defined }}", "False"),
    ],
)
def test_as_transformers_does(template: str, text: str) -> None:
    assert one(template, messages=[{"role": "user", "content": "<é>"}]) == Rendering(text)


def test_what_a_template_says_itself() -> None:
    assert one("{{ raise_exception('no system role') }}").refused == "no system role"
    assert "UndefinedError" in (one("{{ a.b.c }}").error or "")
    fault = render("\n{% if %}", [{}])
    assert isinstance(fault, TemplateFault)
    assert fault.line == 2


@pytest.mark.parametrize(
    "template",
    [
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "{{ lipsum(n=100000) | length }}",
        "{{ 'a' * 10**10 }}",
        "{{ ('a' * 10**6) * 10**4 }}",
        "{{ '%9999999999d' % 1 }}",
        "{{ 'x' | center(10**10) }}",
        "{% set ns = namespace(x='ab') %}{% for i in range(90) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
        "{% for i in range(90000) %}{{ 'abcdefghijklmnopqrstuvwxyz' }}{% endfor %}",
        "x" * (TEMPLATE_LIMIT + 1),
    ],
)
def test_bounds(template: str) -> None:
    found = one(template)
    assert found.unknown is not None or found.error is not None
    # The next template gets a process that answers.
    assert one("{{ 1 + 1 }}") == Rendering("2")


@pytest.mark.parametrize(
    "template",
    [
        "{{ ().__class__.__bases__[0].__subclasses__() }}",
        "{{ messages.append(1) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{% include '/etc/passwd' %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    ],
)
def test_the_sandbox_holds(template: str) -> None:
    assert one(template, messages=[]).error is not None


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_any_text_has_an_outcome(template: str) -> None:
    outcome = render(template, [{}, {"messages": []}])
    assert isinstance(outcome, TemplateFault) or len(outcome) == 2
