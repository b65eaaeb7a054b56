"""Texts inside texts."""

from __future__ import annotations

from servelint.text import Edit, Embedded, Span, apply_edits, verbatim


def block(host: str, indent: int) -> Embedded:
    """The lines of a host that are indented, as one inner text."""
    text, offsets, position = "", [], 0
    for line in host.splitlines(keepends=True):
        body = line[indent:] if line.strip() else line[-1:]
        start = position + len(line) - len(body)
        text += body
        offsets.extend(range(start, start + len(body)))
        position += len(line)
    offsets.append(len(host))
    return Embedded(text, offsets, lambda new: new.replace("\n", "\n" + " " * indent))


def test_spans_and_edits_map_to_the_host() -> None:
    host = "    FROM m\n    PARAMETER stop x\n"
    inner = block(host, 4)
    assert inner.text == "FROM m\nPARAMETER stop x\n"
    start = inner.text.index("stop")
    assert host[slice(*_pair(inner.host_span(Span(start, start + 4))))] == "stop"
    edit = inner.host_edit(Edit(len("FROM m"), len("FROM m"), "\nPARAMETER stop y"))
    assert edit is not None
    assert apply_edits(host, [edit]) == "    FROM m\n    PARAMETER stop y\n    PARAMETER stop x\n"


def test_a_span_ends_before_the_indent_of_the_next_line() -> None:
    host = "    FROM m\n    PARAMETER stop x\n"
    inner = block(host, 4)
    assert host[slice(*_pair(inner.host_span(Span(0, 6))))] == "FROM m"


def test_within_composes_maps_and_encoders() -> None:
    host = '  run: "a b"\n'
    outer = block(host, 2)
    start = outer.text.index("a b")
    inner = Embedded("a b", list(range(start, start + 4)), lambda new: new.replace('"', '\\"'))
    both = inner.within(outer)
    edit = both.host_edit(Edit(1, 2, '"'))
    assert edit is not None
    assert apply_edits(host, [edit]) == '  run: "a\\"b"\n'


def test_what_cannot_be_written_is_refused() -> None:
    assert Embedded("x", [0, 1]).host_edit(Edit(0, 1, "y")) is None
    assert verbatim("x", 3).host_edit(Edit(0, 1, "y")) == Edit(3, 4, "y")


def _pair(span: Span) -> tuple[int, int]:
    return span.start, span.end
