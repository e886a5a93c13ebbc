"""The common part of following the sidecar, with threads and with asyncio."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import monotonic, time
from typing import Any, TypeVar, cast

from ._elapsed import CLOCK, JUMP
from ._errors import PortcullisError
from ._memory import Ask, Memory
from ._reports import call
from ._rules import WrongSidecar
from ._values import WSGI_VERSION, CheckAnswer, Headers, Request, Scope, check_answer, check_request, header_pairs
from .gen.portcullis.v1 import authorization_pb2 as wire

#: A response comes at least every second. A stream that is silent for longer is lost. In seconds.
QUIET_MAX = 2.0
#: The clocks of two machines drift. A new stream compares them anew.
STREAM_MAX = 600.0
_PAUSE, _PAUSE_MAX = 0.1, 2.0
#: After a refusal, which lasts until the configuration changes.
_REFUSED_PAUSE = 60.0
#: The sidecar is older, or does not let this program follow.
_REFUSALS = frozenset({"UNIMPLEMENTED", "UNAUTHENTICATED", "PERMISSION_DENIED"})


def print_failure(error: Exception) -> None:
    """Says on standard error why each check is asked."""
    print(
        f"portcullis: each check is asked, because the sidecar cannot be followed: {error}",
        file=sys.stderr,
        flush=True,
    )


@dataclass(frozen=True)
class Local:
    """Options of local mode."""

    #: Most pairs of a token and an address that are kept.
    tokens_max: int = 10_000
    #: Numbers of the accounts whose tokens are kept. Empty: all.
    accounts: Collection[str] = ()
    #: Called once for each reason why the sidecar cannot be followed. Each check is asked then.
    on_failure: Callable[[Exception], None] = print_failure

    def memory(self) -> Memory:
        """An empty memory."""
        return Memory(self.tokens_max, self.accounts)


def local_options(local: bool | Local) -> Local | None:
    """The options; ``None``: local mode is off."""
    if isinstance(local, Local):
        return local
    return Local() if local else None


_Check = TypeVar("_Check", bound=Callable[..., Any])
#: Where the pairs of a mapping are. A list is made of them.
_PAIRS: dict[type, Callable[[Any], Any]] = {dict: dict.items}


def recalled(check: _Check) -> _Check:
    """Answers about a token that is known, where the like was answered before. Calls ``check`` otherwise.

    It says the same as ``Memory.recall``. Each request passes here, so it calls no other function of this module.
    Unusual cases are left to ``check``, also where something is wrong with the question.
    """

    @functools.wraps(check)
    def recall(
        self: Any,
        api: str = "",
        credentials: Any = None,
        *,
        request: Request | None = None,
        token: tuple[str, Scope] | None = None,
        target: Any = None,
        client_address: str = "",
    ) -> Any:
        try:
            memory = self._memory
            rules = memory.rules
            # As the clock itself does, which is asked where its parts do not go together.
            clock = CLOCK
            wall = time()
            now = monotonic() + clock.jumped
            if not -JUMP <= wall - clock.ahead - now <= 0:
                now = clock.now()
            if now < memory.known_until:
                value: Any = None
                found = None
                shape = type(credentials)
                if shape is dict:
                    for variable, header in rules.variables:
                        if variable in credentials:
                            if found is not None or credentials["wsgi.version"] != WSGI_VERSION:
                                raise LookupError
                            value, found = credentials[variable], header
                if found is None:
                    lengths, spellings = rules.lengths, rules.spellings
                    # Lists and the items of a dict consist of pairs.
                    for name, text in credentials if shape is list else _PAIRS[shape](credentials):
                        if len(name) in lengths:
                            header = spellings.get(name)
                            if header is None:
                                header = rules.spelling(name)
                            if header:
                                if found is not None:
                                    raise LookupError
                                value, found = text, header
                if rules.schemes and found in rules.schemes:
                    # The scheme may be spelled otherwise, or the token be alone.
                    before, _, text = value.partition(" " if type(value) is str else b" ")
                    carrier = rules.schemes[found].get(before)
                    if carrier is not None:
                        value, found = text, carrier
                # A token that is known is well formed, and there is nothing around it.
                known = memory.tokens[value]
                holder = known.holder
                if (
                    token is None
                    and request is None
                    and holder.carrier == found
                    and (known.fine_at == client_address or known.faults[client_address] == "")
                    and (known.expires_at is None or now + memory.ahead < known.expires_at)
                ):
                    place = holder.place
                    if target is not None:
                        if target.account != holder.account:
                            place += 3
                        else:
                            place += 1 if (target.project or None) == holder.project else 2
                    verdict = rules.ready[api][holder.kind][place]
                    if verdict is not None:
                        # Most requests of a token get the answer that the one before got.
                        answer = known.answer
                        if answer is None or answer._verdict is not verdict:
                            answer = known.answer = CheckAnswer(verdict, known)
                        return answer
        except (AttributeError, LookupError, TypeError, ValueError):
            pass
        return check(self, api, credentials, request=request, token=token, target=target, client_address=client_address)

    return cast(_Check, recall)


def _unknown(self: Any, api: str, credentials: Headers | None, **_: Any) -> CheckAnswer | None:
    return None


#: The answer about a token that is known, or ``None``. It reads no headers from an iterator.
recall_known = recalled(_unknown)


def _is_request(request: object) -> bool:
    return isinstance(request, Request) and all(
        isinstance(text, str) for text in (request.method, request.host, request.path)
    )


class Question:
    """The question of a check. Its headers are read once: they may come from an iterator."""

    __slots__ = ("_address", "_api", "_in_bytes", "_pairs", "_request", "_target", "_token")

    def __init__(
        self,
        api: str,
        credentials: Headers | None,
        request: Request | None,
        token: tuple[str, Scope] | None,
        target: Scope | None,
        client_address: str,
    ) -> None:
        """Raises ``TypeError`` that names the field where a value has the wrong type."""
        well_formed = (
            isinstance(api, str)
            and isinstance(client_address, str)
            and (credentials is None) != (token is None)
            and (target is None or isinstance(target, Scope))
            and (token is None or (isinstance(token[0], str) and isinstance(token[1], Scope)))
            and (request is None or (_is_request(request) and token is None and target is None and api == ""))
        )
        self._pairs = None if credentials is None else header_pairs(credentials)
        self._in_bytes = False
        if isinstance(credentials, (list, dict)):
            pairs = credentials.items() if isinstance(credentials, dict) else credentials
            self._in_bytes = any(isinstance(value, bytes) for _, value in pairs)
        self._api, self._token, self._target, self._address = api, token, target, client_address
        self._request = request
        if not well_formed:
            # It raises where something is wrong with the question.
            self.message()

    def message(self) -> wire.CheckRequest:
        """The question to the sidecar."""
        return check_request(self._api, self._pairs, self._token, self._target, self._address, self._request)

    def answer(self, response: wire.CheckResponse, *, is_remembered: bool = False) -> CheckAnswer:
        """The answer of the sidecar."""
        return check_answer(response, self._request is not None, is_remembered=is_remembered)

    def recall(self, memory: Memory, now: float) -> CheckAnswer | Ask:
        """The answer from memory, or that the sidecar must be asked."""
        if self._request is not None and self._pairs is not None:
            return memory.recall_request(self._request, self._pairs, self._address, now, in_bytes=self._in_bytes)
        if self._pairs is not None:
            return memory.recall(self._api, self._pairs, self._target, self._address, now, in_bytes=self._in_bytes)
        kind, scope = cast("tuple[str, Scope]", self._token)
        return memory.recall_claims(self._api, kind, scope, self._target, now)


class Failures:
    """Says once why the sidecar cannot be followed, and how long to wait."""

    def __init__(self, options: Local) -> None:
        self._options = options
        self._reported: set[str] = set()
        self._failed = 0

    def heard(self) -> None:
        """The sidecar is followed."""
        self._failed = 0

    def pause(self, error: Exception) -> float:
        """How long to wait before the next attempt, in seconds."""
        code = error.code if isinstance(error, PortcullisError) else ""
        if isinstance(error, WrongSidecar) or code in _REFUSALS:
            self._report(error, code or str(error))
        if code in _REFUSALS:
            return _REFUSED_PAUSE
        pause: float = min(_PAUSE_MAX, _PAUSE * 2**self._failed)
        self._failed = min(self._failed + 1, 10)
        return pause

    def _report(self, error: Exception, name: str) -> None:
        if name in self._reported:
            return
        self._reported.add(name)
        call(self._options.on_failure, error)
