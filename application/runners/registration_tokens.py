"""New registration tokens, for whoever may reset them."""

from application.runners.tokens import IssuedToken
from application.services import Services
from auth.routable_token import registration_token
from auth.secret_token import digest
from models.repositories.runners import registration_tokens
from models.repositories.runners.registration_tokens import RunnerScope


async def renewed(services: Services, scope: RunnerScope) -> IssuedToken:
    """The new token of a scope, shown only in this answer; the one before is worth nothing from now on."""
    token = registration_token(services.settings.pod_number, scope.organisation_id or 0)
    async with services.database.write() as connection:
        await registration_tokens.replace(connection, scope, digest(token))
    return IssuedToken(token, None)
