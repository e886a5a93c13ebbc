"""The client for programs with threads."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from time import monotonic
from typing import Any, TypeVar, cast

import grpc

from ._calls import batch_answers, has_credentials, issue_request, password_request, plan_request, revoke_request
from ._connection import CLIENTS, Connection, Tls
from ._elapsed import CLOCK
from ._errors import PortcullisError, error_of, too_late
from ._local import QUIET_MAX, STREAM_MAX, Failures, Local, Question, local_options, recalled
from ._memory import Ask, Memory
from ._reports import PAGE_SIZE, Found, Reports
from ._values import (
    CheckAnswer,
    Headers,
    IssuedToken,
    Request,
    Scope,
    issued_token,
)
from .gen.portcullis.v1 import authorization_pb2 as wire
from .gen.portcullis.v1 import authorization_pb2_grpc as rpc

_Answer = TypeVar("_Answer")


class Client:
    """A connection to a sidecar.

    It opens at the first call, and again after a failure. Threads may share it. A process that forks gets a
    new connection in each child; it must not be used before the fork unless gRPC supports that
    (``GRPC_ENABLE_FORK_SUPPORT``). A client that is not closed ends with the last reference to it, or with the program.

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
        """Describes the connection.

        :param address: ``HOST:PORT`` or ``unix:PATH``; by default ``PORTCULLIS_GRPC_ADDRESS``, or 127.0.0.1:50051.
        :param caller_token: identifies the caller: to issue by profile, to follow, to administer. A secret.
        :param caller_token_file: or a file with that secret. It is read when the client is made, and again when it is
            used after 10 seconds, so that a new secret needs no restart. As long as there is no usable token in it,
            the earlier one counts.
        :param iam_token: the IAM token of an administrator of an account. A secret.
        :param tls: for a sidecar on another machine.
        :param allow_plaintext: send secrets in plaintext to another machine; only where something else encrypts.
        :param timeout: how long a call may take, in seconds.
        :param local: decide in the memory of this program. It needs a caller with the right ``follow``.
        """
        self._local = local_options(local)
        self._connection = Connection(
            address, caller_token, caller_token_file, iam_token, tls, allow_plaintext, self._local is not None
        )
        self._timeout = timeout
        self._lock = threading.Lock()
        self._link: _Link | None = None
        #: Closes the link of a client without a reference.
        self._closing: weakref.finalize[..., Client] | None = None
        #: Of the link, if it is in local mode.
        self._memory: Memory | None = None
        #: Of its guards.
        self._reports = Reports()
        CLIENTS.add(self)

    @recalled
    def check(
        self,
        api: str = "",
        credentials: Headers | None = None,
        *,
        request: Request | None = None,
        token: tuple[str, Scope] | None = None,
        target: Scope | None = None,
        client_address: str = "",
    ) -> CheckAnswer:
        """Checks whether a credential opens an API; in local mode from memory where it can.

        :param api: id of the API.
        :param credentials: the headers of a request, which are verified.
        :param request: in place of ``api`` and ``target``: the routes of the sidecar say them, and need all headers.
        :param token: or kind and scope of a token, which are taken as given.
        :param target: the account, and the project if any, that owns the requested resource.
        :param client_address: IP address of the client, for accounts that restrict addresses.
        """
        link = self._linked()
        question = Question(api, credentials, request, token, target, client_address)
        ends = monotonic() + self._timeout

        def ask() -> wire.CheckResponse:
            if credentials is not None:
                self._connection.refuse_if_exposed()
            return self._call(link.stub.Check, question.message(), wire.CheckResponse, ends - monotonic())

        return question.answer(ask()) if link.local is None else link.local.answer(question, ask, self._timeout)

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

    def check_batch(self, checks: Iterable[wire.CheckRequest]) -> list[CheckAnswer]:
        """Makes many checks in one call. The answers have the order of the checks."""
        requests = list(checks)
        if has_credentials(requests):
            self._connection.refuse_if_exposed()
        message = wire.CheckBatchRequest(checks=requests)
        return batch_answers(requests, self._call(self._linked().stub.CheckBatch, message, wire.CheckBatchResponse))

    def issue(
        self,
        profile: str,
        *,
        apis: Sequence[str] = (),
        project: str | None = None,
        rejected: str | None = None,
        place: str | None = None,
    ) -> IssuedToken:
        """Issues a token of a profile of the sidecar's configuration.

        :param apis: ids of the APIs that the token must open.
        :param project: name of the project, if the APIs accept tokens of a project alone.
        :param rejected: a token that an API has just refused with 401: the profile gives another one. A secret.
        :param place: the place of the token's kind to send it in, as the matrix writes it: ``X-Api-Key``,
            ``Authorization: Bearer`` or ``Authorization: Basic (password)``. Default: the first one.
        """
        return self._issue(issue_request(profile, apis, project, rejected, place))

    def issue_with_password(self, user_name: str, account: str, password: str, scope: Scope) -> IssuedToken:
        """Issues a token of a service user, for a scope."""
        return self._issue(password_request(user_name, account, password, scope))

    def _issue(self, request: wire.IssueRequest) -> IssuedToken:
        # The answer is a secret too.
        self._connection.refuse_if_exposed()
        return issued_token(self._call(self._linked().stub.Issue, request, wire.IssueResponse))

    def revoke(self, *, value: str | None = None, token_id: str | None = None) -> str:
        """Revokes a token by its value, or by its id with a caller token. Returns the id of the token."""
        request = revoke_request(value, token_id)
        if value is not None:
            self._connection.refuse_if_exposed()
        return self._call(self._linked().stub.Revoke, request, wire.RevokeResponse).token_id

    def plan(self, apis: Sequence[str]) -> wire.PlanResponse:
        """Finds the smallest set of tokens that opens all of the APIs."""
        return self._call(self._linked().stub.Plan, plan_request(apis), wire.PlanResponse)

    def close(self) -> None:
        """Ends the connection. A later call opens it again."""
        with self._lock:
            link, self._link, self._memory = self._link, None, None
            self._forget_closing()
        if link is not None:
            link.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _linked(self) -> _Link:
        link = self._link
        if link is not None:
            return link
        with self._lock:
            if self._link is None:
                self._link = _Link(self._connection, self._local)
                self._memory = self._link.local.memory if self._link.local is not None else None
                self._closing = weakref.finalize(self, _close_aside, self._link)
                # A program ends without it.
                self._closing.atexit = False
            return self._link

    def _forget_closing(self) -> None:
        if self._closing is not None:
            self._closing.detach()
            self._closing = None

    def _call(
        self, method: Callable[..., Any], request: object, answer: type[_Answer], timeout: float | None = None
    ) -> _Answer:
        timeout = self._timeout if timeout is None else timeout
        try:
            return cast(_Answer, method(request, timeout=timeout, metadata=self._connection.metadata()))
        except grpc.RpcError as error:
            raise error_of(error, self._connection.address) from None
        except ValueError as error:
            # So says gRPC that another thread has closed the client.
            raise PortcullisError(str(error), code="CANCELLED") from None

    def _ask_apis(self, then: Callable[[Found], None]) -> None:
        def ask() -> None:
            found: Found
            try:
                names, request = list[str](), wire.GetMatrixRequest(page_size=PAGE_SIZE)
                while not names or request.page_token:
                    answer = self._call(self._linked().stub.GetMatrix, request, wire.GetMatrixResponse)
                    names += [api.id for api in answer.matrix.apis]
                    request.page_token = answer.next_page_token
                found = names
            except Exception as error:
                found = error
            then(found)

        threading.Thread(target=ask, name="portcullis-matrix", daemon=True).start()

    def _forked(self) -> None:
        # The threads and the connection are the parent's, and so may be the lock.
        self._lock = threading.Lock()
        self._reports = Reports()
        self._forget_closing()
        self._link = self._memory = None


def _close_aside(link: _Link) -> None:
    # The collector of garbage may run where a lock of gRPC is held.
    threading.Thread(target=link.close, name="portcullis-close", daemon=True).start()


class _Link:
    """The parts of one process: the channel, and the thread that follows."""

    def __init__(self, connection: Connection, local: Local | None) -> None:
        address, options, credentials = connection.address, connection.options, connection.credentials
        self._channel = (
            grpc.insecure_channel(address, options=options)
            if credentials is None
            else grpc.secure_channel(address, credentials, options=options)
        )
        self.stub: Any = rpc.AuthorizationServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.local = None if local is None else _LocalMode(self._channel, self.stub, connection, local)

    def close(self) -> None:
        if self.local is not None:
            self.local.close()
        self._channel.close()


class _LocalMode:
    """Follows the sidecar in a thread, and answers from memory."""

    def __init__(self, channel: grpc.Channel, stub: Any, connection: Connection, options: Local) -> None:
        self.memory = options.memory()
        self._channel, self._stub, self._connection = channel, stub, connection
        self._failures = Failures(options)
        self._closed = threading.Event()
        self._call: Any = None
        self._lock = threading.Lock()
        #: Questions about a token and an address whose answers may be remembered.
        self._asking: dict[tuple[str, str, str], Future[None]] = {}
        threading.Thread(target=self._follow, name="portcullis-follow", daemon=True).start()

    def answer(self, question: Question, ask: Callable[[], wire.CheckResponse], timeout: float) -> CheckAnswer:
        now = CLOCK.now()
        first = question.recall(self.memory, now)
        if isinstance(first, CheckAnswer):
            return first
        found = first.credential
        if found is None or not self.memory.is_following(now):
            return self._ask(question, first, ask)
        key = (found.carrier, found.value, first.address)
        with self._lock:
            asking = self._asking.get(key)
            if asking is None:
                mine: Future[None] = Future()
                self._asking[key] = mine
        if asking is None:
            try:
                return self._ask(question, first, ask)
            finally:
                with self._lock:
                    del self._asking[key]
                mine.set_result(None)
        try:
            asking.result(timeout)
        except FutureTimeoutError:
            raise too_late() from None
        second = question.recall(self.memory, CLOCK.now())
        return second if isinstance(second, CheckAnswer) else self._ask(question, second, ask)

    def _ask(self, question: Question, asked: Ask, ask: Callable[[], wire.CheckResponse]) -> CheckAnswer:
        response = ask()
        answer = question.answer(response, is_remembered=response.HasField("position"))
        self.memory.learn(asked, response)
        return answer

    def close(self) -> None:
        self._closed.set()
        call = self._call
        if call is not None:
            call.cancel()

    def _follow(self) -> None:
        while not self._closed.is_set():
            try:
                self._read()
                continue
            except grpc.RpcError as error:
                failure: Exception = error_of(error, self._connection.address)
            except Exception as error:
                failure = error
            if not self._closed.is_set():
                self._closed.wait(self._failures.pause(failure))

    def _read(self) -> None:
        """Reads one stream. Returns when it was read for long enough."""
        self._connect()
        started = monotonic()
        heard = threading.Event()
        request = self.memory.begin(CLOCK.now(), CLOCK.jumped)
        call = self._stub.WatchChanges(request, metadata=self._connection.metadata())
        self._call = call
        # The iteration waits without an end; this thread ends it where the sidecar says nothing.
        watching = threading.Thread(target=_cancel_if_silent, args=(call, heard), daemon=True)
        watching.start()
        try:
            for response in cast("Iterator[wire.WatchChangesResponse]", call):
                goes_on = self.memory.hear(response, CLOCK.now(), CLOCK.jumped)
                self._failures.heard()
                heard.set()
                if self._closed.is_set() or not goes_on or monotonic() - started > STREAM_MAX:
                    return
        finally:
            call.cancel()
        raise RuntimeError("the sidecar has ended the stream")

    def _connect(self) -> None:
        """Waits for the connection. Its answers count from the moment of the question."""
        connected = grpc.channel_ready_future(self._channel)
        try:
            while not self._closed.is_set():
                with contextlib.suppress(grpc.FutureTimeoutError):
                    connected.result(QUIET_MAX)
                    return
        finally:
            connected.cancel()


def _cancel_if_silent(call: Any, heard: threading.Event) -> None:
    while call.is_active():
        if not heard.wait(QUIET_MAX):
            call.cancel()
            return
        heard.clear()
