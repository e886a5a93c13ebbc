"""Compares a local check with libraries that decide in the calling process, and prints one line of JSON.

All get the same 90 questions: every API and every kind of token of the shipped matrix. Each must answer like the
matrix before it is measured. Casbin is pycasbin, Cedar is cedarpy, and the rules of OPA run in regopy.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any, NamedTuple

import casbin
import cedarpy
import grpc
import regopy

from portcullis_client import Client, Scope
from portcullis_client.gen.portcullis.v1 import authorization_pb2 as wire
from portcullis_client.gen.portcullis.v1 import authorization_pb2_grpc as rpc
from portcullis_client.gen.portcullis.v1 import decision_pb2 as decision

SECONDS = float(os.environ.get("SECONDS", "1"))
RULES = wire.Rules.FromString(
    (pathlib.Path(__file__).parents[2] / "conformance" / "rules" / "shipped.binpb").read_bytes()
)


class Asked(NamedTuple):
    """A cell of the matrix."""

    api: str
    kind: str
    scope: Scope
    allowed: bool


def questions() -> Iterator[Asked]:
    for row in RULES.apis:
        for column, kind in enumerate(RULES.matrix.token_kinds if row.api else [], 1):
            is_project = kind.scope_level == "project"
            reason = RULES.cells[row.cells[column]].reasons[8 if is_project else 4]
            scope = Scope("1", "p" if is_project else None)
            yield Asked(row.api, kind.id, scope, reason == decision.REASON_ALLOWED)


QUESTIONS = list(questions())
Decide = Callable[[Asked], Any]


class Sidecar(rpc.AuthorizationServiceServicer):
    """Tells the rules to a client, and says why it denies."""

    def WatchChanges(self, request: Any, context: Any) -> Iterator[wire.WatchChangesResponse]:
        response = wire.WatchChangesResponse(rules=RULES, voided=wire.Voided(everything=True))
        while context.is_active():
            response.position.change = 0
            response.valid_for.seconds = 60
            response.sent_at.FromNanoseconds(time.monotonic_ns())
            yield response
            response = wire.WatchChangesResponse()
            time.sleep(0.5)

    def Check(self, request: Any, context: Any) -> wire.CheckResponse:
        asked = next(each for each in QUESTIONS if (each.api, each.kind) == (request.api, request.token.kind))
        reason = decision.REASON_ALLOWED if asked.allowed else decision.REASON_TOKEN_KIND_NOT_ACCEPTED
        return wire.CheckResponse(
            allowed=asked.allowed, reason=reason, message="denied", rules_digest=RULES.matrix.rules_digest
        )


def with_client(client: Client) -> Decide:
    claims = {each: (each.kind, each.scope) for each in QUESTIONS}
    for each in QUESTIONS:
        # What is said about each denial is asked for once, as soon as the client follows.
        while client.check_locally(each.api, token=claims[each]) is None:
            client.check(each.api, token=claims[each])
    return lambda asked: client.check(asked.api, token=claims[asked]).allowed


CASBIN_MODEL = """
[request_definition]
r = sub, obj
[policy_definition]
p = sub, obj
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.obj == p.obj
"""


def with_casbin() -> Decide:
    model = casbin.Model()
    model.load_model_from_text(CASBIN_MODEL)
    enforcer = casbin.Enforcer(model)
    enforcer.add_policies([[each.kind, each.api] for each in QUESTIONS if each.allowed])
    return lambda asked: enforcer.enforce(asked.kind, asked.api)


def with_cedar() -> Decide:
    # One policy for each kind takes less time than one for each cell.
    policies = []
    for kind in dict.fromkeys(each.kind for each in QUESTIONS):
        apis = ", ".join(f'Api::"{each.api}"' for each in QUESTIONS if each.kind == kind and each.allowed)
        policies.append(
            f'permit (principal == Kind::"{kind}", action == Action::"open", resource) '
            f"when {{ [{apis}].contains(resource) }};"
        )
    text = "\n".join(policies)

    def decide(asked: Asked) -> bool:
        request = {
            "principal": f'Kind::"{asked.kind}"',
            "action": 'Action::"open"',
            "resource": f'Api::"{asked.api}"',
            "context": {},
        }
        allowed: bool = cedarpy.is_authorized(request, text, []).allowed
        return allowed

    return decide


def with_opa() -> Decide:
    accepts: dict[str, dict[str, bool]] = {}
    for each in QUESTIONS:
        if each.allowed:
            accepts.setdefault(each.api, {})[each.kind] = True
    interpreter = regopy.Interpreter()
    interpreter.add_data_json(json.dumps({"accepts": accepts}))
    module = "default allow := false\nallow if data.accepts[input.api][input.kind]\n"
    interpreter.add_module("portcullis", f"package portcullis\n{module}")
    bundle = interpreter.build(None, ["portcullis/allow"])

    def decide(asked: Asked) -> bool:
        interpreter.set_input_term(f'{{"api": "{asked.api}", "kind": "{asked.kind}"}}')
        output = interpreter.query_bundle_entrypoint(bundle, "portcullis/allow")
        allowed: bool = output.results[0].expressions[0]
        return allowed

    return decide


def main() -> None:
    server = grpc.server(futures.ThreadPoolExecutor(4))
    rpc.add_AuthorizationServiceServicer_to_server(Sidecar(), server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with Client(f"127.0.0.1:{port}", local=True) as client:
        contenders = {
            "client": with_client(client),
            "casbin": with_casbin(),
            "cedar": with_cedar(),
            "opa": with_opa(),
        }
        for name, decide in contenders.items():
            for each in QUESTIONS:
                assert bool(decide(each)) == each.allowed, (name, each)
        times: dict[str, list[float]] = {name: [] for name in contenders}
        end = time.perf_counter() + SECONDS * len(contenders)
        while not times["opa"] or time.perf_counter() < end:
            for name, decide in contenders.items():
                began = time.perf_counter_ns()
                for each in QUESTIONS:
                    decide(each)
                times[name].append((time.perf_counter_ns() - began) / len(QUESTIONS))
    server.stop(None)
    print(json.dumps({f"{name}_ns": statistics.median(taken) for name, taken in times.items()}))


if __name__ == "__main__":
    main()
