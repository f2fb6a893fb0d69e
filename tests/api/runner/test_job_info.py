"""What a runner is told for its metrics."""

from tests.api.runner.world import World


async def test_a_runner_hears_how_many_jobs_wait_and_run_beside_its_own(world: World) -> None:
    await world.pipeline("many: {script: a, parallel: 4}\nother: {script: a, tags: [elsewhere]}\n")
    first, second = (await world.job())["job_info"], (await world.job())["job_info"]
    assert (first["queue_size"], second["queue_size"]) == (3, 2)
    running = "project_jobs_running_on_instance_runners_count"
    assert (first[running], second[running]) == ("0", "1")
    assert first["queue_depth"] == 1


async def test_the_installation_has_the_same_name_in_every_job(world: World) -> None:
    await world.pipeline("many: {script: a, parallel: 2}\n")
    names = {(await world.job())["job_info"]["instance_uuid"] for _ in range(2)}
    assert len(names) == 1
    assert names != {""}
