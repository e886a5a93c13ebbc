"""Asks a running Portcullis sidecar: check a credential, guard requests, send the right credential."""

from ._aio import AsyncClient
from ._client import Client
from ._connection import Tls
from ._errors import PortcullisError
from ._guard import current_answer
from ._local import Local
from ._reports import UnknownApiError
from ._values import AcceptedKind, CheckAnswer, FoundRoute, Headers, IssuedToken, Request, Scope, Subject, VerifiedToken

__all__ = [
    "AcceptedKind",
    "AsyncClient",
    "CheckAnswer",
    "Client",
    "FoundRoute",
    "Headers",
    "IssuedToken",
    "Local",
    "PortcullisError",
    "Request",
    "Scope",
    "Subject",
    "Tls",
    "UnknownApiError",
    "VerifiedToken",
    "current_answer",
]
