"""Asks a running Portcullis sidecar: check a credential, guard requests, send the right credential."""

from ._aio import AsyncClient
from ._client import Client
from ._connection import Tls
from ._errors import PortcullisError
from ._guard import current_answer
from ._local import Local
from ._values import AcceptedKind, CheckAnswer, Headers, IssuedToken, Scope, Subject, VerifiedToken

__all__ = [
    "AcceptedKind",
    "AsyncClient",
    "CheckAnswer",
    "Client",
    "Headers",
    "IssuedToken",
    "Local",
    "PortcullisError",
    "Scope",
    "Subject",
    "Tls",
    "VerifiedToken",
    "current_answer",
]
