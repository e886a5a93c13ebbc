"""Calls the sidecar with the stubs that grpcio-tools generated.

The input is a line of JSON. The output has a line for each response, a line for the error if there is one, and a line for
the end.
"""

import argparse
import base64
import collections
import concurrent.futures
import json
import sys
import threading
import time

import grpc
from google.protobuf import json_format, message_factory
from google.rpc import error_details_pb2  # Imported so that the details of errors can be printed.
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from portcullis.v1 import authorization_pb2, authorization_pb2_grpc

SERVICES = {
    "AuthorizationService": (authorization_pb2, authorization_pb2_grpc.AuthorizationServiceStub),
    "Health": (health_pb2, health_pb2_grpc.HealthStub),
}

COMPRESSIONS = {None: grpc.Compression.NoCompression, "gzip": grpc.Compression.Gzip}


def main():
    options = read_options()
    with connect(options) as channel:
        for line in sys.stdin:
            for printed in ask(channel, json.loads(line)):
                print(json.dumps(printed), flush=True)


def ask(channel, row):
    service_name, method_name = row["call"].split("/")
    module, stub = SERVICES[service_name]
    method = module.DESCRIPTOR.services_by_name[service_name].methods_by_name[method_name]
    message = message_factory.GetMessageClass(method.input_type)
    requests = [json_format.ParseDict(request, message()) for request in row["requests"]]
    if "pace" in row:
        yield from ask_for_long(getattr(stub(channel), method_name), method, requests, row)
        return
    try:
        answer = getattr(stub(channel), method_name)(
            iter(requests) if method.client_streaming else requests[0],
            timeout=row["deadline_ms"] / 1000,
            metadata=[sent(*entry) for entry in row.get("metadata", {}).items()],
            compression=COMPRESSIONS[row.get("compression")],
        )
        for number, response in enumerate(answer if method.server_streaming else [answer], start=1):
            yield {"response": to_json(response)}
            if number == row.get("responses_max"):
                answer.cancel()
                break
    except grpc.RpcError as error:
        yield {"error": describe(error)}
    yield {"end": True}


def ask_for_long(call, method, requests, row):
    """Asks on several streams or in separate calls, and says how often it got which answer."""
    pace = row["pace"]
    tallies = collections.Counter()

    def run(_):
        if not method.client_streaming:
            for index in range(pace["count"]):
                answer = call(requests[index % len(requests)], timeout=row["deadline_ms"] / 1000)
                tally(f"{index % len(requests)} {str(answer.allowed).lower()}")
            return
        waiting = threading.Semaphore(pace["in_flight"])

        def questions():
            for index in range(pace["count"]):
                waiting.acquire()
                yield requests[index % len(requests)]

        answers = call(questions(), timeout=row["deadline_ms"] / 1000)
        try:
            for index, answer in enumerate(answers):
                due = answer.id == requests[index % len(requests)].id
                tally(f"{answer.id} {str(answer.result.allowed).lower()}" if due else "out of order")
                if pace["rest_every"] and (index + 1) % pace["rest_every"] == 0:
                    time.sleep(pace["rest_ms"] / 1000)
                waiting.release()
        finally:
            # The thread that asks ends too.
            waiting.release(pace["count"])

    lock = threading.Lock()

    def tally(key):
        with lock:
            tallies[key] += 1

    with concurrent.futures.ThreadPoolExecutor(pace["streams"]) as streams:
        try:
            list(streams.map(run, range(pace["streams"])))
        except grpc.RpcError as error:
            yield {"error": describe(error)}
    yield {"response": tallies}
    yield {"end": True}


def sent(name, value):
    """The metadata as gRPC takes it: binary values come as base64."""
    return (name, base64.b64decode(value)) if name.endswith("-bin") else (name, value)


def describe(error):
    status = rpc_status.from_call(error)
    details = [] if status is None else [to_json(detail) for detail in status.details]
    return {"code": error.code().name, "message": error.details(), "details": details}


def to_json(message):
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def connect(options):
    if options.ca is None:
        return grpc.insecure_channel(options.address)
    key, certificate = (read(options.key), read(options.certificate)) if options.key else (None, None)
    return grpc.secure_channel(
        options.address, grpc.ssl_channel_credentials(read(options.ca), key, certificate)
    )


def read(path):
    with open(path, "rb") as file:
        return file.read()


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--ca")
    parser.add_argument("--certificate")
    parser.add_argument("--key")
    return parser.parse_args()


main()
