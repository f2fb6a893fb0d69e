"""Variables and inputs of a play that wait in SQL for its answer."""

from models.columns import table_of
from models.repositories.pipelines import play_variables
from models.repositories.pipelines.play_variables import Given
from models.tables.outbox import PlayVariables
from tests.models.world import World, job

GIVEN = [{"key": "COLOUR", "sealed": "red"}, {"key": "SIZE", "value": "9"}]


async def test_variables_are_taken_once(world: World) -> None:
    pipeline_id = await world.begin()
    job_id = (await world.rows(job, pipeline_id=pipeline_id))[0].id
    async with world.database.write() as connection:
        await play_variables.put(connection, pipeline_id, "k", job_id, GIVEN, {"level": 7})
        assert await play_variables.take(connection, pipeline_id, "other") == Given()
        assert await play_variables.take(connection, pipeline_id + 1, "k") == Given()
        assert await play_variables.take(connection, pipeline_id, "k") == Given(GIVEN, {"level": 7})
        assert await play_variables.take(connection, pipeline_id, "k") == Given()
    assert list(await world.rows(table_of(PlayVariables))) == []


async def test_a_repetition_keeps_the_first(world: World) -> None:
    pipeline_id = await world.begin()
    job_id = (await world.rows(job, pipeline_id=pipeline_id))[0].id
    async with world.database.write() as connection:
        await play_variables.put(connection, pipeline_id, "k", job_id, [{"key": "A", "value": "1"}])
        await play_variables.put(connection, pipeline_id, "k", job_id, [{"key": "A", "value": "2"}])
        assert await play_variables.take(connection, pipeline_id, "k") == Given([{"key": "A", "value": "1"}])
