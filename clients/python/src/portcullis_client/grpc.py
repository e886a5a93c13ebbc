"""Guards methods of a gRPC server, with threads and with asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc

from ._aio import AsyncClient, is_in_loop
from ._client import Client
from ._guard import NO_TARGET, Denial, Guard, answering, is_target, keep_answer
from ._values import CheckAnswer, Request, Scope

#: The status for each status of HTTP.
_CODES = {
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
}


class _Options:
    def __init__(
        self,
        client: Client | AsyncClient,
        api: str | Callable[[str], str | None],
        target: Callable[[Any], Scope | None] | None,
        hide_others: bool,
        on_failure: Callable[[Exception], None] | None,
        routes: bool,
        host: str,
    ) -> None:
        self._api_of: Callable[[str], str | None] = api if callable(api) else lambda _method: api
        self._target, self._hide_others, self._on_failure, self._routes = target, hide_others, on_failure, routes
        self._host, self._client = host, client
        if callable(api) and routes:
            raise TypeError("api: expected none, because the routes say it")
        if not isinstance(host, str) or (host != "" and not routes):
            raise TypeError("host: expected a name, and only with `routes=True`")
        if not callable(api):
            guard = self.guard(api)
            if is_in_loop():
                guard.begin()

    def api_of(self, method: str) -> str | None:
        return self._api_of(method)

    def guard(self, api: str) -> Guard:
        return Guard(api, self._hide_others, self._on_failure, self._client, self._routes, self._target is not None)

    def judge(
        self, api: str, details: Any, ask: Callable[[dict[str, Any]], CheckAnswer]
    ) -> Callable[[Any], CheckAnswer | Denial]:
        guard = self.guard(api)

        def judge(context: Any) -> CheckAnswer | Denial:
            try:
                question = self.question(details, context)
                return question if isinstance(question, Denial) else guard.judged(ask(question))
            except Exception as error:
                return guard.failed(error)

        return judge

    def question(self, details: Any, context: Any) -> dict[str, Any] | Denial:
        target = self._target(context) if self._target is not None else None
        if self._target is not None and not is_target(target):
            return NO_TARGET
        pairs = [(name, value) for name, value in context.invocation_metadata() or ()]
        request = Request("POST", self._host, details.method) if self._routes else None
        return {
            "credentials": pairs,
            "request": request,
            "target": target,
            "client_address": _address_of(context.peer()),
        }


class RequireToken(grpc.ServerInterceptor):
    """For ``grpc.server(…, interceptors=[…])``: lets calls pass whose token opens an API.

    A method finds the answer by ``current_answer()``. A stream is asked about once, when it begins.
    """

    def __init__(
        self,
        client: Client,
        api: str | Callable[[str], str | None] = "",
        *,
        routes: bool = False,
        host: str = "",
        target: Callable[[grpc.ServicerContext], Scope | None] | None = None,
        hide_others: bool = False,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Guards the methods of a server.

        :param api: id of the API, or a function that names it for a method such as ``/package.Service/Method``;
            ``None``: the method is open to all.
        :param routes: in place of ``api`` and ``target``: the routes of the sidecar say them. A call is a request with
            the method ``POST`` and the path ``/package.Service/Method``.
        :param host: the name by which the routes know this server. gRPC for Python does not show the one that a client
            has sent. Without it the sidecar is asked about each call, and refuses it if some of its routes name hosts.
        :param target: as in ``portcullis_client.asgi.RequireToken``, from the context of the call.
        :param hide_others: answer NOT_FOUND where the resource belongs to others.
        :param on_failure: as in ``portcullis_client.asgi.RequireToken``. A guard that is made in an event loop looks
            then for its API; another one finds out at the first call.
        """
        self._client = client
        self._options = _Options(client, api, target, hide_others, on_failure, routes, host)

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = continuation(handler_call_details)
        api = self._options.api_of(handler_call_details.method)
        if handler is None or api is None:
            return handler
        judge = self._options.judge(api, handler_call_details, lambda question: self._client.check(api, **question))
        return _wrapped(handler, lambda behaviour, streams: _plain(behaviour, streams, judge))


class AsyncRequireToken(grpc.aio.ServerInterceptor):
    """For ``grpc.aio.server(interceptors=[…])``: lets calls pass whose token opens an API.

    A method finds the answer by ``current_answer()``. A method that is not asynchronous still runs in a thread of the
    server.
    """

    def __init__(
        self,
        client: AsyncClient,
        api: str | Callable[[str], str | None] = "",
        *,
        routes: bool = False,
        host: str = "",
        target: Callable[[Any], Scope | None] | None = None,
        hide_others: bool = False,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Guards the methods of a server. The parameters are those of ``RequireToken``."""
        self._client = client
        self._options = _Options(client, api, target, hide_others, on_failure, routes, host)

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        api = self._options.api_of(handler_call_details.method)
        if handler is None or api is None:
            return handler
        loop = asyncio.get_running_loop()

        def ask_from_thread(question: dict[str, Any]) -> CheckAnswer:
            # The client belongs to the loop.
            return asyncio.run_coroutine_threadsafe(self._client.check(api, **question), loop).result()

        def wrap(behaviour: Callable[..., Any], streams: bool) -> Callable[..., Any]:
            # The server distinguishes them in the same way. The others run in its threads.
            if inspect.iscoroutinefunction(behaviour) or inspect.isasyncgenfunction(behaviour):
                return self._asynchronous(behaviour, api, handler_call_details)
            return _plain(behaviour, streams, self._options.judge(api, handler_call_details, ask_from_thread))

        return _wrapped(handler, wrap)

    def _asynchronous(self, behaviour: Callable[..., Any], api: str, details: Any) -> Callable[..., Any]:
        guard = self._options.guard(api)

        async def judge(context: Any) -> None:
            try:
                question = self._options.question(details, context)
                judged = (
                    question
                    if isinstance(question, Denial)
                    else guard.judged(await self._client.check(api, **question))
                )
            except Exception as error:
                judged = guard.failed(error)
            if isinstance(judged, Denial):
                await context.abort(*_status_of(judged))
                raise AssertionError("abort returns never")
            # A call has a separate task, and so a context.
            keep_answer(judged)

        @functools.wraps(behaviour)
        async def guarded(request: Any, context: Any) -> Any:
            await judge(context)
            return await behaviour(request, context)

        @functools.wraps(behaviour)
        async def guarded_responses(request: Any, context: Any) -> AsyncIterator[Any]:
            await judge(context)
            async with contextlib.aclosing(behaviour(request, context)) as responses:
                async for response in responses:
                    yield response

        return guarded_responses if inspect.isasyncgenfunction(behaviour) else guarded


def _plain(
    behaviour: Callable[..., Any], streams: bool, judge: Callable[[Any], CheckAnswer | Denial]
) -> Callable[..., Any]:
    """A method that runs in a thread, behind a guard."""

    def answer_of(context: Any) -> CheckAnswer:
        judged = judge(context)
        if isinstance(judged, Denial):
            code, message, metadata = _status_of(judged)
            context.set_trailing_metadata(metadata)
            context.abort(code, message)
            raise AssertionError("abort returns never")
        return judged

    @functools.wraps(behaviour)
    def guarded(request: Any, context: Any, *send: Any) -> Any:
        with answering(answer_of(context)):
            return behaviour(request, context, *send)

    @functools.wraps(behaviour)
    def guarded_responses(request: Any, context: Any) -> Iterator[Any]:
        # Each response may be made in another context.
        answer = answer_of(context)
        with answering(answer):
            responses = iter(behaviour(request, context))
        while True:
            with answering(answer):
                try:
                    response = next(responses)
                except StopIteration:
                    return
            yield response

    # A method that does not block gets a function for its responses.
    return guarded_responses if streams and not getattr(behaviour, "experimental_non_blocking", False) else guarded


def _wrapped(handler: Any, wrap: Callable[[Callable[..., Any], bool], Callable[..., Any]]) -> Any:
    kinds = [
        ("unary_unary", False, grpc.unary_unary_rpc_method_handler),
        ("stream_unary", False, grpc.stream_unary_rpc_method_handler),
        ("unary_stream", True, grpc.unary_stream_rpc_method_handler),
        ("stream_stream", True, grpc.stream_stream_rpc_method_handler),
    ]
    for name, streams, make in kinds:
        behaviour = getattr(handler, name)
        if behaviour is not None:
            return make(wrap(behaviour, streams), handler.request_deserializer, handler.response_serializer)
    raise TypeError("expected a method of one of the four kinds")


def _status_of(denial: Denial) -> tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]]:
    # Metadata of gRPC that describe the body of HTTP would be wrong.
    told = tuple(
        (name, value) for name, value in denial.headers if name.startswith(("x-portcullis-", "www-", "retry-"))
    )
    return _CODES[denial.status], denial.message, told


def _address_of(peer: str) -> str:
    """The IP address of `ipv4:ADDRESS:PORT` or `ipv6:[ADDRESS]:PORT`."""
    name = urllib.parse.unquote(peer)
    if not name.startswith(("ipv4:", "ipv6:")):
        return ""
    return name[5:].rpartition(":")[0].strip("[]")
