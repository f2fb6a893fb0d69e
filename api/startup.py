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
from application.installation.identity import begin, identity_given
from application.jobs.log_indexes import LogIndexes
from application.limits.actions import ActionLimits
from application.moves.away import Leaving
from application.pods.cluster import join
from application.texts.renderings import Renderings
from auth.encryption import Sealer, open_sealer
from auth.job_token import JobTokens
from auth.key_ring import Purpose, open_ring
from auth.oidc.provider import CALLBACK, Provider
from auth.queue_ticket import QueueTickets
from auth.routable_token import personal_token, registration_token
from auth.secret_token import digest
from domain.errors import Invalid
from domain.pods.routable_token import read_route
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
from settings import Settings, host_in_url
from storage.objects import ObjectStore

CREDENTIALS = "credentials.json"
ROOT: Final = "root"
_CHECK: Final = "installation"
_PASSWORD_BYTES: Final = 18


async def open_services(settings: Settings, clock: Clock) -> Services:
    """Everything that routes and loops need; the database has the newest schema afterwards."""
    settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    refuse_half_restored(settings.home)
    database = Database(settings.database, longest_read=settings.times.longest_read)
    await migrate(database)
    settings = await begin(settings, database, clock())
    async with database.read() as connection:
        mine = await installations.find(connection)
    assert mine is not None  # it has begun
    _refuse_others_directory(settings, mine)
    key = open_ring(settings, Purpose.SIGNING)
    notifications = Notifications() if database.is_sqlite else PostgresNotifications(settings.database)
    await notifications.start()
    settings.repository_root.mkdir(parents=True, exist_ok=True)
    identity_keys = open_ring(settings, Purpose.IDENTITY)
    cluster = await join(settings, key, identity_keys) if settings.api_role != "worker" else None
    runners = KnownRunners(database, notifications)
    metrics = ServerMetrics(settings.api_role, settings.pod)
    store = ObjectStore.open(settings.store, watch=metrics)
    compilers = compiler_pool()
    services = Services(
        settings=settings,
        database=database,
        store=store,
        repositories=Repositories(settings.repository_root),
        notifications=notifications,
        clock=clock,
        key=key,
        sealer=open_sealer(settings),
        identity_keys=identity_keys,
        job_tokens=JobTokens(key),
        compilers=compilers,
        renderings=Renderings(database, compilers),
        runners=runners,
        contacts=Contacts(database),
        polls=WaitingPolls(database, notifications, runners, settings.times.queue_rescan),
        tickets=QueueTickets(key, settings.pod_number),
        refusals=Refusals(settings.refusals),
        limits=ActionLimits(settings.rates, clock),
        mine=mine,
        cluster=cluster,
        leaving=Leaving(database, clock) if cluster is not None else None,
        claims=AskedTogether(hand_out_jobs, MAX_BATCH),
        calls=HeldCalls(database),
        trace_writer=TraceWriter(database),
        log_reads=LogReads(database),
        log_indexes=LogIndexes(database, store),
        metrics=metrics,
        oidc=Provider(settings.oidc, f"{settings.url}{CALLBACK}") if settings.oidc.issuer else None,
    )
    if settings.api_role != "worker":
        services.polls.start()
        await _first_start(services)
        _keep_address(settings, mine)
    return services


async def close_services(services: Services) -> None:
    """Let everything go."""
    if services.cluster is not None:
        await services.cluster.close()
    await services.polls.close()
    await services.contacts.close()
    await services.notifications.stop()
    await services.renderings.close()
    services.compilers.shutdown(wait=False, cancel_futures=True)
    await services.database.close()


async def _first_start(services: Services) -> None:
    """Make installation, administrator and registration token; a start that was killed in between is finished."""
    settings, now = services.settings, services.clock()
    async with services.database.write() as connection:
        mine = await installations.ensure(connection, identity_given(settings), now)
        await _check_sealer(connection, services.sealer, mine)
        name = first_administrator(settings)
        for known_name in {name, ROOT}:
            if await accounts.by_username(connection, known_name) is not None:
                return
        known = _credentials(settings)
        person = (name, "Administrator", f"{name}@{settings.url_host}")
        password = known.get("password", "")  # a file that an older version wrote has none
        password_hash = services.passwords.hashed_lightly(password) if password else ""
        user_id = await accounts.create_user(connection, *person, now, is_admin=True, password_hash=password_hash)
        token, registration = known["token"], known["registration_token"]
        names_pod = read_route(token) is not None  # in that file it does not
        await accounts.add_token(connection, user_id, "first start", digest(token), now, names_pod=names_pod)
        await registration_tokens.replace(connection, RunnerScope(), digest(registration), names_pod=names_pod)


def first_administrator(settings: Settings) -> str:
    """How the first person of a pod is called; nobody in another pod is called so."""
    return f"{ROOT}-{settings.pod}" if settings.pod_number else ROOT


async def _check_sealer(connection: AsyncConnection, sealer: Sealer, installation: InstallationRow) -> None:
    """Refuse to start with a key that does not open the secrets of this database. Raises `Invalid`."""
    if installation.sealed_check:
        sealer.open(installation.sealed_check, _CHECK)
    else:
        await installations.keep_check(connection, sealer.seal("right", _CHECK))


def _refuse_others_directory(settings: Settings, mine: InstallationRow) -> None:
    """Raise `Invalid` where a copy would show itself to the cluster of what it was made of, with the same keys."""
    own = f"http://{host_in_url(settings.directory.host)}:{settings.directory.port}"
    if mine.is_copy and settings.directory.url and settings.directory_url != own:
        raise Invalid(
            f"This is a copy of installation {mine.restored_from}, and PERDURE_DIRECTORY_URL names the directory of "
            "its pods, to which it would show itself as that pod. Unset it, or let the copy take the place of a pod "
            "that is gone: `perdure promote`."
        )


def _keep_address(settings: Settings, mine: InstallationRow) -> None:
    """Let the file of the first administrator say where this installation is now; one that was removed stays away."""
    path, says = settings.home / CREDENTIALS, {"url": settings.url, "installation_id": mine.installation_id}
    if path.exists() and (known := _credentials(settings)) | says != known:
        durable.replace(path, orjson.dumps(known | says, option=orjson.OPT_INDENT_2))


def _credentials(settings: Settings) -> dict[str, Any]:
    """The administrator's secrets, in a file that only we can read; written before the database knows their hashes."""
    path = settings.home / CREDENTIALS
    if path.exists():
        known: dict[str, Any] = orjson.loads(path.read_bytes())
        return known
    fresh = {
        "url": settings.url,
        "username": first_administrator(settings),
        "password": secrets.token_urlsafe(_PASSWORD_BYTES),
        "token": personal_token(settings.pod_number),
        "registration_token": registration_token(settings.pod_number),
    }
    durable.replace(path, orjson.dumps(fresh, option=orjson.OPT_INDENT_2))
    return fresh
