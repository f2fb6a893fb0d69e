"""`perdure token` against a server."""

from datetime import UTC, datetime, timedelta

from cli.remote.documents import NEW_TOKEN, TOKEN, schema
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches, matches_list
from tests.cli.remote.shell import Shell
from tests.cli.remote.test_pipeline import document


async def test_a_token_from_its_making_to_its_end(site: Site, shell: Shell) -> None:
    last = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
    made = await document(shell, "token", "create", "laptop", "--scope", "read_api", "--expires-at", last)
    assert matches(made, schema(NEW_TOKEN))
    assert (made["scopes"], made["expires_at"]) == (["read_api"], last)
    listed = await document(shell, "token", "list")
    assert matches_list(listed, schema(TOKEN))
    assert "laptop" in {one["name"] for one in listed}
    server = {"PERDURE_SERVER": site.services.settings.url, "PERDURE_TOKEN": made["token"]}
    assert (await shell("whoami", **server)).code == 0
    narrow = await shell("doctor", "--no-local", **server)
    assert "warn\ttoken" in narrow.out
    assert f"until {last}" in narrow.out
    forbidden = await shell("token", "create", "more", **server)
    assert (forbidden.code, forbidden.out) == (4, "")
    assert (await shell("token", "revoke", str(made["id"]), "--yes")).code == 0
    assert (await shell("whoami", **server)).code == 4
    assert "laptop" not in {one["name"] for one in await document(shell, "token", "list")}
    ended = {one["name"]: one["active"] for one in await document(shell, "token", "list", "--all")}
    assert ended["laptop"] is False


async def test_a_token_of_somebody_else(site: Site, shell: Shell) -> None:
    ada = await site.person("ada", 30)
    made = await shell("token", "create", "hers", "--user", "ada")
    server = {"PERDURE_SERVER": site.services.settings.url, "PERDURE_TOKEN": made.out.strip()}
    assert (await document(shell, "whoami", **server))["id"] == ada.id
    assert (await shell("token", "create", "own", **server)).code == 0
    assert (await shell("token", "create", "spare", "--user", "root", **server)).code == 4
    assert (await shell("token", "create", "nobody's", "--user", "eve")).code == 3
    assert (await shell("token", "revoke", "self", "--yes", **server)).code == 0
    assert (await shell("whoami", **server)).code == 4


async def test_a_token_that_is_given_in_place_of_its_number_is_not_repeated(site: Site, shell: Shell) -> None:
    done = await shell("token", "revoke", "glpat-secret", "--yes")
    assert (done.code, "glpat-secret" in done.err) == (2, False)
