"""The guards of every framework before a real sidecar: the same rows through each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import grpc
import httpx
import pytest
import uvicorn
from fastapi import Depends, FastAPI

from portcullis_client import (
    AsyncClient,
    CheckAnswer,
    Client,
    FoundRoute,
    PortcullisError,
    Request,
    Scope,
    asgi,
    current_answer,
    wsgi,
)
from portcullis_client import fastapi as for_fastapi
from portcullis_client import grpc as for_grpc

from .conftest import ACCOUNT, FOLLOWER, Sidecar, eventually

Serving = Callable[..., contextlib.AbstractContextManager[str]]


def named(target: Callable[[Any], Scope | None]) -> dict[str, Any]:
    """How a guard knows the API and the target, where the routes of the sidecar do not say them."""
    return {"api": "balance", "target": target}


#: Or they do.
ROUTED: dict[str, Any] = {"routes": True}


def account_of(path: str) -> Scope | None:
    parts = path.split("/")
    return Scope(parts[2]) if len(parts) == 4 else None


def quiet(_error: Exception) -> None:
    pass


@contextlib.contextmanager
def served_by_uvicorn(app: Any) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        pass
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@contextlib.contextmanager
def by_asgi(address: str, token: str, routed: bool = False) -> Iterator[str]:
    async def app(scope: Any, _receive: Any, send: Any) -> None:
        answer = scope["portcullis"]
        assert (answer.route is not None and answer.route.api == "balance") == routed
        assert current_answer() is answer
        body = json.dumps({"served": answer.token.subject.name}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    client = AsyncClient(address, caller_token=token, local=True, timeout=5)
    how = ROUTED if routed else named(lambda scope: account_of(scope["path"]))
    guarded = asgi.RequireToken(app, client, **how, on_failure=quiet)
    with served_by_uvicorn(guarded) as origin:
        yield origin


@contextlib.contextmanager
def by_fastapi(address: str, token: str, routed: bool = False) -> Iterator[str]:
    app = FastAPI(exception_handlers=for_fastapi.exception_handlers)
    client = AsyncClient(address, caller_token=token, local=True, timeout=5)
    how = ROUTED if routed else named(lambda request: account_of(request.url.path))
    guard = for_fastapi.require_token(client, **how, on_failure=quiet)

    # Annotations of a function inside of another one cannot be resolved by name.
    async def balance(answer: Any = Depends(guard)) -> dict[str, str]:  # noqa: B008
        return {"served": answer.token.subject.name}

    app.get("/{path:path}")(balance)
    with served_by_uvicorn(app) as origin:
        yield origin


@contextlib.contextmanager
def by_wsgi(address: str, token: str, routed: bool = False) -> Iterator[str]:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("content-type", "application/json")])
        return [json.dumps({"served": environ["portcullis.answer"].token.subject.name}).encode()]

    class Silent(WSGIRequestHandler):
        def get_environ(self) -> Any:
            # As gunicorn has it.
            return {**super().get_environ(), "RAW_URI": self.requestline.split()[1]}

        def log_message(self, *_: Any) -> None:
            pass

    client = Client(address, caller_token=token, local=True, timeout=5)
    how = ROUTED if routed else named(lambda environ: account_of(environ["PATH_INFO"]))
    guarded = wsgi.RequireToken(app, client, **how, on_failure=quiet)
    with make_server("127.0.0.1", 0, guarded, handler_class=Silent) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
    client.close()


FRAMEWORKS: dict[str, Serving] = {"asgi": by_asgi, "fastapi": by_fastapi, "wsgi": by_wsgi}


@pytest.fixture(params=[f"{name}{how}" for name in FRAMEWORKS for how in ("", " by routes")])
def origin(request: pytest.FixtureRequest, sidecar: Sidecar) -> Iterator[str]:
    name, _, how = str(request.param).partition(" ")
    with FRAMEWORKS[name](sidecar.address, FOLLOWER, how != "") as running:
        yield running


@pytest.fixture(params=list(FRAMEWORKS))
def routed(request: pytest.FixtureRequest, sidecar: Sidecar) -> Iterator[str]:
    with FRAMEWORKS[request.param](sidecar.address, FOLLOWER, True) as running:
        yield running


def test_the_routes_refuse(routed: str, sidecar: Sidecar) -> None:
    def ask(path: str, more: str = "") -> str:
        host, _, port = routed.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as connection:
            headers = f"Host: a\r\nX-Token: {sidecar.static_token}\r\nConnection: close\r\n{more}"
            connection.sendall(f"GET {path} HTTP/1.1\r\n{headers}\r\n".encode("latin-1"))
            answered = connection.makefile("rb").read().decode()
        reason = re.search(r"(?im)^x-portcullis-reason: (\S+)", answered)
        return reason[1] if reason is not None else answered[9:12]

    balance = f"/accounts/{ACCOUNT}/balance"
    rows = [
        (balance, "", "200"),
        (f"{balance}?x=y", "", "200"),
        (f"{balance}/", "", "NOT_CANONICAL"),
        (f"/accounts/x/../{ACCOUNT}/balance", "", "NOT_CANONICAL"),
        (f"/accounts/{ACCOUNT}/%62alance", "", "NOT_CANONICAL"),
        (f"/accounts/{ACCOUNT}/Balance", "", "NOT_CANONICAL"),
        (f"//accounts/{ACCOUNT}/balance", "", "NOT_CANONICAL"),
        (balance, "X-Original-URL: /other\r\n", "NOT_CANONICAL"),
        (f"/accounts/{ACCOUNT}/other", "", "NO_ROUTE"),
        ("/accounts/1%202/balance", "", "ACCOUNT_MISMATCH"),
    ]
    for _ in range(2):
        for path, more, expected in rows:
            assert ask(path, more) == expected, (path, more)


def test_a_plain_request_is_not_asked_about(sidecar: Sidecar) -> None:
    with Client(sidecar.address, caller_token=FOLLOWER, local=True) as client:
        headers = {"X-Token": sidecar.static_token}
        plain = Request("GET", "api.example.com", f"/accounts/{ACCOUNT}/balance")

        def local() -> CheckAnswer | None:
            client.check(credentials=headers, request=plain)
            return client.check_locally(credentials=headers, request=plain)

        answer = eventually(local)
        assert (answer.allowed, answer.route) == (True, FoundRoute("balance", Scope(ACCOUNT)))
        other = Request("GET", "api.example.com", f"/accounts/{ACCOUNT}/Balance")
        assert client.check_locally(credentials=headers, request=other) is None
        with pytest.raises(TypeError, match="request"):
            client.check_locally("balance", headers, request=plain, target=Scope(ACCOUNT))
        refused = client.check(credentials=headers, request=other)
        assert (refused.allowed, refused.route) == (False, FoundRoute("", None, "NOT_CANONICAL"))


def test_routes_that_are_said_wrong(sidecar: Sidecar) -> None:
    target = named(lambda _given: Scope("1"))["target"]
    with Client(sidecar.address) as client:
        for how in ({}, {"api": "balance", "routes": True}, {"routes": True, "target": target}):
            with pytest.raises(TypeError):
                wsgi.RequireToken(lambda *_: [], client, **how)
            with pytest.raises(TypeError):
                for_grpc.RequireToken(client, **how)
        with pytest.raises(TypeError):
            for_grpc.RequireToken(client, api_of, routes=True)
        for how in ({"api": "balance", "host": "api.example.com"}, {"routes": True, "host": None}):
            with pytest.raises(TypeError, match="host"):
                for_grpc.RequireToken(client, **how)
        with pytest.raises(TypeError, match="request"):
            client.check("balance", {}, request=Request("GET", "a", "/"))


WSGI_PATHS: list[tuple[str, dict[str, str], str]] = [
    ("the path", {}, "200"),
    ("a script", {"SCRIPT_NAME": "/accounts", "PATH_INFO": f"/{ACCOUNT}/balance"}, "200"),
    ("no path as it arrived", {"RAW_URI": ""}, "NOT_CANONICAL"),
    ("a handler of another path", {"PATH_INFO": "/other"}, "NOT_CANONICAL"),
    ("a script beside the path", {"SCRIPT_NAME": "/accounts"}, "NOT_CANONICAL"),
    # The value that gunicorn makes of a header `SCRIPT_NAME` of a neighbour.
    (
        "a script of the sender",
        {"SCRIPT_NAME": "/accounts", "PATH_INFO": f"/{ACCOUNT}/balance", "HTTP_SCRIPT_NAME": "/accounts"},
        "NOT_CANONICAL",
    ),
]


@pytest.mark.parametrize(("more", "expected"), [row[1:] for row in WSGI_PATHS], ids=[row[0] for row in WSGI_PATHS])
def test_wsgi_goes_by_the_path_of_the_handler(more: dict[str, str], expected: str, sidecar: Sidecar) -> None:
    path = f"/accounts/{ACCOUNT}/balance"
    environ = {"REQUEST_METHOD": "GET", "HTTP_HOST": "a", "HTTP_X_TOKEN": sidecar.static_token, "wsgi.version": (1, 0)}
    status: list[str] = []
    with Client(sidecar.address) as client:
        guarded = wsgi.RequireToken(lambda *_: [b'{"error":{"reason":"200"}}'], client, routes=True)
        body = b"".join(
            guarded({**environ, "RAW_URI": path, "PATH_INFO": path, **more}, lambda line, _headers: status.append(line))
        )
    assert json.loads(body)["error"]["reason"] == expected


def test_wsgi_sees_the_headers_that_arrived(sidecar: Sidecar) -> None:
    rows = [
        ("X-Token: TOKEN", "200"),
        ("X_Token: TOKEN", "CREDENTIAL_MISSING"),
        ("X-Token: TOKEN\r\nX_Token: TOKEN", "200"),
        ("X-Token: TOKEN\r\nx-token: TOKEN", "CREDENTIAL_AMBIGUOUS"),
        *((f"X-Token: TOKEN{blank}", "CREDENTIAL_MALFORMED") for blank in "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0"),
    ]
    with by_wsgi(sidecar.address, FOLLOWER) as origin:
        host, _, port = origin.removeprefix("http://").partition(":")
        for lines, expected in rows:
            with socket.create_connection((host, int(port))) as connection:
                head = f"GET /accounts/{ACCOUNT}/balance HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n\r\n"
                connection.sendall(head.replace("TOKEN", sidecar.static_token).encode("latin-1"))
                answered = connection.makefile("rb").read().decode()
            reason = re.search(r"(?im)^x-portcullis-reason: (\S+)", answered)
            assert (reason[1] if reason is not None else answered[9:12]) == expected, lines


SERVERS: list[tuple[str, dict[str, str], bool, str]] = [
    ("cheroot", {"ACTUAL_SERVER_PROTOCOL": "HTTP/1.1", "SERVER_SOFTWARE": "any"}, False, "cheroot keeps the last"),
    ("wsgiref behind a wrapper", {"SERVER_SOFTWARE": "WSGIServer/0.2"}, False, "`WSGIServer/0.2` changes headers"),
    ("gevent behind a wrapper", {"SERVER_SOFTWARE": "gevent/26.9"}, False, "`gevent/26.9` changes headers"),
    ("another server", {"SERVER_SOFTWARE": "Other/1"}, True, "`Other/1` was not tested"),
    ("gunicorn", {"SERVER_SOFTWARE": "gunicorn/27.0.1"}, True, ""),
]


@pytest.mark.parametrize(("more", "passes", "said"), [row[1:] for row in SERVERS], ids=[row[0] for row in SERVERS])
def test_wsgi_says_once_what_a_server_loses(
    more: dict[str, str], passes: bool, said: str, sidecar: Sidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"REQUEST_METHOD": "GET", "HTTP_X_TOKEN": sidecar.static_token, "wsgi.version": (1, 0), **more}
    status: list[str] = []
    with Client(sidecar.address) as client:
        guarded = wsgi.RequireToken(lambda *_: [b"passed"], client, "balance")
        bodies = [b"".join(guarded(environ, lambda line, _headers: status.append(line))) for _ in range(2)]
    assert [body == b"passed" for body in bodies] == [passes] * 2
    assert status == [] if passes else status == ["500 Internal Server Error"] * 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (said != "")
    assert all(said in line for line in lines)


TRAILERS: list[tuple[str, bool, list[str], bool]] = [
    ("a chunked request whose last header says so", True, ["x-token", "transfer-encoding"], True),
    ("a header that could be a trailer", True, ["transfer-encoding", "x-token"], False),
    ("another parser", False, ["transfer-encoding", "x-token"], True),
    ("a request with a length", True, ["content-length", "x-token"], True),
]


@pytest.mark.parametrize(
    ("is_httptools", "names", "passes"), [row[1:] for row in TRAILERS], ids=[row[0] for row in TRAILERS]
)
def test_asgi_takes_no_trailer_for_a_header(
    is_httptools: bool, names: list[str], passes: bool, sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_httptools:
        monkeypatch.setitem(sys.modules, "uvicorn.protocols.http.httptools_impl", sys)
    else:
        monkeypatch.delitem(sys.modules, "uvicorn.protocols.http.httptools_impl", raising=False)
    values = {"x-token": sidecar.static_token, "transfer-encoding": "chunked", "content-length": "0"}
    scope = {"type": "http", "headers": [(name.encode(), values[name].encode()) for name in names]}
    answered: list[Any] = []

    async def app(*_: Any) -> None:
        answered.append("passed")

    async def send(message: Any) -> None:
        answered.append(message.get("status", ""))

    async def ask() -> None:
        async with AsyncClient(sidecar.address) as client:
            await asgi.RequireToken(app, client, "balance")(scope, send, send)

    asyncio.run(ask())
    assert answered == (["passed"] if passes else [403, ""])


ASGI_PATHS: list[tuple[str, dict[str, Any], bool]] = [
    ("the path", {}, True),
    ("a root", {"root_path": "/accounts"}, True),
    ("a root with a slash", {"root_path": "/accounts/"}, True),
    ("what is mounted", {"root_path": "/other", "app_root_path": ""}, True),
    ("no path as it arrived", {"raw_path": None}, False),
    ("a handler of another path", {"path": "/other"}, False),
    ("a root that some requests have and others do not", {"root_path": "/account"}, False),
]


@pytest.mark.parametrize(("more", "passes"), [row[1:] for row in ASGI_PATHS], ids=[row[0] for row in ASGI_PATHS])
def test_asgi_goes_by_the_path_of_the_handler(more: dict[str, Any], passes: bool, sidecar: Sidecar) -> None:
    path = f"/accounts/{ACCOUNT}/balance"
    headers = [(b"host", b"a"), (b"x-token", sidecar.static_token.encode())]
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "headers": headers}
    passed: list[bool] = []

    async def app(*_: Any) -> None:
        passed.append(True)

    async def ignore(*_: Any) -> Any:
        return {}

    async def ask() -> None:
        async with AsyncClient(sidecar.address) as client:
            await asgi.RequireToken(app, client, routes=True)({**scope, **more}, ignore, ignore)

    asyncio.run(ask())
    assert passed == [True] * passes


ROWS: list[tuple[str, list[tuple[str, str]], int, str]] = [
    ("no token", [], 401, "CREDENTIAL_MISSING"),
    ("an unknown token", [("X-Token", "nobody")], 401, "CREDENTIAL_INVALID"),
    ("a static token in another header", [("X-Auth-Token", "TOKEN")], 401, "WRONG_HEADER"),
    ("two tokens", [("X-Token", "TOKEN"), ("X-Auth-Token", "a")], 401, "CREDENTIAL_AMBIGUOUS"),
    ("the header twice", [("X-Token", "TOKEN"), ("x-token", "TOKEN")], 401, "CREDENTIAL_AMBIGUOUS"),
]


def test_refuses(origin: str, sidecar: Sidecar) -> None:
    url = f"{origin}/accounts/{ACCOUNT}/balance"
    for claim, headers, status, reason in ROWS:
        sent = [(name, value.replace("TOKEN", sidecar.static_token)) for name, value in headers]
        # From memory the second time, where it can be.
        for _ in range(2):
            response = httpx.get(url, headers=sent)
            assert (response.status_code, response.headers["x-portcullis-reason"]) == (status, reason), claim
            error = response.json()["error"]
            assert error["reason"] == reason
            assert [each["header"] for each in error["accepted"]] == ["X-Auth-Token", "X-Token"]
            assert f'reason="{reason}"' in response.headers["www-authenticate"]


def test_lets_pass_and_hides_nothing(origin: str, sidecar: Sidecar) -> None:
    headers = {"X-Token": sidecar.static_token}
    for _ in range(3):
        response = httpx.get(f"{origin}/accounts/{ACCOUNT}/balance", headers=headers)
        assert (response.status_code, response.json()) == (200, {"served": "owner"})
        other = httpx.get(f"{origin}/accounts/999999/balance", headers=headers)
        assert (other.status_code, other.headers["x-portcullis-reason"]) == (403, "ACCOUNT_MISMATCH")
    nobody = httpx.get(f"{origin}/elsewhere", headers=headers)
    assert nobody.json()["error"]["reason"] in ("TARGET_NOT_FOUND", "NO_ROUTE")


@pytest.mark.parametrize("framework", list(FRAMEWORKS))
def test_without_a_sidecar(framework: str) -> None:
    with FRAMEWORKS[framework]("unix:/nobody/listens/here", "token") as running:
        response = httpx.get(f"{running}/accounts/1/balance", headers={"X-Token": "a"})
        assert (response.status_code, response.headers["retry-after"]) == (503, "1")
        assert response.json()["error"]["reason"] == "UNAVAILABLE"


def test_hide_others_and_failures_of_the_program(sidecar: Sidecar) -> None:
    seen: list[Exception] = []

    def app(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [b"served"]

    def broken(_environ: Any) -> Scope:
        raise RuntimeError("the records do not answer")

    def ask(target: Any) -> tuple[str, bytes]:
        status: list[str] = []
        with Client(sidecar.address) as client:
            guarded = wsgi.RequireToken(app, client, "balance", target=target, hide_others=True, on_failure=seen.append)
            environ = {"HTTP_X_TOKEN": sidecar.static_token, "wsgi.version": (1, 0)}
            body = b"".join(guarded(environ, lambda line, _headers: status.append(line)))
        return status[0], body

    assert ask(lambda _environ: Scope(ACCOUNT))[0] == "200 OK"
    assert ask(lambda _environ: Scope("999999"))[0] == "404 Not Found"
    assert ask(broken)[0] == "500 Internal Server Error"
    assert [str(error) for error in seen] == ["the records do not answer"]


def _identity(value: bytes) -> bytes:
    return value


def handlers(unary: Any, streaming: Any) -> grpc.GenericRpcHandler:
    made = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary, _identity, _identity),
        "Stream": grpc.unary_stream_rpc_method_handler(streaming, _identity, _identity),
        "Open": grpc.unary_unary_rpc_method_handler(lambda _request, _context: b"open", _identity, _identity),
    }
    return grpc.method_handlers_generic_handler("test.Service", made)


def api_of(method: str) -> str | None:
    return None if method.endswith("/Open") else "balance"


def name_of(answer: CheckAnswer | None) -> bytes:
    assert answer is not None
    assert answer.token is not None
    return answer.token.subject.name.encode()


def ask_grpc(address: str, sidecar: Sidecar, routed: bool) -> None:
    with grpc.insecure_channel(address) as channel:
        metadata = (("x-token", sidecar.static_token),)
        assert channel.unary_unary("/test.Service/Unary")(b"", metadata=metadata, timeout=30) == b"owner"
        answers = list(channel.unary_stream("/test.Service/Stream")(b"", metadata=metadata, timeout=30))
        assert answers == [b"owner"] * 2
        if not routed:
            assert channel.unary_unary("/test.Service/Open")(b"", timeout=30) == b"open"
        else:
            with pytest.raises(grpc.RpcError, match="no route has this method") as no_route:
                channel.unary_unary("/test.Service/Open")(b"", timeout=30)
            assert no_route.value.code() is grpc.StatusCode.PERMISSION_DENIED
        for call in (channel.unary_unary("/test.Service/Unary"), channel.unary_stream("/test.Service/Stream")):
            with pytest.raises(grpc.RpcError) as caught:
                list(call(b"", timeout=30))
            error: Any = caught.value
            assert error.code() is grpc.StatusCode.UNAUTHENTICATED
            assert error.details().startswith("no credential arrived; `balance` accepts")
            assert dict(error.trailing_metadata())["x-portcullis-reason"] == "CREDENTIAL_MISSING"


@pytest.mark.parametrize("how", [{"api": api_of}, ROUTED], ids=["by name", "by routes"])
def test_grpc_with_threads(sidecar: Sidecar, how: dict[str, Any]) -> None:
    def streaming(_request: bytes, _context: Any) -> Iterator[bytes]:
        for _ in range(2):
            yield name_of(current_answer())

    with Client(sidecar.address, caller_token=FOLLOWER, local=True) as client:
        server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=[for_grpc.RequireToken(client, **how)])

        def unary(_request: bytes, _context: Any) -> bytes:
            return name_of(current_answer())

        handler = handlers(unary, streaming)
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        for _ in range(3):
            ask_grpc(f"127.0.0.1:{port}", sidecar, how is ROUTED)
        server.stop(None).wait()


@pytest.mark.parametrize("how", [{"api": api_of}, ROUTED], ids=["by name", "by routes"])
async def test_grpc_with_asyncio(sidecar: Sidecar, how: dict[str, Any]) -> None:
    async def unary(_request: bytes, _context: Any) -> bytes:
        return name_of(current_answer())

    async def streaming(_request: bytes, _context: Any) -> Any:
        for _ in range(2):
            yield name_of(current_answer())

    async with AsyncClient(sidecar.address, caller_token=FOLLOWER, local=True) as client:
        server = grpc.aio.server(interceptors=[for_grpc.AsyncRequireToken(client, **how)])
        server.add_generic_rpc_handlers((handlers(unary, streaming),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        for _ in range(3):
            await asyncio.to_thread(ask_grpc, f"127.0.0.1:{port}", sidecar, how is ROUTED)
        await server.stop(None)


def test_the_host_of_a_server_of_grpc_is_said_by_the_program(sidecar: Sidecar) -> None:
    route = {"path": "/test.Service/", "host": "calls.example.com", "api": "balance"}
    with sidecar.beside(routes=[route]) as address, Client(address, caller_token=FOLLOWER, local=True) as client:

        def outcome(**how: Any) -> grpc.StatusCode:
            guard = for_grpc.RequireToken(client, routes=True, **how)
            server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=[guard])
            made = {"Unary": grpc.unary_unary_rpc_method_handler(lambda *_: b"served", _identity, _identity)}
            server.add_registered_method_handlers("test.Service", made)
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            # A host that a client names opens nothing.
            options = [("grpc.default_authority", "calls.example.com")]
            with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
                metadata = (("x-token", sidecar.static_token),)
                call = channel.unary_unary("/test.Service/Unary").future(b"", metadata=metadata, timeout=30)
                code: grpc.StatusCode = call.code()
            server.stop(None).wait()
            return code

        assert outcome(host="calls.example.com") is grpc.StatusCode.OK
        assert outcome(host="other.example.com") is grpc.StatusCode.PERMISSION_DENIED
        assert outcome() is grpc.StatusCode.PERMISSION_DENIED


def test_without_a_sidecar_grpc_is_unavailable() -> None:
    failures: list[Exception] = []
    with Client("unix:/nobody/listens/here") as client:
        guard = for_grpc.RequireToken(client, "balance", on_failure=failures.append)
        server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=[guard])
        server.add_generic_rpc_handlers((handlers(lambda *_: b"served", lambda *_: iter([b"served"])),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel, pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/test.Service/Unary")(b"", timeout=30)
        error: Any = caught.value
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert isinstance(failures[0], PortcullisError)
        server.stop(None).wait()
