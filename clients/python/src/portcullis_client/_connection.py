"""How a client reaches the sidecar, and its identity there."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import weakref
from dataclasses import dataclass, field
from ipaddress import ip_address
from time import monotonic
from typing import Any, Protocol

import grpc

DEFAULT_ADDRESS = "127.0.0.1:50051"

#: The answer to a long batch, and the rules of a large matrix, exceed the 4 MiB that gRPC accepts by default.
_RECEIVE_BYTES_MAX = 64 * 1024 * 1024

#: The environment names proxies, and gRPC alone would send plaintext through them, to this machine, too: by the name
#: of the sidecar (`https_proxy` and others), and by its address (`GRPC_ADDRESS_HTTP_PROXY`).
_WITHOUT_PROXY = [("grpc.enable_http_proxy", 0), ("grpc.address_http_proxy_enabled_addresses", "")]


#: A sidecar that is back is found within two seconds: gRPC alone waits for up to two minutes, and for 20 seconds for
#: one attempt. It adds up to a fifth to each pause.
_RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_600),
    ("grpc.min_reconnect_backoff_ms", 5_000),
]


@dataclass(frozen=True)
class Tls:
    """Contents of PEM files, for a sidecar on another machine."""

    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)


#: A file is read again after this time, so that a new secret needs no restart. In seconds.
_FRESH = 10.0


class Presented:
    """The secrets that the program presents with each call, so that the sidecar knows who asks."""

    def __init__(
        self, caller_token: str | None, caller_token_file: str | os.PathLike[str] | None, iam_token: str | None
    ) -> None:
        """Raises ``ValueError`` where there is no usable token, and ``TypeError`` where there is one too many."""
        if caller_token is not None and caller_token_file is not None:
            raise TypeError("caller_token_file: expected either `caller_token` or `caller_token_file`")
        self._others = [] if iam_token is None else [("x-auth-token", _checked("iam_token", iam_token))]
        self._metadata = self._others
        self._read_at = 0.0
        # It stays the same file where the program goes to another folder.
        self._file = None if caller_token_file is None else os.path.abspath(os.fspath(caller_token_file))
        if caller_token is not None:
            self._set(_checked("caller_token", caller_token))
        if self._file is not None:
            self._read(self._file)

    def metadata(self) -> list[tuple[str, str]]:
        """For the next call. It must not be changed."""
        # Without a lock, because a fork could keep it. Two threads may read the file at once.
        if self._file is not None and monotonic() - self._read_at > _FRESH:
            # The earlier token may still count.
            with contextlib.suppress(ValueError):
                self._read(self._file)
        return self._metadata

    def _read(self, path: str) -> None:
        self._read_at = monotonic()
        try:
            # Bytes that are not UTF-8 become a character that no token has, so that no error shows the text.
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError as error:
            code = errno.errorcode.get(error.errno or 0, type(error).__name__)
            raise ValueError(f"caller_token_file: expected a file that can be read ({code})") from None
        self._set(_checked("caller_token_file", text))

    def _set(self, token: str) -> None:
        # Calls that are under way keep what they were made with.
        self._metadata = [("authorization", f"Bearer {token}"), *self._others]


class Connection:
    """Where the sidecar is, and with which credentials it is asked."""

    def __init__(
        self,
        address: str | None,
        caller_token: str | None,
        caller_token_file: str | os.PathLike[str] | None,
        iam_token: str | None,
        tls: Tls | None,
        allow_plaintext: bool,
        follows: bool,
    ) -> None:
        self.address = address or os.environ.get("PORTCULLIS_GRPC_ADDRESS") or DEFAULT_ADDRESS
        #: Whether secrets may not be sent, because others could read them.
        self._exposed = tls is None and not allow_plaintext and not _is_this_machine(self.address)
        if any(secret is not None for secret in (caller_token, caller_token_file, iam_token)):
            self.refuse_if_exposed()
        self.metadata = Presented(caller_token, caller_token_file, iam_token).metadata
        self.credentials = None if tls is None else grpc.ssl_channel_credentials(tls.ca, tls.key, tls.certificate)
        self.options: list[tuple[str, Any]] = [
            ("grpc.max_receive_message_length", _RECEIVE_BYTES_MAX),
            *_RECONNECT,
        ]
        if tls is None or _is_this_machine(self.address):
            self.options += _WITHOUT_PROXY
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
    # A name that only resolves to loopback is not this machine, and neither is one that a named DNS server resolves.
    if re.match(r"unix(-abstract)?:", target):
        return True
    address = re.sub(r"^(dns:(///)?|ipv[46]:)", "", target)
    bare = address.count(":") > 1 and not address.startswith("[")
    host = address if bare else re.sub(r"^\[(.*)\]$", r"\1", re.sub(r":\d*$", "", address))
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _checked(name: str, text: str) -> str:
    """The secret in the text of a file or a variable, without a byte order mark and white space around it."""
    token = text.removeprefix("\ufeff").strip()
    if re.fullmatch(r"[\x21-\x7e]+", token) is None:
        raise ValueError(f"{name}: expected visible ASCII characters without spaces")
    return token


class _Forking(Protocol):
    def _forked(self) -> None: ...


#: All clients. In the child of a fork the connection, the threads and the loop are the parent's.
CLIENTS: weakref.WeakSet[_Forking] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(CLIENTS):
        client._forked()


os.register_at_fork(after_in_child=_after_fork)
