"""What a manifest says of one deployment, in the manifest's own words; what it means is the engines' business."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from servelint.formats.problem import Comment, Problem
from servelint.records import field, record
from servelint.text import Edit, Embedded, Span


@record
class Setting:
    """A value and where it is written.

    `name` is spelt as the form spells it (`stop`, `--max-model-len`, `MAX_TOTAL_TOKENS`, `eos_token_id`). `value` is
    the text that the engine gets (for JSON and YAML scalars, the decoded one), None where it cannot be known:
    `reason` then says why. `data` holds the typed value of forms that have types (JSON, YAML). `span` is the value as
    written, quotes included (the name where there is no value), `whole` the whole setting. `origin` names the place in
    the form's own words (`PARAMETER stop`, `generation_config.json eos_token_id`, `image tag`). `path` is set only
    where the setting stands in another file than the serving. `likely` is what a value that cannot be known most
    likely is: enough to tell a model's family by, never to judge a value by. `elsewhere` says that the value stands in
    a file of its own, which is judged there; the spans are those of the place that names the file.
    """

    name: str
    value: str | None
    span: Span
    whole: Span
    origin: str
    path: str | None = None
    data: Any = None
    reason: str | None = None
    likely: str | None = None
    elsewhere: bool = False


@record
class Argument:
    """One word of an engine's command line.

    `text` is None where it cannot be known (`$VAR` from outside, a template expression): `reason` says why, and
    `prefix` is what is known of its beginning (`--model=` of `--model=$MODEL`). `span` is the word as written. `inner`
    maps the text to the host and back where the word can be edited. `count` is 1, or None for something that may be any
    number of words (`"$@"`, an unquoted `$EXTRA`). `literal` is False where a variable supplied part of the text.
    `form` tells how it stands there: `shell` (a shell word), `yaml` (a list item), `list` (an item of a JSON list),
    `string` (part of a string that is split into words). `node` is the host's own node where it has one. Of a text that
    cannot be known, `suffix` is what is known of its end, and `guess` what it is where nobody says otherwise (the
    default of `${MODEL:-…}`).
    """

    text: str | None
    span: Span
    reason: str | None = None
    prefix: str = ""
    inner: Embedded | None = None
    count: int | None = 1
    literal: bool = True
    form: str = "shell"
    node: Any = None
    suffix: str = ""
    guess: str | None = None


def likely_model(argument: Argument | None) -> str | None:
    """What names a model in a word that cannot be known: its default, or `…/NAME` where a path's end is known."""
    if argument is None or argument.text is not None:
        return None
    _, slash, name = argument.suffix.rpartition("/")
    if argument.guess:
        _, equals, value = argument.guess.partition("=")
        guess = value if equals and argument.guess.startswith("-") else argument.guess
        if not slash or not name.strip():
            return guess
    return f"…/{name.strip()}" if slash and name.strip() else None


# What is hidden of a deployment that only names tell of (`by_name` among its facts): it is listed, and not judged.
BY_NAME = "everything but what its names say"


@record
class Refusal:
    """Why a writer will not make a change here."""

    reason: str


class Writer(Protocol):
    """A manifest's own hand for changing a setting, in the manifest's own style.

    Every method gives the edits of the file's text, or a `Refusal`; none touches anything but what it names.
    """

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Add a setting with these values (a Modelfile: one `PARAMETER` line each; a command line: one flag)."""

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put these values in the place of the setting's; where the form has one line a value, one line each."""


@record
class NoWriter:
    """The hand of a manifest that must not be edited."""

    reason: str

    def add(self, name: str, values: Sequence[Any]) -> Refusal:
        """Refuse."""
        return Refusal(self.reason)

    def replace(self, setting: Setting, values: Sequence[Any]) -> Refusal:
        """Refuse."""
        return Refusal(self.reason)


@record
class Serving:
    """One model served by one engine, as one manifest says it.

    `span` is what names the deployment (the FROM line, the launch command, the container's name). `arguments` are the
    words the engine's program gets, without the program itself (None where the form has none); `settings` are the
    form's own named settings (Modelfile instructions and parameters, JSON fields); `environment` the variables.
    `hidden` says what else may be set that cannot be seen from here, and why. `facts` carries what one kind of manifest
    knows and others do not, under names that the kind documents (`document`, `folder`, `storage_uri`, `launcher`;
    `placed` are spans that stand for words of another manifest, which is judged on its own; `by_name` says that only
    names tell what runs here).
    """

    path: str
    span: Span
    kind: str
    engine: str
    writer: Writer
    version: Setting | None = None
    image: Setting | None = None
    model: Setting | None = None
    arguments: tuple[Argument, ...] | None = None
    settings: tuple[Setting, ...] = ()
    environment: tuple[Setting, ...] = ()
    hidden: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)

    def named(self, name: str) -> tuple[Setting, ...]:
        """All settings of that name, in the order of the file."""
        return tuple(setting for setting in self.settings if setting.name == name)

    def last(self, name: str) -> Setting | None:
        """The last setting of that name: in every form read here, the one that wins."""
        found = self.named(name)
        return found[-1] if found else None


@record
class Piece:
    """A manifest that lies inside another: a here-document, a block of YAML.

    `name` is the file's name where it will lie (`-` where it has none), `inner` its text with the places in the host.
    `kind` names the kind of manifest where it is known otherwise than by name and content.
    """

    name: str
    inner: Embedded
    kind: str | None = None


@record
class Manifest:
    """A file (or a text embedded in one) as one kind reads it.

    `text` is the text that all spans of `servings`, `problems` and `comments` count in. `format` is the syntax that a
    repair must be proven in (`modelfile`, `shell`, `yaml`, `json`, `env`). `pieces` are manifests that it holds.
    """

    path: str
    kind: str
    text: str
    format: str = ""
    servings: tuple[Serving, ...] = ()
    problems: tuple[Problem, ...] = ()
    comments: Sequence[Comment] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    pieces: tuple[Piece, ...] = ()
