"""A job's artifacts: what it takes from earlier jobs and what it hands on (reference: runner protocol, section 6)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from domain.errors import Invalid, PerdureError
from fleet.archives import pack_gzip, pack_zip, real_file, unpack_zip
from fleet.client import JobKey, RunnerClient, Upload
from fleet.globs import excluded, find_files
from fleet.job import ArtifactRequest, Dependency
from fleet.trace import Trace
from fleet.variables import expand

SUFFIXES = {"zip": ".zip", "gzip": ".gz", "raw": ""}
"""Formats this runner writes and how their files end."""

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
    ) -> None:
        """Paths are taken relative to `project_dir`; archives are made in `temp_dir`."""
        self._client, self._job, self._trace = client, job, trace
        self._root, self._temp = project_dir, temp_dir
        self._variables, self._untracked = variables, untracked

    async def download(self, dependencies: Sequence[Dependency]) -> bool:
        """Fetch and unpack the archives of earlier jobs in order; False when one could not be had."""
        target = self._temp / "dependency.zip"
        for dependency in dependencies:
            self._trace.write_line(f"Downloading artifacts for {dependency.name} ({dependency.id})...")
            try:
                await self._client.download_artifact(JobKey(dependency.id, dependency.token), target)
                left_out = await asyncio.to_thread(unpack_zip, target, self._root)
            except (PerdureError, OSError) as error:
                self._trace.error(f"artifacts of {dependency.name} ({dependency.id}): {error}")
                return False
            finally:
                target.unlink(missing_ok=True)
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
                target.unlink(missing_ok=True)
        return complete

    async def _upload(self, request: ArtifactRequest, target: Path) -> bool:
        if request.artifact_format not in SUFFIXES:
            raise Invalid(f"format {request.artifact_format!r} is not supported; use one of {', '.join(SUFFIXES)}")
        self._trace.write_line("Uploading artifacts...")
        names = await self._collect(request)
        if not names:
            self._trace.warning("no files to upload")
            return True
        file = await asyncio.to_thread(self._pack, request.artifact_format, names, target)
        upload = Upload(
            file, self._file_name(request), request.artifact_type, request.artifact_format, request.expire_in
        )
        await self._client.upload_artifact(self._job, upload)
        self._trace.write_line(
            f"Uploading artifacts as {request.artifact_type!r} to the server... {len(names)} files, "
            f"{file.stat().st_size} bytes"
        )
        return True

    async def _collect(self, request: ArtifactRequest) -> list[str]:
        """Relative names in the order of the patterns, each once."""
        names: dict[str, None] = {}
        for given in request.paths:
            pattern = expand(given, self._variables)
            found = await asyncio.to_thread(find_files, self._root, pattern)
            if found:
                self._trace.write_line(f"{pattern}: found {len(found)} matching files")
            else:
                self._trace.warning(f"{pattern}: no matching files; paths are relative to {self._root}")
            names.update(dict.fromkeys(found))
        if request.untracked:
            untracked = await self._untracked()
            self._trace.write_line(f"untracked: found {len(untracked)} files")
            names.update(dict.fromkeys(untracked))
        patterns = [expand(pattern, self._variables) for pattern in request.exclude]
        dropped = excluded(names, self._root, patterns)
        return [name for name in names if name not in dropped and self._nameable(name)]

    def _nameable(self, name: str) -> bool:
        """Whether an archive can hold the name; it must be UTF-8."""
        if name.isascii() or name.encode("utf-8", "replace").decode() == name:
            return True
        self._trace.warning(f"{name!r}: the name is not UTF-8, the file is left out")
        return False

    def _pack(self, form: str, names: Sequence[str], target: Path) -> Path:
        if form == "zip":
            pack_zip(self._root, names, target)
        elif form == "gzip":
            pack_gzip(self._root, names, target)
        else:
            if len(names) != 1:
                raise Invalid(f"format 'raw' takes one file, the paths match {len(names)}: {', '.join(names[:5])}")
            return real_file(self._root, names[0])
        return target

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
