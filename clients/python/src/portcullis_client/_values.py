"""The values that the client takes and returns."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, Union

from google.protobuf import duration_pb2

from ._errors import PortcullisError
from .gen.portcullis.v1 import authorization_pb2 as wire
from .gen.portcullis.v1 import decision_pb2 as decision
from .gen.portcullis.v1 import matrix_pb2 as matrix

#: Headers of a request: pairs, names with their values, or the ``environ`` of WSGI. A name with several values is a
#: repeated header. Bytes are those that arrived.
Headers = Union[
    Mapping[str, str | bytes | Sequence[str | bytes]],
    Mapping[str, Any],
    Iterable[tuple[str | bytes, str | bytes]],
]

#: ``wsgi.version`` in the ``environ`` of WSGI. No header has such a value.
WSGI_VERSION = (1, 0)


@dataclass(frozen=True, slots=True)
class Scope:
    """An account, and a project of it if any: the scope of a token, or the owner of a resource."""

    #: Account number.
    account: str
    #: Name of the project; ``None``: the whole account.
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived, whose API and target the routes of the sidecar say. It is not corrected."""

    #: For example ``GET``. A call of gRPC is a ``POST``.
    method: str
    #: The header Host or ``:authority``; empty: there is none. Several ones are joined with a comma.
    host: str
    #: The request target with its query; of gRPC ``/package.Service/Method``.
    path: str


@dataclass(frozen=True, slots=True)
class FoundRoute:
    """The findings of the sidecar's routes about a request."""

    #: Id of the API; empty: the request is refused.
    api: str
    #: ``None``: only the matrix decides.
    target: Scope | None = None
    #: Why the routes refuse the request, for example ``NO_ROUTE``; ``None``: they do not.
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """The holder of a token."""

    id: str
    name: str
    #: ``service_user`` or ``control_panel_user``; ``user`` where an upstream verifies the token.
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
    #: Name of the upstream that verifies the token; ``None``: the directory of the sidecar does.
    authority: str | None = None
    #: Id of the project of its scope; ``None``: it has none.
    project_id: str | None = None
    #: Ids of the tokens that it was derived from. It ends with any of them.
    derived_from: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AcceptedKind:
    """A kind of token that an API accepts."""

    kind: str
    #: Request header to send it in.
    header: str
    #: Whether ``issue`` can issue it.
    issuable: bool
    #: Before the token in that header, for example ``Bearer``; empty: the token alone.
    scheme: str = ""
    #: How a token is obtained: ``issue``, by ``issue``; ``control_panel``, by a person; ``elsewhere``, not from here.
    obtained: str = ""
    #: Where a person obtains one or reads how; empty: the matrix does not say.
    link: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The content of a decision, without the token. Many answers share one."""

    allowed: bool
    reason: str
    message: str = ""
    header: str = ""
    scheme: str = ""
    accepted: tuple[AcceptedKind, ...] = ()
    conflicts: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    digest: str = ""
    strict: bool = False
    rules_digest: str = ""
    #: Whether nothing is wrong with the credential, if there is one.
    verified: bool = False
    cache_for: float = 0.0


class TokenSource(Protocol):
    """The known facts of a token. Most programs never ask for all of it."""

    def token(self) -> VerifiedToken:
        """The token as a value."""


class CheckAnswer:
    """The decision and the facts behind it. Only ``allowed`` opens the API."""

    # Each known token keeps an answer, so that it has few parts. The rest is made when it is asked for.
    __slots__ = ("_source", "_verdict", "allowed")

    _source: VerifiedToken | TokenSource | None
    _verdict: Verdict

    #: Whether the credential opens the API.
    allowed: bool

    def __init__(self, verdict: Verdict, source: VerifiedToken | TokenSource | None = None) -> None:
        put = object.__setattr__
        put(self, "allowed", verdict.allowed)
        put(self, "_verdict", verdict)
        put(self, "_source", source)

    def __setattr__(self, name: str, value: object) -> None:
        # Requests share it.
        raise AttributeError(f"`{name}` of an answer cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"`{name}` of an answer cannot be changed")

    @property
    def reason(self) -> str:
        """For example ``ALLOWED`` or ``CREDENTIAL_REVOKED``.

        ``UNSPECIFIED`` is a reason of a newer sidecar, which denies.
        """
        return self._verdict.reason

    @property
    def message(self) -> str:
        """An explanation for people, with what to do."""
        return self._verdict.message

    @property
    def header(self) -> str:
        """Request header for tokens of this kind; empty where the kind is not known."""
        return self._verdict.header

    @property
    def scheme(self) -> str:
        """The scheme before the token in that header, for example ``Bearer``; empty: the token alone."""
        return self._verdict.scheme

    @property
    def accepted(self) -> tuple[AcceptedKind, ...]:
        """On a denial: the kinds of token that the API accepts."""
        return self._verdict.accepted

    @property
    def conflicts(self) -> tuple[str, ...]:
        """Ids of the conflicts of the matrix about this API and kind. An answer from memory has none."""
        return self._verdict.conflicts

    @property
    def advice(self) -> tuple[str, ...]:
        """Recommendations, and the note of the matrix about this API and kind. An answer from memory has the note."""
        return self._verdict.advice

    @property
    def digest(self) -> str:
        """Digest of the matrix."""
        return self._verdict.digest

    @property
    def strict(self) -> bool:
        """Whether contested cells are denied."""
        return self._verdict.strict

    @property
    def rules_digest(self) -> str:
        """Digest of the exact rules: of the matrix and the mode."""
        return self._verdict.rules_digest

    @property
    def verified(self) -> bool:
        """Whether the credential was verified; ``False`` for claims."""
        return self._verdict.verified and self._source is not None

    @property
    def cache_for(self) -> float:
        """How long the answer may be reused, in seconds; 0: not at all."""
        return self._verdict.cache_for

    @property
    def token(self) -> VerifiedToken | None:
        """The verified token, if there is one. It is there on denials too."""
        source = self._source
        if source is None or isinstance(source, VerifiedToken):
            return source
        return source.token()

    @property
    def route(self) -> FoundRoute | None:
        """The findings of the routes about the request; ``None``: the check had none."""
        return None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CheckAnswer):
            return NotImplemented
        return (self._verdict, self.token, self.route) == (other._verdict, other.token, other.route)

    def __hash__(self) -> int:
        return hash((self._verdict, self.token))

    def __repr__(self) -> str:
        return f"CheckAnswer({self._verdict}, token={self.token}, route={self.route})"


class RoutedAnswer(CheckAnswer):
    """The answer to a check with a request. Known tokens keep none, so that only these have a route."""

    __slots__ = ("_route",)

    _route: FoundRoute

    def __init__(self, verdict: Verdict, source: VerifiedToken | TokenSource | None, route: FoundRoute) -> None:
        super().__init__(verdict, source)
        object.__setattr__(self, "_route", route)

    @property
    def route(self) -> FoundRoute:
        """The findings of the routes about the request."""
        return self._route

    @classmethod
    def of(cls, answer: CheckAnswer, route: FoundRoute) -> RoutedAnswer:
        """An answer about what the routes have found."""
        return cls(answer._verdict, answer._source, route)


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
    #: Before the token in that header, for example ``Bearer``; empty: the token alone.
    scheme: str = ""
    #: ``user`` or ``password``, if a place was asked for where the token is that part of Basic; otherwise empty.
    basic: str = ""

    @property
    def header_value(self) -> str:
        """The value of the header: the token, behind its scheme. A secret."""
        content = self.value
        if self.basic:
            pair = f"{content}:" if self.basic == "user" else f":{content}"
            content = base64.b64encode(pair.encode()).decode()
        return f"{self.scheme} {content}" if self.scheme else content


def reason_name(number: int) -> str:
    """Name of a reason; ``UNSPECIFIED`` where the sidecar is newer, and has reasons that are not known here."""
    return _REASON_NAMES.get(number, "UNSPECIFIED")


_REASON_NAMES: dict[int, str] = {
    number: name.removeprefix("REASON_") for name, number in decision.Reason.items() if number != 0
}


def check_answer(response: wire.CheckResponse, routed: bool, *, is_remembered: bool = False) -> CheckAnswer:
    """The answer of the sidecar as a value. To a check with a request it allows nothing without its API."""
    reason, route = reason_name(response.reason), route_value(response)
    found = not routed or (route is not None and route.api != "" and route.refused is None)
    verdict = Verdict(
        # A reason that is not known here may stand for a condition, so it counts as a denial.
        allowed=response.allowed and reason == "ALLOWED" and found,
        reason=reason,
        message=response.message,
        header=response.header,
        scheme=response.scheme,
        accepted=tuple(accepted_kind(each.kind, each) for each in response.accepted),
        conflicts=tuple(each.id for each in response.conflicts),
        advice=tuple(response.advice),
        digest=response.digest,
        strict=response.strict,
        rules_digest=response.rules_digest,
        verified=response.verified,
        # The memory forgets it when a change touches it, and a cache would not.
        cache_for=0.0 if is_remembered else seconds(response.cache_for),
    )
    token = verified_token(response.token) if response.HasField("token") else None
    return CheckAnswer(verdict, token) if route is None else RoutedAnswer(verdict, token, route)


def accepted_kind(kind: str, said: decision.AcceptedKind | matrix.TokenKind) -> AcceptedKind:
    """A kind that an API accepts, as an answer or the matrix describes it."""
    # A sidecar of the release before does not say it, and knows no kinds that are obtained elsewhere.
    obtained = said.obtained or ("issue" if said.issuable else "control_panel")
    return AcceptedKind(kind, said.header, said.issuable, said.scheme, obtained, said.link)


def route_value(response: wire.CheckResponse) -> FoundRoute | None:
    """The findings of the routes in an answer; ``None``: the check had no request."""
    if not response.HasField("route"):
        return None
    route = response.route
    return FoundRoute(route.api, scope_value(route.target) if route.HasField("target") else None, route.refused or None)


def verified_token(token: wire.VerifiedToken) -> VerifiedToken:
    """A verified token as a value."""
    return VerifiedToken(
        kind=token.kind,
        scope=scope_value(token.scope),
        subject=Subject(token.subject.id, token.subject.name, token.subject.type),
        token_id=token.token_id,
        issued_at=_time(token, "issued_at"),
        expires_at=_time(token, "expires_at"),
        roles=tuple(token.roles),
        authority=token.authority or None,
        project_id=token.project_id or None,
        derived_from=tuple(token.derived_from),
    )


def issued_token(response: wire.IssueResponse) -> IssuedToken:
    """An issued token as a value."""
    return IssuedToken(
        header=response.header,
        value=response.value,
        kind=response.kind,
        scope=scope_value(response.scope),
        token_id=response.token_id,
        issued_at=_time(response, "issued_at"),
        expires_at=_time(response, "expires_at"),
        scheme=response.scheme,
        basic=response.basic,
    )


def seconds(duration: duration_pb2.Duration) -> float:
    """A duration in seconds."""
    return duration.seconds + duration.nanos / 1e9


def header_pairs(headers: Headers) -> list[tuple[str, str]]:
    """Headers as pairs of texts. Raises ``TypeError`` without a value of a header, which may be a secret."""
    pairs: list[tuple[str, str]] = []
    try:
        items = _items(headers)
        for name, values in items:
            for value in values if isinstance(values, (list, tuple)) else (values,):
                pairs.append((_text(name), _text(value)))
    except (TypeError, ValueError):
        raise TypeError("credentials: expected pairs of name and value, or a mapping") from None
    return pairs


def _items(headers: Headers) -> Iterable[tuple[Any, Any]]:
    if not isinstance(headers, Mapping):
        return headers
    if headers.get("wsgi.version") != WSGI_VERSION:
        return headers.items()
    # A server joins the values of a repeated header with a comma.
    return [
        (name[5:].replace("_", "-"), value)
        for name, value in headers.items()
        if name.startswith("HTTP_") and name.isupper()
    ]


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
    request: Request | None = None,
) -> wire.CheckRequest:
    """The request of a check. Raises ``TypeError`` that names the field where a value has the wrong type."""
    _expect_text("api", api)
    _expect_text("client_address", client_address)
    if (credentials is None) == (token is None):
        raise TypeError("credentials: expected request headers, or `token` instead")
    if request is not None and (api != "" or target is not None or token is not None):
        raise TypeError("request: expected no api, target and token beside it")
    message = wire.CheckRequest(api=api, client_address=client_address)
    if request is not None:
        for name in ("method", "host", "path"):
            value = getattr(request, name, None)
            _expect_text(f"request.{name}", value)
            setattr(message.request, name, _sendable(str(value)))
    if token is not None:
        kind, scope = token
        _expect_text("token kind", kind)
        message.token.kind = kind
        message.token.scope.CopyFrom(scope_message("token scope", scope))
    if target is not None:
        message.target.CopyFrom(scope_message("target", target))
    if credentials is not None:
        # An empty list of headers is a credential that is missing, and not a missing subject.
        message.credentials.SetInParent()
        for name, value in header_pairs(credentials):
            message.credentials.headers.add(name=_sendable(name), value=_sendable(value))
    return message


def _sendable(text: str) -> str:
    # A lone surrogate cannot be sent. The character in its place is in no token either, and is not ASCII.
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


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


def scope_value(scope: decision.Scope) -> Scope:
    return Scope(scope.account, scope.project or None)


def _time(message: wire.VerifiedToken | wire.IssueResponse, name: str) -> datetime.datetime | None:
    if not message.HasField(name):  # type: ignore[arg-type]
        return None
    try:
        value: datetime.datetime = getattr(message, name).ToDatetime(tzinfo=datetime.timezone.utc)
    except (OverflowError, ValueError):
        said = f"the sidecar sent an answer that cannot be: {name}: expected a time"
        raise PortcullisError(said, code="INTERNAL") from None
    return value
