"""The credential of a profile on requests, before real servers and a real sidecar."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
import requests

from portcullis_client import AsyncClient, Client, PortcullisError
from portcullis_client.httpx import AsyncCredentialTransport, CredentialTransport
from portcullis_client.requests import CredentialAuth

from .conftest import Sidecar, eventually

JOB = "job-caller-token-0123456789abcdef"


def _has_profile(client: Client) -> bool:
    try:
        return client.issue("job", apis=["iam"]).header == "X-Auth-Token"
    except PortcullisError:
        return False


class Api:
    """A server that asks the sidecar about the token that came, and can redirect."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.seen: list[tuple[str, str, bytes]] = []
        self.redirects: dict[str, tuple[int, str]] = {}
        self.closed = False
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                api.seen.append((self.path, self.headers.get("x-auth-token", ""), body))
                status, location = api.redirects.get(self.path, (0, ""))
                if status == 0:
                    pairs = list(self.headers.items())
                    status = 200 if not api.closed and api.verifier.check("iam", pairs).allowed else 401
                self.send_response(status)
                if location:
                    self.send_header("location", location)
                self.send_header("content-length", "0")
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self.verifier = Client(sidecar.address)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def issuing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """A sidecar with a profile: its user is that of the demo of an earlier start in the same data folder."""
    folder = tmp_path_factory.mktemp("issuing")
    running = Sidecar(folder)
    (folder / "password").write_text(running.password)
    (folder / "job").write_text(JOB)
    job = {"account": running.account, "user_name": "demo", "password_file": "password"}
    callers = [{"name": "job", "token_file": "job", "profiles": ["job"]}]
    file = folder / "portcullis.yaml"
    file.write_text(json.dumps({"profiles": {"job": job}, "callers": callers}))
    for name in ("password", "job", "portcullis.yaml"):
        (folder / name).chmod(0o600)
    running.reload()
    with Client(running.address, caller_token=JOB) as client:
        eventually(lambda: _has_profile(client))
    yield running
    running.stop()


@pytest.fixture
def api(issuing: Sidecar) -> Iterator[Api]:
    running = Api(issuing)
    yield running
    running.close()


class Counting(Client):
    def __init__(self, address: str) -> None:
        super().__init__(address, caller_token=JOB)
        self.asked: list[str | None] = []

    def issue(self, *arguments: Any, **options: Any) -> Any:
        self.asked.append(options["rejected"])
        return super().issue(*arguments, **options)


def session(client: Client) -> requests.Session:
    made = requests.Session()
    made.auth = CredentialAuth(client, profile="job", api="iam")
    return made


def httpx_client(client: Client, origin: str) -> httpx.Client:
    transport = CredentialTransport(client, origin, profile="job", api="iam")
    return httpx.Client(transport=transport, follow_redirects=True)


@pytest.fixture(params=["requests", "httpx"])
def sending(request: pytest.FixtureRequest, issuing: Sidecar, api: Api) -> tuple[Counting, Any]:
    client = Counting(issuing.address)
    return client, session(client) if request.param == "requests" else httpx_client(client, api.origin)


def test_one_token_for_many_requests(sending: tuple[Counting, Any], api: Api) -> None:
    client, http = sending
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: http.get(api.origin).status_code, range(20)))
    assert statuses == [200] * 20
    assert client.asked == [None]


def test_a_token_that_is_refused_is_renewed_once(sending: tuple[Counting, Any], api: Api) -> None:
    client, http = sending
    http.get(api.origin)
    value = api.seen[0][1]
    api.verifier.revoke(value=value)
    response = http.post(api.origin, json={"name": "one"})
    assert response.status_code == 200
    assert client.asked == [None, value]
    assert [json.loads(body) for _, token, body in api.seen if token != value] == [{"name": "one"}]
    api.closed = True
    before = len(api.seen)
    assert http.get(api.origin).status_code == 401
    assert len(api.seen) - before <= 2


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_credential_stays_within_the_origin(
    sending: tuple[Counting, Any], api: Api, issuing: Sidecar, status: int
) -> None:
    other = Api(issuing)
    api.redirects = {"/within": (status, "/end"), "/away": (status, f"{other.origin}/end")}
    _, http = sending
    assert http.get(f"{api.origin}/within").status_code == 200
    http.get(f"{api.origin}/away")
    assert [(path, token != "") for path, token, _ in api.seen] == [("/within", True), ("/end", True), ("/away", True)]
    assert [(path, token) for path, token, _ in other.seen] == [("/end", "")]
    other.close()


def test_without_a_token_nothing_is_sent(issuing: Sidecar, api: Api) -> None:
    with Client(issuing.address, caller_token=JOB) as client:
        auth = CredentialAuth(client, profile="no-such-profile", api="iam")
        with pytest.raises(PortcullisError):
            requests.get(api.origin, auth=auth, timeout=30)
    assert api.seen == []
    with pytest.raises(TypeError, match="api: expected a name"):
        CredentialAuth(Client(), profile="job", api="")


async def test_httpx_with_asyncio(issuing: Sidecar, api: Api) -> None:
    async with AsyncClient(issuing.address, caller_token=JOB) as client:
        transport = AsyncCredentialTransport(client, api.origin, profile="job", api="iam")
        async with httpx.AsyncClient(transport=transport) as http:
            assert (await http.get(api.origin)).status_code == 200
            api.verifier.revoke(value=api.seen[0][1])
            assert (await http.get(api.origin)).status_code == 200
