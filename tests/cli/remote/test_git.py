"""git with the token of `perdure login`: the real git against a real server."""

import asyncio
import subprocess
from pathlib import Path

from cli.git_credential import login_for
from cli.user_file import Login, UserFile
from tests.api.v4.site import Site
from tests.cli.remote.conftest import closing
from tests.cli.remote.shell import Shell
from tests.cli.running import Ran


async def git(shell: Shell, *words: str) -> Ran:
    """Run git as the person at the shell would, where nobody can be asked."""
    environment = {**shell.environment, "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}

    def run() -> Ran:
        done = subprocess.run(
            ("git", *words), cwd=shell.folder, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return await asyncio.to_thread(run)


def git_config_of(shell: Shell) -> str:
    path = Path(shell.environment["HOME"]) / ".gitconfig"
    return path.read_text() if path.exists() else ""


async def test_git_clones_and_pushes_with_the_token_of_the_login_until_logout(site: Site, shell: Shell) -> None:
    url, token = site.services.settings.url, site.root.token
    await site.commit({"a.txt": "one\n"})
    project = f"{url}/{await site.path()}.git"
    before = await git(shell, "clone", project, "work")
    assert (before.code, "could not read Username" in before.err) == (128, True)
    for _ in range(2):  # the second time changes nothing
        login = await shell("login", url, "--stdin", "--git", stdin=token)
        assert (login.code, "git uses it too" in login.err) == (0, True), login.err
        assert git_config_of(shell).count("git-credential") == 1
    cloned = await git(shell, "clone", project, "work")
    assert cloned.code == 0, cloned.err
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    assert (await git(shell, "-C", "work", *author, "commit", "--allow-empty", "-m", "two")).code == 0
    pushed = await git(shell, "-C", "work", "push")
    assert pushed.code == 0, pushed.err
    assert token not in git_config_of(shell) + (shell.folder / "work" / ".git" / "config").read_text()
    other = project.replace("://", "://somebody@")
    assert "could not read Password" in (await git(shell, "ls-remote", other)).err
    assert (await shell("token", "revoke", "self", "-y")).code == 0
    refused = await git(shell, "-C", "work", "fetch")
    assert (refused.code, f"Next: `perdure login {url} --git`" in refused.err) == (128, True), refused.err
    assert (await shell("logout")).code == 0
    assert "git-credential" not in git_config_of(shell)


async def test_without_a_login_the_helper_says_what_to_do(site: Site, shell: Shell) -> None:
    url = site.services.settings.url
    assert (await shell("login", url, "--stdin", "--git", stdin=site.root.token)).code == 0
    await asyncio.to_thread(Path(shell.environment["PERDURE_CONFIG"]).unlink)
    done = await git(shell, "ls-remote", f"{url}/{await site.path()}.git")
    assert f"you are not logged in to {url}. Next: `perdure login {url} --git`" in done.err


async def test_a_helper_of_the_users_own_stays(site: Site, shell: Shell) -> None:
    await site.commit({"a.txt": "one\n"})
    url = site.services.settings.url
    key = f"credential.{url}.helper"
    assert (await git(shell, "config", "--global", key, "store")).code == 0
    login = await shell("login", url, "--stdin", "--no-git", stdin=site.root.token)
    assert "--git` would let it" in login.err
    assert (await shell("login", url, "--stdin", "--git", stdin=site.root.token)).code == 0
    assert (await git(shell, "ls-remote", f"{url}/{await site.path()}.git")).code == 0
    assert (await shell("login", url, "--stdin", "--no-git", stdin=site.root.token)).code == 0
    assert (await git(shell, "config", "--global", "--get-all", key)).out == "store\n"


async def test_somebody_at_a_terminal_is_asked(site: Site, nobody: Shell) -> None:
    url = site.services.settings.url
    with closing(nobody.terminal("login", url, "--token", site.root.token)) as terminal:
        await terminal.until("Shall git use this token")
        terminal.write("y\n")
        assert await terminal.end() == 0, terminal.shown
    assert "git-credential" in git_config_of(nobody)


def test_a_server_below_a_path_is_found_with_and_without_the_path() -> None:
    known = UserFile({"https://a.org/ci": Login("1"), "https://b.org": Login("2"), "https://b.org:8443": Login("3")})

    def token(host: str, path: str = "") -> str:
        asked = {"protocol": "https", "host": host} | ({"path": path} if path else {})
        login = login_for(asked, known)[1]
        return login.token if login else ""

    assert (token("a.org"), token("a.org", "ci/group/x.git"), token("a.org", "group/x.git")) == ("1", "1", "")
    assert (token("B.org"), token("b.org:8443"), token("b.org:80"), token("b.or")) == ("2", "3", "", "")
    assert token("a.org", "cicd/x.git") == ""
