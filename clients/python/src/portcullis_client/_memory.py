"""What a program knows of the rules and of tokens, and what it answers from that (clients/conformance/README.md).

It reads no clock and no network: it is told everything, so each of its runs can be repeated. One thread tells it
what changes, and any number of threads ask it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, field

from ._rules import FAULTS, Found, Rules, WrongSidecar, find_credential
from ._values import CheckAnswer, Scope, VerifiedToken, reason_name, seconds, verified_token
from .gen.portcullis.v1 import authorization_pb2 as wire

#: Most addresses of one token: no token takes the place of all others.
ADDRESSES_MAX = 100
#: Most denials whose words are kept.
WORDS_MAX = 1_000
#: What is wrong with a token itself, as long as no change touches it.
LASTING = frozenset({"CREDENTIAL_EXPIRED", "CREDENTIAL_REVOKED", "ADDRESS_NOT_ALLOWED"})
#: Nothing is wrong with a token at an address.
_FINE = ""
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Ask:
    """The sidecar must be asked."""

    api: str
    #: Empty: it is not known.
    kind: str
    #: What the answer may be remembered for; ``None``: nothing.
    credential: Found | None
    address: str
    #: How often everything had become void.
    age: int


@dataclass(slots=True)
class _Known:
    """A token that the sidecar has vouched for."""

    header: str
    token: VerifiedToken
    project_id: str
    derived_from: tuple[str, ...]
    #: By the time of day of the sidecar, in seconds; ``None``: never.
    expires_at: float | None
    #: Address → what is wrong with the token there; empty: nothing.
    faults: dict[str, str] = field(default_factory=dict)
    #: The last answer about it, and to what: most requests of a token ask the same.
    last: tuple[Rules, str, Scope | None, CheckAnswer] | None = None


class Memory:
    """Rules and tokens. All times are in seconds on a monotonic clock."""

    def __init__(self, tokens_max: int = 10_000, accounts: Collection[str] = ()) -> None:
        self._tokens_max = tokens_max
        self._accounts = frozenset(accounts)
        self._lock = threading.Lock()
        self._tokens: dict[str, _Known] = {}
        self._size = 0
        self._words: dict[tuple[str, str, str], tuple[str, str]] = {}
        self._rules: Rules | None = None
        self._position: tuple[int, int] | None = None
        self._basis = ""
        self._age = 0
        self._asked_at = 0.0
        #: When the stream was asked for, and what its first and its last response say of their time.
        self._stream: tuple[float, float, float] | None = None
        self._known_until = _NEVER
        #: What the time of day of the sidecar is ahead of the monotonic clock.
        self._ahead: float | None = None

    def begin(self, now: float) -> wire.WatchChangesRequest:
        """A stream is asked for now. What was known still counts for as long as it did."""
        with self._lock:
            self._stream = None
            self._asked_at = now
            request = wire.WatchChangesRequest(accounts=sorted(self._accounts), basis=self._basis)
            if self._position is not None:
                change, recorded_at = self._position
                request.after.change = change
                request.after.recorded_at.FromNanoseconds(recorded_at)
            return request

    def hear(self, response: wire.WatchChangesResponse, now: float) -> None:
        """A response. Raises ``WrongSidecar`` if it cannot be followed; everything is void then."""
        with self._lock:
            try:
                self._hear(response, now)
            except WrongSidecar:
                self._forget_all()
                self._position, self._basis, self._known_until = None, "", _NEVER
                raise

    def _hear(self, response: wire.WatchChangesResponse, now: float) -> None:
        if not all(response.HasField(name) for name in ("position", "valid_for", "sent_at")):
            raise WrongSidecar("it says no position or no time")
        sent_at, position = seconds(response.sent_at), _position_of(response.position)
        self._expect_forward(position, sent_at, response.basis, response.voided.everything)
        if response.HasField("rules"):
            self._rules = Rules(response.rules)
            self._words.clear()
        if response.HasField("voided"):
            self._forget(response.voided)
        self._position, self._basis = position, response.basis
        asked_at, first, _ = self._stream or (self._asked_at, sent_at, sent_at)
        self._stream = (asked_at, first, sent_at)
        # It was sent at this time or later, and not after it has arrived.
        sent = min(now, asked_at + (sent_at - first))
        self._ahead = response.time_of_day.ToNanoseconds() / 1e9 - sent if response.HasField("time_of_day") else None
        self._known_until = sent + seconds(response.valid_for)

    def _expect_forward(self, position: tuple[int, int], sent_at: float, basis: str, everything: bool) -> None:
        if self._stream is not None and sent_at < self._stream[2]:
            raise WrongSidecar("its clock goes backwards")
        known = self._position
        if everything or known is None:
            return
        if basis != self._basis and self._stream is None:
            raise WrongSidecar("it goes on from what rests on other keys")
        if position[0] < known[0] or (position[0] == known[0] and position != known):
            raise WrongSidecar("its positions go backwards")

    def is_following(self, now: float) -> bool:
        """Whether it may answer."""
        return self._rules is not None and now < self._known_until

    def recall_claims(self, api: str, kind: str, scope: Scope, target: Scope | None, now: float) -> CheckAnswer | Ask:
        """The answer about claims that are already trusted, or that the sidecar must be asked."""
        rules = self._rules
        if rules is None or not now < self._known_until:
            return Ask(api, kind, None, "", self._age)
        return self._answer(rules, api, kind, rules.reason(api, kind, scope, target), None, None, "")

    def recall(
        self, api: str, headers: list[tuple[str, str]], target: Scope | None, address: str, now: float
    ) -> CheckAnswer | Ask:
        """The answer from memory, or that the sidecar must be asked."""
        rules = self._rules
        if rules is None:
            return Ask(api, "", None, address, self._age)
        valid = now < self._known_until
        only = rules.only_header(headers)
        if only is not None and valid:
            # A token that is known is well formed.
            known = self._tokens.get(only[1])
            if known is not None and known.header == only[0] and known.faults.get(address) == _FINE:
                last = known.last
                same = last is not None and last[0] is rules and last[1] == api and last[2] == target
                if last is not None and same and self._is_current(known, now):
                    return last[3]
        found = find_credential(headers, rules.names)
        if isinstance(found, str):
            if not valid:
                return Ask(api, "", None, address, self._age)
            return self._answer(rules, api, "", rules.reason_of_fault(api, "", found), None, None, address)
        known = self._tokens.get(found.value)
        fault = known.faults.get(address) if known is not None else None
        if (
            not valid
            or known is None
            or fault is None
            or known.header != found.header
            or not self._is_current(known, now)
        ):
            return Ask(api, "", found, address, self._age)
        token = known.token
        reason = (
            rules.reason_of_fault(api, token.kind, fault)
            if fault
            else rules.reason(api, token.kind, token.scope, target)
        )
        answer = self._answer(rules, api, token.kind, reason, token, found, address)
        if not fault and isinstance(answer, CheckAnswer):
            known.last = (rules, api, target, answer)
        return answer

    def _is_current(self, known: _Known, now: float) -> bool:
        ahead = self._ahead
        return known.expires_at is None or (ahead is not None and now + ahead < known.expires_at)

    def _answer(
        self,
        rules: Rules,
        api: str,
        kind: str,
        reason: str,
        token: VerifiedToken | None,
        found: Found | None,
        address: str,
    ) -> CheckAnswer | Ask:
        allowed = reason == "ALLOWED"
        words = rules.words_of_allowed(api, kind) if allowed else self._words.get((api, kind, reason))
        if words is None:
            return Ask(api, kind, found, address, self._age)
        if reason == "UNKNOWN_API":
            # It comes before all that is known of the token.
            token = None
        return CheckAnswer(
            allowed=allowed,
            reason=reason,
            message=words[0],
            header=words[1],
            accepted=() if allowed else rules.accepted(api),
            digest=rules.digest,
            strict=rules.strict,
            rules_digest=rules.rules_digest,
            verified=token is not None and reason not in FAULTS,
            token=token,
        )

    def learn(self, ask: Ask, response: wire.CheckResponse) -> None:
        """What the sidecar has answered to what it was asked."""
        reason = reason_name(response.reason)
        has_token = response.HasField("token")
        with self._lock:
            rules = self._rules
            if rules is not None and reason != "ALLOWED" and response.rules_digest == rules.rules_digest:
                if len(self._words) >= WORDS_MAX:
                    self._words.clear()
                kind = response.token.kind if has_token else ask.kind
                self._words[ask.api, kind, reason] = (response.message, response.header)
            lasting = response.verified or reason in LASTING
            if ask.credential is None or not has_token or not response.HasField("position") or not lasting:
                return
            # What became void since, or is older than what was told since, may be what it rests on.
            position, told = _position_of(response.position), self._position
            if ask.age != self._age or told is None or position[0] < told[0]:
                return
            if position[0] == told[0] and position != told:
                return
            if self._accounts and response.token.scope.account not in self._accounts:
                return
            self._keep(ask.credential, ask.address, response.token, reason if reason in FAULTS else _FINE)

    def _keep(self, found: Found, address: str, token: wire.VerifiedToken, fault: str) -> None:
        known = self._tokens.get(found.value)
        if known is None or known.header != found.header or known.token.token_id != token.token_id:
            self._drop(found.value)
            expires_at = token.expires_at.ToNanoseconds() / 1e9 if token.HasField("expires_at") else None
            known = _Known(
                found.header,
                verified_token(token),
                token.project_id,
                tuple(token.derived_from),
                expires_at,
            )
            self._tokens[found.value] = known
        if len(known.faults) >= ADDRESSES_MAX and address not in known.faults:
            self._size -= len(known.faults)
            known.faults.clear()
        self._size += address not in known.faults
        known.faults[address] = fault
        while self._size > self._tokens_max:
            # The oldest makes room.
            self._drop(next(iter(self._tokens)))

    def _drop(self, value: str) -> None:
        known = self._tokens.pop(value, None)
        if known is not None:
            self._size -= len(known.faults)

    def _forget(self, voided: wire.Voided) -> None:
        if voided.everything:
            self._forget_all()
            return
        token_ids, projects = set(voided.token_ids), set(voided.project_ids) - {""}
        users, accounts = set(voided.user_ids), set(voided.accounts)
        touched = [
            value
            for value, known in self._tokens.items()
            if known.token.token_id in token_ids
            or known.token.subject.id in users
            or known.token.scope.account in accounts
            or known.project_id in projects
            or not token_ids.isdisjoint(known.derived_from)
        ]
        for value in touched:
            self._drop(value)

    def _forget_all(self) -> None:
        # A new dict: those who ask now have the old one, or this one.
        self._tokens = {}
        self._size = 0
        self._age += 1


def _position_of(position: wire.Position) -> tuple[int, int]:
    return position.change, position.recorded_at.ToNanoseconds()
