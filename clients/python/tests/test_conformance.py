"""The conformance suite of all clients (clients/conformance). Its folder may be another one, with other traces."""

from __future__ import annotations

import base64
import datetime
import fractions
import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from portcullis_client import PortcullisError, Scope
from portcullis_client._denials import denial_of, failure_of
from portcullis_client._elapsed import Elapsed
from portcullis_client._local import Failures, Local, recall_known
from portcullis_client._memory import Ask, Memory
from portcullis_client._outage import Outage, names_meant
from portcullis_client._routes import Routes
from portcullis_client._rules import (
    FAULTS,
    Carriers,
    Found,
    Rules,
    WrongSidecar,
    find_credential,
    place_of,
    place_of_fault,
)
from portcullis_client._tokens import ProfileToken
from portcullis_client._values import (
    AcceptedKind,
    CheckAnswer,
    FoundRoute,
    IssuedToken,
    Request,
    RoutedAnswer,
    Verdict,
    check_answer,
    header_pairs,
)
from portcullis_client.gen.portcullis.v1 import authorization_pb2 as wire
from portcullis_client.gen.portcullis.v1 import decision_pb2 as decision
from portcullis_client.gen.portcullis.v1.matrix_pb2 import TokenPlace

from .conftest import SUITE

FOLDER = pathlib.Path(os.environ.get("CONFORMANCE", SUITE))
#: A reason that no client knows.
NEWER = 999


def lines(name: str) -> Iterator[dict[str, Any]]:
    """The lines after the first, one by one: another folder may have a million."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as file:
        assert json.loads(next(file)) == {"version": 6}
        yield from map(json.loads, file)


def rules_message(name: str) -> wire.Rules:
    return wire.Rules.FromString((FOLDER / "rules" / f"{name}.binpb").read_bytes())


def scope_of(value: dict[str, str] | None) -> Scope | None:
    return Scope(value["account"], value.get("project")) if value is not None else None


def place_of_question(question: dict[str, Any]) -> int:
    if "fault" in question:
        return place_of_fault(question["fault"])
    return place_of(
        Scope(question["scope"]["account"], question["scope"].get("project")), scope_of(question.get("target"))
    )


def test_decisions() -> None:
    others = lines("decisions")
    questions = next(others)["questions"]
    known: dict[str, Rules] = {}
    counted = 0
    for counted, line in enumerate(others, 1):  # noqa: B007
        rules = known.setdefault(line["rules"], Rules(rules_message(line["rules"])))
        if "accepted" in line:
            accepted = tuple(AcceptedKind(**each) for each in line["accepted"])
            assert rules.accepted(line["api"]) == accepted
            continue
        for api in line["apis"]:
            reasons = [rules.reason(api, line["kind"], place) for place in map(place_of_question, questions)]
            assert reasons == line["reasons"], (line["rules"], api, line["kind"])
    assert counted > 400


def value_of(value: Any) -> str | bytes:
    if isinstance(value, str):
        return value
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return "".join(text * times for text, times in value["pieces"])


def pairs_of(headers: list[list[Any]]) -> list[tuple[str, str | bytes]]:
    return [(name, value_of(value)) for name, value, *times in headers for _ in range(times[0] if times else 1)]


def request_of(value: dict[str, Any]) -> Request:
    return Request(value["method"], value["host"], value["path"])


def route_value(route: FoundRoute | None) -> Any:
    """A route in the form of ``expect``."""
    if route is None:
        return "ask"
    if route.target is None:
        return {"api": route.api}
    project = {} if route.target.project is None else {"project": route.target.project}
    return {"api": route.api, "target": {"account": route.target.account, **project}}


def test_routes() -> None:
    counted = 0
    for line in lines("routes"):
        routes = Routes(wire.Routes.FromString(base64.b64decode(line["routes"])))
        for request in line["requests"]:
            counted += 1
            found = routes.find(request_of(request), header_pairs(pairs_of(request.get("headers", []))))
            assert route_value(found) == request["expect"], (line["name"], request["path"])
    assert counted > 400


@pytest.mark.parametrize("line", list(lines("credentials")), ids=lambda line: line["name"])
def test_credentials(line: dict[str, Any]) -> None:
    named = [name.partition(": ") for name in line.get("names", [])]
    places = [{"header": header, "scheme": scheme} for header, _, scheme in named] + line.get("places", [])
    carriers = Carriers(
        TokenPlace(**{**({"scheme": "Basic"} if "basic" in place else {}), **place}) for place in places
    )
    pairs = pairs_of(line["headers"])
    if "fault" in line:
        expected = line["fault"]
    else:
        header, value, *others = line["found"]
        expected = Found(" ".join([header, *others]), str(value_of(value)))
    assert find_credential(header_pairs(pairs), carriers) == expected


Pairs = list[tuple[str, str]]


def as_bytes(pairs: Pairs) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in pairs]


def as_mapping(pairs: Pairs) -> dict[str, list[str] | str]:
    values: dict[str, list[str]] = {}
    for name, value in pairs:
        values.setdefault(name, []).append(value)
    return {name: each if len(each) > 1 else each[0] for name, each in values.items()}


def as_environ(pairs: Pairs) -> dict[str, Any]:
    """Headers as a server of WSGI passes them."""
    environ: dict[str, Any] = {"REQUEST_METHOD": "GET", "wsgi.version": (1, 0)}
    for name, value in pairs:
        variable = f"HTTP_{name.upper().replace('-', '_')}"
        environ[variable] = f"{environ[variable]},{value}" if variable in environ else value
    return environ


SHAPES: list[Any] = [list, as_bytes, as_mapping, as_environ]


class Player:
    """Plays the steps of a trace."""

    def __init__(self, options: dict[str, Any], in_bytes: bool) -> None:
        self.in_bytes = in_bytes
        self.memory = self._memory = Memory(options.get("tokens_max", 10_000), options.get("accounts", ()))
        self.at = self.wall = 0.0
        self.clock = Elapsed(lambda: self.wall, lambda: self.at)
        self.asked: list[Any] = []
        self.digest = ""
        self.shortcuts = 0

    def play(self, step: dict[str, Any]) -> Any:
        self.at, self.wall = step["at_ms"] / 1000, step.get("wall_ms", step["at_ms"]) / 1000
        now = self.clock.now()
        self.asked.append(None)
        if "begin" in step:
            request = self.memory.begin(now, self.clock.jumped)
            after = None
            if request.HasField("after"):
                after = [request.after.change, request.after.recorded_at.ToMilliseconds()]
            return {"accounts": list(request.accounts), "after": after, "basis": request.after.basis}
        if "hear" in step:
            try:
                goes_on = self.memory.hear(self.response(step["hear"]), now, self.clock.jumped)
            except WrongSidecar:
                return "refused"
            return "followed" if goes_on else "left"
        if "check" in step:
            recalled = self.recall(step["check"], now)
            self.asked[-1] = recalled
            if isinstance(recalled, Ask):
                return "ask"
            said = {"allowed": recalled.allowed, "reason": recalled.reason, "message": recalled.message}
            advice = {"advice": list(recalled.advice)} if recalled.advice else {}
            route = {} if recalled.route is None else {"route": route_value(recalled.route)}
            return {**said, **advice, **route}
        ask = self.asked[step["learn"]["of"]]
        assert isinstance(ask, Ask)
        response = self.answer(step["learn"])
        self.memory.learn(ask, response)
        if "expect" not in step:
            return None
        answer = check_answer(response, ask.routed)
        return {"allowed": answer.allowed, "reason": answer.reason}

    def recall(self, question: dict[str, Any], now: float) -> CheckAnswer | Ask:
        target, api = scope_of(question.get("target")), question.get("api", "")
        if "kind" in question:
            scope = scope_of(question["scope"])
            assert scope is not None
            return self.memory.recall_claims(api, question["kind"], scope, target, now)
        headers = [(name, value) for name, value in question.get("headers", [])]
        address = question.get("address", "")
        if "request" in question:
            request = request_of(question["request"])
            # The shorter way leaves a request to the longer one.
            assert recall_known(self, "", headers, request=request, client_address=address) is None
            return self.memory.recall_request(request, headers, address, now, in_bytes=self.in_bytes)
        recalled = self.memory.recall(api, headers, target, address, now, in_bytes=self.in_bytes)
        # The shorter way comes to the same, whatever a framework has in place of pairs of texts.
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (("CLOCK", self.clock), ("monotonic", lambda: self.at), ("time", lambda: self.wall)):
                patch.setattr(f"portcullis_client._local.{name}", value)
            for shape in SHAPES:
                known = recall_known(self, api, shape(headers), target=target, client_address=address)
                assert known is None or known == recalled, shape
                self.shortcuts += known is not None
        return recalled

    def response(self, told: dict[str, Any]) -> wire.WatchChangesResponse:
        response = wire.WatchChangesResponse()
        if told.get("position") is not None:
            response.position.CopyFrom(position_of(told))
        if "rules_part" in told:
            response.rules_part.CopyFrom(rules_message(told["rules_part"]))
        if "rules" in told:
            response.rules.CopyFrom(rules_message(told["rules"]))
            self.digest = response.rules.matrix.rules_digest
        voided = told.get("voided")
        if voided == "everything":
            response.voided.everything = True
        elif voided is not None:
            response.voided.CopyFrom(wire.Voided(**voided))
        if told.get("valid_for_ms") is not None:
            response.valid_for.FromMilliseconds(told["valid_for_ms"])
        if told.get("sent_at_ms") is not None:
            response.sent_at.FromMilliseconds(told["sent_at_ms"])
        if "time_of_day_ms" in told:
            response.time_of_day.FromMilliseconds(told["time_of_day_ms"])
        return response

    def answer(self, answer: dict[str, Any]) -> wire.CheckResponse:
        reason = answer["reason"]
        response = wire.CheckResponse(
            allowed=answer.get("allowed", reason == "ALLOWED"),
            reason=reason_number(reason),  # type: ignore[arg-type]
            message=answer.get("message", ""),
            header=answer.get("header", ""),
            verified=answer.get("verified", False),
            rules_digest=self.digest if answer.get("same_rules", True) else "others",
        )
        token = answer.get("token")
        if token is not None:
            response.token.kind, response.token.token_id = token["kind"], token["id"]
            response.token.scope.account = token["account"]
            response.token.scope.project = token.get("project", "")
            response.token.subject.id = token["user"]
            response.token.project_id = token.get("project_id", "")
            response.token.derived_from.extend(token.get("derived_from", []))
            if "expires_at_ms" in token:
                response.token.expires_at.FromMilliseconds(token["expires_at_ms"])
        if "route" in answer:
            route = answer["route"]
            response.route.api, response.route.refused = route.get("api", ""), route.get("refused", "")
            if "target" in route:
                response.route.target.CopyFrom(decision.Scope(**route["target"]))
        if "position" in answer:
            response.position.CopyFrom(position_of(answer))
        return response


def reason_number(name: str) -> int:
    if name == "":
        return 0
    return NEWER if name == "UNSPECIFIED" else decision.Reason.Value(f"REASON_{name}")


def position_of(line: dict[str, Any]) -> wire.Position:
    change, recorded_at = line["position"]
    message = wire.Position(change=change, basis=line.get("basis", ""))
    message.recorded_at.FromMilliseconds(recorded_at)
    return message


@pytest.mark.parametrize("in_bytes", [False, True])
def test_traces(in_bytes: bool) -> None:
    shortcuts = 0
    for line in lines("traces"):
        player = Player(line["options"], in_bytes)
        for number, step in enumerate(line["steps"]):
            assert player.play(step) == step.get("expect"), (line["name"], f"step {number}")
        shortcuts += player.shortcuts
    assert shortcuts > 100


def test_denials() -> None:
    rows = list(lines("denials"))
    assert len(rows) > 30
    assert {row["answer"]["reason"] for row in rows if "answer" in row} >= set(FAULTS)
    for row in rows:
        if "answer" in row:
            answer = row["answer"]
            accepted = tuple(AcceptedKind(**each) for each in answer["accepted"])
            verdict = Verdict(
                False,
                answer["reason"],
                answer["message"],
                accepted=accepted,
                rules_digest=answer["rules_digest"],
            )
            refused = answer.get("refused")
            denial = denial_of(
                CheckAnswer(verdict)
                if refused is None
                else RoutedAnswer(verdict, None, FoundRoute("", refused=refused))
            )
        else:
            failure = row["failure"]
            denial = failure_of(PortcullisError("", code=failure["code"], reason=failure["reason"]))
        assert denial.status == row["status"]
        assert dict(denial.headers) == row["headers"]
        assert json.loads(denial.body) == row["body"]


def test_a_sidecar_of_the_release_before_says_only_whether_kinds_are_issuable() -> None:
    kinds = [decision.AcceptedKind(issuable=True), decision.AcceptedKind(issuable=False)]
    answer = check_answer(wire.CheckResponse(accepted=kinds), False)
    assert [each.obtained for each in answer.accepted] == ["issue", "control_panel"]


@pytest.mark.parametrize("row", list(lines("sending")), ids=lambda row: row["name"])
def test_sending(row: dict[str, Any]) -> None:
    token = ProfileToken()
    for step in row["steps"]:
        now = step["at_ms"] / 1000
        today = DAY + now
        if "refused" in step:
            token.refuse(step["refused"])
        kept, asked, sidecar = token.current(now), None, step["sidecar"]
        if kept is None:
            asked = token.rejected or ""
            kept = token.lasting(now) if sidecar is None else token.came(issued(sidecar, today), now, today)
        assert {"asked": asked, "value": kept and kept.header_value} == step["expect"], step


@pytest.mark.parametrize("row", list(lines("outages")), ids=lambda row: row["name"])
def test_outages(row: dict[str, Any]) -> None:
    outage = Outage()
    for step in row["steps"]:
        # A float would not have every thousandth.
        now: Any = fractions.Fraction(step["at_ms"], 1000)
        if step["event"] == "answers":
            line = outage.answers(now)
        else:
            line = {"starts": outage.starts, "fails": outage.fails}[step["event"]](step["error"], now)
        assert line == step["expect"], step


@pytest.mark.parametrize("row", list(lines("pauses")), ids=lambda row: row["name"])
def test_pauses(row: dict[str, Any]) -> None:
    failures = Failures(Local(on_failure=lambda _error: None))
    for step in row["steps"]:
        if step["heard"]:
            failures.heard()
        error = PortcullisError("", code=step["code"]) if step["code"] else RuntimeError()
        assert failures.pause(error) * 1000 == step["expect_ms"], step


def test_names_that_were_meant() -> None:
    rows = list(lines("meant"))
    assert len(rows) > 80
    for row in rows:
        assert names_meant(row["name"], row["known"]) == row["meant"], row


#: Some day, in seconds since 1970.
DAY = 1_790_000_000


def issued(said: dict[str, Any], today: float) -> IssuedToken:
    left = said.get("expires_in_ms")
    expires_at = None if left is None else datetime.datetime.fromtimestamp(today + left / 1000, datetime.timezone.utc)
    sent = said.get("scheme", ""), said.get("basic", "")
    return IssuedToken("X-Auth-Token", said["value"], "iam_token", Scope("1"), "id", None, expires_at, *sent)
