"""llama-server: what its command line and variables make of a GGUF's ends, and what caps its answers.

Sources: common/arg.cpp, common/common.cpp and tools/server of ggml-org/llama.cpp (0c1e57098), and what was measured on
that build.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from servelint.engines.llamacpp import default_end, ends_by_text, listed_ends, read_vocabulary_ends
from servelint.engines.llamacpp_arguments import ServerLine, parse_preset, parse_variables, parse_words, unescaped
from servelint.engines.llamacpp_overrides import Override, id_overrides, impossible_eos, overrides_of
from servelint.engines.reading import Cap, Option, Reading, StopId, StopSet, StopText
from servelint.files.context import Context
from servelint.manifests.serving import Serving, Setting, likely_model
from servelint.manifests.versions import at_least
from servelint.models.identity import Identity

if TYPE_CHECKING:
    from servelint.manifests.gguf import Vocabulary

# Where a serving's facts keep its parsed command line.
_PARSED = "llamacpp_parsed"
# Up to here no request got more than `-n`; when that ended is known no closer.
_LAST_HARD_CAP = "b4747"
# `llama_vocab::impl::load`: by these texts, and since this build.
_FILL_TEXTS = {
    "fim_pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"),
    "fim_rep": ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    "fim_sep": ("<|file_sep|>",),
}
_FILL_SINCE = "b3916"
_CHAT_OPTIONS = ("--chat-template", "--chat-template-file", "--chat-template-kwargs", "--reasoning-format")
_SAMPLING = {
    "--temperature": "temperature", "--top-p": "top_p", "--top-k": "top_k", "--min-p": "min_p",
    "--repeat-penalty": "repetition_penalty",
}  # fmt: skip


def parse_serving(serving: Serving) -> tuple[ServerLine, ServerLine]:
    """The variables and the words of a serving; parsed once, for the model is wanted before the rest can be read."""
    kept = serving.facts.get(_PARSED)
    if kept is not None and kept[0] is serving.arguments and kept[1] is serving.environment:
        found: tuple[ServerLine, ServerLine] = kept[2]
        return found
    result = parse_variables(serving.environment), _words_of(serving)
    serving.facts[_PARSED] = serving.arguments, serving.environment, result
    return result


def _words_of(serving: Serving) -> ServerLine:
    if serving.kind == "llama-preset":
        return parse_preset(serving.settings, bool(serving.facts.get("is_config")))
    return parse_words(serving.arguments or ())


def _winner(serving: Serving, flag: str) -> Option | None:
    """The option that holds: words win over variables."""
    variables, words = parse_serving(serving)
    found = words.last(flag)
    if found is not None or words.open:
        return found
    return variables.last(flag)


def model_of(serving: Serving) -> Setting | None:
    """What names the model: a path, else a repository on the hub, else an address."""
    for flag in ("--model", "--hf-repo", "--docker-repo", "--model-url"):
        option = _winner(serving, flag)
        if option is not None:
            reason = "the value cannot be known" if option.unknown else None
            return Setting(
                option.spelled, option.value, option.span, option.span, option.spelled, reason=reason,
                likely=likely_model(option.argument),
            )  # fmt: skip
    return None


def read_server(serving: Serving, identity: Identity, context: Context | None) -> Reading:
    """The serving as llama-server reads it."""
    from servelint.engines.llamacpp_faults import faults_of

    variables, words = parse_serving(serving)
    overrides = overrides_of(words)
    ignored = _winner(serving, "--ignore-eos")
    special = _winner(serving, "--special")
    stop_set, stops = _stop_set(
        serving, identity, words, overrides, ignored is not None and ignored.data is True, special is not None
    )
    generates = not any(_is_on(_winner(serving, flag)) for flag in ("--embeddings", "--reranking"))
    facts: dict[str, Any] = {
        "sampling": tuple(_sampling(serving)),
        "stops": stops,
        "texts_stripped": special is None,
        "chat_template": _chat_template(serving, context),
    }
    faults = faults_of(serving, identity, variables, words, overrides, stop_set)
    serves_chat = True if any(_winner(serving, flag) is not None for flag in _CHAT_OPTIONS) else None
    return Reading(
        stop_set, (*variables.options, *words.options), _cap(serving), None, tuple(faults), True, False, serves_chat,
        generates, facts,
    )  # fmt: skip


def _is_on(option: Option | None) -> bool:
    return option is not None and option.data is True


def _cap(serving: Serving) -> Cap | None:
    option = _winner(serving, "--n-predict")
    if option is None or not isinstance(option.data, int) or option.data <= 0:
        return None
    version = serving.version.value if serving.version is not None else None
    return Cap(option.data, option.spelled, option.span, hard=at_least(_LAST_HARD_CAP, version or "") is True)


def _sampling(serving: Serving) -> Iterator[tuple[str, object, Any, str | None]]:
    for flag, name in _SAMPLING.items():
        option = _winner(serving, flag)
        if option is not None and option.data is not None:
            yield name, option.data, option.span, None


def _chat_template(serving: Serving, context: Context | None) -> tuple[str, Option] | None:
    """The template that a word gives: a file within reach, or Jinja written out."""
    file, text = _winner(serving, "--chat-template-file"), _winner(serving, "--chat-template")
    if text is not None and text.value and "{" in text.value and (file is None or file.span.start < text.span.start):
        return text.value, text
    if file is None or not file.value or context is None:
        return None
    from servelint.files.beside import read_beside

    found = read_beside(serving.path, file.value, context)
    return None if found is None else (found[1], file)


def _stop_set(
    serving: Serving, identity: Identity, words: ServerLine, overrides: Sequence[Override], ignored: bool, special: bool
) -> tuple[StopSet, tuple[Setting, ...]]:
    """What ends generation: ids of the file or of an override, the list by text, and the reverse prompts."""
    prompts = [option for option in words.all("--reverse-prompt") if option.value is not None]
    if serving.kind == "llama-preset":
        # In an INI file the last of several lines counts alone.
        prompts = prompts[-1:]
    settings = tuple(
        Setting("stop", option.value, option.span, option.span, option.spelled) for option in prompts if option.value
    )
    unknown = ["words of the command line that come from elsewhere"] if words.open else []
    tokens: tuple[str, ...] = ()
    ids: tuple[StopId, ...] = ()
    vocabulary: Vocabulary | None = serving.facts.get("vocabulary")
    version = serving.version.value if serving.version is not None else None
    if not ignored:
        ids, tokens, reasons = ends_of(identity, vocabulary, overrides, version)
        unknown += reasons
    control = {token.text for token in (*identity.terminators, *identity.vocabulary)} | set(ends_by_text(()))
    if vocabulary is not None:
        control |= {token for token in ends_by_text(()) if vocabulary.find(token) is not None}
    # The text of a control token is never written into the answer without --special: nothing can match it.
    escape = _winner(serving, "--escape")
    literal = escape is not None and escape.data is False
    texts = tuple(
        StopText(text, option.spelled, option.span)
        for option in prompts
        if (text := (option.value or "") if literal else unescaped(option.value or ""))
        and (special or text not in control)
    )
    return StopSet(texts, ids, tokens, tuple(unknown)), settings


def ends_of(
    identity: Identity, vocabulary: Vocabulary | None, overrides: Sequence[Override], version: str | None
) -> tuple[tuple[StopId, ...], tuple[str, ...], list[str]]:
    """The end ids, the tokens that end by their text, and what is unknown of both."""
    texts = {token.id: token.text for token in (*identity.vocabulary, *identity.terminators)}
    size = vocabulary.size if vocabulary is not None and vocabulary.size is not None else identity.vocabulary_size
    own = id_overrides(overrides, size)
    given = tuple(
        StopId(item.number, f"{item.option.spelled} {item.key}", _text(item.number, vocabulary, texts), item.span)
        for item in own
        if item.number is not None
    )
    taken = {item.name for item in own}
    lost = impossible_eos(overrides, size)
    if vocabulary is not None:
        ids, tokens, doubt = read_vocabulary_ends(vocabulary, version)
        kept = tuple(stop for name, stop in ids if name not in taken and (name != "eos" or lost is None))
        number = default_end(vocabulary) if lost is not None else None
        if lost is not None and number is not None:
            origin = f"llama.cpp's default, for {lost.key} is impossible"
            kept = (StopId(number, origin, vocabulary.text(number), lost.span), *kept)
        unknown = [] if vocabulary.size is not None else ["the vocabulary could not be read"]
        fills, doubts = _fill_ends(vocabulary, version, taken)
        return (*given, *kept, *fills), tokens, [*unknown, *([doubt] if doubt is not None else []), *doubts]
    unknown = [] if "eos" in taken else ["the end id inside the GGUF, which was not read"]
    if lost is not None:
        unknown = ["the default end of this kind of vocabulary, which stands in for an impossible id"]
    known = [token.text for token in (*identity.terminators, *identity.vocabulary)]
    tokens, doubt = listed_ends(known, version)
    unknown += [doubt] if doubt is not None else []
    if not known:
        unknown.append("which of llama.cpp's end tokens the model's vocabulary has")
    return given, tokens, unknown


def _fill_ends(
    vocabulary: Vocabulary, version: str | None, taken: Collection[str | None]
) -> tuple[tuple[StopId, ...], list[str]]:
    """The ends of fill-in-the-middle, by key or else by text: of several texts of one kind llama.cpp takes one."""
    if at_least(version, _FILL_SINCE) is False:
        return (), []
    found: list[StopId] = []
    unknown: list[str] = []
    for name, texts in _FILL_TEXTS.items():
        entry = vocabulary.entry(name)
        fits = entry is not None and entry.sort == "u32" and (vocabulary.size is None or entry.value < vocabulary.size)
        held = [(text, number) for text in texts if (number := vocabulary.find(text)) is not None]
        if name in taken:
            continue
        if entry is not None and fits:
            found.append(StopId(int(entry.value), entry.key, vocabulary.text(int(entry.value))))
        elif len(held) == 1:
            found.append(StopId(held[0][1], "llama.cpp's ends of fill-in-the-middle", held[0][0]))
        elif held:
            unknown.append(f"which one of {', '.join(text for text, _ in held)} llama.cpp ends at")
    return tuple(found), unknown


def _text(number: int, vocabulary: Vocabulary | None, texts: Mapping[int | None, str]) -> str | None:
    found = vocabulary.text(number) if vocabulary is not None else None
    return found if found is not None else texts.get(number)
