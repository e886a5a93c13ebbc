"""`/accounts/787613/balance` belongs to account 787613. Every server of ASGI runs `app`; here it is uvicorn."""

import os
import socket

import uvicorn
from portcullis_client import AsyncClient, Scope
from portcullis_client.asgi import RequireToken


async def balance(scope, receive, send):
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"balance": 42}\n'})


def owner_of(scope):
    parts = scope["path"].split("/")
    return Scope(parts[2]) if len(parts) == 4 and parts[1] == "accounts" else None


app = RequireToken(balance, AsyncClient(timeout=1), "balance", target=owner_of)

if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "3000"))))
    print("listening on 127.0.0.1, port:", listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off")).run(sockets=[listener])
