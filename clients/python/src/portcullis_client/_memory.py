"""The knowledge of a program about the rules and of tokens, and its answers from it (clients/conformance/README.md).

It reads no clock and no network: it receives everything, so each of its runs can be repeated. One thread notifies
it of changes, and any number of threads ask it.
"""

from __future__ import annotations

import datetime
import sys
import threading
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import islice

from ._elapsed import JUMP
from ._rules import FAULTS, Found, Rules, Words, WrongSidecar, find_credential, place_of, place_of_fault
from ._values import (
    CheckAnswer,
    FoundRoute,
    Request,
    RoutedAnswer,
    Scope,
    Subject,
    Verdict,
    VerifiedToken,
    reason_name,
    route_value,
    seconds,
    verified_token,
)
from .gen.portcullis.v1 import authorization_pb2 as wire

#: Most addresses of one token: no token takes the place of all others.
ADDRESSES_MAX = 100
#: Most denials whose words are kept.
WORDS_MAX = 1_000
#: Most parts of rules. A sidecar sends some twenty for 100,000 APIs.
PARTS_MAX = 1_000
#: Most holders whose tokens share what they have in common.
HOLDERS_MAX = 1_000
#: Faults of a token itself, as long as no change touches it.
LASTING = frozenset({"CREDENTIAL_EXPIRED", "CREDENTIAL_REVOKED", "ADDRESS_NOT_ALLOWED"})
#: Faults of a token at every address.
EVERYWHERE = frozenset({"CREDENTIAL_EXPIRED", "CREDENTIAL_REVOKED"})
#: Nothing is wrong with a token at an address.
_FINE = ""
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Ask:
    """The sidecar must be asked."""

    #: How often the answers to what was asked before had become void.
    age: int
    #: Empty: the sidecar says it, by its routes.
    api: str = ""
    target: Scope | None = None
    #: Of the token, if it is known, or of the claims.
    kind: str = ""
    #: Of claims that are already trusted; ``None``: a credential was asked about.
    scope: Scope | None = None
    #: The scope for which the answer may be remembered; ``None``: nothing.
    credential: Found | None = None
    address: str = ""
    #: Whether the program has the values of headers as bytes.
    in_bytes: bool = False
    #: Whether the sidecar says API and target, and the result of the known routes.
    routed: bool = False
    route: FoundRoute | None = None
    #: Of the request, with its credential. ``None``: claims were asked about.
    headers: list[tuple[str, str]] | None = None
    request: Request | None = None


@dataclass(frozen=True, slots=True)
class _Holder:
    """The common fields of the tokens of one holder, scope and kind."""

    #: The header that they came in, the scheme before them and the part of Basic, in lower case.
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
    """A token that the sidecar has verified. There are many, so that each part of one counts."""

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

    def is_same_as(self, said: Known) -> bool:
        """Whether the sidecar said the same of it."""
        mine, its = (
            (each.holder, each.token_id, each.issued_at, each.expires_at, each.derived_from) for each in (self, said)
        )
        return mine == its

    def fault_at(self, address: str) -> str | None:
        """The fault of it at an address; empty: none; ``None``: it is not known."""
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
            project_id=holder.project_id or None,
            derived_from=self.derived_from,
        )


def _time_of(seconds_since_1970: float | None) -> datetime.datetime | None:
    if seconds_since_1970 is None:
        return None
    return _EPOCH + datetime.timedelta(microseconds=round(seconds_since_1970 * 1e6))


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Memory:
    """Rules and tokens. All times are in seconds on the clock of ``Elapsed``."""

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
        #: The largest one received, or that a denial of a token rests on. Answers before it are not remembered.
        self._remembered_from: tuple[int, int] | None = None
        self._basis = ""
        self._age = 0
        #: Since when it has these rules.
        self._rules_age = 0
        self._asked_at = 0.0
        #: By how much the wall clock had jumped then.
        self._jumped = 0.0
        #: Of rules that are on their way: those that came, and how many parts they are.
        self._coming, self._parts = wire.Rules(), 0
        #: When the stream was asked for, and the times of its first and its last response.
        self._stream: tuple[float, float, float] | None = None
        #: Until then it may answer.
        self.known_until = _NEVER
        #: The lead of the sidecar's time of day over that clock.
        self.ahead: float | None = None

    def begin(self, now: float, jumped: float) -> wire.WatchChangesRequest:
        """A stream is asked for now. Known facts count for as long as before."""
        with self._lock:
            self._stream = None
            self._coming, self._parts = wire.Rules(), 0
            self._asked_at, self._jumped = now, jumped
            request = wire.WatchChangesRequest(accounts=sorted(self._accounts))
            if self._position is not None:
                change, recorded_at = self._position
                request.after.change, request.after.basis = change, self._basis
                request.after.recorded_at.FromNanoseconds(recorded_at)
            return request

    def hear(self, response: wire.WatchChangesResponse, now: float, jumped: float) -> bool:
        """A response. Says whether the stream can go on. Otherwise another one must be begun: the clocks have parted.

        Raises ``WrongSidecar`` if it cannot be followed; everything is void then.
        """
        with self._lock:
            try:
                self._hear(response, now)
            except WrongSidecar:
                self._forget_all()
                self.rules = None
                self._position, self._basis, self.known_until = None, "", _NEVER
                raise
            return jumped - self._jumped <= JUMP

    def _hear(self, response: wire.WatchChangesResponse, now: float) -> None:
        if response.HasField("rules_part") and self._parts < PARTS_MAX:
            self._parts += 1
            self._coming.MergeFrom(response.rules_part)
            return
        if not all(response.HasField(name) for name in ("position", "sent_at")):
            raise WrongSidecar("it says no position or no time")
        sent_at, position = seconds(response.sent_at), _position_of(response.position)
        self._expect_forward(position, sent_at, response.position.basis, response.voided.everything)
        if response.HasField("rules"):
            self._coming.MergeFrom(response.rules)
            self._follow(Rules(self._coming))
            self._coming, self._parts = wire.Rules(), 0
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
        if response.HasField("valid_for"):
            self.known_until = sent + seconds(response.valid_for)

    def _follow(self, rules: Rules) -> None:
        self._words.clear()
        for value, known in list(self.tokens.items()):
            text = value if isinstance(value, str) else value.decode()
            if not rules.carries(known.holder.kind, Found(known.holder.carrier, text)):
                self._drop(value)
        is_other = self.rules is None or self.rules.rules_digest != rules.rules_digest
        # Only now: others look at the tokens meanwhile.
        self.rules = rules
        if is_other:
            self._age += 1
            self._rules_age = self._age

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
        age, rules = self._age, self.rules
        verdict = None
        if rules is not None and now < self.known_until:
            verdict = self._verdict(rules, api, kind, place_of(scope, target))
        return Ask(age, api, target, kind, scope) if verdict is None else CheckAnswer(verdict)

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

        def ask(credential: Found | None = None, kind: str = "") -> Ask:
            return Ask(age, api, target, kind, None, credential, address, in_bytes, headers=headers)

        # In this order: rules of another thread may come in between, and its credential is then looked for again.
        age, rules = self._age, self.rules
        if rules is None:
            return ask()
        valid = now < self.known_until
        found = find_credential(headers, rules.carriers)
        if isinstance(found, str):
            verdict = self._verdict(rules, api, "", place_of_fault(found)) if valid else None
            return ask() if verdict is None else CheckAnswer(verdict)
        known = self._known(found.value)
        fault = known.fault_at(address) if known is not None else None
        if not valid or known is None or fault is None or known.holder.carrier != found.carrier:
            return ask(found)
        ahead = self.ahead
        if known.expires_at is not None and (ahead is None or now + ahead >= known.expires_at):
            return ask(found)
        holder = known.holder
        place = place_of_fault(fault) if fault else place_of(holder, target)
        verdict = self._verdict(rules, api, holder.kind, place)
        if verdict is None:
            return ask(found, holder.kind)
        # An unknown API comes before all faults of the token.
        return CheckAnswer(verdict, None if verdict.reason == "UNKNOWN_API" else known)

    def recall_request(
        self, request: Request, headers: list[tuple[str, str]], address: str, now: float, *, in_bytes: bool = False
    ) -> CheckAnswer | Ask:
        """The same about a request whose API and target the routes say."""
        age, rules = self._age, self.rules
        route = _route_of(rules, request, headers)
        if route is not None:
            recalled = self.recall(route.api, headers, route.target, address, now, in_bytes=in_bytes)
            if isinstance(recalled, Ask):
                return replace(recalled, api="", target=None, routed=True, route=route, request=request)
            return RoutedAnswer.of(recalled, route)
        # The recalled token counts, too.
        credential = _credential_of(rules, headers)
        return Ask(
            *(age, "", None, "", None, credential, address, in_bytes), routed=True, headers=headers, request=request
        )

    def _known(self, value: str) -> Known | None:
        known = self.tokens.get(value)
        return known if known is not None else self.tokens.get(value.encode())

    def _verdict(self, rules: Rules, api: str, kind: str, place: int) -> Verdict | None:
        """The answer in a place of a cell; ``None``: there are no words for it."""
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
            advice=words.advice,
            digest=rules.digest,
            strict=rules.strict,
            rules_digest=rules.rules_digest,
            verified=reason not in FAULTS,
        )
        rules.keep(api, kind, place, verdict)
        return verdict

    def learn(self, ask: Ask, response: wire.CheckResponse) -> None:
        """The sidecar's answer to what it was asked."""
        reason = reason_name(response.reason)
        with self._lock:
            rules = self.rules
            if rules is None:
                return
            if ask.age < self._rules_age and ask.headers is not None:
                # It was asked by other rules, or by none: they may have found another token.
                found = _credential_of(rules, ask.headers)
                ask = replace(ask, credential=found, route=_route_of(rules, ask.request, ask.headers))
            credential = ask.credential
            fits = self._would_give(rules, ask, response)
            if fits and reason != "ALLOWED":
                if len(self._words) >= WORDS_MAX:
                    self._words.clear()
                kind = response.token.kind if response.HasField("token") else ask.kind
                api = response.route.api if ask.routed else ask.api
                self._words[api, kind, reason] = Words(response.message, response.header, response.scheme)
            if credential is None:
                return
            remembered = fits and self._may_remember(ask, response)
            if fits:
                void = reason in FAULTS and self._is_against(reason, credential, remembered)
            else:
                void = not ask.routed or ask.route is not None or not _refuses(response)
            if void:
                # Once one caller has seen the denial, no caller may get an older allow.
                self._forget_value(credential.value)
                if not fits:
                    # An answer that is on its way may be older.
                    self._age += 1
            if not remembered:
                return
            if reason in EVERYWHERE:
                self._remembered_from = _position_of(response.position)
            self._keep(ask, credential, response.token, reason if reason in FAULTS else _FINE)

    def _is_against(self, fault: str, credential: Found, remembered: bool) -> bool:
        """Whether a fault makes void what is known of the token."""
        if fault == "ADDRESS_NOT_ALLOWED":
            return not remembered
        known = self._known(credential.value)
        return fault != "WRONG_HEADER" or (known is not None and known.holder.carrier == credential.carrier)

    @staticmethod
    def _would_give(rules: Rules, ask: Ask, response: wire.CheckResponse) -> bool:
        """Whether the rules and their routes would have given an answer (clients/conformance, "Learning")."""
        if not ask.routed:
            return rules.would_give(ask.api, ask.target, ask.kind, ask.scope, ask.credential, response)
        found = route_value(response)
        if found is None or found.api == "" or found.refused is not None or ask.route not in (None, found):
            return False
        return rules.would_give(found.api, found.target, ask.kind, None, ask.credential, response)

    def _may_remember(self, ask: Ask, response: wire.CheckResponse) -> bool:
        """Whether the token of an answer that the rules would have given may be remembered."""
        if not response.verified and reason_name(response.reason) not in LASTING:
            return False
        if not response.HasField("token") or not response.HasField("position"):
            return False
        # It may rest on a fact that became void since, or that is older than the last notification.
        earliest = self._remembered_from
        if ask.age != self._age or earliest is None or _is_before(_position_of(response.position), earliest):
            return False
        if response.position.basis != self._basis:
            # Of a process that has not read yet which keys are withdrawn, it would stay.
            return False
        return not self._accounts or response.token.scope.account in self._accounts

    def _keep(self, ask: Ask, found: Found, token: wire.VerifiedToken, fault: str) -> None:
        said = Known(self._holder(found.carrier, token), token)
        known = self._known(found.value)
        if known is None or not known.is_same_as(said):
            self._forget_value(found.value)
            known = said
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


def _credential_of(rules: Rules | None, headers: list[tuple[str, str]]) -> Found | None:
    found = find_credential(headers, rules.carriers) if rules is not None else ""
    return found if isinstance(found, Found) else None


def _route_of(rules: Rules | None, request: Request | None, headers: list[tuple[str, str]]) -> FoundRoute | None:
    if rules is None or rules.routes is None or request is None:
        return None
    return rules.routes.find(request, headers)


def _refuses(response: wire.CheckResponse) -> bool:
    """Whether the routes refuse a request, and nothing is said of the token."""
    says_nothing = not response.allowed and not response.verified and not response.HasField("token")
    return says_nothing and response.route.api == "" and reason_name(response.reason) == "UNKNOWN_API"


def _position_of(position: wire.Position) -> tuple[int, int]:
    return position.change, position.recorded_at.ToNanoseconds()


def _is_before(position: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether it is smaller, or has the same number and another time."""
    return position[0] < other[0] or (position[0] == other[0] and position != other)
