"""`perdure logs`: all that processes write, also in earlier versions, in one form and by time."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli.installation.logs import logs, read_line
from domain.errors import NotFound
from pods.run_folder import RunFolder
from settings import Settings
from tests.waiting import HANGS


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            "2026-11-29T05:45:19.592072Z WARNING we were away outage=1.1",
            "2026-11-29T05:45:19.592072Z WARNING  api        we were away outage=1.1",
        ),
        (
            "2026-11-29T05:45:19.592072Z [warning  ] we were away outage=1.1",
            "2026-11-29T05:45:19.592072Z WARNING  api        we were away outage=1.1",
        ),
        (
            '{"outage": 1.1, "event": "we were away", "level": "warning", "timestamp": "2026-11-29T05:45:19.592072Z"}',
            "2026-11-29T05:45:19.592072Z WARNING  api        we were away outage=1.1",
        ),
        (
            '{"event": "no", "level": "error", "timestamp": "2026-11-29T05:45:19Z", "exception": "Trace\\nEnd"}',
            "2026-11-29T05:45:19.000000Z ERROR    api        no\n    Trace\n    End",
        ),
        (
            'time=2026-11-29T05:45:42.840+01:00 level=WARN msg="full" shard-id=1',
            '2026-11-29T04:45:42.840000Z WARNING  api        msg="full" shard-id=1',
        ),
        (
            "2026-11-29T05:45:19.592072Z INFO \x1b[2Jgone",
            "2026-11-29T05:45:19.592072Z INFO     api        \N{REPLACEMENT CHARACTER}[2Jgone",
        ),
    ],
)
def test_lines_of_every_form(line: str, shown: str) -> None:
    entry = read_line("api", line)
    assert entry is not None
    assert entry.shown() == shown


def test_a_line_of_an_earlier_supervisor_is_of_the_time_of_this_machine() -> None:
    entry = read_line("supervisor", "2026-11-29 05:44:40,178 INFO perdure.supervisor front started as pid 1")
    assert entry is not None
    assert entry.time.endswith("40.178000Z")


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    """A home with logs of three processes; one was put aside."""
    folder = RunFolder(tmp_path)
    minute = "2026-11-29T05:45"
    folder.log_path("supervisor").write_text(f"{minute}:01.000000Z INFO api started\n{minute}:04.000000Z INFO later\n")
    folder.log_path("api").with_suffix(".log.1").write_text(f"{minute}:00.000000Z INFO oldest\n")
    folder.log_path("api").write_text(
        f"{minute}:02.000000Z ERROR a sweep failed\nTraceback:\n  File x\n{minute}:05.000000Z INFO last\nno whole li"
    )
    folder.log_path("runner").write_text(f"plain words\n{minute}:03.000000Z INFO job 1 starts\n")
    return Settings(home=tmp_path)


def test_all_are_merged_by_time(home: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    logs(home, "", lines=100, follow=False)
    assert [line.partition("Z ")[2] or line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "INFO     runner     plain words",
        "INFO     api        oldest",
        "INFO     supervisor api started",
        "ERROR    api        a sweep failed",
        "Traceback:",
        "File x",
        "INFO     runner     job 1 starts",
        "INFO     supervisor later",
        "INFO     api        last",
    ]


def test_one_process_and_so_many_entries(home: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    logs(home, "api", lines=2, follow=False)
    said = capsys.readouterr().out
    assert (said.count("sweep"), said.count("last"), said.count("oldest"), said.count("runner")) == (1, 1, 0, 0)
    with pytest.raises(NotFound, match="only supervisor, front, temporal, api, runner"):
        logs(home, "nginx", lines=2, follow=False)


def test_what_comes_is_followed_over_a_log_that_is_put_aside(home: Settings) -> None:
    folder = RunFolder(home.home)
    # A run of the tests that a script has put into the background ignores the signal, and so would its children.
    argv = ["env", "--default-signal=INT", sys.executable, "-m", "cli.main", "logs", "-f", "-n", "1"]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, text=True, env={"PERDURE_HOME": str(home.home)}, cwd=Path(__file__).parents[3]
    ) as process:
        assert process.stdout is not None
        assert "last" in process.stdout.readline()
        with folder.log_path("api").open("a") as log:
            log.write("ne\n2026-11-29T05:46:00.000000Z INFO more\n")
        assert "no whole line" in process.stdout.readline()
        assert "INFO     api        more" in process.stdout.readline()
        folder.log_path("api").write_text("2026-11-29T05:47:00.000000Z INFO anew\n")
        assert "anew" in process.stdout.readline()
        process.send_signal(2)
        assert process.wait(HANGS) == 0
