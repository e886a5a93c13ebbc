"""Lists the services of a sidecar by reflection, and prints each one with its methods as JSON."""

import json
import sys

import grpc
from google.protobuf import descriptor_pool
from grpc_reflection.v1alpha import proto_reflection_descriptor_database

with grpc.insecure_channel(sys.argv[1]) as channel:
    database = proto_reflection_descriptor_database.ProtoReflectionDescriptorDatabase(channel)
    pool = descriptor_pool.DescriptorPool(database)
    services = database.get_services()
    print(
        json.dumps(
            {
                service: [method.name for method in pool.FindServiceByName(service).methods]
                for service in services
                # Not every version describes the reflection service itself, so it is left out.
                if not service.startswith("grpc.reflection.")
            }
        )
    )
