"""Lets requests pass whose token opens an API: what WSGI and ASGI share. It needs grpcio and the generated code alone."""

import hashlib
import json
import threading
import time
from collections import OrderedDict

import grpc
from portcullis.v1 import authorization_pb2 as wire
from portcullis.v1 import decision_pb2 as decision

# The headers of the shipped matrix. What is not sent to the sidecar changes no answer, so answers can be reused.
CREDENTIAL_HEADERS = ("x-auth-token", "x-token")

# Another credential may help. With every other reason the answer is 403, also with one that is not known here.
UNAUTHENTICATED = {
    decision.REASON_CREDENTIAL_MISSING,
    decision.REASON_CREDENTIAL_AMBIGUOUS,
    decision.REASON_CREDENTIAL_MALFORMED,
    decision.REASON_WRONG_HEADER,
    decision.REASON_CREDENTIAL_INVALID,
    decision.REASON_CREDENTIAL_EXPIRED,
    decision.REASON_CREDENTIAL_REVOKED,
}

DEADLINE_SECONDS = 1
ANSWERS_MAX = 1000


def question(api, headers, account, client_address):
    """The check of a request. `headers` are pairs, each value by itself; the account owns the requested resource."""
    credentials = [wire.Header(name=name, value=value) for name, value in headers if name.lower() in CREDENTIAL_HEADERS]
    return wire.CheckRequest(
        api=api,
        credentials=wire.Credentials(headers=credentials),
        target=decision.Scope(account=account),
        client_address=client_address or "",
    )


def denial(answer):
    """Status, headers and body for a request that must not pass; `None`: it may."""
    if answer.allowed and answer.reason == decision.REASON_ALLOWED:
        return None
    reason = (
        decision.Reason.Name(answer.reason).removeprefix("REASON_")
        if answer.reason in decision.Reason.values()
        else "UNSPECIFIED"
    )
    accepted = [{"kind": each.kind, "header": each.header, "issuable": each.issuable} for each in answer.accepted]
    error = {"reason": reason, "message": answer.message, "accepted": accepted}
    rules = ("x-portcullis-rules-digest", answer.rules_digest)
    if answer.reason not in UNAUTHENTICATED:
        return response(403, error, [rules])
    # A challenge for each header that a token could be sent in.
    headers = dict.fromkeys(each.header for each in answer.accepted)
    challenges = [f'Portcullis header="{header}", reason="{reason}"' for header in headers]
    challenge = ", ".join(challenges) or f'Portcullis reason="{reason}"'
    return response(401, error, [rules, ("www-authenticate", challenge)])


def no_answer(error):
    """What is answered while the sidecar gives no answer: never a permission."""
    reason = error.code().name if isinstance(error, grpc.RpcError) else "INTERNAL"
    print(f"portcullis: no answer, so a request was refused: {reason}", flush=True)
    message = "the request could not be authorized; try again later"
    return response(503, {"reason": reason, "message": message}, [("retry-after", "1")])


def no_target():
    message = "the request does not say whose resource it asks for"
    return response(403, {"reason": "TARGET_NOT_FOUND", "message": message})


def response(status, error, headers=()):
    body = json.dumps({"error": error}, separators=(",", ":"), ensure_ascii=False).encode()
    own = [
        ("content-type", "application/json"),
        ("cache-control", "no-store"),
        ("content-length", str(len(body))),
        ("x-portcullis-reason", error["reason"]),
    ]
    return status, [*own, *headers], body


class Answers:
    """Answers that may be reused, each for as long as it says (`cache_for`)."""

    def __init__(self):
        self._lock = threading.Lock()
        self._entries = OrderedDict()

    @staticmethod
    def key(check):
        # The tokens themselves are not kept.
        return hashlib.sha256(check.SerializeToString(deterministic=True)).digest()

    def get(self, key):
        with self._lock:
            answer, until = self._entries.get(key, (None, 0))
            return answer if time.monotonic() < until else None

    def put(self, key, answer, asked):
        until = asked + answer.cache_for.seconds + answer.cache_for.nanos / 1e9
        if until <= time.monotonic():
            return
        with self._lock:
            self._entries.pop(key, None)
            self._entries[key] = (answer, until)
            if len(self._entries) > ANSWERS_MAX:
                self._entries.popitem(last=False)
