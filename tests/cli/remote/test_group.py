"""`perdure group` against a server."""

from cli.remote.documents import GROUP, schema
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document


async def test_a_group_is_made_within_another_and_holds_projects(site: Site, shell: Shell) -> None:
    missing = await shell("project", "create", "tools/web/site")
    assert (missing.code, "Next: `perdure group create tools/web`" in missing.err) == (3, True)
    above = await shell("group", "create", "tools/web")
    assert (above.code, "Next: `perdure group create tools`" in above.err) == (3, True)
    assert (await shell("group", "create", "tools", "--visibility", "internal")).code == 0
    made = await document(shell, "group", "create", "tools/web", "--name", "The Web", "--description", "Pages")
    assert matches(made, schema(GROUP))
    wanted = {"path": "tools/web", "name": "The Web", "description": "Pages", "visibility": "private"}
    assert {name: made[name] for name in wanted} == wanted
    assert (await document(shell, "project", "create", "tools/web/site"))["path"] == "tools/web/site"
    again = await shell("group", "create", "tools")
    assert (again.code, "already been taken" in again.err) == (2, True)
    listed = await document(shell, "group", "list", "--mine")
    assert matches_list(listed, schema(GROUP))
    assert [one["path"] for one in listed] == ["tools", "tools/web"]
    assert "tools/web\tprivate\tPages" in (await shell("group", "list", "--search", "web")).out
