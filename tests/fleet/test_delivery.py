"""Logs and results come home through every answer a server may give."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from domain.masked_stream import Masker
from fleet.client import JobKey, RunnerClient
from fleet.delivery import Delivery, DeliveryTimes
from fleet.reply import Answer, JobReply
from fleet.trace import Trace
from fleet.verdict import SUCCESS, failed
from tests.fleet.server import Fault, ProtocolServer, answer, lose_answer
from tests.waiting import HANGS

KEY = JobKey(1, "glcbt-1-secret")
TIMES = DeliveryTimes(first=0.01, interval=0.02, heartbeat=0.1)


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Trace]:
    trace = Trace(tmp_path / "log", Masker(()))
    yield trace
    trace.close()


@pytest.fixture
def delivery(client: RunnerClient, trace: Trace, server: ProtocolServer) -> Delivery:
    server.status[1] = "running"
    return Delivery(client, KEY, trace, times=TIMES)


async def test_final_update_carries_checksum_and_size(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    trace.write_output(b"hello\n")
    assert await delivery.finish(failed("script_failure", 3))
    final = server.finals[1]
    assert final["output"] == {"checksum": "crc32:363a3020", "bytesize": 6}
    assert (final["state"], final["failure_reason"], final["exit_code"]) == ("failed", "script_failure", 3)


async def test_pieces_are_no_longer_than_allowed(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    whole = bytes(range(256)) * 5000
    trace.write_output(whole)
    assert await delivery.finish(SUCCESS)
    assert server.logs[1] == whole
    sizes = [len(seen.body) for seen in server.calls("PATCH")]
    assert max(sizes) == 512 * 1024
    assert len(sizes) == 3


async def test_live_log_and_heartbeat(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    task = asyncio.create_task(delivery.run())
    trace.write_output(b"one\n")
    await server.until(lambda: server.logs[1] == b"one\n")
    trace.write_output(b"two\n")
    await server.until(lambda: server.logs[1] == b"one\ntwo\n")
    await server.until(lambda: len(server.calls("PUT")) >= 2)
    beat = server.calls("PUT")[-1].body
    assert (beat["state"], beat["output"]["bytesize"]) == ("running", 8)
    patches = len(server.calls("PATCH"))
    assert patches == 2
    delivery.end()
    await task


async def test_the_server_sets_the_pace(client: RunnerClient, trace: Trace, server: ProtocolServer) -> None:
    server.status[1] = "running"
    delivery = Delivery(client, KEY, trace, times=TIMES)
    server.faults["patch"].append(answer(202, X_GitLab_Trace_Update_Interval="60"))
    task = asyncio.create_task(delivery.run())
    trace.write_output(b"one\n")
    await server.until(lambda: len(server.calls("PUT")) == 1)
    trace.write_output(b"two\n")
    await server.until(lambda: len(server.calls("PUT")) == 3)
    assert len(server.calls("PATCH")) == 1
    delivery.end()
    await task


async def test_lost_202_is_resumed_by_416(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    trace.write_output(b"first\n")
    server.faults["patch"].append(lose_answer(server._patch))
    assert await delivery.finish(SUCCESS)
    assert server.logs[1] == b"first\n"
    assert [seen.headers["Content-Range"] for seen in server.calls("PATCH")] == ["0-5", "0-5"]
    assert server.finals[1]["state"] == "success"


async def test_416_in_the_middle_skips_what_is_stored(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    trace.write_output(b"0123456789")
    server.logs[1] += b"0123"
    assert await delivery.finish(SUCCESS)
    assert server.logs[1] == b"0123456789"
    assert [seen.headers["Content-Range"] for seen in server.calls("PATCH")] == ["0-9", "4-9"]


async def test_a_server_that_claims_too_much_still_gets_the_result(
    delivery: Delivery, trace: Trace, server: ProtocolServer
) -> None:
    trace.write_output(b"0123")
    server.logs[1] += b"something else, longer"
    assert await delivery.finish(SUCCESS)
    assert server.logs[1] == b"0123"
    assert server.finals[1]["state"] == "success"


async def test_412_sends_the_whole_log_again(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    trace.write_output(b"abc\n")
    assert await delivery.finish(SUCCESS) is True
    server.status[1] = "running"
    server.logs[1][:] = b"abX\n"
    assert await delivery.finish(SUCCESS)
    assert server.logs[1] == b"abc\n"
    assert [seen.headers["Content-Range"] for seen in server.calls("PATCH")] == ["0-3", "0-3"]


async def test_202_asks_again(delivery: Delivery, server: ProtocolServer) -> None:
    server.faults["update"].extend([answer(202), answer(202)])
    assert await delivery.finish(SUCCESS)
    assert len(server.calls("PUT")) == 3


async def test_refusals_are_tried_again(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    trace.write_output(b"abc\n")
    server.faults["patch"].extend([answer(400), answer(500), answer(200)])
    server.faults["update"].extend([answer(409), answer(503, Retry_After="1"), answer(400)])
    assert await delivery.finish(SUCCESS)
    assert server.logs[1] == b"abc\n"
    assert server.finals[1]["state"] == "success"


async def test_a_log_nobody_takes_does_not_hold_the_result_back(
    delivery: Delivery, trace: Trace, server: ProtocolServer
) -> None:
    trace.write_output(b"abc\n")
    server.faults["patch"].extend([answer(400)] * TIMES.flush_tries)
    server.faults["update"].append(answer(200))
    assert await delivery.finish(SUCCESS)
    assert len(server.calls("PATCH")) == TIMES.flush_tries


async def test_lost_answer_to_the_result(delivery: Delivery, server: ProtocolServer) -> None:
    server.faults["update"].append(lose_answer(server._update))
    assert await delivery.finish(SUCCESS)
    assert server.finals[1]["state"] == "success"
    assert len(server.calls("PUT")) == 2


async def test_an_outage_during_the_result(delivery: Delivery, trace: Trace, server: ProtocolServer) -> None:
    trace.write_output(b"abc\n")
    await server.stop()
    task = asyncio.create_task(delivery.finish(SUCCESS))
    await asyncio.sleep(0)
    await server.start()
    assert await task
    assert server.logs[1] == b"abc\n"
    assert server.finals[1]["state"] == "success"


async def test_giving_up_keeps_the_verdict(client: RunnerClient, trace: Trace, server: ProtocolServer) -> None:
    await server.stop()
    delivery = Delivery(client, KEY, trace, times=replace(TIMES, deliver_for=0.05))
    assert await delivery.finish(SUCCESS) is False


@pytest.mark.parametrize("fault", [answer(403), answer(202, Job_Status="canceled"), answer(202, Job_Status="failed")])
async def test_abort_stops_the_sending(
    client: RunnerClient, trace: Trace, server: ProtocolServer, fault: Fault
) -> None:
    server.status[1] = "running"
    replies: list[JobReply] = []
    delivery = Delivery(client, KEY, trace, times=TIMES, on_reply=replies.append)
    server.faults["patch"].append(fault)
    trace.write_output(b"x")
    await asyncio.wait_for(delivery.run(), HANGS)
    assert replies[-1].answer is Answer.ABORT
    assert await delivery.finish(SUCCESS)
    assert len(server.seen) == 1
