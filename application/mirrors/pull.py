"""One pull of a mirror: fetch, note what is about to move, move it, make the pipelines."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote, urlsplit

from application.access import access_to, caller_from
from application.pushes.push import move_and_note
from application.services import Services
from auth.permissions import Action
from domain.errors import FieldsInvalid, Forbidden, Invalid
from git.transport.mirroring import Remote, fetch, follow, wanted_updates
from git.transport.push import RefUpdate
from models.repositories.accounts import accounts
from models.repositories.projects import mirrors
from models.rows.mirrors import MirrorRow
from outbound.addresses import Permission, look_up, permitted_addresses

PORTS: Final = {"http": 80, "https": 443}
MAX_URL: Final = 2048
_HOST: Final = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
"""What everybody reads alike; other names would be written in their ASCII form (`xn--`)."""
NO_PIPELINES: Final = ("ci.no_pipeline",)


def checked_url(url: str) -> tuple[str, str]:
    """An address without its credentials, and those as `user:password`. Raises `Invalid`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise FieldsInvalid(url="is invalid: it is no address.") from error
    secret = unquote(parts.netloc.rpartition("@")[0])
    odd = any(not sign.isprintable() or sign.isspace() for sign in url + secret) or len(url) > MAX_URL
    if parts.scheme not in PORTS or not _HOST.fullmatch(parts.hostname or "") or odd or parts.query or parts.fragment:
        raise FieldsInvalid(url="is invalid: only http and https are followed, as in https://host/group/project.git.")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return parts._replace(netloc=host if port is None else f"{host}:{port}").geturl(), secret


async def remote_of(services: Services, row: MirrorRow, permitted: Permission) -> Remote:
    """Where a mirror fetches from; its name is looked up now. Raises `Invalid` for what leads inside."""
    parts = urlsplit(row.url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    try:
        found = await permitted_addresses(host, port, look_up, permitted)
    except (OSError, ValueError) as error:
        raise Invalid(f"The name {host} has no address; check the url of the mirror.") from error
    if not found:
        raise Invalid(f"{host} is not on the public internet; a mirror may not lead into the network of the server.")
    secret = services.sealer.open(row.credentials, mirrors.purpose(row.project_id)) if row.credentials else ""
    return Remote(row.url, [str(address) for address in found], secret)


async def pull(services: Services, row: MirrorRow, permitted: Permission) -> int:
    """Bring our branches and tags to where those of the remote are; how many moved.

    Who set the mirror up must still be allowed to. What moves is written down before git moves it, as with a push: a
    process that dies in between leaves a note, and whoever finds it makes the pipelines, once.
    Raises `Invalid`, `Forbidden`, `Refused`, `NotFound`, `Unavailable`.
    """
    async with services.database.read() as connection:
        user = await accounts.get(connection, row.user_id)
    if user.state != accounts.ACTIVE:
        raise Forbidden(f"{user.username}, who set up the mirror, is blocked; somebody else has to set it up.")
    access = await access_to(services, caller_from(user), row.project_id)
    access.require(Action.ADMINISTER)
    access.require(Action.PUSH)
    repository = await services.repositories.create(row.project_id, access.row.default_branch)
    await fetch(repository, await remote_of(services, row, permitted))
    updates = await wanted_updates(repository, access.row.default_branch)
    if not updates:
        await follow(repository, ())
        return 0
    options = () if row.trigger_builds else NO_PIPELINES

    async def moving() -> Sequence[RefUpdate]:
        await follow(repository, updates)
        return updates

    await move_and_note(services, access, repository, updates, options, moving)
    return len(updates)
