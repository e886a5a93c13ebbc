"""The token of a profile, for programs with threads and for those with asyncio. All wait for the same one."""

from __future__ import annotations

import asyncio
import threading
from time import time

from ._aio import AsyncClient
from ._client import Client
from ._elapsed import CLOCK
from ._errors import PortcullisError
from ._tokens import Kept, ProfileToken, Wish


class Tokens:
    """The current token."""

    def __init__(self, client: Client, wish: Wish) -> None:
        self._client, self._wish = client, wish
        self._lock = threading.Lock()
        self._token = ProfileToken()

    def current(self) -> Kept:
        """Raises ``PortcullisError`` if the sidecar gives no token, and there is none that still lasts."""
        kept = self._token.current(CLOCK.now())
        if kept is not None:
            return kept
        with self._lock:
            return self._renewed()

    def after(self, refused: Kept) -> Kept:
        """Another token than the one that an API has refused."""
        with self._lock:
            self._token.refuse(refused.value)
            return self._renewed()

    def _renewed(self) -> Kept:
        now, today, token, wish = CLOCK.now(), time(), self._token, self._wish
        kept = token.current(now)
        if kept is not None:
            return kept
        try:
            issued = self._client.issue(
                wish.profile, apis=[wish.api], project=wish.project, rejected=token.rejected, place=wish.place
            )
        except PortcullisError:
            lasting = token.lasting(now)
            if lasting is None:
                raise
            return lasting
        return token.came(issued, now, today)


class AsyncTokens:
    """The current token, for one event loop."""

    def __init__(self, client: AsyncClient, wish: Wish) -> None:
        self._client, self._wish = client, wish
        self._lock = asyncio.Lock()
        self._token = ProfileToken()

    async def current(self) -> Kept:
        """Raises ``PortcullisError`` if the sidecar gives no token, and there is none that still lasts."""
        kept = self._token.current(CLOCK.now())
        if kept is not None:
            return kept
        async with self._lock:
            return await self._renewed()

    async def after(self, refused: Kept) -> Kept:
        """Another token than the one that an API has refused."""
        async with self._lock:
            self._token.refuse(refused.value)
            return await self._renewed()

    async def _renewed(self) -> Kept:
        now, today, token, wish = CLOCK.now(), time(), self._token, self._wish
        kept = token.current(now)
        if kept is not None:
            return kept
        try:
            issued = await self._client.issue(
                wish.profile, apis=[wish.api], project=wish.project, rejected=token.rejected, place=wish.place
            )
        except PortcullisError:
            lasting = token.lasting(now)
            if lasting is None:
                raise
            return lasting
        return token.came(issued, now, today)
