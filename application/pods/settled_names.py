"""What the directory has yet to hear of names: that they are used, or that they are free again."""

from collections.abc import Collection
from uuid import UUID, uuid4

import structlog

from application.pods.cluster import Cluster
from application.services import Services
from domain.errors import PerdureError, Refused
from domain.pods.claims import ClaimKind, ClaimState
from domain.pods.own_claims import OwnClaim
from models.repositories.installation import name_claims
from models.repositories.moves import moves
from models.rows.name_claims import NameClaimRow

_BATCH = 200

log = structlog.get_logger()


async def settle_some(services: Services, cluster: Cluster, claim_ids: Collection[str]) -> None:
    """Tell the directory of these claims. What cannot be told now is told later by the loop."""
    async with services.database.read() as connection:
        rows = await name_claims.of_ids(connection, claim_ids)
    try:
        for row in rows:
            await _settle(services, cluster, row)
    except PerdureError as error:
        log.warning("the directory hears later of names", error=str(error))


async def settle_all(services: Services, cluster: Cluster) -> None:
    """Tell the directory of all claims that it has yet to hear of. Raises `Unavailable` while it is away."""
    async with services.database.write() as connection:
        await name_claims.drop_abandoned(connection, services.clock())
    while True:
        async with services.database.read() as connection:
            rows = await name_claims.due(connection, _BATCH)
        for row in rows:
            await _settle(services, cluster, row)
        if len(rows) < _BATCH:
            return


async def _settle(services: Services, cluster: Cluster, row: NameClaimRow) -> None:
    """Each call of the directory may be repeated, so that whatever dies in between is made good by the next round."""
    claim_id, client = UUID(row.claim_id), cluster.client
    match OwnClaim(row.state):
        case OwnClaim.USED:
            state = OwnClaim.CONFIRMED
            try:
                # Also of a name that was in use before the pod had a directory.
                await client.claim(claim_id, ClaimKind(row.kind), row.name, cluster.pod_number)
                await client.confirm(claim_id, row.organisation_id)
            except Refused:
                state = OwnClaim.REFUSED
                log.warning("a name here is that of something in another pod, too", kind=row.kind, name=row.name)
            async with services.database.write() as connection:
                await name_claims.turn(connection, [row.claim_id], state)
        case OwnClaim.DROPPED:
            await client.release(claim_id)
            async with services.database.write() as connection:
                await name_claims.forget(connection, row.claim_id)


async def bring_in_line(services: Services, cluster: Cluster) -> None:
    """Let claims be what the pod has: either database may be one that was put back from a backup.

    Those of organisations that are on their way from pod to pod are left alone.

    What is in use and was never claimed, or is not known to the directory any more, is claimed again by `settle_all`;
    what the directory has for us and our database does not know is released. Raises `Unavailable`.
    """
    adopted = await _adopt_names(services)
    claims = [claim async for claim in cluster.client.claims(cluster.pod_number)]
    there = {str(claim.claim_id) for claim in claims if claim.state is not ClaimState.RELEASED}
    async with services.database.write() as connection:
        moving = await moves.claims_on_the_way(connection)
        there -= moving
        known = await name_claims.known_among(connection, there)
        if there and not known:
            log.error(
                "the directory has names of this pod and the database knows none of them: is it the right one?",
                names=len(there),
            )
            return
        missing = await name_claims.confirmed_beside(connection, there | moving)
        for claim_id in missing:
            # By a new id: the directory may remember that the old one was released.
            await name_claims.begin_anew(connection, claim_id, str(uuid4()))
    for claim_id in there - known:
        await cluster.client.release(UUID(claim_id))
    if adopted or missing or there - known:
        log.info(
            "names are brought in line with the directory",
            adopted=adopted,
            claimed_again=len(missing),
            released=len(there - known),
        )


async def _adopt_names(services: Services) -> int:
    """Note claims on names that are in use and were never claimed: of before the pod had a directory; how many."""
    count = 0
    while True:
        async with services.database.write() as connection:
            found = await name_claims.unclaimed(connection, _BATCH)
            for kind, name, organisation_id in found:
                await name_claims.adopt(connection, str(uuid4()), kind, name, organisation_id, services.clock())
        count += len(found)
        if not found:
            return count
