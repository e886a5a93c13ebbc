"""What the guards of all frameworks share: they ask, and say what to answer where a request must not pass."""

from __future__ import annotations

import contextlib
import contextvars
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ._denials import NO_TARGET, TRAILERS, Denial, denial_of, failure_of
from ._errors import PortcullisError
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


def print_failure(error: Exception) -> None:
    """Says on standard error why a request was refused."""
    code = f"{error.code} " if isinstance(error, PortcullisError) else ""
    print(f"portcullis: no answer, so a request was refused: {code}{error}", file=sys.stderr, flush=True)


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
    on_failure: Callable[[Exception], None]
    routes: bool = False
    #: Whether a function says the target.
    has_target: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.api, str) or (self.api == "") != self.routes:
            raise TypeError("api: expected the id of an API, or `routes=True` in its place")
        if self.routes and self.has_target:
            raise TypeError("target: expected none, because the routes say it")

    def judged(self, answer: CheckAnswer) -> CheckAnswer | Denial:
        """The answer that lets the request pass, or what to answer in place of the handler."""
        return answer if answer.allowed else denial_of(answer, self.hide_others)

    def unjudged(self, error: Exception) -> Denial:
        """What to answer where the server does not say how the headers arrived. `on_failure` learns it once."""
        return self.failed(error) if is_said_first(str(error)) else failure_of(error)

    def failed(self, error: Exception) -> Denial:
        """What to answer where there is no decision."""
        try:
            self.on_failure(error)
        except Exception as failed:  # Who listens cannot turn a failure into a permission.
            print(f"portcullis: on_failure has failed: {failed!r}", file=sys.stderr)
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
    "print_failure",
]
