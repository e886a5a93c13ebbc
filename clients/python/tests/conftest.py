"""A real sidecar of this checkout for the tests, with people in its directory."""

from __future__ import annotations

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
SUITE = ROOT / "clients" / "conformance"


class Sidecar:
    """A development sidecar: a process, and the secrets that it has shown."""

    def __init__(self, folder: pathlib.Path, address: str = "127.0.0.1:0", **environment: str) -> None:
        self.folder = folder
        self._environment = {**os.environ, **environment}
        node = ROOT / "node_modules" / ".bin" / "node"
        self._command = [str(node) if node.exists() else "node", str(ROOT / "sidecar" / "portcullis.js")]
        self._process = subprocess.Popen(
            [
                *self._command,
                "serve",
                "--dev",
                "--grpc",
                address,
                "--http",
                "off",
                "--config",
                self._config(),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment,
            cwd=folder,
        )
        self.welcome = ""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.welcome += line
            if line.startswith("api  "):
                break
        threading.Thread(target=self._drain, daemon=True).start()
        self.address = self._shown(r"(?m)^  gRPC +(\S+)")
        self.data = pathlib.Path(self._shown(r"(?m)^  data +(\S+)"))
        self.account = self._shown(r"Demo account (\d+)")
        self.static_token = self._shown(r"static token +(\S+)")
        self.password = self._shown(r"service user +demo +password +(\S+)")
        self.administrator_token = (self.data / "administrator-token").read_text().strip()

    def _config(self) -> str:
        file = self.folder / "portcullis.yaml"
        if not file.exists():
            callers = []
            for name, right in (("reader", "read"), ("service", "follow")):
                (self.folder / name).write_text(f"{name}-caller-token-0123456789abcdef")
                (self.folder / name).chmod(0o600)
                callers.append({"name": name, "token_file": name, "rights": [right]})
            file.write_text(json.dumps({"callers": callers, "directory": {"staleness_ms": 1000}}))
            file.chmod(0o600)
        return str(file)

    def _drain(self) -> None:
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            pass

    def _shown(self, pattern: str) -> str:
        found = re.search(pattern, self.welcome)
        assert found is not None, self.welcome
        return found[1]

    def run(self, *arguments: str) -> str:
        """Runs a command of Portcullis for this sidecar."""
        return subprocess.run(
            [*self._command, *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={**self._environment, "PORTCULLIS_GRPC_ADDRESS": self.address},
            cwd=self.folder,
        ).stdout

    def reload(self) -> None:
        """Has it read its configuration again."""
        self._process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.wait()


@pytest.fixture(scope="session")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    running = Sidecar(tmp_path_factory.mktemp("sidecar"))
    yield running
    running.stop()


def eventually(look: Callable[[], Any]) -> Any:
    """Waits until the condition is true."""
    deadline = time.monotonic() + 60
    while not (found := look()):
        assert time.monotonic() < deadline, "what was waited for did not come about"
        time.sleep(0.01)
    return found
