"""Labels and milestones that somebody gives a merge request: as far as they count in its project, or may be added."""

from collections.abc import Collection, Sequence

from api.services import Services
from application.access import ProjectAccess
from auth.permissions import may_plan
from domain.errors import FieldsInvalid, NotFound
from domain.projects.labels import checked_name
from models.repositories.namespaces import planning_owners
from models.repositories.projects import labels, milestones


async def usable_labels(
    services: Services, project: ProjectAccess, wanted: Sequence[str], there: Collection[str] = ()
) -> list[str]:
    """Those of these labels that a merge request gets; `there` are those that it has.

    What is no label yet becomes one of the project, as in GitLab; where the caller may write none it is left out.
    Raises `Invalid` for what can be no label.
    """
    names = list(dict.fromkeys(checked_name(name) for name in wanted))
    async with services.database.read() as connection:
        owner = await planning_owners.of_project(connection, project.row)
        known = {row.name for row in await labels.known(connection, owner, names)}
    if known.issuperset(names):
        return names
    if not may_plan(project.caller, project.member_level):
        return [name for name in names if name in known or name in there]
    async with services.database.write() as connection:
        await labels.ensure(connection, owner, names, services.clock())
    return names


async def planned_for(services: Services, project: ProjectAccess, key: int | None) -> int | None:
    """The milestone of an id, which must be the project's or that of a group around it; 0 stands for none.

    Raises `Invalid`.
    """
    if not key:
        return None
    async with services.database.read() as connection:
        owner = await planning_owners.of_project(connection, project.row)
        try:
            await milestones.find(connection, owner, key, ancestors=True)
        except NotFound as error:
            raise FieldsInvalid(
                milestone_id=f"is invalid: neither the project nor a group around it has {key}."
            ) from error
    return key
