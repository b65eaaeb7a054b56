"""What plain YAML scalars are, as Kubernetes' reader types them (sigs.k8s.io/yaml 1.4, `goyaml.v2/resolve.go`)."""

from __future__ import annotations

import re
from functools import cache

# Python converts no longer run of decimal digits to a whole number (`sys.get_int_max_str_digits`).
DIGIT_LIMIT = 4300

_TRUE = frozenset(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"))
_FALSE = frozenset(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"))
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_SPECIAL_FLOATS = {
    ".nan": "nan", ".NaN": "nan", ".NAN": "nan",
    ".inf": "inf", ".Inf": "inf", ".INF": "inf", "+.inf": "inf", "+.Inf": "inf", "+.INF": "inf",
    "-.inf": "-inf", "-.Inf": "-inf", "-.INF": "-inf",
}  # fmt: skip


def plain_type(text: str) -> str:
    """What an untagged plain scalar is: `string`, `int`, `float`, `bool` or `null`."""
    if not text:
        return "null"
    first = text[0]
    if first in "yYnNtTfFoO~":
        if len(text) > 5:
            return "string"
        if text in _TRUE or text in _FALSE:
            return "bool"
        return "null" if text in _NULL else "string"
    if first not in "+-.0123456789":
        return "string"
    if text in _SPECIAL_FLOATS:
        return "float"
    if first != "." and _is_int(text.replace("_", "")):
        return "int"
    return "float" if _float(text if first == "." else text.replace("_", "")) is not None else "string"


@cache
def _number_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    whole = re.compile(r"[-+]?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+)")
    return whole, re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def _is_int(text: str) -> bool:
    return _number_patterns()[0].fullmatch(text) is not None


def _float(text: str) -> float | None:
    """The number, or None where it is none or too large: Go's ParseFloat then refuses."""
    if _number_patterns()[1].fullmatch(text) is None:
        return None
    number = float(text)
    return None if number in (float("inf"), float("-inf")) else number


def _int(text: str) -> int | float:
    digits = text.lstrip("+-").lower()
    negative = text.startswith("-")
    if len(digits) > DIGIT_LIMIT:
        return float("-inf") if negative else float("inf")
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2])
    if base is not None:
        number = int(digits[2:], base)
    else:
        number = int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)
    return -number if negative else number


def typed(text: str, sort: str) -> str | int | float | bool | None:
    """The text as a value of a type; the text itself where it is none, and for strings and timestamps."""
    if sort == "bool":
        return text in _TRUE if text in _TRUE or text in _FALSE else text
    if sort == "null":
        return None if text in _NULL else text
    plain_text = text.replace("_", "")
    if sort == "int":
        return _int(plain_text) if _is_int(plain_text) else text
    if sort == "float":
        if text in _SPECIAL_FLOATS:
            return float(_SPECIAL_FLOATS[text])
        number = _float(plain_text)
        return text if number is None else number
    return text
