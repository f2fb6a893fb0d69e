"""A job's artifacts: what it takes from earlier jobs and what it hands on.

Source: docs/reference/runner-protocol.md, "Artifacts and cache".
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

from domain.errors import Invalid, PerdureError
from fleet.archives import SUFFIXES, pack, unpack_zip
from fleet.client import JobKey, RunnerClient, Upload
from fleet.executors.files import new_file
from fleet.executors.hands import Hands
from fleet.globs import excluded, find_files
from fleet.job import ArtifactRequest, Dependency
from fleet.trace import Trace
from fleet.variables import expand

WHEN = {"on_success": (True,), "on_failure": (False,), "always": (True, False)}
"""For which outcome of the job (True is success) artifacts are uploaded."""


class Artifacts:
    """Uploads and downloads for one job; problems are told in its log."""

    def __init__(
        self,
        client: RunnerClient,
        job: JobKey,
        trace: Trace,
        *,
        project_dir: Path,
        temp_dir: Path,
        variables: Mapping[str, str],
        untracked: Callable[[], Awaitable[list[str]]],
        hands: Hands,
    ) -> None:
        """Paths are taken relative to `project_dir`; archives are made in `temp_dir`, all of it by `hands`."""
        self._client, self._job, self._trace = client, job, trace
        self._root, self._temp = project_dir, temp_dir
        self._variables, self._untracked, self._hands = variables, untracked, hands

    async def download(self, dependencies: Sequence[Dependency]) -> bool:
        """Fetch and unpack the archives of earlier jobs in order; False when one could not be had."""
        target = self._temp / "dependency.zip"
        for dependency in dependencies:
            self._trace.write_line(f"Downloading artifacts for {dependency.name} ({dependency.id})...")
            try:
                await self._hands.do(new_file, target)
                opener = partial(self._hands.open, target, os.O_WRONLY | os.O_TRUNC)
                await self._client.download_artifact(JobKey(dependency.id, dependency.token), opener)
                left_out = await self._hands.do(unpack_zip, target, self._root)
            except (PerdureError, OSError) as error:
                self._trace.error(f"artifacts of {dependency.name} ({dependency.id}): {error}")
                return False
            finally:
                await self._hands.do(target.unlink, missing_ok=True)
            for name in left_out:
                self._trace.warning(f"{name}: symbolic link leads out of the project's folder, it is left out")
        return True

    async def upload(self, requests: Sequence[ArtifactRequest]) -> bool:
        """Collect, pack and send each request; False when one could not be sent. No files is not a failure."""
        complete = True
        for number, request in enumerate(requests):
            target = self._temp / f"artifacts-{number}"
            try:
                complete = await self._upload(request, target) and complete
            except (PerdureError, OSError) as error:
                self._trace.error(f"uploading artifacts as {request.artifact_type!r} failed: {error}")
                complete = False
            finally:
                await self._hands.do(target.unlink, missing_ok=True)
        return complete

    async def _upload(self, request: ArtifactRequest, target: Path) -> bool:
        if request.artifact_format not in SUFFIXES:
            raise Invalid(f"format {request.artifact_format!r} is not supported; use one of {', '.join(SUFFIXES)}")
        self._trace.write_line("Uploading artifacts...")
        names = await self._collect(request)
        if request.artifact_format != "zip":
            names = [name for name in names if not name.endswith("/")]
        if not names:
            self._trace.warning("no files to upload")
            return True
        size = await self._hands.do(pack, request.artifact_format, self._root, names, target)
        opener = partial(self._hands.open, target, os.O_RDONLY)
        upload = Upload(
            opener, self._file_name(request), request.artifact_type, request.artifact_format, request.expire_in
        )
        await self._client.upload_artifact(self._job, upload)
        self._trace.write_line(
            f"Uploading artifacts as {request.artifact_type!r} to the server... {len(names)} files, {size} bytes"
        )
        return True

    async def _collect(self, request: ArtifactRequest) -> list[str]:
        """Relative names in the order of the patterns, each once."""
        names: dict[str, None] = {}
        for given in request.paths:
            pattern = expand(given, self._variables)
            try:
                found = await self._hands.do(find_files, self._root, pattern)
            except Invalid as error:
                self._trace.warning(f"{pattern} is left out: {error}")
                continue
            if found:
                self._trace.write_line(f"{pattern}: found {len(found)} matching files and folders")
            else:
                self._trace.warning(f"{pattern}: no matching files; paths are relative to {self._root}")
            names.update(dict.fromkeys(found))
        if request.untracked:
            untracked = await self._untracked()
            self._trace.write_line(f"untracked: found {len(untracked)} files")
            names.update(dict.fromkeys(untracked))
        patterns = [expand(pattern, self._variables) for pattern in request.exclude]
        dropped = await self._hands.do(excluded, list(names), self._root, patterns)
        return [name for name in names if name not in dropped and self._nameable(name)]

    def _nameable(self, name: str) -> bool:
        """Whether an archive can hold the name; it must be UTF-8."""
        if name.isascii() or name.encode("utf-8", "replace").decode() == name:
            return True
        self._trace.warning(f"{name!r}: the name is not UTF-8, the file is left out")
        return False

    def _file_name(self, request: ArtifactRequest) -> str:
        name = PurePosixPath(expand(request.name, self._variables)).name or "artifacts"
        return name.replace('"', "_") + SUFFIXES[request.artifact_format]


def wanted(requests: Sequence[ArtifactRequest], success: bool) -> list[ArtifactRequest]:
    """The requests that apply to a job that ended so, and that name any files at all."""
    return [
        request
        for request in requests
        if success in WHEN.get(request.when, WHEN["on_success"]) and (request.paths or request.untracked)
    ]
