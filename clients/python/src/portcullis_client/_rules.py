"""The rules of the sidecar as ``WatchChanges`` sends them: the answer of each cell to each question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ._routes import Routes
from ._values import AcceptedKind, Scope, Verdict, reason_name, scope_value
from .gen.portcullis.v1 import authorization_pb2 as wire

#: The faults of a credential, in the order in which a cell has their reasons.
FAULTS = (
    "CREDENTIAL_MISSING",
    "CREDENTIAL_AMBIGUOUS",
    "CREDENTIAL_MALFORMED",
    "WRONG_HEADER",
    "CREDENTIAL_INVALID",
    "CREDENTIAL_EXPIRED",
    "CREDENTIAL_REVOKED",
    "ADDRESS_NOT_ALLOWED",
)
_FAULT_PLACES = {fault: 12 + index for index, fault in enumerate(FAULTS)}
PLACES = 12 + len(FAULTS)

#: Most APIs whose verdicts are kept, and most spellings of the names of headers.
READY_MAX = 1_000

_TOKEN = re.compile(r"[\x21-\x7e]+\Z").match


class WrongSidecar(Exception):
    """The sidecar says what this program cannot follow."""


@dataclass(frozen=True, slots=True)
class _Kind:
    column: int
    title: str
    header: str
    #: Before a token in that header; empty: it has the token alone.
    scheme: str
    #: The prefix of tokens; empty: it does not identify them.
    prefix: str

    def belongs(self) -> str:
        """Where a token of the kind belongs, for a sentence."""
        start = f"{self.scheme} {self.prefix}…".strip() if self.prefix else self.scheme
        return f"{self.header}: {start}" if start else self.header


class Carriers:
    """The carrier of a token: a header, or a header and the scheme before the token in it. In lower case."""

    def __init__(self, kinds: Iterable[tuple[str, str]]) -> None:
        """From the header and the scheme of each kind. An empty scheme: the header has the token alone."""
        #: Spelling of a header → its name in lower case.
        self.names: dict[str, str] = {}
        #: Header → scheme → what carries the token then.
        self.of: dict[str, dict[str, str]] = {}
        #: Header → the two usual spellings of each scheme in it → the same. Without headers that have none.
        self.spelled: dict[str, dict[str | bytes, str]] = {}
        for header, scheme in kinds:
            lower, lower_scheme = ascii_lower(header), ascii_lower(scheme)
            self.names[header] = self.names[lower] = lower
            carrier = f"{lower} {lower_scheme}" if scheme else lower
            self.of.setdefault(lower, {})[lower_scheme] = carrier
            if scheme:
                spelled = self.spelled.setdefault(lower, {})
                for spelling in (scheme, lower_scheme):
                    spelled[spelling] = spelled[spelling.encode()] = carrier

    def find(self, header: str, value: str) -> Found | str:
        """The token in the value of a header, behind its scheme; or says what is wrong."""
        schemes = self.of[header]
        if "" in schemes and _TOKEN(value) and (len(schemes) == 1 or ascii_lower(value) not in schemes):
            return Found(schemes[""], value)
        scheme, _, token = value.partition(" ")
        carrier = schemes.get(ascii_lower(scheme)) if scheme else None
        if carrier is None:
            return "CREDENTIAL_MALFORMED"
        token = token.lstrip(" ")
        if not token:
            return "CREDENTIAL_MISSING"
        return Found(carrier, token) if _TOKEN(token) else "CREDENTIAL_MALFORMED"


class Words(NamedTuple):
    """How an answer says what it is."""

    message: str
    #: Request header for tokens of the kind; empty where the kind is not known.
    header: str
    #: Before the token in that header; empty: the token alone.
    scheme: str


class Rules:
    """The sidecar's answer in each cell, for each question that the rules distinguish."""

    def __init__(self, rules: wire.Rules) -> None:
        """Raises ``WrongSidecar`` where a cell is missing."""
        matrix = rules.matrix
        self.digest: str = matrix.digest
        self.strict: bool = matrix.strict
        self.rules_digest: str = matrix.rules_digest
        self.carriers = Carriers((kind.header, kind.scheme) for kind in matrix.token_kinds)
        #: Spelling of a header that carries credentials → its name in lower case.
        self.names = self.carriers.names
        #: Header → the usual spellings of each scheme in it → what carries the token. Without headers that have none.
        self.schemes = self.carriers.spelled
        self._kinds: dict[str, _Kind] = {}
        self._levels: list[tuple[AcceptedKind, int]] = []
        for index, kind in enumerate(matrix.token_kinds):
            self._kinds[kind.id] = _Kind(index + 1, kind.title, kind.header, kind.scheme, kind.prefix)
            place = 8 if kind.scope_level == "project" else 4
            self._levels.append((AcceptedKind(kind.id, kind.header, kind.issuable, kind.scheme), place))
        #: Lengths of the names of these headers.
        self.lengths = frozenset(map(len, self.names))
        #: Each spelling that was seen of a name with such a length → its header; empty: another one.
        self.spellings: dict[str | bytes, str] = {}
        #: These headers in the ``environ`` of WSGI.
        self.variables = tuple(
            (f"HTTP_{lower.upper().replace('-', '_')}", lower) for lower in dict.fromkeys(self.names.values())
        )
        #: API → kind → what is answered in each place of the cell, once it was said.
        self.ready: dict[str, dict[str, list[Verdict | None]]] = {}
        cells = [tuple(map(reason_name, cell.reasons)) for cell in rules.cells]
        self._rows: dict[str, tuple[tuple[str, ...], ...]] = {}
        for row in rules.apis:
            if len(row.cells) != len(self._kinds) + 1 or any(index >= len(cells) for index in row.cells):
                raise WrongSidecar("its rules do not have a cell for each API and kind")
            self._rows[row.api] = tuple(cells[index] for index in row.cells)
        if "" not in self._rows or any(len(cell) < PLACES for cell in cells):
            raise WrongSidecar("its rules do not have a cell for each API and kind")
        self._unknown_api = self._rows[""]
        #: ``None``: the sidecar must be asked about each request.
        self.routes = Routes(rules.exact_routes) if rules.HasField("exact_routes") else None
        self._allowed: dict[tuple[str, str], Words] = {}

    def reason(self, api: str, kind: str, place: int) -> str:
        """The answer of the rules in a place of a cell."""
        known = self._kinds.get(kind)
        return self._rows.get(api, self._unknown_api)[known.column if known else 0][place]

    def verdict(self, api: str, kind: str, place: int) -> Verdict | None:
        """The earlier answer in a place of a cell."""
        cells = self.ready.get(api)
        verdicts = cells.get(kind) if cells is not None else None
        return verdicts[place] if verdicts is not None else None

    def keep(self, api: str, kind: str, place: int, verdict: Verdict) -> None:
        """Keeps what is said in a place of a cell. Both must be in the matrix, so that this is bounded."""
        if verdict.reason == "UNKNOWN_API" or api not in self._rows or (kind and kind not in self._kinds):
            return
        if len(self.ready) >= READY_MAX and api not in self.ready:
            self.ready.clear()
        self.ready.setdefault(api, {}).setdefault(kind, [None] * PLACES)[place] = verdict

    def words_of_allowed(self, api: str, kind: str) -> Words:
        """The words where the API accepts the kind."""
        words = self._allowed.get((api, kind))
        if words is None:
            known = self._kinds.get(kind)
            title, belongs = (known.title, known.belongs()) if known else ("", "")
            article = "an" if title[:1].lower() in "aeiou" and title else "a"
            message = f"`{api}` accepts {article} {title} in `{belongs}`"
            words = Words(message, known.header, known.scheme) if known else Words(message, "", "")
            # Only an API of the matrix can be allowed, so this is bounded.
            self._allowed[api, kind] = words
        return words

    def accepted(self, api: str) -> tuple[AcceptedKind, ...]:
        """The kinds that open the API, in the order of the matrix."""
        row = self._rows.get(api, self._unknown_api)
        return tuple(kind for index, (kind, place) in enumerate(self._levels) if row[index + 1][place] == "ALLOWED")

    def would_give(
        self,
        api: str,
        target: Scope | None,
        kind: str,
        scope: Scope | None,
        credential: Found | None,
        response: wire.CheckResponse,
    ) -> bool:
        """Whether these rules would have given an answer (clients/conformance, "Learning").

        `kind` and `scope` are those of claims; without a scope a credential was asked about.
        """
        reason, has_token, token = reason_name(response.reason), response.HasField("token"), response.token
        if reason == "UNSPECIFIED" or response.allowed != (reason == "ALLOWED"):
            return False
        if response.rules_digest != self.rules_digest:
            return False
        if scope is not None:
            silent = not has_token and not response.verified
            return silent and reason == self.reason(api, kind, place_of(scope, target))
        if has_token and (credential is None or not _is_whole(token)):
            return False
        if not response.verified:
            return reason == self.reason(api, token.kind, _FAULT_PLACES.get(reason, 12))
        if not has_token or credential is None or not self.carries(token.kind, credential):
            return False
        return reason == self.reason(api, token.kind, place_of(scope_value(token.scope), target))

    def carries(self, kind: str, found: Found) -> bool:
        """Whether tokens of the kind travel so. Those of a kind that is not in the matrix travel anywhere."""
        known = self._kinds.get(kind)
        if known is None:
            return True
        carrier = self.carriers.of[ascii_lower(known.header)][ascii_lower(known.scheme)]
        return carrier == found.carrier and found.value.startswith(known.prefix)

    def spelling(self, name: str | bytes) -> str:
        """The header with that name, in lower case; empty: it carries no credential."""
        text = name.decode("latin-1") if isinstance(name, bytes) else name
        header = self.names.get(ascii_lower(text), "")
        if len(self.spellings) < READY_MAX:
            self.spellings[name] = header
        return header


def _is_whole(token: wire.VerifiedToken) -> bool:
    """Whether changes can name all that the token depends on."""
    named = token.token_id != "" and token.subject.id != "" and token.scope.account != ""
    return named and (token.scope.project == "" or token.project_id != "")


def place_of_fault(fault: str) -> int:
    """The place of a fault of the credential in a cell."""
    return _FAULT_PLACES[fault]


class Scoped(Protocol):
    """A value that is bound to an account, and a project of it if any."""

    @property
    def account(self) -> str: ...
    @property
    def project(self) -> str | None: ...


def place_of(scope: Scoped, target: Scoped | None) -> int:
    """The place of a question in a cell."""
    if not scope.account:
        return 0
    level = 8 if scope.project else 4
    if target is None:
        return level
    if not target.account or target.account != scope.account:
        return level + 3
    return level + (1 if (target.project or None) == (scope.project or None) else 2)


@dataclass(frozen=True, slots=True)
class Found:
    """The one credential among the headers."""

    #: Its header, and the scheme before it, in lower case.
    carrier: str
    value: str


def find_credential(headers: Sequence[tuple[str, str]], carriers: Carriers) -> Found | str:
    """Finds the one credential; or says what is wrong."""
    names = carriers.names
    found: list[tuple[str, str]] = []
    for name, value in headers:
        header = names.get(name) or names.get(ascii_lower(name))
        if header is not None:
            found.append((header, value.strip(" \t")))
    if not found:
        return "CREDENTIAL_MISSING"
    # A repeated header is not empty, whatever its values: proxies join them with a comma.
    times: dict[str, int] = {}
    for header, _ in found:
        times[header] = times.get(header, 0) + 1
    if any(value == "" and times[header] == 1 for header, value in found):
        return "CREDENTIAL_MISSING"
    header, value = found[0]
    if len(found) > 1 or "," in value:
        return "CREDENTIAL_AMBIGUOUS"
    return carriers.find(header, value)


def ascii_lower(name: str) -> str:
    """The name with its ASCII letters in lower case. No other letter becomes one of them."""
    return name.lower() if name.isascii() else name
