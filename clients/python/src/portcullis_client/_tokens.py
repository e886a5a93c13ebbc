"""The token of a profile for an API: kept until shortly before it expires."""

from __future__ import annotations

import datetime
import time
from dataclasses import dataclass, field

from ._values import IssuedToken

#: A token is renewed so long before its expiry, or a tenth of what it had left when it came. In seconds.
_EARLY_MAX = 60.0
#: A token that never expires is asked for again after this time: the profile may have another one.
_KEPT_MAX = 300.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A token, and until when it is used, on the monotonic clock."""

    header: str
    value: str = field(repr=False)
    renew_at: float
    expires_at: float

    @property
    def is_due(self) -> bool:
        """Whether it should be renewed."""
        return time.monotonic() >= self.renew_at

    @property
    def is_over(self) -> bool:
        """Whether it must not be used."""
        return time.monotonic() >= self.expires_at


def kept(issued: IssuedToken) -> Kept:
    """The token, as it came now."""
    now = time.monotonic()
    if issued.expires_at is None:
        return Kept(issued.header, issued.value, now + _KEPT_MAX, float("inf"))
    left = (issued.expires_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    renew = min(_KEPT_MAX, left - min(_EARLY_MAX, left / 10))
    return Kept(issued.header, issued.value, now + renew, now + left)


@dataclass(frozen=True)
class Wish:
    """Which token is asked for."""

    profile: str
    api: str
    project: str | None

    def __post_init__(self) -> None:
        for name in ("profile", "api"):
            value = getattr(self, name)
            if not isinstance(value, str) or value == "":
                raise TypeError(f"{name}: expected a name")
