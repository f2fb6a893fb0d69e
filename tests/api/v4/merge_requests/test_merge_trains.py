"""Merge trains with real commits: tested upon each other, merged in order, built anew when something changes."""

from typing import Any

import pytest

from application.merge_requests import merging, trains
from application.pushes import push as pushing
from application.pushes.push import finish_abandoned
from tests.api.v4.merge_requests.merging import BOTH, Merging
from tests.api.v4.site import Site


@pytest.fixture
async def here(site: Site) -> Merging:
    """A project with merge trains."""
    here = Merging(site)
    await here.begin(BOTH)
    await site.set_project(merge_pipelines_enabled=True, merge_trains_enabled=True)
    return here


async def board(here: Merging, *iids: int) -> None:
    """Put merge requests on the train."""
    for iid in iids:
        response = await here.call("POST", f"merge_trains/merge_requests/{iid}")
        assert response.status_code == 201, response.text
    await here.loop.step()


async def car(here: Merging, iid: int) -> dict[str, Any]:
    """Where a merge request is on the train."""
    found: dict[str, Any] = await here.good("GET", f"merge_trains/merge_requests/{iid}")
    return found


async def train(here: Merging) -> list[int]:
    """The numbers of those on the way to `main`, in order."""
    return [item["merge_request"]["iid"] for item in await here.good("GET", "merge_trains/main?scope=active")]


async def parents(here: Merging, sha: str) -> list[str]:
    return (await here.git("rev-list", "--parents", "-n1", sha)).split()[1:]


async def three(here: Merging) -> list[str]:
    """Three merge requests on the train; the heads of their branches."""
    heads = [(await here.feature(name))["sha"] for name in ("one", "two", "three")]
    await board(here, 1, 2, 3)
    return heads


async def test_each_is_tested_upon_those_before_it_and_merged_as_it_was_tested(here: Merging) -> None:
    main = await here.git("rev-parse", "main")
    heads = await three(here)
    cars = [await car(here, iid) for iid in (1, 2, 3)]
    assert [one["status"] for one in cars] == ["fresh"] * 3
    shas = [one["pipeline"]["sha"] for one in cars]
    for before, head, sha in zip([main, *shas[:2]], heads, shas, strict=True):
        assert await parents(here, sha) == [before, head]
    assert await here.git("rev-parse", "refs/merge-requests/3/train") == shas[2]
    job = await here.job_of(cars[1]["pipeline"]["id"])
    known = {item["key"]: item["value"] for item in job["variables"]}
    assert job["git_info"]["ref"] == "refs/merge-requests/2/train"
    assert (known["CI_MERGE_REQUEST_EVENT_TYPE"], known["CI_MERGE_REQUEST_TARGET_BRANCH_SHA"]) == (
        "merge_train",
        shas[0],
    )
    here._held.setdefault(cars[1]["pipeline"]["id"], []).append(job)
    await here.play(cars[1]["pipeline"]["id"])
    await here.loop.step()
    assert await here.git("rev-parse", "main") == main
    await here.play(cars[0]["pipeline"]["id"])
    await here.loop.step()
    assert await here.git("rev-parse", "main") == shas[1]
    assert [(await here.get(iid))["state"] for iid in (1, 2, 3)] == ["merged", "merged", "opened"]
    await here.play(cars[2]["pipeline"]["id"])
    await here.loop.step()
    assert await here.git("rev-parse", "main") == shas[2]
    assert (await here.get(3))["merge_commit_sha"] == shas[2]
    assert await train(here) == []
    done = await here.good("GET", "merge_trains?scope=complete")
    assert [item["status"] for item in done] == ["merged"] * 3


async def test_the_middle_one_fails_and_the_third_is_built_without_it(here: Merging) -> None:
    heads = await three(here)
    first, second, third = [await car(here, iid) for iid in (1, 2, 3)]
    await here.play(second["pipeline"]["id"], "failed")
    await here.loop.step()
    assert await train(here) == [1, 3]
    assert "Removed from the merge train: its pipeline" in (await here.get(2))["merge_error"]
    again = await car(here, 3)
    assert again["pipeline"]["id"] != third["pipeline"]["id"]
    assert await parents(here, again["pipeline"]["sha"]) == [first["pipeline"]["sha"], heads[2]]
    await here.obey()
    assert await here.status(third["pipeline"]["id"]) == "canceled"
    for one in (again, first):
        await here.play(one["pipeline"]["id"])
    await here.loop.step()
    assert [(await here.get(iid))["state"] for iid in (1, 2, 3)] == ["merged", "opened", "merged"]
    assert await here.git("rev-parse", "main") == again["pipeline"]["sha"]
    files = set((await here.git("ls-tree", "--name-only", "main")).split())
    assert "two.txt" not in files
    assert {"one.txt", "three.txt"} <= files


async def test_a_push_to_the_target_builds_all_anew(here: Merging) -> None:
    await three(here)
    before = [await car(here, iid) for iid in (1, 2, 3)]
    await here.play(before[0]["pipeline"]["id"])
    theirs = await here.commit("main", {"other.txt": "x\n"})
    await here.loop.step()
    after = [await car(here, iid) for iid in (1, 2, 3)]
    assert await here.git("rev-parse", "main") == theirs
    assert (await parents(here, after[0]["pipeline"]["sha"]))[0] == theirs
    assert not {one["pipeline"]["id"] for one in before} & {one["pipeline"]["id"] for one in after}
    for one in after:
        await here.play(one["pipeline"]["id"])
    await here.loop.step()
    assert await here.git("rev-parse", "main") == after[2]["pipeline"]["sha"]


async def test_one_is_taken_off_by_hand_by_new_commits_and_by_closing(here: Merging) -> None:
    await three(here)
    third = await car(here, 3)
    assert (await here.call("DELETE", "merge_trains/merge_requests/1")).status_code == 204
    assert (await here.call("DELETE", "merge_trains/merge_requests/1")).status_code == 404
    await here.loop.step()
    assert await train(here) == [2, 3]
    assert (await car(here, 3))["pipeline"]["id"] != third["pipeline"]["id"]
    await here.commit("two", {"more.txt": "x\n"})
    await here.loop.step()
    assert await train(here) == [3]
    await here.good("PUT", "merge_requests/3", json={"state_event": "close"})
    assert await train(here) == []


async def test_a_conflict_takes_a_car_off(here: Merging) -> None:
    await here.commit("one", {"README": "one\n"})
    await here.commit("two", {"README": "two\n"})
    await here.open("one")
    await here.open("two")
    await board(here, 1, 2)
    assert await train(here) == [1]
    assert "Conflicts detected during merge (README)" in (await here.get(2))["merge_error"]


async def test_one_without_jobs_is_taken_off(site: Site) -> None:
    here = Merging(site)
    await here.begin("build: {script: make}\n")
    await site.set_project(merge_pipelines_enabled=True, merge_trains_enabled=True)
    await here.feature("one")
    await board(here, 1)
    assert await train(here) == []
    assert "no job is for pipelines of merge requests" in (await here.get(1))["merge_error"]


async def test_who_may_put_one_on_and_when(here: Merging) -> None:
    ada, bob = await here.site.person("ada", 30), await here.site.person("bob", 20)
    await here.feature("one", title="Draft: one")
    path = "merge_trains/merge_requests/1"
    assert (await here.call("POST", path, bob)).status_code == 403
    assert (await here.call("POST", path, ada)).status_code == 401
    assert (await here.call("POST", path)).status_code == 405
    await here.good("PUT", "merge_requests/1", json={"draft": False})
    assert (await here.call("POST", path, json={"sha": "0" * 40})).status_code == 409
    assert (await here.call("POST", path)).status_code == 201
    assert (await here.call("POST", path)).status_code == 409
    await here.site.set_project(merge_trains_enabled=False)
    assert (await here.call("GET", "merge_trains")).status_code == 403
    await here.loop.step()
    assert "no merge trains any more" in (await here.get(1))["merge_error"]


async def test_it_boards_by_itself_when_its_pipeline_has_passed(here: Merging) -> None:
    opened = await here.feature("one")
    later = await here.call("POST", "merge_trains/merge_requests/1", json={"when_pipeline_succeeds": True})
    assert (later.status_code, later.json()) == (202, [])
    await here.loop.step()
    assert await train(here) == []
    await here.play(opened["head_pipeline"]["id"])
    await here.loop.step()
    assert await train(here) == [1]
    await here.play((await car(here, 1))["pipeline"]["id"])
    await here.loop.step()
    assert (await here.get(1))["state"] == "merged"


async def test_merging_at_once_goes_before_the_train(here: Merging) -> None:
    await three(here)
    assert (await here.merge(2)).status_code == 200
    assert (await car(here, 2))["status"] == "skip_merged"
    await here.loop.step()
    assert await train(here) == [1, 3]
    first = await car(here, 1)
    assert (await parents(here, first["pipeline"]["sha"]))[0] == await here.git("rev-parse", "main")


@pytest.mark.parametrize("method", ["ff", "rebase_merge"])
async def test_other_methods_rebase_upon_the_train(here: Merging, method: str) -> None:
    await here.site.set_project(merge_method=method)
    await here.feature("one")
    await here.feature("two")
    await board(here, 1, 2)
    cars = [await car(here, iid) for iid in (1, 2)]
    for one in cars:
        await here.play(one["pipeline"]["id"])
    await here.loop.step()
    assert await here.git("rev-parse", "main") == cars[1]["pipeline"]["sha"]
    merges = await here.git("rev-list", "--merges", "main")
    assert len(merges.split()) == (0 if method == "ff" else 2)


class Killed(BaseException):
    """What nobody catches: the process is gone."""


KILLS = {
    "before a car is built": (trains, "made_merge", "before"),
    "before a car and its pipeline are written": (trains, "prepared", "after"),
    "before the merge is noted": (trains, "move_target", "before"),
    "before the target moves": (pushing, "move_refs", "before"),
    "after the target has moved": (pushing, "move_refs", "after"),
    "after the merge is written": (merging, "move_permitted", "after"),
}


class Mortal:
    """Stands in for a function; the process dies at one call of it."""

    def __init__(self, real: Any, place: str, call: int) -> None:
        self._real = real
        self._place = place
        self._left = call

    async def __call__(self, *given: Any, **named: Any) -> Any:
        self._left -= 1
        if self._left == 0 and self._place == "before":
            raise Killed
        found = await self._real(*given, **named)
        if self._left == 0:
            raise Killed
        return found


class Journey:
    """A train that is driven by processes that may die, with a runner that lets the pipelines of one request fail."""

    def __init__(self, here: Merging, failing: int) -> None:
        self._here = here
        self._failing = failing
        self._ended: set[int] = set()
        self.deaths = 0
        self.tested: dict[str, str] = {}

    async def step(self) -> None:
        """One look of the loop; after a death what a new process does first."""
        try:
            await self._here.loop.step()
        except (Killed, BaseExceptionGroup):
            self.deaths += 1
            await merging.unlock_abandoned(self._here.site.services, all_of_them=True)
            await finish_abandoned(self._here.site.services, all_of_them=True)

    async def play(self, iid: int) -> None:
        """End the pipeline of a request on the train, if it has a new one."""
        found = await self._here.call("GET", f"merge_trains/merge_requests/{iid}")
        pipeline = found.json().get("pipeline") if found.is_success else None
        if pipeline is None or pipeline["id"] in self._ended or pipeline["status"] == "canceled":
            return
        self._ended.add(pipeline["id"])
        self.tested[pipeline["sha"]] = "failed" if iid == self._failing else "success"
        await self._here.play(pipeline["id"], self.tested[pipeline["sha"]])

    async def drive(self, iids: tuple[int, ...]) -> None:
        """To the end of the train."""
        await self.step()
        for _ in range(20):
            for iid in iids:
                await self.play(iid)
            await self.step()
            await self._here.obey()
            if not await train(self._here):
                return
        raise AssertionError(f"still on the train: {await train(self._here)}")


@pytest.mark.slow
@pytest.mark.parametrize("name", KILLS)
@pytest.mark.parametrize("call", [1, 2])
async def test_killed_in_the_middle_it_goes_on(
    here: Merging, monkeypatch: pytest.MonkeyPatch, name: str, call: int
) -> None:
    """The middle one of three fails; the process dies on the way, and another one goes on from what is there."""
    module, function, place = KILLS[name]
    for branch in ("one", "two", "three"):
        await here.feature(branch)
    for iid in (1, 2, 3):
        assert (await here.call("POST", f"merge_trains/merge_requests/{iid}")).status_code == 201
    journey = Journey(here, failing=2)
    with monkeypatch.context() as fault:
        fault.setattr(module, function, Mortal(getattr(module, function), place, call))
        await journey.drive((1, 2, 3))
    assert journey.deaths == 1
    assert [(await here.get(iid))["state"] for iid in (1, 2, 3)] == ["merged", "opened", "merged"]
    landed = (await here.git("rev-list", "--first-parent", "main")).split()[:-1]
    assert [journey.tested[sha] for sha in landed] == ["success", "success"]
    pushed = [one["sha"] for one in await here.all_pipelines() if one["ref"] == "main" and one["source"] == "push"]
    assert sorted(pushed) == sorted(landed)
