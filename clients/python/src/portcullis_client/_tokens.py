"""The token of a profile for an API: kept until shortly before it expires (clients/conformance/README.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ._values import IssuedToken

#: A token is renewed this long before its expiry, or a tenth of what it had left when it came. In seconds.
_EARLY_MAX = 60.0
#: A token that never expires is asked for again after this time: the profile may have another one.
_KEPT_MAX = 300.0


@dataclass(frozen=True, slots=True)
class Kept:
    """A token, and until when it is used, on the monotonic clock."""

    header: str
    value: str = field(repr=False)
    #: The content of the header: the value, behind its scheme.
    header_value: str = field(repr=False)
    renew_at: float
    expires_at: float


class ProfileToken:
    """The token that a program keeps. It reads no clock and calls nothing, so each of its runs can be repeated.

    All times are in seconds: ``now`` on the monotonic clock, ``today`` since 1970.
    """

    def __init__(self) -> None:
        self._kept: Kept | None = None
        #: A token that an API has refused, if none came since. A secret.
        self.rejected: str | None = None

    def current(self, now: float) -> Kept | None:
        """The token that is sent without asking the sidecar."""
        kept = self._kept
        return kept if kept is not None and now < kept.renew_at else None

    def lasting(self, now: float) -> Kept | None:
        """The token that is sent where the sidecar has no answer."""
        kept = self._kept
        return kept if kept is not None and now < kept.expires_at else None

    def refuse(self, value: str) -> None:
        """An API has refused a token. Another one may have come since it was sent."""
        if self._kept is not None and self._kept.value == value:
            self._kept, self.rejected = None, value

    def came(self, issued: IssuedToken, now: float, today: float) -> Kept:
        """A token came that was asked for at a time."""
        left = float("inf") if issued.expires_at is None else issued.expires_at.timestamp() - today
        renew = min(_KEPT_MAX, left - min(_EARLY_MAX, left / 10))
        self._kept = Kept(issued.header, issued.value, issued.header_value, now + renew, now + left)
        self.rejected = None
        return self._kept


@dataclass(frozen=True)
class Wish:
    """The token that is asked for."""

    profile: str
    api: str
    project: str | None
    place: str | None

    def __post_init__(self) -> None:
        for name in ("profile", "api"):
            value = getattr(self, name)
            if not isinstance(value, str) or value == "":
                raise TypeError(f"{name}: expected a name")
