"""What an API or a worker counts while it works. Each process has one, which is passed down to where things happen."""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from prometheus_client import Histogram

from metrics import names
from metrics.labels import BoundedLabel, tag_set
from metrics.process_metrics import ProcessMetrics

MAX_TAG_SETS: Final = 50
"""Lists of tags that are told by name; a fleet of runners rarely has more than a few."""
_MAX_SOURCES: Final = 20
_MAX_REASONS: Final = 60
_MAX_RULES: Final = 60


class ServerMetrics(ProcessMetrics):
    """The metrics of one process under the names of `metrics.names`; what it has no part in stays at zero."""

    def __init__(self, role: str = "all", pod: str = "") -> None:
        """`role` is `all`, `api` or `worker`; `pod` is the name of its pod."""
        super().__init__(role, pod)
        self.tag_sets = BoundedLabel(MAX_TAG_SETS)
        self.sources = BoundedLabel(_MAX_SOURCES)
        self._reasons = BoundedLabel(_MAX_REASONS)
        self._rules = BoundedLabel(_MAX_RULES)
        self._make_those_of_requests()
        self._make_those_of_pipelines()
        self._make_those_of_loops()
        self._make_those_of_files()

    def _make_those_of_requests(self) -> None:
        registry = self.registry
        self.http_requests = names.HTTP_REQUESTS.counter(registry)
        self.http_duration = names.HTTP_DURATION.histogram(registry)
        self._claims = names.CLAIMS.counter(registry)
        self._claims_in_vain = names.CLAIMS_IN_VAIN.counter(registry)
        self._hand_outs = names.HAND_OUTS.counter(registry)
        self._queue_duration = names.QUEUE_DURATION.histogram(registry)
        self._verdicts = names.VERDICTS.counter(registry)

    def _make_those_of_pipelines(self) -> None:
        registry = self.registry
        self._created = names.PIPELINES_CREATED.counter(registry)
        self._size = names.PIPELINE_SIZE.histogram(registry)
        self._creation = names.PIPELINE_CREATION.histogram(registry)
        self._compile = names.COMPILE_DURATION.histogram(registry)
        self._offered = names.OFFERED_JOBS.counter(registry)
        self._offer_latency = names.OFFER_LATENCY.histogram(registry)
        self._folded = names.FOLDED_VERDICTS.counter(registry)
        self._failures = names.JOB_FAILURES.counter(registry)
        self._ended = names.PIPELINES_ENDED.counter(registry)

    def _make_those_of_loops(self) -> None:
        registry = self.registry
        self._sent = names.OUTBOX_SENT.counter(registry)
        self._delivery = names.OUTBOX_DELIVERY.histogram(registry)
        self.reconciled = names.RECONCILED.counter(registry)
        self._reconciliations = names.RECONCILIATIONS.counter(registry)
        self.temporal_connected = names.TEMPORAL_CONNECTED.gauge(registry)
        self._broken = names.INVARIANTS_BROKEN.gauge(registry)
        self._checked = names.INVARIANTS_CHECKED.gauge(registry)
        self._sweeps = names.SWEEPS.counter(registry)
        self._swept = names.SWEPT_JOBS.counter(registry)
        self._cut = names.SWEEPS_CUT.counter(registry)
        self.measure_failures = names.MEASURE_FAILURES.counter(registry)

    def _make_those_of_files(self) -> None:
        registry = self.registry
        self.trace_bytes = names.TRACE_BYTES.counter(registry)
        self._store_duration = names.STORE_DURATION.histogram(registry)
        self._store_failures = names.STORE_FAILURES.counter(registry)
        self._store_bytes = names.STORE_BYTES.counter(registry)
        self._git_requests = names.GIT_REQUESTS.counter(registry)
        self._git_duration = names.GIT_DURATION.histogram(registry)
        self._git_bytes = names.GIT_BYTES.counter(registry)

    def claimed(self, asked: int, found: int) -> None:
        """So many runners looked into the queue at the same moment, and so many of them found a job."""
        self._claims.inc(asked)
        self._claims_in_vain.inc(asked - found)

    def handed_out(self, tags: Iterable[str], waited: float) -> None:
        """A runner was given a job that had waited for so many seconds."""
        self._hand_outs.labels(self.tag_sets.of(tag_set(tags))).inc()
        self._queue_duration.observe(max(0.0, waited))

    def reported(self, status: str) -> None:
        """A runner told how a job ended, and that is written."""
        self._verdicts.labels(status).inc()

    def folded(self, status: str, reason: str) -> None:
        """A workflow has recorded how a job ended."""
        self._folded.labels(status).inc()
        if status == "failed":
            self._failures.labels(self._reasons.of(reason)).inc()

    def ended(self, status: str) -> None:
        """A pipeline has ended."""
        self._ended.labels(status).inc()

    def offered(self, jobs: int, seconds: float | None) -> None:
        """Runners were told of so many jobs, so many seconds after the decision (None: nobody knows)."""
        self._offered.inc(jobs)
        if seconds is not None:
            self._offer_latency.observe(max(0.0, seconds))

    def created(self, source: str, jobs: int) -> None:
        """A pipeline with so many jobs was made."""
        source = self.sources.of(source)
        self._created.labels(source).inc()
        self._size.labels(source).observe(jobs)

    @contextmanager
    def creating(self) -> Iterator[None]:
        """The request for a pipeline is turned into its plan; one that fails counts too."""
        with timed(self._creation):
            yield

    def compiled(self, result: str, seconds: float) -> None:
        """A configuration was compiled: `ok`, `filtered`, `invalid` or `failed`."""
        self._compile.labels(result).observe(seconds)

    def sent(self, kind: str, result: str, age: float) -> None:
        """A row of the outbox, so many seconds old, was offered to Temporal: `sent` or `later`."""
        self._sent.labels(kind, result).inc()
        if result == "sent":
            self._delivery.labels(kind).observe(max(0.0, age))

    def reconciliation(self, result: str, mended: int = 0) -> None:
        """A round of the reconciler: `done` or `failed`."""
        self._reconciliations.labels(result).inc()
        self.reconciled.inc(mended)

    def swept(self, result: str) -> None:
        """A sweep: `done`, `unreachable` (the front does not reach us, so nothing was looked at) or `failed`."""
        self._sweeps.labels(result).inc()

    def swept_jobs(self, rule: str, jobs: int) -> None:
        """A sweep ended so many jobs, or put them back."""
        self._swept.labels(self._rules.of(rule)).inc(jobs)

    def sweep_cut(self, rule: str) -> None:
        """A sweep found more than it may touch."""
        self._cut.labels(self._rules.of(rule)).inc()

    def invariants(self, broken: Mapping[str, int], now: float) -> None:
        """What a look at the rules found: how many rows break each, zeros too, at a moment in seconds since 1970."""
        self._broken.clear()
        for rule, rows in broken.items():
            self._broken.labels(self._rules.of(rule)).inc(rows)
        self._checked.set(now)

    @contextmanager
    def store_call(self, operation: str) -> Iterator[None]:
        """A call of the object store."""
        try:
            with timed(self._store_duration.labels(operation)):
                yield
        except Exception:
            self._store_failures.labels(operation).inc()
            raise

    def stored(self, operation: str, size: int) -> None:
        """So many bytes went through the store."""
        self._store_bytes.labels(operation).inc(size)

    def git_responded(self, service: str, result: str, seconds: float, size: int) -> None:
        """A request of git is over: `ok`, `failed`, or `broken_off` by its client."""
        self._git_requests.labels(service, result).inc()
        self._git_duration.labels(service).observe(seconds)
        self._git_bytes.labels(service).inc(size)


@contextmanager
def timed(histogram: Histogram) -> Iterator[None]:
    """Note the seconds of the block, however it ends."""
    begun = time.perf_counter()
    try:
        yield
    finally:
        histogram.observe(time.perf_counter() - begun)
