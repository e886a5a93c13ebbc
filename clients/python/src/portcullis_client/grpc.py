"""Guards methods of a gRPC server, with threads and with asyncio."""

from __future__ import annotations

import inspect
import urllib.parse
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NoReturn

import grpc

from ._aio import AsyncClient
from ._client import Client
from ._guard import NO_TARGET, Denial, Guard, answering, is_target, print_failure
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
        api: str | Callable[[str], str | None],
        target: Callable[[Any], Scope | None] | None,
        hide_others: bool,
        on_failure: Callable[[Exception], None],
        routes: bool,
    ) -> None:
        self._api_of: Callable[[str], str | None] = api if callable(api) else lambda _method: api
        self._target, self._hide_others, self._on_failure, self._routes = target, hide_others, on_failure, routes
        if callable(api) and routes:
            raise TypeError("api: expected none, because the routes say it")
        if not callable(api):
            self.guard(api)

    def api_of(self, method: str) -> str | None:
        return self._api_of(method)

    def guard(self, api: str) -> Guard:
        return Guard(api, self._hide_others, self._on_failure, self._routes, self._target is not None)

    def question(self, method: str, context: Any) -> dict[str, Any] | Denial:
        target = self._target(context) if self._target is not None else None
        if self._target is not None and not is_target(target):
            return NO_TARGET
        pairs = [(name, value) for name, value in context.invocation_metadata() or ()]
        request = Request("POST", _host_of(context), method) if self._routes else None
        return {
            "credentials": pairs,
            "request": request,
            "target": target,
            "client_address": _address_of(context.peer()),
        }


class RequireToken(grpc.ServerInterceptor):
    """For ``grpc.server(…, interceptors=[…])``: lets calls pass whose token opens an API.

    A method finds the answer by ``current_answer()``.
    """

    def __init__(
        self,
        client: Client,
        api: str | Callable[[str], str | None] = "",
        *,
        routes: bool = False,
        target: Callable[[grpc.ServicerContext], Scope | None] | None = None,
        hide_others: bool = False,
        on_failure: Callable[[Exception], None] = print_failure,
    ) -> None:
        """Guards the methods of a server.

        :param api: id of the API, or a function that names it for a method such as ``/package.Service/Method``;
            ``None``: the method is open to all.
        :param routes: in place of ``api`` and ``target``: the routes of the sidecar say them. A call is a request with
            the method ``POST`` and the path ``/package.Service/Method``. gRPC for Python tells no host to programs with
            asyncio: the sidecar is asked about each call, and refuses it if some of its routes name hosts.
        :param target: as in ``portcullis_client.asgi.RequireToken``, from the context of the call.
        :param hide_others: answer NOT_FOUND where the resource belongs to others.
        :param on_failure: called where there was no answer. Default: a line on standard error.
        """
        self._client = client
        self._options = _Options(api, target, hide_others, on_failure, routes)

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = continuation(handler_call_details)
        api = self._options.api_of(handler_call_details.method)
        if handler is None or api is None:
            return handler
        guard = self._options.guard(api)

        def judge(context: Any) -> CheckAnswer:
            try:
                question = self._options.question(handler_call_details.method, context)
                if not isinstance(question, Denial):
                    answer = self._client.check(api, **question)
                    denial = guard.denied(answer)
                    if denial is None:
                        return answer
                    question = denial
            except Exception as error:
                question = guard.failed(error)
            _abort(question, context)

        def unary(behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
            def guarded(request: Any, context: Any) -> Any:
                with answering(judge(context)):
                    return behaviour(request, context)

            return guarded

        def streaming(behaviour: Callable[[Any, Any], Iterator[Any]]) -> Callable[[Any, Any], Iterator[Any]]:
            def guarded(request: Any, context: Any) -> Iterator[Any]:
                # Each response may be made in another context.
                answer = judge(context)
                with answering(answer):
                    responses = behaviour(request, context)
                yield from _each(responses, answer)

            return guarded

        return _wrapped(handler, unary, streaming)


class AsyncRequireToken(grpc.aio.ServerInterceptor):
    """For ``grpc.aio.server(interceptors=[…])``: lets calls pass whose token opens an API.

    A method finds the answer by ``current_answer()``.
    """

    def __init__(
        self,
        client: AsyncClient,
        api: str | Callable[[str], str | None] = "",
        *,
        routes: bool = False,
        target: Callable[[Any], Scope | None] | None = None,
        hide_others: bool = False,
        on_failure: Callable[[Exception], None] = print_failure,
    ) -> None:
        """Guards the methods of a server. The parameters are those of ``RequireToken``."""
        self._client = client
        self._options = _Options(api, target, hide_others, on_failure, routes)

    async def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = await continuation(handler_call_details)
        api = self._options.api_of(handler_call_details.method)
        if handler is None or api is None:
            return handler
        guard = self._options.guard(api)

        async def judge(context: Any) -> CheckAnswer:
            try:
                question = self._options.question(handler_call_details.method, context)
                if not isinstance(question, Denial):
                    answer = await self._client.check(api, **question)
                    denial = guard.denied(answer)
                    if denial is None:
                        return answer
                    question = denial
            except Exception as error:
                question = guard.failed(error)
            await context.abort(*_status_of(question))
            raise AssertionError("abort returns never")

        def unary(behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
            async def guarded(request: Any, context: Any) -> Any:
                with answering(await judge(context)):
                    result = behaviour(request, context)
                    return await result if inspect.isawaitable(result) else result

            return guarded

        def streaming(behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
            async def guarded(request: Any, context: Any) -> AsyncIterator[Any]:
                # A call has a task of its own, and so a context.
                with answering(await judge(context)):
                    result = behaviour(request, context)
                    if inspect.isawaitable(result):
                        # It writes its responses by the context.
                        await result
                        return
                    async for response in result:
                        yield response

            return guarded

        return _wrapped(handler, unary, streaming)


def _each(responses: Iterator[Any], answer: CheckAnswer) -> Iterator[Any]:
    while True:
        with answering(answer):
            try:
                response = next(responses)
            except StopIteration:
                return
        yield response


def _wrapped(handler: Any, unary: Callable[[Any], Any], streaming: Callable[[Any], Any]) -> Any:
    kinds = [
        ("unary_unary", unary, grpc.unary_unary_rpc_method_handler),
        ("stream_unary", unary, grpc.stream_unary_rpc_method_handler),
        ("unary_stream", streaming, grpc.unary_stream_rpc_method_handler),
        ("stream_stream", streaming, grpc.stream_stream_rpc_method_handler),
    ]
    for name, wrap, make in kinds:
        behaviour = getattr(handler, name)
        if behaviour is not None:
            return make(wrap(behaviour), handler.request_deserializer, handler.response_serializer)
    raise TypeError("expected a method of one of the four kinds")


def _status_of(denial: Denial) -> tuple[grpc.StatusCode, str, tuple[tuple[str, str], ...]]:
    # Metadata of gRPC that describe the body of HTTP would be wrong.
    told = tuple(
        (name, value) for name, value in denial.headers if name.startswith(("x-portcullis-", "www-", "retry-"))
    )
    return _CODES[denial.status], denial.message, told


def _abort(denial: Denial, context: Any) -> NoReturn:
    code, message, metadata = _status_of(denial)
    context.set_trailing_metadata(metadata)
    context.abort(code, message)
    raise AssertionError("abort returns never")


def _host_of(context: Any) -> str:
    """The `:authority` of a call, which only the server with threads knows."""
    host = getattr(getattr(getattr(context, "_rpc_event", None), "call_details", None), "host", b"")
    return host.decode("latin-1") if isinstance(host, bytes) else str(host)


def _address_of(peer: str) -> str:
    """The IP address of `ipv4:ADDRESS:PORT` or `ipv6:[ADDRESS]:PORT`."""
    name = urllib.parse.unquote(peer)
    if not name.startswith(("ipv4:", "ipv6:")):
        return ""
    return name[5:].rpartition(":")[0].strip("[]")
