"""What routes tell each other by way of the services."""

from api.runner.queue_services import Queue
from tests.waiting import HANGS, eventually


async def test_the_queue_is_busy_until_a_while_after_the_last_job_though_nobody_claims_in_vain() -> None:
    queue = Queue()
    assert not queue.is_busy
    queue.found_a_job()
    assert queue.is_busy

    async def is_idle() -> bool:
        return not queue.is_busy

    await eventually(is_idle, "the queue is not busy any more", HANGS)
