"""`python -m steps.proto [FOLDER]`: make the Python files of the messages, in their places or below a folder."""

import sys
from importlib.resources import files
from pathlib import Path
from typing import Final

from grpc_tools import protoc

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCES: Final = ("step_runner.proto", "runs.proto", "buf/validate/validate.proto")
_WITHOUT_CALLS: Final = "buf/"


def make(folder: Path) -> None:
    """Make them below a folder. Raises `SystemExit` where a `.proto` file is wrong."""
    for source in SOURCES:
        calls = [] if source.startswith(_WITHOUT_CALLS) else [f"--grpc_python_out={folder}"]
        includes = [f"-I{ROOT}", f"-I{files('grpc_tools') / '_proto'}"]
        outputs = [f"--python_out={folder}", f"--pyi_out={folder}", *calls]
        if protoc.main(["protoc", *includes, *outputs, f"steps/proto/{source}"]):
            raise SystemExit(f"{source} cannot be compiled")
    for calls_file in (folder / "steps/proto").glob("*_pb2_grpc.py"):
        text = calls_file.read_text()
        calls_file.write_text(text.replace("\nimport grpc\n", "\nfrom steps.grpc_library import grpc\n"))


if __name__ == "__main__":
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
