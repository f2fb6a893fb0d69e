"""Making a release: for a job with the keyword `release`, and for the REST API, by the same rules.

Source: docs/reference/ci-yaml.md, "Release"; GitLab's Releases API for the limits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from application.access import ProjectAccess
from application.pushes.tagging import make_tag
from application.services import Services
from auth.permissions import Action
from domain.errors import Forbidden, Invalid, Refused, Unprocessable
from domain.projects.protection import Movement
from domain.projects.release_links import check_links
from git.names import checked_ref
from git.repository import Repository
from git.writing.tags import NewTag
from models.rows.accounts import UserRow

MAX_NAME: Final = 255
MAX_DESCRIPTION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class NewRelease:
    """What a release shall be; all variables are put in. `ref` is where a missing tag is made, empty for nowhere.

    `links` have name, url, link_type and perhaps filepath.
    """

    tag: str
    name: str = ""
    description: str = ""
    ref: str = ""
    tag_message: str = ""
    milestones: tuple[str, ...] = ()
    released_at: datetime | None = None
    links: tuple[Mapping[str, str], ...] = ()


def moment_of(text: str) -> datetime | None:
    """A point in time as ISO 8601 writes it, in UTC if it names no zone; None for an empty text. Raises `Invalid`."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(f"released_at is {text!r}; write it by ISO 8601, as in 2030-01-31T12:00:00Z.") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def require_release(access: ProjectAccess, tag: str) -> None:
    """Raise `Forbidden` unless the caller may make, change and delete the release of a tag: whoever may make the tag.

    Source: GitLab: "Releases", "Release permissions with protected tags".
    """
    access.require(Action.PUSH)
    if access.protection.refusal(tag, Movement.CREATE, access.level, tag=True):
        raise Forbidden(f"The tag {tag} is protected: only who may create it may make, change or delete its release.")


async def prepare_release(
    services: Services, access: ProjectAccess, user: UserRow, repository: Repository, new: NewRelease
) -> dict[str, Any]:
    """Check a release and make its tag if that is missing; the row of the `Release` to write.

    `user` is who releases; they must be allowed to push. Raises `Forbidden`, `Invalid`, `Refused` for what
    will never do, `Unavailable` and `StorageFull` for what may do later.
    """
    require_release(access, new.tag)
    check_text(name=new.name, description=new.description, milestones=new.milestones)
    _check(new)
    sha = await _commit_of_tag(services, access, user, repository, new)
    return {
        "project_id": access.row.id,
        "user_id": user.id,
        "tag": new.tag,
        "name": new.name or new.tag,
        "description": new.description,
        "sha": sha,
        "milestones": list(new.milestones),
        "assets": {"links": [dict(link) for link in new.links]},
        "released_at": new.released_at or services.clock(),
    }


def _check(new: NewRelease) -> None:
    if not new.tag:
        raise Invalid("tag_name is empty; give the release a tag.")
    checked_ref(new.tag)
    check_links(new.links)


def check_text(name: str = "", description: str = "", milestones: Sequence[str] = ()) -> None:
    """Raise `Invalid` for words that a release cannot have."""
    for what, text, most in (("name", name, MAX_NAME), ("description", description, MAX_DESCRIPTION)):
        if len(text) > most:
            raise Invalid(f"{what} has {len(text):,} characters; at most {most:,} are taken.")
    if any("\x00" in text for text in (name, description, *milestones)):
        raise Invalid("The release holds a null character; leave it out.")


async def _commit_of_tag(
    services: Services, access: ProjectAccess, user: UserRow, repository: Repository, new: NewRelease
) -> str:
    """The commit of the tag, which is made at `ref` if there is none."""
    full_name = f"refs/tags/{new.tag}"
    if (known := await repository.resolve(full_name)) is not None:
        return known
    if not new.ref:
        raise Unprocessable(f"Ref is not specified: there is no tag {new.tag}, so say where to make it.")
    sha = await repository.resolve(new.ref)
    if sha is None:
        raise Invalid(f"The tag {new.tag} cannot be made: there is no branch, tag or commit {new.ref!r}.")
    tag = NewTag(new.tag, sha, new.tag_message, user.name or user.username, user.email, services.clock())
    try:
        await make_tag(services, access, repository, tag)
    except Refused:
        made = await repository.resolve(full_name)  # somebody was faster
        if made is None:
            raise
        return made
    return sha
