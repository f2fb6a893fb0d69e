"""The database of a pod says which pod it is of, and where its workflows are."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from application.installation.identity import begin, recognized
from domain.errors import Invalid
from models.migrate import migrate
from models.session import Database
from settings import Settings
from tests.models.test_migrations import upgrade_to
from tests.models.world import BEGIN

_OLD_ROW = (
    "INSERT INTO installation (id, installation_id, pod, registration_token_hash, sealed_check, created_at)"
    " VALUES (1, 'x', 'Old Pod', '', '', '2026-01-01 12:00:00')"
)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """Without any table."""
    one = Database(Settings(home=tmp_path).database)
    yield one
    await one.close()


async def test_a_new_pod_is_called_alike_everywhere_and_for_ever(database: Database) -> None:
    settings = Settings(pod="seven", pod_number=7)
    assert await recognized(settings, database) == settings
    await migrate(database)
    assert await recognized(settings, database) == settings
    begun = await begin(settings, database, BEGIN)
    assert (begun.namespace, begun.queue) == ("seven", "pipelines")
    assert await begin(settings, database, BEGIN) == await recognized(settings, database) == begun
    for other in ({"pod": "eight"}, {"pod_number": 8}, {"temporal_namespace": "default"}, {"task_queue": "x"}):
        for look in (partial(begin, now=BEGIN), recognized):
            with pytest.raises(Invalid):
                await look(settings.model_copy(update=other), database)


@pytest.mark.parametrize("told", ["", "there"])
async def test_a_pod_of_before_goes_on_where_its_workflows_are(database: Database, told: str) -> None:
    """Its settings may have named it otherwise than its namespace."""
    settings, place = Settings(pod="Old Pod", pod_number=3, temporal_namespace=told), told or "default"
    async with database.write() as connection:
        await connection.run_sync(partial(upgrade_to, version="0018"))
        await connection.execute(text(_OLD_ROW))
    assert (await recognized(settings, database)).namespace == place
    await migrate(database)
    assert (await recognized(settings, database)).namespace == place
    assert (await begin(settings, database, BEGIN)).namespace == place
    later = Settings(pod="Old Pod", pod_number=3)
    assert (await begin(later, database, BEGIN)).namespace == place
    with pytest.raises(Invalid, match="has the number 3, not 4"):
        await begin(Settings(pod="Old Pod", pod_number=4), database, BEGIN)
