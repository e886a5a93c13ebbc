"""The credential of a profile on requests, before real servers and a real sidecar."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
import requests

from portcullis_client import AsyncClient, Client, IssuedToken, PortcullisError, Scope
from portcullis_client.httpx import AsyncCredentialTransport, CredentialTransport
from portcullis_client.requests import CredentialAuth

from .conftest import FOLLOWER, Sidecar, revoked


class Api:
    """A server that asks the sidecar about the token that came, and can redirect."""

    def __init__(self, sidecar: Sidecar) -> None:
        self.seen: list[tuple[str, str, bytes]] = []
        self.redirects: dict[str, tuple[int, str]] = {}
        self.closed = False
        #: The value of `Authorization`; and the expected one, where no sidecar is asked.
        self.authorizations: list[str | None] = []
        self.expected = ""
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                api.authorizations.append(self.headers.get("authorization"))
                api.seen.append((self.path, self.headers.get("x-auth-token", ""), body))
                status, location = api.redirects.get(self.path, (0, ""))
                if status == 0 and api.expected:
                    status = 200 if api.authorizations[-1] == api.expected else 401
                elif status == 0:
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


@pytest.fixture
def api(sidecar: Sidecar) -> Iterator[Api]:
    running = Api(sidecar)
    yield running
    running.close()


class Counting(Client):
    def __init__(self, address: str) -> None:
        super().__init__(address, caller_token=FOLLOWER)
        self.asked: list[str | None] = []

    def issue(self, *arguments: Any, **options: Any) -> Any:
        self.asked.append(options["rejected"])
        return super().issue(*arguments, **options)


class BehindScheme(Client):
    """Issues tokens "token-1", "token-2" and so on, for `Authorization: Bearer`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str | None] = []

    def issue(self, *_: Any, **options: Any) -> IssuedToken:
        self.asked.append(options["rejected"])
        value = f"token-{len(self.asked)}"
        return IssuedToken("Authorization", value, "badge", Scope("1"), "id", None, None, "Bearer")


def session(client: Client) -> requests.Session:
    made = requests.Session()
    made.auth = CredentialAuth(client, profile="job", api="iam")
    return made


def httpx_client(client: Client, origin: str) -> httpx.Client:
    transport = CredentialTransport(client, origin, profile="job", api="iam")
    return httpx.Client(transport=transport, follow_redirects=True)


@pytest.fixture(params=["requests", "httpx"])
def sending(request: pytest.FixtureRequest, sidecar: Sidecar, api: Api) -> tuple[Counting, Any]:
    client = Counting(sidecar.address)
    return client, session(client) if request.param == "requests" else httpx_client(client, api.origin)


def test_one_token_for_many_requests(sending: tuple[Counting, Any], api: Api) -> None:
    client, http = sending
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: http.get(api.origin).status_code, range(20)))
    assert statuses == [200] * 20
    assert client.asked == [None]


def test_a_token_that_is_refused_is_renewed_once(sending: tuple[Counting, Any], api: Api, sidecar: Sidecar) -> None:
    client, http = sending
    http.get(api.origin)
    value = api.seen[0][1]
    revoked(sidecar, value)
    response = http.post(api.origin, json={"name": "one"})
    assert response.status_code == 200
    assert client.asked == [None, value]
    assert [json.loads(body) for _, token, body in api.seen if token != value] == [{"name": "one"}]
    api.closed = True
    before = len(api.seen)
    assert http.get(api.origin).status_code == 401
    assert len(api.seen) - before <= 2


@pytest.mark.parametrize("way", ["requests", "httpx"])
def test_a_token_is_sent_behind_its_scheme(api: Api, sidecar: Sidecar, way: str) -> None:
    api.expected = "Bearer token-2"
    other = Api(sidecar)
    api.redirects = {"/away": (307, f"{other.origin}/end")}
    client = BehindScheme()
    http: Any = session(client) if way == "requests" else httpx_client(client, api.origin)
    headers = {"Authorization": "Basic of-the-program"}
    assert http.get(api.origin, headers=headers).status_code == 200
    http.get(f"{api.origin}/away")
    assert api.authorizations == ["Bearer token-1", "Bearer token-2", "Bearer token-2"]
    assert client.asked == [None, "token-1"]
    assert other.authorizations == [None]
    other.close()


@pytest.mark.parametrize("way", ["requests", "httpx"])
def test_the_place_of_the_token_may_be_chosen(sidecar: Sidecar, api: Api, way: str) -> None:
    def send(client: Client, place: str) -> int:
        if way == "requests":
            auth = CredentialAuth(client, profile="job", api="iam", place=place)
            return requests.get(api.origin, auth=auth, timeout=30).status_code
        transport = CredentialTransport(client, api.origin, profile="job", api="iam", place=place)
        with httpx.Client(transport=transport) as http:
            return http.get(api.origin).status_code

    with Client(sidecar.address, caller_token=FOLLOWER) as client:
        assert send(client, "x-auth-token") == 200
        with pytest.raises(PortcullisError, match="place: expected a place of "):
            send(client, "X-Token")


def test_without_a_token_nothing_is_sent(sidecar: Sidecar, api: Api) -> None:
    with Client(sidecar.address, caller_token=FOLLOWER) as client:
        auth = CredentialAuth(client, profile="no-such-profile", api="iam")
        with pytest.raises(PortcullisError):
            requests.get(api.origin, auth=auth, timeout=30)
    assert api.seen == []
    with pytest.raises(TypeError, match="api: expected a name"):
        CredentialAuth(Client(), profile="job", api="")


async def test_httpx_with_asyncio(sidecar: Sidecar, api: Api) -> None:
    other = Api(sidecar)
    api.redirects = {"/within": (307, "/end"), "/away": (307, f"{other.origin}/end")}
    async with AsyncClient(sidecar.address, caller_token=FOLLOWER) as client:
        transport = AsyncCredentialTransport(client, api.origin, profile="job", api="iam", place="X-Auth-Token")
        with pytest.raises(PortcullisError, match="place: expected a place of "):
            await client.issue("job", apis=["iam"], place="X-Token")
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as http:
            assert (await http.get(f"{api.origin}/within")).status_code == 200
            await http.post(f"{api.origin}/away", content=b"body")
            value = api.seen[0][1]
            assert [(path, token) for path, token, _ in api.seen] == [(p, value) for p in ("/within", "/end", "/away")]
            assert [(path, token) for path, token, _ in other.seen] == [("/end", "")]
            revoked(sidecar, value)
            assert (await http.post(api.origin, content=b"body")).status_code == 200
            assert [body for _, token, body in api.seen if token not in ("", value)] == [b"body"]
    other.close()


def test_a_body_that_cannot_be_repeated_is_sent_once(sidecar: Sidecar, api: Api) -> None:
    client = Counting(sidecar.address)
    with httpx_client(client, api.origin) as http:
        http.get(api.origin)
        revoked(sidecar, api.seen[0][1])
        before = len(api.seen)
        headers = {"content-length": "4"}
        assert http.post(api.origin, content=iter([b"bo", b"dy"]), headers=headers).status_code == 401
        assert [body for _, _, body in api.seen[before:]] == [b"body"]
        assert client.asked == [None]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_auth_of_httpx_would_let_the_credential_go(sidecar: Sidecar, api: Api, status: int) -> None:
    """Why there is a transport: an ``httpx.Auth`` does not see the requests that follow a redirect."""

    class Auth(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
            seen.append(request.url.port)
            request.headers["X-Auth-Token"] = "secret"
            yield request

    seen: list[int | None] = []
    other = Api(sidecar)
    api.redirects = {"/away": (status, f"{other.origin}/end")}
    httpx.get(f"{api.origin}/away", auth=Auth(), follow_redirects=True)
    assert len(seen) == 1
    assert [token for _, token, _ in other.seen] == ["secret"]
    other.close()
