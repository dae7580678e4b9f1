"""Write docs/third-party-servers.md from the results of a run."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from tests.third_parties.catalogue import HERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.third_parties.attribution import Attribution
    from tests.third_parties.program_run import ProgramRun
    from tests.third_parties.server_run import Finding, ServerRun

OUTCOMES: Final = ("PASS", "FAIL", "WARN", "OBSERVED", "UNTESTABLE")
LISTED: Final = 6
"""Requirements that a table lists by name for one behaviour; further ones are counted."""


def render(servers: Sequence[ServerRun], programs: Sequence[ProgramRun]) -> str:
    """Return the page as Markdown."""
    text = (HERE / "page.md").read_text(encoding="utf-8")
    sections = {
        "summary": "\n".join(_summary(servers)),
        "gateway": "\n".join(_gateway(servers)),
        "findings": "\n\n".join("\n".join(_findings(result)) for result in servers if result.judgements),
        "reports": "\n\n".join("\n".join(lines) for result in servers for lines in _reports(result)),
        "programs": "\n".join(_programs(programs)),
    }
    for name, section in sections.items():
        text = text.replace(f"<!-- {name} -->", section)
    return text


def _summary(servers: Iterable[ServerRun]) -> Iterator[str]:
    yield f"| server | version | dialect | verdict | {' | '.join(OUTCOMES)} | requests | false positives |"
    yield f"|{'---|' * (len(OUTCOMES) + 6)}"
    for result in servers:
        title, version = result.server.title, result.version or ""
        for judgement in result.judgements:
            counts = " | ".join(str(judgement.count(outcome)) for outcome in OUTCOMES)
            false = sum(
                finding.dialect == judgement.dialect and finding.problem() is not None for finding in result.findings
            )
            yield (
                f"| {title} | {version} | `{judgement.dialect}` | {judgement.verdict} | {counts} "
                f"| {judgement.sent} | {false} |"
            )
        for reason in (*result.not_judged, *((result.not_run,) if result.not_run else ())):
            yield f"| {title} | {version} | | {_cell(reason)} |{' |' * (len(OUTCOMES) + 2)}"
    found = [finding for result in servers for finding in result.findings]
    true = sum(finding.problem() is None for finding in found)
    caused: defaultdict[str, int] = defaultdict(int)
    for finding in found:
        caused[finding.attribution.cause if finding.attribution else "unknown"] += 1
    causes = ", ".join(f"{cause} {count}" for cause, count in sorted(caused.items()))
    yield ""
    recorded = sum(finding.problem() is None and finding.is_only_recorded for finding in found)
    confirmed = f"{true - recorded} of them confirmed by an independent request and {recorded} by what was recorded"
    yield f"{len(found)} FAIL and WARN rows, {confirmed}. Causes: {causes or 'none'}."


def _gateway(servers: Iterable[ServerRun]) -> Iterator[str]:
    yield f"| upstream | exit | verdict | {' | '.join(OUTCOMES)} | warnings |"
    yield f"|{'---|' * (len(OUTCOMES) + 4)}"
    for result in servers:
        if result.server.gateway is None:
            continue
        if (judgement := result.gateway) is not None:
            counts = " | ".join(str(judgement.count(outcome)) for outcome in OUTCOMES)
            warnings = ", ".join(f"`{row.requirement}`" for row in judgement.rows)
            yield f"| {result.server.title} | {judgement.exit_code} | {judgement.verdict} | {counts} | {warnings} |"
        else:
            reason = _cell(result.gateway_problem or result.not_run or "not judged")
            yield f"| {result.server.title} | | {reason} |{' |' * (len(OUTCOMES) + 1)}"


def _findings(result: ServerRun) -> Iterator[str]:
    server = result.server
    yield f"### {server.title} {result.version}"
    yield ""
    packages = [*server.software.packages, *([server.software.without.package] if server.software.without else [])]
    yield f"Installed from {', '.join(f'`{package}`' for package in packages)}."
    for judgement in result.judgements:
        if judgement.untestable:
            names = ", ".join(f"`{name}`" for name in judgement.untestable)
            yield f"UNTESTABLE as `{judgement.dialect}`: {names}."
    yield ""
    yield "| requirement | as | cause | behaviour | confirmed by an independent request |"
    yield "|---|---|---|---|---|"
    for attribution, findings in _by_attribution(result.findings):
        rows = list(dict.fromkeys(finding.row.requirement for finding in findings))
        names = ", ".join(f"`{name}`" for name in rows[:LISTED])
        if len(rows) > LISTED:
            names += f" and {len(rows) - LISTED} more"
        dialects = ", ".join(f"`{name}`" for name in dict.fromkeys(finding.dialect for finding in findings))
        confirmed = sum(finding.problem() is None for finding in findings)
        first = next((finding.confirmation for finding in findings if finding.confirmation), None)
        shown = f"{confirmed} of {len(findings)}"
        if first is not None and first.curl:
            shown += f": `{_cell(first.curl)}` gives `{_cell(first.got)}`"
        cause = attribution.cause if attribution else "unknown"
        behaviour = _cell(attribution.behaviour) if attribution else "not attributed"
        yield f"| {names} | {dialects} | {cause} | {behaviour} | {shown} |"


def _by_attribution(findings: Iterable[Finding]) -> list[tuple[Attribution | None, list[Finding]]]:
    groups: dict[int, tuple[Attribution | None, list[Finding]]] = {}
    for finding in findings:
        groups.setdefault(id(finding.attribution), (finding.attribution, []))[1].append(finding)
    return list(groups.values())


def _reports(result: ServerRun) -> Iterator[list[str]]:
    reported: set[str] = set()
    for finding in result.findings:
        attribution = finding.attribution
        if attribution is None or attribution.report is None or attribution.report.title in reported:
            continue
        if finding.confirmation is None or not finding.confirmation.confirmed:
            continue
        reported.add(attribution.report.title)
        yield [
            f"### {result.server.title} {result.version}: {attribution.report.title}",
            "",
            "```sh",
            finding.confirmation.curl,
            "```",
            "",
            f"- Expected: {attribution.report.expected}",
            f"- Got: `{finding.confirmation.got}`",
        ]


def _programs(programs: Iterable[ProgramRun]) -> Iterator[str]:
    yield "| program | version | against | passed | failed, and why |"
    yield "|---|---|---|---|---|"
    for result in programs:
        title, version = result.program.title, result.version or ""
        if result.not_run is not None:
            yield f"| {title} | {version} | | | {_cell(result.not_run)} |"
        for against, cases in result.cases.items():
            reasons: defaultdict[str, list[str]] = defaultdict(list)
            for where, case, known in result.failures():
                if where == against:
                    reasons[known or case.detail].append(case.name)
            failed = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
            passed = sum(case.ok for case in cases)
            yield f"| {title} | {version} | {against} | {passed} of {len(cases)} | {_cell('; '.join(failed))} |"
        for against, reason in result.broken.items():
            yield f"| {title} | {version} | {against} | | {_cell(reason)} |"


def _cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")
