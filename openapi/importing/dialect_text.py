"""Write a dialect file: its identity, its document, the delta on the dialect that it extends, and the to-dos."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

import yaml

from openapi.contract.tree.yaml_file import DELTAS
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi.importing.todo import Todo
    from openapi.reading.compare.delta_placement import DeltaTree

LINE_WIDTH: Final = 110
FOLDED: Final = 80  # characters of a string that is folded over several lines instead of quoted
PROSE: Final = "Prose without a word that hints at a fact. Move what states one to `todo`:"


@dataclass(frozen=True, slots=True)
class DialectHead:
    """The first lines of a dialect file: comments, the identity of the dialect, and its document.

    quotes: whether the file may contain words of the source.
    """

    comments: Sequence[str]
    id: str
    title: str
    document: dict[str, Any]
    extends: str
    quotes: bool = True


def write_dialect(
    head: DialectHead,
    tree: DeltaTree,
    sentences: Sequence[dict[str, Any]],
    todos: Iterable[Todo],
    prose: Sequence[Todo] = (),
) -> str:
    """Return the text of the file, in block style with one fact on a line.

    prose: sentences that do not seem to state a fact. They are comments at the end, so that nothing is lost in silence.
    """
    listed = [str(todo) if head.quotes or not todo.quoted else todo.without_quotes() for todo in todos]
    listed = list(dict.fromkeys(listed))
    body: dict[str, Any] = {
        "id": head.id,
        "title": head.title,
        "document": head.document,
        "extends": head.extends,
        **{key: getattr(tree, key) for key in DELTAS if getattr(tree, key)},
        "sentences": list(sentences),
        **({"todo": listed} if listed else {}),
    }
    parts = [_dump({key: value}) for key, value in body.items()]
    return _comment(head.comments) + _join(list(body), parts) + _comment(_format_prose(prose, quotes=head.quotes))


def _format_prose(prose: Sequence[Todo], *, quotes: bool) -> list[str]:
    """Return the lines about prose: each sentence, or only their number if the words of the source are left out."""
    if not prose:
        return []
    if not quotes:
        return [f"Left out: {format_quantity(len(prose), 'passage')} without a word that hints at a fact."]
    lines = (wrap(str(one), LINE_WIDTH, initial_indent="- ", subsequent_indent="  ") for one in dict.fromkeys(prose))
    return [PROSE, *(line for one in lines for line in one)]


def _comment(lines: Iterable[str]) -> str:
    return "".join(f"# {line}\n" for line in lines)


def _join(keys: Sequence[str], parts: Sequence[str]) -> str:
    """Join the keys of the file, with a blank line around long ones."""
    text = ""
    for key, part in zip(keys, parts, strict=True):
        text += f"\n{part}" if key in (*DELTAS, "sentences", "todo") else part
    return text


def _dump(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, default_flow_style=False, width=LINE_WIDTH
    )
    return text


class _BlockDumper(yaml.SafeDumper):
    """Dumps YAML in block style: lists are indented, repeated values are written in full, quotes are double."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002 - PyYAML's
        return super().increase_indent(flow, False)

    def represent_string(self, text: str) -> yaml.ScalarNode:
        """Quote a string only if it would have another meaning without quotes."""
        node = self.represent_str(text)
        if not _is_plain(text) or text[:1] in _INDICATORS:
            node.style = ">" if len(text) > FOLDED and "\n" not in text and text == text.strip() else '"'
        return node


def _is_plain(text: str) -> bool:
    """Return whether YAML reads a string without quotes as this string."""
    try:
        return bool(yaml.load(text, Loader=yaml.CSafeLoader) == text)
    except (yaml.YAMLError, ValueError):
        return False


_INDICATORS: Final = frozenset("#&*!|>%@`\"'[]{},?:-")
_BlockDumper.add_representer(str, _BlockDumper.represent_string)
