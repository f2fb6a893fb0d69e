"""A process that uses gRPC starts others, and nobody sees anything of it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).resolve().parents[2]
STARTS_OTHERS = """
import asyncio, os, subprocess, sys
from steps.grpc_library import grpc
async def main():
    async with grpc.aio.insecure_channel("unix:/nowhere") as channel:
        try:
            await channel.unary_unary("/x/y")(b"", timeout=0.1)
        except grpc.aio.AioRpcError:
            pass
        for _ in range(20):  # with a function to call there is a copy of the process, as with another user
            subprocess.run(["true"], check=True, preexec_fn=int)
asyncio.run(main())
print(os.environ.get("GRPC_ENABLE_FORK_SUPPORT"))
"""


AS_TESTS: Final = "import tests.conftest, temporalio.service\n"
"""The library of Temporal imports gRPC too, in its own way."""


@pytest.mark.parametrize("before", ["", AS_TESTS], ids=["product", "tests"])
def test_copies_of_the_process_say_nothing_and_find_no_variable(before: str) -> None:
    """With gRPC imported by itself they do, and now and then one of them fails."""
    code = [sys.executable, "-c", before + STARTS_OTHERS]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("None\n", "")


@pytest.mark.parametrize("folder", ["steps", "cli", "bench", "tests"])
def test_nothing_imports_it_in_another_way(folder: str) -> None:
    own = {ROOT / "steps/grpc_library.py", Path(__file__)}
    found = [
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*.py")
        if path not in own and re.search(r"^(import|from) grpc\b", path.read_text(), re.MULTILINE)
    ]
    assert found == []
