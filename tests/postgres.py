"""The PostgreSQL of a run of tests; where none is installed they are skipped, or fail where CI=true."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rigs import postgres
from rigs.postgres import OPTIONS, NotInstalledError


def postgres_programs() -> Path:
    """The folder of `initdb` and `pg_ctl`."""
    try:
        return postgres.postgres_programs()
    except NotInstalledError as missing:
        _not_run(missing)
        raise


@contextmanager
def postgres_server(settings: Mapping[str, str] = OPTIONS) -> Iterator[str]:
    """Run a server; yields the SQLAlchemy address of its database `postgres`."""
    with ExitStack() as stack:
        try:
            address = stack.enter_context(postgres.postgres_server(settings))
        except NotInstalledError as missing:
            _not_run(missing)
            raise
        yield address


def _not_run(missing: NotInstalledError) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(str(missing))
    pytest.skip(str(missing))
