"""From what is written to what runs: which jobs are in for one event, with which values, and why.

Source: docs/reference/ci-yaml.md, "Order of reading", "Needs", "Rules", "Variables".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from domain.config.event import Event, job_variables
from domain.config.graph import Linked, note_circles
from domain.config.job import JobDraft
from domain.config.keywords import PAGES_JOB
from domain.config.plan import AbsentJob, Artifacts, ForeignNeed, JobPlan, Need, Pages, Variable, When
from domain.config.readers.recovery import AllowFailure
from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.tree import Place
from domain.config.rules.rules import Rule
from domain.config.rules.scope import names_in
from domain.config.why import Why
from domain.errors import Invalid
from domain.variables.job_variables import JobVariable, expand

MAX_NEEDS: Final = 50
"""Needs of one job, parallel ones counted singly (docs/reference/ci-yaml.md, "Limits")."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A job that is in, the rule that put it there, and why."""

    job: Linked
    rule: Rule | None
    why: Why

    @property
    def needs(self) -> tuple[Need, ...] | None:
        """Its rule's needs, or its own."""
        rule, draft = self.rule, self.job.draft
        if rule is None or rule.needs is None or not rule.needs.local:
            return self.job.needs  # `needs: []` of a rule changes nothing in GitLab (decision 62)
        return next(self.job.rule_needs[index] for index, one in enumerate(draft.rules or ()) if one is rule)


class Seeds:
    """Chooses the jobs of one event and fills in their values."""

    def __init__(self, event: Event, issues: Issues, budget: Budget) -> None:
        """Nothing is chosen yet."""
        self._event = event
        self._issues = issues
        self._budget = budget
        self._inherited: dict[object, Mapping[str, Variable]] = {}
        self._sound: dict[int, Mapping[str, Variable]] = {}

    def planned(self, jobs: Sequence[Linked]) -> tuple[tuple[JobPlan, ...], tuple[AbsentJob, ...]]:
        """The jobs that are in, complete, and those that are not."""
        chosen, absent = self._choose(jobs)
        present = {one.job.name for one in chosen}
        out = {job.name: job.why for job in absent}
        needs = [self._present_needs(one, present, out) for one in chosen]
        if any(one.rule is not None and one.rule.needs is not None for one in chosen):
            names = {one.job.name: found for one, found in zip(chosen, needs, strict=True) if found}
            note_circles(names, [one.job for one in chosen], self._issues)
        plans = tuple(self._plan(one, found, present) for one, found in zip(chosen, needs, strict=True))
        return plans, absent

    def _choose(self, jobs: Sequence[Linked]) -> tuple[list[Chosen], tuple[AbsentJob, ...]]:
        chosen: list[Chosen] = []
        absent: dict[str, list[AbsentJob]] = {}
        whole: dict[str, bool] = {}
        for job in jobs:
            draft = job.draft
            decision = self._event.decide(draft, job.instance, self._inherited_by(draft))
            if decision.why.included:
                chosen.append(Chosen(job, decision.rule, decision.why))
                whole[draft.name] = False
            else:
                whole.setdefault(draft.name, True)
                absent.setdefault(draft.name, []).append(AbsentJob(job.name, draft.stage or "", decision.why))
        return chosen, tuple(_told(absent, whole))

    def _inherited_by(self, draft: JobDraft) -> Mapping[str, Variable]:
        """The global variables that a job takes."""
        kept = draft.inherit.variables if draft.inherit else True
        if kept is True:
            return self._event.variables
        if kept not in self._inherited:
            names = kept or ()
            self._inherited[kept] = {key: value for key, value in self._event.variables.items() if key in names}
        return self._inherited[kept]

    def _present_needs(self, one: Chosen, present: set[str], out: Mapping[str, Why]) -> tuple[Need, ...] | None:
        """The needs whose jobs are in. Of the job's own needs others are noted that are not optional.

        That holds also where a rule replaces them; the needs of a rule are those of its jobs that are in.
        """
        needs, draft = one.needs, one.job.draft
        for need in one.job.needs or ():
            if need.job not in present and not need.optional:
                self._note_absent(one, need.job, out)
        if not needs:
            return needs
        if len(needs) > MAX_NEEDS:
            message = f"{one.job.name} job: one job can only need {MAX_NEEDS} others, but you have listed {len(needs)}"
            self._issues.add(message, f"jobs:{draft.name}:needs", _need_place(one, needs[0].job))
            return ()
        return needs if all(need.job in present for need in needs) else tuple(n for n in needs if n.job in present)

    def _note_absent(self, one: Chosen, need: str, out: Mapping[str, Why]) -> None:
        name, why = one.job.name, out.get(need)
        message = (
            f"'{name}' job needs '{need}' job, but '{need}' does not exist in the pipeline. This might be because of "
            "the only, except, or rules keywords. To need a job that sometimes does not exist in the pipeline, use "
            f"needs:optional.{f' Here: {why.text}' if why else ''}"
        )
        self._issues.add(message, f"jobs:{one.job.draft.name}:needs", _need_place(one, need))

    def _plan(self, one: Chosen, needs: tuple[Need, ...] | None, present: set[str]) -> JobPlan:
        """Fill in every default. A job is allowed to fail if it says so, or if it is manual and says nothing."""
        draft, rule, instance = one.job.draft, one.rule, one.job.instance
        allowed = draft.allow_failure or AllowFailure(always=draft.when == When.MANUAL)
        if rule is not None and rule.allow_failure is not None:
            allowed = AllowFailure(rule.allow_failure)
        when = (rule.when if rule else None) or draft.when
        variables = self._variables(one)
        self._check_variables(one, variables)
        dependencies = one.job.dependencies
        return JobPlan(
            name=one.job.name,
            stage=draft.stage or "",
            script=draft.script,
            before_script=draft.before_script,
            after_script=draft.after_script,
            when=When(when),
            start_in=(rule.start_in if rule else draft.start_in) if when == When.DELAYED else None,
            allow_failure=allowed.always,
            allow_failure_exit_codes=allowed.exit_codes,
            needs=needs,
            foreign_needs=_foreign_needs(draft, rule),
            dependencies=dependencies and tuple(name for name in dependencies if name in present),
            variables=variables,
            tags=self._tags(one),
            image=draft.image,
            services=draft.services,
            cache=draft.cache,
            artifacts=_artifacts(draft),
            timeout=draft.timeout,
            retry=draft.retry,
            node_index=instance.index if instance else None,
            node_total=instance.total if instance else None,
            environment=draft.environment,
            resource_group=draft.resource_group,
            interruptible=draft.interruptible if rule is None or rule.interruptible is None else rule.interruptible,
            coverage=draft.coverage,
            manual_confirmation=draft.manual_confirmation,
            trigger=draft.trigger,
            run=draft.run,
            hooks=draft.hooks,
            id_tokens=draft.id_tokens,
            secrets=draft.secrets,
            identity=draft.identity,
            dast_configuration=draft.dast_configuration,
            inputs=draft.inputs,
            release=draft.release,
            pages=_pages(draft),
            why=one.why,
        )

    def _variables(self, one: Chosen) -> Mapping[str, Variable]:
        """Global ones, the job's own, those of its matrix and its rule; shared as long as nothing is added."""
        draft, instance = one.job.draft, one.job.instance
        values = instance.values if instance else {}
        ruled = one.rule.variables if one.rule else {}
        layers = [layer for layer in (self._inherited_by(draft), draft.variables, ruled) if layer]
        if not values and len(layers) < 2:
            return layers[0] if layers else {}
        self._budget.spend(sum(map(len, layers)) + len(values), draft.place)
        matrix = {name: Variable(value) for name, value in values.items()}
        return {**self._inherited_by(draft), **draft.variables, **matrix, **ruled}

    def _check_variables(self, one: Chosen, variables: Mapping[str, Variable]) -> None:
        """Note variables that go round in circles, or grow too large."""
        if id(variables) in self._sound or not _may_circle(variables):
            return
        self._sound[id(variables)] = variables
        try:
            expand(JobVariable(key, value.value, raw=value.raw) for key, value in variables.items())
        except Invalid as error:
            path = f"jobs:{one.job.draft.name}:variables"
            self._issues.add(f"{one.job.name} job: {error}", path, one.job.draft.place)

    def _tags(self, one: Chosen) -> tuple[str, ...]:
        """Variables are put in as they are written, and those of the rule are not known yet (decision 62)."""
        tags = one.job.draft.tags
        if not any("$" in tag or "%" in tag for tag in tags):
            return tags
        variables = self._variables(replace(one, rule=None))
        scope = self._event.scope(variables, job=job_variables(one.job.draft, one.job.instance))
        return tuple(scope.expand_once(tag) for tag in tags)


def _may_circle(variables: Mapping[str, Variable]) -> bool:
    """Whether a variable that refers to others is referred to itself; without one nothing can go round in circles."""
    referring = {
        name: names_in(variable.value)
        for name, variable in variables.items()
        if not variable.raw and ("$" in variable.value or "%" in variable.value)
    }
    return any(other != name and other in referring for name, others in referring.items() for other in others)


def _told(absent: Mapping[str, list[AbsentJob]], whole: Mapping[str, bool]) -> Iterator[AbsentJob]:
    """A parallel job of which no instance is in is told once."""
    for name, jobs in absent.items():
        if whole[name]:
            yield replace(jobs[0], name=name)
        else:
            yield from jobs


def _need_place(one: Chosen, need: str) -> Place:
    draft, rule = one.job.draft, one.rule
    ruled = rule.needs.local if rule is not None and rule.needs is not None else ()
    entries = (*ruled, *(draft.needs.local if draft.needs else ()))
    return next((entry.place for entry in entries if need.startswith(entry.job)), draft.place)


def _foreign_needs(draft: JobDraft, rule: Rule | None) -> tuple[ForeignNeed, ...]:
    needs = rule.needs if rule is not None and rule.needs is not None else draft.needs
    return tuple(entry.need for entry in needs.foreign) if needs else ()


def _pages(draft: JobDraft) -> Pages | None:
    """What the job publishes: a job called `pages` does so unless it says `pages: false`."""
    if draft.pages is False or (draft.pages is None and draft.name != PAGES_JOB) or draft.trigger:
        return None
    pages = draft.pages if isinstance(draft.pages, Pages) else Pages()
    return replace(pages, publish=draft.publish) if draft.publish else pages


def _artifacts(draft: JobDraft) -> Artifacts | None:
    """The artifacts as written; what a job publishes is among them."""
    pages = _pages(draft)
    if pages is None:
        return draft.artifacts
    artifacts = draft.artifacts or Artifacts()
    if pages.publish in artifacts.paths:
        return artifacts
    return replace(artifacts, paths=(*artifacts.paths, pages.publish))
