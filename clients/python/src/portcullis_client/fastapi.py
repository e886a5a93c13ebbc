"""Guards routes of FastAPI by a dependency."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response

from ._aio import AsyncClient, is_in_loop
from ._guard import Denial, Guard
from ._values import CheckAnswer, Scope
from .asgi import _address_of, judge


class Denied(HTTPException):
    """The request does not pass. ``exception_handlers`` answer it with the words of the sidecar."""

    def __init__(self, denial: Denial) -> None:
        super().__init__(denial.status, json.loads(denial.body), dict(denial.headers))
        self.denial = denial


async def _respond(_request: Request, error: Any) -> Response:
    denial: Denial = error.denial
    return Response(denial.body, denial.status, dict(denial.headers))


#: For ``FastAPI(exception_handlers=exception_handlers)``. Without them the body is in ``detail``.
exception_handlers: dict[Any, Any] = {Denied: _respond}


def require_token(
    client: AsyncClient,
    api: str = "",
    *,
    routes: bool = False,
    target: Callable[[HTTPConnection], Scope | Awaitable[Scope | None] | None] | None = None,
    client_address: Callable[[HTTPConnection], str] | None = None,
    hide_others: bool = False,
    on_failure: Callable[[Exception], None] | None = None,
) -> Callable[[HTTPConnection], Awaitable[CheckAnswer]]:
    """A dependency, for ``Depends``: the answer that lets the request pass, with the token.

    The parameters are those of ``portcullis_client.asgi.RequireToken``, but the functions get the request.
    Where the application is made in an event loop, as by the command ``uvicorn``, it looks then for the API.
    """
    guard = Guard(api, hide_others, on_failure, client, routes, target is not None)
    if is_in_loop():
        guard.begin()

    async def dependency(connection: HTTPConnection) -> CheckAnswer:
        target_of: Callable[[MutableMapping[str, Any]], Any] | None = None
        if target is not None:
            given = target
            target_of = lambda _scope: given(connection)  # noqa: E731
        address_of = _address_of if client_address is None else lambda _scope: client_address(connection)
        judged = await judge(guard, client, connection.scope, target_of, address_of)
        if isinstance(judged, Denial):
            raise Denied(judged)
        return judged

    return dependency
