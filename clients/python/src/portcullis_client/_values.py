"""The values that the client takes and returns."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union

from google.protobuf import duration_pb2

from .gen.portcullis.v1 import authorization_pb2 as wire
from .gen.portcullis.v1 import decision_pb2 as decision

#: Headers of a request: pairs, or names with their values. A name with several values is a repeated header.
#: Bytes are those that arrived.
Headers = Union[
    Mapping[str, str | bytes | Sequence[str | bytes]],
    Iterable[tuple[str | bytes, str | bytes]],
]


@dataclass(frozen=True, slots=True)
class Scope:
    """An account, and a project of it if any: what a token is bound to, or what owns a resource."""

    #: Account number.
    account: str
    #: Name of the project; ``None``: the whole account.
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """The holder of a token."""

    id: str
    name: str
    #: ``service_user`` or ``control_panel_user``; ``user`` where an upstream vouches.
    type: str


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """A token that the sidecar has verified."""

    kind: str
    scope: Scope
    subject: Subject
    #: Identifies the token without revealing it.
    token_id: str
    issued_at: datetime.datetime | None = None
    #: ``None``: the token never expires.
    expires_at: datetime.datetime | None = None
    #: The roles of the holder in the scope, as an upstream names them.
    roles: tuple[str, ...] = ()
    #: Name of the upstream that vouches for the token; ``None``: the directory of the sidecar does.
    authority: str | None = None


@dataclass(frozen=True, slots=True)
class AcceptedKind:
    """A kind of token that an API accepts."""

    kind: str
    #: Request header to send it in.
    header: str
    #: Whether ``issue`` can issue it.
    issuable: bool


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """The decision and the facts behind it. Only ``allowed`` opens the API."""

    allowed: bool
    #: For example ``ALLOWED`` or ``CREDENTIAL_REVOKED``; ``UNSPECIFIED``: a reason of a newer sidecar, which denies.
    reason: str
    #: An explanation for people, with what to do.
    message: str = ""
    #: Request header for tokens of this kind; empty where the kind is not known.
    header: str = ""
    #: On a denial: the kinds of token that the API accepts.
    accepted: tuple[AcceptedKind, ...] = ()
    #: Ids of the conflicts of the matrix about this API and kind. An answer from memory has none.
    conflicts: tuple[str, ...] = ()
    #: Recommendations. An answer from memory has none.
    advice: tuple[str, ...] = ()
    digest: str = ""
    strict: bool = False
    #: Digest of the exact rules: of the matrix and the mode.
    rules_digest: str = ""
    #: Whether the credential was verified; ``False`` for claims.
    verified: bool = False
    token: VerifiedToken | None = None
    #: How long the answer may be reused, in seconds; 0: not at all.
    cache_for: float = 0.0


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token, and the header to send it in."""

    header: str
    #: A secret.
    value: str = field(repr=False)
    kind: str
    scope: Scope
    token_id: str
    issued_at: datetime.datetime | None
    #: ``None``: the token never expires.
    expires_at: datetime.datetime | None


def reason_name(number: int) -> str:
    """Name of a reason; ``UNSPECIFIED`` where the sidecar is newer, and has reasons that are not known here."""
    return _REASON_NAMES.get(number, "UNSPECIFIED")


_REASON_NAMES: dict[int, str] = {
    number: name.removeprefix("REASON_") for name, number in decision.Reason.items() if number != 0
}


def check_answer(response: wire.CheckResponse) -> CheckAnswer:
    """The answer of the sidecar as a value."""
    reason = reason_name(response.reason)
    return CheckAnswer(
        # A reason that is not known here may stand for a condition, so it counts as a denial.
        allowed=response.allowed and reason == "ALLOWED",
        reason=reason,
        message=response.message,
        header=response.header,
        accepted=tuple(AcceptedKind(each.kind, each.header, each.issuable) for each in response.accepted),
        conflicts=tuple(each.id for each in response.conflicts),
        advice=tuple(response.advice),
        digest=response.digest,
        strict=response.strict,
        rules_digest=response.rules_digest,
        verified=response.verified,
        token=verified_token(response.token) if response.HasField("token") else None,
        cache_for=seconds(response.cache_for) if response.HasField("cache_for") else 0.0,
    )


def verified_token(token: wire.VerifiedToken) -> VerifiedToken:
    """A verified token as a value."""
    return VerifiedToken(
        kind=token.kind,
        scope=_scope_value(token.scope),
        subject=Subject(token.subject.id, token.subject.name, token.subject.type),
        token_id=token.token_id,
        issued_at=_time(token, "issued_at"),
        expires_at=_time(token, "expires_at"),
        roles=tuple(token.roles),
        authority=token.authority or None,
    )


def issued_token(response: wire.IssueResponse) -> IssuedToken:
    """An issued token as a value."""
    return IssuedToken(
        header=response.header,
        value=response.value,
        kind=response.kind,
        scope=_scope_value(response.scope),
        token_id=response.token_id,
        issued_at=_time(response, "issued_at"),
        expires_at=_time(response, "expires_at"),
    )


def seconds(duration: duration_pb2.Duration) -> float:
    """A duration in seconds."""
    return duration.seconds + duration.nanos / 1e9


def header_pairs(headers: Headers) -> list[tuple[str, str]]:
    """Headers as pairs of texts. Raises ``TypeError`` without a value of a header, which may be a secret."""
    pairs: list[tuple[str, str]] = []
    items = headers.items() if isinstance(headers, Mapping) else headers
    try:
        for name, values in items:
            for value in values if isinstance(values, (list, tuple)) else (values,):
                pairs.append((_text(name), _text(value)))
    except (TypeError, ValueError):
        raise TypeError("credentials: expected pairs of name and value, or a mapping") from None
    return pairs


def _text(value: object) -> str:
    # Each byte becomes a character. Those beyond ASCII are in no token.
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if not isinstance(value, str):
        raise TypeError
    return value


def check_request(
    api: str,
    credentials: Headers | None,
    token: tuple[str, Scope] | None,
    target: Scope | None,
    client_address: str,
) -> wire.CheckRequest:
    """The request of a check. Raises ``TypeError`` that names the field where a value has the wrong type."""
    _expect_text("api", api)
    _expect_text("client_address", client_address)
    if (credentials is None) == (token is None):
        raise TypeError("credentials: expected request headers, or `token` instead")
    request = wire.CheckRequest(api=api, client_address=client_address)
    if token is not None:
        kind, scope = token
        _expect_text("token kind", kind)
        request.token.kind = kind
        request.token.scope.CopyFrom(scope_message("token scope", scope))
    if target is not None:
        request.target.CopyFrom(scope_message("target", target))
    if credentials is not None:
        # An empty list of headers is a credential that is missing, and not a missing subject.
        request.credentials.SetInParent()
        for name, value in header_pairs(credentials):
            request.credentials.headers.add(name=_sendable(name), value=_sendable(value))
    return request


def _sendable(text: str) -> str:
    # A lone surrogate cannot be sent. What stands in its place is in no token either.
    return text.encode("utf-8", "replace").decode("utf-8")


def scope_message(field_name: str, scope: Scope) -> decision.Scope:
    """The message of a scope."""
    account, project = getattr(scope, "account", None), getattr(scope, "project", None)
    if not isinstance(account, str):
        raise TypeError(f"{field_name}.account: expected a string")
    if project is not None and not isinstance(project, str):
        raise TypeError(f"{field_name}.project: expected a string")
    return decision.Scope(account=account, project=project or "")


def _expect_text(field_name: str, value: object) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{field_name}: expected a string")


def _scope_value(scope: decision.Scope) -> Scope:
    return Scope(scope.account, scope.project or None)


def _time(message: wire.VerifiedToken | wire.IssueResponse, name: str) -> datetime.datetime | None:
    if not message.HasField(name):  # type: ignore[arg-type]
        return None
    value: datetime.datetime = getattr(message, name).ToDatetime(tzinfo=datetime.timezone.utc)
    return value
