"""What `perdure doctor` says of tokens and names that were made by an earlier version."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from auth.secret_token import PAYLOAD_FIRST
from cli.doctor_checks.check import Check, State
from cli.doctor_checks.file_of import file_of
from models.clock import system_clock
from models.migrate import versions
from models.repositories.installation import name_claims, robot_credentials, tokens_without_pod
from models.repositories.runners import runners
from models.session import Database
from settings import Settings

_NAMED: Final = 20
"""How many runners a row names."""
_RESET: Final = (
    "Reset these tokens. GitLab Runner, on its host: `gitlab-runner reset-token --all-runners`; any other: "
    '`curl -X POST -H "PRIVATE-TOKEN: $TOKEN" $URL/api/v4/runners/ID/reset_authentication_token`, and write the '
    "token of the answer into its config.toml"
)


async def _runner_tokens(name: str, connection: AsyncConnection) -> Check:
    """GitLab Runner knows itself by the first characters of its token, which all tokens of the first form share."""
    alike = await runners.with_token_form(connection, PAYLOAD_FIRST)
    if not alike:
        return Check(name, State.OK, "each begins with other characters")
    named = ", ".join(f"{row.id} ({row.description})" if row.description else str(row.id) for row in alike[:_NAMED])
    more = f" and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
    why = "two of them on one host work in the same folders, and when one is found unhealthy the other stops too"
    return Check(name, State.WARN, f"begin alike: those of the runners {named}{more}; {why}", _RESET)


async def _tokens_without_pod(name: str, connection: AsyncConnection) -> Check:
    """They are no fault while there is one pod, so this is never a warning."""
    found = await tokens_without_pod.count(connection, system_clock())
    if not found:
        return Check(name, State.OK, "each names the pod that it is of")
    counts = {
        "access": found.access_tokens,
        "deploy": found.deploy_tokens,
        "trigger": found.trigger_tokens,
        "registration": found.registration_tokens,
    }
    named = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
    return Check(name, State.OK, f"{named} from before tokens named their pod; they open only the first one")


async def _closed(name: str, connection: AsyncConnection) -> Check:
    """An upgrade closed them: they stood in no list of their project or group, and nothing would have ended them."""
    tokens, keys = await robot_credentials.closed(connection)
    if not tokens + keys:
        return Check(name, State.OK, "robots had none but those of their projects and groups")
    said = f"an upgrade closed {tokens} tokens and {keys} SSH keys that robots had beside their own"
    return Check(name, State.OK, f"{said}; what used them needs a token of the project or group")


async def _names(name: str, connection: AsyncConnection) -> Check:
    """Of before the pod had a directory: since then no two pods give one name."""
    found = await name_claims.refused(connection)
    if not found:
        return Check(name, State.OK, "none is that of something in another pod")
    named = ", ".join(row.name for row in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    how = "Remove what has them here, or in the other pod; by the one address they lead there"
    return Check(name, State.WARN, f"something in another pod has these, too: {named}{more}", how)


def _looking(
    name: str, look: Callable[[str, AsyncConnection], Awaitable[Check]]
) -> Callable[[Settings], Awaitable[Check]]:
    async def found(settings: Settings) -> Check:
        file = file_of(settings.database)
        if file is not None and not file.exists():
            return Check(name, State.OK, "there are none yet")
        database = Database(settings.database)
        try:
            there, newest = await versions(database)
            if there != newest:
                return Check(name, State.WARN, "the schema is not the newest", "Bring the schema up first")
            async with database.read() as connection:
                return await look(name, connection)
        finally:
            await database.close()

    return found


CHECKS: Final[Mapping[str, Callable[[Settings], Awaitable[Check]]]] = {
    "runner tokens": _looking("runner tokens", _runner_tokens),
    "token pods": _looking("token pods", _tokens_without_pod),
    "robot tokens": _looking("robot tokens", _closed),
    "names": _looking("names", _names),
}
"""By the name of their row."""
