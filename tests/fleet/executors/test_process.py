"""Process groups: gate, output, and that nothing is left behind."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from domain.errors import Invalid, StorageFull
from files.process_start import process_start
from fleet.executors.process import Command, Group, run_command
from fleet.executors.survivors import MARK, end_survivors, find_survivors
from tests.waiting import comes_true


def bash(script: str, folder: Path, **environment: str) -> Command:
    return Command(("bash", "-c", script), folder, {"PATH": os.environ["PATH"], **environment})


async def test_output_and_status(tmp_path: Path) -> None:
    output = bytearray()
    status = await run_command(bash("echo out; echo err >&2; exit 3", tmp_path), output.extend, lambda _: None)
    assert (status, bytes(output)) == (3, b"out\nerr\n")


async def test_all_output_arrives(tmp_path: Path) -> None:
    output = bytearray()
    await run_command(bash("head -c 3000000 /dev/zero; printf end", tmp_path), output.extend, lambda _: None)
    assert len(output) == 3_000_003
    assert output.endswith(b"end")


async def test_the_group_is_recorded_before_anything_runs(tmp_path: Path) -> None:
    seen: list[tuple[Group, bool]] = []
    await run_command(
        bash("touch ran", tmp_path), lambda _: None, lambda group: seen.append((group, (tmp_path / "ran").exists()))
    )
    ((group, ran),) = seen
    assert group.id > 1
    assert group.start
    assert not ran
    assert (tmp_path / "ran").exists()


async def test_a_failed_record_runs_nothing(tmp_path: Path) -> None:
    def refuse(_: Group) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await run_command(bash("touch ran", tmp_path), lambda _: None, refuse)
    assert not (tmp_path / "ran").exists()


async def test_stdin_is_empty(tmp_path: Path) -> None:
    output = bytearray()
    assert await run_command(bash("cat; echo read", tmp_path), output.extend, lambda _: None) == 0
    assert bytes(output) == b"read\n"


async def test_background_processes_end_with_the_script(tmp_path: Path) -> None:
    output = bytearray()
    await run_command(bash("sleep 1000 & echo $!", tmp_path), output.extend, lambda _: None, grace=5)
    assert process_start(int(output)) == "", "it is gone, or nobody has asked for its status"


async def test_cancel_lets_the_script_clean_up(tmp_path: Path) -> None:
    output = bytearray()
    script = "trap 'echo cleaned; exit 1' TERM; echo ready; while :; do sleep 0.02; done"
    task = asyncio.create_task(run_command(bash(script, tmp_path), output.extend, lambda _: None, grace=10))
    await comes_true(lambda: b"ready" in output)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert b"cleaned" in output


async def test_cancel_kills_what_does_not_listen(tmp_path: Path) -> None:
    output = bytearray()
    groups: list[Group] = []
    script = "trap '' TERM; echo ready; while :; do sleep 0.02; done"
    task = asyncio.create_task(run_command(bash(script, tmp_path), output.extend, groups.append, grace=0.2))
    await comes_true(lambda: b"ready" in output)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await comes_true(lambda: process_start(groups[0].id) == "")


async def test_output_that_cannot_be_kept_ends_the_command(tmp_path: Path) -> None:
    def full(_: bytes) -> None:
        raise StorageFull("no room")

    with pytest.raises(StorageFull):
        await run_command(bash("echo x; sleep 1000", tmp_path), full, lambda _: None, grace=1)


async def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="nowhere"):
        await run_command(bash("true", tmp_path / "nowhere"), lambda _: None, lambda _: None)


async def test_survivors_are_found_by_mark_and_by_group(tmp_path: Path) -> None:
    groups: list[Group] = []
    output = bytearray()
    command = bash("setsid sleep 1000 & echo ready; sleep 1000", tmp_path, **{MARK: "mark-of-this-test"})
    task = asyncio.create_task(run_command(command, output.extend, groups.append, grace=0.2))
    await comes_true(lambda: b"ready" in output)
    group = groups[0]
    assert len(find_survivors("mark-of-this-test")) >= 2
    in_group = find_survivors("other mark", group.id, group.start)
    assert group.id in {process.pid for process in in_group}
    assert find_survivors("other mark", group.id, f"{group.start}0") == []
    assert await asyncio.to_thread(end_survivors, "mark-of-this-test", grace=1) >= 2
    assert find_survivors("mark-of-this-test") == []
    await task


async def test_processes_that_become_others_while_they_are_ended_are_ended(tmp_path: Path) -> None:
    """Each lives for a moment, heeds no SIGTERM and leaves another one behind."""
    code = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for _ in range(300):\n"
        "    time.sleep(0.1)\n"
        "    if os.fork(): os._exit(0)\n"
        f"    open({str(tmp_path / 'now')!r}, 'w').write(str(os.getpid()))\n"
    )
    environment = {**os.environ, MARK: "mark-of-a-chain"}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, env=environment, start_new_session=True)
    await process.wait()
    await asyncio.to_thread(end_survivors, "mark-of-a-chain", grace=0.3)
    assert find_survivors("mark-of-a-chain") == []
    last = (tmp_path / "now").read_text()
    await asyncio.to_thread(end_survivors, "mark-of-a-chain", grace=0.3)
    assert (tmp_path / "now").read_text() == last
