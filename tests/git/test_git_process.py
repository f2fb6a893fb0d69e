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

CLOSES_ITS_OWN = """
import asyncio, os, threading, time, uvloop
from git.command import start
over, lost = threading.Event(), []
def others():
    while not over.is_set():
        mine = [os.open("/dev/null", os.O_RDONLY) for _ in range(4)]
        time.sleep(0)
        for number in mine:
            try:
                os.close(number)
            except OSError as error:
                lost.append(error)
async def hashed():
    async with start(["hash-object", "--stdin"]) as git:
        git.stdin.write(b"x" * 1000)
        git.stdin.close()
        assert len(await git.stdout.read()) == 41
async def main():
    for _ in range(25):
        await asyncio.gather(*(hashed() for _ in range(4)))
threads = [threading.Thread(target=others) for _ in range(2)]
for thread in threads:
    thread.start()
try:
    {run}(main())
finally:
    over.set()
print(len(lost))
"""
LEAVES_BEFORE_THE_END = """
import asyncio, contextlib, uvloop
from git.command import start
async def main():
    async with start(["-c", "alias.wait=!exec sleep 60", "wait"]) as git:
        async def chunks():
            while not git.stdin.transport.get_write_buffer_size():
                yield b"x" * 10_000
            git.terminate()
            await git.wait()
            with contextlib.suppress(OSError):
                await git.stdin.wait_closed()
            yield b""
            yield b"x"
        await git.feed(chunks())
        print(await git.wait())
{run}(main())
"""
SLOW_IS_NO_FAULT = """
import logging
logging.getLogger("asyncio").addFilter(lambda record: not record.msg.startswith("Executing"))
"""
"""A loop in development mode tells of each step of more than 0.1 s, of which a busy machine has some."""
BY_THE_LOOP = ("create_subprocess", "subprocess_exec", "connect_read_pipe", "connect_write_pipe")
ON_BOTH_LOOPS = pytest.mark.parametrize("run", ["uvloop.run", "asyncio.run"])


@ON_BOTH_LOOPS
def test_no_file_of_another_thread_is_closed(run: str) -> None:
    """uvloop closes the numbers of pipes twice; the second time they may be a database's. (100 commands.)"""
    assert run_alone(CLOSES_ITS_OWN, run) == (0, "0\n", "")


@ON_BOTH_LOOPS
def test_a_git_that_ends_before_all_is_sent_is_no_error(run: str) -> None:
    """A push whose last empty chunk came after git had ended was answered with 500: uvloop raises RuntimeError."""
    assert run_alone(LEAVES_BEFORE_THE_END, run) == (0, "-15\n", "")


def run_alone(script: str, run: str) -> tuple[int, str, str]:
    """Run it with a loop of its own; its exit code, stdout and stderr."""
    code = [sys.executable, "-W", "error", "-X", "dev", "-c", SLOW_IS_NO_FAULT + script.replace("{run}", run)]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@ON_BOTH_LOOPS
def test_the_server_is_not_copied_to_start_git_and_nothing_is_left_open(run: str) -> None:
    """A copy has the locks of all threads but not the threads: now and then it waited for one for ever."""
    assert run_alone(STARTS_GIT, run) == (0, "0 True\n", "")


def test_nothing_of_the_server_gives_processes_or_pipes_to_the_event_loop() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in SERVER
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr.startswith(BY_THE_LOOP)
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
