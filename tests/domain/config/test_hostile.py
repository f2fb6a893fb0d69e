"""Texts that mean harm end in a typed error, in the time of some thousand honest jobs and 100 MiB."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.domain.config.hostile_texts import TEXTS

MAX_TIMES = 10
"""Times the processor time of two thousand jobs; none of these texts has taken more than four."""
MEBIBYTES = 100
HONEST = "two thousand jobs that do nothing"

_PROGRAM = """
import json, os, sys, time
from bench.compile import peak_kibibytes
from bench.gen_ci_yaml import trivial
from domain.errors import ConfigInvalid
from tests.compiling import plan_of
from tests.domain.config.hostile_texts import TEXTS

def compiled(text):
    try:
        plan_of(text, changed=[f"dir{n}/aaaaaaaaaaaaaaaaaaaa{n}" for n in range(1_000)], variables={"A": "a" * 5_000})
    except ConfigInvalid as error:
        return str(error.issues[0])[:300]
    return "accepted"

for name, text in [(sys.argv[1], lambda: trivial(2_000)), *TEXTS.items()]:
    if os.fork():  # each has a process of its own, which has nothing left to import
        os.wait()
        continue
    hostile = text()
    before, started = peak_kibibytes(), time.process_time()
    found = {"outcome": compiled(hostile), "seconds": time.process_time() - started}
    print(json.dumps([name, found | {"mebibytes": (peak_kibibytes() - before) / 1024}]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, Any]]:
    """What each text came to; a text that broke the compiler is missing, and standard error says why."""
    done = subprocess.run((sys.executable, "-c", _PROGRAM, HONEST), capture_output=True, text=True, check=False)
    sys.stderr.write(done.stderr[-20_000:])
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_refused_soon_and_in_little_memory(outcomes: dict[str, dict[str, Any]], name: str) -> None:
    found = outcomes[name]
    assert found["outcome"] != "accepted"
    assert found["seconds"] < MAX_TIMES * outcomes[HONEST]["seconds"]
    assert found["mebibytes"] < MEBIBYTES
