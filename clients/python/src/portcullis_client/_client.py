"""The client for programs with threads."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar, cast

import grpc

from ._connection import Connection, Tls
from ._errors import error_of
from ._local import QUIET_MAX, STREAM_MAX, Failures, Local, local_options
from ._memory import Ask, Memory
from ._values import (
    CheckAnswer,
    Headers,
    IssuedToken,
    Scope,
    check_answer,
    check_request,
    header_pairs,
    issued_token,
    scope_message,
)
from .gen.portcullis.v1 import authorization_pb2 as wire
from .gen.portcullis.v1 import authorization_pb2_grpc as rpc

_Answer = TypeVar("_Answer")


class Client:
    """A connection to a sidecar.

    It opens at the first call, and again after a failure. Threads may share it. A process that forks gets a
    connection of its own in each child; it must not be used before the fork unless gRPC supports that
    (``GRPC_ENABLE_FORK_SUPPORT``).

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
        """Describes the connection.

        :param address: ``HOST:PORT`` or ``unix:PATH``; by default ``PORTCULLIS_GRPC_ADDRESS``, or 127.0.0.1:50051.
        :param caller_token: identifies the caller: to issue by profile, to follow, to administer. A secret.
        :param iam_token: the IAM token of an administrator of an account. A secret.
        :param tls: for a sidecar on another machine.
        :param allow_plaintext: send secrets in plaintext to another machine; only where something else encrypts.
        :param timeout: how long a call may take, in seconds.
        :param local: decide in the memory of this program. It needs a caller with the right ``follow``.
        """
        self._local = local_options(local)
        self._connection = Connection(address, caller_token, iam_token, tls, allow_plaintext, self._local is not None)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._link: _Link | None = None
        _CLIENTS.add(self)

    def check(
        self,
        api: str,
        credentials: Headers | None = None,
        *,
        token: tuple[str, Scope] | None = None,
        target: Scope | None = None,
        client_address: str = "",
    ) -> CheckAnswer:
        """Checks whether a credential opens an API; in local mode from memory where it can.

        :param api: id of the API.
        :param credentials: the headers of a request, which are verified.
        :param token: or kind and scope of a token, which are taken as given.
        :param target: the account, and the project if any, that owns the requested resource.
        :param client_address: IP address of the client, for accounts that restrict addresses.
        """
        link = self._linked()

        def ask() -> wire.CheckResponse:
            request = check_request(api, credentials, token, target, client_address)
            if credentials is not None:
                self._connection.refuse_if_exposed()
            return self._call(link.stub.Check, request, wire.CheckResponse)

        if link.local is None:
            return check_answer(ask())
        recall = _recalling(link.local.memory, api, credentials, token, target, client_address)
        return link.local.answer(recall, ask)

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

    def check_batch(self, checks: Iterable[wire.CheckRequest]) -> list[CheckAnswer]:
        """Makes many checks in one call. The answers have the order of the checks."""
        requests = list(checks)
        if any(request.WhichOneof("subject") == "credentials" for request in requests):
            self._connection.refuse_if_exposed()
        response = self._call(
            self._linked().stub.CheckBatch, wire.CheckBatchRequest(checks=requests), wire.CheckBatchResponse
        )
        # With a different number, a check could be paired with the answer of another one.
        if len(response.results) != len(requests):
            raise RuntimeError(f"expected {len(requests)} answers from the sidecar, found {len(response.results)}")
        return [check_answer(result) for result in response.results]

    def issue(
        self,
        profile: str,
        *,
        apis: Sequence[str] = (),
        project: str | None = None,
        rejected: str | None = None,
    ) -> IssuedToken:
        """Issues a token of a profile of the sidecar's configuration.

        :param apis: ids of the APIs that the token must open.
        :param project: name of the project, if the APIs accept tokens of a project alone.
        :param rejected: a token that an API has just refused with 401: the profile gives another one. A secret.
        """
        request = wire.IssueRequest(profile=profile, rejected_value=rejected or "")
        request.apis.apis.extend(apis)
        request.apis.project = project or ""
        return self._issue(request)

    def issue_with_password(self, user_name: str, account: str, password: str, scope: Scope) -> IssuedToken:
        """Issues a token of a service user, for a scope."""
        request = wire.IssueRequest(scope=scope_message("scope", scope))
        request.password.user_name, request.password.account = user_name, account
        request.password.password = password
        return self._issue(request)

    def _issue(self, request: wire.IssueRequest) -> IssuedToken:
        # The answer is a secret too.
        self._connection.refuse_if_exposed()
        return issued_token(self._call(self._linked().stub.Issue, request, wire.IssueResponse))

    def revoke(self, *, value: str | None = None, token_id: str | None = None) -> str:
        """Revokes a token by its value, or by its id with a caller token. Returns the id of the token."""
        if (value is None) == (token_id is None):
            raise TypeError("value: expected the token, or `token_id` instead")
        if value is not None:
            self._connection.refuse_if_exposed()
        request = wire.RevokeRequest()
        if value is not None:
            request.value = value
        else:
            request.token_id = token_id or ""
        return self._call(self._linked().stub.Revoke, request, wire.RevokeResponse).token_id

    def plan(self, apis: Sequence[str]) -> wire.PlanResponse:
        """Finds the smallest set of tokens that opens all of the APIs."""
        if isinstance(apis, str):
            raise TypeError("apis: expected a list of ids")
        return self._call(self._linked().stub.Plan, wire.PlanRequest(apis=apis), wire.PlanResponse)

    def close(self) -> None:
        """Ends the connection. A later call opens it again."""
        with self._lock:
            link, self._link = self._link, None
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
            return self._link

    def _call(self, method: Callable[..., Any], request: object, answer: type[_Answer]) -> _Answer:
        try:
            return cast(_Answer, method(request, timeout=self._timeout, metadata=self._connection.metadata))
        except grpc.RpcError as error:
            raise error_of(error, self._connection.address) from None

    def _forked(self) -> None:
        # The threads and the connection are the parent's, and so may be the lock.
        self._lock = threading.Lock()
        self._link = None


_CLIENTS: weakref.WeakSet[Client] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_CLIENTS):
        client._forked()


os.register_at_fork(after_in_child=_after_fork)


def _recalling(
    memory: Memory,
    api: str,
    credentials: Headers | None,
    token: tuple[str, Scope] | None,
    target: Scope | None,
    client_address: str,
) -> Callable[[float], CheckAnswer | Ask]:
    """What asks the memory. Raises ``TypeError`` where a question has the wrong shape."""
    well_formed = (
        isinstance(api, str)
        and isinstance(client_address, str)
        and (credentials is None) != (token is None)
        and (target is None or isinstance(target, Scope))
    )
    if not well_formed or credentials is None or token is not None:
        # It raises where something is wrong with the question.
        check_request(api, credentials, token, target, client_address)
        kind, scope = cast("tuple[str, Scope]", token)
        return lambda now: memory.recall_claims(api, kind, scope, target, now)
    pairs = header_pairs(credentials)
    return lambda now: memory.recall(api, pairs, target, client_address, now)


class _Link:
    """What belongs to one process: the channel, and the thread that follows."""

    def __init__(self, connection: Connection, local: Local | None) -> None:
        address, options, credentials = connection.address, connection.options, connection.credentials
        self._channel = (
            grpc.insecure_channel(address, options=options)
            if credentials is None
            else grpc.secure_channel(address, credentials, options=options)
        )
        self.stub: Any = rpc.AuthorizationServiceStub(self._channel)  # type: ignore[no-untyped-call]
        self.local = None if local is None else _LocalMode(self.stub, connection, local)

    def close(self) -> None:
        if self.local is not None:
            self.local.close()
        self._channel.close()


class _LocalMode:
    """Follows the sidecar in a thread, and answers from memory."""

    def __init__(self, stub: Any, connection: Connection, options: Local) -> None:
        self.memory = options.memory()
        self._stub, self._connection = stub, connection
        self._failures = Failures(options)
        self._closed = threading.Event()
        self._call: Any = None
        self._lock = threading.Lock()
        #: Questions about a token and an address whose answers may be remembered.
        self._asking: dict[tuple[str, str, str], Future[None]] = {}
        threading.Thread(target=self._follow, name="portcullis-follow", daemon=True).start()

    def answer(
        self, recall: Callable[[float], CheckAnswer | Ask], ask: Callable[[], wire.CheckResponse]
    ) -> CheckAnswer:
        now = time.monotonic()
        first = recall(now)
        if isinstance(first, CheckAnswer):
            return first
        found = first.credential
        if found is None or not self.memory.is_following(now):
            return self._ask(first, ask)
        key = (found.header, found.value, first.address)
        with self._lock:
            asking = self._asking.get(key)
            if asking is None:
                mine: Future[None] = Future()
                self._asking[key] = mine
        if asking is None:
            try:
                return self._ask(first, ask)
            finally:
                with self._lock:
                    del self._asking[key]
                mine.set_result(None)
        asking.result()
        second = recall(time.monotonic())
        return second if isinstance(second, CheckAnswer) else self._ask(second, ask)

    def _ask(self, asked: Ask, ask: Callable[[], wire.CheckResponse]) -> CheckAnswer:
        response = ask()
        self.memory.learn(asked, response)
        answer = check_answer(response)
        # The memory forgets it when a change touches it, and a cache would not.
        return replace(answer, cache_for=0.0) if response.HasField("position") else answer

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
        started = time.monotonic()
        heard = threading.Event()
        request = self.memory.begin(started)
        call = self._stub.WatchChanges(request, metadata=self._connection.metadata)
        self._call = call
        # The iteration waits without an end; this thread ends it where the sidecar says nothing.
        watching = threading.Thread(target=_cancel_if_silent, args=(call, heard), daemon=True)
        watching.start()
        try:
            for response in cast("Iterator[wire.WatchChangesResponse]", call):
                now = time.monotonic()
                self.memory.hear(response, now)
                self._failures.heard()
                heard.set()
                if self._closed.is_set() or now - started > STREAM_MAX:
                    return
        finally:
            call.cancel()
        raise RuntimeError("the sidecar has ended the stream")


def _cancel_if_silent(call: Any, heard: threading.Event) -> None:
    while call.is_active():
        if not heard.wait(QUIET_MAX):
            call.cancel()
            return
        heard.clear()
