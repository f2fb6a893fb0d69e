"""How much there is of everything in the installation."""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from models.columns import table_of
from models.repositories.accounts.accounts import ACTIVE, user
from models.repositories.namespaces.namespaces import namespace
from models.repositories.projects.projects import project
from models.tables.merge_requests import MergeRequest

merge_request = table_of(MergeRequest)


async def of_everything(connection: AsyncConnection) -> dict[str, int]:
    """Projects, forks, groups, people, and those of them who are active, and merge requests."""
    wanted = {
        "forks": select(func.count()).where(project.c.forked_from_id.is_not(None)),
        "merge_requests": select(func.count()).select_from(merge_request),
        "users": select(func.count()).where(~user.c.bot),
        "groups": select(func.count()).where(namespace.c.kind == "group"),
        "projects": select(func.count()).select_from(project),
        "active_users": select(func.count()).where(~user.c.bot, user.c.state == ACTIVE),
    }
    columns = [statement.scalar_subquery().label(name) for name, statement in wanted.items()]
    return dict((await connection.execute(select(*columns))).mappings().one())
