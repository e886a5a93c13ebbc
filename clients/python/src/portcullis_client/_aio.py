"""The client for programs with asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import grpc

from ._client import _recalling
from ._connection import Connection, Tls
from ._errors import error_of
from ._local import QUIET_MAX, STREAM_MAX, Failures, Local, local_options
from ._memory import Ask
from ._values import CheckAnswer, Headers, IssuedToken, Scope, check_answer, check_request, issued_token
from .gen.portcullis.v1 import authorization_pb2 as wire
from .gen.portcullis.v1 import authorization_pb2_grpc as rpc

_Answer = TypeVar("_Answer")


class AsyncClient:
    """A connection to a sidecar, for one event loop. It opens at the first call, and again after a failure.

    Every call raises ``PortcullisError`` if there is no answer, ``TypeError`` if an argument has the wrong type, and
    ``ValueError`` if a secret would be sent to another machine in plaintext. A denial is an answer.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        caller_token: str | None = None,
        iam_token: str | None = None,
        tls: Tls | None = None,
        allow_plaintext: bool = False,
        timeout: float = 5.0,
        local: bool | Local = False,
    ) -> None:
        """Describes the connection. The parameters are those of ``Client``."""
        self._local = local_options(local)
        self._connection = Connection(address, caller_token, iam_token, tls, allow_plaintext, self._local is not None)
        self._timeout = timeout
        self._link: _Link | None = None

    async def check(
        self,
        api: str,
        credentials: Headers | None = None,
        *,
        token: tuple[str, Scope] | None = None,
        target: Scope | None = None,
        client_address: str = "",
    ) -> CheckAnswer:
        """Checks whether a credential opens an API; in local mode from memory where it can. See ``Client.check``."""
        link = self._linked()

        async def ask() -> wire.CheckResponse:
            request = check_request(api, credentials, token, target, client_address)
            if credentials is not None:
                self._connection.refuse_if_exposed()
            return await self._call(link.stub.Check, request)

        if link.local is None:
            return check_answer(await ask())
        recall = _recalling(link.local.memory, api, credentials, token, target, client_address)
        return await link.local.answer(recall, ask)

    def check_locally(
        self,
        api: str,
        credentials: Headers | None = None,
        *,
        token: tuple[str, Scope] | None = None,
        target: Scope | None = None,
        client_address: str = "",
    ) -> CheckAnswer | None:
        """Checks from memory, at once. ``None``: the sidecar must be asked, by ``check``."""
        link = self._linked()
        if link.local is None:
            return None
        recalled = _recalling(link.local.memory, api, credentials, token, target, client_address)(time.monotonic())
        return recalled if isinstance(recalled, CheckAnswer) else None

    async def issue(
        self,
        profile: str,
        *,
        apis: Sequence[str] = (),
        project: str | None = None,
        rejected: str | None = None,
    ) -> IssuedToken:
        """Issues a token of a profile of the sidecar's configuration. See ``Client.issue``."""
        request = wire.IssueRequest(profile=profile, rejected_value=rejected or "")
        request.apis.apis.extend(apis)
        request.apis.project = project or ""
        self._connection.refuse_if_exposed()
        return issued_token(await self._call(self._linked().stub.Issue, request))

    async def close(self) -> None:
        """Ends the connection. A later call opens it again."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _linked(self) -> _Link:
        loop = asyncio.get_running_loop()
        # A channel belongs to a loop, and so to a process.
        if self._link is None or self._link.loop is not loop:
            self._link = _Link(loop, self._connection, self._local)
        return self._link

    async def _call(self, method: Callable[..., Awaitable[_Answer]], request: object) -> _Answer:
        try:
            return await method(request, timeout=self._timeout, metadata=self._connection.metadata)
        except grpc.RpcError as error:
            raise error_of(error, self._connection.address) from None


class _Link:
    """What belongs to one event loop: the channel, and the task that follows."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: Connection, local: Local | None) -> None:
        self.loop = loop
        address, options, credentials = connection.address, connection.options, connection.credentials
        self._channel = (
            grpc.aio.insecure_channel(address, options=options)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options=options)
        )
        self.stub: Any = rpc.AuthorizationServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.local = None if local is None else _LocalMode(loop, self.stub, connection, local)

    async def close(self) -> None:
        if self.local is not None:
            self.local.close()
        await self._channel.close(None)


class _LocalMode:
    """Follows the sidecar in a task, and answers from memory."""

    def __init__(self, loop: asyncio.AbstractEventLoop, stub: Any, connection: Connection, options: Local) -> None:
        self.memory = options.memory()
        self._stub, self._connection = stub, connection
        self._failures = Failures(options)
        #: Questions about a token and an address whose answers may be remembered.
        self._asking: dict[tuple[str, str, str], asyncio.Future[None]] = {}
        self._loop = loop
        self._task = loop.create_task(self._follow())

    async def answer(
        self,
        recall: Callable[[float], CheckAnswer | Ask],
        ask: Callable[[], Awaitable[wire.CheckResponse]],
    ) -> CheckAnswer:
        now = time.monotonic()
        first = recall(now)
        if isinstance(first, CheckAnswer):
            return first
        found = first.credential
        if found is None or not self.memory.is_following(now):
            return await self._ask(first, ask)
        key = (found.header, found.value, first.address)
        asking = self._asking.get(key)
        if asking is None:
            mine = self._asking[key] = self._loop.create_future()
            try:
                return await self._ask(first, ask)
            finally:
                del self._asking[key]
                mine.set_result(None)
        await asyncio.shield(asking)
        second = recall(time.monotonic())
        return second if isinstance(second, CheckAnswer) else await self._ask(second, ask)

    async def _ask(self, asked: Ask, ask: Callable[[], Awaitable[wire.CheckResponse]]) -> CheckAnswer:
        response = await ask()
        self.memory.learn(asked, response)
        answer = check_answer(response)
        # The memory forgets it when a change touches it, and a cache would not.
        return replace(answer, cache_for=0.0) if response.HasField("position") else answer

    def close(self) -> None:
        self._task.cancel()

    async def _follow(self) -> None:
        while True:
            try:
                await self._read()
                continue
            except grpc.RpcError as error:
                failure: Exception = error_of(error, self._connection.address)
            except Exception as error:
                failure = error
            await asyncio.sleep(self._failures.pause(failure))

    async def _read(self) -> None:
        """Reads one stream. Returns when it was read for long enough."""
        started = time.monotonic()
        request = self.memory.begin(started)
        call = self._stub.WatchChanges(request, metadata=self._connection.metadata)
        try:
            while True:
                response = await asyncio.wait_for(call.read(), QUIET_MAX)
                if not isinstance(response, wire.WatchChangesResponse):
                    raise RuntimeError("the sidecar has ended the stream")
                now = time.monotonic()
                self.memory.hear(response, now)
                self._failures.heard()
                if now - started > STREAM_MAX:
                    return
        finally:
            call.cancel()
