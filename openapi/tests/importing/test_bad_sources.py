"""A source that cannot be imported is one line and exit code 2."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from openapi.importing.dialect_commands import docs, new
from openapi.importing.source import MAX_BYTES
from openapi.tests.importing.importing import description

if TYPE_CHECKING:
    from pathlib import Path


def with_request(schemas: dict[str, Any]) -> str:
    source = description({}, components=schemas)
    media = source["paths"]["/chat/completions"]["post"]["requestBody"]["content"]["application/json"]
    media["schema"] = {"$ref": "#/components/schemas/A"}
    return json.dumps(source)


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


BAD: dict[str, tuple[str | bytes, str]] = {
    "other-paths.json": ('{"openapi": "3.1.0", "paths": {"/embeddings": {"post": {}}}}', "no chat operation"),
    "no-paths.json": ('{"openapi": "3.1.0", "paths": []}', "no chat operation"),
    "no-body.json": ('{"openapi": "3.1.0", "paths": {"/chat/completions": {"post": {}}}}', "no schema of the request"),
    "version.json": ('{"swagger": "2.0", "paths": {}}', "OpenAPI 2.0 is not supported"),
    "cycle.json": (with_request({"A": reference("B"), "B": reference("A")}), "references form a cycle"),
    "dangling.json": (with_request({"A": reference("Gone")}), "'Gone' does not exist"),
    "elsewhere.json": (with_request({"A": {"$ref": "other.yaml#/A"}}), "cannot follow $ref"),
    "page.md": ("# Chat\n\nNothing about parameters.\n", "no table of parameters"),
    "binary.bin": (b"\x7fELF\x00\x01\x02", "a binary file"),
    "empty.yaml": (b" \n", "the file is empty"),
    "latin.md": ("| Größe |".encode("latin-1"), "invalid encoding"),
    "deep.json": ('{"a":' * 100_000, "nested too deeply"),
    "large.json": (b"{" + b" " * MAX_BYTES, "larger than 16 MiB"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_that_names_it(name: str, tmp_path: Path) -> None:
    content, message = BAD[name]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    result = CliRunner().invoke(new, [str(path), "--extends", "openai"])
    assert (2, "") == (result.exit_code, result.stdout)
    assert message in result.stderr
    assert 1 == result.stderr.count("\n")


def test_an_import_that_fails_leaves_the_file_of_out_as_it_is_and_suggests_it(tmp_path: Path) -> None:
    (page := tmp_path / "page.md").write_text("| name | type |\n|---|---|\n| n | integer |\n")
    (out := tmp_path / "own.yaml").write_text("mine")
    (empty := tmp_path / "empty.md").write_text("\n")
    unknown = [str(page), "--extends", "nothing"]
    for arguments in ([str(empty)], unknown):
        for more, hint in (([], True), (["--out", str(out)], False)):
            result = CliRunner().invoke(new, [*arguments, *more])
            assert (2, "", 1) == (result.exit_code, result.stdout, result.stderr.count("\n"))
            assert hint is ("--out FILE leaves a file as it is" in result.stderr)
    assert "mine" == out.read_text()
    assert ", openai" in CliRunner().invoke(new, unknown).stderr


def test_a_missing_file_and_an_unknown_dialect_are_one_line(tmp_path: Path) -> None:
    for arguments in ([str(tmp_path / "gone.yaml"), "--extends", "openai"], [__file__, "--extends", "nothing"]):
        result = CliRunner().invoke(new, arguments)
        assert (2, 1) == (result.exit_code, result.stderr.count("\n"))


def test_a_server_that_cannot_be_reached_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound without listening: connections are refused
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        result = CliRunner().invoke(new, [url, "--extends", "openai"])
    assert (2, 1) == (result.exit_code, result.stderr.count("\n"))
    assert f"cannot fetch {url}/openapi.json" in result.stderr


def test_the_description_of_a_running_server_is_imported(tmp_path: Path) -> None:
    class Server(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(description({"n": {"type": "integer", "maximum": 3}})).encode()
            self.send_response(200 if self.path == "/openapi.json" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        out = tmp_path / "acme.yaml"
        found = CliRunner().invoke(new, [url, "--extends", "openai", "--out", str(out)])
        missing = CliRunner().invoke(new, [f"{url}/docs", "--extends", "openai"])
        server.shutdown()
    assert (0, 2) == (found.exit_code, missing.exit_code)
    assert "status 404" in missing.stderr
    page = CliRunner().invoke(docs, [str(out)])
    assert "| `n` | integer [1, 3]" in page.stdout or "| `n` | integer ≤ 3" in page.stdout
    assert f"Published at {url}/openapi.json" in page.stdout
