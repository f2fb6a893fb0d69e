"""`perdure login`, `logout` and `whoami`."""

import json
import tomllib
from pathlib import Path

from cli.remote.documents import IDENTITY, schema
from tests.api.v4.site import Site
from tests.cli.remote.conftest import closing
from tests.cli.remote.matching import matches
from tests.cli.remote.shell import Shell


def config_of(shell: Shell) -> Path:
    return Path(shell.environment["PERDURE_CONFIG"])


async def test_a_token_is_checked_and_kept_for_its_owner_alone(site: Site, nobody: Shell) -> None:
    url = site.services.settings.url
    done = await nobody("login", f"{url}/", "--stdin", "--json", stdin=f"{site.root.token}\n")
    assert done.code == 0, done.err
    shown = json.loads(done.out)
    assert matches(shown, schema(IDENTITY))
    assert (shown["server"], shown["username"]) == (url, "root")
    file = config_of(nobody)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    kept = tomllib.loads(file.read_text())
    assert kept == {"default": url, "servers": {url: {"token": site.root.token, "username": "root"}}}
    assert site.root.token not in done.out + done.err


async def test_a_wrong_token_is_refused_and_not_kept(site: Site, nobody: Shell) -> None:
    done = await nobody("login", site.services.settings.url, "--token", "glpat-wrong")
    assert done.code == 4
    assert "Next: `perdure login" in done.err
    assert not config_of(nobody).exists()


async def test_a_password_is_no_token_and_never_gets_to_the_server(site: Site, nobody: Shell) -> None:
    done = await nobody("login", site.services.settings.url, "--stdin", stdin="GnkgH3sYrBxXTsIFOWlpLLkg\n")
    assert (done.code, "That is no access token" in done.err, "Gnkg" in done.err) == (2, True, False)


async def test_what_is_no_token_never_gets_to_the_server(site: Site, nobody: Shell) -> None:
    done = await nobody("login", site.services.settings.url, "--stdin", stdin="two words\n")
    assert (done.code, "characters that no token has" in done.err) == (2, True)


async def test_several_servers_are_kept_and_forgotten_one_by_one(site: Site, shell: Shell) -> None:
    url = site.services.settings.url
    other = url.replace("127.0.0.1", "localhost")
    assert (await shell("login", other, "--keep-default", "--token", site.root.token)).code == 0
    assert tomllib.loads(config_of(shell).read_text())["default"] == url
    assert json.loads((await shell("whoami", "--json", "--server", other)).out)["server"] == other
    assert (await shell("logout", url)).code == 0
    assert json.loads((await shell("whoami", "--json")).out)["server"] == other
    assert (await shell("logout", url)).code == 3
    assert (await shell("logout", "--all")).code == 0
    gone = await shell("whoami")
    assert (gone.code, "Next: `perdure login https://ADDRESS`" in gone.err) == (4, True)


async def test_without_a_terminal_nobody_is_asked(nobody: Shell) -> None:
    done = await nobody("login")
    assert done.code == 2
    assert "nobody can be asked" in done.err


async def test_a_token_that_is_typed_is_not_seen(site: Site, nobody: Shell) -> None:
    with closing(nobody.terminal("login")) as terminal:
        await terminal.until("Address of the server")
        terminal.write(f"{site.services.settings.url}\n")
        await terminal.until("Access token")
        await terminal.until_hidden()
        terminal.write(f"{site.root.token}\n")
        await terminal.until("Shall git use this token")
        terminal.write("n\n")
        assert await terminal.end() == 0, terminal.shown
    assert "Logged in to" in terminal.shown
    assert site.root.token not in terminal.shown


async def test_the_first_administrator_of_this_machine(site: Site, nobody: Shell) -> None:
    home, ours = nobody.folder / ".perdure", site.services.mine.installation_id
    missing = await nobody("login", "--local")
    assert (missing.code, "Next: `perdure up`" in missing.err) == (3, True)
    home.mkdir()
    credentials = {"url": site.services.settings.url, "username": "root", "token": site.root.token}
    (home / "credentials.json").write_text(json.dumps(credentials))
    done = await nobody("login", "--local")
    assert (done.code, "as root" in done.err) == (0, True)
    (home / "credentials.json").write_text(json.dumps(credentials | {"installation_id": ours}))
    assert (await nobody("login", "--local")).code == 0


async def test_no_token_goes_to_a_server_that_is_another_installation(site: Site, nobody: Shell) -> None:
    """That of a backup, which was restored here, is as good there."""
    home = nobody.folder / ".perdure"
    home.mkdir()
    credentials = {"url": site.services.settings.url, "token": site.root.token, "installation_id": "a-copy"}
    (home / "credentials.json").write_text(json.dumps(credentials))
    done = await nobody("login", "--local")
    assert (done.code, "leads to another installation" in done.err, "No token was sent" in done.err) == (1, True, True)
    assert not config_of(nobody).exists()
