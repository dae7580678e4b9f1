"""Declare the options of the suite once, for the console commands (click) and for pytest.

Every pytest run of the environment imports this module, so it imports only the standard library and constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from conformance.report.report_kinds import REPORT_KINDS, describe_kinds

DEFAULT_DIALECT: Final = "mindie"
EVERY_DIALECT: Final = "all"


@dataclass(frozen=True, slots=True)
class SuiteOption:
    """One option.

    `parameter` is the name of the click parameter if it is not that of the option. `pytest_name` and `pytest_help`
    replace the name and the help in pytest, where the short names belong to pytest itself or to other plugins; an
    option without `in_pytest` exists for console commands alone. `minimum` itself is not allowed if `above` is set.
    `choices` are the values of a choice; the default is one of them.
    """

    name: str
    help: str
    metavar: str | None = None
    kind: Literal["text", "integer", "number", "duration", "file", "flag", "choice"] = "text"
    default: float | str | None = None
    minimum: int = 0
    maximum: int | None = None
    above: bool = False
    repeatable: bool = False
    short: str | None = None
    parameter: str | None = None
    pytest_name: str | None = None
    pytest_help: str | None = None
    in_pytest: bool = True
    choices: tuple[str, ...] = ()


OPTIONS: Final = {
    option.name: option
    for option in (
        SuiteOption(
            "--dialect",
            f"Dialect to judge by, or `{EVERY_DIALECT}` for each in turn (default without a URL: {DEFAULT_DIALECT})",
            "NAME",
            pytest_help=f"Dialect to judge by (default: {DEFAULT_DIALECT})",
        ),
        SuiteOption(
            "--also",
            "Further dialect to judge by in the same run (repeatable)",
            "NAME",
            repeatable=True,
            in_pytest=False,
        ),
        SuiteOption(
            "--against",
            "Second server to judge in the same way and to compare with: its URL, or @NAME for a target of"
            " chatproof.toml, which can state its own key and headers; the exit code is that of the first server",
            "URL",
            in_pytest=False,
        ),
        SuiteOption("--model", "Model to request (default: the first model that the server lists)", "NAME"),
        SuiteOption("--api-key-env", "Environment variable that holds the API key", "VAR"),
        SuiteOption(
            "--header",
            "HTTP header to send with every request, for example for a gateway; reports show it (repeatable)",
            "'NAME: VALUE'",
            repeatable=True,
            short="-H",
            parameter="plain_headers",
        ),
        SuiteOption(
            "--header-env",
            "HTTP header with the value of an environment variable, which is kept secret like the API key (repeatable)",
            "NAME=VAR",
            repeatable=True,
            parameter="secret_headers",
        ),
        SuiteOption(
            "--concurrency",
            "Maximum number of concurrent requests; scenarios for parallel clients may exceed it",
            "N",
            "integer",
            default=4,
            minimum=1,
            maximum=256,
        ),
        SuiteOption(
            "--only",
            "Only these checks or requirements, in as few requests as show them, or these scenarios (repeatable)",
            "ID_OR_GLOB",
            repeatable=True,
        ),
        SuiteOption(
            "--topic",
            "Only checks of this topic, in as few requests as show them (repeatable)",
            "NAME",
            repeatable=True,
            parameter="topics",
        ),
        SuiteOption(
            "--last-failed",
            "Only the requirements that failed in the run before, as its json report or results.json states them",
            kind="flag",
            in_pytest=False,
        ),
        SuiteOption(
            "--fail-fast",
            "Send nothing more after the first failure that a single answer shows",
            kind="flag",
            in_pytest=False,
        ),
        SuiteOption(
            "--depth",
            "How much to send: a smoke test, the usual run, or every request, also those that --only and --topic leave"
            " out",
            kind="choice",
            default="standard",
            choices=("quick", "standard", "thorough"),
        ),
        SuiteOption(
            "--coverage",
            "Also send N schemathesis cases for the description, the same ones in every run",
            "N",
            "integer",
            default=0,
        ),
        SuiteOption("--fuzz", "Also send N random schemathesis requests", "N", "integer", default=0),
        SuiteOption("--seed", "Random seed for --fuzz (default: 0)", "S", "integer", pytest_name="--fuzz-seed"),
        SuiteOption(
            "--capability",
            "Capabilities that the server has (+X) or lacks (-Y), whatever the dialect and the server say (repeatable)",
            "+X,-Y",
            repeatable=True,
            parameter="capabilities",
        ),
        SuiteOption(
            "--media-host",
            "Address of this machine, HOST or HOST:PORT, from which the server may fetch media files; opens a small"
            " server there",
            "HOST",
        ),
        SuiteOption(
            "--media-path",
            "Folder on the server with the media files of the suite, as an absolute path in requests; `chatproof media"
            " FOLDER` writes them",
            "FOLDER",
        ),
        SuiteOption("--strict", "Fail on a violated SHOULD too", kind="flag", pytest_name="--conformance-strict"),
        SuiteOption(
            "--waivers",
            "Known failures to accept, with owner and expiry date: a YAML list of id, reason, owner, expires",
            "FILE",
            "file",
            parameter="waiver_file",
        ),
        SuiteOption(
            "--list",
            "List the requirements that would be judged, without sending anything",
            kind="flag",
            parameter="list_only",
            in_pytest=False,
        ),
        SuiteOption(
            "--dry-run",
            "Show every request and the maximum cost of the plan, without sending anything",
            kind="flag",
            in_pytest=False,
        ),
        SuiteOption("--max-requests", "Maximum number of requests", "N", "integer", default=1500, minimum=1),
        SuiteOption("--max-tokens", "Maximum number of tokens, as the server reports them", "N", "integer", 200_000, 1),
        SuiteOption(
            "--max-time",
            "Maximum duration of the command, such as 90s, 5m or 1h30m; the last tenth, 30 s at most, is for judging",
            "TIME",
            "duration",
            default=1200.0,
            above=True,
        ),
        SuiteOption("--rate", "Maximum requests per second (default: unlimited)", "N", "number", above=True),
        SuiteOption(
            "--timeout",
            "Time limit for one request, including the whole response",
            "TIME",
            "duration",
            default=120.0,
            above=True,
            in_pytest=False,
        ),
        SuiteOption(
            "--wait",
            "Time to wait for a server that is still starting",
            "TIME",
            "duration",
            default=0.0,
            pytest_name="--wait-for-server",
        ),
        SuiteOption("--insecure", "Do not verify the server's certificate; reports say so", kind="flag"),
        SuiteOption("--ca-file", "PEM file with the certificate authorities to trust", "FILE", "file"),
        SuiteOption(
            "--clients",
            "Let the installed client libraries read the answers; not part of the verdict",
            kind="flag",
            in_pytest=False,
        ),
        SuiteOption(
            "--annotate",
            "File of your repository at which the reports sarif and github show the findings (default: results.json)",
            "FILE",
            in_pytest=False,
        ),
        SuiteOption(
            "--report",
            f"Report to write: {describe_kinds(REPORT_KINDS)} (repeatable)",
            "KIND=PATH",
            repeatable=True,
            parameter="reports",
            pytest_name="--conformance-report",
        ),
    )
}
