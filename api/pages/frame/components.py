"""The page that shows every component: what designers look at, and what pages may use."""

from typing import Final

from fastapi.responses import Response

from api.deps import CallerDep
from api.pages.frame.glyphs import SIGNS, STATES
from api.pages.frame.responses import page
from api.routes import RouteList

COLOURS: Final = (
    *("back", "sunken", "raised", "hover", "line", "line-strong", "text", "quiet", "accent", "accent-back"),
    *("good", "good-back", "bad", "bad-back", "busy", "busy-back", "wait", "wait-back", "idle", "idle-back"),
)
"""The custom properties of `static/styles/tokens.css` that are colours."""

router = RouteList()


@router.get("/-/components")
async def components(caller: CallerDep) -> Response:
    """All of them."""
    return page("frame/components.html", caller, states=list(STATES), signs=list(SIGNS), colours=COLOURS)
