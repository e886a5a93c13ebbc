"""Guards an ASGI application: Starlette, FastAPI, Django, Quart and others."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from ._aio import AsyncClient
from ._guard import NO_TARGET, TRAILERS, Denial, Guard, answering, is_said_first, is_target
from ._values import CheckAnswer, Request, Scope

_AsgiScope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_AsgiScope, _Receive, _Send], Awaitable[None]]


class RequireToken:
    """Lets requests pass whose token opens an API.

    The application finds the answer in ``scope["portcullis"]``, and by ``current_answer()``.
    """

    def __init__(
        self,
        app: _App,
        client: AsyncClient,
        api: str = "",
        *,
        routes: bool = False,
        target: Callable[[_AsgiScope], Scope | Awaitable[Scope | None] | None] | None = None,
        client_address: Callable[[_AsgiScope], str] | None = None,
        hide_others: bool = False,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Guards the application.

        The server must pass the headers as they arrived, without the trailers. uvicorn with httptools mixes the two: a
        request with headers behind Transfer-Encoding is denied there, because they could be trailers.

        :param api: id of the API.
        :param routes: in place of ``api`` and ``target``: the routes of the sidecar say them. A request that they
            refuse gets 403: no route has it, it does not say whose resource it asks for, or servers could read it in
            different ways. The server must pass the ``raw_path``, as uvicorn and hypercorn do. It must be the path of
            the handler, with the ``root_path`` before it, if there is one.
        :param target: the account, and the project if any, that owns the requested resource: from the path or your
            records, never from the token. A request for which it returns ``None`` is denied. Default: only the matrix
            decides.
        :param client_address: IP address of the client, for accounts that restrict addresses. Default: the server's.
        :param hide_others: answer 404 where the resource belongs to others.
        :param on_failure: called where there was no answer: for each request, and if no sidecar answers when the
            lifespan begins. Called once with an ``UnknownApiError`` if the matrix does not have the API: then, or at
            the first denial. Default: lines on standard error, for an outage its first failure, then a count each
            minute, and its end.
        """
        self._app, self._client, self._target = app, client, target
        self._address = client_address or _address_of
        self._guard = Guard(api, hide_others, on_failure, client, routes, target is not None)

    async def __call__(self, scope: _AsgiScope, receive: _Receive, send: _Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            if scope["type"] == "lifespan":
                self._guard.begin()
            await self._app(scope, receive, send)
            return
        judged = await judge(self._guard, self._client, scope, self._target, self._address)
        if isinstance(judged, Denial):
            await _refuse(judged, scope, receive, send)
            return
        scope["portcullis"] = judged
        with answering(judged):
            await self._app(scope, receive, send)


async def judge(
    guard: Guard,
    client: AsyncClient,
    scope: _AsgiScope,
    target_of: Callable[[_AsgiScope], Scope | Awaitable[Scope | None] | None] | None,
    address_of: Callable[[_AsgiScope], str],
) -> CheckAnswer | Denial:
    """The outcome of a request. It passes only if the sidecar has said so."""
    try:
        target = target_of(scope) if target_of is not None else None
        if inspect.isawaitable(target):
            target = await target
        if target_of is not None and not is_target(target):
            return NO_TARGET
        headers, address = scope["headers"], address_of(scope)
        if _PARSER in sys.modules:
            # More of them can come while the sidecar is asked.
            headers = list(headers)
            if _may_have_trailers(headers):
                return TRAILERS
        # An answer from memory needs no other task.
        request = _request_of(scope) if guard.routes else None
        answer = client.check_locally(guard.api, headers, request=request, target=target, client_address=address)
        if answer is None:
            answer = await client.check(guard.api, headers, request=request, target=target, client_address=address)
        return guard.judged(answer)
    except Exception as error:
        return guard.failed(error)


#: The parser of uvicorn, loaded only where uvicorn uses it, adds the trailers of a request to its headers.
_PARSER = "uvicorn.protocols.http.httptools_impl"


def _may_have_trailers(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether a header could be one that came behind the body. This header itself cannot."""
    names = [name for name, _ in headers]
    if b"transfer-encoding" not in names or names.index(b"transfer-encoding") == len(names) - 1:
        return False
    if is_said_first(_PARSER):
        advice = "run it with `--http h11`, or have clients send a Content-Length"
        print(f"portcullis: uvicorn with httptools mixes trailers into headers; {advice}", file=sys.stderr, flush=True)
    return True


def _request_of(scope: _AsgiScope) -> Request:
    """The request as it arrived. A path that is decoded already is not usable: the sidecar refuses it."""
    hosts = [value for name, value in scope["headers"] if name.lower() == b"host"]
    path, query = scope.get("raw_path") or b"", scope.get("query_string") or b""
    # Frameworks find a handler by `path`, and cut the root off where it is there. In what is mounted, the root is
    # that of the application around it. Without its slash, "/api" is not the beginning of "/apis".
    root = str(scope.get("app_root_path", scope.get("root_path", ""))).rstrip("/")
    handled = str(scope.get("path", ""))
    if unquote_to_bytes(path) != handled.encode("utf-8", "replace") or not f"{handled}/".startswith(f"{root}/"):
        path = b""
    target = path + b"?" + query if query else path
    return Request(scope.get("method", "GET"), b",".join(hosts).decode("latin-1"), target.decode("latin-1"))


def _address_of(scope: _AsgiScope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


async def _refuse(denial: Denial, scope: _AsgiScope, receive: _Receive, send: _Send) -> None:
    kind = "http.response"
    if scope["type"] == "websocket":
        await receive()
        kind = "websocket.http.response"
        if kind not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008})
            return
    headers = [(name.encode(), value.encode()) for name, value in denial.headers]
    headers.append((b"content-length", str(len(denial.body)).encode()))
    await send({"type": f"{kind}.start", "status": denial.status, "headers": headers})
    await send({"type": f"{kind}.body", "body": denial.body})
