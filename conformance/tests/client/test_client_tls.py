"""Which certificates the client trusts."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from typing import TYPE_CHECKING

from conformance.client.client import Client
from conformance.tests.raw_server import ask, call, saying, whole

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from conformance.exchange import Exchange


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """Return a server's TLS context with a self-signed certificate, and the certificate."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={name}", "-keyout", key, "-out", cert),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, cert


def test_a_certificate_is_trusted_only_if_its_authority_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls, cert = certificate(tmp_path, "IP:127.0.0.1")
    answer = saying(whole(b"{}"))
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))  # must be ignored
    refused = ask(answer, tls=tls, verify=True)
    assert refused.failure is not None
    assert refused.failure.kind == "tls"
    assert "is not trusted: self-signed certificate" in refused.failure.detail
    assert refused.response is None
    assert ask(answer, tls=tls, verify=False).status == 200
    assert ask(answer, tls=tls, verify=ssl.create_default_context(cafile=cert)).status == 200


def test_a_certificate_for_another_host_is_not_trusted(tmp_path: Path) -> None:
    tls, cert = certificate(tmp_path, "DNS:elsewhere.invalid")
    failure = ask(saying(whole(b"{}")), tls=tls, verify=ssl.create_default_context(cafile=cert)).failure
    assert failure is not None
    assert failure.kind == "tls"
    assert "not valid for '127.0.0.1'" in failure.detail


def test_https_to_a_server_without_tls_is_a_tls_failure() -> None:
    async def main() -> Exchange:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server, Client(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}") as client:
            return await client.send(call())

    failure = asyncio.run(main()).failure
    assert failure is not None
    assert failure.kind == "tls"
    assert failure.detail.startswith("TLS handshake with 127.0.0.1:")
