"""Run the command line of schemathesis on the served description; each kind of failure is a failed case of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
url = os.environ["SERVER_URL"]
command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{url}/openapi.json", "--url", url]
command += ["--include-path", "/v1/chat/completions", "--phases", "examples,coverage", "--seed", "1", "--no-color"]
command += ["-H", f"Authorization: Bearer {os.environ['API_KEY']}"]  # without a key every answer is 401, and all "pass"
command += ["--request-timeout", "300"]  # many choices take long on a busy machine
command += ["--continue-on-failure", "--report", "json", "--report-json-path", str(folder / "report.json")]
ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=800)
print(ended.stdout[-6000:], ended.stderr[-2000:], file=sys.stderr)
failures = re.findall(r"^- (ST\d+) (.+?)$(.*?)^Reproduce with", ended.stdout, re.DOTALL | re.MULTILINE)
for code, title, text in failures:
    answer = re.search(r"`(.+)`", text)
    print(json.dumps({"case": f"{code}: {answer[1][:200] if answer else title}", "ok": False, "detail": title}))
finished = ended.returncode == (1 if failures else 0) and "errored" not in ended.stdout
passed = finished and "Authentication failed" not in ended.stdout
summary = [
    line.strip() for line in ended.stdout.splitlines() if "passed" in line or "failed" in line or "generated" in line
]
print(json.dumps({"case": "run", "ok": passed, "detail": "; ".join(summary)[:300] or ended.stderr[-300:]}))
