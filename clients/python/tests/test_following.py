"""The client before sidecars that say what a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any
from unittest.mock import AsyncMock

import grpc
import pytest

from portcullis_client import AsyncClient, Client, Local, PortcullisError, Request, wsgi
from portcullis_client._denials import denial_of
from portcullis_client._elapsed import CLOCK
from portcullis_client._local import recall_known
from portcullis_client._rules import Rules, WrongSidecar
from portcullis_client.gen.portcullis.v1 import authorization_pb2 as wire
from portcullis_client.gen.portcullis.v1 import authorization_pb2_grpc as rpc
from portcullis_client.gen.portcullis.v1 import decision_pb2 as decision

from .conftest import ACCOUNT, SUITE, eventually, known


def rules_named(name: str) -> wire.Rules:
    return wire.Rules.FromString((SUITE / "rules" / f"{name}.binpb").read_bytes())


def shipped() -> wire.Rules:
    return rules_named("shipped")


def first_response(rules: str = "shipped") -> wire.WatchChangesResponse:
    response = wire.WatchChangesResponse(rules=rules_named(rules), voided=wire.Voided(everything=True))
    response.position.change = 0
    response.valid_for.seconds, response.sent_at.seconds = 60, 1
    return response


class Fake(rpc.AuthorizationServiceServicer):
    """Allows each token. Without ``watch`` it is older, and has no such stream."""

    def __init__(self, watch: Callable[[Any], Iterator[wire.WatchChangesResponse]] | None = None) -> None:
        self.watch, self.watches, self.checks = watch, 0, 0
        #: Of each token, and the rules that decide about it.
        self.kind, self.rules = "static_token", "shipped"
        #: Set: checks have an answer.
        self.answers = threading.Event()
        self.answers.set()
        #: In seconds since 1970, of each token; ``None``: it says none.
        self.issued_at: int | None = None

    def WatchChanges(self, request: Any, context: Any) -> Any:
        self.watches += 1
        if self.watch is None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "there is no such method")
        else:
            yield from self.watch(context)

    def Check(self, request: Any, context: Any) -> wire.CheckResponse:
        self.checks += 1
        self.answers.wait()
        response = wire.CheckResponse(allowed=True, reason=decision.REASON_ALLOWED, verified=True)
        response.position.change = 0
        response.cache_for.seconds = 60
        response.token.token_id, response.token.kind = "id", self.kind
        response.token.scope.account, response.token.subject.id = ACCOUNT, "holder"
        if self.issued_at is not None:
            response.token.issued_at.seconds = self.issued_at
        response.rules_digest = rules_named(self.rules).matrix.rules_digest
        return response


@contextlib.contextmanager
def following(fake: Fake) -> Iterator[tuple[Client, list[Any]]]:
    """A client that follows it, and the reports of the client."""
    server = grpc.server(futures.ThreadPoolExecutor(8))
    rpc.add_AuthorizationServiceServicer_to_server(fake, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    said: list[Any] = []
    with Client(f"127.0.0.1:{port}", local=Local(on_failure=said.append)) as client:
        yield client, said
    server.stop(None).wait()


def silent(context: Any) -> Iterator[wire.WatchChangesResponse]:
    while context.is_active():
        time.sleep(0.01)
    yield from ()


def test_an_older_sidecar_is_asked_each_time() -> None:
    fake = Fake()
    with following(fake) as (client, said):
        client.check("balance", {"X-Token": "a"})
        eventually(lambda: said)
        for _ in range(2):
            answer = client.check("balance", {"X-Token": "a"})
            assert answer.allowed
        assert [getattr(error, "code", "") for error in said] == ["UNIMPLEMENTED"]
        assert (fake.checks, fake.watches) == (3, 1)


def test_an_older_sidecar_allows_no_request_by_its_routes() -> None:
    with following(Fake()) as (client, _), Client(client._connection.address) as asking:
        for each in (client, asking):
            answer = each.check(credentials={"X-Token": "a"}, request=Request("GET", "api.example", "/"))
            assert (answer.allowed, answer.reason, answer.route) == (False, "ALLOWED", None)
        assert denial_of(answer).status == 403


def test_a_stream_that_is_silent_is_left() -> None:
    def watch(context: Any) -> Iterator[wire.WatchChangesResponse]:
        yield first_response()
        yield from silent(context)

    fake = Fake(watch)
    with following(fake) as (client, said):
        client.check("balance", {"X-Token": "a"})
        eventually(lambda: fake.watches > 1)
        assert said == []


def followed(context: Any) -> Iterator[wire.WatchChangesResponse]:
    yield first_response()
    yield from silent(context)


def test_one_who_waits_for_the_question_of_another_has_a_deadline() -> None:
    fake = Fake(followed)
    fake.answers.clear()
    with following(fake) as (client, _):
        client._timeout = 100.0
        eventually(lambda: client._linked().local.memory.is_following(CLOCK.now()))  # type: ignore[union-attr]
        with futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(client.check, "balance", {"X-Token": "a"})
            eventually(lambda: fake.checks)
            client._timeout = 0.1
            with pytest.raises(PortcullisError) as caught:
                client.check("balance", {"X-Token": "a"})
            assert caught.value.code == "DEADLINE_EXCEEDED"
            asyncio.run(_waits(client._connection.address, fake))
            fake.answers.set()
            assert first.result().allowed
    assert fake.checks == 2


async def _waits(address: str, fake: Fake) -> None:
    async with AsyncClient(address, timeout=100.0, local=True) as client:
        while not client._linked().local.memory.is_following(CLOCK.now()):  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
        first = asyncio.ensure_future(client.check("balance", {"X-Token": "a"}))
        while fake.checks < 2:
            await asyncio.sleep(0.01)
        client._timeout = 0.1
        with pytest.raises(PortcullisError) as caught:
            await client.check("balance", {"X-Token": "a"})
        assert caught.value.code == "DEADLINE_EXCEEDED"
        first.cancel()


def test_a_time_that_is_none_is_an_error() -> None:
    fake = Fake(followed)
    fake.issued_at = 1 << 60
    with following(fake) as (client, _):
        for _ in range(2):
            with pytest.raises(PortcullisError) as caught:
                client.check("balance", {"X-Token": "a"})
            assert caught.value.code == "INTERNAL"


def test_a_token_behind_a_scheme_is_known() -> None:
    def watch(context: Any) -> Iterator[wire.WatchChangesResponse]:
        first = first_response("library")
        if fake.watches > 1:
            first.ClearField("voided")
        yield first
        yield from silent(context)

    fake = Fake(watch)
    fake.kind, fake.rules = "kiosk_key", "library"

    def question(value: str) -> list[tuple[str, str]]:
        return [("Authorization", value)]

    def environ(value: str) -> dict[str, Any]:
        return {"REQUEST_METHOD": "GET", "wsgi.version": (1, 0), "HTTP_AUTHORIZATION": value}

    def app(environ: dict[str, Any], _: Any) -> list[bytes]:
        return [environ["portcullis.answer"].scheme.encode()]

    with following(fake) as (client, said):
        eventually(lambda: client.check_locally("printers", question("Kiosk key")) or _asked(client))
        asked = fake.checks
        for headers in (question("KIOSK  key"), {"authorization": "kiosk key"}, [(b"authorization", b"Kiosk key")]):
            answer = client.check("printers", headers)  # type: ignore[arg-type]
            assert (answer.allowed, answer.header, answer.scheme) == (True, "Authorization", "Kiosk")
        # The shorter way.
        for short in (question("Kiosk key"), {"authorization": "kiosk key"}, environ("Kiosk key")):
            assert recall_known(client, "printers", short) is not None
        for value in ("Bearer key", "key", "Kiosk"):
            assert client.check_locally("printers", question(value)) is None
            assert recall_known(client, "printers", question(value)) is None
        guarded = wsgi.RequireToken(app, client, "printers")
        assert list(guarded(environ("Kiosk key"), lambda *_: None)) == [b"Kiosk"]
        assert fake.checks == asked
        assert said == []


def _asked(client: Client) -> bool:
    client.check("printers", [("Authorization", "Kiosk key")])
    return False


def _without(field: str) -> wire.WatchChangesResponse:
    response = first_response()
    response.ClearField(field)  # type: ignore[arg-type]
    return response


def _later(**fields: Any) -> wire.WatchChangesResponse:
    response = wire.WatchChangesResponse(**fields)
    response.position.change = 0
    response.valid_for.seconds, response.sent_at.seconds = 60, 1
    return response


def _clock_set_back() -> wire.WatchChangesResponse:
    response = _later()
    response.sent_at.seconds = 0
    return response


def _going_back() -> wire.WatchChangesResponse:
    response = _later()
    response.position.change = -1
    return response


def _of_another_time() -> wire.WatchChangesResponse:
    response = _later()
    response.position.recorded_at.seconds = 7
    return response


WRONG: dict[str, Callable[[], wire.WatchChangesResponse]] = {
    "no position": lambda: _without("position"),
    "no time when it was sent": lambda: _without("sent_at"),
    "a clock that is set back": _clock_set_back,
    "a position before the last one": _going_back,
    "a position of another time": _of_another_time,
    "rules without rows": lambda: _later(rules=wire.Rules(matrix=shipped().matrix)),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_sidecar_that_says_what_cannot_be_is_left(name: str) -> None:
    is_wrong = False

    def watch(context: Any) -> Iterator[wire.WatchChangesResponse]:
        yield first_response()
        while context.is_active() and not is_wrong:
            time.sleep(0.01)
            yield _later()
        yield WRONG[name]()
        yield from silent(context)

    fake = Fake(watch)
    with following(fake) as (client, said):
        answer = known(client, "a", "balance", "X-Token")
        assert (answer.allowed, answer.cache_for) == (True, 0)
        memory = client._memory
        assert memory is not None
        before = memory.tokens
        is_wrong = True
        eventually(lambda: said)
        assert memory.tokens is not before, "what was known is void"
        assert isinstance(said[0], WrongSidecar)
        is_wrong = False
        eventually(lambda: fake.watches > 1)
        known(client, "a", "balance", "X-Token")
        assert len(said) == 1


def test_a_server_that_is_no_sidecar() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(2))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    said: list[Any] = []
    with Client(f"127.0.0.1:{port}", local=Local(on_failure=said.append)) as client:
        with pytest.raises(PortcullisError) as caught:
            client.check("balance", {"X-Token": "a"})
        assert caught.value.code == "UNIMPLEMENTED"
        eventually(lambda: said)
        assert client.check_locally("balance", {"X-Token": "a"}) is None
    server.stop(None).wait()


def _row_without_a_kind(rules: wire.Rules) -> None:
    del rules.apis[3].cells[0]


def _no_rows(rules: wire.Rules) -> None:
    del rules.apis[:]


def _no_row_for_unknown_apis(rules: wire.Rules) -> None:
    del rules.apis[0]


def _cell_that_does_not_exist(rules: wire.Rules) -> None:
    rules.apis[3].cells[0] = len(rules.cells)


def _reason_that_is_missing(rules: wire.Rules) -> None:
    del rules.cells[0].reasons[0]


def _kind_without_places(rules: wire.Rules) -> None:
    del rules.matrix.token_kinds[0].places[:]


@pytest.mark.parametrize(
    "damage",
    [
        _no_rows,
        _no_row_for_unknown_apis,
        _row_without_a_kind,
        _cell_that_does_not_exist,
        _reason_that_is_missing,
        _kind_without_places,
    ],
)
def test_rules_with_a_cell_or_a_place_missing_are_refused(damage: Callable[[wire.Rules], None]) -> None:
    rules = shipped()
    assert rules.apis[0].api == ""
    damage(rules)
    with pytest.raises(WrongSidecar):
        Rules(rules)


def test_a_matrix_of_100_000_apis() -> None:
    message = shipped()
    templates = list(message.apis)[1:31]
    for number in range(100_000):
        row = message.apis.add()
        row.CopyFrom(templates[number % 30])
        row.api = f"api-{number}"
    rules = Rules(message)
    kinds = [kind.id for kind in message.matrix.token_kinds]
    for number in range(100_000):
        for kind in kinds:
            assert rules.reason(f"api-{number}", kind, 4) == rules.reason(templates[number % 30].api, kind, 4)
    assert rules.reason("api-100000", "static_token", 4) == "UNKNOWN_API"


class Stream:
    """A stream whose next response comes when the test says so."""

    def __init__(self) -> None:
        self.response: asyncio.Future[wire.WatchChangesResponse] = asyncio.get_running_loop().create_future()

    async def read(self) -> wire.WatchChangesResponse:
        return await self.response

    def cancel(self) -> None:
        pass


async def test_following_ends_also_when_a_response_comes_at_the_same_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream()
    watched = asyncio.Event()

    def watch(*_: object, **__: object) -> Stream:
        watched.set()
        return stream

    monkeypatch.setattr(rpc.AuthorizationServiceStub, "__init__", lambda stub, _: setattr(stub, "WatchChanges", watch))
    client = AsyncClient("127.0.0.1:1", local=True)
    link = client._linked()
    assert link.local is not None
    monkeypatch.setattr(link._channel, "channel_ready", AsyncMock())
    await watched.wait()
    await asyncio.sleep(0)
    stream.response.set_result(first_response())
    link.local.close()
    await asyncio.wait_for(asyncio.wait({link.local._task}), 5)
    await client.close()
