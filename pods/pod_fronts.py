"""The fronts of a router: one for each pod of its directory, also while pods come, move and go.

A pod that gets another address keeps its front, so that what is held for it finds it there. The front of one that goes
is closed when its last request has ended.
"""

import asyncio
import logging
import resource
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Self

from aiohttp import web

from domain.pods.directory import Directory, Pod
from metrics.front_metrics import FrontMetrics
from pods.forwarding import Front
from pods.loopback import near
from pods.request_body import RequestBody
from pods.room import Room, most_of
from pods.upstream import Upstream
from settings import Settings

log = logging.getLogger("perdure.front")


class PodFront(Front):
    """A front that knows when it has nothing to do."""

    def __init__(self, settings: Settings, upstream: Upstream, metrics: FrontMetrics, room: Room) -> None:
        """As of every front; `room` is for what the pod has at work."""
        super().__init__(settings, upstream, metrics, room)
        self._running = 0
        self.idle = asyncio.Event()
        self.idle.set()

    async def handle(
        self,
        request: web.BaseRequest,
        body: RequestBody | None = None,
        is_led_here: Callable[[], bool] = lambda: True,
    ) -> web.StreamResponse:
        """Answer one request."""
        self._running += 1
        self.idle.clear()
        try:
            return await super().handle(request, body, is_led_here)
        finally:
            self._running -= 1
            if not self._running:
                self.idle.set()


class PodFronts(Mapping[int, PodFront]):
    """Fronts by the numbers of their pods, and the directory that they are of; an async context manager.

    Each has its share of what waits at once (`PERDURE_FRONT_HELD`) and of what is at work: none takes that of others.
    """

    def __init__(self, settings: Settings, directory: Directory, metrics: FrontMetrics) -> None:
        """Nothing is opened yet."""
        self._settings = settings
        self._metrics = metrics
        self._directory = directory
        self._fronts: dict[int, PodFront] = {}
        self._going: set[asyncio.Task[None]] = set()
        self.upstreams: dict[int, Upstream] = {}

    def __getitem__(self, number: int) -> PodFront:
        """That of a pod."""
        return self._fronts[number]

    def __iter__(self) -> Iterator[int]:
        """The numbers of the pods."""
        return iter(self._fronts)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._fronts)

    def current(self) -> Directory:
        """The directory of now: there is a front for each of its pods."""
        return self._directory

    async def __aenter__(self) -> Self:
        """Open a front for each pod. Raises ValueError for an address without a port."""
        await self.take(self._directory)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close every connection to a pod."""
        for task in self._going:
            task.cancel()
        await asyncio.gather(*self._going, return_exceptions=True)
        for upstream in self.upstreams.values():
            await upstream.__aexit__(kind, error, trace)

    async def take(self, directory: Directory) -> None:
        """Follow a later directory: no request that a pod has already is disturbed."""
        for pod in directory.pods:
            if pod.number not in self._fronts:
                await self._open(pod)
            elif pod.address != self._directory.by_number[pod.number].address:
                log.info("pod %d (%s) is at %s from now on", pod.number, pod.name, pod.address)
                self.upstreams[pod.number].move(pod.address)
        self._directory = directory
        for number in [number for number in self._fronts if number not in directory.by_number]:
            log.info("pod %d is removed", number)
            task = asyncio.create_task(_close(self._fronts.pop(number), self.upstreams.pop(number)))
            self._going.add(task)
            task.add_done_callback(self._going.discard)
        for front in self._fronts.values():
            front.holding.resize(self._share(directory))
            front.room.most = most_of(self._settings.front.pod_requests, len(directory.pods))

    async def _open(self, pod: Pod) -> None:
        log.info("pod %d (%s) is at %s", pod.number, pod.name, pod.address)
        limits = self._settings.front.model_copy(update={"apis": pod.address})
        upstream = Upstream((near(self._settings), self._settings.api_port), limits)
        room = Room(metrics=self._metrics.of_pod(pod.name))
        front = PodFront(self._settings.model_copy(update={"front": limits}), upstream, self._metrics, room)
        if any(other.is_leaving for other in self._fronts.values()):
            front.leave()
        self.upstreams[pod.number] = await upstream.__aenter__()
        self._fronts[pod.number] = front

    def _share(self, directory: Directory) -> int:
        share = self._settings.front.held // len(directory.pods)
        return min(share, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)


async def _close(front: PodFront, upstream: Upstream) -> None:
    """What waits for a pod that was removed waits in vain; what it answers goes on to its end."""
    try:
        await front.close()
        await front.idle.wait()
    finally:
        await upstream.__aexit__(None, None, None)
