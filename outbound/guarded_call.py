"""One HTTP call to an address that a user named, so that nobody can use it to look into the server's network.

The name is looked up once for each call, every address it leads to is checked, and the connection goes to exactly such
an address: a name that changes its mind in between gains nothing. Redirects are the caller's business.
"""

from collections.abc import Mapping
from typing import Final

import httpx

from outbound.addresses import Permission, Resolver, permitted_addresses

USUAL_PORTS: Final = {"http": 80, "https": 443}
"""Schemes that are called, and their usual ports."""


class Blocked(Exception):
    """The host, or one of its addresses, must not be called."""


class Unresolved(Exception):
    """The name of the host has no address."""


async def open_call(
    client: httpx.AsyncClient,
    method: str,
    target: httpx.URL,
    *,
    headers: Mapping[str, str],
    resolver: Resolver,
    permitted: Permission,
    content: bytes | None = None,
    auth: httpx.BasicAuth | None = None,
) -> httpx.Response:
    """Send a request; the response's body is not read yet, and the caller closes it.

    `target` is an address of HTTP with a host; user and password in it are left out. Raises `Blocked`, `Unresolved`,
    `httpx.TransportError`.
    """
    host = target.raw_host.decode("ascii")
    port = target.port or USUAL_PORTS[target.scheme]
    try:
        addresses = await permitted_addresses(host, port, resolver, permitted)
    except (OSError, ValueError) as error:
        raise Unresolved(f"{host} has no address.") from error
    if not addresses:
        raise Blocked(f"{host} is not on the public internet.")
    unreachable: httpx.TransportError | None = None
    for address in addresses:
        request = client.build_request(
            method,
            target.copy_with(host=str(address), userinfo=b"", fragment=None),
            headers={**headers, "Host": target.netloc.decode("ascii")},
            content=content,
            extensions={"sni_hostname": host},
        )
        try:
            return await client.send(request, stream=True, auth=auth, follow_redirects=False)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            unreachable = error
    assert unreachable is not None
    raise unreachable
