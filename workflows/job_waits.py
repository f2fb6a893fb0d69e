"""Who waits for the open jobs of a pipeline: its own workflow, and above its capacity waiting rooms.

Source: docs/seam.md, "Waiting rooms".
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from temporalio import workflow
from temporalio.exceptions import FailureError

with workflow.unsafe.imports_passed_through():
    from domain.messages import LetGo, RoomInput
    from domain.pipelines.verdict import Verdict
    from workflows.await_job import Waiting, verdict_of, wait_for, workflow_id
    from workflows.waiting_room import WaitingRoomWorkflow

OWN_JOBS = 500
"""So many jobs a pipeline's workflow waits for itself (docs/reference/temporal.md, "Limits of a workflow")."""
ROOM_JOBS = 200
"""So many jobs are in one waiting room."""


@dataclass(frozen=True, slots=True)
class OpenJob:
    """An open job, what is shown beside its activity, and the room that waits for it as SQL says."""

    id: int
    summary: str
    room: str = ""


class JobWaits:
    """The activities and rooms of one run of a pipeline's workflow."""

    def __init__(self, pipeline_id: int, arrived: Callable[[Verdict], None], changed: Callable[[], None]) -> None:
        """`arrived` is told how a job ended, `changed` that a job is not waited for any more."""
        self._pipeline_id = pipeline_id
        self._arrived = arrived
        self._changed = changed
        self._own: dict[int, Waiting] = {}
        self._rooms: dict[int, str] = {}
        self._ready: set[str] = set()
        self._dropped: set[int] = set()

    def __len__(self) -> int:
        """How many jobs are waited for."""
        return len(self._own) + len(self._rooms)

    @property
    def free(self) -> int:
        """How many more jobs the workflow can wait for itself."""
        return OWN_JOBS - len(self._own)

    def capacity(self) -> int:
        """How many jobs may be offered together: as many as the workflow can take itself, or a room full of them."""
        return max(self.free, ROOM_JOBS)

    async def take_in(self, jobs: Sequence[OpenJob]) -> str:
        """Have an activity for each job before any runner can see it; gives back the room, empty for our own.

        At most `capacity()` jobs.
        """
        fresh = [job for job in jobs if not self._is_held(job.id) and job.id not in self._rooms]
        if len(fresh) <= self.free and not any(job.id in self._dropped for job in fresh):
            for job in fresh:
                self._own[job.id] = wait_for(job.id, job.summary)
                self._own[job.id].add_done_callback(self._ended(job.id))
            return ""
        return await self._open_room([job.id for job in fresh])

    def _is_held(self, job_id: int) -> bool:
        """Whether an activity of our own waits for a job; one that was let go stays open, but nobody listens to it."""
        return job_id in self._own and job_id not in self._dropped

    async def _open_room(self, ids: Sequence[int]) -> str:
        room = f"{workflow_id(self._pipeline_id)}-room-{workflow.uuid4().hex[:12]}"
        await workflow.start_child_workflow(
            WaitingRoomWorkflow.run,
            RoomInput(self._pipeline_id, tuple(ids)),
            id=room,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            cancellation_type=workflow.ChildWorkflowCancellationType.ABANDON,
            static_summary=f"{len(ids)} jobs of pipeline {self._pipeline_id}",
        )
        await workflow.wait_condition(lambda: room in self._ready)
        self._ready.discard(room)
        self._rooms |= dict.fromkeys(ids, room)
        return room

    def ready(self, room: str) -> None:
        """A room has an activity for each of its jobs."""
        self._ready.add(room)

    def told(self, verdicts: Iterable[Verdict]) -> None:
        """A room says how jobs have ended."""
        for verdict in verdicts:
            self._rooms.pop(verdict.job_id, None)
            self._arrived(verdict)

    async def adopt(self, jobs: Sequence[OpenJob]) -> list[OpenJob]:
        """Take over what SQL says; gives back the jobs for which nobody waits.

        Rooms are asked for all they know. What is open no more is let go.
        """
        open_ids = {job.id for job in jobs}
        await self.let_go([job_id for job_id in (*self._own, *self._rooms) if job_id not in open_ids])
        elsewhere = [job for job in jobs if not self._is_held(job.id)]
        rooms = sorted({job.room for job in elsewhere if job.room})
        answered = set(await self._ask(rooms))
        self._rooms = {job.id: job.room for job in elsewhere if job.room in answered}
        return [job for job in elsewhere if job.room not in answered]

    async def _ask(self, rooms: Sequence[str]) -> list[str]:
        """Those of the rooms that there are."""
        answers = await asyncio.gather(*(_signal(room, "report") for room in rooms))
        return [room for room, answered in zip(rooms, answers, strict=True) if answered]

    async def let_go(self, ids: Iterable[int]) -> None:
        """These jobs are settled; whoever still waits for one of them (SQL was quicker) need not any more."""
        rooms: defaultdict[str, list[int]] = defaultdict(list)
        for job_id in ids:
            waiting = self._own.get(job_id)
            if waiting is not None:
                self._dropped.add(job_id)
                waiting.cancel()
            room = self._rooms.pop(job_id, "")
            if room:
                rooms[room].append(job_id)
        await asyncio.gather(*(_signal(room, "let_go", LetGo(tuple(held))) for room, held in sorted(rooms.items())))

    def _ended(self, job_id: int) -> Callable[["asyncio.Future[Verdict]"], None]:
        def ended(done: "asyncio.Future[Verdict]") -> None:
            self._own.pop(job_id, None)
            if done.cancelled():
                self._changed()
            elif job_id in self._dropped:
                done.exception()  # looked at, so that nobody warns of it
                self._changed()
            else:
                self._arrived(verdict_of(job_id, done))

        return ended


async def _signal(room: str, name: str, *arguments: object) -> bool:
    """Whether there is such a room."""
    try:
        await workflow.get_external_workflow_handle(room).signal(name, args=arguments)
    except FailureError:
        return False
    return True


def in_rooms(jobs: Sequence[OpenJob], first: int) -> list[Sequence[OpenJob]]:
    """Jobs in groups that fit: `first` of them together, then rooms full."""
    groups = [jobs[:first]] if first > 0 else []
    rest = jobs[max(first, 0) :]
    return [*filter(None, groups), *(rest[start : start + ROOM_JOBS] for start in range(0, len(rest), ROOM_JOBS))]
