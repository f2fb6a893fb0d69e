"""Where a button leads to when the operation behind it was asked for."""

from fastapi.responses import RedirectResponse

from application.pipelines.operations import Asked


def after(asked: Asked, address: str) -> RedirectResponse:
    """Back to a page, with a notice when the response is still to come."""
    return RedirectResponse(address if asked.answer is not None else f"{address}?notice=kept", 303)
