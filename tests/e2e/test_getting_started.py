"""`docs/getting-started.md`, word for word: its commands in one shell with an empty HOME, against a real server.

Only what differs by machine is settled from outside: the folder of the state and the ports by environment variables,
git's author as a person has it, and the port in the addresses that the page shows.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.installation.ports import FIELDS
from rigs.ports import free_ports
from settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "getting-started.md"
BLOCK = re.compile(r"^```(?P<kind>sh|text)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
END = "the-end-of-step"
SECRET = re.compile(rb"\bgl(?:pat|rt|rtr|dt|ptt|cbt)-[\w.-]{20,}")
"""Tokens as people and runners get them."""
ANYTHING = "..."
"""What the page writes for the part of a line that differs from machine to machine."""


@dataclass
class Step:
    """A block of commands, and the lines that the page shows of what they print."""

    commands: str
    shown: list[str]


def steps_of(page: str) -> list[Step]:
    """The blocks of the page in their order; what is printed stands below the commands that print it."""
    steps: list[Step] = []
    for block in BLOCK.finditer(page):
        if block["kind"] == "sh":
            steps.append(Step(block["text"], []))
        else:
            steps[-1].shown += block["text"].splitlines()
    return steps


def is_printed(line: str, output: str) -> bool:
    """Whether a line that the page shows was printed; blanks and tabs are one."""
    parts = [re.escape(" ".join(part.split())) for part in line.split(ANYTHING)]
    pattern = re.compile(r" ?.*".join(parts))
    return any(pattern.fullmatch(" ".join(printed.split())) for printed in output.splitlines())


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """That of a new person on a machine where nothing of Perdure is; what was started ends."""
    home, state = tmp_path / "person", tmp_path / "state"
    home.mkdir()
    ports = dict(zip((f"PERDURE_{field.upper()}" for field in FIELDS), map(str, free_ports(len(FIELDS))), strict=True))
    author = {f"GIT_{who}_{what}": "tour@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PERDURE_", "XDG_", "GIT_"))}
    found = {**kept, **ports, **author, "PERDURE_HOME": str(state), "HOME": str(home), "GIT_TERMINAL_PROMPT": "0"}
    yield found
    done = (str(ROOT / ".venv" / "bin" / "perdure"), "down", "--all")
    subprocess.run(done, env=found, capture_output=True, check=False, timeout=120)


def secret_files(*folders: Path) -> dict[str, int]:
    """The modes of files with a token or a password, below these folders."""
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    kept = [file for file in files if SECRET.search(file.read_bytes()) or file.suffix == ".password"]
    return {file.name: file.stat().st_mode & 0o777 for file in kept}


@pytest.mark.slow
def test_the_commands_of_the_page_lead_to_a_merged_merge_request(environment: dict[str, str]) -> None:
    default = Settings.model_fields["front_port"].default
    page = PAGE.read_text().replace(f"127.0.0.1:{default}", f"127.0.0.1:{environment['PERDURE_FRONT_PORT']}")
    steps = steps_of(page)
    assert len(steps) > 5
    script = "set -e\n" + "".join(f"{step.commands}echo {END}\n" for step in steps)
    done = subprocess.run(
        ("bash", "-c", f"exec 2>&1\n{script}"),
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    outputs = done.stdout.split(f"{END}\n")
    assert done.returncode == 0, f"Step {len(outputs)} of the page failed:\n{done.stdout}"
    for step, output in zip(steps, outputs, strict=False):
        missing = [line for line in step.shown if not is_printed(line, output)]
        assert not missing, f"The page shows {missing}, but this was printed:\n{step.commands}---\n{output}"
    kept = secret_files(Path(environment["HOME"]), Path(environment["PERDURE_HOME"]))
    assert {"ada.password", "ada.token", "ada.toml", "config.toml", "credentials.json"} <= kept.keys()
    assert {name: mode for name, mode in kept.items() if mode != 0o600} == {}
