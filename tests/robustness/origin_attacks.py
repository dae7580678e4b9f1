"""Rows about servers that are not what they seem: redirects to other servers, and certificates."""

from __future__ import annotations

import ssl
import subprocess
from typing import TYPE_CHECKING, Final

from tests.robustness.harness_attacks import FEW
from tests.robustness.hostile_server import HostileServer, completion, saying, whole
from tests.robustness.rows import Attacks, Row
from tests.robustness.suite_run import SuiteRun, check, load_test

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["ATTACKS"]

ATTACKS: Final = Attacks("harness")


@ATTACKS.row(40)
def redirects(folder: Path, _: Row) -> Iterator[SuiteRun]:
    home = folder / "home"
    home.mkdir()
    with HostileServer(saying(whole(completion()))) as other:
        moved = saying(whole(b"{}", "307 Moved", Location=other.url + "/v1/chat/completions", Set_Cookie="id=cookie-1"))
        (home / ".netrc").write_text("machine 127.0.0.1 login someone password netrc-1\n")
        proxies = {f"{name}_proxy": other.url for name in ("http", "https", "all")}
        capitals = {name.upper(): url for name, url in proxies.items()}
        environment = {"HOME": str(home), "no_proxy": "", **proxies, **capitals}
        tls, _certificate = certificate(folder, "IP:127.0.0.1")
        with HostileServer(moved, tls=tls) as server:
            done = check(folder / "check", server.url, *FEW, "--insecure", variables=environment)
        assert done.code == 1, done.output
        assert "307" in done.failed
        yield done
        heads = b"".join(head.lower() for head, _ in server.requests)
        assert b"cookie-1" not in heads
        assert b"basic " not in heads
        with HostileServer(moved) as server:
            loaded = load_test(folder / "load", server.url)
        assert "http-307" in loaded.failed
        assert b"cookie-1" not in b"".join(head.lower() for head, _ in server.requests)
        assert other.connections == 0
        yield loaded


def certificate(folder: Path, name: str, days: int = 2) -> tuple[ssl.SSLContext, Path]:
    """Return a server's TLS context with a self-signed certificate, and the certificate. days: negative if expired."""
    key, request, cert, names = (folder / file for file in ("key.pem", "request.pem", "cert.pem", "names.txt"))
    names.write_text(f"subjectAltName={name}\n")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for command in (
        ("req", "-new", *curve, "-keyout", key, "-subj", "/CN=localhost", "-out", request),
        ("x509", "-req", "-in", request, "-signkey", key, "-days", str(days), "-extfile", names, "-out", cert),
    ):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


@ATTACKS.row(41)
def certificates(folder: Path, _: Row) -> Iterator[SuiteRun]:
    cases = {
        "expired": ("IP:127.0.0.1", -1, True, "expired"),
        "other-host": ("DNS:elsewhere.invalid", 2, True, "not valid for"),
        "self-signed": ("IP:127.0.0.1", 2, False, "self-signed"),
    }
    for name, (host, days, trusted, says) in cases.items():
        made = folder / f"{name}-certificate"
        made.mkdir()
        tls, cert = certificate(made, host, days)
        with HostileServer(saying(whole(completion())), tls=tls) as server:
            done = check(folder / name, server.url, *FEW, *(("--ca-file", str(cert)) if trusted else ()))
        assert done.code == 3, done.output
        assert says in done.output, done.output
        assert server.requests == []
        yield done
    with HostileServer(saying(whole(completion())), tls=tls) as server:
        done = check(folder / "insecure", server.url, "--only", "conversation", "--insecure")
    assert done.results["target"]["tls_verified"] is False
    for report in ("junit.xml", "summary.md", "report.html", "report.sarif"):
        assert "certificate was not verified" in done.texts[report], report
    yield done
