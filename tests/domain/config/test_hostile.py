"""Texts that mean harm end in a typed error within a second of processor time and 100 MiB."""

import subprocess
import sys

import pytest

from tests.domain.config.hostile_texts import TEXTS

SECONDS = 1.0
MEBIBYTES = 100

_PROGRAM = """
import sys, time
from bench.compile import peak_kibibytes
from domain.errors import ConfigInvalid
from tests.compiling import plan_of
from tests.domain.config.hostile_texts import TEXTS
text = TEXTS[sys.argv[1]]()
paths = [f"dir{n}/aaaaaaaaaaaaaaaaaaaa{n}" for n in range(1_000)]
before, started = peak_kibibytes(), time.process_time()
try:
    plan_of(text, changed=paths, variables={"A": "a" * 5_000})
    outcome = "accepted"
except ConfigInvalid as error:
    outcome = str(error.issues[0])[:300]
spent = time.process_time() - started
grown = (peak_kibibytes() - before) / 1024
print(f"{spent:.3f} {grown:.0f} {outcome}")
"""


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_is_refused_soon_and_in_little_memory(name):
    done = subprocess.run((sys.executable, "-c", _PROGRAM, name), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    spent, grown, outcome = done.stdout.strip().split(" ", 2)
    assert outcome != "accepted"
    assert float(spent) < SECONDS, done.stdout
    assert float(grown) < MEBIBYTES, done.stdout
