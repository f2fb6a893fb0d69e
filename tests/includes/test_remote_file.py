"""Fetching over real connections: what comes through, and what is refused."""

import asyncio
import gzip
import zlib
from pathlib import Path

import pytest
from aiohttp import web

from domain.errors import Invalid
from includes.remote_file import RemoteLimits, fetch, shown
from rigs.ports import LOCAL, free_port
from tests.includes.serving import OTHER, Names, Pauses, certificate, local_fetch, local_only, serving

TEXT = "job: {script: make ä}\n"


async def good(_request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(text=TEXT)


async def test_text_with_query_and_host_name() -> None:
    async with serving(good) as server:
        names = Names(**{"files.example": [[LOCAL]]})
        url = server.url("/a%2Fb.yml?ref=x", "files.example")
        assert await local_fetch(url, resolver=names) == TEXT
        assert server.seen == [f"GET files.example:{server.port} /a%2Fb.yml?ref=x"]


async def test_loopback_is_refused_unless_it_is_permitted() -> None:
    async with serving(good) as server:
        for host in (LOCAL, "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "0"):
            with pytest.raises(Invalid, match="not on the public internet"):
                await fetch(server.url(host=host), sleep=Pauses())
        assert server.seen == []


async def test_redirect_to_internal_address_is_refused() -> None:
    async with serving(good, host=OTHER) as internal:

        async def lead_astray(_request: web.BaseRequest) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": internal.url(host=OTHER)})

        async with serving(lead_astray) as server:
            with pytest.raises(Invalid, match="or the one it redirects to, is not on the public internet"):
                await local_fetch(server.url())
        assert internal.seen == []


async def test_name_is_looked_up_once_and_the_connection_goes_where_it_was_checked() -> None:
    async with serving(good) as server:
        names = Names(rebind=[[LOCAL], [OTHER]])
        assert await local_fetch(server.url(host="rebind"), resolver=names) == TEXT
        assert names.asked == ["rebind"]


async def test_name_that_changes_its_mind_between_two_hops_is_refused() -> None:
    async def to_itself(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": "/elsewhere.yml"})

    async with serving(to_itself) as server:
        names = Names(rebind=[[LOCAL], [OTHER]])
        with pytest.raises(Invalid, match="not on the public internet"):
            await local_fetch(server.url(host="rebind"), resolver=names)
        assert names.asked == ["rebind", "rebind"]
        assert len(server.seen) == 1


async def test_five_redirects_are_followed_and_no_sixth() -> None:
    async def count_down(request: web.BaseRequest) -> web.StreamResponse:
        left = int(request.path.strip("/"))
        return web.Response(status=301, headers={"Location": f"{left - 1}"}) if left else web.Response(text=TEXT)

    async with serving(count_down) as server:
        assert await local_fetch(server.url("/5")) == TEXT
        with pytest.raises(Invalid, match="redirects more than 5 times"):
            await local_fetch(server.url("/6"))


@pytest.mark.parametrize("location", ["ftp://host/x", "file:///etc/passwd", "http://[", "http://:0/"])
async def test_redirect_to_no_address(location: str) -> None:
    async def odd(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": location})

    async with serving(odd) as server:
        with pytest.raises(Invalid, match=r"because of (HTTP|a socket) error!"):
            await local_fetch(server.url())


@pytest.mark.parametrize("code", [400, 401, 403, 404, 410, 304])
async def test_codes_that_will_not_change_are_told_at_once(code: int) -> None:
    async def refuse(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=code)

    async with serving(refuse) as server:
        with pytest.raises(Invalid) as caught:
            await local_fetch(server.url())
        gist = f"Remote file `{server.url()}` could not be fetched because of HTTP code `{code}` error! "
        assert str(caught.value).startswith(gist)
        assert len(server.seen) == 1


async def test_failing_server_is_asked_three_times() -> None:
    responses = [500, 503, 200, 502, 502, 502]

    async def flicker(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=responses.pop(0), text=TEXT)

    async with serving(flicker) as server:
        pauses = Pauses()
        assert await local_fetch(server.url(), sleep=pauses) == TEXT
        assert pauses.taken == [0.5, 1.0]
        with pytest.raises(Invalid, match="because of HTTP code `502` error! The server failed 3 times"):
            await local_fetch(server.url())
        assert responses == []


async def test_silent_server_times_out() -> None:
    async def wait(_request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(wait) as server:
        with pytest.raises(Invalid, match="because of a timeout error! The server does not answer"):
            await local_fetch(server.url(), limits=RemoteLimits(idle=0.05))
        assert len(server.seen) == 3


async def test_server_that_drips_runs_into_the_total_limit() -> None:
    async def drip(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"#")
            await asyncio.sleep(0.01)

    async with serving(drip) as server:
        with pytest.raises(Invalid, match="because of a timeout error! No complete answer within 0"):
            await local_fetch(server.url(), limits=RemoteLimits(total=0.2))


async def test_size_is_limited_while_reading() -> None:
    sent = 0

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"#" * 65536)
            sent += 65536

    async with serving(endless) as server:
        with pytest.raises(Invalid, match="because of its size! At most 1,000,000 bytes are read"):
            await local_fetch(server.url(), limits=RemoteLimits(size=1_000_000))
    assert sent < 50_000_000


async def test_exactly_the_limit_is_permitted_packed_and_plain() -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/packed":
            return web.Response(body=gzip.compress(b"#" * 5000), headers={"Content-Encoding": "gzip"})
        return web.Response(body=b"#" * 5000)

    async with serving(answer) as server:
        for path in ("/packed", "/plain"):
            assert await local_fetch(server.url(path), limits=RemoteLimits(size=5000)) == "#" * 5000
            with pytest.raises(Invalid, match="because of its size"):
                await local_fetch(server.url(path), limits=RemoteLimits(size=4999))


async def test_bomb_is_cut_while_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(200_000_000), 9)

    async def blow(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=bomb, headers={"Content-Encoding": "gzip"})

    async with serving(blow) as server:
        with pytest.raises(Invalid, match="because of its size! At most 2,097,152 bytes are read"):
            await local_fetch(server.url())


PACKED = {
    "zlib": ("deflate", zlib.compress(TEXT.encode()), TEXT),
    "cut": ("gzip", gzip.compress(TEXT.encode())[:-9], "is cut"),
    "no gzip": ("gzip", b"plain text", "cannot be unpacked"),
    "unknown": ("br", b"whatever", "packs it in a way that was not asked for"),
}


@pytest.mark.parametrize("case", PACKED)
async def test_packed_answers(case: str) -> None:
    encoding, body, expected = PACKED[case]

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.headers["Accept-Encoding"] == "gzip"
        return web.Response(body=body, headers={"Content-Encoding": encoding})

    async with serving(answer) as server:
        if expected == TEXT:
            assert await local_fetch(server.url()) == TEXT
        else:
            with pytest.raises(Invalid, match=expected):
                await local_fetch(server.url())


async def test_content_must_be_utf_8() -> None:
    async def latin(_request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=b"job: \xe4")

    async with serving(latin) as server:
        with pytest.raises(Invalid, match=r"is not UTF-8 text \(byte 5\)"):
            await local_fetch(server.url())


async def test_nobody_listens_and_unknown_name() -> None:
    with pytest.raises(Invalid, match="because of a socket error! The server cannot be reached"):
        await local_fetch(f"http://{LOCAL}:{free_port()}/x.yml")
    with pytest.raises(Invalid, match="because of a socket error! The name of its server has no address"):
        await local_fetch("http://nowhere.example/x.yml", resolver=Names())


async def test_second_address_is_tried_when_the_first_is_dead() -> None:
    async with serving(good) as server:
        names = Names(twin=[[OTHER, LOCAL]])
        text = await local_fetch(server.url(host="twin"), resolver=names, permitted=lambda address: True)
        assert text == TEXT


async def test_answer_that_is_no_http() -> None:
    async def babble(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    listener = await asyncio.start_server(babble, LOCAL, 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        with pytest.raises(Invalid, match=r"because of (HTTP|a socket) error!"):
            await local_fetch(f"http://{LOCAL}:{port}/x.yml")


async def test_tls_is_verified_against_the_name(tmp_path: Path) -> None:
    server_side, client_side = certificate(tmp_path, "files.example")
    async with serving(good, tls=server_side) as server:
        names = Names(**{"files.example": [[LOCAL]], "other.example": [[LOCAL]]})
        address = server.url(host="files.example").replace("http:", "https:")
        assert await local_fetch(address, resolver=names, tls=client_side) == TEXT
        for url, trust in ((address.replace("files", "other"), client_side), (address, None)):
            with pytest.raises(Invalid, match="certificate of the server is not valid for its name"):
                await local_fetch(url, resolver=names, tls=trust)


async def test_redirect_from_https_to_http_is_refused(tmp_path: Path) -> None:
    server_side, client_side = certificate(tmp_path, "files.example")
    async with serving(good) as plain:

        async def downgrade(_request: web.BaseRequest) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": plain.url()})

        async with serving(downgrade, tls=server_side) as server:
            url = server.url(host="files.example").replace("http:", "https:")
            with pytest.raises(Invalid, match="redirects from https to http"):
                await local_fetch(url, resolver=Names(**{"files.example": [[LOCAL]]}), tls=client_side)
        assert plain.seen == []


async def test_credentials_are_sent_to_their_server_only_and_never_shown() -> None:
    heard: list[str] = []

    async def ask(request: web.BaseRequest) -> web.StreamResponse:
        heard.append(request.headers.get("Authorization", ""))
        if request.path == "/first":
            return web.Response(status=302, headers={"Location": f"http://other:{request.url.port}/second"})
        return web.Response(status=404)

    async with serving(ask) as server:
        url = server.url("/first?private_token=tok123&ref=main").replace("//", "//ada:pa%40ss@")
        with pytest.raises(Invalid) as caught:
            await local_fetch(url, resolver=Names(other=[[LOCAL]]))
    assert heard == ["Basic YWRhOnBhQHNz", ""]
    assert f"`http://{LOCAL}:{server.port}/first?private_token=[MASKED]&ref=main`" in str(caught.value)
    assert "pa%40ss" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "not-valid://host/x.yml",
        "ftp://host/x.yml",
        "file:///etc/passwd",
        "http://",
        "http:///x.yml",
        "https://[::1/x.yml",
        "https://host:99999/x.yml",
        "https://host:0/x.yml",
        "https://ho\nst/x.yml",
        "//host/x.yml",
        "x.yml",
        "",
        f"https://host/{'x' * 3000}.yml",
    ],
)
async def test_address_that_is_none(url: str) -> None:
    with pytest.raises(Invalid, match="does not have a valid address! Give one as `https://host/path`"):
        await fetch(url)


def test_messages_hold_no_secrets() -> None:
    assert shown("https://u:p@host/x?a=1#u@v") == "https://host/x?a=1#u@v"
    assert shown("https://host/x?X-Amz-Signature=abc&JOB_TOKEN=def&n=1") == (
        "https://host/x?X-Amz-Signature=[MASKED]&JOB_TOKEN=[MASKED]&n=1"
    )
    long = shown(f"https://u:p@host/x?token={'t' * 5000}")
    assert long == "https://host/x..."


async def test_a_test_permission_permits_nothing_else() -> None:
    async with serving(good, host=OTHER) as server:
        with pytest.raises(Invalid, match="not on the public internet"):
            await fetch(server.url(host=OTHER), permitted=local_only)
        assert server.seen == []
