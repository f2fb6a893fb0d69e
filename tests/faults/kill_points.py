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
    """A point with a name. `everywhere`: PostgreSQL goes another way there, so it is tried as well."""

    name: str
    story: Story
    steps: tuple[Step, ...]
    everywhere: bool = False


def _seen(target: str, place: str = AFTER) -> Step:
    return Step(target, place, fatal=False)


_ANNOUNCE = Step("api.runner.requests:_announce")
_NOTIFY = Step("models.notifications:Notifications.notify models.notifications:PostgresNotifications.notify")
_VERDICT = "models.repositories.verdicts:end_jobs"
_LIFE = {
    "a pipeline is written, not committed": Step("models.repositories.pipelines:create", AFTER),
    "before an offer commits": Step("models.repositories.decisions:record", AFTER),
    "before the acceptance commits": Step("models.repositories.held_jobs:renew", AFTER),
    "in the middle of git's fetch": Step("git.smart_http:_output", call=3),
    "after a chunk commits, before the answer": Step("api.runner.traces:Response"),
    "in the middle of an upload's body": Step("storage.durable_file:DurableFile.write", call=3),
    "before an object has its name": Step("storage.durable_file:DurableFile._finish"),
    "after the object is stored, before its row": Step("storage.objects:ObjectStore.put", AFTER),
    "before an artifact's row commits": Step("models.repositories.artifacts:add", AFTER),
    "after an artifact's row, before the answer": Step("api.runner.artifacts:JSONResponse"),
    "before an upload is announced": Step("models.repositories.unused_objects:announce", AFTER),
    "the same file again, before its object is doomed": Step("models.repositories.unused_objects:doom_announced"),
    "after a download is granted, before its bytes": Step("api.runner.artifacts:download", AFTER),
    "at 412, before the restart of the log commits": Step("models.repositories.traces:restart", AFTER),
    "at 412, before the answer": Step("api.runner.updates:TraceMismatch"),
    "after the verdict, before the answer": Step("api.runner.updates:pipeline_topic"),
    "between freezing and archiving": Step("activities.loops.archiver:Archiver._copy"),
    "in the middle of a log's object": Step("activities.loops.archiver:Archiver._chunks"),
    "after the object was read back, before the chunks go": Step("models.repositories.traces:copied"),
    "before the chunks are gone for good": Step("models.repositories.traces:drop", AFTER),
}
"""Points of one step in the life of jobs."""
_LIFE_EVERYWHERE: dict[str, tuple[Step, ...]] = {
    "before the claim commits": (Step("api.runner.requests:_prepared", AFTER),),
    "after the claim commits, before the answer": (_ANNOUNCE,),
    "while a lost answer's request is repeated": (_ANNOUNCE, _ANNOUNCE),
    "in the middle of a chunk's transaction": (Step("models.repositories.traces:append", AFTER),),
    "in the middle of a verdict's transaction": (Step(_VERDICT, AFTER),),
    "after the verdict, before the notification": (_seen(_VERDICT), _NOTIFY),
    "after the verdict, before the relay took its row": (_seen(_VERDICT), Step("models.repositories.outbox:unsent")),
    "after the relay took its row, before it told Temporal": (
        _seen(_VERDICT),
        Step("activities.loops.relay:Relay._send_all"),
    ),
    "after the relay told Temporal, before it wrote that": (
        _seen(_VERDICT),
        Step("models.repositories.outbox:mark_sent"),
    ),
}
_OTHERS = (
    KillPoint("while a contact is written", Story.ROTATE, (Step("models.repositories.contacts:write", AFTER),)),
    KillPoint("before a registration commits", Story.ROTATE, (Step("models.repositories.runners:create", AFTER),)),
    KillPoint("after a registration, before the answer", Story.ROTATE, (Step("api.runner.registration:_registered"),)),
    KillPoint("before a new token commits", Story.ROTATE, (Step("models.repositories.runners:rotate_token", AFTER),)),
    KillPoint(
        "after a token was reset, before the answer",
        Story.ROTATE,
        (_seen("models.repositories.runners:rotate_token"), Step("api.runner.registration:JSONResponse")),
        everywhere=True,
    ),
    KillPoint("before a process is forgotten", Story.ROTATE, (Step("models.repositories.runners:remove_manager"),)),
    KillPoint(
        "after put_back, before its notification",
        Story.VANISH,
        (_seen("models.repositories.leases:put_back"), Step("activities.loops.sweeper:job_offers.tell")),
        everywhere=True,
    ),
    KillPoint("in a sweep between two jobs", Story.LOST, (Step(_VERDICT, AFTER),), everywhere=True),
    KillPoint("during a poison payload's failure", Story.POISON, (Step("api.runner.requests:_fail"),), everywhere=True),
    KillPoint("after a poison payload's failure", Story.POISON, (Step("api.runner.requests:_fail", AFTER),)),
)

POINTS: tuple[KillPoint, ...] = (
    *(KillPoint(name, Story.LIFE, (step,)) for name, step in _LIFE.items()),
    *(KillPoint(name, Story.LIFE, steps, everywhere=True) for name, steps in _LIFE_EVERYWHERE.items()),
    *_OTHERS,
)


def owner_of(target: str) -> tuple[Any, str]:
    """The module or class that has a target, and the name it has there. ImportError, AttributeError if it has not."""
    module, _, path = target.partition(":")
    *classes, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in classes:
        owner = getattr(owner, part)
    getattr(owner, name)
    return owner, name
