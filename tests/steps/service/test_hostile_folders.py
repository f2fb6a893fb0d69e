"""Runs that write into their own folders, or have names like the service's own: others are served all the same."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from steps.engine.run_folder import RunFolder
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import Served, script, served, steps
from tests.steps.service.test_calls import all_of, refused
from tests.waiting import eventually

pytestmark = pytest.mark.slow  # each has a service of its own, and waits for what it makes of it

WAIT = "while [ ! -e go_on ]; do sleep 0.02; done"


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def has_written(service: Served, run_id: str) -> None:
    """Wait until a run has written something."""

    async def look() -> bool:
        path = service.work / f"{run_id}.begun"
        return path.exists()

    await eventually(look, f"run {run_id} has begun")


async def listed(service: Served) -> dict[str, int]:
    """The runs with their statuses."""
    async with service.client() as client:
        return {job.id: job.status for job in (await client.List(messages.ListRequest(), wait_for_ready=True)).jobs}


async def test_a_run_may_be_named_like_what_is_removed(service: Served) -> None:
    async with service.client() as client, service.product() as second:
        for run_id in ("a", "a.removed", "a.removed-x"):
            await client.Run(script(run_id, f"touch {run_id}.begun; sleep 600", service.work))
            await has_written(service, run_id)
        await second.Close(product.CloseRequest(id="a"))
    await service.kill()
    await service.start()
    assert await listed(service) == {"a.removed": messages.Job.running, "a.removed-x": messages.Job.running}


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"status": "x"}', '{"status": "success", "x": 1}', "null", "\0"]
)
async def test_a_state_that_is_none(service: Served, content: str) -> None:
    """The run is known to be at work, is cancelled, and notes its end; a service that starts meanwhile does so."""
    (service.folder / "content").write_text(content)
    text = f"cp {service.folder}/content $PERDURE_STEP_RUN/state.json; touch r.begun; sleep 600"
    async with service.client() as client:
        await client.Run(script("r", text, service.work))
        await has_written(service, "r")
    assert await listed(service) == {"r": messages.Job.running}
    await service.kill()
    await service.start()
    assert await listed(service) == {"r": messages.Job.running}
    (leader,) = {os.getpgid(process.ppid()) for process in service.left() if process.ppid() > 1}
    os.kill(leader, signal.SIGTERM)
    assert await service.ended("r") == messages.Job.cancelled
    assert not service.left()


async def test_a_state_that_is_none_of_a_run_that_is_gone(service: Served) -> None:
    async with service.client() as client:
        await client.Run(script("r", "touch r.begun; sleep 600", service.work))
        await has_written(service, "r")
    leader = RunFolder(service.root / "r").state().pid
    await service.kill()
    (service.root / "r/state.json").write_text("junk")
    (service.root / "r/request.json").write_text("junk")
    os.kill(leader, signal.SIGKILL)
    await service.start()
    assert await service.ended("r") == messages.Job.lost
    assert not service.left()


async def test_a_run_that_removes_its_own_folder(service: Served) -> None:
    async with asyncio.timeout(60), service.client() as client, service.product() as second:
        await client.Run(script("r", "rm -r $PERDURE_STEP_RUN; touch r.begun; sleep 600", service.work))
        followers = [client.FollowIO(messages.FollowIORequest(id="r")), client.Follow(messages.FollowRequest(id="r"))]
        await has_written(service, "r")
        assert await service.ended("r") == messages.Job.lost
        for follower in followers:
            follower.cancel()
        assert not service.left()
        await second.Close(product.CloseRequest(id="r"))
    assert await listed(service) == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_a_repository_that_never_answers(service: Served, number: signal.Signals) -> None:
    """Whether the run is told to end or its process is killed, git does not stay."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"git://127.0.0.1:{silent.getsockname()[1]}/x"
        async with service.client() as client:
            await client.Run(steps("r", f"[{{name: a, step: {{git: {{url: '{address}', rev: main}}}}}}]", service.work))

        async def is_asked() -> bool:
            return any(process.info["name"] == "git" for process in service.left())

        await eventually(is_asked, "git asks for the step")
        os.kill(RunFolder(service.root / "r").state().pid, number)
        wanted = messages.Job.cancelled if number == signal.SIGTERM else messages.Job.lost
        assert await service.ended("r") == wanted
    assert not service.left()


@pytest.mark.parametrize(
    "junk",
    ["junk", "[]", "{}", '{"result": {}, "stdout": "x", "stderr": 0}', '{"result": 1, "stdout": 0, "stderr": 0}'],
)
async def test_results_that_are_none(service: Served, junk: str) -> None:
    text = f"echo '{junk}' >> $PERDURE_STEP_RUN/results.jsonl"
    async with asyncio.timeout(60), service.client() as client, service.product() as second:
        await client.Run(script("r", text, service.work))
        assert await service.ended("r") == messages.Job.suceeded
        for call in (
            client.Follow(messages.FollowRequest(id="r")),
            second.FollowEvents(product.FollowEventsRequest(id="r")),
        ):
            code, said = await refused(all_of(call))
            assert (code.name, "not what" in said) == ("NOT_FOUND", True), said


async def test_a_line_of_results_without_an_end(service: Served) -> None:
    async with asyncio.timeout(60), service.client() as client:
        await client.Run(script("r", "head -c 100M /dev/zero >> $PERDURE_STEP_RUN/results.jsonl", service.work))
        assert await service.ended("r") == messages.Job.suceeded
        code, said = await refused(all_of(client.Follow(messages.FollowRequest(id="r"))))
        assert (code.name, "not what they were" in said) == ("NOT_FOUND", True), said


async def test_no_step_can_be_taken_for_one_of_another_run(service: Served) -> None:
    told = "script: 'echo $PERDURE_STEP_RUN'"
    calls = f"[{{name: a, {told}, env: {{PERDURE_STEP_RUN: y}}}}, {{name: b, {told}}}]"
    async with service.client() as client:
        await client.Run(steps("r", calls, service.work, env={"PERDURE_STEP_RUN": "x"}))
    assert await service.output("r") == (f"{service.root}/r\n".encode() * 2, b"")


async def test_what_steps_give_may_be_more_than_a_message_holds(service: Served) -> None:
    """Ten outputs of a MiB, and one of many numbers, which are larger as a message: all is told that fits."""
    (folder := service.work / "give").mkdir(parents=True)
    (folder / "step.yml").write_text(
        "spec: {outputs: {x: {type: string}}}\n---\n"
        "exec: {command: [sh, -c, 'cat $0/value > $1', '${{ step_dir }}', '${{ output_file }}']}\n"
    )
    (folder / "value").write_text('{"name": "x", "value": "%s"}\n' % ("x" * 1_000_000))
    (folder := service.work / "numbers").mkdir()
    (folder / "step.yml").write_text((service.work / "give/step.yml").read_text().replace("string", "array"))
    (folder / "value").write_text('{"name": "x", "value": [%s1]}\n' % ("1," * 450_000))
    calls = ", ".join([f"{{name: s{n}, step: ./give}}" for n in range(10)] + ["{name: numbers, step: ./numbers}"])
    async with asyncio.timeout(120), service.client() as client, service.product() as second:
        await client.Run(steps("r", f"[{calls}]", service.work))
        results = [one.result for one in await all_of(client.Follow(messages.FollowRequest(id="r")))]
        events = await all_of(second.FollowEvents(product.FollowEventsRequest(id="r")))
    assert [one.result for one in events if one.HasField("result")] == results
    assert len(results[1].outputs["x"].string_value) == 1_000_000
    assert (results[-2].name, results[-2].message) == ("numbers", "what the step got and gave is too large to be told")
    assert (results[-1].status, len(results[-1].sub_step_results)) == (messages.StepResult.success, 0)
    assert len(results) == 23


async def test_a_list_has_room_for_all_that_runs_say(service: Served) -> None:
    """Each run fails with a sentence of thousands of characters."""
    async with service.client() as client, service.product() as second:
        for number in range(3):
            text = "[{name: a, step: ./nowhere}]"
            folder = "/dev/null/" + "a/" * 1_900
            await client.Run(steps(f"r{number}", text, Path(folder)))
            assert await service.ended(f"r{number}") == messages.Job.failed
        (one, *_) = (await client.List(messages.ListRequest())).jobs
        assert (one.message[:3], one.message[-3:], len(one.message) <= 400) == ("[Er", "...", True)
        (same,) = (await second.Status(product.StatusRequest(id="r0"))).jobs
        assert len(same.message) > 3_500
