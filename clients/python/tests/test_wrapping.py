"""A guard does not change a call that passes: each kind of method works as without a guard."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest

from portcullis_client import AsyncClient, CheckAnswer, Client, current_answer
from portcullis_client import grpc as for_grpc

from .conftest import Sidecar, eventually

#: The answers of the guards that the handlers have seen.
Seen = list[CheckAnswer | None]

#: The acts of a method with its call. Each is done before its last response, and named in the request.
ACTS = [
    "answers",
    "aborts",
    "aborts with a status",
    "aborts with trailers",
    "sets a status",
    "sends metadata",
    "says what it was sent",
    "knows its deadline",
    "fails",
    "adds a callback",
]
SERVICES = ["test.Generic", "test.Generated"]
KINDS = [(request, response) for request in ("unary", "stream") for response in ("unary", "stream")]


class Status(grpc.Status):
    """For ``abort_with_status``."""

    code = grpc.StatusCode.ABORTED
    details = "by a status"
    trailing_metadata = (("x-own", "status"),)


def act(name: str, context: Any, seen: Seen) -> Iterator[Any]:
    """The act of a method. Each of the steps is awaited where the method is asynchronous."""
    seen.append(current_answer())
    if name == "aborts":
        yield context.abort(grpc.StatusCode.PERMISSION_DENIED, "not yours")
    elif name == "aborts with a status" and hasattr(context, "abort_with_status"):
        yield context.abort_with_status(Status())
    elif name == "aborts with trailers":
        context.set_trailing_metadata((("x-own", "trailer"),))
        yield context.abort(grpc.StatusCode.NOT_FOUND, "there is none")
    elif name == "sets a status":
        context.set_code(grpc.StatusCode.FAILED_PRECONDITION)
        context.set_details("not now")
    elif name == "sends metadata":
        context.set_trailing_metadata((("x-own", "trailer"),))
        yield context.send_initial_metadata((("x-own", "initial"),))
    elif name == "says what it was sent":
        sent = dict(context.invocation_metadata())
        context.set_trailing_metadata((("x-own", sent["x-sent"]), ("x-peer", context.peer().partition(":")[0])))
    elif name == "knows its deadline":
        context.set_trailing_metadata((("x-own", str(0 < context.time_remaining() < 61)),))
    elif name == "adds a callback":
        names = ("add_callback", "add_done_callback")
        context.set_trailing_metadata((("x-own", ",".join(each for each in names if hasattr(context, each))),))
    elif name == "fails":
        raise ValueError("the records do not answer")


def plain(kind: tuple[str, str], seen: Seen) -> Callable[..., Any]:
    """A method as ``def``."""

    def name_in(request: Any) -> str:
        return (request if kind[0] == "unary" else b"".join(request)).decode()

    def unary(request: Any, context: Any) -> bytes:
        for _ in act(name_in(request), context, seen):
            pass
        return b"done"

    def streaming(request: Any, context: Any) -> Iterator[bytes]:
        name = name_in(request)
        # While a response is sent, gRPC for asyncio loses the status with which a thread aborts.
        if name != "sends metadata" and not name.startswith("aborts"):
            yield b"begun"
        for _ in act(name, context, seen):
            pass
        yield b"done"

    return unary if kind[1] == "unary" else streaming


async def asked(request: Any) -> str:
    return (request if isinstance(request, bytes) else b"".join([each async for each in request])).decode()


async def acted(name: str, context: Any, seen: Seen) -> None:
    for step in act(name, context, seen):
        if inspect.isawaitable(step):
            await step


def asynchronous(kind: tuple[str, str], seen: Seen) -> Callable[..., Any]:
    """A method as ``async def``."""

    async def unary(request: Any, context: Any) -> bytes:
        await acted(await asked(request), context, seen)
        return b"done"

    async def streaming(request: Any, context: Any) -> AsyncIterator[bytes]:
        name = await asked(request)
        if name != "sends metadata":
            yield b"begun"
        await acted(name, context, seen)
        yield b"done"

    return unary if kind[1] == "unary" else streaming


def writing(kind: tuple[str, str], seen: Seen) -> Callable[..., Any]:
    """A method as ``async def`` that reads and writes by its context."""

    async def unary(_request: Any, context: Any) -> bytes:
        await acted((await context.read()).decode(), context, seen)
        return b"done"

    async def streaming(request: Any, context: Any) -> None:
        name = (request if kind[0] == "unary" else await context.read()).decode()
        if name != "sends metadata":
            await context.write(b"begun")
        await acted(name, context, seen)
        await context.write(b"done")

    return (asynchronous(kind, seen) if kind[0] == "unary" else unary) if kind[1] == "unary" else streaming


def same(value: bytes) -> bytes:
    return value


def add_methods(server: Any, styles: list[Any], seen: Seen) -> None:
    """Methods of each style and kind, as generated code adds them and by a handler of the program."""
    made = {
        f"{style.__name__}_{request}_{response}": getattr(grpc, f"{request}_{response}_rpc_method_handler")(
            style((request, response), seen), same, same
        )
        for style in styles
        for request, response in KINDS
    }
    for service in SERVICES:
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, made),))
    server.add_registered_method_handlers("test.Generated", made)


@contextlib.contextmanager
def with_threads(sidecar: Sidecar | None, seen: Seen, options: dict[str, Any]) -> Iterator[str]:
    with Client(sidecar.address if sidecar else None) as client:
        guards = [for_grpc.RequireToken(client, **options)] if sidecar else []
        server = grpc.server(futures.ThreadPoolExecutor(2), interceptors=guards)
        add_methods(server, [plain], seen)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()


@contextlib.contextmanager
def with_asyncio(sidecar: Sidecar | None, seen: Seen, options: dict[str, Any]) -> Iterator[str]:
    address: futures.Future[str] = futures.Future()
    stop = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with AsyncClient(sidecar.address if sidecar else None) as client:
            guards = [for_grpc.AsyncRequireToken(client, **options)] if sidecar else []
            server = grpc.aio.server(futures.ThreadPoolExecutor(2), interceptors=guards)
            add_methods(server, [plain, asynchronous, writing], seen)
            port = server.add_insecure_port("127.0.0.1:0")
            await server.start()
            address.set_result(f"127.0.0.1:{port}")
            await stop.wait()
            await server.stop(None)

    with futures.ThreadPoolExecutor(1) as thread:
        serving = thread.submit(loop.run_until_complete, serve())
        try:
            yield address.result(30)
        finally:
            loop.call_soon_threadsafe(stop.set)
            serving.result(30)
            loop.close()


def outcome(channel: grpc.Channel, method: str, kind: tuple[str, str], name: str, token: str) -> tuple[Any, ...]:
    """All that a client sees of a call."""
    call = getattr(channel, "_".join(kind))(method)
    request = name.encode() if kind[0] == "unary" else iter([name.encode()])
    metadata = (("x-token", token), ("x-sent", "by the client"))
    responses: list[bytes] = []
    if kind[1] == "unary":
        future = call.future(request, metadata=metadata, timeout=60)
        with contextlib.suppress(grpc.RpcError):
            responses.append(future.result())
    else:
        future = call(request, metadata=metadata, timeout=60)
        with contextlib.suppress(grpc.RpcError):
            responses.extend(future)
    told = [[(name, value) for name, value in each or () if name.startswith("x-")] for each in metadata_of(future)]
    return responses, future.code(), future.details(), told


def metadata_of(call: Any) -> tuple[Any, Any]:
    return call.initial_metadata(), call.trailing_metadata()


SERVERS = {
    "threads": (with_threads, [plain]),
    "asyncio": (with_asyncio, [plain, asynchronous, writing]),
}


@pytest.mark.parametrize("server", list(SERVERS))
def test_a_call_that_passes_is_not_changed(sidecar: Sidecar, server: str) -> None:
    serving, styles = SERVERS[server]
    bare: Seen = []
    guarded: Seen = []
    with (
        serving(None, bare, {}) as without,
        serving(sidecar, guarded, {"api": "balance"}) as behind,
        grpc.insecure_channel(without) as expected,
        grpc.insecure_channel(behind) as found,
    ):
        for style in styles:
            for kind in KINDS:
                for service in SERVICES:
                    for name in ACTS:
                        method = f"/{service}/{style.__name__}_{kind[0]}_{kind[1]}"
                        asked = (method, kind, name, sidecar.static_token)
                        assert outcome(found, *asked) == outcome(expected, *asked), (method, name)
    assert bare == [None] * len(styles) * len(KINDS) * len(SERVICES) * len(ACTS)
    assert {answer.token.subject.name for answer in guarded if answer and answer.token} == {"owner"}
    assert len([answer for answer in guarded if answer]) == len(bare)


@pytest.mark.parametrize("server", list(SERVERS))
def test_a_call_that_does_not_pass_reaches_no_method(sidecar: Sidecar, server: str) -> None:
    serving, styles = SERVERS[server]
    seen: Seen = []
    with serving(sidecar, seen, {"api": "balance"}) as address, grpc.insecure_channel(address) as channel:
        for style in styles:
            for kind in KINDS:
                method = f"/test.Generated/{style.__name__}_{kind[0]}_{kind[1]}"
                responses, code, _, told = outcome(channel, method, kind, "answers", "unknown")
                assert (responses, code) == ([], grpc.StatusCode.UNAUTHENTICATED), method
                assert ("x-portcullis-reason", "CREDENTIAL_INVALID") in told[1]
    assert seen == []


async def test_a_cancelled_call_ends_its_method(sidecar: Sidecar) -> None:
    ended: set[str] = set()

    async def unary(_request: bytes, _context: Any) -> bytes:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.add("unary")
        return b""

    async def streaming(_request: bytes, _context: Any) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"more"
        finally:
            ended.add("streaming")

    async def writing(_request: bytes, context: Any) -> None:
        try:
            while True:
                await context.write(b"more")
        finally:
            ended.add("writing")

    def in_thread(_request: bytes, _context: Any) -> Iterator[bytes]:
        try:
            while True:
                yield b"more"
        finally:
            ended.add("in thread")

    started = threading.Event()
    methods = {
        "unary": grpc.unary_unary_rpc_method_handler(unary, same, same),
        "streaming": grpc.unary_stream_rpc_method_handler(streaming, same, same),
        "writing": grpc.unary_stream_rpc_method_handler(writing, same, same),
    }
    threaded = {"in thread": grpc.unary_stream_rpc_method_handler(in_thread, same, same)}
    with Client(sidecar.address) as client:
        async with AsyncClient(sidecar.address) as async_client:
            server = grpc.aio.server(interceptors=[for_grpc.AsyncRequireToken(async_client, "balance")])
            beside = grpc.server(futures.ThreadPoolExecutor(1), interceptors=[for_grpc.RequireToken(client, "balance")])
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Service", methods),))
            beside.add_registered_method_handlers("test.Service", threaded)
            ports = server.add_insecure_port("127.0.0.1:0"), beside.add_insecure_port("127.0.0.1:0")
            await server.start()
            beside.start()

            def cancel(name: str, port: int) -> None:
                metadata = (("x-token", sidecar.static_token),)
                with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                    if name == "unary":
                        call: Any = channel.unary_unary(f"/test.Service/{name}").future(b"", metadata=metadata)
                        assert started.wait(60)
                    else:
                        call = channel.unary_stream(f"/test.Service/{name}")(b"", metadata=metadata)
                        assert next(call) == b"more"
                    call.cancel()
                    eventually(lambda: name in ended)

            for name in (*methods, *threaded):
                await asyncio.to_thread(cancel, name, ports[name in threaded])
            await server.stop(None)
            beside.stop(None).wait()
