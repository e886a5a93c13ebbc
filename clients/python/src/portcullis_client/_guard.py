"""The common part of the guards: they ask, and say what to answer where a request must not pass."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from dataclasses import dataclass

from ._denials import NO_TARGET, TRAILERS, Denial, denial_of, failure_of
from ._reports import Asking, Listener
from ._values import CheckAnswer, Scope

_ANSWER: contextvars.ContextVar[CheckAnswer | None] = contextvars.ContextVar("portcullis", default=None)


def current_answer() -> CheckAnswer | None:
    """The answer that let the current request pass: ``current_answer().token`` is who sent it."""
    return _ANSWER.get()


@contextlib.contextmanager
def answering(answer: CheckAnswer) -> Iterator[None]:
    """Inside, `current_answer()` is this one. A thread of a pool does not keep it for the next request."""
    token = _ANSWER.set(answer)
    try:
        yield
    finally:
        _ANSWER.reset(token)


def keep_answer(answer: CheckAnswer) -> None:
    """To the end of the task, `current_answer()` is this one."""
    _ANSWER.set(answer)


_SAID: set[str] = set()


def is_said_first(text: str) -> bool:
    """Whether this process has not said it before. Servers do not change, so it would be the same for each request."""
    is_first = text not in _SAID
    _SAID.add(text)
    return is_first


@dataclass(frozen=True)
class Guard:
    """How requests are checked."""

    #: Empty: the routes of the sidecar say it.
    api: str
    hide_others: bool
    #: `None`: events are printed.
    on_failure: Listener
    client: Asking
    routes: bool = False
    #: Whether a function says the target.
    has_target: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.api, str) or (self.api == "") != self.routes:
            raise TypeError("api: expected the id of an API, or `routes=True` in its place")
        if self.routes and self.has_target:
            raise TypeError("target: expected none, because the routes say it")

    def begin(self) -> None:
        """As soon as the program serves: looks whether a sidecar answers, and whether its matrix has the API."""
        if not self.routes:
            # A program starts without it, too.
            with contextlib.suppress(Exception):
                self.client._reports.begin(self.client, self.api, self.on_failure)

    def judged(self, answer: CheckAnswer) -> CheckAnswer | Denial:
        """The answer that lets the request pass, or the answer in place of the handler."""
        reports = self.client._reports
        if reports.outage.is_open:
            reports.answered()
        if answer.allowed:
            return answer
        if answer.reason == "UNKNOWN_API" and not self.routes:
            reports.unknown(self.client, self.api, self.on_failure)
        return denial_of(answer, self.hide_others)

    def unjudged(self, error: Exception) -> Denial:
        """The answer where the server does not say how the headers arrived. `on_failure` learns it once."""
        return self.failed(error) if is_said_first(str(error)) else failure_of(error)

    def failed(self, error: Exception) -> Denial:
        """The answer where there is no decision."""
        self.client._reports.failed(error, self.on_failure)
        return failure_of(error)


def is_target(target: object) -> bool:
    """Whether it says whose resource it is. Without it the check would be about the API alone."""
    return isinstance(target, Scope) and target.account != "" and target.project != ""


__all__ = [
    "NO_TARGET",
    "TRAILERS",
    "Denial",
    "Guard",
    "answering",
    "current_answer",
    "is_said_first",
    "is_target",
    "keep_answer",
]
