"""Making, changing, blocking people: for administrators, with GitLab's parameters and answers."""

from typing import Annotated, Any, Final

from fastapi import Depends
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, KnownCallerDep
from api.v4.accounts.users import accounts_of
from api.v4.names import TopPathName
from api.v4.parameters import Optionals, given
from api.v4.representation.people import AccountResponse, account
from api.v4.without_effect import USER
from application.audit import record
from application.pods import names
from application.pods.visitors import require_own
from auth.passwords import fault_of
from auth.permissions import Caller, require_admin
from domain.errors import FieldsInvalid, Forbidden, PathTaken, Refused
from domain.pods.visits import BLOCKED_AT_HOME
from models.notifications import RUNNERS
from models.repositories.accounts import accounts, sessions, visits
from models.repositories.installation.audit import Entity, Happened
from models.repositories.namespaces import namespaces
from models.rows.accounts import UserRow

_TAKEN: Final = "Username has already been taken"
_EMAIL = r"^[^@\s]+@[^@\s]+$"

_OF_HOME: Final = {
    "name": "change the name",
    "email": "change the e-mail address",
    "password_hash": "set the password",
}
"""What of a visitor is their home pod's."""

router = RouteList()


class UserChanges(Optionals):
    """Parameters of `PUT /users/:id`; what is not given stays."""

    username: str | None = None
    name: str | None = Field(default=None, min_length=1, max_length=255)
    email: str | None = Field(default=None, pattern=_EMAIL, max_length=255)
    admin: bool | None = None
    external: bool | None = None
    can_create_group: bool | None = None
    projects_limit: int | None = Field(default=None, ge=0, le=2**31 - 1)
    password: str | None = None

    async def values(self, services: Services) -> dict[str, Any]:
        """The columns to write. Raises `FieldsInvalid` for a password that can be none."""
        given = {
            "name": self.name,
            "email": self.email,
            "is_admin": self.admin,
            "external": self.external,
            "can_create_group": self.can_create_group,
            "projects_limit": self.projects_limit,
        }
        values = {name: value for name, value in given.items() if value is not None}
        if self.password is not None:
            if fault := fault_of(self.password):
                raise FieldsInvalid(password=fault)
            values["password_hash"] = await services.passwords.hashed(self.password)
        return values


class NewUser(UserChanges):
    """Parameters of `POST /users`. Without `password` none is set: the person signs in by token or by a provider."""

    username: TopPathName
    name: str = Field(min_length=1, max_length=255)
    email: str = Field(pattern=_EMAIL, max_length=255)
    force_random_password: bool = False
    reset_password: bool = False


def entity_of(row: UserRow) -> Entity:
    """A person as audit events name them."""
    return Entity("user", row.id, row.username)


async def _require_free(connection: AsyncConnection, email: str, own: int = 0) -> None:
    if any(row.id != own for row in await accounts.by_email(connection, email)):
        raise Refused("Email has already been taken")


@router.post("/users", status_code=201)
async def create_user(
    new: Annotated[NewUser, Depends(given(NewUser, without_effect=USER))], caller: KnownCallerDep, services: ServicesDep
) -> AccountResponse:
    """Add a person; only administrators may."""
    require_admin(caller)
    if new.force_random_password or new.reset_password:
        new.password = None
    try:
        row = await _add(services, caller, new, await new.values(services))
    except PathTaken as error:  # in another pod
        raise Refused(_TAKEN) from error
    await services.notifications.tell(RUNNERS)
    return account(row, services.settings.url)


async def _add(services: Services, caller: Caller, new: NewUser, values: dict[str, Any]) -> UserRow:
    name, email, now = values.pop("name"), values.pop("email"), services.clock()
    async with (
        names.claimed(services, names.path(new.username), names.email(email)) as claimed,
        services.database.write() as connection,
    ):
        if not await namespaces.is_free(connection, new.username):
            raise Refused(_TAKEN)
        user_id = await accounts.create_user(connection, new.username, name, email, now, **values)
        await _require_free(connection, email, user_id)
        row = await accounts.get(connection, user_id)
        await claimed.use(connection)
        await record(connection, caller, entity_of(row), Happened("user_created", _noted(values)), now)
    return row


@router.put("/users/{user_id}")
async def change_user(
    user_id: Id,
    changes: Annotated[UserChanges, Depends(given(UserChanges, without_effect=USER))],
    caller: KnownCallerDep,
    services: ServicesDep,
) -> AccountResponse:
    """Change a person; a new password ends the sessions that they have."""
    require_admin(caller)
    values, now = await changes.values(services), services.clock()
    async with services.database.read() as connection:
        before = await accounts.get(connection, user_id)
    if changes.username not in {None, before.username}:
        raise FieldsInvalid(username="cannot be changed; tokens, paths and other pods know the person by it")
    for column in _OF_HOME.keys() & values.keys():
        require_own(services, before, _OF_HOME[column])
    is_new = values.get("email", before.email).lower() != before.email.lower()
    wanted = (names.email(values["email"]),) if is_new else ()
    async with names.claimed(services, *wanted) as claimed, services.database.write() as connection:
        row = await accounts.get(connection, user_id)
        if row.bot and "password_hash" in values:
            raise Forbidden("Forbidden: a robot has no password; it has a token.")
        if "email" in values:
            await _require_free(connection, values["email"], user_id)
        if is_new:
            await claimed.use(connection)
            await names.give_back(connection, names.email(row.email))
        await accounts.change(connection, user_id, **values)
        if "password_hash" in values:
            await sessions.end_all(connection, user_id)
        if values:
            await record(connection, caller, entity_of(row), Happened("user_changed", _noted(values)), now)
        changed = await accounts.get(connection, user_id)
        (document,) = await accounts_of(connection, [changed], services.settings.url)
    if "is_admin" in values:
        await services.notifications.tell(RUNNERS)
    return document


def _noted(values: dict[str, Any]) -> dict[str, Any]:
    """What an audit event tells of written columns: of a password only that it is new."""
    noted = {name: value for name, value in values.items() if name != "password_hash"}
    return noted | ({"password": "new"} if "password_hash" in values else {})


@router.post("/users/{user_id}/block", status_code=201)
async def block(user_id: Id, caller: KnownCallerDep, services: ServicesDep) -> bool:
    """Make a person's tokens and sessions worthless."""
    require_admin(caller)
    if user_id == caller.user_id:
        raise Forbidden("Forbidden - The API initiating user cannot be blocked by the API")
    return await _set_state(services, caller, user_id, accounts.BLOCKED)


@router.post("/users/{user_id}/unblock", status_code=201)
async def unblock(user_id: Id, caller: KnownCallerDep, services: ServicesDep) -> bool:
    """Let a person in again; their tokens are good again, the sessions that they had are not.

    A visitor whom their home pod has blocked is let in again there.
    """
    require_admin(caller)
    return await _set_state(services, caller, user_id, accounts.ACTIVE)


async def _set_state(services: Services, caller: Caller, user_id: int, state: str) -> bool:
    async with services.database.write() as connection:
        row = await accounts.get(connection, user_id)
        if row.state == BLOCKED_AT_HOME and state == accounts.ACTIVE:
            require_own(services, row, "they are blocked, and can be let in again,")
        if row.state != state:
            await accounts.change(connection, user_id, state=state)
            await sessions.end_all(connection, user_id)
            await visits.tell_now(connection, user_id)
            name = "user_blocked" if state == accounts.BLOCKED else "user_unblocked"
            happened = Happened(name, await _visits(services, connection, user_id))
            await record(connection, caller, entity_of(row), happened, services.clock())
    return True


async def _visits(services: Services, connection: AsyncConnection, user_id: int) -> dict[str, Any]:
    """What an audit event tells of a person's visits: the pods in which they may have tokens, by number."""
    if services.cluster is None:
        return {}
    pods = [row.pod_number for row in await visits.of_person(connection, user_id)]
    return {"visited_pods": pods} if pods else {}
