#!/bin/sh
# Generates the messages of the contract (needs grpcio-tools and mypy-protobuf). The package has them, so that
# its users need neither.
set -eu
cd "$(dirname "$0")"
out=src/portcullis_client/gen
rm -rf "$out"
mkdir -p "$out"
python -m grpc_tools.protoc --proto_path=../../proto --python_out="$out" --mypy_out=quiet:"$out" \
  --grpc_python_out="$out" ../../proto/portcullis/v1/*.proto
# Generated modules import each other by the names of the protos; here they are inside of a package.
find "$out" -name '*.py*' -exec sed -i -E 's/^from portcullis\.v1 import/from portcullis_client.gen.portcullis.v1 import/; s/^import portcullis\.v1\.(\w+)/import portcullis_client.gen.portcullis.v1.\1/; s/\bportcullis\.v1\.(\w+_pb2)/portcullis_client.gen.portcullis.v1.\1/g' {} +
find "$out" -type d -exec touch {}/__init__.py \;
