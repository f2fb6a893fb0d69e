"""`perdure mr` against a server."""

from cli.remote.documents import MERGE_REQUEST, MERGE_REQUEST_DETAILS, schema
from tests.api.v4.merge_requests.merging import Merging
from tests.api.v4.site import Person, Site
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_git import git
from tests.cli.remote.test_pipeline import document


def as_person(site: Site, person: Person) -> dict[str, str]:
    """The environment of somebody else."""
    return {"PERDURE_SERVER": site.services.settings.url, "PERDURE_TOKEN": person.token}


async def test_a_merge_request_from_its_opening_to_its_merge(site: Site, shell: Shell) -> None:
    merging = Merging(site)
    await merging.begin()
    await merging.commit("greeting", {"hello.txt": "hello\n"})
    ada = as_person(site, await site.person("ada", 30))
    which = await shell("mr", "create", "Say hello", **ada)
    assert (which.code, "--source-branch NAME" in which.err) == (2, True)
    made = await document(shell, "mr", "create", "Say hello", "--source-branch", "greeting", **ada)
    assert matches(made, schema(MERGE_REQUEST_DETAILS))
    wanted = {"number": 1, "title": "Say hello", "author": "ada", "source_branch": "greeting", "target_branch": "main"}
    assert {name: made[name] for name in wanted} == wanted
    listed = await document(shell, "mr", "list")
    assert matches_list(listed, schema(MERGE_REQUEST))
    assert "1\topened\tgreeting -> main\tada\tSay hello" in (await shell("mr", "list")).out
    refused = await shell("mr", "merge", "1", **ada)  # main is for maintainers
    assert (refused.code, "You may not merge merge request 1." in refused.err) == (4, True), refused.err
    assert (await document(shell, "mr", "approve", "1"))["approved_by"] == ["root"]
    twice = await shell("mr", "approve", "1")
    assert (twice.code, "You may not approve merge request 1." in twice.err) == (4, True), twice.err
    await merging.play((await document(shell, "mr", "show", "1"))["pipeline_id"])
    merged = await document(shell, "mr", "merge", "1", "--remove-source-branch")
    assert (merged["state"], merged["pipeline_status"]) == ("merged", "success")
    again = await shell("mr", "merge", "1")
    assert (again.code, "cannot be merged now: it is merged" in again.err) == (1, True), again.err
    assert (await shell("mr", "list")).out == ""
    missing = await shell("mr", "show", "7")
    assert (missing.code, "Next: `perdure mr list`" in missing.err) == (3, True)


async def test_the_branch_that_is_checked_out_decides(site: Site, shell: Shell) -> None:
    merging = Merging(site)
    await merging.begin()
    url = site.services.settings.url
    assert (await shell("login", url, "--stdin", "--git", stdin=site.root.token)).code == 0
    assert (await git(shell, "clone", f"{url}/{await site.path()}.git", "work")).code == 0
    work = Shell(
        shell.folder / "work", {"HOME": str(shell.folder), "PERDURE_CONFIG": shell.environment["PERDURE_CONFIG"]}
    )
    assert (await git(work, "checkout", "-q", "-b", "greeting")).code == 0
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    assert (await git(work, *author, "commit", "-q", "--allow-empty", "-m", "hello")).code == 0
    assert (await git(work, "push", "-q", "origin", "greeting")).code == 0
    none = await work("mr", "show")
    assert (none.code, "Next: `perdure mr create`" in none.err) == (3, True), none.err
    made = await document(work, "mr", "create", "Say hello")
    assert (made["source_branch"], (await document(work, "mr", "show"))["number"]) == ("greeting", made["number"])
    pipeline = await document(work, "pipeline", "show")  # the branch has none of its own
    assert (pipeline["id"], pipeline["source"]) == (made["pipeline_id"], "merge_request_event")
    assert (await document(work, "mr", "merge", "--auto"))["auto_merge"] is True
