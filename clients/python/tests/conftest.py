"""A real sidecar of this checkout for the tests, with a directory of two accounts."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest

from portcullis_client import CheckAnswer, Client, Scope
from portcullis_client.gen.portcullis.v1 import directory_pb2 as directory
from portcullis_client.gen.portcullis.v1 import directory_pb2_grpc as directory_rpc

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUITE = ROOT / "clients" / "conformance"

ACCOUNT = "123456"
OTHER_ACCOUNT = "654321"
#: How many static tokens one user has, beside those that have a name.
MANY = 10_000
#: Tokens of callers: one may do everything, one may follow and has the profile, one may only read.
OPERATOR = "operator-caller-token-0123456789abcdef"
FOLLOWER = "follower-caller-token-0123456789abcdef"
READER = "reader-caller-token-0123456789abcdef"

_NODE = ROOT / "node_modules" / ".bin" / "node"
_PORTCULLIS = [str(_NODE) if _NODE.exists() else "node", str(ROOT / "sidecar" / "portcullis.js")]


def started(folder: pathlib.Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*_PORTCULLIS, *arguments], stdout=subprocess.PIPE, text=True, cwd=folder)


def serve(
    folder: pathlib.Path, config: str = "portcullis.yaml", data: str = "data", address: str = "127.0.0.1:0"
) -> tuple[subprocess.Popen[str], str]:
    """A process and its address. The configuration and the data are in the folder."""
    flags = ["--http", "off", "--json", "--data", data, "--grpc", address, "--config", config]
    process = started(folder, "serve", *flags)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the sidecar did not start"
    return process, json.loads(line)["grpc"]


@contextlib.contextmanager
def served(folder: pathlib.Path) -> Iterator[str]:
    process, address = serve(folder)
    try:
        yield address
    finally:
        process.terminate()
        process.wait()


class Sidecar:
    """A process with a separate directory, and the secrets of its people."""

    def __init__(self, folder: pathlib.Path, address: str = "127.0.0.1:0", *, many: int = 0) -> None:
        self.folder = folder
        self.address = address
        applied = self._apply(many)
        #: Static tokens and passwords, by the names of their users.
        self.secrets: dict[str, str] = {}
        self.many: list[str] = []
        for each in applied:
            if each.get("name", "").startswith("many-"):
                self.many.append(each["value"])
            else:
                self.secrets[each["user"]] = each["value"]
        self.static_token = self.secrets["owner"]
        self._write("password", self.secrets["demo"])
        callers = []
        for token, right, profiles in (
            (OPERATOR, "everything", []),
            (FOLLOWER, "follow", ["job"]),
            (READER, "read", []),
        ):
            name = token.partition("-")[0]
            self._write(name, token)
            callers.append({"name": name, "token_file": name, "rights": [right], "profiles": profiles})
        job = {"account": ACCOUNT, "user_name": "demo", "password_file": "password"}
        self.config = {
            "callers": callers,
            "profiles": {"job": job},
            "directory": {"staleness_ms": 1000},
            "routes": [
                {
                    "path": "/accounts/{account}/balance",
                    "api": "balance",
                    "target": {"account": {"segment": "account"}},
                },
                {"path": "/test.Service/Unary", "methods": ["POST"], "api": "balance"},
                {"path": "/test.Service/Stream", "methods": ["POST"], "api": "balance"},
            ],
            "log": {"level": "error"},
        }
        self.start()

    @contextlib.contextmanager
    def beside(self, address: str = "127.0.0.1:0", **config: Any) -> Iterator[str]:
        """Another process with the same directory, at another address and with another configuration."""
        self._write("beside.yaml", json.dumps({**self.config, **config}))
        process, address = serve(self.folder, "beside.yaml", address=address)
        try:
            yield address
        finally:
            process.terminate()
            process.wait()

    def start(self, data: str = "data") -> None:
        """Starts the process; again where it was before."""
        self._write("portcullis.yaml", json.dumps(self.config))
        self._process, self.address = serve(self.folder, data=data, address=self.address)

    def _apply(self, many: int) -> list[dict[str, str]]:
        names = ["key", *(f"many-{number}" for number in range(many))]
        permissions = [{"scope": "account"}, {"scope": "projects", "projects": ["alpha", "beta"]}]
        first = {
            "account": ACCOUNT,
            "projects": ["alpha", "beta"],
            "service_users": [{"name": "demo", "permissions": permissions}],
            "control_panel_users": [{"name": "owner", "static_tokens": names}],
        }
        second = {
            "account": OTHER_ACCOUNT,
            "control_panel_users": [{"name": "stranger", "static_tokens": ["other"]}],
        }
        self._write("directory.yaml", json.dumps({"accounts": [first, second]}))
        applying = started(self.folder, "directory", "apply", "directory.yaml", "--data", "data", "--json")
        printed, _ = applying.communicate()
        assert applying.returncode == 0
        secrets: list[dict[str, str]] = json.loads(printed)["secrets"]
        return secrets

    def _write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.touch(0o600)
        file.write_text(text)

    def create_token(self, name: str) -> str:
        """A new static token of the owner."""
        with grpc.insecure_channel(self.address) as channel:
            stub: Any = directory_rpc.DirectoryServiceStub(channel)  # type: ignore[no-untyped-call]
            request = directory.CreateStaticTokenRequest(account=ACCOUNT, user_name="owner", name=name)
            value: str = stub.CreateStaticToken(request, metadata=[("authorization", f"Bearer {OPERATOR}")]).value
            return value

    def kill(self) -> None:
        """Ends the process as a machine that fails."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.wait()


@pytest.fixture(scope="session")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    running = Sidecar(tmp_path_factory.mktemp("sidecar"), many=MANY)
    yield running
    running.stop()


def eventually(look: Callable[[], Any]) -> Any:
    """Waits until the condition is true."""
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline, "what was waited for did not come about"
        time.sleep(0.01)
    return found


def local_client(sidecar: Sidecar, **options: Any) -> Client:
    """A client in local mode."""
    return Client(sidecar.address, caller_token=FOLLOWER, **{"local": True, **options})


def issued(sidecar: Sidecar, project: str | None = None) -> str:
    """A new IAM token."""
    with Client(sidecar.address) as client:
        scope = Scope(ACCOUNT, project)
        return client.issue_with_password("demo", ACCOUNT, sidecar.secrets["demo"], scope).value


def revoked(sidecar: Sidecar, value: str) -> None:
    """Revokes a token."""
    with Client(sidecar.address, caller_token=OPERATOR) as operator:
        operator.revoke(value=value)


def known(client: Client, value: str, api: str = "iam", header: str = "X-Auth-Token") -> CheckAnswer:
    """Waits until the client answers about a token from memory."""

    def look() -> CheckAnswer | None:
        client.check(api, [(header, value)])
        return client.check_locally(api, [(header, value)])

    answer = eventually(look)
    assert isinstance(answer, CheckAnswer)
    return answer
