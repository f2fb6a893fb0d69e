"""Style sheet, script and icon, under addresses that change with their content."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from fastapi.responses import FileResponse, RedirectResponse

from api.routes import RouteList
from domain.errors import NotFound

_FOLDER: Final = Path(__file__).parent.parent / "static"
TYPES: Final = {
    "perdure.css": "text/css; charset=utf-8",
    "perdure.js": "text/javascript; charset=utf-8",
    "favicon.svg": "image/svg+xml",
}
_FOREVER: Final = "public, max-age=31536000, immutable"

router = RouteList()


@cache
def asset_path(name: str) -> str:
    """The address of an asset."""
    return f"/-/assets/{hashlib.sha256((_FOLDER / name).read_bytes()).hexdigest()[:12]}/{name}"


@router.get("/-/assets/{version}/{name}")
async def asset(version: str, name: str) -> FileResponse:
    """An asset; one that is asked for under an older version is not kept for long."""
    if name not in TYPES:
        raise NotFound("Not Found")
    fresh = asset_path(name) == f"/-/assets/{version}/{name}"
    headers = {"Cache-Control": _FOREVER if fresh else "no-cache", "X-Content-Type-Options": "nosniff"}
    return FileResponse(_FOLDER / name, media_type=TYPES[name], headers=headers)


@router.get("/favicon.ico")
async def favicon() -> RedirectResponse:
    """Where browsers look for an icon that no page named."""
    return RedirectResponse(asset_path("favicon.svg"), 302)
