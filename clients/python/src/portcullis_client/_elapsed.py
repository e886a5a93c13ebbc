"""How much time has passed, by the longer of a monotonic clock and the wall clock.

The monotonic clock of Linux stands still while a machine sleeps. Times are in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, time

#: Clocks that part by more than this do not only drift.
JUMP = 0.5


class Elapsed:
    """A clock that never goes back, so nothing lasts longer because the wall clock was set."""

    __slots__ = ("_monotonic", "_wall", "ahead", "jumped")

    def __init__(self, wall: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._wall, self._monotonic = wall, monotonic
        #: The lead of the wall clock over this one.
        self.ahead = wall() - monotonic()
        #: The total by which the wall clock overtook the monotonic one.
        self.jumped = 0.0

    def now(self) -> float:
        """The time since the start. ``recalled`` has a shorter way to the same."""
        # The wall clock is read first: it must not be ahead because the program was interrupted in between.
        wall = self._wall()
        passed = self._monotonic()
        jumped = wall - self.ahead - passed
        if jumped > self.jumped:
            # Without a lock, because a fork could keep it. Where another thread writes less, the next one notices.
            self.jumped = jumped
            return passed + jumped
        if jumped < self.jumped - JUMP:
            # It was set back: from now on they go together again.
            self.ahead = wall - passed - self.jumped
        return passed + self.jumped


#: Of what this program remembers.
CLOCK = Elapsed(time, monotonic)
