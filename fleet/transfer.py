"""Files to and from the server, streamed, whatever their size.

Source: docs/reference/runner-protocol.md, "Artifacts and cache".
"""

from collections.abc import Callable
from typing import BinaryIO, TypeAlias
from urllib.parse import urljoin, urlsplit

import aiohttp

from domain.errors import Forbidden, Invalid, NotFound, TooLarge
from fleet.transport import TRANSFER_TIMEOUT, Reply, Transport, read_reply

CHUNK = 256 * 1024
"""Bytes read from the network at once."""
MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})

Opener: TypeAlias = Callable[[], BinaryIO]
"""Opens a file anew, at its beginning; one to write is emptied."""

UPLOAD_ERRORS = {
    403: (Forbidden, "the server does not permit it; the job may have ended"),
    413: (TooLarge, "the server says that the file is too large"),
}
DOWNLOAD_ERRORS = {
    401: (Forbidden, "the server does not permit it"),
    403: (Forbidden, "the server does not permit it"),
    404: (NotFound, "the archive does not exist; it may have expired"),
}


async def upload_file(
    transport: Transport,
    url: str,
    query: dict[str, str],
    token: str,
    file: Opener,
    filename: str,
    give_up_after: float | None,
) -> None:
    """POST `file` as the one multipart part `file`; anything but 201 raises."""

    async def exchange(session: aiohttp.ClientSession, headers: dict[str, str]) -> Reply:
        with file() as content:
            form = aiohttp.FormData(quote_fields=False)
            form.add_field("file", content, filename=filename, content_type="application/octet-stream")
            async with session.post(
                url, params=query, data=form, headers=headers, timeout=TRANSFER_TIMEOUT, allow_redirects=False
            ) as response:
                return await read_reply(response)

    reply = await transport.call(f"upload {filename}", exchange, {"JOB-TOKEN": token}, give_up_after)
    if reply.status != 201:
        error, reason = UPLOAD_ERRORS.get(reply.status, (Invalid, "the server refuses it"))
        raise error(f"upload of {filename} failed with status {reply.status}: {reason}{_said(reply)}")


async def download_archive(
    transport: Transport, url: str, token: str, target: Opener, give_up_after: float | None
) -> None:
    """GET an archive into `target`; a download that broke off starts again from its beginning."""

    async def exchange(session: aiohttp.ClientSession, headers: dict[str, str]) -> Reply:
        address = url + "?direct_download=true"
        for _ in range(MAX_REDIRECTS):
            # The job token is for the server alone: a redirect to an object store elsewhere must not see it.
            sent = headers if _origin(address) == _origin(url) else {}
            async with session.get(address, headers=sent, timeout=TRANSFER_TIMEOUT, allow_redirects=False) as response:
                location = response.headers.get("Location", "")
                if response.status in REDIRECTS and location:
                    address = urljoin(address, location)
                    continue
                if response.status != 200:
                    return await read_reply(response)
                await _save(response, target)
                return Reply(200, response.headers, b"")
        raise Invalid(f"download from {url} failed: more than {MAX_REDIRECTS} redirects")

    reply = await transport.call("download artifacts", exchange, {"JOB-TOKEN": token}, give_up_after)
    if reply.status != 200:
        error, reason = DOWNLOAD_ERRORS.get(reply.status, (Invalid, "the server refuses it"))
        raise error(f"download failed with status {reply.status}: {reason}{_said(reply)}")


async def _save(response: aiohttp.ClientResponse, file: Opener) -> None:
    with file() as out:
        async for chunk in response.content.iter_chunked(CHUNK):
            out.write(chunk)


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _said(reply: Reply) -> str:
    """The server's own words, shortened to one line for the job's log."""
    text = " ".join(reply.body[:300].decode("utf-8", "replace").split())
    return f" ({text})" if text else ""
