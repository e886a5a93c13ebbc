"""A small WSGI application behind keystonemiddleware's auth_token. Prints its port, and serves until its input ends."""

import json
import sys
import threading
from wsgiref import simple_server

from keystonemiddleware import auth_token


def application(environ, start_response):
    names = ("USER_NAME", "USER_DOMAIN_NAME", "PROJECT_NAME", "DOMAIN_NAME", "ROLES", "IDENTITY_STATUS", "IS_ADMIN_PROJECT")
    body = json.dumps({name.lower(): environ.get(f"HTTP_X_{name}") for name in names}).encode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


class Quiet(simple_server.WSGIRequestHandler):
    def log_message(self, format, *args):
        pass


def main():
    wishes = json.loads(sys.stdin.readline())
    guarded = auth_token.AuthProtocol(
        application,
        {
            "auth_type": "password",
            "auth_url": wishes["auth_url"],
            "cafile": wishes.get("authority"),
            "www_authenticate_uri": wishes["auth_url"],
            "username": wishes["user"],
            "user_domain_name": wishes["account"],
            "password": wishes["password"],
            "project_name": wishes["project"],
            "project_domain_name": wishes["account"],
            # Validate every request, so that a revoked token is refused immediately.
            "token_cache_time": "-1",
            "service_token_roles_required": True,
            "http_request_max_retries": "0",
        },
    )
    server = simple_server.make_server("127.0.0.1", 0, guarded, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    server.shutdown()


main()
