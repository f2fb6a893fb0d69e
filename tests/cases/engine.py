"""What an engine is: something that can create the pipeline of a plan and let events happen to it."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol, TypeAlias

from domain.config.plan import Plan
from tests.cases.scenario import State

COMMANDS: Final[Mapping[str, str]] = {
    "cancel": "cancel_job",
    "play": "play_job",
    "unschedule": "unschedule_job",
    "retry": "retry_job",
    "retry_pipeline": "retry_pipeline",
    "cancel_pipeline": "cancel_pipeline",
}
"""Events that are operations of the product."""


class Engine(Protocol):
    """A pipeline to which events happen."""

    async def apply(self, event: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> None:
        """Let an event happen to each job in turn (to the pipeline without names) and wait until all is at rest."""

    async def state(self) -> State:
        """What is stored now."""

    async def faults(self) -> list[str]:
        """What must hold at rest and does not."""


Begin: TypeAlias = Callable[[Plan], Awaitable[Engine]]
"""Creates the pipeline of a plan and brings it to rest; may be called several times at once."""

OpenEngine: TypeAlias = Callable[[], AbstractAsyncContextManager[Begin]]
"""Starts what an engine needs, and ends it afterwards."""
