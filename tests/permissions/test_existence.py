"""Nobody is told by how long a response takes whether there is a private project or group of that name.

Time cannot be compared exactly, so what takes it is: the statements that the database is asked for a private one are
those for one that does not exist, for every route and method, by id and by path. No git runs for either.
"""

from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Engine, event

from git import command
from tests.api.v4.site import open_site
from tests.permissions.calls import call_of
from tests.permissions.place import Place, open_place
from tests.permissions.routes import every_route

NAMING = ("{project}", "{group}", "{path:project}", "{path}.git")
"""What names a project or a group in a route."""
STRANGERS = ("anonymous", "owner")
"""Nobody, and somebody who is a stranger to the foreign group, though an owner elsewhere."""
NO_ID = str(10**9)
ASKED: ContextVar[list[str] | None] = ContextVar("asked", default=None)


def note(*given: Any) -> None:
    """Keep the text of a statement, without its values."""
    asked = ASKED.get()
    if asked is not None:
        asked.append(given[2])


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """The installation; its foreign group under its ids and its paths, and one that is not there under both."""
    async with open_place(tmp_path_factory.mktemp("place")) as opened:
        foreign = opened.objects["foreign"]
        paths = {"project": quote("foreign-top/team/app", safe=""), "group": quote("foreign-top/team", safe="")}
        names = {"path": foreign["path"].replace("foreign", "unknown")}
        opened.objects["foreign by path"] = foreign | paths
        opened.objects["missing"] = foreign | {"project": NO_ID, "group": NO_ID} | names
        missing = {name: path.replace("foreign", "unknown") for name, path in paths.items()}
        opened.objects["missing by path"] = foreign | missing | names
        yield opened


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Statements of a call are noted from now on, and commands of git."""
    check = command._check_words

    def noted(words: Any) -> None:
        note(None, None, "git")
        check(words)

    monkeypatch.setattr(command, "_check_words", noted)
    event.listen(Engine, "before_cursor_execute", note)
    yield
    event.remove(Engine, "before_cursor_execute", note)


async def asked(place: Place, method: str, route: str, who: str, side: str) -> tuple[int, list[str]]:
    """The status of a call, and the statements that it took."""
    statements: list[str] = []
    token = ASKED.set(statements)
    try:
        return await place.status(call_of(method, route), who, side), statements
    finally:
        ASKED.reset(token)


@pytest.mark.usefixtures("runs")
@pytest.mark.slow  # with the rest of the matrix
async def test_what_is_not_there_takes_as_much_as_what_is_private(place: Place) -> None:
    routes = [one for one in every_route(place.site.services) if any(name in one[1] for name in NAMING)]
    assert len(routes) > 250
    differ = []
    for method, route in routes:
        for who in STRANGERS:
            for how in ("", " by path"):
                private = await asked(place, method, route, who, f"foreign{how}")
                missing = await asked(place, method, route, who, f"missing{how}")
                if private != missing:
                    told = "\n  ".join((*private[1], "and not", *missing[1]))
                    differ.append(f"{method} {route} {who}{how}: {private[0]}, {missing[0]}\n  {told}")
    calls = [one.partition("\n")[0] for one in differ]
    assert not differ, "\n".join([f"{len(calls)} calls:", *calls, "The first one:", differ[0]])


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("limited", [True, False], ids=["let in by a list", "open to jobs"])
async def test_jobs_and_the_registry_are_told_as_little(tmp_path: Path, database_url: str, *, limited: bool) -> None:
    async with open_site(tmp_path, database_url, registry_url="registry.example") as site:
        async with site.client(site.root) as client:
            group = {"name": "secret", "path": "secret"}
            made = {"name": "app", "namespace_id": (await client.post("/api/v4/groups", json=group)).json()["id"]}
            hidden = (await client.post("/api/v4/projects", json=made)).json()["id"]
            scope = f"/api/v4/projects/{hidden}/job_token_scope"
            assert (await client.patch(scope, json={"enabled": limited})).status_code == 204
        stranger = await site.person("stranger", 40)
        await replace(site.world, user_id=stranger.id).pipeline("job: {script: x}\n")
        job = (await site.world.job())["token"]
        git = "/{path}.git/info/refs?service=git-upload-pack"
        image = "/jwt/auth?service=container_registry&scope=repository:{path}/tools/cc:pull"
        calls: list[tuple[str, str, dict[str, Any]]] = [
            ("GET", "/api/v4/projects/{project}/environments", {"headers": {"JOB-TOKEN": job}}),
            ("GET", "/api/v4/projects/{project}/releases", {"headers": {"JOB-TOKEN": job}}),
            ("GET", git, {"auth": ("gitlab-ci-token", job)}),
            ("GET", git, {"auth": ("stranger", stranger.token)}),
            ("GET", image, {"auth": ("gitlab-ci-token", job)}),
            ("GET", image, {"auth": ("stranger", stranger.token)}),
            ("POST", "/api/v4/projects/{project}/trigger/pipeline", {"json": {"token": job, "ref": "main"}}),
            ("POST", "/api/v4/projects/{project}/trigger/pipeline", {"json": {"token": "glptt-x", "ref": "main"}}),
        ]
        async with site.client() as client:
            for method, path, more in calls:
                told = []
                missing = (NO_ID, "unknown/app")
                for project, name in (missing, (hidden, "secret/app"), missing):  # what is noted once comes first
                    statements: list[str] = []
                    token = ASKED.set(statements)
                    response = await client.request(method, path.format(project=project, path=name), **more)
                    ASKED.reset(token)
                    told.append((response.status_code, statements))
                assert told[1] == told[2], (method, path)
                assert told[1][0] in {401, 403, 404}, response.text
