"""Run the compatibility test of gpt-oss, its Chat Completions part, with its own provider file replaced by ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

source, folder = Path(sys.argv[1]) / "compatibility-test", Path(sys.argv[2])
work = folder / "compatibility-test"
shutil.rmtree(work, ignore_errors=True)
shutil.copytree(source, work)
provider = {
    "apiBaseUrl": os.environ["BASE_URL"],
    "apiKey": os.environ["API_KEY"],
    "apiType": ["chat"],
    "modelName": os.environ["MODEL"],
    "providerDetails": {"max_tokens": 200},
}
(work / "providers.ts").write_text(f"export const PROVIDERS = {json.dumps({'ours': provider})};\n", encoding="utf-8")
command = ["node", str(folder / "node_modules/tsx/dist/cli.mjs"), "index.ts", "--provider", "ours", "-k", "1"]
ended = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=600)
print(ended.stdout[-3000:], ended.stderr[-3000:], file=sys.stderr)
for path in work.glob("rollout_*.jsonl"):
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        result = row.get("result", {})
        valid = bool(result.get("validResponse"))
        detail = row.get("error") or json.dumps(result.get("details"))
        print(json.dumps({"case": f"shape-{row['test_case']}", "ok": valid, "detail": detail[:300]}))
