"""The activities that workflows ask for, as abstract methods; `activities/` implements them.

The concrete method must carry `@activity.defn` again: an undecorated one has no definition of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from temporalio import activity
from temporalio.common import RetryPolicy

from domain.messages import (
    AskWindow,
    AwaitJob,
    ChooseNext,
    Chosen,
    Decision,
    DeliverHook,
    DeliverMessage,
    Load,
    Page,
    PinSteps,
    Recorded,
    ReportCommit,
    RetryWindow,
    StepsPinned,
)
from domain.pipelines.verdict import Verdict
from domain.schedules.ticks import Tick, TickResult

RECORD_LIMIT: Final = timedelta(seconds=60)
"""For one attempt of database work in a local activity."""
SENT_LIMIT: Final = timedelta(seconds=10)
"""For one that goes through Temporal, which may hand it to a poll that has just ended: the next attempt is not far.

An attempt that was only slow, and is made again, changes nothing.
"""
RECORD_RETRY: Final = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    maximum_interval=timedelta(seconds=10),
    non_retryable_error_types=["NotFound"],
)
"""Database work: tried until the database answers. A pipeline that was removed meanwhile will not come back."""

PIN_RETRY: Final = RetryPolicy(initial_interval=timedelta(seconds=0.5), maximum_attempts=3)
"""The pipeline stands still meanwhile; while the store is away nothing begins at a step."""

HEARD_WITHIN: Final = timedelta(seconds=10)
"""So long may an activity that beats be silent: its process is gone, or never got it."""

TICK_LIMIT: Final = timedelta(seconds=15)
"""For one attempt to carry out a tick, which waits for its pipeline for a while."""
TICK_RETRY: Final = RetryPolicy(initial_interval=timedelta(seconds=0.5), maximum_interval=timedelta(seconds=60))
"""A tick may wait for the end of another pipeline, for hours; an attempt leaves nothing in the history."""


class PipelinePort(ABC):
    """What a pipeline workflow needs from outside."""

    @activity.defn(name="load")
    @abstractmethod
    async def load(self, order: Load) -> Page:
        """Read a page of the pipeline, with the verdicts that nobody folded."""

    @activity.defn(name="apply")
    @abstractmethod
    async def apply(self, decision: Decision) -> Recorded:
        """Record a decision; give back the rows as they are now."""

    @activity.defn(name="read the pipeline")
    @abstractmethod
    async def read_pipeline(self, order: Load) -> Page:
        """The same as `load`, under the name that people see in Temporal."""

    @activity.defn(name="record what follows")
    @abstractmethod
    async def record(self, decision: Decision) -> Recorded:
        """The same as `apply`, under the name that people see in Temporal."""

    @activity.defn(name="offer_jobs")
    @abstractmethod
    async def offer_jobs(self, decision: Decision) -> Recorded:
        """Record a decision that makes jobs pending, and wake the runners that wait for them."""

    @activity.defn(name="await_job")
    @abstractmethod
    async def await_job(self, order: AwaitJob) -> Verdict:
        """Wait for a runner: ends without a result; the outbox relay completes it by its id."""

    @activity.defn(name="ask until when it may be retried")
    @abstractmethod
    async def retry_window(self, order: AskWindow) -> RetryWindow:
        """Until when a pipeline that did not succeed waits for commands."""

    @activity.defn(name="close as canceled")
    @abstractmethod
    async def request_cancellation(self) -> None:
        """Ask Temporal to cancel the workflow that calls this: only one that was asked may close as canceled."""


@dataclass(frozen=True, slots=True)
class Names:
    """The activities that are called as local ones."""

    load: Callable[[PipelinePort, Load], Awaitable[Page]]
    apply: Callable[[PipelinePort, Decision], Awaitable[Recorded]]


NAMES: Final = (
    Names(PipelinePort.load, PipelinePort.apply),
    Names(PipelinePort.read_pipeline, PipelinePort.record),
)
"""By `PipelineInput.names`. The name of an activity is part of a history, so an old one keeps those it has."""
NEWEST_NAMES: Final = len(NAMES) - 1


class StepPort(ABC):
    """What a pipeline workflow needs for attempts that begin at a step of their job."""

    @activity.defn(name="pin the steps before")
    @abstractmethod
    async def pin_steps(self, order: PinSteps) -> StepsPinned:
        """Keep what the steps before gave in the attempt that is retried, or say why none can begin there."""


class GroupPort(ABC):
    """What the workflow of a resource group needs from outside."""

    @activity.defn(name="choose_next")
    @abstractmethod
    async def choose_next(self, order: ChooseNext) -> Chosen:
        """Read who waits for the slot, and choose whose turn it is."""


class HookPort(ABC):
    """What the workflow of a delivery to a webhook needs from outside."""

    @activity.defn(name="deliver_hook")
    @abstractmethod
    async def deliver_hook(self, order: DeliverHook) -> str:
        """Try once; the state of the delivery when it has ended."""


class MessagePort(ABC):
    """What the workflow of a message to somebody needs from outside."""

    @activity.defn(name="deliver_message")
    @abstractmethod
    async def deliver_message(self, order: DeliverMessage) -> str:
        """Try once; the state of the message when it has ended."""


class ReportPort(ABC):
    """What the workflow of a report to a forge needs from outside."""

    @activity.defn(name="report_commit")
    @abstractmethod
    async def report_commit(self, order: ReportCommit) -> bool:
        """Tell what is to be told now; whether there is more by now."""


class SchedulePort(ABC):
    """What the workflow of a tick needs from outside."""

    @activity.defn(name="carry_out_tick")
    @abstractmethod
    async def carry_out_tick(self, order: Tick) -> TickResult:
        """Record the tick and wait a while for its pipeline. Fails, to be tried again, as long as there is none."""
