"""The named points at which a server process is killed: one table.

A point is a row of steps that come one after the other. A step is reached when a function of the product is about to
run (`BEFORE`), has run (`AFTER`), or, if it gives a stream, when it gives an item (`BEFORE`). The process dies at each
step but those that only have to be `seen`.
"""

import importlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

BEFORE, AFTER = "before", "after"


class Story(StrEnum):
    """What runners do meanwhile; `tests.faults.test_kill_points` plays it."""

    LIFE = "life"
    """Everything that a runner calls in the life of two jobs, one of which needs the other's artifacts."""
    VANISH = "vanish"
    """A runner is given a job and is never heard of again."""
    LOST = "lost"
    """A runner takes two jobs up and falls silent."""
    POISON = "poison"
    """What a runner would be told of a job cannot be built."""
    COMMIT = "commit"
    """Somebody commits a file over the REST API, and again until they have a response."""
    ROTATE = "rotate"
    """A runner registers, gets itself a new token and unregisters."""


@dataclass(frozen=True)
class Step:
    """The `call`th time that `target` (`module:name`, or several with a space between) is reached.

    Not `fatal`: it has only to be seen.
    """

    target: str
    place: str = BEFORE
    call: int = 1
    fatal: bool = True

    @property
    def targets(self) -> list[str]:
        """Each of them."""
        return self.target.split()


@dataclass(frozen=True)
class KillPoint:
    """A point with a name."""

    name: str
    story: Story
    steps: tuple[Step, ...]


def _seen(target: str, place: str = AFTER) -> Step:
    return Step(target, place, fatal=False)


_ANNOUNCE = Step("api.runner.job_requests:_announce")
_NOTIFY = Step("models.notifications:Notifications.notify models.notifications:PostgresNotifications.notify")
_VERDICT = "models.repositories.pipelines.verdicts:end_jobs"
_LIFE: dict[str, tuple[Step, ...]] = {
    "a pipeline is written, not committed": (Step("models.repositories.pipelines.pipelines:create", AFTER),),
    "before the claim commits": (Step("api.runner.batched_claims:_answers", AFTER),),
    "before an offer commits": (Step("models.repositories.pipelines.decisions:record", AFTER),),
    "after the claim commits, before the answer": (_ANNOUNCE,),
    "while a lost answer's request is repeated": (_ANNOUNCE, _ANNOUNCE),
    "before the acceptance commits": (Step("models.repositories.queue.held_jobs:renew", AFTER),),
    "in the middle of a chunk's transaction": (Step("models.repositories.logs.trace_chunks:append", AFTER),),
    "after a chunk commits, before the answer": (Step("api.runner.traces:Response"),),
    "in the middle of an upload's body": (Step("storage.durable_file:DurableFile.write", call=3),),
    "after the object is stored, before its row": (Step("storage.objects:ObjectStore.put", AFTER),),
    "after an artifact's row, before the answer": (Step("api.runner.artifacts:JSONResponse"),),
    "the same file again, before its object is doomed": (
        Step("models.repositories.artifacts.unused_objects:doom_announced"),
    ),
    "at 412, before the restart of the log commits": (Step("models.repositories.logs.traces:restart", AFTER),),
    "in the middle of a verdict's transaction": (Step(_VERDICT, AFTER),),
    "after the verdict, before the notification": (_seen(_VERDICT), _NOTIFY),
    "after the verdict, before the answer": (Step("api.runner.updates:pipeline_topic"),),
    "after the verdict, before the relay took its row": (
        _seen(_VERDICT),
        Step("models.repositories.pipelines.outbox:unsent"),
    ),
    "after the relay told Temporal, before it wrote that": (
        _seen(_VERDICT),
        Step("models.repositories.pipelines.outbox:mark_sent"),
    ),
    "between freezing and archiving": (Step("loops.archiver:Archiver._copy"),),
    "after the object was read back, before the chunks go": (Step("models.repositories.logs.traces:copied"),),
}
_OTHERS = (
    KillPoint("after a registration, before the answer", Story.ROTATE, (Step("api.runner.registration:_registered"),)),
    KillPoint(
        "after a token was reset, before the answer",
        Story.ROTATE,
        (_seen("models.repositories.runners.runners:rotate_token"), Step("api.runner.registration:JSONResponse")),
    ),
    KillPoint(
        "after put_back, before its notification",
        Story.VANISH,
        (_seen("models.repositories.queue.leases:put_back"), Step("loops.sweeper:job_offers.tell")),
    ),
    KillPoint("after a move of a ref is noted, before git", Story.COMMIT, (Step("application.pushes.push:move_refs"),)),
    KillPoint(
        "after git moved a ref, before its pipeline", Story.COMMIT, (Step("application.pushes.push:move_refs", AFTER),)
    ),
    KillPoint(
        "after the pipeline of a moved ref, before the answer",
        Story.COMMIT,
        (_seen("application.pushes.push:move_refs"), Step("application.pushes.push:finish", AFTER)),
    ),
    KillPoint("in a sweep between two jobs", Story.LOST, (Step(_VERDICT, AFTER),)),
    KillPoint("during a poison payload's failure", Story.POISON, (Step("api.runner.batched_claims:_fail"),)),
)

POINTS: tuple[KillPoint, ...] = (
    *(KillPoint(name, Story.LIFE, steps) for name, steps in _LIFE.items()),
    *_OTHERS,
)
ON_POSTGRESQL = frozenset(
    {
        "after the claim commits, before the answer",
        "in the middle of a verdict's transaction",
        "after the verdict, before the notification",
        "in a sweep between two jobs",
    }
)
"""Where PostgreSQL goes another way: these are tried there as well."""


def owner_of(target: str) -> tuple[Any, str]:
    """The module or class that has a target, and the name it has there. ImportError, AttributeError if it has not."""
    module, _, path = target.partition(":")
    *classes, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in classes:
        owner = getattr(owner, part)
    getattr(owner, name)
    return owner, name
