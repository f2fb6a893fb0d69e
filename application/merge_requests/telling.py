"""Waking those who watch merge requests, once what they would see is written."""

from collections.abc import Iterable

from application.services import Services
from models.notifications import merge_request_topic, merge_requests_topic


async def tell(services: Services, merge_request_id: int, project_id: int | None = None) -> None:
    """Something of a merge request has changed; with its project, something that others of it show, too."""
    await services.notifications.show(merge_request_topic(merge_request_id))
    if project_id is not None:
        await tell_projects(services, [project_id])


async def tell_projects(services: Services, ids: Iterable[int]) -> None:
    """Something has changed that may concern every merge request of projects: a branch has moved, a train."""
    await services.notifications.show(*map(merge_requests_topic, ids))
