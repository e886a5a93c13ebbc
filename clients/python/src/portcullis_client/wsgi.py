"""Guards a WSGI application: Flask, Django and others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.client import HTTPMessage
from typing import Any
from urllib.parse import unquote_to_bytes

from ._client import Client
from ._guard import NO_TARGET, Denial, Guard, is_said_first, is_target
from ._values import CheckAnswer, Headers, Request, Scope

_Environ = dict[str, Any]
_App = Callable[[_Environ, Callable[..., Any]], Iterable[bytes]]


class RequireToken:
    """Lets requests pass whose token opens an API.

    The application finds the answer in ``environ["portcullis.answer"]``.
    """

    def __init__(
        self,
        app: _App,
        client: Client,
        api: str = "",
        *,
        routes: bool = False,
        target: Callable[[_Environ], Scope | None] | None = None,
        client_address: Callable[[_Environ], str] | None = None,
        hide_others: bool = False,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        """Guards the application. The parameters are those of ``portcullis_client.asgi.RequireToken``.

        For ``routes`` the server must pass the path as it arrived, in ``REQUEST_URI`` or ``RAW_URI``, as uWSGI,
        mod_wsgi, gunicorn and Werkzeug do. It must be the path of the handler, with ``SCRIPT_NAME`` before it.

        The server must join the values of a repeated header with a comma, not take a name with an underscore for one
        with a hyphen, and cut off spaces and tabs alone. gunicorn, waitress and Werkzeug do. With wsgiref and gevent
        the guard reads the headers behind ``start_response``, so nothing may wrap that. cheroot keeps the last value,
        so the guard refuses every request there. The guard says once that it does not know another server.
        """
        self._app, self._client, self._target = app, client, target
        self._address = client_address or (lambda environ: str(environ.get("REMOTE_ADDR", "")))
        self._guard = Guard(api, hide_others, on_failure, client, routes, target is not None)
        #: Names of the server, one in practice, whose ``environ`` has all that arrived.
        self._faithful: set[object] = set()

    def __call__(self, environ: _Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        judged = self._judge(environ, start_response)
        if isinstance(judged, CheckAnswer):
            environ["portcullis.answer"] = judged
            return self._app(environ, start_response)
        headers = [*judged.headers, ("content-length", str(len(judged.body)))]
        start_response(f"{judged.status} {HTTPStatus(judged.status).phrase}", headers)
        return [judged.body]

    def _judge(self, environ: _Environ, start_response: Callable[..., Any]) -> CheckAnswer | Denial:
        try:
            headers = self._headers(environ, start_response)
            target = self._target(environ) if self._target is not None else None
            if self._target is not None and not is_target(target):
                return NO_TARGET
            answer = self._client.check(
                self._guard.api,
                headers,
                request=_request_of(environ) if self._guard.routes else None,
                target=target,
                client_address=self._address(environ),
            )
            return self._guard.judged(answer)
        except _HeadersLost as error:
            return self._guard.unjudged(error)
        except Exception as error:
            return self._guard.failed(error)

    def _headers(self, environ: _Environ, start_response: Callable[..., Any]) -> Headers:
        software = environ.get("SERVER_SOFTWARE", "")
        if software in self._faithful:
            return environ
        headers = _headers_of(environ, start_response)
        if headers is environ:
            self._faithful.add(software)
        return headers


class _HeadersLost(Exception):
    """The server does not say which headers arrived."""


def _headers_of(environ: _Environ, start_response: Callable[..., Any]) -> Headers:
    """The headers as they arrived, as far as the server passes them. Raises `_HeadersLost`."""
    if "ACTUAL_SERVER_PROTOCOL" in environ:
        raise _HeadersLost("cheroot keeps the last of a repeated header; use a server such as waitress or gunicorn")
    # Servers made of http.server have the message behind this method: wsgiref in their own handler.
    handler = getattr(start_response, "__self__", None)
    message = getattr(getattr(handler, "request_handler", handler), "headers", None)
    if isinstance(message, HTTPMessage):
        return message.items()
    software = str(environ.get("SERVER_SOFTWARE") or ("uWSGI" if "uwsgi.version" in environ else "without a name"))
    if software.startswith(_LOSING):
        raise _HeadersLost(f"`{software}` changes headers; expected the guard around all that wraps `start_response`")
    if not software.startswith(_FAITHFUL) and is_said_first(software):
        needed = "join a repeated header, distinguish `_` and `-` in names, and cut off spaces and tabs alone"
        print(f"portcullis: the server `{software}` was not tested; it must {needed}", file=sys.stderr, flush=True)
    return environ


#: They take an underscore for a hyphen, or cut off more than blanks.
_LOSING = ("WSGIServer/", "gevent/")
_FAITHFUL = ("gunicorn/", "waitress", "Werkzeug/")


def _request_of(environ: _Environ) -> Request:
    """The request as it arrived. `PATH_INFO` is decoded already, so it is not usable: the sidecar refuses it."""
    path = str(environ.get("REQUEST_URI") or environ.get("RAW_URI") or "")
    # Frameworks find a handler by these, and something may have changed them.
    handled = str(environ.get("SCRIPT_NAME", "")) + str(environ.get("PATH_INFO", ""))
    if unquote_to_bytes(path.partition("?")[0]).decode("latin-1") != handled:
        path = ""
    return Request(str(environ["REQUEST_METHOD"]), str(environ.get("HTTP_HOST", "")), path)
