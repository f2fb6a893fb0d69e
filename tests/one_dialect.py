"""Statements that were compiled once stay compiled: the databases of all tests of a run share what SQLAlchemy knows.

The product has one database a process, and compiles each statement once. Tests open a database each, and would spend
most of their time in compiling the same statements.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event
from sqlalchemy.ext.asyncio import AsyncEngine

from models import session, sqlite_file


@contextmanager
def one_dialect() -> Iterator[None]:
    """Let every database that is opened meanwhile have the dialect of the first one of its kind that was connected."""
    known: dict[str, tuple[Any, Any]] = {}

    def shared(engine: Engine) -> None:
        if engine.name in known:
            engine.dialect, engine._compiled_cache = known[engine.name]
            return

        @event.listens_for(engine, "engine_connect", once=True)
        def remember(connection: Connection) -> None:  # by now it has asked the server what it is
            known.setdefault(engine.name, (connection.dialect, engine._compiled_cache))

    make_sqlite: Callable[[str], Engine] = sqlite_file.sqlite_engine
    make_asynchronous: Callable[..., AsyncEngine] = vars(session)["create_async_engine"]

    def sqlite(url: str) -> Engine:
        engine = make_sqlite(url)
        shared(engine)
        return engine

    def asynchronous(*given: Any, **named: Any) -> AsyncEngine:
        engine = make_asynchronous(*given, **named)
        shared(engine.sync_engine)
        return engine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_file, "sqlite_engine", sqlite)
        patch.setattr(session, "create_async_engine", asynchronous)
        yield
