"""Connections to PostgreSQL outlive the test that made them: the next one takes them, with all that they have prepared.

The product connects once and prepares each statement once. Tests open a database each, and those on PostgreSQL would
spend a third of their time in that.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.pool import Pool

from models import session


@contextmanager
def kept_connections(database: str, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Whoever opens the database of this name takes over the connections of somebody who has closed it.

    Connections belong to an event loop. `loop` is that of the tests; a command that is called in a thread has its own
    for a moment, and closes what it has opened.
    """
    free: dict[tuple[str, int, str], list[Pool]] = defaultdict(list)
    make: Callable[..., AsyncEngine] = vars(session)["create_async_engine"]

    def kept(url: str, **options: Any) -> AsyncEngine:
        if url.rpartition("/")[2] != database or asyncio.get_running_loop() is not loop:
            return make(url, **options)
        engine = make(url, **options, pool_use_lifo=True)  # few connections prepare everything
        sync, dispose = engine.sync_engine, engine.sync_engine.dispose
        known = free[url, options["pool_size"], str(options["connect_args"])]
        if known:
            sync.pool = known.pop()

        def leave(close: bool = True) -> None:
            if _is_whole(sync.pool):
                known.append(sync.pool)
            else:
                dispose(close)

        sync.dispose = leave  # type: ignore[method-assign]
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "create_async_engine", kept)
        yield


def _is_whole(pool: Any) -> bool:
    """Whether all connections of a pool are back, and none of them is broken."""
    records = list(pool._pool._queue._queue)
    known = [record.dbapi_connection for record in records]  # one that a canceled task has thrown away is None
    return pool.checkedout() == 0 and all(one is not None and not one.driver_connection.is_closed() for one in known)
