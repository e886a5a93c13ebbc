"""A guard before the tables of real providers: their places of credentials, their ids, their public APIs."""

from __future__ import annotations

import base64
import json
import pathlib
from typing import Any

import pytest

from portcullis_client import Client, wsgi

from .conftest import FOLLOWER, ROOT, served

#: By table: its first place with an unknown credential, and an API that is closed.
CLOSED = {
    "cloudflare": ({"X-Auth-Key": "unheard-of", "X-Auth-Email": "jo@example.com"}, "zones"),
    "github": ({"Authorization": "Bearer unheard-of"}, "patch-repos/owner/repo/issues/issue_number"),
    "gitlab": ({"PRIVATE-TOKEN": "unheard-of"}, "package-registry"),
    "slack": ({"Authorization": "Bearer unheard-of"}, "chat.postmessage"),
    "stripe": ({"Authorization": "Basic " + base64.b64encode(b"sk_unheard-of:").decode()}, "payments"),
    "twilio": ({"Authorization": "Basic " + base64.b64encode(b"SKunheard-of:x").decode()}, "messages-and-calls"),
}
#: APIs that need no token.
OPEN = {"cloudflare": "addresses", "slack": "api.test"}


def asked(guarded: Any, path: str, headers: dict[str, str]) -> tuple[str, str | None]:
    """The status of a request, and the reason of a refusal."""
    seen: dict[str, Any] = {}

    def start_response(status: str, fields: list[tuple[str, str]], *_: Any) -> None:
        seen.update(status=status[:3], **{name.lower(): value for name, value in fields})

    fields = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    environ = {"REQUEST_METHOD": "GET", "HTTP_HOST": "a", "wsgi.version": (1, 0), **fields}
    list(guarded({**environ, "RAW_URI": path, "PATH_INFO": path}, start_response))
    return seen["status"], seen.get("x-portcullis-reason")


@pytest.mark.parametrize("table", CLOSED)
def test_a_guard_decides_by_the_table_of(table: str, tmp_path: pathlib.Path) -> None:
    credential, closed = CLOSED[table]
    account = {"account": {"fixed": "1"}}
    routes = [{"path": "/closed", "api": closed, "target": account}]
    if table in OPEN:
        routes.append({"path": "/open", "api": OPEN[table], "target": account})
    token = tmp_path / "follower"
    token.touch(0o600)
    token.write_text(FOLLOWER)
    callers = [{"name": "follower", "token_file": "follower", "rights": ["follow"]}]
    config = {"callers": callers, "routes": routes, "matrix": str(ROOT / "examples/matrices" / f"{table}.yaml")}
    (tmp_path / "portcullis.yaml").write_text(json.dumps(config))
    with served(tmp_path) as address, Client(address, caller_token=FOLLOWER, local=True, timeout=5) as client:

        def app(_environ: Any, start_response: Any) -> list[bytes]:
            start_response("200 OK", [])
            return [b""]

        guarded = wsgi.RequireToken(app, client, routes=True)
        assert asked(guarded, "/closed", {}) == ("401", "CREDENTIAL_MISSING")
        assert asked(guarded, "/closed", credential) == ("401", "CREDENTIAL_INVALID")
        if table in OPEN:
            assert asked(guarded, "/open", {})[0] == "200"
