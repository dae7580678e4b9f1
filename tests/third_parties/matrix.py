"""Write docs/third-party-matrix.md and .html: all servers next to each other, from the results files of a run.

`python -m tests.third_parties.matrix FOLDER` writes both again from the folder of `tox -e third-parties`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conformance.report.comparison import matrix_markdown, matrix_page
from conformance.report.comparison.deployment_matrix import compare_deployments
from conformance.report.comparison.deployment_runs import read_deployments
from tests.third_parties import catalogue
from tests.third_parties.catalogue import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.third_parties.catalogue import Server

PAGE: Final = ROOT / "docs" / "third-party-matrix.md"
LOCAL_ADDRESS: Final = re.compile(r"(?:http://)?127\.0\.0\.1:\d+")
LOCAL_CHECKPOINT: Final = re.compile(r"/[\w./-]*/tiny/checkpoint")
PLATFORM: Final = re.compile(r"Linux-\d[\w.+-]*")
HEAD: Final = """\
# Third-party servers next to each other

Each requirement that one or more servers violate, or for which their outcomes differ. [The same as a
page](third-party-matrix.html) has all requirements, with findings, commands and filters.
[third-party-servers.md](third-party-servers.md) confirms and attributes the findings.

`tox -e third-parties -- --only NAME` installs and starts the server NAME, and judges it again. The names are:
{names}. In the commands, `$URL` is the address of a server, and `$FOLDER` the folder of
the run, `.tox/third-party-software`. The servers run the embedded model on a CPU, so what the model cannot do is not
judged.
"""


def write_matrix(folder: Path) -> int:
    """Write both files from the results in the folder, and return the number of runs in them."""
    sources = [
        f"{server.title} {version}={path}"
        for server in catalogue.servers().values()
        for version, path in _results(server, folder)
    ]
    matrix = compare_deployments(read_deployments(sources))
    names = ", ".join(f"`{name}`" for name in catalogue.servers())
    body = matrix_markdown.write(matrix).partition("\n")[2]
    PAGE.write_text(_without_machine(HEAD.format(names=names) + body, folder), encoding="utf-8")
    PAGE.with_suffix(".html").write_text(_without_machine(matrix_page.write(matrix), folder), encoding="utf-8")
    return len(sources)


def _results(server: Server, folder: Path) -> Iterator[tuple[str, Path]]:
    installed = folder / server.name / "installed.json"
    if not installed.exists():
        return
    version = json.loads(installed.read_text("utf-8"))["version"]
    for dialect in server.dialects:
        path = folder / server.name / f"{dialect}.json"
        if path.exists():
            yield version, path


def _without_machine(text: str, folder: Path) -> str:
    """Return the text without addresses, paths and the name of the machine on which the servers ran."""
    text = text.replace(str(folder), "$FOLDER")
    return PLATFORM.sub("PLATFORM", LOCAL_CHECKPOINT.sub("./checkpoint", LOCAL_ADDRESS.sub("$URL", text)))


if __name__ == "__main__":
    sys.stdout.write(f"runs: {write_matrix(Path(sys.argv[1]))}\n")
