"""What a program knows of the rules and of tokens, and what it answers from that (clients/conformance/README.md).

It reads no clock and no network: it is told everything, so each of its runs can be repeated. One thread tells it
what changes, and any number of threads ask it.
"""

from __future__ import annotations

import datetime
import sys
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import islice

from ._rules import FAULTS, Found, Rules, Words, WrongSidecar, find_credential, place_of, place_of_fault
from ._values import (
    CheckAnswer,
    Request,
    RoutedAnswer,
    Scope,
    Subject,
    Verdict,
    VerifiedToken,
    reason_name,
    seconds,
    verified_token,
)
from .gen.portcullis.v1 import authorization_pb2 as wire

#: Most addresses of one token: no token takes the place of all others.
ADDRESSES_MAX = 100
#: Most denials whose words are kept.
WORDS_MAX = 1_000
#: Most holders whose tokens share what they have in common.
HOLDERS_MAX = 1_000
#: What is wrong with a token itself, as long as no change touches it.
LASTING = frozenset({"CREDENTIAL_EXPIRED", "CREDENTIAL_REVOKED", "ADDRESS_NOT_ALLOWED"})
#: What is wrong with a token at every address.
EVERYWHERE = frozenset({"CREDENTIAL_EXPIRED", "CREDENTIAL_REVOKED"})
#: Nothing is wrong with a token at an address.
_FINE = ""
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Ask:
    """The sidecar must be asked."""

    #: Empty: the sidecar says it, by its routes.
    api: str
    #: Empty: it is not known.
    kind: str
    #: What the answer may be remembered for; ``None``: nothing.
    credential: Found | None
    address: str
    #: How often everything had become void.
    age: int
    #: Whether the program has the values of headers as bytes.
    in_bytes: bool = False


@dataclass(frozen=True, slots=True)
class _Holder:
    """What the tokens of one holder, scope and kind have in common."""

    #: The header that they came in, and the scheme before them, in lower case.
    carrier: str
    kind: str
    account: str
    #: ``None``: the whole account.
    project: str | None
    #: The first place of this scope in a cell.
    place: int
    subject: Subject
    roles: tuple[str, ...]
    authority: str | None
    project_id: str


class Known:
    """A token that the sidecar has vouched for. There are many, so that each part of one counts."""

    __slots__ = ("answer", "derived_from", "expires_at", "faults", "fine_at", "holder", "issued_at", "token_id")

    def __init__(self, holder: _Holder, token: wire.VerifiedToken) -> None:
        self.holder = holder
        self.token_id = token.token_id
        #: In seconds since 1970; ``None``: not known.
        self.issued_at = token.issued_at.ToMicroseconds() / 1e6 if token.HasField("issued_at") else None
        #: By the time of day of the sidecar, in seconds since 1970; ``None``: never.
        self.expires_at = token.expires_at.ToMicroseconds() / 1e6 if token.HasField("expires_at") else None
        self.derived_from = tuple(token.derived_from)
        #: The last address where nothing is wrong with it.
        self.fine_at: str | None = None
        #: The last answer about it.
        self.answer: CheckAnswer | None = None
        #: Each other address → what is wrong with the token there.
        self.faults: dict[str, str] | None = None

    def fault_at(self, address: str) -> str | None:
        """What is wrong with it at an address; empty: nothing; ``None``: it is not known."""
        if self.fine_at == address:
            return _FINE
        return self.faults.get(address) if self.faults is not None else None

    def addresses(self) -> int:
        """At how many addresses it is known."""
        return (self.fine_at is not None) + (len(self.faults) if self.faults is not None else 0)

    def set_fault(self, address: str, fault: str) -> None:
        """Keeps what is wrong with it at an address."""
        if self.fault_at(address) is None and self.addresses() >= ADDRESSES_MAX:
            self.fine_at = self.faults = None
        if fault == _FINE and (self.fine_at is None or self.fine_at == address):
            if self.faults is not None:
                self.faults.pop(address, None)
            self.fine_at = sys.intern(address)
            return
        if self.fine_at == address:
            self.fine_at = None
        self.faults = {**(self.faults or {}), address: fault}

    def token(self) -> VerifiedToken:
        """The token as a value."""
        holder = self.holder
        return VerifiedToken(
            kind=holder.kind,
            scope=Scope(holder.account, holder.project),
            subject=holder.subject,
            token_id=self.token_id,
            issued_at=_time_of(self.issued_at),
            expires_at=_time_of(self.expires_at),
            roles=holder.roles,
            authority=holder.authority,
        )


def _time_of(seconds_since_1970: float | None) -> datetime.datetime | None:
    if seconds_since_1970 is None:
        return None
    return _EPOCH + datetime.timedelta(microseconds=round(seconds_since_1970 * 1e6))


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Memory:
    """Rules and tokens. All times are in seconds on a monotonic clock."""

    def __init__(self, tokens_max: int = 10_000, accounts: Collection[str] = ()) -> None:
        self._tokens_max = tokens_max
        self._accounts = frozenset(accounts)
        self._lock = threading.Lock()
        #: Values as the program has them, which may be texts or bytes → what is known of them.
        self.tokens: dict[str | bytes, Known] = {}
        self._size = 0
        self._holders: dict[_Holder, _Holder] = {}
        self._words: dict[tuple[str, str, str], Words] = {}
        self.rules: Rules | None = None
        self._position: tuple[int, int] | None = None
        #: The largest one that was told, or that a denial of a token rests on. Answers before it are not remembered.
        self._remembered_from: tuple[int, int] | None = None
        self._basis = ""
        self._age = 0
        self._asked_at = 0.0
        #: When the stream was asked for, and what its first and its last response say of their time.
        self._stream: tuple[float, float, float] | None = None
        #: On the monotonic clock: until then it may answer.
        self.known_until = _NEVER
        #: What the time of day of the sidecar is ahead of the monotonic clock.
        self.ahead: float | None = None

    def begin(self, now: float) -> wire.WatchChangesRequest:
        """A stream is asked for now. What was known still counts for as long as it did."""
        with self._lock:
            self._stream = None
            self._asked_at = now
            request = wire.WatchChangesRequest(accounts=sorted(self._accounts))
            if self._position is not None:
                change, recorded_at = self._position
                request.after.change, request.after.basis = change, self._basis
                request.after.recorded_at.FromNanoseconds(recorded_at)
            return request

    def hear(self, response: wire.WatchChangesResponse, now: float) -> None:
        """A response. Raises ``WrongSidecar`` if it cannot be followed; everything is void then."""
        with self._lock:
            try:
                self._hear(response, now)
            except WrongSidecar:
                self._forget_all()
                self._position, self._basis, self.known_until = None, "", _NEVER
                raise

    def _hear(self, response: wire.WatchChangesResponse, now: float) -> None:
        if not all(response.HasField(name) for name in ("position", "valid_for", "sent_at")):
            raise WrongSidecar("it says no position or no time")
        sent_at, position = seconds(response.sent_at), _position_of(response.position)
        self._expect_forward(position, sent_at, response.position.basis, response.voided.everything)
        if response.HasField("rules"):
            self.rules = Rules(response.rules)
            self._words.clear()
        if response.HasField("voided"):
            self._forget(response.voided)
        self._position, self._basis = position, response.position.basis
        if self._remembered_from is None or position[0] >= self._remembered_from[0]:
            self._remembered_from = position
        asked_at, first, _ = self._stream or (self._asked_at, sent_at, sent_at)
        self._stream = (asked_at, first, sent_at)
        # It was sent at this time or later, and not after it has arrived.
        sent = min(now, asked_at + (sent_at - first))
        self.ahead = response.time_of_day.ToNanoseconds() / 1e9 - sent if response.HasField("time_of_day") else None
        self.known_until = sent + seconds(response.valid_for)

    def _expect_forward(self, position: tuple[int, int], sent_at: float, basis: str, everything: bool) -> None:
        if self._stream is not None and sent_at < self._stream[2]:
            raise WrongSidecar("its clock goes backwards")
        known = self._position
        if everything or known is None:
            return
        if basis != self._basis and self._stream is None:
            raise WrongSidecar("it goes on from what rests on other keys")
        if _is_before(position, known):
            raise WrongSidecar("its positions go backwards")

    def is_following(self, now: float) -> bool:
        """Whether it may answer."""
        return self.rules is not None and now < self.known_until

    def recall_claims(self, api: str, kind: str, scope: Scope, target: Scope | None, now: float) -> CheckAnswer | Ask:
        """The answer about claims that are already trusted, or that the sidecar must be asked."""
        rules = self.rules
        if rules is None or not now < self.known_until:
            return Ask(api, kind, None, "", self._age)
        verdict = self._verdict(rules, api, kind, place_of(scope, target))
        return Ask(api, kind, None, "", self._age) if verdict is None else CheckAnswer(verdict)

    def recall(
        self,
        api: str,
        headers: list[tuple[str, str]],
        target: Scope | None,
        address: str,
        now: float,
        *,
        in_bytes: bool = False,
    ) -> CheckAnswer | Ask:
        """The answer from memory, or that the sidecar must be asked. `recalled` has a shorter way to the same."""
        rules = self.rules
        if rules is None:
            return Ask(api, "", None, address, self._age)
        valid = now < self.known_until
        found = find_credential(headers, rules.carriers)
        if isinstance(found, str):
            verdict = self._verdict(rules, api, "", place_of_fault(found)) if valid else None
            return Ask(api, "", None, address, self._age) if verdict is None else CheckAnswer(verdict)
        known = self._known(found.value)
        fault = known.fault_at(address) if known is not None else None
        if not valid or known is None or fault is None or known.holder.carrier != found.carrier:
            return Ask(api, "", found, address, self._age, in_bytes)
        ahead = self.ahead
        if known.expires_at is not None and (ahead is None or now + ahead >= known.expires_at):
            return Ask(api, "", found, address, self._age, in_bytes)
        holder = known.holder
        place = place_of_fault(fault) if fault else place_of(holder, target)
        verdict = self._verdict(rules, api, holder.kind, place)
        if verdict is None:
            return Ask(api, holder.kind, found, address, self._age, in_bytes)
        # That an API is unknown comes before all that is known of the token.
        return CheckAnswer(verdict, None if verdict.reason == "UNKNOWN_API" else known)

    def recall_request(
        self, request: Request, headers: list[tuple[str, str]], address: str, now: float, *, in_bytes: bool = False
    ) -> CheckAnswer | Ask:
        """The same about a request whose API and target the routes say."""
        rules = self.rules
        route = rules.routes.find(request, headers) if rules is not None and rules.routes is not None else None
        if route is not None:
            recalled = self.recall(route.api, headers, route.target, address, now, in_bytes=in_bytes)
            return replace(recalled, api="") if isinstance(recalled, Ask) else RoutedAnswer.of(recalled, route)
        # What it learns of the token counts, too.
        found = find_credential(headers, rules.carriers) if rules is not None else ""
        return Ask("", "", found if isinstance(found, Found) else None, address, self._age, in_bytes)

    def _known(self, value: str) -> Known | None:
        known = self.tokens.get(value)
        return known if known is not None else self.tokens.get(value.encode())

    def _verdict(self, rules: Rules, api: str, kind: str, place: int) -> Verdict | None:
        """What is answered in a place of a cell; ``None``: there are no words for it."""
        ready = rules.verdict(api, kind, place)
        if ready is not None:
            return ready
        reason = rules.reason(api, kind, place)
        allowed = reason == "ALLOWED"
        words = rules.words_of_allowed(api, kind) if allowed else self._words.get((api, kind, reason))
        if words is None:
            return None
        verdict = Verdict(
            allowed=allowed,
            reason=reason,
            message=words.message,
            header=words.header,
            scheme=words.scheme,
            accepted=() if allowed else rules.accepted(api),
            digest=rules.digest,
            strict=rules.strict,
            rules_digest=rules.rules_digest,
            verified=reason not in FAULTS,
        )
        rules.keep(api, kind, place, verdict)
        return verdict

    def learn(self, ask: Ask, response: wire.CheckResponse) -> None:
        """What the sidecar has answered to what it was asked."""
        reason = reason_name(response.reason)
        has_token = response.HasField("token")
        with self._lock:
            rules = self.rules
            if rules is not None and reason != "ALLOWED" and response.rules_digest == rules.rules_digest:
                if len(self._words) >= WORDS_MAX:
                    self._words.clear()
                kind = response.token.kind if has_token else ask.kind
                api = ask.api or response.route.api
                if api != "":
                    self._words[api, kind, reason] = Words(response.message, response.header, response.scheme)
            if ask.credential is not None and reason in EVERYWHERE:
                # Somebody sees the denial now, and nobody may get an allow from what was known before it.
                self._forget_value(ask.credential.value)
            lasting = response.verified or reason in LASTING
            if ask.credential is None or not has_token or not response.HasField("position") or not lasting:
                return
            # What became void since, or is older than what was told since, may be what it rests on.
            position, earliest = _position_of(response.position), self._remembered_from
            if ask.age != self._age or earliest is None or _is_before(position, earliest):
                return
            if response.position.basis != self._basis:
                # Of a process that has not read yet which keys are withdrawn, it would stay.
                return
            if self._accounts and response.token.scope.account not in self._accounts:
                return
            if reason in EVERYWHERE:
                self._remembered_from = position
            self._keep(ask, ask.credential, response.token, reason if reason in FAULTS else _FINE)

    def _keep(self, ask: Ask, found: Found, token: wire.VerifiedToken, fault: str) -> None:
        holder = self._holder(found.carrier, token)
        known = self._known(found.value)
        if known is None or known.holder != holder or known.token_id != token.token_id:
            self._forget_value(found.value)
            known = Known(holder, token)
            # A check looks the value up as it came, and makes no other one of it.
            self.tokens[found.value.encode() if ask.in_bytes else found.value] = known
        self._size -= known.addresses()
        known.set_fault(ask.address, fault)
        self._size += known.addresses()
        if self._size > self._tokens_max:
            # The oldest make room: several at a time, because a dict does not find its first one at once.
            for value in list(islice(self.tokens, max(1, self._tokens_max // 64))):
                self._drop(value)

    def _holder(self, carrier: str, token: wire.VerifiedToken) -> _Holder:
        value = verified_token(token)
        holder = _Holder(
            carrier=carrier,
            kind=value.kind,
            account=value.scope.account,
            project=value.scope.project,
            place=place_of(value.scope, None),
            subject=value.subject,
            roles=value.roles,
            authority=value.authority,
            project_id=token.project_id,
        )
        if len(self._holders) >= HOLDERS_MAX:
            self._holders.clear()
        return self._holders.setdefault(holder, holder)

    def _forget_value(self, value: str) -> None:
        self._drop(value)
        self._drop(value.encode())

    def _drop(self, value: str | bytes) -> None:
        known = self.tokens.pop(value, None)
        if known is not None:
            self._size -= known.addresses()
            # It has the token, too.
            known.answer = None

    def _forget(self, voided: wire.Voided) -> None:
        if voided.everything:
            self._forget_all()
            return
        token_ids, projects = set(voided.token_ids), set(voided.project_ids) - {""}
        users, accounts = set(voided.user_ids), set(voided.accounts)
        touched = [
            value
            for value, known in self.tokens.items()
            if known.token_id in token_ids
            or known.holder.subject.id in users
            or known.holder.account in accounts
            or known.holder.project_id in projects
            or not token_ids.isdisjoint(known.derived_from)
        ]
        for value in touched:
            self._drop(value)

    def _forget_all(self) -> None:
        # A new dict: those who ask now have the old one, or this one.
        self.tokens = {}
        self._size = 0
        self._holders.clear()
        self._remembered_from = None
        self._age += 1


def _position_of(position: wire.Position) -> tuple[int, int]:
    return position.change, position.recorded_at.ToNanoseconds()


def _is_before(position: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether it is smaller, or has the same number and another time."""
    return position[0] < other[0] or (position[0] == other[0] and position != other)
