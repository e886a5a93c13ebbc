"""What following the sidecar has in common, with threads and with asyncio."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass

from ._errors import PortcullisError
from ._memory import Memory
from ._rules import WrongSidecar

#: A response comes at least every second. A stream that is silent for longer is lost. In seconds.
QUIET_MAX = 2.0
#: The clocks of two machines run apart. A new stream compares them anew.
STREAM_MAX = 600.0
_PAUSE, _PAUSE_MAX = 0.1, 2.0
#: After a refusal, which lasts until somebody changes something.
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
        try:
            self._options.on_failure(error)
        except Exception as failed:  # Who listens cannot end the following.
            print(f"portcullis: on_failure has failed: {failed!r}", file=sys.stderr)
