"""Requests that are none, or two in one: either front says 400 or 431, and the API hears nothing of what was hidden."""

import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from aiohttp import web

from tests.security.fronts import FRONTS, answer_to

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST /open HTTP/1.1\r\nHost: h\r\n"

SMUGGLING = {
    "length and chunks": POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + HIDDEN,
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: 34\r\n\r\n" + HIDDEN,
    "a list of lengths": POST + b"Content-Length: 0, 34\r\n\r\n" + HIDDEN,
    "a signed length": POST + b"Content-Length: +0\r\n\r\n" + HIDDEN,
    "a negative length": POST + b"Content-Length: -1\r\n\r\n" + HIDDEN,
    "a length in hex": POST + b"Content-Length: 0x0\r\n\r\n" + HIDDEN,
    "a length with an underscore": POST + b"Content-Length: 3_4\r\n\r\n" + HIDDEN,
    "a huge length": POST + b"Content-Length: 18446744073709551616\r\n\r\n" + HIDDEN,
    "an unknown encoding": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks not last": POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + HIDDEN,
    "a tab for a space": POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "a space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "a folded header": POST + b"X: 1\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "a NUL": POST + b"X: a\0b\r\nContent-Length: 0\r\n\r\n" + HIDDEN,
    "a bare CR": POST + b"X: a\rContent-Length: 34\r\n\r\n" + HIDDEN,
    "a chunk of unknown size": POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n" + HIDDEN,
    "a chunk of negative size": POST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + HIDDEN,
    "a chunk beyond 64 bits": POST + b"Transfer-Encoding: chunked\r\n\r\n1ffffffffffffffff\r\n" + HIDDEN,
}
GARBAGE = {
    "zeros": b"\0" * 4096,
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x42" * 500,
    "a header without a colon": b"GET /open HTTP/1.1\r\nHost h\r\n\r\n",
    "a strange method": b"G\xc3\x84T /open HTTP/1.1\r\nHost: h\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}
STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3}) ", re.MULTILINE)
MANY = b"".join(b"X-%d: 1\r\n" % number for number in range(10_000))
LARGE = {
    "one large header": b"GET /open HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
    "ten thousand headers": b"GET /open HTTP/1.1\r\nHost: h\r\n" + MANY + b"\r\n",
    "a header without end": b"GET /open HTTP/1.1\r\nHost: h\r\n" + MANY,
}


def status_of(response: bytes) -> int:
    """The status of the first response; 0 if there is none."""
    found = STATUS.match(response)
    return int(found[1]) if found else 0


@pytest.fixture
def heard() -> list[str]:
    """The paths of which the API heard."""
    return []


@pytest.fixture(params=FRONTS)
async def port(request: pytest.FixtureRequest, tmp_path: Path, heard: list[str]) -> AsyncIterator[int]:
    async def note(asked: web.BaseRequest) -> web.StreamResponse:
        heard.append(asked.path)
        await asked.read()
        return web.Response(text="ok")

    front: AbstractAsyncContextManager[int] = FRONTS[request.param](tmp_path, note)
    async with front as found:
        yield found


@pytest.mark.parametrize("name", SMUGGLING)
async def test_two_requests_in_one_are_refused(port: int, heard: list[str], name: str) -> None:
    response = await answer_to(port, SMUGGLING[name])
    assert status_of(response) in {400, 413, 501}, response
    assert len(STATUS.findall(response)) == 1
    assert "/hidden" not in heard


@pytest.mark.parametrize("name", GARBAGE)
async def test_garbage_is_refused(port: int, heard: list[str], name: str) -> None:
    response = await answer_to(port, GARBAGE[name])
    assert status_of(response) in {0, 400, 505}, response
    assert heard == []


@pytest.mark.parametrize("name", LARGE)
async def test_a_header_too_large_is_431(port: int, heard: list[str], name: str) -> None:
    response = await answer_to(port, LARGE[name])
    assert status_of(response) == 431, response
    assert heard == []


async def test_garbage_behind_a_request_ends_the_connection(port: int, heard: list[str]) -> None:
    response = await answer_to(port, b"GET /open HTTP/1.1\r\nHost: h\r\n\r\n" + b"\0garbage\r\n\r\n" * 100)
    assert status_of(response) in {200, 400}
    assert heard in ([], ["/open"])
