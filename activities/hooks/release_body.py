"""Bodies of Release Hooks: a release as it was when it was made, changed or deleted."""

from typing import Any
from urllib.parse import quote

from activities.hooks import parts
from activities.hooks.moments import plain, read
from models.repositories.hooks.hook_facts import Around
from models.rows.hooks import EventDeliveryRow


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
        "assets": {"count": len(links), "links": links, "sources": []},
        "commit": {"id": facts["sha"], "url": f"{page}/-/commit/{facts['sha']}"},
    }
