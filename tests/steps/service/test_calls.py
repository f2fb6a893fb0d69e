"""The five calls, and those of the second service."""

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from steps.grpc_library import grpc
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.serving import HEADER, Served, script, served, steps
from tests.waiting import eventually

pytestmark = pytest.mark.slow
"""Processes of its own for each test; a second and more of each."""


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        yield found


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    """Code and text of a call that is refused."""
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    return error.value.code(), str(error.value.details())


async def all_of(call: Any) -> list[Any]:
    """Every response of a stream."""
    return [response async for response in call]


async def test_a_run_from_its_beginning_to_its_end(service: Served) -> None:
    async with service.client() as client:
        calls = "[{name: a, script: 'echo out; echo err >&2'}, {name: b, script: 'exit 3'}]"
        await client.Run(steps("r1", calls, service.work))
        results = [one.result async for one in client.Follow(messages.FollowRequest(id="r1"))]
        told = [("/".join(one.path), one.status, one.stdout) for one in results]
        kinds = messages.StepResult
        assert told == [
            ("a", kinds.running, 0),
            ("a", kinds.success, 4),
            ("b", kinds.running, 4),
            ("b", kinds.failure, 4),
            ("", kinds.failure, 4),
        ]
        assert results[3].exec_result.exit_code == 3
        assert [one.name for one in results[-1].sub_step_results] == ["a", "b"]
        later = [one.result async for one in client.Follow(messages.FollowRequest(id="r1", read_results=3))]
        assert later == results[3:]
        (job,) = (await client.List(messages.ListRequest())).jobs
        assert (job.id, job.status, job.message) == ("r1", messages.Job.failed, "step b has not succeeded")
        assert job.finished_time.seconds > 0
    assert await service.output("r1") == (b"out\n", b"err\nstep b: the command ended with exit code 3\n")
    assert await service.output("r1", 2, 4) == (b"t\n", b"step b: the command ended with exit code 3\n")


async def test_steps_come_as_messages_too(service: Served) -> None:
    (service.work / "greet").mkdir(parents=True)
    (service.work / "greet/step.yml").write_text(
        "spec: {inputs: {who: {type: string}, n: {type: number}}, outputs: {}}\n---\n"
        "exec: {command: [echo, '${{ inputs.who }} ${{ str(inputs.n) }}', '${{ env.E }}']}\n"
    )
    step = messages.Step(name="a", env={"E": "e"})
    step.step.string_value = "./greet"
    step.inputs["who"].string_value = "ada"
    step.inputs["n"].number_value = 2
    request = messages.RunRequest(id="r", work_dir=str(service.work), type=messages.RunRequest.step, steps=[step])
    async with service.client() as client:
        await client.Run(request)
    assert await service.output("r") == (b"ada 2 e\n", b"")


async def test_a_repeated_id_begins_nothing(service: Served) -> None:
    async with service.client() as client:
        for _ in range(3):
            await client.Run(script("r", "echo once >> count", service.work))
        assert await service.ended("r") == messages.Job.suceeded
        await client.Run(script("r", "echo twice >> count", service.work))
        assert len((await client.List(messages.ListRequest())).jobs) == 1
    assert (service.work / "count").read_text() == "once\n"


async def test_a_cancelled_run_ends(service: Served) -> None:
    async with service.client() as client:
        await client.Run(script("r", "trap 'echo asked; exit' TERM; echo begun; sleep 600 & wait", service.work))
        output = asyncio.create_task(service.output("r"))

        async def has_begun() -> bool:
            return len((service.root / "r/stdout").read_bytes()) > 0 if (service.root / "r/stdout").exists() else False

        await eventually(has_begun, "the script has begun")
        await client.Cancel(messages.CancelRequest(id="r"))
        assert await output == (b"begun\nasked\n", b"")
        assert await service.ended("r") == messages.Job.cancelled
        await client.Cancel(messages.CancelRequest(id="r"))
    assert not service.left()


async def test_a_run_that_is_cancelled_at_once_ends(service: Served) -> None:
    async with service.client() as client:
        for number in range(10):
            await client.Run(script(f"r{number}", "sleep 600", service.work))
            await client.Cancel(messages.CancelRequest(id=f"r{number}"))
        for number in range(10):
            assert await service.ended(f"r{number}") == messages.Job.cancelled
    assert not service.left()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"type": messages.RunRequest.unknown}, "`type` must be `step` or `script`"),
        ({"type": messages.RunRequest.step}, "a run of type `step` has steps and no `ci_script`"),
        ({"ci_script": ""}, "a run of type `script` has a `ci_script` alone"),
        ({"steps_yaml": "x"}, "a run of type `script` has a `ci_script` alone"),
        ({"type": messages.RunRequest.step, "ci_script": "", "steps_yaml": "{}"}, "A step file has two documents"),
        (
            {"type": messages.RunRequest.step, "ci_script": "", "steps_yaml": f"{HEADER}run: [{{name: a}}]"},
            "steps:3:7: run:0 config must use exactly one of these keys",
        ),
        ({"env": {"A-B": "x"}}, "a name of the environment is none, 'A-B'"),
        ({"env": {"": "x"}}, "a name of the environment is none, ''"),
        ({"env": {"A": "\0"}}, "A has the character NUL in it"),
        ({"id": ""}, "the id of a run has 1 to 128"),
        ({"id": "../x"}, "the id of a run has 1 to 128"),
        ({"id": "a/b"}, "the id of a run has 1 to 128"),
        ({"id": "."}, "the id of a run has 1 to 128"),
        ({"id": "x" * 129}, "the id of a run has 1 to 128"),
    ],
)
async def test_what_cannot_be_run_is_refused_and_leaves_nothing(
    service: Served, change: dict[str, Any], said: str
) -> None:
    """Each starts a service of its own: nothing that another request has left is taken for its own."""
    good = {"id": "r", "work_dir": str(service.work), "type": messages.RunRequest.script, "ci_script": "touch done"}
    async with service.client() as client:
        code, text = await refused(client.Run(messages.RunRequest(**{**good, **change})))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert said in text
    assert list(service.root.iterdir()) == []
    assert not service.work.exists()


async def test_what_is_not_there_is_not_found(service: Served) -> None:
    async with service.client() as client, service.product() as second:
        calls = [
            client.Cancel(messages.CancelRequest(id="nobody")),
            client.Cancel(messages.CancelRequest(id="../nobody")),
            all_of(client.Follow(messages.FollowRequest(id="nobody"))),
            all_of(client.FollowIO(messages.FollowIORequest(id="nobody"))),
            second.Status(product.StatusRequest(id="nobody")),
            all_of(second.FollowLogs(product.FollowLogsRequest(id="nobody"))),
        ]
        for call in calls:
            assert (await refused(call))[0] is grpc.StatusCode.NOT_FOUND


async def test_offsets_that_lead_nowhere_are_refused(service: Served) -> None:
    async with service.client() as client, service.product() as second:
        await client.Run(script("r", "echo x", service.work))
        await service.ended("r")
        calls = [
            all_of(client.FollowIO(messages.FollowIORequest(id="r", read_stdout=-1))),
            all_of(client.FollowIO(messages.FollowIORequest(id="r", read_stderr=1))),
            all_of(client.Follow(messages.FollowRequest(id="r", read_results=-1))),
            all_of(second.FollowLogs(product.FollowLogsRequest(id="r", offset=3))),
        ]
        for call in calls:
            assert (await refused(call))[0] is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_message_that_is_too_large_is_refused(service: Served) -> None:
    async with service.client() as client:
        code, _ = await refused(client.Run(script("r", "#" * (5 * 1024 * 1024), service.work)))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_the_second_service(service: Served) -> None:
    """Variables, files of them, a time limit, one log in its order, and an end of it all."""
    async with service.product() as client:
        request = product.RunRequest(
            id="r",
            work_dir="/nowhere",
            job=product.Job(
                build_dir=str(service.work),
                variables=[
                    product.Variable(key="PLAIN", value="p"),
                    product.Variable(key="FILE", value="in a file\n", file=True),
                ],
            ),
            steps=HEADER + "run: [{name: a, script: 'echo ${{ vars.PLAIN }}; echo e >&2; cat ${{ vars.FILE }}'}]",
        )
        await client.Run(request)
        log = [piece.data async for piece in client.FollowLogs(product.FollowLogsRequest(id="r"))]
        assert sorted(b"".join(log).splitlines()) == [b"e", b"in a file", b"p"]
        for offset in range(len(b"".join(log)) + 1):
            rest = [piece.data async for piece in client.FollowLogs(product.FollowLogsRequest(id="r", offset=offset))]
            assert b"".join(rest) == b"".join(log)[offset:]
        (status,) = (await client.Status(product.StatusRequest())).jobs
        assert (status.id, status.status) == ("r", product.Status.success)
        assert status.end_time.ToNanoseconds() >= status.start_time.ToNanoseconds() > 0
        sleeps = f"{HEADER}run: [{{name: a, script: sleep 600}}]"
        slow = product.RunRequest(id="slow", work_dir=str(service.work), steps=sleeps)
        slow.timeout.FromMilliseconds(300)
        await client.Run(slow)
        assert await service.ended("slow") == messages.Job.timed_out
        (status,) = (await client.Status(product.StatusRequest(id="slow"))).jobs
        assert (status.status, status.message) == (product.Status.failure, "step a has not succeeded")
        for run_id in ("r", "slow", "nobody"):
            await client.Close(product.CloseRequest(id=run_id))
        assert not (await client.Status(product.StatusRequest())).jobs
    assert list(service.root.iterdir()) == []


async def test_closing_ends_what_runs(service: Served) -> None:
    async with service.product() as second, service.client() as client:
        await client.Run(script("r", "sleep 600", service.work))
        await second.Close(product.CloseRequest(id="r"))
        assert not (await client.List(messages.ListRequest())).jobs
    assert not service.left()


async def test_the_socket_is_for_its_user_alone(service: Served) -> None:
    assert stat.S_IMODE(service.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(service.path.parent.stat().st_mode) == 0o700
