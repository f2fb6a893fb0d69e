"""What is remembered of running jobs."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest

from domain.errors import Refused
from files.process_start import process_start
from fleet.state import JobRecord, JobStore, RunningSteps, finished
from fleet.verdict import failed


def record(store: JobStore, job_id: int = 1, token: str = "t") -> JobRecord:
    return JobRecord(job_id, token, "http://h", str(store.log_file(job_id, "http://h", token)), "mark")


def test_records_come_back(store: JobStore) -> None:
    running = record(store)
    store.save(running)
    assert store.load() == [running]
    ended = finished(running, failed("script_failure", 3))
    store.save(ended)
    assert store.load() == [ended]
    assert (ended.phase, ended.verdict) == ("finished", failed("script_failure", 3))
    store.remove(ended)
    assert store.load() == []


def test_a_record_of_an_earlier_version_is_read(store: JobStore) -> None:
    """It noted the start of the group's leader in seconds since 1970."""
    running = replace(record(store), group=os.getpid(), group_start=process_start(os.getpid()))
    earlier = {key: value for key, value in asdict(running).items() if key != "group_start"}
    earlier["group_started"] = psutil.Process().create_time()
    (store.jobs / "1.json").write_text(json.dumps(earlier))
    assert store.load() == [running]


def test_the_file_is_named_after_the_job_and_private(store: JobStore) -> None:
    store.save(record(store))
    file = store.jobs / "1.json"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_second_hand_out_does_not_overwrite_the_first(store: JobStore) -> None:
    first = record(store, token="first")
    store.save(first)
    second = record(store, token="second")
    store.save(second)
    assert {known.token for known in store.load()} == {"first", "second"}
    assert first.log != second.log


def test_a_damaged_file_is_left_and_told(store: JobStore, caplog: pytest.LogCaptureFixture) -> None:
    (store.jobs / "9.json").write_text("{")
    store.save(record(store))
    assert [known.job_id for known in store.load()] == [1]
    assert "9.json" in caplog.text
    assert (store.jobs / "9.json").exists()


def test_one_process_at_a_time(store: JobStore, tmp_path: Path) -> None:
    other = JobStore(tmp_path / "state")
    with pytest.raises(Refused, match="another runner process"):
        other.lock()
    store.unlock()
    other.lock()
    other.unlock()


def test_steps_that_go_on_are_kept_until_the_job_is_over(store: JobStore) -> None:
    steps = RunningSteps({"id": 1, "variables": []}, "abcdefghi", 3, 17, 1700000000.5, is_begun=True)
    going_on = replace(record(store), steps=steps)
    store.save(going_on)
    (known,) = store.load()
    assert (known.steps, known.goes_on) == (steps, True)
    over = finished(known, failed("script_failure", 3))
    assert (over.steps, over.goes_on) == (None, False)
