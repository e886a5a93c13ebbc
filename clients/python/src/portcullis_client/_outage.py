"""The lines that a guard prints while requests cannot be checked, and the name that was meant (clients/conformance)."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

#: A line at most this often while requests fail, in seconds.
_LINE = 60.0
#: Some requests may still be answered, from memory too, and others fail late. In seconds.
_QUIET = 10.0


class Outage:
    """Of one client. Each method returns the line to print, if any. Times are in seconds."""

    def __init__(self) -> None:
        self.is_open = False
        self._failed_at = self._printed_at = 0.0
        #: Requests that could not be checked, and those that no line has said yet.
        self._requests = self._more = 0

    def starts(self, error: str, now: float) -> str | None:
        """A guard has asked before its first request, and there was no answer."""
        if self.is_open:
            return None
        self._begin(now)
        self._failed_at = -inf
        return f"{error}; requests are denied until a sidecar answers"

    def fails(self, error: str, now: float) -> str | None:
        """A request could not be checked."""
        is_first = not self.is_open
        if is_first:
            self._begin(now)
        self._failed_at = now
        self._requests += 1
        if is_first:
            return f"no answer, so a request was refused: {error}"
        self._more += 1
        if now - self._printed_at < _LINE:
            return None
        line = f"{_requests(self._more, 'more ')} could not be checked: {error}"
        self._printed_at, self._more = now, 0
        return line

    def answers(self, now: float) -> str | None:
        """A request was answered, by the sidecar or from memory."""
        if not self.is_open or now - self._failed_at < _QUIET:
            return None
        self.is_open = False
        return f"the sidecar answers again; {_requests(self._requests)} could not be checked"

    def _begin(self, now: float) -> None:
        self.is_open = True
        self._printed_at = now
        self._requests = self._more = 0


def _requests(count: int, more: str = "") -> str:
    return f"{count} {more}{'request' if count == 1 else 'requests'}"


#: Most edits between a name and the one that was meant. Of three characters, two edits leave little.
_EDITS_MAX, _SHORT = 2, 3


def names_meant(name: str, known: Iterable[str]) -> list[str]:
    """The known names that differ from a name by a slip or two, the nearest first. Case does not matter."""
    near: list[tuple[int, str]] = []
    for each in known:
        most = 1 if min(len(name), len(each)) <= _SHORT else _EDITS_MAX
        if abs(len(each) - len(name)) <= most and (edits := _edits(name.lower(), each.lower())) <= most:
            near.append((edits, each))
    return [each for _, each in sorted(near, key=lambda pair: pair[0])]


def _edits(one: str, other: str) -> int:
    """Levenshtein distance: the fewest characters to insert, delete or replace."""
    previous = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, its in enumerate(other, 1):
            replaced = previous[column - 1] + (letter != its)
            current.append(min(previous[column] + 1, current[-1] + 1, replaced))
        previous = current
    return previous[-1]
