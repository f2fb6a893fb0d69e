"""What holds for every plan, whatever the configuration was."""

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Final

from domain.config.plan import JobPlan, Plan, When
from domain.errors import ConfigInvalid

WEEK: Final = 7 * 24 * 3_600
MONTH: Final = 30 * 24 * 3_600
EDGES: Final = frozenset({".pre", ".post"})


def broken_rules(plan: Plan) -> list[str]:
    """Each rule that a plan breaks, in words; most are GitLab's limits and what makes a pipeline runnable."""
    names = [job.name for job in plan.jobs]
    faults = [f"{name} is there {count} times" for name, count in Counter(names).items() if count > 1]
    used = {job.stage for job in plan.jobs}
    if set(plan.stages) != used or len(plan.stages) != len(used):
        faults.append(f"stages are {plan.stages}, those of the jobs {sorted(used)}")
    if not used - EDGES:
        faults.append("there is no job between .pre and .post")
    faults += [f"{job.name} is both in and absent" for job in plan.absent if job.name in set(names)]
    jobs = {job.name: job for job in plan.jobs}
    order = {stage: position for position, stage in enumerate(plan.stages)}
    for job in plan.jobs:
        faults += (f"{job.name}: {fault}" for fault in (*_alone(job), *_beside(job, jobs, order)))
    try:
        TopologicalSorter({job.name: [need.job for need in job.needs or ()] for job in plan.jobs}).prepare()
    except CycleError as circle:
        faults.append(f"needs go round in circles: {circle}")
    return faults


def without_places(invalid: ConfigInvalid) -> list[str]:
    """Issues that do not say where they are."""
    return [issue.message for issue in invalid.issues if not (issue.file and issue.line >= 1 and issue.column >= 1)]


def _alone(job: JobPlan) -> Iterator[str]:
    held = {
        "a written name has 1 to 255 characters": bool(job.name) and (bool(job.node_total) or len(job.name) <= 255),
        "it does something": bool(job.script or job.run or job.trigger or _mirrors(job)),
        "a delay is a delayed job's": (job.when == When.DELAYED) == (job.start_in is not None),
        "a delay is at most a week": job.start_in is None or 0 <= job.start_in <= WEEK,
        "a timeout is at most a month": job.timeout is None or 0 <= job.timeout <= MONTH,
        "at most 2 retries": 0 <= job.retry.max <= 2,
        "at most 4 caches": len(job.cache) <= 4,
        "fewer than 50 tags": len(job.tags) < 50,
        "at most 50 needs": len(job.needs or ()) <= 50,
        "at most 200 instances": 1 <= (job.node_total or 1) <= 200,
        "an instance has an index": job.node_index is None or 1 <= job.node_index <= (job.node_total or 0),
        "exit codes only where failing is not always allowed": not (job.allow_failure and job.allow_failure_exit_codes),
        "variables are texts": all(isinstance(variable.value, str) for variable in job.variables.values()),
        "a job that is in says so": job.why.included,
    }
    return (rule for rule, holds in held.items() if not holds)


def _mirrors(job: JobPlan) -> bool:
    return any(need.pipeline and not need.job for need in job.foreign_needs)


def _beside(job: JobPlan, jobs: dict[str, JobPlan], order: dict[str, int]) -> Iterator[str]:
    named = [need.job for need in job.needs or ()]
    for name in {*named, *(job.dependencies or ())}:
        if name not in jobs:
            yield f"{name} is not there"
        elif order[jobs[name].stage] > order[job.stage]:
            yield f"{name} runs later"
    if len(set(named)) != len(named):
        yield "a need stands twice"
