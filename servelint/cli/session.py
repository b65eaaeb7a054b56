"""What the commands share: the files that are meant, how each is configured, and their results."""

# Plain strings, as in the findings.
# ruff: noqa: PTH100, PTH109, PTH112, PTH113, PTH118, PTH120
from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from servelint.checks.catalogue import is_selected, severity_of
from servelint.checks.finding import RANK, Finding
from servelint.checks.run import Result, lint
from servelint.cli.output import Progress, UsageError
from servelint.configuration import Configurations, Layer, check_selectors
from servelint.files.context import Context, UnreadableError, read_bytes
from servelint.manifests.catalogue import HEAD_ONLY, kind_of
from servelint.records import record
from servelint.report.collect import Entry
from servelint.text import Span

if TYPE_CHECKING:
    from servelint.baseline import Baseline

STDIN = "-"
_HEAD = 64 * 1024


@record
class Target:
    """A file that is meant: `named` where it was given itself, not found in a folder; `root` bounds what it may read.

    `trouble` says why it cannot be looked at, `data` holds it where it is not on the disk.
    """

    path: str
    root: str
    named: bool
    trouble: str | None = None
    data: bytes | None = None


class Session:
    """One run over some files, as the command line and the configurations want it."""

    def __init__(
        self,
        *,
        select: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        profile: str | None = None,
        fail_on: str | None = None,
        config: str | None = None,
        respect_ignores: bool = True,
        baseline: str | None = None,
        use_baselines: bool = True,
        online: bool = False,
    ) -> None:
        """Raises `ConfigurationError` for rules that do not exist, or a configuration that cannot be taken."""
        choice = Layer(profile, _split(select), _split(ignore))
        check_selectors((*choice.select, *choice.ignore))
        given = profile or choice.select or choice.ignore
        self.configurations = Configurations(choice if given else None, config, respect_ignores)
        self._fail_on = fail_on
        self._named_baseline = baseline
        self._use_baselines = use_baselines
        self._baselines: dict[str, Baseline] = {}
        self._online = online
        self._notes: dict[str, None] = {}
        self._context: Context | None = None
        self._context_key = ("", "")

    def targets(self, paths: Sequence[str] | None, stdin_filename: str | None = None) -> list[Target]:
        """The files that these paths mean, each once. Raises `UsageError` for a path that is not there."""
        targets: dict[str, Target] = {}
        for path in paths or ["."]:
            if path == STDIN:
                name = os.path.normpath(stdin_filename) if stdin_filename else STDIN
                found: Iterator[Target] = iter([_standard_input(name)])
            else:
                found = self._below(path)
            for target in found:
                if target.path not in targets or target.named:
                    targets[target.path] = target
        return list(targets.values())

    def _below(self, path: str) -> Iterator[Target]:
        try:
            os.stat(path)  # noqa: PTH116 (as above)
        except (OSError, ValueError) as error:
            raise UsageError(_absent(path, error)) from error
        path = os.path.normpath(path)
        root = _root_of(path)
        if not os.path.isdir(path):
            yield Target(path, root, True)
            return
        from servelint.files.walk import Excludes, walk
        from servelint.manifests.catalogue import may_be_manifest

        unlisted: list[tuple[str, str]] = []

        def excludes_in(folder: str) -> Excludes | None:
            configuration = self.configurations.in_folder(folder)
            return configuration.excludes if configuration.exclude else None

        for file in walk(path, may_be_manifest, excludes_in, lambda folder, reason: unlisted.append((folder, reason))):
            yield Target(file, root, False)
        for folder, reason in unlisted:
            yield Target(folder, root, True, trouble=reason)

    def read(self, target: Target) -> bytes | Result:
        """The bytes of a file, or the result that says why there are none."""
        if target.data is not None:
            return target.data
        reason, head = target.trouble, b""
        if reason is None and target.path.lower().endswith(HEAD_ONLY) and os.path.isfile(target.path):
            # Gigabytes of weights: its kind reads what it needs of the file's head.
            return _head_of(target.path)
        if reason is None:
            try:
                return read_bytes(target.path)
            except UnreadableError as error:
                reason, head = str(error), _head_of(target.path)
        # Hooks name every file of a broad pattern: a large one that does not even begin like a manifest is none.
        if (head or not target.named) and kind_of(target.path, head) is None:
            return Result(target.path, None, "")
        policy = self.configurations.policy(target.path)
        severity = severity_of("SL903", "error", policy) if is_selected("SL903", policy) else None
        if severity is None:
            return Result(target.path, None, "")
        finding = Finding(
            "SL903", severity, target.path, Span(0, 0), f"this cannot be read, so nothing of it was checked: {reason}"
        )
        return Result(target.path, None, "", (finding,))

    def context(self, target: Target) -> Context:
        """Where the files beside it are read. It is kept for the files of one folder: they read the same ones."""
        key = (target.root, os.path.dirname(target.path))
        if self._context is None or key != self._context_key or target.data is not None:
            overlay = {target.path: target.data} if target.data is not None else None
            self._context, self._context_key = Context(target.root, overlay, self._online), key
            self._context.chart_values = lambda chart: self.configurations.in_folder(chart or ".").chart_values(chart)
        return self._context

    def forget_context(self) -> None:
        """Read the files beside a manifest anew from here on: one of them was written."""
        self._context = None

    def results(self, targets: Sequence[Target], quiet: bool = False) -> Iterator[tuple[Result, Context]]:
        """The result of every file, and where the files beside it were read."""
        progress = Progress(len(targets), not quiet)
        try:
            for number, target in enumerate(targets, 1):
                progress.step(number, target.path)
                context = self.context(target)
                yield self.lint(target, context), context
                self._notes.update(context.notes)
        finally:
            progress.done()

    def lint(self, target: Target, context: Context) -> Result:
        """The result of one file; where servelint breaks on it, the result says so."""
        data = self.read(target)
        if isinstance(data, Result):
            return data
        if kind_of(target.path, data) is None:
            # Most files of a tree: neither their configuration nor what lies beside them matters.
            return Result(target.path, None, "")
        policy = self.configurations.policy(target.path)
        try:
            return lint(target.path, data, context, policy, target.named)
        except Exception as error:  # the other files' results stand
            return broken(target.path, error)

    def keep(self, result: Result, entries: list[Entry]) -> list[Entry]:
        """The entries of one file that no baseline hides. Raises `BaselineError`."""
        path = self._named_baseline or self.configurations.of(result.path).baseline
        if path is None or not self._use_baselines:
            return entries
        if path not in self._baselines:
            from servelint.baseline import read_baseline

            self._baselines[path] = read_baseline(path)
        return self._baselines[path].unknown(entries)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was asked for and could not be had, a line each."""
        return tuple(self._notes)

    def fails(self, finding: Finding) -> bool:
        """Whether a finding makes the run fail."""
        threshold = self._fail_on or self.configurations.of(finding.path).fail_on or "warning"
        return RANK[finding.severity] >= RANK[threshold]


def _standard_input(name: str) -> Target:
    return Target(name, _root_of(name), True, data=sys.stdin.buffer.read())


def broken(path: str, error: Exception) -> Result:
    """The result of a file that servelint broke on."""
    from servelint.cli.output import told

    return Result(path, None, "", internal=(f"{path}: {told(error)}",))


def _split(words: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(part.strip() for word in words or () for part in word.split(",") if part.strip())


def _absent(path: str, error: Exception) -> str:
    from servelint.cli.main import COMMANDS

    reason = (getattr(error, "strerror", None) or str(error)).lower()
    text = f"{path}: {reason}"
    if path in COMMANDS:
        return f"{text}; the command comes first: servelint {path} …"
    if "." in path or os.sep in path:
        return text
    import difflib

    close = difflib.get_close_matches(path, COMMANDS, n=1)
    return f"{text}; did you mean the command {close[0]!r}?" if close else text


def _head_of(path: str) -> bytes:
    if not os.path.isfile(path):
        # Opening a pipe would wait for its writer.
        return b""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (as above)
            return file.read(_HEAD)
    except OSError:
        return b""


def _root_of(path: str) -> str:
    """How far up the files that a manifest names are read: its repository, else the working directory it lies in."""
    folder = os.path.abspath(path if os.path.isdir(path) else os.path.dirname(path) or ".")
    place = folder
    while not os.path.lexists(os.path.join(place, ".git")):
        above = os.path.dirname(place)
        if above == place:
            here = os.getcwd()
            return here if (folder + os.sep).startswith(here.rstrip(os.sep) + os.sep) else folder
        place = above
    return place
