"""Posting: what comes back, what is never called, and that nobody is waited for too long."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from domain.errors import Invalid
from outbound.addresses import public_or_within
from outbound.post import KEPT_BODY, Poster, PostLimits, address_fault
from rigs.ports import LOCAL
from tests.includes.serving import Names, certificate, local_only, serving

INSIDE = [
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://127.1:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://0.0.0.0:{port}/",
    "http://0:{port}/",
    "http://[::1]:{port}/",
    "http://[::]:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::ffff:7f00:1]:{port}/",
    "http://[::127.0.0.1]:{port}/",
    "http://[64:ff9b::7f00:1]:{port}/",
    "http://[2002:7f00:1::]:{port}/",
    "http://[fe80::1]:{port}/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.0.1/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://user:password@127.0.0.1:{port}/",
]


async def ok(request: web.BaseRequest) -> web.Response:
    return web.Response(text=f"{request.headers['X-Test']} {(await request.read()).decode()}")


def poster(**options: Any) -> Poster:
    given: dict[str, Any] = {"permitted": local_only, **options}
    return Poster(PostLimits(total=2.0), **given)


async def test_a_post_and_its_answer() -> None:
    async with serving(ok) as served:
        reply = await poster().post(served.url("/hook?a=1"), {"X-Test": "yes"}, b"body")
    assert (reply.status, reply.body, reply.error) == (200, "yes body", "")
    assert reply.headers["Content-Length"] == "8"
    assert served.seen == [f"POST {LOCAL}:{served.port} /hook?a=1"]


@pytest.mark.parametrize("address", INSIDE)
async def test_an_address_inside_is_refused_however_it_is_written(address: str) -> None:
    async with serving(ok) as served:
        reply = await Poster(PostLimits(total=5.0)).post(address.format(port=served.port), {}, b"")
    assert (reply.status, served.seen) == (None, [])
    assert not reply.passing or "has no address" in reply.error, reply
    assert reply.error


async def test_a_name_that_changes_its_mind_gains_nothing() -> None:
    names = Names(**{"evil.example": [[LOCAL], ["10.0.0.1"]]})
    async with serving(ok) as served:
        url = served.url(host="evil.example")
        first = await poster(resolver=names).post(url, {"X-Test": "1"}, b"")
        second = await poster(resolver=names).post(url, {"X-Test": "2"}, b"")
    assert (first.status, second.status, second.passing) == (200, None, False)
    assert names.asked == ["evil.example", "evil.example"], "one look for each call"
    assert served.seen == [f"POST evil.example:{served.port} /ci.yml"]


async def test_redirects_are_not_followed() -> None:
    async def moved(request: web.BaseRequest) -> web.Response:
        return web.Response(status=307, headers={"Location": "http://169.254.169.254/"})

    async with serving(moved) as served:
        reply = await poster().post(served.url(), {}, b"")
    assert (reply.status, reply.headers["Location"], len(served.seen)) == (307, "http://169.254.169.254/", 1)


async def test_a_receiver_that_never_answers_is_not_waited_for() -> None:
    never = asyncio.Event()

    async def silent(_request: web.BaseRequest) -> web.Response:
        await never.wait()
        raise AssertionError

    async with serving(silent) as served:
        reply = await Poster(PostLimits(total=0.2), permitted=local_only).post(served.url(), {}, b"")
    assert (reply.status, reply.passing) == (None, True)
    assert "within 0.2 s" in reply.error


async def test_nor_is_one_that_answers_by_drops() -> None:
    async def drops(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b".")
            await asyncio.sleep(0.05)

    async with serving(drops) as served:
        reply = await Poster(PostLimits(total=0.4), permitted=local_only).post(served.url(), {}, b"")
    assert (reply.status, reply.passing) == (None, True)


async def test_only_the_beginning_of_an_answer_is_kept() -> None:
    async def long(_request: web.BaseRequest) -> web.Response:
        return web.Response(body=b"x" * 1_000_000, headers={"X-Long": "y" * 4000})

    async with serving(long) as served:
        reply = await poster().post(served.url(), {}, b"")
    assert (reply.status, len(reply.body), len(reply.headers["X-Long"])) == (200, KEPT_BODY, 1024)


async def test_a_certificate_is_checked_unless_it_is_not_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, client = certificate(tmp_path, "hook.example")
    names = Names(**{"hook.example": [[LOCAL]], "other.example": [[LOCAL]]})
    strict = ssl.create_default_context

    async with serving(ok, tls=server) as served:
        url = f"https://hook.example:{served.port}/"
        distrusted = await poster(resolver=names).post(url, {"X-Test": ""}, b"")
        unchecked = await poster(resolver=names).post(url, {"X-Test": ""}, b"", verify=False)
        monkeypatch.setattr(ssl, "create_default_context", lambda: client)
        trusted = await poster(resolver=names).post(url, {"X-Test": ""}, b"")
        misnamed = await poster(resolver=names).post(url.replace("hook.", "other."), {"X-Test": ""}, b"")
    assert strict is not ssl.create_default_context
    assert (distrusted.status, unchecked.status, trusted.status, misnamed.status) == (None, 200, 200, None)
    assert "certificate" in distrusted.error.lower()


async def test_nobody_there_is_a_failure_that_may_pass() -> None:
    async with serving(ok) as served:
        url = served.url()
    reply = await poster().post(url, {}, b"")
    assert (reply.status, reply.passing, bool(reply.error)) == (None, True, True)
    unknown = await poster(resolver=Names()).post("http://nowhere.example/", {}, b"")
    assert (unknown.status, unknown.passing) == (None, True)


@pytest.mark.parametrize("url", ["", "x", "ftp://a.example/", "http://", "http:///x", "javascript:1", "http://a:0/"])
async def test_what_is_no_address_is_not_posted_to(url: str) -> None:
    assert address_fault(url)
    assert not (await poster().post(url, {}, b"")).passing


def test_a_setting_permits_networks() -> None:
    from ipaddress import ip_address

    permits = public_or_within("10.1.0.0/16, fd00::/8 ,127.0.0.1/32")
    assert all(permits(ip_address(text)) for text in ("10.1.2.3", "::ffff:10.1.2.3", "fd00::1", "127.0.0.1", "1.1.1.1"))
    assert not any(permits(ip_address(text)) for text in ("10.2.0.1", "127.0.0.2", "::1", "169.254.169.254"))
    with pytest.raises(Invalid, match="PERDURE_OUTBOUND_NETWORKS"):
        public_or_within("everything")
