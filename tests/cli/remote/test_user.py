"""`perdure user` against a server."""

import httpx

from cli.remote.documents import NEW_USER, USER, schema
from tests.api.v4.site import Site
from tests.cli.remote.conftest import closing
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document
from tests.forms import visit_first
from tests.waiting import HANGS


async def opens_pages(site: Site, username: str, password: str) -> bool:
    """Whether somebody can sign in with a password."""
    url = site.services.settings.url
    async with httpx.AsyncClient(base_url=url, headers={"Origin": url}, timeout=HANGS) as browser:
        await visit_first(browser)
        response = await browser.post("/users/sign_in", data={"username": username, "password": password})
    return response.status_code == 303


async def test_a_password_is_made_up_and_printed_or_read(site: Site, shell: Shell) -> None:
    made = await shell("user", "create", "ada", "--email", "ada@example.org")
    assert made.code == 0, made.err
    assert "`perdure token create NAME --user ada`" in made.err
    assert await opens_pages(site, "ada", made.out.strip())
    bob = await document(shell, "user", "create", "bob", "--email", "bob@example.org", "--name", "Bob B.", "--admin")
    assert matches(bob, schema(NEW_USER))
    assert (bob["name"], bob["is_admin"]) == ("Bob B.", True)
    assert await opens_pages(site, "bob", bob["password"])
    read = await shell("user", "create", "carl", "--email", "carl@example.org", "--stdin", stdin="correct horse\n")
    assert (read.code, read.out, "correct horse" in read.err) == (0, "", False)
    assert await opens_pages(site, "carl", "correct horse")
    none = await document(shell, "user", "create", "dan", "--email", "dan@example.org", "--no-password")
    assert none["password"] is None
    empty = await shell("user", "create", "eve", "--email", "eve@example.org", "--stdin")
    assert (empty.code, "The password is missing" in empty.err) == (2, True)
    short = await shell("user", "create", "eve", "--email", "eve@example.org", "--stdin", stdin="short\n")
    assert (short.code, "too short" in short.err) == (2, True)
    listed = await document(shell, "user", "list", "--search", "bob")
    assert matches_list(listed, schema(USER))
    assert [one["email"] for one in listed] == ["bob@example.org"]


async def test_a_password_that_is_typed_is_not_seen(site: Site, shell: Shell) -> None:
    with closing(shell.terminal("user", "create", "ada", "--email", "ada@example.org", "--stdin")) as terminal:
        for question in ("Password of ada", "Repeat for confirmation"):
            await terminal.until(question)
            await terminal.until_hidden()
            terminal.write("correct horse\n")
        assert await terminal.end() == 0, terminal.shown
    assert "correct horse" not in terminal.shown
    assert await opens_pages(site, "ada", "correct horse")


async def test_somebody_who_is_blocked_gets_in_again_when_unblocked(site: Site, shell: Shell) -> None:
    ada = await site.person("ada", 30)
    hers = {"PERDURE_SERVER": site.services.settings.url, "PERDURE_TOKEN": ada.token}
    assert (await shell("user", "block", "ada")).code == 2
    assert (await shell("whoami", **hers)).code == 0
    assert (await shell("user", "block", "ada", "-y")).code == 0
    assert (await shell("whoami", **hers)).code == 4
    assert (await document(shell, "user", "list", "--search", "ada"))[0]["state"] == "blocked"
    assert (await shell("user", "unblock", "ada")).code == 0
    assert (await shell("user", "block", "root", "-y", **hers)).code == 4
    nobody = await shell("user", "block", "eve", "-y")
    assert (nobody.code, "Next: `perdure user list`" in nobody.err) == (3, True)
