"""The shell executor: a job's scripts run in bash on this machine, in a folder of the job's slot."""

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence

from domain.errors import Unavailable
from fleet.executors.files import make_folders, new_file, remove, unlocked
from fleet.executors.hands import Hands
from fleet.executors.process import Command, Group, run_command
from fleet.executors.script import BASH, bash_script
from fleet.executors.sources import Sources
from fleet.executors.workspace import Workspace
from fleet.job import GitInfo, Step
from fleet.trace import Trace


class ShellExecutor:
    """Runs the steps of one job. Canceling any of its calls ends the processes first, then the call."""

    def __init__(
        self,
        workspace: Workspace,
        trace: Trace,
        *,
        hands: Hands,
        mark: str,
        record: Callable[[Group], None],
        grace: float = 10.0,
    ) -> None:
        """`record` gets the process group before a command runs; `grace` is seconds between SIGTERM and SIGKILL.

        Whatever is done to the job's files is done by `hands`.
        """
        self._workspace, self._trace, self._hands, self._mark = workspace, trace, hands, mark
        self._record, self._grace = record, grace

    async def prepare(self) -> None:
        """Make the folders and the files of file variables."""
        workspace = self._workspace
        anew = workspace.strategy in ("clone", "empty")
        await self._hands.do(make_folders, workspace.project_dir, workspace.temp_dir, workspace.files, anew=anew)
        for name in self._workspace.left_out:
            self._trace.warning(f"variable {name!r} is left out: its name or value cannot be given to a process")

    async def get_sources(self, git: GitInfo) -> int:
        """Bring the project's folder to the job's commit; the exit status of the first git that failed, else 0."""
        if self._workspace.strategy in ("none", "empty"):
            self._trace.write_line("Skipping Git repository setup")
            return 0
        environment = {**self._workspace.environment, "GIT_TERMINAL_PROMPT": "0"}

        async def run_git(command: Sequence[str]) -> int:
            return await self._run(command, environment)

        workspace = self._workspace
        there = await self._hands.do(unlocked, workspace.project_dir)
        return await Sources(git, there, workspace.variables, run_git, self._trace.write_line).get()

    @property
    def source_attempts(self) -> int:
        """`GET_SOURCES_ATTEMPTS`, 1 to 10; 0 when the job does not say."""
        text = self._workspace.variables.get("GET_SOURCES_ATTEMPTS", "")
        return min(10, max(1, int(text))) if text.isascii() and text.isdigit() else 0

    async def run_step(self, step: Step, status: str) -> int:
        """Run a step's lines in one bash; `status` is what the script sees as `CI_JOB_STATUS`."""
        file = self._workspace.temp_dir / f"step_{step.name.replace('/', '_')}.sh"
        await self._hands.do(new_file, file, bash_script(step.script))
        arguments = [*BASH, *(["-x"] if self._workspace.debug else []), str(file)]
        return await self._run(arguments, {**self._workspace.environment, "CI_JOB_STATUS": status})

    async def untracked_files(self) -> list[str]:
        """Files git does not know, ignored ones included, relative to the project's folder."""
        if not (await self._hands.do(unlocked, self._workspace.project_dir)).is_repository:
            return []
        output = bytearray()
        command = self._command(("git", "ls-files", "--others", "-z"), self._workspace.environment)
        if await run_command(command, output.extend, self._record, self._grace):
            return []
        return [os.fsdecode(name) for name in bytes(output).split(b"\0") if name]

    async def end_all(self) -> None:
        """End what escaped from its process group; used when a job was stopped."""
        await self._hands.end_processes(self._mark, grace=self._grace)

    async def clean_up(self) -> None:
        """Remove scripts and file variables; the project's folder stays for the next job."""
        try:
            with contextlib.suppress(Unavailable):  # the verdict stands; what is left goes with the next job's start
                await self._hands.do(remove, self._workspace.temp_dir)
        finally:
            self._hands.close()

    async def _run(self, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
        command = self._command(arguments, environment)
        return await run_command(command, self._trace.write_output, self._record, self._grace)

    def _command(self, arguments: Sequence[str], environment: Mapping[str, str]) -> Command:
        return Command(arguments, self._workspace.project_dir, environment, self._workspace.rights)
