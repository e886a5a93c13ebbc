"""Learns the services of a sidecar by reflection alone, and prints each with its methods as JSON."""

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
                # Reflection does not describe itself everywhere; what it serves is what counts.
                if not service.startswith("grpc.reflection.")
            }
        )
    )
