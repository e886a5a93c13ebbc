"""The reports of guards on their sidecar: that it does not answer, and that its matrix does not have their API."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from ._elapsed import CLOCK
from ._errors import PortcullisError, is_no_answer
from ._outage import Outage, names_meant

#: The listener of the program. Without one, events are printed.
Listener = Callable[[Exception], None] | None
#: The ids of the matrix, or why there is no answer.
Found = Sequence[str] | Exception

#: Most APIs of a client that are reported. They are those of guards, and not those of requests.
_TOLD_MAX = 1_000
#: Most APIs and conflicts in a page of the matrix.
PAGE_SIZE = 1_000
_UNANSWERED = frozenset({"UNAVAILABLE", "DEADLINE_EXCEEDED"})


class UnknownApiError(Exception):
    """The matrix does not have the API of a guard, which denies each request. It may get the API later."""

    def __init__(self, api: str, known: Sequence[str]) -> None:
        meant = names_meant(api, known)
        hint = f"; did you mean `{meant[0]}`?" if meant else ""
        super().__init__(f"the matrix has no API `{api}`, so the requests of its guard are denied{hint}")


class Asking(Protocol):
    """A client that can ask for the matrix, while its caller goes on."""

    @property
    def _reports(self) -> Reports: ...
    def _ask_apis(self, then: Callable[[Found], None]) -> None: ...


class Reports:
    """Of all guards of a client. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.outage = Outage()
        self._unknown: set[str] = set()
        #: The guards that wait for the matrix, if it is asked for.
        self._beginning: list[tuple[str, Listener]] | None = None

    def begin(self, client: Asking, api: str, listener: Listener) -> None:
        """At the start of a guard: looks whether a sidecar answers, and whether its matrix has the API."""
        with self._lock:
            is_asked = self._beginning is not None
            self._beginning = [*(self._beginning or []), (api, listener)]
        if not is_asked:
            client._ask_apis(self._began)

    def _began(self, found: Found) -> None:
        with self._lock:
            beginning, self._beginning = self._beginning or [], None
        if not isinstance(found, Exception):
            for api, listener in beginning:
                if api not in found and self._is_first(api):
                    _tell(UnknownApiError(api, found), listener)
        # Another error is an answer.
        elif isinstance(found, PortcullisError) and found.code in _UNANSWERED:
            listener = beginning[0][1]
            if listener is not None:
                call(listener, found)
            else:
                with self._lock:
                    line = self.outage.starts(str(found), CLOCK.now())
                _print(line)

    def unknown(self, client: Asking, api: str, listener: Listener) -> None:
        """The sidecar has said that it does not know the API."""
        if self._is_first(api):
            client._ask_apis(
                lambda found: _tell(UnknownApiError(api, () if isinstance(found, Exception) else found), listener)
            )

    def answered(self) -> None:
        """A request was answered, by the sidecar or from memory."""
        with self._lock:
            line = self.outage.answers(CLOCK.now())
        _print(line)

    def failed(self, error: Exception, listener: Listener) -> None:
        """A request could not be checked."""
        if listener is not None:
            call(listener, error)
        elif is_no_answer(error):
            with self._lock:
                line = self.outage.fails(f"{error.code} {error}", CLOCK.now())
            _print(line)
        else:
            _print(f"no answer, so a request was refused: {error}")

    def _is_first(self, api: str) -> bool:
        with self._lock:
            if api in self._unknown or len(self._unknown) >= _TOLD_MAX:
                return False
            self._unknown.add(api)
            return True


def _tell(error: UnknownApiError, listener: Listener) -> None:
    if listener is not None:
        call(listener, error)
    else:
        _print(str(error))


def call(listener: Callable[[Exception], None], error: Exception) -> None:
    """Calls a listener of the program."""
    try:
        listener(error)
    except Exception as failed:  # A listener can neither turn a failure into a permission nor end the following.
        _print(f"on_failure has failed: {failed!r}")


def _print(line: str | None) -> None:
    if line is None:
        return
    # A request that passes does so where standard error is closed, too.
    with contextlib.suppress(OSError, ValueError):
        print(f"portcullis: {line}", file=sys.stderr, flush=True)
