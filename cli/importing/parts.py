"""The parts of a project that are carried over the API: read on both sides, planned by the domain, made here."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from cli.importing.patient_api import GaveUp
from cli.importing.report import Report
from cli.importing.source import Source
from cli.importing.target import Target
from domain.errors import PerdureError
from domain.project_import import (
    environments,
    protected_refs,
    resource_groups,
    schedules,
    settings,
    triggers,
    variables,
)
from domain.project_import.left_behind import not_seen
from domain.project_import.plan import Document, Item, Plan

_NOT_STARTED = "It is not started, since something else of the project was not carried."
_MEND = "Mend what failed, and import again."


class Parts:
    """Carries one part after the other; a part that cannot be read is noted, and the next one goes on."""

    def __init__(self, source: Source, target: Target, report: Report) -> None:
        """Note in `report` what is done."""
        self._source = source
        self._target = target
        self._report = report
        self._starts: list[Item] = []

    def settings(self) -> None:
        """What the project is set to, in one call if the server takes it."""
        plan = settings.plan(self._source.project, self._target.project)
        self._target.carry_at_once(plan.items)
        self._report.add(*plan.not_carried)

    def protected_refs(self) -> None:
        """Protected branches and tags: after the push, which they could forbid, and before all that they protect."""
        self._simple(protected_refs.BRANCH, "/protected_branches", protected_refs.branches)
        self._simple(protected_refs.TAG, "/protected_tags", protected_refs.tags)

    def variables(self) -> None:
        """CI/CD variables."""
        self._simple(variables.KIND, "/variables", variables.plan)

    def environments(self) -> None:
        """Environments; those that are stopped at the source are stopped, unless they are in use here."""
        with self._looking(environments.KIND):
            source, present = self._source.listed("/environments"), self._target.listed("/environments")
            full = {key: self._target.get(f"/environments/{key}") for key in environments.needs_detail(source, present)}
            self._carry(environments.plan(source, [full.get(one["id"], one) for one in present]))

    def schedules(self, refs: frozenset[str], *, activate: bool) -> None:
        """Pipeline schedules, paused; `start` lets them run."""
        route = "/pipeline_schedules"
        with self._looking(schedules.KIND):
            source = [self._source.get(f"{route}/{one['id']}") for one in self._source.listed(route)]
            present = [self._target.get(f"{route}/{one['id']}") for one in self._target.listed(route)]
            found = schedules.plan(source, present, schedules.Around(refs, self._target.username, activate))
            responses = self._carry(found.plan)
            for number, start in found.starts.items():
                response = responses[number]
                if response is not None:
                    made = tuple(call.of(response.get("id", "")) for call in start.calls)
                    self._starts.append(Item(start.kind, start.name, start.outcome, made, start.detail))

    def start(self) -> None:
        """Let schedules run, last of all, and only if nothing that their pipelines may need has failed."""
        if self._report.has_failures:
            for one in self._starts:
                self._report.failed(one, _NOT_STARTED, _MEND)
            return
        for one in self._starts:
            self._target.carry(one)

    def triggers(self, now: datetime) -> None:
        """Triggers; the tokens of those that are made are noted, since nobody can see them later."""
        with self._looking(triggers.KIND):
            plan = triggers.plan(self._source.listed("/triggers"), self._target.listed("/triggers"), now)
            for item, response in zip(plan.items, self._carry(plan), strict=True):
                if item.calls and response and response.get("token"):
                    self._report.tokens.append({"description": item.name, "token": response["token"]})

    def resource_groups(self) -> None:
        """The modes of resource groups."""
        self._simple(resource_groups.KIND, "/resource_groups", resource_groups.plan)

    def _simple(self, kind: str, route: str, plan: Callable[[Sequence[Document], Sequence[Document]], Plan]) -> None:
        with self._looking(kind):
            self._carry(plan(self._source.listed(route), self._target.listed(route)))

    def _carry(self, plan: Plan) -> list[dict[str, Any] | None]:
        self._report.add(*plan.not_carried)
        return [self._target.carry(item) for item in plan.items]

    @contextmanager
    def _looking(self, kind: str) -> Iterator[None]:
        try:
            yield
        except GaveUp:
            raise
        except PerdureError as error:
            self._report.add(not_seen(kind, str(error), failed=True))
