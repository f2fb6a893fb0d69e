"""`perdure member` against a server."""

from datetime import UTC, datetime, timedelta

from cli.remote.documents import MEMBER, schema
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document


async def test_a_member_of_a_group_from_beginning_to_end(site: Site, shell: Shell) -> None:
    await site.person("ada", 0)
    last = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    group = ("--group", "tools")
    missing = await shell("member", "add", "ada", *group)
    assert (missing.code, "Next: `perdure group list`" in missing.err) == (3, True)
    assert (await shell("group", "create", "tools")).code == 0
    assert (await shell("project", "create", "tools/web")).code == 0
    made = await document(shell, "member", "add", "ada", *group, "--role", "reporter", "--expires-at", last)
    assert matches(made, schema(MEMBER))
    assert (made["role"], made["access_level"], made["expires_at"]) == ("reporter", 20, last)
    again = await shell("member", "add", "ada", *group, "--role", "maintainer")
    assert (again.code, "`perdure member edit ada --role maintainer --group tools`" in again.err) == (1, True)
    edited = await document(shell, "member", "edit", "ada", *group, "--role", "maintainer")
    assert (edited["role"], edited["expires_at"]) == ("maintainer", last)
    endless = await document(shell, "member", "edit", "ada", *group, "--expires-at", "")
    assert (endless["role"], endless["expires_at"]) == ("maintainer", None)
    listed = await document(shell, "member", "list", *group)
    assert matches_list(listed, schema(MEMBER))
    assert {one["username"]: one["role"] for one in listed} == {"root": "owner", "ada": "maintainer"}
    assert "ada\tmaintainer" not in (await shell("member", "list", "-p", "tools/web")).out
    assert "ada\tmaintainer" in (await shell("member", "list", "-p", "tools/web", "--all")).out
    assert (await shell("member", "remove", "ada", *group)).code == 2
    assert (await shell("member", "remove", "ada", *group, "-y")).code == 0
    gone = await shell("member", "remove", "ada", *group, "-y")
    assert (gone.code, "Next: `perdure member list --group tools`" in gone.err) == (3, True)


async def test_members_of_the_project_of_this_folder(site: Site, shell: Shell) -> None:
    await site.person("ada", 0)
    done = await shell("member", "add", "ada")
    assert (done.code, f"ada is developer of project {await site.path()}." in done.err) == (0, True)
    assert "ada\tdeveloper" in (await shell("member", "list")).out
    assert (await shell("member", "edit", "ada")).code == 2
    assert (await shell("member", "add", "ada", "--role", "king")).code == 2
    assert (await shell("member", "list", "--group", "tools", "--project", "a/b")).code == 2
    eve = await shell("member", "add", "eve")
    assert (eve.code, "`perdure user create eve --email ADDRESS`" in eve.err) == (3, True)
