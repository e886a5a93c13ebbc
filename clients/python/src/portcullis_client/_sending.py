"""The token of a profile, for programs with threads and for those with asyncio. All wait for the same one."""

from __future__ import annotations

import asyncio
import threading

from ._aio import AsyncClient
from ._client import Client
from ._errors import PortcullisError
from ._tokens import Kept, Wish, kept


class Tokens:
    """The current token."""

    def __init__(self, client: Client, wish: Wish) -> None:
        self._client, self._wish = client, wish
        self._lock = threading.Lock()
        self._kept: Kept | None = None

    def current(self) -> Kept:
        """Raises ``PortcullisError`` if the sidecar gives no token, and there is none that still lasts."""
        token = self._kept
        if token is not None and not token.is_due:
            return token
        with self._lock:
            token = self._kept
            if token is not None and not token.is_due:
                return token
            try:
                return self._issue(None)
            except PortcullisError:
                if token is None or token.is_over:
                    raise
                return token

    def after(self, refused: Kept) -> Kept:
        """Another token than the one that an API has refused."""
        with self._lock:
            token = self._kept
            return token if token is not None and token.value != refused.value else self._issue(refused.value)

    def _issue(self, rejected: str | None) -> Kept:
        wish = self._wish
        token = kept(self._client.issue(wish.profile, apis=[wish.api], project=wish.project, rejected=rejected))
        self._kept = token
        return token


class AsyncTokens:
    """The current token, for one event loop."""

    def __init__(self, client: AsyncClient, wish: Wish) -> None:
        self._client, self._wish = client, wish
        self._lock = asyncio.Lock()
        self._kept: Kept | None = None

    async def current(self) -> Kept:
        """Raises ``PortcullisError`` if the sidecar gives no token, and there is none that still lasts."""
        token = self._kept
        if token is not None and not token.is_due:
            return token
        async with self._lock:
            token = self._kept
            if token is not None and not token.is_due:
                return token
            try:
                return await self._issue(None)
            except PortcullisError:
                if token is None or token.is_over:
                    raise
                return token

    async def after(self, refused: Kept) -> Kept:
        """Another token than the one that an API has refused."""
        async with self._lock:
            token = self._kept
            return token if token is not None and token.value != refused.value else await self._issue(refused.value)

    async def _issue(self, rejected: str | None) -> Kept:
        wish = self._wish
        issued = await self._client.issue(wish.profile, apis=[wish.api], project=wish.project, rejected=rejected)
        self._kept = kept(issued)
        return self._kept
