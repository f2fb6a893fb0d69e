"""What no caller may bring about: each request is refused with a code and a sentence, starts and leaves nothing."""

from collections.abc import AsyncIterator
from typing import Any

import psutil
import pytest

from steps.grpc_library import grpc
from steps.proto import runs_pb2 as product
from steps.proto import step_runner_pb2 as messages
from tests.steps.service.hostile_requests import FOR_BOTH, FOR_DOCUMENT, FOR_PRODUCT, GOOD, STEP, Cases
from tests.steps.service.serving import HEADER, Served, served


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    async with served(tmp_path_factory.mktemp("hostile")) as found:
        yield found


def cases(found: Cases) -> pytest.MarkDecorator:
    """Parameters, named by what is wrong."""
    return pytest.mark.parametrize(("change", "said"), [one[1:] for one in found], ids=[what for what, *_ in found])


@cases(
    [(what, {"steps_yaml" if key == "steps" else key: value for key, value in change.items()}, said)
     for what, change, said in FOR_BOTH] + FOR_DOCUMENT
)  # fmt: skip
async def test_by_the_document(service: Served, change: dict[str, Any], said: str) -> None:
    good = {"id": "r", "work_dir": str(service.work), "type": STEP, "steps_yaml": f"{HEADER}{GOOD}"}
    async with service.client() as client:
        await is_refused(service, client.Run(messages.RunRequest(**{**good, **change})), said)


@cases(FOR_BOTH + FOR_PRODUCT)
async def test_by_the_product(service: Served, change: dict[str, Any], said: str) -> None:
    good = {"id": "r", "work_dir": str(service.work), "steps": f"{HEADER}{GOOD}"}
    async with service.product() as client:
        await is_refused(service, client.Run(product.RunRequest(**{**good, **change})), said)


@pytest.mark.parametrize("path", ["/StepRunner/Run", "/perdure.steps.Runs/Run", "/StepRunner/FollowIO"])
@pytest.mark.parametrize(
    ("what", "data", "said"),
    [
        ("no message", b"\xff" * 20, "the request cannot be read"),
        ("cut", b"\x0a\x7fshort", "the request cannot be read"),
        ("no UTF-8", b"\x0a\x02\xff\xfe", "the request cannot be read"),
        ("half a character", b"\x0a\x03\xed\xa0\x80", "the request cannot be read"),
        ("a group without end", b"\x0b" * 1_000, "the request cannot be read"),
        ("a length beyond all", b"\x0a" + b"\xff" * 9 + b"\x01", "the request cannot be read"),
    ],
)
async def test_what_is_no_message(service: Served, path: str, what: str, data: bytes, said: str) -> None:
    async with service.channel() as channel:
        await is_refused(service, raw(channel, path, data), said)


async def test_a_value_deeper_than_any_reader(service: Served) -> None:
    """A list in a list in a list, in the input of a step."""
    data = b""
    for _ in range(200):
        for number in (1, 6):  # `values` of a list, `list_value` of a value
            data = bytes([number << 3 | 2]) + size(data) + data
    for number in (2, 5, 5):  # the value of an input, the inputs of a step, the steps of a request
        data = bytes([number << 3 | 2]) + size(data) + data
    async with service.channel() as channel:
        await is_refused(service, raw(channel, "/StepRunner/Run", data), "the request cannot be read")


def raw(channel: Any, path: str, data: bytes) -> Any:
    """A call with these bytes in the place of a message."""
    if "Follow" in path:
        return all_of(channel.unary_stream(path)(data))
    return channel.unary_unary(path)(data)


def size(data: bytes) -> bytes:
    """A length as protobuf writes it."""
    found, left = bytearray(), len(data)
    while left > 127:
        found.append(left & 127 | 128)
        left >>= 7
    return bytes([*found, left])


@pytest.mark.parametrize("field", ["ci_script", "steps_yaml", "work_dir", "id"])
async def test_giant_messages(service: Served, field: str) -> None:
    async with service.client() as client:
        fields: dict[str, Any] = {"id": "r", "type": STEP, field: "#" * (5 * 1024 * 1024)}
        await is_refused(
            service, client.Run(messages.RunRequest(**fields)), "larger than max", grpc.StatusCode.RESOURCE_EXHAUSTED
        )


async def test_a_map_of_a_hundred_thousand_names(service: Served) -> None:
    env = {f"A{number}": "x" for number in range(100_000)} | {"A-": "x"}
    async with service.client() as client:
        request = messages.RunRequest(id="r", type=STEP, steps_yaml=f"{HEADER}{GOOD}", env=env)
        await is_refused(service, client.Run(request), "a name of the environment is none")


async def test_calls_that_there_are_not(service: Served) -> None:
    async with service.channel() as channel:
        for path in ("/StepRunner/run", "/StepRunner/Exec", "/proto.StepRunner/Run", "/", "/../StepRunner/Run"):
            await is_refused(service, raw(channel, path, b""), "Method not found", grpc.StatusCode.UNIMPLEMENTED)


@pytest.mark.parametrize("run_id", ["nobody", "..", "../nobody", "a/b", "", "\0", "é" * 5_000, ".removed-x", "r" * 200])
async def test_runs_that_there_are_not(service: Served, run_id: str) -> None:
    async with service.client() as client, service.product() as second:
        for call in (
            client.Cancel(messages.CancelRequest(id=run_id)),
            all_of(client.Follow(messages.FollowRequest(id=run_id))),
            all_of(client.FollowIO(messages.FollowIORequest(id=run_id))),
            second.Cancel(product.CancelRequest(id=run_id)),
            all_of(second.FollowLogs(product.FollowLogsRequest(id=run_id))),
            all_of(second.FollowEvents(product.FollowEventsRequest(id=run_id))),
        ):
            await is_refused(service, call, "there is no run", grpc.StatusCode.NOT_FOUND)
        await second.Close(product.CloseRequest(id=run_id))


async def test_offsets_below_nothing(service: Served) -> None:
    async with service.client() as client, service.product() as second:
        for call in (
            client.FollowIO(messages.FollowIORequest(id="r", read_stdout=-1)),
            client.FollowIO(messages.FollowIORequest(id="r", read_stderr=-(2**31))),
            client.Follow(messages.FollowRequest(id="r", read_results=-(2**63))),
            second.FollowLogs(product.FollowLogsRequest(id="r", offset=-1)),
            second.FollowEvents(product.FollowEventsRequest(id="r", offset=-1)),
            second.FollowEvents(product.FollowEventsRequest(id="r", read_results=-1)),
        ):
            await is_refused(service, all_of(call), "below 0")


def test_there_are_many() -> None:
    assert len(FOR_BOTH) + len(FOR_DOCUMENT) + len(FOR_PRODUCT) >= 130
    assert len({what for what, *_ in FOR_BOTH + FOR_DOCUMENT + FOR_PRODUCT}) >= 125


async def all_of(call: Any) -> None:
    """Every response of a stream."""
    async for _ in call:
        pass


async def is_refused(
    service: Served, call: Any, said: str, code: grpc.StatusCode = grpc.StatusCode.INVALID_ARGUMENT
) -> None:
    """With this code and this sentence, and nothing is there that was not: no run, no folder, no process."""
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await call
    assert (refused.value.code(), said in str(refused.value.details())) == (code, True), refused.value.details()
    async with service.client() as client:
        assert not (await client.List(messages.ListRequest())).jobs
    assert list(service.root.iterdir()) == []
    assert not service.work.exists(), "nothing has run there"
    assert service.process is not None
    assert psutil.Process(service.process.pid).children(recursive=True) == [], "not even what starts runs was started"
    assert not service.left()
