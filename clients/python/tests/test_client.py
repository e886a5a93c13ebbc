"""The client before a real sidecar: asking, and deciding in the memory of the program."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pathlib
import random
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from portcullis_client import AsyncClient, Client, Local, PortcullisError, Request, Scope, Tls
from portcullis_client._connection import Presented
from portcullis_client._values import check_request
from portcullis_client.gen.portcullis.v1 import authorization_pb2 as wire

from .conftest import (
    ACCOUNT,
    FOLLOWER,
    MANY,
    OPERATOR,
    OTHER_ACCOUNT,
    READER,
    SUITE,
    Sidecar,
    eventually,
    issued,
    known,
    local_client,
    revoked,
)


@pytest.mark.parametrize("options", [{}, {"local": True}])
def test_a_client_tries_to_connect_often(options: dict[str, Any]) -> None:
    # With the pauses of gRPC alone, which grow up to two minutes, it would take longer than is waited for.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        attempts: list[float] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connection.close()
                    attempts.append(time.monotonic())

        threading.Thread(target=accept, daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        with Client(address, caller_token=FOLLOWER, timeout=1.0, **options) as client:

            def is_often() -> bool:
                with contextlib.suppress(PortcullisError):
                    client.check("balance", {"X-Token": "any"})
                return len(attempts) > 10

            eventually(is_often)


def test_a_token_opens_what_it_opens(sidecar: Sidecar) -> None:
    with Client(sidecar.address) as client:
        headers = {"X-Token": sidecar.static_token}
        answer = client.check("reports", headers, target=Scope(ACCOUNT))
        assert (answer.allowed, answer.reason) == (True, "ALLOWED")
        assert answer.token is not None
        assert answer.token.scope == Scope(ACCOUNT)
        denied = client.check("iam", headers)
        assert (denied.allowed, denied.reason) == (False, "TOKEN_KIND_NOT_ACCEPTED")
        assert client.check("iam", {}).reason == "CREDENTIAL_MISSING"
        assert client.check("reports", token=("static_token", Scope("1"))).verified is False


def test_the_client_for_asyncio_has_every_call() -> None:
    calls = {name for name in dir(Client) if not name.startswith("_")}
    assert {name for name in dir(AsyncClient) if not name.startswith("_")} == calls


async def test_the_calls_of_asyncio_answer_as_the_others_do(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.address, caller_token=OPERATOR) as asynchronous:
        made = await asynchronous.issue_with_password("demo", ACCOUNT, sidecar.secrets["demo"], Scope(ACCOUNT))
        checks = [check_request(api, {"X-Auth-Token": made.value}, None, None, "") for api in ("iam", "reports")]
        with Client(sidecar.address) as client:
            assert await asynchronous.check_batch(checks) == client.check_batch(checks)
            assert await asynchronous.plan(["iam", "reports"]) == client.plan(["iam", "reports"])
        token_id = await asynchronous.revoke(value=made.value)
        assert await asynchronous.revoke(token_id=token_id) == token_id
        [first, _] = await asynchronous.check_batch(checks)
        assert first.reason == "CREDENTIAL_REVOKED"
        with pytest.raises(TypeError, match="value: expected the token"):
            await asynchronous.revoke()


def test_from_memory_for_every_api(sidecar: Sidecar) -> None:
    value = issued(sidecar, "alpha")
    with local_client(sidecar) as client, Client(sidecar.address) as asking:
        known(client, value)
        plan = asking.plan(["iam", "balance", "reports", "secrets", "object-storage"])
        for api in [*(api for token in plan.tokens for api in token.apis), "no-such-api"]:
            headers = [("x-auth-token", value)]
            client.check(api, headers)
            asked, recalled = asking.check(api, headers), client.check_locally(api, headers)
            assert recalled is not None
            same = ("allowed", "reason", "message", "header", "accepted", "rules_digest", "verified", "token", "route")
            assert [getattr(recalled, name) for name in same] == [getattr(asked, name) for name in same], api


def test_a_revoked_token_is_denied_without_asking(sidecar: Sidecar) -> None:
    value = issued(sidecar)
    headers = [("X-Auth-Token", value)]
    with local_client(sidecar) as client:
        assert known(client, value).allowed
        revoked(sidecar, value)
        eventually(lambda: (answer := client.check_locally("iam", headers)) is None or not answer.allowed)
        assert client.check("iam", headers).reason == "CREDENTIAL_REVOKED"
        recalled = client.check_locally("iam", headers)
        assert recalled is not None
        assert recalled.reason == "CREDENTIAL_REVOKED"


async def test_asyncio(sidecar: Sidecar) -> None:
    value = issued(sidecar)
    headers = [(b"x-auth-token", value.encode())]
    async with AsyncClient(sidecar.address, caller_token=FOLLOWER, local=True) as client:
        while client.check_locally("iam", headers) is None:
            answers = await asyncio.gather(*(client.check("iam", headers) for _ in range(10)))
            assert all(answer.allowed for answer in answers)
        revoked(sidecar, value)
        while (await client.check("iam", headers)).allowed:
            await asyncio.sleep(0.001)
        assert (await client.check("iam", headers)).reason == "CREDENTIAL_REVOKED"


def test_threads_share_a_client(sidecar: Sidecar) -> None:
    value = issued(sidecar)
    answers: list[bool] = []
    with local_client(sidecar) as client:
        known(client, value)

        def ask() -> None:
            for _ in range(2_000):
                answers.append(client.check("iam", [("X-Auth-Token", value)]).allowed)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [True] * 16_000


def test_threads_that_check_while_tokens_come_and_go(sidecar: Sidecar) -> None:
    """No thread gets an allow after another one has seen the denial of the same token."""
    with local_client(sidecar, local=Local(tokens_max=64)) as client:
        known(client, sidecar.static_token, "balance", "X-Token")
        values = [sidecar.create_token(f"stress-{number}") for number in range(16)]
        denied: set[str] = set()
        failures: list[object] = []
        done = threading.Event()

        def ask(seed: int) -> None:
            some = random.Random(seed)
            while not done.is_set():
                value = some.choice(values) if some.random() < 0.7 else some.choice(sidecar.many)
                was_denied = value in denied
                try:
                    api, address = some.choice(["balance", "reports"]), some.choice(["", "192.0.2.1"])
                    answer = client.check(api, [("X-Token", value)], client_address=address)
                except Exception as error:
                    failures.append(error)
                    return
                if answer.allowed and was_denied:
                    failures.append(answer)
                if not answer.allowed:
                    denied.add(value)

        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for value in values:
            revoked(sidecar, value)
            time.sleep(0.05)
        eventually(lambda: failures or denied == set(values))
        done.set()
        for thread in threads:
            thread.join()
        assert failures == []
        memory = client._memory
        assert memory is not None
        assert memory._size == sum(known.addresses() for known in memory.tokens.values()) <= 64


def test_many_wait_for_one_question(sidecar: Sidecar) -> None:
    value = issued(sidecar)
    with local_client(sidecar) as client:
        known(client, sidecar.static_token, "reports", "X-Token")
        link = client._link
        assert link is not None
        asked: list[float] = []
        check = link.stub.Check

        def counted(*arguments: object, **options: object) -> object:
            asked.append(time.monotonic())
            time.sleep(0.2)
            return check(*arguments, **options)

        link.stub.Check = counted
        threads = [threading.Thread(target=client.check, args=("iam", [("X-Auth-Token", value)])) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(asked) == 1


def test_a_sidecar_that_is_killed_and_comes_back(tmp_path: pathlib.Path) -> None:
    running = Sidecar(tmp_path)
    headers = [("X-Token", running.static_token)]
    with local_client(running, timeout=2) as client:
        known(client, running.static_token, "reports", "X-Token")
        running.kill()
        eventually(lambda: client.check_locally("reports", headers) is None)
        with pytest.raises(PortcullisError) as caught:
            client.check("reports", headers)
        assert caught.value.code == "UNAVAILABLE"
        running.start()
        eventually(lambda: _reason(client, headers) == "ALLOWED" and client.check_locally("reports", headers))
        # Another directory at the same address: knowledge of the first one is void.
        running.kill()
        running.start(data="other")
        eventually(lambda: _reason(client, headers) == "CREDENTIAL_INVALID")
    running.stop()


def _reason(client: Client, headers: list[tuple[str, str]]) -> str:
    try:
        return client.check("reports", headers).reason
    except PortcullisError as error:
        return error.code


@pytest.fixture
def certificate(sidecar: Sidecar) -> Tls:
    """A key and a certificate for this machine, which signs itself."""
    key, file = sidecar.folder / "key.pem", sidecar.folder / "certificate.pem"
    names = "subjectAltName=IP:127.0.0.1,DNS:follower.example"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    subprocess.run(
        [*made, "-subj", "/CN=sidecar", "-addext", names, "-keyout", key, "-out", file], check=True, capture_output=True
    )
    key.chmod(0o600)
    return Tls(file.read_bytes(), file.read_bytes(), key.read_bytes())


def test_over_tls_with_a_certificate_of_the_caller(sidecar: Sidecar, certificate: Tls) -> None:
    caller = {"name": "job", "certificate": {"dns": "follower.example"}, "rights": ["follow"]}
    tls = {"certificate": "certificate.pem", "key": "key.pem", "client_ca": "certificate.pem"}
    with sidecar.beside(callers=[caller], profiles={}, grpc={"tls": tls}) as address:
        with Client(address, tls=certificate, local=True) as client:
            assert known(client, sidecar.static_token, "reports", "X-Token").allowed
        with Client(address, local=True, timeout=2) as client, pytest.raises(PortcullisError):
            client.check("reports", {"X-Token": sidecar.static_token})


def test_a_unix_socket(sidecar: Sidecar) -> None:
    with (
        sidecar.beside(f"unix:{sidecar.folder}/grpc.sock") as address,
        Client(address, caller_token=FOLLOWER, local=True) as client,
    ):
        assert known(client, sidecar.static_token, "reports", "X-Token").allowed


def asked(client: Client) -> list[object]:
    """The questions of the client from now on."""
    requests: list[object] = []
    link = client._linked()
    check = link.stub.Check

    def counted(request: object, **options: object) -> object:
        requests.append(request)
        return check(request, **options)

    link.stub.Check = counted
    return requests


def test_ten_thousand_tokens(sidecar: Sidecar) -> None:
    with local_client(sidecar, local=Local(tokens_max=MANY)) as client:
        known(client, sidecar.many[0], "balance", "X-Token")
        requests = asked(client)

        def ask(value: str) -> bool:
            return client.check("balance", [("X-Token", value)], target=Scope(ACCOUNT)).allowed

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask, sidecar.many))
        assert len(requests) == MANY - 1
        assert all(map(ask, sidecar.many))
        assert len(requests) == MANY - 1
        # One more, and the oldest make room.
        assert ask(sidecar.static_token)
        memory = client._memory
        assert memory is not None
        assert MANY * 0.9 < len(memory.tokens) == memory._size <= MANY


def test_tokens_of_other_accounts_are_asked_about(sidecar: Sidecar) -> None:
    with local_client(sidecar, local=Local(accounts=[OTHER_ACCOUNT])) as client:
        known(client, sidecar.secrets["stranger"], "balance", "X-Token")
        requests = asked(client)
        for value in (sidecar.static_token, sidecar.secrets["stranger"]) * 3:
            assert client.check("balance", {"X-Token": value}).allowed
        assert len(requests) == 3


def test_a_stranger_is_denied_from_memory(sidecar: Sidecar) -> None:
    with local_client(sidecar) as client:
        known(client, sidecar.secrets["stranger"], "balance", "X-Token")
        headers = [("X-Token", sidecar.secrets["stranger"])]
        for _ in range(2):
            answer = client.check("balance", headers, target=Scope(ACCOUNT))
            assert (answer.allowed, answer.reason) == (False, "ACCOUNT_MISMATCH")
        assert client.check_locally("balance", headers, target=Scope(ACCOUNT)) == answer
        assert client.check("balance", headers, target=Scope(OTHER_ACCOUNT)).allowed


HEADERS: dict[str, tuple[object, str]] = {
    "bytes that are not text": ([(b"x-token", b"\xff\xfe\x00")], "CREDENTIAL_MALFORMED"),
    "a value of another encoding": ([(b"x-token", "жетон".encode("koi8-r"))], "CREDENTIAL_MALFORMED"),
    "text beyond ASCII": ({"X-Token": "жетон"}, "CREDENTIAL_MALFORMED"),
    "half of a pair of surrogates": ({"X-Token": "\ud800"}, "CREDENTIAL_MALFORMED"),
    "a name that is not text": ([(b"x-t\xf6ken", b"a"), (b"\xff" * 7, b"b")], "CREDENTIAL_MISSING"),
    "a name with another letter like k": ({"X-To\u212aen": "a"}, "CREDENTIAL_MISSING"),
    "10,000 headers and none": ([(f"x-{number}", "a") for number in range(10_000)], "CREDENTIAL_MISSING"),
    "10,000 values": ({"X-Token": ["a"] * 10_000}, "CREDENTIAL_AMBIGUOUS"),
    "10,000 tokens": ([(b"X-Token", b"a")] * 10_000, "CREDENTIAL_AMBIGUOUS"),
    "a token of a megabyte": ({"X-Token": "a" * 1_000_000 + " a"}, "CREDENTIAL_MALFORMED"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_of_an_attacker(sidecar: Sidecar, name: str) -> None:
    headers, reason = HEADERS[name]
    with local_client(sidecar) as client, Client(sidecar.address) as asking:
        known(client, sidecar.static_token, "reports", "X-Token")
        for _ in range(2):
            assert client.check("reports", headers).reason == reason  # type: ignore[arg-type]
        recalled = client.check_locally("reports", headers)  # type: ignore[arg-type]
        assert recalled is not None
        if "10,000" not in name and "megabyte" not in name:
            # The sidecar does not read more.
            assert recalled.message == asking.check("reports", headers).message  # type: ignore[arg-type]


def test_headers_from_an_iterator_are_read_once(sidecar: Sidecar) -> None:
    with local_client(sidecar) as client:
        for _ in range(3):
            answer = client.check("reports", iter([("X-Token", sidecar.static_token)]))
            assert answer.allowed
        known(client, sidecar.static_token, "reports", "X-Token")
        assert client.check("reports", iter([("X-Token", sidecar.static_token)])).allowed


def test_an_answer_cannot_be_changed(sidecar: Sidecar) -> None:
    with local_client(sidecar) as client:
        answer = known(client, sidecar.secrets["stranger"], "balance", "X-Token")
        with pytest.raises(AttributeError, match="cannot be changed"):
            answer.allowed = True


def test_local_answers_are_those_of_the_sidecar(sidecar: Sidecar) -> None:
    """Random questions. ``QUESTIONS`` says how many: 1,000,000 in the nightly size."""
    count, seed = int(os.environ.get("QUESTIONS", "10000")), time.time_ns()
    print("seed", seed)
    some = random.Random(seed)
    values = [
        *(sidecar.secrets["owner"], sidecar.secrets["stranger"], issued(sidecar), issued(sidecar, "alpha")),
        *(sidecar.many[0], "unknown", "", "a b", "a,b"),
    ]
    message = wire.Rules.FromString((SUITE / "rules" / "shipped.binpb").read_bytes())
    apis = [row.api for row in message.apis if row.api] + ["no-such-api"]
    kinds = ["static_token", "iam_token_account_scoped", "iam_token_project_scoped", "no-such-kind", ""]
    names = ["X-Token", "x-auth-token", "X-AUTH-TOKEN", "x-token", "X-Other"]
    hosts = ["api.example.com", "api.example.com", "API.example.com:443", "a..b", "a,b", ""]
    balance = f"/accounts/{ACCOUNT}/balance"
    paths = [
        *(balance, f"{balance}/", f"{balance}?a=b", f"/accounts/{OTHER_ACCOUNT}/balance", "/test.Service/Unary"),
        *(f"{balance}/x", f"{balance}.json", balance.upper(), f"/{balance}", "/accounts/a%62/balance", "*", ""),
    ]

    def scope() -> Scope:
        account = some.choice([ACCOUNT, ACCOUNT, ACCOUNT, OTHER_ACCOUNT])
        return Scope(account, some.choice([None, None, "alpha", "beta"]))

    def question() -> dict[str, Any]:
        asked: dict[str, Any] = {"api": some.choice(apis), "target": scope() if some.random() < 0.75 else None}
        asked["client_address"] = some.choice(["", "192.0.2.1", "2001:db8::1"])
        asked["credentials"] = asked["token"] = asked["request"] = None
        if some.random() < 0.2:
            asked["token"] = (some.choice(kinds), scope())
        else:
            pairs = [(some.choice(names), some.choice(values)) for _ in range(1 + (some.random() < 0.2))]
            asked["credentials"] = some.choice([list, as_bytes, as_mapping])(pairs)
            if some.random() < 0.2:
                asked["api"], asked["target"] = "", None
                asked["request"] = Request(some.choice(["GET", "POST", "get"]), some.choice(hosts), some.choice(paths))
        return asked

    with local_client(sidecar) as client, Client(sidecar.address) as asking:
        known(client, sidecar.static_token, "reports", "X-Token")
        from_memory = 0
        for begun in range(0, count, 500):
            questions = [question() for _ in range(min(500, count - begun))]
            expected = asking.check_batch([check_request(**each) for each in questions])
            for each, answer in zip(questions, expected, strict=True):
                found = client.check_locally(**each)
                from_memory += found is not None
                if found is None:
                    found = client.check(**each)
                    assert found.allowed == answer.allowed, each
                else:
                    same = (
                        "allowed",
                        "reason",
                        "message",
                        "header",
                        "accepted",
                        "rules_digest",
                        "verified",
                        "token",
                        "route",
                    )
                    assert all(getattr(found, name) == getattr(answer, name) for name in same), (each, found, answer)
        assert count <= 5_000 or from_memory > count / 2


def as_bytes(pairs: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in pairs]


def as_mapping(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return values


def test_without_the_right_each_check_is_asked_and_that_is_said_once(sidecar: Sidecar) -> None:
    said: list[Exception] = []
    local = Local(on_failure=said.append)
    with Client(sidecar.address, caller_token=READER, local=local) as client:
        headers = {"X-Token": sidecar.static_token}
        assert client.check("reports", headers).allowed
        eventually(lambda: said)
        assert client.check("reports", headers).allowed
        assert client.check_locally("reports", headers) is None
    assert [getattr(error, "reason", "") for error in said] == ["CALLER_RIGHT_MISSING"]


# As gunicorn: a master that makes the client, and forks workers, also in place of those that have ended. It
# has not used the client before.
FORKING = """
import asyncio, os, sys
from portcullis_client import AsyncClient, Client
client = Client(sys.argv[1], caller_token=sys.argv[2], local=True)
asynchronous = AsyncClient(sys.argv[1], caller_token=sys.argv[2], local=True)
headers = {"X-Token": sys.argv[3]}

async def work():
    while asynchronous.check_locally("reports", headers) is None:
        assert (await asynchronous.check("reports", headers)).allowed
    await asynchronous.close()

statuses = []
for generation in range(3):
    children = []
    for number in range(3):
        child = os.fork()
        if child == 0:
            if number == 2:
                asyncio.run(work())
            while client.check_locally("reports", headers) is None:
                assert client.check("reports", headers).allowed
            os._exit(0)
        children.append(child)
    statuses += [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(statuses)
# The parent may use it now, too.
assert client.check("reports", headers).allowed
"""


def test_children_of_a_fork_follow_by_themselves(sidecar: Sidecar) -> None:
    arguments = [sidecar.address, FOLLOWER, sidecar.static_token]
    run = subprocess.run([sys.executable, "-c", FORKING, *arguments], capture_output=True, text=True, timeout=60)
    assert (run.stdout.strip(), run.returncode) == (str([0] * 9), 0), run.stderr


ROOT_PAGE = Request("GET", "api.example", "/")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"api": 7, "credentials": {}}, "api: expected a string"),
        ({"api": "iam"}, "credentials: expected request headers, or `token` instead"),
        ({"api": "iam", "credentials": {"X-Token": 7}}, "credentials: expected pairs of name and value"),
        ({"api": "iam", "credentials": 7}, "credentials: expected pairs of name and value"),
        ({"api": "iam", "credentials": {}, "target": "1"}, "target.account: expected a string"),
        ({"api": "iam", "token": ("static_token", Scope(7))}, "token scope.account: expected a string"),
        ({"api": "iam", "credentials": {}, "request": ROOT_PAGE}, "request: expected no api, target and token"),
        ({"target": Scope("1"), "credentials": {}, "request": ROOT_PAGE}, "request: expected no api, target and token"),
        ({"token": ("static_token", Scope("1")), "request": ROOT_PAGE}, "request: expected no api, target and token"),
        ({"credentials": {}, "request": Request("GET", "a", 7)}, "request.path: expected a string"),  # type: ignore[arg-type]
        ({"credentials": {}, "request": "/"}, "request.method: expected a string"),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_a_question_of_the_wrong_shape(sidecar: Sidecar, question: dict[str, object], said: str, local: bool) -> None:
    client = Client(sidecar.address, caller_token=FOLLOWER, local=local)
    with client, pytest.raises(TypeError, match=said.replace("`", ".")):
        client.check(**question)  # type: ignore[arg-type]


def test_secrets_are_not_sent_in_plaintext_to_another_machine() -> None:
    with pytest.raises(ValueError, match="would be sent to it in plaintext"):
        Client("sidecar.example:50051", caller_token="secret")
    with pytest.raises(ValueError, match="plaintext") as caught:
        Client("sidecar.example:50051").check("iam", {"X-Token": "canary"})
    assert "canary" not in str(caught.value)
    with pytest.raises(ValueError, match="plaintext"):
        Client("sidecar.example:50051", caller_token_file="/canary")


def test_a_new_caller_token_is_read(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("portcullis_client._connection.monotonic", lambda: now)
    file = tmp_path / "token"
    file.write_text("\ufefffirst\r\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    client = Client(caller_token_file="token", iam_token="iam")
    asynchronous = AsyncClient(caller_token_file=file, iam_token="iam")
    monkeypatch.chdir("/")
    earlier = client._connection.metadata()

    def presented() -> set[str]:
        told = [each._connection.metadata() for each in (client, asynchronous)]
        assert all(dict(each)["x-auth-token"] == "iam" for each in told)
        return {dict(each)["authorization"] for each in told}

    file.write_text("second")
    now = 9.0
    assert presented() == {"Bearer first"}
    now = 11.0
    assert presented() == {"Bearer second"}
    assert dict(earlier)["authorization"] == "Bearer first"
    for unusable in (b"", b"with a blank", "t\u00f6ken".encode(), None):
        now += 11
        file.unlink() if unusable is None else file.write_bytes(unusable)
        assert presented() == {"Bearer second"}
    now += 11
    file.write_text("third")
    assert presented() == {"Bearer third"}


def test_a_secret_of_a_variable_that_was_written_as_a_file_is() -> None:
    presented = Presented("\ufeffcaller\n", None, "iam\r\n")
    assert sorted(presented.metadata()) == [("authorization", "Bearer caller"), ("x-auth-token", "iam")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"caller_token": "canary canary"}, "caller_token: expected visible ASCII"),
        ({"iam_token": ""}, "iam_token: expected visible ASCII"),
        ({"caller_token_file": "FILE"}, "caller_token_file: expected visible ASCII"),
        ({"caller_token_file": "/canary"}, r"caller_token_file: expected a file that can be read \(ENOENT\)"),
        ({"caller_token_file": "/"}, r"caller_token_file: expected a file that can be read \(EISDIR\)"),
        ({"caller_token_file": 7}, "PathLike"),
        ({"caller_token": "canary", "caller_token_file": "/canary"}, "caller_token_file: expected either"),
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_unusable_secret(tmp_path: pathlib.Path, kind: Any, options: dict[str, Any], said: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"canary\xff")
    options = {name: file if value == "FILE" else value for name, value in options.items()}
    with pytest.raises((TypeError, ValueError), match=said) as caught:
        kind(**options)
    assert "canary" not in str(caught.value)


def test_a_sidecar_knows_who_has_the_token_of_a_file(
    sidecar: Sidecar, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr("portcullis_client._connection.monotonic", lambda: now)
    file = tmp_path / "token"
    file.write_text(READER)
    with Client(sidecar.address, caller_token_file=file) as client:
        token = client.check("balance", {"X-Token": sidecar.create_token(f"file-{os.getpid()}")}).token
        assert token is not None
        with pytest.raises(PortcullisError) as caught:
            client.revoke(token_id=token.token_id)
        assert caught.value.code == "PERMISSION_DENIED"
        file.write_text(OPERATOR)
        now = 11.0
        assert client.revoke(token_id=token.token_id) == token.token_id


def following_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("portcullis-")]


def test_a_client_that_is_dropped_leaves_no_thread(sidecar: Sidecar) -> None:
    before = following_threads()
    client = local_client(sidecar)
    known(client, issued(sidecar))
    assert len(following_threads()) == len(before) + 1
    del client
    eventually(lambda: following_threads() == before)


async def test_an_async_client_that_is_dropped_leaves_no_task(sidecar: Sidecar) -> None:
    client = AsyncClient(sidecar.address, caller_token=FOLLOWER, local=True)
    await client.check("balance", {"X-Token": sidecar.static_token})
    (following,) = [each for each in asyncio.all_tasks() if "_follow" in repr(each)]
    del client
    await asyncio.wait({following})


def test_a_check_of_a_client_that_another_thread_closes_is_an_error(sidecar: Sidecar) -> None:
    with Client(sidecar.address) as client:
        # As if it was closed between the two.
        client._linked().close()
        with pytest.raises(PortcullisError) as caught:
            client.check("balance", {"X-Token": sidecar.static_token})
        assert caught.value.code == "CANCELLED"


async def test_a_check_of_a_client_that_another_task_closes_is_an_error(sidecar: Sidecar) -> None:
    async with AsyncClient(sidecar.address) as client:
        await client._linked().close()
        with pytest.raises(PortcullisError) as caught:
            await client.check("balance", {"X-Token": sidecar.static_token})
        assert caught.value.code == "CANCELLED"


PROGRAM = """
import asyncio, sys
from portcullis_client import AsyncClient, Client

address, token, how = sys.argv[1:]
if how == "threads":
    client = Client(address, caller_token=token, local=True)
    print(client.check("balance", {}).reason)
else:
    async def main():
        global client
        client = AsyncClient(address, caller_token=token, local=True)
        print((await client.check("balance", {})).reason)
    asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["threads", "asyncio"])
def test_a_client_that_is_not_closed_does_not_keep_its_program_alive(sidecar: Sidecar, how: str) -> None:
    command = [sys.executable, "-W", "error", "-c", PROGRAM, sidecar.address, FOLLOWER, how]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert ended.stdout == "CREDENTIAL_MISSING\n"


WITH_GEVENT = """
from gevent import joinall, monkey, spawn
monkey.patch_all()
import grpc.experimental.gevent
grpc.experimental.gevent.init_gevent()

import sys
from portcullis_client import Client

address, token, value = sys.argv[1:]
with Client(address, caller_token=token, local=True) as client:
    def ask():
        while client.check_locally("iam", {"X-Token": value}) is None:
            client.check("iam", {"X-Token": value})
        return True
    print(sum(each.value for each in joinall([spawn(ask) for _ in range(20)])))
"""


def test_with_gevent_as_the_page_says(sidecar: Sidecar) -> None:
    command = [sys.executable, "-c", WITH_GEVENT, sidecar.address, FOLLOWER, sidecar.static_token]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert ended.stdout == "20\n"
