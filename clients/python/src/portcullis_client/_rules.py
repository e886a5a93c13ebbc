"""The rules of the sidecar as ``WatchChanges`` tells them: what each cell answers to each question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ._values import AcceptedKind, Scope, reason_name
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
_PLACES = 12 + len(FAULTS)

#: Longest credential that is looked at, in characters.
CREDENTIAL_LENGTH_MAX = 8192

_TOKEN = re.compile(r"[\x21-\x7e]+\Z").match


class WrongSidecar(Exception):
    """The sidecar says what this program cannot follow."""


@dataclass(frozen=True, slots=True)
class _Kind:
    column: int
    title: str
    header: str


class Rules:
    """What the sidecar answers in each cell, for each question that the rules tell apart."""

    def __init__(self, rules: wire.Rules) -> None:
        """Raises ``WrongSidecar`` where a cell is missing."""
        matrix = rules.matrix
        self.digest: str = matrix.digest
        self.strict: bool = matrix.strict
        self.rules_digest: str = matrix.rules_digest
        #: Spelling of a header that carries credentials → its name in lower case.
        self.names: dict[str, str] = {}
        self._kinds: dict[str, _Kind] = {}
        self._levels: list[tuple[AcceptedKind, int]] = []
        for index, kind in enumerate(matrix.token_kinds):
            lower = ascii_lower(kind.header)
            self.names[kind.header] = self.names[lower] = lower
            self._kinds[kind.id] = _Kind(index + 1, kind.title, kind.header)
            place = 8 if kind.scope_level == "project" else 4
            self._levels.append((AcceptedKind(kind.id, kind.header, kind.issuable), place))
        self._lengths = frozenset(map(len, self.names))
        cells = [tuple(map(reason_name, cell.reasons)) for cell in rules.cells]
        self._rows: dict[str, tuple[tuple[str, ...], ...]] = {}
        for row in rules.apis:
            if len(row.cells) != len(self._kinds) + 1 or any(index >= len(cells) for index in row.cells):
                raise WrongSidecar("its rules do not have a cell for each API and kind")
            self._rows[row.api] = tuple(cells[index] for index in row.cells)
        if "" not in self._rows or any(len(cell) < _PLACES for cell in cells):
            raise WrongSidecar("its rules do not have a cell for each API and kind")
        self._unknown_api = self._rows[""]
        self._allowed: dict[tuple[str, str], tuple[str, str]] = {}

    def reason(self, api: str, kind: str, scope: Scope, target: Scope | None) -> str:
        """What the rules say of a token with that kind and scope."""
        return self._cell(api, kind)[place_of(scope, target)]

    def reason_of_fault(self, api: str, kind: str, fault: str) -> str:
        """What the rules say of a credential with a fault; without a kind where it is not known."""
        return self._cell(api, kind)[_FAULT_PLACES[fault]]

    def words_of_allowed(self, api: str, kind: str) -> tuple[str, str]:
        """The sentence where the API accepts the kind, and the header of the kind."""
        words = self._allowed.get((api, kind))
        if words is None:
            known = self._kinds.get(kind)
            title, header = (known.title, known.header) if known else ("", "")
            article = "an" if title[:1].lower() in "aeiou" and title else "a"
            words = (f"`{api}` accepts {article} {title} in `{header}`", header)
            # Only an API of the matrix can be allowed, so this is bounded.
            self._allowed[api, kind] = words
        return words

    def accepted(self, api: str) -> tuple[AcceptedKind, ...]:
        """The kinds that open the API, in the order of the matrix."""
        row = self._rows.get(api, self._unknown_api)
        return tuple(kind for index, (kind, place) in enumerate(self._levels) if row[index + 1][place] == "ALLOWED")

    def only_header(self, headers: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
        """The one header that carries a credential, with its value; ``None`` where it takes more to say which."""
        found = None
        for name, value in headers:
            if len(name) in self._lengths:
                header = self.names.get(name) or self.names.get(ascii_lower(name))
                if header is not None:
                    if found is not None:
                        return None
                    found = (header, value)
        return found

    def _cell(self, api: str, kind: str) -> tuple[str, ...]:
        known = self._kinds.get(kind)
        return self._rows.get(api, self._unknown_api)[known.column if known else 0]


def place_of(scope: Scope, target: Scope | None) -> int:
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

    #: Name of its header, in lower case.
    header: str
    value: str


def find_credential(headers: Sequence[tuple[str, str]], names: dict[str, str]) -> Found | str:
    """Finds the one credential; or says what is wrong."""
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
    if len(value) > CREDENTIAL_LENGTH_MAX or _TOKEN(value) is None:
        return "CREDENTIAL_MALFORMED"
    return Found(header, value)


def ascii_lower(name: str) -> str:
    """The name with its ASCII letters in lower case. No other letter becomes one of them."""
    return name.lower() if name.isascii() else name
