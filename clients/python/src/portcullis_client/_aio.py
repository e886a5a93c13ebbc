"""The client for programs with asyncio."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from time import monotonic
from typing import Any, TypeVar

import grpc

from ._calls import batch_answers, has_credentials, issue_request, password_request, plan_request, revoke_request
from ._connection import CLIENTS, Connection, Tls
from ._elapsed import CLOCK
from ._errors import PortcullisError, error_of, too_late
from ._local import QUIET_MAX, STREAM_MAX, Failures, Local, Question, local_options, recall_known, recalled
from ._memory import Ask, Memory
from ._reports import PAGE_SIZE, Found, Reports
from ._values import CheckAnswer, Headers, IssuedToken, Request, Scope, issued_token
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
        caller_token_file: str | os.PathLike[str] | None = None,
        iam_token: str | None = None,
        tls: Tls | None = None,
        allow_plaintext: bool = False,
        timeout: float = 5.0,
        local: bool | Local = False,
    ) -> None:
        """Describes the connection. The parameters are those of ``Client``."""
        self._local = local_options(local)
        self._connection = Connection(
            address, caller_token, caller_token_file, iam_token, tls, allow_plaintext, self._local is not None
        )
        self._timeout = timeout
        self._link: _Link | None = None
        #: Of the link, if it is in local mode.
        self._memory: Memory | None = None
        #: Of its guards.
        self._reports = Reports()
        #: The questions in flight.
        self._asides: set[Future[None]] = set()
        CLIENTS.add(self)

    async def check(
        self,
        api: str = "",
        credentials: Headers | None = None,
        *,
        request: Request | None = None,
        token: tuple[str, Scope] | None = None,
        target: Scope | None = None,
        client_address: str = "",
    ) -> CheckAnswer:
        """Checks whether a credential opens an API; in local mode from memory where it can. See ``Client.check``."""
        known = recall_known(
            self, api, credentials, request=request, token=token, target=target, client_address=client_address
        )
        if known is not None:
            return known
        link = self._linked()
        question = Question(api, credentials, request, token, target, client_address)

        ends = monotonic() + self._timeout

        async def ask() -> wire.CheckResponse:
            if credentials is not None:
                self._connection.refuse_if_exposed()
            return await self._call(link.stub.Check, question.message(), ends - monotonic())

        if link.local is None:
            return question.answer(await ask())
        return await link.local.answer(question, ask, self._timeout)

    @recalled
    def check_locally(
        self,
        api: str = "",
        credentials: Headers | None = None,
        *,
        request: Request | None = None,
        token: tuple[str, Scope] | None = None,
        target: Scope | None = None,
        client_address: str = "",
    ) -> CheckAnswer | None:
        """Checks from memory, at once. ``None``: the sidecar must be asked, by ``check``."""
        local = self._linked().local
        if local is None:
            return None
        found = Question(api, credentials, request, token, target, client_address).recall(local.memory, CLOCK.now())
        return found if isinstance(found, CheckAnswer) else None

    async def check_batch(self, checks: Iterable[wire.CheckRequest]) -> list[CheckAnswer]:
        """Makes many checks in one call. The answers have the order of the checks."""
        requests = list(checks)
        if has_credentials(requests):
            self._connection.refuse_if_exposed()
        message = wire.CheckBatchRequest(checks=requests)
        return batch_answers(requests, await self._call(self._linked().stub.CheckBatch, message))

    async def issue(
        self,
        profile: str,
        *,
        apis: Sequence[str] = (),
        project: str | None = None,
        rejected: str | None = None,
        place: str | None = None,
    ) -> IssuedToken:
        """Issues a token of a profile of the sidecar's configuration. See ``Client.issue``."""
        return await self._issue(issue_request(profile, apis, project, rejected, place))

    async def issue_with_password(self, user_name: str, account: str, password: str, scope: Scope) -> IssuedToken:
        """Issues a token of a service user, for a scope."""
        return await self._issue(password_request(user_name, account, password, scope))

    async def _issue(self, request: wire.IssueRequest) -> IssuedToken:
        # The answer is a secret too.
        self._connection.refuse_if_exposed()
        return issued_token(await self._call(self._linked().stub.Issue, request))

    async def revoke(self, *, value: str | None = None, token_id: str | None = None) -> str:
        """Revokes a token by its value, or by its id with a caller token. Returns the id of the token."""
        request = revoke_request(value, token_id)
        if value is not None:
            self._connection.refuse_if_exposed()
        response: wire.RevokeResponse = await self._call(self._linked().stub.Revoke, request)
        return response.token_id

    async def plan(self, apis: Sequence[str]) -> wire.PlanResponse:
        """Finds the smallest set of tokens that opens all of the APIs."""
        response: wire.PlanResponse = await self._call(self._linked().stub.Plan, plan_request(apis))
        return response

    async def close(self) -> None:
        """Ends the connection. A later call opens it again."""
        link, self._link, self._memory = self._link, None, None
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
            self._memory = self._link.local.memory if self._link.local is not None else None
            weakref.finalize(self, self._link.leave).atexit = False
        return self._link

    def _ask_apis(self, then: Callable[[Found], None]) -> None:
        async def ask() -> None:
            found: Found = PortcullisError("the program ends", code="CANCELLED")
            try:
                names, request = list[str](), wire.GetMatrixRequest(page_size=PAGE_SIZE)
                while not names or request.page_token:
                    answer = await self._call(self._linked().stub.GetMatrix, request)
                    names += [api.id for api in answer.matrix.apis]
                    request.page_token = answer.next_page_token
                found = names
            except Exception as error:
                found = error
            finally:
                then(found)

        # In a thread of a server, the client has answered in its loop.
        loop = asyncio.get_running_loop() if is_in_loop() or self._link is None else self._link.loop
        aside = asyncio.run_coroutine_threadsafe(ask(), loop)
        self._asides.add(aside)
        aside.add_done_callback(self._asides.discard)

    def _forked(self) -> None:
        # The child has its own loop, and so another link.
        self._memory = None
        self._reports = Reports()

    async def _call(
        self, method: Callable[..., Awaitable[_Answer]], request: object, timeout: float | None = None
    ) -> _Answer:
        timeout = self._timeout if timeout is None else timeout
        try:
            return await method(request, timeout=timeout, metadata=self._connection.metadata())
        except grpc.RpcError as error:
            raise error_of(error, self._connection.address) from None
        except grpc.aio.UsageError as error:
            # So says gRPC that another task has closed the client.
            raise PortcullisError(str(error), code="CANCELLED") from None


def is_in_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Link:
    """The parts of one event loop: the channel, and the task that follows."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connection: Connection, local: Local | None) -> None:
        self.loop = loop
        address, options, credentials = connection.address, connection.options, connection.credentials
        self._channel = (
            grpc.aio.insecure_channel(address, options=options)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options=options)
        )
        self.stub: Any = rpc.AuthorizationServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.local = None if local is None else _LocalMode(loop, self._channel, self.stub, connection, local)

    async def close(self) -> None:
        if self.local is not None:
            self.local.close()
        await self._channel.close(None)

    def leave(self) -> None:
        """Ends what follows, if the loop still runs. It may be called in any thread."""
        if self.local is not None and not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.local.close)


class _LocalMode:
    """Follows the sidecar in a task, and answers from memory."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        channel: grpc.aio.Channel,
        stub: Any,
        connection: Connection,
        options: Local,
    ) -> None:
        self.memory = options.memory()
        self._channel, self._stub, self._connection = channel, stub, connection
        self._failures = Failures(options)
        #: Questions about a token and an address whose answers may be remembered.
        self._asking: dict[tuple[str, str, str], asyncio.Future[None]] = {}
        self._loop = loop
        self._closed = False
        self._task = loop.create_task(self._follow())

    async def answer(
        self,
        question: Question,
        ask: Callable[[], Awaitable[wire.CheckResponse]],
        timeout: float,
    ) -> CheckAnswer:
        now = CLOCK.now()
        first = question.recall(self.memory, now)
        if isinstance(first, CheckAnswer):
            return first
        found = first.credential
        if found is None or not self.memory.is_following(now):
            return await self._ask(question, first, ask)
        key = (found.carrier, found.value, first.address)
        asking = self._asking.get(key)
        if asking is None:
            mine = self._asking[key] = self._loop.create_future()
            try:
                return await self._ask(question, first, ask)
            finally:
                del self._asking[key]
                mine.set_result(None)
        try:
            await asyncio.wait_for(asyncio.shield(asking), timeout)
        except asyncio.TimeoutError:
            raise too_late() from None
        second = question.recall(self.memory, CLOCK.now())
        return second if isinstance(second, CheckAnswer) else await self._ask(question, second, ask)

    async def _ask(
        self, question: Question, asked: Ask, ask: Callable[[], Awaitable[wire.CheckResponse]]
    ) -> CheckAnswer:
        response = await ask()
        answer = question.answer(response, is_remembered=response.HasField("position"))
        self.memory.learn(asked, response)
        return answer

    def close(self) -> None:
        # Until Python 3.12, `wait_for` loses a cancellation that comes together with a response.
        self._closed = True
        self._task.cancel()

    async def _follow(self) -> None:
        while not self._closed:
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
        # An answer counts from the moment of the question, so the time to connect would be lost.
        await self._channel.channel_ready()
        started = monotonic()
        request = self.memory.begin(CLOCK.now(), CLOCK.jumped)
        call = self._stub.WatchChanges(request, metadata=self._connection.metadata())
        try:
            while True:
                response = await asyncio.wait_for(call.read(), QUIET_MAX)
                if not isinstance(response, wire.WatchChangesResponse):
                    raise RuntimeError("the sidecar has ended the stream")
                goes_on = self.memory.hear(response, CLOCK.now(), CLOCK.jumped)
                self._failures.heard()
                if self._closed or not goes_on or monotonic() - started > STREAM_MAX:
                    return
        finally:
            call.cancel()
