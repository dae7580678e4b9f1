"""Write the facts of a page as the text of a dialect's delta, in YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from openapi.reading.compare.delta import DialectDelta
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi.contract.contract import Contract
    from openapi.reading.compare.delta_placement import Tree
    from openapi.reading.facts.facts import Facts

LINE_WIDTH = 1000  # prevents PyYAML from wrapping texts


def render_delta(facts: Facts, contract: Contract, page: str) -> str:
    """Render the delta as YAML, with comments for everything that it cannot express."""
    delta = DialectDelta(facts, contract)
    count, tree = facts.count, delta.tree
    lines = [
        f"# {page}: {facts.form}, {format_quantity(facts.rows, 'row')}, {format_quantity(len(facts.facts), 'fact')}",
        f"# cells: {count.read} read, {count.partly} read in part, {count.unread} not read",
    ]
    body: Tree = {"extends": contract.name, "add": tree.add, "replace": tree.replace, "remove": tree.remove}
    body = {key: value for key, value in body.items() if value}
    text = yaml.dump(
        body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=LINE_WIDTH
    )
    unread = [f"line {passage.line}: {passage.text}: {passage.reason}" for passage in facts.unread]
    unread += [f"line {fact.line} {fact.part} {fact.path}: {words}" for fact in facts.facts for words in fact.unread]
    lines += [text.rstrip()]
    lines += _comments("to be set by hand", (f"{fact.part} {fact.path}: {text}" for fact, text in delta.by_hand))
    lines += _comments(
        f"stated by {contract.name} but not by the page: dropped, lost, or from another document", delta.unstated
    )
    lines += _comments("not read: check by hand", unread)
    return "\n".join(lines) + "\n"


def _comments(title: str, lines: Iterable[str]) -> list[str]:
    comments = [f"#   {' '.join(line.split())}" for line in lines]
    return [f"# {title}:", *comments] if comments else []


class _Dumper(yaml.SafeDumper):
    """Dumps YAML without anchors, which would tie unrelated values together."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        """Write repeated values in full."""
        return True
