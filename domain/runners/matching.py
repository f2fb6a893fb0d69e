"""Which runner may take which job, and whose turn it is.

The claim says the same in SQL (`models.repositories.queue.claims`); a property test holds the two against each other.
Here it serves those who ask without claiming: who is woken, and why a job is stuck.

Source: docs/reference/runner-protocol.md, "Picking a job"; R3.27, R3.28.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class RunnerType(StrEnum):
    """Whose jobs a runner takes: anybody's, those of an organisation, or those of projects that it is linked to."""

    INSTANCE = "instance_type"
    GROUP = "group_type"
    PROJECT = "project_type"


@dataclass(frozen=True, slots=True)
class Demand:
    """What jobs that wait have in common. `protected` is true for those of a protected ref.

    `groups` are those that the project lies in, up to its organisation. `instance_runners` and `group_runners` say
    whether the project lets runners of that type take its jobs. `may_run_as_server`: an administrator lets them run as
    the server's own user; `others`: there are accounts of people who are no administrators. `project_path` is what
    people call the project; while it is `archived`, none of its jobs is taken.
    """

    project_id: int
    organisation_id: int = 0
    tags: frozenset[str] = frozenset()
    protected: bool = False
    instance_runners: bool = True
    group_runners: bool = True
    groups: frozenset[int] = frozenset()
    may_run_as_server: bool = False
    others: bool = False
    project_path: str = ""
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A registered runner. `projects` are those that a project runner is linked to; `online` is false for a silent one.

    An instance runner has no organisation. `namespace_id` is the group of a group runner, None for the organisation.
    `as_server`: its jobs run as the server's own user, who may read all that the server keeps.
    """

    runner_type: RunnerType = RunnerType.INSTANCE
    organisation_id: int | None = None
    projects: frozenset[int] = frozenset()
    tags: frozenset[str] = frozenset()
    run_untagged: bool = True
    ref_protected: bool = False
    paused: bool = False
    online: bool = True
    namespace_id: int | None = None
    as_server: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pending job."""

    job_id: int
    demand: Demand


def is_live(demand: Demand, _: Candidate) -> bool:
    """Whether the project is not archived: nothing of one that is runs."""
    return not demand.archived


def reaches(demand: Demand, runner: Candidate) -> bool:
    """Whether the job is of a project that the runner works for."""
    match runner.runner_type:
        case RunnerType.INSTANCE:
            return demand.instance_runners
        case RunnerType.GROUP:
            is_near = runner.namespace_id is None or runner.namespace_id in demand.groups
            return demand.group_runners and runner.organisation_id == demand.organisation_id and is_near
        case RunnerType.PROJECT:
            return demand.project_id in runner.projects and runner.organisation_id == demand.organisation_id


def has_tags(demand: Demand, runner: Candidate) -> bool:
    """Whether the runner has all tags of the job."""
    return demand.tags <= runner.tags


def takes_untagged(demand: Demand, runner: Candidate) -> bool:
    """Whether the job has tags, or the runner also takes jobs that have none."""
    return bool(demand.tags) or runner.run_untagged


def is_trusted(demand: Demand, runner: Candidate) -> bool:
    """Whether the ref is protected, or the runner also takes jobs of others."""
    return demand.protected or not runner.ref_protected


def may_share_user(demand: Demand, runner: Candidate) -> bool:
    """Whether the job may run as the user as whom the runner runs its jobs.

    As the server's own only while nobody but administrators has an account, or where one of them lets the project do
    so. Accounts of robots do not count: one that nobody but an administrator has made may do no more than they do, and
    whoever else has made one has an account. A blocked person does: what they have pushed may still run.
    """
    return not runner.as_server or demand.may_run_as_server or not demand.others


_RULES = (is_live, reaches, has_tags, takes_untagged, is_trusted, may_share_user)


def may_take(demand: Demand, runner: Candidate) -> bool:
    """Whether the runner may have the job now. One that is paused has none."""
    return not runner.paused and all(rule(demand, runner) for rule in _RULES)


def next_job(waiting: Iterable[Waiting], runner: Candidate, running: Mapping[int, int]) -> int | None:
    """The job whose turn it is, or None.

    `running` counts the jobs of a project that instance runners hold. Among those an instance runner takes from the
    project that has fewest; all others take the oldest job.
    """
    fair = runner.runner_type is RunnerType.INSTANCE
    turns = (
        (running.get(item.demand.project_id, 0) if fair else 0, item.job_id)
        for item in waiting
        if may_take(item.demand, runner)
    )
    return min(turns, default=(0, None))[1]
