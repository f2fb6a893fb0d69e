"""What pipelines of merge requests test, in which project, with which secrets."""

from typing import Any

import pytest

from models.repositories.owner import Owner
from models.repositories.projects import ci_variables
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site

CHANGES = """
always: {script: x, rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}]}
docs: {script: x, rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event", changes: [docs/**]}]}
code: {script: x, rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event", changes: [code/**]}]}
"""
CHILD = """
child:
  rules: [{if: $CI_PIPELINE_SOURCE == "merge_request_event"}]
  trigger: {include: child.yml}
"""


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with a first commit."""
    here = Merging(site)
    await here.begin()
    return here


def variables_of(job: dict[str, Any]) -> dict[str, str]:
    """The variables of a payload."""
    return {item["key"]: item["value"] for item in job["variables"]}


async def protected_secret(here: Merging, project_id: int | None = None) -> None:
    """A variable for protected refs only."""
    owner, services = Owner(project_id=project_id or here.id), here.site.services
    values = {
        "key": "SECRET",
        "value": services.sealer.seal("s3cret", ci_variables.purpose_of(owner)),
        "protected": True,
    }
    async with services.database.write() as connection:
        await ci_variables.add(connection, owner, services.clock(), environment_scope="*", **values)


async def test_a_detached_pipeline_is_told_what_it_tests(here: Merging) -> None:
    opened = await here.feature("feature", labels="one,two")
    job = await here.job_of(opened["head_pipeline"]["id"])
    assert job["git_info"]["ref"] == "refs/merge-requests/1/head"
    assert (job["git_info"]["ref_type"], job["git_info"]["sha"]) == ("merge_request", opened["sha"])
    assert job["git_info"]["refspecs"] == [f"+{opened['sha']}:refs/pipelines/{opened['head_pipeline']['id']}"]
    known = variables_of(job)
    assert "CI_COMMIT_BRANCH" not in known
    assert (known["CI_COMMIT_REF_NAME"], known["CI_MERGE_REQUEST_EVENT_TYPE"]) == ("feature", "detached")
    assert (known["CI_MERGE_REQUEST_IID"], known["CI_MERGE_REQUEST_LABELS"]) == ("1", "one,two")
    assert known["CI_MERGE_REQUEST_REF_PATH"] == "refs/merge-requests/1/head"
    assert known["CI_MERGE_REQUEST_DIFF_BASE_SHA"] == opened["diff_refs"]["base_sha"]
    assert known["CI_MERGE_REQUEST_PROJECT_ID"] == str(here.id)
    assert known["CI_OPEN_MERGE_REQUESTS"].endswith("!1")


async def test_a_merged_result_is_a_real_merge(here: Merging) -> None:
    await here.site.set_project(merge_pipelines_enabled=True)
    await here.commit("feature", {"a.txt": "a\n"})
    target = await here.commit("main", {"b.txt": "b\n"})
    opened = await here.open("feature")
    pipeline = opened["head_pipeline"]
    assert pipeline["ref"] == "refs/merge-requests/1/merge"
    assert await here.git("rev-parse", "refs/merge-requests/1/merge") == pipeline["sha"]
    parents = (await here.git("rev-list", "--parents", "-n1", pipeline["sha"])).split()[1:]
    assert parents == [target, opened["sha"]]
    files = await here.git("ls-tree", "--name-only", pipeline["sha"])
    assert {"a.txt", "b.txt"} <= set(files.split())
    known = variables_of(await here.job_of(pipeline["id"]))
    assert (known["CI_MERGE_REQUEST_EVENT_TYPE"], known["CI_COMMIT_SHA"]) == ("merged_result", pipeline["sha"])
    assert known["CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"] == opened["sha"]
    assert known["CI_MERGE_REQUEST_TARGET_BRANCH_SHA"] == target


async def test_a_conflict_falls_back_to_the_branch_alone(here: Merging) -> None:
    await here.site.set_project(merge_pipelines_enabled=True)
    await here.commit("feature", {"README": "mine\n"})
    await here.commit("main", {"README": "theirs\n"})
    opened = await here.open("feature")
    pipeline = opened["head_pipeline"]
    assert (pipeline["ref"], pipeline["sha"]) == ("refs/merge-requests/1/head", opened["sha"])
    reasons = (await here.row(pipeline["id"])).reasons
    assert "Conflicts detected during merge" in reasons["warnings"][0]["message"]


@pytest.mark.parametrize("merged", [False, True])
async def test_changes_are_those_since_the_branch_began(site: Site, merged: bool) -> None:
    here = Merging(site)
    await here.begin(CHANGES)
    await site.set_project(merge_pipelines_enabled=merged)
    await here.commit("feature", {"docs/a.md": "a\n"})
    await here.commit("main", {"code/b.py": "b\n"})
    await here.commit("feature", {"other": "x\n"})
    opened = await here.open("feature")
    jobs = await here.good("GET", f"pipelines/{opened['head_pipeline']['id']}/jobs")
    assert {job["name"] for job in jobs} == {"always", "docs"}


async def test_a_retry_gets_the_same(here: Merging) -> None:
    opened = await here.feature("feature")
    pipeline_id = opened["head_pipeline"]["id"]
    first = await here.play(pipeline_id, "failed")
    here.site.connect_temporal()
    await here.good("POST", f"jobs/{first['id']}/retry")
    again = await here.job_of(pipeline_id)
    assert again["id"] != first["id"]
    assert again["git_info"]["ref"] == first["git_info"]["ref"]
    assert variables_of(again)["CI_MERGE_REQUEST_IID"] == "1"


async def test_only_two_protected_branches_of_one_project_get_protected_variables(here: Merging) -> None:
    await protected_secret(here)
    await here.site.set_project(merge_pipelines_enabled=True)
    opened = await here.feature("feature")
    assert "SECRET" not in variables_of(await here.job_of(opened["head_pipeline"]["id"]))
    await here.good("POST", "protected_branches", json={"name": "feature"})
    again = await here.good("POST", "merge_requests/1/pipelines")
    job = await here.job_of(again["id"])
    assert (variables_of(job)["SECRET"], job["git_info"]["protected"]) == ("s3cret", True)


async def test_somebody_who_may_not_push_to_both_gets_no_protected_variables(here: Merging) -> None:
    await protected_secret(here)
    await here.commit("feature", {"a.txt": "a\n"})
    await here.good("POST", "protected_branches", json={"name": "feature", "push_access_level": 30})
    ada = await here.site.person("ada", 30)
    opened = await here.open("feature", who=ada)
    assert "SECRET" not in variables_of(await here.job_of(opened["head_pipeline"]["id"]))


async def forked(here: Merging, who: Any) -> int:
    """A fork of the project, in the namespace of somebody who may read it."""
    made = await here.good("POST", "fork", who)
    assert made["forked_from_project"]["id"] == here.id
    return int(made["id"])


async def test_a_fork_runs_its_pipelines_itself_without_secrets(here: Merging) -> None:
    await protected_secret(here)
    ada = await here.site.person("ada", 20)
    fork = await forked(here, ada)
    await protected_secret(here, fork)
    sha = await here.commit("main", {"a.txt": "a\n"}, ada, project=fork)
    opened = await here.open("main", "main", ada, project=fork, target_project_id=here.id)
    assert (opened["project_id"], opened["source_project_id"], opened["sha"]) == (here.id, fork, sha)
    assert await here.git("rev-parse", "refs/merge-requests/1/head") == sha
    assert await here.all_pipelines() == []
    (pipeline,) = await here.all_pipelines(fork)
    assert (pipeline["source"], pipeline["ref"], pipeline["project_id"]) == ("merge_request_event", "main", fork)
    job = await here.job_of(pipeline["id"])
    known = variables_of(job)
    assert "SECRET" not in known
    assert (known["CI_PROJECT_ID"], known["CI_MERGE_REQUEST_PROJECT_ID"]) == (str(fork), str(here.id))
    assert known["CI_MERGE_REQUEST_SOURCE_PROJECT_ID"] == str(fork)
    assert job["git_info"]["refspecs"][1] == "+refs/heads/main:refs/remotes/origin/main"


async def test_a_member_of_the_target_lets_the_pipeline_of_a_fork_run_there(here: Merging) -> None:
    await protected_secret(here)
    ada = await here.site.person("ada", 20)
    bob = await here.site.person("bob", 30)
    fork = await forked(here, ada)
    await here.commit("main", {"a.txt": "a\n"}, ada, project=fork)
    await here.open("main", "main", ada, project=fork, target_project_id=here.id)
    by_author = await here.good("POST", "merge_requests/1/pipelines", ada)
    assert by_author["project_id"] == fork
    made = await here.good("POST", "merge_requests/1/pipelines", bob)
    assert (made["project_id"], made["ref"]) == (here.id, "refs/merge-requests/1/head")
    job = await here.job_of(made["id"])
    assert "SECRET" not in variables_of(job)
    assert job["git_info"]["protected"] is False
    assert variables_of(job)["CI_COMMIT_REF_NAME"] == "main"


async def test_a_fork_is_a_copy_of_its_own(here: Merging) -> None:
    ada = await here.site.person("ada", 20)
    await here.git("tag", "v1", "main")
    fork = await forked(here, ada)
    path = here.site.services.repositories.path(fork)
    assert not (path / "objects" / "info" / "alternates").exists()
    refs = await here.git("for-each-ref", "--format=%(refname)", project=fork)
    assert refs.split() == ["refs/heads/main", "refs/tags/v1"]
    assert await here.git("config", "receive.hideRefs", project=fork)
    assert [item["id"] for item in await here.good("GET", "forks")] == [fork]
    again = await here.call("POST", "fork", ada)
    assert again.status_code == 409
    eve = await here.site.person("eve")
    assert (await here.call("POST", "fork", eve)).status_code == 404
    unrelated = await here.call(
        "POST", "merge_requests", ada, fork, json={"source_branch": "main", "target_branch": "main", "title": "x"}
    )
    assert unrelated.status_code == 422


async def test_a_child_pipeline_is_one_of_the_merge_request(site: Site) -> None:
    here = Merging(site)
    await here.begin(CHILD, **{"child.yml": "inner: {script: x, rules: [{if: $CI_MERGE_REQUEST_IID}]}\n"})
    from loops.bridges import BridgeLoop

    opened = await here.feature("feature")
    await site.world.settle(opened["head_pipeline"]["id"])
    await BridgeLoop(site.services).carry_out_due()
    children = await here.good("GET", "pipelines?source=parent_pipeline")
    (child,) = children
    assert child["ref"] == "refs/merge-requests/1/head"
    known = variables_of(await here.job_of(child["id"]))
    assert (known["CI_MERGE_REQUEST_IID"], known["CI_PIPELINE_SOURCE"]) == ("1", "parent_pipeline")
    assert "CI_COMMIT_BRANCH" not in known


async def test_a_wrong_configuration_is_a_failed_pipeline(here: Merging) -> None:
    await here.commit("feature", {".gitlab-ci.yml": "test: {script: [}\n"})
    opened = await here.open("feature")
    assert (opened["head_pipeline"]["status"], opened["head_pipeline"]["source"]) == ("failed", "merge_request_event")


async def test_a_pipeline_that_is_owed_is_made_by_the_loop(here: Merging, monkeypatch: pytest.MonkeyPatch) -> None:
    from application.merge_requests import opening, refresh
    from domain.errors import Unavailable

    async def away(*_: Any) -> list[str]:
        raise Unavailable("away")

    monkeypatch.setattr(opening, "carry_out", away)
    monkeypatch.setattr(refresh, "carry_out", away)
    opened = await here.feature("feature")
    assert opened["head_pipeline"] is None
    sha = await here.commit("feature", {"b.txt": "b\n"})
    assert await here.pipelines(1) == []
    assert await here.loop.carry_out_due() == 0
    await here.loop._begin()
    if not here.site.services.database.is_sqlite:
        from models.repositories.merge_requests import merge_request_events

        async with here.site.services.database.write() as connection:
            await merge_request_events.hasten(connection, here.site.services.clock())
    assert await here.loop.carry_out_due() == 2
    assert [pipeline["sha"] for pipeline in await here.pipelines(1)] == [sha]
    assert await here.loop.carry_out_due() == 0
