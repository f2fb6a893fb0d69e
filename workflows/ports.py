"""The activities that workflows ask for, as abstract methods; `activities/` implements them.

The concrete method must carry `@activity.defn` again: an undecorated one has no definition of its own.
"""

from abc import ABC, abstractmethod

from temporalio import activity

from domain.messages import AwaitJob, Decision, Load, Loaded, Recorded
from domain.verdict import Verdict


class PipelinePort(ABC):
    """What a pipeline workflow needs from outside."""

    @activity.defn(name="load")
    @abstractmethod
    async def load(self, order: Load) -> Loaded:
        """Read the pipeline, the verdicts that nobody folded, and the commands it has answered."""

    @activity.defn(name="apply")
    @abstractmethod
    async def apply(self, decision: Decision) -> Recorded:
        """Record a decision; give back the rows as they are now."""

    @activity.defn(name="offer_jobs")
    @abstractmethod
    async def offer_jobs(self, decision: Decision) -> Recorded:
        """Record a decision that makes jobs pending, and wake the runners that wait for them."""

    @activity.defn(name="await_job")
    @abstractmethod
    async def await_job(self, order: AwaitJob) -> Verdict:
        """Wait for a runner: ends without a result; the outbox relay completes it by its id."""
