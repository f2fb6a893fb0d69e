"""A small home: what is multiplied. Pipelines as the API writes them, ended as runners end them, by a table.

No workflow knows of them: what starts one is removed with them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Table, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from auth.secret_token import digest, plain_token
from domain.config.compile import compile_config
from domain.config.context import Context
from domain.config.plan import Plan
from domain.pipelines.status import Status, composite
from domain.pods.token_prefixes import RUNNER
from models.columns import table_of
from models.repositories.accounts import accounts
from models.repositories.namespaces import namespaces
from models.repositories.pipelines import pipelines
from models.repositories.projects import projects
from models.repositories.runners import runners
from models.tables.artifacts import Artifact, TestReport
from models.tables.contributions import Contribution
from models.tables.environments import Deployment
from models.tables.logs import Trace
from models.tables.outbox import Outbox, Push
from models.tables.pipelines import Job, Pipeline, Stage
from models.tables.queue import Lease, QueueEntry
from models.tables.runners import RunnerManager
from models.tables.unit_tests import UnitTest, UnitTestRun

CONFIGURATION: Final = """
stages: [build, test, deploy]
compile: {stage: build, script: [make], artifacts: {paths: [out]}}
docs: {stage: build, script: [make docs], artifacts: {paths: [site]}}
lint: {stage: test, script: [make lint], needs: []}
unit: {stage: test, script: [make unit], artifacts: {reports: {junit: unit.xml}}}
integration: {stage: test, script: [make integration], artifacts: {paths: [logs]}}
audit: {stage: test, script: [make audit], allow_failure: true}
package: {stage: deploy, script: [make package], artifacts: {paths: [dist]}}
production: {stage: deploy, script: [make deploy], environment: {name: production}, resource_group: production}
downstream: {stage: deploy, trigger: {project: year/p0}}
roll-back: {stage: deploy, script: [make roll-back], when: manual, environment: {name: production}}
"""
WAITING: Final = "\n".join(f"wait-{number}: {{script: [make]}}" for number in range(20))
"""The configuration of a pipeline whose jobs all wait for a runner."""

ENDINGS: Final = (Status.SUCCESS,) * 8 + (Status.FAILED, Status.CANCELED)
"""Of each ten pipelines."""
_FEATURES: Final = 4
"""So many of them are of branches that nobody uses twice."""
_UNFINISHED: Final = 3
_TESTS: Final = 5
"""Tests of a project whose runs are kept one by one."""
_RUNNERS: Final = 4
OWNER, GROUP = "growth", "year"
"""The account, and the group that has the projects."""

_PUSH: Final = Context(predefined={"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_BRANCH": "main"})
_WITH_FILE: Final = {"compile": "archive", "docs": "archive", "unit": "junit", "integration": "archive"} | {
    "package": "archive"
}
_FORMATS: Final = {"archive": ("zip", "artifacts.zip"), "junit": ("gzip", "junit.xml.gz")}
_LOG: Final = 2_000
"""Bytes of a log."""
_job = table_of(Job)


class Builder:
    """Writes the rows of a home into an empty database, in the transaction of `connection`."""

    def __init__(self, connection: AsyncConnection, begun: datetime, commits: Sequence[str]) -> None:
        """`begun` is when the first pipeline was made; the pipelines are of these commits in turn."""
        self.connection = connection
        self.begun = begun
        self.user = 0
        self.projects: list[int] = []
        self.runners: list[int] = []
        self._commits = commits
        self._tests: Sequence[int] = ()
        self._deployed = 1

    async def people(self, number: int) -> None:
        """An owner with a group of so many projects, and the runners; the first project is public."""
        connection, now = self.connection, self.begun
        self.user = await accounts.create_user(connection, OWNER, OWNER, f"{OWNER}@example.com", now)
        await namespaces.create(connection, GROUP, GROUP, now, visibility="public")
        owner = await namespaces.get_by(connection, path=GROUP)
        for index in range(number):
            name, seen = f"p{index}", "private" if index else "public"
            made = await projects.create_project(connection, owner, name, name, self.user, now, visibility=seen)
            self.projects.append(made)
        for index in range(_RUNNERS):
            made = await runners.create(connection, digest(plain_token(RUNNER)), now, description=f"r{index}")
            self.runners.append(made)
            manager = {"runner_id": made, "system_id": "s_growth", "info": {}, "ip_address": "127.0.0.1"}
            await self._put(table_of(RunnerManager), [manager | {"created_at": now, "contacted_at": now}])

    async def ended(self) -> None:
        """One pipeline for each of the endings, with all that the jobs that ran have left."""
        await self._unit_tests()
        plan, made = _plan(CONFIGURATION), list[int]()
        for number, ending in enumerate(ENDINGS):
            now = self.begun + timedelta(minutes=10 * number)
            ref = "main" if number >= _FEATURES else f"feature-{number}"
            made.append(await self._create(plan, number, ref, now))
            await self._end(made[-1], ending, now, made[-2] if number else None)
            await self._pushed(number, ref, now)
        await self.connection.execute(delete(table_of(Outbox)))

    async def open(self) -> None:
        """Pipelines of which a runner holds a job and the rest still waits for it."""
        plan, now = _plan(CONFIGURATION), self.begun
        for number in range(_UNFINISHED):
            made = await self._create(plan, number, "main", now)
            first = min(await self._ids(made))
            held = {"status": Status.RUNNING, "runner_id": self.runners[0], "queued_at": now, "started_at": now}
            await self.connection.execute(update(_job).where(_job.c.id == first).values(hand_out=1, **held))
            await self._run(made, now)
            lease = {"job_id": first, "hand_out": 1, "taken_up": True, "contact": 0, "since": 0, "request_id": ""}
            await self._put(table_of(Lease), [lease])
            await self._put(table_of(Trace), [_trace(first) | {"frozen": False, "copied": False, "stored": False}])
        await self.connection.execute(delete(table_of(Outbox)))

    async def waiting(self) -> None:
        """One pipeline whose jobs all wait for a runner."""
        made, now = await self._create(_plan(WAITING), 0, "main", self.begun), self.begun
        ids = await self._ids(made)
        await self.connection.execute(
            update(_job).where(_job.c.pipeline_id == made).values(status=Status.PENDING, queued_at=now)
        )
        await self._run(made, now, Status.PENDING)
        demand = (await self.connection.execute(select(_job.c.demand_id).where(_job.c.id == ids[0]))).scalar_one()
        entries = [{"job_id": key, "demand_id": demand, "since": now.timestamp()} for key in ids]
        await self._put(table_of(QueueEntry), entries)
        await self.connection.execute(delete(table_of(Outbox)))

    async def _create(self, plan: Plan, number: int, ref: str, now: datetime) -> int:
        sha = self._commits[number % len(self._commits)]
        title = {"title": "Change the wording", "message": "Change the wording\n", "timestamp": now.isoformat()}
        title |= {"author_name": "Growth", "author_email": "growth@example.com"}
        request = pipelines.PipelineRequest(self.projects[0], self.user, ref, sha, "push", commit=title)
        return await pipelines.create(self.connection, request, plan, now, seal=str)

    async def _ids(self, pipeline: int) -> list[int]:
        wanted = select(_job.c.id).where(_job.c.pipeline_id == pipeline).order_by(_job.c.id)
        return list((await self.connection.execute(wanted)).scalars())

    async def _run(self, pipeline: int, now: datetime, status: str = Status.RUNNING) -> None:
        table = table_of(Pipeline)
        values = {"status": status, "started_at": now, "run": 1, "tick": 1}
        await self.connection.execute(update(table).where(table.c.id == pipeline).values(**values))
        first = table_of(Stage)
        of_first = update(first).where(first.c.pipeline_id == pipeline, first.c.position == 0)
        await self.connection.execute(of_first.values(status=status))

    async def _end(self, pipeline: int, ending: Status, now: datetime, downstream: int | None) -> None:
        """Write what became of each job, and what the jobs that ran have left."""
        named = select(_job).where(_job.c.pipeline_id == pipeline).order_by(_job.c.position)
        rows = (await self.connection.execute(named)).mappings().all()
        after, ran = now + timedelta(minutes=8), list[dict[str, Any]]()
        for number, row in enumerate(rows):
            status = _became(row["name"], ending)
            begun = now + timedelta(seconds=40 * number)
            values: dict[str, Any] = {"status": status}
            if status in {Status.SUCCESS, Status.FAILED} and not row["bridge"]:
                ran.append({**row, **values})
                values |= {"queued_at": now, "started_at": begun, "finished_at": begun + timedelta(seconds=30)}
                values |= {"runner_id": self.runners[number % 2 if number else 2], "system_id": "s_growth"}
                values |= {"hand_out": 1, "script_at": begun + timedelta(seconds=2)}
                values |= {"coverage": 81.5} if row["name"] == "unit" else {}
            elif status in {Status.SUCCESS, Status.FAILED}:
                values |= {"downstream_id": downstream, "started_at": begun, "finished_at": after}
                values |= {"downstream_ended_at": after}
            elif status != Status.MANUAL:
                values |= {"finished_at": after}
            await self.connection.execute(update(_job).where(_job.c.id == row["id"]).values(**values))
        stage, table = table_of(Stage), table_of(Pipeline)
        became = [(row["stage_id"], (_became(row["name"], ending), row["allow_failure"])) for row in rows]
        for key in sorted({of_stage for of_stage, _ in became}):
            status = composite(one for of_stage, one in became if of_stage == key)
            await self.connection.execute(update(stage).where(stage.c.id == key).values(status=status))
        ended = {"status": ending, "started_at": now, "finished_at": after, "updated_at": after, "duration": 480.0}
        await self.connection.execute(update(table).where(table.c.id == pipeline).values(run=1, tick=4, **ended))
        await self._left(pipeline, ran, after)

    async def _left(self, pipeline: int, ran: Sequence[dict[str, Any]], after: datetime) -> None:
        await self._put(table_of(Trace), [_trace(row["id"]) for row in ran])
        files = [(row, kind) for row in ran if (kind := _WITH_FILE.get(row["name"]))]
        await self._put(table_of(Artifact), [_file(row, kind, after) for row, kind in files])
        for row in ran:
            if row["name"] == "unit":
                await self._put(table_of(TestReport), [_test_report(row)])
                runs = [_test_run(test, row, after) for test in self._tests]
                await self._put(table_of(UnitTestRun), runs)
            if row["environment_id"] is not None:
                deployed = {"project_id": row["project_id"], "environment_id": row["environment_id"], "ref": "main"}
                deployed |= {"job_id": row["id"], "pipeline_id": pipeline, "user_id": self.user, "created_at": after}
                deployed |= {"sha": self._commits[0], "iid": self._deployed, "status": ""}
                self._deployed += 1
                await self._put(table_of(Deployment), [deployed])

    async def _unit_tests(self) -> None:
        named = [f"test_{number}" for number in range(_TESTS)]
        common = {"project_id": self.projects[0], "suite": "unit", "classname": "tests.test_unit", "file": ""}
        rows = [common | {"key": f"{name:0<64}", "name": name, "last_seen": self.begun} for name in named]
        await self._put(table_of(UnitTest), rows)
        self._tests = (await self.connection.execute(select(table_of(UnitTest).c.id))).scalars().all()

    async def _pushed(self, number: int, ref: str, now: datetime) -> None:
        common = {"project_id": self.projects[0], "created_at": now}
        moved = {"ref": f"refs/heads/{ref}", "before": "0" * 40, "after": self._commits[number % len(self._commits)]}
        pushed = {"user_id": self.user, "updates": [moved], "options": [], "done_at": now}
        await self._put(table_of(Push), [common | pushed])
        told = {"author_id": self.user, "action": "pushed", "push": {"ref": ref, "commit_count": 1}}
        await self._put(table_of(Contribution), [common | told])

    async def _put(self, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        if rows:
            await self.connection.execute(insert(table), list(rows))


def _plan(configuration: str) -> Plan:
    plan = compile_config(configuration, _PUSH)
    assert isinstance(plan, Plan), f"it includes nothing and has no fault: {plan}"
    return plan


def _became(name: str, ending: Status) -> Status:
    """What becomes of a job in a pipeline that ends so."""
    if ending == Status.SUCCESS:
        return Status.MANUAL if name == "roll-back" else Status.SUCCESS
    if name in {"compile", "docs", "lint"}:
        return Status.SUCCESS
    if ending == Status.FAILED:
        return {"unit": Status.FAILED, "integration": Status.SUCCESS, "audit": Status.SUCCESS}.get(name, Status.SKIPPED)
    return Status.CANCELED


def _trace(job_id: int) -> dict[str, Any]:
    done = {"frozen": True, "resent": False, "copied": True, "stored": True, "generation": 0}
    return {"job_id": job_id, "size": _LOG, "crc": 0, "earlier_size": 0, "earlier_crc": 0, **done}


def _file(row: dict[str, Any], kind: str, now: datetime) -> dict[str, Any]:
    form, name = _FORMATS[kind]
    key = f"projects/{row['project_id']}/jobs/{row['id']}/{kind}-0"
    of_job = {"job_id": row["id"], "project_id": row["project_id"], "object_key": key, "sha256": "0" * 64}
    said = {"file_type": kind, "file_format": form, "filename": name, "size": _LOG, "access": "all", "parsed": True}
    return {**of_job, **said, "expire_at": None, "created_at": now}


def _test_report(row: dict[str, Any]) -> dict[str, Any]:
    cases = [
        {"suite": "unit", "classname": "tests.test_unit", "name": f"test_{number}", "status": "success", "seconds": 0.1}
        for number in range(_TESTS)
    ]
    counts = {"total": _TESTS, "failed": 0, "errored": 0, "skipped": 0, "seconds": 0.5, "error": ""}
    return {"job_id": row["id"], "pipeline_id": row["pipeline_id"], "cases": cases, **counts}


def _test_run(test: int, row: dict[str, Any], now: datetime) -> dict[str, Any]:
    said = {"status": Status.SUCCESS, "seconds": 0.1, "on_default": True, "among_many": False, "ran_at": now}
    return {"test_id": test, "job_id": row["id"], **said}
