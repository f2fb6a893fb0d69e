"""Who acts in another pod, and whether that pod is believed (docs/decisions/0038)."""

from application.services import Services
from domain.pods.directory import Directory
from domain.pods.placement import home_of, may_speak_for
from models.repositories.accounts import accounts, visits
from models.rows.accounts import UserRow


def account_at_home(row: UserRow) -> int:
    """The id of somebody's account in the pod where they are at home; 0 for a visitor who has never come."""
    return row.id if row.home_pod is None else row.home_id or 0


async def person_of_pod(
    services: Services, directory: Directory, pod_number: int, username: str, home_id: int
) -> UserRow | None:
    """The account here of somebody who acts in another pod; None for anybody for whom that pod has no say.

    `home_id` is `account_at_home` there: a name that somebody else has by now brings nobody the rights of before.
    """
    own_number = services.settings.pod_number
    home = home_of(directory, username)
    async with services.database.read() as connection:
        row = await accounts.by_username(connection, username)
        if row is None or row.bot or row.state != accounts.ACTIVE or home is None:
            return None
        if home != own_number:
            is_theirs = home == row.home_pod and row.home_id in {None, home_id}
            visits_speaker = False
        else:
            is_theirs = row.home_pod is None and row.id == home_id
            visits_speaker = pod_number in {one.pod_number for one in await visits.of_person(connection, row.id)}
    believed = may_speak_for(directory, pod_number, own_number, username, visits_speaker=visits_speaker)
    return row if is_theirs and believed else None
