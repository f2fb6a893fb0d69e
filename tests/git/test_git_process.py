"""How a git is started whose output is passed on while it comes."""

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from git.command import start

ROOT = Path(__file__).resolve().parents[2]
SERVER = ("activities", "api", "application", "auth", "git", "includes", "loops", "models", "pods", "storage")
STARTS_GIT = """
import asyncio, gc, os, sys, uvloop, warnings
from git.command import start
copies = []
os.register_at_fork(before=lambda: copies.append(1))
async def main():
    for _ in range(3):
        async with start(["hash-object", "--stdin"]) as git:
            git.stdin.write(b"x" * 1_000_000)
            git.stdin.close()
            assert len(await git.stdout.read()) == 41
            assert await git.wait() == 0
    gc.collect()
{run}(main())
print(len(copies), len(os.listdir("/proc/self/fd")) < 12)
"""


@pytest.mark.parametrize("run", ["uvloop.run", "asyncio.run"])
def test_the_server_is_not_copied_to_start_git_and_nothing_is_left_open(run: str) -> None:
    """A copy has the locks of all threads but not the threads: now and then it waited for one for ever."""
    code = [sys.executable, "-W", "error", "-X", "dev", "-c", STARTS_GIT.replace("{run}", run)]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0 True\n", "")


def test_nothing_of_the_server_starts_processes_by_the_event_loop() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in SERVER
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr.startswith(("create_subprocess", "subprocess_exec"))
    }
    assert found == set()


async def test_a_caller_that_is_canceled_while_git_is_connected_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def noted(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        begun.append(real(*arguments, **options))  # type: ignore[call-overload]
        return begun[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)

    async def caller() -> None:
        async with start(["cat-file", "--batch"]):
            pytest.fail("it was canceled before")

    task = asyncio.create_task(caller())
    while not begun:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert begun[0].returncode is not None
