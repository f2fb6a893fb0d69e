"""Expressions beside the library that GitLab reads them with: a table of its answers, and random ones each night.

The table `fugit_answers.txt` has an expression in each line and, behind ` => `, the first six ticks of 2026 in UTC as
fugit 1.11 finds them; `refused` for what it does not take.
"""

import json
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Final

import pytest

from domain.errors import Invalid
from domain.schedules.cron import parse
from domain.schedules.cron_ticks import coming
from tests.domain.schedules.random_crons import cron_of

ANSWERS: Final = Path(__file__).parent / "fugit_answers.txt"
START: Final = datetime(2026, 1, 1, tzinfo=UTC)
COUNT: Final = 6
RANDOM: Final = 700
REFUSED: Final = "refused"

OTHERWISE_IN_1_5: Final = {
    r"(^|[^\d]),|,,|,( |$)": "lists with too many commas are taken since 1.7.0",
    r"&": "`&` came with 1.7.0",
    r"%\d+\+\d+": "since 1.7.0 an offset is what the number of the week leaves, before it was added to it",
    r"\w/1( |,|&|$)": "since 1.7.1 `5/1` goes to the end, before it was 5 alone",
    r"(^| |,)1-(31|L|last)(/1)?( |,|&|$)": "since 1.7.1 a range of all values is a star",
}
"""Where Debian's fugit (1.5.2) gives other answers than GitLab's (1.11), and why."""

_RUBY: Final = f"""
require 'fugit'; require 'json'; require 'timeout'
start = EtOrbi.make_time('2026-01-01 00:00:00 UTC')
answer = lambda do |text|
  cron = Fugit::Cron.parse(text)
  return nil unless cron
  at = start
  begin
    (1..{COUNT}).map {{ at = cron.next_time(at); at.utc.strftime('%Y-%m-%dT%H:%M') }}
  rescue RuntimeError
    'too far'
  end
end
JSON.parse(STDIN.read).each do |text|
  said =
    begin
      Timeout.timeout(3) {{ answer.call(text) }}
    rescue Timeout::Error
      'too far'
    rescue ArgumentError, ZeroDivisionError
      nil
    end
  puts JSON.generate([text, said])
end
"""


def ticks_of(text: str) -> list[str] | None:
    """The first ticks of an expression, None if it is refused."""
    try:
        rule = parse(text)
    except Invalid:
        return None
    return [f"{tick:%Y-%m-%dT%H:%M}" for tick in coming(rule, UTC, START, COUNT)]


def answers() -> list[tuple[str, str]]:
    """The table."""
    lines = ANSWERS.read_text().splitlines()
    return [(text, said) for text, _, said in (line.partition(" => ") for line in lines)]


@pytest.mark.parametrize(("text", "said"), answers())
def test_an_expression_ticks_as_in_fugit_1_11(text: str, said: str) -> None:
    found = ticks_of(text)
    assert (REFUSED if found is None else " ".join(found)) == said


@pytest.mark.slow
@pytest.mark.nightly
def test_700_random_expressions_tick_as_in_the_fugit_that_is_here() -> None:
    """Takes half a minute: a Ruby that looks for ticks which are years away."""
    if shutil.which("ruby") is None or subprocess.run(["ruby", "-rfugit", "-e", ""], check=False).returncode:
        pytest.skip("not run: no Ruby with fugit (Debian: ruby-fugit)")
    random = Random(datetime.now(UTC).strftime("%G-%V"))  # others each week
    texts = [cron_of(random) for _ in range(RANDOM)]
    run = subprocess.run(["ruby", "-e", _RUBY], input=json.dumps(texts), capture_output=True, text=True, check=True)
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert [text for text, _ in told] == texts
    compared = [(text, said) for text, said in told if said != "too far" and not _is_otherwise(text)]
    assert len(compared) > RANDOM // 3
    assert [(text, said, ticks_of(text)) for text, said in compared if said != ticks_of(text)] == []


def _is_otherwise(text: str) -> bool:
    return any(re.search(pattern, text) for pattern in OTHERWISE_IN_1_5)
