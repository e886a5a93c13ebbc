"""`/accounts/787613/balance` belongs to account 787613. Every server of WSGI runs `app`; here it is Python's own."""

import os
from wsgiref.simple_server import make_server

from portcullis_client import Client, Scope
from portcullis_client.wsgi import RequireToken


def balance(environ, start_response):
    start_response("200 OK", [("content-type", "application/json")])
    return [b'{"balance": 42}\n']


def owner_of(environ):
    parts = environ["PATH_INFO"].split("/")
    return Scope(parts[2]) if len(parts) == 4 and parts[1] == "accounts" else None


app = RequireToken(balance, Client(timeout=1), "balance", target=owner_of)

if __name__ == "__main__":
    with make_server("127.0.0.1", int(os.environ.get("PORT", "3000")), app) as server:
        print("listening on 127.0.0.1, port:", server.server_port, flush=True)
        server.serve_forever()
