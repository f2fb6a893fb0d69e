"""What happens in the situations of `test_why.py`."""

from typing import Final

from tests.cli.remote.situations import Play, Steps

DEPLOY: Final = "deploy: {script: x, resource_group: live}\n"


def end(name: str, state: str = "success", **body: object) -> Steps:
    """A job ends."""
    return lambda play: play.end(name, state, **body)  # type: ignore[arg-type]


def take(*names: str) -> Steps:
    """Jobs are taken, and run."""

    async def steps(play: Play) -> None:
        for name in names:
            await play.take(name)

    return steps


def runner(*runners: tuple[str, ...], **values: object) -> Steps:
    """The runner that is there is changed, and others come."""

    async def steps(play: Play) -> None:
        await play.change_runner(**values)
        for name, *tags in runners:
            await play.runner(name, *tags)

    return steps


async def no_runner(play: Play) -> None:
    async with play.site.client(play.site.root) as client:
        assert (await client.delete(f"/api/v4/runners/{play.site.world.runner_id}")).status_code == 204


async def offline_runner(play: Play) -> None:
    await no_runner(play)
    await play.runner("mini", "gpu", online=False)


async def paused_and_silent(play: Play) -> None:
    """The one that is there from the beginning does not fit, and is there."""
    await play.runner("mini", "gpu", online=False, paused=True)


async def unprotected_ref(play: Play) -> None:
    await play.change_runner(ref_protected=True)
    await play.call("DELETE", "/protected_branches/main")


async def instance_runners_are_off(play: Play) -> None:
    await play.call("PUT", "", shared_runners_enabled=False)


async def second_deploy(play: Play) -> None:
    await play.next_of_group("deploy")
    await play.take("deploy")
    await play.begin(DEPLOY, "second")
    await play.begin(DEPLOY, "third")


async def held_by_another(play: Play) -> None:
    """The pipeline that is asked about is the second of three."""
    await second_deploy(play)
    play.ids["first"], play.ids["holder"] = play.ids["pipeline"], play.ids["deploy"]
    play.ids["pipeline"], play.ids["deploy"] = play.ids["second"], play.ids["deploy@second"]


async def held_by_one_before_another(play: Play) -> None:
    await held_by_another(play)
    play.ids["pipeline"], play.ids["deploy"] = play.ids["third"], play.ids["deploy@third"]


async def canceled_before(play: Play) -> None:
    await play.call("POST", f"/jobs/{play.ids['build']}/cancel")
    await play.go_on()


async def canceled_pipeline(play: Play) -> None:
    await play.call("POST", f"/pipelines/{play.ids['pipeline']}/cancel")
    await play.go_on()


async def history(play: Play) -> None:
    """Six jobs were taken that had waited nearly ten minutes; one more waits."""
    for number in range(6):
        await play.wait(f"old {number}", minutes=9.5)  # with what taking it takes, under ten
        await play.end(f"old {number}")


async def lost(play: Play) -> None:
    await play.take("one")
    await play.give_up("one", "runner_lost")


async def given_up_in_queue(play: Play) -> None:
    await play.wait("one", minutes=59.5)  # with what giving up takes, under sixty
    await play.give_up("one", "stuck_or_timeout_failure")


async def due(play: Play) -> None:
    row = await play.site.world.row(play.ids["slow"])
    play.ids["due"] = row.due_at.isoformat(timespec="seconds")


async def bridge_refused(play: Play) -> None:
    await play.give_up("down", "downstream_bridge_project_not_found")


async def silent(play: Play) -> None:
    await play.take("one")
    await play.silence()


async def failed_twice(play: Play) -> None:
    await play.end("one", "failed", failure_reason="runner_system_failure")
    await play.end("one", "failed", failure_reason="runner_system_failure")
