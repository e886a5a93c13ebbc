"""An ASGI middleware. When the client leaves, its question is cancelled."""

import asyncio
import time

import grpc
from portcullis.v1 import authorization_pb2_grpc
from portcullis_gate import DEADLINE_SECONDS, Answers, denial, no_answer, no_target, question


class RequireToken:
    def __init__(self, app, api, account_of, address):
        """`account_of(scope)` names the account that owns the resource, from the path or your records."""
        self._app, self._api, self._account_of, self._address = app, api, account_of, address
        self._answers = Answers()
        self._stub = None

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            raise RuntimeError("this example guards requests of HTTP alone")
        arriving = Arriving(receive)
        refusing = asyncio.ensure_future(self._refusal(scope))
        leaving = asyncio.ensure_future(arriving.until_the_client_leaves())
        await asyncio.wait({refusing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not refusing.done():
            refusing.cancel()
            return None
        leaving.cancel()
        refused = refusing.result()
        if refused is None:
            return await self._app(scope, arriving.receive, send)
        status, headers, body = refused
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": status, "headers": encoded})
        await send({"type": "http.response.body", "body": body})

    async def _refusal(self, scope):
        account = self._account_of(scope)
        if not account:
            return no_target()
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        check = question(self._api, headers, account, (scope.get("client") or [""])[0])
        key, asked = Answers.key(check), time.monotonic()
        answer = self._answers.get(key)
        try:
            if answer is None:
                if self._stub is None:
                    # A channel belongs to the loop that runs now.
                    self._stub = authorization_pb2_grpc.AuthorizationServiceStub(grpc.aio.insecure_channel(self._address))
                answer = await self._stub.Check(check, timeout=DEADLINE_SECONDS)
                self._answers.put(key, answer, asked)
        except grpc.RpcError as error:
            return no_answer(error)
        return denial(answer)


class Arriving:
    """What arrives of a request. While the sidecar is asked, a listener must notice that the client leaves."""

    def __init__(self, receive):
        self._receive, self._kept, self._next = receive, [], None

    async def until_the_client_leaves(self):
        while True:
            self._next = asyncio.ensure_future(self._receive())
            message = await asyncio.shield(self._next)
            self._next = None
            if message["type"] == "http.disconnect":
                return
            self._kept.append(message)
            # The rest of a body waits until the request may pass.
            if message.get("more_body"):
                await asyncio.Event().wait()

    async def receive(self):
        """What the application receives: first what has arrived already."""
        if self._kept:
            return self._kept.pop(0)
        if self._next is not None:
            following, self._next = self._next, None
            return await following
        return await self._receive()
