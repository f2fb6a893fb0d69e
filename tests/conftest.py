"""Fixtures of the whole suite."""

import pytest


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest) -> str:
    """Address of an empty database, as `PERDURE_DATABASE_URL` takes it; empty means SQLite in `home`."""
    return ""
