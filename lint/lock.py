"""Write requirements.lock from a report of pip: exact versions with the hashes of the files that pip chose.

`python lint/lock.py REPORT`; the head of the lock file says how pip writes the report.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name
from packaging.version import Version

LOCK: Final = Path(__file__).resolve().parent.parent / "requirements.lock"
HEAD: Final = """\
# Everything that `pip install '.[all]'` installs on Linux (x86-64) with Python 3.11, with hashes.
#
# Install: python -m pip install --require-hashes -r requirements.lock && python -m pip install --no-deps .
# Write again, on such a system:
#   python -m pip install --dry-run --ignore-installed --only-binary :all: --report report.json '.[all]'
#   python lint/lock.py report.json
#
# The hash of torch is that of the build for the CPU. The package index must offer this build for version 2.13.0.
"""


def main() -> int:
    """Write the lock file."""
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    lines = {}
    for item in report["install"]:
        name, version = canonicalize_name(item["metadata"]["name"]), Version(item["metadata"]["version"])
        if "archive_info" in item["download_info"]:  # chatproof itself is a folder
            digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
            lines[name] = f"{name}=={version.public} \\\n    --hash=sha256:{digest}\n"
    LOCK.write_text(HEAD + "".join(lines[name] for name in sorted(lines)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
