"""From the text of a configuration to a plan: the stages of the compiler, one after the other.

read, inputs and includes (includes) -> extends -> references -> top level -> jobs -> parallel and needs (graph) ->
workflow and rules (event, seed) -> plan. Each notes its issues and goes on as far as it can, so that one run tells
everything. Source: docs/reference/ci-yaml.md, "Order of reading".
"""

from collections.abc import Mapping
from typing import Final

from domain.config.context import Context
from domain.config.entries import Entries
from domain.config.event import Event
from domain.config.graph import Graph, Linked
from domain.config.job import read_job
from domain.config.merged import packed
from domain.config.plan import AbsentJob, Plan
from domain.config.publishing import warn_of_pages
from domain.config.reading.budget import COPIES, Budget
from domain.config.reading.garbage import collection_paused
from domain.config.reading.issues import Issues
from domain.config.reading.parsed_files import ParsedFiles
from domain.config.reading.yaml_text import dump
from domain.config.resolving import Resolved, resolve, visible_jobs
from domain.config.rules.expression import Expressions
from domain.config.rules.rules import needs_warning
from domain.config.rules.workflow import MAX_NAME, ruled_auto_cancel
from domain.config.seed import Seeds
from domain.config.sources import Answer, Request, Sources, Wanted
from domain.config.stopping import check_on_stop
from domain.config.toplevel import FIRST_STAGE, LAST_STAGE, TopLevel, read_toplevel
from domain.errors import PipelineFiltered

DEFAULT_CONTEXT: Final = Context()
"""A push to `main` of which nothing else is known."""

MAX_TOLD: Final = 3
"""Absent jobs that the message of an empty pipeline names."""

FILTERED: Final[Mapping[str, str]] = {
    "filtered_by_workflow_rules": "Pipeline filtered out by workflow rules. The pipeline did not run: {why}",
    "filtered_by_rules": "The resulting pipeline would have been empty: no stages / jobs for this pipeline. "
    "Review the rules configuration for the relevant jobs: {why}",
}
"""Failure reasons of a right configuration that leaves no pipeline, and their texts."""


class _Compiler:
    """One compilation: what all stages share."""

    def __init__(self, context: Context, sources: Sources, file: str, *, every_job: bool = False) -> None:
        self.issues = Issues(file)
        self.sources = sources
        self._context = context
        self._budget = Budget(COPIES, self.issues)
        self._reads: set[str] = set()
        self._every_job = every_job

    def resolve(self, text: str) -> Resolved | None:
        """Includes, inputs, `extends` and `!reference`; None if something is wanted first."""
        return resolve(text, self._context, self.sources, self.issues, self._budget, self._reads)

    def plan(self, resolved: Resolved) -> Plan | None:
        """The plan; None if something is wanted first. Raises `ConfigInvalid`, `PipelineFiltered`."""
        expressions = Expressions()
        entries = Entries(expressions)
        top = read_toplevel(resolved.root, entries, expressions, self.issues)
        jobs = self._jobs(resolved, top, entries)
        self.issues.raise_if_any()
        event = self._event(top)
        if event is None:
            return None
        seeds = Seeds(event, self.issues, self._budget)
        planned, absent = seeds.planned(jobs)
        if self.sources.wanted:
            return None
        self.issues.raise_if_any()
        warn_of_pages(jobs, planned, self.issues)
        used = {job.stage for job in planned}
        plan = Plan(
            stages=tuple(stage for stage in top.stages or () if stage in used),
            jobs=planned,
            absent=absent,
            name=_name(top, event),
            auto_cancel=event.auto_cancel,
            variables=event.variables,
            prefill=top.prefill,
            why=event.why,
            includes=resolved.includes,
            warnings=self.issues.warnings,
            reads=frozenset(event.reads | self._reads),
            lasting=self.sources.lasting,
            merged=packed(resolved.root),
        )
        if not used - {FIRST_STAGE, LAST_STAGE}:
            _refuse(plan, "filtered_by_rules", _emptiness(plan.jobs, absent))
        return plan

    def _jobs(self, resolved: Resolved, top: TopLevel, entries: Entries) -> list[Linked]:
        drafts = [
            read_job(name, config, top.defaults, entries)
            for name, config in visible_jobs(resolved.root, self.issues).items()
            if name not in resolved.unread
        ]
        check_on_stop(drafts, self.issues)
        if not top.workflow.rules:
            for draft in drafts:
                if draft.rules and needs_warning(draft.rules):
                    self.issues.warn(
                        f"jobs:{draft.name} may allow multiple pipelines to run for a single action due to `rules:when`"
                        " clause with no `workflow:rules`",
                        f"jobs:{draft.name}:rules",
                        draft.rules[-1].place,
                    )
        return Graph(drafts, top.stages, resolved.unread, self.issues, self._budget).linked()

    def _event(self, top: TopLevel) -> Event | None:
        """The event with what the workflow's rules add to it."""
        rules = top.workflow.rules
        event = Event(
            self._context,
            top.variables,
            self.sources,
            self.issues,
            default_filter=rules is None,
            every_job=self._every_job,
        )
        if rules is None or self._every_job:
            event.auto_cancel = ruled_auto_cancel(top.workflow)
            return event
        decision = event.workflow(rules)
        if self.sources.wanted:
            return None
        self.issues.raise_if_any()
        event.why = decision.why
        if not decision.why.included:
            _refuse(Plan((), (), why=decision.why), "filtered_by_workflow_rules", decision.why.text)
        event.auto_cancel = ruled_auto_cancel(top.workflow, decision.rule)
        if decision.rule is not None and decision.rule.variables:
            event.variables = {**top.variables, **decision.rule.variables}
        return event


def compile_config(
    text: str,
    context: Context = DEFAULT_CONTEXT,
    known: Mapping[Request, Answer] | None = None,
    *,
    file: str = ".gitlab-ci.yml",
    every_job: bool = False,
    parsed: ParsedFiles | None = None,
) -> Plan | Wanted:
    """Compile a configuration for one event.

    `known` are answers to what an earlier call wanted, `parsed` is what was parsed for it; `file` is what issues call
    the main file. With `every_job` no rule is asked, and each job is in the plan. Raises `ConfigInvalid` with every
    issue, and `PipelineFiltered` when the rules leave nothing to run.
    """
    compiler = _Compiler(context, Sources(known, parsed), file, every_job=every_job)
    with collection_paused():
        resolved = compiler.resolve(text)
        plan = compiler.plan(resolved) if resolved else None
    return plan or Wanted(compiler.sources.wanted)


def merged_config(
    text: str,
    context: Context = DEFAULT_CONTEXT,
    known: Mapping[Request, Answer] | None = None,
    *,
    file: str = ".gitlab-ci.yml",
    parsed: ParsedFiles | None = None,
) -> str | Wanted:
    """The configuration as one YAML text: includes merged, inputs, `extends` and `!reference` carried out.

    Raises `ConfigInvalid` when that is not possible.
    """
    compiler = _Compiler(context, Sources(known, parsed), file)
    resolved = compiler.resolve(text)
    if resolved is None:
        return Wanted(compiler.sources.wanted)
    compiler.issues.raise_if_any()
    return dump(resolved.root)


def _name(top: TopLevel, event: Event) -> str:
    """The pipeline's name with global and predefined variables; unknown ones become empty."""
    return event.scope(event.variables).expand(top.workflow.name, missing="").strip()[:MAX_NAME]


def _refuse(plan: Plan, reason: str, why: str) -> None:
    raise PipelineFiltered(FILTERED[reason].format(why=why), reason, plan)


def _emptiness(jobs: tuple[object, ...], absent: tuple[AbsentJob, ...]) -> str:
    if jobs:
        return f"there are jobs in {FIRST_STAGE} or {LAST_STAGE} only; add one in another stage"
    told = [f"{job.name}: {job.why.text}" for job in absent[:MAX_TOLD]]
    more = [f"and {len(absent) - MAX_TOLD} more"] if len(absent) > MAX_TOLD else []
    return "; ".join((*told, *more)) or "there is no job"
