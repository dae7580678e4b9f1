"""`chatproof explain ID`: why a requirement matters, who is affected, and how to fix a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.padding import Padding
from rich.text import Text

from conformance.cli import exit_codes
from conformance.cli.guidance.completion import complete_checks, complete_dialects
from conformance.errors import UsageError
from conformance.judge.check_registry import gather_checks
from conformance.report.explanations import SERVERS, find_explanation
from conformance.run.session.target import load_contract
from openapi.console import make_console
from openapi.contract.contract import names
from openapi.did_you_mean import similar_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi.contract.contract import Contract

INDENT = 2
MOST_SENTENCES = 3


@click.command(name="explain", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("identity", metavar="ID", shell_complete=complete_checks)
@click.option("--dialect", metavar="NAME", help="Only this dialect (default: all)", shell_complete=complete_dialects)
def explain(identity: str, dialect: str | None) -> None:
    """Explain a requirement of a report: what it says, why it matters, who is affected, and how to fix it.

    ID is a requirement or a check, as reports show it. `chatproof checks show ID` says how it is tested.
    """
    with exit_codes.report_errors():
        contracts = [load_contract(name) for name in ([dialect] if dialect else dict.fromkeys(names().values()))]
        checks = gather_checks(contracts[0] if dialect else None)
        parameter = _parameter_of(identity)
        if identity not in checks and not any(parameter in contract.parameters for contract in contracts):
            raise UsageError(f"unknown requirement {identity!r}{_hint(identity, checks)}")
        claim = checks[identity].claim if identity in checks else f"The document describes the parameter {parameter}."
        console = make_console()
        console.print(Text(identity, "bold"))
        console.print(Text(claim))
        for title, lines in (
            ("required by", [line for contract in contracts for line in _required(contract, identity)]),
            ("why it matters", _part(identity, "matters")),
            ("who is affected", _part(identity, "affects")),
            ("how to fix it", list(_fixes(identity))),
        ):
            if lines:
                console.print(Text(f"\n{title}", "dim"))
            for line in lines:
                text = line.lstrip()
                indent = INDENT + len(line) - len(text)  # also of the lines below a wrapped one
                console.print(Padding(Text(text), (0, 0, 0, indent), expand=False))


def _parameter_of(identity: str) -> str | None:
    """Return the parameter that a requirement is about, such as `top_k` for `parameters.top_k.minimum-outside`."""
    topic, _, rest = identity.partition(".")
    return rest.partition(".")[0] if topic == "parameters" and rest else None


def _required(contract: Contract, identity: str) -> Iterator[str]:
    """Yield the keyword and the source of a requirement in a dialect, and the sentences of its document."""
    row, parameter = contract.requirements.get(identity), _parameter_of(identity)
    if row is not None:
        yield f"{contract.name}: {row.keyword.value}, {row.source}"
        saying = [item for item in contract.sentences if identity in item.home.checks or item.source == row.source]
    else:
        place = f"#request/{parameter}"
        saying = [item for item in contract.sentences if parameter and item.source.endswith(place)]
        if saying:
            yield f"{contract.name}: {saying[0].source}"
    for sentence in saying[:MOST_SENTENCES]:
        yield f"  {sentence.keyword.value}: {sentence.says}"


def _part(check: str, part: str) -> list[str]:
    explanation = find_explanation(check)
    return [] if explanation is None else [str(getattr(explanation, part))]


def _fixes(check: str) -> Iterator[str]:
    explanation = find_explanation(check)
    for server, name in SERVERS.items():
        if explanation is not None and server in explanation.fix:
            yield f"{name}: {explanation.fix[server]}"


def _hint(identity: str, checks: Iterable[str]) -> str:
    last = identity.rpartition(".")[2]
    similar = [name for name in checks if last in name] or similar_names(identity, checks, 5)
    return f"; similar ones: {', '.join(similar[:5])}" if similar else "; `chatproof checks list` lists all checks"
