"""The year of rows: whole, skewed, and open for more."""

from sqlalchemy import Connection, func, inspect, select, text

from bench.growth.rows import PROJECTS, multiply
from domain.pipelines.status import COMPLETE, Status
from models.columns import table_of
from models.session import Database
from models.tables.pipelines import Job, Pipeline
from models.tables.queue import QueueEntry
from tests.models.database import migrated

_job = table_of(Job)


async def test_rows_are_multiplied_and_refer_to_each_other(database_url: str) -> None:
    """Nearly all have ended, the first project has many, nothing refers to a row that is not there."""
    async with migrated(Database(database_url)) as database:
        home = await multiply(database, jobs=3_000, waiting=100)
        async with database.read() as connection:
            grouped = select(_job.c.status, func.count()).group_by(_job.c.status)
            by_status = {key: int(number) for key, number in await connection.execute(grouped)}
            queued = (await connection.execute(select(func.count()).select_from(table_of(QueueEntry)))).scalar_one()
            by_project = select(_job.c.project_id, func.count()).group_by(_job.c.project_id)
            sizes = {key: int(number) for key, number in await connection.execute(by_project)}
            lost = await connection.run_sync(_lost)
    assert home.jobs >= 3_000
    assert queued == home.waiting == by_status[Status.PENDING] >= 100
    assert sum(by_status[status] for status in by_status if status in COMPLETE) > 0.9 * home.jobs
    assert len(home.projects) == PROJECTS
    assert max(sizes, key=lambda key: sizes[key]) == home.projects[0]
    assert lost == []


async def test_further_pipelines_have_numbers_of_their_own(database_url: str) -> None:
    """Ids and numbers within a project go on where the copies end."""
    async with migrated(Database(database_url)) as database:
        await multiply(database, jobs=3_000, waiting=40, projects=3)
        table = table_of(Pipeline)
        async with database.read() as connection:
            numbers = (await connection.execute(select(table.c.project_id, table.c.iid))).all()
            counted = (await connection.execute(text("SELECT id, pipeline_count FROM project"))).all()
    assert len(set(numbers)) == len(numbers)
    assert {project: max(iid for key, iid in numbers if key == project) for project, _ in counted} == {
        project: int(number) for project, number in counted
    }


def _lost(connection: Connection) -> list[str]:
    """Foreign keys that name no row."""
    found = []
    schema = inspect(connection)
    for name in schema.get_table_names():
        for key in schema.get_foreign_keys(name):
            (column,), (target,) = key["constrained_columns"], key["referred_columns"]
            there = f'SELECT 1 FROM "{key["referred_table"]}" AS other WHERE other.{target} = one.{column}'
            bad = f'SELECT count(*) FROM "{name}" AS one WHERE {column} IS NOT NULL AND NOT EXISTS ({there})'
            if connection.execute(text(bad)).scalar_one():
                found.append(f"{name}.{column}")
    return found
