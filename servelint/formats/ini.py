"""INI files as llama.cpp reads its presets and its `config.ini` (common/preset.cpp, 0c1e57098).

`;` and `#` begin a remark anywhere, within a value too, and nothing protects them; quotes are part of a value; there
are no continuations; of repeated keys the last one counts. A line that the grammar does not know refuses the whole
file, and so does a header or a key with blanks in front.
"""

from __future__ import annotations

import re

from servelint.formats.problem import Comment, Problem
from servelint.records import record
from servelint.text import Span

_BLANKS = " \t"
_LINE_END = re.compile(r"\r\n|\n|\r")
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_KEY = _FIRST | frozenset("0123456789.-")
_PROBLEM_LIMIT = 50


@record
class IniSetting:
    """One `key = value`: `remark` is where a `#` or `;` cuts the value off, None where none does."""

    section: str
    name: str
    name_span: Span
    value: str
    span: Span
    whole: Span
    remark: Span | None = None


@record
class IniSection:
    """A section's name and where its header stands."""

    name: str
    span: Span


@record
class IniFile:
    """A text as an INI file; settings before any header have the section ``."""

    text: str
    sections: tuple[IniSection, ...] = ()
    settings: tuple[IniSetting, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: tuple[Comment, ...] = ()


def read_ini(text: str) -> IniFile:
    """Read any text as an INI file. Never raises; linear."""
    sections: list[IniSection] = []
    settings: list[IniSetting] = []
    problems: list[Problem] = []
    remarks: list[Span] = []
    section = ""
    position = 0
    while position < len(text):
        end = _LINE_END.search(text, position)
        stop = len(text) if end is None else end.start()
        start = begin = position
        while start < stop and text[start] in _BLANKS:
            start += 1
        last = stop
        while last > start and text[last - 1] in _BLANKS:
            last -= 1
        position = len(text) if end is None else end.end()
        if start == last:
            continue
        if text[start] in ";#":
            remarks.append(Span(start, last))
            continue
        if start > begin:
            _refuse(problems, "blanks in front of a header or a key: the whole file is refused", Span(begin, last))
        if text[start] == "[":
            close = text.find("]", start, last)
            name = text[start + 1 : close].strip(_BLANKS) if close > 0 else ""
            if not name:
                what = "a section's header without its `]`" if close < 0 else "a section's header without a name"
                _refuse(problems, f"{what}: the whole file is refused", Span(start, last))
                continue
            section = name
            sections.append(IniSection(section, Span(start, close + 1)))
            behind = close + 1
            while behind < last and text[behind] in _BLANKS:
                behind += 1
            if behind < last and text[behind] in ";#":
                remarks.append(Span(behind, last))
            elif behind < last:
                _refuse(problems, "more behind a section's header: the whole file is refused", Span(behind, last))
        else:
            setting = _setting(text, start, last, section, problems)
            if setting is not None:
                settings.append(setting)
                if setting.remark is not None:
                    remarks.append(setting.remark)
    return IniFile(text, tuple(sections), tuple(settings), tuple(problems), _bound(text, remarks, settings))


def _refuse(problems: list[Problem], message: str, span: Span) -> None:
    if len(problems) < _PROBLEM_LIMIT:
        problems.append(Problem(message, span))


def _setting(text: str, start: int, end: int, section: str, problems: list[Problem]) -> IniSetting | None:
    stop = start
    while stop < end and text[stop] in _KEY:
        stop += 1
    equals = stop
    while equals < end and text[equals] in _BLANKS:
        equals += 1
    if stop == start or text[start] not in _FIRST or text[equals : equals + 1] != "=" or equals >= end:
        _refuse(problems, "a line that is no `key = value`: the whole file is refused", Span(start, end))
        return None
    begin = equals + 1
    while begin < end and text[begin] in _BLANKS:
        begin += 1
    marks = [place for place in (text.find("#", begin, end), text.find(";", begin, end)) if place >= 0]
    cut = min(marks, default=end)
    last = cut
    while last > begin and text[last - 1] in _BLANKS:
        last -= 1
    remark = Span(cut, end) if marks else None
    return IniSetting(
        section, text[start:stop], Span(start, stop), text[begin:last], Span(begin, last), Span(start, last), remark
    )


def _bound(text: str, remarks: list[Span], settings: list[IniSetting]) -> tuple[Comment, ...]:
    """Each remark with the setting that it stands behind or above."""
    bound = []
    index = 0
    for span in remarks:
        while index < len(settings) and settings[index].whole.end <= span.start and settings[index].remark != span:
            index += 1
        target = settings[index].whole if index < len(settings) else span
        bound.append(Comment(span, text[span.start : span.end], target))
    return tuple(bound)
