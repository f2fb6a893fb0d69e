"""Several pipelines of a project: their workflows, bridges and those who follow them, and resource groups."""

from collections.abc import Mapping
from dataclasses import replace

from domain.config.plan import JobPlan, Plan
from domain.pipelines.bridges import DOWNSTREAM_FAILED, Act, Step, follow
from domain.pipelines.redundancy import LEAVE
from domain.pipelines.resource_groups import Candidate, ProcessMode, choose
from domain.pipelines.status import COMPLETE, Status
from tests.stored import resource_groups
from tests.stored.pipeline import StoredPipeline
from tests.stored.rows import Row, Tables
from tests.stored.workflow import MAX_TURNS, NOW, Workflow


class StoredProject:
    """Pipelines by key, in the order in which they were made."""

    def __init__(self, plans: Mapping[str, Plan] | None = None, modes: Mapping[str, str] | None = None) -> None:
        """`plans` are those of child pipelines by file, `modes` those of resource groups that are not `unordered`."""
        self._plans = plans or {}
        self._modes = modes or {}
        self.tables = Tables()
        self.pipelines: dict[str, StoredPipeline] = {}
        self.workflows: dict[str, Workflow] = {}

    def create(self, key: str, plan: Plan) -> StoredPipeline:
        """Make a pipeline; nothing is decided yet."""
        self.pipelines[key] = StoredPipeline(self.tables, key, plan)
        self.workflows[key] = Workflow(self.tables, self.pipelines[key])
        return self.pipelines[key]

    def create_newer(self, key: str, plan: Plan) -> None:
        """Make a pipeline of a newer commit; as `redundant` does, those of older ones are asked to make way."""
        older = [one for one in self.pipelines.values() if "/" not in one.key and one.status not in COMPLETE]
        self.create(key, plan)
        for stored in older:
            if stored.plan.auto_cancel.on_new_commit != LEAVE:
                self.tables.ask(stored.key, "auto_cancel")

    def become_due(self, key: str, row: Row) -> None:
        """The time of a scheduled job has come, in SQL and for its workflow."""
        row.set(due_at=NOW)
        memory = self.workflows[key].memory
        assert memory is not None
        known = next(job for job in memory.jobs if job.id == row.job.id)
        self.workflows[key].memory = memory.with_jobs([replace(known, due_at=NOW)])

    def rest(self) -> None:
        """Go on until nothing follows any more. Raises `AssertionError` if that never comes."""
        for _ in range(MAX_TURNS):
            moved = [workflow.turns() for workflow in list(self.workflows.values())]
            if not (any(moved) or self._begin_bridges() or self._tell_followers() or self._choose()):
                return
        raise AssertionError("the project never comes to rest")

    def close(self) -> None:
        """Workflows that have nothing more to wait for close."""
        for workflow in self.workflows.values():
            if workflow.is_over():
                workflow.close()

    def _begin_bridges(self) -> bool:
        """As the loop of bridges and `bridges.begin`: make the child pipeline, or follow the one that there is."""
        begun, self.tables.bridges = self.tables.bridges, []
        for key, row in begun:
            if row.job.status is not Status.PENDING:
                continue
            if not (row.downstream or row.made):
                row.made = f"{key}/{row.job.name}#{row.job.attempt}"
                self.create(row.made, self._plans[_file_of(row.plan)])
            row.downstream = row.downstream or row.made
            self.pipelines[key].start(row)
            if not _strategy(row):
                self.pipelines[key].end(row, Status.SUCCESS)
            self.tables.follow.append(row.downstream)
        return bool(begun)

    def _tell_followers(self) -> bool:
        """As `bridges.tell_followers`; what must wait is looked at again."""
        news, self.tables.follow = list(dict.fromkeys(self.tables.follow)), []
        moved = False
        for key in news:
            status = self.tables.statuses[key]
            current = [(stored, row) for stored in self.pipelines.values() for row in stored.current()]
            for stored, row in current:
                if row.downstream != key:
                    continue
                row.downstream_ended |= status in COMPLETE
                step = follow(_strategy(row), row.job.status, status, ended_before=row.downstream_ended)
                if step.act is Act.REVIVE and not row.folded:
                    self.tables.follow.append(key)
                elif step.act is not Act.NOTHING:
                    moved = True
                    self._take_over(stored, row, step)
        return moved

    def _take_over(self, stored: StoredPipeline, row: Row, step: Step) -> None:
        """As `bridges._take`."""
        if step.act is Act.END:
            stored.end(row, step.to, DOWNSTREAM_FAILED if step.to is Status.FAILED else "")
        elif step.act is Act.REVIVE:
            self.tables.ask(stored.key, "revive_bridge", row.job.id)
        else:
            self.tables.ask(stored.key, "mirror_downstream", row.job.id, str(step.to))

    def _choose(self) -> bool:
        """As the workflows of resource groups: tell the next job of a free slot; `resource_groups.situation`."""
        order = list(self.pipelines)
        groups: dict[str, list[Candidate]] = {}
        for stored in self.pipelines.values():
            for row in stored.current():
                if row.plan.resource_group:
                    candidate = Candidate(row.job.id, order.index(stored.key), row.job.status)
                    groups.setdefault(row.plan.resource_group, []).append(candidate)
        for group, candidates in groups.items():
            mode = ProcessMode(self._modes.get(group, "unordered"))
            chosen = choose(mode, resource_groups.is_free(self.tables, group), candidates)
            if chosen is not None:
                self.workflows[order[chosen.pipeline_id]].granted.add(chosen.job_id)
                return True
        return False


def _strategy(row: Row) -> str:
    assert row.plan.trigger is not None
    return row.plan.trigger.strategy


def _file_of(plan: JobPlan) -> str:
    assert plan.trigger is not None
    return str(plan.trigger.include[0]["local"])
