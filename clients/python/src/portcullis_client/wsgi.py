"""Guards a WSGI application: Flask, Django and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from ._client import Client
from ._guard import NO_TARGET, Denial, Guard, is_target, print_failure
from ._values import CheckAnswer, Request, Scope

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
        on_failure: Callable[[Exception], None] = print_failure,
    ) -> None:
        """Guards the application. The parameters are those of ``portcullis_client.asgi.RequireToken``.

        For ``routes`` the server must tell the path as it arrived, in ``REQUEST_URI`` or ``RAW_URI``, as uWSGI,
        mod_wsgi, gunicorn and Werkzeug do.
        """
        self._app, self._client, self._target = app, client, target
        self._address = client_address or (lambda environ: str(environ.get("REMOTE_ADDR", "")))
        self._guard = Guard(api, hide_others, on_failure, routes, target is not None)

    def __call__(self, environ: _Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        judged = self._judge(environ)
        if isinstance(judged, CheckAnswer):
            environ["portcullis.answer"] = judged
            return self._app(environ, start_response)
        headers = [*judged.headers, ("content-length", str(len(judged.body)))]
        start_response(f"{judged.status} {HTTPStatus(judged.status).phrase}", headers)
        return [judged.body]

    def _judge(self, environ: _Environ) -> CheckAnswer | Denial:
        try:
            target = self._target(environ) if self._target is not None else None
            if self._target is not None and not is_target(target):
                return NO_TARGET
            answer = self._client.check(
                self._guard.api,
                environ,
                request=_request_of(environ) if self._guard.routes else None,
                target=target,
                client_address=self._address(environ),
            )
            return self._guard.denied(answer) or answer
        except Exception as error:
            return self._guard.failed(error)


def _request_of(environ: _Environ) -> Request:
    """The request as it arrived. `PATH_INFO` is decoded already, so it is none: the sidecar refuses it."""
    path = environ.get("REQUEST_URI") or environ.get("RAW_URI") or ""
    return Request(str(environ["REQUEST_METHOD"]), str(environ.get("HTTP_HOST", "")), str(path))
