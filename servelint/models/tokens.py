"""Special tokens by their text: exact ones of every known family, and misspelt ones."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from servelint.models.families import table
from servelint.models.identity import Identity, Token

# Tokens that end a turn or document of models without a family of their own here (llama.cpp `llama-vocab.cpp`).
_OTHER_TOKENS: dict[str, tuple[str, ...]] = {
    "<EOT>": ("codellama",),
    "_<EOT>": ("codellama",),
    "▁<EOT>": ("codellama",),
    "[EOT]": ("kimi-k2",),
    "<end_of_utterance>": ("smoldocling",),
    "<|flush|>": ("solar-open",),
    "<|calls|>": ("solar-open",),
    "<|plamo:eos|>": ("plamo",),
}
_LENGTH_LIMIT = 64
# What stands in for the characters of `<|_|>` in copies made by word processors, browsers and fonts.
_LOOKS_LIKE = {
    **dict.fromkeys("｜│┃∣ǀ¦❘⏐︱｜", "|"),
    **dict.fromkeys("＜‹〈⟨", "<"),
    **dict.fromkeys("＞›〉⟩", ">"),
    **dict.fromkeys("▁＿‗", "_"),
    **dict.fromkeys("［", "["),
    **dict.fromkeys("］", "]"),
    **dict.fromkeys("‐‑‒–—−", "-"),
    **dict.fromkeys("\u00a0\u2009\u202f\u3000", " "),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
}
_ESCAPES = (
    ("&amp;", "&"), ("&lt;", "<"), ("&#60;", "<"), ("&#x3c;", "<"), ("&gt;", ">"), ("&#62;", ">"), ("&#x3e;", ">"),
    ("&#124;", "|"), ("&#x7c;", "|"), ("&vert;", "|"), ("&verbar;", "|"), ("&lowbar;", "_"), ("&#95;", "_"),
)  # fmt: skip
_SHELLS = "<>|[]\\"
_BLANKS = "_- \t"


def known_token(text: str) -> tuple[str, ...]:
    """The families that have exactly this special token, sorted; empty where none has."""
    return tuple(table()["tokens"].get(text, ())) or _OTHER_TOKENS.get(text, ())


def lookalike(text: str, identity: Identity) -> tuple[Token, ...]:
    """The special tokens that a misspelt one may stand for, the likeliest only; empty for a text that is none.

    An exact token of any known family is no misspelling. Where the identity's own tokens are known, they are tried
    first; only without a match there are those of all families. One candidate means that nothing else can be meant.
    A marker of somebody's own (`<end>`, `<stop>`, `</answer>`) is left alone: a token whose text without brackets is
    an ordinary word is recognised only where the misspelling still has a bar or was escaped.
    """
    if not _may_be_token(text) or known_token(text) or any(token.text == text for token in identity.vocabulary):
        return ()
    plain = _plain(text)
    own = _own(identity)
    if plain != text and known_token(plain):
        # Escaped, full-width or with an invisible character: nothing but the spelling of the characters differs.
        found = tuple(token for token in own if token.text == plain) or _same_letters(text, plain, own, False)
        return found or (Token(plain),)
    for candidates, strangers in ((identity.terminators, False), (own, False), (_all_framing(), True)):
        found = _same_letters(text, plain, candidates, strangers)
        if found:
            return found
    return _near(plain, identity.terminators or _all_ends())


def _may_be_token(text: str) -> bool:
    # With a quote in it the fault is another one: the quotes were meant as syntax.
    if not 3 <= len(text) <= _LENGTH_LIMIT or any(character in "\n\"'`“”‘’" for character in text):
        return False
    plain = _plain(text).strip()
    return plain[:1] in ("<", "|", "[", "\\") or plain[-2:] == "|>"


def _own(identity: Identity) -> tuple[Token, ...]:
    """The tokens that a stop of this model may mean: its ends first, then what else frames its turns."""
    framing = (token for token in identity.vocabulary if not _is_inner(token.text))
    return tuple(dict.fromkeys((*identity.terminators, *framing)))


def _is_inner(text: str) -> bool:
    """Whether a token marks something within an answer: tags that people also invent for themselves."""
    return any(word in text.lower() for word in ("think", "tool", "call", "repo", "file", "channel", "return"))


@cache
def _all_ends() -> tuple[Token, ...]:
    """Every token that ends something in some family, without ids."""
    texts: dict[str, None] = {}
    for entry in table()["families"].values():
        for text, _, required in entry["terminators"]:
            if required is not False:
                texts[text] = None
    return tuple(Token(text) for text in texts)


@cache
def _all_framing() -> tuple[Token, ...]:
    """The ends of all families, then every other token that frames a turn in one of them."""
    others = (Token(text) for text in table()["tokens"] if not _is_inner(text))
    return tuple(dict.fromkeys((*_all_ends(), *others)))


def _plain(text: str) -> str:
    """The text with escapes and characters that only look like those of a token replaced by the real ones."""
    if "&" in text:
        for escape, character in _ESCAPES:
            text = text.replace(escape, character).replace(escape.upper(), character)
    if text.isascii():
        return text
    return "".join(_LOOKS_LIKE.get(character, character) for character in text)


@lru_cache(maxsize=4096)
def _words(text: str) -> str:
    """The text without brackets and bars, its blanks as underscores, in lower case."""
    plain = _plain(text).lower()
    inner = "".join(character for character in plain if character not in _SHELLS)
    return "_".join(inner.translate({ord(blank): " " for blank in _BLANKS}).split())


def _same_letters(text: str, plain: str, candidates: Iterable[Token], strangers: bool) -> tuple[Token, ...]:
    """The candidates that differ in brackets, bars, blanks and case alone; those with the same words, if any.

    An ordinary word is no misspelt token of `strangers`, nor of the model itself once every bar is gone.
    """
    words = _words(text)
    letters = words.replace("_", "")
    if not letters:
        return ()
    found = [token for token in candidates if _words(token.text).replace("_", "") == letters]
    if strangers or ("|" not in plain and plain == text):
        found = [token for token in found if _is_distinctive(token.text)]
    exact = [token for token in found if _words(token.text) == words]
    return _distinct(exact or found)


def _is_distinctive(text: str) -> bool:
    """Whether a token's letters alone tell it from a marker that anybody might invent."""
    words = _words(text)
    return "_" in words or words == "endoftext"


def _near(plain: str, candidates: Iterable[Token]) -> tuple[Token, ...]:
    """The candidates that are a slip of the keyboard away: one letter, two in a long token."""
    if any(character.isspace() for character in plain) or not ("|" in plain or "_" in plain):
        return ()
    words = _words(plain)
    letters = words.replace("_", "")
    if len(letters) < 5:
        return ()
    best: list[tuple[int, Token]] = []
    for token in candidates:
        other = _words(token.text)
        if not _is_distinctive(token.text):
            continue
        bound = 2 if len(other) >= 9 else 1
        # A short token is taken for meant only where its words are as many: `<|amend|>` is not `<|im_end|>`.
        if bound == 1 and words.count("_") != other.count("_"):
            continue
        distance = _distance(letters, other.replace("_", ""), bound)
        if distance <= bound:
            best.append((distance, token))
    if not best:
        return ()
    nearest = min(distance for distance, _ in best)
    return _distinct(token for distance, token in best if distance == nearest)


def _distinct(tokens: Iterable[Token]) -> tuple[Token, ...]:
    """The tokens, once each by their text."""
    found: dict[str, Token] = {}
    for token in tokens:
        found.setdefault(token.text, token)
    return tuple(found.values())


def _distance(first: str, second: str, bound: int) -> int:
    """Letters to insert, drop, change or swap with their neighbour; more than `bound` is not counted out."""
    if abs(len(first) - len(second)) > bound:
        return bound + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for index, letter in enumerate(first, 1):
        before, previous, row = row, before, [index]
        for column, other in enumerate(second, 1):
            cost = min(before[column] + 1, row[column - 1] + 1, before[column - 1] + (letter != other))
            if index > 1 and column > 1 and letter == second[column - 2] and first[index - 2] == other:
                cost = min(cost, previous[column - 2] + 1)
            row.append(cost)
    return row[-1]
