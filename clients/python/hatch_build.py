"""Makes the stubs of the contract from its protos, whenever a package is built or installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "portcullis_client.gen"
FOLDER = PACKAGE.replace(".", "/")


class Stubs(BuildHookInterface):  # type: ignore[type-arg]
    """A source distribution gets the protos, a wheel gets the stubs, and an editable install writes them into `src`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Runs before files are collected."""
        root = Path(self.root).resolve()
        # A source distribution has them itself, and a checkout has them in its root.
        protos = next(folder for folder in (root / "proto", root.parents[1] / "proto") if folder.is_dir())
        if self.target_name == "sdist":
            build_data["force_include"][str(protos / "portcullis")] = "proto/portcullis"
            return
        # It is deleted when the process ends.
        self.folder = TemporaryDirectory()
        made = Path(self.folder.name)
        make_stubs(protos, made)
        if version == "editable":
            shutil.rmtree(root / "src" / FOLDER, ignore_errors=True)
            shutil.copytree(made, root / "src" / FOLDER)
        else:
            build_data["force_include"][str(made)] = FOLDER


def make_stubs(protos: Path, folder: Path) -> None:
    """Writes the messages, the stubs of the services and their types."""
    outputs = [f"--python_out={folder}", f"--grpc_python_out={folder}", f"--mypy_out=quiet:{folder}"]
    files = [str(file) for file in sorted(protos.glob("portcullis/v1/*.proto"))]
    # The plugin for types is a program beside this Python, where there is no isolated environment.
    path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={protos}", *outputs, *files]
    subprocess.run(protoc, check=True, env={**os.environ, "PATH": path})
    # Modules import each other by the names of the protos; here they are inside of a package.
    for file in folder.rglob("*.py*"):
        named = re.sub(r"\bportcullis\.v1(?= import |\.\w+_pb2\b)", f"{PACKAGE}.portcullis.v1", file.read_text("utf8"))
        file.write_text(named, "utf8")
    for each in (folder, folder / "portcullis", folder / "portcullis/v1"):
        (each / "__init__.py").touch()
