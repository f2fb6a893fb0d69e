"""Which installation answers at an address, compared with the one of this home."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from cli.installation.own_installation import another_at, answering_at, installation_here, refuse_address_of_another
from domain.errors import Refused
from domain.pods.identity import PodIdentity
from models.clock import system_clock
from models.migrate import migrate
from models.repositories.installation import installations, restoring
from models.session import Database
from rigs.ports import free_port
from settings import Settings
from tests.pods.upstreams import http_upstream


async def health(request: web.BaseRequest) -> web.StreamResponse:
    """That of an installation; a router would be led by the token, which opens nothing."""
    assert request.path == "/-/health"
    assert request.headers["PRIVATE-TOKEN"].startswith("glpat-")
    return web.json_response({"status": "ok", "installation_id": "theirs"})


async def page(_: web.BaseRequest) -> web.StreamResponse:
    """Something else that answers."""
    return web.Response(text="<h1>welcome</h1>")


async def away(_: web.BaseRequest) -> web.StreamResponse:
    """A front whose API is away."""
    return web.json_response({"message": "503"}, status=503)


async def made(home: Path, copy_id: str = "") -> str:
    """A home with an installation; its id."""
    home.mkdir()  # noqa: ASYNC240
    database = Database(Settings(home=home).database)
    await migrate(database)
    async with database.write() as connection:
        row = await installations.ensure(connection, PodIdentity("default", 0), system_clock())
        if copy_id:
            await restoring.settle(connection, 0, (), system_clock(), copy_id)
    await database.close()
    return row.installation_id


@pytest.mark.parametrize(("answer", "told"), [(health, "theirs"), (page, ""), (away, "")])
async def test_a_server_says_which_installation_it_is_or_nothing(answer: object, told: str) -> None:
    port = free_port()
    async with http_upstream(port, answer):  # type: ignore[arg-type]
        url = f"http://127.0.0.1:{port}"
        assert await asyncio.to_thread(answering_at, url) == told
        assert await asyncio.to_thread(another_at, url, "theirs", "a file says", "") == ""
        fault = await asyncio.to_thread(another_at, url, "ours", "a file says", "Nothing was done.")
    assert bool(fault) is bool(told)
    if told:
        for words in (f"{url} leads to another installation (theirs)", "(ours)", "Nothing was done.", "a file says"):
            assert words in fault


def test_where_nothing_answers_nothing_is_wrong() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert (answering_at(url), another_at(url, "ours", "a file says", "")) == (None, "")


async def test_a_start_with_the_address_of_another_installation_is_refused(tmp_path: Path) -> None:
    """As where the settings of the original were taken along to a restore drill; also before the first start."""
    ours, port = await made(tmp_path / "home"), free_port()
    new, old = (
        Settings(home=tmp_path / name, external_url=f"http://127.0.0.1:{port}", front_port=free_port())
        for name in ("none", "home")
    )
    async with http_upstream(port, health):
        with pytest.raises(Refused, match=rf"another installation \(theirs\).*\({ours}\).*Nothing was started"):
            await asyncio.to_thread(refuse_address_of_another, old)
        with pytest.raises(Refused, match=r"another installation \(theirs\).*\(new\)"):
            await asyncio.to_thread(refuse_address_of_another, new)
    await asyncio.to_thread(refuse_address_of_another, old)


async def test_a_copy_knows_of_what_it_is_one(tmp_path: Path) -> None:
    ours = await made(tmp_path / "home", "the-copy")
    here = await asyncio.to_thread(installation_here, Settings(home=tmp_path / "home"))
    assert here is not None
    assert (here.installation_id, here.copy_of) == ("the-copy", ours)
    assert await asyncio.to_thread(installation_here, Settings(home=tmp_path / "none")) is None
