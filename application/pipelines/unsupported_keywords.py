"""The last check before a pipeline is made: a job never runs otherwise than it was written.

The compiler accepts the whole language, so that `lint` and `plan` speak of all of it; what the engine cannot carry out
yet is refused here, and not dropped. The states of all keywords are in `domain.config.keyword_states`.
"""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any, Final

from domain.config.issue import ConfigIssue
from domain.config.keyword_states import refusal
from domain.config.plan import JobPlan, Plan
from domain.config.reading.issues import MAX_ISSUES
from domain.errors import ConfigInvalid
from domain.variables.job_variables import group_name

HAS: Final[Mapping[str, Callable[[JobPlan], Any]]] = {
    "dast_configuration": lambda job: job.dast_configuration,
    "identity": lambda job: job.identity,
}
"""How to see that a job has a keyword that is refused."""


def refuse_what_cannot_run(plan: Plan) -> None:
    """Raise `ConfigInvalid` with an issue for each refused keyword of each job, unless there are none.

    The instances of a parallel job are one job, as in the text. At most 1,000 issues are told.
    """
    found = {(_written_name(job), keyword): None for job in plan.jobs for keyword, has in HAS.items() if has(job)}
    if found:
        raise ConfigInvalid(tuple(_issue(name, keyword) for name, keyword in islice(found, MAX_ISSUES)))


def _written_name(job: JobPlan) -> str:
    return job.name if job.node_index is None else group_name(job.name)


def _issue(name: str, keyword: str) -> ConfigIssue:
    return ConfigIssue(f"{name} job: {refusal(keyword)}", f"jobs:{name}:{keyword}")
