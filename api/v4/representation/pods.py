"""A pod, its queue, and tag sets as JSON; Perdure's own, GitLab has nothing of it."""

from typing_extensions import TypedDict

from application.pods.own_state import PodState
from domain.moments import moment
from domain.pods.tag_sets import ServedTagSet, UsedTagSet
from domain.runners.queued import QueuedTagSet
from domain.runners.status import Connection
from models.repositories.runners.runner_counts import RunnerCount


class PodTemporalResponse(TypedDict):
    """Where the workflows of the pod are, and whether this process is connected with it."""

    namespace: str
    connected: bool


class PodDatabaseResponse(TypedDict):
    """The database of the pod: `kind` is `sqlite` or `postgresql`, `seconds` how long it took to answer.

    `newest_schema` is what this version of Perdure migrates to. While it is away, this call is answered 503.
    """

    kind: str
    reachable: bool
    seconds: float
    schema: str | None
    newest_schema: str | None


class PodRunnersResponse(TypedDict):
    """Runners of one type by status, each in one of the four; `paused` are those of all four that take no jobs."""

    online: int
    offline: int
    stale: int
    never_contacted: int
    paused: int


class PodRunnersByTypeResponse(TypedDict):
    """Runners by type."""

    instance_type: PodRunnersResponse
    group_type: PodRunnersResponse
    project_type: PodRunnersResponse


class RunnerVersionResponse(TypedDict):
    """How many processes of runners that called lately have a version; null for those that say none."""

    version: str | None
    processes: int


class PodJobsResponse(TypedDict):
    """Jobs that wait for a runner, and that one holds; `oldest_pending` is seconds, null while nothing waits."""

    pending: int
    running: int
    oldest_pending: float | None


class PodResponse(TypedDict):
    """A pod as it is now; `started_at` is of the process that answers."""

    name: str
    number: int
    draining: bool
    version: str
    started_at: str | None
    temporal: PodTemporalResponse
    database: PodDatabaseResponse
    runners: PodRunnersByTypeResponse
    runner_versions: list[RunnerVersionResponse]
    jobs: PodJobsResponse


class ServedTagSetResponse(TypedDict):
    """Runners that are alike in what they take; each counts once, `paused` ones are in neither of the other two.

    `available` ones were heard of lately enough to count as such that could take a job, `silent` ones were not.
    `as_server`: their jobs run as the server's own user.
    """

    tag_list: list[str]
    runner_type: str
    run_untagged: bool
    ref_protected: bool
    as_server: bool
    available: int
    silent: int
    paused: int


class QueuedTagSetResponse(TypedDict):
    """Pending jobs with the same tags; `oldest` is seconds. Of `stuck` ones no runner takes any: `stuck_reason`."""

    tag_list: list[str]
    jobs: int
    oldest: float
    served: bool
    stuck: int
    stuck_reason: str | None


class UsedTagSetResponse(TypedDict):
    """Jobs that are alike in their tags, in whether their ref is protected, and in what may take them.

    `available_here` is what becomes of such jobs with all runners of the pod, `available_own` with those of groups and
    projects alone, which move along with their organisation: `available`, `silent`, `paused` or `none`.
    `instance_runners`: their projects let runners of the instance take them.
    """

    tag_list: list[str]
    ref_protected: bool
    instance_runners: bool
    available_here: str
    available_own: str
    jobs: int
    last_used_at: str


def pod(state: PodState) -> PodResponse:
    """A pod."""
    kinds = {str(kind): _runners(counted) for kind, counted in state.runners.items()}
    return {
        "name": state.name,
        "number": state.number,
        "draining": state.is_draining,
        "version": state.version,
        "started_at": moment(state.started_at),
        "temporal": {"namespace": state.temporal_namespace, "connected": state.temporal_connected},
        "database": {
            "kind": state.database.kind,
            "reachable": True,
            "seconds": round(state.database.seconds, 6),
            "schema": state.database.schema,
            "newest_schema": state.database.newest_schema,
        },
        "runners": {
            "instance_type": kinds["instance_type"],
            "group_type": kinds["group_type"],
            "project_type": kinds["project_type"],
        },
        "runner_versions": [
            {"version": version or None, "processes": number} for version, number in state.runner_versions.items()
        ],
        "jobs": {"pending": state.pending, "running": state.running, "oldest_pending": _seconds(state.oldest_pending)},
    }


def _runners(counted: RunnerCount) -> PodRunnersResponse:
    return {
        "online": counted.by_status[Connection.ONLINE],
        "offline": counted.by_status[Connection.OFFLINE],
        "stale": counted.by_status[Connection.STALE],
        "never_contacted": counted.by_status[Connection.NEVER_CONTACTED],
        "paused": counted.paused,
    }


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def served_tag_set(one: ServedTagSet) -> ServedTagSetResponse:
    """A kind of runners."""
    return {
        "tag_list": list(one.tags),
        "runner_type": one.runner_type.value,
        "run_untagged": one.run_untagged,
        "ref_protected": one.ref_protected,
        "as_server": one.as_server,
        "available": one.available,
        "silent": one.silent,
        "paused": one.paused,
    }


def queued_tag_set(one: QueuedTagSet) -> QueuedTagSetResponse:
    """What waits with the same tags; `served` where a runner takes all of it."""
    return {
        "tag_list": list(one.tags),
        "jobs": one.jobs,
        "oldest": round(one.waited, 3),
        "served": one.stuck == 0,
        "stuck": one.stuck,
        "stuck_reason": one.why or None,
    }


def used_tag_set(one: UsedTagSet) -> UsedTagSetResponse:
    """What an organisation used."""
    return {
        "tag_list": list(one.tags),
        "ref_protected": one.ref_protected,
        "instance_runners": one.instance_runners,
        "available_here": one.here.value,
        "available_own": one.own.value,
        "jobs": one.jobs,
        "last_used_at": moment(one.last_used_at),
    }
