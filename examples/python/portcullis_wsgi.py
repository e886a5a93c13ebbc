"""A WSGI middleware. A WSGI server does not say that a client has left, so a question ends by its deadline alone."""

import time
from http import HTTPStatus

import grpc
from portcullis.v1 import authorization_pb2_grpc
from portcullis_gate import DEADLINE_SECONDS, Answers, denial, no_answer, no_target, question


class RequireToken:
    def __init__(self, app, api, account_of, address):
        """`account_of(environ)` names the account that owns the resource, from the path or your records."""
        self._app, self._api, self._account_of = app, api, account_of
        self._stub = authorization_pb2_grpc.AuthorizationServiceStub(grpc.insecure_channel(address))
        self._answers = Answers()

    def __call__(self, environ, start_response):
        refused = self._refusal(environ)
        if refused is None:
            return self._app(environ, start_response)
        status, headers, body = refused
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]

    def _refusal(self, environ):
        account = self._account_of(environ)
        if not account:
            return no_target()
        headers = [
            (name.removeprefix("HTTP_").replace("_", "-"), value)
            for name, value in environ.items()
            if name.startswith("HTTP_")
        ]
        check = question(self._api, headers, account, environ.get("REMOTE_ADDR"))
        key, asked = Answers.key(check), time.monotonic()
        answer = self._answers.get(key)
        try:
            if answer is None:
                answer = self._stub.Check(check, timeout=DEADLINE_SECONDS)
                self._answers.put(key, answer, asked)
        except grpc.RpcError as error:
            return no_answer(error)
        return denial(answer)
