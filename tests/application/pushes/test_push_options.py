"""What the options of a push do to merge requests, by the real git command over HTTP."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from application.merge_requests import pushed_options
from application.pushes.push import finish_abandoned
from auth.permissions import DEVELOPER
from domain.errors import Unavailable
from models.repositories.merge_requests.merge_requests import merge_request
from models.repositories.pipelines import pushes
from tests.api.test_git_http import remote, try_git
from tests.api.v4.merge_requests.merging import BOTH, Merging
from tests.api.v4.site import Person, open_site, serving
from tests.git.serving import git


class Pushing(Merging):
    """Work of people who push branches from a clone."""

    async def push(self, branch: str, *options: str, who: Person | None = None, fork: str = "") -> str:
        """Commit a file of the branch's name to it and push it with options; what git said. The push must stand."""
        tree, who = self.site.folder / "tree", who or self.site.root
        await git("checkout", "-q", "-B", branch, cwd=tree)
        with (tree / f"{branch}.txt").open("a") as file:
            file.write("more\n")
        await git("add", ".", cwd=tree)
        await git("commit", "-q", "-m", f"Bring {branch}\n\nThis is why.", cwd=tree)
        return await self.push_head(branch, *options, who=who, fork=fork)

    async def push_head(self, branch: str, *options: str, who: Person | None = None, fork: str = "") -> str:
        """Push what is checked out to a branch."""
        who = who or self.site.root
        url = await remote(self.site, who.token, who.username)
        if fork:
            url = url.replace(f"/{await self.site.path()}.git", f"/{fork}.git")
        words = [word for option in options for word in ("-o", option)]
        code, said = await try_git("push", *words, url, f"HEAD:refs/heads/{branch}", cwd=self.site.folder / "tree")
        assert code == 0, said
        return said

    async def only(self) -> dict[str, Any]:
        """The one merge request that there is."""
        (row,) = await self.rows(merge_request)
        return await self.get(row.iid)


@pytest.fixture
async def here(tmp_path: Path, database_url: str) -> AsyncIterator[Pushing]:
    """A project with a first commit, behind a real web server."""
    async with open_site(tmp_path, database_url) as opened, serving(opened):
        here = Pushing(opened)
        await here.begin(BOTH)
        yield here


async def test_a_push_opens_a_merge_request_and_later_ones_change_it(here: Pushing) -> None:
    ada = await here.site.person("ada", DEVELOPER)
    said = await here.push("feature", who=ada)
    assert "merge request" not in said.lower(), "nobody asked"
    await here.git("branch", "stable", "main")
    told = ("mr.create", 'merge_request.description="One\\ntwo"', "merge_request.label=a", "merge_request.label=b,c")
    said = await here.push("feature", *told, "merge_request.draft", "merge_request.remove_source_branch", who=ada)
    opened = await here.only()
    assert f"remote: View merge request for feature: remote: {opened['web_url']}" in " ".join(said.split())
    assert (opened["title"], opened["description"]) == ("Draft: Feature", "One\ntwo")
    assert (opened["author"]["username"], [one["username"] for one in opened["assignees"]]) == ("ada", ["ada"])
    assert (opened["source_branch"], opened["target_branch"], opened["labels"]) == ("feature", "main", ["a", "b,c"])
    assert (opened["draft"], opened["force_remove_source_branch"], opened["state"]) == (True, True, "opened")
    assert opened["sha"] == await here.git("rev-parse", "feature")
    assert {one["source"] for one in await here.pipelines(1)} == {"push", "merge_request_event"}

    changes = ("merge_request.title=Better", "merge_request.target=stable", "merge_request.unlabel=a")
    said = await here.push("feature", *changes, "merge_request.label=d", who=ada)
    changed = await here.only()
    assert changed["web_url"] in said
    assert (changed["title"], changed["target_branch"], changed["labels"]) == ("Better", "stable", ["b,c", "d"])
    assert (changed["description"], changed["iid"]) == ("One\ntwo", 1)
    assert changed["sha"] == await here.git("rev-parse", "feature"), "it follows its branch as well"


async def test_one_commit_gives_its_words(here: Pushing) -> None:
    await here.push("feature", "merge_request.create")
    opened = await here.only()
    assert (opened["title"], opened["description"]) == ("Bring feature", "This is why.")
    assert (opened["labels"], opened["draft"], opened["merge_when_pipeline_succeeds"]) == ([], False, False)


async def test_it_is_merged_when_its_pipelines_have_passed(here: Pushing) -> None:
    ada = await here.site.person("ada", DEVELOPER)
    said = await here.push("refused", "merge_request.create", "merge_request.auto_merge", who=ada)
    assert "Merge request !1 is not merged by itself: you may not merge into main." in said, "main is protected"
    assert not (await here.get(1))["merge_when_pipeline_succeeds"]
    options = ("merge_request.create", "merge_request.merge_when_pipeline_succeeds")
    await git("checkout", "-q", "main", cwd=here.site.folder / "tree")
    await here.push("feature", *options, "merge_request.remove_source_branch")
    opened = await here.get(2)
    assert (opened["merge_when_pipeline_succeeds"], opened["merge_user"]["username"]) == (True, "root")
    await here.loop.step()
    assert (await here.get(2))["state"] == "opened", "its pipeline has not passed"
    await here.push("feature", "merge_request.auto_merge")
    assert (await here.get(2))["merge_when_pipeline_succeeds"], "a new head is waited for anew"
    await here.play((await here.get(2))["head_pipeline"]["id"])
    await here.loop.step()
    await here.loop.step()
    assert (await here.get(2))["state"] == "merged"
    assert "feature.txt" in await here.git("ls-tree", "--name-only", "main")
    assert "feature" not in (await here.git("branch", "--format=%(refname:short)")).split()


async def test_what_cannot_be_done_is_told_and_the_push_stands(here: Pushing) -> None:
    ada = await here.site.person("ada", DEVELOPER)
    nobody = "there is no project no/where, or you may not see its code."
    for options, words in (
        (["merge_request.create", "merge_request.target=nowhere"], "there is no branch 'nowhere' in"),
        (["merge_request.target=main"], "A merge_request.create push option is required to create a merge request"),
        (["merge_request.create", "merge_request.target_project=no/where"], nobody),
        (["merge_request.create", f"merge_request.title={'x' * 256}"], "the title has more than 255 characters."),
        (["merge_request.creat"], "'merge_request.creat' is not known and changes nothing; did you mean"),
        (["ci.skipp=1"], "The push option 'ci.skipp' is not known and changes nothing; did you mean `ci.skip`?"),
        (["nothing"], "The push option 'nothing' is not known and changes nothing"),
        (["mr.assign=ada"], "'merge_request.assign' is not part of Perdure and changes nothing: assign people over"),
    ):
        said = await here.push("feature", *options, who=ada)
        assert words in " ".join(said.replace("remote:", "").split()), said
    await git("checkout", "-q", "main", cwd=here.site.folder / "tree")
    said = await here.push_head("same", "merge_request.create", who=ada)
    assert "No merge request is made or changed for same: no commit of same is missing from main." in said
    assert "You can't use same project/branch" in await here.push("main", "merge_request.create")
    assert await here.rows(merge_request) == []


async def test_a_fork_leads_into_what_it_was_made_from(here: Pushing) -> None:
    await here.site.set_project(visibility="public")
    ada = await here.site.person("ada")
    made = await here.good("POST", "fork", ada)
    fork, own = made["id"], made["path_with_namespace"]
    await here.push("feature", "merge_request.create", who=ada, fork=own)
    opened = await here.only()
    assert (opened["project_id"], opened["source_project_id"]) == (here.id, fork)
    said = await here.push("feature", "mr.create", f"mr.target_project={own}", who=ada, fork=own)
    assert f"{own}/-/merge_requests/1" in said, "a merge request within the fork"
    said = await here.push("feature", "merge_request.title=Mine", who=ada, fork=own)
    assert (await here.get(1))["title"] == "Mine", "its author may change it, who may not push there"


@pytest.mark.parametrize("place", ["before it is opened", "after it is opened"])
async def test_a_push_that_was_interrupted_makes_its_merge_request_later(
    here: Pushing, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    async def away(*_: Any) -> Any:
        raise Unavailable("The database went away.")

    with monkeypatch.context() as broken:
        if place == "before it is opened":
            broken.setattr(pushed_options, "open_merge_request", away)
        else:
            broken.setattr(pushes, "take", away)
        said = await here.push("feature", "merge_request.create", "merge_request.auto_merge", "merge_request.label=a")
    assert "made later: The database went away." in said
    assert len(await here.rows(merge_request)) == int(place == "after it is opened")
    assert await finish_abandoned(here.site.services, all_of_them=True) == 1
    opened = await here.only()
    assert (opened["sha"], opened["labels"]) == (await here.git("rev-parse", "feature"), ["a"])
    assert opened["merge_when_pipeline_succeeds"]
    assert {one["source"] for one in await here.pipelines(1)} == {"push", "merge_request_event"}
    assert await finish_abandoned(here.site.services, all_of_them=True) == 0
