"""What `perdure job artifacts` does: the archive, one file of it, or the list of its files."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from cli.output import has_colour
from cli.remote.documents import ARTIFACT, DOWNLOAD, document, documents
from cli.remote.download import Download, Progress
from cli.remote.invocation import Invocation
from cli.remote.outage import Deadline, Outage
from domain.errors import Refused

STDOUT: Final = "-"
ARCHIVE: Final = "artifacts.zip"


def list_files(call: Invocation, job_id: int) -> None:
    """The files of the archive."""
    route = f"{call.home}/jobs/{job_id}/artifacts/tree"
    with call.naming(f"archive of artifacts of job {job_id}", f"perdure job show {job_id}"):
        found = documents(ARTIFACT, call.api.listed(route, recursive=True))
    if call.out.as_json:
        call.out.document(found)
        return
    rows = ([one["path"], "" if one["size"] is None else str(one["size"])] for one in found if one["type"] == "file")
    call.out.table(("file", "bytes"), rows)


def fetch(call: Invocation, job_id: int, path: str, output: str, *, patience: float, deadline: Deadline) -> None:
    """Write the archive, or the file `path` of it, to `output` (a file, a folder, `-`; by its own name when empty)."""
    inner = f"/{quote(path.strip('/'), safe='/')}" if path else ""
    route = f"{call.home}/jobs/{job_id}/artifacts{inner}"
    what = f"file {path} in the artifacts of job {job_id}" if path else f"archive of artifacts of job {job_id}"
    with call.naming(what, f"perdure job artifacts {job_id} --list" if path else f"perdure job show {job_id}"):
        if output == STDOUT:
            with call.api.stream(route) as answer:
                for chunk in answer.iter_raw():
                    sys.stdout.buffer.write(chunk)
                sys.stdout.buffer.flush()
            return
        _fetch(call, job_id, route, _target(call, Path(path).name or ARCHIVE, output), patience, deadline)


def _fetch(call: Invocation, job_id: int, route: str, target: Path, patience: float, deadline: Deadline) -> None:
    part = target.with_name(f".{target.name}.{job_id}.part")
    download = Download(call.api, route, part)
    with _progress(call, target.name) as progress:
        sha256 = download.run(Outage(call.out, patience), deadline, progress)
    part.replace(target)
    size = target.stat().st_size
    done: dict[str, Any] = {"job_id": job_id, "file": str(target), "size": size, "sha256": sha256}
    if call.out.as_json:
        call.out.document(document(DOWNLOAD, done))
    else:
        call.out.words(f"{size:,} bytes")
        call.out.data(str(target))


def _target(call: Invocation, name: str, output: str) -> Path:
    """Where to write. Raises `Refused` rather than write over a file."""
    target = Path(output) if output else Path(name)
    if target.is_dir():
        target /= name
    if target.exists() and not call.out.yes:
        raise Refused(f"{target} exists. Add `--yes` to replace it, or name another file: `--output FILE`.")
    if not target.parent.is_dir() or not os.access(target.parent, os.W_OK):
        raise Refused(f"{target.parent} is no folder that can be written to.")
    return target


@contextmanager
def _progress(call: Invocation, name: str) -> Iterator[Progress]:
    """How far a download is, on a terminal."""
    if not sys.stderr.isatty() or call.out.as_json:
        yield lambda _have, _size: None
        return
    from rich import progress as bars
    from rich.console import Console

    console = Console(stderr=True, no_color=not has_colour(sys.stderr, no_color=call.out.no_color))
    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TransferSpeedColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(name, total=None)
        yield lambda have, size: shown.update(task, completed=have, total=size)
