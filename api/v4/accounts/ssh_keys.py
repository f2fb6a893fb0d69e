"""Public SSH keys of people. They are records only: git is spoken over HTTP here, and no key opens anything.

Source: GitLab: "User SSH and GPG keys API", "Keys API".
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Response
from fastapi.responses import JSONResponse
from pydantic import Field, field_validator
from typing_extensions import TypedDict

from api.deps import ServicesDep
from api.routes import RouteList
from api.services import Services
from api.v4.access import Id, KnownCallerDep
from api.v4.accounts.impersonation_tokens import AdministratorDep
from api.v4.pagination import Paging, PagingDep
from api.v4.parameters import Optionals, given
from api.v4.representation.people import AccountResponse, account
from application.accounts.token_chains import maker_of, require_person
from application.audit import record
from auth.permissions import Caller
from auth.ssh_key import fingerprints, read_public_key
from domain.errors import FieldsInvalid, Invalid
from domain.moments import moment
from models.repositories.accounts import accounts, identities, ssh_keys
from models.repositories.installation.audit import Entity, Happened
from models.repositories.paging import slice_of
from models.rows.ssh_keys import SshKeyRow

router = RouteList()


class NewKey(Optionals):
    """Parameters of `POST .../keys`."""

    title: str = Field(min_length=1, max_length=255)
    key: str
    expires_at: datetime | None = None
    usage_type: Literal["auth", "signing", "auth_and_signing"] = "auth_and_signing"

    @field_validator("expires_at")
    @classmethod
    def _has_zone(cls, value: datetime | None) -> datetime | None:
        return value if value is None or value.tzinfo is not None else value.replace(tzinfo=UTC)


NewKeyDep = Annotated[NewKey, Depends(given(NewKey))]


class SshKeyResponse(TypedDict):
    """A public key."""

    id: int
    title: str
    created_at: str
    expires_at: str | None
    last_used_at: None
    key: str
    usage_type: str


class OwnedSshKeyResponse(SshKeyResponse):
    """A public key, and whose it is."""

    user: AccountResponse


def _shown(row: SshKeyRow) -> SshKeyResponse:
    return {
        "id": row.id,
        "title": row.title,
        "created_at": moment(row.created_at),
        "expires_at": moment(row.expires_at),
        "last_used_at": None,
        "key": row.public_key,
        "usage_type": row.usage_type,
    }


async def _listed(services: Services, paging: Paging, user_id: int) -> JSONResponse:
    async with services.database.read() as connection:
        await accounts.get(connection, user_id)
        found = await slice_of(connection, ssh_keys.of_person(user_id), paging.number, paging.size)
    return paging.response([_shown(row) for row in found.rows], found.total)


async def _one(services: Services, user_id: int, key_id: int) -> SshKeyResponse:
    async with services.database.read() as connection:
        return _shown(await ssh_keys.get(connection, key_id, user_id))


async def _add(services: Services, caller: Caller, user_id: int, new: NewKey) -> SshKeyResponse:
    """Keep a key of a person. Raises `Invalid` for what is none, and for one that is known."""
    known, now = read_public_key(new.key), services.clock()
    if new.expires_at is not None and new.expires_at <= now:
        raise FieldsInvalid(expires_at="is invalid: must be a time to come")
    values: dict[str, Any] = {"title": new.title, "usage_type": new.usage_type, "public_key": known.text}
    values |= {"sha256": known.sha256, "md5": known.md5}
    async with services.database.write() as connection:
        person, maker = await accounts.get(connection, user_id), await maker_of(connection, caller)
        require_person(person)
        values |= {"expires_at": maker.last_moment(new.expires_at), "maker_id": maker.id}
        row = await ssh_keys.add(connection, now, user_id=user_id, **values)
        happened = Happened("ssh_key_created", {"id": row.id, "title": row.title, "fingerprint": row.sha256})
        await record(connection, caller, Entity("user", user_id, person.username), happened, now)
    return _shown(row)


async def _remove(services: Services, caller: Caller, user_id: int, key_id: int) -> Response:
    async with services.database.write() as connection:
        person = await accounts.get(connection, user_id)
        row = await ssh_keys.get(connection, key_id, user_id)
        await ssh_keys.remove(connection, row.id)
        happened = Happened("ssh_key_removed", {"id": row.id, "title": row.title, "fingerprint": row.sha256})
        await record(connection, caller, Entity("user", user_id, person.username), happened, services.clock())
    return Response(status_code=204)


async def _with_person(services: Services, row: SshKeyRow) -> OwnedSshKeyResponse:
    async with services.database.read() as connection:
        person = await accounts.get(connection, row.user_id)
        known = await identities.of_people(connection, [row.user_id])
    return {**_shown(row), "user": account(person, services.settings.url, known.get(row.user_id, ()))}


@router.get("/user/keys", response_model=list[SshKeyResponse])
async def list_own_keys(caller: KnownCallerDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """One's own public SSH keys. They are records only: there is no SSH here, and no key opens anything."""
    return await _listed(services, paging, caller.user_id)


@router.post("/user/keys", status_code=201)
async def add_own_key(new: NewKeyDep, caller: KnownCallerDep, services: ServicesDep) -> SshKeyResponse:
    """Keep a public SSH key. It is a record only: there is no SSH here; git is given an access token over HTTP."""
    return await _add(services, caller, caller.user_id, new)


@router.get("/user/keys/{key_id}")
async def get_own_key(key_id: Id, caller: KnownCallerDep, services: ServicesDep) -> SshKeyResponse:
    """One of one's own keys."""
    return await _one(services, caller.user_id, key_id)


@router.delete("/user/keys/{key_id}", status_code=204)
async def remove_own_key(key_id: Id, caller: KnownCallerDep, services: ServicesDep) -> Response:
    """Forget one of one's own keys."""
    return await _remove(services, caller, caller.user_id, key_id)


@router.get("/users/{user_id}/keys", response_model=list[SshKeyResponse])
async def list_keys(user_id: Id, _caller: KnownCallerDep, services: ServicesDep, paging: PagingDep) -> JSONResponse:
    """The public SSH keys of a person. They are records only: there is no SSH here, and no key opens anything."""
    return await _listed(services, paging, user_id)


@router.get("/users/{user_id}/keys/{key_id}")
async def get_key(user_id: Id, key_id: Id, _caller: KnownCallerDep, services: ServicesDep) -> SshKeyResponse:
    """One key of a person."""
    return await _one(services, user_id, key_id)


@router.post("/users/{user_id}/keys", status_code=201)
async def add_key(user_id: Id, new: NewKeyDep, caller: AdministratorDep, services: ServicesDep) -> SshKeyResponse:
    """Keep a public SSH key of somebody, as an administrator. It is a record only: there is no SSH here."""
    return await _add(services, caller, user_id, new)


@router.delete("/users/{user_id}/keys/{key_id}", status_code=204)
async def remove_key(user_id: Id, key_id: Id, caller: AdministratorDep, services: ServicesDep) -> Response:
    """Forget a key of somebody, as an administrator."""
    return await _remove(services, caller, user_id, key_id)


@router.get("/keys")
async def find_key(_caller: AdministratorDep, services: ServicesDep, fingerprint: str = "") -> OwnedSshKeyResponse:
    """The key with a fingerprint (`SHA256:...`, or that of MD5) and whose it is; for administrators."""
    if not fingerprint:
        raise Invalid("fingerprint is missing")
    async with services.database.read() as connection:
        row = await ssh_keys.by_fingerprint(connection, *fingerprints(fingerprint))
    return await _with_person(services, row)


@router.get("/keys/{key_id}")
async def get_any_key(key_id: Id, _caller: AdministratorDep, services: ServicesDep) -> OwnedSshKeyResponse:
    """A key and whose it is; for administrators."""
    async with services.database.read() as connection:
        row = await ssh_keys.get(connection, key_id)
    return await _with_person(services, row)
