"""What others write costs at most in proportion to its length: each reader of texts, with those that cost it most."""

import ast
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from tests.growth import MAX_GROWTH
from tests.security.hostile_rows import Hostile, told
from tests.security.hostile_texts import HOSTILE
from tests.security.test_regular_expressions import OURS, ROOT

ENOUGH: Final = 0.01
"""Seconds that tell something."""
MAX_SIZE: Final = 2_048
"""The text is up to 32 times as large, and made of pieces. Beyond half a megabyte a linear reader may leave the caches
and take memory from the system each time, which costs several times as much; a quadratic one shows long before."""
READS: Final = frozenset({"find", "rfind", "index", "rindex", "splitlines", "decompress", "decompressobj"})
"""Who calls one of these, or goes through something by `while`, may read a text by hand."""
NOT_READING: Final = frozenset({"activities", "cli", "metrics", "models", "workflows"})
"""Packages that read no text: the command line reads its user's own, the others rows and messages of ours."""
NO_READERS: Final = {
    "api/v4/hooks/events.py": "what we have packed",
    "application/jobs/log_indexes.py": "indexes that are remembered",
    "application/pods/tag_sets.py": "ids of pipelines, in parts",
    "api/pages/merge_requests/reports.py": "comparisons that are kept for a while",
    "auth/job_token.py": "looks up a row",
    "auth/packed_ids.py": "only from tokens that we have signed",
    "auth/signed_token.py": "looks up a key",
    "domain/graphs/chains.py": "jobs of a pipeline, one chain of them",
    "domain/schedules/cron_ticks.py": "moments, a bounded number of them",
    "domain/pipelines/decisions.py": "commands of one turn",
    "domain/steps/beginning.py": "names of steps",
    "domain/merge_requests/merge_request.py": "ids of a train",
    "domain/pipelines/operations.py": "jobs of a pipeline",
    "domain/pipelines/packing.py": "messages of ours",
    "domain/pipelines/pipeline.py": "jobs of a pipeline",
    "domain/pipelines/portions.py": "a decision of ours",
    "fleet/executors/namespaces.py": "what the kernel says of this machine",
    "fleet/job_steps/step_log.py": "sections that are open",
    "fleet/trace.py": "the log in pieces, which a masker reads",
    "git/reading/ref_presence.py": "a file of git's, of which a dozen lines are looked at",
    "git/reading/shadowing.py": "a file of git's",
    "pods/holding.py": "callers that wait",
    "pods/run_folder.py": "a log of ours",
    "steps/engine/commands.py": "waits for a process",
    "steps/engine/finding.py": "looks for a file by two names",
    "steps/engine/fetched_place.py": "waits for who fetches",
    "steps/engine/programs.py": "waits for a program",
    "steps/engine/log_files.py": "pipes in pieces",
    "steps/engine/processes.py": "what the kernel says of processes",
    "steps/engine/run_folder.py": "waits for a lock",
    "steps/engine/running.py": "looks for a shell by two names",
    "steps/oci/packing.py": "a file in pieces",
    "steps/oci/registry.py": "what an error of a library is made of",
    "steps/proxy.py": "a connection in pieces",
    "steps/service/events.py": "results that wait for their place",
    "steps/service/spawning.py": "folders of ours, a line each",
    "storage/backup_archive.py": "a file in pieces",
    "storage/durable_file.py": "folders above a file",
    "storage/opened_archives.py": "lists that are kept",
}
"""Modules that go through something else than a text of others, and what that is."""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_costs_what_its_length_does(name: str) -> None:
    row = HOSTILE[name]
    size = row.size
    while (large := seconds(row, size << 3)) < ENOUGH and size < MAX_SIZE and not row.is_bounded:
        size <<= 2
    if large > max(ENOUGH, seconds(row, size) * MAX_GROWTH**3):
        judge_apart(name, size)


def judge_apart(name: str, size: int) -> None:
    """Measure in a process of its own.

    One that has run thousands of tests has memory in pieces, in which larger work costs more than its share.
    """
    argv = [sys.executable, "-m", "tests.security.judged_apart", name, str(size)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def work(row: Hostile, size: int) -> Any:
    """Reading the text of a size; it is made before."""
    return partial(told, partial(row.read, row.text(size)))


def seconds(row: Hostile, size: int) -> float:
    """Processor time of one run."""
    reading, begin = work(row, size), time.process_time()
    reading()
    return time.process_time() - begin


def test_a_reader_of_texts_is_in_the_table() -> None:
    read: set[str] = set()
    sys.setprofile(lambda frame, event, _: read.add(frame.f_code.co_filename) if event == "call" else None)
    try:
        for row in HOSTILE.values():
            work(row, 10)()
    finally:
        sys.setprofile(None)
    readers = {str(file.relative_to(ROOT)) for file in OURS if may_read(file)}
    assert readers - {str(Path(file).relative_to(ROOT)) for file in read if file.startswith(f"{ROOT}/")} == set(
        NO_READERS
    )


def may_read(file: Path) -> bool:
    """Whether code that waits for nothing takes something apart by hand."""
    if file.relative_to(ROOT).parts[0] in NOT_READING:
        return False
    return any(
        isinstance(node, ast.While)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READS)
        for node in _synchronous(ast.parse(file.read_text()))
    )


def _synchronous(node: ast.AST) -> Iterator[ast.AST]:
    for inner in ast.iter_child_nodes(node):
        if not isinstance(inner, ast.AsyncFunctionDef):
            yield inner
            yield from _synchronous(inner)
