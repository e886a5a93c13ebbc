"""Sends the credential of a profile with requests."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin, urlsplit

from requests import PreparedRequest, Response
from requests.auth import AuthBase

from ._client import Client
from ._errors import PortcullisError
from ._sending import Tokens
from ._tokens import Wish


class CredentialAuth(AuthBase):
    """For ``auth=…``: the credential in the header that the API wants, for the origin of the request alone."""

    def __init__(self, client: Client, *, profile: str, api: str, project: str | None = None) -> None:
        """Adds the credential of a profile.

        :param profile: name of a profile of the sidecar's configuration.
        :param api: id of the API.
        :param project: name of the project, if the API accepts tokens of a project alone.
        """
        self._tokens = Tokens(client, Wish(profile, api, project))

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        token = self._tokens.current()
        request.headers[token.header] = token.header_value

        def arrived(response: Response, **options: Any) -> Response:
            sent = response.request
            if response.is_redirect:
                # requests copies the headers into the request that follows, and takes only `Authorization` away.
                location = urljoin(response.url, response.headers["location"])
                if _origin_of(location) != _origin_of(response.url):
                    sent.headers.pop(token.header, None)
                return response
            if response.status_code != 401 or sent.headers.get(token.header) != token.header_value:
                return response
            if not isinstance(sent.body, (str, bytes, type(None))):
                return response
            try:
                renewed = self._tokens.after(token)
            except PortcullisError:
                # Where there is no other token, the answer of the API says what is wrong.
                return response
            if renewed.value == token.value:
                return response
            # The connection goes back to the pool with the body.
            _ = response.content
            response.close()
            again = sent.copy()
            again.headers[renewed.header] = renewed.header_value
            answer: Response = response.connection.send(again, **options)
            answer.history.append(response)
            answer.request = again
            return answer

        request.register_hook("response", arrived)  # type: ignore[no-untyped-call]
        return request


def _origin_of(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)
