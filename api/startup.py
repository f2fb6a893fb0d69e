"""Opening and closing the services of a process, and what happens once: keys, first user, first tokens."""

import os
from pathlib import Path
from typing import Any

import orjson

from api.compiling import compiler_pool
from api.services import Services
from auth.job_token import JobTokens
from auth.keys import SigningKey
from auth.secret_token import PERSONAL, REGISTRATION, digest, plain_token
from git.repository import Repositories
from models.clock import Clock
from models.migrate import migrate
from models.notifications import Notifications, PostgresNotifications
from models.repositories import accounts, installations
from models.session import Database
from settings import Settings
from storage.objects import ObjectStore

CREDENTIALS = "credentials.json"


async def open_services(settings: Settings, clock: Clock) -> Services:
    """Everything that routes and loops need; the database has the newest schema afterwards."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    database = Database(settings.database)
    await migrate(database)
    key = signing_key(settings)
    notifications = Notifications() if database.is_sqlite else PostgresNotifications(settings.database)
    await notifications.start()
    settings.repository_root.mkdir(parents=True, exist_ok=True)
    services = Services(
        settings=settings,
        database=database,
        store=ObjectStore.open(settings.store),
        repositories=Repositories(settings.repository_root),
        notifications=notifications,
        clock=clock,
        key=key,
        job_tokens=JobTokens(key, settings.pod),
        compilers=compiler_pool(),
    )
    if settings.api_role != "worker":
        await _first_start(services)
    return services


async def close_services(services: Services) -> None:
    """Let everything go."""
    await services.notifications.stop()
    services.compilers.shutdown(wait=False, cancel_futures=True)
    await services.database.close()


def signing_key(settings: Settings) -> SigningKey:
    """The pod's key: handed in, or kept in `home/keys`."""
    if settings.signing_key:
        return SigningKey.from_pem(settings.signing_key)
    return SigningKey.from_file(settings.home / "keys" / "signing.pem")


async def _first_start(services: Services) -> None:
    """Make installation, administrator and registration token; a start that was killed in between is finished."""
    settings, now = services.settings, services.clock()
    async with services.database.write() as connection:
        await installations.ensure(connection, settings.pod, settings.pod_number, now)
        if await accounts.by_username(connection, "root") is not None:
            return
        secrets = _credentials(settings)
        user_id = await accounts.create_user(
            connection, "root", "Administrator", f"root@{settings.url_host}", now, is_admin=True
        )
        await accounts.add_token(connection, user_id, "first start", digest(secrets["token"]), now)
        await installations.set_registration_token(connection, digest(secrets["registration_token"]))


def _credentials(settings: Settings) -> dict[str, Any]:
    """The administrator's secrets, in a file that only we can read; written before the database knows their hashes."""
    path = settings.home / CREDENTIALS
    if path.exists():
        known: dict[str, Any] = orjson.loads(path.read_bytes())
        return known
    fresh = {
        "url": settings.url,
        "username": "root",
        "token": plain_token(PERSONAL),
        "registration_token": plain_token(REGISTRATION),
    }
    _write_private(path, orjson.dumps(fresh, option=orjson.OPT_INDENT_2))
    return fresh


def _write_private(path: Path, content: bytes) -> None:
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    draft.rename(path)
