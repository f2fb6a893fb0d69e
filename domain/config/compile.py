"""From the text of a configuration to a plan: the stages of the compiler, one after the other.

read (source) -> extends -> top level -> jobs -> parallel and needs (graph) -> plan. Each notes its issues and goes on
as far as it can, so that one run tells everything.
"""

from collections.abc import Mapping

from domain.config.budget import COPIES, Budget
from domain.config.entries import Entries
from domain.config.extends import resolve
from domain.config.field import Field
from domain.config.garbage import collection_paused
from domain.config.graph import Graph, Linked
from domain.config.issues import Issues
from domain.config.job import read_job
from domain.config.keywords import TOP
from domain.config.plan import JobPlan, Plan, Variable, When
from domain.config.recovery import AllowFailure
from domain.config.source import read
from domain.config.toplevel import FIRST_STAGE, LAST_STAGE, TopLevel, read_toplevel
from domain.config.tree import Items, Map, Place


def compile_config(text: str, *, file: str = ".gitlab-ci.yml") -> Plan:
    """Compile a configuration; `file` is what issues call it. Raises `ConfigInvalid` with every issue."""
    issues = Issues(file)
    budget = Budget(COPIES, issues)
    with collection_paused():
        root, unread = resolve(read(text, issues), issues, budget)
        entries = Entries()
        top = read_toplevel(root, entries, issues)
        drafts = [
            read_job(name, config, top.defaults, entries)
            for name, config in _visible(root, issues).items()
            if name not in unread
        ]
        jobs = Graph(drafts, top.stages, unread, issues, budget).linked()
        if not len(issues):
            _check_not_empty(jobs, issues)
        issues.raise_if_any()
        return Plan(stages=_used_stages(top, jobs), jobs=tuple(_planned(job, top.variables, budget) for job in jobs))


def _visible(root: Map, issues: Issues) -> dict[str, Field]:
    """Every job that is not hidden; of hidden ones only those without content are wrong."""
    found = {}
    for name, value in root.items():
        if name in TOP.read or name in TOP.later:
            continue
        path, place = f"jobs:{name}", root.places[name]
        if not name.startswith("."):
            found[name] = Field(value, path, f"{path} config", place, issues)
        elif value in (None, "", Map(), Items()):
            issues.add(f"{path} config can't be blank", path, place)
    if not found:
        issues.add("jobs config should contain at least one visible job", "jobs", Place(1, 1))
    return found


def _check_not_empty(jobs: list[Linked], issues: Issues) -> None:
    """Jobs at the edges alone make no pipeline."""
    if all(job.draft.stage in (FIRST_STAGE, LAST_STAGE) for job in jobs):
        issues.add(
            "The resulting pipeline would have been empty: "
            f"there are jobs in {FIRST_STAGE} or {LAST_STAGE} only; add one in another stage",
            "jobs",
            jobs[0].draft.place,
        )


def _used_stages(top: TopLevel, jobs: list[Linked]) -> tuple[str, ...]:
    used = {job.draft.stage for job in jobs}
    return tuple(stage for stage in top.stages if stage in used)


def _planned(job: Linked, top_variables: Mapping[str, Variable], budget: Budget) -> JobPlan:
    """Fill in every default. A job is allowed to fail if it says so, or if it is manual and says nothing."""
    draft, instance = job.draft, job.instance
    allowed = draft.allow_failure or AllowFailure(always=draft.when == When.MANUAL)
    return JobPlan(
        name=job.name,
        stage=draft.stage,
        script=draft.script,
        before_script=draft.before_script,
        after_script=draft.after_script,
        when=When(draft.when),
        start_in=draft.start_in,
        allow_failure=allowed.always,
        allow_failure_exit_codes=allowed.exit_codes,
        needs=job.needs,
        dependencies=job.dependencies,
        variables=_variables(job, top_variables, budget),
        tags=draft.tags,
        image=draft.image,
        artifacts=draft.artifacts,
        timeout=draft.timeout,
        retry=draft.retry,
        node_index=instance.index if instance else None,
        node_total=instance.total if instance else None,
    )


def _variables(job: Linked, top_variables: Mapping[str, Variable], budget: Budget) -> Mapping[str, Variable]:
    """The top's, the job's own, those of its matrix; shared between jobs as long as nothing is added."""
    own = job.draft.variables
    values = job.instance.values if job.instance else {}
    if not own and not values:
        return top_variables
    if not top_variables and not values:
        return own
    budget.spend(len(top_variables) + len(own) + len(values), job.draft.place)
    return {**top_variables, **own, **{name: Variable(value) for name, value in values.items()}}
