"""Lines of all processes: one form, and a full disk that ends nobody."""

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from files.process_log import LineFormatter, render_event

ROOT = Path(__file__).parents[2]
OF_THE_SERVER = """
import structlog
from settings import Settings
from worker import configure_logging
configure_logging(Settings())
log = structlog.get_logger()
"""
OF_THE_OTHERS = """
import logging
from files.process_log import configure_lines
configure_lines("INFO")
log = logging.getLogger("perdure.x")
"""
TALE = """
for number in range(2_000):
    log.error("a sweep failed; the next one tries again")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("this one too")
print("goes on")
"""
LINE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (INFO|WARNING|ERROR) "


@pytest.mark.parametrize("setting_up", [OF_THE_SERVER, OF_THE_OTHERS])
def test_a_log_that_takes_nothing_ends_nobody(setting_up: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", setting_up + TALE], cwd=ROOT, stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert done.stdout == b"goes on\n"


@pytest.mark.parametrize("setting_up", [OF_THE_SERVER, OF_THE_OTHERS])
def test_all_write_lines_of_one_form(setting_up: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", setting_up + TALE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = done.stderr.splitlines()
    assert re.fullmatch(LINE + "a sweep failed; the next one tries again", lines[0])
    assert re.fullmatch(LINE + "this one too", lines[2_000])
    assert lines[2_001].startswith("Traceback")


def test_values_of_an_event_follow_it() -> None:
    event = {"timestamp": "2026-11-29T05:45:19.592072Z", "level": "warning", "event": "we were away", "outage": 1.1}
    shown = render_event(None, "", {**event, "why": "a b", "none": ""})
    assert shown == "2026-11-29T05:45:19.592072Z WARNING we were away outage=1.1 why='a b' none=''"


def test_times_are_those_of_greenwich() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "hello %s", ("you",), None)
    record.created = 0.25
    assert LineFormatter().format(record) == "1970-01-01T00:00:00.250000Z INFO hello you"
