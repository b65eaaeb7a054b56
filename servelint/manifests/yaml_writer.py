"""The hand of YAML manifests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from servelint.formats.yaml import Node, YamlFile, YamlRefusal
from servelint.formats.yaml_edit import replace_scalar, split_item
from servelint.manifests.serving import Refusal, Setting
from servelint.text import Edit


class YamlWriter:
    """Edits scalars and list items of one YAML file in their own style."""

    def __init__(self, file: YamlFile) -> None:
        self._file = file

    def add(self, name: str, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Refuse: the servers read here take their end ids from the model's own files."""
        return Refusal("no flag of this server sets what ends generation; it reads the model's own files")

    def replace(self, setting: Setting, values: Sequence[Any]) -> tuple[Edit, ...] | Refusal:
        """Put another text in the place of a scalar."""
        if len(values) != 1 or not isinstance(setting.data, Node):
            return Refusal("only one value can stand there")
        return _answer(replace_scalar(self._file, setting.data, str(values[0])))

    def quote(self, node: Node) -> tuple[Edit, ...] | Refusal:
        """Make a string of a scalar that YAML reads as something else."""
        return _answer(replace_scalar(self._file, node, node.text))

    def split(self, node: Node, texts: Sequence[str]) -> tuple[Edit, ...] | Refusal:
        """Make several list items of one."""
        return _answer(split_item(self._file, node, list(texts)))


def _answer(answer: tuple[Edit, ...] | YamlRefusal) -> tuple[Edit, ...] | Refusal:
    return Refusal(answer.reason) if isinstance(answer, YamlRefusal) else answer
