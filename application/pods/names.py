"""Names that there may be once in the cluster: claimed at the directory before anything of the pod has them.

Four steps, each of which may be the last one of a process: the claim is noted, the directory is asked, the transaction
that gives the name to something uses the claim, and the directory confirms it. `loops.name_claims` finishes what a
process has left (docs/pods.md, "The directory").
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncConnection

from application.pods.cluster import Cluster
from application.pods.settled_names import settle_some
from application.services import Services
from domain.errors import PathTaken, Refused, Taken, Unavailable
from domain.pods.claims import ClaimKind, unique_name
from domain.pods.own_claims import OwnClaim
from models.repositories.installation import name_claims

Name: TypeAlias = tuple[ClaimKind, str]


@dataclass(frozen=True, slots=True)
class ClaimedNames:
    """Names that nobody else in the cluster has, for the transaction that is to use them."""

    claim_ids: Sequence[str] = ()

    async def use(self, connection: AsyncConnection, organisation_id: int | None = None) -> None:
        """Part of the transaction that gives the names to something; `organisation_id`: to this top-level group.

        Raises `Unavailable` for who took too long.
        """
        used = await name_claims.turn(connection, self.claim_ids, OwnClaim.USED, organisation_id)
        if used != len(self.claim_ids):
            raise Unavailable("It took too long to write what has the name. Try again.")


def path(name: str) -> Name:
    """The path of a top-level group, or the name of a person."""
    return ClaimKind.PATH, name


def email(address: str) -> Name:
    """A person's e-mail address."""
    return ClaimKind.EMAIL, address


async def give_back(connection: AsyncConnection, name: Name) -> None:
    """Part of the transaction after which nothing of the pod has the name."""
    kind, text = name
    await name_claims.drop_name(connection, kind, text.strip().lower())


@asynccontextmanager
async def claimed(services: Services, *names: Name) -> AsyncIterator[ClaimedNames]:
    """The names are nobody else's while the context is open, and the pod's if they were used in it.

    Without a cluster this does nothing. Raises `PathTaken` or `Refused` for a name that is taken, in the words of the
    pod's own checks, and `Unavailable` while the directory is away.
    """
    cluster = services.cluster
    if cluster is None or not names:
        yield ClaimedNames()
        return
    found = [(kind, unique_name(kind, name), name) for kind, name in names]
    noted = {str(uuid4()): each for each in found}
    async with services.database.write() as connection:
        for claim_id, (kind, unique, _) in noted.items():
            await name_claims.note(connection, claim_id, kind, unique, services.clock())
    try:
        for claim_id, (kind, _, name) in noted.items():
            await _claim(cluster, claim_id, kind, name)
        yield ClaimedNames(list(noted))
    except BaseException:
        # What was used stays: its transaction was committed.
        async with services.database.write() as connection:
            await name_claims.drop_unused(connection, noted)
        await settle_some(services, cluster, noted)
        raise
    await settle_some(services, cluster, noted)


async def _claim(cluster: Cluster, claim_id: str, kind: ClaimKind, name: str) -> None:
    try:
        await cluster.client.claim(UUID(claim_id), kind, name, cluster.pod_number)
    except Taken as error:
        if kind is ClaimKind.EMAIL:
            raise Refused("Email has already been taken") from error
        raise PathTaken(path="has already been taken") from error
    except Unavailable as error:
        raise Unavailable(
            f"The directory of the pods is away, which has to know that the name {name} is nobody's. What has its name "
            "already goes on; try this again in a few seconds."
        ) from error
