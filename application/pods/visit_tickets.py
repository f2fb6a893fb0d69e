"""Tickets that the home pod of a person gives them for another pod (docs/pods.md, "Visitors")."""

from application.accounts.proof_of_identity import Proven
from application.pods.cluster import Cluster
from application.services import Services
from auth.visit_ticket import issue_ticket
from domain.errors import Forbidden, NotFound
from domain.pods.visits import Guest
from models.repositories.accounts import accounts, visits


async def ticket_for(services: Services, cluster: Cluster, proof: Proven, pod_number: int) -> str:
    """A ticket for another pod, which is noted. Whoever is blocked now gets none.

    Raises `NotFound` for a pod that there is not, `Forbidden` for who has no home here.
    """
    known = cluster.directory
    target = known.by_number.get(pod_number) if known is not None else None
    if target is None or pod_number == cluster.pod_number:
        raise NotFound("Pod Not Found")
    now = services.clock()
    async with services.database.write() as connection:
        row = await accounts.get(connection, proof.row.id)
        if row.state != accounts.ACTIVE or row.bot or row.home_pod is not None:
            raise Forbidden("Forbidden: only people who are at home in this pod get a ticket of it.")
        await visits.note_ticket(connection, row.id, pod_number, now)
    guest = Guest(cluster.pod_number, row.id, row.username, row.name, row.email, row.external, proof.token_id != 0)
    return issue_ticket(cluster.signing_keys, guest, target, now)
