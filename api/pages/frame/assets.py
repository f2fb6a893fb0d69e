"""Style sheet, scripts and icons, under addresses that change with their content.

All of them share one version, so that a script finds its neighbours by relative addresses.
"""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from api.pages.frame.glyphs import SIGNS, STATES, favicon
from api.routes import RouteList
from domain.errors import NotFound

_FOLDER: Final = Path(__file__).parent.parent / "static"
STYLES: Final = (
    "tokens",
    "base",
    "layout",
    "components",
    "forms",
    "pages",
    "graph",
    "timeline",
    "log",
    "log-palette",
    "asking",
    "schedules",
    "environments",
    "runners",
    "diffs",
    "merge_requests",
    "job",
    "artifacts",
    "log-palette",
)
"""The parts of the one style sheet in their order; a file of `static/styles` that is not named here is an error."""
SHEET: Final = "perdure.css"
ICON: Final = "favicon-brand.svg"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_FOREVER: Final = "public, max-age=31536000, immutable"

router = RouteList()


@dataclass(frozen=True, slots=True)
class Assets:
    """Everything there is, by name, plain and compressed."""

    version: str
    plain: Mapping[str, bytes]
    compressed: Mapping[str, bytes]


@cache
def assets() -> Assets:
    """Read all of it, once in a process. Raises `LookupError` for a style sheet that nobody named."""
    found = {path.stem for path in (_FOLDER / "styles").glob("*.css")}
    if found != set(STYLES):
        raise LookupError(f"STYLES and static/styles differ in {sorted(found ^ set(STYLES))}")
    sheet = b"".join((_FOLDER / "styles" / f"{name}.css").read_bytes() for name in STYLES)
    scripts = {
        path.relative_to(_FOLDER).as_posix(): path.read_bytes()
        for folder in ("scripts", "vendor")
        for path in sorted((_FOLDER / folder).rglob("*.js"))
    }
    icons = {f"favicon-{symbol}.svg": favicon(symbol).encode() for symbol in (*STATES, *SIGNS)}
    plain = {SHEET: sheet, **scripts, **icons}
    version = hashlib.sha256()
    for name, content in plain.items():
        version.update(f"{name} {len(content)}\n".encode() + content)
    compressed = {name: gzip.compress(content, 9, mtime=0) for name, content in plain.items()}
    return Assets(version.hexdigest()[:12], plain, compressed)


def asset_path(name: str) -> str:
    """The address of an asset. Raises `KeyError` for one that is not there."""
    known = assets()
    if name not in known.plain:
        raise KeyError(name)
    return f"/-/assets/{known.version}/{name}"


@router.get("/-/assets/{version}/{name:path}")
async def asset(request: Request, version: str, name: str) -> Response:
    """An asset; one that is asked for under an older version is not kept for long."""
    known = assets()
    if name not in known.plain:
        raise NotFound("Not Found")
    headers = {
        "Cache-Control": _FOREVER if version == known.version else "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Vary": "Accept-Encoding",
    }
    content = known.plain[name]
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = known.compressed[name]
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)


@router.get("/favicon.ico")
async def icon() -> RedirectResponse:
    """Where browsers look for an icon that no page named."""
    return RedirectResponse(asset_path(ICON), 302)
