"""Every metric by name. `docs/metrics.md` holds the same table.

GitLab's names stand where it has one for the same thing (its "GitLab Prometheus metrics" and, for queue and pipelines,
its source); all others begin with `perdure_`. What the Temporal SDK counts is Temporal's (`temporal_...`).
"""

from typing import Final

from metrics.definition import By, Definition, counter, gauge, histogram

_QUICK: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""What a process does itself."""
_REQUEST: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0)
_STEP: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0)
"""What goes through Temporal."""
_CREATION: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0, 50.0, 240.0)
_SIZE: Final = (0, 1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 3000)
_QUEUED: Final = (1, 3, 10, 30, 60, 300, 900, 1800, 3600)

# Requests
HTTP_REQUESTS = counter("http_requests_total", By.API, "Answered requests", "method", "kind", "status")
HTTP_DURATION = histogram(
    "http_request_duration_seconds",
    By.API,
    "Time until a request was answered; that of a held poll is mostly its waiting",
    "method",
    "kind",
    buckets=_REQUEST,
)
POLLS_WAITING = gauge("perdure_polls_waiting", By.API, "Runners that are held until there is a job for them")

# The queue
QUEUE_JOBS = gauge("perdure_queue_jobs", By.WORKER, "Jobs that wait for a runner, by their tags", "tags")
QUEUE_OLDEST = gauge(
    "perdure_queue_oldest_job_age_seconds",
    By.WORKER,
    "How long the oldest job that waits for a runner has done so, by its tags",
    "tags",
)
OFFERED_JOBS = counter("perdure_offered_jobs_total", By.WORKER, "Jobs that became pending")
OFFER_LATENCY = histogram(
    "perdure_offer_latency_seconds",
    By.WORKER,
    "Time from the workflow's decision to offer jobs until runners were told of them",
    buckets=_STEP,
)
CLAIMS = counter("job_register_attempts_total", By.API, "Claims of runners that looked into the queue")
CLAIMS_IN_VAIN = counter("job_register_attempts_failed_total", By.API, "Claims of runners that found no job")
HAND_OUTS = counter("perdure_hand_outs_total", By.API, "Jobs given to a runner, by their tags", "tags")
QUEUE_DURATION = histogram(
    "job_queue_duration_seconds", By.API, "How long handed out jobs had waited for a runner", buckets=_QUEUED
)

# Verdicts
VERDICTS = counter("perdure_verdicts_total", By.API, "Ends of jobs that runners reported", "status")
FOLDED_VERDICTS = counter(
    "perdure_folded_verdicts_total", By.WORKER, "Ends of jobs that a workflow has recorded, however they came", "status"
)
JOB_FAILURES = counter(
    "gitlab_ci_job_failure_reasons_total", By.WORKER, "Failures of jobs that a workflow has recorded", "reason"
)
UNFOLDED = gauge("perdure_unfolded_verdicts", By.WORKER, "Ends of jobs that no workflow has recorded yet")
UNFOLDED_OLDEST = gauge(
    "perdure_unfolded_verdict_oldest_age_seconds",
    By.WORKER,
    "How long the oldest end of a job that no workflow has recorded has waited",
)

# Pipelines
PIPELINES = gauge("perdure_pipelines", By.WORKER, "Pipelines that have not ended", "status", "source")
JOBS = gauge("perdure_jobs", By.WORKER, "Jobs that wait, run or are being stopped", "status")
PIPELINES_CREATED = counter("pipelines_created_total", By.API, "Pipelines that were made", "source")
PIPELINES_ENDED = counter("perdure_pipelines_ended_total", By.WORKER, "Pipelines that ended, also again", "status")
PIPELINE_SIZE = histogram(
    "gitlab_ci_pipeline_size_builds", By.API, "Jobs of the pipelines that were made", "source", buckets=_SIZE
)
PIPELINE_CREATION = histogram(
    "gitlab_ci_pipeline_creation_duration_seconds",
    By.API,
    "Time in which the request for a pipeline was turned into its plan",
    buckets=_CREATION,
)
COMPILE_DURATION = histogram(
    "perdure_compile_duration_seconds",
    By.API,
    "Time in which a configuration was compiled, with what it includes, by what came of it",
    "result",
    buckets=_CREATION,
)

# Outbox and Temporal
OUTBOX_ROWS = gauge("perdure_outbox_rows", By.WORKER, "Rows of the outbox that were not sent yet", "kind")
OUTBOX_OLDEST = gauge(
    "perdure_outbox_oldest_row_age_seconds",
    By.WORKER,
    "Age of the oldest row of the outbox that was not sent yet",
    "kind",
)
OUTBOX_SENT = counter("perdure_outbox_sent_total", By.WORKER, "Tries to send a row to Temporal", "kind", "result")
OUTBOX_DELIVERY = histogram(
    "perdure_outbox_delivery_seconds", By.WORKER, "Time until Temporal had taken a row", "kind", buckets=_STEP
)
RECONCILED = counter("perdure_reconciled_pipelines_total", By.WORKER, "Pipelines that the reconciler had to mend")
RECONCILIATIONS = counter("perdure_reconciliations_total", By.WORKER, "Rounds of the reconciler", "result")
TEMPORAL_CONNECTED = gauge("perdure_temporal_connected", By.SERVER, "1 while the process has joined Temporal, else 0")

# Invariants
INVARIANTS_BROKEN = gauge(
    "perdure_invariants_broken", By.WORKER, "Rows that break a rule of stored pipelines, by rule", "rule"
)
INVARIANTS_CHECKED = gauge(
    "perdure_invariants_checked_timestamp_seconds", By.WORKER, "When the rules were last looked at"
)

# Leases and sweeps
LEASES = gauge(
    "perdure_leases", By.WORKER, "Jobs that runners hold, by whether the runner has called for them", "state"
)
LEASE_SILENCE = gauge(
    "perdure_lease_longest_silence_ticks", By.WORKER, "Ticks of the lease clock since the most silent runner called"
)
LEASE_TICK_AGE = gauge(
    "perdure_lease_tick_age_seconds", By.WORKER, "Time since the last tick: nobody's silence is counted meanwhile"
)
SWEEPS = counter("perdure_sweeps_total", By.API, "Sweeps for lost runners and jobs beyond their time", "result")
SWEPT_JOBS = counter("perdure_swept_jobs_total", By.API, "Jobs that a sweep ended or put back, by the rule", "rule")
SWEEPS_CUT = counter(
    "perdure_sweeps_cut_total", By.API, "Times that a sweep found more jobs than it may touch, by the rule", "rule"
)

# The database
DATABASE_CONNECTIONS = gauge(
    "perdure_database_connections", By.SERVER, "Connections of the process to its database", "state"
)
DATABASE_LIMIT = gauge(
    "perdure_database_connections_limit", By.SERVER, "How many connections to its database the process may have"
)
DATABASE_WAITING = gauge("perdure_database_waiting", By.SERVER, "Who waits for a connection, or for a turn to write")
DATABASE_TRANSACTIONS = counter("perdure_database_transactions_total", By.SERVER, "Transactions that began", "kind")
DATABASE_WAIT = counter(
    "perdure_database_wait_seconds_total", By.SERVER, "Time spent waiting until a transaction began", "kind"
)
DATABASE_BUSY = counter("perdure_database_transaction_seconds_total", By.SERVER, "Time spent in transactions", "kind")
MEASURED_AT = gauge(
    "perdure_measured_timestamp_seconds", By.WORKER, "When the figures that come from the database were read"
)
MEASURE_FAILURES = counter(
    "perdure_measure_failures_total",
    By.WORKER,
    "Times that the figures that come from the database could not be read in time",
)

# Files
TRACE_BYTES = counter("gitlab_ci_trace_bytes_total", By.API, "Bytes of logs that runners sent")
LOGS_TO_MOVE = gauge("perdure_logs_to_move", By.WORKER, "Logs of ended jobs that are not in the object store yet")
OBJECTS_TO_DELETE = gauge("perdure_objects_to_delete", By.WORKER, "Objects that are to go from the store")
STORE_DURATION = histogram(
    "perdure_object_store_duration_seconds",
    By.API,
    "Time that a call of the object store took; of `read`, until its first bytes were there",
    "operation",
    buckets=_REQUEST,
)
STORE_FAILURES = counter(
    "perdure_object_store_failures_total", By.API, "Calls of the object store that failed", "operation"
)
STORE_BYTES = counter(
    "perdure_object_store_bytes_total", By.API, "Bytes that went to the object store and came from it", "operation"
)
DISK_FREE = gauge("perdure_disk_free_bytes", By.SERVER, "Room on the disk of the folder", "folder")
GIT_REQUESTS = counter("perdure_git_requests_total", By.API, "Git over HTTP, by what came of it", "service", "result")
GIT_DURATION = histogram(
    "perdure_git_request_duration_seconds", By.API, "Time until git had said its last word", "service", buckets=_REQUEST
)
GIT_BYTES = counter("perdure_git_sent_bytes_total", By.API, "Bytes that git answered", "service")

# The process
BUILD = gauge("perdure_build_info", By.EVERY, "Always 1; its labels say what runs", "version", "role", "pod")
LOOP_LAG = histogram(
    "perdure_event_loop_lag_seconds",
    By.EVERY,
    "How much later than it should a task of the event loop was called, looked at once a second",
    buckets=_QUICK,
)

# The front
FRONT_REQUESTS = counter("perdure_front_requests_total", By.FRONT, "Requests that the front answered", "kind", "status")
FRONT_DURATION = histogram(
    "perdure_front_request_duration_seconds",
    By.FRONT,
    "Time until the last byte of the answer, with the time for which it was held",
    "kind",
    buckets=_REQUEST,
)
FRONT_OPEN = gauge("perdure_front_requests_open", By.FRONT, "Requests that are being answered", "kind")
FRONT_HELD = gauge("perdure_front_held_requests", By.FRONT, "Requests that wait for the API to come back", "kind")
FRONT_AWAY = counter("perdure_front_api_away_total", By.FRONT, "Tries at which the API did not answer", "kind")
FRONT_DIRECTORY_AWAY = gauge(
    "perdure_front_directory_away", By.FRONT, "1 while a router's directory is away and its copy goes on, else 0"
)
FRONT_DIRECTORY_VERSION = gauge(
    "perdure_front_directory_version", By.FRONT, "The version of the directory by which a router decides"
)
FRONT_POD_OPEN = gauge("perdure_front_pod_requests_open", By.FRONT, "Requests of a pod that are at work", "pod")
FRONT_POD_REFUSED = counter(
    "perdure_front_pod_requests_refused_total", By.FRONT, "Requests beyond those of a pod that may be at work", "pod"
)

# The directory of pods
DIRECTORY_REQUESTS = counter(
    "perdure_directory_requests_total", By.DIRECTORY, "Requests that the directory answered", "call", "status"
)
DIRECTORY_DURATION = histogram(
    "perdure_directory_request_duration_seconds",
    By.DIRECTORY,
    "Time until a request was answered; that of a reader is mostly its waiting",
    "call",
    buckets=_REQUEST,
)
DIRECTORY_READERS_WAITING = gauge(
    "perdure_directory_readers_waiting", By.DIRECTORY, "Readers that are held until something changes"
)
DIRECTORY_PODS = gauge("perdure_directory_pods", By.DIRECTORY, "Pods by their state, removed ones too", "state")
DIRECTORY_CLAIMS = gauge(
    "perdure_directory_claims",
    By.DIRECTORY,
    "Claims on names by kind and state, released ones until they are forgotten",
    "kind",
    "state",
)
DIRECTORY_TENTATIVE_AGE = gauge(
    "perdure_directory_tentative_claim_oldest_age_seconds",
    By.DIRECTORY,
    "Age of a pod's oldest claim that it has neither confirmed nor released; pods without one are not told",
    "pod",
)
DIRECTORY_VERSION = gauge("perdure_directory_version", By.DIRECTORY, "The version of the directory")
DIRECTORY_CHANGE_AGE = gauge(
    "perdure_directory_change_age_seconds", By.DIRECTORY, "Time since the last change that readers see"
)

ALL: Final = tuple(value for value in dict(globals()).values() if isinstance(value, Definition))
"""All of them, in this order."""
