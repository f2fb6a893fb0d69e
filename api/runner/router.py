"""The runner protocol as one router; fixed paths come before those with an id."""

from fastapi import APIRouter

from api.runner import artifacts, registration, requests, traces, updates

router = APIRouter(prefix="/api/v4")
for part in (registration, requests, updates, traces, artifacts):
    router.include_router(part.router)
