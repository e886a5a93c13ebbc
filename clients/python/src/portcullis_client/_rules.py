"""The rules of the sidecar as ``WatchChanges`` sends them: the answer of each cell to each question."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ._routes import Routes
from ._values import AcceptedKind, Scope, Verdict, accepted_kind, reason_name, scope_value
from .gen.portcullis.v1 import authorization_pb2 as wire
from .gen.portcullis.v1.matrix_pb2 import TokenPlace

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
#: No control character (RFC 7617 §2). Bytes outside of ASCII may be anything.
_BASIC = re.compile(r"(?P<user>[^\x00-\x1f\x7f:]*):(?P<password>[^\x00-\x1f\x7f]*)\Z").match


class WrongSidecar(Exception):
    """The sidecar says what this program cannot follow."""


@dataclass(frozen=True, slots=True)
class _Kind:
    column: int
    #: A token of the kind and where it belongs, for a sentence.
    described: str
    header: str
    #: Before a token in that header; empty: it has the token alone.
    scheme: str
    #: Each carrier of its tokens, and their prefix there. An empty one does not identify them.
    places: tuple[tuple[str, str], ...]


def carrier_of(place: TokenPlace) -> str:
    """The carrier of a token: a header, the scheme before the token in it, and the part of Basic. In lower case."""
    return " ".join(ascii_lower(word) for word in (place.header, place.scheme, place.basic) if word)


class Carriers:
    """The carriers of tokens, and what stands in each."""

    def __init__(self, places: Iterable[TokenPlace]) -> None:
        #: Spelling of a header → its name in lower case.
        self.names: dict[str, str] = {}
        #: Header → scheme → what carries the token then, without the part of Basic.
        self.of: dict[str, dict[str, str]] = {}
        #: Header → the two usual spellings of each scheme in it but Basic → the same. Without headers that have none.
        self.spelled: dict[str, dict[str | bytes, str]] = {}
        #: Header and Basic → each part that may be the token → the prefixes of tokens there.
        self.parts: dict[str, dict[str, tuple[str, ...]]] = {}
        #: Carrier → the header that must come with its tokens.
        self.companions: dict[str, str] = {}
        for place in places:
            header, scheme = ascii_lower(place.header), ascii_lower(place.scheme)
            carrier = f"{header} {scheme}" if scheme else header
            self.names[place.header] = self.names[header] = header
            self.of.setdefault(header, {})[scheme] = carrier
            companion = getattr(place, "with")
            if companion:
                self.companions[carrier_of(place)] = ascii_lower(companion)
            if place.basic:
                parts = self.parts.setdefault(carrier, {})
                parts[place.basic] = (*parts.get(place.basic, ()), place.prefix)
            elif scheme:
                spelled = self.spelled.setdefault(header, {})
                for spelling in (place.scheme, scheme):
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
        if carrier in self.parts:
            return _token_of_basic(carrier, self.parts[carrier], token)
        return Found(carrier, token) if _TOKEN(token) else "CREDENTIAL_MALFORMED"


def _token_of_basic(carrier: str, parts: Mapping[str, tuple[str, ...]], text: str) -> Found | str:
    """The part that is not empty; of two, the one that begins as tokens there do. Or says what is wrong."""
    try:
        decoded = base64.b64decode(text)
    except ValueError:
        return "CREDENTIAL_MALFORMED"
    values = _BASIC(decoded.decode("latin-1"))
    # The decoder is lenient. Only the one right way to write the bytes counts, which all readers read alike.
    if values is None or base64.b64encode(decoded).decode() != text:
        return "CREDENTIAL_MALFORMED"
    sent = [part for part in parts if values[part]]
    if not sent:
        return "CREDENTIAL_MISSING"
    if len(sent) > 1:
        sent = [part for part in sent if values[part].startswith(parts[part])]
        if len(sent) > 1:
            return "CREDENTIAL_AMBIGUOUS"
    if not sent or not _TOKEN(values[sent[0]]):
        return "CREDENTIAL_MALFORMED"
    return Found(f"{carrier} {sent[0]}", values[sent[0]])


class Words(NamedTuple):
    """How an answer says what it is."""

    message: str
    #: Request header for tokens of the kind; empty where the kind is not known.
    header: str
    #: Before the token in that header; empty: the token alone.
    scheme: str
    advice: tuple[str, ...] = ()


class Rules:
    """The sidecar's answer in each cell, for each question that the rules distinguish."""

    def __init__(self, rules: wire.Rules) -> None:
        """Raises ``WrongSidecar`` where a cell is missing, or the places of a kind are."""
        matrix = rules.matrix
        self.digest: str = matrix.digest
        self.strict: bool = matrix.strict
        self.rules_digest: str = matrix.rules_digest
        if not all(kind.places for kind in matrix.token_kinds):
            raise WrongSidecar("its rules do not have a place for each kind")
        self.carriers = Carriers(place for kind in matrix.token_kinds for place in kind.places)
        #: Spelling of a header that carries credentials → its name in lower case.
        self.names = self.carriers.names
        #: Header → the usual spellings of each scheme in it but Basic → what carries the token. Without headers that
        #: have none.
        self.schemes = self.carriers.spelled
        self._kinds: dict[str, _Kind] = {}
        self._levels: list[tuple[AcceptedKind, int]] = []
        for index, kind in enumerate(matrix.token_kinds):
            places = tuple((carrier_of(place), place.prefix) for place in kind.places)
            self._kinds[kind.id] = _Kind(index + 1, kind.described, kind.header, kind.scheme, places)
            self._levels.append((accepted_kind(kind.id, kind), 8 if kind.scope_level == "project" else 4))
        # `recalled` looks at one header. It finds none where another one must come with it.
        names = {} if self.carriers.companions else self.names
        #: Lengths of the names of these headers.
        self.lengths = frozenset(map(len, names))
        #: Each spelling that was seen of a name with such a length → its header; empty: another one.
        self.spellings: dict[str | bytes, str] = {}
        #: These headers in the ``environ`` of WSGI.
        self.variables = tuple(
            (f"HTTP_{lower.upper().replace('-', '_')}", lower) for lower in dict.fromkeys(names.values())
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
        self.routes = Routes(rules.routes) if rules.HasField("routes") else None
        self._allowed: dict[tuple[str, str], Words] = {}
        self._notes = {(row.api, note.kind): (note.text,) for row in rules.apis for note in row.notes}

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
        """The words where the API accepts the kind, or needs no token."""
        words = self._allowed.get((api, kind))
        if words is None:
            known = self._kinds.get(kind)
            if known is None:
                words = Words(f"`{api}` needs no token", "", "")
            else:
                message, note = f"`{api}` accepts {known.described}", self._notes.get((api, kind), ())
                words = Words(message, known.header, known.scheme, note)
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
        return any(carrier == found.carrier and found.value.startswith(prefix) for carrier, prefix in known.places)

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

    #: Its header, the scheme before it and the part of Basic, in lower case.
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
    only = carriers.find(header, value)
    companion = carriers.companions.get(only.carrier) if isinstance(only, Found) else None
    if companion is not None:
        beside = [value.strip(" \t") for name, value in headers if ascii_lower(name) == companion]
        if len(beside) != 1 or beside[0] == "":
            return "CREDENTIAL_MALFORMED"
    return only


def ascii_lower(name: str) -> str:
    """The name with its ASCII letters in lower case. No other letter becomes one of them."""
    return name.lower() if name.isascii() else name
