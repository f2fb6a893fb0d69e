"""What `--json` prints of pods and tag sets (`cli.remote.documents`)."""

from collections.abc import Mapping
from typing import Final

from cli.remote.fields import Field, Kind

RUNNER_COUNT: Final[Kind] = (
    Field("runner_type", "string", "`instance_type`, `group_type` or `project_type`"),
    Field("online", "integer", "called in the last 5 minutes, or hold a job"),
    Field("offline", "integer", "called in the last 7 days"),
    Field("stale", "integer", "did not"),
    Field("never_contacted", "integer", "are new and never called"),
    Field("paused", "integer", "of all these those that take no new jobs"),
)
RUNNER_VERSION: Final[Kind] = (
    Field("version", "string|null", "of the runner's program; null where it says none"),
    Field("processes", "integer", "that called lately"),
)
POD: Final[Kind] = (
    Field("name", "string", "name of the pod"),
    Field("number", "integer", "its number"),
    Field("draining", "boolean", "whether it hands out no more jobs"),
    Field("version", "string", "of Perdure"),
    Field("started_at", "string|null", "ISO 8601: the process that answered"),
    Field("temporal_namespace", "string", "where its workflows are", "temporal.namespace"),
    Field("temporal_connected", "boolean", "whether it reaches Temporal", "temporal.connected"),
    Field("database", "string", "`sqlite` or `postgresql`", "database.kind"),
    Field("database_reachable", "boolean", "whether it reaches it", "database.reachable"),
    Field("database_seconds", "number", "how long it took to answer", "database.seconds"),
    Field("schema", "string|null", "of its database", "database.schema"),
    Field("newest_schema", "string|null", "that this version knows", "database.newest_schema"),
    Field("pending", "integer", "jobs that wait for a runner", "jobs.pending"),
    Field("running", "integer", "jobs that a runner holds", "jobs.running"),
    Field("oldest_pending", "number|null", "seconds that one has waited", "jobs.oldest_pending"),
    Field("runners", "array", "runners by type", of="runner count"),
    Field("runner_versions", "array", "processes by version", of="runner version"),
)
POD_ANSWER: Final[Kind] = (
    Field("number", "integer", "number of the pod in the directory"),
    Field("name", "string", "its name there"),
    Field("address", "string", "its address there"),
    Field("state", "string", "`active` or `draining`, as the directory says"),
    Field("answered", "boolean", "whether it did"),
    Field("failure", "string|null", "`no token`, `no right`, `refused`, `timed out`, `unreachable` or `another pod`"),
    Field("why", "string|null", "the same in words"),
    Field("version", "string|null", "of Perdure"),
    Field("runners_online", "integer|null", "runners of all types that are online"),
    Field("pending", "integer|null", "jobs that wait for a runner"),
    Field("running", "integer|null", "jobs that a runner holds"),
    Field("oldest_pending", "number|null", "seconds that one has waited"),
)
SERVED_TAG_SET: Final[Kind] = (
    Field("tags", "array", "tags of the runners", "tag_list", "string"),
    Field("runner_type", "string", "`instance_type`, `group_type` or `project_type`"),
    Field("run_untagged", "boolean", "they take jobs without tags"),
    Field("ref_protected", "boolean", "they take only jobs of protected refs"),
    Field("as_server", "boolean", "their jobs run as the server's user"),
    Field("available", "integer", "runners that were heard of lately enough (`PERDURE_RUNNER_ONLINE`)"),
    Field("silent", "integer", "those that were not"),
    Field("paused", "integer", "those that take no new jobs"),
)
USED_TAG_SET: Final[Kind] = (
    Field("tags", "array", "tags that the jobs ask for", "tag_list", "string"),
    Field("ref_protected", "boolean", "whether their refs are protected"),
    Field("instance_runners", "boolean", "their projects take runners of the instance"),
    Field("available_here", "string", "`available`, `silent`, `paused` or `none`: the best runner of the pod for them"),
    Field("available_own", "string", "the same of the organisation's own runners, which move along"),
    Field("jobs", "integer", "how many"),
    Field("last_used_at", "string", "ISO 8601: when the last of them was made"),
)
UNSERVED_TAG_SET: Final[Kind] = (
    Field("tags", "array", "tags that the jobs ask for", of="string"),
    Field("availability", "string", "`silent`, `paused` or `none`: the best runner of the target for them"),
    Field("jobs", "integer", "how many"),
    Field("last_used_at", "string", "ISO 8601: when the last of them was made"),
    Field("why", "string", "why the target does not run them"),
    Field("warning", "string", "all of this in words, and what to do"),
)
QUEUED_TAG_SET: Final[Kind] = (
    Field("tags", "array", "tags that the jobs ask for", "tag_list", "string"),
    Field("jobs", "integer", "how many wait"),
    Field("oldest", "number", "seconds that one of them has waited"),
    Field("served", "boolean", "a runner of the pod takes each of them"),
    Field("stuck", "integer", "those that none takes"),
    Field("stuck_reason", "string|null", "why, of the oldest of these"),
)
POD_KINDS: Final[Mapping[str, Kind]] = {
    "pod": POD,
    "runner count": RUNNER_COUNT,
    "runner version": RUNNER_VERSION,
    "pod answer": POD_ANSWER,
    "served tag set": SERVED_TAG_SET,
    "used tag set": USED_TAG_SET,
    "unserved tag set": UNSERVED_TAG_SET,
    "queued tag set": QUEUED_TAG_SET,
}
MOVED: Final[Kind] = (
    Field("state", "string", "`switched`, or `called_off`"),
    Field("move_id", "string", "the move"),
    Field("path", "string", "of the organisation"),
    Field("source", "string", "name of the pod that it left"),
    Field("target", "string", "name of the pod that it came to"),
    Field("rows", "integer", "rows that came along"),
    Field("left_out", "integer", "rows that need something of another organisation, and did not"),
    Field("objects", "integer", "logs, artifacts and secure files"),
    Field("repositories", "integer", "of its projects"),
    Field("refs", "integer", "of all of them"),
)
