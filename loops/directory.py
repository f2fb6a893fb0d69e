"""The loop that brings the directory of the cluster to what this pod says of itself: its names, and its keys.

It finishes claims on names which a killed process, or a directory that was away, has left half done.
"""

import structlog

from application.pods.cluster import Cluster
from application.pods.settled_names import bring_in_line, settle_all
from application.services import Services
from domain.errors import PerdureError
from loops.rounds import every

EVERY = 2.0
"""Seconds between two rounds."""

log = structlog.get_logger()


class DirectoryLoop:
    """Tells the directory until it is cancelled."""

    def __init__(self, services: Services, cluster: Cluster) -> None:
        """Of this pod in its cluster."""
        self._services = services
        self._cluster = cluster
        self._compared_with: str | None = None

    async def run(self) -> None:
        """Tell for ever."""
        fault = "the directory could not be told of this pod; the next round tries again"
        await every(EVERY, self.round, fault, begins_at_once=True)

    async def round(self) -> None:
        """Tell what has changed. While the directory is away all waits.

        The first round, and one after each start of the directory, compares all names: either may have been restored.
        """
        try:
            await self._cluster.tell_keys()
            life = self._cluster.follower.epoch
            if life != self._compared_with:
                await bring_in_line(self._services, self._cluster)
                self._compared_with = life
            await settle_all(self._services, self._cluster)
        except PerdureError as error:
            log.debug("the directory hears later of this pod", error=str(error))
