"""The loop of bridges and pipelines that are in different pods: it asks for the one, and tells of the other.

A row goes when the other pod has answered, and in the transaction of what follows from the answer. Whatever dies on the
way, here or there, the same call comes again, and means the same (docs/pods.md, "Triggers between pods").
"""

import asyncio
from datetime import timedelta
from typing import Final

import structlog
from pydantic import TypeAdapter

from application.bridges import elsewhere
from application.bridges.downstream import Elsewhere, wish_of
from application.jobs.needs_elsewhere import answer_needs
from application.pods.brought_visitors import tell_homes
from application.pods.cluster import Cluster
from application.pods.other_pods import other_pod
from application.pods.pod_calls import ask
from application.pods.visitor_states import tell_visited_pods
from application.services import Services
from application.subscriptions.elsewhere import renew
from application.subscriptions.for_other_pods import tell_of_release
from domain.errors import Forbidden, Invalid, PerdureError, Refused, TooLarge
from domain.pipelines.bridges import CREATION_FAILED
from domain.pipelines.cross_pod import DownstreamResponse
from domain.pipelines.status import Status
from loops.due_rows import RESCAN
from loops.outbox_rows import OutboxRowsLoop
from loops.rounds import every
from models.notifications import BRIDGES, OTHER_PODS
from models.repositories.pipelines import bridges, cross_pod, outbox
from models.repositories.pipelines.bridges import Bridge
from models.repositories.projects import subscriptions
from models.rows.outbox import UnsentRow

MAX_CONCURRENT: Final = 64
"""So many rows are carried out side by side; of each pod fewer (`pods.pod_client`)."""
_BATCH: Final = 200
_TOLD: Final = TypeAdapter(None)

log = structlog.get_logger()


class CrossPodLoop(OutboxRowsLoop):
    """Carries out the outbox rows that ask for other pods, until it is cancelled."""

    def __init__(self, services: Services, cluster: Cluster) -> None:
        """Take what the composition root made."""
        super().__init__(services, "other pods", MAX_CONCURRENT, OTHER_PODS, outbox.TO_PODS, outbox.BRIDGE_ELSEWHERE)
        self._cluster = cluster

    async def run(self) -> None:
        """Carry out rows for ever; now and then look what was not told, and what was not heard."""
        pause = self._services.settings.times.reconcile_every
        rounds = [
            asyncio.create_task(every(RESCAN, self.note_untold, "other pods hear later of pipelines")),
            asyncio.create_task(every(RESCAN, self.tell_blocked, "other pods hear later who is blocked")),
            asyncio.create_task(every(RESCAN, self.tell_homes, "homes hear later where their people are")),
            asyncio.create_task(every(pause, self.compare, "pipelines of other pods are looked at later")),
            asyncio.create_task(every(pause, self.renew, "other pods hear later of subscriptions")),
        ]
        try:
            await super().run()
        finally:
            for task in rounds:
                task.cancel()
            await asyncio.gather(*rounds, return_exceptions=True)

    async def work(self, row: UnsentRow) -> None:
        """Ask another pod, or tell it."""
        if row.kind == outbox.BRIDGE_ELSEWHERE:
            await self._ask(row)
        elif row.kind == outbox.NEEDS_ELSEWHERE:
            await answer_needs(self._services, self._cluster, row)
        elif row.kind == outbox.RELEASED:
            await tell_of_release(self._services, self._cluster, row.pipeline_id)
            await self.done(row)
        else:
            await self._tell(row)

    async def refuse(self, row: UnsentRow, bridge: Bridge, text: str) -> None:
        """Let a bridge fail."""
        await self._note(row, bridge, 0, DownstreamResponse(reason=CREATION_FAILED, text=text))

    async def note_untold(self) -> None:
        """Pipelines that began to run, or whose change nobody put into the outbox: the other pod is to hear of them."""
        now = self._services.clock()
        async with self._database.read() as connection:
            found = await cross_pod.untold(connection, _BATCH)
        if found:
            async with self._database.write() as connection:
                for pipeline_id in found:
                    await outbox.put(connection, outbox.TELL_UPSTREAM, pipeline_id, now)
            await self._services.notifications.notify(OTHER_PODS)

    async def compare(self) -> None:
        """Ask how pipelines are that bridges wait for and of which nothing was heard for a while."""
        before = self._services.clock() - timedelta(seconds=self._services.settings.times.reconcile_every)
        async with self._database.read() as connection:
            rows = await cross_pod.unchecked(connection, before, _BATCH)
        for row in rows:
            try:
                await elsewhere.look(self._services, self._cluster, row)
            except PerdureError as error:
                log.info("a pipeline of another pod is looked at later", bridge=row.bridge_id, reason=str(error))

    async def tell_blocked(self) -> None:
        """Tell the pods that people have visited who of them is blocked, or is not any more."""
        await tell_visited_pods(self._services, self._cluster)

    async def tell_homes(self) -> None:
        """Tell the homes of visitors where moves have brought what was theirs here."""
        await tell_homes(self._services, self._cluster)

    async def renew(self) -> None:
        """Say again which projects follow those of other pods."""
        async with self._database.read() as connection:
            rows = await subscriptions.due(connection, self._services.clock(), _BATCH)
        for row in rows:
            try:
                await renew(self._services, self._cluster, row)
            except PerdureError as error:
                log.info("a subscription is renewed later", subscription=row.id, reason=str(error))

    async def _ask(self, row: UnsentRow) -> None:
        """A bridge is pending whose pipeline another pod makes."""
        async with self._database.read() as connection:
            bridge = await bridges.read(connection, row.named_job)
        if bridge.job.status != Status.PENDING:
            await self.done(row)
            return
        wish = await wish_of(self._services, bridge)
        if not isinstance(wish, Elsewhere):  # its organisation has come here, or what it wants is refused by now
            await self._give_back(row)
            return
        response = await elsewhere.ask_for(self._cluster, bridge.job.id, wish)
        await self._note(row, bridge, wish.pod, response)

    async def _note(self, row: UnsentRow, bridge: Bridge, pod: int, response: DownstreamResponse) -> None:
        now = self._services.clock()
        async with self._database.write() as connection:
            if await bridges.is_pending(connection, bridge.job.id):
                await elsewhere.note(connection, bridge, pod, response, now)
            await outbox.mark_sent(connection, [row], now)
        await elsewhere.tell(self._services, [bridge.pipeline.id])

    async def _tell(self, row: UnsentRow) -> None:
        """The status of a pipeline has changed that a bridge of another pod has made."""
        async with self._database.read() as connection:
            of = await cross_pod.upstream_of(connection, row.pipeline_id)
            state = await cross_pod.state_of(connection, row.pipeline_id)
        if of is None or state is None:
            await self.done(row)
            return
        moved_to = other_pod(self._services, of.full_path)
        try:
            path = f"/bridges/{of.bridge_id}/downstream"
            await ask(self._cluster, of.pod if moved_to is None else moved_to, "PUT", path, _TOLD, state)
        except (Refused, Forbidden, Invalid, TooLarge) as error:
            log.info("nobody wants to hear of a pipeline", pipeline=row.pipeline_id, pod=of.pod, reason=str(error))
        async with self._database.write() as connection:
            await cross_pod.note_told(connection, row.pipeline_id, state.status)
            await outbox.mark_sent(connection, [row], self._services.clock())

    async def _give_back(self, row: UnsentRow) -> None:
        now = self._services.clock()
        async with self._database.write() as connection:
            await outbox.put(connection, outbox.BRIDGE, row.pipeline_id, now, job_ids=[row.named_job])
            await outbox.mark_sent(connection, [row], now)
        await self._services.notifications.notify(BRIDGES)
