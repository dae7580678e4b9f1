"""The commands of `chatproof`: where each is defined, its help, and the extra that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Command:
    """Where a command is defined (`module:attribute`), its one-line help, and the extra it needs."""

    location: str
    help: str
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class CommandGroup:
    """A group of commands and its one-line help. `default` is the command to run if none is named."""

    help: str
    commands: Mapping[str, Command]
    default: str | None = None


COMMANDS: Mapping[str, Command | CommandGroup] = {
    "check": Command("conformance.cli.check_command:check", "Test a chat-completions server for conformance."),
    "judge": Command("conformance.cli.recorded_run_commands:judge", "Judge a recorded run again, offline."),
    "replay": Command("conformance.cli.recorded_run_commands:replay_one", "Send one recorded request again."),
    "explain": Command(
        "conformance.cli.guidance.explain_command:explain", "Explain a requirement and how to fix a server."
    ),
    "load": CommandGroup(
        "Load-test a chat-completions server.",
        {
            "run": Command("loadtests.cli.load_command:load", "Run a load test (the default command).", "load"),
            "search": Command(
                "loadtests.cli.search_command:search", "Find the highest rate that meets the objectives.", "load"
            ),
            "compare": Command("loadtests.cli.compare_command:compare", "Compare two load tests.", "load"),
            "calibrate": Command(
                "loadtests.cli.calibrate_command:calibrate",
                "Calibrate the timer against a server with known timings.",
                "load",
            ),
        },
        default="run",
    ),
    "media": Command("conformance.cli.media_command:media", "Write the media files of the suite to a folder."),
    "diff": Command("conformance.cli.recorded_run_commands:diff_results", "Compare two results files."),
    "matrix": Command(
        "conformance.cli.comparison.matrix_command:matrix", "Compare deployments, and the runs of each one."
    ),
    "serve": Command("reference_server.serve_command:command", "Serve a model with the API of a dialect.", "server"),
    "spec": CommandGroup(
        "Work with the contract: OpenAPI descriptions, vendor documents, differences.",
        {
            "build": Command("openapi.spec_commands:build_specs", "Write every dialect as OpenAPI 3.2 and 3.1."),
            "diff": Command("openapi.spec_commands:diff", "Show what changes for a client between two dialects."),
            "matrix": Command("openapi.spec_commands:print_matrix", "Compare all dialects, parameter by parameter."),
            "trace": Command(
                "conformance.cli.tracing.trace_command:command",
                "Show which check covers each sentence of the documents.",
            ),
            "prove": Command(
                "conformance.proof.sentences.prove_command:command",
                "Prove that each sentence's checks report servers that break it.",
                "server",
            ),
            "read": Command("openapi.reading.reading_commands:read", "Extract the facts from a vendor's page."),
            "drift": Command("openapi.reading.reading_commands:drift", "Compare a vendor's page with a dialect."),
        },
    ),
    "dialect": CommandGroup(
        "Bring your own dialect: import, check and document a vendor's API.",
        {
            "new": Command(
                "openapi.importing.dialect_commands:new", "Write a dialect file from an OpenAPI description or a page."
            ),
            "docs": Command("openapi.importing.dialect_commands:docs", "Render the reference page of a dialect."),
            "check": Command(
                "conformance.cli.dialect_check_command:check_dialect",
                "Validate a dialect file, and judge its reference server.",
                "server",
            ),
            "schema": Command("openapi.schema_command:print_schema", "Print the JSON Schema of dialect files."),
        },
    ),
    "faults": CommandGroup(
        "Test the suite with known faults of real servers.",
        {
            "list": Command(
                "reference_server.faults.fault_list:list_faults",
                "List the faults and the bugs that they reproduce.",
                "server",
            ),
            "run": Command("conformance.proof.faults_command:run", "Run the suite against every fault.", "server"),
            "depths": Command(
                "conformance.proof.depths.depths_command:depths",
                "Measure which faults a run of each depth detects.",
                "server",
            ),
            "findings": Command(
                "conformance.proof.findings.findings_command:findings",
                "Measure how clearly a report names the fault of a server.",
                "server",
            ),
            "repeats": Command(
                "conformance.proof.correct_servers.repeats_command:repeats",
                "Judge a correct server again and again.",
                "server",
            ),
            "modes": Command(
                "conformance.proof.correct_servers.modes_command:modes",
                "Run the suite against every mode of the server.",
                "server",
            ),
            "contracts": Command(
                "conformance.proof.contracts.contracts_command:command",
                "Run the suite and the server with contracts drawn at random.",
                "server",
            ),
            "serve": Command(
                "reference_server.faults.fault_host:command", "Serve every fault at its own path.", "server"
            ),
        },
    ),
    "checks": CommandGroup(
        "List and explain the checks of the suite.",
        {
            "list": Command("conformance.cli.checks_command:list_checks", "List every check with its claim."),
            "show": Command("conformance.cli.checks_command:show_check", "Show one check and its sources."),
        },
    ),
    "init": Command(
        "openapi.command_options.config_commands:init", "Write a chatproof.toml, waivers and a workflow to begin with."
    ),
    "config": CommandGroup(
        "Show the options that chatproof.toml and CHATPROOF_* variables set.",
        {
            "show": Command(
                "openapi.command_options.config_commands:show", "Show every option with its value and its origin."
            ),
            "schema": Command(
                "openapi.command_options.config_commands:print_schema", "Print the JSON Schema of chatproof.toml."
            ),
        },
    ),
    "completion": Command(
        "conformance.cli.guidance.completion:completion", "Print the script of completion for a shell."
    ),
}
