"""How large the histories of a pipeline are: of its own workflow, of all that wait for it, of every run of each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import Message
from temporalio.api.common.v1 import Payload, Payloads
from temporalio.client import Client, WorkflowExecution

from workflows.await_job import workflow_id

MAX_EVENTS: Final = 10_240
"""Temporal warns of a history that is longer."""
MAX_PAYLOAD: Final = 256.0
"""KiB: Temporal warns of a payload that is larger."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of all runs together, and of the largest one; payloads are what one field of one event carries."""

    runs: int
    events: int
    bytes: int
    most_events: int
    most_bytes: int
    largest_payload: int


async def sizes(client: Client, pipeline_id: int) -> Sizes:
    """Look at every run of the workflows whose names begin with the pipeline's."""
    name = workflow_id(pipeline_id)
    runs = [
        found
        async for found in client.list_workflows(f"WorkflowId STARTS_WITH '{name}'")
        if found.id == name or found.id.startswith(f"{name}-")
    ]
    measured = [await _of(client, run) for run in runs]
    events, lengths, payloads = zip(*measured, strict=True)
    return Sizes(len(runs), sum(events), sum(lengths), max(events), max(lengths), max(payloads))


async def _of(client: Client, run: WorkflowExecution) -> tuple[int, int, int]:
    """Events, bytes and the largest payload of one run."""
    history = await client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()
    payloads = (payload.ByteSize() for event in history.events for payload in _payloads(event))
    return len(history.events), sum(event.ByteSize() for event in history.events), max(payloads, default=0)


def _payloads(message: Message) -> Iterator[Message]:
    """Payloads within a message, those of one field together."""
    if isinstance(message, Payload | Payloads):
        yield message
        return
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        items = value.values() if isinstance(value, Mapping) else value if field.is_repeated else (value,)
        for item in items:
            if isinstance(item, Message):
                yield from _payloads(item)
