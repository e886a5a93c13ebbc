"""Measures the client, and prints one line of JSON: how long a check takes and the memory of a token.

The environment says where: ``PORTCULLIS_GRPC_ADDRESS``, ``CALLER_TOKEN`` (with the right ``follow``), ``TOKENS_FILE``
(a static token on each line, each of which opens ``balance``), ``ACCOUNT``, ``SECONDS`` (how long a measurement
lasts), and ``OPERATOR_TOKEN``, with which tokens are made and revoked, if it is set.
"""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import time
import tracemalloc
from typing import Any

import grpc

from portcullis_client import Client, Scope
from portcullis_client.gen.portcullis.v1 import directory_pb2 as directory
from portcullis_client.gen.portcullis.v1 import directory_pb2_grpc as rpc

ADDRESS = os.environ["PORTCULLIS_GRPC_ADDRESS"]
CALLER_TOKEN = os.environ["CALLER_TOKEN"]
SECONDS = float(os.environ.get("SECONDS", "1"))
TARGET = Scope(os.environ["ACCOUNT"])
CLIENT_ADDRESS = "192.0.2.1"
#: How many tokens are revoked.
REVOCATIONS = 100 if SECONDS >= 1 else 3

with open(os.environ["TOKENS_FILE"], encoding="ascii") as file:
    TOKENS = file.read().split()
ORDER = random.Random(1).sample(range(len(TOKENS)), len(TOKENS))


def fresh(text: str) -> bytes:
    """A text as it comes from the network: its hash is not known yet."""
    return bytes(bytearray(text, "ascii"))


def request(token: str) -> dict[str, Any]:
    """A request as a server of WSGI has it. A dict hashes the names of its headers when it is made."""
    others = {"HOST": "api.example", "USER_AGENT": "curl/8", "ACCEPT": "*/*", "X_TOKEN": token, "X_REQUEST_ID": "1"}
    environ = {fresh(f"HTTP_{name}").decode(): fresh(value).decode() for name, value in others.items()}
    return {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "wsgi.version": (1, 0), **environ}


def connected(*, local: bool) -> Client:
    return Client(ADDRESS, caller_token=CALLER_TOKEN, local=local)


def check(client: Client, headers: Any) -> bool:
    return client.check("balance", headers, target=TARGET, client_address=CLIENT_ADDRESS).allowed


def until_known(client: Client, token: str) -> None:
    headers = [("X-Token", token)]
    while client.check_locally("balance", headers, target=TARGET, client_address=CLIENT_ADDRESS) is None:
        check(client, headers)


#: Measures take turns in slices of calls: other work of the machine slows both.
SLICE = 100


def local_checks_ns(client: Client) -> tuple[float, float]:
    """Nanoseconds of a look-up in a dict, and of a check. Both go through the tokens in the same order."""
    known = {TOKENS[number]: (place + 1) % len(ORDER) for place, number in enumerate(ORDER)}
    ask, target, address = client.check, TARGET, CLIENT_ADDRESS
    lookups: list[float] = []
    checks: list[float] = []
    clock = time.perf_counter_ns
    end = time.perf_counter() + 2 * SECONDS
    while not checks or time.perf_counter() < end:
        requests = [request(TOKENS[number]) for number in ORDER]
        values = [fresh(TOKENS[number]).decode() for number in ORDER]
        place = 0
        for start in range(0, len(ORDER), SLICE):
            some = requests[start : start + SLICE]
            began = clock()
            # Each look-up says which one comes next.
            for _ in some:
                place = known[values[place]]
            between = clock()
            for headers in some:
                if not ask("balance", headers, target=target, client_address=address).allowed:
                    raise AssertionError("expected that each token opens the API")
            checks.append((clock() - between) / len(some))
            lookups.append((between - began) / len(some))
    return statistics.median(lookups), statistics.median(checks)


def grpc_check_ns(client: Client) -> float:
    """Nanoseconds of a check that the sidecar answers."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while not times or time.perf_counter() < end:
        headers = request(TOKENS[ORDER[len(times) % len(ORDER)]])
        began = time.perf_counter_ns()
        check(client, headers)
        times.append(time.perf_counter_ns() - began)
    return statistics.median(times)


def first_answer_ms() -> float:
    """From connecting until a token that was asked about once is answered from memory."""
    began = time.perf_counter()
    with connected(local=True) as client:
        until_known(client, TOKENS[0])
        return (time.perf_counter() - began) * 1e3


def learn(client: Client) -> float:
    """Asks about each token. Returns the bytes that the client keeps for one."""
    until_known(client, TOKENS[0])
    gc.collect()
    tracemalloc.start()
    for token in TOKENS[1:]:
        assert check(client, request(token))
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return kept / (len(TOKENS) - 1)


def revocations_ms(client: Client, operator_token: str) -> dict[str, float]:
    """How long a token that was revoked is still allowed, while it is checked all the time."""
    delays = []
    with grpc.insecure_channel(ADDRESS) as channel, Client(ADDRESS, caller_token=operator_token) as operator:
        stub: Any = rpc.DirectoryServiceStub(channel)  # type: ignore[no-untyped-call]
        for number in range(REVOCATIONS):
            made = stub.CreateStaticToken(
                directory.CreateStaticTokenRequest(
                    account=TARGET.account, user_name="owner", name=f"{os.getpid()}-{number}"
                ),
                metadata=[("authorization", f"Bearer {operator_token}")],
            )
            until_known(client, made.value)
            headers = [("X-Token", made.value)]
            operator.revoke(value=made.value)
            began = time.perf_counter()
            while check(client, headers):
                # The thread that follows needs the interpreter.
                time.sleep(0)
            delays.append((time.perf_counter() - began) * 1e3)
    delays.sort()
    return {"p50": delays[len(delays) // 2], "p99": delays[len(delays) * 99 // 100]}


def main() -> None:
    first = statistics.median(first_answer_ms() for _ in range(9 if SECONDS >= 1 else 1))
    client, asking = connected(local=True), connected(local=False)
    bytes_per_token = learn(client)
    lookup_ns, local_ns = local_checks_ns(client)
    operator_token = os.environ.get("OPERATOR_TOKEN")
    figures = {
        "lookup_ns": lookup_ns,
        "local_check_ns": local_ns,
        "grpc_check_ns": grpc_check_ns(asking),
        "bytes_per_token": bytes_per_token,
        "first_local_answer_ms": first,
        "allocations_per_check": None,
        "revocation_ms": revocations_ms(client, operator_token) if operator_token else None,
    }
    client.close()
    asking.close()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
