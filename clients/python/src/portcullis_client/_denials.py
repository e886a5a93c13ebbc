"""The answer to the sender of a denied request: the words of the sidecar, with a status and headers."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ._errors import is_no_answer
from ._rules import FAULTS
from ._values import CheckAnswer

#: Another credential may help where one of these is the reason. Every other one is 403, also one that is new.
_UNAUTHENTICATED = frozenset(FAULTS) - {"ADDRESS_NOT_ALLOWED"}


@dataclass(frozen=True, slots=True)
class Denial:
    """The answer in place of the handler."""

    status: int
    #: Names in lower case, with their values.
    headers: tuple[tuple[str, str], ...]
    #: JSON.
    body: bytes
    #: The sentence of the body.
    message: str


def denial_of(answer: CheckAnswer, hide_others: bool = False) -> Denial:
    """The answer to a request that is denied. It never lets the request pass, whatever the reason."""
    reason, route = answer.reason, answer.route
    if route is not None and route.refused is not None:
        return _denial(403, route.refused, {"message": answer.message, "accepted": []})
    if hide_others and reason in ("ACCOUNT_MISMATCH", "PROJECT_MISMATCH"):
        return _denial(404, "NOT_FOUND", {"message": "there is no such resource"})
    accepted = [
        {
            "kind": each.kind,
            "header": each.header,
            **({"scheme": each.scheme} if each.scheme else {}),
            "issuable": each.issuable,
            "obtained": each.obtained,
            **({"link": each.link} if each.link else {}),
        }
        for each in answer.accepted
    ]
    headers = [("x-portcullis-rules-digest", answer.rules_digest)]
    status = 401 if reason in _UNAUTHENTICATED else 403
    if status == 401:
        headers.append(("www-authenticate", _challenges(answer)))
    return _denial(status, reason, {"message": answer.message, "accepted": accepted}, headers)


def failure_of(error: BaseException) -> Denial:
    """The answer where there is no decision."""
    if is_no_answer(error):
        message = "the request could not be authorized; try again later"
        return _denial(503, error.reason or error.code, {"message": message}, [("retry-after", "1")])
    message = "the request could not be authorized; the operator finds the cause in the log"
    return _denial(500, "INTERNAL", {"message": message})


def _challenges(answer: CheckAnswer) -> str:
    """A challenge for each place that a token could be sent in (RFC 9110 §11.6.1 demands one with 401)."""
    places = dict.fromkeys(
        f'header="{each.header}",' + (f' scheme="{each.scheme}",' if each.scheme else "") for each in answer.accepted
    )
    challenges = [f'Portcullis {place} reason="{answer.reason}"' for place in places]
    return ", ".join(challenges) or f'Portcullis reason="{answer.reason}"'


def _denial(status: int, reason: str, error: dict[str, object], headers: list[tuple[str, str]] | None = None) -> Denial:
    body = json.dumps({"error": {"reason": reason, **error}}, separators=(",", ":"), ensure_ascii=False)
    own = [
        ("content-type", "application/json"),
        ("cache-control", "no-store"),
        ("x-portcullis-reason", reason),
    ]
    return Denial(status, (*own, *(headers or [])), body.encode(), str(error["message"]))


NO_TARGET = _denial(403, "TARGET_NOT_FOUND", {"message": "the request does not say whose resource it asks for"})

#: To the sender, who can send the same in another way.
TRAILERS = _denial(
    403,
    "NOT_CANONICAL",
    {"message": "expected a Content-Length, or Transfer-Encoding behind all other headers", "accepted": []},
)
