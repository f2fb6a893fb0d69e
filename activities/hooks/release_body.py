"""Bodies of Release Hooks: a release as it was when it was made, changed or deleted."""

from typing import Any, Final
from urllib.parse import quote

from activities.hooks import parts
from activities.hooks.moments import plain, read
from models.repositories.hooks.hook_facts import Around
from models.rows.hooks import EventDeliveryRow

_FORMATS: Final = ("zip", "tar.gz", "tar.bz2", "tar")


def release_body(row: EventDeliveryRow, around: Around, url: str) -> dict[str, Any]:
    """The body for an event of a release."""
    facts, page = row.facts, f"{url}/{around.project.full_path}"
    links = facts["links"]
    return {
        "object_kind": "release",
        "id": facts["id"],
        "created_at": plain(read(facts["created_at"])),
        "description": facts["description"],
        "name": facts["name"],
        "released_at": plain(read(facts["released_at"])),
        "tag": facts["tag"],
        "project": parts.project(around.project, url),
        "url": f"{page}/-/releases/{quote(facts['tag'], safe='')}",
        "action": facts["action"],
        "assets": {"count": len(links) + len(_FORMATS), "links": links, "sources": _sources(facts["tag"], around, url)},
        "commit": parts.placed_commit(around.commit or {"id": facts["sha"]}, page),
    }


def _sources(tag: str, around: Around, url: str) -> list[dict[str, Any]]:
    """The repository as it was at the tag, packed in each way."""
    archive = f"{url}/api/v4/projects/{around.project.id}/repository/archive"
    sha = quote(tag, safe="")
    return [{"format": packing, "url": f"{archive}.{packing}?sha={sha}"} for packing in _FORMATS]
