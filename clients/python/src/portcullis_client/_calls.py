"""The messages of the calls, for clients with threads and with asyncio."""

from __future__ import annotations

from collections.abc import Sequence

from ._values import CheckAnswer, Scope, check_answer, scope_message
from .gen.portcullis.v1 import authorization_pb2 as wire


def has_credentials(checks: Sequence[wire.CheckRequest]) -> bool:
    """Whether one of the checks has a secret."""
    return any(check.WhichOneof("subject") == "credentials" for check in checks)


def batch_answers(checks: Sequence[wire.CheckRequest], response: wire.CheckBatchResponse) -> list[CheckAnswer]:
    """The answers to the checks, in their order."""
    # With a different number, a check could be paired with the answer of another one.
    if len(response.results) != len(checks):
        raise RuntimeError(f"expected {len(checks)} answers from the sidecar, found {len(response.results)}")
    return [
        check_answer(result, check.HasField("request")) for check, result in zip(checks, response.results, strict=True)
    ]


def issue_request(
    profile: str, apis: Sequence[str], project: str | None, rejected: str | None, place: str | None
) -> wire.IssueRequest:
    """Asks for a token of a profile."""
    request = wire.IssueRequest(profile=profile, rejected_value=rejected or "", place=place or "")
    request.apis.apis.extend(apis)
    request.apis.project = project or ""
    return request


def password_request(user_name: str, account: str, password: str, scope: Scope) -> wire.IssueRequest:
    """Asks for a token of a service user."""
    request = wire.IssueRequest(scope=scope_message("scope", scope))
    request.password.user_name, request.password.account = user_name, account
    request.password.password = password
    return request


def revoke_request(value: str | None, token_id: str | None) -> wire.RevokeRequest:
    """Names the token to revoke. Raises ``TypeError`` unless it is named once."""
    if (value is None) == (token_id is None):
        raise TypeError("value: expected the token, or `token_id` instead")
    return wire.RevokeRequest(token_id=token_id or "") if value is None else wire.RevokeRequest(value=value)


def plan_request(apis: Sequence[str]) -> wire.PlanRequest:
    """Asks for the tokens of a job."""
    if isinstance(apis, str):
        raise TypeError("apis: expected a list of ids")
    return wire.PlanRequest(apis=apis)
