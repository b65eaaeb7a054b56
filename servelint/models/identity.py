"""Who a model is, as far as can be known: family, role, vocabulary, terminators."""

from __future__ import annotations

from servelint.records import record

INSTRUCT_ROLES = frozenset({"instruct", "reasoning", "vision", "audio", "coder"})


@record
class Token:
    """A special token: its text and, where known, its id in this vocabulary."""

    text: str
    id: int | None = None


@record
class Identity:
    """What is known of a model.

    `family` is a family's name with its generation (`qwen2.5`), None where unknown. `role` is one of `base`,
    `instruct`, `reasoning`, `embedding`, `reranker`, `reward`, `classifier`, `speech`, `unknown` (a vision or audio
    model that answers in chat is `instruct`). `turn` are the tokens that end an assistant's turn and must be in the
    stop set, `document` those that end a document and should be, both in the family's own order, the way they are
    written into a Modelfile. For a base model `turn` is empty. `certain` is False where only the family table says so
    and its entry was inferred. `vocabulary` maps every special token of the family to its id. `source` says how it is
    known, in words for a message (`the name Qwen2.5-7B-Instruct`).
    """

    family: str | None = None
    role: str = "unknown"
    turn: tuple[Token, ...] = ()
    document: tuple[Token, ...] = ()
    vocabulary: tuple[Token, ...] = ()
    vocabulary_size: int | None = None
    thinking: bool = False
    certain: bool = True
    source: str = ""
    template: str | None = None

    @property
    def terminators(self) -> tuple[Token, ...]:
        """Turn terminators, then document terminators."""
        return self.turn + tuple(token for token in self.document if token not in self.turn)

    @property
    def generates_chat(self) -> bool:
        """Whether the model answers in turns."""
        return self.role in ("instruct", "reasoning")


UNKNOWN = Identity()
