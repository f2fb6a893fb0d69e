"""What the web server does at best: takes PATCHes, drops their bodies. `python -m bench.bare_sink PORT`."""

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def drop(request: Request) -> Response:
    """Read all, keep nothing."""
    await request.body()
    return Response(b"0", 202)


if __name__ == "__main__":
    application = Starlette(routes=[Route("/{path:path}", drop, methods=["PATCH"])])
    uvicorn.run(application, port=int(sys.argv[1]), http="httptools", access_log=False, log_config=None)
