"""Figures from the database of a pod for whoever reads the metrics."""

from collections.abc import Mapping
from typing import Final

import structlog

from metrics import names
from metrics.labels import tag_set
from metrics.measured import FRESH, Measured
from metrics.sampled import Reading
from metrics.server_metrics import ServerMetrics
from models.repositories.installation.measurements import Measurements, Waiting, measure
from models.session import Database

TOLD: Final = (
    names.QUEUE_JOBS,
    names.QUEUE_OLDEST,
    names.UNFOLDED,
    names.UNFOLDED_OLDEST,
    names.PIPELINES,
    names.JOBS,
    names.OUTBOX_ROWS,
    names.OUTBOX_OLDEST,
    names.LEASES,
    names.LEASE_SILENCE,
    names.LEASE_TICK_AGE,
    names.LOGS_TO_MOVE,
    names.OBJECTS_TO_DELETE,
    names.MEASURED_AT,
)

log = structlog.get_logger()


class Measuring(Measured):
    """The figures of one database, for the metrics of one process."""

    def __init__(self, database: Database, metrics: ServerMetrics, *, fresh: float = FRESH) -> None:
        """Nothing is read before somebody asks."""
        super().__init__(self._look, self._look_failed, fresh)
        self._database = database
        self._metrics = metrics

    async def _look(self) -> Reading:
        async with self._database.read() as connection:
            return self._readings(await measure(connection))

    def _look_failed(self, error: Exception) -> None:
        self._metrics.measure_failures.inc()
        log.warning("the figures for the metrics could not be read", error=repr(error)[:200])

    def _readings(self, found: Measurements) -> Reading:
        jobs, ages = self._by_tags(found.queue)
        return {
            names.QUEUE_JOBS: jobs,
            names.QUEUE_OLDEST: ages,
            names.UNFOLDED: {(): found.unfolded.number},
            names.UNFOLDED_OLDEST: {(): found.unfolded.age},
            names.PIPELINES: self._by_source(found.pipelines),
            names.JOBS: _keyed(found.jobs),
            names.OUTBOX_ROWS: {(kind,): waiting.number for kind, waiting in found.unsent.items()},
            names.OUTBOX_OLDEST: {(kind,): waiting.age for kind, waiting in found.unsent.items()},
            names.LEASES: {("taken_up" if taken else "handed_out",): rows for taken, rows in found.leases.items()},
            names.LEASE_SILENCE: {(): found.longest_silence},
            names.LEASE_TICK_AGE: {} if found.tick_age is None else {(): found.tick_age},
            names.LOGS_TO_MOVE: {(): found.logs_to_move},
            names.OBJECTS_TO_DELETE: {(): found.objects_to_delete},
            names.MEASURED_AT: {(): found.at},
        }

    def _by_tags(
        self, queue: Mapping[tuple[str, ...], Waiting]
    ) -> tuple[dict[tuple[str, ...], float], dict[tuple[str, ...], float]]:
        """Jobs and ages by the label of their tags; of those that share `other`, all and the oldest."""
        jobs: dict[tuple[str, ...], float] = {}
        ages: dict[tuple[str, ...], float] = {}
        for tags, waiting in sorted(queue.items(), key=lambda item: -item[1].number):
            label = (self._metrics.tag_sets.of(tag_set(tags)),)
            jobs[label] = jobs.get(label, 0) + waiting.number
            ages[label] = max(ages.get(label, 0), waiting.age)
        return jobs, ages

    def _by_source(self, pipelines: Mapping[tuple[str, str], int]) -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for (status, source), rows in pipelines.items():
            label = (status, self._metrics.sources.of(source))
            found[label] = found.get(label, 0) + rows
        return found


def _keyed(values: Mapping[str, int]) -> dict[tuple[str, ...], float]:
    return {(key,): value for key, value in values.items()}
