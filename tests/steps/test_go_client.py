"""A client in Go on stock gRPC, generated from the requirement document's own file, is served like one of ours."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from steps.proto import step_runner_pb2 as messages
from tests.steps.go_client import OF_DOCUMENT, OURS, GoClient
from tests.steps.service.serving import Served, served
from tests.steps.service.writes import content
from tests.waiting import eventually

pytestmark = pytest.mark.nightly  # a minute of Go's compiler, for the one judge that shares nothing with the service

WRITES = Path(__file__).parent / "service/writes.py"
HALF = 8 * 1024 * 1024
CUTS = 24


@pytest.fixture(scope="module")
async def of_document() -> GoClient:
    return await asyncio.to_thread(OF_DOCUMENT.install)


@pytest.fixture(scope="module")
async def ours() -> GoClient:
    return await asyncio.to_thread(OURS.install)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as found:
        found.work.mkdir()
        yield found


def taken(folder: Path) -> tuple[bytes, bytes]:
    """What a client has written down of both streams."""
    return (folder / "stdout").read_bytes(), (folder / "stderr").read_bytes()


async def test_it_runs_loses_its_connection_and_has_every_byte_once(of_document: GoClient, service: Served) -> None:
    """Twice a third of its connections each are closed, cut below it, or given up; between, the program is killed."""
    (folder := service.folder / "taken").mkdir()
    writes = f"{sys.executable} {WRITES} {{}} {HALF}"
    wait = "while [ ! -e go_on ]; do sleep 0.05; done"
    text = f"{writes.format('$FROM-1')}; {wait}; {writes.format('$FROM-2')}"
    assert await of_document.call(service.path, "run", "r", service.work, text) == "begun"
    first = await of_document.start(service.path, "output", "r", folder, "1", str(CUTS))

    async def has_half() -> bool:
        return all((folder / name).exists() and (folder / name).stat().st_size == HALF for name in ("stdout", "stderr"))

    await eventually(has_half, "it has all that there is", within=60)
    assert first.returncode is None, "the run has not ended, so it goes on following"
    first.kill()
    await first.wait()
    (service.work / "go_on").touch()
    told = await of_document.call(service.path, "output", "r", folder, "2", str(CUTS))
    assert told["cuts"] == {"client": CUTS // 3, "socket": CUTS // 3, "call": CUTS // 3}
    codes = told["codes"]
    assert codes.pop("OK") >= 1
    assert codes.keys() == {"Canceled", "Unavailable"}, "closed and given up by itself; cut by something else"
    assert codes["Unavailable"] <= CUTS // 3
    expected = tuple(
        b"".join(content(f"{stream} Go-{half}", HALF) for half in (1, 2)) for stream in ("out", "err")
    )  # fmt: skip
    assert taken(folder) == expected
    assert await of_document.call(service.path, "results", "r") == 3, "begun, ended, and the run as a whole"
    (job,) = await of_document.call(service.path, "list")
    assert (job["id"], job["status"]) == ("r", "suceeded")
    assert job["finished"] > 0


async def test_it_cancels_and_lists(of_document: GoClient, service: Served) -> None:
    text = "(setsid sleep 600 &); echo begun; sleep 600"
    (folder := service.folder / "taken").mkdir()
    await of_document.call(service.path, "run", "r", service.work, text)
    following = await of_document.start(service.path, "output", "r", folder, "1", "0")

    async def has_begun() -> bool:
        return (folder / "stdout").exists() and (folder / "stdout").read_bytes() == b"begun\n"

    await eventually(has_begun, "it has seen the beginning")
    (job,) = await of_document.call(service.path, "list")
    assert job == {"id": "r", "status": "running", "number": messages.Job.running, "finished": 0}
    assert len(service.left()) == 2, "both that sleep"
    assert (await of_document.call(service.path, "cancel", "r"))["code"] == "OK"
    await of_document.ended(following)
    (job,) = await of_document.call(service.path, "list")
    assert (job["number"], job["finished"] > 0) == (messages.Job.cancelled, True), "a number that is ours"
    assert not service.left()
    assert (await of_document.call(service.path, "cancel", "nobody"))["code"] == "NotFound"


async def test_it_is_refused_what_nobody_may_ask(of_document: GoClient, service: Served) -> None:
    told = await of_document.call(service.path, "refused", service.work)
    assert len(told) == 24
    for what, answer in told.items():
        assert answer["code"] == "InvalidArgument", (what, answer)
        kind = what.partition(" ")[0].rstrip(",")
        assert SAID[kind] in answer["message"], (what, answer)
    assert await of_document.call(service.path, "list") == []
    assert list(service.root.iterdir()) == []
    assert list(service.work.iterdir()) == []
    assert not service.left()


SAID = {
    "name": "a name of the environment is none",
    "id": "the id of a run has 1 to 128 letters",
    "type": "`type` must be `step` or `script`",
    "neither": "a run of type `",
    "both": "a run of type `",
    "the": "a run of type `",
}
"""What a refusal says, by the first word of what is wrong."""


async def test_what_the_document_leaves_open_is_in_our_file(ours: GoClient, service: Served) -> None:
    """Steps as messages, results that are followed one by one, the second service."""
    (service.work / "greet").mkdir()
    (service.work / "greet/step.yml").write_text(
        "spec:\n"
        "  inputs: {who: {type: string}, times: {type: number}}\n"
        "  outputs: {line: {type: string}}\n"
        "---\n"
        "exec:\n"
        "  command:\n"
        "    - sh\n"
        "    - -c\n"
        """    - 'echo "{\\"name\\": \\"line\\", \\"value\\": \\"hi $0 $1\\"}" > "$2"'\n"""
        """    - ${{ inputs.who }}\n    - ${{ str(inputs.times) }}\n    - ${{ output_file }}\n"""
    )
    told = await ours.call(service.path, "steps", "r", service.work, "./greet")
    assert told == ["first running", "first success", "again running", "again success", " success"]
    assert await ours.call(service.path, "whole", "r") == "hi Go 2 Go\n"
    assert await ours.call(service.path, "list") == []
    assert list(service.root.iterdir()) == []
