"""Sends the credential of a profile with httpx.

The transport adds the credential to requests of one origin. A redirect to another origin goes without it, also back. An
``httpx.Auth`` could not see to that: httpx follows redirects inside of its flow, so it sees the first request and the
last response, and httpx copies ``X-Auth-Token`` into every request between.
"""

from __future__ import annotations

import httpx

from ._aio import AsyncClient
from ._client import Client
from ._errors import PortcullisError
from ._sending import AsyncTokens, Tokens
from ._tokens import Kept, Wish


class CredentialTransport(httpx.BaseTransport):
    """For ``httpx.Client(transport=…)``."""

    def __init__(
        self,
        client: Client,
        origin: str,
        *,
        profile: str,
        api: str,
        project: str | None = None,
        place: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Adds the credential of a profile.

        :param origin: the origin of the API, for example ``https://api.example``. Others get no credential.
        :param profile: name of a profile of the sidecar's configuration.
        :param api: id of the API.
        :param project: name of the project, if the API accepts tokens of a project alone.
        :param place: a place of the token's kind to send it in, such as ``Authorization: Bearer``. Default: the first.
        :param transport: sends the requests. Default: that of httpx.
        """
        self._tokens = Tokens(client, Wish(profile, api, project, place))
        self._origin = _origin_of(httpx.URL(origin))
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if _has_left(request, self._origin):
            return self._transport.handle_request(request)
        token = self._tokens.current()
        response = self._transport.handle_request(_with(request, token))
        if response.status_code != 401 or not isinstance(request.stream, httpx.ByteStream):
            return response
        try:
            renewed = self._tokens.after(token)
        except PortcullisError:
            # Where there is no other token, the answer of the API says what is wrong.
            return response
        if renewed.value == token.value:
            return response
        response.close()
        return self._transport.handle_request(_with(request, renewed))

    def close(self) -> None:
        self._transport.close()


class AsyncCredentialTransport(httpx.AsyncBaseTransport):
    """For ``httpx.AsyncClient(transport=…)``."""

    def __init__(
        self,
        client: AsyncClient,
        origin: str,
        *,
        profile: str,
        api: str,
        project: str | None = None,
        place: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Adds the credential of a profile. The parameters are those of ``CredentialTransport``."""
        self._tokens = AsyncTokens(client, Wish(profile, api, project, place))
        self._origin = _origin_of(httpx.URL(origin))
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if _has_left(request, self._origin):
            return await self._transport.handle_async_request(request)
        token = await self._tokens.current()
        response = await self._transport.handle_async_request(_with(request, token))
        if response.status_code != 401 or not isinstance(request.stream, httpx.ByteStream):
            return response
        try:
            renewed = await self._tokens.after(token)
        except PortcullisError:
            return response
        if renewed.value == token.value:
            return response
        await response.aclose()
        return await self._transport.handle_async_request(_with(request, renewed))

    async def aclose(self) -> None:
        await self._transport.aclose()


#: Of a request, or of one before it in a chain of redirects: httpx gives its extensions to the request that follows.
_LEFT = "portcullis_left"


def _has_left(request: httpx.Request, origin: tuple[str, str, int | None]) -> bool:
    if _origin_of(request.url) != origin:
        request.extensions = {**request.extensions, _LEFT: True}
    return _LEFT in request.extensions


def _origin_of(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _with(request: httpx.Request, token: Kept) -> httpx.Request:
    # A new request: the copy of this one that httpx keeps for a redirect has no credential.
    headers = request.headers.copy()
    headers[token.header] = token.header_value
    return httpx.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )
