"""Looking across jobs: stages exist, needs and dependencies point to jobs that run before, and nothing runs in circles.

Source: docs/reference/ci-yaml.md, "Job keywords", "Needs", "Limits". These messages start with the name of the job, not
with a path.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from textwrap import shorten
from typing import Final, TypeGuard

from domain.config.job import JobDraft
from domain.config.plan import Need
from domain.config.readers.needs import DependencyEntry, NeedEntry, Needs
from domain.config.readers.parallel import Instance, Matrix, has_matrix_expression, instances, with_matrix_values
from domain.config.reading.budget import Budget
from domain.config.reading.issues import Issues
from domain.config.reading.spelling import nearest
from domain.config.reading.tree import Place

MAX_CIRCLES: Final = 10
"""Circles that are told one by one."""
MAX_LIST: Final = 800
"""Characters of the list of stages in a message."""
JOB_COST: Final = 10
"""Entries of the budget that one instance of a job takes."""


@dataclass(frozen=True, slots=True)
class Linked:
    """One job that may run: what was written, which instance of it this is, and what it waits for.

    `rule_needs` are the needs that its rules may put in the place of its own, by the rule's position.
    """

    draft: JobDraft
    name: str
    instance: Instance | None
    needs: tuple[Need, ...] | None
    rule_needs: Mapping[int, tuple[Need, ...]]
    dependencies: tuple[str, ...] | None


class Graph:
    """All jobs of one configuration. `unread` names jobs that exist but could not be read."""

    def __init__(
        self,
        drafts: Sequence[JobDraft],
        stages: tuple[str, ...] | None,
        unread: frozenset[str],
        issues: Issues,
        budget: Budget,
    ) -> None:
        """Expand parallel jobs and check that stages exist, unless they could not be read (None).

        A job that is called as an instance of another takes its place if it is written later, and loses it otherwise.
        """
        self._stages = {stage: position for position, stage in enumerate(stages or ())}
        self._stage_list = shorten(", ".join(stages or ()), MAX_LIST, placeholder=" ...")
        self._unread = unread
        self._issues = issues
        self._budget = budget
        self._instances: dict[str, tuple[Instance | None, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._stage_of: dict[str, int | None] = {}
        self._owners: dict[str, JobDraft] = {}
        self._drafts = drafts
        for draft in drafts:
            self._add(draft)

    def linked(self) -> list[Linked]:
        """Every job in the order of the text, with needs and dependencies by full names."""
        jobs = [job for draft in self._drafts for job in self._link(draft)]
        note_circles({job.name: job.needs for job in jobs if job.needs}, jobs, self._issues)
        return jobs

    def _add(self, draft: JobDraft) -> None:
        stage = None if draft.stage is None else self._stages.get(draft.stage)
        if stage is None and draft.stage is not None and self._stages:
            hint = nearest([draft.stage], self._stages)
            self._fault(
                draft,
                f"chosen stage {draft.stage} does not exist; available stages are {self._stage_list}{hint}",
                "stage",
                draft.places.get("stage", draft.place),
            )
        expanded: tuple[Instance | None, ...] = (None,)
        if draft.parallel is not None:
            self._budget.spend(JOB_COST, draft.place)
            expanded = instances(draft.name, draft.parallel)
        self._budget.spend(JOB_COST * len(expanded), draft.place)
        names = tuple(instance.name if instance else draft.name for instance in expanded)
        self._instances[draft.name] = expanded
        self._names[draft.name] = names
        if not names:
            message = f"{draft.name} job: its matrix has no combination, so there is no such job"
            self._issues.warn(message, f"jobs:{draft.name}:parallel", draft.places["parallel"])
        for name in names:
            self._stage_of[name] = stage
            self._owners[name] = draft

    def _link(self, draft: JobDraft) -> Iterable[Linked]:
        """Needs are looked up once for all instances, unless they speak of the matrix."""
        self._check_part_of_needs(draft)
        self._check_sources(draft)
        offered = {index: rule.needs for index, rule in enumerate(draft.rules or ()) if rule.needs is not None}
        every = [needs for needs in (draft.needs, *offered.values()) if needs is not None]
        varies = any(_varies(need) for needs in every for need in needs.local)
        dependencies = self._dependencies(draft)
        needs: tuple[Need, ...] | None = None
        rule_needs: Mapping[int, tuple[Need, ...]] = {}
        for position, instance in enumerate(self._instances[draft.name]):
            if every and (varies or position == 0):
                values = instance.values if instance else {}
                needs = self._needs(draft, draft.needs, values) if _waits_for_needs(draft.needs) else None
                rule_needs = {index: self._ruled_needs(draft, other, values) for index, other in offered.items()}
            name = instance.name if instance else draft.name
            if self._owners[name] is not draft:
                continue
            for found in (needs or (), *rule_needs.values()):
                self._check_self(draft, name, found)
            yield Linked(draft, name, instance, needs, rule_needs, dependencies)

    def _needs(self, draft: JobDraft, needs: Needs, values: Mapping[str, str]) -> tuple[Need, ...]:
        self._budget.spend(len(needs.local), draft.place)
        found: list[tuple[NeedEntry, tuple[str, ...]]] = []
        for entry in needs.local:
            written = with_matrix_values(entry.job, values)
            names = self._targets(draft, written, entry, "need", "needs", optional=entry.optional)
            if entry.matrix is not None and names:
                names = self._picked(draft, written, entry, entry.matrix, values)
            if names:
                found.append((entry, names))
        self._budget.spend(sum(len(names) for _, names in found), draft.place)
        self._check_duplicates(draft, found)
        return tuple(Need(name, entry.artifacts, entry.optional) for entry, names in found for name in names)

    def _ruled_needs(self, draft: JobDraft, needs: Needs, values: Mapping[str, str]) -> tuple[Need, ...]:
        """A rule names instances one by one: nobody expands the name of a parallel job there."""
        for entry in needs.local:
            name = with_matrix_values(entry.job, values)
            names = self._names.get(name, (name,))
            if names != (name,) or entry.matrix is not None:
                one = f", as `{names[0]}`" if names else ""
                text = f"undefined need: {name}; it is parallel, and a rule names its instances{one}"
                self._fault(draft, text, "rules", entry.place)
                return ()
        return self._needs(draft, needs, values)

    def _picked(
        self, draft: JobDraft, name: str, entry: NeedEntry, matrix: Matrix, values: Mapping[str, str]
    ) -> tuple[str, ...]:
        """The instances with the picked values, or with their names; values may name those of this job's own matrix."""
        known = {frozenset(one.values.items()): one.name for one in self._instances.get(name, ()) if one}
        names = set(known.values())
        self._budget.spend(len(known), draft.place)
        found = []
        for picked in instances(name, matrix):
            own = {key: with_matrix_values(value, values) for key, value in picked.values.items()}
            wanted = f"{name}: [{', '.join(own.values())}]"
            target = known.get(frozenset(own.items()), wanted)
            if target in names:
                found.append(target)
            elif not entry.optional:
                self._fault(draft, f"undefined need: {wanted}", "needs", entry.place)
        return tuple(found)

    def _dependencies(self, draft: JobDraft) -> tuple[str, ...] | None:
        if draft.dependencies is None:
            return None
        self._budget.spend(len(draft.dependencies), draft.place)
        found: dict[str, None] = {}
        for entry in draft.dependencies:
            names = self._targets(draft, entry.job, entry, "dependency", "dependencies", optional=False)
            self._budget.spend(len(names), draft.place)
            found.update(dict.fromkeys(names))
        return tuple(found)

    def _check_sources(self, draft: JobDraft) -> None:
        """The jobs whose artifacts hold the configuration of a child pipeline run before."""
        for item in draft.trigger.include if draft.trigger else ():
            job = item.get("job") if "artifact" in item else None
            if isinstance(job, str):
                place = draft.places.get("trigger", draft.place)
                self._targets(draft, job, DependencyEntry(job, place), "dependency", "trigger", optional=False)

    def _targets(
        self, draft: JobDraft, name: str, entry: NeedEntry | DependencyEntry, kind: str, keyword: str, *, optional: bool
    ) -> tuple[str, ...]:
        """The full names that a written one stands for; notes those that do not exist or run later."""
        names = self._names.get(name) or ((name,) if name in self._stage_of else ())
        if not names:
            if name not in self._unread and name not in self._names and not optional:
                hint = nearest([name], self._names)
                self._fault(draft, f"undefined {kind}: {name}{hint}", keyword, entry.place)
            return ()
        theirs, own = self._stage_of[names[0]], self._stages.get(draft.stage or "")
        if theirs is not None and own is not None and theirs > own:
            self._fault(draft, f"{kind} {name} is not defined in current or prior stages", keyword, entry.place)
        return names

    def _check_part_of_needs(self, draft: JobDraft) -> None:
        if draft.needs is None or not draft.needs.local or not draft.dependencies:
            return
        needed = {need.job for need in draft.needs.local}
        missing = [entry for entry in draft.dependencies if entry.job not in needed]
        if missing:
            path = f"jobs:{draft.name}"
            names = ", ".join(entry.job for entry in missing)
            message = f"{path} dependencies the {names} should be part of needs"
            self._issues.add(message, f"{path}:dependencies", missing[0].place)

    def _check_duplicates(self, draft: JobDraft, found: list[tuple[NeedEntry, tuple[str, ...]]]) -> None:
        counted = Counter(name for _, names in found for name in names)
        twice = [name for name, count in counted.items() if count > 1]
        if twice:
            message = f"{draft.name} has the following needs duplicated: {', '.join(twice)}."
            self._issues.add(message, f"jobs:{draft.name}:needs", found[0][0].place)

    def _check_self(self, draft: JobDraft, name: str, needs: tuple[Need, ...]) -> None:
        if any(need.job == name for need in needs):
            message = f"The pipeline has circular dependencies: self-dependency: {name}"
            self._issues.add(message, f"jobs:{draft.name}:needs", draft.places.get("needs", draft.place))

    def _fault(self, draft: JobDraft, text: str, keyword: str, place: Place) -> None:
        self._issues.add(f"{draft.name} job: {text}", f"jobs:{draft.name}:{keyword}", place)


def note_circles(needs: Mapping[str, tuple[Need, ...]], jobs: Iterable[Linked], issues: Issues) -> None:
    """Note circles of two or more, one after the other."""
    if not needs:
        return
    edges = {name: {need.job for need in found} - {name} for name, found in needs.items()}
    places = {job.name: job.draft.places.get("needs", job.draft.place) for job in jobs}
    for _ in range(MAX_CIRCLES):
        circle = _circle(edges)
        if not circle:
            return
        path = " -> ".join(circle)
        message = f"The pipeline has circular dependencies: {path}"
        issues.add(message, f"jobs:{circle[0]}:needs", places[circle[0]])
        for job, need in pairwise(circle):
            edges[job].discard(need)


def _waits_for_needs(needs: Needs | None) -> TypeGuard[Needs]:
    """Whether a job waits for needs and not for stages; one that only mirrors another pipeline does not."""
    return needs is not None and (bool(needs.local) or all(entry.need.job for entry in needs.foreign))


def _varies(need: NeedEntry) -> bool:
    """Whether a need means another job for each instance of a matrix."""
    return has_matrix_expression(need.job) or any(
        has_matrix_expression(value) for row in need.matrix or () for values in row.values() for value in values
    )


def _circle(edges: Mapping[str, set[str]]) -> list[str]:
    """One circle, each job before one that it needs; empty if there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []
