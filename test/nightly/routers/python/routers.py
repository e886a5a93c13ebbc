"""Routers of Python behind the guards by routes.

Each handler says which route it is for, and which API the guard found.

Servers load `flask_app`, `django_app`, `fastapi_asgi` and `django_asgi`. As a program it serves one guarded API by
servers of Python alone, and says the URL of each.
"""

from __future__ import annotations

import json
import os
from typing import Any

from fastapi import FastAPI, Request, Response
from portcullis_client import AsyncClient, Client, asgi, wsgi
from starlette.routing import Host

TABLE: list[dict[str, Any]] = json.loads(os.environ["ROUTERS_TABLE"])
ADDRESS = os.environ["ROUTERS_SIDECAR"]
OPTIONS: dict[str, Any] = {"caller_token": os.environ["ROUTERS_CALLER_TOKEN"], "local": True}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def found(answer: Any) -> str:
    return answer.route.api if answer is not None and answer.route is not None else ""


def made_by(framework: str) -> Any:
    makers = {
        "fastapi": fastapi_app_of,
        "flask": flask_app_of,
        "django": django_app_of,
        "django-asgi": django_asgi_of,
    }
    return makers[framework]()


def fastapi_app_of() -> Any:
    def register(router: Any, route: dict[str, Any]) -> None:
        async def handler(request: Request) -> Response:
            answer = request.scope.get("portcullis")
            return Response(headers={"x-handler": route["api"], "x-found": found(answer)})

        path = route["path"] + ("{rest:path}" if route["path"].endswith("/") else "")
        router.add_api_route(path, handler, methods=route.get("methods", METHODS))

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    for route in specific_first(TABLE):
        if "host" in route:
            sub = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
            register(sub, route)
            rest = [each for each in specific_first(TABLE) if "host" not in each]
            for each in rest:
                register(sub, each)
            app.router.routes.insert(0, Host(route["host"], sub))
        else:
            register(app, route)
    return asgi.RequireToken(app, AsyncClient(ADDRESS, **OPTIONS), routes=True)


def specific_first(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where the first one wins: longer paths first, texts before names, and a path before what is below it."""

    def rank(route: dict[str, Any]) -> tuple[int, bool, bool, int]:
        path = route["path"]
        return -path.rstrip("/").count("/"), "{" in path, path.endswith("/"), -len(path)

    return sorted(table, key=rank)


def flask_app_of() -> Any:
    from flask import Flask, request
    from flask import Response as FlaskResponse

    app = Flask(__name__, static_folder=None)
    for index, route in enumerate(TABLE):
        if "host" in route:
            continue

        def handler(api: str = route["api"], **_: str) -> FlaskResponse:
            return FlaskResponse(headers={"x-handler": api, "x-found": found(request.environ.get("portcullis.answer"))})

        path = route["path"].replace("{", "<").replace("}", ">")
        methods = route.get("methods", METHODS)
        app.add_url_rule(path, f"route{index}", handler, methods=methods)
        if path.endswith("/"):
            app.add_url_rule(f"{path}<path:rest>", f"below{index}", handler, methods=methods)
    app.wsgi_app = wsgi.RequireToken(app.wsgi_app, Client(ADDRESS, **OPTIONS), routes=True)  # type: ignore[method-assign]
    return app


def django_urls() -> list[Any]:
    import re

    from django.http import HttpResponse
    from django.urls import re_path
    from django.views.decorators.http import require_http_methods

    urls = []
    for route in specific_first([each for each in TABLE if "host" not in each]):

        def view(request: Any, *_: str, api: str = route["api"]) -> HttpResponse:
            answer = request.META.get("portcullis.answer") or getattr(request, "scope", {}).get("portcullis")
            return HttpResponse(headers={"x-handler": api, "x-found": found(answer)})

        if "methods" in route:
            view = require_http_methods(route["methods"])(view)
        pattern = "[^/]+".join(map(re.escape, re.split(r"\{\w+\}", route["path"][1:])))
        urls.append(re_path(f"^{pattern}" if route["path"].endswith("/") else f"^{pattern}$", view))
    return urls


def django_configured() -> None:
    import sys
    from types import ModuleType

    from django.conf import settings

    urls = ModuleType("routers_urls")
    settings.configure(
        ALLOWED_HOSTS=["*"], ROOT_URLCONF="routers_urls", SECRET_KEY="x", MIDDLEWARE=[], APPEND_SLASH=False
    )
    urls.urlpatterns = django_urls()  # type: ignore[attr-defined]
    sys.modules["routers_urls"] = urls


def django_app_of() -> Any:
    from django.core.wsgi import get_wsgi_application

    django_configured()
    return wsgi.RequireToken(get_wsgi_application(), Client(ADDRESS, **OPTIONS), routes=True)


def django_asgi_of() -> Any:
    from django.core.asgi import get_asgi_application

    django_configured()
    return asgi.RequireToken(get_asgi_application(), AsyncClient(ADDRESS, **OPTIONS), routes=True)


class _Later:
    """Made by the first request, in the process and the loop of the server."""

    def __init__(self, framework: str) -> None:
        self.framework = framework
        self.app: Any = None

    def get(self) -> Any:
        if self.app is None:
            self.app = made_by(self.framework)
        return self.app


def _wsgi(framework: str) -> Any:
    later = _Later(framework)
    return lambda environ, start_response: later.get()(environ, start_response)


def _asgi(framework: str) -> Any:
    later = _Later(framework)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        await later.get()(scope, receive, send)

    return app


flask_app, django_app = _wsgi("flask"), _wsgi("django")
fastapi_asgi, django_asgi = _asgi("fastapi"), _asgi("django-asgi")


def one_api(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [("x-handler", ONE_API), ("x-found", environ["portcullis.answer"].token.kind)])
    return []


ONE_API = "reports"


def serve_one_api() -> None:
    import sys
    from threading import Thread
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    import waitress.server
    from cheroot.wsgi import Server
    from gevent.pywsgi import WSGIServer
    from werkzeug.serving import WSGIRequestHandler as WerkzeugRequestHandler
    from werkzeug.serving import make_server as make_werkzeug

    def guarded() -> Any:
        return wsgi.RequireToken(one_api, Client(ADDRESS, **OPTIONS), ONE_API)

    def says_nothing(*_: Any) -> None:
        pass

    class Silent(WSGIRequestHandler):
        log_message = says_nothing

    class SilentWerkzeug(WerkzeugRequestHandler):
        log = says_nothing

    cheroot = Server(("127.0.0.1", 0), guarded())
    cheroot.prepare()
    of_waitress = waitress.server.create_server(guarded(), host="127.0.0.1", port=0)
    of_werkzeug = make_werkzeug("127.0.0.1", 0, guarded(), threaded=True, request_handler=SilentWerkzeug)
    of_wsgiref = make_server("127.0.0.1", 0, guarded(), handler_class=Silent)
    servers = {
        "cheroot": (cheroot.serve, cheroot.bind_addr[1]),
        "waitress": (of_waitress.run, of_waitress.effective_port),
        "Werkzeug": (of_werkzeug.serve_forever, of_werkzeug.port),
        "wsgiref": (of_wsgiref.serve_forever, of_wsgiref.server_port),
    }
    for name, (serve, port) in servers.items():
        Thread(target=serve, daemon=True).start()
        print(f"{name} http://127.0.0.1:{port}", flush=True)

    def serve_gevent() -> None:
        of_gevent = WSGIServer(("127.0.0.1", 0), guarded(), log=None, error_log=None)
        of_gevent.start()
        print(f"gevent http://127.0.0.1:{of_gevent.server_port}", flush=True)
        of_gevent.serve_forever()

    # It has a loop for each thread.
    Thread(target=serve_gevent, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    serve_one_api()
