"""The part of the Temporal SDK that all clients and workers of a process share, and its metrics.

The SDK counts in its own threads and tells the loopback; the process adds that to what it tells itself. In Python the
same would cost an object for each observation.
"""

from typing import Final

import structlog
from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

LOOPBACK: Final = "127.0.0.1"

log = structlog.get_logger()


def counting_runtime(port: int) -> Runtime | None:
    """A runtime that tells its metrics at this port of the loopback; None, the default one, if that is not possible.

    One a process, for it has threads of its own.
    """
    if not port:
        return None
    metrics = PrometheusConfig(
        bind_address=f"{LOOPBACK}:{port}", counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
    )
    try:
        return Runtime(telemetry=TelemetryConfig(metrics=metrics))
    except (RuntimeError, ValueError) as error:
        log.warning(
            "the metrics of the Temporal SDK are not told; choose another PERDURE_TEMPORAL_CLIENT_METRICS_PORT",
            port=port,
            error=str(error),
        )
        return None
