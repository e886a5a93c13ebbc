"""How a client reaches the sidecar, and what it says of itself there."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

import grpc

DEFAULT_ADDRESS = "127.0.0.1:50051"

#: The answer to a long batch, and the rules of a large matrix, exceed the 4 MiB that gRPC accepts by default.
_RECEIVE_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True)
class Tls:
    """Contents of PEM files, for a sidecar on another machine."""

    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)


class Connection:
    """Where the sidecar is, and with which credentials it is asked."""

    def __init__(
        self,
        address: str | None,
        caller_token: str | None,
        iam_token: str | None,
        tls: Tls | None,
        allow_plaintext: bool,
        follows: bool,
    ) -> None:
        self.address = address or os.environ.get("PORTCULLIS_GRPC_ADDRESS") or DEFAULT_ADDRESS
        #: Whether secrets may not be sent, because others could read them.
        self._exposed = tls is None and not allow_plaintext and not _is_this_machine(self.address)
        if caller_token is not None or iam_token is not None:
            self.refuse_if_exposed()
        self.metadata: list[tuple[str, str]] = []
        if caller_token is not None:
            self.metadata.append(("authorization", f"Bearer {_checked('caller_token', caller_token)}"))
        if iam_token is not None:
            self.metadata.append(("x-auth-token", _checked("iam_token", iam_token)))
        self.credentials = None if tls is None else grpc.ssl_channel_credentials(tls.ca, tls.key, tls.certificate)
        self.options: list[tuple[str, Any]] = [("grpc.max_receive_message_length", _RECEIVE_BYTES_MAX)]
        if follows:
            # Finds out within seconds that a machine is gone, so that another connection can follow.
            self.options += [("grpc.keepalive_time_ms", 10_000), ("grpc.keepalive_timeout_ms", 3_000)]

    def refuse_if_exposed(self) -> None:
        """Raises ``ValueError`` where a secret would be sent to another machine in plaintext."""
        if self._exposed:
            raise ValueError(
                f"the sidecar at {self.address} is on another machine, and a secret would be sent to it in plaintext: "
                "set `tls`, or `allow_plaintext` if something else encrypts the connection"
            )


def _is_this_machine(target: str) -> bool:
    # A name that only resolves to loopback is not this machine.
    if re.match(r"unix(-abstract)?:", target):
        return True
    address = re.sub(r"^(dns:(//[^/]*/)?|ipv[46]:)", "", target)
    bare = address.count(":") > 1 and not address.startswith("[")
    host = address if bare else re.sub(r"^\[(.*)\]$", r"\1", re.sub(r":\d*$", "", address))
    return host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host) is not None


def _checked(name: str, token: str) -> str:
    if re.fullmatch(r"[\x21-\x7e]+", token) is None:
        raise ValueError(f"{name}: expected visible ASCII characters without spaces")
    return token
