"""The conformance suite of redirects, with requests and httpx before real servers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
import requests

from portcullis_client import AsyncClient, Client, IssuedToken, Scope
from portcullis_client.httpx import AsyncCredentialTransport, CredentialTransport
from portcullis_client.httpx import _origin_of as httpx_origin
from portcullis_client.requests import CredentialAuth
from portcullis_client.requests import _origin_of as requests_origin

from .test_conformance import lines

ROWS = list(lines("redirects"))


class Servers:
    """Two of them, that play a line together."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.seen: list[list[str | None]] = []
        self._running = {name: self._start(name) for name in "ab"}
        self.ports = {name: server.server_port for name, server in self._running.items()}
        self.origin = f"http://127.0.0.1:{self.ports['a']}"

    def _start(self, name: str) -> ThreadingHTTPServer:
        servers = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
                answer = servers.answers[len(servers.seen)] if len(servers.seen) < len(servers.answers) else {}
                servers.seen.append([name, self.command, self.headers.get("x-auth-token"), body])
                self.send_response(answer.get("status", 200))
                if "location" in answer:
                    self.send_header("location", servers.placed(answer["location"]))
                self.send_header("content-length", "0")
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def placed(self, location: str) -> str:
        for name, port in self.ports.items():
            location = location.replace(f"{{{name}}}", f"127.0.0.1:{port}").replace(f"{{{name}.port}}", str(port))
        return location

    def close(self) -> None:
        for server in self._running.values():
            server.shutdown()
            server.server_close()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    running = Servers()
    yield running
    running.close()


def token(number: int) -> IssuedToken:
    return IssuedToken("X-Auth-Token", f"token-{number}", "badge", Scope("1"), "id", None, None)


class Issuer(Client):
    """Issues "token-1", "token-2" and so on."""

    count = 0

    def issue(self, *_: Any, **__: Any) -> IssuedToken:
        self.count += 1
        return token(self.count)


class AsyncIssuer(AsyncClient):
    """The same."""

    count = 0

    async def issue(self, *_: Any, **__: Any) -> IssuedToken:
        self.count += 1
        return token(self.count)


WISH = {"profile": "job", "api": "balance"}
Failures = (requests.RequestException, httpx.HTTPError, httpx.InvalidURL)


async def status_of(way: str, origin: str, method: str, body: str) -> int | None:
    """``None``: there was an error."""
    url, content = f"{origin}/start", body.encode() or None
    try:
        if way == "requests":
            auth = CredentialAuth(Issuer(), **WISH)
            return requests.request(method, url, data=content, auth=auth, timeout=60).status_code
        if way == "httpx":
            transport = CredentialTransport(Issuer(), origin, **WISH)
            with httpx.Client(transport=transport, follow_redirects=True) as http:
                return http.request(method, url, content=content).status_code
        asynchronous = AsyncCredentialTransport(AsyncIssuer(), origin, **WISH)
        async with httpx.AsyncClient(transport=asynchronous, follow_redirects=True) as http:
            return (await http.request(method, url, content=content)).status_code
    except Failures:
        return None


@pytest.mark.parametrize("way", ["requests", "httpx", "httpx with asyncio"])
@pytest.mark.parametrize("row", [row for row in ROWS if "answers" in row], ids=lambda row: row["name"])
async def test_redirects(servers: Servers, row: dict[str, Any], way: str) -> None:
    servers.answers, servers.seen = row["answers"], []
    status = await status_of(way, servers.origin, row["method"], row["body"])
    found = servers.seen
    assert len(found) >= row.get("least", len(row["requests"])), found
    assert found == row["requests"][: len(found)]
    assert status in (None, row["answers"][len(found) - 1]["status"])


@pytest.mark.parametrize("row", [row for row in ROWS if "from" in row], ids=json.dumps)
def test_origins(row: dict[str, Any]) -> None:
    some, other = row["from"], row["to"]
    assert (requests_origin(some) == requests_origin(other)) is row["same"]
    assert (httpx_origin(httpx.URL(some)) == httpx_origin(httpx.URL(other))) is row["same"]


@pytest.mark.parametrize(
    "url", ["http://a.example\\@b.example/", "http://a.example:x/", "http://[a.example/", "a", None]
)
def test_what_cannot_be_read_in_one_way_has_no_origin(url: str | None) -> None:
    assert requests_origin(url) is None
