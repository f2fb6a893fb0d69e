"""All of a run in one stream: each step in its place in the log, whoever comes and whenever."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from steps.grpc_library import grpc
from steps.proto import runs_pb2 as messages
from steps.proto import step_runner_pb2 as document
from tests.steps.service.serving import HEADER, Served, served

Event = tuple[str, str]

SECRET = """\
spec:
  inputs: {token: {type: string, sensitive: true}}
  outputs: {key: {type: string, sensitive: true}, n: {type: number, sensitive: true, default: 7}}
---
exec:
  command:
    - sh
    - -c
    - 'echo "got $0"; cat key.json >"$1"'
    - ${{ inputs.token }}
    - ${{ output_file }}
"""


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def begin(service: Served, run_id: str, calls: str, **more: Any) -> None:
    """Begin a run of steps."""
    async with service.product() as client:
        text = f"{HEADER}run: {calls}\n"
        await client.Run(messages.RunRequest(id=run_id, work_dir=str(service.work), steps=text, **more))


async def events(service: Served, run_id: str, offset: int = 0, read: int = 0) -> list[Event]:
    """What follows, with neighbouring bytes put together."""
    found: list[Event] = []
    async with service.product() as client:
        request = messages.FollowEventsRequest(id=run_id, offset=offset, read_results=read)
        async for event in client.FollowEvents(request):
            if event.HasField("result"):
                status = document.StepResult.Status.Name(event.result.status)
                found.append(("/".join(event.result.path), status))
            elif found and found[-1][0] == "bytes":
                found[-1] = ("bytes", found[-1][1] + event.data.decode())
            else:
                found.append(("bytes", event.data.decode()))
    return found


def split(found: list[Event], offset: int, read: int) -> list[Event]:
    """What is left of the events behind so many bytes and results."""
    left: list[Event] = []
    for name, what in found:
        if name != "bytes":
            if read:
                read -= 1
            else:
                left.append((name, what))
            continue
        done = min(offset, len(what))
        offset -= done
        if what[done:]:
            left.append((name, what[done:]))
    return left


async def test_steps_stand_where_the_log_was(service: Served) -> None:
    (service.work / "both").mkdir(parents=True)
    (service.work / "both/step.yml").write_text(
        "{}\n---\nrun: [{name: in, script: 'echo in; echo err >&2'}, {name: quiet, script: 'true'}]\n"
    )
    calls = "[{name: a, script: 'echo a'}, {name: both, step: ./both}, {name: b, script: 'echo b; exit 3'}]"
    await begin(service, "r", calls)
    live = await events(service, "r")
    assert [event for event in live if event[0] != "bytes"] == [
        ("a", "running"),
        ("a", "success"),
        ("both", "running"),
        ("both/in", "running"),
        ("both/in", "success"),
        ("both/quiet", "running"),
        ("both/quiet", "success"),
        ("both", "success"),
        ("b", "running"),
        ("b", "failure"),
        ("", "failure"),
    ]
    assert live[:3] == [("a", "running"), ("bytes", "a\n"), ("a", "success")]
    assert sorted(live[5][1].split()) == ["err", "in"]
    assert live[11:13] == [("bytes", "b\nstep b: the command ended with exit code 3\n"), ("b", "failure")]
    size = sum(len(what) for name, what in live if name == "bytes")
    assert await events(service, "r") == live
    taken = read = 0
    for name, what in live:  # as if the connection had been cut behind each of them, or within
        for part in range(1, len(what)) if name == "bytes" else ():
            assert await events(service, "r", taken + part, read) == split(live, taken + part, read)
        taken, read = (taken + len(what), read) if name == "bytes" else (taken, read + 1)
        assert await events(service, "r", taken, read) == split(live, taken, read)
    assert (taken, read) == (size, 11)


async def test_somebody_who_is_there_and_somebody_who_comes_late_see_the_same(service: Served) -> None:
    calls = ", ".join(
        f"{{name: s{number}, script: 'for i in $(seq 200); do echo out $i; echo err $i >&2; done'}}"
        for number in range(10)
    )
    await begin(service, "r", f"[{calls}]")
    live, other = await asyncio.gather(events(service, "r"), events(service, "r"))
    assert live == other == await events(service, "r")
    for number in range(10):
        begun, ended = live.index((f"s{number}", "running")), live.index((f"s{number}", "success"))
        written = "".join(what for _, what in live[begun + 1 : ended])
        assert (written.count("out"), written.count("err")) == (200, 200), number


async def test_what_is_sensitive_is_named_before_anybody_writes_it(service: Served) -> None:
    (service.work / "secret").mkdir(parents=True)
    (service.work / "secret/step.yml").write_text(SECRET)
    (service.work / "key.json").write_text(json.dumps({"name": "key", "value": 'the "key"'}))
    calls = (
        "[{name: s, step: ./secret, inputs: {token: 'tok-1234'}}, {name: t, script: 'echo ${{ steps.s.outputs.key }}'}]"
    )
    await begin(service, "r", calls)
    seen: list[tuple[str, tuple[str, ...], bool]] = []
    log = b""
    async with service.product() as client:
        async for event in client.FollowEvents(messages.FollowEventsRequest(id="r")):
            log += event.data
            if event.HasField("result"):
                seen.append(("/".join(event.result.path), tuple(event.masks), event.result.has_sensitive))
            elif b"tok-1234" in event.data:
                assert "tok-1234" in seen[-1][1], seen
    assert seen[:4] == [
        ("s", (), False),
        ("s", ("tok-1234",), False),
        ("s", ('the "key"', 'the \\"key\\"'), True),
        ("t", (), False),
    ]
    assert log == b"got tok-1234\nthe key\n"


async def test_steps_that_are_done_are_not_run_again(service: Served) -> None:
    calls = (
        "[{name: a, script: 'touch again'},"
        " {name: b, script: 'echo ${{ steps.a.outputs.x }} ${{ str(steps.a.outputs.n) }} $E'}]"
    )
    done = messages.DoneStep(exports={"E": "e"})
    done.outputs["x"].string_value = "x"
    done.outputs["n"].number_value = 3
    await begin(service, "r", calls, done={"a": done})
    assert await events(service, "r") == [
        ("a", "running"),
        ("a", "success"),
        ("b", "running"),
        ("bytes", "x 3 e\n"),
        ("b", "success"),
        ("", "success"),
    ]
    assert not (service.work / "again").exists()


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"done": {"b": messages.DoneStep()}}, grpc.StatusCode.INVALID_ARGUMENT, "only the first steps"),
        ({"done": {"nobody": messages.DoneStep()}}, grpc.StatusCode.INVALID_ARGUMENT, "only the first steps"),
        ({"present": ["/nowhere/at/all"]}, grpc.StatusCode.FAILED_PRECONDITION, "/nowhere/at/all is not here"),
    ],
)
async def test_what_cannot_be_gone_on_with(
    service: Served, more: dict[str, object], code: grpc.StatusCode, words: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await begin(service, "r", "[{name: a, script: 'true'}, {name: b, script: 'true'}]", **more)
    assert error.value.code() is code
    assert words in str(error.value.details())
    assert not (service.root / "r").exists()


async def test_offsets_that_cannot_be(service: Served) -> None:
    await begin(service, "r", "[{name: a, script: 'echo a'}]")
    await service.ended("r")
    for offset, read in ((-1, 0), (0, -1), (3, 0)):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await events(service, "r", offset, read)
        assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
