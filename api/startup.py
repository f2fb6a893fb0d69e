"""Opening and closing the services of a process, and what happens once: keys, first user, first tokens."""

import secrets
from typing import Any, Final

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from api.refusals import Refusals
from api.runner.batched_claims import MAX_BATCH, hand_out_jobs
from api.runner.batching import AskedTogether
from api.runner.contacts import Contacts
from api.runner.held_calls import HeldCalls
from api.runner.known_runners import KnownRunners
from api.runner.trace_writer import TraceWriter
from api.runner.waiting_polls import WaitingPolls
from api.services import Services
from api.v4.jobs.log_reads import LogReads
from application.configurations.compiler_pool import compiler_pool
from application.limits.actions import ActionLimits
from auth.encryption import Sealer, open_sealer
from auth.job_token import JobTokens
from auth.key_ring import Purpose, open_ring
from auth.oidc.provider import CALLBACK, Provider
from auth.queue_ticket import QueueTickets
from auth.secret_token import PERSONAL, REGISTRATION, digest, plain_token
from files import durable
from git.repository import Repositories
from metrics.server_metrics import ServerMetrics
from models.clock import Clock
from models.migrate import migrate
from models.notifications import Notifications, PostgresNotifications
from models.repositories.accounts import accounts
from models.repositories.installation import installations
from models.repositories.runners import registration_tokens
from models.repositories.runners.registration_tokens import RunnerScope
from models.rows.installation import InstallationRow
from models.session import Database
from pods.restore_marker import refuse_half_restored
from settings import Settings
from storage.objects import ObjectStore

CREDENTIALS = "credentials.json"
_CHECK: Final = "installation"
_PASSWORD_BYTES: Final = 18


async def open_services(settings: Settings, clock: Clock) -> Services:
    """Everything that routes and loops need; the database has the newest schema afterwards."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    refuse_half_restored(settings.home)
    database = Database(settings.database)
    await migrate(database)
    key = open_ring(settings, Purpose.SIGNING)
    notifications = Notifications() if database.is_sqlite else PostgresNotifications(settings.database)
    await notifications.start()
    settings.repository_root.mkdir(parents=True, exist_ok=True)
    runners = KnownRunners(database, notifications)
    metrics = ServerMetrics(settings.api_role)
    services = Services(
        settings=settings,
        database=database,
        store=ObjectStore.open(settings.store, watch=metrics),
        repositories=Repositories(settings.repository_root),
        notifications=notifications,
        clock=clock,
        key=key,
        sealer=open_sealer(settings),
        identity_keys=open_ring(settings, Purpose.IDENTITY),
        job_tokens=JobTokens(key),
        compilers=compiler_pool(),
        runners=runners,
        contacts=Contacts(database),
        polls=WaitingPolls(database, notifications, runners, settings.times.queue_rescan),
        tickets=QueueTickets(key, settings.pod_number),
        refusals=Refusals(settings.refusals),
        limits=ActionLimits(settings.rates, clock),
        claims=AskedTogether(hand_out_jobs, MAX_BATCH),
        calls=HeldCalls(database),
        trace_writer=TraceWriter(database),
        log_reads=LogReads(database),
        metrics=metrics,
        oidc=Provider(settings.oidc, f"{settings.url}{CALLBACK}") if settings.oidc.issuer else None,
    )
    if settings.api_role != "worker":
        services.polls.start()
        await _first_start(services)
    return services


async def close_services(services: Services) -> None:
    """Let everything go."""
    await services.polls.close()
    await services.contacts.close()
    await services.notifications.stop()
    services.compilers.shutdown(wait=False, cancel_futures=True)
    await services.database.close()


async def _first_start(services: Services) -> None:
    """Make installation, administrator and registration token; a start that was killed in between is finished."""
    settings, now = services.settings, services.clock()
    async with services.database.write() as connection:
        mine = await installations.ensure(connection, settings.pod, settings.pod_number, now)
        await _check_sealer(connection, services.sealer, mine)
        if await accounts.by_username(connection, "root") is not None:
            return
        known = _credentials(settings)
        person = ("root", "Administrator", f"root@{settings.url_host}")
        password = known.get("password", "")  # a file that an older version wrote has none
        password_hash = services.passwords.hashed_lightly(password) if password else ""
        user_id = await accounts.create_user(connection, *person, now, is_admin=True, password_hash=password_hash)
        await accounts.add_token(connection, user_id, "first start", digest(known["token"]), now, scopes=("api",))
        await registration_tokens.replace(connection, RunnerScope(), digest(known["registration_token"]))


async def _check_sealer(connection: AsyncConnection, sealer: Sealer, installation: InstallationRow) -> None:
    """Refuse to start with a key that does not open the secrets of this database. Raises `Invalid`."""
    if installation.sealed_check:
        sealer.open(installation.sealed_check, _CHECK)
    else:
        await installations.keep_check(connection, sealer.seal("right", _CHECK))


def _credentials(settings: Settings) -> dict[str, Any]:
    """The administrator's secrets, in a file that only we can read; written before the database knows their hashes."""
    path = settings.home / CREDENTIALS
    if path.exists():
        known: dict[str, Any] = orjson.loads(path.read_bytes())
        return known
    fresh = {
        "url": settings.url,
        "username": "root",
        "password": secrets.token_urlsafe(_PASSWORD_BYTES),
        "token": plain_token(PERSONAL),
        "registration_token": plain_token(REGISTRATION),
    }
    durable.replace(path, orjson.dumps(fresh, option=orjson.OPT_INDENT_2))
    return fresh
