"""The client before a real sidecar: asking, and deciding in the memory of the program."""

from __future__ import annotations

import asyncio
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

import grpc
import pytest

from portcullis_client import AsyncClient, CheckAnswer, Client, Local, PortcullisError, Scope
from portcullis_client.gen.portcullis.v1 import authorization_pb2_grpc as rpc

from .conftest import Sidecar, eventually


def local_client(sidecar: Sidecar, **options: object) -> Client:
    return Client(sidecar.address, caller_token=sidecar.administrator_token, local=True, **options)  # type: ignore[arg-type]


def issued(sidecar: Sidecar, project: str | None = None) -> str:
    with Client(sidecar.address) as client:
        scope = Scope(sidecar.account, project)
        return client.issue_with_password("demo", sidecar.account, sidecar.password, scope).value


def known(client: Client, value: str, api: str = "iam", header: str = "X-Auth-Token") -> CheckAnswer:
    def look() -> CheckAnswer | None:
        client.check(api, [(header, value)])
        return client.check_locally(api, [(header, value)])

    answer = eventually(look)
    assert isinstance(answer, CheckAnswer)
    return answer


def test_a_token_opens_what_it_opens(sidecar: Sidecar) -> None:
    with Client(sidecar.address) as client:
        headers = {"X-Token": sidecar.static_token}
        answer = client.check("reports", headers, target=Scope(sidecar.account))
        assert (answer.allowed, answer.reason) == (True, "ALLOWED")
        assert answer.token is not None
        assert answer.token.scope == Scope(sidecar.account)
        denied = client.check("iam", headers)
        assert (denied.allowed, denied.reason) == (False, "TOKEN_KIND_NOT_ACCEPTED")
        assert client.check("iam", {}).reason == "CREDENTIAL_MISSING"
        assert client.check("reports", token=("static_token", Scope("1"))).verified is False


def test_from_memory_for_every_api(sidecar: Sidecar) -> None:
    value = issued(sidecar, "demo-project")
    with local_client(sidecar) as client, Client(sidecar.address) as asking:
        known(client, value)
        plan = asking.plan(["iam", "balance", "reports", "secrets", "object-storage"])
        for api in [*(api for token in plan.tokens for api in token.apis), "no-such-api"]:
            headers = [("x-auth-token", value)]
            client.check(api, headers)
            asked, recalled = asking.check(api, headers), client.check_locally(api, headers)
            assert recalled is not None
            same = ("allowed", "reason", "message", "header", "accepted", "rules_digest", "verified", "token")
            assert [getattr(recalled, name) for name in same] == [getattr(asked, name) for name in same], api


def test_a_revoked_token_is_denied_without_asking(sidecar: Sidecar) -> None:
    value = issued(sidecar)
    headers = [("X-Auth-Token", value)]
    with local_client(sidecar) as client:
        assert known(client, value).allowed
        client.revoke(value=value)
        eventually(lambda: (answer := client.check_locally("iam", headers)) is None or not answer.allowed)
        assert client.check("iam", headers).reason == "CREDENTIAL_REVOKED"
        recalled = client.check_locally("iam", headers)
        assert recalled is not None
        assert recalled.reason == "CREDENTIAL_REVOKED"


async def test_asyncio(sidecar: Sidecar) -> None:
    value = issued(sidecar)
    headers = [(b"x-auth-token", value.encode())]
    async with AsyncClient(sidecar.address, caller_token=sidecar.administrator_token, local=True) as client:
        while client.check_locally("iam", headers) is None:
            answers = await asyncio.gather(*(client.check("iam", headers) for _ in range(10)))
            assert all(answer.allowed for answer in answers)
        with Client(sidecar.address) as other:
            other.revoke(value=value)
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


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_a_sidecar_that_goes_and_comes_back(tmp_path: pathlib.Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    first = Sidecar(tmp_path, address)
    value = first.static_token
    headers = [("X-Token", value)]
    client = Client(address, caller_token="service-caller-token-0123456789abcdef", local=True, timeout=2)
    known(client, value, "reports", "X-Token")
    first.stop()
    eventually(lambda: client.check_locally("reports", headers) is None)
    with pytest.raises(PortcullisError) as caught:
        client.check("reports", headers)
    assert caught.value.code == "UNAVAILABLE"
    # Another directory: what was known of the first one is void.
    second = Sidecar(tmp_path, address)
    eventually(lambda: _reason(client, headers) == "CREDENTIAL_INVALID")
    client.close()
    second.stop()


def _reason(client: Client, headers: list[tuple[str, str]]) -> str:
    try:
        return client.check("reports", headers).reason
    except PortcullisError as error:
        return error.code


def test_a_unix_socket(tmp_path: pathlib.Path) -> None:
    running = Sidecar(tmp_path, f"unix:{tmp_path}/grpc.sock")
    with local_client(running) as client:
        assert known(client, running.static_token, "reports", "X-Token").allowed
    running.stop()


def test_without_the_right_each_check_is_asked_and_that_is_said_once(sidecar: Sidecar) -> None:
    said: list[Exception] = []
    local = Local(on_failure=said.append)
    with Client(sidecar.address, caller_token="reader-caller-token-0123456789abcdef", local=local) as client:
        headers = {"X-Token": sidecar.static_token}
        assert client.check("reports", headers).allowed
        eventually(lambda: said)
        assert client.check("reports", headers).allowed
        assert client.check_locally("reports", headers) is None
    assert [getattr(error, "reason", "") for error in said] == ["CALLER_RIGHT_MISSING"]


def test_an_older_sidecar_is_asked_each_time() -> None:
    from concurrent import futures

    server = grpc.server(futures.ThreadPoolExecutor(4))
    rpc.add_AuthorizationServiceServicer_to_server(rpc.AuthorizationServiceServicer(), server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    said: list[Exception] = []
    with Client(f"127.0.0.1:{port}", local=Local(on_failure=said.append)) as client:
        with pytest.raises(PortcullisError):
            client.check("reports", {"X-Token": "a"})
        eventually(lambda: said)
        assert [getattr(error, "code", "") for error in said] == ["UNIMPLEMENTED"]
    server.stop(None)


FORKING = """
import os, sys
from portcullis_client import Client
client = Client(sys.argv[1], caller_token=sys.argv[2], local=True)
headers = {"X-Token": sys.argv[3]}
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        while client.check_locally("reports", headers) is None:
            assert client.check("reports", headers).allowed
        os._exit(0)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
# The parent may use it now, too.
assert client.check("reports", headers).allowed
"""


def test_children_of_a_fork_follow_by_themselves(sidecar: Sidecar) -> None:
    arguments = [sidecar.address, sidecar.administrator_token, sidecar.static_token]
    run = subprocess.run(
        [sys.executable, "-c", FORKING, *arguments], capture_output=True, text=True, timeout=60, env={**os.environ}
    )
    assert (run.stdout.strip(), run.returncode) == ("[0, 0, 0]", 0), run.stderr


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"api": 7, "credentials": {}}, "api: expected a string"),
        ({"api": "iam"}, "credentials: expected request headers, or `token` instead"),
        ({"api": "iam", "credentials": {"X-Token": 7}}, "credentials: expected pairs of name and value"),
        ({"api": "iam", "credentials": 7}, "credentials: expected pairs of name and value"),
        ({"api": "iam", "credentials": {}, "target": "1"}, "target.account: expected a string"),
        ({"api": "iam", "token": ("static_token", Scope(7))}, "token scope.account: expected a string"),
    ],
)
@pytest.mark.parametrize("local", [True, False])
def test_a_question_of_the_wrong_shape(sidecar: Sidecar, question: dict[str, object], said: str, local: bool) -> None:
    client = Client(sidecar.address, caller_token=sidecar.administrator_token, local=local)
    with client, pytest.raises(TypeError, match=said.replace("`", ".")):
        client.check(**question)  # type: ignore[arg-type]


def test_secrets_are_not_sent_in_plaintext_to_another_machine() -> None:
    with pytest.raises(ValueError, match="would be sent to it in plaintext"):
        Client("sidecar.example:50051", caller_token="secret")
    with pytest.raises(ValueError, match="plaintext") as caught:
        Client("sidecar.example:50051").check("iam", {"X-Token": "canary"})
    assert "canary" not in str(caught.value)
    with pytest.raises(ValueError, match="caller_token: expected visible ASCII"):
        Client(caller_token="a b")
