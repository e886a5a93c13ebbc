"""Sends the credential of a profile with requests."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from requests import PreparedRequest, Response, Session
from requests.auth import AuthBase
from urllib3.util import parse_url

from ._client import Client
from ._errors import PortcullisError
from ._sending import Tokens
from ._tokens import Wish


class CredentialAuth(AuthBase):
    """For ``auth=…``: the credential in the header that the API wants, for the origin of the request alone."""

    def __init__(
        self, client: Client, *, profile: str, api: str, project: str | None = None, place: str | None = None
    ) -> None:
        """Adds the credential of a profile.

        :param profile: name of a profile of the sidecar's configuration.
        :param api: id of the API.
        :param project: name of the project, if the API accepts tokens of a project alone.
        :param place: a place of the token's kind to send it in, such as ``Authorization: Bearer``. Default: the first.
        """
        self._tokens = Tokens(client, Wish(profile, api, project, place))

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        # None at all where the URL can be read in two ways.
        known = {_origin_of(request.url)} - {None}
        token = self._tokens.current()
        request.headers[token.header] = token.header_value

        def arrived(response: Response, **options: Any) -> Response:
            # requests copies the headers of the request that it sent itself into the one that follows a redirect, and
            # takes only `Authorization` away. So they are set for whatever answer comes out of here.
            sent = response.request
            answer = renewed(response, **options) if response.status_code == 401 else response
            if answer.is_redirect and _origin_of(_next_url(answer)) not in known:
                sent.headers.pop(token.header, None)
            return answer

        def renewed(response: Response, **options: Any) -> Response:
            nonlocal token
            sent = response.request
            if sent.headers.get(token.header) != token.header_value:
                return response
            if not isinstance(sent.body, (str, bytes, type(None))):
                return response
            try:
                another = self._tokens.after(token)
            except PortcullisError:
                # Where there is no other token, the answer of the API says what is wrong.
                return response
            if another.value == token.value:
                return response
            # The connection goes back to the pool with the body.
            _ = response.content
            response.close()
            again = sent.copy()
            for each in (sent, again):
                del each.headers[token.header]
                each.headers[another.header] = another.header_value
            token = another
            answer: Response = response.connection.send(again, **options)
            answer.history.append(response)
            answer.request = again
            return answer

        request.register_hook("response", arrived)  # type: ignore[no-untyped-call]
        return request


def _next_url(response: Response) -> str | None:
    """Where requests would go."""
    with Session() as session:
        session.trust_env = False
        following = next(session.resolve_redirects(response, response.request, yield_requests=True), None)
        return None if following is None else following.url


def _origin_of(url: str | None) -> tuple[str | None, str | None, int | None] | None:
    """``None``: no request goes there. The two parsers are those of requests and of urllib3, which must agree."""
    try:
        parts, other = urlsplit(url or ""), parse_url(url or "")
        found = [(each.scheme, each.hostname, each.port or _PORTS.get(each.scheme or "")) for each in (parts, other)]
    except ValueError:
        return None
    return found[0] if found[0] == found[1] else None


_PORTS = {"http": 80, "https": 443}
