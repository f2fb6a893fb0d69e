"""Whose turn it is: what one caller asks for never takes the last place (`docs/limits.md`).

`turn_of` is for all that is limited so, in the API too. Of git is counted what callers ask for, by the caller that the
API has noted in `CALLER`, and pushes and fetches as wholes. What the server does by itself, also for a push, is not: it
never waits for its turn behind a person.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from domain.errors import Unavailable


@dataclass(slots=True, eq=False)
class GitCaller:
    """Somebody for whom git runs. `key` says who it is, empty while nobody knows. `ends` end what runs for them now."""

    key: str = ""
    is_gone: bool = False
    ends: set[Callable[[], object]] = field(default_factory=set)

    def leave(self) -> None:
        """They have closed the connection: end what runs, and let nothing more begin."""
        self.is_gone = True
        for end in list(self.ends):
            end()


CALLER: Final[ContextVar[GitCaller | None]] = ContextVar("git caller", default=None)
"""For whom the present task works; None: for the server."""
_HOLDS: Final[ContextVar[bool]] = ContextVar("git turn", default=False)
PATIENCE: Final = 30.0
"""Seconds that a call waits for its turn."""


@dataclass(frozen=True, slots=True)
class Places:
    """How many may run at once: of all callers, of one caller, and in one repository. `what` they are.

    `waiting`: so many more of one caller wait; the next is refused at once.
    """

    at_once: int
    of_caller: int
    of_repository: int
    what: str = "git commands"
    waiting: int = 10_000

    @property
    def limits(self) -> tuple[int, int, int]:
        """In the order of the keys of who takes one."""
        return self.at_once, self.of_caller, self.of_repository

    def refusal(self, why: str) -> Unavailable:
        """What somebody is told who does not have a turn."""
        of_repository = f" and {self.of_repository} in one repository" if self.of_repository < self.at_once else ""
        text = f"{self.of_caller} {self.what} of one caller{of_repository} run at once, and {why}"
        return Unavailable(f"The server is busy: {text}. Ask for less at a time.")


COMMANDS: Final = Places(at_once=24, of_caller=4, of_repository=8)
"""Commands that are read to their end. Each holds a thread; `git.command` has more threads than these."""
STREAMS: Final = Places(at_once=64, of_caller=6, of_repository=64)
"""Commands whose output goes on as it comes, to clients that may be slow. They hold no thread."""


PUSHES: Final = Places(at_once=24, of_caller=4, of_repository=8, what="pushes")
"""Pushes, from the first byte to their pipelines."""
FETCHES: Final = Places(at_once=512, of_caller=16, of_repository=512, what="fetches")
"""Fetches and clones; each job is a caller of its own. They are as slow as their clients."""


@dataclass(slots=True)
class _Waiting:
    keys: tuple[str, ...]
    turn: asyncio.Future[None]


@dataclass(slots=True)
class Turns:
    """Who runs and who waits, of one event loop; who came first goes first, but nobody waits for another's limit."""

    places: Places
    running: Counter[str] = field(default_factory=Counter)
    waiting: list[_Waiting] = field(default_factory=list)

    @asynccontextmanager
    async def one(self, caller: str, repository: str, patience: float | None = None) -> AsyncIterator[None]:
        """Have a turn for the time of the block. Raises `Unavailable` when it does not come in time."""
        keys = _keys(caller, repository)
        await self._take(keys, PATIENCE if patience is None else patience)
        try:
            yield
        finally:
            self.running.subtract(keys)
            self.running += Counter()  # forget who has none left
            self._let_in()

    def is_free(self, caller: str, repository: str) -> bool:
        """Whether a caller need not wait."""
        return self._may_run(_keys(caller, repository))

    async def _take(self, keys: tuple[str, ...], patience: float) -> None:
        if self._may_run(keys):  # then it is nobody else's turn: they would have it already
            self.running.update(keys)
            return
        if sum(one.keys[1] == keys[1] for one in self.waiting) >= self.places.waiting:
            raise self.places.refusal(f"{self.places.waiting} more are waiting")
        mine = _Waiting(keys, asyncio.get_running_loop().create_future())
        self.waiting.append(mine)
        try:
            async with asyncio.timeout(patience):
                await mine.turn
        except BaseException as error:
            if mine.turn.done() and not mine.turn.cancelled():  # it came at the same moment
                self.running.subtract(keys)
            else:
                self.waiting.remove(mine)
            self._let_in()
            if isinstance(error, TimeoutError):
                raise self.places.refusal(f"{patience:g} s were not enough") from error
            raise

    def _may_run(self, keys: tuple[str, ...]) -> bool:
        return all(self.running[key] < limit for key, limit in zip(keys, self.places.limits, strict=True))

    def _let_in(self) -> None:
        for one in list(self.waiting):
            # One that was given up is still here until its task has run.
            if not one.turn.done() and self._may_run(one.keys):
                self.running.update(one.keys)
                self.waiting.remove(one)
                one.turn.set_result(None)


def _keys(caller: str, repository: str) -> tuple[str, str, str]:
    return "", f"caller {caller}", f"repository {repository}"


_TURNS: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Places, Turns]]] = WeakKeyDictionary()


@asynccontextmanager
async def turn(places: Places, repository: str) -> AsyncIterator[None]:
    """Wait until the present caller may have one more command; at once for the server itself.

    Whoever has a turn already has it for all that they run within it. Raises `Unavailable` when it does not come in
    time, or the caller has gone.
    """
    caller = CALLER.get()
    if caller is None or not caller.key or _HOLDS.get():
        yield
        return
    async with turn_of(places, caller.key, repository):
        refuse_gone()
        _HOLDS.set(True)
        try:
            yield
        finally:
            _HOLDS.set(False)


@asynccontextmanager
async def turn_of(places: Places, key: str, repository: str, patience: float | None = None) -> AsyncIterator[None]:
    """Wait until a caller may have one more, whoever the present one is. Raises `Unavailable`."""
    async with turns_at(places).one(key, repository, patience):
        yield


def turns_at(places: Places) -> Turns:
    """The turns at these places in the present loop."""
    return _TURNS.setdefault(asyncio.get_running_loop(), {}).setdefault(places, Turns(places))


def refuse_gone() -> None:
    """Raise `Unavailable` if the present caller has gone."""
    caller = CALLER.get()
    if caller is not None and caller.is_gone:
        raise gone()


def gone() -> Unavailable:
    """What is raised when the caller has gone."""
    return Unavailable("The caller has closed the connection; nothing is read for them any more.")


@contextmanager
def ended_with_caller(end: Callable[[], object]) -> Iterator[None]:
    """Have `end` called if the present caller goes within the block, or went while what it ends was being started."""
    caller = CALLER.get()
    if caller is None:
        yield
        return
    if caller.is_gone:
        end()
    caller.ends.add(end)
    try:
        yield
    finally:
        caller.ends.discard(end)
