"""New runners and new tokens for them: the token is in the answer only, the database keeps its hash."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from application.services import Services
from auth.routable_token import runner_token
from auth.secret_token import RANDOM_FIRST, digest
from domain.errors import Forbidden
from domain.moments import moment
from domain.pods.token_prefixes import RUNNER, RUNNER_BY_REGISTRATION
from domain.runners.matching import RunnerType
from models.notifications import RUNNERS
from models.repositories import database_time
from models.repositories.runners import runners
from models.repositories.runners.registration_tokens import RunnerScope
from models.rows.runners import RunnerRow
from settings import Settings


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A token of a runner and its end; None for a token that never expires."""

    token: str
    expires_at: datetime | None

    def document(self) -> dict[str, Any]:
        """The fields that runners and GitLab's clients expect."""
        return {"token": self.token, "token_expires_at": moment(self.expires_at)}


async def add_runner(
    services: Services, scope: RunnerScope, columns: dict[str, Any], *, by_registration: bool
) -> tuple[int, IssuedToken]:
    """A new runner of this scope: its id and its token."""
    async with services.database.write() as connection:
        issued = await _issue(connection, services.settings, scope, by_registration)
        runner_id = await runners.create(
            connection,
            digest(issued.token),
            services.clock(),
            runner_type=scope.runner_type,
            organisation_id=scope.organisation_id,
            namespace_id=scope.namespace_id,
            token_expires_at=issued.expires_at,
            by_registration=by_registration,
            token_form=RANDOM_FIRST,
            **columns,
        )
        if scope.project_id is not None:
            await runners.link(connection, runner_id, scope.project_id)
    return runner_id, issued


async def renew_token(services: Services, runner: RunnerRow, shown: str | None = None) -> IssuedToken:
    """A new token for a runner; `shown` is the one with which the runner itself asks. Raises `Forbidden`.

    An administrator's reset ends the old token at once. That of the runner itself does so at the first use of the new
    token, for its answer may be lost, and a runner without any good token has to be registered again by hand.
    """
    scope = RunnerScope(RunnerType(runner.runner_type), runner.organisation_id)
    used = digest(shown) if shown is not None else None
    async with services.database.write() as connection:
        issued = await _issue(connection, services.settings, scope, runner.by_registration)
        new = digest(issued.token)
        if not await runners.rotate_token(connection, runner.id, new, issued.expires_at, used, token_form=RANDOM_FIRST):
            raise Forbidden("Forbidden: this token was replaced a moment ago; use the new one.")
    await services.notifications.tell(RUNNERS)
    return issued


async def _issue(
    connection: AsyncConnection, settings: Settings, scope: RunnerScope, by_registration: bool
) -> IssuedToken:
    prefix = RUNNER_BY_REGISTRATION if by_registration else RUNNER
    token = runner_token(prefix, settings.pod_number, scope.organisation_id or 0, scope.runner_type)
    lifetime = settings.times.runner_token_lifetime
    if not lifetime:
        return IssuedToken(token, None)
    return IssuedToken(token, await database_time.moment(connection) + timedelta(seconds=lifetime))
