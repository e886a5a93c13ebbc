"""The lines of guards while no sidecar answers, and about an API that the matrix does not have."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent import futures
from typing import Any

import grpc
import pytest

from portcullis_client import AsyncClient, Client, PortcullisError, UnknownApiError, _reports, asgi, wsgi
from portcullis_client import fastapi as for_fastapi
from portcullis_client import grpc as for_grpc

from .conftest import Sidecar, eventually

NOWHERE = "unix:/nobody/listens/here"
UNKNOWN = "portcullis: the matrix has no API `balnce`, so the requests of its guard are denied; did you mean `balance`?"


class Clock:
    """One that is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 0.0
        monkeypatch.setattr(_reports, "CLOCK", self)

    def now(self) -> float:
        return self.at


def ask_wsgi(client: Client, api: str, token: str = "a", **options: Any) -> Callable[[], str]:
    """A guard of WSGI, and the status of a request to it."""
    guarded = wsgi.RequireToken(lambda *_: [b"passed"], client, api, **options)
    environ = {"REQUEST_METHOD": "GET", "HTTP_X_TOKEN": token, "wsgi.version": (1, 0), "SERVER_SOFTWARE": "gunicorn/26"}

    def ask() -> str:
        status = ["passed"]
        guarded(environ, lambda line, _headers: status.append(line))
        return status[-1][:6].strip()

    return ask


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def eventually_printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines: list[str] = []

    def look() -> list[str]:
        lines.extend(printed(capsys))
        return lines

    found: list[str] = eventually(look)
    return found


def test_the_guards_of_a_client_print_the_start_of_an_outage_then_a_count_and_its_end(
    sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    clock = Clock(monkeypatch)
    with Client(address) as client:
        asks = [ask_wsgi(client, api, sidecar.static_token) for api in ("balance", "reports")]
        assert [ask() for ask in asks * 2] == ["503 Se"] * 4
        [first] = printed(capsys)
        assert first.startswith(
            f"portcullis: no answer, so a request was refused: UNAVAILABLE no sidecar answers at {address}: "
        )
        clock.at = 60.0
        assert asks[0]() == "503 Se"
        [count] = printed(capsys)
        assert count.startswith(
            f"portcullis: 4 more requests could not be checked: UNAVAILABLE no sidecar answers at {address}: "
        )
        with sidecar.beside(address):
            clock.at = 69.0
            # Those that fail until the connection is there are counted.
            statuses: list[str] = []
            eventually(lambda: statuses.append(asks[0]()) or statuses[-1] == "passed")
            assert printed(capsys) == []
            clock.at = 79.0
            assert [ask() for ask in asks] == ["passed"] * 2
        again = f"portcullis: the sidecar answers again; {4 + len(statuses)} requests could not be checked"
        assert printed(capsys) == [again]


def test_a_listener_gets_each_failure(capsys: pytest.CaptureFixture[str]) -> None:
    failures: list[Exception] = []
    with Client(NOWHERE) as client:
        ask = ask_wsgi(client, "balance", on_failure=failures.append)
        assert [ask() for _ in range(3)] == ["503 Se"] * 3
    assert ([type(each) for each in failures], printed(capsys)) == ([PortcullisError] * 3, [])


def test_a_fault_of_the_program_is_a_line_each_time(sidecar: Sidecar, capsys: pytest.CaptureFixture[str]) -> None:
    def fault(_environ: Any) -> None:
        raise RuntimeError("a fault")

    with Client(sidecar.address) as client:
        ask = ask_wsgi(client, "balance", target=fault)
        assert [ask() for _ in range(2)] == ["500 In"] * 2
        assert ask_wsgi(client, "balance", sidecar.static_token)() == "passed"
    assert printed(capsys) == ["portcullis: no answer, so a request was refused: a fault"] * 2


def test_an_unknown_api_is_said_once_for_each_client(sidecar: Sidecar, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[Exception] = []
    with Client(sidecar.address) as client, Client(sidecar.address) as other:
        asks = [ask_wsgi(client, api) for api in ("balnce", "balnce", "balance")]
        assert [ask() for ask in asks * 2] == ["403 Fo", "403 Fo", "401 Un"] * 2
        listening = ask_wsgi(other, "nothing", on_failure=told.append)
        assert [listening() for _ in range(2)] == ["403 Fo"] * 2
        eventually(lambda: told)
        assert eventually_printed(capsys) == [UNKNOWN]
    assert [type(each) for each in told] == [UnknownApiError]
    assert str(told[0]) == "the matrix has no API `nothing`, so the requests of its guard are denied"


async def serving(app: Any) -> None:
    """The lifespan of a program."""

    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.startup"}

    async def send(_message: Any) -> None:
        pass

    await app({"type": "lifespan"}, receive, send)


async def nothing(*_: Any) -> None:
    pass


def begun_by_asgi(client: AsyncClient, *apis: str) -> Any:
    app: Any = nothing
    for api in apis:
        app = asgi.RequireToken(app, client, api)
    return serving(app)


async def begun_by_fastapi(client: AsyncClient, *apis: str) -> None:
    for api in apis:
        for_fastapi.require_token(client, api)


async def begun_by_grpc(client: AsyncClient, *apis: str) -> None:
    for api in apis:
        for_grpc.AsyncRequireToken(client, api)


@pytest.mark.parametrize("begun", [begun_by_asgi, begun_by_fastapi, begun_by_grpc])
async def test_guards_look_at_the_start_of_a_program(
    begun: Callable[..., Any], sidecar: Sidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    async with AsyncClient(sidecar.address) as client:
        await begun(client, "balnce", "balance", "balnce")
        assert await asyncio.to_thread(eventually_printed, capsys) == [UNKNOWN]
    async with AsyncClient(NOWHERE) as client:
        await begun(client, "balnce", "balance")
        [line] = await asyncio.to_thread(eventually_printed, capsys)
        assert line.startswith(f"portcullis: no sidecar answers at {NOWHERE}: ")
        assert line.endswith("; requests are denied until a sidecar answers")
        # The first failure of the outage was said already.
        scope = {"type": "http", "headers": []}
        await asgi.RequireToken(nothing, client, "balance")(scope, nothing, nothing)
    assert printed(capsys) == []


async def test_a_method_in_a_thread_of_a_server_says_it_too(
    sidecar: Sidecar, capsys: pytest.CaptureFixture[str]
) -> None:
    async with AsyncClient(sidecar.address) as client:
        guard = for_grpc.AsyncRequireToken(client, lambda _method: "balnce")
        server = grpc.aio.server(interceptors=[guard], migration_thread_pool=futures.ThreadPoolExecutor(1))
        made = {"Unary": grpc.unary_unary_rpc_method_handler(lambda *_: b"served")}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Service", made),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            for _ in range(2):
                with pytest.raises(grpc.RpcError, match="PERMISSION_DENIED"):
                    await channel.unary_unary("/test.Service/Unary")(b"")
        assert await asyncio.to_thread(eventually_printed, capsys) == [UNKNOWN]
        await server.stop(None)
