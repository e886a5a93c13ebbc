"""The error of the client: why there is no answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeGuard, cast

import grpc
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]


class PortcullisError(Exception):
    """The call got no answer. Treat it as a denial."""

    def __init__(self, message: str, *, code: str, reason: str = "", metadata: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        #: Name of the gRPC status, for example ``UNAVAILABLE`` or ``DEADLINE_EXCEEDED``.
        self.code = code
        #: The stable reason of the sidecar, for example ``LOGIN_FAILED``. Empty if no sidecar answered.
        self.reason = reason
        #: Further facts, for example a plan for APIs that no single token opens.
        self.metadata = dict(metadata or {})


def is_no_answer(error: BaseException) -> TypeGuard[PortcullisError]:
    """Whether the same request may get an answer later. Otherwise something is wrong with the program."""
    return isinstance(error, PortcullisError) and error.code != "INVALID_ARGUMENT"


def too_late() -> PortcullisError:
    """The error of a call that has waited for the question of another one for too long."""
    return PortcullisError("Deadline Exceeded", code="DEADLINE_EXCEEDED")


def error_of(error: grpc.RpcError, address: str) -> PortcullisError:
    """The error of the client for an error of gRPC, with threads or with asyncio."""
    if not isinstance(error, (grpc.Call, grpc.aio.AioRpcError)):
        return PortcullisError(str(error), code="UNKNOWN")
    code = error.code().name
    details = error.details() or code
    reason, metadata = _info(cast("Iterable[tuple[str, str | bytes]] | None", error.trailing_metadata()))
    if reason == "" and code == "UNAVAILABLE":
        details = f"no sidecar answers at {address}: {details}"
    elif reason == "" and code == "DEADLINE_EXCEEDED":
        details = f"no answer from {address} in time: {details}"
    return PortcullisError(details, code=code, reason=reason, metadata=metadata)


def _info(trailers: Iterable[tuple[str, str | bytes]] | None) -> tuple[str, dict[str, str]]:
    for name, value in trailers or ():
        if name != "grpc-status-details-bin" or not isinstance(value, bytes):
            continue
        status = status_pb2.Status.FromString(value)
        for detail in status.details:
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info):
                return info.reason, dict(info.metadata)
    return "", {}
