"""Runs the git command: argument lists only, a clean environment, bounded output, nothing left running."""

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Final, TypeVar

from domain.errors import Invalid, TooLarge, Unavailable
from git import git_process
from git.git_process import STDERR_LIMIT, STOP_PATIENCE, GitProcess
from git.output import OUTPUT_LIMIT, Completed
from git.turns import COMMANDS, STREAMS, ended_with_caller, turn

Read = TypeVar("Read")

TIME_LIMIT: Final = 55.0
"""Seconds that a command may take which is read to its end, as in GitLab ("Gitaly timeouts")."""

_THREADS: Final = ThreadPoolExecutor(COMMANDS.at_once + 8, thread_name_prefix="git")
"""Git's own: whoever keeps them busy holds up neither files nor passwords. Some are left for the server itself."""

CLEAN_ENVIRONMENT: Final[Mapping[str, str]] = {
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    # A pushed refs/replace/* must not change what a sha means.
    "GIT_NO_REPLACE_OBJECTS": "1",
}


@asynccontextmanager
async def start(
    arguments: Sequence[str | Path], environment: Mapping[str, str] | None = None
) -> AsyncIterator[GitProcess]:
    """Run `git ARGUMENTS` for the time of the block; leaving it early ends git and all its children.

    Raises Unavailable when there is no git command.
    """
    _check_words((*arguments, *(environment or {}).values()))
    variables = _variables(environment)
    async with turn(STREAMS, _repository(arguments)):
        connecting = asyncio.ensure_future(git_process.with_streams(git_process.begin(arguments, variables)))
        try:
            git = await asyncio.shield(connecting)
            with ended_with_caller(git.terminate):
                yield git
        finally:
            # Shielded: a canceled request must not leave git running.
            await asyncio.shield(asyncio.ensure_future(_stop(connecting)))


async def _stop(connecting: "asyncio.Future[GitProcess]") -> None:
    await (await connecting).stop()


async def run(
    arguments: Sequence[str | Path],
    stdin: bytes = b"",
    limit: int = OUTPUT_LIMIT,
    accept: Sequence[int] = (0,),
    seconds: float = TIME_LIMIT,
) -> Completed:
    """Run `git ARGUMENTS` to its end and return what it wrote; the rest is as for `run_and_read`."""
    return await run_and_read(arguments, lambda completed: completed, stdin, limit, accept, seconds)


async def run_and_read(
    arguments: Sequence[str | Path],
    read: Callable[[Completed], Read],
    stdin: bytes = b"",
    limit: int = OUTPUT_LIMIT,
    accept: Sequence[int] = (0,),
    seconds: float = TIME_LIMIT,
) -> Read:
    """Run `git ARGUMENTS` to its end and return what `read` makes of it, in the same thread and turn.

    A list of half a million lines so holds up nobody. In a thread: the event loop's way forks the whole server, which
    takes ten times as long as this. When the time is up, or who waits for it is canceled, git and its children end.
    Raises TooLarge when it writes more than `limit` bytes, Unavailable when its exit code is not in `accept`, when it
    takes more than `seconds`, or when the caller has too many of them running.
    """
    _check_words(arguments)
    async with turn(COMMANDS, _repository(arguments)):
        command = _Command(arguments, stdin, limit)

        def work() -> Read:
            completed = command.run()
            if completed.code not in accept:
                words = " ".join(str(word) for word in arguments)
                raise Unavailable(f"git {words} ended with {completed.code}: {completed.err or 'no message'}")
            return read(completed)

        try:
            async with asyncio.timeout(seconds):
                with ended_with_caller(command.end):
                    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)
        except TimeoutError as error:
            raise Unavailable(f"git {arguments[0]} took more than {seconds:g} s; ask for less at a time.") from error
        finally:
            command.end()


def _check_words(words: Iterable[str | Path]) -> None:
    """Raise Invalid for a word that no process can be given: one with a NUL, or with half of a UTF-16 pair."""
    for word in words:
        text = str(word)
        try:
            is_possible = b"\0" not in os.fsencode(text)
        except UnicodeEncodeError:
            is_possible = False
        if not is_possible:
            raise Invalid(f"{text[:80]!r} has a character that git cannot be given; leave it out.")


class _Command:
    """A git that a thread runs to its end, unless it is told to end before."""

    def __init__(self, arguments: Sequence[str | Path], stdin: bytes, limit: int) -> None:
        self._arguments, self._stdin, self._limit = arguments, stdin, limit
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self) -> Completed:
        """Start it, read all it writes, wait for its end."""
        # Files on both sides: git can neither block on us nor we on git.
        with tempfile.TemporaryFile() as questions, tempfile.TemporaryFile() as complaints:
            questions.write(self._stdin)
            questions.seek(0)
            out, code = self._run(questions, complaints)
            complaints.seek(0)
            err = complaints.read(STDERR_LIMIT).decode("utf-8", "replace").strip()
        if len(out) > self._limit:
            raise TooLarge(f"git {self._arguments[0]} wrote more than {self._limit} bytes; ask for less at a time.")
        return Completed(code, out, err)

    def _run(self, questions: IO[bytes], complaints: IO[bytes]) -> tuple[bytes, int]:
        if self._is_over:
            return b"", -signal.SIGTERM
        process = git_process.popen(self._arguments, _variables(None), questions, subprocess.PIPE, complaints)
        self._process = process
        if self._is_over:
            self._signal(signal.SIGTERM)
        with process:
            assert process.stdout is not None
            out = process.stdout.read(self._limit + 1)
            if len(out) > self._limit:
                self._signal(signal.SIGKILL)
        return out, process.returncode

    def end(self) -> None:
        """Tell git and its children to end, and soon make them; nothing where they have."""
        self._is_over = True
        if self._signal(signal.SIGTERM):
            asyncio.get_running_loop().call_later(STOP_PATIENCE, self._signal, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> bool:
        """Whether there was somebody to tell. `poll` has collected one that ended, so its number is nobody else's."""
        process = self._process
        if process is None or process.poll() is not None:
            return False
        git_process.signal_group(process, number)
        return True


def _repository(arguments: Sequence[str | Path]) -> str:
    """The repository that a command is about, as its arguments name it; empty if they do not."""
    for word in arguments:
        if isinstance(word, Path):
            return str(word)
        if word.startswith("--git-dir="):
            return word.removeprefix("--git-dir=")
    return ""


def _variables(more: Mapping[str, str] | None) -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", os.defpath), **CLEAN_ENVIRONMENT, **(more or {})}
