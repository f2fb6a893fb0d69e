"""What merge requests have brought over time, who takes part in them, and what approval rules say of them."""

import pytest

from models.repositories.merge_requests import merge_request_versions
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Site


@pytest.fixture
async def here(site: Site) -> Merging:
    """The project with an open merge request."""
    here = Merging(site)
    await here.begin()
    await here.feature("feature")
    return here


async def test_each_push_is_a_version(here: Merging) -> None:
    first = await here.get(1)
    sha = await here.commit("feature", {"b.txt": "b\n"}, message="Second")
    newest, oldest = await here.good("GET", "merge_requests/1/versions")
    assert (newest["head_commit_sha"], oldest["head_commit_sha"]) == (sha, first["sha"])
    refs = first["diff_refs"]
    assert (oldest["base_commit_sha"], oldest["start_commit_sha"]) == (refs["base_sha"], refs["start_sha"])
    assert (newest["merge_request_id"], newest["state"]) == (first["id"], "collected")
    full = await here.good("GET", f"merge_requests/1/versions/{oldest['id']}?unidiff=true")
    assert ([commit["id"] for commit in full["commits"]], full["real_size"]) == ([first["sha"]], "1")
    assert [file["diff"] for file in full["diffs"]] == ["--- /dev/null\n+++ b/feature.txt\n@@ -0,0 +1 @@\n+feature\n"]
    latest = await here.good("GET", f"merge_requests/1/versions/{newest['id']}")
    assert ([commit["title"] for commit in latest["commits"]], latest["real_size"]) == (["Second", "Change"], "2")
    assert (await here.call("GET", "merge_requests/1/versions/999999")).status_code == 404


async def test_one_of_before_versions_were_kept_has_its_present_state(here: Merging) -> None:
    request = await here.get(1)
    async with here.site.services.database.write() as connection:
        await merge_request_versions.forget(connection, request["id"])
    sha = await here.commit("feature", {"b.txt": "b\n"})
    assert [one["head_commit_sha"] for one in await here.good("GET", "merge_requests/1/versions")] == [
        sha,
        request["sha"],
    ]
    async with here.site.services.database.write() as connection:
        await merge_request_versions.forget(connection, request["id"])
    (only,) = await here.good("GET", "merge_requests/1/versions")
    assert only["head_commit_sha"] == sha


async def test_its_changes_are_shown_as_git_writes_them(here: Merging) -> None:
    response = await here.call("GET", "merge_requests/1/raw_diffs")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.text.startswith("diff --git a/feature.txt b/feature.txt\nnew file mode 100644\n")
    assert response.text.endswith("@@ -0,0 +1 @@\n+feature\n")


async def test_who_takes_part(here: Merging) -> None:
    ada, bob = await here.site.person("ada", 30), await here.site.person("bob", 30)
    await here.good("PUT", "merge_requests/1", json={"reviewer_ids": [ada.id], "assignee_ids": [bob.id]})
    eve = await here.site.person("eve", 20)
    await here.good("POST", "merge_requests/1/notes", eve, json={"body": "hello"})
    people = await here.good("GET", "merge_requests/1/participants")
    assert [one["username"] for one in people] == ["root", "bob", "ada", "eve"]
    assert [
        (one["user"]["username"], one["state"]) for one in await here.good("GET", "merge_requests/1/reviewers")
    ] == [("ada", "unreviewed")]
    await here.good("POST", "merge_requests/1/approve", ada)
    assert (await here.good("GET", "merge_requests/1/reviewers"))[0]["state"] == "approved"
    assert await here.good("GET", "merge_requests/1/closes_issues") == []
    assert await here.good("GET", "merge_requests/1/related_issues") == []


async def test_the_rule_of_any_approver_is_the_number_that_is_enforced(here: Merging) -> None:
    ada = await here.site.person("ada", 30)
    (rule,) = await here.good("GET", "approval_rules")
    assert (rule["rule_type"], rule["approvals_required"]) == ("any_approver", 0)
    body = {"name": "All Members", "approvals_required": 1, "rule_type": "any_approver"}
    assert (await here.call("POST", "approval_rules", ada, json=body)).status_code == 403
    assert (await here.good("POST", "approval_rules", json=body))["approvals_required"] == 1
    assert (await here.call("POST", "approval_rules", json=body)).json() == {
        "message": {"rule_type": ["any-approver for the project already exists"]}
    }
    state = await here.good("GET", "merge_requests/1/approval_state")
    assert (state["rules"][0]["approved"], state["rules"][0]["approved_by"]) == (False, [])
    assert (await here.merge(1)).status_code == 405
    await here.good("POST", "merge_requests/1/approve", ada)
    (found,) = (await here.good("GET", "merge_requests/1/approval_state"))["rules"]
    assert (found["approved"], [one["username"] for one in found["approved_by"]]) == (True, ["ada"])
    one = f"approval_rules/{rule['id']}"
    assert (await here.good("PUT", one, json={"approvals_required": 2}))["approvals_required"] == 2
    assert (await here.good("GET", f"merge_requests/1/{one}"))["approvals_required"] == 2
    assert (await here.call("DELETE", one)).status_code == 204
    assert (await here.good("GET", "approvals"))["approvals_before_merge"] == 0


async def test_rules_that_would_not_be_enforced_are_refused(here: Merging) -> None:
    named = {"name": "Security", "approvals_required": 1}
    for more in ({"user_ids": [1]}, {"usernames": ["root"]}, {"rule_type": "regular"}, {"protected_branch_ids": [1]}):
        refused = await here.call("POST", "approval_rules", json={**named, **more})
        assert (refused.status_code, next(iter(more)) in refused.json()["message"]) == (400, True), refused.text
    own = await here.call("POST", "merge_requests/1/approval_rules", json=named)
    assert (own.status_code, "the project's" in own.text) == (403, True)
    (rule,) = await here.good("GET", "merge_requests/1/approval_rules")
    changed = await here.call("PUT", f"merge_requests/1/approval_rules/{rule['id']}", json={"approvals_required": 0})
    assert changed.status_code == 403
