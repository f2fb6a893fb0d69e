"""Git that somebody asks for ends with its time and its caller, and never takes the places of others."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from auth.passwords import Passwords
from domain.errors import Unavailable
from git import git_process
from git.command import run, start
from git.turns import CALLER, COMMANDS, STREAMS, GitCaller, Places, Turns
from tests.waiting import HANGS, eventually

Tasks: TypeAlias = list[asyncio.Task[object]]
QUICK = ("--version",)


class Slow:
    """Git that waits until the test lets it go; each one says that it runs by a file with its process's number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gate = folder / "gate"
        os.mkfifo(self.gate)

    def words(self, repository: str = "one") -> tuple[str, ...]:
        """A command of a child of git in its process group, so that both must end."""
        shell = f"!echo $$ > {self.folder}/$$.pid; read x < {self.gate}"
        return (f"--git-dir={self.folder / repository}", "-c", f"alias.slow={shell}", "slow")

    def running(self) -> int:
        """How many of them live."""
        return sum(Path("/proc", file.stem).exists() for file in self.folder.glob("*.pid"))

    async def until(self, count: int) -> None:
        """Wait until so many live."""

        async def look() -> bool:
            return self.running() == count

        await eventually(look, f"{count} run", 20.0)


@pytest.fixture
def slow(tmp_path: Path) -> Slow:
    """Commands that wait."""
    return Slow(tmp_path)


@pytest.fixture
async def tasks() -> AsyncIterator[Tasks]:
    """What a test leaves running is canceled."""
    begun: Tasks = []
    yield begun
    for task in begun:
        task.cancel()
    await asyncio.gather(*begun, return_exceptions=True)


def asked_by(key: str) -> GitCaller:
    """What the present task runs from now on is for this caller."""
    caller = GitCaller(key)
    CALLER.set(caller)
    return caller


async def ask(key: str, *words: str) -> object:
    """Run git for a caller."""
    asked_by(key)
    return await run(words)


async def test_a_command_ends_with_its_time_and_so_do_its_children(slow: Slow) -> None:
    with pytest.raises(Unavailable, match=r"took more than 1 s; ask for less"):
        await run(slow.words(), seconds=1.0)
    await slow.until(0)


async def test_a_command_ends_with_the_task_that_waits_for_it(slow: Slow) -> None:
    task = asyncio.create_task(run(slow.words()))
    await slow.until(1)
    task.cancel()
    await slow.until(0)
    assert (await asyncio.gather(task, return_exceptions=True))[0].__class__ is asyncio.CancelledError


async def test_all_that_runs_for_a_caller_ends_when_they_go_and_nothing_begins(slow: Slow) -> None:
    caller = asked_by("eve")
    running = asyncio.create_task(run(slow.words()))

    async def stream() -> int:
        async with start(slow.words()) as git:
            return await git.wait()

    streaming = asyncio.create_task(stream())
    await slow.until(2)
    caller.leave()
    with pytest.raises(Unavailable, match="ended with -15"):
        await running
    assert await streaming != 0
    await slow.until(0)
    with pytest.raises(Unavailable, match="closed the connection"):
        await run(QUICK)


async def test_git_whose_caller_goes_while_it_starts_ends(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    caller, connect = asked_by("eve"), git_process.with_streams

    async def connect_and_go(begun: git_process.Begun) -> git_process.GitProcess:
        git = await connect(begun)
        caller.leave()
        return git

    monkeypatch.setattr(git_process, "with_streams", connect_and_go)
    async with start(slow.words()) as git:
        assert await asyncio.wait_for(git.wait(), 20) == -signal.SIGTERM
    await slow.until(0)


async def test_one_caller_leaves_places_to_others_and_to_the_server(slow: Slow, tasks: Tasks) -> None:
    """They ask for more than there is, in many repositories; whoever else comes is served at once."""
    tasks += [asyncio.create_task(ask("eve", *slow.words(f"{n}"))) for n in range(40)]
    await slow.until(COMMANDS.of_caller)
    async with asyncio.timeout(HANGS):
        await asyncio.gather(*(ask(f"user {n}", *QUICK) for n in range(20)))
        await run(QUICK)
        await Passwords().is_right("", "guess")
    assert slow.running() == COMMANDS.of_caller


async def test_many_callers_leave_the_server_its_threads(slow: Slow, tasks: Tasks) -> None:
    tasks += [asyncio.create_task(ask(f"user {n}", *slow.words(f"{n}"))) for n in range(COMMANDS.at_once + 20)]
    await slow.until(COMMANDS.at_once)
    async with asyncio.timeout(HANGS):
        await run(QUICK)
        await asyncio.to_thread(os.getpid)


async def test_one_repository_does_not_take_all_places(slow: Slow, tasks: Tasks) -> None:
    tasks += [asyncio.create_task(ask(f"user {n}", *slow.words("same"))) for n in range(COMMANDS.at_once)]
    await slow.until(COMMANDS.of_repository)
    async with asyncio.timeout(HANGS):
        await ask("bob", "--git-dir=/another", "version")


async def test_who_waits_is_served_in_their_order_when_a_place_is_free() -> None:
    turns = Turns(Places(at_once=2, of_caller=1, of_repository=2))
    served: list[str] = []

    async def come(name: str, caller: str) -> None:
        async with turns.one(caller, "r"):
            served.append(name)

    async with turns.one("eve", "r"), turns.one("ada", "r"):
        waiting = [asyncio.create_task(come(name, name[:3])) for name in ("eve1", "bob1", "eve2")]
        await asyncio.sleep(0)
        assert served == []
    await asyncio.gather(*waiting)
    assert served.index("eve1") < served.index("eve2")
    assert sorted(served) == ["bob1", "eve1", "eve2"]
    assert not turns.running
    assert not turns.waiting


async def test_a_turn_that_does_not_come_in_time_is_refused_and_takes_no_place() -> None:
    turns = Turns(Places(at_once=1, of_caller=1, of_repository=1))
    async with turns.one("eve", "r"):
        with pytest.raises(Unavailable, match="1 git commands of one caller"):
            async with turns.one("bob", "s", patience=0.01):
                raise AssertionError
        assert not turns.waiting
    async with turns.one("bob", "s"):
        assert turns.running["caller bob"] == 1
    assert not turns.running


async def test_so_many_of_one_caller_wait_and_the_next_is_refused_at_once() -> None:
    turns = Turns(Places(at_once=9, of_caller=1, of_repository=9, what="calls", waiting=1))

    async def come(caller: str) -> str:
        async with turns.one(caller, "", patience=60.0):
            return caller

    async with turns.one("eve", ""):
        waiting = asyncio.create_task(come("eve"))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="1 calls of one caller run at once, and 1 more are waiting"):
            await come("eve")
        assert await come("bob") == "bob"
    assert await waiting == "eve"


async def test_a_turn_that_many_give_up_at_once_is_free() -> None:
    turns = Turns(Places(at_once=2, of_caller=2, of_repository=2))

    async def come(caller: str) -> None:
        async with turns.one(caller, "r"):
            await asyncio.Event().wait()

    coming = [asyncio.create_task(come(f"{n}")) for n in range(9)]
    await asyncio.sleep(0)
    assert len(turns.waiting) == 7
    for task in coming:
        task.cancel()
    ends = await asyncio.gather(*coming, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert not turns.running
    assert not turns.waiting


async def test_who_has_a_turn_needs_no_second_one() -> None:
    asked_by("eve")
    async with asyncio.timeout(HANGS):
        async with AsyncExitStack() as stack:
            for _ in range(STREAMS.of_caller + 1):
                await stack.enter_async_context(start(QUICK))
            await run(QUICK)
