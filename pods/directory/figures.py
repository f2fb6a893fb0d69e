"""What a directory tells Prometheus besides its requests: what its database holds, and who waits."""

import logging
from itertools import product
from typing import Final

from sqlalchemy import Connection

from domain.pods.claims import ClaimKind, ClaimState
from domain.pods.directory import PodState
from metrics import names
from metrics.directory_metrics import DirectoryMetrics
from metrics.measured import Measured
from metrics.sampled import Reading
from pods.directory import claim_rows, pod_rows, tables
from pods.directory.store import Store

_OF_DATABASE: Final = (
    names.DIRECTORY_PODS,
    names.DIRECTORY_CLAIMS,
    names.DIRECTORY_TENTATIVE_AGE,
    names.DIRECTORY_VERSION,
    names.DIRECTORY_CHANGE_AGE,
)

log = logging.getLogger("perdure.directory")


def measured(store: Store, metrics: DirectoryMetrics) -> Measured:
    """Tell the figures from now on; those of the database are read by `refresh` of the result."""

    async def read() -> Reading:
        return await store.read(lambda connection: _figures(connection, store.unix_time()))

    def failed(error: Exception) -> None:
        log.warning("the figures for the metrics could not be read: %r", error)

    figures = Measured(read, failed)
    metrics.sampled(_OF_DATABASE, figures.now)
    metrics.sampled((names.DIRECTORY_READERS_WAITING,), lambda: {names.DIRECTORY_READERS_WAITING: {(): store.waiting}})
    return figures


def _figures(connection: Connection, now: int) -> Reading:
    pods, claims = pod_rows.count_by_state(connection), claim_rows.count_by_kind_and_state(connection)
    begun = claim_rows.oldest_tentative_by_pod(connection)
    changed_at = tables.read_changed_at(connection)
    return {
        names.DIRECTORY_PODS: {(state,): pods.get(state, 0) for state in PodState},
        names.DIRECTORY_CLAIMS: {key: claims.get(key, 0) for key in product(ClaimKind, ClaimState)},
        names.DIRECTORY_TENTATIVE_AGE: {(pod,): max(0, now - created_at) for pod, created_at in begun.items()},
        names.DIRECTORY_VERSION: {(): tables.read_version(connection)},
        names.DIRECTORY_CHANGE_AGE: {} if changed_at is None else {(): max(0, now - changed_at)},
    }
