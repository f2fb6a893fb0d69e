"""`perdure doctor`."""

import json
import os
import re
import time
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from auth.secret_token import RANDOM_FIRST
from cli.doctor import clock
from cli.doctor_checks.check import State
from cli.remote.documents import CHECK, schema
from domain.pods.claims import ClaimKind
from domain.pods.own_claims import OwnClaim
from git.repository import Repositories
from models.clock import system_clock
from models.migrate import migrate
from models.repositories.accounts import accounts
from models.repositories.installation import name_claims
from models.repositories.runners import runners
from models.session import Database
from rigs.ports import free_port
from tests.api.v4.site import Site
from tests.cli.remote.matching import matches_list
from tests.cli.remote.shell import Shell
from tests.temporal import temporal_server


async def checks(shell: Shell, *words: str, code: int, **env: str) -> dict[str, dict[str, Any]]:
    """The rows by their names."""
    done = await shell("doctor", "--json", *words, **env)
    assert done.code == code, done.out + done.err
    rows = json.loads(done.out)
    assert matches_list(rows, schema(CHECK))
    assert all(row["fix"] for row in rows if row["state"] != "ok")
    return {row["name"]: row for row in rows}


async def test_all_is_well(site: Site, shell: Shell) -> None:
    found = await checks(shell, "--no-local", code=0)
    assert {name: row["state"] for name, row in found.items()} == dict.fromkeys(
        ("logins", "server", "token", "clock", "project", "git"), "ok"
    )
    assert site.services.settings.url in found["server"]["detail"]
    assert "root" in found["token"]["detail"]
    text = await shell("doctor", "--no-local")
    assert "ok\tserver" in text.out


async def test_a_token_that_was_revoked(site: Site, shell: Shell) -> None:
    url = site.services.settings.url
    found = await checks(shell, "--no-local", code=1, PERDURE_SERVER=url, PERDURE_TOKEN="glpat-wrong")
    assert (found["server"]["state"], found["token"]["state"]) == ("ok", "fail")
    assert found["token"]["fix"] == f"`perdure login {url}`"


async def test_a_server_that_is_away(nobody: Shell) -> None:
    found = await checks(nobody, "--no-local", "--server", "http://127.0.0.1:1", code=1)
    assert (found["server"]["state"], found["logins"]["state"]) == ("fail", "warn")


async def test_logins_that_others_can_read(site: Site, shell: Shell) -> None:
    file = shell.environment["PERDURE_CONFIG"]
    os.chmod(file, 0o644)  # noqa: PTH101  # a path of asyncio's would be no better
    found = await checks(shell, "--no-local", code=1)
    assert found["logins"]["fix"] == f"chmod 600 {file}"


@pytest.mark.parametrize(("skew", "state"), [(0, State.OK), (-10, State.WARN), (10, State.WARN), (-3600, State.FAIL)])
def test_the_clock_is_compared(skew: float, state: State) -> None:
    now = time.time()
    assert clock(formatdate(now + skew, usegmt=True), now, now).state is state


def test_a_server_without_time() -> None:
    assert clock("", 0, 0).state is State.WARN


async def test_an_operator_sees_the_parts(nobody: Shell, tmp_path: Path, database_url: str) -> None:
    """Before anything runs, with an old schema, and when all is there."""
    home = tmp_path / "operator"
    port = free_port()
    env = {"PERDURE_HOME": str(home), "PERDURE_DATABASE_URL": f"sqlite:///{home}/perdure.db"}
    env |= {"PERDURE_TEMPORAL_ADDRESS": f"127.0.0.1:{port}", "PERDURE_FRONT_PORT": str(free_port())}
    env |= {"PERDURE_API_PORT": str(free_port())}
    fresh = await checks(nobody, code=1, **env)
    assert (fresh["database"]["state"], fresh["object store"]["state"]) == ("warn", "warn")
    assert fresh["temporal"]["state"] == "fail"
    assert not home.exists()
    (home / "objects").mkdir(parents=True)
    (home / "perdure.db").touch()
    old = await checks(nobody, code=1, **env)
    assert (old["database"]["state"], "empty" in old["database"]["detail"]) == ("fail", True)
    env["PERDURE_DATABASE_URL"] = database_url
    database = Database(database_url)
    await migrate(database)
    await database.close()
    async with temporal_server(tmp_path) as address:
        found = await checks(nobody, code=0, **{**env, "PERDURE_TEMPORAL_ADDRESS": address})
    states = {name: found[name]["state"] for name in ("settings", "database", "object store", "temporal", "ports")}
    assert states == dict.fromkeys(states, "ok")
    assert "disk" in found
    assert [left for left in (home / "objects").rglob("*") if left.is_file()] == []


async def test_what_is_down_is_told_without_the_words_of_libraries(nobody: Shell, tmp_path: Path) -> None:
    home = tmp_path / "operator"
    names = ("FRONT", "API", "TEMPORAL", "TEMPORAL_UI", "TEMPORAL_HTTP")
    env = {f"PERDURE_{name}_PORT": str(free_port()) for name in names}
    env |= {"PERDURE_HOME": str(home), "PERDURE_SERVER": f"http://127.0.0.1:{env['PERDURE_FRONT_PORT']}"}
    never = await checks(nobody, code=1, **env)
    assert never["processes"] | {"name": ""} == {
        "name": "",
        "state": "warn",
        "detail": "Perdure was never started here",
        "fix": "`perdure up`",
    }
    (home / "run").mkdir(parents=True)
    (home / "credentials.json").write_text("{}")
    down = await checks(nobody, code=1, **env)
    assert down["processes"]["detail"] == "down: front, temporal, api"
    assert (down["processes"]["fix"], down["temporal"]["fix"]) == ("`perdure up`", "`perdure up`")
    assert down["temporal"]["detail"] == f"Temporal at 127.0.0.1:{env['PERDURE_TEMPORAL_PORT']}: nothing answers there"
    assert (down["database"]["state"], "perdure restore" in down["database"]["fix"]) == ("fail", True)
    assert "cannot be reached: " in down["server"]["detail"]
    assert "`perdure up` starts it" in down["server"]["fix"]
    (home / "perdure.db").write_text("this is none" * 100)
    damaged = await checks(nobody, code=1, **env)
    assert damaged["database"]["detail"].endswith("the file is damaged, or no SQLite database")
    assert "runner tokens" not in damaged
    told = str([*never.values(), *down.values(), *damaged.values()])
    assert not re.search(r"Errno|tonic|sqlite3|httpx|Os \{|Error\(", told)


async def test_runners_whose_tokens_begin_alike_are_named(nobody: Shell, tmp_path: Path, database_url: str) -> None:
    database = Database(database_url)
    await migrate(database)
    now = system_clock()
    async with database.write() as connection:
        old = [await runners.create(connection, f"hash {name}", now, description=name) for name in ("big", "")]
        await runners.create(connection, "hash new", now, description="new", token_form=RANDOM_FIRST)
    (tmp_path / "operator").mkdir()
    env = {"PERDURE_HOME": str(tmp_path / "operator"), "PERDURE_DATABASE_URL": database_url}
    env["PERDURE_TEMPORAL_ADDRESS"] = f"127.0.0.1:{free_port()}"
    row = (await checks(nobody, code=1, **env))["runner tokens"]
    assert (row["state"], f"the runners {old[0]} (big), {old[1]};" in row["detail"]) == ("warn", True)
    assert "reset-token" in row["fix"]
    assert "reset_authentication_token" in row["fix"]
    async with database.write() as connection:
        for runner_id in old:
            await runners.rotate_token(connection, runner_id, f"hash {runner_id}", None, token_form=RANDOM_FIRST)
    await database.close()
    assert (await checks(nobody, code=1, **env))["runner tokens"]["state"] == "ok"


async def test_tokens_that_name_no_pod_are_counted(nobody: Shell, tmp_path: Path, database_url: str) -> None:
    database = Database(database_url)
    await migrate(database)
    now = system_clock()
    (tmp_path / "operator").mkdir()
    env = {"PERDURE_HOME": str(tmp_path / "operator"), "PERDURE_DATABASE_URL": database_url}
    env["PERDURE_TEMPORAL_ADDRESS"] = f"127.0.0.1:{free_port()}"
    assert (await checks(nobody, code=1, **env))["token pods"]["detail"] == "each names the pod that it is of"
    async with database.write() as connection:
        user_id = await accounts.create_user(connection, "ada", "Ada", "ada@localhost", now)
        await accounts.add_token(connection, user_id, "new", "hash new", now, names_pod=True)
        await accounts.add_token(connection, user_id, "older", "hash older", now)
    await database.close()
    row = (await checks(nobody, code=1, **env))["token pods"]
    assert (row["state"], row["detail"][:9]) == ("ok", "1 access ")


async def test_names_that_another_pod_has_too_are_named(nobody: Shell, tmp_path: Path, database_url: str) -> None:
    database = Database(database_url)
    await migrate(database)
    (tmp_path / "operator").mkdir()
    env = {"PERDURE_HOME": str(tmp_path / "operator"), "PERDURE_DATABASE_URL": database_url}
    env["PERDURE_TEMPORAL_ADDRESS"] = f"127.0.0.1:{free_port()}"
    assert (await checks(nobody, code=1, **env))["names"]["state"] == "ok"
    async with database.write() as connection:
        for name in ("acme", "fine"):
            await name_claims.adopt(connection, name, ClaimKind.PATH, name, None, system_clock())
        await name_claims.turn(connection, ["acme"], OwnClaim.REFUSED)
    await database.close()
    row = (await checks(nobody, code=1, **env))["names"]
    assert (row["state"], row["detail"]) == ("warn", "something in another pod has these, too: acme")


async def test_refs_that_could_be_taken_for_others_are_named(nobody: Shell, tmp_path: Path) -> None:
    home = tmp_path / "operator"
    repository = await Repositories(home / "repositories").create(3, "main")
    env = {"PERDURE_HOME": str(home), "PERDURE_TEMPORAL_ADDRESS": f"127.0.0.1:{free_port()}"}
    assert (await checks(nobody, code=1, **env))["ref names"]["state"] == "ok"
    (repository.path / "packed-refs").write_text(f"# pack-refs with: peeled\n{'a' * 40} refs/heads/refs/heads/main\n")
    row = (await checks(nobody, code=1, **env))["ref names"]
    assert (row["state"], "refs/heads/refs/heads/main of project 3" in row["detail"]) == ("warn", True)


async def test_ports_that_somebody_else_holds(nobody: Shell, tmp_path: Path) -> None:
    import socket

    home = tmp_path / "operator"
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as busy:
        number = busy.getsockname()[1]
        env = {"PERDURE_HOME": str(home), "PERDURE_TEMPORAL_ADDRESS": "127.0.0.1:1", "PERDURE_API_PORT": str(number)}
        found = await checks(nobody, code=1, **env)
    assert found["ports"]["state"] == "fail"
    assert f"Port {number}" in found["ports"]["detail"]
