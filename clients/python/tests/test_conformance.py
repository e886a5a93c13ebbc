"""The conformance suite of all clients (clients/conformance). Its folder may be another one, with other traces."""

from __future__ import annotations

import base64
import json
import os
import pathlib
from typing import Any

import pytest

from portcullis_client import PortcullisError, Scope
from portcullis_client._denials import denial_of, failure_of
from portcullis_client._memory import Ask, Memory
from portcullis_client._rules import FAULTS, Found, Rules, WrongSidecar, ascii_lower, find_credential
from portcullis_client._values import AcceptedKind, CheckAnswer, header_pairs
from portcullis_client.gen.portcullis.v1 import authorization_pb2 as wire
from portcullis_client.gen.portcullis.v1 import decision_pb2 as decision

from .conftest import SUITE

FOLDER = pathlib.Path(os.environ.get("PORTCULLIS_CONFORMANCE", SUITE))
#: A reason that no client knows.
NEWER = 999


def lines(name: str) -> list[dict[str, Any]]:
    first, *others = (json.loads(line) for line in (FOLDER / f"{name}.jsonl").open(encoding="utf-8"))
    assert first == {"version": 1}
    return others


def rules_message(name: str) -> wire.Rules:
    return wire.Rules.FromString((FOLDER / "rules" / f"{name}.binpb").read_bytes())


def scope_of(value: dict[str, str] | None) -> Scope | None:
    return Scope(value["account"], value.get("project")) if value is not None else None


def test_decisions() -> None:
    first, *others = lines("decisions")
    questions = first["questions"]
    known: dict[str, Rules] = {}
    assert len(others) > 400
    for line in others:
        rules = known.setdefault(line["rules"], Rules(rules_message(line["rules"])))
        if "accepted" in line:
            accepted = tuple(AcceptedKind(**each) for each in line["accepted"])
            assert rules.accepted(line["api"]) == accepted
            continue
        for api in line["apis"]:
            reasons = [
                rules.reason_of_fault(api, line["kind"], question["fault"])
                if "fault" in question
                else rules.reason(api, line["kind"], scope_of(question["scope"]), scope_of(question.get("target")))
                for question in questions
            ]
            assert reasons == line["reasons"], (line["rules"], api, line["kind"])


def value_of(value: Any) -> str | bytes:
    if isinstance(value, str):
        return value
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return "".join(text * times for text, times in value["pieces"])


@pytest.mark.parametrize("line", lines("credentials"), ids=lambda line: line["name"])
def test_credentials(line: dict[str, Any]) -> None:
    names = {}
    for name in line["names"]:
        names[name] = names[ascii_lower(name)] = ascii_lower(name)
    pairs = [
        (name, value_of(value)) for name, value, *times in line["headers"] for _ in range(times[0] if times else 1)
    ]
    expected = line.get("fault") or Found(line["found"][0], str(value_of(line["found"][1])))
    assert find_credential(header_pairs(pairs), names) == expected


class Player:
    """Plays the steps of a trace."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.memory = Memory(options.get("tokens_max", 10_000), options.get("accounts", ()))
        self.asked: list[Any] = []
        self.digest = ""

    def play(self, step: dict[str, Any]) -> Any:
        now = step["at_ms"] / 1000
        self.asked.append(None)
        if "begin" in step:
            request = self.memory.begin(now)
            after = None
            if request.HasField("after"):
                after = [request.after.change, request.after.recorded_at.ToMilliseconds()]
            return {"accounts": list(request.accounts), "after": after, "basis": request.basis}
        if "hear" in step:
            try:
                self.memory.hear(self.response(step["hear"]), now)
            except WrongSidecar:
                return "refused"
            return "followed"
        if "check" in step:
            recalled = self.recall(step["check"], now)
            self.asked[-1] = recalled
            if isinstance(recalled, Ask):
                return "ask"
            return {"allowed": recalled.allowed, "reason": recalled.reason, "message": recalled.message}
        ask = self.asked[step["learn"]["of"]]
        assert isinstance(ask, Ask)
        self.memory.learn(ask, self.answer(step["learn"]))
        return None

    def recall(self, question: dict[str, Any], now: float) -> CheckAnswer | Ask:
        target, api = scope_of(question.get("target")), question["api"]
        if "kind" in question:
            scope = scope_of(question["scope"])
            assert scope is not None
            return self.memory.recall_claims(api, question["kind"], scope, target, now)
        headers = [(name, value) for name, value in question.get("headers", [])]
        return self.memory.recall(api, headers, target, question.get("address", ""), now)

    def response(self, told: dict[str, Any]) -> wire.WatchChangesResponse:
        response = wire.WatchChangesResponse(basis=told.get("basis", ""))
        if told.get("position") is not None:
            response.position.CopyFrom(position_of(told["position"]))
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
            allowed=reason == "ALLOWED",
            reason=NEWER if reason == "UNSPECIFIED" else decision.Reason.Value(f"REASON_{reason}"),  # type: ignore[arg-type]
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
        if "position" in answer:
            response.position.CopyFrom(position_of(answer["position"]))
        return response


def position_of(position: list[int]) -> wire.Position:
    message = wire.Position(change=position[0])
    message.recorded_at.FromMilliseconds(position[1])
    return message


@pytest.mark.parametrize("line", lines("traces"), ids=lambda line: line["name"])
def test_traces(line: dict[str, Any]) -> None:
    player = Player(line["options"])
    for number, step in enumerate(line["steps"]):
        assert player.play(step) == step.get("expect"), f"step {number}"


def test_denials() -> None:
    rows = lines("denials")
    assert len(rows) > 30
    assert {row["answer"]["reason"] for row in rows if "answer" in row} >= set(FAULTS)
    for row in rows:
        if "answer" in row:
            answer = row["answer"]
            accepted = tuple(AcceptedKind(**each) for each in answer["accepted"])
            denial = denial_of(
                CheckAnswer(
                    False,
                    answer["reason"],
                    answer["message"],
                    "",
                    accepted,
                    rules_digest=answer["rules_digest"],
                )
            )
        else:
            failure = row["failure"]
            denial = failure_of(PortcullisError("", code=failure["code"], reason=failure["reason"]))
        assert denial.status == row["status"]
        assert dict(denial.headers) == row["headers"]
        assert json.loads(denial.body) == row["body"]
