"""Audit the locked requirements against public advisories. Prints one line if the advisories cannot be reached.

Exit codes: 0 no known vulnerability, 1 vulnerabilities, 3 nothing was audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

LOCK: Final = Path(__file__).resolve().parent.parent / "requirements.lock"
TIMEOUT_S: Final = 600
VULNERABLE, NOT_AUDITED = 1, 3


def main() -> int:
    """Run pip-audit on the lock file, print what it found, and return the exit code."""
    if find_spec("pip_audit") is None:
        print("NOT AUDITED: pip-audit is not installed: run tox -e audit")
        return NOT_AUDITED
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(LOCK), "--disable-pip", "--require-hashes"]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "15"]
    try:
        audit = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)  # noqa: S603
        answered = json.loads(audit.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return _not_audited(f"no answer within {TIMEOUT_S} s")
    except (ValueError, KeyError, TypeError):
        lines = [line.strip() for line in audit.stderr.splitlines() if line.strip()]
        return _not_audited(lines[-1][:300] if lines else f"pip-audit ended with exit code {audit.returncode}")
    skipped = [item for item in answered if "skip_reason" in item]
    if len(skipped) == len(answered):
        return _not_audited(f"none for any of {len(answered)} packages; the first: {skipped[0]['skip_reason']}")
    found = [(item["name"], item["version"], fault) for item in answered for fault in item.get("vulns", ())]
    for name, version, fault in found:
        fixed = ", ".join(fault.get("fix_versions", ())) or "no version"
        print(f"{name} {version}: {fault['id']}, fixed in {fixed}")
    for item in skipped:
        print(f"{item['name']}: not audited: {item['skip_reason']}")
    print(f"{len(answered) - len(skipped)} packages audited, {len(found)} known vulnerabilities")
    if skipped and not found:
        return NOT_AUDITED
    return VULNERABLE if found else 0


def _not_audited(reason: str) -> int:
    print(f"NOT AUDITED: the advisories cannot be reached: {reason}")
    return NOT_AUDITED


if __name__ == "__main__":
    sys.exit(main())
