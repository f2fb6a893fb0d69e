"""People's texts become HTML once: apart from the event loop, one after the other, kept beside each text.

A reader waits for a moment for what was not made yet, then has the text as it was written; the next one has the HTML.
"""

import asyncio
from collections.abc import Collection
from concurrent.futures import Executor
from contextvars import Context
from functools import partial
from typing import Final

import structlog

from application.configurations.compiler_pool import OutOfTime
from application.configurations.pool_work import in_process
from application.texts.markdown import MAX_RENDERED, VERSION, page_html
from models.repositories.texts import rendered_texts
from models.repositories.texts.rendered_texts import Beginning, Source
from models.session import Database

log = structlog.get_logger()

SECONDS: Final = 1.0
"""Of computing for one text; one that takes longer is shown as it was written."""
MAX_WAITING: Final = 500
"""Texts that wait; what is asked for beyond is asked for again by its next reader."""
PATIENCE: Final = 0.5
"""Seconds that a reader waits for what was not made yet."""


class Renderings:
    """Makes HTML of texts, one at a time in this process."""

    def __init__(self, database: Database, compilers: Executor, patience: float = PATIENCE) -> None:
        """Nothing is asked for yet."""
        self.patience = patience
        self._database = database
        self._compilers = compilers
        self._turn = asyncio.Lock()
        self._asked: dict[tuple[str, int], asyncio.Task[None]] = {}

    def written(self, source: Source, key: int, text: str) -> None:
        """Have HTML made of a text that was just written, after what is made of the one before."""
        of = Beginning(key, text, len(text))
        before = self._asked.get((source.made.name, key))
        if before is None:
            self.ask(source, of)
        else:
            before.add_done_callback(lambda task: None if task.cancelled() else self.ask(source, of))

    def ask(self, source: Source, of: Beginning, shown: str | None = None) -> None:
        """Have HTML made of a text, or of the part of it that is `shown` so, if not too many wait."""
        key = source.made.name, of.id
        if key in self._asked or len(self._asked) >= MAX_WAITING:
            return
        # Not in the name of who asks: it goes on when they close their connection.
        making = self._make(source, of, of.text if shown is None else shown)
        task = self._asked[key] = asyncio.create_task(making, context=Context())
        task.add_done_callback(lambda _: self._asked.pop(key, None))

    async def wait(self, source: Source, ids: Collection[int]) -> None:
        """Wait for those that are asked for, but not for long."""
        tasks = [task for key in ids if (task := self._asked.get((source.made.name, key)))]
        if tasks:
            await asyncio.wait(tasks, timeout=self.patience)

    async def close(self) -> None:
        """Begin nothing more."""
        tasks = list(self._asked.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _make(self, source: Source, of: Beginning, shown: str) -> None:
        try:
            async with self._turn:
                html, seconds = await self._html(shown) if len(shown) <= MAX_RENDERED else (None, 0.0)
                async with self._database.write() as connection:
                    await rendered_texts.keep(connection, source, of, VERSION, html)
                await asyncio.sleep(seconds)  # so that all texts together take half a core at most
        except Exception:
            log.exception("a text was not rendered; its next reader asks again", kind=source.made.name, id=of.id)

    async def _html(self, text: str) -> tuple[str | None, float]:
        try:
            return await in_process(self._compilers, SECONDS, partial(page_html, text))
        except OutOfTime:
            return None, SECONDS
