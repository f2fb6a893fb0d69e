"""Plans and outcomes made by hand, without the compiler."""

from typing import Any

from cli.configurations.offline import Outcome
from domain.config.context import Context
from domain.config.plan import AbsentJob, JobPlan, Need, Plan
from domain.config.why import Clause, Why

TEXT = "build:\n  script: make\n"
RULE = Clause("rules[0]", matched=False, expression="if: $CI_COMMIT_TAG", values={"CI_COMMIT_TAG": None}, line=7)
NO_TAG = Why(included=False, clause="rules", text="no item of `rules` matched", tried=(RULE,))


def job(name: str, stage: str = "test", **fields: Any) -> JobPlan:
    """A job with a script."""
    return JobPlan(name=name, stage=stage, script=("make",), **fields)


def needs(*names: str, **fields: Any) -> tuple[Need, ...]:
    """Needs of these jobs."""
    return tuple(Need(name, **fields) for name in names)


def plan(*jobs: JobPlan, **fields: Any) -> Plan:
    """A plan; its stages are those of the jobs, in their order."""
    return Plan(tuple(dict.fromkeys(one.stage for one in jobs)), jobs, **fields)


def absent(name: str, stage: str = "deploy") -> AbsentJob:
    """A job for tags only."""
    return AbsentJob(name, stage, NO_TAG)


def outcome(made: Plan | None = None, **fields: Any) -> Outcome:
    """The outcome for a push to `main` of a text with one job."""
    context = fields.pop("context", Context(predefined={"CI_COMMIT_SHA": "0123456789" * 4}))
    return Outcome(context, ".gitlab-ci.yml", fields.pop("text", TEXT), plan=made, **fields)
