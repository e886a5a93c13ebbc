"""The proxy of the environment: it gets nothing for this machine, and only TLS for another one."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator

import pytest

from portcullis_client import AsyncClient, Client, PortcullisError, Tls

from .conftest import ROOT, Sidecar

PEM = (ROOT / "test/support/proxies/self-signed.ts").read_text()


class Proxy:
    """Notes the first line of each request, and refuses it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                self.seen.append(connection.recv(4096).partition(b"\r\n")[0].decode())
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")

    def close(self) -> None:
        # Closing alone would leave the thread waiting.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


BY_NAME = [f"{name}_proxy" for name in ("grpc", "https", "http", "all")]


@pytest.fixture(params=["by name", "by address"])
def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    running = Proxy()
    if request.param == "by name":
        for name in BY_NAME:
            monkeypatch.setenv(name, f"http://{running.address}")
            monkeypatch.setenv(name.upper(), f"http://{running.address}")
    else:
        monkeypatch.setenv("GRPC_ADDRESS_HTTP_PROXY", running.address)
        monkeypatch.setenv("GRPC_ADDRESS_HTTP_PROXY_ENABLED_ADDRESSES", "0.0.0.0/0")
    yield running
    running.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "ipv4:127.0.0.1", "0.0.0.0"])
async def test_plaintext_does_not_go_through_it(sidecar: Sidecar, proxy: Proxy, host: str) -> None:
    address = sidecar.address.replace("127.0.0.1", host)
    credentials = {"X-Token": sidecar.static_token}
    # The last one reaches this machine, and is not loopback.
    with Client(address, allow_plaintext=True) as client:
        assert client.check("balance", credentials).allowed
    async with AsyncClient(address, allow_plaintext=True) as asynchronous:
        assert (await asynchronous.check("balance", credentials)).allowed
    assert proxy.seen == []


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:1", set()),
        ("unix:/nowhere", set()),
        ("unix-abstract:nowhere", set()),
        ("sidecar.example:443", {"CONNECT sidecar.example:443 HTTP/1.1"}),
    ],
)
async def test_tls_goes_through_it_to_another_machine_alone(
    monkeypatch: pytest.MonkeyPatch, address: str, expected: set[str]
) -> None:
    running = Proxy()
    monkeypatch.setenv("grpc_proxy", f"http://{running.address}")
    certificate, key = (found.encode() for found in re.findall(r"`(-----BEGIN[^`]+)`", PEM))
    tls = Tls(ca=certificate, certificate=certificate, key=key)
    question = ("balance", {"X-Token": "secret"})
    with Client(address, tls=tls) as client, pytest.raises(PortcullisError):
        client.check(*question)
    async with AsyncClient(address, tls=tls) as asynchronous:
        with pytest.raises(PortcullisError):
            await asynchronous.check(*question)
    assert set(running.seen) == expected
    running.close()


@pytest.mark.parametrize(
    "address",
    ["127.300.1.1:50051", "dns://192.0.2.53/localhost:50051", "localhost.example:50051", "[::1].example:50051"],
)
def test_what_only_looks_like_this_machine_gets_no_secret(address: str) -> None:
    with pytest.raises(ValueError, match="plaintext"):
        Client(address, caller_token="secret")
